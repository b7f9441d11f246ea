//! The trait for everything that running a plan may ask of the machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::confinement::{CannotConfine, ChildSandbox, Confinement, Ladder, Policy};
use super::egress::Traffic;
use super::named_below::NamedBelow;
use super::net::{AnswerPart, HttpAnswer, HttpCall, NetFault};
use super::observe::Accesses;
use super::persistent::PersistentChild;
use super::unix::Restrict;
use crate::base::{Digest, Digesting};

/// One child to run. Inert until a [`Host`] takes it.
#[derive(Debug, Clone)]
pub(crate) struct Spawn {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// The whole environment; nothing is inherited.
    pub(crate) env: BTreeMap<String, OsString>,
    pub(crate) cwd: PathBuf,
    pub(crate) stdin: Vec<u8>,
    pub(crate) timeout: Duration,
    /// Bytes kept of standard output and of standard error, each; the rest is read and dropped.
    pub(crate) output_cap: usize,
    /// If set, this many of the last bytes of standard error are kept instead of the first.
    pub(crate) stderr_end: Option<usize>,
    /// End the child when standard output goes past the cap: what is left of it means nothing.
    pub(crate) stops_at_cap: bool,
    /// Digest everything that comes out, also what is not kept.
    pub(crate) digests_output: bool,
    /// Its sandbox; a host that cannot confine refuses the child.
    pub(crate) sandbox: Option<ChildSandbox>,
    /// The restrictions that it applies before it executes its program.
    pub(crate) restrict: Restrict,
    /// The tool is a child of this program, as of `bwrap`; a request to end goes to the tool.
    pub(crate) holds_another: bool,
    /// It and all its descendants are traced, see `observe.rs`; only for [`Host::run`].
    pub(crate) watched: bool,
}

impl Spawn {
    /// A program without arguments, environment, input and sandbox.
    pub(crate) fn new(program: &Path, cwd: &Path, output_cap: usize, timeout: Duration) -> Self {
        Self {
            program: program.to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: cwd.to_owned(),
            stdin: Vec::new(),
            timeout,
            output_cap,
            stderr_end: None,
            stops_at_cap: false,
            digests_output: false,
            sandbox: None,
            restrict: Restrict::default(),
            holds_another: false,
            watched: false,
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChildResult {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) stdout_truncated: bool,
    pub(crate) stderr_truncated: bool,
    /// How many bytes it wrote, kept or not.
    pub(crate) stdout_bytes: u64,
    pub(crate) stderr_bytes: u64,
    /// The digest of the whole output, if [`Spawn::digests_output`] asks for it.
    pub(crate) stdout_digest: Option<Digesting>,
    pub(crate) stderr_digest: Option<Digesting>,
    pub(crate) timed_out: bool,
    /// A signal that this process got while the child ran.
    pub(crate) interrupted: Option<i32>,
    /// Peak resident memory of the child in KiB. The kernel counts from before the program was
    /// executed, so a small child shows the peak of this process.
    pub(crate) max_rss_kib: i64,
    pub(crate) duration: Duration,
    /// The accesses of the child, if [`Spawn::watched`] asks for them.
    pub(crate) accesses: Accesses,
    /// The traffic through rye's proxy, if it was held to hosts or services.
    pub(crate) traffic: Option<Traffic>,
    /// Those in what it may write of a project.
    pub(crate) new_repositories: NewRepositories,
}

/// Repositories that came to be while a child ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NewRepositories {
    /// Each `.git`, and each folder that git takes for a bare repository; outer ones first.
    pub(crate) at: Vec<PathBuf>,
    /// There are more, or what could be looked at before the run cannot be any more.
    pub(crate) may_be_more: bool,
}

impl NewRepositories {
    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_empty() && !self.may_be_more
    }
}

/// The greatest signal that ends a process and is no real-time one.
const LAST_SIGNAL: i32 = 31;

impl ChildResult {
    /// Returns the result with its end as a shell reports it, through any program in between:
    /// signal N is the status 128 + N, and such a status is that signal. `bwrap` passes on only the
    /// status.
    pub(crate) fn told_like_a_shell(self) -> Self {
        let (exit_code, signal) = match (self.exit_code, self.signal) {
            (None, Some(signal)) => (Some(128 + signal), Some(signal)),
            (Some(code), None) if (129..=128 + LAST_SIGNAL).contains(&code) => {
                (Some(code), Some(code - 128))
            }
            same => same,
        };
        Self { exit_code, signal, ..self }
    }
}

/// The file that a path leads to: a regular file, and every place on the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// The path that was asked for, then that of each symbolic link's target, each with its folder
    /// real; the last is the file itself. Never empty.
    pub(crate) steps: Vec<PathBuf>,
    /// The symbolic links to folders that were followed on the way, each with its own folder real.
    pub(crate) hops: Vec<PathBuf>,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// When the file's content or state last changed, in nanoseconds since 1970.
    pub(crate) ctime_ns: i64,
    pub(crate) is_program: bool,
}

impl ResolvedPath {
    /// The path that was asked for, its folder real.
    pub(crate) fn place(&self) -> &Path {
        &self.steps[0]
    }

    /// The file itself.
    pub(crate) fn real(&self) -> &Path {
        &self.steps[self.steps.len() - 1]
    }

    /// Every place that decides which file it is.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.steps.iter().chain(&self.hops).map(PathBuf::as_path)
    }
}

/// The kind of a file at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    Folder,
    Link,
    /// A regular file or a special one.
    Other,
}

/// An event of a running child.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChildEvent<'a> {
    /// It was started and has this process id.
    Started(u32),
    /// Bytes that it wrote to a stream, in the order in which they came; the first `kept` of them
    /// are in the result. Not sent if only the last bytes of standard error are kept.
    Wrote { stream: OutputStream, bytes: &'a [u8], kept: usize },
}

/// A stream of a child's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// Everything `plan` and `execute` may ask of the machine, and nothing else.
pub(crate) trait Host: Sync {
    fn is_folder(&self, path: &Path) -> bool;

    /// The real path of the regular file that `path` leads to, if there is one.
    fn real_file(&self, path: &Path) -> Option<PathBuf>;

    /// The real path of the folder that `path` leads to, if there is one.
    fn real_folder(&self, path: &Path) -> Option<PathBuf>;

    /// Where the program of this process lies, if the system says so.
    fn own_program(&self) -> Option<PathBuf>;

    /// The regular file that `path` leads to, if there is one.
    fn look(&self, path: &Path) -> Option<ResolvedPath>;

    /// The content of the regular file at `path` if it has at most `cap` bytes; never blocks.
    fn read(&self, path: &Path, cap: u64) -> Option<Vec<u8>>;

    /// The names in a folder that are UTF-8, unsorted; none if it cannot be read.
    fn names(&self, folder: &Path) -> Vec<String>;

    /// The kind of the file at `path`; a link there is not followed. `None` if there is none.
    fn kind(&self, path: &Path) -> Option<PlaceKind>;

    /// Every place of that name in the folder and below it, in large or small letters, and every
    /// folder that git takes for a bare repository. Looks at `most` names at the most, follows no
    /// link, and does not look into what has the name, nor into such a repository unless it is the
    /// folder itself.
    fn named_below(&self, folder: &Path, name: &str, most: usize) -> NamedBelow;

    /// SHA-256 of the regular file at `path`.
    fn digest_file(&self, path: &Path) -> io::Result<Digest>;

    /// Runs the child to its end in a process group of its own.
    ///
    /// Promises: input and output flow at once, so no sizes deadlock; past the deadline the whole
    /// group is asked to end and then killed; when this process is asked to end, the group is sent
    /// the same signal and then killed; when this returns, nothing of the group runs. The child has
    /// the given environment and folder, three streams and no other descriptor, and every signal is
    /// let through and at its default. `hears` is told of it while it runs.
    fn run(&self, spawn: &Spawn, hears: &mut dyn FnMut(ChildEvent<'_>)) -> io::Result<ChildResult>;

    /// Starts a child that others talk with while it runs, in its own process group, with the given
    /// environment and folder, three streams and no other descriptor.
    fn start(&self, spawn: &Spawn) -> io::Result<PersistentChild>;

    /// Chooses the level that enforces a policy.
    ///
    /// # Errors
    /// `sandbox.*`
    fn confine(&self, policy: Policy, ladder: Ladder) -> Result<Confinement, CannotConfine>;

    /// Sends one HTTP request and gives the answer, whatever its status; follows nothing.
    ///
    /// Promises: past the deadline, or when this process is asked to end, the connection is closed.
    /// A build without HTTP has no network.
    fn call(&self, call: &HttpCall) -> Result<HttpAnswer, NetFault>;

    /// Sends one HTTP request and hands its answer over as it comes, whatever its status, until it
    /// ends or `take` wants no more; follows nothing.
    ///
    /// Promises: past the deadline, when this process is asked to end, and when `take` wants no
    /// more, the connection is closed. An answer larger than the call's cap is broken.
    fn stream(
        &self,
        call: &HttpCall,
        take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
    ) -> Result<(), NetFault>;

    /// Waits so long. A signal that asks this process to end ends the waiting and is returned.
    fn sleep(&self, time: Duration) -> io::Result<Option<i32>>;
}
