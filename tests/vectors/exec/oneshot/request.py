#!/usr/bin/env python3
# about: the request is one compact JSON object with `args` and a line feed, and then the input is closed
# row: s2
# call: {}
# expect: result "{\"args\":{}}\n"
# call: {"text": "é\n\"x\"", "deep": {"list": [1, null, true]}}
# expect: result "{\"args\":{\"text\":\"é\\n\\\"x\\\"\",\"deep\":{\"list\":[1,null,true]}}}\n"
import json
import sys

json.dump({"result": sys.stdin.buffer.read().decode()}, sys.stdout)
