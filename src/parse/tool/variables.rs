//! The variables that are rye's own: what a signed item sets, asks for or is given never takes
//! their place.

/// What decides about trust: read by rye, and never handed down, whoever asks for it.
pub(crate) const KEPT_BACK: [&str; 4] =
    ["USER_SPACE", "RYE_SYSTEM_SPACE", "RYE_DEV_MODE", "RYE_SIGNING_KEY"];

/// The folders of packages that a child may load from, as a JSON list.
pub(crate) const DEPS_VAR: &str = "RYE_DEPS";

/// The private folder of the run.
pub(crate) const PIN_VAR: &str = "RYE_PIN";

/// What a child is told, by rye alone.
const TOLD: [&str; 6] =
    ["RYE_PROJECT", "RYE_ITEM", "RYE_ITEM_PATH", "RYE_RUN_ID", DEPS_VAR, PIN_VAR];

/// Whether rye itself says what a variable is.
pub(super) fn is_own(name: &str) -> bool {
    KEPT_BACK.contains(&name) || TOLD.contains(&name)
}
