//! Runs that a node carries out (remote 4): what goes is pushed, the run is asked for and followed
//! by its id, and what comes back is written.
//!
//! `snapshot.rs` what goes · `start.rs` one run, from the push to its files · `node.rs` the node of
//! a run, asked again while it is out of reach · `known.rs` a run that was asked for before

mod known;
mod node;
mod snapshot;
mod start;

pub(super) use known::RemoteRow;
pub(crate) use node::Node;
pub(crate) use snapshot::{RemotePlan, refused_json};
pub(super) use start::run_on_node;
