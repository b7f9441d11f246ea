# rye:signed:v2 item=tool:rye/file-system/edit ext=py at=2026-11-21T11:15:53Z sha256=30edd6acffef2facbac92d98275c5e150d563d54a3b158d4791770570ae5b499 key=78f7dae3a0d000131c0889808c8c822d sig=Hh9lz3n9omKJo0HH5SYhyD2XVD9kpvbLlcX5WgpzCxHP0blQHnBrfMeXWKzivD7g1yNHJR_vtzPx3O7f2CDkDQ
"""Replaces an exact string in a file of the project."""
import errno
import json
import os
import stat
import sys

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Replaces an exact string in a file of the project, atomically. The string must occur exactly once unless `replace_all` is true. Nothing is written below `.git` and `.ai/config`."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The file, by its path below the project.",
            "minLength": 1,
        },
        "old": {
            "type": "string",
            "description": "The text to replace, exactly as it stands in the file, white space included.",
            "minLength": 1,
        },
        "new": {
            "type": "string",
            "description": "The text that takes its place; empty to delete it.",
        },
        "replace_all": {
            "type": "boolean",
            "description": "Whether every occurrence is replaced. Without it the text must occur exactly once.",
            "default": False,
        },
    },
    "required": ["path", "old", "new"],
    "additionalProperties": False,
    "examples": [
        {"path": "Cargo.toml", "old": "version = \"0.1.0\"", "new": "version = \"0.1.1\""},
        {"path": "src/lib.rs", "old": "colour", "new": "color", "replace_all": True},
    ],
}

MAX_FILE = 16 * 1024 * 1024  # bytes, before and after


# --- parameters and answers: identical in every rye tool ---
MAX_INPUT = 64 * 1024 * 1024  # bytes of parameters; four times the largest content of rye/file-system/write


class Refused(Exception):
    """A request that is not carried out. The message is one clear sentence for the caller."""

    def __init__(self, message, **details):
        super().__init__(message)
        self.details = details


def check(name, value, rule):
    """One parameter against its entry in CONFIG_SCHEMA."""
    if rule["type"] == "integer":
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON Schema counts 3.0 as an integer
        if not isinstance(value, int) or isinstance(value, bool):
            raise Refused("`%s` must be an integer" % name)
        if not rule["minimum"] <= value <= rule["maximum"]:
            raise Refused("`%s` must be from %d to %d" % (name, rule["minimum"], rule["maximum"]))
    elif rule["type"] == "boolean":
        if not isinstance(value, bool):
            raise Refused("`%s` must be true or false" % name)
    else:
        if not isinstance(value, str):
            raise Refused("`%s` must be a string" % name)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Refused("`%s` holds half of a surrogate pair, which is not text" % name)
        if len(value) < rule.get("minLength", 0):
            raise Refused("`%s` must not be empty" % name)
        if len(value) > rule.get("maxLength", MAX_INPUT):
            raise Refused("`%s` must not be longer than %d characters" % (name, rule["maxLength"]))
    return value


def read_params():
    """The parameters from standard input, checked against CONFIG_SCHEMA, with defaults filled in."""
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise Refused("the parameters are larger than %d bytes" % MAX_INPUT)
    try:
        given = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused("the parameters on standard input are not one JSON object in UTF-8")
    if not isinstance(given, dict):
        raise Refused("the parameters on standard input are not one JSON object in UTF-8")
    rules = CONFIG_SCHEMA["properties"]
    for name in given:
        if name not in rules:
            shown = name.encode("utf-8", "replace").decode("utf-8")
            raise Refused("unknown parameter `%s`; known are: %s" % (shown, ", ".join(rules)))
    for name in CONFIG_SCHEMA["required"]:
        if name not in given:
            raise Refused("the parameter `%s` is missing" % name)
    params = {name: rule.get("default") for name, rule in rules.items()}
    for name, value in given.items():
        params[name] = check(name, value, rules[name])
    return params


def answer(result, status):
    """Prints the result as one line of JSON and gives the exit status."""
    text = json.dumps(result, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
    return status


def main():
    try:
        return answer(run(read_params()), 0)
    except Refused as refused:
        return answer(dict({"success": False, "error": str(refused)}, **refused.details), 1)
    except OSError as error:
        return answer({"success": False, "error": "the system refused: %s" % error.strerror}, 1)
# --- end of parameters and answers ---


# --- contained paths: identical in every rye/file-system tool ---
# A path is walked component by component below an open descriptor of the project folder. No step
# follows a symlink, so nothing that is swapped during the walk leads out of the project.
MAX_PATH = 4096  # bytes; the longest path Linux takes
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def project_path():
    return os.path.abspath(os.environb.get(b"RYE_PROJECT") or os.getcwdb())


def lies_in(parts, folders):
    """Whether a path below the project passes through these folders, one in the other, anywhere on its
    way from the root of the file system, under whatever spelling."""
    for root in (project_path(), os.path.realpath(project_path())):
        whole = [part.lower() for part in root.split(b"/") if part] + [part.lower() for part in parts]
        if any(whole[at : at + len(folders)] == folders for at in range(len(whole))):
            return True
    return False


def holds_keys(parts):
    """A signing key lies there, and who has it can sign: no tool reads or writes that folder, also
    where the project is, or holds, somebody's home."""
    return lies_in(parts, [b".ai", b"config", b"keys"])


def split(path):
    """The components of a path below the project, as bytes. No components: the project itself."""
    parts = components(path)
    if holds_keys(parts):
        raise Refused("`%s` holds signing keys and is closed to tools" % path)
    return parts


def components(path):
    raw = path.encode("utf-8")
    if b"\0" in raw:
        raise Refused("the path holds a NUL character")
    if len(raw) > MAX_PATH:
        raise Refused("the path is longer than %d bytes" % MAX_PATH)
    parts = [part for part in raw.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise Refused("`%s` contains `..`; give the path below the project without it" % path)
    if not raw.startswith(b"/"):
        return parts
    for root in (project_path(), os.path.realpath(project_path())):
        prefix = [part for part in root.split(b"/") if part]
        if parts[: len(prefix)] == prefix:
            return parts[len(prefix) :]
    raise Refused("`%s` is outside the project" % path)


def show(parts):
    return b"/".join(parts).decode("utf-8", "replace") or "."


def cannot_open(error, folder, name, shown):
    """The reason why `name` could not be opened in `folder`, as a sentence."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    if stat.S_ISLNK(mode):
        return Refused("`%s` is a symlink; symlinks are not followed" % shown)
    if error.errno == errno.ENOENT:
        return Refused("`%s` does not exist" % shown)
    if error.errno == errno.ENOTDIR:
        return Refused("`%s` is not a folder" % shown)
    return Refused("`%s` cannot be opened: %s" % (shown, error.strerror))


def enter_folder(folder, name, create):
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        pass  # made by someone else in between
    return os.open(name, FOLDER, dir_fd=folder)


def open_folder(parts, create=False, guard=None):
    """A descriptor of a folder below the project; `guard` sees each step before it is taken."""
    here = os.open(project_path(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        for depth, name in enumerate(parts):
            shown = show(parts[: depth + 1])
            if guard:
                guard(here, name, shown)
            try:
                below = enter_folder(here, name, create)
            except OSError as error:
                raise cannot_open(error, here, name, shown)
            os.close(here)
            here = below
    except BaseException:
        os.close(here)
        raise
    return here


def open_file(folder, name, shown):
    """A descriptor of a regular file in an open folder. Never waits for a pipe or a device."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            file = os.open(name, FILE, dir_fd=folder)
            if stat.S_ISREG(os.fstat(file).st_mode):
                return file
            os.close(file)
    except OSError as error:
        raise cannot_open(error, folder, name, shown)
    if stat.S_ISLNK(mode):
        raise Refused("`%s` is a symlink; symlinks are not followed" % shown)
    if stat.S_ISDIR(mode):
        raise Refused("`%s` is a folder" % shown)
    raise Refused("`%s` is not a regular file" % shown)


def read_file(file, limit, shown):
    """Everything in an open file, which is closed; more than `limit` bytes are refused."""
    with os.fdopen(file, "rb") as stream:
        size = os.fstat(file).st_size
        data = stream.read(limit + 1) if size <= limit else b""
    if size > limit or len(data) > limit:
        raise Refused("`%s` is larger than %d bytes" % (shown, limit))
    return data
# --- end of contained paths ---


# --- replacing a file: identical in write and edit ---
def identity(path):
    try:
        found = os.stat(os.path.join(project_path(), path))
        return (found.st_dev, found.st_ino)
    except OSError:
        return None


def guard(folder, name, shown):
    """Refuses every step into `.git` and the project's `.ai/config`, under whatever spelling."""
    here = os.fstat(folder)
    plain = name.decode("utf-8", "replace").casefold()
    if plain == ".git":
        raise Refused("`%s` belongs to git and is not written" % shown)
    if plain == "config" and (here.st_dev, here.st_ino) == identity(b".ai"):
        raise Refused("`%s` holds keys and policy and is not written" % shown)
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return
    if (there.st_dev, there.st_ino) in (identity(b".git"), identity(b".ai/config")):
        raise Refused("`%s` is protected and is not written" % shown)


def open_parent(parts, path, create):
    """A descriptor of the folder that holds a file to be written."""
    if not parts or path.endswith("/"):
        raise Refused("`%s` is a folder" % path)
    if lies_in(parts, [b".ai", b"config"]):
        raise Refused("`%s` holds keys and policy and is not written" % show(parts))
    if b".git" in [part.lower() for part in parts]:
        raise Refused("`%s` belongs to git and is not written" % show(parts))
    folder = open_folder(parts[:-1], create, guard)
    try:
        guard(folder, parts[-1], show(parts))
    except BaseException:
        os.close(folder)
        raise
    return folder


def replace_file(folder, name, data, shown, before=None):
    """Writes a file atomically: readers see the old bytes or all of `data`. True if it did not exist."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise cannot_open(error, folder, name, shown)
    if old is None:
        umask = os.umask(0o077)
        os.umask(umask)
        mode = 0o666 & ~umask
    else:
        mode = stat.S_IMODE(old.st_mode) & 0o777
        if stat.S_ISLNK(old.st_mode):
            raise Refused("`%s` is a symlink; symlinks are not followed" % shown)
        if stat.S_ISDIR(old.st_mode):
            raise Refused("`%s` is a folder" % shown)
        if not stat.S_ISREG(old.st_mode):
            raise Refused("`%s` is not a regular file" % shown)
        if not mode & 0o222:
            raise Refused("`%s` is read-only" % shown)
    if before and (not old or stamp(old) != stamp(before)):
        raise Refused("`%s` changed while it was edited" % shown)
    temporary = b".rye-" + os.urandom(16).hex().encode("ascii") + b".tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
    except OSError as error:
        raise Refused("`%s` cannot be written: %s" % (shown, error.strerror))
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            if old and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                try:
                    os.fchown(file, old.st_uid, old.st_gid)
                except PermissionError:
                    pass  # only root may give a file back to its owner
            os.fchmod(file, mode)
            os.fsync(file)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException as error:
        os.unlink(temporary, dir_fd=folder)
        if isinstance(error, OSError):
            raise Refused("`%s` cannot be written: %s" % (shown, error.strerror))
        raise
    os.fsync(folder)
    return old is None


def stamp(found):
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
# --- end of replacing a file ---


def count(data, old):
    """How often `old` occurs; one that overlaps itself counts as twice, for it is not unique."""
    found = data.count(old)
    if found == 1 and data.find(old, data.find(old) + 1) >= 0:
        return 2
    return found


def run(params):
    old, new = params["old"].encode("utf-8"), params["new"].encode("utf-8")
    if old == new:
        raise Refused("`old` and `new` are the same")
    parts = split(params["path"])
    shown = show(parts)
    folder = open_parent(parts, params["path"], False)
    file = open_file(folder, parts[-1], shown)
    before = os.fstat(file)
    data = read_file(file, MAX_FILE, shown)
    found = data.count(old) if params["replace_all"] else count(data, old)
    if found == 0 and b"\n" in old and old.replace(b"\n", b"\r\n") in data:
        raise Refused("`old` was not found in `%s`: its lines end in CR LF" % shown, count=0)
    if found == 0:
        raise Refused("`old` was found 0 times in `%s`" % shown, count=0)
    if found > 1 and not params["replace_all"]:
        message = "`old` was found %d times in `%s`; add surrounding text or set `replace_all`"
        raise Refused(message % (found, shown), count=found)
    if len(data) + found * (len(new) - len(old)) > MAX_FILE:
        raise Refused("`%s` would be larger than %d bytes" % (shown, MAX_FILE))
    replace_file(folder, parts[-1], data.replace(old, new), shown, before)
    return {"path": shown, "replacements": found}


if __name__ == "__main__":
    sys.exit(main())
