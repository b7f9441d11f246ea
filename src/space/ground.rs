//! The ground of a call that is not the caller's own: files in it may be another person's work.
//!
//! In:  where rye is called, and for which project.
//! Out: a [`ForeignGround`]: the project or the working directory, and the git work trees around
//! it.
//!
//! Whatever decides about trust, and every program that rye starts by its name, lies outside of it.
//! It is found by folders alone: no variable, such as `GIT_DIR`, makes it smaller.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::roots::{ProjectFolder, Where};
use crate::base::limits::SMALL_TEXT_BYTES;
use crate::host::{PathLookup, Vars, own_home, own_uid, read_small};

/// Most linked work trees of one repository that are looked at: more than a person keeps.
const WORK_TREES: usize = 256;

/// Folders of programs on every machine: a folder that contains one of these is not a clone.
const PROGRAMS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/opt"];

/// Where programs are looked for if no variable says where.
const USUAL: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// A version manager's folder of stand-ins: each asks the project which version it starts.
const SHIMS: &str = "shims";

/// See the module.
///
/// Invariant: real paths; none is or holds the home that the user database names, but a project's
/// own folder, which holds `.ai`.
#[derive(Debug, Default)]
pub(crate) struct ForeignGround {
    folders: Vec<Folder>,
    /// The repositories of the work trees in it, each with its tree.
    repositories: Vec<(PathBuf, PathBuf)>,
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

/// A folder of `PATH`, looked at.
pub(crate) struct Searched {
    /// As `PATH` names it.
    pub(crate) folder: PathBuf,
    /// The real folder; `None` if there is none.
    pub(crate) real: Option<PathBuf>,
    pub(crate) why_not: Option<NotSearched>,
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
    /// The ground of a call; `is_home` knows the folder that is the person's home.
    pub(super) fn around(
        project: &ProjectFolder,
        is_home: &dyn Fn(&Path) -> bool,
        at: &Where,
        known: &mut PathLookup,
    ) -> Self {
        let cwd = known.real(&at.cwd).unwrap_or_else(|| at.cwd.clone());
        let (mut folders, mut repositories) = (Vec::new(), Vec::new());
        match project {
            ProjectFolder { path, holds_ai: true } if !is_home(path) => folders.push(path.clone()),
            ProjectFolder { holds_ai: true, .. } => folders.extend(foreign(cwd.clone())),
            ProjectFolder { path, .. } => folders.extend(foreign(path.clone())),
        }
        // A project that is named does not make the one that the caller stands in a friend.
        let beside = at.project.as_ref().and_then(|_| ProjectFolder::above(&cwd));
        let beside = beside.filter(|beside| !is_home(&beside.path));
        folders.extend(beside.and_then(|beside| foreign(beside.path)));
        // Each folder above once: most often the one starts with the other.
        let above: BTreeSet<&Path> = project.path.ancestors().chain(cwd.ancestors()).collect();
        for tree in above.into_iter().filter(|above| is_work_tree(above)) {
            let own = foreign(tree.to_owned());
            repositories.extend(own.as_ref().and_then(|own| Some((repository(own)?, own.clone()))));
            folders.extend(own);
            folders.extend(siblings(tree).into_iter().filter_map(foreign));
        }
        folders.sort();
        folders.dedup_by(|inner, outer| inner.starts_with(outer));
        let mut id = |path: &Path| known.at(path).map(|place| place.id);
        let folder = |path: PathBuf| Folder { id: id(&path), path };
        Self { folders: folders.into_iter().map(folder).collect(), repositories }
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// The folder of the ground that a path lies in, or on its way leads through, by whatever name;
    /// of a path that need not be there yet. A path that cannot be followed is taken to lie in the
    /// first.
    pub(crate) fn around_path(&self, path: &Path) -> Option<&Path> {
        self.around_known(path, &mut PathLookup::default())
    }

    /// The same, with what is known of places already.
    pub(super) fn around_known(&self, path: &Path, known: &mut PathLookup) -> Option<&Path> {
        match known.passed(path) {
            Some(places) => self.around_places(&places, known),
            None => self.folders().next(),
        }
    }

    fn around_places(&self, places: &[PathBuf], known: &mut PathLookup) -> Option<&Path> {
        if self.folders.is_empty() {
            return None;
        }
        places.iter().find_map(|place| {
            let own = known.at(place).map(|place| place.id);
            let is_in = |folder: &&Folder| {
                place.starts_with(&folder.path) || (own.is_some() && own == folder.id)
            };
            let folder = self.folders.iter().find(is_in).map(|folder| folder.path.as_path());
            folder.or_else(|| self.tree_of_one_repository(place))
        })
    }

    /// The tree of the ground whose repository a place's own work tree has, or has a part of, as a
    /// submodule has: wherever that tree was moved.
    fn tree_of_one_repository(&self, place: &Path) -> Option<&Path> {
        if self.repositories.is_empty() {
            return None;
        }
        let tree = place.ancestors().find(|above| is_work_tree(above))?;
        let own = repository(&foreign(tree.to_owned())?)?;
        let mut all = self.repositories.iter();
        let same = all.find(|(it, _)| own.starts_with(it) || it.starts_with(&own))?;
        Some(&same.1)
    }

    /// Returns true if a path lies in the ground, or on its way leads through it.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.around_path(path).is_some()
    }

    /// The folders of `PATH`, in order.
    pub(crate) fn search_path(&self, vars: &Vars) -> Vec<Searched> {
        let mut known = PathLookup::default();
        let folders = vars.get("PATH").map(std::env::split_paths).into_iter().flatten();
        folders.map(|folder| self.searched(folder, &mut known)).collect()
    }

    fn searched(&self, folder: PathBuf, known: &mut PathLookup) -> Searched {
        if !folder.is_absolute() {
            return Searched { folder, real: None, why_not: Some(NotSearched::Relative) };
        }
        let why_not = match known.passed(&folder) {
            None => Some(NotSearched::InGround),
            Some(places) if places.iter().any(|place| place.starts_with("/proc")) => {
                Some(NotSearched::OfAProcess)
            }
            Some(places) => self.around_places(&places, known).map(|_| NotSearched::InGround),
        };
        let real = known.real(&folder);
        let real = real.filter(|real| known.at(real).is_some_and(|place| place.is_folder));
        Searched { folder, real, why_not }
    }

    /// The folders of `PATH` from which programs are taken, for what rye starts beside tools;
    /// without a `PATH` the usual ones.
    pub(crate) fn own_path(&self, vars: &Vars) -> Vec<PathBuf> {
        if vars.get("PATH").is_none() {
            return USUAL.map(PathBuf::from).to_vec();
        }
        let folders = self.search_path(vars).into_iter();
        folders.filter(|it| it.why_not.is_none()).map(|it| it.folder).collect()
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

/// Returns true if a `.git` lies in the folder, whatever it is. If any user may write in the
/// folder, such as in `/tmp`, it counts only if the caller or the owner of the folder put it there:
/// that of another user does not make a home foreign.
fn is_work_tree(folder: &Path) -> bool {
    let Ok(git) = fs::symlink_metadata(folder.join(".git")) else { return false };
    let Ok(folder) = fs::metadata(folder) else { return false };
    folder.mode() & 0o002 == 0 || [own_uid(), folder.uid()].contains(&git.uid())
}

/// The folder that all work trees of a repository share; none of a tree that names the folder
/// of another one, which is there: a clone cannot claim a repository that is not its own.
fn repository(tree: &Path) -> Option<PathBuf> {
    let own = git_folder(tree)?;
    let of_another = |other: &Path| other != tree && git_folder(other).as_ref() == Some(&own);
    match text(&own.join("commondir")) {
        // A tree that was moved is not where its folder says.
        Some(_) if linked_tree(&own).is_some_and(|other| of_another(&other)) => None,
        Some(common) => own.join(common.trim()).canonicalize().ok(),
        None if own.ends_with(".git") && own.parent().is_some_and(of_another) => None,
        None => Some(own),
    }
}

/// The work tree that the folder of a linked one names.
fn linked_tree(own: &Path) -> Option<PathBuf> {
    own.join(text(&own.join("gitdir"))?.trim()).parent()?.canonicalize().ok()
}

/// The folder of git's for one work tree: `.git`, or what it names.
fn git_folder(tree: &Path) -> Option<PathBuf> {
    let git = tree.join(".git");
    let folder = match git.is_dir() {
        true => git,
        false => tree.join(text(&git)?.strip_prefix("gitdir:")?.trim()),
    };
    folder.canonicalize().ok()
}

/// The text of a small file of git's.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_small(path, SMALL_TEXT_BYTES)?).ok()
}

/// The main and the linked work trees of a tree's repository: a file of another branch is as
/// foreign. Only those that name each other count, so that a clone cannot claim a folder that is
/// not its own.
fn siblings(tree: &Path) -> Vec<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().ok();
    let Some(own_folder) = git_folder(tree) else { return Vec::new() };
    let main = match own_folder.join("commondir").is_file() {
        false => own_folder,
        true => {
            let common = text(&own_folder.join("commondir"));
            let common = common.and_then(|common| real(own_folder.join(common.trim())));
            match common {
                Some(common) if linked_tree(&own_folder).as_deref() == Some(tree) => common,
                _ => return Vec::new(),
            }
        }
    };
    let names = fs::read_dir(main.join("worktrees")).into_iter().flatten().flatten();
    let linked = names.take(WORK_TREES).filter_map(|name| {
        let folder = real(name.path())?;
        linked_tree(&folder).filter(|tree| git_folder(tree).as_ref() == Some(&folder))
    });
    let top = main.parent().filter(|_| main.ends_with(".git")).map(Path::to_owned);
    linked.chain(top).collect()
}
