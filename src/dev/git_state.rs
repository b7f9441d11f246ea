//! The others that write files while a person edits: git, and other runs of rye.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::base::limits::SMALL_TEXT_BYTES;
use crate::host::{Host, PrivateDir};

/// How long git may be at work before its lock counts as left behind, in milliseconds.
const DEV_GIT_MS: u64 = 10_000;

/// Largest list of packed refs that is read, in bytes: a hundred thousand branches.
const PACKED_BYTES: u64 = 16 << 20;

/// Files in the folder of a worktree while a merge, a cherry-pick, a revert or a rebase is not
/// finished.
const MIDWAY: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/// There is a `.git` that does not lead to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear;

/// A repository that may write files of the project.
pub(super) struct Git {
    /// The worktree's own folder, and the one that it shares with others.
    own: PathBuf,
    common: PathBuf,
}

/// The state of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitIs {
    Idle,
    Busy,
    /// Git is busy for so long that its lock may have been left behind.
    Stuck,
}

impl Git {
    /// The repository of the work tree that holds the folder; `None` outside of work trees. The
    /// program `git` is not run.
    ///
    /// # Errors
    /// A `.git` lies there that does not lead to a repository, so what git does cannot be seen.
    pub(super) fn find(folder: &Path, host: &dyn Host) -> Result<Option<Self>, Unclear> {
        let lies_there = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let Some(folder) = folder.ancestors().find(lies_there) else { return Ok(None) };
        Self::open(folder, host).map(Some).ok_or(Unclear)
    }

    fn open(folder: &Path, host: &dyn Host) -> Option<Self> {
        let path = folder.join(".git");
        let found = if path.metadata().ok()?.is_dir() {
            path
        } else {
            let text = text(host, &path, SMALL_TEXT_BYTES)?;
            folder.join(text.strip_prefix("gitdir:")?.trim())
        };
        Self::at(&found, host)
    }

    /// The repository whose own folder this is.
    pub(super) fn at(folder: &Path, host: &dyn Host) -> Option<Self> {
        let found = folder.canonicalize().ok()?;
        found.join("HEAD").symlink_metadata().ok()?;
        let common = text(host, &found.join("commondir"), SMALL_TEXT_BYTES);
        let common = common.map_or_else(|| found.clone(), |path| found.join(path.trim()));
        Some(Self { own: found, common })
    }

    /// A value that changes whenever the checked-out commit or the index changes.
    pub(super) fn state(&self, host: &dyn Host) -> String {
        // git replaces its index and never writes into it.
        let index = self.own.join("index").symlink_metadata().ok();
        let index = index.map(|s| (s.ino(), s.size(), s.mtime(), s.mtime_nsec(), s.ctime_nsec()));
        format!("{} {index:?}", self.head(host))
    }

    /// A value that changes whenever git took its lock, and with it the right to write files, even
    /// if commit and index stay the same.
    pub(super) fn touched(&self) -> Option<(i64, i64)> {
        self.own.metadata().ok().map(|stat| (stat.ctime(), stat.ctime_nsec()))
    }

    /// Returns true if git stopped in the middle of a merge, a cherry-pick, a revert or a rebase.
    pub(super) fn is_midway(&self) -> bool {
        MIDWAY.iter().any(|name| self.own.join(name).symlink_metadata().is_ok())
    }

    /// A text that changes whenever the checked-out commit changes.
    fn head(&self, host: &dyn Host) -> String {
        let read = |path: &Path| text(host, path, SMALL_TEXT_BYTES);
        let head = read(&self.own.join("HEAD")).unwrap_or_default();
        let Some(name) = head.strip_prefix("ref:").map(str::trim) else { return head };
        let plain = !name.split('/').any(|part| part.is_empty() || part.starts_with('.'));
        let loose = || {
            let mut folders = [&self.own, &self.common].into_iter().filter(|_| plain);
            folders.find_map(|folder| read(&folder.join(name))).map(|text| text.trim().to_owned())
        };
        let packed = || {
            let all = text(host, &self.common.join("packed-refs"), PACKED_BYTES)?;
            let mut lines = all.lines().filter_map(|line| line.split_once(' '));
            lines.find(|(_, named)| *named == name).map(|(commit, _)| commit.to_owned())
        };
        let tables = || {
            let list = |folder: &Path| read(&folder.join("reftable/tables.list"));
            Some(format!("{:?} {:?}", list(&self.own)?, list(&self.common)))
        };
        let value = loose().or_else(packed).or_else(tables).unwrap_or_default();
        format!("{head} {value}")
    }

    /// The state of git: it holds its lock from before it writes the first file until after the
    /// last.
    pub(super) fn is(&self) -> GitIs {
        let Ok(lock) = self.own.join("index.lock").symlink_metadata() else { return GitIs::Idle };
        let age = lock.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
        if age > Duration::from_millis(DEV_GIT_MS) { GitIs::Stuck } else { GitIs::Busy }
    }

    /// The folder that tells one repository, or worktree of one, from another.
    pub(super) fn own(&self) -> &Path {
        &self.own
    }

    /// The folders to watch: something changes in them whenever git works.
    pub(super) fn folders(&self) -> [&Path; 2] {
        [&self.own, &self.common]
    }
}

fn text(host: &dyn Host, path: &Path, cap: u64) -> Option<String> {
    String::from_utf8(host.read(path, cap)?).ok()
}

/// The folder in which each run of this person leaves a trace while a session watches.
pub(super) struct Runs {
    folder: PathBuf,
    last: Option<SystemTime>,
}

impl Runs {
    /// # Errors
    /// The folder cannot be used, so it could not be known whether a run made a change.
    pub(super) fn find(user_base: &Path) -> io::Result<Self> {
        let folder = PrivateDir::home(user_base);
        PrivateDir::watch(&folder)?;
        let last = changed(&folder);
        Ok(Self { folder, last })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns true if anything ran since the last call of this, or runs now.
    pub(super) fn any_since(&mut self) -> bool {
        // The folder is listed last, so that a run that begins meanwhile is seen.
        let now = changed(&self.folder);
        let since = now != self.last;
        self.last = now;
        let mut entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        since || entries.any(|entry| is_alive(&entry.file_name().to_string_lossy()))
    }
}

/// Returns true if the process that a private folder is named after still runs.
fn is_alive(name: &str) -> bool {
    let pid = name.split_once('-').and_then(|(pid, _)| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

fn changed(folder: &Path) -> Option<SystemTime> {
    folder.metadata().and_then(|stat| stat.modified()).ok()
}
