//! Processes of rye that go on when the one ends that started them: detached runs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::Pid;

/// The only argument of rye as the process of a detached run.
pub(crate) const DETACHED_RUN: &str = "--detached-run";

/// A program file. As long as a process executes it no other file is taken for it, whatever lies at
/// its path by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramFile {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl ProgramFile {
    /// The file that this process executes.
    ///
    /// # Errors
    /// The system does not say it.
    pub(crate) fn own() -> io::Result<Self> {
        Self::at(Path::new("/proc/self/exe"))
    }

    /// The file that another process executes.
    ///
    /// # Errors
    /// The system does not say it.
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        Self::at(&Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("exe"))
    }

    fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|file| Self { device: file.dev(), inode: file.ino() })
    }
}

/// Returns true if a process is rye, by the file that this process executes too, as a detached run.
pub(super) fn goes_on_by_itself(pid: Pid) -> bool {
    let folder = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    if !ProgramFile::of(pid).is_ok_and(|file| ProgramFile::own().is_ok_and(|own| file == own)) {
        return false;
    }
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    // Each word ends with a zero, the last one too.
    matches!(words[..], [_, only, b""] if only == DETACHED_RUN.as_bytes())
}
