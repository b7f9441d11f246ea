#!/bin/sh
# about: a server that talks without an end still answers its calls, on whichever stream it talks
# row: f01
# within: 8000
# call: {}
# expect: result 1
# call: {}
# expect: result 2
# call: {}
# expect: result 3
yes '' >&2 &
while :; do echo '{"method":"tick"}' || exit; done &
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    echo "{\"id\":$id,\"result\":$id}"
done
