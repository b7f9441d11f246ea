#!/bin/sh
# about: an answer of a program that does not end comes too late
# row: f04
# exec: timeout_ms: 300
# within: 5000
# expect: code protocol.timeout
echo '{"result": 1}'
sleep 600
