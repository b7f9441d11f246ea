//! Eval: what a program that scores a text is sent, and what its answer says (exec-protocol 5).
//! Pure.
//!
//! Sees `execute`, `parse` and below. Runs nothing: `rye` does, the same way as any other.
//!
//! In:  what a caller asks, and the eval's signed header; then the data of its run.
//! Out: the parameters of the run; then a [`Judged`], which holds a score from 0 to 1.
//!
//! Invariants
//! - A [`Score`] is a number from 0 to 1, to the digit. What is none is a fault, never 0.
//! - Scores are compared as the decimals that were written, without a detour by floats.
//!
//! `request.rs` what is sent · `answer.rs` what comes · `score.rs` numbers and thresholds ·
//! `error.rs`

mod answer;
mod error;
mod request;
mod score;

pub(crate) use answer::Judged;
pub(crate) use error::{CODES, EvalError};
pub(crate) use request::{EvalContext, EvalRequest};
pub(crate) use score::{Score, Thresholds};
