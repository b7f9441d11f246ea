//! The configuration for snippets.

use serde_json::Value;

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use crate::base::Digest;
use crate::code::{CodeConfig, CodeError};
use crate::diagnostic::Failure;
use crate::id::{Ref, Space};
use crate::plan::PlanSource;
use crate::trace::Quiet;

/// The item with the configuration of snippets.
const CONFIG: &str = "config:execution/code";

/// Fields that a config item may have beside what it configures.
const HEAD: [&str; 5] = ["schema_version", "version", "category", "description", "tool_type"];

/// When a person is asked before a snippet changes something; a later one is stricter.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallApproval {
    Never,
    /// Before the first call of each tool.
    First,
    Each,
}

impl CallApproval {
    fn read(value: &Value) -> Option<Self> {
        Some(match value.as_str()? {
            "never" => Self::Never,
            "first" => Self::First,
            "each" => Self::Each,
            _ => return None,
        })
    }
}

/// The configuration for snippets: `config:execution/code`, where a project only makes the user's
/// stricter.
#[derive(Debug, Clone)]
pub(crate) struct CodePolicy {
    pub(crate) config: CodeConfig,
    /// The approval that the user's copy sets; `None` leaves it to where a snippet comes from.
    approval: Option<CallApproval>,
    /// The approval that the project's copy sets, and copies in your user space that another's key
    /// signed.
    at_least: Option<CallApproval>,
}

impl CodePolicy {
    /// A digest that tells whether the configuration has changed.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(format!("{self:?}").as_bytes())
    }

    /// The approval that is in force; `usual` where none is configured.
    pub(crate) fn approval(&self, usual: CallApproval) -> CallApproval {
        let own = self.approval.unwrap_or(usual);
        self.at_least.map_or(own, |least| least.max(own))
    }

    /// The configuration for the snippets of a project.
    ///
    /// # Errors
    /// `code.configuration`; whatever a copy of the configuration is refused with.
    pub(crate) fn of(rye: &Rye) -> Result<Self, Failure> {
        let policy = CallPolicy::new(rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        let mut said = Self { config: CodeConfig::default(), approval: None, at_least: None };
        let Ok(item) = CONFIG.parse::<Ref>() else { return Ok(said) };
        for copy in loader.configs(&item)? {
            // The author of a bundle is not the person who runs the snippet.
            if copy.source.bundle().is_some() {
                continue;
            }
            // Another's key only makes stricter whether you are asked, as a project does.
            let may_loosen = match copy.space {
                Space::User => copy.is_signed_by_you(loader.trust),
                Space::Project => false,
                Space::System => true,
            };
            let mut value = copy.value;
            let approval = value.shift_remove("approval").filter(|value| !value.is_null());
            let approval = approval.as_ref().map(|value| {
                CallApproval::read(value).ok_or_else(|| {
                    let why = format!(
                        "`approval` of `{CONFIG}` ({}) is `never`, `first` or `each`",
                        copy.space
                    );
                    CodeError::configuration("approval", why)
                })
            });
            let approval = approval.transpose()?;
            // What the head of an item says is not about snippets.
            value.retain(|key, _| !HEAD.contains(&key.as_str()));
            let value = Value::Object(value);
            if copy.space == Space::Project {
                said.config = said.config.lowered(&value)?;
            } else {
                said.config = CodeConfig::from_json(&value)?;
            }
            if may_loosen {
                said.approval = approval.or(said.approval);
            } else {
                said.at_least = approval.max(said.at_least);
            }
        }
        Ok(said)
    }
}
