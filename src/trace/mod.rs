//! Trace: what was decided, in order, as data.
//!
//! Sees `id`, `diagnostic`, `base`. Formats nothing for people.
//!
//! A trace never changes what happens: a [`Sink`] only listens.

mod event;
mod sink;

pub(crate) use event::{
    DeniedCall, Event, LoweredLimit, MissingTool, ProviderFailure, SkippedPath, Warning,
};
pub(crate) use sink::{OutputPiece, Quiet, Recorded, Recorder, Sink, Warnings, WithoutOutput};
