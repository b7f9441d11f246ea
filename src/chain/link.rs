//! One step of a chain.

use crate::id::Ref;
use crate::parse::Tool;
use crate::verify::Source;

/// The purpose of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Tool,
    Runtime,
    Primitive,
}

/// A verified and parsed tool item with its part in the chain.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) role: Role,
    pub(crate) source: Source,
    pub(crate) tool: Tool,
}

impl Link {
    pub(crate) fn item(&self) -> &Ref {
        self.source.item()
    }
}
