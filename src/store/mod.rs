//! Store: objects by the SHA-256 of their bytes, and trees of files made of them.
//!
//! Sees `space` (plain paths and patterns, opening below a folder), `diagnostic`, `base`. Knows no
//! network, no items and no runs.
//!
//! In:  bytes under a digest; a project folder and patterns, or the workspace of a run.
//! Out: the bytes of a digest; a manifest of the files that travel; a workspace; the outputs of a
//!      run in the project.
//!
//! Invariants
//! - No bytes come out of a store that are not those of their digest.
//! - What a ref reaches is never removed, whatever other processes write and collect.
//! - No link is followed, in the store, in a project or in a workspace.
//! - A file that never travels is in no manifest that is made here, and is written from none.
//!
//! - `objects.rs` the seam · `folder.rs` a store in a folder, and why it loses nothing · `kinds.rs`
//!   documents in the store, `manifest.rs` the one that names files
//! - `travel.rs` files that never travel · `tree.rs` from a project to a manifest, and from one to
//!   a workspace · `outputs.rs` the files that a run changed, there and back

#[cfg(test)]
pub(crate) mod battery;
mod error;
mod folder;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
pub(crate) mod kinds;
pub(crate) mod manifest;
mod objects;
pub(crate) mod outputs;
mod travel;
pub(crate) mod tree;

pub(crate) use error::{CODES, StoreError};
pub(crate) use folder::{FolderStore, OBJECTS};
pub(crate) use objects::{GRACE, OBJECT_BYTES, ObjectStore, RefName, reached, verify};
