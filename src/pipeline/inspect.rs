//! Looking without running: list, verify, show, why.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::line::Line;
use super::parts::{Beside, checked};
use super::rules::Hold;
use super::rye::Rye;
use super::sign::parallel;
use crate::chain::Chain;
use crate::diagnostic::Failure;
use crate::diagnostic::{Diagnose, Diagnostic, Place};
use crate::id::{Fingerprint, Kind, Pattern, Query, Ref, Space};
use crate::lock::Pin;
use crate::parse::Item;
use crate::plan::{Params, Plan, Survey, find_program};
use crate::report::{Detail, Warned};
use crate::resolve::Found;
use crate::space::{Entry, Listing, Root};
use crate::trace::{PassedOver, Quiet, Warnings};
use crate::validate::{self, ValidChain};
use crate::verify::{Source, TrustDocument, TrustStore, VERIFY_UNSIGNED};

/// What became of one item under `rye verify`.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    pub(crate) place: Place,
    pub(crate) bytes: usize,
    pub(crate) verdict: Verdict,
    /// What its signed header lists, and who signed that.
    beside: Option<(Beside, Fingerprint)>,
    ext: String,
}

/// The verdict on one item.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Verified and parsed; dev mode may have let it through with warnings.
    Good(Box<Detail>, Vec<Warned>),
    Bad(Failure),
}

impl Checked {
    /// The row as data.
    pub(crate) fn to_json(&self) -> Value {
        let mut out = json!({"item_id": self.item, "space": self.space, "path": self.place.path});
        let more = match &self.verdict {
            Verdict::Good(detail, warnings) => json!({
                "status": if warnings.is_empty() { "verified" } else { "unverified" },
                "integrity": detail.integrity, "digest": detail.digest,
                "signer": detail.signer, "owner": detail.owner, "warnings": warnings,
            }),
            Verdict::Bad(failure) => {
                let mut fields = failure.diagnostic().to_json();
                fields.insert("status".into(), "refused".into());
                Value::Object(fields)
            }
        };
        if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
            out.extend(more);
        }
        out
    }
}

/// An item with what it says of itself.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) detail: Detail,
    pub(crate) item: Item,
    pub(crate) content: String,
    pub(crate) shadowed: Vec<Place>,
    pub(crate) warnings: Vec<Warned>,
}

/// One copy of an item under `rye why`.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) space: Option<Space>,
    pub(crate) place: Option<Place>,
    pub(crate) path: Option<String>,
    /// This copy answers the reference.
    pub(crate) wins: bool,
    pub(crate) verdict: Result<Detail, Diagnostic>,
    /// The document that lets the signer in, where it is not your own key or the publisher's.
    pub(crate) document: Option<(String, TrustDocument)>,
}

/// Everything that decides about one reference.
#[derive(Debug)]
pub(crate) struct Why {
    pub(crate) item: Ref,
    pub(crate) project: String,
    /// `None` without a project space; else whether you accepted it, or why that cannot be said.
    pub(crate) accepted: Option<Result<bool, Diagnostic>>,
    pub(crate) copies: Vec<Copy>,
    /// For a tool that was admitted: its chain, or why it has none.
    pub(crate) chain: Option<Result<Vec<Detail>, Diagnostic>>,
    /// What the lock lists under the ref, and whether what answers holds to it, if that can be
    /// said.
    pub(crate) locked: Option<(Pin, Option<bool>)>,
    /// For a tool that can be run: the program and the folders of packages that it would use, or
    /// the rule that would stop it.
    pub(crate) survey: Option<Result<Survey, Diagnostic>>,
    /// Why nothing answers, if nothing does.
    pub(crate) refused: Option<Diagnostic>,
}

impl Rye {
    /// Every item of the space and kind, not verified; files that tools list are left out. Of a
    /// project that is not accepted no file is read for that (core 4.3): all names are there.
    pub(crate) fn list(&self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        let entries = self.names(space, kind)?;
        let has_parts = kind == Kind::Tool && !entries.is_empty();
        let is_read = || space != Space::Project || self.accepts_project();
        Ok(if has_parts && is_read() { self.without_parts(entries) } else { entries })
    }

    /// The same for whoever asks rye to read the files, as signing does.
    pub(super) fn list_to_sign(&self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        let mut entries = self.names(space, kind)?;
        entries.retain(|entry| entry.bundle.is_none());
        Ok(if kind == Kind::Tool { self.without_parts(entries) } else { entries })
    }

    fn names(&self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        let roots = self.spaces.nearest_first().filter(|root| root.space() == space);
        let mut entries = Vec::new();
        for root in roots {
            entries.extend(root.list(kind, &self.types)?.entries);
        }
        Ok(entries)
    }

    pub(super) fn accepts_project(&self) -> bool {
        let identity = self.spaces.project_identity();
        identity.is_some_and(|identity| self.trust().accepts(identity).unwrap_or(false))
    }

    /// Every file that a pattern matches, of every space and kind; all without a pattern.
    pub(crate) fn survey(&self, patterns: &[Pattern]) -> Result<Listing, Failure> {
        self.sound_types()?;
        let mut all = Listing::default();
        for root in self.spaces.nearest_first() {
            for kind in Kind::ALL {
                let listed = root.list(kind, &self.types)?;
                all.odd.extend(listed.odd);
                all.entries.extend(listed.entries.into_iter().filter(|entry| {
                    patterns.is_empty() || patterns.iter().any(|p| p.matches(&entry.item))
                }));
            }
        }
        Ok(all)
    }

    /// Verifies entries on all cores, and reads them as items if `parse` is asked for. Copies of
    /// system items that this project holds to the byte, as rye's own repository does, are left
    /// out: they are passed over when run. `hold` says how far the lock is asked. `goes_on` is
    /// asked before each of them; where it says no, the rest is left out.
    pub(crate) fn verify_all(
        &self,
        entries: Vec<Entry>,
        parse: bool,
        hold: Hold,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Checked> {
        let rules = self.rules(hold);
        let line = self.line(&rules, &Quiet);
        // Entries come sorted, so two files of one id in one space stand side by side.
        let twins: HashSet<(Space, Ref)> = entries
            .windows(2)
            .filter(|pair| (pair[0].space, &pair[0].item) == (pair[1].space, &pair[1].item))
            .map(|pair| (pair[0].space, pair[0].item.clone()))
            .collect();
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
            check(line, &entry, Asked { twin, answers, parse })
        });
        let mut checked: Vec<Checked> = rows.into_iter().flatten().collect();
        // A file that a verified tool lists needs no line of its own.
        let tools: Vec<_> = checked
            .iter_mut()
            .filter_map(|row| Some((row.place.space.clone(), row.beside.take()?)))
            .collect();
        let identity = self.spaces.project_identity();
        checked.retain(|row| match &row.verdict {
            // Only tools, and only for a key that may sign them: a header speaks for no other item.
            Verdict::Bad(failure)
                if failure.reason() == VERIFY_UNSIGNED && row.item.kind == Kind::Tool =>
            {
                let is_bundled = row.place.space.as_deref() != Some(row.space.as_str());
                let embedded =
                    !is_bundled && self.spaces.get(row.space).is_some_and(Root::is_embedded);
                let covers = |(space, (beside, key)): &(Option<String>, (Beside, Fingerprint))| {
                    let trust = line.trust;
                    let scope = trust.out_of_scope(*key, &row.item, row.space, embedded, identity);
                    *space == row.place.space
                        && beside.holds(&row.item, &row.ext)
                        && matches!(scope, Ok(None))
                };
                !tools.iter().any(covers)
            }
            _ => true,
        });
        checked
    }

    /// Verifies one item and all that it runs through.
    pub(crate) fn verify_chain(
        &self,
        query: &Query,
        hold: Hold,
    ) -> (Result<Vec<Detail>, Failure>, Vec<Warned>) {
        let sink = Warnings::new(&Quiet);
        let rules = self.rules(hold);
        let line = self.line(&rules, &sink);
        let details = self.sound_types().and_then(|()| {
            let (source, item) = line.admit(line.find(query)?)?;
            if hold == Hold::Exact {
                // What is asked is whether all of it is locked, not the chain alone.
                self.depends_on(line, source.clone(), item.clone(), |_, _| ())?;
            }
            self.chain_details(line, source, item)
        });
        let warned = sink.kept().into_iter().map(|(item, w)| Warned::new(item, w));
        (details, warned.collect())
    }

    pub(super) fn chain_details(
        &self,
        line: Line<'_>,
        source: Source,
        item: Item,
    ) -> Result<Vec<Detail>, Failure> {
        match item {
            Item::Tool(tool) if !tool.is_link() => {
                let chain = Chain::build(source, *tool, &line, &Quiet)?;
                let links = chain.links().iter();
                Ok(links.map(|l| Detail::of(&l.source, l.tool.version.clone())).collect())
            }
            Item::Directive(directive) => {
                let lineage = crate::chain::lineage(source, *directive, &line)?;
                let links = lineage.sources().zip(lineage.directives());
                Ok(links.map(|(s, d)| Detail::of(s, d.version.clone())).collect())
            }
            other => Ok(vec![Detail::of(&source, other.version())]),
        }
    }

    /// One item, verified and parsed.
    pub(crate) fn describe(&self, query: &Query) -> Result<Described, Failure> {
        let rules = self.rules(Hold::Listed);
        let line = self.line(&rules, &Quiet);
        describe(line, query)
    }

    /// Everything that decides about a reference.
    pub(crate) fn why(&self, query: &Query) -> Result<Why, Failure> {
        let rules = self.rules(Hold::Listed);
        let trust = &rules.trust;
        let line = self.line(&rules, &Quiet);
        let (item, answer, copies) = line.copies(query)?;
        let winner = answer.as_ref().ok().map(|found| found.space);
        let admitted = answer.and_then(|found| line.admit(found));
        let mut survey = None;
        let (chain, refused) = match admitted {
            Ok((source, item)) => {
                survey = self.survey_tool(line, &source, &item);
                let runs = matches!(&item, Item::Tool(tool) if !tool.is_link())
                    || matches!(&item, Item::Directive(_));
                let details = runs.then(|| self.chain_details(line, source, item));
                (details.map(|d| d.map_err(|failure| failure.diagnostic())), None)
            }
            Err(failure) => (None, Some(failure.diagnostic())),
        };
        let listed = rules
            .lock()
            .ok()
            .and_then(|lock| lock.find(&item, winner.unwrap_or(Space::Project)))
            .cloned();
        let holds = match &refused {
            None => Some(true),
            Some(refused) => crate::lock::refuses_with(refused.code).then_some(false),
        };
        let identity = self.spaces.project_identity();
        let has_space = self.spaces.get(Space::Project).is_some();
        Ok(Why {
            item,
            project: self.spaces.project_path().display().to_string(),
            accepted: identity.filter(|_| has_space).map(|identity| {
                trust.accepts(identity).map_err(|error| Diagnostic::from(error.as_ref()))
            }),
            copies,
            chain,
            survey,
            locked: listed.map(|pin| (pin, holds)),
            refused,
        })
    }

    /// The program that a run here would start for a runtime: the one that its interpreter's block
    /// means, or without one the program of that name; and what was passed over.
    pub(crate) fn find_program(
        &self,
        runtime: &str,
        name: &str,
    ) -> (Option<PathBuf>, Vec<PassedOver>) {
        let rules = self.rules(Hold::Off);
        let line = self.line(&rules, &Quiet);
        let query = runtime.parse::<Query>().ok();
        let query = query.map(|query| Query { space: Some(Space::System), ..query });
        let block = match query.map(|query| line.find(&query).and_then(|found| line.admit(found))) {
            Some(Ok((_, Item::Tool(tool)))) => tool.interpreter,
            // What is wrong with the runtime is told in its place.
            _ => None,
        };
        find_program(&self.machine(&line), block.as_ref(), name)
    }

    /// What of this machine a tool would use, by the plan of a run without parameters; `None` for
    /// what is no tool, or has no sound chain.
    pub(super) fn survey_tool(
        &self,
        line: Line<'_>,
        source: &Source,
        item: &Item,
    ) -> Option<Result<Survey, Diagnostic>> {
        let Item::Tool(tool) = item else { return None };
        let (source, tool) = (source.clone(), tool.as_ref().clone());
        let chain = Chain::build(source, tool, &line, &Quiet).ok()?;
        if chain.links().len() == 1 {
            return None;
        }
        let asked = validate::Asked { target: "local".into(), thread: "inline".into() };
        let valid = match ValidChain::judge(chain, &asked, &Quiet) {
            Ok(valid) => valid,
            Err(invalid) => return Some(Err(Diagnostic::from(&invalid))),
        };
        let plan = Plan::build(&valid, Params::none(), &self.machine(&line), &Quiet);
        Some(plan.map(|plan| plan.survey().clone()).map_err(|failure| failure.diagnostic()))
    }
}

/// What was typed as a ref, the file that answers it or why none does, and every copy.
pub(super) type Answer = (Ref, Result<Found, Failure>, Vec<Copy>);

impl Line<'_> {
    /// What was typed as a ref, the file that answers it or why none does, and every copy.
    ///
    /// # Errors
    /// That of finding it, where there is no copy at all.
    pub(super) fn copies(&self, query: &Query) -> Result<Answer, Failure> {
        let answer = self.find(query);
        let item = match (&answer, query.kind) {
            (Ok(found), _) => found.item.clone(),
            (Err(_), Some(kind)) => Ref::new(kind, query.id.clone()),
            (Err(_), None) => Ref::new(Kind::Tool, query.id.clone()),
        };
        let winner = answer.as_ref().ok().map(|found| found.place.clone());
        let copies = self.resolver(|resolver| resolver.copies(&item));
        if copies.is_empty()
            && let Err(failure) = answer
        {
            return Err(failure);
        }
        let copies = copies.into_iter().map(|copy| match copy {
            Ok(found) => judge_copy(*self, self.trust, found, winner.as_ref()),
            Err(error) => Copy {
                space: None,
                place: error.place(),
                path: None,
                wins: false,
                verdict: Err(Diagnostic::from(&error)),
                document: None,
            },
        });
        let copies = copies.collect();
        Ok((item, answer, copies))
    }
}

fn judge_copy(
    line: Line<'_>,
    trust: &TrustStore<'_>,
    found: Found,
    winner: Option<&Place>,
) -> Copy {
    let (space, place) = (found.space, found.place.clone());
    let wins = winner == Some(&place);
    let path = (!found.embedded).then(|| found.path.display().to_string());
    // The lock is about what answers; a copy that lost is judged by itself.
    let verdict = match wins {
        true => line.admit(found),
        false => line.admit_alone(found),
    };
    let key = verdict.as_ref().ok().and_then(|(source, _)| source.signer().map(|s| s.key));
    let document = key.and_then(|key| {
        let document = trust.document(key).ok().flatten()?;
        Some((format!(".ai/config/keys/trusted/{key}.toml"), document))
    });
    Copy {
        space: Some(space),
        place: Some(place),
        path,
        wins,
        verdict: verdict
            .map(|(source, item)| Detail::of(&source, item.version()))
            .map_err(|failure| failure.diagnostic()),
        document,
    }
}

/// What is asked of one entry.
#[derive(Clone, Copy)]
struct Asked {
    /// Another file in its space has the same id.
    twin: bool,
    /// It is the copy that answers its ref.
    answers: bool,
    parse: bool,
}

fn check(line: Line<'_>, entry: &Entry, asked: Asked) -> Option<Checked> {
    let Asked { twin, answers, parse } = asked;
    let root = line.rye.spaces.home(entry.space, entry.bundle.as_ref())?;
    let place = root.shown(&entry.relative());
    if line.rye.is_system_copy(entry) {
        return None;
    }
    let Entry { item, space, ext, .. } = entry.clone();
    let bad = |failure| {
        Some(Checked {
            item: item.clone(),
            space,
            place: place.clone(),
            bytes: 0,
            verdict: Verdict::Bad(failure),
            beside: None,
            ext: ext.clone(),
        })
    };
    let found = line.resolver(|resolver| match twin {
        // Says which files they are.
        true => resolver.in_space(&item, space),
        false => resolver.at(entry),
    });
    let found = match found {
        Ok(Some(found)) => found,
        // It went away between listing and reading.
        Ok(None) => return None,
        Err(error) => return bad(error.into()),
    };
    let bytes = found.bytes.len();
    let verified = if answers { line.verify(found) } else { line.verify_alone(found) };
    let source = match verified {
        Ok(source) => source,
        Err(error) => return bad(error),
    };
    // Its header is signed, so what it lists is covered, or refused, with it.
    let beside = Beside::of(line.rye, space, &item, source.ext(), source.text());
    let beside = beside.zip(source.signer().map(|signer| signer.key));
    let source = match checked(source, &line.rye.spaces) {
        Ok(source) => source,
        Err(failure) => return bad(failure.into()).map(|row| Checked { beside, ..row }),
    };
    let warned = super::run::warnings(std::iter::once(&source));
    let verdict = match parse.then(|| Item::parse(&source)) {
        Some(Err(error)) => Verdict::Bad(error.into()),
        Some(Ok(item)) => Verdict::Good(Box::new(Detail::of(&source, item.version())), warned),
        None => Verdict::Good(Box::new(Detail::of(&source, None)), warned),
    };
    Some(Checked { item, space, place, bytes, verdict, beside, ext })
}

impl Described {
    /// What the item says of itself, as data.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        if let Ok(Value::Object(detail)) = serde_json::to_value(&self.detail) {
            out.extend(detail);
        }
        let shadowed: Vec<_> =
            self.shadowed.iter().filter_map(|p| serde_json::to_value(p).ok()).collect();
        out.insert("shadowed".into(), shadowed.into());
        out.extend(self.item.to_json());
        if !self.warnings.is_empty() {
            out.insert("warnings".into(), serde_json::json!(self.warnings));
        }
        out
    }
}

impl Rye {
    /// Many items, verified and parsed on all cores; the results keep the order.
    pub(crate) fn describe_all(&self, queries: Vec<Query>) -> Vec<Result<Described, Failure>> {
        let rules = self.rules(Hold::Listed);
        let line = self.line(&rules, &Quiet);
        parallel(queries, |query| describe(line, &query))
    }

    /// Whether this entry of a nearer space is the system's own file to the byte.
    pub(crate) fn is_system_copy(&self, entry: &Entry) -> bool {
        let read = |space| self.spaces.get(space)?.read(&entry.relative()).ok()?;
        let may_be = entry.item.yields_to_system() && entry.space != Space::System;
        let system = read(Space::System).filter(|_| may_be);
        system.is_some() && system == read(entry.space)
    }
}

fn describe(line: Line<'_>, query: &Query) -> Result<Described, Failure> {
    let (source, item) = line.admit(line.find(query)?)?;
    Ok(Described {
        detail: Detail::of(&source, item.version()),
        item,
        content: source.raw(),
        shadowed: source.shadowed().to_vec(),
        warnings: super::run::warnings(std::iter::once(&source)),
    })
}
