# rye:signed:v2 item=tool:rye/file-system/write ext=py at=2026-11-23T17:07:22Z sha256=ca6d176ae7a136fad953e7715c0001b46b08239c13388faac940ae17468a55e5 key=78f7dae3a0d000131c0889808c8c822d sig=w9v5bdTN5ZGm20VYbYUAlKZcpP5cQqJPna2dFmQLppMORmbzyJfL6wg6xD9Tj821vTOpu9yuagL1v1_-fMQbCg
# /// rye
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/params.py" = "d24daccd4ffade13d4b677e985a8d300976ae5e9c992e5fea1913852a0d4c804"
# "lib/paths.py" = "36141f5bba183aad59d54b6d6a16cacdc8b88e98e28d518ff3220b33bc89f719"
# "lib/replace.py" = "75da158e9a2224d4acd5b8ca2e8446960c96c3768d5f502fafe19fc573fe6a5f"
#
# [sandbox]
# items = "write"
# net = "none"
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
