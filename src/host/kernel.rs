//! The calls of the kernel that confine, where no safe library has them: user namespaces, the first
//! process of a namespace of process ids, and rules for a landlock set that another process made.
//! And `wait4` (peak memory of one child), and the memory of an engine, which is counted.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper; each has its own note")]

use std::ffi::{CStr, CString};
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use super::host::Spawn;
use super::namespaces::Beneath;
use super::persistent::unswept;
use super::unix::{Instruction, start};
use crate::base::durations::REAP_MS;

/// The version of landlock that the kernel has; what is missing otherwise.
pub(crate) fn landlock_version() -> io::Result<i64> {
    // SAFETY: with this flag and no attributes the call answers a number and makes nothing.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, 1) };
    if version < 0 { Err(io::Error::last_os_error()) } else { Ok(version) }
}

/// Adds to the rule set that what lies at `path` and below may be used by `access`, the kernel's
/// bits. A path that does not exist adds nothing.
///
/// # Errors
/// An error of the kernel.
pub(crate) fn landlock_allow(ruleset: &OwnedFd, path: &Path, access: u64) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let place = match open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let rule = Beneath { access, parent: place.as_raw_fd() };
    // SAFETY: the kernel reads the rule, of the kind 1 for paths, during the call.
    let added = unsafe {
        let rule = (&raw const rule).cast::<u8>();
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1, rule, 0)
    };
    if added < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Holds this thread, and all that it starts from here on, to the rule set. No privileges can be
/// gained any more.
///
/// # Errors
/// An error of the kernel.
pub(crate) fn landlock_enter(ruleset: &OwnedFd) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: numbers alone.
    let entered =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) };
    if entered < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Holds each system call of this thread, and of all that it starts from here on, against the
/// filter.
///
/// # Errors
/// An error of the kernel.
pub(crate) fn filter_calls(filter: &[Instruction]) -> io::Result<()> {
    let too_long = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let len = u16::try_from(filter.len()).map_err(too_long)?;
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel copies the filter, which has so many steps, during the call.
    let set = unsafe {
        let filter = libc::SECCOMP_SET_MODE_FILTER;
        libc::syscall(libc::SYS_seccomp, filter, 0, &raw const program)
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes the descriptor of this number, which the parent process handed down; no other owner of it
/// may exist in this process.
///
/// # Errors
/// There is none.
pub(crate) fn handed_down(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: asks after a number.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and by the promise above no other owner closes it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(fd.as_fd(), rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}

/// Exit code or signal, and peak memory in KiB.
pub(super) struct Reaped {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) max_rss_kib: i64,
}

/// Reaps the child `pid`, which was already killed, so it waits only a moment. A program that
/// became another user cannot be killed: `None` if it still runs then.
pub(super) fn reap(pid: i32) -> io::Result<Option<Reaped>> {
    let until = Instant::now() + Duration::from_millis(REAP_MS);
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are valid for writes for the whole call.
        let got = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        if got == pid {
            break;
        }
        if got == 0 {
            if Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeroed is a valid rusage, and wait4 has filled it in.
    let usage = unsafe { usage.assume_init() };
    let exited = libc::WIFEXITED(status);
    let signaled = libc::WIFSIGNALED(status);
    Ok(Some(Reaped {
        exit_code: exited.then(|| libc::WEXITSTATUS(status)),
        signal: signaled.then(|| libc::WTERMSIG(status)),
        max_rss_kib: usage.ru_maxrss,
    }))
}

/// Reaps a child that ends by itself; waits for its end.
pub(super) fn wait(pid: i32) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is valid for writes for the whole call.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Resets `SIGCHLD` to its default. If our parent left it ignored, the kernel would reap our
/// children itself and their status would be lost. Only for a process that serves rye alone.
pub(super) fn reset_sigchld() {
    // SAFETY: the default disposition has no handler that could run.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Starts a child and waits for its end.
///
/// # Errors
/// It could not be started, or failed: what it said on standard error.
pub(crate) fn attempt(spawn: &Spawn) -> io::Result<()> {
    let _unswept = unswept();
    let started = start(spawn)?;
    drop(started.stdin);
    let mut said = Vec::new();
    let read = std::fs::File::from(started.stderr).take(BRIEF_BYTES).read_to_end(&mut said);
    let status = wait(started.pid)?;
    read?;
    match status {
        0 => Ok(()),
        _ => Err(io::Error::other(String::from_utf8_lossy(&said).trim().to_owned())),
    }
}

/// The most bytes that are read of a failed child's standard error.
const BRIEF_BYTES: u64 = 4096;

/// The data that the first process of a namespace of process ids needs to say who it is.
///
/// When such a process ends, however it does, the kernel ends all others of its namespace: so
/// nothing of `bwrap` can be left, at whatever moment it is killed.
pub(super) struct FirstProcess {
    user: CString,
    group: CString,
    /// Our own id as `/proc` has it: the child cannot ask for its parent's otherwise.
    parent: u32,
    /// Where the words of our command line begin and end in memory.
    command_line: Option<(usize, usize)>,
}

impl FirstProcess {
    /// The flags of `clone` for it.
    pub(super) const FLAGS: libc::c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;

    /// `None` where `/proc` does not tell.
    pub(super) fn new() -> Option<Self> {
        let parent = std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
        let same = |id: u32| CString::new(format!("{id} {id} 1\n")).ok();
        let user = same(rustix::process::geteuid().as_raw())?;
        let group = same(rustix::process::getegid().as_raw())?;
        Some(Self { user, group, parent, command_line: command_line() })
    }

    /// In the child: what runs beside it sees no words of our command line.
    ///
    /// # Safety
    /// For a child with a copy of its parent's memory.
    pub(super) unsafe fn forget_command_line(&self) {
        let Some((begin, end)) = self.command_line else { return };
        // SAFETY: by what the kernel says the words lie there, and nothing here reads them again.
        unsafe { std::ptr::write_bytes(begin as *mut u8, 0, end.saturating_sub(begin)) };
    }

    /// In the child: it is the same user and group in its namespace as outside.
    ///
    /// # Safety
    /// For a child that shares its parent's memory: makes system calls only.
    pub(super) unsafe fn say_who(&self) -> bool {
        // SAFETY: system calls on texts that the parent made and keeps.
        unsafe {
            write(c"/proc/self/setgroups", c"deny")
                && write(c"/proc/self/gid_map", &self.group)
                && write(c"/proc/self/uid_map", &self.user)
        }
    }

    /// In the child: whether its parent is still the process that started it.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn has_its_parent(&self) -> bool {
        let mut text = [0_u8; 512];
        // SAFETY: a buffer of ours; descriptors are numbers.
        let read = unsafe {
            let fd = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            let read = libc::read(fd, text.as_mut_ptr().cast(), text.len());
            libc::close(fd);
            read
        };
        let text = usize::try_from(read).ok().and_then(|read| text.get(..read));
        text.and_then(parent_in) == Some(self.parent)
    }
}

/// Where the kernel keeps the words of this process's command line, which are in its own memory.
fn command_line() -> Option<(usize, usize)> {
    /// Behind the name and the state: `arg_start`, which is the 48th field of the text.
    const BEGINS: usize = 45;
    let stat = std::fs::read("/proc/self/stat").ok()?;
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(stat.get(name_ends + 1..)?).into_owned();
    let mut fields = fields.split_whitespace().skip(BEGINS).map(|field| field.parse().ok());
    let (begin, end) = (fields.next()??, fields.next()??);
    (0 < begin && begin < end).then_some((begin, end))
}

/// The parent's id in the text of `/proc/…/stat`: behind the name, which may hold any character,
/// and the state.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let mut words = stat.get(name_ends + 1..)?.split(|byte| *byte == b' ');
    let parent = words.nth(2)?;
    parent.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

/// # Safety
/// As above.
unsafe fn write(path: &CStr, text: &CStr) -> bool {
    // SAFETY: both texts end with a null, and the kernel reads so many bytes of one.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let len = text.count_bytes();
        let written = libc::write(fd, text.as_ptr().cast(), len);
        libc::close(fd);
        usize::try_from(written) == Ok(len)
    }
}

/// The memory of an engine, up to a limit. An engine tells a snippet of a refusal, which could
/// catch that and go on: so the refusal ends this process instead.
#[cfg(feature = "code")]
pub(crate) struct LimitedMemory {
    used: usize,
    most: usize,
}

#[cfg(feature = "code")]
impl LimitedMemory {
    /// The status of a process that is ended for its memory.
    pub(crate) const ENDED: i32 = 76;

    pub(crate) fn new(most: usize) -> Self {
        Self { used: 0, most }
    }

    /// Ends the process if `more` bytes do not fit.
    fn take(&self, more: usize) {
        if self.used.checked_add(more).is_none_or(|used| used > self.most) {
            // SAFETY: ends this process; there are no pointers.
            unsafe { libc::_exit(Self::ENDED) }
        }
    }

    /// Counts memory that was given, or ends the process if there is none.
    fn given(&mut self, memory: *mut libc::c_void) -> *mut u8 {
        if memory.is_null() {
            self.take(usize::MAX);
        }
        // SAFETY: the memory is from the same allocator.
        self.used += unsafe { libc::malloc_usable_size(memory) };
        memory.cast()
    }
}

// SAFETY: all memory is from the C library, which keeps what this promises.
#[cfg(feature = "code")]
unsafe impl rquickjs::allocator::Allocator for LimitedMemory {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.take(size);
        // SAFETY: any size is allowed.
        let memory = unsafe { libc::malloc(size.max(1)) };
        self.given(memory)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        self.take(count.saturating_mul(size));
        // SAFETY: any sizes are allowed.
        let memory = unsafe { libc::calloc(count.max(1), size.max(1)) };
        self.given(memory)
    }

    unsafe fn dealloc(&mut self, memory: *mut u8) {
        // SAFETY: the caller gives memory of this allocator.
        unsafe {
            self.used -= Self::usable_size(memory);
            libc::free(memory.cast());
        }
    }

    unsafe fn realloc(&mut self, memory: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: the caller gives memory of this allocator, and uses it no more.
        unsafe {
            let before = if memory.is_null() { 0 } else { Self::usable_size(memory) };
            self.take(size.saturating_sub(before));
            self.used -= before;
            let memory = libc::realloc(memory.cast(), size.max(1));
            self.given(memory)
        }
    }

    unsafe fn usable_size(memory: *mut u8) -> usize {
        // SAFETY: the caller gives memory of this allocator.
        unsafe { libc::malloc_usable_size(memory.cast()) }
    }
}

/// Detaches this process from the end of any other: it leads a session of its own, without a
/// terminal, has its three streams and no other descriptor, and the signals that ask it to end do
/// so. Only for the first step of a process.
///
/// # Errors
/// This process leads a group already.
pub(crate) fn lead_own_session() -> io::Result<()> {
    // SAFETY: calls on numbers; nothing in this process has opened a descriptor yet.
    unsafe {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        super::unix::close_from(3);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parent_in;

    #[test]
    fn a_parent_is_read_behind_any_name_table() {
        for (stat, want) in [
            (&b"12 (rye) S 34 12 12 0"[..], Some(34)),
            (b"12 (a) R 9 (x) S 34 12", Some(34)),
            (b"12 (rye) S", None),
            (b"12 (rye) S 99999999999 1", None),
            (b"12 (rye) S x 1", None),
            (b"", None),
        ] {
            assert_eq!(parent_in(stat), want, "{}", String::from_utf8_lossy(stat));
        }
    }
}
