#!/bin/sh
# about: `error` beats `pending` beats `result`; null and "" count as absent; an object with none is the result
# row: f05
# call: {"case": "null"}
# expect: result null
# call: {"case": "false"}
# expect: result false
# call: {"case": "all"}
# expect: error no such table
# call: {"case": "object"}
# expect: error no such column
# call: {"case": "waits"}
# expect: pending
# call: {"case": "absent"}
# expect: result 5
# call: {"case": "empty"}
# expect: result 6
# call: {"case": "plain"}
# expect: result {"score": 1, "detail": "none of the three"}
# call: {"case": "none"}
# expect: result {}
# call: {"case": "inside"}
# expect: result {"error": "data", "pending": {}}
read -r line
case $line in
*'"null"'*) echo '{"result": null}' ;;
*'"false"'*) echo '{"result": false}' ;;
*'"all"'*) echo '{"result": 1, "pending": {"reason": "r"}, "error": "no such table"}' ;;
*'"object"'*) echo '{"error": {"code": 7, "message": "no such column"}, "result": 1}' ;;
*'"waits"'*) echo '{"result": 1, "pending": {"reason": "money", "message": "more than 100"}}' ;;
*'"absent"'*) echo '{"result": 5, "error": null, "pending": null}' ;;
*'"empty"'*) echo '{"result": 6, "error": ""}' ;;
*'"plain"'*) echo '{"score": 1, "detail": "none of the three"}' ;;
*'"none"'*) echo '{}' ;;
*'"inside"'*) echo '{"result": {"error": "data", "pending": {}}}' ;;
esac
