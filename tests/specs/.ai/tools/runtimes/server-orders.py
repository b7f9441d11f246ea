import json
import sys

for line in sys.stdin:
    call = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": call["id"], "result": call["params"]["args"]}
    print(json.dumps(answer), flush=True)
