#!/bin/sh
# about: a server that never reads, or closes its input, costs the call its time and no more
# row: f02
# exec: timeout_ms: 500
# fill: big 2000000
# within: 6000
# expect: code protocol.timeout
exec <&-
sleep 600
