//! The tier of an item: how much harm it could do with what it and its chain may touch.
//!
//! A link is read as it lies there, verified or not: the tier is for the person who decides about
//! the item, and what does not verify does not run.

use std::collections::HashMap;
use std::sync::Mutex;

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::items::Described;
use super::load::Loader;
use crate::base::limits::{CHAIN_LINKS, EXTENDS_PARENTS};
use crate::base::parallel::parallel;
use crate::base::sync::unpoisoned;
use crate::id::{Ref, Space};
use crate::parse::{DeclaredReach, Risk, RiskBasis, RiskLink};
use crate::plan::default_net;
use crate::trace::Quiet;

/// Works out tiers; what many items run through is read once.
pub(super) struct RiskFinder<'a> {
    loader: Loader<'a>,
    /// Links stand as they were accepted, signed or ran last, where that is remembered.
    is_before: bool,
    behind: Mutex<HashMap<(Ref, Space), Behind>>,
}

/// The links behind an item in its chain.
#[derive(Clone, Default)]
struct Behind {
    links: Vec<DeclaredReach>,
    /// A link is missing or cannot be read.
    is_cut: bool,
}

impl<'a> RiskFinder<'a> {
    pub(super) fn new(loader: Loader<'a>) -> Self {
        Self { loader, is_before: false, behind: Mutex::default() }
    }

    /// As [`Self::new`], but for the versions that you accepted, signed or ran last.
    pub(super) fn before(loader: Loader<'a>) -> Self {
        Self { is_before: true, ..Self::new(loader) }
    }

    /// The risk of an item of that space, by the first link of its chain; `None` for what others
    /// run through.
    pub(super) fn risk(&self, name: &Ref, space: Space, own: RiskLink) -> Option<Risk> {
        if own.is_for_others {
            return None;
        }
        let behind = own.next.as_ref().map(|next| self.behind(next, space)).unwrap_or_default();
        let basis = RiskBasis {
            kind: name.kind,
            default_net: default_net(space),
            // With a policy that cannot be read nothing runs.
            is_let_out: self.loader.trust.lets_out(name).unwrap_or(false),
            is_cut: behind.is_cut,
        };
        let links: Vec<_> = std::iter::once(own.reach).chain(behind.links).collect();
        Some(Risk::new(&links, basis))
    }

    fn behind(&self, next: &Ref, from: Space) -> Behind {
        let key = (next.clone(), from);
        let known = || unpoisoned(self.behind.lock());
        let behind = known().get(&key).cloned();
        if let Some(behind) = behind {
            return behind;
        }
        let behind = self.walk(next.clone(), from);
        known().insert(key, behind.clone());
        behind
    }

    fn walk(&self, first: Ref, mut from: Space) -> Behind {
        let mut behind = Behind::default();
        let mut next = Some(first);
        while let Some(item) = next {
            let link = match behind.links.len() < CHAIN_LINKS.max(EXTENDS_PARENTS) {
                true => self.link(&item, from),
                false => None,
            };
            let Some((link, space)) = link else { return Behind { is_cut: true, ..behind } };
            behind.links.push(link.reach);
            (from, next) = (space, link.next);
        }
        behind
    }

    fn link(&self, item: &Ref, from: Space) -> Option<(RiskLink, Space)> {
        let found =
            self.loader.resolver(|resolver| resolver.resolve(item, from, &Quiet)).ok()??;
        let style = &found.file_type.header;
        if self.is_before
            && let Some(last) = self.loader.versions(&found).next()
        {
            return Some((RiskLink::of_unverified(item.kind, last.text(), style)?, found.space));
        }
        let text = std::str::from_utf8(&found.bytes).ok()?;
        Some((RiskLink::of_unverified(item.kind, text, style)?, found.space))
    }
}

/// The risk of each item; `None` for what others run through. The results keep the order.
pub(crate) fn risks(rye: &Rye, of: Vec<&Described>) -> Vec<Option<Risk>> {
    let policy = CallPolicy::new(rye, LockMode::Off);
    let finder = RiskFinder::new(policy.loader(&Quiet));
    parallel(of, |described| {
        let detail = &described.detail;
        finder.risk(&detail.item, detail.space, RiskLink::new(&described.item))
    })
}

/// The risk of one item; `None` for what others run through.
pub(crate) fn risk(rye: &Rye, of: &Described) -> Option<Risk> {
    risks(rye, vec![of]).pop().flatten()
}
