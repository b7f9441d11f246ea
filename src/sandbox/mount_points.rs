//! Places that do not exist and must not come to be: made for as long as a run lasts, so that they can
//! be kept, and gone afterwards.
//!
//! A place is ours if it is empty and says so by its time of change, which nothing but us sets. Several
//! runs may keep one: each holds a shared lock, and who gets it alone takes the place away. What a run
//! that was killed left behind is ours by the same sign, and goes with the next run that keeps it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use crate::host::Kept;

/// The sign: a time of change that nothing gets by chance, in seconds of 1970.
const SIGN: u64 = 0x7279_6500 / 2;

/// Places that this run keeps. Dropping it takes those away that nobody else keeps.
#[derive(Debug, Default)]
pub(super) struct MountPoints {
    /// The innermost last.
    held: Vec<(PathBuf, File)>,
}

impl MountPoints {
    /// Makes what is not there, folders above it included.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn keep(&mut self, kept: &Kept) -> io::Result<()> {
        let mut above: Vec<&Path> = kept.path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().filter(|path| !path.as_os_str().is_empty()) {
            self.hold(folder, true)?;
        }
        self.hold(&kept.path, kept.is_folder)?;
        // What was made in a folder of ours changed its time.
        for (folder, _) in self.held.iter().filter(|(held, _)| held.is_dir()) {
            sign(folder)?;
        }
        Ok(())
    }

    fn hold(&mut self, path: &Path, is_folder: bool) -> io::Result<()> {
        if self.held.iter().any(|(held, _)| held == path) {
            return Ok(());
        }
        // Somebody may take it away between making and locking.
        for _ in 0..100 {
            let made = match is_folder {
                true => DirBuilder::new().mode(0o700).create(path),
                false => {
                    let mut create = OpenOptions::new();
                    create.write(true).create_new(true).mode(0o600).open(path).map(drop)
                }
            };
            match made {
                Ok(()) => sign(path)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            let stat = match fs::symlink_metadata(path) {
                Ok(stat) if !is_ours(&stat) => return Ok(()),
                Ok(stat) => stat,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let Ok(file) = File::open(path) else { continue };
            flock(&file, FlockOperation::LockShared)?;
            let is_same = fs::symlink_metadata(path).is_ok_and(|now| now.ino() == stat.ino());
            if is_same {
                self.held.push((path.to_owned(), file));
                return Ok(());
            }
        }
        Err(io::Error::other(format!("`{}` comes and goes", path.display())))
    }
}

impl Drop for MountPoints {
    fn drop(&mut self) {
        for (path, file) in self.held.drain(..).rev() {
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let Ok(stat) = fs::symlink_metadata(&path) else { continue };
            let is_empty_file = stat.is_file() && stat.len() == 0 && is_ours(&stat);
            // A folder tells by itself whether it is empty; what was made and removed in it changes its
            // time, so the sign is not asked for again.
            let _ = match stat.is_dir() {
                true => fs::remove_dir(&path),
                false if is_empty_file => fs::remove_file(&path),
                false => Ok(()),
            };
        }
    }
}

fn sign(path: &Path) -> io::Result<()> {
    File::open(path)?.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(SIGN))
}

fn is_ours(stat: &fs::Metadata) -> bool {
    stat.uid() == rustix::process::geteuid().as_raw()
        && stat.mtime() == i64::try_from(SIGN).unwrap_or_default()
}
