//! The capabilities that an editor announces.
//!
//! They are read by JSON pointers and not by types, because an unknown capability must not end a
//! session.

use serde_json::Value;

use super::place::Units;

/// The capabilities that matter here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) units: Units,
    /// The editor opens a file when the server asks for it.
    pub(super) shows_documents: bool,
    /// The editor watches files when the server asks for it.
    pub(super) watches: bool,
    /// The editor takes actions as literals, not only as commands.
    pub(super) takes_actions: bool,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub(super) fn from_params(params: &Value) -> Self {
        let at = |pointer: &str| params.pointer(&format!("/capabilities/{pointer}"));
        let can = |pointer: &str| at(pointer) == Some(&Value::Bool(true));
        let wishes = at("general/positionEncodings").and_then(Value::as_array);
        Self {
            units: Units::agree(wishes.into_iter().flatten().filter_map(Value::as_str)),
            shows_documents: can("window/showDocument/support"),
            watches: can("workspace/didChangeWatchedFiles/dynamicRegistration"),
            takes_actions: at("textDocument/codeAction/codeActionLiteralSupport").is_some(),
        }
    }
}
