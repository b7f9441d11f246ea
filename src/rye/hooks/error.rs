//! Why a hook stopped a call.

use serde_json::{Map, Value, json};

use crate::base::json::object;
use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose};
use crate::id::{Ref, Space};
use crate::rye::{HOOK_DENIED, HOOK_NOT_A_HOOK, HOOK_UNUSABLE};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum HookError {
    #[error("`{call}` was denied by the hook `{hook}` ({space}, {phase}){}", because(.reason))]
    Denied {
        call: Ref,
        hook: Ref,
        space: Space,
        phase: &'static str,
        reason: String,
        /// The hook has dealt with the call already.
        enforced: bool,
        metadata: Value,
    },
    #[error("`{call}` is not run: the hook `{hook}` ({space}) cannot be asked: {}", escape_line(.why))]
    Unusable {
        call: Ref,
        hook: String,
        space: Space,
        why: String,
        /// The remedy, if it is known.
        help: Option<String>,
    },
    #[error("`{call}` is not run: your policy requires the hook `{hook}`, and it is not there")]
    Missing { call: Ref, hook: String },
    #[error("`{call}` came to no answer (`{code}`); what it said of that was replaced by a hook")]
    Withheld { call: Ref, code: &'static str },
    #[error("`{hook}` is not told: {most} hooks that were told before still run")]
    Busy { hook: Ref, most: usize },
    #[error("`{item}` is not a hook")]
    NotAHook { item: Ref },
    #[error("`{item}` is not asked at `{}`: its phases are `{known}`", escape_line(.phase))]
    OtherPhase { item: Ref, phase: String, known: String },
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", escape_line(reason)) }
}

impl Diagnose for HookError {
    fn code(&self) -> Code {
        match self {
            Self::Denied { .. } | Self::Withheld { .. } => HOOK_DENIED,
            Self::Unusable { .. } | Self::Missing { .. } | Self::Busy { .. } => HOOK_UNUSABLE,
            Self::NotAHook { .. } | Self::OtherPhase { .. } => HOOK_NOT_A_HOOK,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Denied { hook, .. } => {
                format!("see what it judges by with `rye show {hook}`; `rye hooks list` shows all")
            }
            Self::Unusable { hook, help, .. } => {
                let mend = format!("`rye why {hook}` names what is wrong");
                let mend = help.clone().unwrap_or(mend);
                format!("{mend}; until it is mended every call that it may judge is refused")
            }
            Self::Missing { hook, .. } => {
                format!(
                    "put `{hook}` back into your user space, or take it out of `required_hooks` and sign the policy"
                )
            }
            Self::Busy { hook, .. } => {
                format!("let `{hook}` end sooner; one that must not be passed over is a `filter`")
            }
            Self::Withheld { code, .. } => {
                format!("`rye explain {code}` says what can be the matter")
            }
            Self::NotAHook { .. } | Self::OtherPhase { .. } => {
                "`rye hooks list` shows the hooks that are in force".into()
            }
        })
    }

    fn item(&self) -> Option<String> {
        Some(match self {
            Self::Denied { call, .. }
            | Self::Unusable { call, .. }
            | Self::Missing { call, .. }
            | Self::Withheld { call, .. } => call.to_string(),
            Self::NotAHook { item }
            | Self::OtherPhase { item, .. }
            | Self::Busy { hook: item, .. } => item.to_string(),
        })
    }

    fn data(&self) -> Map<String, Value> {
        object(match self {
            Self::Denied { hook, phase, reason, enforced, metadata, .. } => json!({
                "hook": hook, "phase": phase, "reason": reason, "enforced": enforced,
                "metadata": metadata,
            }),
            Self::Unusable { hook, .. } | Self::Missing { hook, .. } => json!({"hook": hook}),
            Self::NotAHook { .. }
            | Self::OtherPhase { .. }
            | Self::Withheld { .. }
            | Self::Busy { .. } => json!({}),
        })
    }
}
