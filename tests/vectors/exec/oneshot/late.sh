#!/bin/sh
# about: past the deadline the group is asked to end, and an answer that it then gives is none
# row: f04
# exec: timeout_ms: 300
# within: 5000
# expect: code protocol.timeout
# says: within 300 ms
# tail: sorry
trap 'echo sorry >&2; echo "{\"result\": 1}"; exit 0' TERM
while :; do sleep 0.05; done
