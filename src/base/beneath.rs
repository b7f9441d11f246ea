//! Opening what lies below a folder, through no link and never out of it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// Opens the plain relative path below `root`, through no link.
pub(crate) fn open_beneath(
    root: impl AsFd,
    relative: &str,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&root, relative, flags, Mode::empty(), resolve) {
        // Old containers answer EPERM for calls that they do not know.
        Err(Errno::NOSYS | Errno::PERM) => open_by_component(root, relative, flags),
        other => other,
    }
}

/// For kernels without `openat2`: one component after the other, never through a link.
pub(crate) fn open_by_component(
    root: impl AsFd,
    relative: &str,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut parts = relative.split('/').peekable();
    let mut folder: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        if part.is_empty() || part == "." || part == ".." {
            return Err(Errno::XDEV);
        }
        let at = folder.as_ref().map_or(root.as_fd(), AsFd::as_fd);
        let last = parts.peek().is_none();
        let wanted = if last { flags } else { OFlags::PATH | OFlags::CLOEXEC };
        let opened = openat(at, part, wanted | OFlags::NOFOLLOW, Mode::empty())?;
        // With O_PATH a link is opened itself instead of being refused.
        if FileType::from_raw_mode(fstat(&opened)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
        if last {
            return Ok(opened);
        }
        folder = Some(opened);
    }
    Err(Errno::NOENT)
}

/// The folder of the file at a plain relative path below `root`, and the file's name. Folders that
/// are not there are made.
///
/// # Errors
/// `LOOP` where something else than a folder is in the way, which may be a link; else what the
/// kernel says.
pub(crate) fn make_folder_beneath(
    root: impl AsFd,
    relative: &str,
) -> Result<(OwnedFd, &str), Errno> {
    let (above, name) = relative.rsplit_once('/').unwrap_or(("", relative));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(&root, ".", flags, Mode::empty())?;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        match mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        folder = openat(&folder, part, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR => Errno::LOOP,
            other => other,
        })?;
    }
    Ok((folder, name))
}
