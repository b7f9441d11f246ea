"""Adds two numbers."""
import json
import sys

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "runtimes"
__tool_description__ = "Adds two numbers"

params = json.load(sys.stdin)
print(json.dumps({"sum": params["a"] + params["b"]}))
