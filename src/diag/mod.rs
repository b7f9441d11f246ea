//! Diag: how a failure is described and drawn.
//!
//! Sees `base`. Lists no other layer's errors.
//!
//! In:  anything that is [`Diagnose`]: a stable code, a sentence, a place, a help line, data.
//! Out: a [`Diagnostic`], drawn as text or as JSON.
//!
//! Invariants
//! - Foreign text is escaped when it is drawn, never before.
//! - A code is `<layer>.<reason>` and is never renamed.

mod code;
mod diagnostic;
mod render;

pub(crate) use code::Code;
pub(crate) use diagnostic::{Diagnose, Diagnostic, Place};
pub(crate) use render::{Paint, Style};
