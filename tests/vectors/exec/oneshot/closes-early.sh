#!/bin/sh
# about: a program that reads a little and closes its input is no error
# row: f02
# fill: big 1000000
# expect: result "a little"
head -c 10 >/dev/null
exec <&-
sleep 0.1
echo '{"result": "a little"}'
