//! How much lies in a workspace. What a command put there is counted without following a link, and
//! no further than the caps go.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::base::limits::WORKSPACE_DEPTH;

/// Most files and folders that a workspace holds: they are counted behind each command.
const WORKSPACE_FILES: u64 = 50_000;

/// Most that a workspace holds, in mebibytes: behind each command nothing more is written to a
/// fuller one.
const WORKSPACE_MIB: u64 = 2_048;

/// The count so far.
#[derive(Default)]
struct Count {
    bytes: u64,
    files: u64,
}

/// Why a workspace, or what else its commands write to, takes no more, with `more` bytes that are
/// to come; `None` where it does.
pub(super) fn is_full(folders: &[&Path], more: u64) -> Option<String> {
    let mut count = Count { bytes: more, files: 0 };
    for folder in folders {
        let opened = openat(CWD, *folder, FOLDER, Mode::empty());
        let counted = opened.map_err(unreadable).and_then(|folder| count.add(&folder, 0));
        if let Err(why) = counted {
            return Some(why);
        }
    }
    None
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn unreadable(errno: Errno) -> String {
    format!("it has a folder that cannot be read ({errno})")
}

impl Count {
    fn add(&mut self, folder: &OwnedFd, depth: usize) -> Result<(), String> {
        self.is_within()?;
        // The deepest that it can be written or read to.
        if depth > WORKSPACE_DEPTH {
            return Err(format!("it has a folder more than {WORKSPACE_DEPTH} folders deep"));
        }
        for entry in Dir::read_from(folder).map_err(unreadable)?.flatten() {
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                self.entry(folder.as_fd(), name, depth)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &std::ffi::CStr,
        depth: usize,
    ) -> Result<(), String> {
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // It was removed in the meantime.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(unreadable(errno)),
        };
        self.files += 1;
        // What it takes of the disk, in units of 512 bytes.
        let taken = u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512);
        self.bytes = self.bytes.saturating_add(taken);
        self.is_within()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Ok(());
        }
        match openat(folder, name, FOLDER, Mode::empty()) {
            Ok(below) => self.add(&below, depth + 1),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(unreadable(errno)),
        }
    }

    fn is_within(&self) -> Result<(), String> {
        if self.bytes > WORKSPACE_MIB << 20 {
            return Err(format!("it holds more than {WORKSPACE_MIB} MiB"));
        }
        match self.files > WORKSPACE_FILES {
            true => Err(format!("it holds more than {WORKSPACE_FILES} files and folders")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_full;
    use super::{WORKSPACE_FILES, WORKSPACE_MIB};
    use std::fs;

    #[test]
    fn a_workspace_is_full_beyond_its_bytes_its_files_or_its_depth_and_a_link_counts_as_itself() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = [one.path(), other.path()];
        let full = |more: u64| is_full(&folders, more);
        assert_eq!(full(0), None);
        fs::create_dir_all(one.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("/", one.path().join("a/root")).unwrap();
        assert_eq!(full(0), None);
        assert_eq!(full((WORKSPACE_MIB << 20) - (1 << 20)), None);
        assert!(full((WORKSPACE_MIB << 20) + 1).unwrap().contains("MiB"));
        // A large file that takes nothing of the disk counts as what it takes.
        let sparse = fs::File::create(one.path().join("sparse")).unwrap();
        sparse.set_len((WORKSPACE_MIB << 20) * 2).unwrap();
        assert_eq!(full(0), None);
        let deep = vec!["d"; 80].join("/");
        fs::create_dir_all(other.path().join(&deep)).unwrap();
        assert!(full(0).unwrap().contains("deep"));
        fs::remove_dir_all(other.path().join("d")).unwrap();
        for at in 0..=WORKSPACE_FILES {
            fs::File::create(other.path().join(at.to_string())).unwrap();
        }
        assert!(full(0).unwrap().contains("files"));
    }
}
