//! Finding items by words.
//!
//! Invariant: whatever is found is verified before it is shown. Of an item that was not admitted
//! its ref, its space and the code of the refusal are shown, and no word that it says: who reads it
//! may be an agent.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::describe::{Summary, with_status};
use super::facade::Rye;
use super::listed_files::{ListedBy, Lists};
use crate::base::json::object;
use crate::diagnostic::{Code, Failure};
use crate::id::{Grants, Kind, Query, Ref, Space};
use crate::report::error_json;
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::search::{Criteria, Hit, IndexedDoc, Segment, search};
use crate::space::Entry;

/// Most hits of one page: each is verified before it is shown.
const SEARCH_PAGE: usize = 100;

/// Hits of a page if the caller does not say how many.
const PAGE: usize = 20;
/// The kinds that are searched if the caller names none.
const KINDS: [Kind; 3] = [Kind::Tool, Kind::Directive, Kind::Knowledge];

/// A search: its words, and what narrows it.
#[derive(Debug, Clone)]
#[must_use]
pub struct SearchRequest {
    words: String,
    kind: Option<Kind>,
    space: Option<Space>,
    all: bool,
    limit: usize,
    cursor: Option<String>,
    grants: Option<Grants>,
}

impl SearchRequest {
    /// Looks for words, in any order; for everything where there are none.
    pub fn new(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { words, kind: None, space: None, all: false, limit: PAGE, cursor: None, grants: None }
    }

    /// At most so many hits, from 1 to 100.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: limit.clamp(1, SEARCH_PAGE), ..self }
    }

    /// Goes on behind a page, by its `next_cursor`.
    pub fn cursor(self, cursor: impl Into<String>) -> Self {
        Self { cursor: Some(cursor.into()), ..self }
    }

    /// Only this kind; by default tools, directives and knowledge.
    pub(crate) fn kind(self, kind: Option<Kind>) -> Self {
        Self { kind, ..self }
    }

    /// Only this space, what is shadowed there included; by default what answers in each.
    pub(crate) fn space(self, space: Option<Space>) -> Self {
        Self { space, ..self }
    }

    /// Only what a caller may reach.
    pub(crate) fn grants(self, grants: Option<Grants>) -> Self {
        Self { grants, ..self }
    }

    /// Runtimes and primitives too, which only run others.
    pub(crate) fn all(self, all: bool) -> Self {
        Self { all, ..self }
    }
}

/// One item that was found, as it may be shown.
#[derive(Debug)]
pub(crate) struct SearchHit {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    /// In thousandths; only the order means something.
    pub(crate) score: u32,
    /// The description of the verified item; else the code of what refuses it.
    pub(crate) seen: Result<Summary, Code>,
}

/// A page of hits, the best first.
#[derive(Debug)]
pub(crate) struct SearchPage {
    pub(crate) hits: Vec<SearchHit>,
    /// How many were found, on all pages.
    pub(crate) total: usize,
    pub(crate) next_cursor: Option<String>,
}

impl SearchPage {
    /// `hits`, `total`, and `next_cursor` where there is more.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let hits: Vec<Value> = self.hits.iter().map(SearchHit::to_json).collect();
        let mut out = Map::new();
        out.insert("hits".into(), hits.into());
        out.insert("total".into(), self.total.into());
        let next = self.next_cursor.clone().map(Value::from);
        out.extend(next.map(|next| ("next_cursor".to_owned(), next)));
        out
    }
}

impl SearchHit {
    fn to_json(&self) -> Value {
        let mut hit = object(json!({
            "item_id": self.item, "space": self.space, "score": self.score,
            "verified": self.seen.is_ok(),
        }));
        hit.extend(object(match &self.seen {
            Ok(summary) => json!({
                "summary": summary.text, "version": summary.version, "signer": summary.signer,
                "owner": summary.owner,
            }),
            Err(code) => json!({"refused": {"code": code}}),
        }));
        hit.into()
    }
}

/// Finding items by words.
#[derive(Clone, Copy)]
pub(crate) struct ItemSearch<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// Finding items by words.
    pub(crate) fn search(&self) -> ItemSearch<'_> {
        ItemSearch { rye: self }
    }
}

impl Rye {
    /// Finds items by words and gives one JSON object: a page, or why there is none.
    pub fn search_json(&self, request: &SearchRequest) -> Value {
        let start = std::time::Instant::now();
        match self.search().find(request) {
            Ok(page) => with_status(page.to_json()),
            Err(failure) => error_json(&failure.diagnostic(), None, &[], start.elapsed(), None),
        }
    }
}

impl ItemSearch<'_> {
    /// Finds items by words.
    ///
    /// # Errors
    /// `search.query`, `search.cursor`, `space.*`.
    pub(crate) fn find(self, request: &SearchRequest) -> Result<SearchPage, Failure> {
        let roots = self.rye.spaces.nearest_first();
        let may_read_project = self.rye.project().is_accepted();
        let segments: Vec<Arc<Segment>> = roots
            .filter(|root| request.space.is_none_or(|wanted| wanted == root.space()))
            .filter_map(|root| {
                let may_read = root.space() != Space::Project || may_read_project;
                self.rye.search_index.segment(root, &self.rye.types, may_read)
            })
            .collect();
        let segments: Vec<&Segment> = segments.iter().map(AsRef::as_ref).collect();
        let takes = |file: &IndexedDoc| {
            let kind = match request.kind {
                Some(kind) => file.entry.item.kind == kind && !file.is_about_keys(),
                None => KINDS.contains(&file.entry.item.kind),
            };
            let is_granted = |item| request.grants.as_ref().is_none_or(|it| it.allow(item));
            kind && is_granted(&file.entry.item) && (request.all || !is_link(&file.entry.item))
        };
        let parts = Parts { rye: self.rye, segments: &segments, lists: OnceCell::new() };
        let is_hit = |file: &IndexedDoc| {
            // A bundle answers for what no space and no other bundle has.
            let answers = segments.iter().find_map(|segment| segment.find(&file.entry.item));
            answers.is_some_and(|nearest| nearest.is_in_root_of(file)) && !parts.hold(file)
        };
        let filters = json!([request.kind, request.space, request.all]).to_string();
        let page = search(
            &segments,
            &Criteria {
                text: &request.words,
                filters: &filters,
                takes: &takes,
                is_hit: &is_hit,
                limit: request.limit,
                cursor: request.cursor.as_deref(),
            },
        )?;
        let hits = self.shown(page.hits, request.space);
        Ok(SearchPage { hits, total: page.total, next_cursor: page.next })
    }

    /// The items that were found, verified on all cores; those that went away in the meantime are
    /// left out.
    fn shown(self, hits: Vec<Hit>, space: Option<Space>) -> Vec<SearchHit> {
        let query = |hit: &Hit| Query { space, ..Query::from(hit.entry.item.clone()) };
        let described = self.rye.items().describe_all(hits.iter().map(query).collect());
        let shown = hits.into_iter().zip(described).filter_map(|(hit, described)| {
            let Hit { entry: Entry { item, space, .. }, score } = hit;
            let (space, seen) = match described {
                Ok(described) => (described.detail.space, described.summary()),
                Err(failure) if failure.reason() == RESOLVE_NOT_FOUND => return None,
                Err(failure) => (space, Err(failure.reason())),
            };
            Some(SearchHit { item, space, score, seen })
        });
        shown.collect()
    }
}

/// The files that tools list, which are no items of their own.
struct Parts<'a> {
    rye: &'a Rye,
    segments: &'a [&'a Segment],
    /// The files that the tools list; read when first needed.
    lists: OnceCell<Lists>,
}

impl Parts<'_> {
    /// Says if a verified header lists a file. A file with a signature line is always an item.
    fn hold(&self, file: &IndexedDoc) -> bool {
        if !file.is_unsigned || file.entry.item.kind != Kind::Tool {
            return false;
        }
        let lists = self.lists.get_or_init(|| {
            let files = self.segments.iter().flat_map(|segment| segment.files());
            let listing = files.filter(|file| file.lists_files).map(|file| file.entry.clone());
            self.rye.items().lists(listing)
        });
        lists.tool_of(&file.entry).is_some_and(ListedBy::covers)
    }
}

/// Returns true if it is a step for other tools, which is not run by itself.
pub(crate) fn is_link(item: &Ref) -> bool {
    let id = item.id.as_str();
    item.kind == Kind::Tool
        && (id.starts_with("rye/core/runtimes/") || id.starts_with("rye/core/primitives/"))
}
