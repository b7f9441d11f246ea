#!/usr/bin/env python3
# about: the one-shot program of the how-to: says whether a text sounds glad
# row: howto
# call: {"text": "I love this great tool"}
# expect: result {"sentiment": "positive", "score": 2}
# call: {"text": "a bad, sad day"}
# expect: result {"sentiment": "negative", "score": -2}
# call: {"text": "a day"}
# expect: result {"sentiment": "neutral", "score": 0}
# call: {}
# expect: error text is required

import json
import re
import sys

GLAD = {"good", "great", "love", "happy"}
SAD = {"bad", "sad", "hate", "awful"}

args = json.load(sys.stdin)["args"]
if not args.get("text"):
    json.dump({"error": "text is required"}, sys.stdout)
    sys.exit(1)
words = re.findall(r"[a-z]+", args["text"].lower())
score = sum((word in GLAD) - (word in SAD) for word in words)
name = "positive" if score > 0 else "negative" if score < 0 else "neutral"
json.dump({"result": {"sentiment": name, "score": score}}, sys.stdout)
