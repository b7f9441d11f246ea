//! The level `bwrap`: the tool gets its own namespaces, and a file system that holds only its
//! grants.
//!
//! Mounts are made from the outside in, so that a deeper grant or kept place wins over an outer
//! one. A kept place inside a grant is mounted over itself, read only. The folders between the two
//! are mounted as well, because a mount point cannot be moved away. A kept place that does not
//! exist is created first, see `mount_points.rs`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::confined::{OWN_TMP, uncounted};
use super::inside;
use super::landlock::SCOPES;
use super::mount_points::MountPoints;
use crate::host::{CannotConfine, ChildSandbox, Confinement, KeptPath, Net, Policy, SandboxLevel};

/// The policy as this level enforces it. `rules` says whether landlock rules are in force inside as
/// well; `landlock` is the version of that interface, where the kernel has one.
///
/// # Errors
/// `sandbox.cannot_protect`: a kept place is a symbolic link or lies behind one, and nothing can be
/// mounted over a link. `sandbox.cannot_limit`: there is no step inside that could listen for rye's
/// proxy.
pub(super) fn confine(
    policy: Policy,
    rules: bool,
    landlock: Option<i64>,
) -> Result<Confinement, CannotConfine> {
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_symlink());
    for kept in &policy.kept {
        let Some(granted) = holding(kept, &policy) else { continue };
        if up_to(granted, &kept.path).any(is_link) {
            return Err(CannotConfine::CannotProtect {
                level: SandboxLevel::Bwrap,
                granted: granted.to_path_buf(),
                kept: kept.path.clone(),
                verb: "write",
                lacking: None,
            });
        }
    }
    if policy.net == Net::Hosts && !(inside::can_enter(&policy) && cfg!(feature = "http")) {
        let (level, net) = (SandboxLevel::Bwrap, policy.net);
        return Err(CannotConfine::CannotLimit { level, net, lacking: None });
    }
    let mut missing = Vec::new();
    if !rules {
        // Named pipes can be written on a read-only mount.
        missing.push("named pipes".to_owned());
    }
    match policy.net {
        // `bwrap` itself needs sockets, so the filter that it starts with lets the tool open them
        // too.
        Net::None if !rules => missing.push("unix sockets".to_owned()),
        Net::Loopback => missing.push("unix sockets".to_owned()),
        Net::Any if landlock.is_none_or(|version| version < SCOPES) => {
            missing.push("abstract sockets".to_owned());
        }
        Net::None | Net::Hosts | Net::Any => {}
    }
    if policy.kept.iter().any(|kept| holding(kept, &policy).is_some()) {
        // If somebody outside replaces a kept folder or file, the new one is not mounted read only.
        missing.push("replaced places".to_owned());
    }
    missing.extend(uncounted(policy.caps));
    Ok(Confinement { level: SandboxLevel::Bwrap, policy, missing })
}

/// The innermost write grant that contains the kept place.
fn holding<'a>(kept: &KeptPath, policy: &'a Policy) -> Option<&'a Path> {
    policy.write.iter().filter(|granted| kept.path.starts_with(granted)).max().map(PathBuf::as_path)
}

/// The path and each folder above it, up to but without `granted`.
fn up_to<'a>(granted: &'a Path, path: &'a Path) -> impl Iterator<Item = &'a Path> + Clone {
    path.ancestors().take_while(move |above| *above != granted)
}

/// One mount: its place, and the option of `bwrap` that makes it.
struct Mount {
    at: PathBuf,
    option: &'static str,
    /// What is mounted there, if that is not the place itself.
    from: Option<PathBuf>,
}

impl Mount {
    fn new(option: &'static str, at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), option, from: None }
    }
}

/// The arguments of `bwrap` before the program, and the places that were created for the run.
///
/// # Errors
/// What the disk says.
pub(super) fn arguments(
    sandbox: &ChildSandbox,
    cwd: &Path,
) -> io::Result<(Vec<OsString>, MountPoints)> {
    let policy = &sandbox.confinement.policy;
    let mut points = MountPoints::default();
    let mut mounts = grants(policy);
    // The working directory must exist, even if the tool may read nothing in it.
    mounts.insert(0, Mount::new("--dir", cwd));
    // Root owns the files of kernel settings and can write them without any capability, so `/proc`
    // is mounted read only.
    mounts.extend([Mount::new("--proc", "/proc"), Mount::new("--remount-ro", "/proc")]);
    mounts.push(Mount::new("--dev", "/dev"));
    if sandbox.confinement.has_own_tmp() {
        mounts.push(Mount::new("--tmpfs", OWN_TMP));
    }
    mounts.extend(sandbox.pin.iter().map(|pin| Mount::new("--ro-bind", pin)));
    let own = sandbox.tmp.iter().chain(&sandbox.new_items).chain(&sandbox.index);
    mounts.extend(own.map(|own| Mount::new("--bind", own)));
    let mut fixed_folders = BTreeSet::new();
    for kept in &policy.kept {
        let Some(between) = keep(kept, policy, &mut points)? else { continue };
        let new = between.filter(|above| fixed_folders.insert(above.to_path_buf()));
        mounts.extend(new.map(|above| Mount::new("--bind", above)));
        mounts.push(Mount::new("--ro-bind", &kept.path));
    }
    let shown = || policy.base.iter().chain(&policy.read).chain(&policy.write);
    let sees = |path: &Path| shown().any(|granted| path.starts_with(granted));
    let mut closed = Vec::new();
    for hidden in policy.hidden.iter().chain(&policy.state).filter(|hidden| sees(hidden)) {
        if hidden.is_dir() {
            mounts.push(Mount::new("--tmpfs", hidden));
            closed.push(hidden);
        } else if hidden.exists() {
            // A device file cannot be opened on any mount but that of `/dev`.
            let nothing = Some(PathBuf::from("/dev/null"));
            mounts.push(Mount { from: nothing, ..Mount::new("--ro-bind", hidden) });
        }
    }
    // From the outside in. The sort is stable, so mounts on one place keep their order.
    mounts.sort_by_key(|mount| mount.at.components().count());
    let fixed = [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
    ];
    let mut args: Vec<OsString> = fixed.map(OsString::from).into();
    if policy.net != Net::Any {
        args.push("--unshare-net".into());
    }
    for Mount { at, option, from } in mounts {
        args.push(option.into());
        let is_made = matches!(option, "--proc" | "--dev" | "--tmpfs" | "--remount-ro" | "--dir");
        if !is_made {
            args.push(from.unwrap_or_else(|| at.clone()).into());
        }
        args.push(at.into());
    }
    // An empty folder, read only so that no write there seems to succeed. The private folders of
    // the run, which may lie in it, are mounted by now.
    args.extend(closed.into_iter().flat_map(|at| ["--remount-ro".into(), at.into()]));
    let root = Path::new("/");
    if !policy.read.iter().chain(&policy.write).any(|granted| granted == root) {
        // Otherwise a tool could write into the root, which is in memory and vanishes with the run.
        args.extend(["--remount-ro".into(), root.into()]);
    }
    args.extend(["--chdir".into(), cwd.into(), "--".into()]);
    Ok((args, points))
}

/// The mounts of all grants.
fn grants(policy: &Policy) -> Vec<Mount> {
    let Policy { base, read, write, .. } = policy;
    let is_in = |path: &Path, all: &[PathBuf]| all.iter().any(|granted| path.starts_with(granted));
    let mut mounts = Vec::new();
    for path in base.iter().filter(|path| !is_in(path, read) && !is_in(path, write)) {
        // `/bin` is a link on most systems, and shebangs name it.
        match fs::read_link(path) {
            Ok(target) => {
                mounts.push(Mount { from: Some(target), ..Mount::new("--symlink", path) });
            }
            Err(_) => mounts.push(Mount::new("--ro-bind-try", path)),
        }
    }
    // `/run` holds sockets of services that act for anybody who connects. A grant of a folder above
    // it does not show them; a grant of `/run` itself does.
    let services = Path::new("/run");
    if read.iter().chain(write).any(|path| services != path && services.starts_with(path)) {
        mounts.push(Mount::new("--tmpfs", services));
    }
    // A write grant includes reading.
    let read = read.iter().filter(|path| !is_in(path, write));
    mounts.extend(read.map(|path| Mount::new("--ro-bind-try", path)));
    mounts.extend(write.iter().map(|path| Mount::new("--bind-try", path)));
    mounts
}

/// Makes the kept place, if it has to be mounted, and gives the folders between it and its grant.
///
/// # Errors
/// What the disk says.
fn keep<'a>(
    kept: &'a KeptPath,
    policy: &'a Policy,
    points: &mut MountPoints,
) -> io::Result<Option<impl Iterator<Item = &'a Path>>> {
    let Some(granted) = holding(kept, policy) else { return Ok(None) };
    let between = up_to(granted, &kept.path).skip(1);
    // Nothing can be created below a plain file.
    if between.clone().any(Path::is_file) {
        return Ok(None);
    }
    Ok(points.keep(kept)?.then_some(between))
}
