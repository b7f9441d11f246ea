//! What an editor says that it can do.
//!
//! Read by pointers and not by types: a capability that nobody here knows must not end a session.

use serde_json::Value;

use super::place::Units;

/// The capabilities that make a difference here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) units: Units,
    /// It opens a file that it is told to.
    pub(super) shows_documents: bool,
    /// It watches files that it is told to.
    pub(super) watches: bool,
    /// It knows actions as literals, not only as commands.
    pub(super) takes_actions: bool,
}

impl Client {
    /// What the parameters of `initialize` say.
    pub(super) fn of(params: &Value) -> Self {
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
