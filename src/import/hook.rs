//! The keys of a hook, beside those of its program.

use serde_json::Value;

use super::doc::{Fields, one_of};
use super::error::{IMPORT_MISSING, IMPORT_VALUE};
use crate::parse::HookKind;

/// The events that a hook asks to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    /// Which kind of hook it is.
    pub(super) on: &'static str,
    pub(super) phases: Vec<&'static str>,
    /// `None` where the configuration does not say: the kind of hook decides.
    pub(super) mode: Option<&'static str>,
}

pub(super) const KEYS: [&str; 3] = ["hook", "phases", "mode"];

/// Reads `hook`, `phases` and `mode`; a phase that is none would let pass what it should stop.
pub(super) fn read(fields: &Fields<'_>) -> Option<Hook> {
    let mode = fields.one_of("mode", &["filter", "observe"]);
    let hook = fields.needed("hook")?;
    let hook = one_of(&fields.at("hook"), &hook, &HookKind::ALL.map(HookKind::name))?;
    if (hook, mode) == ("session", Some("filter")) {
        fields.at("mode").fault(IMPORT_VALUE, "is `filter`, and a session hook only observes");
    }
    let only_told = mode == Some("observe") || (hook, mode) == ("session", None);
    if only_told && fields.get("runtime").and_then(Value::as_str) == Some("server") {
        fields
            .at("runtime")
            .fault(IMPORT_VALUE, "is `server`, and a hook that only observes is `exec`");
    }
    let kind = HookKind::ALL.into_iter().find(|kind| kind.name() == hook)?;
    let known: Vec<&str> = kind.phases().iter().map(|phase| phase.name()).collect();
    let given = fields.strings("phases");
    match fields.get("phases") {
        None => fields.spot.fault_of_key(IMPORT_MISSING, "has no `phases`"),
        Some(value) if value.as_array().is_some_and(Vec::is_empty) => {
            fields.at("phases").fault(IMPORT_MISSING, "is empty");
        }
        Some(_) => {}
    }
    let phases = given.iter().filter_map(|(spot, phase)| one_of(spot, phase, &known)).collect();
    Some(Hook { on: hook, phases, mode })
}
