#!/bin/sh
# about: with several calls at once a timeout ends itself alone, and what comes late is skipped
# row: f04
# exec: timeout_ms: 1000
# exec: max_in_flight: 4
# within: 6000
# call: {}
# expect: result 1
# call: {"case": "late"}
# expect: code protocol.timeout
# call: {}
# expect: result 3
# call: {}
# expect: result 4
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    n=$((n + 1))
    case $line in *'"late"'*) sleep 1.2 ;; esac
    echo "{\"id\":$id,\"result\":$n}"
done
