#!/bin/sh
# about: a server that answers other ids than it was asked for answers nobody
# row: f03
# exec: timeout_ms: 300
# within: 6000
# expect: code protocol.timeout
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    echo "{\"id\":$((id + 1000)),\"result\":1}"
done
