//! Checking without running: entries one by one, or an item and all that it runs through.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::listed_files::{ListedFiles, Lists, checked};
use super::load::{Loader, twins};
use crate::base::json::object;
use crate::base::parallel::parallel;
use crate::diagnostic::{Diagnose, Diagnostic, Failure, Place};
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::Item;
use crate::report::{Detail, Warned};
use crate::resolve::{ResolveError, Resolver};
use crate::space::Entry;
use crate::trace::{Quiet, Warnings};
use crate::verify::VERIFY_UNSIGNED;

/// Verifying items.
#[derive(Clone, Copy)]
pub(crate) struct Checks<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// Verifying items.
    pub(crate) fn checks(&self) -> Checks<'_> {
        Checks { rye: self }
    }
}

/// The result of `rye verify` for one item.
#[derive(Debug)]
pub(crate) struct CheckedItem {
    pub(crate) entry: Entry,
    pub(crate) place: Place,
    pub(crate) bytes: usize,
    pub(crate) verdict: ItemVerdict,
    /// The files that its signed header lists, and who signed that.
    beside: Option<ListedFiles>,
}

/// The verdict on one item.
#[derive(Debug)]
pub(crate) enum ItemVerdict {
    /// Verified and parsed; dev mode may have let it through with warnings.
    Good(Box<Detail>, Vec<Warned>),
    Bad(Failure),
}

impl ItemVerdict {
    fn is_unsigned(&self) -> bool {
        matches!(self, Self::Bad(failure) if failure.reason() == VERIFY_UNSIGNED)
    }
}

impl CheckedItem {
    /// The row as data.
    pub(crate) fn to_json(&self) -> Value {
        let place = (self.entry.space, self.place.path.clone());
        let mut row = match &self.verdict {
            ItemVerdict::Good(detail, warnings) => {
                verified_row(std::slice::from_ref(detail.as_ref()), warnings)
            }
            ItemVerdict::Bad(failure) => refused_row(&failure.diagnostic(), Some(&place)),
        };
        row.insert("item_id".into(), json!(self.entry.item));
        row.into()
    }
}

/// The row of what was refused, as data. `place` is the file of the item, where one answers: with
/// it the row says `space` and `path`, and null without it.
pub(crate) fn refused_row(
    diagnostic: &Diagnostic,
    place: Option<&(Space, String)>,
) -> Map<String, Value> {
    let mut row = diagnostic.to_json();
    row.insert("status".into(), "refused".into());
    row.insert("space".into(), json!(place.map(|(space, _)| space)));
    row.insert("path".into(), json!(place.map(|(_, path)| path)));
    row
}

/// The row of what was verified, as data: the item, which is the first, and all that was checked
/// with it.
pub(crate) fn verified_row(details: &[Detail], warnings: &[Warned]) -> Map<String, Value> {
    let mut row = details.first().map(|detail| object(json!(detail))).unwrap_or_default();
    row.extend(object(json!({
        "status": if warnings.is_empty() { "verified" } else { "unverified" },
        "warnings": warnings, "chain_details": details,
    })));
    row
}

impl Checks<'_> {
    /// Verifies entries on all cores, and reads them as items if `parse` is asked for. Copies of
    /// system items that this project holds to the byte, as rye's own repository does, are left
    /// out: they are passed over when run. `lock_mode` says how far the lock is asked. `goes_on` is
    /// asked before each of them; where it says no, the rest is left out.
    pub(crate) fn all(
        self,
        entries: Vec<Entry>,
        parse: bool,
        lock_mode: LockMode,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<CheckedItem> {
        let policy = CallPolicy::new(self.rye, lock_mode);
        let loader = policy.loader(&Quiet);
        let twins = twins(&entries);
        // The lock is about what answers; below `rye/` a copy that loses is refused or passed over,
        // and of config each copy counts.
        let mut nearest: HashMap<Ref, Space> = HashMap::new();
        for entry in &entries {
            let space = nearest.entry(entry.item.clone()).or_insert(entry.space);
            *space = entry.space.max(*space);
        }
        let rows = parallel(entries, |entry| {
            if !goes_on() {
                return None;
            }
            let twin = twins.contains(&(entry.space, entry.item.clone()));
            let merges = entry.item.id.is_reserved() || entry.item.kind == Kind::Config;
            let answers = merges || nearest.get(&entry.item) == Some(&entry.space);
            check(loader, &entry, Asked { twin, answers, parse })
        });
        let mut checked: Vec<CheckedItem> = rows.into_iter().flatten().collect();
        let mut lists = Lists::default();
        for row in &mut checked {
            if let Some(beside) = row.beside.take() {
                lists.insert(row.entry.clone(), beside, true);
            }
        }
        // Only tools: a header speaks for no other kind of item. A file that a verified tool lists
        // needs no line of its own; whether its key may sign the file as an item does not matter,
        // since as an item it is refused.
        let is_file =
            |row: &CheckedItem| row.verdict.is_unsigned() && row.entry.item.kind == Kind::Tool;
        checked.retain(|row| !is_file(row) || lists.tool_of(&row.entry).is_none());
        // An unverified header that lists the file changes the message only.
        for row in checked.iter_mut().filter(|row| is_file(row)) {
            if let Ok(Some(found)) = loader.file_of(&row.entry, false)
                && let Err(failure) = loader.admitted(found, |_| true)
            {
                row.verdict = ItemVerdict::Bad(failure);
            }
        }
        checked
    }

    /// The space and the path of the file that answers, whether or not it verifies.
    pub(crate) fn place(self, query: &Query) -> Option<(Space, String)> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let found = policy.loader(&Quiet).resolver(|resolver| {
            Resolver { may_suggest: &|| false, ..*resolver }.answer(query, &Quiet)
        });
        match found {
            Ok(found) => Some((found.space, found.place.path)),
            // The file answers, and cannot be read as an item.
            Err(error @ (ResolveError::Space(_) | ResolveError::Reserved { .. })) => {
                let place = error.place()?;
                let space = place.space.as_deref()?.split(':').next()?.parse().ok()?;
                Some((space, place.path))
            }
            Err(_) => None,
        }
    }

    /// Verifies one item and all that it runs through.
    pub(crate) fn chain(
        self,
        query: &Query,
        lock_mode: LockMode,
    ) -> (Result<Vec<Detail>, Failure>, Vec<Warned>) {
        let sink = Warnings::new(&Quiet);
        let policy = CallPolicy::new(self.rye, lock_mode);
        let loader = policy.loader(&sink);
        let details = self.rye.sound_types().and_then(|()| {
            let (source, item) = loader.admit(loader.find(query)?)?;
            if lock_mode == LockMode::Exact {
                // What is asked is whether all of it is locked, not the chain alone.
                loader.links(source.clone(), item.clone(), true, |_, _| ())?;
            }
            loader.details(source, item)
        });
        let warned = sink.kept().into_iter().map(|(item, w)| Warned::new(item, w));
        (details, warned.collect())
    }
}

/// The parts of a check of one entry.
#[derive(Clone, Copy)]
struct Asked {
    /// Another file in its space has the same id.
    twin: bool,
    /// It is the copy that answers its ref.
    answers: bool,
    parse: bool,
}

fn check(loader: Loader<'_>, entry: &Entry, asked: Asked) -> Option<CheckedItem> {
    let Asked { twin, answers, parse } = asked;
    let root = loader.rye.spaces.home(entry.space, entry.bundle.as_ref())?;
    let place = root.shown(&entry.relative());
    if loader.rye.items().is_system_copy(entry) {
        return None;
    }
    let row = |bytes, verdict| CheckedItem {
        entry: entry.clone(),
        place: place.clone(),
        bytes,
        verdict,
        beside: None,
    };
    let bad = |failure| Some(row(0, ItemVerdict::Bad(failure)));
    let found = match loader.file_of(entry, twin) {
        Ok(Some(found)) => found,
        // It went away between listing and reading.
        Ok(None) => return None,
        Err(failure) => return bad(failure),
    };
    let bytes = found.bytes.len();
    let verified = if answers { loader.verify(found) } else { loader.verify_alone(found) };
    let source = match verified {
        Ok(source) => source,
        Err(error) => return bad(error),
    };
    // Its header is signed, so what it lists is covered, or refused, with it.
    let Entry { item, space, .. } = entry;
    let beside = ListedFiles::new(&loader.rye.types, *space, item, source.ext(), source.text());
    let beside = beside.filter(|_| source.signer().is_some());
    let source = match checked(source, &loader.rye.spaces) {
        Ok(source) => source,
        Err(failure) => return bad(failure.into()).map(|row| CheckedItem { beside, ..row }),
    };
    let warned = Warned::of_sources(std::iter::once(&source));
    let verdict = match parse.then(|| Item::parse(&source)) {
        Some(Err(error)) => ItemVerdict::Bad(error.into()),
        Some(Ok(item)) => ItemVerdict::Good(Box::new(Detail::new(&source, item.version())), warned),
        None => ItemVerdict::Good(Box::new(Detail::new(&source, None)), warned),
    };
    Some(CheckedItem { beside, ..row(bytes, verdict) })
}
