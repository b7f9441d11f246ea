//! Near names for what was not found.

use super::resolve::Resolver;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diagnostic::Place;
use crate::id::{Kind, Query, Ref, Space};

/// The items that may have been meant.
#[derive(Default)]
pub(super) struct Near {
    pub(super) refs: Vec<String>,
    /// The file of the first of them, if it was named by the file's name.
    pub(super) file: Option<Place>,
}

/// The items that may have been meant; listing errors only make the list shorter, and of many that
/// are not found only the first have any.
pub(super) fn suggest(resolver: &Resolver<'_>, query: &Query) -> Near {
    if !(resolver.may_suggest)() {
        return Near::default();
    }
    if let Some((item, place)) = resolver.spaces.with_file_name(query.id.name(), resolver.types) {
        let is_here = place.space.as_deref() == Some(Space::Project.as_str());
        return Near { refs: vec![item.to_string()], file: Some(place).filter(|_| is_here) };
    }
    Near { refs: near_refs(resolver, query), file: None }
}

fn near_refs(resolver: &Resolver<'_>, query: &Query) -> Vec<String> {
    let mut refs: Vec<Ref> = Vec::new();
    for root in resolver.spaces.nearest_first() {
        for kind in Kind::ALL {
            let listing = root.list(kind, resolver.types).unwrap_or_default();
            refs.extend(listing.entries.into_iter().map(|entry| entry.item));
        }
    }
    // The very id, if it is of another kind, is what was meant.
    let same: Vec<String> =
        refs.iter().filter(|item| item.id == query.id).map(ToString::to_string).collect();
    if let Some(item) = same.into_iter().next() {
        return vec![item];
    }
    let asked = |item: &Ref| match query.kind {
        Some(kind) => item.kind == kind,
        // What others run through is not what a person runs.
        None => matches!(item.kind, Kind::Tool | Kind::Directive) && !item.id.is_runtime_part(),
    };
    let refs: Vec<String> = refs.iter().filter(|item| asked(item)).map(Ref::to_string).collect();
    let ids = refs.iter().map(|r| r.split_once(':').map_or(r.as_str(), |(_, id)| id));
    let wanted = near(query.id.as_str(), ids, NEAR_NAMES);
    let mut out: Vec<String> = Vec::new();
    for id in wanted {
        let full = refs.iter().find(|r| r.split_once(':').is_some_and(|(_, i)| i == id));
        out.extend(full.filter(|r| !out.contains(r)).cloned());
    }
    out
}
