//! The last step into the level `bwrap` where that program makes it: `bwrap` starts rye in the
//! tool's place, and rye restricts itself by landlock and then executes the tool.
//!
//! A process that is restricted by landlock cannot mount, so the rules cannot be in force before
//! `bwrap` is done. The rule set is made outside, where the policy is known, and passed as a
//! descriptor; rules for what `bwrap` itself mounts are added here.
//!
//! Where the tool may reach hosts, this step is also the only one that runs in the tool's own
//! network and knows rye: it listens there, and hands the listeners out to rye's proxy.
//! Calling this entry by hand only takes rights away, so it needs no protection.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};

use super::{landlock, listeners, seccomp};
use crate::host::{
    ChildSandbox, HandsOut, Net, Policy, Restrict, filter_calls, handed_down, landlock_allow,
    landlock_enter, landlock_version,
};

/// The first argument of rye when it is started inside.
const ENTRY: &str = "--inside-sandbox";

/// An argument of the entry: the tool has no network, so it may open no socket.
const NO_SOCKETS: &str = "no-sockets";

/// An argument of the entry: the tool's network is rye's proxy, so it may open no unix socket. The
/// number of the socket by which the listeners are handed out and how many there are follow.
const LISTEN: &str = "listen";

/// An argument of the entry: sockets that call are handed out, as those that listen.
const CALL: &str = "call";

/// An argument of the entry: the number of the rule set follows.
const RULES: &str = "rules";

/// The number of the first passed descriptor, this program.
const PROGRAM: i32 = 3;

/// This program is rye, so that [`enter`] handles the entry. A test program is not.
static IS_RYE: AtomicBool = AtomicBool::new(false);

/// Handles the command line of the entry; `None` for any other command line. rye must call this
/// before anything else.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    IS_RYE.store(true, Ordering::Relaxed);
    let args = argv.get(1..).filter(|args| args.first().is_some_and(|first| first == ENTRY))?;
    let error = become_tool(&args[1..]);
    // In the form of an error of `bwrap`, by which the caller knows that the tool did not run.
    let _ = writeln!(io::stderr(), "bwrap: {error}");
    Some(ExitCode::from(1))
}

/// Returns true if rye can be started in the tool's place. Not for a watched run: it is granted
/// nearly everything, and the system calls of this entry would be recorded as the tool's own.
pub(super) fn can_enter(policy: &Policy) -> bool {
    IS_RYE.load(Ordering::Relaxed) && !policy.own_tmp
}

/// Returns true if landlock rules are in force inside as well.
pub(super) fn holds(policy: &Policy) -> bool {
    can_enter(policy) && super::probe::found().landlock.is_ok()
}

/// The descriptors to pass, and the program and arguments that use them. `hands_out` are sockets of
/// the tool's network.
///
/// # Errors
/// An error of the kernel.
pub(super) fn program(
    sandbox: &ChildSandbox,
    hands_out: &[HandsOut],
) -> io::Result<(Vec<Arc<OwnedFd>>, Vec<OsString>)> {
    let program = open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut passed = vec![program];
    let mut args: Vec<OsString> = vec![format!("/proc/self/fd/{PROGRAM}").into(), ENTRY.into()];
    let mut pass = |fd: OwnedFd| {
        passed.push(fd);
        OsString::from((passed.len() + 2).to_string())
    };
    for HandsOut { over, first_port, count } in hands_out {
        let word = if first_port.is_some() { LISTEN } else { CALL };
        args.extend([word.into(), pass(over.try_clone()?), count.to_string().into()]);
    }
    if holds(&sandbox.confinement.policy) {
        let ruleset = landlock::inside(sandbox).map_err(io::Error::other)?;
        let ruleset = ruleset.ok_or_else(|| io::Error::other("the kernel made no rules"))?;
        args.extend([RULES.into(), pass(ruleset)]);
        let made = landlock::of_mounts(sandbox).into_iter();
        args.extend(made.flat_map(|(access, path)| [access.into(), path.into()]));
    }
    if sandbox.confinement.policy.net == Net::None {
        args.push(NO_SOCKETS.into());
    }
    let beyond = |fd: OwnedFd| {
        rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), Restrict::HANDED_DOWN).map(Arc::new)
    };
    let passed = passed.into_iter().map(beyond).collect::<Result<Vec<_>, _>>()?;
    Ok((passed, args))
}

/// Restricts this process and executes the program behind `--`. Returns only if that fails.
fn become_tool(args: &[OsString]) -> io::Error {
    match held(args) {
        Ok(mut tool) => {
            let program = tool.get_program().display().to_string();
            io::Error::other(format!("execvp {program}: {}", tool.exec()))
        }
        Err(error) => io::Error::other(format!("the last step into the sandbox: {error}")),
    }
}

fn held(args: &[OsString]) -> io::Result<Command> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidInput);
    // It was only needed to start this program.
    drop(handed_down(PROGRAM)?);
    let mut ruleset = None;
    let mut env = Vec::new();
    let mut filter = Vec::new();
    let mut args = args.iter();
    loop {
        let word = args.next().and_then(|word| word.to_str()).ok_or_else(malformed)?;
        let mut next = || args.next().ok_or_else(malformed);
        match word {
            "--" => break,
            NO_SOCKETS => filter = seccomp::without_sockets().map_err(io::Error::other)?,
            "set" => env.push((next()?, next()?)),
            LISTEN => {
                let socket = handed_down(number(next()?).ok_or_else(malformed)?)?;
                listeners::hand_out(&socket, number(next()?).ok_or_else(malformed)?)?;
                filter = seccomp::without_unix_sockets().map_err(io::Error::other)?;
            }
            CALL => {
                let socket = handed_down(number(next()?).ok_or_else(malformed)?)?;
                listeners::hand_out_callers(&socket, number(next()?).ok_or_else(malformed)?)?;
            }
            RULES => ruleset = Some(handed_down(number(next()?).ok_or_else(malformed)?)?),
            _ => {
                let access = landlock::bits(word, landlock_version()?).ok_or_else(malformed)?;
                let ruleset = ruleset.as_ref().ok_or_else(malformed)?;
                landlock_allow(ruleset, Path::new(next()?), access)?;
            }
        }
    }
    if let Some(ruleset) = ruleset {
        landlock_enter(&ruleset)?;
    }
    if !filter.is_empty() {
        filter_calls(&filter)?;
    }
    let mut tool = Command::new(args.next().ok_or_else(malformed)?);
    tool.args(args).envs(env);
    Ok(tool)
}

fn number<T: std::str::FromStr>(word: &OsStr) -> Option<T> {
    word.to_str()?.parse().ok()
}

/// Arguments of the entry that set a variable for the tool alone.
pub(super) fn set(name: &OsStr, value: OsString) -> [OsString; 3] {
    ["set".into(), name.into(), value]
}
