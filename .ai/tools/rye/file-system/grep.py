# rye:signed:v2 item=tool:rye/file-system/grep ext=py at=2026-11-23T23:35:50Z sha256=d4fb88ad42e517769ed1067efbd77a2205f9d3775ac49a646e1b3ad00c240feb key=78f7dae3a0d000131c0889808c8c822d sig=z3qSuJhj4J_EDLB39IE_3iCntPveD_x48Zb7Cum0kRjw4dtUwXTw3oolcDRTWP4S2APqUhoKz2Ts_urRY7kpDQ
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
"""Searches files of the project for lines that match a regular expression."""
import os
import re
import signal
import stat
import sys

from lib.params import Refused, main
from lib.paths import cannot_open, open_file, open_folder, read_file, show, split
from lib.pattern import Pattern
from lib.walk import MAX_DEPTH, Walk

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Searches files of the project for lines that match a Python regular expression. Binary files, files over 4 MiB, symlinks and `.git` are skipped; only the first 4000 characters of a line are searched."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "description": "The regular expression, in the syntax of Python's re. It is matched line by line.",
            "minLength": 1,
            "maxLength": 2000,
        },
        "path": {
            "type": "string",
            "description": "The file or folder to search, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "glob": {
            "type": "string",
            "description": "Searches only files whose path below the project matches this pattern; a pattern without a slash is matched against the name alone.",
            "minLength": 1,
        },
        "ignore_case": {
            "type": "boolean",
            "description": "Whether upper and lower case are the same.",
            "default": False,
        },
        "max_matches": {
            "type": "integer",
            "description": "The largest number of lines to return.",
            "minimum": 1,
            "maximum": 10000,
            "default": 200,
        },
    },
    "required": ["pattern"],
    "additionalProperties": False,
    "examples": [
        {"pattern": "TODO|FIXME"},
        {"pattern": "^fn main", "path": "src", "glob": "*.rs"},
        {"pattern": "rye", "ignore_case": True, "max_matches": 20},
    ],
}

MAX_FILE = 4 * 1024 * 1024  # bytes; larger files are data, not text that someone wrote
MAX_LINE = 4000  # characters searched and returned; longer lines are generated
MAX_TEXT = 1024 * 1024  # characters returned in all
MAX_SECONDS = 20  # below the timeout of the chain, so that the answer is a sentence


def too_slow(_number, _frame):
    raise Refused("the search took more than %d seconds; make the pattern simpler or give a narrower `path`" % MAX_SECONDS)


def files(parts, only):
    """Yields (folder descriptor, components) of every file to search."""
    if parts:
        parent = open_folder(parts[:-1])
        try:
            mode = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode
        except OSError as error:
            raise cannot_open(error, parent, parts[-1], show(parts))
        if not stat.S_ISDIR(mode):
            os.close(open_file(parent, parts[-1], show(parts)))
            yield parent, parts
            return
    walk = Walk(only.enters if only else lambda path: True)
    for folder, path, _, is_file in walk.below(open_folder(parts), parts, MAX_DEPTH):
        if is_file and (only is None or only.matches(path)):
            yield folder, path
    if walk.truncated:
        raise StopSearch()


class StopSearch(Exception):
    """There is more to find than is looked at or returned."""


def search(params, matches):
    try:
        wanted = re.compile(params["pattern"], re.IGNORECASE if params["ignore_case"] else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise Refused("`pattern` is not a regular expression: %s" % error)
    only = Pattern(params["glob"], anywhere=True) if params["glob"] else None
    parts = split(params["path"])
    room = MAX_TEXT
    for folder, path in files(parts, only):
        shown = show(path)
        try:
            data = read_file(open_file(folder, path[-1], shown), MAX_FILE, shown)
        except Refused:
            if path == parts:
                raise
            continue
        if b"\0" in data:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        for number, line in enumerate(lines, 1):
            line = line[:MAX_LINE].rstrip("\r")
            if wanted.search(line) and (number < len(lines) or line):
                if len(matches) == params["max_matches"] or len(line) > room:
                    raise StopSearch()
                room -= len(line)
                matches.append({"path": shown, "line": number, "text": line})


def run(params):
    matches = []
    signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        search(params, matches)
    except StopSearch:
        return {"matches": matches, "truncated": True}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"matches": matches, "truncated": False}


if __name__ == "__main__":
    sys.exit(main(CONFIG_SCHEMA, run))
