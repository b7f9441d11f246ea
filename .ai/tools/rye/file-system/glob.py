# rye:signed:v2 item=tool:rye/file-system/glob ext=py at=2026-11-23T23:35:50Z sha256=afe33772382cd8b590e09014e66566e4e4f89e1cc9b1db9d8ea6b76560eb6163 key=78f7dae3a0d000131c0889808c8c822d sig=dPyHHM-uNpgzustjqXhcL54iy86GtwB7vZxpe5eH2H-RyotPEA47uYuiY6cHTPF38BTxpXMxq-ctrDvLbexiDg
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
# "lib/pattern.py" = "62d92e73f1ba0c4dc158aa9526ef3e314f54ba094fa9f2b83a8083357e19b0a2"
# "lib/walk.py" = "6ec8c98cdb67eda4a73726d9cb68168afe3a49e1a9bbbffebd7ab5d01b4a7d77"
#
# [sandbox]
# net = "none"
# ///
"""Finds files of the project by a path pattern."""
import sys

from lib.params import main
from lib.paths import open_folder, show
from lib.pattern import Pattern
from lib.walk import MAX_DEPTH, Walk

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Finds files of the project whose path matches a pattern, sorted by path. `**` stands for any number of folders; `*`, `?` and `[a-z]` stay within one name and match hidden names too. `.git` is left out and symlinks are not followed."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "description": "The pattern, matched against the whole path below the project.",
            "minLength": 1,
        },
    },
    "required": ["pattern"],
    "additionalProperties": False,
    "examples": [
        {"pattern": "**/*.rs"},
        {"pattern": ".ai/tools/**"},
    ],
}

MAX_PATHS = 2000  # paths returned; more does not fit an agent's context


def run(params):
    pattern = Pattern(params["pattern"])
    walk = Walk(pattern.enters)
    paths = []
    for _, path, _, is_file in walk.below(open_folder([]), [], MAX_DEPTH):
        if is_file and pattern.matches(path):
            paths.append(show(path))
    truncated = walk.truncated or len(paths) > MAX_PATHS
    return {"paths": sorted(paths)[:MAX_PATHS], "truncated": truncated}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
