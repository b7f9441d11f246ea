//! The few calls that no safe library offers.
//!
//! The one file with `unsafe`: `wait4` (peak memory of one child), `signalfd` and the signal mask
//! (so that one poll loop hears children, pipes and signals), and `raise`.
#![expect(unsafe_code, reason = "four libc calls without a safe wrapper; each has its own note")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::base::limits::REAP_MS;

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

/// While it lives, SIGINT, SIGTERM and SIGHUP arrive on [`Signals::fd`] instead of ending the process.
pub(super) struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the three signals on this thread. Children do not inherit the mask: the standard
    /// library's spawn clears it.
    pub(super) fn listen() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigemptyset` initialises the set before it is read; `before` is written by
        // `pthread_sigmask` before it is assumed to be initialised; the descriptor is fresh and owned.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
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

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The number of a signal that arrived.
    pub(super) fn take(&self) -> Option<i32> {
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

/// Ends this process by `signal`, as the sender of it expects.
pub(crate) fn raise(signal: i32) {
    // SAFETY: raises a signal at ourselves; there are no pointers.
    unsafe { libc::raise(signal) };
}
