//! Placeholders for kept places that do not exist. A mount needs something to be mounted on, so an
//! empty file or folder is created for the run and removed afterwards.
//!
//! A placeholder is recognised by its modification time, which only rye sets. Several runs may need
//! the same one: each holds a shared lock on it, and a run that gets the exclusive lock removes it.
//! The placeholder of a killed run is recognised in the same way. It is removed by the next run
//! that needs the place, or that names it to [`sweep`]. A tool that may read the project can hold
//! such a lock as well, so no run waits for one long.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, RenameFlags, Timespec, Timestamps, UTIME_OMIT,
    flock, mknodat, renameat_with, utimensat,
};
use rustix::io::Errno;

use crate::base::bytes;
use crate::base::file_lock::lock_shared;
use crate::host::KeptPath;

/// The modification time that marks a placeholder, in seconds since 1970; none gets it by chance.
const SIGN: u64 = 0x7279_6500 / 2;

/// Folders of a repository, in place of which a placeholder is no folder. A socket is one that git
/// and other programs pass over: none of them shows it, adds it or waits for it.
const OF_REPOSITORY: [&str; 2] = ["refs", "objects"];

/// The placeholders of this run. Dropping it removes those that no other run needs.
#[derive(Debug, Default)]
pub(super) struct MountPoints {
    /// Outer folders stand before inner ones.
    held: Vec<(PathBuf, File)>,
}

impl MountPoints {
    /// Creates the place and the folders above it, where they do not exist. False if that is not
    /// possible: then the tool, which may do less than we, cannot create it either.
    ///
    /// # Errors
    /// An error of the file system.
    pub(super) fn keep(&mut self, kept: &KeptPath) -> io::Result<bool> {
        let mut above: Vec<&Path> = kept.path.ancestors().skip(1).collect();
        above.reverse();
        for folder in above.into_iter().filter(|path| !path.as_os_str().is_empty()) {
            if !self.hold(folder, true)? {
                return Ok(false);
            }
        }
        self.hold(&kept.path, kept.is_folder)
    }

    /// Creating something in a placeholder folder changed its time.
    fn sign_above(&self, path: &Path) -> io::Result<()> {
        match self.held.iter().find(|(held, _)| Some(held.as_path()) == path.parent()) {
            Some((folder, _)) => sign(folder).map_err(io::Error::from),
            None => Ok(()),
        }
    }

    fn hold(&mut self, path: &Path, is_folder: bool) -> io::Result<bool> {
        if self.held.iter().any(|(held, _)| held == path) {
            return Ok(true);
        }
        // Another run may remove it between our creating and locking it.
        for _ in 0..100 {
            if fs::symlink_metadata(path).is_err() {
                match make(path, is_folder) {
                    Ok(()) => self.sign_above(path)?,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) if is_out_of_reach(path, &error) => return Ok(false),
                    Err(error) => return Err(told(path, &error)),
                }
            }
            let stat = match fs::symlink_metadata(path) {
                Ok(stat) if !is_ours(&stat) => return Ok(true),
                Ok(stat) => stat,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            // A socket cannot be opened, so the folder around it is locked.
            let is_socket = stat.file_type().is_socket();
            let locked = path.parent().filter(|_| is_socket).unwrap_or(path);
            let Ok(file) = File::open(locked) else { continue };
            lock_shared(&file, path)?;
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
            let is_same = || fs::read(&path).is_ok_and(|text| text == said(&path));
            let is_empty = stat.file_type().is_socket() || (stat.is_file() && is_same());
            let is_empty_file = is_empty && is_ours(&stat);
            // Removing a folder fails if it is not empty. Its time is not checked, because creating
            // and removing something in it changes that.
            let is_gone = match stat.is_dir() {
                true => fs::remove_dir(&path).is_ok(),
                false => is_empty_file && fs::remove_file(&path).is_ok(),
            };
            // The folder above may still be needed by another run. If that one is killed, the time
            // must mark the folder.
            if is_gone && let Some(above) = path.parent().filter(|above| held.contains(*above)) {
                let _ = sign(above);
            }
        }
    }
}

/// Creates a placeholder in one step: it is completed and marked under a temporary name, then it
/// takes its place. A kill at any moment leaves a whole placeholder or a temporary name.
///
/// # Errors
/// `AlreadyExists`; else what the disk says.
fn make(path: &Path, is_folder: bool) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = folder.join(bytes::temporary_name()?);
    let placed = create(&temporary, path, is_folder).and_then(|()| {
        match renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE) {
            // Some network file systems cannot; there it is made in its place, in several steps.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => create(path, path, is_folder),
            renamed => renamed.map_err(io::Error::from),
        }
    });
    let _ = fs::remove_file(&temporary).or_else(|_| fs::remove_dir(&temporary));
    bytes::sweep(folder);
    placed
}

/// Creates what stands for `path` at `at`, and marks it.
fn create(at: &Path, path: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        DirBuilder::new().mode(0o700).create(at)?;
    } else if OF_REPOSITORY.iter().any(|name| path.ends_with(name))
        && mknodat(CWD, at, FileType::Socket, Mode::RUSR | Mode::WUSR, 0).is_ok()
    {
        // Not every file system has sockets; there it is a file.
    } else {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(at)?;
        file.write_all(said(path))?;
    }
    sign(at).map_err(io::Error::from)
}

/// Removes those of these places that a killed run left and no other run needs.
pub(super) fn sweep(places: &[PathBuf]) {
    let mut left = MountPoints::default();
    for path in places {
        let stat = fs::symlink_metadata(path).ok().filter(is_ours);
        if let Some(stat) = stat {
            let _ = left.hold(path, stat.is_dir());
        }
    }
}

/// The content of a placeholder file: nothing, except where git refuses an empty file. There it
/// says what git assumes without the file.
fn said(path: &Path) -> &'static [u8] {
    // An index of no entries, and its digest.
    const INDEX: &[u8] = b"DIRC\0\0\0\x02\0\0\0\0\x39\xd8\x90\x13\x9e\xe5\x35\x6c\x7e\xf5\x72\x21\x6c\xeb\xcd\x27\xaa\x41\xf9\xdf";
    match path {
        _ if path.ends_with(".git/commondir") => b".\n",
        _ if path.ends_with(".git/index") => INDEX,
        _ => b"",
    }
}

/// Returns true if the place can never be created by a tool: the disk is read only, the file system
/// takes no files, or the folder is another user's. In a folder of our own a tool could change the
/// mode.
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

fn sign(path: &Path) -> rustix::io::Result<()> {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let modified = time(i64::try_from(SIGN).unwrap_or_default(), 0);
    let times = Timestamps { last_access: time(0, UTIME_OMIT), last_modification: modified };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_ours(stat: &fs::Metadata) -> bool {
    stat.uid() == rustix::process::geteuid().as_raw()
        && stat.mtime() == i64::try_from(SIGN).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rustix::fs::inotify::{self, ReadFlags, WatchFlags};

    use super::MountPoints;
    use crate::host::KeptPath;

    #[test]
    fn where_nothing_can_be_made_nothing_has_to_be_kept() {
        let mut points = MountPoints::default();
        // No user, root included, can create files in this file system.
        let kept = KeptPath { path: "/sys/kernel/.git/hooks".into(), is_folder: true };
        assert!(!points.keep(&kept).unwrap());
        assert!(points.held.is_empty());
    }

    #[test]
    fn a_folder_of_two_runs_is_gone_also_when_the_last_one_was_killed() {
        let base = tempfile::tempdir().unwrap();
        let kept =
            |name: &str| KeptPath { path: base.path().join(".config").join(name), is_folder: true };
        let (mut first, mut second) = (MountPoints::default(), MountPoints::default());
        assert!(first.keep(&kept("git")).unwrap());
        assert!(second.keep(&kept("fish")).unwrap());
        drop(first);
        assert!(
            base.path().join(".config/fish").exists() && !base.path().join(".config/git").exists()
        );
        // As if it was killed: its locks are released, and nothing is removed.
        second.held.clear();
        drop(second);
        let mut third = MountPoints::default();
        assert!(third.keep(&kept("fish")).unwrap());
        drop(third);
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_run_waits_for_what_another_program_locks() {
        let base = tempfile::tempdir().unwrap();
        let kept = KeptPath { path: base.path().join(".git"), is_folder: true };
        let mut first = MountPoints::default();
        assert!(first.keep(&kept).unwrap());
        first.held.clear();
        let lock = std::fs::File::open(&kept.path).unwrap();
        super::flock(&lock, super::FlockOperation::LockExclusive).unwrap();
        let error = MountPoints::default().keep(&kept).unwrap_err().to_string();
        assert!(error.contains("another program holds a lock on"), "{error}");
    }

    #[test]
    fn a_placeholder_appears_whole_and_marked_and_a_kill_before_that_leaves_a_temporary_name() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join(".git");
        std::fs::create_dir(&folder).unwrap();
        let watcher = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        let all =
            WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::MOVED_TO;
        inotify::add_watch(&watcher, &folder, all).unwrap();
        let mut points = MountPoints::default();
        let all = [("commondir", false), ("index", false), ("hooks", true), ("refs", false)];
        for (name, is_folder) in all {
            assert!(points.keep(&KeptPath { path: folder.join(name), is_folder }).unwrap());
        }
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watcher, &mut buffer);
        let mut of_places = Vec::new();
        let mut others = 0;
        while let Ok(event) = events.next() {
            let name = event.file_name().unwrap().to_str().unwrap().to_owned();
            if name.starts_with(".rye-") {
                others += 1;
            } else {
                of_places.push((name, event.events() & !ReadFlags::ISDIR));
            }
        }
        let placed = |name: &str| (name.to_owned(), ReadFlags::MOVED_TO);
        assert_eq!(of_places, ["commondir", "index", "hooks", "refs"].map(placed));
        assert!(others > 3, "{others} steps under temporary names");
        drop(points);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_a_kill_left_under_a_temporary_name_goes_with_the_next_placeholder() {
        let base = tempfile::tempdir().unwrap();
        let index = base.path().join("index");
        for (name, is_folder) in
            [(".rye-0123456789abcdef.tmp", false), (".rye-00000000000000ff.tmp", true)]
        {
            super::create(&base.path().join(name), &index, is_folder).unwrap();
        }
        let mut points = MountPoints::default();
        assert!(points.keep(&KeptPath { path: index, is_folder: false }).unwrap());
        drop(points);
        assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_git_reads_says_what_is_so_without_it_and_goes() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join(".git/commondir");
        let mut points = MountPoints::default();
        assert!(points.keep(&KeptPath { path: path.clone(), is_folder: false }).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b".\n");
        drop(points);
        assert!(!base.path().join(".git").exists());
    }
}
