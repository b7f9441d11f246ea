//! What templates are filled in with: names and the child's environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::env::Env;
use super::template::{Names, Scope};
use super::tree::Places;
use crate::parse::PIN_VAR;

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
            env.insert(PIN_VAR.into(), pin.display().to_string());
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

/// What stands for the private folder until it is made; with a sign in it that no name of ours has.
const STAND_IN: &str = "/{private folder}";

/// The place that only some chains have.
const RUNTIME_LIB: &str = "{runtime_lib}";

impl Frame {
    /// As [`Frame::fill`] will be, with a stand-in for the private folder: what is judged before the
    /// run is what the run will expand, not what templates look like.
    pub(super) fn rehearse(&self) -> Filled {
        self.fill(Some(Path::new(STAND_IN)))
    }

    /// Whether a template names a place that this chain does not have.
    pub(super) fn lacks_place(&self, template: &str) -> bool {
        let has_lib = self.places.as_ref().is_some_and(|places| places.lib.is_some());
        !has_lib && template.contains(RUNTIME_LIB)
    }
}

/// Whether a rehearsed text names the private folder.
pub(super) fn is_private(text: &str) -> bool {
    text.contains(STAND_IN)
}

/// Whether a rehearsed text leads out of the private folder, or may.
pub(super) fn leaves_private(text: &str) -> bool {
    is_private(text) && text.split(['/', ':', '=']).any(|part| part == "..")
}

/// The path below the private folder that a rehearsed text is.
pub(super) fn below_private(text: &str) -> Option<&Path> {
    Path::new(text).strip_prefix(STAND_IN).ok()
}
