#!/bin/sh
# about: `max_output_bytes` bounds a line of a server
# row: f01
# exec: max_output_bytes: 40
# call: {}
# expect: result "well"
# call: {"case": "over"}
# expect: code protocol.output_too_large
# says: more than 40 bytes
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"over"'*) echo "{\"id\":$id,\"result\":\"1234567890123456789012345\"}" ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
