//! `rye lsp`, driven as an editor does: over pipes, one message after the other.

pub mod editor;
mod remarks;
mod replay;
mod session;
mod signing;
