//! A text that is being written, judged as the item that it would be (core 3.6, 6.6, 7.4).
//!
//! In:  the place of an item and a text for it, saved or not.
//! Out: a [`JudgedDraft`]: who signed exactly this text, or the rule that refuses it; what must be
//! mended; what it would run through.
//!
//! Invariants
//! - Nothing is signed, run, written or remembered, and your own key is not opened.
//! - A text that `verify` refuses is read by the same door as one that is being signed: `stage`
//!   signs it in memory, here with a key that is trusted nowhere and dropped at once. The results
//!   are remarks, never a plan.

use std::path::Path;

use super::SIGN_INVALID;
use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::listed_files::checked;
use super::load::{Loader, valid_here};
use super::signing::{judge_content, lost_executor};
use crate::base::text::Position;
use crate::diagnostic::Failure;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::id::{ItemId, Kind, Space};
use crate::parse::{Finding, Item, Severity};
use crate::report::Detail;
use crate::resolve::{Found, ResolveError};
use crate::space::{Entry, ai_folders};
use crate::trace::Quiet;
use crate::verify::{KeyError, KeyPair, SignWith, Source, stage};

/// The judgement of a text.
#[derive(Debug)]
pub(crate) struct JudgedDraft {
    pub(crate) entry: Entry,
    /// The file holds exactly this text.
    pub(crate) saved: bool,
    /// Who signed exactly this text, or the rule that refuses it.
    pub(crate) verdict: Result<Detail, Diagnostic>,
    /// The item; `None` where the text is none.
    pub(crate) item: Option<Item>,
    /// The links that it would run through, itself left out, as far as that could be followed.
    pub(crate) links: Vec<Detail>,
    /// Everything but the verdict, errors first.
    pub(crate) remarks: Vec<Remark>,
}

/// One thing about a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    pub(crate) severity: Severity,
    pub(crate) code: Option<Code>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) spot: Spot,
    /// Words that may have been meant by the spot's word, nearest first.
    pub(crate) meant: Vec<String>,
}

/// Where in a text a remark belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The text as a whole.
    Whole,
    Line(usize),
    Position(Position),
    /// The first place of a word at or behind a position.
    Word(Option<Position>, String),
}

/// Texts that are being written, judged as the items that they would be.
#[derive(Clone, Copy)]
pub(crate) struct DraftTexts<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// Texts that are being written, judged as the items that they would be.
    pub(crate) fn drafts(&self) -> DraftTexts<'_> {
        DraftTexts { rye: self }
    }
}

impl DraftTexts<'_> {
    /// The item that a file is, or would be if it were there; `None` for what is no item, and for
    /// what lies in no space of this project.
    pub(crate) fn entry_at(self, path: &Path) -> Option<Entry> {
        // Only the folder that holds `.ai` may be reached by another name.
        let (folder, relative) = ai_folders(path).next_back()?;
        let (base, relative) = (folder.canonicalize().ok()?, relative.to_str()?);
        let roots = self.rye.spaces.nearest_first().filter(|root| !root.is_embedded());
        let here = roots.filter(|root| root.base() == base);
        let mut entries: Vec<Entry> =
            here.filter_map(|root| root.entry(relative, &self.rye.types)).collect();
        // A folder that is the project and the system space holds reserved items as the latter.
        let at = entries.iter().position(|e| e.item.id.is_reserved() && e.space == Space::System);
        (!entries.is_empty()).then(|| entries.swap_remove(at.unwrap_or(0)))
    }

    /// Judges `text` as the item that lies, or would lie, at `entry`.
    pub(crate) fn judge(self, entry: &Entry, text: &str) -> Option<JudgedDraft> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        let bytes = text.as_bytes();
        let found = loader.resolver(|resolver| resolver.as_if(entry, bytes.to_vec()))?;
        let on_disk = self.rye.spaces.get(entry.space)?.read(&entry.relative());
        let saved = matches!(on_disk, Ok(Some(now)) if now.as_ref() == bytes);
        let mut remarks = Vec::new();
        let (verdict, read) = match loader.verdict(entry, &found) {
            Ok(source) => {
                // Dev mode let it through.
                remarks.extend(source.warnings().iter().map(|warning| Remark {
                    severity: Severity::Warning,
                    code: Some(warning.code),
                    message: warning.message.clone(),
                    help: None,
                    spot: Spot::Whole,
                    meant: Vec::new(),
                }));
                let read = judge_content(&source, 0);
                let read = read.map(|(item, findings)| (source.clone(), item, findings));
                let version = read.as_ref().ok().and_then(|(_, item, _)| item.version());
                (Ok(Detail::new(&source, version)), read)
            }
            Err(failure) => (Err(failure.diagnostic()), loader.read_unverified(found)),
        };
        let mut draft = JudgedDraft {
            entry: entry.clone(),
            saved,
            verdict,
            item: None,
            links: vec![],
            remarks,
        };
        match read {
            Ok((source, item, findings)) => {
                draft.remarks.extend(findings.into_iter().map(Remark::from));
                follow(loader, source, &item, &mut draft);
                draft.item = Some(item);
            }
            Err(failure) => draft.note(&failure, None),
        }
        draft.remarks.sort_by_key(|remark| remark.severity == Severity::Warning);
        Some(draft)
    }

    /// The tools that may be executors of a tool of the space, by their ids.
    pub(crate) fn executors(self, from: Space) -> Vec<ItemId> {
        let roots = self.rye.spaces.nearest_first().filter(|root| root.space() <= from);
        let listed = roots.filter_map(|root| root.list(Kind::Tool, &self.rye.types).ok());
        let mut ids: Vec<ItemId> =
            listed.flat_map(|listing| listing.entries).map(|entry| entry.item.id).collect();
        ids.retain(|id| crate::chain::may_be_executor(id.as_str()));
        ids.sort();
        ids.dedup();
        ids
    }
}

/// Follows what the item would run through, to where that ends.
fn follow(loader: Loader<'_>, source: Source, item: &Item, draft: &mut JudgedDraft) {
    let space = draft.entry.space;
    let rest = |details: Vec<Detail>| details.into_iter().skip(1).collect();
    match item {
        // Without an executor the findings say that it cannot run.
        Item::Tool(tool) if !tool.is_link() => {
            let Some(executor) = &tool.executor else { return };
            let chain = match loader.chain(source, tool.as_ref().clone(), &Quiet) {
                Ok(chain) => chain,
                Err(failure) => return draft.note(&failure, Some(executor)),
            };
            let links = chain.links().iter();
            let details = links.map(|l| Detail::new(&l.source, l.tool.version.clone()));
            draft.links = rest(details.collect());
            if let Err(failure) = valid_here(chain) {
                draft.note(&failure, Some(executor));
            }
        }
        Item::Directive(directive) => {
            let Some(parent) = &directive.extends else { return };
            match loader.details(source, item.clone()) {
                Ok(details) => draft.links = rest(details),
                Err(failure) => draft.note(&failure, Some(parent)),
            }
        }
        // A step for others has no chain of its own; but its executor is there, or is not.
        Item::Tool(tool) => {
            draft.remarks.extend(lost_executor(tool, space, loader).map(Remark::from));
        }
        _ => {}
    }
}

impl Loader<'_> {
    /// The verdict of `verify` on the text in the place where it lies, or would lie.
    fn verdict(&self, entry: &Entry, found: &Found) -> Result<Source, Failure> {
        let item = &entry.item;
        let there = self.resolver(|resolver| resolver.in_space(item, entry.space))?;
        if let Some(other) = there.filter(|there| there.ext != entry.ext) {
            let files = vec![other.place, found.place.clone()];
            return Err(ResolveError::AmbiguousFile { item: item.clone(), files }.into());
        }
        // A copy that is the system's to the byte is the system's.
        let original = match self.resolver(|resolver| resolver.is_passed_over(found))? {
            true => self.resolver(|resolver| resolver.in_space(item, Space::System))?,
            false => None,
        };
        let source = self.verify(original.unwrap_or_else(|| found.clone()))?;
        Ok(checked(source, &self.rye.spaces)?)
    }

    /// Reads a text that was refused, and finds what must be mended in it.
    fn read_unverified(&self, found: Found) -> Result<(Source, Item, Vec<Finding>), Failure> {
        // This key is trusted nowhere, and all that it signs stays in this function, but for
        // remarks.
        let pair = KeyPair::generate()
            .map_err(|source| KeyError::Io { path: found.path.clone(), source })?;
        let staged = stage(found, SignWith::Own(&pair), self.trust.now(), true)?;
        let source = staged.source();
        let (item, findings) = judge_content(source, staged.added_lines())?;
        Ok((source.clone(), item, findings))
    }
}

impl JudgedDraft {
    /// Adds what a step says, unless the verdict says it already. With a word it belongs to that.
    fn note(&mut self, failure: &Failure, word: Option<&ItemId>) {
        let diagnostic = failure.diagnostic();
        if self.verdict.as_ref().is_err_and(|verdict| verdict.message == diagnostic.message) {
            return;
        }
        let near = diagnostic.data.get("near").and_then(serde_json::Value::as_array);
        let near = near.into_iter().flatten().filter_map(|name| name.as_str());
        let spot = match (word, &diagnostic.place) {
            (Some(word), _) => Spot::Word(None, word.to_string()),
            (None, Some(place)) => Spot::from_place(place),
            (None, None) => Spot::Whole,
        };
        self.remarks.push(Remark {
            severity: Severity::Error,
            code: Some(diagnostic.code),
            spot,
            meant: near.map(str::to_owned).collect(),
            message: diagnostic.message,
            help: diagnostic.help,
        });
    }
}

impl Spot {
    /// Where a place is, which is one of this text.
    pub(crate) fn from_place(place: &Place) -> Self {
        match (place.line, place.column) {
            (Some(line), Some(column)) => Self::Position(Position { line, column }),
            (Some(line), None) => Self::Line(line),
            _ => Self::Whole,
        }
    }
}

impl From<Finding> for Remark {
    fn from(finding: Finding) -> Self {
        let Finding { severity, position, message, meant } = finding;
        let (word, meant) = meant.unzip();
        let spot = match (word, position) {
            (Some(word), position) => Spot::Word(position, word),
            (None, Some(position)) => Spot::Position(position),
            (None, None) => Spot::Whole,
        };
        // What stops the signing has the code that signing would stop with.
        let code = (severity == Severity::Error).then_some(SIGN_INVALID);
        Self { severity, code, message, help: None, spot, meant: meant.unwrap_or_default() }
    }
}
