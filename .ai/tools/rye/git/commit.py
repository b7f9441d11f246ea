# rye:signed:v2 item=tool:rye/git/commit ext=py at=2026-11-24T11:23:16Z sha256=835e425bd626accf9d00955e36be883a1445a75e2ae46b7fd52b1856d293cf8f key=78f7dae3a0d000131c0889808c8c822d sig=m1jTt6GwUUVNzgTijs7EspK6VpNY27FxxuNh7JBFUVRsnIkhwoJb7QeQLVl29ZH3NzeXPt8iYkd_2aLvJ_udBQ
# /// rye
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
__tool_description__ = "Commits what is staged in the git repository at the top of the project, on its branch, and tells every file of the commit. With `paths` it stages these files and folders first, as they are now; of a folder what is changed and deleted, and a new file only if it is named itself. It runs no hook, no filter and no other program that the repository names, signs nothing and pushes nothing; files that a filter would change are refused."

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
            "description": "Files and folders to stage first, by their paths below the project; deleted ones too. Of a folder the files that git has already are staged; name each new file itself, since the list of files that you ignore everywhere is not read here.",
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


def new_files(repository, paths):
    """Those of the named paths that are files which the repository has not yet; folders are passed over."""
    names, known = [], {b"."}
    for path in paths:
        name = pathspec(path)[1]
        full = os.path.join(repository.project, name)
        if name != b"." and os.path.lexists(os.path.join(full, b".git")):
            raise Refused("`%s` is a repository of its own, and what it stands on is not staged here" % text(name))
        if os.path.islink(full) or not os.path.isdir(full):
            names.append(name)
    if not names:
        return []
    for path in listed(repository, [b"ls-files", b"-z", b"--cached", b"--"] + names):
        while path and path not in known:
            known.add(path)
            path = os.path.dirname(path)
    new = set(listed(repository, [b"ls-files", b"-z", b"--others", b"--exclude-standard", b"--"] + names))
    for name in names:
        if name in known or name in new:
            continue
        if os.path.lexists(os.path.join(repository.project, name)):
            raise Refused("`%s` is not staged: the repository ignores it, or it lies in another repository" % text(name))
        raise Refused("`%s` did not match any file" % text(name))
    return [name for name in names if name in new]


def listed(repository, args):
    """The fields that git lists, each ended by a NUL."""
    out, cut = repository.read(args)
    if cut:
        raise Refused("that are too many files at once; stage less")
    return out.split(b"\0")[:-1]


def stage(repository, paths):
    """Stages what the repository has of files and folders, and the new files that are named themselves.

    `git add` looks into each repository below this one by that one's settings, so git is told file by
    file what to stage. Such a repository and what a filter would change are refused before anything is.
    """
    new = new_files(repository, paths)
    names = [pathspec(path)[1] for path in paths]
    # Fields come in twos: `:old-mode new-mode old-id new-id letter`, and the path.
    fields = listed(repository, [b"diff-files", b"-z", b"--raw", b"--no-renames", b"--ignore-submodules=dirty", b"--"] + names)
    gone, there = [], list(new)
    for what, path in zip(fields[0::2], fields[1::2]):
        old_mode, new_mode, _, _, letter = what.lstrip(b":").split(b" ")
        if b"160000" in (old_mode, new_mode):
            raise Refused("`%s` is a repository of its own, and what it stands on is not staged here" % text(path))
        (gone if letter == b"D" else there).append(path)
    said = repository.change([b"check-attr", b"-z", b"--stdin", b"filter"], stdin=ended(there)).split(b"\0")
    for path, value in zip(said[0::3], said[2::3]):
        if value not in (b"unspecified", b"unset"):
            raise Refused("`%s` has the filter `%s`, which is not run here: stage it yourself" % (text(path), text(value)))
    # What is gone makes room for what has its place now.
    if gone:
        repository.change([b"update-index", b"-z", b"--force-remove", b"--stdin"], stdin=ended(gone))
    if there:
        flags = [b"--add", b"--remove", b"--replace", b"--ignore-skip-worktree-entries"]
        repository.change([b"update-index", b"-z"] + flags + [b"--stdin"], stdin=ended(there))


def ended(paths):
    return b"".join(path + b"\0" for path in paths)


def run(params):
    if "\0" in params["message"] or not params["message"].strip():
        raise Refused("`message` must say something, without NUL characters")
    repository = Repository()
    word = repository.unfinished()
    if word:
        raise Refused("a %s is not finished in the repository; finish it or give it up first" % word)
    if repository.branch is None:
        raise Refused("no branch is checked out, so the commit would belong to none")
    if os.path.lexists(os.path.join(repository.folder, b"index.lock")):
        raise Refused("`.git/index.lock` is there: somebody else changes the index; try again when they are done")
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
        raise Refused("nothing is staged that differs from the last commit; name files in `paths`, each new one itself")
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
