#!/bin/sh
# about: what left its group is ended too, where the process serves rye alone
# row: f06
# by: cli
# within: 5000
# expect: result 1
(setsid sleep 600 &)
sleep 0.3
echo '{"result": 1}'
