#!/bin/sh
# about: a program that never reads, or closes its input, is no deadlock
# row: f02
# fill: big 1000000
# call: {"case": "never"}
# expect: result "never"
# exec: timeout_ms: 20000
echo '{"result": "never"}'
