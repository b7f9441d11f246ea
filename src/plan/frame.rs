//! What templates are filled in with: names and the child's environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::env::Env;
use super::template::{Names, Scope};
use super::tree::Places;

/// Names and environment before the private folder of the run is known.
pub(super) struct Frame {
    pub(super) names: Names,
    pub(super) env: Env,
    /// The places of the private folder; `None` if the run needs none.
    pub(super) places: Option<Places>,
}

/// Names and environment with their values.
pub(super) struct Filled {
    pub(super) names: Names,
    pub(super) env: BTreeMap<String, String>,
    /// The private folder; where it is not known yet, what stands for it.
    pub(super) pin: PathBuf,
}

impl Frame {
    /// With the private folder of the run, if that is known; `{tool_path}` and the like stand for
    /// themselves while it is not.
    pub(super) fn fill(&self, pin: Option<&Path>) -> Filled {
        let mut names = self.names.clone();
        if let (Some(pin), Some(places)) = (pin, &self.places) {
            let mut place = |name: &'static str, path: &Path| {
                names.insert(name, Value::from(path.display().to_string()));
            };
            let tool = pin.join(&places.tool);
            let folder = tool.parent().unwrap_or(pin);
            place("tool_path", &tool);
            place("tool_dir", folder);
            place("tool_parent", folder.parent().unwrap_or(pin));
            place("anchor_path", &pin.join(&places.anchor));
            if let Some(lib) = &places.lib {
                place("runtime_lib", &pin.join(lib));
            }
        }
        let mut env = self.env.resolve(&names);
        let pin = pin.unwrap_or(Path::new("{private folder}")).to_owned();
        if self.places.is_some() {
            env.insert("RYE_PIN".into(), pin.display().to_string());
        }
        Filled { names, env, pin }
    }
}

impl Filled {
    /// Expands templates by these names and variables.
    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { names: &self.names, env: &self.env, params: None }
    }
}

/// The names of places in the private folder, as templates write them.
const PLACES: [&str; 5] =
    ["{tool_path}", "{tool_dir}", "{tool_parent}", "{anchor_path}", "{runtime_lib}"];

/// Whether a template names a place in the private folder.
pub(super) fn is_private(template: &str) -> bool {
    PLACES.iter().any(|name| template.contains(name))
}

/// Whether a text begins in the private folder and leads out of it, or may.
pub(super) fn leaves_private(text: &str) -> bool {
    is_private(text) && text.split(['/', ':', '=']).any(|part| part == "..")
}
