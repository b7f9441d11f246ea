//! Reading at most so much, and writing all or nothing.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::random;
use crate::base::sync::unpoisoned;

/// Age at which a temporary file is one that a killed process left, in seconds: no write takes as
/// long.
const LEFTOVER_SECONDS: u64 = 600;

/// Around the random part of a temporary name; no item's name begins with a dot.
const TEMPORARY: (&str, &str) = (".rye-", ".tmp");
/// Random bytes of a temporary name, so that it cannot be guessed.
const RANDOM: usize = 8;

/// Bytes read under a cap, or the fact that there were more.
#[derive(Debug)]
pub(crate) enum Bounded {
    All(Vec<u8>),
    /// The source holds more than the cap; nothing was kept.
    More,
}

/// Reads at most `cap` bytes.
pub(crate) fn read_at_most(from: &mut impl Read, cap: u64, hint: u64) -> io::Result<Bounded> {
    let mut bytes = Vec::with_capacity(usize::try_from(hint.min(cap)).unwrap_or(0) + 1);
    from.take(cap + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > cap) {
        return Ok(Bounded::More);
    }
    Ok(Bounded::All(bytes))
}

/// Reads at most `cap` bytes of a file that is neither a link nor anything else, such as a pipe,
/// which would never end.
///
/// # Errors
/// `InvalidInput` for what is not a regular file; else what the file system says.
pub(crate) fn read_plain(path: &Path, cap: u64) -> io::Result<Bounded> {
    let mut file = open_plain(path)?;
    let len = file.metadata()?.len();
    read_at_most(&mut file, cap, len)
}

/// Opens a file that is neither a link nor anything else, such as a pipe.
///
/// # Errors
/// `InvalidInput` for what is not a regular file; else what the file system says.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    open_regular(path, OFlags::NOFOLLOW)
}

/// The last bytes of such a file, at most `cap` of them.
///
/// # Errors
/// As [`open_plain`].
pub(crate) fn read_end(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let start = file.metadata()?.len().saturating_sub(cap);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.take(cap).read_to_end(&mut end)?;
    Ok(end)
}

/// Opens a file that a person named on the command line, also through links. A pipe or a device
/// that a project put there would be waited for without end, so it is refused. Exempt are the names
/// of streams of this process (`/dev/stdin`, `/dev/fd/N`), which the caller gives on purpose, as
/// with `<(…)`.
///
/// # Errors
/// `InvalidInput` for what is neither; else what the file system says.
pub(crate) fn open_named(path: &Path) -> io::Result<File> {
    let folders = [Path::new("/dev/fd"), Path::new("/proc/self/fd")];
    let is_stream = path == Path::new("/dev/stdin")
        || path.parent().is_some_and(|parent| folders.contains(&parent));
    if is_stream { File::open(path) } else { open_regular(path, OFlags::empty()) }
}

/// Opens a regular file without waiting for anybody at the other end.
fn open_regular(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = (more | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Refuses a folder that is a link, between `base` and the file `relative` below it: the author of
/// the project chose where it leads.
///
/// # Errors
/// `InvalidInput`, with the folder.
pub(crate) fn refuse_links(base: &Path, relative: &Path) -> io::Result<()> {
    let is_link = |folder: &&Path| {
        fs::symlink_metadata(base.join(folder)).is_ok_and(|stat| stat.is_symlink())
    };
    match relative.ancestors().skip(1).find(|it| !it.as_os_str().is_empty() && is_link(it)) {
        None => Ok(()),
        Some(link) => {
            let why = format!("the folder `{}` is a link", link.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
    }
}

/// Gives a new file the owner and the group of the one that it stands in for, and says its mode.
///
/// Who owns a file and is not in its group cannot give another one to that group. Then the group is
/// the owner's own, and it gets none of the rights that the file gave its group.
fn kept_owner(file: &File, old: &fs::Metadata) -> io::Result<u32> {
    let (new, mode) = (file.metadata()?, old.mode() & 0o777);
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(mode);
    }
    match std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid())) {
        Ok(()) => Ok(mode),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && new.uid() == old.uid() => {
            Ok(mode & !0o070)
        }
        Err(error) => Err(error),
    }
}

/// Replaces or makes `path` so that any crash leaves the old file or the whole of the other one.
///
/// A [`temporary`] file in the same folder, `fsync`, rename, `fsync` of the folder. Mode and owner
/// of an existing file are kept; another gets `mode`. What killed processes left in the folder is
/// removed.
///
/// # Errors
/// An error of the file system. The file is then as it was, but for a folder that could not be
/// `fsync`ed: then the whole of the other file is there already.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = match &old {
        Some(old) => kept_owner(file.as_file(), old)?,
        None => mode,
    };
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()?;
    sweep(folder);
    Ok(())
}

/// Replaces the file at `path` if its bytes are `expected`, keeping mode and owner; false, and
/// nothing is done, if they are others. The two change places in one step, and the replaced file is
/// looked at again: if a person saved another one in the meantime, it is put back.
///
/// # Errors
/// An error of the file system; the file is then as it was, or the whole of the other one.
pub(crate) fn replace_if(path: &Path, expected: &[u8], bytes: &[u8]) -> io::Result<bool> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let is_expected = |path: &Path| {
        let stat = fs::symlink_metadata(path)?;
        let same = stat.is_file() && usize::try_from(stat.len()).is_ok_and(|l| l == expected.len());
        io::Result::Ok((same && fs::read(path)? == expected).then_some(stat))
    };
    let Some(old) = is_expected(path)? else { return Ok(false) };
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    let mode = kept_owner(file.as_file(), &old)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    let exchange = |from: &Path, to: &Path| {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, flags)
    };
    match exchange(file.path(), path) {
        Ok(()) => {}
        // Some file systems cannot; then the look just before is all there is.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if is_expected(path)?.is_none() {
                return Ok(false);
            }
            file.persist(path).map_err(|e| e.error)?;
            File::open(folder)?.sync_all()?;
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    }
    if is_expected(file.path())?.is_none() {
        exchange(file.path(), path)?;
        return Ok(false);
    }
    File::open(folder)?.sync_all()?;
    sweep(folder);
    Ok(true)
}

/// Makes `path`, whole or not at all; what is there already stays as it is.
///
/// # Errors
/// `AlreadyExists`; else what the file system says.
pub(crate) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let file = temporary(folder)?;
    file.as_file().write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()
}

/// Removes the file for good: after a crash it does not come back.
///
/// # Errors
/// An error of the file system.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    File::open(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?.sync_all()
}

/// Creates a temporary file of this process in `folder`, removed when dropped. It is made anew
/// (`O_EXCL`, so no link is followed) under a name that cannot be foreseen.
///
/// # Errors
/// An error of the file system.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut name = tempfile::Builder::new();
    let mut make = fs::OpenOptions::new();
    let make = make.read(true).write(true).create_new(true).mode(0o600);
    // Opened here, since an error of the library names the temporary file, which the caller does
    // not know.
    let file =
        name.prefix(&temporary_name()?).rand_bytes(0).make_in(folder, |path| make.open(path))?;
    // Locked for as long as it is open, so that no process takes it for a leftover.
    let _ = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
    Ok(file)
}

/// A name that cannot be foreseen, and by which [`sweep`] knows what a killed process left.
///
/// # Errors
/// Without randomness.
pub(crate) fn temporary_name() -> io::Result<String> {
    let mut unforeseen = [0; RANDOM];
    random::fill(&mut unforeseen)?;
    Ok(format!("{}{}{}", TEMPORARY.0, hex::encode(unforeseen), TEMPORARY.1))
}

/// Removes temporary files and empty folders of ours that processes left in `folder` when they were
/// killed: by name, owner and age, and only if no process has them open. It happens once for each
/// folder and process, since a batch writes many files into one.
pub(crate) fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if !unpoisoned(SWEPT.lock()).insert(folder.to_owned()) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = is_temporary(&entry.file_name().to_string_lossy());
        if is_ours && is_leftover(&path) && !is_held(&path) {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(path));
        }
    }
}

fn is_temporary(name: &str) -> bool {
    // A database has files beside it while it is made.
    let name = name.strip_suffix("-wal").or(name.strip_suffix("-shm")).unwrap_or(name);
    let random = name.strip_prefix(TEMPORARY.0).and_then(|n| n.strip_suffix(TEMPORARY.1));
    random.is_some_and(|r| r.len() == 2 * RANDOM && r.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns true if no process writes to it any more, as far as its age can say.
fn is_leftover(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let Ok(stat) = fs::symlink_metadata(path) else { return false };
    let age = stat.modified().ok().and_then(|at| at.elapsed().ok());
    let is_one = stat.is_file() || stat.is_dir();
    is_one && stat.uid() == own && age > Some(Duration::from_secs(LEFTOVER_SECONDS))
}

/// Returns true if a process has it open, such as one that writes a receipt when its run is over.
fn is_held(path: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let tried = opened.map(|file| flock(&file, FlockOperation::NonBlockingLockExclusive));
    matches!(tried, Ok(Err(Errno::WOULDBLOCK)))
}

#[cfg(test)]
mod tests {
    use super::{Bounded, read_at_most, replace_if, temporary, write_atomic};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    #[test]
    fn reading_stops_at_the_cap() {
        assert!(
            matches!(read_at_most(&mut &b"abc"[..], 3, 0).unwrap(), Bounded::All(b) if b == b"abc")
        );
        assert!(matches!(
            read_at_most(&mut std::io::repeat(0), 3, 1 << 40).unwrap(),
            Bounded::More
        ));
    }

    #[test]
    fn an_existing_mode_is_kept_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write_atomic(&path, b"1", 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        write_atomic(&path, b"2", 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read(&path).unwrap(), b"2");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_replaced_only_while_it_is_what_was_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "seen").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(!replace_if(&path, b"other", b"signed").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"seen");
        assert!(replace_if(&path, b"seen", b"signed").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"signed");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_write_sweeps_what_killed_processes_left_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_hours(24);
        let names = [".rye-0123456789abcdef.tmp", ".rye-notes.tmp", ".rye-0123456789abcdef"];
        for name in names {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let folder = dir.path().join(".rye-00000000000000ff.tmp");
        fs::create_dir(&folder).unwrap();
        fs::File::open(&folder).unwrap().set_modified(old).unwrap();
        let young = ".rye-fedcba9876543210.tmp";
        fs::write(dir.path().join(young), "").unwrap();
        let held = temporary(dir.path()).unwrap();
        held.as_file().set_modified(old).unwrap();
        write_atomic(&dir.path().join("x"), b"1", 0o600).unwrap();
        assert!(held.path().exists(), "somebody still writes to it");
        drop(held);
        let left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 4, "{left:?}");
        assert!(!dir.path().join(names[0]).exists() && dir.path().join(young).exists());
    }
}
