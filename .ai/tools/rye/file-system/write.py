# rye:signed:v2 item=tool:rye/file-system/write ext=py at=2026-11-23T16:34:31Z sha256=9e030172a5b82beaa12c5e179480070217ba3623fd590994d41b7bdc7ff472cf key=78f7dae3a0d000131c0889808c8c822d sig=edQN9CDFYs5DAqsfnGxYY8Yw0JRr1w6uyOmbNvRRRsbj7nlmcvpX0atZ8SOZnm4Rxc05Gu-GZbp1MSGsV1W0BQ
# /// rye
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/params.py" = "60490e3527a54e4352bd248bf669e9effdd97466ce1ad0420891fbff4f4f0463"
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
