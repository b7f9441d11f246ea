//! The level `bwrap`: the tool gets its own namespaces, and a file system that holds only its
//! grants. rye makes them itself; where it may not, the program `bwrap` may.
//!
//! Mounts are made from the outside in, so that a deeper grant or kept place wins over an outer
//! one. A kept place inside a grant is mounted over itself, read only. The folders between the two
//! are mounted as well, because a mount point cannot be moved away. A kept place that does not
//! exist is created first, see `mount_points.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::confined::{OWN_TMP, uncounted};
use super::landlock::SCOPES;
use super::mount_points::MountPoints;
use super::probe::Way;
use super::{inside, ssh_settings};
use crate::host::{
    CannotConfine, ChildSandbox, Confinement, KeptPath, Mount, Mounted, Net, Policy, SandboxLevel,
    Spawn,
};

/// The policy as this level enforces it, made in this `way`. `landlock` is the version of that
/// interface, where the kernel has one.
///
/// # Errors
/// `sandbox.cannot_protect`: a kept place is a symbolic link or lies behind one, and nothing can be
/// mounted over a link. `sandbox.cannot_limit`: there is no step inside that could listen for rye's
/// proxy.
pub(super) fn confine(
    policy: Policy,
    way: &Way,
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
    let is_own = matches!(way, Way::Own);
    // Landlock rules are in force inside as well.
    let rules = landlock.is_some() && (!policy.own_tmp && is_own || inside::can_enter(&policy));
    let can_listen = is_own || inside::can_enter(&policy);
    let is_held = match policy.net {
        Net::Hosts => can_listen && cfg!(feature = "http"),
        _ => can_listen || policy.egress.listen.is_empty(),
    };
    if !is_held {
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
        Net::None if !rules && !is_own => missing.push("unix sockets".to_owned()),
        Net::Loopback => missing.push("unix sockets".to_owned()),
        Net::Any if landlock.is_none_or(|version| version < SCOPES) => {
            missing.push("abstract sockets".to_owned());
        }
        Net::None | Net::Hosts | Net::Any => {}
    }
    if policy.kept.iter().any(|kept| holding(kept, &policy).is_some()) {
        // If a process outside replaces a kept folder or file, the new one is not mounted read
        // only.
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

/// The mounts of a run, outer ones first, and the places that were created for it.
///
/// # Errors
/// An error of the file system.
pub(super) fn mounts(
    spawn: &Spawn,
    sandbox: &ChildSandbox,
) -> io::Result<(Vec<Mount>, MountPoints)> {
    let policy = &sandbox.confinement.policy;
    let mut points = MountPoints::default();
    let mut mounts = grants(policy);
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    // The working directory must exist, even if the tool may read nothing in it.
    mounts.insert(0, Mount { at: real(&spawn.cwd), what: Mounted::Folder });
    // Root owns the files of kernel settings and can write them without any capability, so `/proc`
    // is mounted read only.
    mounts.push(Mount { at: "/proc".into(), what: Mounted::Processes });
    mounts.push(Mount { at: "/dev".into(), what: Mounted::Devices });
    if sandbox.confinement.has_own_tmp() {
        mounts.push(Mount { at: OWN_TMP.into(), what: Mounted::Memory });
    }
    mounts.extend(sandbox.pin.iter().map(|pin| bind(&real(pin), false)));
    let own = sandbox.tmp.iter().chain(&sandbox.new_items).chain(&sandbox.index);
    mounts.extend(own.map(|own| bind(&real(own), true)));
    if let (Net::Any, Some(folder)) = (policy.net, sandbox.pin.as_ref().or(sandbox.tmp.as_ref())) {
        mounts.extend(ssh_settings::copies(folder));
    }
    let mut fixed_folders = BTreeSet::new();
    for kept in &policy.kept {
        let Some(between) = keep(kept, policy, &mut points)? else { continue };
        let new = between.filter(|above| fixed_folders.insert(above.to_path_buf()));
        mounts.extend(new.map(|above| bind(above, true)));
        mounts.push(bind(&kept.path, false));
    }
    let shown = || policy.base.iter().chain(&policy.read).chain(&policy.write);
    let sees = |path: &Path| shown().any(|granted| path.starts_with(granted));
    let mut closed = Vec::new();
    for hidden in policy.hidden.iter().chain(&policy.state).filter(|hidden| sees(hidden)) {
        if hidden.is_dir() {
            mounts.push(Mount { at: hidden.clone(), what: Mounted::Memory });
            closed.push(Mount { at: hidden.clone(), what: Mounted::ReadOnly });
        } else if hidden.exists() {
            // A device file cannot be opened on any mount but that of `/dev`.
            let what = bind(Path::new("/dev/null"), false).what;
            mounts.push(Mount { at: hidden.clone(), what });
        }
    }
    // People and programs call these by names in which there may be links.
    let names = policy.names.iter().chain([&spawn.cwd, &spawn.program]);
    let links: BTreeMap<PathBuf, PathBuf> = names.flat_map(|name| links_to(name)).collect();
    for (at, target) in links {
        let is_there = |mount: &Mount| match mount.what {
            Mounted::Bind { .. } => at.starts_with(&mount.at),
            _ => at == mount.at,
        };
        if !mounts.iter().any(is_there) {
            mounts.push(Mount { at, what: Mounted::Link(target) });
        }
    }
    // From the outside in. The sort is stable, so mounts on one place keep their order.
    mounts.sort_by_key(|mount| mount.at.components().count());
    // An empty folder, read only so that no write there seems to succeed. The private folders of
    // the run, which may lie in it, are mounted by now.
    mounts.extend(closed);
    let root = Path::new("/");
    if !policy.read.iter().chain(&policy.write).any(|granted| granted == root) {
        // Otherwise a tool could write into the root, which is in memory and vanishes with the run.
        mounts.push(Mount { at: root.into(), what: Mounted::ReadOnly });
    }
    Ok((mounts, points))
}

/// The path itself, as it is outside.
fn bind(path: &Path, writable: bool) -> Mount {
    let what = Mounted::Bind { from: path.to_owned(), writable, must_exist: true };
    Mount { at: path.to_owned(), what }
}

/// The symbolic links on the way to a path, each in its real folder, with what they say.
fn links_to(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    /// As many as the kernel follows.
    const MOST: usize = 40;
    let mut links = Vec::new();
    let mut left: Vec<_> =
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect();
    let mut at = PathBuf::new();
    while let Some(part) = left.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links.len() < MOST => {
                left.extend(target.components().rev().map(|part| part.as_os_str().to_owned()));
                links.push((next, target));
            }
            _ => at = next,
        }
    }
    links
}

/// The arguments of the program `bwrap`, before the program that it is to start.
pub(super) fn arguments(mounts: Vec<Mount>, net: Net, cwd: &Path) -> Vec<OsString> {
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
    if net != Net::Any {
        args.push("--unshare-net".into());
    }
    for Mount { at, what } in mounts {
        let at = at.into_os_string();
        match what {
            Mounted::Folder => args.extend(["--dir".into(), at]),
            Mounted::Link(target) => args.extend(["--symlink".into(), target.into(), at]),
            Mounted::Bind { from, writable, must_exist } => {
                let option = match (writable, must_exist) {
                    (true, true) => "--bind",
                    (true, false) => "--bind-try",
                    (false, true) => "--ro-bind",
                    (false, false) => "--ro-bind-try",
                };
                args.extend([option.into(), from.into(), at]);
            }
            Mounted::Memory => args.extend(["--tmpfs".into(), at]),
            Mounted::Processes => {
                args.extend(["--proc".into(), at.clone(), "--remount-ro".into(), at]);
            }
            Mounted::Devices => args.extend(["--dev".into(), at]),
            Mounted::ReadOnly => args.extend(["--remount-ro".into(), at]),
        }
    }
    args.extend(["--chdir".into(), cwd.into(), "--".into()]);
    args
}

/// The mounts of all grants.
fn grants(policy: &Policy) -> Vec<Mount> {
    let Policy { base, read, write, .. } = policy;
    let is_in = |path: &Path, all: &[PathBuf]| all.iter().any(|granted| path.starts_with(granted));
    let granted = |path: &Path, writable: bool| {
        let from = path.to_owned();
        Mount { at: from.clone(), what: Mounted::Bind { from, writable, must_exist: false } }
    };
    let mut mounts = Vec::new();
    for path in base.iter().filter(|path| !is_in(path, read) && !is_in(path, write)) {
        // `/bin` is a link on most systems, and shebangs name it.
        mounts.push(match fs::read_link(path) {
            Ok(target) => Mount { at: path.clone(), what: Mounted::Link(target) },
            Err(_) => granted(path, false),
        });
    }
    // `/run` holds sockets of services that act for anybody who connects. A grant of a folder above
    // it does not show them; a grant of `/run` itself does.
    let services = Path::new("/run");
    if read.iter().chain(write).any(|path| services != path && services.starts_with(path)) {
        mounts.push(Mount { at: services.into(), what: Mounted::Memory });
    }
    // A write grant includes reading.
    mounts.extend(read.iter().filter(|path| !is_in(path, write)).map(|path| granted(path, false)));
    mounts.extend(write.iter().map(|path| granted(path, true)));
    mounts
}

/// Makes the kept place, if it has to be mounted, and gives the folders between it and its grant.
///
/// # Errors
/// An error of the file system.
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
