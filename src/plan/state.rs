//! The folders in which rye keeps its state, which no tool reads: records of threads among it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::host::{CannotConfine, Host};

/// Those in the `.ai` of the project, of the user space, of each folder that is granted, and of
/// each one around the project. Without `.ai` there is none.
///
/// # Errors
/// `sandbox.bad_grant`: a grant lies in one.
pub(super) fn state_folders(
    host: &dyn Host,
    project: &Path,
    user: Option<&Path>,
    read: &BTreeSet<PathBuf>,
    write: &BTreeSet<PathBuf>,
) -> Result<Vec<PathBuf>, CannotConfine> {
    let granted = || read.iter().chain(write).map(PathBuf::as_path);
    let folders: BTreeSet<&Path> = granted().chain(project.ancestors()).chain(user).collect();
    let state = folders.into_iter().filter_map(|folder| {
        let state = host.real_folder(&folder.join(".ai"))?.join("state");
        Some(host.real_folder(&state).unwrap_or(state))
    });
    let state: Vec<PathBuf> = state.collect();
    match granted().find(|path| state.iter().any(|state| path.starts_with(state))) {
        None => Ok(state),
        Some(path) => {
            let path = path.display();
            let why = format!("`{path}` lies in the folder of rye's state, which no tool reads");
            Err(CannotConfine::BadGrant(why))
        }
    }
}
