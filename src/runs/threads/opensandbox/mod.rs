//! The sandbox of a thread on a server of OpenSandbox (threads 5).
//!
//! A payload is a script that runs there (`workspace.sh`), with files for its input and output, so
//! that it gives what it gives on this machine. `server.rs` makes and ends sandboxes · `daemon.rs`
//! runs scripts and moves files.
//!
//! Invariants
//! - Each sandbox that was made is ended once. One whose end was not heard of ends by its server's
//!   time limit.
//! - One that died costs the payload that finds it out; the next one begins in a new sandbox.

mod daemon;
mod server;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::backend::OpenedOnce;
use super::local::{
    WORKSPACE_FILE_BYTES, WORKSPACE_NAMES, decoded, not_regular, os_error, plain, told, too_large,
    too_many, took_too_long, unwritable,
};
use crate::base::limits::WORKSPACE_OUTPUT_BYTES;
use crate::base::sync::unpoisoned;
use crate::rye::{Rye, SandboxServer};
use crate::thread::{
    BackendCapability, BackendFault, BackendFaultKind, Payload, PayloadResult, SandboxBackend,
    WorkspaceEntry, shown_bytes,
};
use server::{ANSWER_MS, Remote, Server};

const SCRIPT: &str = include_str!("workspace.sh");

/// Makes rye's folder in a new sandbox, and tells where it is.
const OPEN: &str = "cd \"${TMPDIR:-/tmp}\" && mkdir -m 700 rye-thread rye-thread/workspace && \
                    echo \"rye at $(pwd -P)/rye-thread\"";

/// See the module.
pub(super) struct OpenSandbox<'a> {
    server: Server<'a>,
    opened: OpenedOnce<OpenRemote>,
}

struct OpenRemote {
    remote: Remote,
    /// Rye's folder.
    base: String,
    /// Names of files that no payload uses, and how many there are.
    slots: Mutex<(Vec<u32>, u32)>,
}

/// The work of a payload in the sandbox.
struct Job {
    /// The variables of the script, and the function that is called.
    call: String,
    path: String,
    stdin: Vec<u8>,
    time: Duration,
}

impl Job {
    /// One on a file or folder.
    fn new(path: String, call: String, stdin: Vec<u8>) -> Self {
        Self { call, path, stdin, time: Duration::from_millis(ANSWER_MS) }
    }
}

/// How a job ended, and the beginning of its output.
struct Done {
    exit_code: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stdout_total: u64,
    stderr_total: u64,
}

impl<'a> OpenSandbox<'a> {
    pub(super) fn new(rye: &'a Rye, settings: SandboxServer) -> Self {
        Self { server: Server::new(rye, settings), opened: OpenedOnce::default() }
    }

    pub(super) fn url(&self) -> &str {
        self.server.url()
    }

    fn open(&self) -> Result<OpenRemote, BackendFault> {
        let remote = self.server.open()?;
        match self.base(&remote) {
            Ok(base) => Ok(OpenRemote { remote, base, slots: Mutex::default() }),
            Err(fault) => {
                self.server.end(&remote.id);
                Err(fault)
            }
        }
    }

    /// Makes rye's folder in a new sandbox.
    fn base(&self, remote: &Remote) -> Result<String, BackendFault> {
        let words = self.server.run(remote, OPEN, Duration::from_millis(ANSWER_MS))?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.');
        match &words[..] {
            [at, base] if at == "at" && base.starts_with('/') && base.bytes().all(plain) => {
                Ok(base.clone())
            }
            _ => Err(self.server.os_error("gave a sandbox in which rye can make no folder")),
        }
    }

    /// Runs a job, and fetches what it printed.
    fn carry_out(
        &self,
        open: &Arc<OpenRemote>,
        job: &Job,
        most: usize,
    ) -> Result<Done, BackendFault> {
        let slot = {
            let (free, made) = &mut *unpoisoned(open.slots.lock());
            free.pop().unwrap_or_else(|| {
                *made += 1;
                *made
            })
        };
        let files = format!("{}/{slot}", open.base);
        let explained = |fault| self.explained(open, fault);
        let (remote, has_input) = (&open.remote, !job.stdin.is_empty());
        if has_input {
            let put = self.server.put(remote, &format!("{files}.in"), &job.stdin);
            put.map_err(explained)?;
        }
        let variables = [("b", &open.base), ("s", &files), ("p", &job.path)];
        let variables = variables.map(|(name, value)| format!("{name}={}\n", quoted(value)));
        let input = if has_input { "" } else { "true >\"$s.in\"\n" };
        let script = format!("{}{SCRIPT}{input}{}\n", variables.concat(), job.call);
        let words = self.server.run(remote, &script, job.time).map_err(explained)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let numbers = match words[..] {
            ["end", code, out, err] => {
                code.parse().ok().zip(out.parse().ok().zip(err.parse().ok()))
            }
            [word] => return Err(refused(&job.path, word)),
            _ => None,
        };
        let Some((exit_code, (stdout_total, stderr_total))) = numbers else {
            return Err(self.server.os_error("gave a result that makes no sense"));
        };
        let get = |end: &str, size| {
            let got = self.server.get(remote, &format!("{files}.{end}"), size, most);
            got.map_err(explained)
        };
        let (stdout, stderr) = (get("out", stdout_total)?, get("err", stderr_total)?);
        unpoisoned(open.slots.lock()).0.push(slot);
        Ok(Done { exit_code, stdout, stderr, stdout_total, stderr_total })
    }

    /// The fault of a job; that its sandbox is gone, if that is why.
    fn explained(&self, open: &Arc<OpenRemote>, fault: BackendFault) -> BackendFault {
        if fault.signal.is_some() {
            return fault;
        }
        let id = &open.remote.id;
        let Some(why) = self.server.why_gone(id) else { return fault };
        if self.opened.forget(open) {
            self.server.end(id);
        }
        gone(&why)
    }

    /// Runs a command within what is left of its time; opening the sandbox took some of it.
    fn command(
        &self,
        open: &Arc<OpenRemote>,
        job: &Job,
        timeout: Duration,
    ) -> Result<PayloadResult, BackendFault> {
        let begin = Instant::now();
        let came = self.carry_out(open, job, WORKSPACE_OUTPUT_BYTES);
        let elapsed = begin.elapsed();
        let done = came.map_err(|fault| match fault.kind {
            BackendFaultKind::Timeout if elapsed >= job.time => took_too_long(timeout),
            _ => fault,
        });
        let Done { exit_code, stdout, stderr, stdout_total, stderr_total } = done?;
        Ok(PayloadResult::Command {
            exit_code,
            stdout,
            stderr,
            stdout_total,
            stderr_total,
            elapsed,
        })
    }

    /// The output of a job on a path.
    fn printed(&self, open: &Arc<OpenRemote>, job: &Job) -> Result<Vec<u8>, BackendFault> {
        let most = usize::try_from(WORKSPACE_FILE_BYTES).unwrap_or(usize::MAX);
        let done = self.carry_out(open, job, most)?;
        match done.exit_code {
            0 if done.stdout_total <= WORKSPACE_FILE_BYTES => Ok(done.stdout),
            0 => Err(too_large(&job.path)),
            _ => Err(unwritable(&job.path, String::from_utf8_lossy(&done.stderr).trim())),
        }
    }

    fn on(
        &self,
        open: &Arc<OpenRemote>,
        payload: Payload,
        begin: Instant,
    ) -> Result<PayloadResult, BackendFault> {
        match payload {
            Payload::CommandRun { cmd, env, cwd, stdin, timeout } => {
                let path = plain(cwd.as_deref().unwrap_or("."))?;
                let env = env.iter().map(|(name, value)| quoted(&format!("{name}={value}")));
                let env: Vec<String> = env.collect();
                let call = format!("cmd={}\nrun_command {}", quoted(&cmd), env.join(" "));
                let time = timeout.saturating_sub(begin.elapsed());
                self.command(open, &Job { call, path, stdin, time }, timeout)
            }
            Payload::FilesRead { path, encoding } => {
                let call = format!("most={WORKSPACE_FILE_BYTES}\nread_file");
                let path = plain(&path)?;
                let bytes = self.printed(open, &Job::new(path.clone(), call, Vec::new()))?;
                decoded(bytes, encoding, &path)
            }
            Payload::FilesWrite { path, data, mode } => {
                let path = plain(&path)?;
                if path == "." {
                    return Err(os_error("the workspace itself is a folder"));
                }
                let size = data.len();
                let call = format!("size={size}\nmode={}\nwrite_file", mode & 0o777);
                self.printed(open, &Job::new(path, call, data))?;
                Ok(PayloadResult::Written(u64::try_from(size).unwrap_or(u64::MAX)))
            }
            Payload::FilesList { path } => {
                let path = plain(&path)?;
                let job = Job::new(path.clone(), "list_folder".into(), Vec::new());
                entries(&path, &self.printed(open, &job)?).map(PayloadResult::Entries)
            }
            Payload::FilesExists { path } => {
                let job = Job::new(plain(&path)?, "exists".into(), Vec::new());
                match self.printed(open, &job) {
                    Ok(_) => Ok(PayloadResult::Exists(true)),
                    Err(fault) if fault.kind == BackendFaultKind::FileNotFound => {
                        Ok(PayloadResult::Exists(false))
                    }
                    Err(fault) => Err(fault),
                }
            }
            code @ Payload::CodeRun { .. } => self.on(open, code.code_as_command()?, begin),
        }
    }
}

impl SandboxBackend for OpenSandbox<'_> {
    fn capabilities(&self) -> &'static [BackendCapability] {
        use BackendCapability::{Code, Command, Filesystem, Isolation};
        &[Isolation, Command, Filesystem, Code]
    }

    fn dispatch(&self, payload: Payload) -> Result<PayloadResult, BackendFault> {
        let begin = Instant::now();
        let open = self.opened.get(|| self.open())?;
        self.on(&open, payload, begin)
    }

    fn close(&self) {
        if let Some(open) = self.opened.close() {
            self.server.end(&open.remote.id);
        }
    }
}

impl Drop for OpenSandbox<'_> {
    /// Also where the thread that was to go on did not begin.
    fn drop(&mut self) {
        self.close();
    }
}

fn gone(why: &str) -> BackendFault {
    let why = format!(
        "the sandbox is gone, and its files with it ({why}); the next call begins in an empty one"
    );
    BackendFault::new(BackendFaultKind::SandboxClosed, why)
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The fault that a script tells in a word.
fn refused(path: &str, word: &str) -> BackendFault {
    match word {
        "link" => told(path, Errno::LOOP),
        "none" => told(path, Errno::NOENT),
        "not_folder" => told(path, Errno::NOTDIR),
        "denied" => told(path, Errno::ACCESS),
        "not_regular" => not_regular(path),
        "large" => too_large(path),
        "folder" => unwritable(path, &std::io::Error::from(Errno::ISDIR).to_string()),
        "lost" => unwritable(path, "its server kept only a part of it"),
        "full" => os_error("the sandbox has no room for what is printed"),
        _ => os_error("the workspace is not there any more"),
    }
}

/// The names that a script lists, each behind a `d` for a folder or a `-`.
fn entries(path: &str, listed: &[u8]) -> Result<Vec<WorkspaceEntry>, BackendFault> {
    let names = listed.split(|byte| *byte == 0).filter_map(|name| name.split_first());
    let mut entries = Vec::new();
    for (kind, name) in names {
        if entries.len() == WORKSPACE_NAMES {
            return Err(too_many(path));
        }
        let name = shown_bytes(name);
        let path = if path == "." { name.clone() } else { format!("{path}/{name}") };
        entries.push(WorkspaceEntry { name, path, is_dir: *kind == b'd' });
    }
    entries.sort();
    Ok(entries)
}
