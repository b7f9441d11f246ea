//! The node of a run, and patience with it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::diagnostic::{Diagnose, Failure};
use crate::host::NetFault;
use crate::id::Fingerprint;
use crate::remote::{NamedRemote, NodeClient, REMOTE_BUSY, RemoteError};
use crate::rye::Rye;
use crate::signature::{KeyPair, PublicKey};

/// The pauses between two tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A line that lasts no longer may be one to a forwarded port behind which nothing listens.
const A_WHILE: Duration = Duration::from_secs(1);

/// A remote with the key that asks it.
pub(crate) struct Node<'a> {
    rye: &'a Rye,
    pub(super) remote: NamedRemote,
    pair: KeyPair,
    key: OnceLock<PublicKey>,
}

impl<'a> Node<'a> {
    /// # Errors
    /// `key.*`, `space.*`
    pub(crate) fn new(rye: &'a Rye, remote: NamedRemote) -> Result<Self, Failure> {
        Ok(Self { rye, remote, pair: rye.signing().own_pair()?, key: OnceLock::new() })
    }

    /// The key that asks it.
    pub(super) fn own(&self) -> Fingerprint {
        self.pair.public().fingerprint()
    }

    /// The node's key, once it answered.
    pub(super) fn key(&self) -> Option<&PublicKey> {
        self.key.get()
    }

    pub(crate) fn client(&self) -> NodeClient<'_> {
        NodeClient {
            remote: &self.remote,
            pair: &self.pair,
            key: &self.key,
            host: self.rye.host(),
            vars: &self.rye.located().vars,
        }
    }

    /// Asks until the node answers, for as long as it may be out of reach since a try failed. Where
    /// the line breaks after a while, it was in reach until then.
    ///
    /// # Errors
    /// The last failure.
    pub(super) fn patiently<R>(
        &self,
        mut ask: impl FnMut(&NodeClient<'_>) -> Result<R, RemoteError>,
    ) -> Result<R, RemoteError> {
        let ((mut pause, longest), mut until) = (PAUSES, None);
        loop {
            let begun = Instant::now();
            let error = match ask(&self.client()) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let now = Instant::now();
            if is_broken(&error) && now - begun > A_WHILE {
                (pause, until) = (PAUSES.0, None);
            }
            let until = *until.get_or_insert(now + self.remote.timeout);
            if now + pause >= until || !may_pass(&error) {
                return Err(error);
            }
            self.sleep(pause)?;
            pause = (pause * 2).min(longest);
        }
    }

    /// Waits a moment before the node is asked for more.
    ///
    /// # Errors
    /// This process is asked to end.
    pub(super) fn rest(&self) -> Result<(), RemoteError> {
        self.sleep(PAUSES.0)
    }

    fn sleep(&self, time: Duration) -> Result<(), RemoteError> {
        match self.rye.host().sleep(time) {
            Ok(Some(signal)) => Err(self.client().interrupted(signal)),
            _ => Ok(()),
        }
    }
}

/// Returns true if there was a line.
fn is_broken(error: &RemoteError) -> bool {
    matches!(error, RemoteError::Unreachable { fault: NetFault::Broken(_), .. })
}

/// Returns true for a failure that may be gone at the next try.
fn may_pass(error: &RemoteError) -> bool {
    match error {
        RemoteError::Unreachable { .. } => error.signal().is_none(),
        other => other.code() == REMOTE_BUSY,
    }
}
