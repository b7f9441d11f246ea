//! Every repository that may write a file of the project.
//!
//! A file belongs to the work tree that it lies in: that of the project, of a submodule, of a
//! repository below `.ai`, or of one that `.ai` leads to. A bare repository writes wherever
//! `--work-tree` says, so bare repositories beside the files that have an index count too, and so
//! does the one that `GIT_DIR` names. A repository that lies elsewhere and has its work tree here
//! cannot be found; the page of `rye dev` says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::git_state::{Git, GitIs, Unclear};
use crate::host::Host;

/// Entries of a folder among which bare repositories are looked for. A home has hundreds.
const BESIDE: usize = 4096;

/// The repositories by their own folders.
pub(super) struct Repositories {
    all: BTreeMap<PathBuf, Git>,
    /// Some `.git` does not lead to a repository.
    is_unclear: bool,
}

/// The commit and index of each repository, to see changes.
pub(super) type States = BTreeMap<PathBuf, String>;

/// When each repository last took its lock.
pub(super) type Touches = BTreeMap<PathBuf, Option<(i64, i64)>>;

impl Repositories {
    /// The repositories that may write into the folders; these lie below `project` or where `.ai`
    /// leads.
    pub(super) fn find(
        project: &Path,
        folders: &BTreeSet<PathBuf>,
        named: Option<PathBuf>,
        host: &dyn Host,
    ) -> Self {
        let mut found = Self { all: BTreeMap::new(), is_unclear: false };
        let parents = project.ancestors().take(2).map(Path::to_owned);
        let folders: BTreeSet<PathBuf> = folders.iter().cloned().chain(parents).collect();
        for folder in &folders {
            match Git::find(folder, host) {
                Ok(git) => found.add(git),
                Err(Unclear) => found.is_unclear = true,
            }
            for bare in beside(folder) {
                found.add(Git::at(&bare, host));
            }
        }
        if let Some(named) = named {
            let git = Git::at(&project.join(named), host);
            found.is_unclear |= git.is_none();
            found.add(git);
        }
        found
    }

    fn add(&mut self, git: Option<Git>) {
        self.all.extend(git.map(|git| (git.own().to_owned(), git)));
    }

    pub(super) fn is_unclear(&self) -> bool {
        self.is_unclear
    }

    pub(super) fn states(&self, host: &dyn Host) -> States {
        self.all.iter().map(|(own, git)| (own.clone(), git.state(host))).collect()
    }

    pub(super) fn touches(&self) -> Touches {
        self.all.iter().map(|(own, git)| (own.clone(), git.touched())).collect()
    }

    pub(super) fn is_midway(&self) -> bool {
        self.all.values().any(Git::is_midway)
    }

    /// The state of the busiest of them.
    pub(super) fn are(&self) -> GitIs {
        let mut all = GitIs::Idle;
        for git in self.all.values() {
            match git.is() {
                GitIs::Stuck => return GitIs::Stuck,
                GitIs::Busy => all = GitIs::Busy,
                GitIs::Idle => {}
            }
        }
        all
    }

    /// The folders to watch: something changes in them whenever git works.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.all.values().flat_map(Git::folders)
    }
}

/// Folders in this one that are the own folder of a repository with an index.
fn beside(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(BESIDE);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let holds = |path: &Path, name: &str| path.join(name).symlink_metadata().is_ok();
    let is_one = |path: &PathBuf| {
        holds(path, "HEAD")
            && holds(path, "objects")
            && (holds(path, "index") || holds(path, "index.lock"))
    };
    folders.map(|entry| entry.path()).filter(is_one).collect()
}
