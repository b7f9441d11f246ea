//! The faults of a repository.

use std::io;
use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, codes};

codes! {
    GIT_FAILED = "git.failed", CannotRun;
    GIT_NO_REPOSITORY = "git.no_repository", NotFound;
    GIT_FOREIGN_FILE = "git.foreign_file", Refused;
    GIT_REFUSED = "git.refused", Refused;
    GIT_IO = "git.io", CannotRun;
}

/// Why a verb about git stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("`git {what}` failed: {why}")]
    Failed { what: String, why: String },
    #[error("`{}` lies in no working tree of git", escape_line(&.folder.display().to_string()))]
    NoRepository { folder: PathBuf },
    #[error("{} not changed: {}", count(.files.len(), "file was", "files were"), list(.files))]
    ForeignFile { files: Vec<PathBuf> },
    #[error("{} cannot be committed", count(*.0, "staged file", "staged files"))]
    Refused(usize),
    #[error("`{}` cannot be used: {source}", escape_line(&.path.display().to_string()))]
    Io { path: PathBuf, source: io::Error },
}

fn count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

fn list(files: &[PathBuf]) -> String {
    let shown = files.iter().map(|file| format!("`{}`", escape_line(&file.display().to_string())));
    shown.collect::<Vec<_>>().join(", ")
}

impl GitError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl Diagnose for GitError {
    fn code(&self) -> Code {
        match self {
            Self::Failed { .. } => GIT_FAILED,
            Self::NoRepository { .. } => GIT_NO_REPOSITORY,
            Self::ForeignFile { .. } => GIT_FOREIGN_FILE,
            Self::Refused(_) => GIT_REFUSED,
            Self::Io { .. } => GIT_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Failed { .. } => {
                "run the command by hand to see more; `git` has to be on `PATH`".into()
            }
            Self::NoRepository { .. } => "make one with `git init`".into(),
            Self::ForeignFile { .. } => {
                "add `rye git check` to it, and let it stop when the check fails".into()
            }
            Self::Refused(_) => {
                "mend what is listed above, then stage it again with `git add`".into()
            }
            Self::Io { .. } => "mend what is in the way and try again".into(),
        })
    }
}
