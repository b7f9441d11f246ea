//! Rye's own variables. A signed item cannot set, request or receive them under these names.

/// Variables that decide about trust. Rye reads them and never passes them to a child.
pub(crate) const KEPT_BACK: [&str; 4] =
    ["USER_SPACE", "RYE_SYSTEM_SPACE", "RYE_DEV_MODE", "RYE_SIGNING_KEY"];

/// The folders of packages that a child may load from, as a JSON list.
pub(crate) const DEPS_VAR: &str = "RYE_DEPS";

/// The private folder of the run.
pub(crate) const PIN_VAR: &str = "RYE_PIN";

/// Variables that rye alone sets for a child.
const TOLD: [&str; 6] =
    ["RYE_PROJECT", "RYE_ITEM", "RYE_ITEM_PATH", "RYE_RUN_ID", DEPS_VAR, PIN_VAR];

/// Whether rye itself sets the variable.
pub(super) fn is_own(name: &str) -> bool {
    KEPT_BACK.contains(&name) || TOLD.contains(&name)
}
