"""Paths that stay in the project.

A path is walked component by component below an open descriptor of the project folder. No step
follows a symlink, so nothing that is swapped during the walk leads out of the project. Paths are
lists of components, as bytes; `shown` is how a path is written in a refusal.
"""
import errno
import os
import stat

from lib.params import Refused

MAX_PATH = 4096  # bytes; the longest path Linux takes
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def project_path():
    """The project folder, as bytes."""
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


def components(path):
    """The components of a path, wherever in the project it leads."""
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


def split(path):
    """The components of a path below the project, as bytes. No components: the project itself."""
    parts = components(path)
    if holds_keys(parts):
        raise Refused("`%s` holds signing keys and is closed to tools" % path)
    return parts


def show(parts):
    """A path as it is written in answers."""
    return b"/".join(parts).decode("utf-8", "replace") or "."


def cannot_open(error, folder, name, shown):
    """The reason why `name` could not be opened in `folder`, as a sentence."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    if stat.S_ISLNK(mode):
        return no_file(mode, shown)
    if error.errno == errno.ENOENT:
        return Refused("`%s` does not exist" % shown)
    if error.errno == errno.ENOTDIR:
        return Refused("`%s` is not a folder" % shown)
    return Refused("`%s` cannot be opened: %s" % (shown, error.strerror))


def enter_folder(folder, name, create):
    """A descriptor of the folder `name` in an open folder; one that is missing is made if `create`."""
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


def open_folder(parts, create=False, guard=None, root=None):
    """A descriptor of a folder below the project, or below `root`; `guard` sees each step before it is
    taken."""
    here = os.open(root or project_path(), os.O_RDONLY | os.O_DIRECTORY)
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


def no_file(mode, shown):
    """The reason why what has this mode is not taken for a file, as a sentence."""
    if stat.S_ISLNK(mode):
        return Refused("`%s` is a symlink; symlinks are not followed" % shown)
    if stat.S_ISDIR(mode):
        return Refused("`%s` is a folder" % shown)
    return Refused("`%s` is not a regular file" % shown)


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
    raise no_file(mode, shown)


def read_file(file, limit, shown):
    """Everything in an open file, which is closed; more than `limit` bytes are refused."""
    with os.fdopen(file, "rb") as stream:
        size = os.fstat(file).st_size
        data = stream.read(limit + 1) if size <= limit else b""
    if size > limit or len(data) > limit:
        raise Refused("`%s` is larger than %d bytes" % (shown, limit))
    return data
