//! The copy of git's index in which a tool works that may write a repository (`git: write`).
//!
//! Git follows the settings of each repository that its index names. So the index itself is closed
//! to a tool, and its copy is taken over at the end, if it names no repository that was not there.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::base::bytes::{Bounded, read_at_most, write_new};
use crate::base::durations::GIT_SETTINGS_TIME;
use crate::base::limits::GIT_INDEX_BYTES;
use crate::base::text::brief_line;
use crate::host::{Commits, Host, PrivateDir, Spawn};

/// See the module.
#[derive(Debug)]
pub(super) struct GitIndex {
    private: PrivateDir,
    commits: Commits,
    /// The index as it was; none in a new repository.
    before: Option<Vec<u8>>,
}

impl GitIndex {
    /// Copies the index of the repository into the private folder.
    ///
    /// # Errors
    /// An error of the file system.
    pub(super) fn copied(private: PrivateDir, commits: &Commits) -> io::Result<Self> {
        let before = read(&commits.repository.join("index"))?;
        if let Some(bytes) = &before {
            write_new(&private.path().join("index"), bytes, 0o600)?;
        }
        Ok(Self { private, commits: commits.clone(), before })
    }

    pub(super) fn folder(&self) -> &Path {
        self.private.path()
    }

    /// Puts the copy into the place of the index, if the tool changed it.
    ///
    /// # Errors
    /// The index stays as it was: the copy names what git must not follow, git cannot read it, or
    /// another process changed the index or is about to.
    pub(super) fn take_over(&self, host: &dyn Host) -> io::Result<()> {
        let made = read(&self.folder().join("index"))?;
        if made == self.before {
            return Ok(());
        }
        let made = made.ok_or_else(|| io::Error::other("the tool removed its copy"))?;
        let judged = self.folder().join("judged");
        write_new(&judged, &made, 0o600)?;
        // What it would share with a file in the repository could be changed there later.
        self.ask(host, &judged, &["update-index", "--no-split-index"])?;
        let real = self.commits.repository.join("index");
        let linked = |index: &Path| -> io::Result<BTreeSet<Vec<u8>>> {
            let said = self.ask(host, index, &["ls-files", "--stage", "-z"])?;
            let entries = said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
            let mut links = BTreeSet::new();
            for entry in entries {
                let mut halves = entry.splitn(2, |byte| *byte == b'\t');
                let mode = halves.next().unwrap_or_default();
                let path = halves.next().unwrap_or_default();
                if path.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git")) {
                    let path = String::from_utf8_lossy(path);
                    return Err(io::Error::other(format!("it names `{path}`")));
                }
                if mode.starts_with(b"160000 ") {
                    links.insert(path.to_vec());
                }
            }
            Ok(links)
        };
        let before = match &self.before {
            Some(_) => linked(&real)?,
            None => BTreeSet::new(),
        };
        if let Some(new) = linked(&judged)?.difference(&before).next() {
            let new = String::from_utf8_lossy(new);
            return Err(io::Error::other(format!("it names a repository at `{new}`")));
        }
        let bytes = read(&judged)?.ok_or(io::ErrorKind::NotFound)?;
        self.place(&real, &bytes)
    }

    /// As git does it: the process that makes the lock may replace the index by it.
    fn place(&self, real: &Path, bytes: &[u8]) -> io::Result<()> {
        let lock = real.with_extension("lock");
        let made = OpenOptions::new().write(true).create_new(true).open(&lock);
        let mut made = made.map_err(|error| {
            io::Error::new(error.kind(), format!("`{}`: {error}", lock.display()))
        })?;
        let replaced = match read(real) {
            Ok(now) if now == self.before => {
                let written = made.write_all(bytes).and_then(|()| made.sync_all());
                written.and_then(|()| fs::rename(&lock, real))
            }
            Ok(_) => Err(io::Error::other("somebody changed it during the run")),
            Err(error) => Err(error),
        };
        replaced.inspect_err(|_| drop(fs::remove_file(&lock)))
    }

    /// Asks git about this index; git starts no program, and no variable of the caller reaches it.
    fn ask(&self, host: &dyn Host, index: &Path, args: &[&str]) -> io::Result<Vec<u8>> {
        let Commits { repository, git, .. } = &self.commits;
        let time = Duration::from_secs(GIT_SETTINGS_TIME);
        let mut spawn = Spawn::new(git, repository, GIT_INDEX_BYTES, time);
        spawn.stops_at_cap = true;
        spawn.args = vec!["--git-dir".into(), repository.into()];
        for setting in ["core.fsmonitor=false", "core.splitIndex=false"] {
            spawn.args.extend(["-c".into(), setting.into()]);
        }
        spawn.args.extend(args.iter().map(Into::into));
        spawn.env.insert("GIT_INDEX_FILE".into(), index.into());
        spawn.env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
        spawn.env.insert("LC_ALL".into(), "C".into());
        let ended = host.run(&spawn, &mut |_| {})?;
        match ended.exit_code {
            Some(0) if !ended.stdout_truncated => Ok(ended.stdout),
            _ => Err(io::Error::other(format!(
                "git cannot read it: {}",
                brief_line(&String::from_utf8_lossy(&ended.stderr))
            ))),
        }
    }
}

/// The bytes of a regular file, if it is there.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file: File = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    match read_at_most(&mut &file, GIT_INDEX_BYTES as u64, 0)? {
        Bounded::All(bytes) => Ok(Some(bytes)),
        Bounded::More => Err(io::Error::other("it is too large")),
    }
}
