# rye:signed:v2 item=tool:rye/file-system/list ext=py at=2026-11-23T23:35:51Z sha256=669b49ddd9bbf806528521c83cb721344cc0cee4cd30036b25184d0213fc7bc0 key=78f7dae3a0d000131c0889808c8c822d sig=FRTRp2VUReRAkwUwAbmkMqAdjhw7x8EhAq4qeogQhmhO0ckkc7lO9_7w8t_kd12l9-w8C1Nt-5Vfj96wHN53BQ
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
# "lib/walk.py" = "6ec8c98cdb67eda4a73726d9cb68168afe3a49e1a9bbbffebd7ab5d01b4a7d77"
#
# [sandbox]
# net = "none"
# ///
"""Lists a folder of the project."""
import os
import sys

from lib.params import main
from lib.paths import open_folder, show, split
from lib.walk import Walk

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Lists a folder of the project, sorted by path, `depth` levels deep. Hidden files are listed, `.git` is not. Symlinks are listed but not followed."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The folder, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "depth": {
            "type": "integer",
            "description": "How many levels are listed; 1 lists the folder itself only.",
            "minimum": 1,
            "maximum": 32,
            "default": 1,
        },
    },
    "required": [],
    "additionalProperties": False,
    "examples": [
        {},
        {"path": "src", "depth": 3},
    ],
}

MAX_ENTRIES = 2000  # entries returned; more does not fit an agent's context


def run(params):
    parts = split(params["path"])
    walk = Walk(lambda path: True)
    entries = []
    for folder, path, is_dir, _ in walk.below(open_folder(parts), parts, params["depth"]):
        try:
            size = os.stat(path[-1], dir_fd=folder, follow_symlinks=False).st_size
        except OSError:
            continue  # gone since it was listed
        entry = {"name": show(path[-1:]), "path": show(path), "is_dir": is_dir}
        entries.append(dict(entry, size=0 if is_dir else size))
    entries.sort(key=lambda entry: entry["path"])
    truncated = walk.truncated or len(entries) > MAX_ENTRIES
    return {"entries": entries[:MAX_ENTRIES], "truncated": truncated}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
