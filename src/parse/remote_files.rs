//! The project's files that a remote run takes along, and those that come back (remote 4).

use crate::space::Glob;

/// Patterns below the project: `*` within a segment, `**` across segments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RemoteFiles {
    /// Files that the node gets.
    pub(crate) inputs: Vec<String>,
    /// Files that may be written when the run ended.
    pub(crate) outputs: Vec<String>,
}

/// # Errors
/// A clause that names one of them: it is no pattern, or means none of the project's own files.
pub(super) fn checked(patterns: Vec<String>, key: &str) -> Result<Vec<String>, String> {
    for (at, pattern) in patterns.iter().enumerate() {
        let own = pattern == ".ai" || pattern.starts_with(".ai/");
        let why = match Glob::new(pattern) {
            Ok(_) if own => "is of rye's own folder: items go with the run by themselves".into(),
            Ok(_) => continue,
            Err(why) => why,
        };
        return Err(format!("`{key}/{at}` {why}"));
    }
    Ok(patterns)
}
