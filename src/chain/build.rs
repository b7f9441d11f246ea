//! Building a chain (core 7.3).

use super::error::{ChainError, ChainFault};
use super::fetch::Fetch;
use super::link::{Link, Role};
use super::primitive::Primitive;
use crate::base::limits::CHAIN_LINKS;
use crate::id::{ItemId, Kind, Ref};
use crate::parse::{Item, Tool};
use crate::trace::{Event, Sink};
use crate::verify::Source;

/// The links one run passes through, the tool first.
///
/// Invariant: never empty, at most [`CHAIN_LINKS`] long, no id twice, only the last link is a
/// primitive, and every link was verified. `Chain::build` is the one way to make a chain.
#[derive(Debug)]
pub(crate) struct Chain {
    links: Vec<Link>,
    primitive: Primitive,
}

impl Chain {
    /// Follows executor ids from `tool` to a primitive.
    ///
    /// # Errors
    /// `chain.*`; `validate.space_order` for an executor that only a nearer space holds; whatever a
    /// link is refused with.
    pub(crate) fn build(
        source: Source,
        tool: Tool,
        fetch: &dyn Fetch,
        sink: &dyn Sink,
    ) -> Result<Self, ChainError> {
        let mut links = vec![Link { role: Role::Tool, source, tool }];
        match follow(&mut links, fetch, sink) {
            Ok(primitive) => Ok(Self { links, primitive }),
            Err(fault) => {
                let links = links.iter().map(|link| link.item().clone()).collect();
                Err(ChainError { links, fault })
            }
        }
    }

    pub(crate) fn links(&self) -> &[Link] {
        &self.links
    }

    pub(crate) fn tool(&self) -> &Link {
        &self.links[0]
    }

    pub(crate) fn primitive(&self) -> Primitive {
        self.primitive
    }

    /// The refs of the links, the tool's first.
    pub(crate) fn refs(&self) -> Vec<String> {
        self.links.iter().map(|link| link.item().to_string()).collect()
    }
}

fn follow(
    links: &mut Vec<Link>,
    fetch: &dyn Fetch,
    sink: &dyn Sink,
) -> Result<Primitive, ChainFault> {
    let first = &links[0];
    if !first.tool.begins_chain() {
        let what = first.tool.tool_type.clone().unwrap_or_default();
        return Err(ChainFault::NotATool { item: first.item().clone(), what });
    }
    loop {
        let by = &links[links.len() - 1];
        sink.record(Event::ChainLink {
            item_id: by.item().clone(),
            depth: links.len() - 1,
            executor: by.tool.executor.as_ref().map(ItemId::to_string),
        });
        let Some(executor) = by.tool.executor.clone() else {
            return end(links);
        };
        if let Some(at) = links.iter().position(|link| link.item().id == executor) {
            let mut path: Vec<_> = links[at..].iter().map(|l| l.item().id.clone()).collect();
            path.push(executor);
            return Err(ChainFault::Cycle { path });
        }
        if links.len() == CHAIN_LINKS {
            return Err(ChainFault::TooDeep);
        }
        let link = next(by, &executor, fetch)?;
        links.push(link);
    }
}

/// Only the last link may be a primitive, and it must be one.
fn end(links: &mut [Link]) -> Result<Primitive, ChainFault> {
    let several = links.len() > 1;
    let last = links.len() - 1;
    let link = &mut links[last];
    let is_one = link.tool.tool_type.as_deref() == Some("primitive");
    let primitive = Primitive::from_id(&link.item().id).filter(|_| several && is_one);
    let unknown = || ChainFault::UnknownPrimitive { item: link.item().clone() };
    let primitive = primitive.ok_or_else(unknown)?;
    link.role = Role::Primitive;
    Ok(primitive)
}

fn next(by: &Link, executor: &ItemId, fetch: &dyn Fetch) -> Result<Link, ChainFault> {
    let item = Ref::new(Kind::Tool, executor.clone());
    let from = by.source.space();
    let Some((source, parsed)) = fetch.fetch(&item, from)? else {
        let by = by.item().clone();
        return Err(match fetch.find_above(&item, from) {
            Some(space) => ChainFault::OutOfReach { by, from, executor: executor.clone(), space },
            None => {
                let near = executors(fetch.near(&item));
                ChainFault::ExecutorNotFound { by, executor: executor.clone(), near }
            }
        });
    };
    let Item::Tool(tool) = parsed else {
        let what = item.kind.to_string();
        return Err(ChainFault::NotAnExecutor { by: by.item().clone(), item, what });
    };
    match tool.tool_type.as_deref() {
        Some("runtime" | "primitive") => {}
        other => {
            let what = other.unwrap_or("tool").to_owned();
            return Err(ChainFault::NotAnExecutor { by: by.item().clone(), item, what });
        }
    }
    Ok(Link { role: Role::Runtime, source, tool: *tool })
}

/// Of refs, the ids of what may stand behind a tool: `executor_id` is a plain id.
pub(crate) fn executors(refs: Vec<String>) -> Vec<String> {
    let ids = refs.into_iter().filter_map(|item| item.strip_prefix("tool:").map(str::to_owned));
    ids.filter(|id| may_be_executor(id)).collect()
}

/// Returns true if a tool's id looks like one that others run through; its header decides what it
/// is.
pub(crate) fn may_be_executor(id: &str) -> bool {
    id.contains("/runtimes/") || id.contains("/primitives/")
}
