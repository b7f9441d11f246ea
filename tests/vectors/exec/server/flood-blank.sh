#!/bin/sh
# about: blank lines without an end cost the call its time, and the process is replaced
# row: f01
# exec: timeout_ms: 700
# within: 6000
# call: {}
# expect: result 1
# call: {"case": "flood"}
# expect: code protocol.timeout
# call: {}
# expect: result 1
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    n=$((n + 1))
    case $line in *'"flood"'*) yes '' ;; esac
    echo "{\"id\":$id,\"result\":$n}"
done
