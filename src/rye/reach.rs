//! Everything in reach of a reference: what it runs through and what it uses, each with its
//! verdict, for a picture of it. A refusal is part of the answer, and nothing stops at one.

use std::cell::RefCell;

use super::call_policy::{CallPolicy, LockMode};
use super::items::Items;
use super::load::Loader;
use super::risk::RiskFinder;
use super::why::ItemCopy;
use crate::base::Digest;
use crate::base::limits::CHAIN_LINKS;
use crate::base::parallel::parallel;
use crate::chain::{Chain, Fetch, lineage};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::parse::{DeclaredReach, Item, Risk, RiskLink};
use crate::plan::{Survey, dependencies};
use crate::report::Detail;
use crate::trace::Quiet;
use crate::verify::{Integrity, Source, TrustStore};

/// Who stands behind an admitted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignedBy {
    You,
    /// The dev key of this project, for you and for a few hours.
    DevKey,
    Publisher,
    /// A key that a trust document of yours lets in.
    Trusted,
    /// Dev mode let it through.
    Nobody,
}

/// One admitted item.
#[derive(Debug)]
pub(crate) struct ReachedItem {
    pub(crate) detail: Detail,
    pub(crate) by: SignedBy,
    /// `runtime` or `primitive`, where it says so.
    pub(crate) role: Option<String>,
    /// The things that it may touch; `None` for a link that others run through.
    pub(crate) reach: Option<DeclaredReach>,
    /// How much harm it could do with that.
    pub(crate) risk: Option<Risk>,
    /// The files that its signature covers.
    pub(crate) files: Vec<(String, Digest)>,
    /// The next link that it names.
    next: Option<Ref>,
}

impl ReachedItem {
    fn new(source: &Source, item: &Item, trust: &TrustStore<'_>, risks: &RiskFinder<'_>) -> Self {
        let (role, next) = match item {
            Item::Tool(tool) => (
                tool.tool_type.clone().filter(|_| tool.is_link()),
                tool.executor.clone().map(|id| Ref::new(Kind::Tool, id)),
            ),
            Item::Directive(directive) => {
                (None, directive.extends.clone().map(|id| Ref::new(Kind::Directive, id)))
            }
            Item::Knowledge(_) | Item::Config(_) => (None, None),
        };
        let files =
            source.parts().iter().map(|part| (part.path.to_string(), part.digest)).collect();
        let by = by(source, trust);
        let reach = role.is_none().then(|| item.reach());
        let risk = risks.risk(source.item(), source.space(), RiskLink::new(item));
        let detail = Detail::new(source, item.version());
        Self { detail, by, role, reach, risk, files, next }
    }

    fn from_source(source: &Source, trust: &TrustStore<'_>) -> Self {
        let by = by(source, trust);
        let detail = Detail::new(source, None);
        Self { detail, by, role: None, reach: None, risk: None, files: Vec::new(), next: None }
    }
}

fn by(source: &Source, trust: &TrustStore<'_>) -> SignedBy {
    let Some(signer) = source.signer().filter(|_| source.integrity() == Integrity::Verified) else {
        return SignedBy::Nobody;
    };
    match trust.document(signer.key) {
        _ if signer.dev_for.is_some() => SignedBy::DevKey,
        Ok(Some(_)) => SignedBy::Trusted,
        _ if source.space() == Space::System => SignedBy::Publisher,
        _ => SignedBy::You,
    }
}

/// Where a chain ends too early.
#[derive(Debug)]
pub(crate) struct ChainStop {
    /// The item that the last link names.
    pub(crate) named: Option<Ref>,
    pub(crate) why: Diagnostic,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) item: Ref,
    pub(crate) copies: Vec<ItemCopy>,
    /// Why nothing answers, if nothing does.
    pub(crate) refused: Option<Diagnostic>,
    /// The item and what it runs through, or extends; as far as each was admitted.
    pub(crate) links: Vec<ReachedItem>,
    pub(crate) stop: Option<ChainStop>,
    /// Modules and config, each admitted by itself.
    pub(crate) beside: Vec<ReachedItem>,
    pub(crate) beside_refused: Option<Diagnostic>,
    /// Of this machine; `None` for what starts no program.
    pub(crate) survey: Option<Result<Survey, Diagnostic>>,
}

/// Keeps what a chain fetches, also of one that cannot be built.
struct Watch<'a> {
    loader: Loader<'a>,
    risks: &'a RiskFinder<'a>,
    seen: RefCell<Vec<ReachedItem>>,
}

impl Fetch for Watch<'_> {
    fn fetch(&self, item: &Ref, from: Space) -> Result<Option<(Source, Item)>, Failure> {
        let got = self.loader.fetch(item, from)?;
        if let Some((source, parsed)) = &got {
            self.seen.borrow_mut().push(ReachedItem::new(
                source,
                parsed,
                self.loader.trust,
                self.risks,
            ));
        }
        Ok(got)
    }

    fn find_above(&self, item: &Ref, from: Space) -> Option<Space> {
        self.loader.find_above(item, from)
    }

    fn near(&self, item: &Ref) -> Vec<String> {
        self.loader.near(item)
    }
}

impl Items<'_> {
    /// Everything in reach of each reference, found on all cores; in the order asked.
    ///
    /// # Errors
    /// For each by itself: that of a reference to which no file lies in any space.
    pub(crate) fn reach(self, queries: Vec<Query>) -> Vec<Result<Reach, Failure>> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        let risks = RiskFinder::new(loader);
        parallel(queries, |query| reach(loader, &risks, &query))
    }
}

fn reach(loader: Loader<'_>, risks: &RiskFinder<'_>, query: &Query) -> Result<Reach, Failure> {
    let (item, answer, copies) = loader.copies(query)?;
    let mut reach = Reach {
        item,
        copies,
        refused: None,
        links: Vec::new(),
        stop: None,
        beside: Vec::new(),
        beside_refused: None,
        survey: None,
    };
    match answer.and_then(|found| loader.admit(found)) {
        Err(failure) => reach.refused = Some(failure.diagnostic()),
        Ok((source, parsed)) => {
            reach.links.push(ReachedItem::new(&source, &parsed, loader.trust, risks));
            let watch = Watch { loader, risks, seen: RefCell::new(Vec::new()) };
            let stopped = walk(&watch, source, parsed, &mut reach);
            reach.links.extend(watch.seen.into_inner());
            if let Some(why) = stopped {
                let named = reach.links.last().and_then(|last| last.next.clone());
                reach.stop = Some(ChainStop { named, why });
            }
        }
    }
    Ok(reach)
}

/// Walks the chain; gives what stopped it.
fn walk(watch: &Watch<'_>, source: Source, parsed: Item, reach: &mut Reach) -> Option<Diagnostic> {
    let loader = watch.loader;
    match parsed {
        Item::Tool(tool) if tool.is_link() => links(watch, &source, tool.executor.clone()),
        Item::Tool(tool) if tool.provider.is_some() => None,
        Item::Tool(tool) => {
            reach.survey = loader.survey_tool(&source, &Item::Tool(tool.clone()));
            match Chain::build(source, *tool, watch, &Quiet) {
                Err(error) => Some(Diagnostic::from(&error)),
                Ok(chain) => {
                    match dependencies(&chain, &loader, &Quiet) {
                        Ok(sources) => {
                            let sources = sources.iter();
                            let beside = sources.map(|s| ReachedItem::from_source(s, loader.trust));
                            reach.beside = beside.collect();
                        }
                        Err(failure) => reach.beside_refused = Some(failure.diagnostic()),
                    }
                    None
                }
            }
        }
        Item::Directive(directive) => {
            lineage(source, *directive, watch).err().map(|error| Diagnostic::from(&error))
        }
        Item::Knowledge(_) | Item::Config(_) => None,
    }
}

/// A runtime is not a chain's beginning; what stands behind it is looked at all the same.
fn links(watch: &Watch<'_>, source: &Source, executor: Option<ItemId>) -> Option<Diagnostic> {
    let (mut from, mut next) = (source.space(), executor);
    for _ in 1..CHAIN_LINKS {
        let item = Ref::new(Kind::Tool, next?);
        match watch.fetch(&item, from) {
            Err(error) => return Some(error.diagnostic()),
            Ok(Some((source, Item::Tool(tool)))) => (from, next) = (source.space(), tool.executor),
            Ok(_) => return None,
        }
    }
    None
}
