# rye:signed:v2 item=tool:rye/file-system/write ext=py at=2026-11-21T23:38:57Z sha256=0abe1625d942105da503391a06c1727f8f26f300a79c07a7d2b0822330e752be key=78f7dae3a0d000131c0889808c8c822d sig=vl7uV5nxhRdAlZLxqI_uWX1X1fZofcgETsCnXE3QGYPNYtmXUR1h8hE9yZffP6PVnZ0Hdtksy1n-taAF73-0CA
# /// rye
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/params.py" = "60490e3527a54e4352bd248bf669e9effdd97466ce1ad0420891fbff4f4f0463"
# "lib/paths.py" = "e0715770c090b995cc9487c0e34d0ea904d6e896c19770cacd1a5fabc8f1fc0d"
# "lib/replace.py" = "6e36c4d1a47b5cd04ba1373ac82b951bef67c694b6f14adee6d62d3474554d75"
#
# [sandbox]
# items = "write"
# [sandbox.fs]
# write = ["{project_path}"]
# partial = true
# ///
"""Writes a file of the project atomically."""
import sys

from lib.params import Refused, main
from lib.paths import show, split
from lib.replace import open_parent, replace_file

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Writes text to a file of the project, atomically: the file holds the old content or all of the given content, never a part. An existing file is replaced and keeps its mode. Nothing is written below `.git` and `.ai/config`."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The file, by its path below the project.",
            "minLength": 1,
        },
        "content": {
            "type": "string",
            "description": "The whole text of the file. It is written as UTF-8 exactly as given.",
        },
        "create_dirs": {
            "type": "boolean",
            "description": "Whether folders that are missing on the way are made.",
            "default": True,
        },
    },
    "required": ["path", "content"],
    "additionalProperties": False,
    "examples": [
        {"path": "notes/today.md", "content": "# Today\n"},
        {"path": "a.txt", "content": "one line\n", "create_dirs": False},
    ],
}

MAX_FILE = 16 * 1024 * 1024  # bytes; the same as rye/file-system/read takes


def run(params):
    data = params["content"].encode("utf-8")
    if len(data) > MAX_FILE:
        raise Refused("`content` is larger than %d bytes" % MAX_FILE)
    parts = split(params["path"])
    folder = open_parent(parts, params["path"], params["create_dirs"])
    created = replace_file(folder, parts[-1], data, show(parts))
    return {"path": show(parts), "bytes_written": len(data), "created": created}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
