//! Places that do not exist and must not come to be: made for as long as a run lasts, so that they
//! can be kept, and gone afterwards.
//!
//! A place is ours if it is as we make it and says so by its time of change, which nothing but us
//! sets. Several runs may keep one: each holds a shared lock, and who gets it alone takes the place
//! away. What a run that was killed left behind is ours by the same sign, and goes with the next
//! run that keeps it, or that knows of the place ([`sweep`]).

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
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
    /// Makes what is not there, folders above it included. False where it cannot come to be:
    /// neither we nor a tool, which may do less, can make it there.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn keep(&mut self, kept: &Kept) -> io::Result<bool> {
        let mut above: Vec<&Path> = kept.path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().filter(|path| !path.as_os_str().is_empty()) {
            if !self.hold(folder, true)? {
                return Ok(false);
            }
        }
        if !self.hold(&kept.path, kept.is_folder)? {
            return Ok(false);
        }
        // What was made in a folder of ours changed its time.
        for (folder, _) in self.held.iter().filter(|(held, _)| held.is_dir()) {
            sign(folder)?;
        }
        Ok(true)
    }

    fn hold(&mut self, path: &Path, is_folder: bool) -> io::Result<bool> {
        if self.held.iter().any(|(held, _)| held == path) {
            return Ok(true);
        }
        // Somebody may take it away between making and locking.
        for _ in 0..100 {
            let made = match is_folder {
                true => DirBuilder::new().mode(0o700).create(path),
                false => {
                    let mut create = OpenOptions::new();
                    let file = create.write(true).create_new(true).mode(0o600).open(path);
                    file.and_then(|mut file| file.write_all(said(path).as_bytes()))
                }
            };
            match made {
                Ok(()) => sign(path)?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if is_out_of_reach(path, &error) => return Ok(false),
                Err(error) => return Err(told(path, &error)),
            }
            let stat = match fs::symlink_metadata(path) {
                Ok(stat) if !is_ours(&stat) => return Ok(true),
                Ok(stat) => stat,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let Ok(file) = File::open(path) else { continue };
            flock(&file, FlockOperation::LockShared)?;
            let is_same = fs::symlink_metadata(path).is_ok_and(|now| now.ino() == stat.ino());
            if is_same {
                self.held.push((path.to_owned(), file));
                return Ok(true);
            }
        }
        Err(io::Error::other(format!("`{}` comes and goes", path.display())))
    }
}

impl Drop for MountPoints {
    fn drop(&mut self) {
        let held: BTreeSet<PathBuf> = self.held.iter().map(|(path, _)| path.clone()).collect();
        for (path, file) in self.held.drain(..).rev() {
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let Ok(stat) = fs::symlink_metadata(&path) else { continue };
            let is_same = fs::read(&path).is_ok_and(|text| text == said(&path).as_bytes());
            let is_empty_file = stat.is_file() && is_same && is_ours(&stat);
            // A folder tells by itself whether it is empty; what was made and removed in it changes
            // its time, so the sign is not asked for again.
            let is_gone = match stat.is_dir() {
                true => fs::remove_dir(&path).is_ok(),
                false => is_empty_file && fs::remove_file(&path).is_ok(),
            };
            // Another run may still keep the folder above, and be killed: the sign must be there
            // then.
            if is_gone && let Some(above) = path.parent().filter(|above| held.contains(*above)) {
                let _ = sign(above);
            }
        }
    }
}

/// Takes those of these places away that a killed run left and nobody keeps.
pub(super) fn sweep(places: &[PathBuf]) {
    let mut left = MountPoints::default();
    for path in places {
        let stat = fs::symlink_metadata(path).ok().filter(is_ours);
        if let Some(stat) = stat {
            let _ = left.hold(path, stat.is_dir());
        }
    }
}

/// What stands in a file that is there to be kept: nothing, but where git would fail over that. For
/// git this says what is so without it.
fn said(path: &Path) -> &'static str {
    if path.ends_with(".git/commondir") { ".\n" } else { "" }
}

/// A disk that is read only, a file system that makes no files, or a folder of somebody else's; our
/// own one a tool could open to itself.
fn is_out_of_reach(path: &Path, error: &io::Error) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_others =
        || path.parent().and_then(|above| above.metadata().ok()).is_some_and(|s| s.uid() != own);
    match error.raw_os_error() {
        Some(libc::EROFS | libc::EPERM) => true,
        Some(libc::EACCES) => is_others(),
        _ => false,
    }
}

fn told(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}` cannot be kept: {error}", path.display()))
}

fn sign(path: &Path) -> io::Result<()> {
    File::open(path)?.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(SIGN))
}

fn is_ours(stat: &fs::Metadata) -> bool {
    stat.uid() == rustix::process::geteuid().as_raw()
        && stat.mtime() == i64::try_from(SIGN).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::MountPoints;
    use crate::host::Kept;

    #[test]
    fn where_nothing_can_be_made_nothing_has_to_be_kept() {
        let mut points = MountPoints::default();
        // No disk: nobody makes files there, whoever they are.
        let kept = Kept { path: "/sys/kernel/.git/hooks".into(), is_folder: true };
        assert!(!points.keep(&kept).unwrap());
        assert!(points.held.is_empty());
    }

    #[test]
    fn a_folder_of_two_runs_is_gone_also_when_the_last_one_was_killed() {
        let base = tempfile::tempdir().unwrap();
        let kept =
            |name: &str| Kept { path: base.path().join(".config").join(name), is_folder: true };
        let (mut first, mut second) = (MountPoints::default(), MountPoints::default());
        assert!(first.keep(&kept("git")).unwrap());
        assert!(second.keep(&kept("fish")).unwrap());
        drop(first);
        assert!(
            base.path().join(".config/fish").exists() && !base.path().join(".config/git").exists()
        );
        // Killed: its locks are gone, and nobody took anything away.
        second.held.clear();
        drop(second);
        let mut third = MountPoints::default();
        assert!(third.keep(&kept("fish")).unwrap());
        drop(third);
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_git_reads_says_what_is_so_without_it_and_goes() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join(".git/commondir");
        let mut points = MountPoints::default();
        assert!(points.keep(&Kept { path: path.clone(), is_folder: false }).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b".\n");
        drop(points);
        assert!(!base.path().join(".git").exists());
    }
}
