# rye:signed:v2 item=tool:rye/file-system/read ext=py at=2026-11-23T23:35:51Z sha256=06741e0ac145e3e82513660f67b337fb68c962af7642853c8cb9a7c38810e594 key=78f7dae3a0d000131c0889808c8c822d sig=2BRJZ3_bLpHMVhNoUmnbDdMhmQ7Jllf-EahzDEdDI25WvraDReYXWCfti2SlOgUE0cFzHlXYPZwqxm_wA-CnDg
# /// rye
# effects = "read"
#
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/params.py" = "d24daccd4ffade13d4b677e985a8d300976ae5e9c992e5fea1913852a0d4c804"
# "lib/paths.py" = "36141f5bba183aad59d54b6d6a16cacdc8b88e98e28d518ff3220b33bc89f719"
#
# [sandbox]
# net = "none"
# ///
"""Reads a text file of the project, whole or by lines."""
import sys

from lib.params import Refused, main
from lib.paths import open_file, open_folder, read_file, show, split

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Reads a UTF-8 text file of the project. Returns up to `limit` lines from line `offset` on; `lines` counts the lines returned, and `truncated` says that more follow."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The file, by its path below the project.",
            "minLength": 1,
        },
        "offset": {
            "type": "integer",
            "description": "The first line to return; the first line of the file is 1.",
            "minimum": 1,
            "maximum": 1000000000,
            "default": 1,
        },
        "limit": {
            "type": "integer",
            "description": "The largest number of lines to return.",
            "minimum": 1,
            "maximum": 100000,
            "default": 2000,
        },
    },
    "required": ["path"],
    "additionalProperties": False,
    "examples": [
        {"path": "README.md"},
        {"path": "src/main.rs", "offset": 200, "limit": 50},
    ],
}

MAX_FILE = 16 * 1024 * 1024  # bytes; a larger file is searched with rye/file-system/grep
MAX_CONTENT = 1024 * 1024  # characters returned; more does not fit an agent's context


def run(params):
    parts = split(params["path"])
    if not parts:
        raise Refused("`%s` is a folder" % params["path"])
    shown = show(parts)
    folder = open_folder(parts[:-1])
    data = read_file(open_file(folder, parts[-1], shown), MAX_FILE, shown)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise Refused("`%s` is not UTF-8 text" % shown)
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    if not lines[-1]:
        lines.pop()
    first = params["offset"] - 1
    if first and first >= len(lines):
        raise Refused("`offset` is %d, but `%s` has %d lines" % (first + 1, shown, len(lines)))
    kept, room = [], MAX_CONTENT
    for line in lines[first : first + params["limit"]]:
        if len(line) > room and kept:
            break
        kept.append(line[:room])  # cut only where one line alone is too long
        room -= len(kept[-1])
    whole = first + len(kept) == len(lines) and kept == lines[first:]
    return {"path": shown, "content": "".join(kept), "lines": len(kept), "truncated": not whole}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
