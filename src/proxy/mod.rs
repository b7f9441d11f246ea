//! Proxy: answers for the hosts and services that a run may reach.
//!
//! Its place; what answers comes with the next change.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::host::{Egress, NetSettings, Traffic};

/// What the proxy of one run needs to know.
#[expect(dead_code, reason = "read by what comes next")]
pub(crate) struct Settings {
    pub(crate) egress: Egress,
    /// For a run that is watched: every public host may be reached, and is counted.
    pub(crate) observes: bool,
    /// The secret of each service, by the service's name.
    pub(crate) secrets: BTreeMap<String, Zeroizing<String>>,
    pub(crate) token: String,
    /// The operator's way out to servers of `https`, and of `http`.
    pub(crate) https: NetSettings,
    pub(crate) http: NetSettings,
}

/// The machine's own names.
pub(crate) struct Machine;

/// A running proxy.
pub(crate) struct Proxy;

impl Proxy {
    /// Accepts from the listeners: the first is the proxy's, then one for each service.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn start(_: Vec<TcpListener>, _: Settings, _: Arc<Machine>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What went through since this was last asked.
    pub(crate) fn take_traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// Closes everything and says what went through.
    pub(crate) fn end(self) -> Traffic {
        Traffic::default()
    }
}
