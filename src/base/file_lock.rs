//! Locks on open files, which the kernel releases when the file is closed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Five seconds in all, since another program may hold a lock as long as it runs.
const TRIES: usize = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Locks a file or folder for this process alone.
///
/// # Errors
/// As for [`lock_shared`].
pub(crate) fn lock(file: &File, path: &Path) -> io::Result<()> {
    wait(file, path, FlockOperation::NonBlockingLockExclusive)
}

/// Locks a file or folder together with other processes that do so. A file system without locks
/// grants each.
///
/// # Errors
/// `WouldBlock` if another program held the lock for five seconds; what the file system says.
pub(crate) fn lock_shared(file: &File, path: &Path) -> io::Result<()> {
    wait(file, path, FlockOperation::NonBlockingLockShared)
}

fn wait(file: &File, path: &Path, operation: FlockOperation) -> io::Result<()> {
    for _ in 0..TRIES {
        match flock(file, operation) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => sleep(PAUSE),
            Err(Errno::NOSYS | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL) => return Ok(()),
            locked => return locked.map_err(io::Error::from),
        }
    }
    let why = format!("another program holds a lock on `{}`", path.display());
    Err(io::Error::new(io::ErrorKind::WouldBlock, why))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    #[test]
    fn a_lock_that_another_program_keeps_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [one, two] = [(); 2].map(|()| File::open(file.path()).unwrap());
        super::lock_shared(&one, file.path()).unwrap();
        super::lock_shared(&two, file.path()).unwrap();
        drop(two);
        super::lock(&one, file.path()).unwrap();
        let two = File::open(file.path()).unwrap();
        let error = super::lock(&two, file.path()).unwrap_err().to_string();
        assert!(error.contains("another program holds a lock on"), "{error}");
    }
}
