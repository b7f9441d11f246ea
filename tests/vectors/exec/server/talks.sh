#!/bin/sh
# about: blank lines, notifications, requests, answers to nobody and a second answer reach no call
# row: f03
# call: {}
# expect: result 1
# call: {}
# expect: result 2
# call: {}
# expect: result 3
echo
echo '{"jsonrpc":"2.0","method":"ready"}'
echo '{"jsonrpc":"2.0","id":77777,"result":"before the call"}'
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    n=$((n + 1))
    echo '   '
    echo '{"jsonrpc":"2.0","method":"log","params":{"text":"working"}}'
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"ask\"}"
    echo "{\"jsonrpc\":\"2.0\",\"id\":$((id + 1)),\"result\":\"of the next\"}"
    echo "{\"jsonrpc\":\"2.0\",\"id\":$((id - 1)),\"result\":\"of the last\"}"
    echo "{\"jsonrpc\":\"2.0\",\"id\":99999,\"error\":{\"code\":1,\"message\":\"of nobody\"}}"
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$n}"
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"again\"}"
done
