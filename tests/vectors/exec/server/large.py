#!/usr/bin/env python3
# about: a large request and a large answer in one line flow at once with a larger standard error
# row: f02
# fill: big 1000000
# within: 30000
# length: 1000000
# length: 1000000
import json
import sys

for line in sys.stdin:
    sys.stderr.write("x" * 1_500_000)
    call = json.loads(line)
    print(json.dumps({"id": call["id"], "result": call["params"]["args"]["big"]}), flush=True)
