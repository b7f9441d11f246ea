//! Runs a program and looks at each of its system calls that changes the file system; one of them
//! can be made the program's last, or made to fail.
//!
//! By `ptrace`, so that the real binary is tried, threads included, and no step can be forgotten.
//! Calls of the programs that it starts are let through.
#![expect(unsafe_code, reason = "ptrace and waitpid have no safe wrapper; each call has its note")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use libc::{c_int, c_long, pid_t};

use super::calls::{Call, Shape, shape};

/// What befalls the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Just before the call somebody puts a link to the file `victim` where it would make a file.
    LinkPlanted,
    /// The process is killed before the call has any effect.
    KilledBefore,
    /// The process is killed when the call is done.
    KilledAfter,
    /// The call fails, this once.
    Fails(i32),
    /// This call and every later one fails that asks for space.
    Full,
    /// This call and every later one fails.
    ReadOnly,
}

/// What came of a traced run.
#[derive(Debug)]
pub struct Traced {
    /// `None` if a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Every call that changes the file system, in order, up to the end.
    pub calls: Vec<Call>,
    /// The call that the fault met.
    pub hit: Option<Call>,
}

/// Runs the program to its end; `fault` meets its call number `at`, the first being 0. Only calls
/// that touch something below `within` count.
///
/// Fails the test where `ptrace` is not allowed: what it looks at would not be tried.
pub fn trace(command: &mut Command, within: &Path, fault: Option<(usize, Fault)>) -> Traced {
    let within = within.canonicalize().expect("a folder");
    let counts = |moment: &Moment<'_>| moment.of_rye && moment.call.path.starts_with(&within);
    trace_moments(command, &counts, &within, fault)
}

/// The same, killed at a step: before the first call, behind it, before the second one, and so on.
pub fn trace_killed(command: &mut Command, within: &Path, step: usize) -> Traced {
    let fault = if step.is_multiple_of(2) { Fault::KilledBefore } else { Fault::KilledAfter };
    trace(command, within, Some((step / 2, fault)))
}

/// One call of the program or, if it is not `of_rye`, of one that it started.
pub struct Moment<'a> {
    pub of_rye: bool,
    pub call: &'a Call,
    /// Where bytes are written, the first of them.
    #[cfg_attr(
        not(all(feature = "code", feature = "mcp")),
        expect(dead_code, reason = "only steps of snippets are told by what is written")
    )]
    pub begin: &'a dyn Fn() -> Vec<u8>,
}

/// The same where the moments that count are chosen.
pub fn trace_moments(
    command: &mut Command,
    counts: &dyn Fn(&Moment<'_>) -> bool,
    within: &Path,
    fault: Option<(usize, Fault)>,
) -> Traced {
    let said = tempfile::tempdir().expect("a temporary folder");
    let into = |name: &str| File::create(said.path().join(name)).expect("a file");
    command.stdin(Stdio::null()).stdout(into("out")).stderr(into("err"));
    // SAFETY: the closure only makes a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    #[expect(clippy::zombie_processes, reason = "waited for by `Run::until_it_ends`")]
    let child = command.spawn().unwrap_or_else(|error| {
        panic!(
            "`ptrace` does not work here ({error}), and the fault tests need it; in a container, \
             allow it with `--cap-add=SYS_PTRACE`"
        )
    });
    let leader = pid_t::try_from(child.id()).expect("a process id");
    let over = watch(leader);
    let (calls, inject) = (Vec::new(), Vec::new());
    let mut run = Run { leader, counts, within, fault, calls, hit: None, inject };
    let status = run.until_it_ends();
    drop(over);
    let read = |name: &str| {
        String::from_utf8_lossy(&fs::read(said.path().join(name)).expect("a file")).into_owned()
    };
    let (stdout, stderr) = (read("out"), read("err"));
    Traced { status, stdout, stderr, calls: run.calls, hit: run.hit }
}

/// Kills a program that does not end, so that a test fails and does not hang.
fn watch(leader: pid_t) -> mpsc::Sender<()> {
    let (over, ended) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(Duration::from_mins(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            kill(leader);
        }
    });
    over
}

struct Run<'a> {
    leader: pid_t,
    counts: &'a dyn Fn(&Moment<'_>) -> bool,
    within: &'a Path,
    fault: Option<(usize, Fault)>,
    calls: Vec<Call>,
    hit: Option<Call>,
    /// Tasks whose call was taken away and gets this error at its exit, or is killed there.
    inject: Vec<(pid_t, Option<i32>)>,
}

impl Run<'_> {
    fn until_it_ends(&mut self) -> Option<i32> {
        let mut ended = None;
        let mut known = BTreeSet::new();
        while let Some((pid, status)) = wait() {
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                if pid == self.leader {
                    ended = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
                }
                continue;
            }
            let signal = libc::WSTOPSIG(status);
            let fresh = known.insert(pid);
            if fresh && pid == self.leader {
                let options = libc::PTRACE_O_TRACESYSGOOD
                    | libc::PTRACE_O_TRACECLONE
                    | libc::PTRACE_O_TRACEFORK
                    | libc::PTRACE_O_TRACEVFORK
                    | libc::PTRACE_O_TRACEEXEC
                    | libc::PTRACE_O_EXITKILL;
                request(libc::PTRACE_SETOPTIONS, pid, 0, options.into()).expect("trace options");
            }
            let is_event = status >> 16 != 0;
            let passed_on = match signal {
                stop if stop == libc::SIGTRAP | 0x80 => {
                    self.at_call(pid);
                    0
                }
                libc::SIGTRAP => 0,
                // A new task begins with a stop that nobody sent.
                libc::SIGSTOP if fresh => 0,
                _ if is_event => 0,
                other => other,
            };
            // A task that was killed meanwhile is heard of by the next wait.
            let _ = request(libc::PTRACE_SYSCALL, pid, 0, passed_on.into());
        }
        ended
    }

    /// Before or behind a system call of one task.
    fn at_call(&mut self, pid: pid_t) {
        let Some(info) = Info::of(pid) else { return };
        match info {
            Info::Entry { number, args } => {
                let of_rye = Path::new(&format!("/proc/{}/task/{pid}", self.leader)).exists();
                let Some(shape) = shape(number) else { return };
                let memory = |at: u64| text(pid, at);
                let Some(call) = Call::of(pid, shape, args, &memory) else { return };
                let begin = || bytes(pid, args[1], args[2]);
                if !(self.counts)(&Moment { of_rye, call: &call, begin: &begin }) {
                    return;
                }
                let index = self.calls.len();
                self.calls.push(call.clone());
                self.meet(pid, index, &call, shape);
            }
            Info::Exit => {
                let Some(at) = self.inject.iter().position(|(task, _)| *task == pid) else {
                    return;
                };
                match self.inject.remove(at).1 {
                    Some(errno) => set_result(pid, -i64::from(errno)),
                    None => kill(self.leader),
                }
            }
        }
    }

    fn meet(&mut self, pid: pid_t, index: usize, call: &Call, shape: &Shape) {
        let Some((at, fault)) = self.fault else { return };
        let is_it = index == at;
        let since = index >= at;
        let errno = match fault {
            Fault::LinkPlanted if is_it => {
                let planted = std::os::unix::fs::symlink(self.within.join("victim"), &call.path);
                match planted {
                    Ok(()) => self.hit = Some(call.clone()),
                    // Without a folder nobody plants anything.
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound, "{call:?}"),
                }
                return;
            }
            Fault::KilledBefore if is_it => {
                kill(self.leader);
                self.hit = Some(call.clone());
                return;
            }
            Fault::KilledAfter if is_it => {
                self.inject.push((pid, None));
                self.hit = Some(call.clone());
                return;
            }
            Fault::Fails(errno) if is_it => errno,
            Fault::Full if since && (shape.needs_space)(call) => libc::ENOSPC,
            Fault::ReadOnly if since => libc::EROFS,
            _ => return,
        };
        if self.hit.is_none() {
            self.hit = Some(call.clone());
        }
        take_away(pid);
        self.inject.push((pid, Some(errno)));
    }
}

enum Info {
    Entry { number: u64, args: [u64; 6] },
    Exit,
}

impl Info {
    fn of(pid: pid_t) -> Option<Self> {
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: all zeroes is a valid value of this plain structure of numbers.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes at most `size` bytes into `info`, which is that large.
        let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &raw mut info) };
        if got <= 0 {
            return None;
        }
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: `op` says which field the kernel filled in.
                let entry = unsafe { info.u.entry };
                Some(Self::Entry { number: entry.nr, args: entry.args })
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => Some(Self::Exit),
            _ => None,
        }
    }
}

/// The next task of this thread's that stopped or ended; `None` when all have ended.
fn wait() -> Option<(pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writes. Only children of this thread are waited for, so
        // that tests on other threads keep theirs.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if pid > 0 {
            return Some((pid, status));
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            _ => return None,
        }
    }
}

fn kill(leader: pid_t) {
    // SAFETY: no pointers. The process is our own child and not waited for yet.
    unsafe { libc::kill(leader, libc::SIGKILL) };
}

fn request(what: libc::c_uint, pid: pid_t, address: usize, data: c_long) -> io::Result<c_long> {
    // SAFETY: used with requests alone that take numbers, and read and write no memory of ours.
    match unsafe { libc::ptrace(what, pid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        got => Ok(got),
    }
}

/// The text that ends with a NUL at an address of the task's memory.
fn text(pid: pid_t, at: u64) -> Option<Vec<u8>> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = Vec::new();
    for index in 0..4096 {
        let mut byte = [0];
        memory.read_exact_at(&mut byte, at + index).ok()?;
        if byte == [0] {
            return Some(bytes);
        }
        bytes.extend(byte);
    }
    None
}

/// The first bytes of so many at an address of the task's memory.
fn bytes(pid: pid_t, at: u64, length: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(length.min(64)).expect("a small number")];
    let read = File::open(format!("/proc/{pid}/mem"))
        .and_then(|memory| memory.read_exact_at(&mut bytes, at));
    read.map_or(Vec::new(), |()| bytes)
}

/// The call is none: its number is one that no call has.
#[cfg(target_arch = "x86_64")]
fn take_away(pid: pid_t) {
    let at = std::mem::offset_of!(libc::user_regs_struct, orig_rax);
    request(libc::PTRACE_POKEUSER, pid, at, -1).expect("a call's number");
}

#[cfg(target_arch = "x86_64")]
fn set_result(pid: pid_t, value: i64) {
    let at = std::mem::offset_of!(libc::user_regs_struct, rax);
    request(libc::PTRACE_POKEUSER, pid, at, value).expect("a call's result");
}

#[cfg(target_arch = "aarch64")]
fn take_away(pid: pid_t) {
    const NT_ARM_SYSTEM_CALL: usize = 0x404;
    let mut number: c_int = -1;
    let mut part = libc::iovec { iov_base: (&raw mut number).cast(), iov_len: size_of::<c_int>() };
    // SAFETY: `part` names `number`, which lives until the call returns.
    let done =
        unsafe { libc::ptrace(libc::PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &raw mut part) };
    assert_eq!(done, 0, "a call's number");
}

#[cfg(target_arch = "aarch64")]
fn set_result(pid: pid_t, value: i64) {
    let set = usize::try_from(libc::NT_PRSTATUS).expect("a register set");
    // SAFETY: all zeroes is a valid value of this plain structure of numbers.
    let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::user_regs_struct>();
    let mut part = libc::iovec { iov_base: (&raw mut regs).cast(), iov_len: size };
    // SAFETY: `part` names `regs`, which is large enough and lives until both calls returned.
    let done = unsafe {
        let read = libc::ptrace(libc::PTRACE_GETREGSET, pid, set, &raw mut part);
        regs.regs[0] = value.cast_unsigned();
        read | libc::ptrace(libc::PTRACE_SETREGSET, pid, set, &raw mut part)
    };
    assert_eq!(done, 0, "a call's result");
}
