//! The level `landlock`: rules on files in the kernel, a filter of system calls for the network.
//!
//! Landlock has no rule that forbids: a right on a folder is a right on all that lies below it. So
//! a grant above a protected place is refused, or split into its parts if the item says that parts
//! are enough (`partial`).

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::split::split;
use crate::host::{
    CannotConfine, ChildSandbox, Confinement, KeptPath, Lacking, Net, Policy, SandboxLevel,
};

/// The newest version of the interface that this program uses.
const KNOWN: ABI = ABI::V6;

/// From this version on, abstract sockets and signals to other processes can be refused.
pub(super) const SCOPES: i64 = 6;
/// From this version on, `ioctl` on devices can be refused.
const DEVICES: i64 = 5;

/// Devices that every program may use.
pub(super) const DEVICES_OF_ALL: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The policy as this level can enforce it; `lacking` says why the stronger level does not work.
///
/// # Errors
/// `sandbox.cannot_protect`, `sandbox.cannot_limit`
pub(super) fn confine(
    policy: Policy,
    version: i64,
    lacking: &dyn Fn() -> Option<Lacking>,
) -> Result<Confinement, CannotConfine> {
    let mut missing = Vec::new();
    if matches!(policy.net, Net::Loopback | Net::Hosts) {
        let (level, net) = (SandboxLevel::Landlock, policy.net);
        return Err(CannotConfine::CannotLimit { level, net, lacking: lacking() });
    }
    let protect = |granted: &[PathBuf], out: &[&Path], is_partial: bool, verb: &'static str| {
        let mut narrowed = BTreeSet::new();
        let mut cut = Vec::new();
        for path in granted {
            let Some(kept) = out.iter().find(|out| out.starts_with(path)) else {
                narrowed.insert(path.clone());
                continue;
            };
            match split(path, out).filter(|_| is_partial) {
                Some(parts) => narrowed.extend(parts),
                None => {
                    return Err(CannotConfine::CannotProtect {
                        level: SandboxLevel::Landlock,
                        granted: path.clone(),
                        kept: kept.to_path_buf(),
                        verb,
                        lacking: lacking(),
                    });
                }
            }
            cut.push(format!("{verb} all of {}", path.display()));
        }
        Ok((narrowed.into_iter().collect::<Vec<_>>(), cut))
    };
    let hidden: Vec<&Path> = policy.hidden.iter().map(PathBuf::as_path).collect();
    // A grant of a folder above `/dev` is not meant to include terminals and disks.
    let devices = Path::new("/dev");
    let is_named = policy.read.iter().chain(&policy.write).any(|path| path == devices);
    let unread: Vec<&Path> = hidden.iter().copied().chain((!is_named).then_some(devices)).collect();
    // A write grant includes reading.
    let kept = policy.kept.iter().map(|KeptPath { path, .. }| path.as_path());
    let unwritten: Vec<&Path> = kept.chain(unread.iter().copied()).collect();
    // If the home lies below `/opt`, the keys lie there as well.
    let (base, _) = protect(&policy.base, &hidden, true, "read")?;
    let (read, cut_read) = protect(&policy.read, &unread, policy.partial_read, "read")?;
    let (write, cut_write) = protect(&policy.write, &unwritten, policy.partial_write, "write")?;
    missing.extend(cut_read);
    missing.extend(cut_write);
    for path in read.iter().filter(|path| holds_state(&policy, path)) {
        let state: Vec<&Path> = policy.state.iter().map(PathBuf::as_path).collect();
        if split(path, &state).is_none() {
            return Err(CannotConfine::CannotProtect {
                level: SandboxLevel::Landlock,
                granted: path.clone(),
                kept: policy.state[0].clone(),
                verb: "read",
                lacking: lacking(),
            });
        }
        // Its parts are those that are there when the run begins.
        missing.push(format!("new files of {}", path.display()));
    }
    // A tool can change the mode of any file that its user owns and that it can see.
    missing.push("file modes".to_owned());
    // A tool needs `/proc` for itself, and the rule for it shows all processes.
    missing.push("command lines".to_owned());
    // It is not granted: all programs of the user share the memory there.
    missing.push("/dev/shm".to_owned());
    if version < DEVICES {
        missing.push("devices".into());
    }
    if version < SCOPES {
        missing.extend(["abstract sockets".to_owned(), "signals".to_owned()]);
    }
    if policy.net == Net::Any {
        // Landlock rules on files do not apply to connecting a socket by its path.
        missing.push("unix sockets".into());
    }
    missing.extend(super::confined::uncounted(policy.caps));
    let policy = Policy { base, read, write, ..policy };
    Ok(Confinement { level: SandboxLevel::Landlock, policy, missing })
}

/// Returns true if a folder of rye's state lies in a grant.
fn holds_state(policy: &Policy, granted: &Path) -> bool {
    policy.state.iter().any(|state| state.starts_with(granted))
}

/// The rules of one run.
///
/// # Errors
/// An error of the kernel.
pub(super) fn ruleset(sandbox: &ChildSandbox) -> Result<Option<Arc<OwnedFd>>, String> {
    let policy = &sandbox.confinement.policy;
    build(policy, sandbox).map_err(|error| error.to_string()).map(|made| made.map(Arc::new))
}

/// A rule set without rules, which refuses everything.
fn empty() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))
}

/// The rights in a folder that may be written: all but creating device files.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

/// The rules of one run at the level `bwrap`, without those for the mounts that `bwrap` makes
/// itself. Kept places are protected by mounts. A mount disappears if a process outside replaces
/// the place under it, so hidden places get no rule either.
///
/// # Errors
/// An error of the kernel.
pub(super) fn inside(sandbox: &ChildSandbox) -> Result<Option<OwnedFd>, landlock::RulesetError> {
    let Policy { base, read, write, commits, hidden, .. } = &sandbox.confinement.policy;
    let hidden: Vec<&Path> = hidden.iter().map(PathBuf::as_path).collect();
    let mut ruleset = empty()?.create()?;
    let reading = AccessFs::from_read(KNOWN);
    for path in base.iter().chain(read) {
        let holds = hidden.iter().any(|hidden| hidden.starts_with(path));
        match holds.then(|| split(path, &hidden)).flatten() {
            Some(parts) => {
                for part in &parts {
                    ruleset = allow(ruleset, part, reading)?;
                }
            }
            None => ruleset = allow(ruleset, path, reading)?,
        }
    }
    if let Some(pin) = &sandbox.pin {
        ruleset = allow(ruleset, pin, reading)?;
    }
    // If a symbolic link lies where git writes a file, git follows it. Git itself makes no links
    // there, so a tool that commits may make none.
    let granted = if commits.is_some() { writing() & !AccessFs::MakeSym } else { writing() };
    for path in write {
        ruleset = allow(ruleset, path, granted)?;
    }
    for path in sandbox.tmp.iter().chain(&sandbox.new_items).chain(&sandbox.index) {
        ruleset = allow(ruleset, path, writing())?;
    }
    Ok(ruleset.into())
}

/// The rules for what is new in a tool's own root, at the level `bwrap`: an access word and a path.
pub(super) fn of_mounts(sandbox: &ChildSandbox) -> Vec<(&'static str, &'static str)> {
    // Not all of `/dev`, since a project or a home may lie in the memory there.
    let mut made = vec![("list", "/"), ("read", "/proc"), ("device", "/dev/tty")];
    made.extend(DEVICES_OF_ALL.map(|device| ("device", device)));
    made.push(("write", "/dev/pts"));
    if !sandbox.confinement.policy.names_below(Path::new(SHARED_MEMORY)) {
        made.push(("write", SHARED_MEMORY));
    }
    if sandbox.confinement.has_own_tmp() {
        made.push(("write", super::confined::OWN_TMP));
    }
    made
}

/// Where memory is mounted that the tool's own processes share.
const SHARED_MEMORY: &str = "/dev/shm";

/// The rights that an access word of [`of_mounts`] stands for, as bits of this version of the
/// kernel's interface. `None` for an unknown word.
pub(super) fn bits(word: &str, version: i64) -> Option<u64> {
    let known = AccessFs::from_all(match version {
        ..=2 => return None,
        3 | 4 => ABI::V3,
        _ => KNOWN,
    });
    let access = match word {
        "list" => BitFlags::from(AccessFs::ReadDir),
        "read" => AccessFs::from_read(KNOWN),
        "write" => writing(),
        "device" => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        _ => return None,
    };
    Some((access & known).bits())
}

fn build(
    policy: &Policy,
    sandbox: &ChildSandbox,
) -> Result<Option<OwnedFd>, landlock::RulesetError> {
    let mut ruleset = empty()?;
    if policy.net == Net::None {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut ruleset = ruleset.create()?;
    let read = AccessFs::from_read(KNOWN);
    let proc = Path::new("/proc");
    let state: Vec<&Path> = policy.state.iter().map(PathBuf::as_path).collect();
    let readable = policy.base.iter().chain(&policy.read).chain(&sandbox.pin);
    for path in readable.map(PathBuf::as_path).chain([proc]) {
        if !holds_state(policy, path) {
            ruleset = allow(ruleset, path, read)?;
            continue;
        }
        // Names are no secret there, and a tool lists the folder that it works in.
        ruleset = allow(ruleset, path, AccessFs::ReadDir.into())?;
        for part in split(path, &state).unwrap_or_default() {
            ruleset = allow(ruleset, &part, read)?;
        }
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    for path in DEVICES_OF_ALL {
        ruleset = allow(ruleset, Path::new(path), device)?;
    }
    for path in
        policy.write.iter().chain(&sandbox.tmp).chain(&sandbox.new_items).chain(&sandbox.index)
    {
        ruleset = allow(ruleset, path, writing())?;
    }
    Ok(ruleset.into())
}

/// Adds one rule. A path that no longer exists adds nothing.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(ruleset) };
    // Of a file only what there is of files is added: by best effort.
    ruleset.add_rule(PathBeneath::new(place, access))
}

/// A rule set without rules on files: it refuses abstract sockets and signals to processes outside.
///
/// # Errors
/// An error of the kernel.
pub(super) fn scopes() -> Result<Option<Arc<OwnedFd>>, String> {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(KNOWN))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    let made: Option<OwnedFd> = made.into();
    Ok(made.map(Arc::new))
}

/// A rule set that grants nothing at all: no file, no port, no process outside; `None` if the
/// kernel has no landlock.
///
/// # Errors
/// An error of the kernel.
#[cfg(feature = "code")]
pub(super) fn nothing() -> Result<Option<OwnedFd>, String> {
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(KNOWN)))
        .and_then(|rules| rules.scope(Scope::from_all(KNOWN)))
        .and_then(Ruleset::create)
        .map_err(|error| error.to_string())?;
    Ok(made.into())
}
