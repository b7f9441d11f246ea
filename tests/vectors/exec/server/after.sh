#!/bin/sh
# about: a server that ends after each answer is started again, where a call may be sent twice
# row: s3
# exec: idempotent: true
# call: {}
# expect: result "well"
# call: {}
# expect: result "well"
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    echo "{\"id\":$id,\"result\":\"well\"}"
    exit 0
done
