//! A snippet that waits for a person, as the registry keeps it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::code_policy::CallApproval;
use super::request::ThreadParent;
use crate::base::Digest;
use crate::code::PausedSnippet;
use crate::id::{Grants, Pattern};
use crate::registry::RegistryError;
use crate::thread::ThreadId;

/// The bytes of items, by the refs.
pub(crate) type ItemDigests = BTreeMap<String, Digest>;

/// A snippet that waits, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptSnippet {
    pub(crate) format: String,
    pub(crate) paused: Value,
    /// With the digest of that, since the person reads it as it is.
    pub(crate) sha256: Digest,
    pub(crate) run_id: String,
    pub(crate) approval: CallApproval,
    /// Items that a person approved, with their bytes.
    pub(crate) approved: ItemDigests,
    /// Items that were called or asked about, with their bytes.
    pub(crate) called: ItemDigests,
    pub(crate) policy: Digest,
    pub(crate) locked: bool,
    pub(crate) receipts: Option<PathBuf>,
    pub(crate) grants: Option<Vec<Vec<String>>>,
    /// The thread that it is called in.
    pub(crate) thread: Option<String>,
    /// A model wrote it, which is shown no private value.
    pub(crate) hides_values: bool,
    /// The private values that stand in it, and must not be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) private: Vec<String>,
}

impl KeptSnippet {
    /// The version of the form.
    pub(crate) const FORMAT: &str = "rye/snippet/v2";

    /// Reads what was kept of a request.
    ///
    /// # Errors
    /// `pending.drifted`: it is not what was kept.
    pub(crate) fn read(id: &str, text: &str) -> Result<(Self, PausedSnippet), RegistryError> {
        let drifted = |why: String| RegistryError::Drifted { id: id.to_owned(), why };
        let unread = |error: serde_json::Error| drifted(format!("it cannot be read: {error}"));
        let mut kept: Self = serde_json::from_str(text).map_err(unread)?;
        if kept.format != Self::FORMAT {
            return Err(drifted("another rye kept it, in another form".into()));
        }
        if kept.thread.as_ref().is_some_and(|id| id.parse::<ThreadId>().is_err()) {
            return Err(drifted("its thread is not one".into()));
        }
        let paused = kept.paused.take();
        if Digest::of(paused.to_string().as_bytes()) != kept.sha256 {
            return Err(drifted("the snippet that was kept was changed".into()));
        }
        Ok((kept, PausedSnippet::from_json(paused).map_err(unread)?))
    }

    /// The thread that it is called in, for what goes on with it.
    pub(crate) fn parent(&self) -> Option<ThreadParent> {
        let id = self.thread.as_ref()?.parse().ok()?;
        Some(ThreadParent::alone(id))
    }

    pub(crate) fn granted(&self) -> Option<Grants> {
        let sets = self.grants.as_ref()?.iter().map(|texts| {
            // They were patterns when they were kept; what is none lets nothing in.
            texts.iter().filter_map(|text| text.parse::<Pattern>().ok()).collect()
        });
        sets.map(Grants::new).reduce(Grants::and)
    }
}

/// A saved snippet that waited, and what was decided.
#[derive(Debug)]
pub(crate) struct WaitedSnippet {
    /// Of its request.
    pub(crate) id: String,
    pub(crate) kept: KeptSnippet,
    pub(crate) paused: PausedSnippet,
    /// At least one of its questions was approved; otherwise all were rejected.
    pub(crate) is_approved: bool,
}
