#!/bin/sh
# about: an answer of just `max_output_bytes` is one, and a byte more is too many
# row: f01
# exec: max_output_bytes: 20
# call: {"case": "just"}
# expect: result 12345678
# call: {"case": "over"}
# expect: code protocol.output_too_large
# says: more than 20 bytes
read -r line
case $line in
*'"just"'*) printf '{"result": 12345678}' ;;
*) printf '{"result": 123456789}' ;;
esac
