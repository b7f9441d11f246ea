//! What templates are filled in with: names and the child's environment.

use std::collections::BTreeMap;
use std::path::Path;

use super::env::Env;
use super::template::{Names, Scope};

/// Names and environment before the private folder of the run is known.
pub(super) struct Frame {
    pub(super) names: Names,
    pub(super) env: Env,
}

/// Names and environment with their values.
pub(super) struct Filled {
    pub(super) names: Names,
    pub(super) env: BTreeMap<String, String>,
}

impl Frame {
    /// Where the tool lies, if that is known; `{tool_path}` and the like stand for themselves while it
    /// is not.
    pub(super) fn fill(&self, tool_path: Option<&Path>) -> Filled {
        let mut names = self.names.clone();
        if let Some(path) = tool_path {
            let folder = path.parent().unwrap_or(path);
            let parent = folder.parent().unwrap_or(folder);
            names.insert("tool_path", path.display().to_string().into());
            names.insert("tool_dir", folder.display().to_string().into());
            names.insert("tool_parent", parent.display().to_string().into());
        }
        let env = self.env.resolve(&names);
        Filled { names, env }
    }
}

impl Filled {
    /// Expands templates by these names and variables.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { names: &self.names, env: &self.env }
    }
}
