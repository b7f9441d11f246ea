#!/bin/sh
# about: the server of the how-to: queries a table of orders
# row: howto
# mode: server
# exec: args: [--readonly]
# exec: env: [DATABASE_URL]
# exec: timeout_ms: 10000
# call: {"query": "open"}
# expect: result {"rows": [{"id": 1, "total": 12.5}, {"id": 3, "total": 7}], "from": "orders://test"}
# call: {"query": "paid"}
# expect: result {"rows": [{"id": 2, "total": 99}], "from": "orders://test"}
# call: {"query": "drop table"}
# expect: error no such query: drop table
# call: {"query": "none"}
# expect: result {"rows": [], "from": "orders://test"}

[ "$*" = --readonly ] || exit 2
orders='1 open 12.5
2 paid 99
3 open 7'

while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    query=${line#*'"query":"'}
    query=${query%%'"'*}
    case $query in
    open | paid | none)
        rows=
        while read -r order status total; do
            [ "$status" = "$query" ] && rows="$rows${rows:+, }{\"id\": $order, \"total\": $total}"
        done <<END
$orders
END
        printf '{"jsonrpc": "2.0", "id": %s, "result": {"rows": [%s], "from": "%s"}}\n' "$id" "$rows" "$DATABASE_URL"
        ;;
    *)
        error="{\"code\": -32000, \"message\": \"no such query: $query\"}"
        printf '{"jsonrpc": "2.0", "id": %s, "error": %s}\n' "$id" "$error"
        ;;
    esac
done
