//! Execute: run a plan.
//!
//! Layer 11. Sees `plan`, `host` and below. Rebuilds nothing that the plan says.
//!
//! In:  a `Plan` and a `Host`.
//! Out: an [`Outcome`].
//!
//! A [`Primitive`] is the act at the end of a chain; `subprocess.rs` and `http.rs` are built here,
//! others are registered from above. `mask.rs` keeps secrets out of what is shown of a failure.

mod answer;
mod error;
mod http;
mod mask;
mod outcome;
mod primitive;
mod subprocess;
mod witness;

pub(crate) use error::{CODES, ExecuteError};
pub(crate) use http::HttpClient;
pub(crate) use outcome::Outcome;
pub(crate) use primitive::{Primitive, Running};
pub(crate) use subprocess::Subprocess;
pub(crate) use witness::{Output, Witness};
