#!/bin/sh
# about: a group that ignores SIGTERM is killed 2 s later, with a grandchild that holds the pipes
# row: f06
# exec: timeout_ms: 300
# within: 6000
# expect: code protocol.timeout
trap '' TERM
sleep 600 &
while :; do sleep 0.05; done
