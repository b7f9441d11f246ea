#!/bin/sh
# about: an id of another type is no answer to anybody, and the process is replaced
# row: f03
# call: {"case": "string"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "float"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "null"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "missing"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"string"'*) echo "{\"id\":\"$id\",\"result\":1}" ;;
    *'"float"'*) echo "{\"id\":$id.0,\"result\":1}" ;;
    *'"null"'*) echo '{"id":null,"error":{"code":-32700,"message":"Parse error"}}' ;;
    *'"missing"'*) echo '{"result":1}' ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
