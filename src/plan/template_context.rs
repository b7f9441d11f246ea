//! The values that templates are filled in with: names, and the child's environment.

use std::collections::BTreeMap;
use std::path::Path;

use super::env::Env;
use super::pieces::Pieces;
use super::template::{Named, Names, Scope};
use super::tree::Places;
use crate::parse::PIN_VAR;

/// Names and environment of a chain.
pub(super) struct TemplateContext {
    pub(super) names: Names,
    pub(super) env: Env,
    /// The places of the private folder; `None` if the run needs none.
    pub(super) places: Option<Places>,
}

/// Names and environment with their values.
pub(super) struct Filled {
    pub(super) names: Names,
    pub(super) env: BTreeMap<String, Pieces>,
}

/// The place that only some chains have.
const RUNTIME_LIB: &str = "{runtime_lib}";

impl TemplateContext {
    /// With the places of the private folder, as the child gets them.
    pub(super) fn fill(&self) -> Filled {
        let mut names = self.names.clone();
        if let Some(places) = &self.places {
            let mut place = |name: &'static str, path: &Path| {
                names.insert(name, Named::Private(path.to_string_lossy().into_owned()));
            };
            let tool = Path::new(&places.tool);
            let folder = tool.parent().unwrap_or(Path::new(""));
            place("tool_path", tool);
            place("tool_dir", folder);
            place("tool_parent", folder.parent().unwrap_or(Path::new("")));
            place("anchor_path", Path::new(&places.anchor));
            if let Some(lib) = &places.lib {
                place("runtime_lib", Path::new(lib));
            }
        }
        let mut env = self.env.resolve(&names);
        if self.places.is_some() {
            env.insert(PIN_VAR.into(), Pieces::private(""));
        }
        Filled { names, env }
    }

    /// Without them: `{tool_path}` and the like stand for themselves. For what has no private
    /// folder, and for what is shown.
    pub(super) fn fill_without_private(&self) -> Filled {
        let names = self.names.clone();
        let mut env = self.env.resolve(&names);
        if self.places.is_some() {
            env.insert(PIN_VAR.into(), Pieces::private(""));
        }
        Filled { names, env }
    }

    /// Returns true if a template names a place that this chain does not have.
    pub(super) fn lacks_place(&self, template: &str) -> bool {
        let has_lib = self.places.as_ref().is_some_and(|places| places.lib.is_some());
        !has_lib && template.contains(RUNTIME_LIB)
    }
}

impl Filled {
    /// Expands templates by these names and variables.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { names: &self.names, env: &self.env, params: None }
    }
}
