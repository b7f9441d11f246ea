//! Directive: a Markdown file whose metadata is one XML fence (core 6.1 to 6.3).
//!
//! In:  the whole text, the signature line included.
//! Out: a [`Directive`]: metadata, inputs, outputs, actions, preamble and body.
//!
//! Invariants
//! - One fence at top level holds the metadata; fences inside other blocks are text.
//! - Positions of faults are those of the file.
//! - The body is what stands behind the fence; nothing is rendered here.
//!
//! Start at `directive.rs`; `fence.rs` cuts the text, `metadata.rs` reads the XML.

mod body;
mod context;
#[expect(clippy::module_inception, reason = "the folder reads the format, the file is the type")]
mod directive;
mod element;
mod fence;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod inputs;
mod metadata;
mod permissions;

pub(crate) use context::DirectiveContext;
pub(crate) use directive::{Directive, METADATA, signature_length};
pub(crate) use fence::{first_heading, metadata_range};
pub(crate) use inputs::{DirectiveOutput, Input, InputType};
pub(crate) use permissions::RiskClass;
