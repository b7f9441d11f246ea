//! rye on a terminal of its own, at which a person types.

use std::process::{Command, Output, Stdio};

use super::{PYTHON, Said, World, program, python};

/// What happens at the terminal.
#[derive(Default)]
struct Typed<'a> {
    /// Typed before rye starts.
    ahead: &'a str,
    /// A script that runs while the first question is open.
    meanwhile: &'a str,
    /// A line for each question.
    answer: &'a str,
    /// Files that are made, each when its text was shown behind that of the one before: a line
    /// each, the text and the file with a tab between them.
    steps: &'a str,
}

impl World {
    /// Runs rye as a program that rye started would, on a terminal, at which a person types
    /// `answer`; what it shows is the output.
    pub fn rye_below_a_run_at_a_terminal(&self, answer: &str, args: &[&str]) -> Said {
        let typed = Typed { answer, ..Typed::default() };
        self.at_a_terminal(&typed, args, &[("RYE_RUN_ID", "run-of-a-test")])
    }

    /// rye as a person starts it, who types `answer`; what the terminal shows is the output.
    pub fn rye_at_a_terminal(&self, answer: &str, args: &[&str]) -> Said {
        self.at_a_terminal(&Typed { answer, ..Typed::default() }, args, &[])
    }

    /// rye on a terminal of that many columns, without colours.
    pub fn rye_in_columns(&self, columns: u16, args: &[&str]) -> Said {
        let columns = columns.to_string();
        let env = [("TEST_COLUMNS", columns.as_str()), ("NO_COLOR", "1")];
        self.at_a_terminal(&Typed::default(), args, &env)
    }

    /// The same where a script runs in the project while the first question is open.
    pub fn rye_at_a_terminal_while(&self, meanwhile: &str, answer: &str, args: &[&str]) -> Said {
        self.at_a_terminal(&Typed { meanwhile, answer, ..Typed::default() }, args, &[])
    }

    /// The same where a tool that waits for a file gets it when a text was shown: the texts and the
    /// files, in their order.
    pub fn rye_at_a_terminal_by_steps(&self, steps: &[(&str, &str)], args: &[&str]) -> Said {
        let steps: Vec<_> = steps.iter().map(|(text, file)| format!("{text}\t{file}")).collect();
        let typed = Typed { steps: &steps.join("\n"), ..Typed::default() };
        self.at_a_terminal(&typed, args, &[])
    }

    /// The same where `ahead` was typed before rye started, below a run or not.
    pub fn rye_typed_ahead(&self, below: bool, ahead: &str, answer: &str, args: &[&str]) -> Said {
        let env = [("RYE_RUN_ID", "run-of-a-test")];
        let env = if below { &env[..] } else { &[] };
        self.at_a_terminal(&Typed { ahead, answer, ..Typed::default() }, args, env)
    }

    /// rye on a terminal, ended by a signal of that number while its first question is open and half
    /// an answer is typed. The status that its starter gets, which is negative for a signal, and
    /// whether the terminal shows what is typed: while the question was open, and afterwards.
    pub fn rye_at_a_terminal_ended_by(&self, signal: i32, args: &[&str]) -> (i32, bool, bool) {
        let script = "import os, pty, signal, subprocess, sys, termios
def echoes(fd):
    return bool(termios.tcgetattr(fd)[3] & termios.ECHO)
number, told, tell = int(sys.argv[1]), *os.pipe()
pid, fd = pty.fork()
if pid == 0:
    # It stays at the terminal, as a shell does: one that everybody left is made anew.
    signal.signal(number, signal.SIG_DFL)
    rye = subprocess.Popen(sys.argv[2:])
    os.write(tell, b'%d\\n' % rye.pid)
    os.write(tell, b'%d %d\\n' % (rye.wait(), echoes(0)))
    os._exit(0)
shown, told = b'', os.fdopen(told)
while b' key: ' not in shown:
    shown += os.read(fd, 4096)
asked = echoes(fd)
os.write(fd, b'half an an')
os.kill(int(told.readline()), number)
status, ended = told.readline().split()
print(status, int(asked), ended)
";
        let signal = signal.to_string();
        let output = self.python(&[&[script, &signal, program()], args].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<i32> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        let [status, asked, ended] = numbers[..] else { panic!("{output:?}") };
        (status, asked == 1, ended == 1)
    }

    /// Runs a Python program with its arguments in the project.
    fn python(&self, program: &[&str]) -> Output {
        Command::new(python())
            .arg("-c")
            .args(program)
            .current_dir(self.project())
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::null())
            .output()
            .expect("python3 starts")
    }

    /// A shell on a terminal of its own, which is closed once the file `ready` is there. The status
    /// of the shell, which is negative for a signal.
    pub fn shell_at_a_terminal_that_closes(&self, script: &str) -> i32 {
        let closes = "import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv('/bin/sh', ['sh', '-c', sys.argv[1]])
while not os.path.exists('ready'):
    time.sleep(0.01)
os.close(fd)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
        let output = self.python(&[closes, script]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse().unwrap_or_else(|_| panic!("{output:?}"))
    }

    fn at_a_terminal(&self, typed: &Typed<'_>, args: &[&str], env: &[(&str, &str)]) -> Said {
        PYTHON.needed();
        let script = "import fcntl, os, pty, struct, sys, termios, time
answer, ahead, meanwhile, steps = (text.encode() for text in sys.argv[1:5])
pid, fd = pty.fork()
if pid == 0:
    # What is typed ahead lies there to be read before rye starts.
    while struct.unpack('i', fcntl.ioctl(0, termios.FIONREAD, bytes(4)))[0] < len(ahead):
        time.sleep(0.01)
    if columns := int(os.environ.get('TEST_COLUMNS', 0)):
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execv(sys.argv[5], sys.argv[5:])
os.write(fd, ahead)
lines = answer.splitlines(True)
steps = [step.split(b'\\t') for step in steps.splitlines()]
shown, at, seen = b'', 0, 0
try:
    while piece := os.read(fd, 4096):
        shown += piece
        while steps and (found := shown.find(steps[0][0], seen)) >= 0:
            seen = found + len(steps[0][0])
            open(steps.pop(0)[1], 'w').close()
        # A person answers what is asked: what was typed before a question is thrown away.
        if lines and any(ask in shown[at:] for ask in (b'[y/N] ', b' key: ', b' again: ')):
            if at == 0:
                os.system(meanwhile)
            at = len(shown)
            os.write(fd, lines.pop(0))
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
        let Typed { ahead, meanwhile, answer, steps } = typed;
        let output = Command::new(python())
            .args(["-c", script, answer, ahead, meanwhile, steps, program()])
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .envs(&self.env)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("python3 starts");
        Said {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
