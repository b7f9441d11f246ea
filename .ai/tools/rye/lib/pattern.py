"""Path patterns.

A pattern is matched one path component at a time by a set of positions, so no pattern takes more
than (length of pattern) x (length of path) steps.
"""
from lib.params import Refused
from lib.paths import split

MANY, ONE, DEEP = "many", "one", "deep"


def read_class(body):
    """`a-z_` or `!a-z` as (negated, [(low, high), ...])."""
    negated = body[:1] in ("!", "^")
    body = body[1:] if negated else body
    ranges = []
    while body:
        wide = len(body) > 2 and body[1] == "-"
        ranges.append((body[0], body[2] if wide else body[0]))
        body = body[3:] if wide else body[1:]
    return negated, ranges


def read_segment(text):
    """The signs of one component: MANY for `*`, ONE for `?`, a class, or (False, [(c, c)])."""
    signs = []
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        end = -1
        if sign == "[":
            end = text.find("]", at + (2 if text[at : at + 1] in ("!", "^") else 1))
        if end > 0:
            signs.append(read_class(text[at:end]))
            at = end + 1
        elif sign == "?":
            signs.append(ONE)
        elif sign != "*":
            signs.append((False, [(sign, sign)]))
        elif signs[-1:] != [MANY]:
            signs.append(MANY)
    return signs


def fits_sign(sign, char):
    """Whether one character matches one sign other than MANY."""
    if sign == ONE:
        return True
    negated, ranges = sign
    return negated != any(low <= char <= high for low, high in ranges)


def fits(signs, name):
    """Whether one component matches. After a mismatch only the last `*` takes one sign more."""
    at = here = resume = 0
    star = -1
    while here < len(name):
        if at < len(signs) and signs[at] == MANY:
            star, resume = at, here
            at += 1
        elif at < len(signs) and fits_sign(signs[at], name[here]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return all(sign == MANY for sign in signs[at:])


class Pattern:
    """A path pattern. `**` stands for any number of folders, `*` `?` `[a-z]` stay in one component."""

    def __init__(self, text, anywhere=False):
        parts = [part.decode("utf-8") for part in split(text)]
        if not parts:
            raise Refused("the pattern names no file")
        if "{" in text:
            raise Refused("braces are not supported in patterns; run one search for each alternative")
        if parts[-1] == "**":
            parts.append("*")
        if anywhere and len(parts) == 1:
            parts.insert(0, "**")
        self.steps = [DEEP if part == "**" else read_segment(part) for part in parts]

    def positions(self, path):
        """Where in the pattern a path may have come to; none: nothing below it can match."""
        now = self.skip({0})
        for part in path:
            name = part.decode("utf-8", "surrogateescape")
            after = set()
            for at in now:
                if at < len(self.steps):
                    if self.steps[at] == DEEP:
                        after.add(at)
                    elif fits(self.steps[at], name):
                        after.add(at + 1)
            now = self.skip(after)
        return now

    def skip(self, positions):
        """The positions, with those behind a `**`, which may stand for no folder at all."""
        for at in list(positions):
            while at < len(self.steps) and self.steps[at] == DEEP:
                at += 1
                positions.add(at)
        return positions

    def enters(self, path):
        """Whether something below this folder may match."""
        return any(at < len(self.steps) for at in self.positions(path))

    def matches(self, path):
        """Whether this path matches."""
        return len(self.steps) in self.positions(path)
