#!/bin/sh
# about: a line without an end is stopped at 10 MiB
# row: f01
# exec: timeout_ms: 60000
# within: 20000
# call: {"case": "line"}
# expect: code protocol.output_too_large
# call: {}
# expect: result "well"
# call: {"case": "binary"}
# expect: code protocol.output_too_large
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"line"'*) cat /dev/zero ;;
    *'"binary"'*) tr '\0' '\377' </dev/zero ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
