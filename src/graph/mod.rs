//! Graph: what items run through and use, drawn with who stands behind each part.
//!
//! Sees the facade and what is below it; knows no other feature.
//!
//! In:  what is in reach of some references, each part with its verdict.
//! Out: a [`Graph`], the same for the same spaces, as a tree, as Mermaid, as SVG, as data,
//!      as an inventory in the form of CycloneDX.
//!
//! Invariants
//! - A part that many share is one node; a refusal is a node with its code.
//! - Colour is never the only carrier of meaning: each node has a mark and a word.
//! - Foreign text is escaped for the form that it is drawn in.
//!
//! Start at `model.rs`.

mod cyclonedx;
mod layout;
mod mermaid;
mod model;
mod svg;
mod tree;

pub(crate) use cyclonedx::InventoryTitle;
pub(crate) use model::Graph;
