//! Bundle: items of one publisher in one file, installed beside the system space.
//!
//! Sees the facade and what is below it; knows no other feature.
//!
//! In:  verified items, to pack; an archive from anywhere, to check and install.
//! Out: a `.tar.zst` whose first entry is a signed manifest; a folder below `<user>/.ai/bundles`,
//!      which joins the system space as `system:<name>`.
//!
//! - `manifest.rs` what a bundle says of itself, and which paths there may be · `archive.rs` the
//!   file · `check.rs` whether a bundle may be installed here · `pack.rs` · `installed.rs` the
//!   folder of installed bundles, `receipt.rs` what was put there
//!
//! Invariants
//! - The signature of the manifest is checked before anything of an archive is written, and no byte
//!   is written that the manifest does not name by digest.
//! - Its items are admitted by `verify` as any other; no rule of it stands here.
//! - A bundle is put into its place in one step, and taken out in one.
//! - Only what the receipt lists and is unchanged is removed.

mod archive;
mod check;
mod error;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod installed;
mod manifest;
mod pack;
mod receipt;

pub(crate) use check::{Bundle, check_archive};
pub(crate) use error::CODES;
pub(crate) use installed::{BundleState, InstalledBundle, InstalledBundles, Left};
pub(crate) use pack::{Wish, pack};
