//! Words that may stand where the editor's cursor is: executors, and the inputs of a directive.

use std::ops::Range;

use crate::parse::Item;
use crate::rye::{JudgedDraft, Rye};

/// The bytes before the cursor that are replaced, and what may stand there: label and remark.
pub(super) type Completion = (Range<usize>, Vec<(String, String)>);

/// The completions at the cursor.
pub(super) fn complete(
    rye: &Rye,
    draft: &JudgedDraft,
    text: &str,
    byte: usize,
) -> Option<Completion> {
    let line = text[..byte].rfind('\n').map_or(0, |feed| feed + 1);
    let before = &text[line..byte];
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let typed = before.rfind(|c| !part(c)).map_or(0, |at| at + 1);
    let (head, range) = (&before[..typed], line + typed..byte);
    if head.ends_with("{input:") {
        let Some(Item::Directive(directive)) = &draft.item else { return None };
        let inputs = directive.inputs.iter();
        let rows = inputs.map(|input| (input.name.clone(), input.description.clone()));
        return Some((range, rows.collect()));
    }
    let names_executor = head.contains("executor_id") && head.contains(['=', ':']);
    names_executor.then(|| {
        let ids = rye.drafts().executors(draft.entry.space).into_iter();
        (range, ids.map(|id| (id.to_string(), String::new())).collect())
    })
}
