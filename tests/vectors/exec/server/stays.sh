#!/bin/sh
# about: a server that ignores the end of its input and SIGTERM is killed at the end, with a grandchild
# row: f06
# within: 9000
# expect: result 1
trap '' TERM HUP INT
sleep 600 &
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    echo "{\"id\":$id,\"result\":$id}"
done
while :; do sleep 0.1; done
