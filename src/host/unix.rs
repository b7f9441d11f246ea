//! The system calls for children and signals that no safe library offers.
//!
//! With `signals.rs`, `kernel.rs`, `namespaces.rs` and `ptrace.rs` the only file with `unsafe`:
//! `clone`, and the signal mask and dispositions of a child.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper; each has its own note")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Resource;

use super::host::Spawn;
use super::kernel::{FirstProcess, reap};
use super::namespaces::{Failed, Namespaces};
use super::ptrace::be_watched;

/// How long a program that is open for writing is tried to be started, in milliseconds: a child
/// between its birth and its program takes far less.
const BUSY_PROGRAM_MS: u64 = 1_000;

/// A child that was started, and our ends of its three streams.
pub(super) struct Started {
    pub(super) pid: i32,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Starts the child in its own process group; a restricted child in its own session. It gets the
/// given environment and folder, three streams and no other descriptor; no signal is blocked, and
/// each has its default action. It ends with the thread that starts it.
///
/// Calls `clone` directly, as `posix_spawn` does: the child shares our memory until it executes its
/// program, so no page table is copied. In between it applies [`Restrict`], which neither
/// `posix_spawn` nor the standard library can do without such a copy.
pub(super) fn start(spawn: &Spawn) -> io::Result<Started> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::from);
    let program = text(spawn.program.as_os_str().as_encoded_bytes())?;
    let cwd = text(spawn.cwd.as_os_str().as_encoded_bytes())?;
    let args = spawn.args.iter().map(|arg| text(arg.as_encoded_bytes()));
    let args = std::iter::once(Ok(program.clone())).chain(args).collect::<Result<Vec<_>, _>>()?;
    let env = spawn
        .env
        .iter()
        .map(|(name, value)| text(&[name.as_bytes(), b"=", value.as_encoded_bytes()].concat()));
    let env = env.collect::<Result<Vec<_>, _>>()?;
    let (their_stdin, stdin) = pipe()?;
    let (stdout, their_stdout) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    let listed = |texts: &[CString]| {
        let texts = texts.iter().map(|text| text.as_ptr());
        texts.chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    let is_first = spawn.restrict.is_first_process || spawn.restrict.namespaces.is_some();
    let setup = ChildSetup {
        program: &program,
        args: &listed(&args),
        env: &listed(&env),
        cwd: &cwd,
        streams: [&their_stdin, &their_stdout, &their_stderr].map(AsRawFd::as_raw_fd),
        restrict: &spawn.restrict,
        watched: spawn.watched,
        parent: std::process::id(),
        first: is_first.then(FirstProcess::new).flatten(),
        is_first: AtomicBool::new(false),
        error: AtomicI32::new(0),
        at: AtomicUsize::new(0),
        stack: Stack::new(),
        tells: AtomicI32::new(-1),
    };
    // A program that we just wrote may still be open for writing in a child of another thread that
    // has not yet executed its own program.
    let until = Instant::now() + Duration::from_millis(BUSY_PROGRAM_MS);
    loop {
        match setup.spawn() {
            Err(error) if is_busy(&error) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return Ok(Started { pid: other?, stdin, stdout, stderr }),
        }
    }
}

/// A pipe, its reading end first; neither end is one of the three streams.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let beyond = |fd: OwnedFd| match fd.as_raw_fd() {
        0..=2 => rustix::io::fcntl_dupfd_cloexec(&fd, 3),
        _ => Ok(fd),
    };
    Ok((beyond(read)?, beyond(write)?))
}

/// The restrictions that a child applies to itself before it executes its program; none by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Restrict {
    /// A landlock rule set.
    pub(crate) ruleset: Option<Arc<OwnedFd>>,
    /// The filter of its system calls, as the kernel's `struct sock_filter`; empty for none.
    pub(crate) filter: Vec<Instruction>,
    /// Resource limits of one process.
    pub(crate) rlimits: Vec<(Resource, u64)>,
    /// It drops all capabilities.
    pub(crate) drops_capabilities: bool,
    /// It is the first process of its own pid namespace, where the machine allows one. Then all its
    /// descendants end with it.
    pub(crate) is_first_process: bool,
    /// Namespaces of its own. It is the second process there: the first one waits for it and tells
    /// its end as a shell would. A watched child is the first one.
    pub(crate) namespaces: Option<Arc<Namespaces>>,
    /// It ends where it would execute its program.
    pub(crate) only_tries: bool,
    /// The file by which it joins its control group.
    pub(crate) group: Option<Arc<OwnedFd>>,
    /// Descriptors that it gets, from 3 on. Ours must be [`Restrict::HANDED_DOWN`] or above.
    pub(crate) passed: Vec<Arc<OwnedFd>>,
}

/// `struct sock_filter` of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) jt: u8,
    pub(crate) jf: u8,
    pub(crate) k: u32,
}

/// All that a child needs until it executes its program, prepared by its parent. The child makes
/// system calls only: it allocates nothing, takes no lock and does not unwind.
struct ChildSetup<'a> {
    program: &'a CStr,
    /// Both end with a null.
    args: &'a [*const libc::c_char],
    env: &'a [*const libc::c_char],
    cwd: &'a CStr,
    streams: [RawFd; 3],
    restrict: &'a Restrict,
    /// The thread that starts it traces it.
    watched: bool,
    parent: u32,
    /// Set if it should be the first process of its own pid namespace.
    first: Option<FirstProcess>,
    /// It is the first process, this time.
    is_first: AtomicBool,
    /// The `errno` that the child failed with, or 0.
    error: AtomicI32,
    /// The step of its namespaces that it is at, or 0.
    at: AtomicUsize,
    /// Of the second process in namespaces of its own.
    stack: Stack,
    /// Where the first one tells why the second did not start.
    tells: AtomicI32,
}

/// The stack of a child that shares memory, in units of 16 bytes. Not initialised, so that only
/// the pages that the child uses take memory.
struct Stack(Box<[MaybeUninit<u128>]>);

impl Stack {
    /// Twice what `posix_spawn` uses.
    const UNITS: usize = 64 * 1024 / 16;

    fn new() -> Self {
        Self(Box::new_uninit_slice(Self::UNITS))
    }

    fn top(&self) -> *mut libc::c_void {
        self.0.as_ptr_range().end.cast_mut().cast()
    }
}

/// The function that a child runs.
pub(super) type Step = extern "C" fn(*mut libc::c_void) -> libc::c_int;

/// Starts a child that shares our memory. This thread waits until the child executed a program or
/// ended. `more` are further flags of `clone`.
///
/// # Safety
/// `step` makes system calls only, on memory that outlives this call.
pub(super) unsafe fn vfork_clone(
    step: Step,
    of: *mut libc::c_void,
    more: libc::c_int,
) -> io::Result<i32> {
    let stack = Stack::new();
    // SAFETY: the child runs on a stack of its own, which outlives it: `CLONE_VFORK` holds this
    // thread. It gets no signal while our handlers stand in its memory, since all are blocked.
    without_signals(|| unsafe {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | more;
        libc::clone(step, stack.top(), flags, of).into()
    })
}

/// Starts a child with a copy of our memory, in which all signals stay blocked. `more` are further
/// flags of `clone`.
///
/// # Safety
/// `step` makes system calls only: a lock that another thread holds is never released in the copy.
unsafe fn fork_clone(step: Step, of: *mut libc::c_void, more: libc::c_int) -> io::Result<i32> {
    // SAFETY: the child goes on with this stack in a copy, calls `step` and ends.
    without_signals(|| unsafe {
        let pid = libc::syscall(libc::SYS_clone, libc::SIGCHLD | more, 0, 0, 0, 0);
        if pid == 0 {
            libc::_exit(step(of));
        }
        pid
    })
}

/// Starts a child while this thread, and so the child, takes no signal.
fn without_signals(clone: impl FnOnce() -> libc::c_long) -> io::Result<i32> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are filled in before they are read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        checked(libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()))?;
    }
    let pid = clone();
    let failed = (pid < 0).then(io::Error::last_os_error);
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    failed.map_or_else(|| i32::try_from(pid).map_err(io::Error::other), Err)
}

impl ChildSetup<'_> {
    /// # Errors
    /// The error that the child failed with before it executed its program.
    fn spawn(&self) -> io::Result<i32> {
        if let Some(namespaces) = &self.restrict.namespaces {
            return self.spawn_inside(namespaces);
        }
        self.error.store(0, Ordering::Relaxed);
        self.is_first.store(self.first.is_some(), Ordering::Relaxed);
        let of = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: `child_main` makes system calls only, on what `self` borrows.
        let clone = |flags| unsafe { vfork_clone(child_main, of, flags) };
        let first = self.first.as_ref().and_then(|_| clone(FirstProcess::FLAGS).ok());
        let pid = match first {
            Some(pid) => pid,
            None => {
                self.is_first.store(false, Ordering::Relaxed);
                clone(0)?
            }
        };
        match self.error.load(Ordering::Relaxed) {
            0 => Ok(pid),
            error => {
                reap(pid)?;
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    /// Starts a child with namespaces of its own.
    ///
    /// # Errors
    /// As above; a step of its namespaces fails with [`NamespacesNotMade`].
    ///
    /// [`NamespacesNotMade`]: super::namespaces::NamespacesNotMade
    fn spawn_inside(&self, namespaces: &Namespaces) -> io::Result<i32> {
        self.error.store(0, Ordering::Relaxed);
        self.is_first.store(true, Ordering::Relaxed);
        self.at.store(0, Ordering::Relaxed);
        let of = std::ptr::from_ref(self).cast_mut().cast();
        let flags = namespaces.flags();
        let (told, tells) = pipe()?;
        self.tells.store(tells.as_raw_fd(), Ordering::Relaxed);
        let cannot = |error: io::Error| namespaces.failed(0, &error);
        let pid = match self.watched {
            // SAFETY: both make system calls only, on what `self` borrows.
            true => unsafe { vfork_clone(child_main, of, flags).map_err(cannot)? },
            false => unsafe { fork_clone(first_process, of, flags).map_err(cannot)? },
        };
        drop(tells);
        let mut why = [0; size_of::<i32>() + size_of::<usize>()];
        let mut read = 0;
        // Nothing comes if it executed its program: the last descriptor of it is closed then.
        while read < why.len() {
            match rustix::io::read(&told, &mut why[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let (error, at) = match (self.watched, why.split_first_chunk()) {
            (false, Some((error, at))) if read == why.len() => {
                let at = at.try_into().unwrap_or_default();
                (i32::from_ne_bytes(*error), usize::from_ne_bytes(at))
            }
            (false, _) => return Ok(pid),
            (true, _) => (self.error.load(Ordering::Relaxed), self.at.load(Ordering::Relaxed)),
        };
        if error == 0 {
            return Ok(pid);
        }
        reap(pid)?;
        let error = io::Error::from_raw_os_error(error);
        Err(if at == DONE { error } else { namespaces.failed(at, &error) })
    }

    /// Runs in the first process of namespaces that are a child's own: starts the child, and waits
    /// for it. When this one ends, the kernel ends all others.
    ///
    /// # Safety
    /// For a child with a copy of its parent's memory, all signals blocked.
    unsafe fn be_first(&self) -> Result<Never, Failed> {
        // SAFETY: system calls on numbers and on memory that this process has alone, until the
        // child, which shares it, executed its program.
        unsafe {
            self.settle()?;
            // Our parent may have set it so that children cannot be waited for.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            if let Some(first) = &self.first {
                first.forget_command_line();
            }
            // It holds what rye held, and nothing inside may look at that.
            called(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))?;
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let of = std::ptr::from_ref(self).cast_mut().cast();
            let child = libc::clone(child_main, self.stack.top(), flags, of);
            called(child)?;
            if self.error.load(Ordering::Relaxed) != 0 {
                self.tell();
                libc::_exit(127);
            }
            close_from(0);
            let mut status = 0;
            loop {
                let ended = libc::waitpid(-1, &raw mut status, libc::__WALL);
                if ended == child {
                    break;
                }
                if ended < 0 && *libc::__errno_location() != libc::EINTR {
                    libc::_exit(127);
                }
            }
            libc::_exit(match libc::WIFEXITED(status) {
                true => libc::WEXITSTATUS(status),
                false => 128 + libc::WTERMSIG(status),
            })
        }
    }

    /// Tells the parent why the child did not start.
    ///
    /// # Safety
    /// A system call alone.
    unsafe fn tell(&self) {
        let error = self.error.load(Ordering::Relaxed).to_ne_bytes();
        let at = self.at.load(Ordering::Relaxed).to_ne_bytes();
        let mut why = [0; size_of::<i32>() + size_of::<usize>()];
        let (of_error, of_at) = why.split_at_mut(error.len());
        of_error.copy_from_slice(&error);
        of_at.copy_from_slice(&at);
        // SAFETY: the kernel reads so many bytes.
        unsafe { libc::write(self.tells.load(Ordering::Relaxed), why.as_ptr().cast(), why.len()) };
    }

    /// Makes the child the leader of its group, and sees to it that it ends with its parent.
    ///
    /// # Safety
    /// As for [`ChildSetup::exec`].
    unsafe fn settle(&self) -> Result<(), Failed> {
        // SAFETY: system calls on numbers and on memory that the parent made and keeps.
        unsafe {
            // A new session has no terminal.
            match self.restrict.is_nothing() {
                true => called(libc::setpgid(0, 0))?,
                false => called(libc::setsid())?,
            }
            let first = self.first.as_ref().filter(|_| self.is_first.load(Ordering::Relaxed));
            if first.is_some_and(|first| !first.say_who()) {
                return Err(Failed);
            }
            called(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            let has_its_parent = match first {
                None => libc::getppid().cast_unsigned() == self.parent,
                Some(first) => first.has_its_parent(),
            };
            if !has_its_parent {
                libc::_exit(127);
            }
            Ok(())
        }
    }

    /// Runs in the child: applies everything and executes the program. Returns only if a step
    /// failed.
    ///
    /// # Safety
    /// For a child that shares its parent's memory, on a stack of its own, all signals blocked.
    unsafe fn exec(&self) -> Result<Never, Failed> {
        let done = called;
        let called = |result: libc::c_long| if result < 0 { Err(Failed) } else { Ok(()) };
        // SAFETY: system calls on numbers and on memory that the parent made and keeps.
        unsafe {
            // This fails for signals that cannot be set, and for two that the C library keeps to
            // itself.
            for signal in 1..=64 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let namespaces = self.restrict.namespaces.as_deref();
            if namespaces.is_none() || self.watched {
                self.settle()?;
            }
            if let Some(group) = &self.restrict.group {
                done(if libc::write(group.as_raw_fd(), c"0".as_ptr().cast(), 1) == 1 {
                    0
                } else {
                    -1
                })?;
            }
            let [stdin, stdout, stderr] = self.streams;
            done(libc::dup2(stdin, 0))?;
            done(libc::dup2(stdout, 1))?;
            done(libc::dup2(stderr, 2))?;
            let mut free = 3;
            for passed in &self.restrict.passed {
                done(libc::dup2(passed.as_raw_fd(), free))?;
                free += 1;
            }
            if let Some(namespaces) = namespaces {
                let ruleset = self.restrict.ruleset.as_ref();
                namespaces.enter(ruleset.map(AsRawFd::as_raw_fd), &self.at)?;
                // Nor does a program that is the owner's get any back.
                for capability in 0..64 {
                    libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
                }
            }
            self.at.store(DONE, Ordering::Relaxed);
            done(libc::chdir(self.cwd.as_ptr()))?;
            for (resource, most) in &self.restrict.rlimits {
                // By the system call: the C libraries do not agree on the number's type.
                let prlimit = |new: *const libc::rlimit64, old: *mut libc::rlimit64| {
                    called(libc::syscall(libc::SYS_prlimit64, 0, *resource as u32, new, old))
                };
                let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
                prlimit(std::ptr::null(), &raw mut limit)?;
                // The hard limit can only be lowered.
                limit.rlim_max = limit.rlim_max.min(*most);
                limit.rlim_cur = limit.rlim_max;
                prlimit(&raw const limit, std::ptr::null_mut())?;
            }
            if !self.restrict.is_nothing() {
                done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            }
            if let Some(ruleset) = &self.restrict.ruleset {
                called(libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0))?;
            }
            if self.restrict.drops_capabilities {
                // Version 3 of the header, this process; three sets of two words, all empty.
                let (header, sets) = ([0x2008_0522_u32, 0], [0_u32; 6]);
                called(libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()))?;
            }
            done(close_from(free))?;
            if self.watched && !be_watched() {
                return Err(Failed);
            }
            let mut none = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            let filter = &self.restrict.filter;
            if let Ok(len) = u16::try_from(filter.len())
                && len > 0
            {
                let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
                let set = libc::SECCOMP_SET_MODE_FILTER;
                called(libc::syscall(libc::SYS_seccomp, set, 0, &raw const program))?;
            }
            if self.restrict.only_tries {
                libc::_exit(0);
            }
            libc::execve(self.program.as_ptr(), self.args.as_ptr(), self.env.as_ptr());
            Err(Failed)
        }
    }
}

impl Restrict {
    /// Passed descriptors have at least this number, so that none is overwritten when they become 3
    /// and on.
    pub(crate) const HANDED_DOWN: RawFd = 10;

    fn is_nothing(&self) -> bool {
        self.ruleset.is_none() && self.filter.is_empty() && !self.drops_capabilities
    }
}

/// The success of a call that does not return.
enum Never {}

/// All steps of the namespaces are done.
const DONE: usize = usize::MAX;

/// The result of a system call.
fn called(result: libc::c_int) -> Result<(), Failed> {
    if result < 0 { Err(Failed) } else { Ok(()) }
}

/// Entry point of the first process of the namespaces.
extern "C" fn first_process(setup: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `spawn_inside` handed over itself; this is the child that `be_first` speaks of.
    unsafe {
        let setup = &*setup.cast::<ChildSetup<'_>>();
        let Err(Failed) = setup.be_first();
        setup.error.store(*libc::__errno_location(), Ordering::Relaxed);
        setup.tell();
        libc::_exit(127)
    }
}

/// The main function of the child.
extern "C" fn child_main(setup: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `spawn` handed over itself, and waits; this is the child that `exec` speaks of.
    unsafe {
        let setup = &*setup.cast::<ChildSetup<'_>>();
        let Err(Failed) = setup.exec();
        setup.error.store(*libc::__errno_location(), Ordering::Relaxed);
        libc::_exit(127)
    }
}

/// Closes all descriptors from this one on; one by one on a kernel without `close_range`.
///
/// # Safety
/// For a process that uses none of them any more.
pub(super) unsafe fn close_from(first: RawFd) -> libc::c_int {
    // SAFETY: descriptors are numbers.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) == 0 {
            return 0;
        }
        for fd in first.into()..libc::sysconf(libc::_SC_OPEN_MAX).clamp(first.into(), 1 << 20) {
            libc::close(RawFd::try_from(fd).unwrap_or(RawFd::MAX));
        }
        0
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ETXTBSY)
}

/// The result of a call that returns its error number instead of setting `errno`.
fn checked(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
