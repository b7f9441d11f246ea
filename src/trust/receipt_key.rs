//! Whose signature counts on the receipt of a run, which is not an item.

use std::sync::Arc;

use super::error::TrustError;
use super::store::{KeyStatus, TrustStore};
use crate::base::Timestamp;
use crate::id::Fingerprint;
use crate::signature::{EXAMPLE, PUBLISHER, PublicKey};
use crate::space::ProjectIdentity;

/// A key whose receipts count here.
#[derive(Debug)]
pub(crate) struct ReceiptKey {
    pub(crate) key: PublicKey,
    pub(crate) owner: String,
}

/// Why a key's receipts do not count here.
#[derive(Debug, Clone)]
pub(crate) enum KeyProblem {
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

impl From<Arc<TrustError>> for KeyProblem {
    fn from(error: Arc<TrustError>) -> Self {
        Self::Unreadable(error)
    }
}

impl TrustStore<'_> {
    /// The key with that fingerprint, if it is your own or one that you trust here. Which items it
    /// may sign does not matter, because a receipt admits no item.
    ///
    /// # Errors
    /// [`KeyProblem`]
    pub(crate) fn receipt_key(
        &self,
        key: Fingerprint,
        here: Option<&ProjectIdentity>,
    ) -> Result<ReceiptKey, KeyProblem> {
        if self.is_revoked(key)? {
            return Err(KeyProblem::Revoked);
        }
        // The publisher signs the items in the binary and runs nothing, so it signs no receipts.
        let belief =
            if key == PUBLISHER { KeyStatus::Unknown } else { self.key_status(key, here)? };
        if key == EXAMPLE && !self.lets_in_example() {
            return Err(KeyProblem::Example);
        }
        let trusted = match belief {
            KeyStatus::Key(trusted) => trusted,
            KeyStatus::Weak => return Err(KeyProblem::Weak),
            // A dev key signs items, and nothing else.
            KeyStatus::Unknown | KeyStatus::Dev(_) => return Err(KeyProblem::Unknown),
        };
        if self.is_elsewhere(key, here)? {
            return Err(KeyProblem::Elsewhere);
        }
        match trusted.not_after {
            Some(at) if self.now() > at => Err(KeyProblem::Expired { at }),
            _ => Ok(ReceiptKey { key: trusted.key, owner: trusted.owner }),
        }
    }
}
