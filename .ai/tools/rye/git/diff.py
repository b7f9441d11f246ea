# rye:signed:v2 item=tool:rye/git/diff ext=py at=2026-11-24T11:23:16Z sha256=102af78f34c50e636e412a7873a1f2f74d9f0517bae06ae00c3c6e1ae0d12fb9 key=78f7dae3a0d000131c0889808c8c822d sig=9gyoVhEhGcFg0AFlU_sRWcN0v_wwcOR3NZi4XBaMfZfp1zM_KHByl7_yV19C7daJwbCO3xiq8NpORYZIFKpiCA
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
"""Tells how files of the repository of the project differ."""
import sys

from lib.git import MAX_TEXT, Repository, changed_files, pathspec, text
from lib.params import Refused, main

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/git"
__tool_description__ = "Tells how files of the git repository at the top of the project differ: the folder from what is staged, what is staged from the last commit (`staged`), or two commits from each other (`from`, `to`). Gives the files and the text of the difference, at most 256 KiB of it. Runs no program that the repository names."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "staged": {
            "type": "boolean",
            "description": "What is staged, compared with the last commit or with `from`.",
            "default": False,
        },
        "from": {
            "type": "string",
            "description": "The commit to compare with, such as `HEAD~2`, a branch, a tag or an id.",
            "minLength": 1,
            "maxLength": 1000,
        },
        "to": {
            "type": "string",
            "description": "The commit that is compared with `from`; without it the folder, or what is staged.",
            "minLength": 1,
            "maxLength": 1000,
        },
        "path": {
            "type": "string",
            "description": "Only this file or folder, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "context_lines": {
            "type": "integer",
            "description": "How many unchanged lines are shown around each change.",
            "minimum": 0,
            "maximum": 100,
            "default": 3,
        },
        "names_only": {
            "type": "boolean",
            "description": "Only the files, without the text.",
            "default": False,
        },
    },
    "required": [],
    "additionalProperties": False,
    "examples": [
        {},
        {"staged": True},
        {"from": "main", "to": "HEAD", "path": "src", "names_only": True},
    ],
}

# Git itself is given less, so that the answer is a sentence.
CONFIG = {"timeout_ms": 180000}


MAX_FILES = 2000


def run(params):
    repository = Repository()
    staged, since, to = params["staged"], params["from"], params["to"]
    if to and (staged or not since):
        raise Refused("`to` goes with `from`, and not with `staged`")
    between = [b"--cached"] if staged else []
    between += [repository.commit(name).encode() for name in (since, to) if name]
    between += pathspec(params["path"])
    files, truncated = changed_files(repository, between, MAX_FILES)
    if params["names_only"]:
        return {"files": files, "truncated": truncated}
    args = [
        b"diff",
        b"--no-ext-diff",
        b"--no-textconv",
        b"--no-color",
        b"--submodule=short",
        b"--ignore-submodules=dirty",
        b"--src-prefix=a/",
        b"--dst-prefix=b/",
        b"--find-renames",
        b"--unified=%d" % params["context_lines"],
    ]
    out, cut = repository.read(args + between, MAX_TEXT)
    return {"files": files, "diff": text(out), "truncated": truncated or cut}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
