//! Finding items by words, and describing one as far as is asked.
//!
//! For every door, the command line as well as MCP:
//!
//! - [`Rye::search`] finds; [`Rye::search_json`] is the same as one JSON object.
//! - [`Rye::describe_at`] describes one item; [`Rye::describe_json`] likewise.
//!
//! Invariant: whatever is found is verified before it is shown. Of an item that was not admitted
//! its ref, its space and the code of the refusal are shown, and no word that it says: who reads it
//! may be an agent.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::inspect::Described;
use super::parts::{Beside, is_part};
use super::rye::Rye;
use crate::base::limits::{EXAMPLES_SHOWN, SEARCH_PAGE, SUMMARY_CHARS};
use crate::diagnostic::Code;
use crate::diagnostic::Failure;
use crate::id::{Fingerprint, Kind, Query, Ref, Space};
use crate::report::{Warned, error_json};
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::search::{Criteria, Hit, IndexedDoc, Segment, search};
use crate::space::Entry;
use crate::verify::{Integrity, VERIFY_UNSIGNED};

/// Hits of a page if the caller does not say how many.
const PAGE: usize = 20;
/// Examples if the caller does not say how many.
const EXAMPLES: usize = 3;
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
}

impl SearchRequest {
    /// Looks for words, in any order; for everything where there are none.
    pub fn new(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { words, kind: None, space: None, all: false, limit: PAGE, cursor: None }
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
    /// What the verified item says; else the code of what refuses it.
    pub(crate) seen: Result<Summary, Code>,
}

/// What a verified item says of itself, in short.
#[derive(Debug)]
pub(crate) struct Summary {
    /// At most 200 characters.
    pub(crate) text: String,
    pub(crate) version: Option<String>,
    pub(crate) signer: Option<Fingerprint>,
    pub(crate) owner: Option<String>,
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
        let mut out = json!({
            "item_id": self.item, "space": self.space, "score": self.score,
            "verified": self.seen.is_ok(),
        });
        let Value::Object(map) = &mut out else { return out };
        match &self.seen {
            Ok(summary) => {
                map.insert("summary".into(), summary.text.clone().into());
                map.insert("version".into(), json!(summary.version));
                map.insert("signer".into(), json!(summary.signer));
                map.insert("owner".into(), json!(summary.owner));
            }
            Err(code) => {
                map.insert("refused".into(), json!({"code": code}));
            }
        }
        out
    }
}

/// How much of an item is told (code-mode 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What it is for, in at most 200 characters.
    Summary,
    /// And what it takes.
    Schema,
    /// And notes, examples and references, and who signed it.
    Full,
}

impl Level {
    pub(crate) const ALL: [Self; 3] = [Self::Summary, Self::Schema, Self::Full];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Schema => "schema",
            Self::Full => "full",
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or(())
    }
}

impl Rye {
    /// Finds items by words.
    ///
    /// # Errors
    /// `search.query`, `search.cursor`, `space.*`.
    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchPage, Failure> {
        let roots = self.spaces.nearest_first();
        let segments: Vec<Arc<Segment>> = roots
            .filter(|root| request.space.is_none_or(|wanted| wanted == root.space()))
            .filter_map(|root| self.segment(root))
            .collect();
        let segments: Vec<&Segment> = segments.iter().map(AsRef::as_ref).collect();
        let takes = |file: &IndexedDoc| {
            let kind = match request.kind {
                Some(kind) => file.entry.item.kind == kind && !file.is_about_keys(),
                None => KINDS.contains(&file.entry.item.kind),
            };
            kind && (request.all || !is_link(&file.entry.item))
        };
        let parts = Parts { rye: self, segments: &segments, tools: OnceCell::new() };
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

    /// The same as one JSON object: a page, or why there is none.
    pub fn search_json(&self, request: &SearchRequest) -> Value {
        let start = std::time::Instant::now();
        match self.search(request) {
            Ok(page) => with_status(page.to_json()),
            Err(failure) => error_json(&failure.diagnostic(), None, &[], start.elapsed(), None),
        }
    }

    /// Describes one item, verified, with at most so many examples; and what dev mode let through.
    ///
    /// # Errors
    /// Those of a fetch.
    pub(crate) fn describe_at(
        &self,
        query: &Query,
        level: Level,
        examples: Option<usize>,
    ) -> Result<(Map<String, Value>, Vec<Warned>), Failure> {
        let described = self.describe(query)?;
        Ok((described.at_level(level, examples), described.warnings))
    }

    /// The same as one JSON object. `level` is `summary`, `schema` or `full`; anything else is
    /// `full`.
    pub fn describe_json(&self, item: &str, level: &str, examples: Option<usize>) -> Value {
        let start = std::time::Instant::now();
        let level = level.parse().unwrap_or(Level::Full);
        let described = item.parse::<Query>().map_err(Failure::from);
        match described.and_then(|query| self.describe_at(&query, level, examples)) {
            Ok((described, _)) => with_status(described),
            Err(failure) => {
                error_json(&failure.diagnostic(), Some(item), &[], start.elapsed(), None)
            }
        }
    }

    /// What is found, verified on all cores; what went away in the meantime is left out.
    fn shown(&self, hits: Vec<Hit>, space: Option<Space>) -> Vec<SearchHit> {
        let query = |hit: &Hit| Query { space, ..Query::from(hit.entry.item.clone()) };
        let described = self.describe_all(hits.iter().map(query).collect());
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
    /// What the tools list that list something; read where a file may be one of them.
    tools: OnceCell<HashMap<Entry, Beside>>,
}

impl Parts<'_> {
    /// Whether a file lies there as one of a tool's. Who has a signature line is always an item.
    fn hold(&self, file: &IndexedDoc) -> bool {
        if !file.is_unsigned || file.entry.item.kind != Kind::Tool {
            return false;
        }
        let tools = self.tools.get_or_init(|| {
            let files = self.segments.iter().flat_map(|segment| segment.files());
            let listing = files.filter(|file| file.lists_files).map(|file| file.entry.clone());
            self.rye.beside(listing.collect())
        });
        is_part(&file.entry, tools)
    }
}

impl Described {
    /// What it says of itself in short, if its signature stands for it.
    fn summary(&self) -> Result<Summary, Code> {
        if self.detail.integrity != Integrity::Verified {
            // Dev mode lets it run; nobody stands for what it says.
            return Err(self.warnings.first().map_or(VERIFY_UNSIGNED, |first| first.code));
        }
        Ok(Summary {
            text: brief(self.item.description().unwrap_or_default()),
            version: self.detail.version.clone(),
            signer: self.detail.signer,
            owner: self.detail.owner.clone(),
        })
    }

    /// As much as is asked for.
    fn at_level(&self, level: Level, examples: Option<usize>) -> Map<String, Value> {
        let detail = &self.detail;
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
        put("item_id", json!(detail.item));
        put("kind", json!(detail.item.kind));
        put("space", json!(detail.space));
        put("version", json!(detail.version));
        put("verified", json!(detail.integrity == Integrity::Verified));
        put("level", json!(level.as_str()));
        put("summary", brief(self.item.description().unwrap_or_default()).into());
        if level >= Level::Schema {
            let parameters = self.item.parameters();
            let required = parameters.iter().filter(|p| p.required).map(|p| p.name.as_str());
            let defaults = parameters
                .iter()
                .filter_map(|p| Some((p.name.clone(), p.default.clone()?)))
                .collect::<Map<_, _>>();
            put("schema", self.item.input_schema().unwrap_or_default());
            put("required", required.collect());
            put("defaults", defaults.into());
            put("parameters", json!(parameters));
        }
        if level >= Level::Full {
            let most = examples.unwrap_or(EXAMPLES).min(EXAMPLES_SHOWN);
            put("description", json!(self.item.description()));
            put("notes", json!(self.item.notes()));
            put("examples", self.item.examples().iter().take(most).cloned().collect());
            put("references", json!(self.item.references()));
            put("path", json!(detail.path));
            put("digest", json!(detail.digest));
            put("signer", json!(detail.signer));
            put("owner", json!(detail.owner));
            put("shadowed", json!(self.shadowed));
            let data = self.item.to_json();
            for key in
                ["title", "tags", "tool_type", "executor_id", "effects", "secrets", "env_names"]
            {
                if let Some(value) = data.get(key).filter(|value| !is_nothing(value)) {
                    put(key, value.clone());
                }
            }
        }
        if !self.warnings.is_empty() {
            put("warnings", json!(self.warnings));
        }
        out
    }
}

/// A step for others, which nobody runs by itself.
fn is_link(item: &Ref) -> bool {
    let id = item.id.as_str();
    item.kind == Kind::Tool
        && (id.starts_with("rye/core/runtimes/") || id.starts_with("rye/core/primitives/"))
}

/// At most 200 characters, on one line.
fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SUMMARY_CHARS) {
        None => line,
        Some(_) => {
            let kept: String = line.chars().take(SUMMARY_CHARS - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn with_status(fields: Map<String, Value>) -> Value {
    let mut out = Map::new();
    out.insert("status".into(), "success".into());
    out.extend(fields);
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn a_summary_is_cut_on_characters() {
        assert_eq!(brief("  one\n two\t"), "one two");
        let exact = "é".repeat(200);
        assert_eq!(brief(&exact), exact);
        for sign in ["é", "漢", "🦀", "a"] {
            let cut = brief(&sign.repeat(5_000));
            assert_eq!(cut.chars().count(), 200, "{sign}");
            assert!(cut.ends_with('…'), "{cut}");
        }
    }
}
