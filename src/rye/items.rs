//! Which items there are, and what they say of themselves. Nothing is run.

use serde_json::{Map, Value, json};

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::grants;
use super::load::Loader;
use crate::base::Timestamp;
use crate::base::json::object;
use crate::base::parallel::parallel;
use crate::diagnostic::{Failure, Place};
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::parse::{Item, RiskLink};
use crate::plan::{PlanError, PlanSource, check_config, limits};
use crate::report::{Detail, Warned};
use crate::resolve::Resolver;
use crate::space::{Entry, Listing};
use crate::trace::Quiet;

/// Which items there are, and what they say of themselves.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// Which items there are, and what they say of themselves.
    pub(crate) fn items(&self) -> Items<'_> {
        Items { rye: self }
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
    pub(crate) signed_at: Option<Timestamp>,
}

impl Items<'_> {
    /// Every item of the space and kind, not verified; files that verified tools list are left out.
    /// Of a project that is not accepted no file is read for that (core 4.3): all names are there.
    pub(crate) fn list(self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        Ok(self.list_with_tools(space, kind)?.into_iter().map(|(entry, _)| entry).collect())
    }

    /// Lists the items, each with the unverified tool that lists it as its file.
    pub(crate) fn list_with_tools(
        self,
        space: Space,
        kind: Kind,
    ) -> Result<Vec<(Entry, Option<Ref>)>, Failure> {
        let entries = self.names(space, kind)?;
        let has_files = kind == Kind::Tool && !entries.is_empty() && self.is_read(space);
        Ok(match has_files {
            true => self.with_tools(entries),
            false => entries.into_iter().map(|entry| (entry, None)).collect(),
        })
    }

    /// Returns true if headers of the space's tools are read to know what they list.
    pub(super) fn is_read(self, space: Space) -> bool {
        space != Space::Project || self.rye.project().is_admitted()
    }

    /// Lists the items to sign. A file of a tool is signed with that tool, and is read wherever it
    /// lies.
    pub(super) fn list_to_sign(self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        let mut entries = self.names(space, kind)?;
        entries.retain(|entry| entry.bundle.is_none());
        if kind != Kind::Tool {
            return Ok(entries);
        }
        let with_tools = self.with_tools(entries).into_iter();
        Ok(with_tools.filter(|(_, tool)| tool.is_none()).map(|(entry, _)| entry).collect())
    }

    pub(super) fn names(self, space: Space, kind: Kind) -> Result<Vec<Entry>, Failure> {
        let roots = self.rye.spaces.nearest_first().filter(|root| root.space() == space);
        let mut entries = Vec::new();
        for root in roots {
            let listed = root.list(kind, &self.rye.types)?.entries;
            entries.extend(listed.into_iter().filter(|entry| !entry.is_proposal()));
        }
        Ok(entries)
    }

    /// Every file that a pattern matches, of every space and kind; all without a pattern. What a
    /// project proposes about keys is left out.
    pub(crate) fn survey(self, patterns: &[Pattern]) -> Result<Listing, Failure> {
        self.rye.sound_types()?;
        let mut all = Listing::default();
        for root in self.rye.spaces.nearest_first() {
            for kind in Kind::ALL {
                let listed = root.list(kind, &self.rye.types)?;
                all.odd.extend(listed.odd);
                let is_asked = |entry: &Entry| {
                    patterns.is_empty() || patterns.iter().any(|p| p.matches(&entry.item))
                };
                let items = listed.entries.into_iter().filter(|entry| !entry.is_proposal());
                all.entries.extend(items.filter(is_asked));
            }
        }
        Ok(all)
    }

    /// The full ref of what a query names; the query itself where nothing answers it.
    pub(crate) fn full_ref(self, query: &Query) -> String {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        // Whether there is a near name is told once, where the item is asked for.
        let found = policy.loader(&Quiet).resolver(|resolver| {
            Resolver { may_suggest: &|| false, ..*resolver }.answer(query, &Quiet)
        });
        found.map_or_else(|_| query.to_string(), |found| found.item.to_string())
    }

    /// One item, verified and parsed.
    pub(crate) fn describe(self, query: &Query) -> Result<Described, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        describe(loader, query)
    }

    /// Many items, verified and parsed on all cores; the results keep the order.
    pub(crate) fn describe_all(self, queries: Vec<Query>) -> Vec<Result<Described, Failure>> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        parallel(queries, |query| describe(loader, &query))
    }

    /// Why these tools cannot run with their own `config`, or with the config items that they ask
    /// for; `None` for one that can, and for what is not a tool that is run. The results keep the
    /// order.
    pub(crate) fn refused_configs(self, of: Vec<&Described>) -> Vec<Option<Failure>> {
        let policy = CallPolicy::new(self.rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        parallel(of, |described| refused_config(loader, described).err())
    }

    /// Returns true if this entry of a nearer space is the system's own file to the byte.
    pub(crate) fn is_system_copy(self, entry: &Entry) -> bool {
        let read = |space| self.rye.spaces.get(space)?.read(&entry.relative()).ok()?;
        let may_be = entry.item.yields_to_system() && entry.space != Space::System;
        let system = read(Space::System).filter(|_| may_be);
        system.is_some() && system == read(entry.space)
    }
}

impl Described {
    /// The description of the item, as data.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut out = object(json!(self.detail));
        out.insert("shadowed".into(), json!(self.shadowed));
        out.extend(self.item.to_json());
        if !self.warnings.is_empty() {
            out.insert("warnings".into(), json!(self.warnings));
        }
        out
    }
}

fn refused_config(loader: Loader<'_>, described: &Described) -> Result<(), Failure> {
    let Item::Tool(tool) = &described.item else { return Ok(()) };
    if tool.is_link() {
        return Ok(());
    }
    let item = &described.detail.item;
    check_config(tool.executor.as_ref(), &tool.config)
        .map_err(|(pointer, why)| PlanError::BadConfig { item: item.clone(), pointer, why })?;
    limits(item, &loader, &Quiet)?;
    for wanted in tool.config_resolve.iter().flat_map(|asked| &asked.wanted) {
        loader.configs(&wanted.item)?;
    }
    Ok(())
}

/// The host variables that a file asks for, signed or not; none of one that is no item.
pub(crate) fn variables_of(rye: &Rye, entry: &Entry) -> Vec<String> {
    let root = rye.spaces.home(entry.space, entry.bundle.as_ref());
    let bytes = root.and_then(|root| root.read(&entry.relative()).ok().flatten());
    let file_type = rye.types.find(entry.item.kind, &entry.ext);
    let link = bytes.zip(file_type).and_then(|(bytes, file_type)| {
        let text = std::str::from_utf8(&bytes).ok()?;
        RiskLink::of_unverified(entry.item.kind, text, &file_type.header)
    });
    link.map(|link| link.reach.variables().map(str::to_owned).collect()).unwrap_or_default()
}

/// The description of one item for the caller of this process, who reads no more than a thread
/// above it may.
///
/// # Errors
/// `thread.outside`, `grant.denied`; those of loading it. The error about an item that is not there
/// names no item beyond the caller's reach.
pub(crate) fn read_item(rye: &Rye, query: &Query) -> Result<Described, Failure> {
    let may = rye.above().may_read()?;
    let described = rye.items().describe(query);
    let described = described.map_err(|no| match &may {
        Some(may) => grants::in_reach(no, |item| may.allow(item)),
        None => no,
    })?;
    grants::judge(may.as_ref(), &described.detail.item)?;
    Ok(described)
}

fn describe(loader: Loader<'_>, query: &Query) -> Result<Described, Failure> {
    let (source, item) = loader.admit(loader.find(query)?)?;
    Ok(Described {
        detail: Detail::new(&source, item.version()),
        item,
        content: source.raw(),
        shadowed: source.shadowed().to_vec(),
        warnings: Warned::of_sources(std::iter::once(&source)),
        signed_at: source.signer().map(|signer| signer.at),
    })
}
