//! The few calls that no safe library offers.
//!
//! The one file with `unsafe`: `wait4` (peak memory of one child), `signalfd` and the signal mask
//! (so that one poll loop hears children, pipes and signals), `posix_spawn`, dispositions, a handler
//! that ends what must not outlive us, and `raise`.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper; each has its own note")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use super::host::Spawn;
use crate::base::limits::{BUSY_PROGRAM_MS, EXEC_SERVERS, REAP_MS};

/// Exit code or signal, and peak memory in KiB.
pub(super) struct Reaped {
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) max_rss_kib: i64,
}

/// Takes the status of the child `pid` away; waits for it a moment, since it was told to end, but not
/// for ever: a program that became another user cannot be told anything. `None` if it still runs.
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

/// Whoever started us may have asked that children vanish unseen, which would lose their status. For a
/// process that is ours alone.
pub(super) fn hear_of_children() {
    // SAFETY: the default disposition has no handler that could run.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// A child that was started, and our ends of its three streams.
pub(super) struct Started {
    pub(super) pid: i32,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Starts the child in a process group of its own, with the given environment and folder, with three
/// streams and no other descriptor, with every signal let through and at its default.
///
/// `posix_spawn` by hand, because the standard library's hands down our signal mask, and with
/// anything to be done in between it copies the page tables of this whole process first.
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
    let mut actions = Actions::new()?;
    for (target, fd) in [&their_stdin, &their_stdout, &their_stderr].into_iter().enumerate() {
        actions.put(fd, target)?;
    }
    actions.close_from(3)?;
    actions.enter(&cwd)?;
    let pid = actions.spawn(&program, &args, &env)?;
    Ok(Started { pid, stdin, stdout, stderr })
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

/// What is done in the child before it becomes the program.
struct Actions {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        let mut signals = MaybeUninit::uninit();
        let flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        let flags = libc::c_short::try_from(flags).map_err(io::Error::other)?;
        // SAFETY: each structure is initialised by its own function before it is used; these fail
        // only for want of memory, and then nothing of it is used.
        unsafe {
            checked(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            checked(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            let mut made =
                Self { actions: actions.assume_init(), attributes: attributes.assume_init() };
            let to = &raw mut made.attributes;
            libc::sigemptyset(signals.as_mut_ptr());
            checked(libc::posix_spawnattr_setsigmask(to, signals.as_ptr()))?;
            libc::sigfillset(signals.as_mut_ptr());
            checked(libc::posix_spawnattr_setsigdefault(to, signals.as_ptr()))?;
            checked(libc::posix_spawnattr_setpgroup(to, 0))?;
            checked(libc::posix_spawnattr_setflags(to, flags))?;
            Ok(made)
        }
    }

    /// Whatever is open from this number on, also what another thread opens until then.
    fn close_from(&mut self, first: RawFd) -> io::Result<()> {
        let actions = &raw mut self.actions;
        // SAFETY: the actions are initialised; the numbers are closed in the child alone.
        checked(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(actions, first) })
    }

    fn put(&mut self, fd: &OwnedFd, target: usize) -> io::Result<()> {
        let target = RawFd::try_from(target).map_err(io::Error::other)?;
        let actions = &raw mut self.actions;
        // SAFETY: the actions are initialised; both numbers are copied.
        checked(unsafe { libc::posix_spawn_file_actions_adddup2(actions, fd.as_raw_fd(), target) })
    }

    fn enter(&mut self, folder: &CStr) -> io::Result<()> {
        let actions = &raw mut self.actions;
        // SAFETY: the actions are initialised; the path is copied.
        checked(unsafe { libc::posix_spawn_file_actions_addchdir_np(actions, folder.as_ptr()) })
    }

    /// # Errors
    /// What an action, or becoming the program, failed with.
    fn spawn(&self, program: &CStr, args: &[CString], env: &[CString]) -> io::Result<i32> {
        // A program that we just wrote is still open for writing in a child that another thread is
        // starting, for as long as that child is not its own program yet.
        let until = Instant::now() + Duration::from_millis(BUSY_PROGRAM_MS);
        loop {
            match self.spawn_once(program, args, env) {
                Err(error) if is_busy(&error) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => return other,
            }
        }
    }

    /// # Errors
    /// What an action, or becoming the program, failed with.
    fn spawn_once(&self, program: &CStr, args: &[CString], env: &[CString]) -> io::Result<i32> {
        let listed = |texts: &[CString]| {
            let texts = texts.iter().map(|text| text.as_ptr().cast_mut());
            texts.chain([std::ptr::null_mut()]).collect::<Vec<_>>()
        };
        let (args, env) = (listed(args), listed(env));
        let mut pid = 0;
        // SAFETY: both lists end with a null and outlive the call, as do the texts they point to,
        // which are not written to; actions and attributes are initialised.
        checked(unsafe {
            libc::posix_spawn(
                &raw mut pid,
                program.as_ptr(),
                &raw const self.actions,
                &raw const self.attributes,
                args.as_ptr(),
                env.as_ptr(),
            )
        })?;
        Ok(pid)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: both were initialised and are not used again.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.actions);
            libc::posix_spawnattr_destroy(&raw mut self.attributes);
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ETXTBSY)
}

/// The `posix_spawn` family gives the error instead of setting it.
fn checked(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// What asks a process to end, in the order of how often it does.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Whether this process was told to pass over the signal, as `nohup` does.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the old action is written to `action`, for which zeroed is valid.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// While it lives, what asks this process to end arrives on [`Signals::fd`] instead of ending it.
pub(crate) struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals on this thread, but for those that are passed over: a blocked signal is
    /// never passed over. Children start with an empty mask.
    pub(crate) fn listen() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set before it is read; `before` is written by
        // `pthread_sigmask` before it is assumed to be initialised; the descriptor is fresh and owned.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let failed = libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
                return Err(error);
            }
            Ok(Self { fd: OwnedFd::from_raw_fd(fd), before: before.assume_init() })
        }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The number of a signal that arrived.
    pub(crate) fn take(&self) -> Option<i32> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let read = rustix::io::read(&self.fd, &mut info).ok()?;
        // The first field, `ssi_signo`, is a u32.
        let number = u32::from_ne_bytes(info.get(..4)?.try_into().ok()?);
        (read == info.len()).then(|| i32::try_from(number).ok()).flatten()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: `before` was filled in by `pthread_sigmask`.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut())
        };
    }
}

/// Process groups that are killed when a signal ends this process while nobody listens for it: 0 is a
/// free place.
static GROUPS: [AtomicI32; EXEC_SERVERS] = [const { AtomicI32::new(0) }; EXEC_SERVERS];

/// From here on the group ends with this process, also when a signal ends it while nobody listens. For
/// a process that is ours alone, since it sets handlers; where there is one, or the signal is passed
/// over, it stays so.
pub(super) fn end_with_us(group: i32) {
    static SET: Once = Once::new();
    SET.call_once(|| ENDING.into_iter().for_each(handle));
    for place in &GROUPS {
        if place.compare_exchange(0, group, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// The group is gone; its number may be another's from here on.
pub(super) fn forget_group(group: i32) {
    for place in &GROUPS {
        let _ = place.compare_exchange(group, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn handle(signal: i32) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroed is a valid action, and the old one is written to it; the one that is set differs
    // from a default one by a handler that does nothing but calls which are allowed in one.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        let mut action = action.assume_init();
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = end_groups as extern "C" fn(libc::c_int) as libc::sighandler_t;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Kills the groups, and then this process by the same signal. Takes no lock and no memory.
extern "C" fn end_groups(signal: libc::c_int) {
    for place in &GROUPS {
        let group = place.load(Ordering::Relaxed);
        if group > 0 {
            // SAFETY: a signal is sent to a group of ours; there are no pointers.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
    // SAFETY: both are allowed in a handler; what is raised comes when it returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// While the answer lives, what asks this process to end waits for a thread that listens, on this
/// thread and on those that it starts.
///
/// # Errors
/// What the system says.
pub(crate) fn hold_signals() -> io::Result<impl Sized> {
    Signals::listen()
}

/// A thread that goes on only as long as whoever keeps this knows that it does.
#[cfg(feature = "mcp")]
#[derive(Debug)]
pub(crate) struct ThisThread(libc::pid_t);

#[cfg(feature = "mcp")]
impl ThisThread {
    /// The thread that calls this.
    pub(crate) fn new() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get())
    }

    /// Asks it, and no other thread, to end what it does, as a signal to the whole process would. It has
    /// to hold signals, and to be there: its number may become another thread's.
    pub(crate) fn interrupt(self) {
        let heard = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
        let Some(signal) = heard.into_iter().find(|signal| !is_ignored(*signal)) else { return };
        // SAFETY: a signal is sent to a thread of this process alone; there are no pointers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.0, signal) };
    }
}

/// Sends `signal` to this process, for whichever thread listens for it.
pub(crate) fn send_on(signal: i32) {
    // SAFETY: a signal is sent to ourselves; there are no pointers.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Ends this process by `signal`, as the sender of it expects.
pub(crate) fn raise(signal: i32) {
    // SAFETY: raises a signal at ourselves; there are no pointers.
    unsafe { libc::raise(signal) };
}
