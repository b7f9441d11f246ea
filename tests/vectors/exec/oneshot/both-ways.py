#!/usr/bin/env python3
# about: large input, large output and a larger standard error flow at once
# row: f02
# fill: big 1000000
# within: 30000
# length: 1000000
import sys

sys.stderr.write("x" * 1_500_000)
sys.stdout.write('{"result": "')
sys.stdout.flush()
while piece := sys.stdin.buffer.read(65536):
    sys.stdout.buffer.write(b"y" * piece.count(b"z"))
sys.stdout.write('"}')
