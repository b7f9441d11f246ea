//! The private folder that holds a run's verified bytes.
//!
//! Only verified bytes are run: the bytes in memory are written to a folder that only this user can
//! enter, and those are run, never the file that a second look at the disk would find.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::own_uid;
use super::remove_tree::remove_tree;

/// A folder with the verified files of one run; removed when dropped.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    folder: tempfile::TempDir,
    /// Held while the folder is in use: a process in a container that shares this home does not see
    /// ours, but it sees the lock.
    _lock: Option<File>,
}

/// Why no private folder could be made.
#[derive(Debug, thiserror::Error)]
#[error("no private folder for the run below `{}`: {source}", .at.display())]
pub(crate) struct PrivateDirError {
    pub(crate) at: PathBuf,
    pub(crate) source: io::Error,
}

impl PrivateDir {
    /// Makes an empty private folder (0700) below `rye` in the session's `runtime` folder, if that
    /// is private, or else below `fallback`, and sweeps what dead processes left there.
    pub(crate) fn new(
        runtime: Option<&Path>,
        fallback: Option<&Path>,
    ) -> Result<Self, PrivateDirError> {
        let Some(at) = place(runtime, fallback) else {
            let source = io::Error::other("neither a runtime folder nor a home is there");
            return Err(PrivateDirError { at: PathBuf::new(), source });
        };
        Self::below(&at).map_err(|source| PrivateDirError { at, source })
    }

    /// Where private folders of a user lie when the session has no runtime folder.
    pub(crate) fn home(user_base: &Path) -> PathBuf {
        user_base.join(".ai/state/pin")
    }

    /// A folder below `at` that shows a run, if a person asked to see every run; `None` elsewhere.
    /// The place does not depend on the session's own folder: the watcher and the run may be in two
    /// sessions.
    pub(crate) fn mark(at: &Path) -> Option<Self> {
        at.join(WATCHED).exists().then(|| Self::below(at).ok()).flatten()
    }

    /// Asks that from here on every run shows below `at`.
    pub(crate) fn watch(at: &Path) -> io::Result<()> {
        Self::below(at)?;
        let mut made = OpenOptions::new();
        let made = made.write(true).create(true).truncate(false).mode(0o600);
        made.open(at.join(WATCHED)).map(drop)
    }

    fn below(at: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(at)?;
        if !is_private(at) {
            return Err(io::Error::other(
                "it must belong to you and be closed to others (chmod 700)",
            ));
        }
        if !is_safe_above(at) {
            return Err(io::Error::other(
                "a folder above it is of another user, or can be written by others",
            ));
        }
        sweep(at);
        let prefix = format!("{}-", std::process::id());
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir_in(at);
        // The library names a folder that the caller did not ask for.
        let folder = folder.map_err(|error| io::Error::from(error.kind()))?;
        let lock = File::open(folder.path())
            .ok()
            .filter(|lock| flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok());
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes one file at a plain path below the folder, for this user alone: to be read (0400), or
    /// to be run as well (0500). A file is written once.
    pub(crate) fn write(&self, path: &str, bytes: &[u8], is_program: bool) -> io::Result<()> {
        let path = self.folder.path().join(path);
        let mode = if is_program { 0o500 } else { 0o400 };
        let mut create = OpenOptions::new();
        let create = create.write(true).create_new(true).mode(mode);
        let mut file = match create.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(self.folder.path());
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                create.open(&path)?
            }
            other => other?,
        };
        file.write_all(bytes)
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // A command may have made anything there. A later run sweeps what is left.
        let _ = remove_tree(self.folder.path());
    }
}

/// In the folder of private folders: a person wants to see every run.
const WATCHED: &str = ".watched";

/// The folder that holds the private folders.
fn place(runtime: Option<&Path>, fallback: Option<&Path>) -> Option<PathBuf> {
    let runtime = runtime.filter(|dir| is_private(dir) && is_safe_above(dir));
    runtime.map(|dir| dir.join("rye")).or_else(|| fallback.map(Path::to_owned))
}

/// Returns true for a folder of this user that no other user can enter or write.
fn is_private(dir: &Path) -> bool {
    let stat = fs::symlink_metadata(dir);
    stat.is_ok_and(|m| m.is_dir() && m.uid() == own_uid() && is_closed(m.mode()))
}

/// Says if no other user can replace a folder above: each is of this user or of root, and others
/// may not write it, or may not rename what is not theirs (core 7.9). In a user namespace root may
/// have another number, which is that of the owner of `/`.
fn is_safe_above(dir: &Path) -> bool {
    let Ok(root) = fs::symlink_metadata("/") else { return false };
    let trusted = [own_uid(), 0, root.uid()];
    let Ok(real) = dir.canonicalize() else { return false };
    real.ancestors().skip(1).all(|above| {
        let Ok(stat) = fs::symlink_metadata(above) else { return false };
        let is_sticky = stat.mode() & 0o1000 != 0;
        trusted.contains(&stat.uid()) && (stat.mode() & 0o002 == 0 || is_sticky)
    })
}

/// No bit for group and others.
fn is_closed(mode: u32) -> bool {
    (mode & 0o077).count_ones() == 0
}

/// Removes the folders of processes that no longer run.
fn sweep(at: &Path) {
    let Ok(entries) = fs::read_dir(at) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|n| n.split_once('-'))
            .and_then(|(pid, _)| pid.parse::<u32>().ok());
        let is_dead = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
        if pid.is_some_and(is_dead) && !is_locked(&entry.path()) {
            end_holders(&entry.path());
            let _ = remove_tree(&entry.path());
        }
    }
}

/// Ends what a `bwrap` of a dead process left: it names the private folder in its command line.
/// Where the machine lets `bwrap` be the first of process ids of its own, nothing is ever left.
fn end_holders(folder: &Path) {
    let named = |pid: Pid| {
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let is_bwrap = words.next().is_some_and(|program| program.ends_with(b"/bwrap"));
        is_bwrap && words.any(|word| word == folder.as_os_str().as_encoded_bytes())
    };
    let Ok(entries) = fs::read_dir("/proc") else { return };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for pid in pids.filter_map(Pid::from_raw).filter(|pid| named(*pid)) {
        // Held by its descriptor, it is the same process when it is asked again.
        let held = pidfd_open(pid, PidfdFlags::empty());
        if let Ok(held) = held
            && named(pid)
        {
            let _ = pidfd_send_signal(&held, Signal::KILL);
        }
    }
}

/// Returns true if a process holds the folder, even one that cannot be seen from here.
fn is_locked(folder: &Path) -> bool {
    let tried =
        File::open(folder).map(|file| flock(&file, FlockOperation::NonBlockingLockExclusive));
    matches!(tried, Ok(Err(Errno::WOULDBLOCK)))
}

#[cfg(test)]
mod tests {
    use super::PrivateDir;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_pin_is_private_and_gone_afterwards_and_stale_ones_are_swept() {
        let base = tempfile::tempdir().unwrap();
        let at = base.path().join("pin");
        fs::create_dir_all(at.join("4194305-stale")).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).unwrap();
        let pin = PrivateDir::below(&at).unwrap();
        pin.write("x.py", b"1", false).unwrap();
        pin.write("lib/deep/run", b"1", true).unwrap();
        let modes = [("", 0o700), ("x.py", 0o400), ("lib", 0o700), ("lib/deep/run", 0o500)];
        for (path, mode) in modes {
            let stat = fs::metadata(pin.path().join(path)).unwrap();
            assert_eq!(stat.permissions().mode() & 0o7777, mode, "{path}");
        }
        assert!(pin.write("x.py", b"2", false).is_err(), "a pinned file is written once");
        drop(pin);
        assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_somebody_holds_is_not_swept() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let pin = PrivateDir::below(base.path()).unwrap();
        // As a process in another container would see it: a number that no process here has.
        let foreign = base.path().join("4194305-foreign");
        fs::rename(pin.folder.path(), &foreign).unwrap();
        drop(PrivateDir::below(base.path()).unwrap());
        assert!(foreign.exists(), "it is in use");
        drop(pin);
        drop(PrivateDir::below(base.path()).unwrap());
        assert!(!foreign.exists(), "nobody holds it any more");
    }

    #[test]
    fn a_folder_below_one_that_others_may_write_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let open = base.path().join("open");
        let at = open.join("pin");
        fs::create_dir_all(&at).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).unwrap();
        for (mode, fits) in [(0o755, true), (0o777, false), (0o1777, true)] {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(PrivateDir::below(&at).is_ok(), fits, "{mode:o}");
        }
    }

    #[test]
    fn a_folder_open_to_others_is_refused() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(PrivateDir::below(base.path()).is_err());
    }
}
