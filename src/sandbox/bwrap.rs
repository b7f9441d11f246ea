//! The level `bwrap`: namespaces of its own, a file system of what is granted and nothing else.
//!
//! Mounts are made from the outside in, so that what is granted or kept deeper counts. What is kept
//! and lies in a grant is mounted over itself to be read only; the folders between are mounted too,
//! since what is mounted cannot be moved away. What is kept and is not there is made first, see
//! `mount_points.rs`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::confined::{OWN_TMP, uncounted};
use super::landlock::SCOPES;
use super::mount_points::MountPoints;
use crate::host::{CannotConfine, Cell, Confinement, Kept, Level, Net, Policy};

/// The policy as this level holds it; `rules` says whether rules on files hold it too, and
/// `landlock` the version of the kernel's interface for them, where there is one.
///
/// # Errors
/// `sandbox.cannot_protect`: a kept place is a link or lies behind one, which nothing can be
/// mounted over.
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
                level: Level::Bwrap,
                granted: granted.to_path_buf(),
                kept: kept.path.clone(),
                verb: "write",
                lacking: None,
            });
        }
    }
    let mut missing = Vec::new();
    if !rules {
        // A mount that may only be read does not hold them.
        missing.push("named pipes".to_owned());
    }
    match policy.net {
        // `bwrap` itself needs some, so whatever it holds may make them.
        Net::None if !rules => missing.push("unix sockets".to_owned()),
        Net::Loopback => missing.push("unix sockets".to_owned()),
        Net::Any if landlock.is_none_or(|version| version < SCOPES) => {
            missing.push("abstract sockets".to_owned());
        }
        Net::None | Net::Any => {}
    }
    if policy.kept.iter().any(|kept| holding(kept, &policy).is_some()) {
        // What somebody outside puts in the place of a kept folder or file has no mount on it.
        missing.push("replaced places".to_owned());
    }
    missing.extend(uncounted(policy.caps));
    Ok(Confinement { level: Level::Bwrap, policy, missing })
}

/// The innermost folder to write that holds what is kept.
fn holding<'a>(kept: &Kept, policy: &'a Policy) -> Option<&'a Path> {
    policy.write.iter().filter(|granted| kept.path.starts_with(granted)).max().map(PathBuf::as_path)
}

/// The path and what lies above it below `granted`.
fn up_to<'a>(granted: &'a Path, path: &'a Path) -> impl Iterator<Item = &'a Path> + Clone {
    path.ancestors().take_while(move |above| *above != granted)
}

/// One mount: where, and by which option of `bwrap`.
struct Mount {
    at: PathBuf,
    option: &'static str,
    /// What is put there, where that is not the place itself.
    from: Option<PathBuf>,
}

impl Mount {
    fn of(option: &'static str, at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), option, from: None }
    }
}

/// The arguments of `bwrap` up to the program, and the places that were made for it.
///
/// # Errors
/// What the disk says.
pub(super) fn arguments(cell: &Cell, cwd: &Path) -> io::Result<(Vec<OsString>, MountPoints)> {
    let policy = &cell.confinement.policy;
    let mut points = MountPoints::default();
    let mut mounts = grants(policy);
    // The folder it starts in is there, also where it may see nothing of it.
    mounts.insert(0, Mount::of("--dir", cwd));
    // Root owns the settings of the kernel also without any capability, so its files of them are
    // closed by the mount.
    mounts.extend([Mount::of("--proc", "/proc"), Mount::of("--remount-ro", "/proc")]);
    mounts.push(Mount::of("--dev", "/dev"));
    if cell.confinement.has_own_tmp() {
        mounts.push(Mount::of("--tmpfs", OWN_TMP));
    }
    mounts.extend(cell.pin.iter().map(|pin| Mount::of("--ro-bind", pin)));
    mounts.extend(cell.tmp.iter().chain(&cell.new_items).map(|own| Mount::of("--bind", own)));
    for kept in &policy.kept {
        keep(kept, policy, &mut points, &mut mounts)?;
    }
    let shown = || policy.base.iter().chain(&policy.read).chain(&policy.write);
    let sees = |path: &Path| shown().any(|granted| path.starts_with(granted));
    for hidden in policy.hidden.iter().filter(|hidden| sees(hidden)) {
        if hidden.is_dir() {
            // Empty, and so that nobody believes to have written there.
            mounts.extend([Mount::of("--tmpfs", hidden), Mount::of("--remount-ro", hidden)]);
        } else if hidden.exists() {
            // A device, and no mount but that of `/dev` lets one be opened.
            let nothing = Some(PathBuf::from("/dev/null"));
            mounts.push(Mount { from: nothing, ..Mount::of("--ro-bind", hidden) });
        }
    }
    // From the outside in; at one place in the order in which they were said.
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
    let root = Path::new("/");
    if !policy.read.iter().chain(&policy.write).any(|granted| granted == root) {
        // What is granted nowhere is not written into a place that is gone afterwards either.
        args.extend(["--remount-ro".into(), root.into()]);
    }
    args.extend(["--chdir".into(), cwd.into(), "--".into()]);
    Ok((args, points))
}

/// What is granted, as it lies on the disk.
fn grants(policy: &Policy) -> Vec<Mount> {
    let Policy { base, read, write, .. } = policy;
    let is_in = |path: &Path, all: &[PathBuf]| all.iter().any(|granted| path.starts_with(granted));
    let mut mounts = Vec::new();
    for path in base.iter().filter(|path| !is_in(path, read) && !is_in(path, write)) {
        // `/bin` is a link on most systems, and shebangs name it.
        match fs::read_link(path) {
            Ok(target) => mounts.push(Mount { from: Some(target), ..Mount::of("--symlink", path) }),
            Err(_) => mounts.push(Mount::of("--ro-bind-try", path)),
        }
    }
    // Sockets of services that act for whoever speaks to them; a grant of their own folder shows
    // them.
    let services = Path::new("/run");
    if read.iter().chain(write).any(|path| services != path && services.starts_with(path)) {
        mounts.push(Mount::of("--tmpfs", services));
    }
    // What may be written may be read.
    let read = read.iter().filter(|path| !is_in(path, write));
    mounts.extend(read.map(|path| Mount::of("--ro-bind-try", path)));
    mounts.extend(write.iter().map(|path| Mount::of("--bind-try", path)));
    mounts
}

fn keep(
    kept: &Kept,
    policy: &Policy,
    points: &mut MountPoints,
    mounts: &mut Vec<Mount>,
) -> io::Result<()> {
    let Some(granted) = holding(kept, policy) else { return Ok(()) };
    let between = up_to(granted, &kept.path).skip(1);
    // Below a plain file nothing comes to be, and the file is where it is.
    if between.clone().any(Path::is_file) {
        return Ok(());
    }
    if !points.keep(kept)? {
        return Ok(());
    }
    mounts.extend(between.map(|above| Mount::of("--bind", above)));
    mounts.push(Mount::of("--ro-bind", &kept.path));
    Ok(())
}
