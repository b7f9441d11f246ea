//! rye on a terminal of its own, at which a person types.

use std::process::{Command, Stdio};

use super::{Said, World, program, python_folder};

impl World {
    /// Runs rye as a program that rye started would, on a terminal, at which a person types `answer`;
    /// what it shows is the output.
    pub fn rye_below_a_run_at_a_terminal(&self, answer: &str, args: &[&str]) -> Said {
        self.at_a_terminal(answer, args, &[("RYE_RUN_ID", "run-of-a-test")])
    }

    /// rye as a person starts it, who types `answer`; what the terminal shows is the output.
    pub fn rye_at_a_terminal(&self, answer: &str, args: &[&str]) -> Said {
        self.at_a_terminal(answer, args, &[])
    }

    fn at_a_terminal(&self, answer: &str, args: &[&str], env: &[(&str, &str)]) -> Said {
        let script = "import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
lines = sys.argv[1].encode().splitlines(True)
shown, at = b'', 0
try:
    while piece := os.read(fd, 4096):
        shown += piece
        # A person answers what is asked: what was typed before a question is thrown away.
        if lines and b'[y/N] ' in shown[at:]:
            at = len(shown)
            os.write(fd, lines.pop(0))
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
        let output = Command::new(python_folder().join("python3"))
            .args(["-c", script, answer, program()])
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
