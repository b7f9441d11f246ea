//! Whose word counts about something that is no item: the record of a run.

use std::sync::Arc;

use super::error::TrustError;
use super::key::{EXAMPLE, PUBLISHER, PublicKey};
use super::trust_store::{Belief, TrustStore};
use crate::base::Timestamp;
use crate::id::Fingerprint;
use crate::space::ProjectIdentity;

/// A key whose word counts here.
#[derive(Debug)]
pub(crate) struct Voucher {
    pub(crate) key: PublicKey,
    pub(crate) owner: String,
}

/// Why a key's word does not count here.
#[derive(Debug, Clone)]
pub(crate) enum Doubt {
    /// It is neither your own nor one that you trust.
    Unknown,
    Weak,
    /// Its private half is public.
    Example,
    /// You trust it in other projects only.
    Elsewhere,
    Expired {
        at: Timestamp,
    },
    Revoked,
    Unreadable(Arc<TrustError>),
}

impl From<Arc<TrustError>> for Doubt {
    fn from(error: Arc<TrustError>) -> Self {
        Self::Unreadable(error)
    }
}

impl TrustStore<'_> {
    /// The key with that fingerprint, if it is your own, or one that you trust here. Which items it
    /// may sign does not matter: it speaks of a run, and admits nothing.
    ///
    /// # Errors
    /// [`Doubt`]
    pub(crate) fn voucher(
        &self,
        key: Fingerprint,
        here: Option<&ProjectIdentity>,
    ) -> Result<Voucher, Doubt> {
        if self.is_revoked(key)? {
            return Err(Doubt::Revoked);
        }
        // The publisher signs what is in the binary, and runs nothing.
        let belief = if key == PUBLISHER { Belief::Unknown } else { self.belief(key)? };
        if key == EXAMPLE && !self.lets_in_example() {
            return Err(Doubt::Example);
        }
        let candidate = match belief {
            Belief::Key(candidate) => candidate,
            Belief::Weak => return Err(Doubt::Weak),
            // A dev key signs items, and nothing else.
            Belief::Unknown | Belief::Dev(_) => return Err(Doubt::Unknown),
        };
        if self.is_elsewhere(key, here)? {
            return Err(Doubt::Elsewhere);
        }
        match candidate.not_after {
            Some(at) if self.now() > at => Err(Doubt::Expired { at }),
            _ => Ok(Voucher { key: candidate.key, owner: candidate.owner }),
        }
    }
}
