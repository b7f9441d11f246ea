# rye:signed:v2 item=tool:rye/bash ext=py at=2026-11-29T00:01:46Z sha256=6991e5a8d0168d279a8285cd5ea61dffb4d3e8064d8051e3ae12fe3e8654ed27 key=78f7dae3a0d000131c0889808c8c822d sig=XvnA0wBgSbzHvrKUGGBYCnALjOjaxBhgogqVp-qj79o7HrbnteSZGXMKcamIvTiVRPKVjj59Kkpc162vodqBCw
# /// rye
# [files]
# "lib/__init__.py" = "16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43"
# "lib/params.py" = "d24daccd4ffade13d4b677e985a8d300976ae5e9c992e5fea1913852a0d4c804"
#
# [sandbox]
# net = "any"
# [sandbox.fs]
# read = ["/"]
# write = ["{project_path}"]
# partial = true
# ///
"""Runs a shell command in the project."""
import os
import selectors
import signal
import subprocess
import sys
import time

from lib.params import Refused, main

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye"
__tool_description__ = "Runs a command with `bash -c` in the project. Standard input is empty. Standard error is passed on as it comes. A non-zero exit status is a failure. Of long output the beginning and the end are returned. What the command leaves running in its process group ends with it."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "command": {
            "type": "string",
            "description": "The command line, as Bash reads it.",
            "minLength": 1,
        },
        "timeout_seconds": {
            "type": "integer",
            "description": "After how many seconds the command and everything it started is ended.",
            "minimum": 1,
            "maximum": 1800,
            "default": 30,
        },
        "working_directory": {
            "type": "string",
            "description": "The folder to run in, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
    "examples": [
        {"command": "git status --short"},
        {"command": "make test", "timeout_seconds": 600},
        {"command": "ls -la", "working_directory": "src"},
    ],
}

# The chain's own timeout stands above every `timeout_seconds`, so that the tool's is in force.
CONFIG = {"timeout_ms": 1800000}

MAX_COMMAND = 96 * 1024  # bytes; Linux takes 128 KiB in one argument
MAX_HEAD = 256 * 1024  # bytes kept from the beginning of each stream
MAX_TAIL = 256 * 1024  # bytes kept from its end, where errors stand
GRACE_SECONDS = 1.0  # between asking a command to end and ending it
DRAIN_SECONDS = 0.5  # for output already written when the shell ends and others hold the streams


class Capture:
    """The beginning and the end of one stream, in bounded memory."""

    def __init__(self):
        self.head, self.tail, self.left_out = b"", bytearray(), 0

    def add(self, data):
        room = MAX_HEAD - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        extra = len(self.tail) - MAX_TAIL
        if extra > 0:
            del self.tail[:extra]
            self.left_out += extra

    def text(self):
        gap = b"\n[... %d bytes left out ...]\n" % self.left_out if self.left_out else b""
        return (self.head + gap + bytes(self.tail)).decode("utf-8", "replace")


def enter(path):
    """Makes a folder below the project the working directory, without following a symlink."""
    root = os.path.abspath(os.environ.get("RYE_PROJECT") or os.getcwd())
    if "\0" in path:
        raise Refused("`working_directory` holds a NUL character")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise Refused("`%s` contains `..`; give the path below the project without it" % path)
    if path.startswith("/"):
        for base in (root, os.path.realpath(root)):
            prefix = [part for part in base.split("/") if part]
            if parts[: len(prefix)] == prefix:
                parts = parts[len(prefix) :]
                break
        else:
            raise Refused("`%s` is outside the project" % path)
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        try:
            below = os.open(part.encode("utf-8"), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        except OSError:
            raise Refused("`%s` is not a folder of the project; symlinks are not followed" % path)
        os.close(here)
        here = below
    os.fchdir(here)
    os.close(here)


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left in the group


def pass_on(data):
    """Shows standard error as it comes; who reads the result alone has it there too."""
    while data:
        try:
            data = data[os.write(2, data) :]
        except OSError:
            return  # nobody reads it


def pump(process, captures, deadline):
    """Reads both streams until they end, the shell ends or the deadline passes; true if it passed."""
    ended = False
    with selectors.DefaultSelector() as selector:
        for stream, capture in captures:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, capture)
        while selector.get_map():
            if not ended and process.poll() is not None:
                ended = True
                deadline = min(deadline, time.monotonic() + DRAIN_SECONDS)
            ready = selector.select(0 if ended else min(0.05, max(0, deadline - time.monotonic())))
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                key.data.add(data)
                if key.fileobj is process.stderr:
                    pass_on(data)
                if not data:
                    selector.unregister(key.fileobj)
            if time.monotonic() >= deadline:
                return process.poll() is None
            if ended and not ready:
                return False  # only what the command left behind still holds the streams
    try:
        process.wait(max(0, deadline - time.monotonic()))
        return False
    except subprocess.TimeoutExpired:
        return True


def run(params):
    command = params["command"].encode("utf-8")
    if b"\0" in command:
        raise Refused("`command` holds a NUL character")
    if len(command) > MAX_COMMAND:
        raise Refused("`command` is longer than %d bytes; put it into a script" % MAX_COMMAND)
    enter(params["working_directory"])
    seconds = params["timeout_seconds"]
    deadline = time.monotonic() + seconds
    # Ending this process ends the command's group too, and leaves no traceback of this file.
    for ends in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ends, lambda number, frame: sys.exit(128 + number))
    try:
        process = subprocess.Popen(
            [b"bash", b"-c", b"--", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise Refused("bash was not found on PATH")
    out, err = Capture(), Capture()
    captures = [(process.stdout, out), (process.stderr, err)]
    try:
        timed_out = pump(process, captures, deadline)
        if timed_out:
            signal_group(process, signal.SIGTERM)
            pump(process, captures, time.monotonic() + GRACE_SECONDS)
    finally:
        signal_group(process, signal.SIGKILL)
        process.wait()
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    result = {"stdout": out.text(), "stderr": err.text(), "exit_code": status}
    if out.left_out or err.left_out:
        result["truncated"] = True
    if timed_out:
        raise Refused("the command did not end within %d s and was ended" % seconds, **result)
    if process.returncode < 0:
        raise Refused("the command was ended by signal %d" % -process.returncode, **result)
    if status:
        ended.append(status)
        raise Refused("the command ended with exit status %d" % status, **result)
    return result


if __name__ == "__main__":
    ended = []  # with which status, where it is none of ours
    sys.exit(main(CONFIG_SCHEMA, run) and (ended or [1])[0])
