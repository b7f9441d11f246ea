//! Repositories that a tool made in the project.
//!
//! Git that is called in one follows its settings, which are the tool's. A tool may have made it
//! for good reasons, so it stays, and is told.

use std::path::PathBuf;

use crate::base::limits::{INNER_NAMES, NEW_REPOSITORIES};
use crate::base::text::escape_line;
use crate::host::{Host, InnerRepositories};
use crate::plan::GIT;

/// The `.git` of each, outer folders first, and no more than a person reads.
pub(super) fn new_repositories(host: &dyn Host, before: &InnerRepositories) -> Vec<PathBuf> {
    let found = before
        .below
        .iter()
        .flat_map(|below| host.named_below(below, GIT, INNER_NAMES).at.into_iter());
    found.filter(|git| !before.known.contains(git)).take(NEW_REPOSITORIES).collect()
}

/// One sentence about them, if there are any.
pub(crate) fn new_repositories_text(made: &[PathBuf]) -> Option<String> {
    if made.is_empty() {
        return None;
    }
    let named: Vec<_> =
        made.iter().map(|git| format!("`{}`", escape_line(&git.display().to_string()))).collect();
    Some(format!(
        "a repository came to be while it ran, whose settings are the tool's: {}. Git that is \
         called there, or by an editor or a prompt, runs programs that they name",
        named.join(", ")
    ))
}
