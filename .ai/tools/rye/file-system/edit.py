# rye:signed:v2 item=tool:rye/file-system/edit ext=py at=2026-11-23T17:07:22Z sha256=688054e884b64d707f98306815eba15ec893f9b8a64d3281222abd5680b1a1c8 key=78f7dae3a0d000131c0889808c8c822d sig=hZRYle2Lz_abLctBdI_8RDdzTDnf6HYdVGP8TBnjwFGnHYBk1aF5AC5E0YoBzHxo3y6Y5Ko88aNhe066I_1ZAQ
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
# net = "none"
# [sandbox.fs]
# write = ["{project_path}"]
# partial = true
# ///
"""Replaces an exact string in a file of the project."""
import os
import sys

from lib.params import Refused, main
from lib.paths import open_file, read_file, show, split
from lib.replace import open_parent, replace_file

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Replaces an exact string in a file of the project, atomically. The string must occur exactly once unless `replace_all` is true. Nothing is written below `.git` and `.ai/config`."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The file, by its path below the project.",
            "minLength": 1,
        },
        "old": {
            "type": "string",
            "description": "The text to replace, exactly as it stands in the file, white space included.",
            "minLength": 1,
        },
        "new": {
            "type": "string",
            "description": "The text that takes its place; empty to delete it.",
        },
        "replace_all": {
            "type": "boolean",
            "description": "Whether every occurrence is replaced. Without it the text must occur exactly once.",
            "default": False,
        },
    },
    "required": ["path", "old", "new"],
    "additionalProperties": False,
    "examples": [
        {"path": "Cargo.toml", "old": "version = \"0.1.0\"", "new": "version = \"0.1.1\""},
        {"path": "src/lib.rs", "old": "colour", "new": "color", "replace_all": True},
    ],
}

MAX_FILE = 16 * 1024 * 1024  # bytes, before and after


def count(data, old):
    """How often `old` occurs; one that overlaps itself counts as twice, for it is not unique."""
    found = data.count(old)
    if found == 1 and data.find(old, data.find(old) + 1) >= 0:
        return 2
    return found


def run(params):
    old, new = params["old"].encode("utf-8"), params["new"].encode("utf-8")
    if old == new:
        raise Refused("`old` and `new` are the same")
    parts = split(params["path"])
    shown = show(parts)
    folder = open_parent(parts, params["path"], False)
    file = open_file(folder, parts[-1], shown)
    before = os.fstat(file)
    data = read_file(file, MAX_FILE, shown)
    found = data.count(old) if params["replace_all"] else count(data, old)
    if found == 0 and b"\n" in old and old.replace(b"\n", b"\r\n") in data:
        raise Refused("`old` was not found in `%s`: its lines end in CR LF" % shown, count=0)
    if found == 0:
        raise Refused("`old` was found 0 times in `%s`" % shown, count=0)
    if found > 1 and not params["replace_all"]:
        message = "`old` was found %d times in `%s`; add surrounding text or set `replace_all`"
        raise Refused(message % (found, shown), count=found)
    if len(data) + found * (len(new) - len(old)) > MAX_FILE:
        raise Refused("`%s` would be larger than %d bytes" % (shown, MAX_FILE))
    replace_file(folder, parts[-1], data.replace(old, new), shown, before)
    return {"path": shown, "replacements": found}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
