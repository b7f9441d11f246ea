//! Removes a folder whose content another process made, however deep it is and whatever it may
//! hold.
//!
//! Invariants
//! - It takes as much stack and as many descriptors for a folder in a million folders as for one.
//! - No link is followed: what it leads to stays.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, chmod, fchmod, fstat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use crate::base::bytes::temporary_name;

const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// Removes a folder with all that is in it. No other process may write there meanwhile.
///
/// # Errors
/// The error for the first file or folder that cannot be removed; the rest may be gone.
pub(super) fn remove_tree(folder: &Path) -> io::Result<()> {
    let name = CString::new(folder.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let mut emptied = Emptied { root: opened(CWD, &name)?, moved: 0, prefix: temporary_name()? };
    while emptied.pass()? {}
    Ok(unlinkat(CWD, &*name, AtFlags::REMOVEDIR)?)
}

/// A folder whose content is removed: what lies two folders below it comes to lie one below, until
/// there is nothing left.
struct Emptied {
    root: OwnedFd,
    /// How many folders were moved, each of which has a name of its own.
    moved: u64,
    prefix: String,
}

impl Emptied {
    /// Removes what lies in the folder now; false where there was nothing.
    fn pass(&mut self) -> io::Result<bool> {
        let mut had_any = false;
        let names = Dir::read_from(&self.root)?;
        for entry in names {
            let entry = entry?;
            let name = entry.file_name();
            if is_itself(name) {
                continue;
            }
            had_any = true;
            if is_removed(self.root.as_fd(), name)? {
                continue;
            }
            let child = opened(self.root.as_fd(), name)?;
            self.empty(&child)?;
            unlinkat(&self.root, name, AtFlags::REMOVEDIR)?;
        }
        Ok(had_any)
    }

    /// Empties a folder one below; the folders in it that are not empty come to lie beside it.
    fn empty(&mut self, child: &OwnedFd) -> io::Result<()> {
        loop {
            let mut had_any = false;
            for entry in Dir::read_from(child)? {
                let entry = entry?;
                let name = entry.file_name();
                if is_itself(name) {
                    continue;
                }
                had_any = true;
                if !is_removed(child.as_fd(), name)? {
                    // To move a folder, the caller must be allowed to write in it.
                    opened(child.as_fd(), name)?;
                    let beside = format!("{}-{}", self.prefix, self.moved);
                    self.moved += 1;
                    renameat(child, name, &self.root, beside)?;
                }
            }
            if !had_any {
                return Ok(());
            }
        }
    }
}

fn is_itself(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes a file, a link or an empty folder; false for a folder in which something lies.
fn is_removed(at: BorrowedFd<'_>, name: &CStr) -> io::Result<bool> {
    match unlinkat(at, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    match unlinkat(at, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a folder so that what lies in it can be removed, also one that its owner closed.
fn opened(at: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let folder = match openat(at, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            // It is this very folder that is changed, and no link in its place.
            let seen = openat(at, name, FOLDER.union(OFlags::PATH), Mode::empty())?;
            chmod(format!("/proc/self/fd/{}", seen.as_raw_fd()), Mode::RWXU)?;
            openat(at, name, FOLDER, Mode::empty())?
        }
        other => other?,
    };
    if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

    use super::remove_tree;

    /// So many folders, each in the one before it.
    fn nested(at: &Path, levels: usize) {
        let mut folder = openat(CWD, at, OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..levels {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn a_folder_is_removed_however_deep_it_is_and_with_closed_folders_and_no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("folder");
        let kept = base.path().join("kept");
        fs::create_dir_all(folder.join("wide/b")).unwrap();
        fs::create_dir_all(folder.join("closed/in/it")).unwrap();
        fs::write(&kept, "stays").unwrap();
        for n in 0..2_000 {
            fs::write(folder.join(format!("wide/{n}")), "").unwrap();
        }
        symlink(&kept, folder.join("wide/b/link")).unwrap();
        symlink(base.path(), folder.join("up")).unwrap();
        for path in ["closed/in/it", "closed/in", "closed"] {
            fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        nested(&folder, 6_000);
        let removed = std::thread::Builder::new().stack_size(128 << 10);
        let removed = removed.spawn({
            let folder = folder.clone();
            move || remove_tree(&folder)
        });
        removed.unwrap().join().unwrap().unwrap();
        assert!(!folder.exists());
        assert_eq!(fs::read_to_string(&kept).unwrap(), "stays");
        assert!(remove_tree(&folder).is_err(), "it is gone");
        symlink(base.path(), base.path().join("link")).unwrap();
        assert!(remove_tree(&base.path().join("link")).is_err());
        assert!(kept.exists());
    }
}
