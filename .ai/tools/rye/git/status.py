# rye:signed:v2 item=tool:rye/git/status ext=py at=2026-11-24T11:23:16Z sha256=646af170c495f9d614ce3563538a4d512137074da1303ce0596cb3a88e6e53ee key=78f7dae3a0d000131c0889808c8c822d sig=OZuxYpan5k3sjaHznHr1IQ4qNDEGURyRAk2MNc6eAfbM9cPdDZjvfej4Rmi1oMcqPId4rzkiXB3VKTQZ3ex9CQ
# /// rye
# effects = "read"
#
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/git.py" = "102ecc20f61f4cba224e57a0934db03f7633f18bb001c749c6d429e220e46b43"
# "lib/params.py" = "d24daccd4ffade13d4b677e985a8d300976ae5e9c992e5fea1913852a0d4c804"
# "lib/paths.py" = "36141f5bba183aad59d54b6d6a16cacdc8b88e98e28d518ff3220b33bc89f719"
#
# [sandbox]
# net = "none"
# [sandbox.fs]
# read = ["{project_path}"]
# ///
"""Tells what is changed in the repository of the project."""
import sys

from lib.git import Repository, change_of, pathspec, text
from lib.params import main

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/git"
__tool_description__ = "Tells the branch of the git repository at the top of the project, the commit it stands on, and which files are staged, changed, in conflict or not tracked. Runs no program that the repository names: of its settings only plain values count. The list of files that you ignore everywhere is not read, so such a file is told as not tracked."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "Only this file or folder, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "max_entries": {
            "type": "integer",
            "description": "The largest number of files to return.",
            "minimum": 1,
            "maximum": 10000,
            "default": 500,
        },
    },
    "required": [],
    "additionalProperties": False,
    "examples": [
        {},
        {"path": "src"},
        {"max_entries": 50},
    ],
}

# Git itself is given less, so that the answer is a sentence.
CONFIG = {"timeout_ms": 180000}


def entries(fields):
    """Yields (list, entry) of each file; renamed ones have a second field."""
    fields = iter(fields)
    for field in fields:
        if field[:2] == "? ":
            yield "untracked", field[2:]
        elif field[:2] == "u ":
            yield "conflicts", field.split(" ", 10)[10]
        elif field[:2] in ("1 ", "2 "):
            parts = field.split(" ", 8 if field[0] == "1" else 9)
            old = {"from": next(fields)} if field[0] == "2" else {}
            for where, letter in (("staged", parts[1][0]), ("changed", parts[1][1])):
                if letter != ".":
                    moved = old if letter in "RC" else {}
                    yield where, dict({"path": parts[-1], "change": change_of(letter)}, **moved)


def run(params):
    repository = Repository()
    args = [b"status", b"--porcelain=v2", b"-z", b"--untracked-files=normal", b"--ignore-submodules=dirty", b"--find-renames"]
    out, cut = repository.read(args + pathspec(params["path"]))
    fields = text(out).split("\0")
    if cut:
        fields.pop()
    branch = repository.branch and text(repository.branch)
    result = {"branch": branch and branch.removeprefix("refs/heads/"), "commit": repository.head}
    result.update({name: [] for name in ("staged", "changed", "conflicts", "untracked")})
    result.update(unfinished=repository.unfinished(), truncated=cut)
    room = params["max_entries"]
    for where, entry in entries(fields):
        if room == 0:
            result["truncated"] = True
            break
        room -= 1
        result[where].append(entry)
    return result


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
