#!/bin/sh
# about: a line that is no JSON, a batch, both or neither is no answer, and the process is replaced
# row: f03
# call: {"case": "text"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "batch"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "both"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "neither"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"text"'*) echo 'Traceback (most recent call last):' ;;
    *'"batch"'*) echo "[{\"id\":$id,\"result\":1}]" ;;
    *'"both"'*) echo "{\"id\":$id,\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"}}" ;;
    *'"neither"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id}" ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
