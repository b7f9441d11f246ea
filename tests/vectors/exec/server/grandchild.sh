#!/bin/sh
# about: a grandchild that holds the pipes of a dead server holds no call
# row: f06
# within: 8000
# call: {}
# expect: result 1
# call: {"case": "dies"}
# expect: code protocol.server_exited
# says: status 3
# call: {}
# expect: result 3
sleep 600 &
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in *'"dies"'*) exit 3 ;; esac
    echo "{\"id\":$id,\"result\":$id}"
done
