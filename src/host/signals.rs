//! Signals that ask this process, or one of its threads, to end.
//!
//! `signalfd` and the signal mask (so that one poll loop hears children, pipes and signals), a
//! handler that kills our children's groups, and `raise`.
#![expect(unsafe_code, reason = "libc calls without a safe wrapper; each has its own note")]

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::os::signal_below;
use crate::base::limits::EXEC_SERVERS;

/// The signals that ask a process to end, the most frequent first.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Returns true if this process ignores the signal, as below `nohup`.
fn is_ignored(signal: i32) -> bool {
    disposition(signal) == libc::SIG_IGN
}

fn disposition(signal: i32) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set; the old action is written to `action`, for which zeroed is valid.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction
}

/// The signal by which one thread of this process is asked to end its work. No other sender uses
/// it, and it does nothing to a thread that does not listen.
const INTERRUPT: i32 = libc::SIGURG;

thread_local! {
    /// This thread hears what is sent to it alone.
    static IS_OF_A_POOL: Cell<bool> = const { Cell::new(false) };
}

/// From here on this thread hears no signal to the whole process, only when it is interrupted: the
/// thread that waits for it hears the others, and interrupts all threads of the pool together.
pub(crate) fn hear_interrupts_alone() {
    IS_OF_A_POOL.set(true);
}

/// While it exists, signals that ask this process or this thread to end arrive on [`Signals::fd`]
/// and do not end it. One that asks the process to stop (Ctrl-Z) stops all below it too.
pub(crate) struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
    /// For so long this process was stopped before, in milliseconds.
    stopped_before: u64,
}

/// The time that this process was stopped while it listened for signals, in milliseconds.
static STOPPED_MS: AtomicU64 = AtomicU64::new(0);

impl Signals {
    /// Blocks the signals on this thread. Ignored ones are left out: a blocked signal arrives even
    /// if it is ignored. Children start with an empty mask.
    pub(crate) fn listen() -> io::Result<Self> {
        let mut heard = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set before it is read; `before` is written by
        // `pthread_sigmask` before it is assumed to be initialised; the descriptor is fresh and
        // owned.
        unsafe {
            libc::sigemptyset(heard.as_mut_ptr());
            libc::sigaddset(heard.as_mut_ptr(), INTERRUPT);
            let mut blocked = heard;
            for signal in ENDING.into_iter().filter(|signal| !is_ignored(*signal)) {
                libc::sigaddset(blocked.as_mut_ptr(), signal);
            }
            if disposition(libc::SIGTSTP) == libc::SIG_DFL {
                libc::sigaddset(blocked.as_mut_ptr(), libc::SIGTSTP);
            }
            if !IS_OF_A_POOL.get() {
                heard = blocked;
            }
            let (how, new) = (libc::SIG_BLOCK, blocked.as_ptr());
            let failed = libc::pthread_sigmask(how, new, before.as_mut_ptr());
            if failed != 0 {
                return Err(io::Error::from_raw_os_error(failed));
            }
            let fd = libc::signalfd(-1, heard.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
                return Err(error);
            }
            let (fd, before) = (OwnedFd::from_raw_fd(fd), before.assume_init());
            Ok(Self { fd, before, stopped_before: STOPPED_MS.load(Ordering::Relaxed) })
        }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// For so long this process was stopped while it listened.
    pub(crate) fn stopped(&self) -> Duration {
        let all = STOPPED_MS.load(Ordering::Relaxed);
        Duration::from_millis(all.saturating_sub(self.stopped_before))
    }

    /// Says if a signal to end has arrived, which [`Signals::take`] gives.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is written by `sigpending`, and read alone.
        let asks = unsafe {
            libc::sigpending(pending.as_mut_ptr());
            let asked = ENDING.into_iter().chain([INTERRUPT]);
            asked.into_iter().any(|signal| libc::sigismember(pending.as_ptr(), signal) == 1)
        };
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        asks && poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Stops the processes below this one, then this one, until `SIGCONT`.
    fn stop() {
        let begin = Instant::now();
        signal_below(Signal::STOP);
        let mut stops = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is filled in before it is read. The kernel does not stop a
        // process that no shell could continue.
        unsafe {
            libc::sigemptyset(stops.as_mut_ptr());
            libc::sigaddset(stops.as_mut_ptr(), libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, stops.as_ptr(), std::ptr::null_mut());
            libc::raise(libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_BLOCK, stops.as_ptr(), std::ptr::null_mut());
        }
        signal_below(Signal::CONT);
        let time = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        STOPPED_MS.fetch_add(time, Ordering::Relaxed);
    }

    /// The number of a signal that arrived; of an interrupt, that of one that asks to end.
    pub(crate) fn take(&self) -> Option<i32> {
        let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let read = rustix::io::read(&self.fd, &mut info).ok()?;
        // The first field, `ssi_signo`, is a u32.
        let number = u32::from_ne_bytes(info.get(..4)?.try_into().ok()?);
        let number = (read == info.len()).then(|| i32::try_from(number).ok()).flatten()?;
        let asks = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT];
        if number == libc::SIGTSTP {
            Self::stop();
            return self.take();
        }
        Some(match number {
            INTERRUPT => {
                asks.into_iter().find(|signal| !is_ignored(*signal)).unwrap_or(libc::SIGTERM)
            }
            number => number,
        })
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

/// Blocks all signals on this thread, so that other threads of the process get them.
pub(super) fn block_all_signals() {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is filled in before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Process groups to kill if a signal ends this process while no [`Signals`] listens. 0 is a free
/// place.
static GROUPS: [AtomicI32; EXEC_SERVERS] = [const { AtomicI32::new(0) }; EXEC_SERVERS];

/// From here on the group is killed if a signal ends this process while no [`Signals`] listens.
/// This sets signal handlers, so it is only for a process that serves rye alone. A handler that is
/// there stays, and an ignored signal stays ignored.
pub(super) fn kill_group_on_signal(group: i32) {
    static SET: Once = Once::new();
    SET.call_once(|| ENDING.into_iter().for_each(handle));
    for place in &GROUPS {
        if place.compare_exchange(0, group, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// The group has ended; its number may be reused by another one.
pub(super) fn forget_group(group: i32) {
    for place in &GROUPS {
        let _ = place.compare_exchange(group, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn handle(signal: i32) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroed is a valid action, and the old one is written to it; the one that is set
    // differs from a default one by a handler that does nothing but calls which are allowed in one.
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

/// While the result exists, signals that ask this process to end stay pending for a thread that
/// listens. Applies to this thread and to those that it starts.
///
/// # Errors
/// An error of the system.
pub(crate) fn hold_signals() -> io::Result<impl Sized> {
    Signals::listen()
}

/// A thread that can be interrupted. The owner of this value makes sure that the thread still runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThisThread(libc::pid_t);

impl ThisThread {
    /// The thread that calls this.
    pub(crate) fn new() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get())
    }

    /// Asks this thread alone to end its work. The thread must block signals and must still run,
    /// because its number may be reused.
    pub(crate) fn interrupt(self) {
        // SAFETY: a signal is sent to a thread of this process alone; there are no pointers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.0, INTERRUPT) };
    }
}

/// Sends `signal` to this process; a thread that listens gets it.
pub(crate) fn send_on(signal: i32) {
    // SAFETY: a signal is sent to ourselves; there are no pointers.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Lets whatever this thread waits for next hear `signal`, which it has heard.
pub(crate) fn hear_again(signal: i32) {
    if IS_OF_A_POOL.get() { ThisThread::new().interrupt() } else { raise(signal) }
}

/// Raises `signal` in this process, which ends it as the sender expects.
pub(crate) fn raise(signal: i32) {
    // SAFETY: raises a signal at ourselves; there are no pointers.
    unsafe { libc::raise(signal) };
}
