//! The seam: what the end of a chain does.

use std::path::Path;

use serde_json::Value;

use super::{Driver, ExecuteError, Outcome, Witness};
use crate::host::{Host, Vars};
use crate::plan::Plan;
use crate::trace::Sink;

/// What a primitive may use while it runs.
pub(crate) struct Running<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) vars: &'a Vars,
    /// The session's runtime folder, where private folders go, if it is outside of the foreign
    /// ground.
    pub(crate) runtime: Option<&'a Path>,
    /// Where private folders go when there is none.
    pub(crate) pin_fallback: Option<&'a Path>,
    pub(crate) sink: &'a dyn Sink,
    /// Speaks with programs over the exec protocol.
    pub(crate) driver: &'a dyn Driver,
    /// That a person approved what a program asked for: its id, who, and when.
    pub(crate) approval: Option<&'a Value>,
    /// Told what the act did, where a receipt of the run is wanted.
    pub(crate) witness: Option<&'a Witness>,
}

/// A built-in act: a subprocess and an HTTP request here; threads, code and remotes arrive by
/// registration.
pub(crate) trait Primitive: Sync + Send {
    /// The item id of the primitive's own item in the system space.
    fn id(&self) -> &'static str;

    /// Carries out the plan.
    fn run(&self, plan: &Plan, running: &Running<'_>) -> Result<Outcome, ExecuteError>;
}
