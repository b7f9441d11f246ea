//! The ground of a call that is not the caller's own: files in it may be somebody else's work.
//!
//! In:  where rye is called, and for which project.
//! Out: a [`ForeignGround`]: the project or the working directory, and the git work trees around it.
//!
//! Whatever decides about trust, and every program that rye starts by its name, lies outside of it. It is
//! found by folders alone: no variable, such as `GIT_DIR`, makes it smaller.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::roots::{ProjectFolder, UserBase, Where};
use crate::base::limits::{SMALL_TEXT_BYTES, WORK_TREES};
use crate::host::{Vars, own_home, own_uid, places_of, read_small};

/// Where every machine has programs: a folder that holds one of these is nobody's clone.
const PROGRAMS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/opt"];

/// Where programs are looked for if no variable says where.
const USUAL: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// A version manager's folder of stand-ins: each asks the project which version it starts.
const SHIMS: &str = "shims";

/// See the module.
///
/// Invariant: real paths; none is or holds the home that the user database names, but a project's own
/// folder, which holds `.ai`.
#[derive(Debug, Default)]
pub(crate) struct ForeignGround {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Device and inode: a folder has other names too, by case or by a mount.
    id: Option<(u64, u64)>,
}

/// Why no program is taken from a folder of `PATH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSearched {
    Relative,
    /// By such a name another process finds another folder.
    OfAProcess,
    InGround,
}

impl NotSearched {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Relative => "it is not an absolute path, so the working directory would decide",
            Self::OfAProcess => "it lies below `/proc`, where each process finds another folder",
            Self::InGround => "it lies in the project, or in a git work tree around it",
        }
    }
}

impl ForeignGround {
    /// The ground of a call; `user` is what the variables name as user base.
    pub(super) fn around(project: &ProjectFolder, user: Option<&UserBase>, at: &Where) -> Self {
        let cwd = fs::canonicalize(&at.cwd).unwrap_or_else(|_| at.cwd.clone());
        let mut folders = Vec::new();
        let is_users = |folder: &Path| user.is_some_and(|user| user.is_own_home_at(folder));
        match project {
            ProjectFolder { path, holds_ai: true } if !is_users(path) => folders.push(path.clone()),
            ProjectFolder { holds_ai: true, .. } => folders.extend(foreign(cwd.clone())),
            ProjectFolder { path, .. } => folders.extend(foreign(path.clone())),
        }
        // A project that is named does not make the one that the caller stands in a friend.
        let beside = at.project.as_ref().and_then(|_| ProjectFolder::above(&cwd));
        folders.extend(beside.and_then(|beside| foreign(beside.path)));
        for start in [&project.path, &cwd] {
            folders.extend(work_trees(start).into_iter().filter_map(foreign));
        }
        folders.sort();
        folders.dedup_by(|inner, outer| inner.starts_with(outer));
        let folder = |path: PathBuf| Folder { id: id(&path), path };
        Self { folders: folders.into_iter().map(folder).collect() }
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// The folder of the ground that a path lies in, or on its way leads through, by whatever name; of a
    /// path that need not be there yet. A path that cannot be followed is taken to lie in the first.
    pub(crate) fn around_path(&self, path: &Path) -> Option<&Path> {
        match places_of(path) {
            Some(places) => self.around_places(&places),
            None => self.folders().next(),
        }
    }

    fn around_places(&self, places: &[PathBuf]) -> Option<&Path> {
        if self.folders.is_empty() {
            return None;
        }
        places.iter().find_map(|place| {
            let own = id(place);
            let is_in = |folder: &&Folder| {
                place.starts_with(&folder.path) || (own.is_some() && own == folder.id)
            };
            self.folders.iter().find(is_in).map(|folder| folder.path.as_path())
        })
    }

    /// Whether a path lies in the ground, or on its way leads through it.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.around_path(path).is_some()
    }

    /// The folders of `PATH`, in order, and why no program is taken from one.
    pub(crate) fn search_path(&self, vars: &Vars) -> Vec<(PathBuf, Option<NotSearched>)> {
        let folders = vars.get("PATH").map(std::env::split_paths).into_iter().flatten();
        let judged = folders.map(|folder| {
            let why = self.why_not_searched(&folder);
            (folder, why)
        });
        judged.collect()
    }

    fn why_not_searched(&self, folder: &Path) -> Option<NotSearched> {
        if !folder.is_absolute() {
            return Some(NotSearched::Relative);
        }
        let Some(places) = places_of(folder) else { return Some(NotSearched::InGround) };
        if places.iter().any(|place| place.starts_with("/proc")) {
            return Some(NotSearched::OfAProcess);
        }
        self.around_places(&places).map(|_| NotSearched::InGround)
    }

    /// The folders of `PATH` from which programs are taken, for what rye starts beside tools; without a
    /// `PATH` the usual ones.
    pub(crate) fn own_path(&self, vars: &Vars) -> Vec<PathBuf> {
        if vars.get("PATH").is_none() {
            return USUAL.map(PathBuf::from).to_vec();
        }
        let folders = self.search_path(vars).into_iter();
        folders.filter(|(_, why)| why.is_none()).map(|(folder, _)| folder).collect()
    }

    /// The first program of that name in those folders.
    pub(crate) fn find_program(&self, vars: &Vars, name: &str) -> Option<PathBuf> {
        let is_program =
            |file: &Path| fs::metadata(file).is_ok_and(|s| s.is_file() && s.mode() & 0o111 != 0);
        let folders = self.own_path(vars).into_iter().filter(|folder| !folder.ends_with(SHIMS));
        let mut files = folders.map(|folder| folder.join(name));
        files.find(|file| is_program(file) && !self.holds(file))
    }
}

/// The folder, unless it is or holds the caller's home or the machine's programs.
fn foreign(folder: PathBuf) -> Option<PathBuf> {
    let own = own_home().into_iter().chain(PROGRAMS.map(PathBuf::from));
    own.into_iter().all(|own| !own.starts_with(&folder)).then_some(folder)
}

/// Every git work tree that a folder lies in, a submodule's superproject too, and the others of the same
/// repositories.
fn work_trees(folder: &Path) -> Vec<PathBuf> {
    let around = folder.ancestors().filter(|above| is_work_tree(above));
    let around: Vec<PathBuf> = around.map(Path::to_owned).collect();
    let others = around.iter().flat_map(|tree| siblings(tree)).collect::<Vec<_>>();
    around.into_iter().chain(others).collect()
}

/// Whether a `.git` lies in the folder, whatever it is. Where anybody may write, such as in `/tmp`, it
/// counts if the caller or the owner of the folder put it there: nobody else's makes a home foreign.
fn is_work_tree(folder: &Path) -> bool {
    let git = fs::symlink_metadata(folder.join(".git"));
    let (Ok(git), Ok(folder)) = (git, fs::metadata(folder)) else { return false };
    folder.mode() & 0o002 == 0 || [own_uid(), folder.uid()].contains(&git.uid())
}

/// The main and the linked work trees of a tree's repository: a file of another branch is as foreign.
/// Only those that name each other count, so that a clone cannot claim a folder that is not its own.
fn siblings(tree: &Path) -> Vec<PathBuf> {
    let text = |path: &Path| String::from_utf8(read_small(path, SMALL_TEXT_BYTES)?).ok();
    let real = |path: PathBuf| path.canonicalize().ok();
    let own = |tree: &Path| {
        let git = tree.join(".git");
        if git.is_dir() {
            return real(git);
        }
        real(tree.join(text(&git)?.strip_prefix("gitdir:")?.trim()))
    };
    let of_linked = |own: &Path| real(own.join(text(&own.join("gitdir"))?.trim()).parent()?.into());
    let Some(own_folder) = own(tree) else { return Vec::new() };
    let main = match own_folder.join("commondir").is_file() {
        false => own_folder,
        true => {
            let common = text(&own_folder.join("commondir"));
            let common = common.and_then(|common| real(own_folder.join(common.trim())));
            match common {
                Some(common) if of_linked(&own_folder).as_deref() == Some(tree) => common,
                _ => return Vec::new(),
            }
        }
    };
    let names = fs::read_dir(main.join("worktrees")).into_iter().flatten().flatten();
    let linked = names.take(WORK_TREES).filter_map(|name| {
        let folder = real(name.path())?;
        of_linked(&folder).filter(|tree| own(tree).as_ref() == Some(&folder))
    });
    let top = main.parent().filter(|_| main.ends_with(".git")).map(Path::to_owned);
    linked.chain(top).collect()
}

fn id(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|stat| (stat.dev(), stat.ino()))
}
