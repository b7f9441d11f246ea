//! The last step into the level `bwrap`: rye itself, started inside in the tool's place, takes the
//! rules on files upon itself and becomes the tool.
//!
//! Whoever is held to such rules mounts nothing, so they cannot be in force before `bwrap` is done.
//! The rule set is made outside, where what may be used is known, and handed down; only what
//! `bwrap` itself makes is added here. Whoever calls this entry by hand gives up rights and gets
//! none.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};

use super::{landlock, seccomp};
use crate::host::{
    Cell, Net, Policy, Restrict, filter_calls, handed_down, landlock_allow, landlock_enter,
    landlock_version,
};

/// The first argument of rye when it is started inside.
const ENTRY: &str = "--inside-sandbox";

/// An argument of the entry: there is no network, and so no socket.
const NO_SOCKETS: &str = "no-sockets";

/// Which descriptor is which, inside.
const RULESET: i32 = 3;
const PROGRAM: i32 = 4;

/// This program is rye, whose [`enter`] answers the entry.
static IS_RYE: AtomicBool = AtomicBool::new(false);

/// The answer to a command line that is the entry; `None` for any other. The first call of a
/// program that is rye.
pub(crate) fn enter(argv: &[OsString]) -> Option<ExitCode> {
    IS_RYE.store(true, Ordering::Relaxed);
    let args = argv.get(1..).filter(|args| args.first().is_some_and(|first| first == ENTRY))?;
    let error = become_tool(&args[1..]);
    // As `bwrap` says it: whoever started us knows by that word that no tool ran.
    let _ = writeln!(io::stderr(), "bwrap: {error}");
    Some(ExitCode::from(1))
}

/// Whether a child of this policy is held by rules on files too. What is only watched is granted
/// nearly all, and its rules would be seen as its own doing.
pub(super) fn holds(policy: &Policy) -> bool {
    let has_landlock = || super::probe::found().landlock.is_ok();
    IS_RYE.load(Ordering::Relaxed) && !policy.own_tmp && has_landlock()
}

/// The descriptors that are handed down, and the program and arguments that take them.
///
/// # Errors
/// What the kernel says.
pub(super) fn program(cell: &Cell) -> io::Result<(Vec<Arc<OwnedFd>>, Vec<OsString>)> {
    let ruleset = landlock::inside(cell).map_err(io::Error::other)?;
    let ruleset = ruleset.ok_or_else(|| io::Error::other("the kernel made no rules"))?;
    let program = open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let passed = [ruleset, program]
        .map(|fd| rustix::io::fcntl_dupfd_cloexec(fd.as_fd(), Restrict::HANDED_DOWN).map(Arc::new));
    let passed = passed.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut args: Vec<OsString> = vec![format!("/proc/self/fd/{PROGRAM}").into(), ENTRY.into()];
    // `bwrap` makes these itself.
    let mut made = vec![("list", "/"), ("read", "/proc"), ("write", "/dev")];
    if cell.confinement.has_own_tmp() {
        made.push(("write", super::confined::OWN_TMP));
    }
    args.extend(made.into_iter().flat_map(|(access, path)| [access.into(), path.into()]));
    if cell.confinement.policy.net == Net::None {
        args.push(NO_SOCKETS.into());
    }
    Ok((passed, args))
}

/// Gives up what the rules do not let it have, and becomes the program behind `--`.
fn become_tool(args: &[OsString]) -> io::Error {
    match held(args) {
        Ok(mut tool) => {
            let program = tool.get_program().display().to_string();
            io::Error::other(format!("execvp {program}: {}", tool.exec()))
        }
        Err(error) => io::Error::other(format!("the rules on files: {error}")),
    }
}

fn held(args: &[OsString]) -> io::Result<Command> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidInput);
    let ruleset = handed_down(RULESET)?;
    // Nobody below uses it.
    drop(handed_down(PROGRAM)?);
    let version = landlock_version()?;
    let mut env = Vec::new();
    let mut has_sockets = true;
    let mut args = args.iter();
    loop {
        let word = args.next().and_then(|word| word.to_str()).ok_or_else(malformed)?;
        let mut next = || args.next().ok_or_else(malformed);
        match word {
            "--" => break,
            NO_SOCKETS => has_sockets = false,
            "set" => env.push((next()?, next()?)),
            _ => {
                let access = landlock::bits(word, version).ok_or_else(malformed)?;
                landlock_allow(&ruleset, Path::new(next()?), access)?;
            }
        }
    }
    landlock_enter(&ruleset)?;
    if !has_sockets {
        filter_calls(&seccomp::without_sockets().map_err(io::Error::other)?)?;
    }
    let mut tool = Command::new(args.next().ok_or_else(malformed)?);
    tool.args(args).envs(env);
    Ok(tool)
}

/// An argument of the entry: a variable that the tool has and what holds it has not.
pub(super) fn set(name: &OsStr, value: OsString) -> [OsString; 3] {
    ["set".into(), name.into(), value]
}
