"""An MCP server with one tool, which gives back the hour that it is asked for."""
import json
import sys

TOOL = {
    "name": "hour",
    "description": "Gives back an hour",
    "inputSchema": {"type": "object", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]},
}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        result = {
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "clock", "version": "1.0.0"},
        }
    elif asked["method"] == "tools/list":
        result = {"tools": [TOOL]}
    else:
        hour = asked["params"]["arguments"]["hour"]
        result = {"content": [{"type": "text", "text": str(hour)}], "structuredContent": {"hour": hour}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
