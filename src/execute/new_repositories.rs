//! Repositories that a tool made in the project.
//!
//! Git that is called in one follows its settings, which are the tool's. A tool may have made it
//! for good reasons, so it stays, and is told.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::base::limits::INNER_NAMES;
use crate::base::text::escape_line;
use crate::host::{Host, InnerRepositories, NewRepositories, Traffic};
use crate::plan::GIT;

/// Repositories that a tool made and that are told one by one: more are not read.
const NEW_REPOSITORIES: usize = 20;

/// Outer folders first, and no more than a person reads.
pub(super) fn new_repositories(host: &dyn Host, before: &InnerRepositories) -> NewRepositories {
    let mut at: Vec<PathBuf> = Vec::new();
    let mut may_be_more = false;
    for below in &before.below {
        let found = host.named_below(below, GIT, INNER_NAMES);
        // Names enough, or a folder that is closed, would hide one.
        may_be_more |= before.is_whole && !found.is_whole;
        let found = found.at.into_iter().chain(found.bare);
        at.extend(found.filter(|git| !before.known.contains(git)));
    }
    may_be_more |= at.len() > NEW_REPOSITORIES;
    at.truncate(NEW_REPOSITORIES);
    NewRepositories { at, may_be_more }
}

/// A sentence or two about them, if there are any.
pub(crate) fn new_repositories_text(made: &NewRepositories) -> Option<String> {
    let named: Vec<_> = made
        .at
        .iter()
        .map(|git| format!("`{}`", escape_line(&git.display().to_string())))
        .collect();
    let told = (!named.is_empty()).then(|| {
        format!(
            "a repository came to be while it ran, whose settings are the tool's: {}. Git that is \
             called there, or by an editor or a prompt, runs programs that they name",
            named.join(", ")
        )
    });
    let more = made.may_be_more.then(|| {
        format!(
            "it left more than {NEW_REPOSITORIES} repositories, more than {INNER_NAMES} names or a \
             folder that is closed, so there may be repositories that are not told: look before \
             you call git in what it wrote"
        )
    });
    let texts: Vec<String> = told.into_iter().chain(more).collect();
    (!texts.is_empty()).then(|| texts.join(". "))
}

/// The rows of them in what is told as JSON, if there are any.
pub(super) fn new_repositories_json(made: &NewRepositories) -> Map<String, Value> {
    let mut out = Map::new();
    if !made.is_empty() {
        let shown = made.at.iter().map(|path| path.to_string_lossy());
        out.insert("new_repositories".into(), shown.collect());
    }
    if made.may_be_more {
        out.insert("more_new_repositories".into(), true.into());
    }
    out
}

/// The facts about a failed child, beside why it failed.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    /// The traffic through rye's proxy, if the child was held to hosts or services.
    pub(crate) traffic: Option<Traffic>,
    pub(crate) new_repositories: NewRepositories,
}

impl Aftermath {
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let mut out = new_repositories_json(&self.new_repositories);
        out.extend(self.traffic.as_ref().map(|traffic| ("traffic".to_owned(), json!(traffic))));
        out
    }
}
