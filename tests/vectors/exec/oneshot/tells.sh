#!/bin/sh
# about: a secret that a program tells is not shown in its error, in what is no answer, in its last words
# row: f08
# more: secrets: [ACME_SECRET]
# call: {"case": "error"}
# expect: error bad key ***
# tail: ***
# call: {"case": "garbage"}
# expect: code protocol.bad_response
# says: it begins `key ***
# tail: ***
# call: {"case": "late"}
# expect: code protocol.timeout
# tail: ***
# exec: timeout_ms: 1000
read -r line
echo "key is $ACME_SECRET" >&2
case $line in
*'"error"'*) echo "{\"error\": \"bad key $ACME_SECRET\"}" ;;
*'"garbage"'*) echo "key $ACME_SECRET" ;;
*) sleep 600 ;;
esac
