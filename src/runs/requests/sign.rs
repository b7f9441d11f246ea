//! Requests of models for a person's signature: kept beside those of tools, and signed by who
//! approves them, if the item is still what was asked for.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::base::Digest;
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::registry::{
    Decision, NewRequest, PendingRequest, PendingState, Registry, RegistryError, RequestKind,
};
use crate::resolve::Found;
use crate::rye::{Approvals, Offer, OfferOutcome, now};
use crate::space::Entry;
use crate::thread::ThreadId;

/// A request for a signature, as it is kept.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignRequest {
    item: String,
    ext: String,
    /// The digest that the signature would cover, listed files included.
    sha256: Digest,
}

impl SignRequest {
    /// Reads a request; `None` for one of a tool or a snippet.
    pub(crate) fn of(request: &PendingRequest) -> Option<Self> {
        let kept = serde_json::from_slice(&request.payload);
        kept.ok().filter(|_| request.kind == RequestKind::Signature)
    }

    fn entry(&self) -> Option<Entry> {
        let (item, ext) = (self.item.parse().ok()?, self.ext.clone());
        Some(Entry { item, space: Space::Project, bundle: None, ext })
    }
}

/// Why only a person may ask for a signature over this item (core 4.6).
pub(crate) fn for_a_person(item: &Ref) -> Option<&'static str> {
    match () {
        () if item.is_about_keys() => {
            Some("it is about keys, which `rye trust` writes and nobody signs")
        }
        () if item.kind == Kind::Config && item.id.is_reserved() => {
            Some("it is configuration of the operator")
        }
        () if item.is_hook() => Some("it is a hook, which judges the calls of every tool"),
        () => None,
    }
}

impl Approvals<'_> {
    /// Keeps the request for a signature over an item of the project as it is now, unless it waits
    /// already; gives its id and what the signature would cover. The first thread that asks is
    /// named to the person who decides.
    ///
    /// # Errors
    /// Those of an offer; `pending.full`, `registry.io`
    pub(crate) fn ask_signature(
        self,
        found: Found,
        asks: &ThreadId,
    ) -> Result<(String, Digest), Failure> {
        let Found { item, space, bundle, ext, .. } = found;
        let offer = self.rye.signing().offer(&Entry { item, space, bundle, ext: ext.clone() })?;
        let item = offer.item.to_string();
        let sha256 = offer.digest;
        let kept = SignRequest { item: item.clone(), ext, sha256 };
        let unwritten =
            |error: serde_json::Error| RegistryError::Unwritten { why: error.to_string() };
        let kept = serde_json::to_vec(&kept).map_err(unwritten)?;
        let mut registry = Registry::open(self.rye.spaces().user()?.base())?;
        let project = self.rye.spaces().project_path();
        for row in registry.requests()? {
            let may_be = row.state == PendingState::Waiting && row.item == item;
            if may_be && row.project == project && registry.request(&row.id)?.payload == kept {
                return Ok((row.id, sha256));
            }
        }
        let env = registry.env_digests(std::iter::empty())?;
        let id = registry.postpone(&NewRequest {
            kind: RequestKind::Signature,
            env: &env,
            asked_at: &now().to_string(),
            item: &item,
            project,
            payload: &kept,
            for_record: false,
            reason: "signature",
            message: &format!(
                "a model asks you to sign it; `rye thread show {asks}` shows its thread"
            ),
            // It goes on meanwhile.
            thread: None,
            run: None,
            private: &[],
        })?;
        Ok((id, sha256))
    }

    /// Shows the item to the person who decides about its signature. This is the project that it
    /// was asked in.
    ///
    /// # Errors
    /// `pending.decided`, `pending.drifted`; those of an offer.
    pub(crate) fn signature_offer(
        self,
        request: &PendingRequest,
        wanted: &SignRequest,
    ) -> Result<Offer, Failure> {
        let id = request.row.id.clone();
        if request.row.state != PendingState::Waiting {
            return Err(RegistryError::Decided { id, state: request.row.state }.into());
        }
        let drifted = || RegistryError::Drifted {
            id: id.clone(),
            why: format!("`{}` is not what it was when its signature was asked for", wanted.item),
        };
        let entry = wanted.entry().ok_or_else(drifted)?;
        let offer = self.rye.signing().offer(&entry).map_err(|failure| {
            // Where the file is gone, too.
            tracing::info!(code = failure.code(), "it cannot be offered");
            drifted()
        })?;
        if offer.digest == wanted.sha256 { Ok(offer) } else { Err(drifted().into()) }
    }

    /// Signs what was shown with the person's own key.
    ///
    /// # Errors
    /// `pending.decided`, `pending.drifted`, `registry.io`; those of signing.
    pub(crate) fn sign_requested(
        self,
        request: &PendingRequest,
        offer: &Offer,
        decision: &Decision,
    ) -> Result<(), Failure> {
        let id = request.row.id.clone();
        let registry = Registry::open(self.rye.spaces().user()?.base())?;
        registry.claim(&id, decision)?;
        let taken = self.rye.signing().take(offer);
        let status = match &taken {
            Ok(OfferOutcome::Signed) => "signed",
            Ok(OfferOutcome::Changed) => "changed",
            Err(failure) => failure.code(),
        };
        let told = json!({"status": status, "item_id": offer.item, "sha256": offer.digest});
        registry.finish(&id, &told.to_string())?;
        match taken? {
            OfferOutcome::Signed => Ok(()),
            OfferOutcome::Changed => {
                let why = format!("`{}` changed while it was read", offer.item);
                Err(RegistryError::Drifted { id, why }.into())
            }
        }
    }
}
