#!/bin/sh
# about: a grandchild that keeps the pipes does not keep the answer, and is ended
# row: f06
# within: 5000
# expect: result 1
sleep 600 &
echo '{"result": 1}'
