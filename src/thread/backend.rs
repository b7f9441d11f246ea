//! The actions of tools in a thread's sandbox, apart from what the model is told of a tool (threads
//! 5).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::base::text::brief_line;

/// Where the commands and files of a thread are. It is opened by the first payload and closed
/// once, when the thread ends, however that is.
pub trait SandboxBackend: Send + Sync {
    /// The capabilities of this backend; any other action is refused as
    /// [`BackendFaultKind::UnsupportedPayload`].
    fn capabilities(&self) -> &'static [BackendCapability];

    /// Does what the payload says and waits for it. Where this thread, or this process, is asked to
    /// end meanwhile, the payload is ended with all that it started, and the fault names the
    /// signal.
    ///
    /// # Errors
    /// Why it was not done.
    fn dispatch(&self, payload: Payload) -> Result<PayloadResult, BackendFault>;

    /// Ends it; whatever is asked for afterwards is refused.
    fn close(&self);
}

/// Something that a backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendCapability {
    /// Commands are held in a sandbox.
    Isolation,
    /// It runs commands.
    Command,
    /// It has files.
    Filesystem,
    /// It runs snippets of code.
    Code,
}

/// An action of a backend. Paths are relative to its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Payload {
    /// Runs a command of the shell.
    CommandRun {
        /// The command.
        cmd: String,
        /// Variables beside those that every command gets.
        env: BTreeMap<String, String>,
        /// A folder of the workspace; the workspace itself without one.
        cwd: Option<String>,
        /// The bytes that the command reads.
        stdin: Vec<u8>,
        /// It is ended after that.
        timeout: Duration,
    },
    /// Reads a file.
    FilesRead {
        /// The file.
        path: String,
        /// As what it is given.
        encoding: FileEncoding,
    },
    /// Writes a file, whole or not at all; folders above it are made.
    FilesWrite {
        /// The file.
        path: String,
        /// The new content.
        data: Vec<u8>,
        /// Its mode, such as `0o644`.
        mode: u32,
    },
    /// Lists a folder.
    FilesList {
        /// The folder; `.` is the workspace.
        path: String,
    },
    /// Asks whether something is there.
    FilesExists {
        /// The file or folder.
        path: String,
    },
    /// Runs a snippet of code as a command of its interpreter, which has to be there.
    CodeRun {
        /// The snippet.
        code: String,
        /// Its language: `sh`, `bash`, `python` or `javascript`.
        language: String,
        /// It is ended after that.
        timeout: Duration,
    },
}

/// As what the content of a file is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileEncoding {
    /// As [`PayloadResult::Text`]; a file that is not UTF-8 is [`BackendFaultKind::OsError`].
    Utf8,
    /// As [`PayloadResult::Bytes`], whatever they are.
    Bytes,
}

impl Payload {
    /// A command in the workspace, with the usual variables and without input.
    pub fn command(cmd: impl Into<String>, timeout: Duration) -> Self {
        let (cmd, env, stdin) = (cmd.into(), BTreeMap::new(), Vec::new());
        Self::CommandRun { cmd, env, cwd: None, stdin, timeout }
    }

    /// The payload with a snippet of code as the command that reads it.
    ///
    /// # Errors
    /// [`BackendFaultKind::UnsupportedPayload`] for a language without an interpreter.
    pub(crate) fn code_as_command(self) -> Result<Self, BackendFault> {
        let Self::CodeRun { code, language, timeout } = self else { return Ok(self) };
        let cmd = match language.as_str() {
            "sh" => "exec sh -s",
            "bash" => "exec bash -s",
            "python" => "exec python3 -",
            "javascript" => "exec node -",
            _ => {
                let why = format!("a sandbox runs no code in `{}`", brief_line(&language));
                return Err(BackendFault::new(BackendFaultKind::UnsupportedPayload, why));
            }
        };
        let (cmd, env, stdin) = (cmd.into(), BTreeMap::new(), code.into_bytes());
        Ok(Self::CommandRun { cmd, env, cwd: None, stdin, timeout })
    }

    /// The capability that a backend needs for it.
    pub fn needs(&self) -> BackendCapability {
        match self {
            Self::CommandRun { .. } => BackendCapability::Command,
            Self::CodeRun { .. } => BackendCapability::Code,
            _ => BackendCapability::Filesystem,
        }
    }
}

/// The result of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadResult {
    /// A command ended.
    Command {
        /// As a shell tells it: 128 + N after signal N.
        exit_code: i32,
        /// The beginning of what it printed.
        stdout: Vec<u8>,
        /// The beginning of what it printed as errors.
        stderr: Vec<u8>,
        /// How many bytes it printed, of which the beginning is kept.
        stdout_total: u64,
        /// As `stdout_total`, of errors.
        stderr_total: u64,
        /// How long it took.
        elapsed: Duration,
    },
    /// The content of a file that is text.
    Text(String),
    /// The content of a file.
    Bytes(Vec<u8>),
    /// How many bytes were written.
    Written(u64),
    /// The content of a folder, by name.
    Entries(Vec<WorkspaceEntry>),
    /// True if it is there.
    Exists(bool),
}

/// One name in a folder of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspaceEntry {
    /// The name; bytes that are not UTF-8 are escaped.
    pub name: String,
    /// Relative to the workspace.
    pub path: String,
    /// True if it is a folder.
    pub is_dir: bool,
}

/// Why a payload was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendFaultKind {
    /// It took too long.
    Timeout,
    /// The machine refused it.
    OsError,
    /// Nothing is there.
    FileNotFound,
    /// It leads out of the workspace, or may not be touched.
    PermissionDenied,
    /// The backend cannot do that.
    UnsupportedPayload,
    /// The thread is over, or its sandbox ended before it.
    SandboxClosed,
}

impl BackendFaultKind {
    /// The word in a result.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::OsError => "os_error",
            Self::FileNotFound => "file_not_found",
            Self::PermissionDenied => "permission_denied",
            Self::UnsupportedPayload => "unsupported_payload",
            Self::SandboxClosed => "sandbox_closed",
        }
    }
}

/// A payload that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendFault {
    /// The kind.
    pub kind: BackendFaultKind,
    /// The message, as a sentence.
    pub message: String,
    /// The signal by which this process, or this call, was asked to end.
    pub signal: Option<i32>,
}

impl BackendFault {
    /// A fault of that kind.
    pub fn new(kind: BackendFaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), signal: None }
    }
}
