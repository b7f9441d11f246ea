# rye:signed:v2 item=tool:rye/git/commit ext=py at=2026-11-23T17:07:22Z sha256=ce8e2f131381ea9a1d9de2217e5c0a9cff3bdd036ab26519d456679e944f8ad6 key=78f7dae3a0d000131c0889808c8c822d sig=UDsuj_1p1-dFxlqAdAEPEMpH7l8gGpQGu6PP18Dfxt28LyVNprVxe-ZvYxYwrPUEKhSCyzcG6QEILTYEckGQDQ
# /// rye
# [anchor]
# root = "tool_parent"
# mode = "always"
#
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/git.py" = "31b963666c5e8c46bd47d628bc144d38c54842750ca1daa9982fb03cfd12e40a"
# "lib/params.py" = "d24daccd4ffade13d4b677e985a8d300976ae5e9c992e5fea1913852a0d4c804"
# "lib/paths.py" = "36141f5bba183aad59d54b6d6a16cacdc8b88e98e28d518ff3220b33bc89f719"
#
# [sandbox]
# git = "write"
# net = "none"
# [sandbox.fs]
# read = ["{project_path}", "{user_space}/.gitconfig", "{user_space}/.config/git/config"]
# ///
"""Commits what is staged in the repository of the project."""
import os
import sys

from lib.git import Repository, changed_files, pathspec, read_plain, text
from lib.params import Refused, main

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/git"
__tool_description__ = "Commits what is staged in the git repository at the top of the project, on its branch, and tells every file of the commit. With `paths` it stages these files and folders first, as they are now. It runs no hook, no filter and no other program that the repository names, signs nothing and pushes nothing; files that a filter would change are refused."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "message": {
            "type": "string",
            "description": "What the commit changes: a line, and after an empty one what else there is to say.",
            "minLength": 1,
            "maxLength": 65536,
        },
        "paths": {
            "type": "array",
            "description": "Files and folders to stage first, by their paths below the project; deleted ones too.",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 1000,
            "default": [],
        },
        "author_name": {
            "type": "string",
            "description": "Who commits; by default `user.name` of the repository, then of your own git settings.",
            "minLength": 1,
            "maxLength": 1000,
        },
        "author_email": {
            "type": "string",
            "description": "Their address; by default `user.email`, likewise.",
            "minLength": 1,
            "maxLength": 1000,
        },
    },
    "required": ["message"],
    "additionalProperties": False,
    "examples": [
        {"message": "Fix the total of an empty basket"},
        {"message": "Add the page", "paths": ["docs/page.md"]},
    ],
}

# Git itself is given less, so that the answer is a sentence.
CONFIG = {"timeout_ms": 180000}


MAX_FILES = 2000
OWN_SETTINGS = [b".gitconfig", b".config/git/config"]


def identity(repository, params):
    """Who commits: as asked, by the repository, or by the settings of the person's own."""
    home = os.environb.get(b"USER_SPACE") or os.environb.get(b"HOME") or b"/nonexistent"
    files = [os.path.join(repository.private, b"config")]
    files += [os.path.join(home, name) for name in OWN_SETTINGS]
    who = []
    for asked, key in (("author_name", b"user.name"), ("author_email", b"user.email")):
        value = params[asked].encode() if params[asked] else setting(repository, files, key)
        if not value or any(sign in value for sign in b"\0\n\r<>"):
            raise Refused("nobody says who commits: give `%s`, or set `%s` in git" % (asked, text(key)))
        who.append(value)
    return {
        b"GIT_%s_%s" % (role, what): value
        for role in (b"AUTHOR", b"COMMITTER")
        for what, value in zip((b"NAME", b"EMAIL"), who)
    }


def setting(repository, files, key):
    for file in files:
        if read_plain(file) is None:
            continue
        out, _ = repository.read([b"config", b"--file", file, b"--no-includes", b"--get", key])
        if out.strip():
            return out.rstrip(b"\n")
    return None


def stage(repository, paths):
    """Stages files and folders as they are; what a filter would change is not."""
    names = [pathspec(path)[1] for path in paths]
    listed, cut = repository.read([b"ls-files", b"-z", b"--cached", b"--others", b"--exclude-standard", b"--"] + names)
    if cut:
        raise Refused("that are too many files at once; stage less")
    said = repository.change([b"check-attr", b"-z", b"--stdin", b"filter"], stdin=listed).split(b"\0")
    for path, value in zip(said[0::3], said[2::3]):
        if value not in (b"unspecified", b"unset"):
            raise Refused("`%s` has the filter `%s`, which is not run here: stage it yourself" % (text(path), text(value)))
    repository.change([b"add", b"--all", b"--"] + names)


def run(params):
    if "\0" in params["message"] or not params["message"].strip():
        raise Refused("`message` must say something, without NUL characters")
    repository = Repository()
    word = repository.unfinished()
    if word:
        raise Refused("a %s is not finished in the repository; finish it or give it up first" % word)
    if repository.branch is None:
        raise Refused("no branch is checked out, so the commit would belong to none")
    who = identity(repository, params)
    if params["paths"]:
        stage(repository, params["paths"])
    else:
        # Git notes in the index what it worked out; only what is staged changes that of the repository.
        data = read_plain(repository.index)
        repository.index = os.path.join(repository.private, b"index")
        if data is not None:
            with open(repository.index, "xb") as file:
                file.write(data)
    if repository.read([b"ls-files", b"--unmerged", b"-z"])[0]:
        raise Refused("files are in conflict: settle and stage them first")
    base = [repository.head.encode()] if repository.head else []
    files, truncated = changed_files(repository, [b"--cached"] + base + [b"--"], MAX_FILES)
    if not files:
        raise Refused("nothing is staged that differs from the last commit; name files in `paths`")
    tree = repository.change([b"write-tree"]).strip()
    parent = [b"-p"] + base if base else []
    message = params["message"].strip() + "\n"
    new = text(repository.change([b"commit-tree", tree] + parent + [b"-F", b"-"], who, message.encode())).strip()
    subject = message.splitlines()[0][:200]
    repository.move_branch(new, "commit: " + subject)
    branch = text(repository.branch).removeprefix("refs/heads/")
    result = {"commit": new, "branch": branch, "parent": repository.head, "subject": subject, "files": files}
    return dict(result, author=text(b"%s <%s>" % (who[b"GIT_AUTHOR_NAME"], who[b"GIT_AUTHOR_EMAIL"])), truncated=truncated)


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
