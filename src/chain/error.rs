//! Why a chain could not be built.

use super::fetch::FetchError;
use crate::base::limits::{CHAIN_LINKS, EXTENDS_PARENTS};
use crate::diag::{Code, Diagnose, Place};
use crate::id::{ItemId, Ref, Space};

pub(crate) const CODES: &[Code] = &[
    Code("chain.cycle"),
    Code("chain.too_deep"),
    Code("chain.executor_not_found"),
    Code("chain.unknown_primitive"),
    Code("chain.not_an_executor"),
    Code("chain.not_a_tool"),
    Code("chain.parent_not_found"),
    Code("parse.extends_cycle"),
    Code("validate.space_order"),
];

/// A chain that could not be built, with the links it had by then.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub(crate) struct ChainError {
    pub(crate) links: Vec<ItemId>,
    pub(crate) fault: Fault,
}

/// What stopped it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Fault {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("`{by}` names the executor `{executor}`, which is in no space")]
    ExecutorNotFound { by: Ref, executor: ItemId, near: Vec<String> },
    #[error("Chain validation failed: incompatible spaces")]
    OutOfReach { by: Ref, from: Space, executor: ItemId, space: Space },
    #[error("the chain comes back to where it was: {}", arrows(.path))]
    Cycle { path: Vec<ItemId> },
    #[error("the chain has more than {CHAIN_LINKS} links")]
    TooDeep,
    #[error("the chain ends at `{item}`, which is no primitive of this build")]
    UnknownPrimitive { item: Ref },
    #[error("`{by}` names the executor `{item}`, which is a {what}, not a runtime or primitive")]
    NotAnExecutor { by: Ref, item: Ref, what: String },
    #[error("`{item}` is a {what}: other items run through it, it does not run by itself")]
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

impl Diagnose for ChainError {
    fn code(&self) -> Code {
        Code(match &self.fault {
            Fault::Fetch(inner) => return inner.code(),
            Fault::ExecutorNotFound { .. } => "chain.executor_not_found",
            Fault::OutOfReach { .. } => "validate.space_order",
            Fault::Cycle { .. } => "chain.cycle",
            Fault::TooDeep | Fault::TooManyParents => "chain.too_deep",
            Fault::UnknownPrimitive { .. } => "chain.unknown_primitive",
            Fault::NotAnExecutor { .. } => "chain.not_an_executor",
            Fault::NotATool { .. } => "chain.not_a_tool",
            Fault::ExtendsCycle { .. } => "parse.extends_cycle",
            Fault::ParentNotFound { .. } => "chain.parent_not_found",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match &self.fault {
            Fault::Fetch(inner) => return inner.help(),
            Fault::ExecutorNotFound { near, .. } | Fault::ParentNotFound { near, .. }
                if !near.is_empty() =>
            {
                let near: Vec<_> = near.iter().map(|n| format!("`{n}`")).collect();
                format!("did you mean {}?", near.join(" or "))
            }
            Fault::ExecutorNotFound { .. } => {
                "the shipped runtimes are listed by `rye list --kind tool --all`".into()
            }
            Fault::ParentNotFound { .. } => {
                "a directive extends one of its own space or of a lower one; see `rye list`".into()
            }
            Fault::OutOfReach { by, from, executor, space } => format!(
                "`{by}` lies in the {from} space and `{executor}` only in the {space} space; an item depends on its own space and lower ones"
            ),
            Fault::Cycle { .. } | Fault::ExtendsCycle { .. } => "break the circle in one of them".into(),
            Fault::TooDeep | Fault::TooManyParents => "shorten it".into(),
            Fault::UnknownPrimitive { .. } => {
                "an item without `executor_id` is a primitive; a tool names a runtime such as `rye/core/runtimes/python/script`".into()
            }
            Fault::NotAnExecutor { .. } => {
                "name a runtime, such as `rye/core/runtimes/python/script`".into()
            }
            Fault::NotATool { item, .. } => format!("see what it is with `rye show {item}`"),
        })
    }

    fn place(&self) -> Option<Place> {
        match &self.fault {
            Fault::Fetch(inner) => inner.place(),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match &self.fault {
            Fault::Fetch(inner) => inner.item(),
            Fault::ExecutorNotFound { by, .. }
            | Fault::OutOfReach { by, .. }
            | Fault::ParentNotFound { by, .. }
            | Fault::NotAnExecutor { by, .. } => Some(by.to_string()),
            Fault::UnknownPrimitive { item } | Fault::NotATool { item, .. } => {
                Some(item.to_string())
            }
            _ => None,
        }
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        match &self.fault {
            Fault::Fetch(inner) => return inner.data(),
            Fault::Cycle { path } | Fault::ExtendsCycle { path } => {
                let ids: Vec<_> = path.iter().map(ItemId::to_string).collect();
                data.insert("path".into(), ids.into());
            }
            Fault::ExecutorNotFound { executor, near, .. } => {
                data.insert("executor".into(), executor.to_string().into());
                data.insert("near".into(), near.clone().into());
            }
            _ => {}
        }
        data
    }
}
