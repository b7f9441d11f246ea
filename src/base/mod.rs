//! Base: std-shaped helpers that know no word of rye.
//!
//! Sees nothing of this crate.
//!
//! Start at `limits` and `durations`: the caps and the spans of time that several files use. Each
//! other one stands in its file, with its reason.

mod address;
pub(crate) mod again;
pub(crate) mod beneath;
pub(crate) mod bytes;
pub(crate) mod canon;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod durations;
pub(crate) mod event_stream;
pub(crate) mod file_lock;
pub(crate) mod fold;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod host_rule;
pub(crate) mod json;
pub(crate) mod json_reader;
mod json_spelling;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod look_alike;
pub(crate) mod mask;
pub(crate) mod money;
pub(crate) mod parallel;
mod process_stat;
pub(crate) mod random;
pub(crate) mod secret_forms;
pub(crate) mod signed_statement;
pub(crate) mod staged;
mod standing;
pub(crate) mod sync;
pub(crate) mod terminal_text;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod value_count;

pub(crate) use address::Address;
pub(crate) use digest::{Digest, Digesting};
pub(crate) use host_rule::HostRule;
#[cfg(feature = "http")]
pub(crate) use host_rule::address_of;
pub(crate) use json_spelling::spellings;
pub(crate) use mask::Mask;
pub(crate) use process_stat::ProcessStat;
pub(crate) use standing::standing;
pub(crate) use time::Timestamp;

/// The tests run at their whole size, as `RYE_TEST=all` asks; by default each is as large as its
/// promise needs.
#[cfg(test)]
pub(crate) fn whole_tests() -> bool {
    std::env::var_os("RYE_TEST").is_some_and(|asked| asked == "all")
}
