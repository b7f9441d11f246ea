#!/bin/sh
# about: what is not exactly one JSON object, or has text around it, is no answer; its begin is shown escaped
# row: f03
# call: {"case": "before"}
# expect: code protocol.bad_response
# says: it begins `reading\n{
# call: {"case": "behind"}
# expect: code protocol.bad_response
# call: {"case": "two"}
# expect: code protocol.bad_response
# call: {"case": "half"}
# expect: code protocol.bad_response
# call: {"case": "list"}
# expect: code protocol.bad_response
# call: {"case": "text"}
# expect: code protocol.bad_response
# call: {"case": "bytes"}
# expect: code protocol.bad_response
# says: it begins `{\"result\":\"\xff\x1b
# call: {"case": "twice"}
# expect: code protocol.bad_response
# call: {"case": "deep"}
# expect: code protocol.bad_response
# call: {"case": "mark"}
# expect: code protocol.bad_response
# says: it begins `\xef\xbb\xbf{
read -r line
case $line in
*'"before"'*) printf 'reading\n{"result": 1}' ;;
*'"behind"'*) echo '{"result": 1} done' ;;
*'"two"'*) echo '{"result": 1}{"result": 2}' ;;
*'"half"'*) printf '{"result": [1' ;;
*'"list"'*) echo '[{"result": 1}]' ;;
*'"text"'*) echo '"result"' ;;
*'"bytes"'*) printf '{"result":"\377\033[2J"}' ;;
*'"twice"'*) echo '{"result": 1, "result": 2}' ;;
*'"deep"'*) head -c 100000 /dev/zero | tr '\0' '[' ;;
*'"mark"'*) printf '\357\273\277{"result": 1}' ;;
esac
