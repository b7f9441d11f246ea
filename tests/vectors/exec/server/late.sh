#!/bin/sh
# about: with one call at a time a timeout replaces the process, so a late answer reaches nobody
# row: f04
# exec: timeout_ms: 1000
# within: 6000
# call: {}
# expect: result 1
# call: {"case": "late"}
# expect: code protocol.timeout
# says: within 1 s
# call: {}
# expect: result 1
# call: {}
# expect: result 2
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    n=$((n + 1))
    case $line in *'"late"'*) sleep 1.2 ;; esac
    echo "{\"id\":$id,\"result\":$n}"
done
