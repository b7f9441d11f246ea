//! The calls that a hook watches, and what it may do about them (exec-protocol 6). Unknown keys are
//! faults, because a typing error must not let anything through.

use serde_json::Value;

use super::fields::{Fields, unknown_word};
use crate::base::text::escape_line;
use crate::id::Pattern;
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// A hook's own header keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hook {
    pub(crate) kind: HookKind,
    /// Never empty.
    pub(crate) phases: Vec<Phase>,
    /// Its answer decides; otherwise the hook is only told.
    pub(crate) filters: bool,
    /// It may replace the arguments or the answer that it is shown.
    pub(crate) replaces: bool,
    /// Patterns of the tools that it watches; empty for all tools.
    matches: Vec<String>,
    /// Lower ones come first.
    pub(crate) order: f64,
    /// Keys are also sent in the spelling of `PromptKit`.
    pub(crate) is_promptkit: bool,
}

/// The kind of call that a hook watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookKind {
    /// Calls of a model.
    Provider,
    /// Calls of a tool.
    Tool,
    /// A conversation.
    Session,
}

/// The moment when a hook is asked or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    BeforeCall,
    AfterCall,
    BeforeExecution,
    AfterExecution,
    SessionStart,
    SessionUpdate,
    SessionEnd,
}

impl HookKind {
    pub(crate) const ALL: [Self; 3] = [Self::Provider, Self::Tool, Self::Session];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Tool => "tool",
            Self::Session => "session",
        }
    }

    /// In the order in which they come.
    pub(crate) fn phases(self) -> &'static [Phase] {
        match self {
            Self::Provider => &[Phase::BeforeCall, Phase::AfterCall],
            Self::Tool => &[Phase::BeforeExecution, Phase::AfterExecution],
            Self::Session => &[Phase::SessionStart, Phase::SessionUpdate, Phase::SessionEnd],
        }
    }
}

impl Phase {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BeforeCall => "before_call",
            Self::AfterCall => "after_call",
            Self::BeforeExecution => "before_execution",
            Self::AfterExecution => "after_execution",
            Self::SessionStart => "session_start",
            Self::SessionUpdate => "session_update",
            Self::SessionEnd => "session_end",
        }
    }
}

impl Hook {
    /// The tools it is about.
    pub(crate) fn patterns(&self) -> &[String] {
        &self.matches
    }

    /// Returns true if it is about a tool. A pattern that cannot be read is about every tool.
    pub(crate) fn is_about(&self, item: &crate::id::Ref) -> bool {
        let is_match = |text: &String| pattern(text).is_ok_and(|pattern| !pattern.matches(item));
        self.matches.is_empty() || !self.matches.iter().all(is_match)
    }
}

const KEYS: [&str; 2] = ["hook", "phases"];

/// The hook keys of a header; `None` for a tool that is not a hook.
///
/// # Errors
/// `parse.metadata`
pub(super) fn hook(fields: &Fields<'_>) -> Result<Option<Hook>, ParseFault> {
    let is_hook = fields.string("tool_type")?.as_deref() == Some("hook");
    if !is_hook {
        return match KEYS.iter().find(|key| fields.get(key).is_some()) {
            Some(key) => Err(bad(key, "is for `tool_type: hook` alone")),
            None => Ok(None),
        };
    }
    if fields.get("exec").is_none() {
        return Err(bad("exec", "is missing: it says what is asked"));
    }
    let word = fields.string("hook")?.ok_or_else(|| bad("hook", "is missing"))?;
    let kinds = HookKind::ALL.map(HookKind::name);
    let kind = HookKind::ALL.into_iter().find(|kind| kind.name() == word);
    let kind = kind.ok_or_else(|| unknown_word("/hook", &word, &kinds))?;
    let named = fields.strings("phases")?.unwrap_or_default();
    if named.is_empty() {
        return Err(bad("phases", "is missing or empty: the hook would never be asked"));
    }
    let known: Vec<&str> = kind.phases().iter().map(|phase| phase.name()).collect();
    let phase = |word: &String| {
        let phase = kind.phases().iter().find(|phase| phase.name() == word);
        phase.copied().ok_or_else(|| unknown_word("/phases", word, &known))
    };
    let phases = named.iter().map(phase).collect::<Result<Vec<_>, _>>()?;
    let mode = fields.string("mode")?;
    let filters = match (mode.as_deref(), kind) {
        (Some("observe"), _) | (None, HookKind::Session) => false,
        (None | Some("filter"), HookKind::Provider | HookKind::Tool) => true,
        (Some("filter"), HookKind::Session) => {
            return Err(bad("mode", "is `filter`, and a session hook is only told"));
        }
        (Some(other), _) => return Err(unknown_word("/mode", other, &["filter", "observe"])),
    };
    let replaces = fields.truth("replaces")?.unwrap_or(false);
    if replaces && !filters {
        return Err(bad("replaces", "is for a hook that filters"));
    }
    if !filters {
        let exec = fields.fields("exec")?;
        if exec.is_some_and(|exec| exec.get("runtime").is_some_and(|it| it != "exec")) {
            return Err(bad("exec/runtime", "of a hook that is only told must be `exec`"));
        }
    }
    let matches = fields.strings("match")?.unwrap_or_default();
    for text in &matches {
        pattern(text).map_err(|why| bad("match", &format!("`{}`: {why}", escape_line(text))))?;
    }
    let order = match fields.get("order") {
        None => 0.0,
        Some(Value::Number(number)) => {
            let order = number.as_f64().filter(|order| order.is_finite());
            order.ok_or_else(|| bad("order", "is out of range"))?
        }
        Some(_) => return Err(bad("order", "is not a number")),
    };
    let compat = fields.string("compat")?;
    match compat.as_deref() {
        None | Some("promptkit") => {}
        Some(other) => return Err(unknown_word("/compat", other, &["promptkit"])),
    }
    let is_promptkit = compat.is_some();
    Ok(Some(Hook { kind, phases, filters, replaces, matches, order, is_promptkit }))
}

/// Reads a pattern; without a kind it means tools.
fn pattern(text: &str) -> Result<Pattern, String> {
    if text.contains(':') { text.parse() } else { format!("tool:{text}").parse() }
}

fn bad(key: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`/{key}` {why}"))
}
