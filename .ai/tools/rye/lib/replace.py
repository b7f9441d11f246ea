"""Replacing a file of the project.

Nothing is written below `.git` and `.ai/config`: what lies there decides what git runs and what rye
admits.
"""
import os
import stat

from lib.params import Refused
from lib.paths import cannot_open, lies_in, no_file, open_folder, project_path, show


def identity(path):
    """What tells a file or folder below the project from every other; None if it is not there."""
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


def new_item(parts):
    """The folder for new items, if the file is one and is not there yet: rye takes it over from there.
    In a sandbox `.ai` itself is closed."""
    folder = os.environb.get(b"RYE_NEW_ITEMS")
    is_item = len(parts) > 2 and parts[0] == b".ai" and parts[1] in (b"tools", b"directives", b"knowledge")
    there = os.path.lexists(os.path.join(project_path(), *parts))
    return folder if folder and is_item and not there else None


def open_parent(parts, path, create):
    """A descriptor of the folder that holds a file to be written."""
    if not parts or path.endswith("/"):
        raise Refused("`%s` is a folder" % path)
    if lies_in(parts, [b".ai", b"config"]):
        raise Refused("`%s` holds keys and policy and is not written" % show(parts))
    if b".git" in [part.lower() for part in parts]:
        raise Refused("`%s` belongs to git and is not written" % show(parts))
    folder_of_new = new_item(parts)
    if folder_of_new:
        if not create:
            os.close(open_folder(parts[:-1], False, guard))
        return open_folder(parts[1:-1], True, None, folder_of_new)
    folder = open_folder(parts[:-1], create, guard)
    try:
        guard(folder, parts[-1], show(parts))
    except BaseException:
        os.close(folder)
        raise
    return folder


def replace_file(folder, name, data, shown, before=None):
    """Writes a file atomically: readers see the old bytes or all of `data`. True if it did not exist.

    With `before`, the status of the file when it was read, a file that changed since is refused.
    """
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
        if not stat.S_ISREG(old.st_mode):
            raise no_file(old.st_mode, shown)
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
    """What differs in the status of a file once someone else wrote or replaced it."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
