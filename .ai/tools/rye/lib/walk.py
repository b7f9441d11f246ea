"""Everything below a folder of the project."""
import os

from lib.paths import FOLDER, holds_keys

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
