//! One item through the first steps: resolve, verify, the lock, parse. Every item takes this way.

use std::sync::atomic::Ordering;

use super::rules::Rules;
use super::rye::Rye;
use crate::base::limits::SUGGESTIONS;
use crate::chain::Fetch;
use crate::diagnostic::Failure;
use crate::id::{ItemId, Query, Ref, Space};
use crate::parse::Item;
use crate::resolve::{Found, Resolver};
use crate::space::baseline::Stamp;
use crate::trace::{Event, Sink};
use crate::verify::{Reason, Source, TrustStore, admit};

/// The first steps of the line, by the rules of one call.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(super) rye: &'a Rye,
    pub(super) trust: &'a TrustStore<'a>,
    pub(super) rules: &'a Rules<'a>,
    pub(super) sink: &'a dyn Sink,
}

impl Line<'_> {
    /// Calls `with` with the resolver of this call.
    pub(super) fn resolver<R>(&self, with: impl FnOnce(&Resolver<'_>) -> R) -> R {
        // A policy that cannot be read lets nothing through.
        let may_shadow = |id: &ItemId| self.trust.may_shadow(id).unwrap_or(false);
        let may_suggest = || self.rye.suggested.fetch_add(1, Ordering::Relaxed) < SUGGESTIONS;
        with(&Resolver {
            spaces: &self.rye.spaces,
            types: &self.rye.types,
            may_shadow: &may_shadow,
            may_suggest: &may_suggest,
        })
    }

    /// Resolve: what was typed, as one file.
    pub(super) fn find(&self, query: &Query) -> Result<Found, Failure> {
        Ok(self.resolver(|resolver| resolver.answer(query, self.sink))?)
    }

    /// Verify and parse a file.
    pub(super) fn admit(&self, found: Found) -> Result<(Source, Item), Failure> {
        self.admit_or(found)
    }

    /// Verify and parse a file, whatever the lock says of it.
    pub(super) fn admit_alone(&self, found: Found) -> Result<(Source, Item), Failure> {
        let source = self.verify_alone(found)?;
        self.parse(source)
    }

    /// Verify a file, and hold it against the lock.
    pub(super) fn verify(&self, found: Found) -> Result<Source, Failure> {
        let source = self.verify_alone(found)?;
        self.rules.judge(&source)?;
        Ok(source)
    }

    /// Verify a file, whatever the lock says of it.
    pub(super) fn verify_alone(&self, found: Found) -> Result<Source, Failure> {
        let item = found.item.clone();
        // Known are versions of the project, also where files of another folder stand for its own.
        let base = match found.space {
            Space::Project => self.rye.spaces.project_path().to_owned(),
            _ => found.base.clone(),
        };
        let identity = self.rye.spaces.project_identity();
        let admitted = admit(found, self.trust, identity, self.rules.dev(), self.sink);
        let admitted = admitted.map_err(|mut refused| {
            let known = || self.rye.baselines().is_some_and(|b| b.knows(&base, &item));
            refused.baseline =
                matches!(refused.reason, Reason::Unsigned | Reason::Moved { .. }) && known();
            refused
        });
        Ok(admitted?)
    }

    fn admit_or(&self, found: Found) -> Result<(Source, Item), Failure> {
        let source = self.verify(found)?;
        self.parse(source)
    }

    fn parse(&self, source: Source) -> Result<(Source, Item), Failure> {
        self.sink.record(Event::Parse { item_id: source.item().clone() });
        let item = Item::parse(&source)?;
        if let Item::Tool(tool) = &item
            && let Some(listed) = &tool.files
        {
            return Ok((source.with_parts(listed, &self.rye.spaces)?, item));
        }
        Ok((source, item))
    }

    /// Keeps the bytes that ran, for `rye diff`; what is in the binary is kept only if it is
    /// `locked`. A full disk must not fail a run that is done.
    pub(super) fn remember<'b>(&self, sources: impl Iterator<Item = &'b Source>, locked: bool) {
        let Some(baselines) = self.rye.baselines() else { return };
        for source in sources.filter(|s| (locked || !s.is_embedded()) && s.warnings().is_empty()) {
            let Some(signer) = source.signer() else { continue };
            let stamp = Stamp { sha256: source.digest(), signed_at: signer.at, key: signer.key };
            let (item, version) = (source.item(), (stamp, source.text().as_bytes()));
            let keep = self.rules.locked_digest(item, source.space());
            let files: Vec<_> =
                source.parts().iter().map(|p| (p.digest, p.bytes.as_ref())).collect();
            if let Err(error) = baselines.remember(source.base(), item, version, &files, keep) {
                tracing::debug!(%error, %item, "no baseline kept");
            }
        }
    }
}

impl Fetch for Line<'_> {
    fn fetch(&self, item: &Ref, from: Space) -> Result<Option<(Source, Item)>, Failure> {
        let found = self.resolver(|resolver| resolver.resolve(item, from, self.sink))?;
        found.map(|found| self.admit_or(found)).transpose()
    }

    fn find_above(&self, item: &Ref, from: Space) -> Option<Space> {
        self.resolver(|resolver| {
            let above = Space::NEAREST_FIRST.into_iter().rev().filter(|space| *space > from);
            above.into_iter().find(|space| {
                let query = Query { space: Some(*space), ..Query::from(item.clone()) };
                resolver.answer(&query, &crate::trace::Quiet).is_ok()
            })
        })
    }

    fn near(&self, item: &Ref) -> Vec<String> {
        self.resolver(|resolver| resolver.near(&Query::from(item.clone())))
    }
}
