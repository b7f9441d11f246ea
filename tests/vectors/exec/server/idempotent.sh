#!/bin/sh
# about: a call that a server died over is sent again, once, where the item says that it may be
# row: s3
# exec: idempotent: true
# call: {"case": "a"}
# expect: result 2
# call: {"case": "always"}
# expect: code protocol.server_exited
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
    *'"always"'*) exit 1 ;;
    *) [ -e "$RYE_PROJECT/seen-$PPID" ] || { : >"$RYE_PROJECT/seen-$PPID"; exit 1; } ;;
    esac
    echo "{\"id\":$id,\"result\":$id}"
done
