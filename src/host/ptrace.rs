//! The calls that look at another process while it runs, and no meaning of theirs.
//!
//! The second file with `unsafe`: `ptrace` and `waitid` have no safe wrapper. By the raw call, so
//! that each C library and each processor is served alike.
#![expect(unsafe_code, reason = "ptrace and waitid have no safe wrapper; each has its own note")]

use std::io;
use std::mem::MaybeUninit;

use libc::{c_int, c_long};

use super::kernel::wait;
use super::persistent::unswept;
use super::unix::vfork_clone;

const TRACEME: c_long = 0;
const SYSCALL: c_long = 24;
const SETOPTIONS: c_long = 0x4200;
const GETEVENTMSG: c_long = 0x4201;
const GET_SYSCALL_INFO: c_long = 0x420e;

/// Calls are told from other stops; children are looked at too, and end with us.
const OPTIONS: c_int = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x0010_0000;

/// An event of the next task that this thread traces.
pub(super) enum TaskEvent {
    /// The child itself ended; its status is left for the thread that waits for it.
    Over,
    Gone(i32),
    Stopped(i32, Stop),
}

/// Why a task stands still.
pub(super) enum Stop {
    /// Before or behind a system call.
    Call,
    /// It became another program.
    Exec,
    /// It has a new child or thread.
    Birth(i32),
    /// A signal is about to reach it.
    Signal(i32),
    Other,
}

/// One side of a system call.
pub(super) enum Side {
    Entry {
        number: i64,
        args: [u64; 6],
    },
    /// The result; below zero it is the number of an error.
    Exit(i64),
}

/// Asks to be traced by the parent, which a process that only computes may not.
#[cfg(all(feature = "code", debug_build))]
pub(crate) fn trace_me() -> io::Result<()> {
    ptrace(TRACEME, 0, 0, 0).map(drop)
}

/// The call, which may read no memory but what is named by its arguments.
fn ptrace(request: c_long, pid: i32, address: usize, data: usize) -> io::Result<c_long> {
    // SAFETY: the caller that passes an address here owns what lies there, and the kernel writes no
    // more than the request says.
    match unsafe { libc::syscall(libc::SYS_ptrace, request, pid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        got => Ok(got),
    }
}

/// From here on the thread that started this process hears of it. For a child that shares its
/// parent's memory: a system call and nothing else.
pub(super) fn be_watched() -> bool {
    // SAFETY: numbers only.
    unsafe { libc::syscall(libc::SYS_ptrace, TRACEME, 0, 0, 0) == 0 }
}

/// Checks that a child of ours may be traced: traces one that ends at once.
///
/// # Errors
/// An error of the system.
pub(crate) fn can_watch() -> io::Result<()> {
    extern "C" fn end(_: *mut libc::c_void) -> c_int {
        let status = c_int::from(!be_watched());
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) }
    }
    let _unswept = unswept();
    // SAFETY: the child says one thing and ends.
    let pid = unsafe { vfork_clone(end, std::ptr::null_mut(), 0)? };
    match wait(pid)? {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

/// The next that a task of this thread's did; `child` is the one that was started, whose status
/// stays for another thread. `None` when none is left.
pub(super) fn next(child: i32) -> Option<TaskEvent> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::__WNOTHREAD | libc::WNOWAIT;
    // SAFETY: zeroed is a valid value of it, and the kernel fills it in.
    let (got, pid, code) = unsafe {
        let got = libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags);
        let info = info.assume_init();
        (got, info.si_pid(), info.si_code)
    };
    if got < 0 {
        let again = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        return again.then_some(TaskEvent::Gone(0));
    }
    if pid == child && matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
        return Some(TaskEvent::Over);
    }
    let mut status = 0;
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    // SAFETY: `status` is valid for writes.
    let taken = unsafe { libc::waitpid(pid, &raw mut status, flags) };
    if taken != pid || !libc::WIFSTOPPED(status) {
        return Some(TaskEvent::Gone(pid));
    }
    Some(TaskEvent::Stopped(pid, stop(pid, status)))
}

fn stop(pid: i32, status: c_int) -> Stop {
    let event = status >> 16;
    match (event, libc::WSTOPSIG(status)) {
        (0, signal) if signal == libc::SIGTRAP | 0x80 => Stop::Call,
        (0, libc::SIGTRAP) => Stop::Other,
        (0, signal) => Stop::Signal(signal),
        (1..=3, _) => message(pid).map_or(Stop::Other, Stop::Birth),
        (4, _) => Stop::Exec,
        _ => Stop::Other,
    }
}

/// The task that was born.
fn message(pid: i32) -> Option<i32> {
    let mut message: libc::c_ulong = 0;
    ptrace(GETEVENTMSG, pid, 0, (&raw mut message).expose_provenance()).ok()?;
    i32::try_from(message).ok()
}

/// Sets the events to trace from here on, for a task that stands still for the first time.
pub(super) fn set_up(pid: i32) {
    let _ = ptrace(SETOPTIONS, pid, 0, OPTIONS.unsigned_abs() as usize);
}

/// Lets a task go on to its next stop, with `signal` or none. One that was killed meanwhile is
/// heard of by the next wait.
pub(super) fn go_on(pid: i32, signal: i32) {
    let _ =
        ptrace(SYSCALL, pid, 0, usize::try_from(signal).expect("a signal has a positive number"));
}

/// The call before or behind which a task stands.
pub(super) fn call(pid: i32) -> Option<Side> {
    // `struct ptrace_syscall_info`: what it is of, two pointers, then the number and the arguments
    // of an entry or the value of an exit.
    let mut info = [0_u64; 11];
    ptrace(GET_SYSCALL_INFO, pid, size_of_val(&info), info.as_mut_ptr().expose_provenance())
        .ok()?;
    match info[0].to_ne_bytes()[0] {
        1 => {
            let args = [info[4], info[5], info[6], info[7], info[8], info[9]];
            Some(Side::Entry { number: info[3].cast_signed(), args })
        }
        2 => Some(Side::Exit(info[3].cast_signed())),
        _ => None,
    }
}
