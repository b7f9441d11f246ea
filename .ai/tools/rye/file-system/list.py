# rye:signed:v2 item=tool:rye/file-system/list ext=py at=2026-11-21T11:15:53Z sha256=5f6cd5fb570cb19900fa5d1392f4e9d87856b2ad6feb52c3a9c4059660937d7f key=78f7dae3a0d000131c0889808c8c822d sig=sSm3UfRqcA6uJm3lvdFXi-u0ge0KdyoL85JTKEtmDNvHZvcVvlJexTo1HO9MUTDU7sYpJqcA1VALrYTu3Kd0DA
"""Lists a folder of the project."""
import errno
import json
import os
import stat
import sys

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "rye/file-system"
__tool_description__ = "Lists a folder of the project, sorted by path, `depth` levels deep. Hidden files are listed, `.git` is not. Symlinks are listed but not followed."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The folder, by its path below the project.",
            "minLength": 1,
            "default": ".",
        },
        "depth": {
            "type": "integer",
            "description": "How many levels are listed; 1 lists the folder itself only.",
            "minimum": 1,
            "maximum": 32,
            "default": 1,
        },
    },
    "required": [],
    "additionalProperties": False,
    "examples": [
        {},
        {"path": "src", "depth": 3},
    ],
}

MAX_ENTRIES = 2000  # entries returned; more does not fit an agent's context


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


# --- walking folders: identical in list, glob and grep ---
MAX_SCANNED = 200000  # entries looked at in one run; about two seconds on a slow disk
MAX_DEPTH = 64  # one open descriptor a level


class Walk:
    """Everything below a folder, sorted by name at each level. `.git` and the folder of signing keys are
    left out, links are not entered."""

    def __init__(self, enter):
        self.enter = enter  # whether to go into the folder with these components
        self.scanned = 0
        self.truncated = False

    def below(self, folder, parts, depth):
        """Yields (folder descriptor, components, is_dir, is_file)."""
        names = []
        with os.scandir(folder) as found:
            for entry in found:
                self.scanned += 1
                if self.scanned > MAX_SCANNED:
                    self.truncated = True
                    break
                name = os.fsencode(entry.name)
                if name.lower() != b".git" and not (name.lower() == b"keys" and holds_keys(parts + [name])):
                    is_dir = entry.is_dir(follow_symlinks=False)
                    is_file = entry.is_file(follow_symlinks=False)
                    names.append((name, is_dir, is_file))
        for name, is_dir, is_file in sorted(names):
            path = parts + [name]
            yield folder, path, is_dir, is_file
            if is_dir and depth > 1 and self.enter(path):
                try:
                    below = os.open(name, FOLDER, dir_fd=folder)
                except OSError:
                    continue  # gone, or not ours to read
                try:
                    yield from self.below(below, path, depth - 1)
                finally:
                    os.close(below)
# --- end of walking folders ---


def run(params):
    parts = split(params["path"])
    walk = Walk(lambda path: True)
    entries = []
    for folder, path, is_dir, _ in walk.below(open_folder(parts), parts, params["depth"]):
        try:
            size = os.stat(path[-1], dir_fd=folder, follow_symlinks=False).st_size
        except OSError:
            continue  # gone since it was listed
        entry = {"name": show(path[-1:]), "path": show(path), "is_dir": is_dir}
        entries.append(dict(entry, size=0 if is_dir else size))
    entries.sort(key=lambda entry: entry["path"])
    truncated = walk.truncated or len(entries) > MAX_ENTRIES
    return {"entries": entries[:MAX_ENTRIES], "truncated": truncated}


if __name__ == "__main__":
    sys.exit(main())
