//! `rye dev` from outside (core 5.2): a session that is watched through its events.
//!
//! Nothing here waits for time to pass: what must happen is waited for, and what must not has not
//! happened once something later has.

mod key;
pub mod rules;
mod saves;
mod terminal;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::world::{World, python};

/// Long beyond any machine's: only a session that does nothing takes it.
const PATIENCE: Duration = Duration::from_mins(1);

/// A tool that says `word`.
pub fn says(word: &str) -> String {
    format!(
        "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
         # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
         # description = \"Says a word\"\n# ///\necho '{{\"said\": \"{word}\"}}'\n"
    )
}

pub const SAY: &str = "tool:acme/say";
pub const SAY_FILE: &str = ".ai/tools/acme/say.sh";
pub const OTHER: &str = "tool:acme/other";
pub const OTHER_FILE: &str = ".ai/tools/acme/other.sh";

/// A world with two signed tools.
pub fn world() -> World {
    let world = World::new().with(SAY_FILE, &says("first")).with(OTHER_FILE, &says("other"));
    world.works(SAY);
    world
}

/// Runs what it is told on a terminal of its own, and passes keys and output on.
const AT_TERMINAL: &str = "import fcntl, os, pty, select, signal, struct, sys, termios
for passed_over in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(passed_over, signal.SIG_DFL)
pid, fd = pty.fork()
if pid == 0:
    if columns := int(os.environ.get('TEST_COLUMNS', 0)):
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
keys = True
while True:
    try:
        ready = select.select([fd] + ([0] if keys else []), [], [])[0]
        if 0 in ready:
            piece = os.read(0, 4096)
            keys = bool(piece)
            if piece:
                os.write(fd, piece)
        if fd in ready:
            piece = os.read(fd, 65536)
            if not piece:
                break
            os.write(1, piece)
    except OSError:
        break
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
";

/// A session, and what it told so far.
pub struct Dev {
    child: Child,
    keys: Option<ChildStdin>,
    lines: Receiver<String>,
    pub seen: Vec<Value>,
}

impl Dev {
    /// `rye dev --unattended … --json` without a terminal, from its first event on.
    #[track_caller]
    pub fn start(world: &World, args: &[&str]) -> Self {
        Self::start_in(world, &world.project(), args)
    }

    #[track_caller]
    pub fn start_in(world: &World, folder: &Path, args: &[&str]) -> Self {
        Self::begin(world, folder, &[&["--unattended"], args].concat())
    }

    /// The same as somebody starts it who knows of no flag.
    #[track_caller]
    pub fn start_as_it_is(world: &World, args: &[&str]) -> Self {
        Self::begin(world, &world.project(), args)
    }

    #[track_caller]
    fn begin(world: &World, folder: &Path, args: &[&str]) -> Self {
        let mut command = world.command(&[&["dev"], args, &["--json"]].concat());
        command.current_dir(folder).stdin(Stdio::null());
        let mut dev = Self::of(command);
        dev.until("started");
        dev
    }

    /// The same on a terminal.
    #[track_caller]
    pub fn at_terminal(world: &World, args: &[&str]) -> Self {
        let mut dev = Self::of(at_terminal(world, &[&["dev"], args, &["--json"]].concat()));
        dev.until("started");
        dev
    }

    pub fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (keys, stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines();
            while let Some(Ok(line)) = lines.next() {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, lines, seen: Vec::new() }
    }

    /// The next line of the session.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("nothing more came; so far {:#?}", self.seen))
    }

    /// The next event.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        let line = self.line();
        let event: Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("no event ({e}): {line}"));
        self.seen.push(event.clone());
        event
    }

    /// The next event of that name.
    #[track_caller]
    pub fn until(&mut self, name: &str) -> Value {
        self.until_that(|event| event["event"] == name)
    }

    /// The next event of that name about that item.
    #[track_caller]
    pub fn about(&mut self, name: &str, item: &str) -> Value {
        self.until_that(|event| event["event"] == name && event["item_id"] == item)
    }

    #[track_caller]
    pub fn until_that(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next();
            if is(&event) {
                return event;
            }
        }
    }

    /// The next run, and the word that the tool said.
    #[track_caller]
    pub fn ran(&mut self) -> String {
        let event = self.until("ran");
        word(&event)
    }

    pub fn press(&mut self, key: &str) {
        let keys = self.keys.as_mut().expect("a terminal");
        keys.write_all(key.as_bytes()).expect("a key");
        keys.flush().expect("a key");
    }

    /// Sends a signal to whatever was started.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    /// How it ended: the status, or 128 and the signal.
    #[track_caller]
    pub fn end(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.extend(serde_json::from_str::<Value>(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {:#?}", self.seen),
            }
        }
        let status = self.child.wait().expect("it ends");
        status.code().or(status.signal().map(|signal| 128 + signal)).expect("a status")
    }

    /// Every event so far of that name.
    pub fn all(&self, name: &str) -> Vec<&Value> {
        self.seen.iter().filter(|event| event["event"] == name).collect()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// rye on a terminal of its own; keys come by standard input.
pub fn at_terminal(world: &World, args: &[&str]) -> Command {
    let python = python().display().to_string();
    let mut command = world.command_through(&python, &["-c", AT_TERMINAL], args);
    command.stdin(Stdio::piped());
    command
}

/// What the tool of a run said; the code of its failure without an answer.
pub fn word(ran: &Value) -> String {
    let said = ran["report"]["data"]["said"].as_str();
    said.or(ran["report"]["code"].as_str()).unwrap_or_default().to_owned()
}

/// The signer that a file of the project names, and whether rye admits the file.
pub fn signer(world: &World, path: &str) -> String {
    let text = String::from_utf8(world.read(path)).expect("text");
    let line = text.lines().find(|line| line.contains("rye:signed:v2")).unwrap_or_default();
    line.split(" key=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default().into()
}

/// Changes the text of a file and leaves its signature line, as an editor does.
#[track_caller]
pub fn edit(world: &World, path: &str, from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(world.read(path)).expect("text");
    let edited = text.replacen(from, to, 1);
    assert_ne!(text, edited, "`{from}` is in {path}");
    world.write(path, &edited);
    edited.into_bytes()
}

/// Changes the word that a tool says.
#[track_caller]
pub fn reword(world: &World, path: &str, to: &str) -> Vec<u8> {
    let edited = reworded(world, path, to);
    world.write(path, &edited);
    edited
}

/// The file with another word, not written.
pub fn reworded(world: &World, path: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(world.read(path)).expect("text");
    let lines = text.lines().map(|line| match line.starts_with("echo ") {
        true => format!("echo '{{\"said\": \"{to}\"}}'\n"),
        false => format!("{line}\n"),
    });
    lines.collect::<String>().into_bytes()
}

/// What lies there is admitted. Nothing is run: a session sees every run.
#[track_caller]
pub fn admitted(world: &World, item: &str) {
    world.rye(&["verify", item]).ok();
}

/// Writes beside the file and renames, as most editors do.
pub fn by_rename(world: &World, path: &str, bytes: &[u8]) {
    let path = world.project().join(path);
    let beside = path.with_extension("swp~");
    fs::write(&beside, bytes).expect("a written file");
    fs::rename(beside, path).expect("a rename");
}
