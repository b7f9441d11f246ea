#!/usr/bin/env python3
# about: the request is one line of JSON-RPC 2.0, with ids from 1 rising, and one process answers all
# row: s3
# call: {}
# expect: result "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"execute\",\"params\":{\"args\":{}}}\n"
# call: {"a": 1.10}
# expect: result "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"execute\",\"params\":{\"args\":{\"a\":1.10}}}\n"
# call: {"a": "x\ny"}
# expect: result "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"execute\",\"params\":{\"args\":{\"a\":\"x\\ny\"}}}\n"
import json
import sys

for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": line}), flush=True)
