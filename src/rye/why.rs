//! Why a reference is answered as it is: every copy, who lets it in, and what it runs through.

use std::path::PathBuf;

use super::call_policy::{CallPolicy, LockMode};
use super::items::Items;
use super::load::{Loader, valid_here};
use crate::diagnostic::{Diagnose, Diagnostic, Failure, Place};
use crate::id::{Kind, Query, Ref, Space};
use crate::lock::Pin;
use crate::parse::Item;
use crate::plan::{Params, Plan, Survey, TimeLimit, find_program};
use crate::report::Detail;
use crate::resolve::Found;
use crate::trace::{Quiet, SkippedPath};
use crate::verify::{Source, TrustDocument};

/// One copy of an item under `rye why`.
#[derive(Debug)]
pub(crate) struct ItemCopy {
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
pub(crate) struct WhyReport {
    pub(crate) item: Ref,
    pub(crate) project: String,
    /// `None` without a project space; else whether you accepted it, or why that cannot be said.
    pub(crate) accepted: Option<Result<bool, Diagnostic>>,
    pub(crate) copies: Vec<ItemCopy>,
    /// For a tool that was admitted: its chain, or why it has none.
    pub(crate) chain: Option<Result<Vec<Detail>, Diagnostic>>,
    /// The row of the lock for the ref, and true if the file that answers agrees with it, if that
    /// can be said.
    pub(crate) locked: Option<(Pin, Option<bool>)>,
    /// For a tool that can be run: the program and the folders of packages that it would use, or
    /// the rule that would stop it.
    pub(crate) survey: Option<Result<Survey, Diagnostic>>,
    /// For a tool that can be run: how long it may take.
    pub(crate) limit: Option<TimeLimit>,
    /// Why nothing answers, if nothing does.
    pub(crate) refused: Option<Diagnostic>,
}

impl Items<'_> {
    /// Everything that decides about a reference.
    pub(crate) fn why(self, query: &Query) -> Result<WhyReport, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let trust = &policy.trust;
        let loader = policy.loader(&Quiet);
        let (item, answer, copies) = loader.copies(query)?;
        let winner = answer.as_ref().ok().map(|found| found.space);
        let admitted = answer.and_then(|found| loader.admit(found));
        let mut plan = None;
        let (chain, refused) = match admitted {
            Ok((source, item)) => {
                plan = plan_of_tool(&loader, &source, &item);
                let runs = matches!(&item, Item::Tool(tool) if tool.begins_chain())
                    || matches!(&item, Item::Directive(_));
                let details = runs.then(|| loader.details(source, item));
                (details.map(|d| d.map_err(|failure| failure.diagnostic())), None)
            }
            Err(failure) => (None, Some(failure.diagnostic())),
        };
        let listed = policy
            .lock()
            .ok()
            .and_then(|lock| lock.find(&item, winner.unwrap_or(Space::Project)))
            .cloned();
        let holds = match &refused {
            None => Some(true),
            Some(refused) => crate::lock::refuses_with(refused.code).then_some(false),
        };
        let identity = self.rye.spaces.project_identity();
        let has_space = self.rye.spaces.project().is_ok();
        Ok(WhyReport {
            item,
            project: self.rye.spaces.project_path().display().to_string(),
            accepted: identity.filter(|_| has_space).map(|identity| {
                trust.accepts(identity).map_err(|error| Diagnostic::from(error.as_ref()))
            }),
            copies,
            chain,
            limit: plan.as_ref().and_then(|plan| Some(plan.as_ref().ok()?.limit().clone())),
            survey: plan.map(|plan| plan.map(|plan| plan.survey().clone())),
            locked: listed.map(|pin| (pin, holds)),
            refused,
        })
    }

    /// How long a run of the tool may take; `None` for what cannot be run here.
    pub(crate) fn limit(self, query: &Query) -> Option<TimeLimit> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        let (source, item) = loader.admit(loader.find(query).ok()?).ok()?;
        Some(plan_of_tool(&loader, &source, &item)?.ok()?.limit().clone())
    }

    /// The program that a run here would start for a runtime: the one that its interpreter's block
    /// means, or without one the program of that name; and what was passed over.
    pub(crate) fn find_program(
        self,
        runtime: &str,
        name: &str,
    ) -> (Option<PathBuf>, Vec<SkippedPath>) {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let loader = policy.loader(&Quiet);
        let query = runtime.parse::<Query>().ok();
        let query = query.map(|query| Query { space: Some(Space::System), ..query });
        let block =
            match query.map(|query| loader.find(&query).and_then(|found| loader.admit(found))) {
                Some(Ok((_, Item::Tool(tool)))) => tool.interpreter,
                // What is wrong with the runtime is told in its place.
                _ => None,
            };
        find_program(&loader.machine(), block.as_ref(), name)
    }
}

/// The ref that was typed, the file that answers it or why none does, and every copy.
pub(super) type Answer = (Ref, Result<Found, Failure>, Vec<ItemCopy>);

impl Loader<'_> {
    /// The program and folders of this machine that a tool would use, by the plan of a run without
    /// parameters; `None` if it is no tool, or has no sound chain.
    pub(super) fn survey_tool(
        &self,
        source: &Source,
        item: &Item,
    ) -> Option<Result<Survey, Diagnostic>> {
        Some(plan_of_tool(self, source, item)?.map(|plan| plan.survey().clone()))
    }

    /// The ref that was typed, the file that answers it or why none does, and every copy.
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
            Ok(found) => judge_copy(*self, found, winner.as_ref()),
            Err(error) => ItemCopy {
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

/// The plan of a run without parameters.
fn plan_of_tool(
    loader: &Loader<'_>,
    source: &Source,
    item: &Item,
) -> Option<Result<Plan, Diagnostic>> {
    let Item::Tool(tool) = item else { return None };
    let chain = loader.chain(source.clone(), tool.as_ref().clone(), &Quiet).ok()?;
    if chain.links().len() == 1 {
        return None;
    }
    let valid = match valid_here(chain) {
        Ok(valid) => valid,
        Err(failure) => return Some(Err(failure.diagnostic())),
    };
    let plan = Plan::build(&valid, Params::none(), &loader.machine(), &Quiet);
    Some(plan.map_err(|failure| failure.diagnostic()))
}

fn judge_copy(loader: Loader<'_>, found: Found, winner: Option<&Place>) -> ItemCopy {
    let (space, place) = (found.space, found.place.clone());
    let wins = winner == Some(&place);
    let path = (!found.embedded).then(|| found.path.display().to_string());
    // The lock is about what answers; a copy that lost is judged by itself.
    let verdict = match wins {
        true => loader.admit(found),
        false => loader.admit_alone(found),
    };
    let key = verdict.as_ref().ok().and_then(|(source, _)| source.signer().map(|s| s.key));
    let document = key.and_then(|key| {
        let document = loader.trust.document(key).ok().flatten()?;
        let of_project = loader.rye.spaces.project_identity().filter(|_| space == Space::Project);
        let document = document.as_in(of_project);
        Some((format!(".ai/config/keys/trusted/{key}.toml"), document))
    });
    ItemCopy {
        space: Some(space),
        place: Some(place),
        path,
        wins,
        verdict: verdict
            .map(|(source, item)| Detail::new(&source, item.version()))
            .map_err(|failure| failure.diagnostic()),
        document,
    }
}
