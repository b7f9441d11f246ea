//! Gives hints from the file system that something may have changed.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::error::DevError;

/// Tells whether a folder is watched with all that lies below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Alone,
    Whole,
}

/// Watches folders, and makes a socket readable when something happened in one of them.
pub(super) struct Watch {
    #[cfg(feature = "dev")]
    watcher: notify::RecommendedWatcher,
    wakes: UnixStream,
    /// Each folder by device and inode, so that another folder at the same path is watched anew.
    #[cfg(feature = "dev")]
    watched: BTreeMap<PathBuf, (u64, u64)>,
}

#[cfg(feature = "dev")]
impl Watch {
    /// # Errors
    /// `dev.watch`
    pub(super) fn new() -> Result<Self, DevError> {
        use std::io::Write;
        let (wakes, wake) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let heard = move |event: notify::Result<notify::Event>| {
            // Reading a file is not a change; an overflow or an error is a reason to scan.
            if event.is_ok_and(|event| is_looking(event.kind)) {
                return;
            }
            // A full socket is readable already.
            let _ = (&wake).write(&[1]);
        };
        let watcher = notify::recommended_watcher(heard).map_err(|e| failed(&e))?;
        Ok(Self { watcher, wakes, watched: BTreeMap::new() })
    }

    /// Watches these folders and no others; those that are not there are passed over.
    ///
    /// # Errors
    /// `dev.watch`
    pub(super) fn cover(&mut self, wanted: &BTreeMap<PathBuf, Depth>) -> Result<(), DevError> {
        use std::os::unix::fs::MetadataExt;
        use std::path::Path;

        use notify::{RecursiveMode, Watcher};
        let identity = |path: &Path| {
            path.metadata().ok().filter(std::fs::Metadata::is_dir).map(|m| (m.dev(), m.ino()))
        };
        let over = self
            .watched
            .iter()
            .filter(|(path, known)| !wanted.contains_key(*path) || identity(path) != Some(**known));
        let over: Vec<PathBuf> = over.map(|(path, _)| path.clone()).collect();
        for path in over {
            // A folder that is gone lost its watch.
            let _ = self.watcher.unwatch(&path);
            self.watched.remove(&path);
        }
        for (path, depth) in wanted {
            let Some(now) = identity(path).filter(|_| !self.watched.contains_key(path)) else {
                continue;
            };
            let mode = match depth {
                Depth::Alone => RecursiveMode::NonRecursive,
                Depth::Whole => RecursiveMode::Recursive,
            };
            match self.watcher.watch(path, mode) {
                Ok(()) => drop(self.watched.insert(path.clone(), now)),
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        Ok(())
    }
}

#[cfg(feature = "dev")]
fn is_looking(kind: notify::EventKind) -> bool {
    use notify::event::{AccessKind, AccessMode, EventKind};
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

#[cfg(feature = "dev")]
fn failed(error: &notify::Error) -> DevError {
    DevError::Watch { why: crate::base::text::brief_line(&error.to_string()) }
}

#[cfg(not(feature = "dev"))]
impl Watch {
    /// # Errors
    /// `dev.watch`: this build has no watcher.
    pub(super) fn new() -> Result<Self, DevError> {
        Err(DevError::Watch { why: "this rye was built without the feature `dev`".into() })
    }

    pub(super) fn cover(&mut self, _: &BTreeMap<PathBuf, Depth>) -> Result<(), DevError> {
        Self::new().map(drop)
    }
}

impl Watch {
    /// Readable when something may have changed.
    pub(super) fn wakes(&self) -> &UnixStream {
        &self.wakes
    }

    /// Returns true if there is a hint that was not taken.
    pub(super) fn is_hinted(&self) -> bool {
        let mut fds = [rustix::event::PollFd::new(&self.wakes, rustix::event::PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Takes every hint so far.
    pub(super) fn take(&self) {
        let mut bytes = [0; 1024];
        while rustix::io::read(&self.wakes, &mut bytes[..]).is_ok_and(|read| read == bytes.len()) {}
    }
}
