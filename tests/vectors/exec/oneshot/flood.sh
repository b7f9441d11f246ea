#!/bin/sh
# about: a flood without an end is stopped at the cap, long before the deadline
# row: f01
# exec: timeout_ms: 60000
# within: 20000
# call: {"case": "lines"}
# expect: code protocol.output_too_large
# call: {"case": "line"}
# expect: code protocol.output_too_large
# call: {"case": "binary"}
# expect: code protocol.output_too_large
read -r line
case $line in
*'"lines"'*) yes ;;
*'"line"'*) cat /dev/zero ;;
*) tr '\0' '\377' </dev/zero ;;
esac
