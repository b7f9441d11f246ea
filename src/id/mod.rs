//! Id: the words of the field as newtypes.
//!
//! Sees `diagnostic`, `base`. Touches no path.
//!
//! Each type has one way in, `FromStr`; what exists is well-formed.

mod bundle;
mod error;
mod fingerprint;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod grants;
mod item_id;
mod item_ref;
mod kind;
mod pattern;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod pattern_fuzz;
mod space;

pub(crate) use bundle::BundleName;
pub(crate) use error::{CODES, IdError};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use grants::Grants;
pub(crate) use item_id::ItemId;
pub(crate) use item_ref::{Query, Ref};
pub(crate) use kind::Kind;
pub(crate) use pattern::{Pattern, covers};
pub(crate) use space::Space;
