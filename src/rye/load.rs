//! One item through the first steps: resolve, verify, the lock, parse. Every item takes this way.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::call_policy::CallPolicy;
use super::facade::Rye;
use crate::chain::{Chain, Fetch, lineage};
use crate::diagnostic::Failure;
use crate::id::{ItemId, Query, Ref, Space};
use crate::lock::LockError;
use crate::parse::{Item, Tool};
use crate::plan::{PlanContext, SandboxChoice, dependencies};
use crate::report::Detail;
use crate::resolve::{Found, ResolveError, Resolver};
use crate::space::baseline::{Baselines, Stamp};
use crate::space::{Entry, Root};
use crate::thread::ThreadId;
use crate::trace::{Event, Quiet, Sink};
use crate::validate::{RunTarget, ValidChain};
use crate::verify::{Reason, Source, TrustStore, admit};

/// How often names near to one that was not found are looked for in one run: each time costs a walk
/// over every item, and a caller that names a thousand missing items reads no thousand suggestions.
const SUGGESTIONS: usize = 16;

/// Loads items by the policy of one call.
#[derive(Clone, Copy)]
pub(crate) struct Loader<'a> {
    pub(crate) rye: &'a Rye,
    pub(crate) trust: &'a TrustStore<'a>,
    pub(crate) policy: &'a CallPolicy<'a>,
    pub(crate) sink: &'a dyn Sink,
}

impl Loader<'_> {
    /// Calls `with` with the resolver of this call.
    pub(crate) fn resolver<R>(&self, with: impl FnOnce(&Resolver<'_>) -> R) -> R {
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

    /// Resolve: the file of an entry. If another file in its space has the same id, the error says
    /// which files they are.
    pub(crate) fn file_of(&self, entry: &Entry, has_twin: bool) -> Result<Option<Found>, Failure> {
        Ok(self.resolver(|resolver| match has_twin {
            true => resolver.in_space(&entry.item, entry.space),
            false => resolver.at(entry),
        })?)
    }

    /// Resolve: what was typed, as one file.
    pub(crate) fn find(&self, query: &Query) -> Result<Found, Failure> {
        let answer = self.resolver(|resolver| resolver.answer(query, self.sink));
        answer.map_err(|error| match error {
            ResolveError::NotFound { .. } if query.space.is_none() => {
                locked_and_gone(self.policy, query).map_or_else(|| error.into(), Failure::from)
            }
            error => error.into(),
        })
    }

    /// Verify and parse a file.
    pub(crate) fn admit(&self, found: Found) -> Result<(Source, Item), Failure> {
        let source = self.admitted(found, |space| self.rye.items().is_read(space))?;
        self.policy.judge(&source)?;
        self.parse(source)
    }

    /// Verify and parse a file, whatever the lock says of it.
    pub(crate) fn admit_alone(&self, found: Found) -> Result<(Source, Item), Failure> {
        let source = self.admitted(found, |space| self.rye.items().is_read(space))?;
        self.parse(source)
    }

    /// Verify a file, and hold it against the lock.
    pub(crate) fn verify(&self, found: Found) -> Result<Source, Failure> {
        let source = self.verify_alone(found)?;
        self.policy.judge(&source)?;
        Ok(source)
    }

    /// Verify a file, whatever the lock says of it.
    pub(crate) fn verify_alone(&self, found: Found) -> Result<Source, Failure> {
        self.admitted(found, |_| false)
    }

    /// Verify a file; a refusal names the tool that lists it, if its space is one that
    /// `tells_lister`.
    pub(crate) fn admitted(
        &self,
        found: Found,
        tells_lister: impl Fn(Space) -> bool,
    ) -> Result<Source, Failure> {
        let item = found.item.clone();
        let entry = tells_lister(found.space).then(|| found.entry());
        // Known are versions of the project, also where files of another folder stand for its own.
        let base = match found.space {
            Space::Project => self.rye.spaces.project_path().to_owned(),
            _ => found.base.clone(),
        };
        let identity = self.rye.spaces.project_identity();
        let admitted = admit(found, self.trust, identity, self.policy.dev(), self.sink);
        let admitted = admitted.map_err(|mut refused| {
            let known = || self.baselines().is_some_and(|b| b.knows(&base, &item));
            refused.baseline =
                matches!(refused.reason, Reason::Unsigned | Reason::Moved { .. }) && known();
            let is_unsigned = refused.reason == Reason::Unsigned;
            let entry = entry.filter(|_| is_unsigned);
            refused.listed_by = entry.and_then(|entry| self.policy.tool_that_lists(&entry));
            refused
        });
        Ok(admitted?)
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

    /// The chain of a tool, whose events go to `sink`.
    pub(crate) fn chain(
        &self,
        source: Source,
        tool: Tool,
        sink: &dyn Sink,
    ) -> Result<Chain, Failure> {
        Ok(Chain::build(source, tool, self, sink)?)
    }

    /// The links that an item runs through, itself first, each handed to `each` with its version:
    /// the links of a tool, or a directive and its parents. With `dependencies` also what a tool
    /// admits beside its chain: modules with a signature line of their own, and config.
    ///
    /// # Errors
    /// The error that refuses one of them.
    pub(crate) fn links<R>(
        &self,
        source: Source,
        item: Item,
        with_dependencies: bool,
        each: impl Fn(&Source, Option<String>) -> R,
    ) -> Result<Vec<R>, Failure> {
        match item {
            Item::Tool(tool) if tool.begins_chain() => {
                let chain = self.chain(source, *tool, &Quiet)?;
                let links = chain.links().iter();
                let mut all: Vec<R> =
                    links.map(|link| each(&link.source, link.tool.version.clone())).collect();
                if with_dependencies {
                    let version = |source: &Source| Item::parse(source).ok()?.version();
                    let beside = dependencies(&chain, self, &Quiet)?;
                    all.extend(beside.iter().map(|source| each(source, version(source))));
                }
                Ok(all)
            }
            Item::Directive(directive) => {
                let lineage = lineage(source, *directive, self)?;
                let links = lineage.sources().zip(lineage.directives());
                Ok(links.map(|(source, d)| each(source, d.version.clone())).collect())
            }
            other => Ok(vec![each(&source, other.version())]),
        }
    }

    /// The details of what an item runs through, itself first.
    ///
    /// # Errors
    /// Whatever one of them is refused with.
    pub(crate) fn details(&self, source: Source, item: Item) -> Result<Vec<Detail>, Failure> {
        self.links(source, item, false, Detail::new)
    }

    /// This machine, as a plan sees it.
    pub(crate) fn machine(&self) -> PlanContext<'_> {
        let (rye, spaces) = (self.rye, &self.rye.spaces);
        let on_disk = |space| spaces.get(space).filter(|root: &&Root| !root.is_embedded());
        let (user, system) = (spaces.get(Space::User), on_disk(Space::System));
        // The real folders whose files other people may change: the foreign ground, and the `.ai`
        // folders on disk.
        let ai_folders = [on_disk(Space::User), system].into_iter().flatten();
        let ai_folders = ai_folders.filter_map(|root| root.path("").canonicalize().ok());
        let guarded = spaces.ground().folders().map(Path::to_owned).chain(ai_folders).collect();
        PlanContext {
            vars: &rye.at.vars,
            host: rye.host.as_ref(),
            plan_source: self,
            trust: self.trust,
            project_path: spaces.project_path(),
            workplace: spaces.project_path(),
            user_space: user.map(Root::base),
            system_space: system.map(Root::base),
            ground: spaces.ground(),
            guarded,
            run_id: "",
            thread: self.policy.thread.as_ref().map(ThreadId::as_str),
            project_shortens: true,
            sandbox: SandboxChoice::Auto,
            timeout: None,
            for_record: false,
        }
    }

    /// The versions that are remembered; `None` without a user space.
    pub(crate) fn baselines(&self) -> Option<Baselines> {
        self.rye.spaces.get(Space::User).map(|user| Baselines::new(user.base()))
    }

    /// Keeps the bytes that ran, for `rye diff`; what is in the binary is kept only if it is
    /// `locked`. A full disk must not fail a run that is done.
    pub(crate) fn remember<'b>(&self, sources: impl Iterator<Item = &'b Source>, locked: bool) {
        let Some(baselines) = self.baselines() else { return };
        for source in sources.filter(|s| (locked || !s.is_embedded()) && s.warnings().is_empty()) {
            let Some(signer) = source.signer() else { continue };
            let stamp = Stamp { sha256: source.digest(), signed_at: signer.at, key: signer.key };
            let (item, version) = (source.item(), (stamp, source.text().as_bytes()));
            let keep = self.policy.locked_digest(item, source.space());
            let files: Vec<_> =
                source.parts().iter().map(|p| (p.digest, p.bytes.as_ref())).collect();
            if let Err(error) = baselines.remember(source.base(), item, version, &files, keep) {
                tracing::debug!(%error, %item, "no baseline kept");
            }
        }
    }
}

/// The items of which there are two files in one space; entries come sorted.
pub(crate) fn twins(entries: &[Entry]) -> HashSet<(Space, Ref)> {
    let pairs = entries.windows(2).map(|pair| (&pair[0], &pair[1]));
    let twins = pairs.filter(|(one, two)| (one.space, &one.item) == (two.space, &two.item));
    twins.map(|(one, _)| (one.space, one.item.clone())).collect()
}

/// A chain, judged for a run on this machine, in this process.
pub(crate) fn valid_here(chain: Chain) -> Result<ValidChain, Failure> {
    let asked = RunTarget { target: "local".into(), thread: "inline".into() };
    Ok(ValidChain::judge(chain, &asked, &Quiet)?)
}

impl Fetch for Loader<'_> {
    fn fetch(&self, item: &Ref, from: Space) -> Result<Option<(Source, Item)>, Failure> {
        let found = self.resolver(|resolver| resolver.resolve(item, from, self.sink))?;
        found.map(|found| self.admit(found)).transpose()
    }

    fn find_above(&self, item: &Ref, from: Space) -> Option<Space> {
        self.resolver(|resolver| {
            let above = Space::NEAREST_FIRST.into_iter().rev().filter(|space| *space > from);
            above.into_iter().find(|space| {
                let query = Query { space: Some(*space), ..Query::from(item.clone()) };
                resolver.answer(&query, &Quiet).is_ok()
            })
        })
    }

    fn near(&self, item: &Ref) -> Vec<String> {
        self.resolver(|resolver| resolver.near(&Query::from(item.clone())))
    }
}

/// That nothing has the item is another thing where the project has locked it.
fn locked_and_gone(policy: &CallPolicy<'_>, query: &Query) -> Option<LockError> {
    let mut names = policy.lock().ok()?.rows().map(|(name, _)| name);
    let name = names.find(|name| {
        name.id == query.id && query.kind.is_none_or(|kind| name.kind == Some(kind))
    })?;
    Some(LockError::Gone { item: Ref::new(name.kind?, name.id.clone()) })
}
