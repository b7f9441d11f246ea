#!/bin/sh
# about: a `pending` or `error` that says nothing, two objects or a key twice is no answer
# row: f03
# call: {"case": "truth"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "silent"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "two"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
# call: {"case": "twice"}
# expect: code protocol.bad_response
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"truth"'*) echo "{\"id\":$id,\"result\":{\"pending\":true}}" ;;
    *'"silent"'*) echo "{\"id\":$id,\"error\":{\"code\":1}}" ;;
    *'"two"'*) echo "{\"id\":$id,\"result\":1}{}" ;;
    *'"twice"'*) echo "{\"id\":$id,\"result\":1,\"result\":2}" ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
