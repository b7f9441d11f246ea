//! The accesses to the machine by a child and all processes below it, reported when the child has
//! ended.
//!
//! A thread starts the child and hears of each of its system calls. It reads paths where the kernel
//! knows them: of a descriptor that came back, `/proc/PID/fd/N`; of an argument, from the folder
//! that the task is in. Descendants are followed through namespaces, and their paths are those of
//! the file system that they see. A child that holds another program in a sandbox is not listened
//! to before that program is started: its own mounts and folders are not the program's.
//!
//! This is for people who want to know, and no judge: an argument in a task's memory is read while
//! another thread of the task may change it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::host::Spawn;
use super::persistent::start_known;
use super::ptrace::{self, Side, Stop, TaskEvent};
use super::unix::Started;

/// Different things that are remembered of what a watched child did; a build touches some
/// thousands.
const WATCHED_ACCESSES: usize = 200_000;

/// One thing that was done or tried. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// A file was opened for reading, run, or spoken to as a socket.
    Read(PathBuf),
    /// A folder's names were read.
    Listed(PathBuf),
    /// A folder was gone into, or opened as a place to start from.
    Entered(PathBuf),
    /// A file that was there was opened for writing or changed.
    Wrote(PathBuf),
    /// A name came to be that was not there.
    Made(PathBuf),
    /// A folder was made that was not there.
    MadeFolder(PathBuf),
    /// A name was taken away.
    Removed(PathBuf),
    /// A change that was not let happen.
    Refused(PathBuf),
    /// Opened, and there was nothing to be seen.
    Missed(PathBuf),
    /// A socket of the network was made.
    Socket,
    Bound(SocketAddr),
    /// A server was called; true if one was there.
    Called(SocketAddr, bool),
}

/// The accesses, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Accesses {
    pub(crate) all: BTreeSet<Access>,
    /// There were more than are remembered.
    pub(crate) more: bool,
}

impl Access {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Read(path)
            | Self::Listed(path)
            | Self::Entered(path)
            | Self::Wrote(path)
            | Self::Made(path)
            | Self::MadeFolder(path)
            | Self::Removed(path)
            | Self::Refused(path)
            | Self::Missed(path) => Some(path),
            Self::Socket | Self::Bound(_) | Self::Called(..) => None,
        }
    }
}

impl Accesses {
    /// Without what lies in these folders.
    pub(crate) fn outside(mut self, folders: &[PathBuf]) -> Self {
        let is_in = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        self.all.retain(|access| !access.path().is_some_and(is_in));
        self
    }

    fn add(&mut self, access: Access) {
        match self.all.len() < WATCHED_ACCESSES {
            true => drop(self.all.insert(access)),
            false => self.more = true,
        }
    }
}

/// A child that is watched.
pub(super) struct Watch {
    thread: JoinHandle<Accesses>,
}

impl Watch {
    /// # Errors
    /// The child cannot be started.
    pub(super) fn start(spawn: &Spawn) -> io::Result<(Started, Self)> {
        let (answer, answered) = mpsc::channel();
        let spawn = spawn.clone();
        let watch = move || {
            let started = start_known(&spawn);
            let child = started.as_ref().ok().map(|started| started.pid);
            if answer.send(started).is_err() {
                return Accesses::default();
            }
            child.map(|child| Watcher::new(child, !spawn.holds_another).run()).unwrap_or_default()
        };
        let thread = std::thread::Builder::new().name("watch".into()).spawn(watch)?;
        let started = answered.recv().map_err(io::Error::other)??;
        Ok((started, Self { thread }))
    }

    /// The accesses of a child that has ended.
    pub(super) fn end(self) -> Accesses {
        self.thread.join().unwrap_or_default()
    }
}

/// One task as the watcher knows it.
#[derive(Default)]
struct Task {
    /// It is the program that was meant, or below it.
    is_heard: bool,
    /// The call that it is in.
    call: Option<Begun>,
    /// The program that it wants to execute.
    program: Option<PathBuf>,
}

/// A call before it is done.
enum Begun {
    Open {
        path: PathBuf,
        flags: i32,
        was_there: bool,
    },
    Names(i32),
    Folder,
    /// If it works, these are done; if it is refused, the path is.
    Change(Vec<Access>, PathBuf),
    Socket,
    Bind(SocketAddr),
    Call(SocketAddr),
    /// A socket with a path.
    Service(PathBuf),
}

struct Watcher {
    child: i32,
    tasks: BTreeMap<i32, Task>,
    /// Tasks that stood still before their parent's stop told of them.
    early: BTreeSet<i32>,
    accesses: Accesses,
}

impl Watcher {
    fn new(child: i32, is_heard: bool) -> Self {
        let task = Task { is_heard, ..Task::default() };
        Self {
            child,
            tasks: [(child, task)].into(),
            early: BTreeSet::new(),
            accesses: Accesses::default(),
        }
    }

    /// Until the child ended. What is left of it then ends with this thread.
    fn run(mut self) -> Accesses {
        let mut is_set_up = false;
        while let Some(heard) = ptrace::next(self.child) {
            let (pid, stop) = match heard {
                TaskEvent::Over => break,
                TaskEvent::Gone(pid) => {
                    self.tasks.remove(&pid);
                    continue;
                }
                TaskEvent::Stopped(pid, stop) => (pid, stop),
            };
            if pid == self.child && !is_set_up {
                ptrace::set_up(pid);
                is_set_up = true;
            }
            let mut signal = 0;
            match stop {
                Stop::Call => self.at_call(pid),
                Stop::Exec => self.at_exec(pid),
                Stop::Birth(born) => {
                    let is_heard = self.tasks.get(&pid).is_some_and(|task| task.is_heard);
                    self.tasks.insert(born, Task { is_heard, ..Task::default() });
                    if self.early.remove(&born) {
                        ptrace::go_on(born, 0);
                    }
                }
                // Its parent's stop says whose it is.
                Stop::Signal(_) if !self.tasks.contains_key(&pid) => {
                    self.early.insert(pid);
                    continue;
                }
                // A new task begins with a stop that no process sent.
                Stop::Signal(libc::SIGSTOP) => {}
                Stop::Signal(sent) => signal = sent,
                Stop::Other => {}
            }
            ptrace::go_on(pid, signal);
        }
        self.accesses
    }

    fn at_exec(&mut self, pid: i32) {
        let task = self.tasks.entry(pid).or_default();
        task.is_heard = true;
        task.call = None;
        let script = task.program.take();
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok();
        for path in script.into_iter().chain(program) {
            self.accesses.add(Access::Read(real(&path)));
        }
    }

    fn at_call(&mut self, pid: i32) {
        match ptrace::call(pid) {
            Some(Side::Entry { number, args }) => {
                let entry = Entry { pid, args };
                let task = self.tasks.entry(pid).or_default();
                task.program = entry.program(number);
                task.call = if task.is_heard { entry.begun(number) } else { None };
            }
            Some(Side::Exit(value)) => {
                let begun = self.tasks.get_mut(&pid).and_then(|task| task.call.take());
                for access in begun.map(|begun| begun.done(pid, value)).unwrap_or_default() {
                    self.accesses.add(access);
                }
            }
            None => {}
        }
    }
}

/// A task that begins a call.
struct Entry {
    pid: i32,
    args: [u64; 6],
}

impl Entry {
    fn begun(&self, number: i64) -> Option<Begun> {
        if let Some(begun) = self.old(number) {
            return Some(begun);
        }
        Some(match number {
            libc::SYS_openat => self.open(self.at(0, 1)?, self.number(2)),
            libc::SYS_getdents64 => Begun::Names(self.number(0)),
            libc::SYS_chdir | libc::SYS_fchdir => Begun::Folder,
            libc::SYS_mkdirat => folder(self.at(0, 1)?),
            libc::SYS_mknodat => made(self.at(0, 1)?),
            libc::SYS_unlinkat => removed(self.at(0, 1)?),
            libc::SYS_symlinkat => made(self.at(1, 2)?),
            libc::SYS_renameat => renamed(self.at(0, 1)?, self.at(2, 3)?),
            libc::SYS_renameat2 => renamed(self.at(0, 1)?, self.at(2, 3)?),
            libc::SYS_linkat => linked(self.at(0, 1)?, self.at(2, 3)?),
            libc::SYS_fchmodat | libc::SYS_fchownat => wrote(self.at(0, 1)?),
            // Without a path it is of a descriptor that was opened for it.
            libc::SYS_utimensat if self.args[1] != 0 => wrote(self.at(0, 1)?),
            libc::SYS_truncate | libc::SYS_setxattr => wrote(self.here(0)?),
            libc::SYS_fchmod | libc::SYS_fchown => wrote(self.descriptor(self.number(0))?),
            libc::SYS_socket if is_inet(self.number(0)) => Begun::Socket,
            libc::SYS_bind => match self.address(self.args[1], self.args[2])? {
                Address::Net(address) => Begun::Bind(address),
                Address::Path(path) => made(path),
            },
            libc::SYS_connect => self.address(self.args[1], self.args[2])?.called(),
            libc::SYS_sendto if self.args[4] != 0 => {
                self.address(self.args[4], self.args[5])?.called()
            }
            libc::SYS_sendmsg => {
                let head = self.memory(self.args[1], 12)?;
                let at = u64::from_ne_bytes(head.get(..8)?.try_into().ok()?);
                let length = u32::from_ne_bytes(head.get(8..12)?.try_into().ok()?);
                self.address(at, length.into())?.called()
            }
            _ => return None,
        })
    }

    /// Calls that newer machines do not have.
    #[cfg(target_arch = "x86_64")]
    fn old(&self, number: i64) -> Option<Begun> {
        Some(match number {
            libc::SYS_open => self.open(self.here(0)?, self.number(1)),
            libc::SYS_creat => {
                self.open(self.here(0)?, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC)
            }
            libc::SYS_mkdir => folder(self.here(0)?),
            libc::SYS_mknod => made(self.here(0)?),
            libc::SYS_rmdir | libc::SYS_unlink => removed(self.here(0)?),
            libc::SYS_symlink => made(self.here(1)?),
            libc::SYS_rename => renamed(self.here(0)?, self.here(1)?),
            libc::SYS_link => linked(self.here(0)?, self.here(1)?),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown => wrote(self.here(0)?),
            libc::SYS_utime | libc::SYS_utimes => wrote(self.here(0)?),
            _ => return None,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn old(&self, _number: i64) -> Option<Begun> {
        None
    }

    fn program(&self, number: i64) -> Option<PathBuf> {
        match number {
            libc::SYS_execve => self.here(0),
            libc::SYS_execveat => self.at(0, 1),
            _ => None,
        }
    }

    fn open(&self, path: PathBuf, flags: i32) -> Begun {
        let seen = format!("/proc/{}/root{}", self.pid, path.display());
        let was_there = flags & libc::O_CREAT == 0 || fs::symlink_metadata(seen).is_ok();
        Begun::Open { path, flags, was_there }
    }

    /// An argument that is an `int`.
    fn number(&self, index: usize) -> i32 {
        low(self.args[index])
    }

    fn here(&self, index: usize) -> Option<PathBuf> {
        self.path(libc::AT_FDCWD, self.args[index])
    }

    fn at(&self, folder: usize, index: usize) -> Option<PathBuf> {
        self.path(self.number(folder), self.args[index])
    }

    fn path(&self, folder: i32, at: u64) -> Option<PathBuf> {
        let text = self.text(at)?;
        let text = Path::new(OsStr::from_bytes(&text));
        if text.is_absolute() {
            return Some(real(text));
        }
        let folder = match folder {
            libc::AT_FDCWD => fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()?,
            fd => self.descriptor(fd)?,
        };
        Some(real(&folder.join(text)))
    }

    fn descriptor(&self, fd: i32) -> Option<PathBuf> {
        of_descriptor(self.pid, fd)
    }

    /// The text that ends with a NUL at an address of the task's memory.
    fn text(&self, at: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() <= libc::PATH_MAX as usize {
            // To the end of a page: the next one may not be there.
            let at = at + text.len() as u64;
            let piece = self.memory(at, 256 - (at % 256))?;
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend(&piece[..end]);
                    return Some(text);
                }
                None => text.extend(piece),
            }
        }
        None
    }

    fn memory(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        let memory = fs::File::open(format!("/proc/{}/mem", self.pid)).ok()?;
        memory.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    fn address(&self, at: u64, length: u64) -> Option<Address> {
        let bytes = self.memory(at, length.min(128))?;
        let port = |bytes: &[u8]| Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        Some(match i32::from(family) {
            libc::AF_INET => {
                let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
                Address::Net(SocketAddr::new(IpAddr::from(ip), port(&bytes)?))
            }
            libc::AF_INET6 => {
                let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
                Address::Net(SocketAddr::new(IpAddr::from(ip).to_canonical(), port(&bytes)?))
            }
            libc::AF_UNIX => {
                let name = bytes[2..].split(|byte| *byte == 0).next().filter(|n| !n.is_empty())?;
                let folder = fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()?;
                Address::Path(real(&folder.join(OsStr::from_bytes(name))))
            }
            _ => return None,
        })
    }
}

enum Address {
    Net(SocketAddr),
    Path(PathBuf),
}

impl Address {
    fn called(self) -> Begun {
        match self {
            Self::Net(address) => Begun::Call(address),
            Self::Path(path) => Begun::Service(path),
        }
    }
}

/// An `int` of the kernel's, in a word.
fn low(word: u64) -> i32 {
    ((word & 0xffff_ffff) as u32).cast_signed()
}

fn is_inet(family: i32) -> bool {
    matches!(family, libc::AF_INET | libc::AF_INET6)
}

fn wrote(path: PathBuf) -> Begun {
    Begun::Change(vec![Access::Wrote(path.clone())], path)
}

fn made(path: PathBuf) -> Begun {
    Begun::Change(vec![Access::Made(path.clone())], path)
}

fn folder(path: PathBuf) -> Begun {
    Begun::Change(vec![Access::MadeFolder(path.clone())], path)
}

fn removed(path: PathBuf) -> Begun {
    Begun::Change(vec![Access::Removed(path.clone())], path)
}

fn renamed(from: PathBuf, to: PathBuf) -> Begun {
    Begun::Change(vec![Access::Removed(from), Access::Made(to.clone())], to)
}

fn linked(from: PathBuf, to: PathBuf) -> Begun {
    Begun::Change(vec![Access::Read(from), Access::Made(to.clone())], to)
}

impl Begun {
    /// The accesses of a call that gave `value`.
    fn done(self, pid: i32, value: i64) -> Vec<Access> {
        let error = (value < 0).then(|| i32::try_from(-value).unwrap_or_default());
        let is_refused = matches!(error, Some(libc::EROFS | libc::EACCES | libc::EPERM));
        let fd = i32::try_from(value).unwrap_or(-1);
        match self {
            Self::Open { path, flags, was_there } => match error {
                None => opened(pid, fd, &path, flags, was_there),
                Some(_) if writes(flags) && is_refused => vec![Access::Refused(path)],
                Some(libc::ENOENT | libc::EACCES) => vec![Access::Missed(path)],
                Some(_) => Vec::new(),
            },
            Self::Names(fd) if error.is_none() => {
                of_descriptor(pid, fd).map(Access::Listed).into_iter().collect()
            }
            Self::Folder if error.is_none() => {
                let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok();
                cwd.map(Access::Entered).into_iter().collect()
            }
            Self::Change(accesses, _) if error.is_none() => accesses,
            Self::Change(_, path) if is_refused => vec![Access::Refused(path)],
            Self::Socket if error.is_none() => vec![Access::Socket],
            Self::Bind(address) if error.is_none() => vec![Access::Bound(address)],
            Self::Call(address) => {
                let there = matches!(error, None | Some(libc::EINPROGRESS | libc::EISCONN));
                vec![Access::Called(address, there)]
            }
            Self::Service(path) if error.is_none() => vec![Access::Read(path)],
            _ => Vec::new(),
        }
    }
}

fn writes(flags: i32) -> bool {
    let mode = flags & libc::O_ACCMODE;
    mode != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

fn opened(pid: i32, fd: i32, path: &Path, flags: i32, was_there: bool) -> Vec<Access> {
    let place = format!("/proc/{pid}/fd/{fd}");
    let Ok(stat) = fs::metadata(&place) else { return Vec::new() };
    if flags & libc::O_TMPFILE == libc::O_TMPFILE {
        return vec![Access::Made(path.join("(a file without a name)"))];
    }
    let Some(path) = of_descriptor(pid, fd) else { return Vec::new() };
    if stat.is_dir() {
        return vec![Access::Entered(path)];
    }
    if flags & libc::O_PATH != 0 {
        return Vec::new();
    }
    // What is opened for both is read too, but who may write may read.
    match (was_there, writes(flags & !libc::O_CREAT)) {
        (false, _) => vec![Access::Made(path)],
        (true, true) => vec![Access::Wrote(path)],
        (true, false) => vec![Access::Read(path)],
    }
}

/// The path of what a descriptor is, if it has one.
fn of_descriptor(pid: i32, fd: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok().filter(|path| path.is_absolute())
}

/// The path with its folder's links resolved where that is there, and without `..`.
fn real(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    if let (Some(folder), Some(name)) = (folder, path.file_name()) {
        return folder.join(name);
    }
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
