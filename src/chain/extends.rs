//! A directive and those it extends (core 6.7).

use super::error::{ChainError, ChainFault};
use super::fetch::Fetch;
use crate::base::limits::EXTENDS_PARENTS;
use crate::id::{ItemId, Kind, Ref};
use crate::parse::{Directive, Item};
use crate::verify::Source;

/// A directive and its parents, nearest first; each verified.
#[derive(Debug)]
pub(crate) struct Lineage {
    pub(crate) source: Source,
    pub(crate) directive: Directive,
    pub(crate) parents: Vec<(Source, Directive)>,
}

impl Lineage {
    /// The sources, the leaf's first.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.source).chain(self.parents.iter().map(|(source, _)| source))
    }

    /// The directives, the leaf first.
    pub(crate) fn directives(&self) -> impl Iterator<Item = &Directive> {
        std::iter::once(&self.directive).chain(self.parents.iter().map(|(_, directive)| directive))
    }

    fn refs(&self) -> Vec<Ref> {
        self.sources().map(|source| source.item().clone()).collect()
    }
}

/// Follows `extends` from the leaf to the root.
///
/// # Errors
/// `parse.extends_cycle`, `chain.parent_not_found`, `chain.too_deep`, and whatever a parent is
/// refused with.
pub(crate) fn lineage(
    source: Source,
    directive: Directive,
    fetch: &dyn Fetch,
) -> Result<Lineage, ChainError> {
    let mut lineage = Lineage { source, directive, parents: Vec::new() };
    loop {
        match next(&lineage, fetch) {
            Ok(None) => return Ok(lineage),
            Ok(Some(parent)) => lineage.parents.push(parent),
            Err(fault) => return Err(ChainError { links: lineage.refs(), fault }),
        }
    }
}

fn next(lineage: &Lineage, fetch: &dyn Fetch) -> Result<Option<(Source, Directive)>, ChainFault> {
    let leaf = (&lineage.source, &lineage.directive);
    let (source, directive) = lineage.parents.last().map_or(leaf, |(s, d)| (s, d));
    let Some(parent) = directive.extends.clone() else { return Ok(None) };
    let mut path: Vec<ItemId> = lineage.refs().into_iter().map(|item| item.id).collect();
    if path.contains(&parent) {
        path.push(parent);
        return Err(ChainFault::ExtendsCycle { path });
    }
    if lineage.parents.len() == EXTENDS_PARENTS {
        return Err(ChainFault::TooManyParents);
    }
    let item = Ref::new(Kind::Directive, parent.clone());
    match fetch.fetch(&item, source.space())? {
        Some((source, Item::Directive(directive))) => Ok(Some((source, *directive))),
        _ => {
            let by = source.item().clone();
            let near = fetch.near(&item);
            Err(ChainFault::ParentNotFound { by, parent, near })
        }
    }
}
