//! The project's files that a remote run takes along, and those that come back (remote 4).

use crate::space::Glob;

/// Patterns below the project: `*` within a segment, `**` across segments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RemoteFiles {
    /// Files that the node gets.
    pub(crate) inputs: Vec<Glob>,
    /// Files that may be written when the run ended.
    pub(crate) outputs: Vec<Glob>,
}

/// # Errors
/// A clause that names one of them: it is no pattern, or means none of the project's own files.
pub(super) fn checked(patterns: Vec<String>, key: &str) -> Result<Vec<Glob>, String> {
    let glob = |(at, pattern): (usize, String)| {
        let glob = match pattern == ".ai" || pattern.starts_with(".ai/") {
            true => Err("is of rye's own folder: items go with the run by themselves".into()),
            false => Glob::new(&pattern),
        };
        glob.map_err(|why| format!("`{key}/{at}` {why}"))
    };
    patterns.into_iter().enumerate().map(glob).collect()
}
