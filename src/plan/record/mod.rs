//! The plan on record: as data, in a file, and what differs between two.
//!
//! In:  a `Plan`, or the bytes of a plan file.
//! Out: canonical JSON with its digest, and the differences path by path.
//!
//! Start at `document.rs`.

mod document;
mod drift;
mod file;

pub(in crate::plan) use document::Content;
#[cfg(any(test, feature = "fuzz"))]
pub(in crate::plan) use document::FORMAT;
pub(crate) use document::PlannedItem;
#[cfg(any(test, feature = "fuzz"))]
pub(in crate::plan) use drift::differences;
pub(in crate::plan) use drift::{PlanDifference, difference_lines, of_params_alone};
pub(crate) use file::PlanFile;
