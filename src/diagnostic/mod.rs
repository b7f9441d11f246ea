//! Diagnostic: how a failure is described and drawn.
//!
//! Sees `base`. Lists no other layer's errors.
//!
//! In:  anything that is [`Diagnose`]: a stable code, a sentence, a place, a help line, data.
//!      Boxed it is a [`Failure`], which is what features and verbs return.
//! Out: a [`Diagnostic`], drawn as text or as JSON.
//!
//! Invariants
//! - Foreign text is escaped when it is drawn, never before.
//! - A code is `<layer>.<reason>` and is never renamed.
//!
//! # How to add a refusal
//!
//! 1. In the layer's `error.rs`: a variant with its sentence, and its arm in `help`.
//! 2. Where it needs a code of its own: a row in the `codes!` table of that file, with the exit
//!    status, and the code in the arm of `code`.
//! 3. The page of that code, `errors/<code>.md` beside the table: what happened in a sentence, then
//!    `## Why` and `## What to do`, in lines of at most 80 columns.
//!
//! Nothing else lists it: `rye explain`, completion and reports read the tables, and pages are not
//! signed.

mod code;
mod described;
mod failure;
mod render;

pub(crate) use code::{Code, EXIT_STATUSES, ExitStatus, codes};
pub(crate) use described::{Diagnose, Diagnostic, Place, diagnose_as};
pub use failure::Failure;
pub(crate) use render::{Paint, Style};
