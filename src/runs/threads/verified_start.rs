//! The parts of a thread that are verified when it is asked for and starts in another process or
//! later: exactly these start, or nothing.

use serde_json::{Value, json};

use crate::base::Digest;
use crate::chain::Lineage;
use crate::id::Ref;
use crate::rye::ChosenModel;
use crate::thread::{Prompt, ThreadError, ThreadId};

/// All that a thread is made of, as it is now.
pub(super) fn verified(
    lineage: &Lineage,
    permissions: &[String],
    chosen: &ChosenModel,
    prompt: &Prompt,
) -> Value {
    let told = json!([prompt.system(), prompt.user(&lineage.directive.outputs)]);
    let sources: Vec<_> = lineage.sources().map(|it| json!([it.item(), it.digest()])).collect();
    json!({
        "sources": sources, "permissions": permissions,
        "provider": [chosen.item, chosen.digest], "model": chosen.model,
        "told": Digest::of(told.to_string().as_bytes()),
    })
}

/// Compares the thread that is to start with the one that was verified before, if there is one.
///
/// # Errors
/// `thread.drifted`
pub(super) fn is_as_verified(
    before: Option<&Value>,
    now: &Value,
    item: &Ref,
    id: &ThreadId,
) -> Result<(), ThreadError> {
    let Some(before) = before else { return Ok(()) };
    let differs = |key: &str| now[key] != before[key];
    let what = if differs("sources") {
        format!("`{item}`, or a directive that it extends,")
    } else if differs("permissions") {
        "what it may reach".into()
    } else if differs("provider") || differs("model") {
        "its provider or its model".into()
    } else if differs("told") {
        "what its model is told".into()
    } else {
        return Ok(());
    };
    Err(ThreadError::StartDrifted { id: id.clone(), what })
}
