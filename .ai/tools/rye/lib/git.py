"""Git, without anything that a repository could have it run.

The settings of a repository can name programs: filters, drivers, monitors, pagers, hooks, helpers.
So git looks at content through a private folder in the place of `.git`: the objects and the index
are those of the repository, and its settings are a few plain values that are copied, by name. The
repository's own folder is opened for two things alone: to say what a name means, and to move a branch.
"""
import atexit
import os
import shutil
import stat
import subprocess
import tempfile
import threading

from lib.params import Refused
from lib.paths import project_path, show, split

MAX_TEXT = 256 * 1024  # bytes of a diff that are returned
MAX_LIST = 4 * 1024 * 1024  # bytes of a list of files or commits that are read
MAX_ERROR = 4096  # bytes kept of what git says is wrong
MAX_COPY = 64 * 1024 * 1024  # bytes of a file of the repository that is copied
MAX_REVISION = 1000  # characters
SECONDS = 60  # for one call of git

# What decides how files compare, and nothing that is run, included or read from elsewhere.
COPIED_SETTINGS = {
    b"core.repositoryformatversion",
    b"extensions.objectformat",
    b"extensions.compatobjectformat",
    b"core.filemode",
    b"core.symlinks",
    b"core.ignorecase",
    b"core.precomposeunicode",
    b"core.autocrlf",
    b"core.eol",
    b"core.protecthfs",
    b"core.protectntfs",
    b"core.sparsecheckout",
    b"core.sparsecheckoutcone",
    b"index.sparse",
    b"user.name",
    b"user.email",
}

# Files of `.git` that say what is looked at.
COPIED_FILES = [b"shallow", b"info/exclude", b"info/attributes", b"info/sparse-checkout"]

# Each marks something that is not finished.
UNFINISHED = [
    (b"MERGE_HEAD", "merge"),
    (b"CHERRY_PICK_HEAD", "cherry-pick"),
    (b"REVERT_HEAD", "revert"),
    (b"rebase-merge", "rebase"),
    (b"rebase-apply", "rebase"),
    (b"BISECT_LOG", "bisection"),
]


class Repository:
    """The repository at the top of the project."""

    def __init__(self):
        self.project = os.path.realpath(project_path())
        self.folder = os.path.join(self.project, b".git")
        try:
            mode = os.lstat(self.folder).st_mode
        except OSError:
            raise Refused("there is no `.git` in the project: it is not the top of a git repository")
        if not stat.S_ISDIR(mode):
            raise Refused("`.git` of the project is not a folder: a linked work tree or a submodule is not looked at")
        self.index = os.environb.get(b"GIT_INDEX_FILE") or os.path.join(self.folder, b"index")
        if os.path.lexists(self.index) and not stat.S_ISREG(os.lstat(self.index).st_mode):
            raise Refused("the index of the repository is not a regular file")
        self.private = tempfile.mkdtemp(prefix="git-").encode()
        atexit.register(shutil.rmtree, self.private, ignore_errors=True)
        self.branch = self._branch()
        self.head = self.commit("HEAD", must_exist=False)
        self._fill()

    def _branch(self):
        """The full name of the branch; none where a commit is checked out by itself."""
        status, out, _ = self._run([b"symbolic-ref", b"--quiet", b"HEAD"], self._names(), MAX_ERROR)
        name = out.rstrip(b"\n")
        return name if status == 0 and name.startswith(b"refs/heads/") else None

    def _fill(self):
        for folder in (b"refs", b"objects", b"info"):
            os.mkdir(os.path.join(self.private, folder))
        head = self.head.encode() if self.head else self.branch and b"ref: " + self.branch
        if not head:
            raise Refused("git does not say what `HEAD` of the repository is")
        self._write(b"HEAD", head + b"\n")
        for name in COPIED_FILES + [n for n in os.listdir(self.folder) if n.startswith(b"sharedindex.")]:
            data = read_plain(os.path.join(self.folder, name))
            if data is not None:
                self._write(name, data)
        self._write(b"config", b"[core]\n\tbare = false\n")
        config = os.path.join(self.private, b"config")
        for key, value in self._settings():
            self._must([b"config", b"--file", config, b"--replace-all", key, value], self._names())

    def _settings(self):
        """The plain settings of the repository; nothing that they include is read."""
        found = {}
        for name in (b"config", b"config.worktree"):
            file = os.path.join(self.folder, name)
            if read_plain(file) is None:
                continue
            said = self._must([b"config", b"--file", file, b"--no-includes", b"--list", b"-z"], self._names())
            for entry in said.split(b"\0"):
                key, _, value = entry.partition(b"\n")
                if key in COPIED_SETTINGS:
                    found[key] = value
        return found.items()

    def _write(self, name, data):
        with open(os.path.join(self.private, name), "xb") as file:
            file.write(data)

    def _base(self):
        return {
            b"PATH": os.environb.get(b"PATH", b""),
            b"HOME": self.private,
            b"TMPDIR": self.private,
            b"LC_ALL": b"C.UTF-8",
            b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_CONFIG_GLOBAL": b"/dev/null",
            b"GIT_ATTR_NOSYSTEM": b"1",
            b"GIT_TERMINAL_PROMPT": b"0",
            b"GIT_OPTIONAL_LOCKS": b"0",
            # A repository may say that what is missing in it is fetched.
            b"GIT_NO_LAZY_FETCH": b"1",
            b"GIT_ALLOW_PROTOCOL": b"none",
            b"GIT_NO_REPLACE_OBJECTS": b"1",
            b"GIT_LITERAL_PATHSPECS": b"1",
            b"GIT_PAGER": b"cat",
            b"GIT_EDITOR": b"false",
        }

    def _names(self):
        """For calls that ask the repository what a name means, or move a branch."""
        overrides = [(b"core.hooksPath", b"/dev/null"), (b"core.fsmonitor", b"false"), (b"core.alternateRefsCommand", b"")]
        env = self._base()
        env.update({b"GIT_DIR": self.folder, b"GIT_CONFIG_COUNT": b"%d" % len(overrides)})
        for at, (key, value) in enumerate(overrides):
            env.update({b"GIT_CONFIG_KEY_%d" % at: key, b"GIT_CONFIG_VALUE_%d" % at: value})
        return env

    def _content(self, more=None):
        """For calls that look at files and commits."""
        env = self._base()
        env.update({
            b"GIT_DIR": self.private,
            b"GIT_WORK_TREE": self.project,
            b"GIT_OBJECT_DIRECTORY": os.path.join(self.folder, b"objects"),
            b"GIT_INDEX_FILE": self.index,
        })
        env.update(more or {})
        return env

    def _run(self, args, env, limit, stdin=b""):
        """Runs git; gives its status, at most `limit` bytes of its output and whether there was more."""
        try:
            process = subprocess.Popen(
                [b"git", b"--no-pager"] + args,
                env=env,
                cwd=self.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError:
            raise Refused("git was not found on PATH")
        errors = []
        ended = threading.Event()

        def listen():
            errors.append(process.stderr.read(MAX_ERROR))
            while process.stderr.read(65536):
                pass

        def say():
            try:
                process.stdin.write(stdin)
                process.stdin.close()
            except OSError:
                pass  # it ended before it read all

        def end():
            if not ended.wait(SECONDS):
                process.kill()

        threads = [threading.Thread(target=work, daemon=True) for work in (listen, say, end)]
        for thread in threads:
            thread.start()
        out = process.stdout.read(limit + 1)
        if len(out) > limit:
            process.kill()
        status = process.wait()
        slow = not ended.is_set() and not threads[2].is_alive()
        ended.set()
        threads[0].join()
        if slow:
            raise Refused("git did not end within %d s" % SECONDS)
        self.error = b"".join(errors).decode("utf-8", "replace").strip()
        return (0 if len(out) > limit else status), out[:limit], len(out) > limit

    def _must(self, args, env, limit=MAX_LIST, stdin=b""):
        status, out, more = self._run(args, env, limit, stdin)
        if status != 0:
            raise Refused("git refused: %s" % (self.error or "it ended with status %d" % status))
        if more:
            raise Refused("git gave more than %d bytes; ask for less" % limit)
        return out

    def commit(self, revision, must_exist=True):
        """The id of the commit that a name means; whatever it is, it is never taken for an option."""
        if "\0" in revision or len(revision) > MAX_REVISION:
            raise Refused("a revision is a name without NUL, of at most %d characters" % MAX_REVISION)
        args = [b"rev-parse", b"--verify", b"--quiet", b"--end-of-options", revision.encode() + b"^{commit}"]
        status, out, _ = self._run(args, self._names(), MAX_ERROR)
        name = out.decode("ascii", "replace").strip()
        # What is left out of a range is a name with a sign before it.
        if status == 0 and name and all(sign in "0123456789abcdef" for sign in name):
            return name
        if must_exist:
            raise Refused("`%s` does not name a commit of this repository" % revision)
        return None

    def read(self, args, limit=MAX_LIST, stdin=b""):
        """What git gives for this look at the content; and whether it was cut."""
        status, out, more = self._run(args, self._content(), limit, stdin)
        if status not in (0, 1):
            raise Refused("git refused: %s" % (self.error or "it ended with status %d" % status))
        return out, more

    def change(self, args, more=None, stdin=b""):
        """Has git write objects or the index."""
        return self._must(args, self._content(more), stdin=stdin)

    def move_branch(self, new, message):
        """Moves the branch from what it was when this began, if nobody else moved it meanwhile."""
        old = self.head or "0" * len(new)
        line = b"update " + self.branch + b"\0" + new.encode() + b"\0" + old.encode() + b"\0"
        self._must([b"update-ref", b"--create-reflog", b"-m", message.encode(), b"-z", b"--stdin"], self._names(), stdin=line)

    def unfinished(self):
        """What somebody began in the repository and has not finished, as a word."""
        for name, word in UNFINISHED:
            path = os.path.join(self.folder, name)
            try:
                # The sandbox keeps some of these places by an empty folder or file.
                if os.listdir(path) if os.path.isdir(path) else os.path.getsize(path):
                    return word
            except OSError:
                pass  # it is not there
        return None


def read_plain(path):
    """The bytes of a regular file; none where there is no such file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        data = opened.read(MAX_COPY + 1)
    if len(data) > MAX_COPY:
        raise Refused("`%s` is too large to look at" % path.decode("utf-8", "replace"))
    return data


def pathspec(path):
    """The words that limit a call of git to one file or folder of the project."""
    parts = split(path)
    if any(part.lower() == b".git" for part in parts):
        raise Refused("`%s` is git's own" % path)
    return [b"--", b"/".join(parts) or b"."]


def text(data):
    return data.decode("utf-8", "replace")


CHANGES = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed", "U": "unmerged"}


def change_of(letter):
    return CHANGES.get(letter, "changed")


def changed_files(repository, args, most):
    """What differs, file by file, and whether that is not all; `args` say between what."""
    flags = [b"--no-ext-diff", b"--no-textconv", b"--ignore-submodules=dirty", b"--find-renames"]
    out, cut = repository.read([b"diff"] + flags + [b"--name-status", b"-z"] + args)
    fields = text(out).split("\0")
    files, at = [], 0
    while at + 1 < len(fields) and fields[at]:
        letter = fields[at][:1]
        two = letter in "RC" and at + 2 < len(fields)
        file = {"path": fields[at + (2 if two else 1)], "change": change_of(letter)}
        if two:
            file["from"] = fields[at + 1]
        at += 3 if two else 2
        if len(files) == most:
            return files, True
        files.append(file)
    return files, cut
