#!/bin/sh
# about: `error` and `pending` of a type that says nothing are no answer
# row: f05
# call: {"case": "number"}
# expect: code protocol.bad_response
# call: {"case": "false"}
# expect: code protocol.bad_response
# call: {"case": "without"}
# expect: code protocol.bad_response
# call: {"case": "truth"}
# expect: code protocol.bad_response
# call: {"case": "list"}
# expect: code protocol.bad_response
read -r line
case $line in
*'"number"'*) echo '{"error": 1, "result": 1}' ;;
*'"false"'*) echo '{"error": false, "result": 1}' ;;
*'"without"'*) echo '{"error": {"code": 1}, "result": 1}' ;;
*'"truth"'*) echo '{"pending": true, "result": 1}' ;;
*'"list"'*) echo '{"pending": [], "result": 1}' ;;
esac
