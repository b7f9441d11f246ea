#!/bin/sh
# about: a flood on standard error is read and dropped, and the answer is the answer
# row: f01
# within: 20000
# expect: result 1
head -c 64M /dev/zero >&2
echo '{"result": 1}'
