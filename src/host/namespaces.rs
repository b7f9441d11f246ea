//! Namespaces of a child's own, made by rye: the mounts of its root and its network.
//!
//! The parent lists what is to be made, and the child makes it by system calls alone, before it
//! executes its program. Nothing of it can be seen from outside, and all of it goes with the child.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper; each has its own note")]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One place in a child's root, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    pub(crate) what: Mounted,
}

/// The content of a place in a child's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mounted {
    /// An empty folder, unless something is there.
    Folder,
    /// A symbolic link to this.
    Link(PathBuf),
    /// The file or folder at this path outside.
    Bind { from: PathBuf, writable: bool, must_exist: bool },
    /// An empty file system in memory.
    Memory,
    /// The processes of the child's namespace; read only.
    Processes,
    /// The devices that every program may use.
    Devices,
    /// From here on what is mounted there is read only.
    ReadOnly,
}

/// The network of a child.
#[derive(Debug, Clone, Default)]
pub(crate) enum OwnNetwork {
    /// It is in the machine's.
    #[default]
    Machine,
    /// Its own, with nothing in it.
    Nothing,
    /// Its own loopback interface, and sockets there, which are handed out.
    Loopback(Vec<HandsOut>),
}

/// Sockets of a child's own network that are sent over another socket.
#[derive(Debug, Clone)]
pub(crate) struct HandsOut {
    pub(crate) over: Arc<OwnedFd>,
    /// They listen on this port and those that follow; with none they may call.
    pub(crate) first_port: Option<u16>,
    /// How many; no more than [`Self::MOST`].
    pub(crate) count: usize,
}

impl HandsOut {
    /// Most sockets that are sent at once.
    pub(crate) const MOST: usize = 32;
}

/// The namespaces of a child: user, mounts, process ids, network and objects of System V.
#[derive(Debug)]
pub(crate) struct Namespaces {
    steps: Vec<Step>,
    /// Paths in the new root and landlock's bits of what may be done there.
    rules: Vec<(CString, u64)>,
    network: OwnNetwork,
}

/// The child's namespaces could not be made, and it did not run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NamespacesNotMade(String);

impl NamespacesNotMade {
    pub(crate) fn because(why: String) -> io::Error {
        io::Error::other(Self(why))
    }

    pub(crate) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<Self>)
    }
}

#[derive(Debug)]
struct Step {
    /// Counted from the root; `.` is the root.
    at: CString,
    act: Act,
}

#[derive(Debug)]
enum Act {
    Folder,
    Link(CString),
    Bind { from: CString, attributes: u64, must_exist: bool },
    New { kind: &'static CStr, attributes: u64, options: &'static [(&'static CStr, &'static CStr)] },
    ReadOnly,
}

const READ_ONLY: u64 = 1;
const NO_SET_ID: u64 = 2;
const NO_DEVICES: u64 = 4;
const NO_PROGRAMS: u64 = 8;

const MODE: &[(&CStr, &CStr)] = &[(c"mode", c"0755")];
const TERMINALS: &[(&CStr, &CStr)] =
    &[(c"newinstance", c""), (c"ptmxmode", c"0666"), (c"mode", c"0620")];

/// The nodes of [`Mounted::Devices`].
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The links of [`Mounted::Devices`].
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
];

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(io::Error::from)
}

/// The path as it counts from the root.
fn below_root(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(rest) if rest == Path::new("") => Path::new("."),
        Ok(rest) => rest,
        Err(_) => path,
    }
}

impl Namespaces {
    /// Namespaces with these mounts, outer ones first.
    ///
    /// # Errors
    /// A path holds a zero byte.
    pub(crate) fn new(
        mounts: &[Mount],
        network: OwnNetwork,
        rules: &[(PathBuf, u64)],
    ) -> io::Result<Self> {
        let rules = rules.iter().map(|(path, access)| Ok((text(below_root(path))?, *access)));
        let rules = rules.collect::<io::Result<_>>()?;
        let mut made = Self { steps: Vec::new(), rules, network };
        let mut folders = BTreeSet::new();
        for Mount { at, what } in mounts {
            let mut above: Vec<_> = at.ancestors().skip(1).map(below_root).collect();
            above.reverse();
            for folder in above {
                if folders.insert(folder.to_owned()) {
                    made.push(folder, Act::Folder)?;
                }
            }
            made.mount(at, what)?;
        }
        Ok(made)
    }

    fn push(&mut self, at: &Path, act: Act) -> io::Result<()> {
        self.steps.push(Step { at: text(below_root(at))?, act });
        Ok(())
    }

    fn mount(&mut self, at: &Path, what: &Mounted) -> io::Result<()> {
        const CLOSED: u64 = NO_SET_ID | NO_DEVICES;
        let new = |kind, attributes, options| Act::New { kind, attributes, options };
        match what {
            Mounted::Folder => self.push(at, Act::Folder),
            Mounted::Link(target) => self.push(at, Act::Link(text(target)?)),
            Mounted::Bind { from, writable, must_exist } => {
                let attributes = CLOSED | if *writable { 0 } else { READ_ONLY };
                let from = text(from)?;
                self.push(at, Act::Bind { from, attributes, must_exist: *must_exist })
            }
            Mounted::Memory => self.push(at, new(c"tmpfs", CLOSED, MODE)),
            Mounted::Processes => {
                self.push(at, new(c"proc", CLOSED | NO_PROGRAMS | READ_ONLY, &[]))
            }
            Mounted::ReadOnly => self.push(at, Act::ReadOnly),
            Mounted::Devices => {
                self.push(at, new(c"tmpfs", CLOSED | NO_PROGRAMS, MODE))?;
                for name in DEVICES {
                    let from = text(&at.join(name))?;
                    let attributes = NO_SET_ID | NO_PROGRAMS;
                    // There is no terminal where the machine has none.
                    let must_exist = name != "tty";
                    self.push(&at.join(name), Act::Bind { from, attributes, must_exist })?;
                }
                for (name, target) in DEVICE_LINKS {
                    self.push(&at.join(name), Act::Link(text(Path::new(target))?))?;
                }
                for (name, kind, options) in
                    [("shm", c"tmpfs", MODE), ("pts", c"devpts", TERMINALS)]
                {
                    let attributes = NO_SET_ID | NO_PROGRAMS;
                    self.push(&at.join(name), Act::Folder)?;
                    self.push(&at.join(name), new(kind, attributes, options))?;
                }
                self.push(at, Act::ReadOnly)
            }
        }
    }

    /// The flags of `clone` for a child that is the first of its own process ids.
    pub(super) fn flags(&self) -> libc::c_int {
        let network = match self.network {
            OwnNetwork::Machine => 0,
            _ => libc::CLONE_NEWNET,
        };
        let groups = match Path::new("/proc/self/ns/cgroup").exists() {
            true => libc::CLONE_NEWCGROUP,
            false => 0,
        };
        libc::CLONE_NEWUSER
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | network
            | groups
    }

    /// Why they were not made: the number of the step that failed, and what the kernel said.
    pub(super) fn failed(&self, step: usize, source: &io::Error) -> io::Error {
        let what = match step.checked_sub(1).map(|step| self.steps.get(step)) {
            None => "no namespaces of the tool's own".to_owned(),
            Some(None) => "the root of the tool's own".to_owned(),
            Some(Some(step)) => format!("cannot mount `/{}`", step.at.to_string_lossy()),
        };
        NamespacesNotMade::because(format!("{what}: {source}"))
    }

    /// In the child: makes the mounts, enters the new root, and adds the rules for it to the rule
    /// set. `at` counts the steps.
    ///
    /// # Safety
    /// For a child in these namespaces that may share its parent's memory: makes system calls only.
    pub(super) unsafe fn enter(
        &self,
        ruleset: Option<RawFd>,
        at: &AtomicUsize,
    ) -> Result<(), Failed> {
        const NONE: *const libc::c_char = std::ptr::null();
        // SAFETY: system calls on numbers and on texts that the parent made and keeps.
        unsafe {
            at.store(self.steps.len() + 1, Ordering::Relaxed);
            // Nothing that is mounted from here on is seen outside.
            let private = libc::MS_REC | libc::MS_PRIVATE;
            called(libc::mount(NONE, c"/".as_ptr(), NONE, private, std::ptr::null()).into())?;
            let (root, steps) = match self.steps.split_first() {
                Some((Step { at, act: Act::Bind { from, attributes, .. } }, rest))
                    if at.as_c_str() == c"." =>
                {
                    (clone_of(from, *attributes)?, rest)
                }
                _ => (new(c"tmpfs", NO_SET_ID | NO_DEVICES, MODE)?, &self.steps[..]),
            };
            // Over the root, where paths go on leading to what is below.
            let empty = c"".as_ptr();
            let over = (libc::AT_FDCWD, c"/".as_ptr(), OF_FD);
            called(libc::syscall(libc::SYS_move_mount, root, empty, over.0, over.1, over.2))?;
            let first = self.steps.len() - steps.len() + 1;
            for (number, step) in steps.iter().enumerate() {
                at.store(first + number, Ordering::Relaxed);
                step.run(root)?;
            }
            at.store(self.steps.len() + 1, Ordering::Relaxed);
            for (path, access) in ruleset.map_or(&[][..], |_| &self.rules) {
                allow(root, path, *access, ruleset.unwrap_or(-1))?;
            }
            called(libc::fchdir(root).into())?;
            let here = c".".as_ptr();
            called(libc::syscall(libc::SYS_pivot_root, here, here))?;
            called(libc::umount2(here, libc::MNT_DETACH).into())?;
            called(libc::chdir(c"/".as_ptr()).into())?;
            libc::close(root);
            self.network.set_up()
        }
    }
}

/// `MOVE_MOUNT_F_EMPTY_PATH`: the mount is the one of the descriptor.
const OF_FD: u32 = 4;
/// `MOVE_MOUNT_T_EMPTY_PATH`: so is the place.
const TO_FD: u32 = 0x40;

/// A system call failed; `errno` says why.
pub(super) struct Failed;

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
pub(super) struct Beneath {
    pub(super) access: u64,
    pub(super) parent: i32,
}

/// The result of a system call.
fn called(result: libc::c_long) -> Result<RawFd, Failed> {
    if result < 0 { Err(Failed) } else { Ok(RawFd::try_from(result).unwrap_or(RawFd::MAX)) }
}

/// The place of a path, no part of which may be a link. `below` is a root, or none.
///
/// # Safety
/// A system call alone.
unsafe fn place(below: Option<RawFd>, path: &CStr) -> Result<RawFd, Failed> {
    const NO_LINKS: u64 = 4;
    const IN_ROOT: u64 = 0x10;
    let flags = u64::from((libc::O_PATH | libc::O_CLOEXEC).unsigned_abs());
    let how: [u64; 3] = [flags, 0, NO_LINKS | below.map_or(0, |_| IN_ROOT)];
    let folder = below.unwrap_or(libc::AT_FDCWD);
    // SAFETY: the kernel reads the text and three words, a `struct open_how`.
    let opened = unsafe {
        libc::syscall(libc::SYS_openat2, folder, path.as_ptr(), how.as_ptr(), size_of_val(&how))
    };
    called(opened)
}

/// Gives a mount attributes; those below it too, if `flags` say so.
///
/// # Safety
/// A system call alone.
unsafe fn set(mount: RawFd, attributes: u64, flags: u32) -> Result<(), Failed> {
    let how: [u64; 4] = [attributes, 0, 0, 0];
    let flags = flags | libc::AT_EMPTY_PATH.unsigned_abs();
    let (at, size) = (c"".as_ptr(), size_of_val(&how));
    // SAFETY: the kernel reads four words, a `struct mount_attr`.
    let set =
        unsafe { libc::syscall(libc::SYS_mount_setattr, mount, at, flags, how.as_ptr(), size) };
    called(set).map(drop)
}

/// A copy of what is mounted at a path outside, with all below it.
///
/// # Safety
/// System calls alone.
unsafe fn clone_of(path: &CStr, attributes: u64) -> Result<RawFd, Failed> {
    const CLONE: u32 = 1;
    const RECURSIVE: u32 = 0x8000;
    // SAFETY: descriptors are numbers.
    unsafe {
        let from = place(None, path)?;
        let flags =
            CLONE | RECURSIVE | libc::AT_EMPTY_PATH.unsigned_abs() | libc::O_CLOEXEC.unsigned_abs();
        let tree = called(libc::syscall(libc::SYS_open_tree, from, c"".as_ptr(), flags));
        libc::close(from);
        let tree = tree?;
        set(tree, attributes, RECURSIVE)?;
        Ok(tree)
    }
}

/// A new file system.
///
/// # Safety
/// System calls alone.
unsafe fn new(kind: &CStr, attributes: u64, options: &[(&CStr, &CStr)]) -> Result<RawFd, Failed> {
    const CLOSED_ON_EXEC: u32 = 1;
    const FLAG: u32 = 0;
    const STRING: u32 = 1;
    const CREATE: u32 = 6;
    const NONE: *const libc::c_char = std::ptr::null();
    // SAFETY: the kernel reads texts, which end with a null.
    unsafe {
        let context = called(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOSED_ON_EXEC))?;
        for (name, value) in options {
            let (what, value) = match value.is_empty() {
                true => (FLAG, NONE),
                false => (STRING, value.as_ptr()),
            };
            let name = name.as_ptr();
            called(libc::syscall(libc::SYS_fsconfig, context, what, name, value, 0))?;
        }
        called(libc::syscall(libc::SYS_fsconfig, context, CREATE, NONE, NONE, 0))?;
        let mount = libc::syscall(libc::SYS_fsmount, context, CLOSED_ON_EXEC, attributes);
        libc::close(context);
        called(mount)
    }
}

/// Adds a landlock rule for a path in the new root; a path that is not there adds nothing.
///
/// # Safety
/// System calls alone.
unsafe fn allow(root: RawFd, path: &CStr, access: u64, ruleset: RawFd) -> Result<(), Failed> {
    // SAFETY: descriptors are numbers, and the kernel reads the rule.
    unsafe {
        let Ok(place) = place(Some(root), path) else { return Ok(()) };
        let rule = Beneath { access, parent: place };
        let rule = (&raw const rule).cast::<u8>();
        let added = called(libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1, rule, 0));
        libc::close(place);
        added.map(drop)
    }
}

impl Step {
    /// # Safety
    /// System calls alone.
    unsafe fn run(&self, root: RawFd) -> Result<(), Failed> {
        let at = self.at.as_ptr();
        // SAFETY: the texts end with a null; descriptors are numbers.
        unsafe {
            let mount = match &self.act {
                Act::Folder => {
                    // The next mount fails if the folder is missing.
                    libc::mkdirat(root, at, 0o755);
                    return Ok(());
                }
                Act::Link(target) => {
                    let made = called(libc::symlinkat(target.as_ptr(), root, at).into());
                    let is_there = *libc::__errno_location() == libc::EEXIST;
                    return if made.is_ok() || is_there { Ok(()) } else { Err(Failed) };
                }
                Act::ReadOnly => {
                    let place = place(Some(root), &self.at)?;
                    let set = set(place, READ_ONLY, 0);
                    libc::close(place);
                    return set;
                }
                Act::New { kind, attributes, options } => {
                    libc::mkdirat(root, at, 0o755);
                    new(kind, *attributes, options)?
                }
                Act::Bind { from, attributes, must_exist } => {
                    let tree = match clone_of(from, *attributes) {
                        Err(_) if !must_exist && *libc::__errno_location() == libc::ENOENT => {
                            return Ok(());
                        }
                        other => other?,
                    };
                    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
                    called(libc::fstat(tree, stat.as_mut_ptr()).into())?;
                    match stat.assume_init().st_mode & libc::S_IFMT {
                        libc::S_IFDIR => libc::mkdirat(root, at, 0o755),
                        _ => libc::mknodat(root, at, libc::S_IFREG | 0o644, 0),
                    };
                    tree
                }
            };
            let place = place(Some(root), &self.at)?;
            let (empty, flags) = (c"".as_ptr(), OF_FD | TO_FD);
            let moved = libc::syscall(libc::SYS_move_mount, mount, empty, place, empty, flags);
            let moved = called(moved);
            libc::close(place);
            libc::close(mount);
            moved.map(drop)
        }
    }
}

impl OwnNetwork {
    /// # Safety
    /// System calls alone.
    unsafe fn set_up(&self) -> Result<(), Failed> {
        let Self::Loopback(hand_out) = self else { return Ok(()) };
        let stream = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        // SAFETY: zeroed is a valid value of these structures, the kernel reads as much as each
        // call says, and all of it is on this stack.
        unsafe {
            let any = called(libc::socket(libc::AF_INET, stream, 0).into())?;
            let mut interface: libc::ifreq = std::mem::zeroed();
            interface.ifr_name.as_mut_ptr().copy_from_nonoverlapping(c"lo".as_ptr(), 3);
            interface.ifr_ifru.ifru_flags =
                (libc::IFF_UP | libc::IFF_RUNNING).try_into().unwrap_or_default();
            called(libc::ioctl(any, libc::SIOCSIFFLAGS as _, &raw const interface).into())?;
            libc::close(any);
            for HandsOut { over, first_port, count } in hand_out {
                let mut sockets = [-1; HandsOut::MOST];
                let count = (*count).min(HandsOut::MOST);
                for (port, socket) in (first_port.unwrap_or(0)..).zip(&mut sockets[..count]) {
                    *socket = called(libc::socket(libc::AF_INET, stream, 0).into())?;
                    if first_port.is_none() {
                        continue;
                    }
                    let mut address: libc::sockaddr_in = std::mem::zeroed();
                    address.sin_family = libc::AF_INET.try_into().unwrap_or_default();
                    address.sin_port = port.to_be();
                    address.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
                    let size = size_of_val(&address).try_into().unwrap_or_default();
                    let address = (&raw const address).cast();
                    called(libc::bind(*socket, address, size).into())?;
                    called(libc::listen(*socket, 128).into())?;
                }
                send(over.as_raw_fd(), &sockets[..count])?;
            }
            Ok(())
        }
    }
}

/// Sends descriptors over a socket.
///
/// # Safety
/// As above; there are no more than [`HandsOut::MOST`].
unsafe fn send(socket: RawFd, fds: &[RawFd]) -> Result<(), Failed> {
    // In words, as the header of the message is aligned.
    let mut space = [0_u64; 4 + HandsOut::MOST / 2];
    let bytes = u32::try_from(size_of_val(fds)).unwrap_or_default();
    let mut word = libc::iovec { iov_base: c"l".as_ptr().cast_mut().cast(), iov_len: 1 };
    // SAFETY: the space has room for the header and all descriptors.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut word;
        message.msg_iovlen = 1;
        message.msg_control = space.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(bytes) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(bytes) as _;
        libc::CMSG_DATA(header)
            .copy_from_nonoverlapping(fds.as_ptr().cast::<u8>(), size_of_val(fds));
        let sent = libc::sendmsg(socket, &raw const message, 0);
        if sent < 0 { Err(Failed) } else { Ok(()) }
    }
}
