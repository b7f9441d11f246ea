#!/bin/sh
# about: half a frame and death, silent death, death by a signal, closed output: the call is told how, and the next works
# row: f03
# call: {"case": "half"}
# expect: code protocol.server_exited
# says: status 3
# tail: out of memory
# call: {}
# expect: result "well"
# call: {"case": "silent"}
# expect: code protocol.server_exited
# says: status 0
# call: {}
# expect: result "well"
# call: {"case": "killed"}
# expect: code protocol.server_exited
# says: signal 9
# call: {}
# expect: result "well"
# call: {"case": "closed"}
# expect: code protocol.server_exited
# call: {}
# expect: result "well"
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"half"'*) echo 'out of memory' >&2; printf '{"jsonrpc":"2.0","id":%s,"resu' "$id"; exit 3 ;;
    *'"silent"'*) exit 0 ;;
    *'"killed"'*) kill -KILL $$ ;;
    *'"closed"'*) exec >&-; sleep 600 ;;
    *) echo "{\"id\":$id,\"result\":\"well\"}" ;;
    esac
done
