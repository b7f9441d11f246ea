//! The repository of a project where it lies outside of the project: that of a work tree, of a
//! submodule, or of a larger repository of which the project is a folder.
//!
//! A file of the project names the first two, and a clone can bring such a file. So it counts only
//! where the repository names the project in turn, which takes the right to write there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::protected::{GIT, OF_BARE};
use crate::base::limits::GIT_FILE_BYTES;
use crate::host::{Host, PlaceKind, is_own_private_group, own_uid};

/// The paths of the outer repository that a tool may read if it may read its project. `is_wide`
/// says that a folder holds too much.
pub(super) fn outer_repository(
    host: &dyn Host,
    project: &Path,
    is_wide: &dyn Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let git = project.join(GIT.0);
    match host.kind(&git) {
        Some(PlaceKind::Other) => {
            named_by(host, &git, project).unwrap_or_default().into_iter().collect()
        }
        Some(_) => Vec::new(),
        None => {
            let around = around(host, project).unwrap_or_default();
            if around.iter().any(|folder| is_wide(folder)) { Vec::new() } else { around }
        }
    }
}

/// The path that a file gives behind a word, as it counts from there.
fn named(host: &dyn Host, file: &Path, word: &str) -> Option<PathBuf> {
    let text = host.read(file, GIT_FILE_BYTES)?;
    let path = text.strip_prefix(word.as_bytes())?.trim_ascii();
    Some(file.parent()?.join(OsStr::from_bytes(path)))
}

fn named_by(host: &dyn Host, git: &Path, project: &Path) -> Option<Vec<PathBuf>> {
    let own = host.real_folder(&named(host, git, "gitdir:")?)?;
    if let Some(back) = named(host, &own.join("gitdir"), "") {
        // A work tree: the repository keeps a folder for each one.
        let common = host.real_folder(&named(host, &own.join("commondir"), "")?)?;
        let is_kept = own.parent() == Some(&common.join("worktrees"));
        let is_back = host.real_file(&back)? == *git;
        return (is_kept && is_back && is_repository(host, &common)).then_some(vec![common]);
    }
    // A submodule: its settings name its work tree.
    let settings = host.read(&own.join("config"), GIT_FILE_BYTES)?;
    let mut lines = settings.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let tree = lines.find_map(|line| {
        line.strip_prefix(b"worktree")?.trim_ascii().strip_prefix(b"=").map(<[u8]>::trim_ascii)
    })?;
    let is_back = host.real_folder(&own.join(OsStr::from_bytes(tree)))? == project;
    (is_back && is_repository(host, &own)).then_some(vec![own])
}

fn is_repository(host: &dyn Host, folder: &Path) -> bool {
    OF_BARE.iter().all(|(name, _)| host.kind(&folder.join(name)).is_some())
}

/// The nearest folder above with a repository, and that repository where it lies elsewhere, if only
/// this user may write there; otherwise another user could choose what is read.
fn around(host: &dyn Host, project: &Path) -> Option<Vec<PathBuf>> {
    let above = project.ancestors().skip(1).find(|a| host.kind(&a.join(GIT.0)).is_some())?;
    let is_own = |path: &Path| {
        path.symlink_metadata().is_ok_and(|stat| {
            let is_closed = stat.mode() & 0o020 == 0 || is_own_private_group(stat.gid());
            stat.uid() == own_uid() && stat.mode() & 0o002 == 0 && is_closed
        })
    };
    let git = above.join(GIT.0);
    let elsewhere = match host.kind(&git)? {
        PlaceKind::Folder => is_repository(host, &git).then(Vec::new)?,
        PlaceKind::Other => named_by(host, &git, above)?,
        PlaceKind::Link => return None,
    };
    let is_closed = is_own(above) && is_own(&git);
    is_closed.then(|| [above.to_owned()].into_iter().chain(elsewhere).collect())
}
