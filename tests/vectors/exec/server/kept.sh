#!/bin/sh
# about: one process serves the calls in order, also after an error
# row: s3
# call: {}
# expect: result 1
# call: {"case": "error"}
# expect: error no such table
# call: {"case": "null"}
# expect: result null
# call: {"case": "waits"}
# expect: pending
# call: {"case": "both"}
# expect: result 5
# call: {"case": "inner"}
# expect: result {"error": "data"}
# call: {}
# expect: result 7
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    n=$((n + 1))
    case $line in
    *'"error"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32000,\"message\":\"no such table\"}}" ;;
    *'"null"'*) echo "{\"id\":$id,\"result\":null}" ;;
    *'"waits"'*) echo "{\"id\":$id,\"result\":{\"pending\":{\"reason\":\"money\",\"message\":\"\"}}}" ;;
    *'"both"'*) echo "{\"id\":$id,\"error\":null,\"result\":$n}" ;;
    *'"inner"'*) echo "{\"id\":$id,\"result\":{\"error\":\"data\"}}" ;;
    *) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$n}" ;;
    esac
done
