//! Remembered versions of items: blobs named by their digests, and refs to them, in the user's
//! state folder.
//!
//! Sees `id`, `diagnostic`, `base`. Knows nothing of keys: who reads a blob judges it.
//!
//! Kept here: the last versions of each item that were signed or ran, so that `rye diff` has
//! something to compare with. Losing that folder loses comparisons and nothing else. And the names
//! of items that `rye dev` holds back until a person has looked.

mod held;
mod versions;

pub(crate) use held::HeldBack;
pub(crate) use versions::{Baselines, Stamp};
