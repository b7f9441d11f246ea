//! Why a chain could not be built.

use crate::base::limits::{CHAIN_LINKS, EXTENDS_PARENTS};
use crate::diagnostic::{Code, Diagnose, Failure, Place, codes};
use crate::id::{ItemId, Ref, Space};

codes! {
    CHAIN_CYCLE = "chain.cycle", Malformed;
    CHAIN_TOO_DEEP = "chain.too_deep", Malformed;
    CHAIN_EXECUTOR_NOT_FOUND = "chain.executor_not_found", NotFound;
    CHAIN_UNKNOWN_PRIMITIVE = "chain.unknown_primitive", Malformed;
    CHAIN_NOT_AN_EXECUTOR = "chain.not_an_executor", Malformed;
    CHAIN_NOT_A_TOOL = "chain.not_a_tool", Malformed;
    CHAIN_PARENT_NOT_FOUND = "chain.parent_not_found", Malformed;
    PARSE_EXTENDS_CYCLE = "parse.extends_cycle", Malformed;
    VALIDATE_SPACE_ORDER = "validate.space_order", Refused;
}

/// A chain that could not be built, with the links it had by then.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub(crate) struct ChainError {
    pub(crate) links: Vec<Ref>,
    pub(crate) fault: ChainFault,
}

/// The fault that stopped it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ChainFault {
    #[error(transparent)]
    Fetch(#[from] Failure),
    #[error("`{by}` names the executor `{executor}`, which is in no space")]
    ExecutorNotFound { by: Ref, executor: ItemId, near: Vec<String> },
    #[error("Chain validation failed: incompatible spaces")]
    OutOfReach { by: Ref, from: Space, executor: ItemId, space: Space },
    #[error("the chain runs in a circle: {}", arrows(.path))]
    Cycle { path: Vec<ItemId> },
    #[error("the chain has more than {CHAIN_LINKS} links")]
    TooDeep,
    #[error("the chain ends at `{item}`, which is not a primitive of this rye")]
    UnknownPrimitive { item: Ref },
    #[error("`{by}` names the executor `{item}`, which is a {what}, not a runtime or primitive")]
    NotAnExecutor { by: Ref, item: Ref, what: String },
    #[error("`{item}` is a {what}, which does not run by itself")]
    NotATool { item: Ref, what: String },
    #[error("the directive extends itself: {}", arrows(.path))]
    ExtendsCycle { path: Vec<ItemId> },
    #[error("`{by}` extends `{parent}`, which it cannot reach")]
    ParentNotFound { by: Ref, parent: ItemId, near: Vec<String> },
    #[error("the directive has more than {EXTENDS_PARENTS} parents")]
    TooManyParents,
}

fn arrows(ids: &[ItemId]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("`{id}`")).collect();
    ids.join(" -> ")
}

/// The primitive that runs snippets, which a build may leave out.
const CODE: &str = "rye/core/primitives/code";

impl Diagnose for ChainError {
    fn code(&self) -> Code {
        match &self.fault {
            ChainFault::Fetch(inner) => inner.reason(),
            ChainFault::ExecutorNotFound { .. } => CHAIN_EXECUTOR_NOT_FOUND,
            ChainFault::OutOfReach { .. } => VALIDATE_SPACE_ORDER,
            ChainFault::Cycle { .. } => CHAIN_CYCLE,
            ChainFault::TooDeep | ChainFault::TooManyParents => CHAIN_TOO_DEEP,
            ChainFault::UnknownPrimitive { .. } => CHAIN_UNKNOWN_PRIMITIVE,
            ChainFault::NotAnExecutor { .. } => CHAIN_NOT_AN_EXECUTOR,
            ChainFault::NotATool { .. } => CHAIN_NOT_A_TOOL,
            ChainFault::ExtendsCycle { .. } => PARSE_EXTENDS_CYCLE,
            ChainFault::ParentNotFound { .. } => CHAIN_PARENT_NOT_FOUND,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match &self.fault {
            ChainFault::Fetch(inner) => return inner.help(),
            ChainFault::ExecutorNotFound { near, .. } | ChainFault::ParentNotFound { near, .. }
                if !near.is_empty() =>
            {
                let near: Vec<_> = near.iter().map(|n| format!("`{n}`")).collect();
                format!("did you mean {}?", near.join(" or "))
            }
            ChainFault::ExecutorNotFound { .. } => {
                "the shipped runtimes are listed by `rye list --kind tool --all`".into()
            }
            ChainFault::ParentNotFound { .. } => {
                "a directive extends one of its own space or of a lower one; see `rye list`".into()
            }
            ChainFault::OutOfReach { by, from, executor, space } => format!(
                "`{by}` lies in the {from} space and `{executor}` only in the {space} space; an item depends on its own space and lower ones"
            ),
            ChainFault::Cycle { .. } | ChainFault::ExtendsCycle { .. } => "change one of these items so that the circle ends".into(),
            ChainFault::TooDeep | ChainFault::TooManyParents => "remove some of them".into(),
            ChainFault::UnknownPrimitive { item } if item.id.as_str() == CODE => {
                "use a rye that was built with the feature `code`, which is the default".into()
            }
            ChainFault::UnknownPrimitive { .. } => {
                "an item without `executor_id` is a primitive; a tool names a runtime such as `rye/core/runtimes/python/script`".into()
            }
            ChainFault::NotAnExecutor { .. } => {
                "name a runtime, such as `rye/core/runtimes/python/script`".into()
            }
            ChainFault::NotATool { item, what } if what == "provider" => format!(
                "a directive that runs as a thread asks it: `<model provider=\"{}\"/>`; see `rye fetch knowledge:rye/threads`",
                item.id
            ),
            ChainFault::NotATool { item, .. } => {
                format!("run a tool that names it; see what it is with `rye show {item}`")
            }
        })
    }

    fn place(&self) -> Option<Place> {
        match &self.fault {
            ChainFault::Fetch(inner) => inner.inner().place(),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match &self.fault {
            ChainFault::Fetch(inner) => inner.inner().item(),
            ChainFault::ExecutorNotFound { by, .. }
            | ChainFault::OutOfReach { by, .. }
            | ChainFault::ParentNotFound { by, .. }
            | ChainFault::NotAnExecutor { by, .. } => Some(by.to_string()),
            ChainFault::UnknownPrimitive { item } | ChainFault::NotATool { item, .. } => {
                Some(item.to_string())
            }
            _ => None,
        }
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        match &self.fault {
            ChainFault::Fetch(inner) => return inner.inner().data(),
            ChainFault::Cycle { path } | ChainFault::ExtendsCycle { path } => {
                let ids: Vec<_> = path.iter().map(ItemId::to_string).collect();
                data.insert("path".into(), ids.into());
            }
            ChainFault::ExecutorNotFound { executor, near, .. } => {
                data.insert("executor".into(), executor.to_string().into());
                data.insert("near".into(), near.clone().into());
            }
            _ => {}
        }
        data
    }

    fn chain(&self) -> Vec<String> {
        self.links.iter().map(Ref::to_string).collect()
    }
}
