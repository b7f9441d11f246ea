//! The repositories in what a tool may write: submodules, clones and work trees.
//!
//! Git follows the settings of each, and asks those of submodules also when a person calls it in
//! the repository around them. So what makes a folder a repository is kept, wherever it is: the
//! `.git` of each, and what that leads to. A submodule that is not checked out has none; there the
//! folder is kept, so that no tool makes one.
//!
//! So is what the settings of each name in what the tool may write: files that they include, hooks,
//! programs.
//!
//! The submodules of a repository are known by its index. Other repositories, bare ones too, are
//! looked for below the project alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_programs::{NamedPlace, named_places};
use super::gitlinks::{Gitlinks, gitlinks};
use super::protected::GIT;
use crate::base::limits::{GIT_FILE_BYTES, GIT_INDEX_BYTES, INNER_NAMES};
use crate::host::{CannotConfine, Host, InnerRepositories, KeptPath, PlaceKind};

/// Repositories and submodules that are kept from one tool: `bwrap` takes some 0.3 s for 170, and
/// 2 s for so many.
const INNER_REPOSITORIES: usize = 500;

/// The context of the search for repositories in a project.
pub(super) struct Grounds<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) project: &'a Path,
    pub(super) home: Option<&'a Path>,
    /// The person's own settings of git, and those of the machine.
    pub(super) settings: Vec<PathBuf>,
}

/// The places to keep in the repositories, and the repositories themselves. `write` is what the
/// tool may write, links resolved; `all` says that it may write the whole project, whatever stands
/// there.
///
/// # Errors
/// `sandbox.cannot_protect`: an index cannot be read, or names too many submodules.
pub(super) fn inner_repositories(
    grounds: &Grounds<'_>,
    write: &BTreeSet<PathBuf>,
    all: bool,
) -> Result<(Vec<KeptPath>, InnerRepositories), CannotConfine> {
    let Grounds { host, project, .. } = *grounds;
    let whole = all.then(|| project.to_owned());
    // What is not there is a folder that is made for the run.
    let is_folder = |path: &&PathBuf| host.kind(path) != Some(PlaceKind::Other);
    let folders = write.iter().filter(is_folder).cloned();
    let mut search = Search {
        grounds,
        host,
        write,
        folders: whole.into_iter().chain(folders).collect(),
        kept: BTreeMap::new(),
        seen: BTreeSet::new(),
        left: Vec::new(),
        bytes: GIT_INDEX_BYTES as u64,
    };
    let around: BTreeSet<PathBuf> =
        search.folders.iter().flat_map(|folder| folder.ancestors()).map(Path::to_owned).collect();
    search.left.extend(around);
    search.follow()?;
    let mut inner = InnerRepositories::default();
    for folder in &search.folders {
        let below = match (folder.starts_with(project), project.starts_with(folder)) {
            (true, _) => folder,
            (false, true) => project,
            (false, false) => continue,
        };
        if !inner.below.iter().any(|other| below.starts_with(other)) {
            inner.below.push(below.to_owned());
        }
    }
    for below in inner.below.clone() {
        let found = host.named_below(&below, GIT.0, INNER_NAMES);
        inner.is_whole &= found.is_whole;
        let bare: BTreeSet<_> = found.bare.into_iter().collect();
        for git in found.at.into_iter().chain(bare.iter().cloned()) {
            let is_known = search.kept.keys().any(|kept| git.starts_with(kept));
            let is_full = search.kept.len() >= INNER_REPOSITORIES;
            if !is_known && is_full {
                inner.is_whole = false;
            } else if bare.contains(&git) {
                search.keep_unless_granted(&git);
            } else if git.parent() != Some(project) {
                search.keep_unless_granted(&git);
                search.left.extend(git.parent().map(Path::to_owned));
                search.follow()?;
            }
            inner.known.insert(git);
        }
    }
    let kept = search.kept.into_iter();
    let kept = kept.map(|(path, is_folder)| KeptPath { path, is_folder }).collect();
    Ok((kept, inner))
}

struct Search<'a> {
    grounds: &'a Grounds<'a>,
    host: &'a dyn Host,
    write: &'a BTreeSet<PathBuf>,
    /// The folders that may be written.
    folders: BTreeSet<PathBuf>,
    /// Each with whether it is a folder.
    kept: BTreeMap<PathBuf, bool>,
    seen: BTreeSet<PathBuf>,
    /// Folders that may be work trees and were not looked at.
    left: Vec<PathBuf>,
    /// The bytes of indexes that may still be read.
    bytes: u64,
}

impl Search<'_> {
    /// Looks at what is left, and at the submodules of what it finds.
    fn follow(&mut self) -> Result<(), CannotConfine> {
        while let Some(tree) = self.left.pop() {
            if self.seen.insert(tree.clone()) && self.host.kind(&tree.join(GIT.0)).is_some() {
                self.work_tree(&tree)?;
            }
        }
        Ok(())
    }

    fn work_tree(&mut self, tree: &Path) -> Result<(), CannotConfine> {
        let git = tree.join(GIT.0);
        let Some(repository) = self.led_to(&git) else { return Ok(()) };
        let common = self.named_in(&repository.join("commondir"), "").unwrap_or_default();
        for place in [&repository, &common].into_iter().filter(|place| **place != git) {
            self.keep_unless_granted(place);
        }
        let own = [&repository, &common];
        let own = own.into_iter().flat_map(|it| ["config", "config.worktree"].map(|n| it.join(n)));
        let files: Vec<_> = own.chain(self.grounds.settings.iter().cloned()).collect();
        for named in named_places(self.host, &files, tree, self.grounds.home) {
            self.keep_named(&named);
        }
        let links = self.links(&repository)?;
        let paths = links.paths.iter().filter_map(|path| below(tree, path));
        paths.into_iter().try_for_each(|path| self.submodule(tree, &path))
    }

    /// The folder that a `.git` is or leads to.
    fn led_to(&self, git: &Path) -> Option<PathBuf> {
        self.host.real_folder(git).or_else(|| self.named_in(git, "gitdir:"))
    }

    /// The folder that stands in a file, behind this word.
    fn named_in(&self, file: &Path, word: &str) -> Option<PathBuf> {
        let text = self.host.read(file, GIT_FILE_BYTES)?;
        let named = text.strip_prefix(word.as_bytes())?.trim_ascii();
        // It counts from where the file lies, not from where a link to it does.
        let from = self.host.real_file(file)?;
        self.host.real_folder(&from.parent()?.join(OsStr::from_bytes(named)))
    }

    fn links(&mut self, repository: &Path) -> Result<Gitlinks, CannotConfine> {
        let mut links = self.index(&repository.join("index"))?;
        if let Some(shared) = links.shared.take() {
            let shared = repository.join(format!("sharedindex.{shared}"));
            links.paths.extend(self.index(&shared)?.paths);
        }
        Ok(links)
    }

    fn index(&mut self, index: &Path) -> Result<Gitlinks, CannotConfine> {
        let cannot = |what: &str| CannotConfine::Submodules {
            index: index.to_owned(),
            why: format!("{what}, so it is not known which submodules are kept from the tool"),
        };
        if self.host.kind(index).is_none() {
            return Ok(Gitlinks::default());
        }
        let bytes = self.host.read(index, self.bytes);
        let bytes = bytes.ok_or_else(|| cannot("cannot be read or is too large"))?;
        self.bytes = self.bytes.saturating_sub(bytes.len() as u64);
        gitlinks(&bytes).ok_or_else(|| cannot("is not an index of git that rye can read"))
    }

    fn submodule(&mut self, tree: &Path, path: &Path) -> Result<(), CannotConfine> {
        if !self.folders.iter().any(|folder| path.starts_with(folder)) {
            return Ok(());
        }
        let mut steps: Vec<&Path> = path.ancestors().take_while(|above| *above != tree).collect();
        steps.reverse();
        let kinds = steps.iter().map(|step| (*step, self.host.kind(step)));
        let other = kinds.clone().find(|(_, kind)| *kind != Some(PlaceKind::Folder));
        let git = path.join(GIT.0);
        let (place, is_folder) = match (other, self.host.kind(&git)) {
            // What stands in its way could be taken away.
            (Some((step, Some(_))), _) => (step.to_owned(), false),
            (Some((_, None)), _) | (None, None) => (path.to_owned(), true),
            (None, Some(kind)) => {
                self.left.push(path.to_owned());
                (git, kind == PlaceKind::Folder)
            }
        };
        self.kept.insert(place, is_folder);
        match self.kept.len() > INNER_REPOSITORIES {
            true => Err(CannotConfine::Submodules {
                index: tree.join(GIT.0).join("index"),
                why: format!(
                    "names more than {INNER_REPOSITORIES} submodules in what the tool may write, \
                     too many to keep"
                ),
            }),
            false => Ok(()),
        }
    }

    /// Keeps a place that settings name: by its name, and by what that leads to.
    fn keep_named(&mut self, named: &NamedPlace) {
        let NamedPlace { path, is_folder } = named;
        let real = self.host.real_folder(path).or_else(|| self.host.real_file(path));
        for place in [Some(path.clone()), real].into_iter().flatten() {
            let is_open = self.folders.iter().any(|folder| place.starts_with(folder));
            let is_granted = self.write.iter().any(|granted| granted.starts_with(&place));
            let is_kept = self.kept.keys().any(|kept| place.starts_with(kept));
            let has_room = self.kept.len() < INNER_REPOSITORIES;
            if is_open && !is_granted && !is_kept && has_room {
                self.kept.insert(place, *is_folder);
            }
        }
    }

    /// An item that names the place itself, or something in it, says what it is for.
    fn keep_unless_granted(&mut self, place: &Path) {
        let is_open = self.folders.iter().any(|folder| place.starts_with(folder));
        if is_open && !self.write.iter().any(|granted| granted.starts_with(place)) {
            let is_folder = self.host.kind(place) == Some(PlaceKind::Folder);
            self.kept.entry(place.to_owned()).or_insert(is_folder);
        }
    }
}

/// The place of a path as an index spells it; `None` where it leads out of the work tree.
fn below(tree: &Path, path: &[u8]) -> Option<PathBuf> {
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    let is_below = path.split(|byte| *byte == b'/').all(is_name);
    is_below.then(|| tree.join(OsStr::from_bytes(path)))
}
