"""Types into a real shell, presses TAB, and looks at the line that it makes of it.

    complete.py SHELL TYPED=>WANTED…

For bash and zsh on a terminal of its own; fish is asked for the words that it would offer. Ends with
status 1 at the first line that is another one. Waits for what the shell shows, never for a time.
"""
import os
import pty
import select
import subprocess
import sys
import time

# Far longer than any shell takes: who waits so long has lost the shell.
PATIENCE = 60


def is_shown(texts, shown):
    at = 0
    for text in texts:
        at = shown.find(text, at)
        if at < 0:
            return False
        at += len(text)
    return True


class Shell:
    def __init__(self, name):
        argv = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}[name]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1="> ", HISTFILE="/dev/null")
            os.execvp(argv[0], argv)
        # Long lines must not be broken, and what is pasted is as what is typed.
        os.set_blocking(self.fd, True)
        import fcntl, struct, termios
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
        setup = {
            "bash": "bind 'set enable-bracketed-paste off' 2>/dev/null; source <(rye completions bash)",
            "zsh": "autoload -U compinit && compinit -D -u; source <(rye completions zsh)",
        }[name]
        # As it is shown, the prompt stands nowhere in what is typed.
        self.lines = 0
        self.type(setup + "; PS1='PROMPT''> '")
        self.next_line()

    def type(self, text):
        os.write(self.fd, text.encode())

    def next_line(self):
        """Ends the line with a sign of its own: a shell may draw its prompt more than once."""
        self.lines += 1
        self.type("; echo DONE_$((1000 + %d))\n" % self.lines)
        self.wait("DONE_%d" % (1000 + self.lines), "PROMPT> ")

    def wait(self, *texts):
        """Reads until these were shown, one behind the other."""
        shown, end = "", time.monotonic() + PATIENCE
        while not is_shown(texts, shown):
            left = end - time.monotonic()
            ready, _, _ = select.select([self.fd], [], [], max(left, 0))
            if not ready:
                sys.exit("never shown: %r, but %r" % (texts, shown))
            shown += os.read(self.fd, 65536).decode(errors="replace")
        return shown

    def completed(self, typed):
        """The line after TAB, up to the mark that is typed behind it."""
        self.type(typed + "\t~")
        shown = self.wait("~").split("~")[0]
        # Empties the line.
        self.type("\x15true")
        self.next_line()
        start = shown.rfind(typed[:4])
        line = []
        for sign in shown[start:]:
            if sign == "\b":
                line.pop()
            elif sign not in "\r\n\a":
                line.append(sign)
        return "".join(line)


def offered(typed):
    """What fish offers for the last word, where it offers one thing."""
    ask = "rye completions fish | source; complete -C '%s'" % typed
    told = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True)
    words = [line.split("\t")[0] for line in told.stdout.splitlines()]
    if len(words) != 1:
        sys.exit("fish offers %r for %r: %s" % (words, typed, told.stderr))
    return typed[: typed.rfind(" ") + 1] + words[0]


def main():
    name, rows = sys.argv[1], [row.split("=>") for row in sys.argv[2:]]
    shell = None if name == "fish" else Shell(name)
    for typed, wanted in rows:
        got = offered(typed) if shell is None else shell.completed(typed)
        # A space behind a whole word is as well; behind `name=` it would end the word.
        got = got if wanted.endswith("=") else got.rstrip(" ")
        if got != wanted:
            sys.exit("%s made %r of %r, not %r" % (name, got, typed, wanted))
    print(name, len(rows))


main()
