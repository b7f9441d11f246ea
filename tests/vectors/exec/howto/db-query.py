#!/usr/bin/env python3
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

import json
import os
import sqlite3
import sys

assert sys.argv[1:] == ["--readonly"]
db = sqlite3.connect(":memory:")
db.execute("create table orders (id integer, status text, total)")
rows = [(1, "open", 12.5), (2, "paid", 99), (3, "open", 7)]
db.executemany("insert into orders values (?, ?, ?)", rows)
db.execute("pragma query_only = on")

for line in sys.stdin:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    query = request["params"]["args"]["query"]
    if query in ("open", "paid", "none"):
        found = db.execute("select id, total from orders where status = ? order by id", (query,))
        rows = [{"id": id, "total": total} for id, total in found]
        answer["result"] = {"rows": rows, "from": os.environ["DATABASE_URL"]}
    else:
        answer["error"] = {"code": -32000, "message": "no such query: " + query}
    print(json.dumps(answer), flush=True)
