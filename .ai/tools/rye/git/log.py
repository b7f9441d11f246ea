# rye:signed:v2 item=tool:rye/git/log ext=py at=2026-11-24T11:23:16Z sha256=551a22d50630f126770cea568602a3c790d43dc553f6a6ef32f3bb787f61e6a2 key=78f7dae3a0d000131c0889808c8c822d sig=6pztZeJA3H9_vMYEy3PqbyA-YQP0KqYZp43ckbh0QBGymoNZ7fZF9BgUFeL2iET_csWJGchvRVQgHt6Lz64wAg
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
"""Tells the commits of the repository of the project."""
import sys

from lib.git import Repository, pathspec, text
from lib.params import main

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/git"
__tool_description__ = "Tells commits of the git repository at the top of the project, the latest first: id, parents, author, time and message; a `note` says where the author cannot be read. Runs no program that the repository names and checks no signature."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "revision": {
            "type": "string",
            "description": "The commit to begin with, such as a branch, a tag or an id.",
            "minLength": 1,
            "maxLength": 1000,
            "default": "HEAD",
        },
        "excluding": {
            "type": "string",
            "description": "Leaves out this commit and what comes before it, such as the branch that this one left.",
            "minLength": 1,
            "maxLength": 1000,
        },
        "path": {
            "type": "string",
            "description": "Only commits that changed this file or folder, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "max_count": {
            "type": "integer",
            "description": "The largest number of commits to return.",
            "minimum": 1,
            "maximum": 1000,
            "default": 20,
        },
    },
    "required": [],
    "additionalProperties": False,
    "examples": [
        {},
        {"max_count": 5, "path": "src"},
        {"revision": "feature", "excluding": "main"},
    ],
}

# Git itself is given less, so that the answer is a sentence.
CONFIG = {"timeout_ms": 180000}


FIELDS = ["commit", "parents", "author", "email", "time", "subject", "body"]
FORMAT = b"%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b"
MAX_BODY = 4000  # characters of a message that are returned beside its first line


def run(params):
    repository = Repository()
    if params["revision"] == "HEAD" and repository.head is None:
        return {"commits": [], "truncated": False}
    commits = [repository.commit(params["revision"]).encode()]
    if params["excluding"]:
        commits.append(b"^" + repository.commit(params["excluding"]).encode())
    args = [
        b"log",
        b"-z",
        b"--format=tformat:" + FORMAT,
        b"--max-count=%d" % (params["max_count"] + 1),
        b"--no-show-signature",
        b"--no-mailmap",
        b"--no-color",
        b"--no-ext-diff",
        b"--no-textconv",
    ]
    # Without a path every commit counts, also one that changed nothing.
    limit = pathspec(params["path"])
    if limit[1] == b".":
        limit = [b"--"]
    out, cut = repository.read(args + commits + limit)
    values = text(out).split("\0")
    rows = [values[at : at + len(FIELDS)] for at in range(0, len(values) - len(FIELDS), len(FIELDS))]
    found = []
    for row in rows[: params["max_count"]]:
        commit = dict(zip(FIELDS, row))
        commit["parents"] = commit["parents"].split()
        commit["body"] = commit["body"].strip()[:MAX_BODY]
        # Git gives back the sign for the time where it finds no author, as in an encoding that is not the text's.
        if not commit["time"][:4].isdigit():
            commit.update(author=None, email=None, time=None, note="the author of this commit cannot be read")
        found.append(commit)
    return {"commits": found, "truncated": cut or len(rows) > params["max_count"]}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
