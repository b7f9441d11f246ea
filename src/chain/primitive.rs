//! The primitives of this build.

use crate::id::ItemId;

/// The act at the end of a chain. Each has an item of its own in the system space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primitive {
    /// A process.
    Execute,
    /// One HTTP request.
    HttpClient,
    /// One tool of an MCP server.
    Mcp,
    /// A run of another item on a node.
    Remote,
    /// A snippet that calls tools; a build without code mode does not know it.
    #[cfg(feature = "code")]
    Code,
}

impl Primitive {
    /// The primitive with this item id.
    pub(crate) fn from_id(id: &ItemId) -> Option<Self> {
        match id.as_str() {
            "rye/core/primitives/execute" => Some(Self::Execute),
            "rye/core/primitives/http_client" => Some(Self::HttpClient),
            "rye/core/primitives/mcp" => Some(Self::Mcp),
            "rye/core/primitives/remote" => Some(Self::Remote),
            #[cfg(feature = "code")]
            "rye/core/primitives/code" => Some(Self::Code),
            _ => None,
        }
    }
}
