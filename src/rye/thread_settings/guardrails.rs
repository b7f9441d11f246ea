//! The evals that a configuration names for what a thread is to hand over (exec-protocol 5).

use serde_json::{Map, Value};

use super::{config_fault, configured, may_loosen, only};
use crate::base::text::near;
use crate::diagnostic::Failure;
use crate::eval::{EvalError, Score, Thresholds};
use crate::id::{Pattern, Ref, Space};
use crate::parse::Item;
use crate::plan::ConfigCopy;
use crate::resolve::Found;
use crate::rye::load::Loader;

/// Most evals of one copy of `config:agent/guardrails`: each runs for every thread.
const GUARDRAILS: usize = 32;

/// The item that names the evals, and its key.
pub(super) const GUARDRAILS_CONFIG: &str = "config:agent/guardrails";
const ROWS: &str = "guardrails";
const KEYS: [&str; 7] = ["eval", "mode", "match", "params", "min_score", "max_score", "text"];
/// The replacement for a text that did not pass.
const REPLACED: &str = "What was answered did not pass a check, and is not shown.";

/// The consequence of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuardMode {
    /// A text that does not pass is replaced.
    Enforce,
    /// It is written down whether it passes.
    Monitor,
    /// The score is written down.
    Metric,
}

impl GuardMode {
    const ALL: [Self; 3] = [Self::Enforce, Self::Monitor, Self::Metric];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Monitor => "monitor",
            Self::Metric => "metric",
        }
    }
}

/// One eval of what a thread is to hand over.
pub(crate) struct Guardrail {
    pub(crate) eval: Ref,
    /// Where it lies; none of another space takes its place.
    pub(crate) space: Space,
    pub(crate) mode: GuardMode,
    pub(crate) params: Map<String, Value>,
    pub(crate) thresholds: Thresholds,
    pub(crate) text: String,
}

impl Guardrail {
    /// Returns true if it may replace the words of a model.
    pub(crate) fn may_replace(&self) -> bool {
        self.mode == GuardMode::Enforce
    }
}

/// Those for a directive, in the order in which they are written, the farthest space first. A
/// project's judge its own directives, and say no text.
///
/// # Errors
/// `thread.bad_config`, `eval.not_an_eval`; whatever an eval or a copy is refused with.
pub(crate) fn guardrails(
    loader: &Loader<'_>,
    directive: &Ref,
    space: Space,
) -> Result<Vec<Guardrail>, Failure> {
    let mut all = Vec::new();
    for copy in configured(loader, GUARDRAILS_CONFIG)? {
        for row in rows(&copy)? {
            let said = row.read()?;
            let is_about = said.patterns.is_empty()
                || said.patterns.iter().any(|pattern| pattern.matches(directive));
            let guardrail = row.guardrail(loader, said)?;
            if is_about && (copy.space != Space::Project || space == Space::Project) {
                all.push(guardrail);
            }
        }
    }
    Ok(all)
}

/// Checks a configuration of guardrails as a start would, for the person who signs it; its evals
/// are not looked at, which may be signed later.
///
/// # Errors
/// `thread.bad_config`
pub(super) fn check_guardrails(copy: &ConfigCopy) -> Result<(), Failure> {
    rows(copy)?.iter().try_for_each(|row| row.read().map(drop))
}

/// The rows of one copy of the configuration.
///
/// # Errors
/// `thread.bad_config`
fn rows(copy: &ConfigCopy) -> Result<Vec<Row<'_>>, Failure> {
    only(copy, &[ROWS])?;
    let rows = match copy.value.get(ROWS) {
        None => return Ok(Vec::new()),
        Some(Value::Array(rows)) if rows.len() <= GUARDRAILS => rows,
        Some(Value::Array(_)) => {
            return Err(config_fault(copy, ROWS, format!("has more than {GUARDRAILS} rows")));
        }
        Some(_) => return Err(config_fault(copy, ROWS, "is not a list".into())),
    };
    let row = |(at, said)| Row { copy, field: format!("{ROWS}/{at}"), said };
    Ok(rows.iter().enumerate().map(row).collect())
}

/// The content of one row.
struct SaidGuardrail {
    eval: Ref,
    mode: GuardMode,
    params: Map<String, Value>,
    thresholds: Thresholds,
    text: Option<String>,
    patterns: Vec<Pattern>,
}

/// One row of a configuration.
struct Row<'a> {
    copy: &'a ConfigCopy,
    field: String,
    said: &'a Value,
}

impl Row<'_> {
    fn bad(&self, key: &str, why: impl Into<String>) -> Failure {
        let field =
            if key.is_empty() { self.field.clone() } else { format!("{}/{key}", self.field) };
        config_fault(self.copy, &field, why.into())
    }

    fn read(&self) -> Result<SaidGuardrail, Failure> {
        let row = self.said.as_object().ok_or_else(|| self.bad("", "is not a mapping"))?;
        if let Some(odd) = row.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let near = near(odd, KEYS.into_iter(), 1).pop();
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(self.bad(odd, format!("has no meaning there{near}")));
        }
        let mode = row.get("mode").and_then(Value::as_str);
        let mode = GuardMode::ALL.into_iter().find(|known| Some(known.as_str()) == mode);
        let words = GuardMode::ALL.map(GuardMode::as_str).join("`, `");
        let mode = mode.ok_or_else(|| self.bad("mode", format!("is not one of `{words}`")))?;
        let params = match row.get("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Err(self.bad("params", "is not a mapping")),
        };
        let score = |key: &str| {
            let score = row.get(key).map(|said| Score::from_value(Some(said))).transpose();
            score.map_err(|_| self.bad(key, "is not a number from 0 to 1"))
        };
        let (min, max) = (score("min_score")?, score("max_score")?);
        if mode == GuardMode::Metric && (min.is_some() || max.is_some()) {
            return Err(self.bad("mode", "is `metric`, which has no threshold"));
        }
        let thresholds = Thresholds::new(min, max).map_err(|why| self.bad("min_score", why))?;
        let is_text_known = mode == GuardMode::Enforce && self.copy.space != Space::Project;
        let text = match row.get("text") {
            None => None,
            Some(Value::String(text)) if is_text_known => Some(text.clone()),
            Some(_) => return Err(self.not_own_text()),
        };
        let eval = row.get("eval").and_then(Value::as_str).and_then(|text| text.parse().ok());
        let eval = eval.ok_or_else(|| self.bad("eval", "is not an item such as `tool:acme/x`"))?;
        let patterns = self.patterns(row.get("match"))?;
        Ok(SaidGuardrail { eval, mode, params, thresholds, text, patterns })
    }

    fn not_own_text(&self) -> Failure {
        self.bad("text", "is a text of your own, for `mode: enforce`")
    }

    /// The guardrail of this row; its eval is there.
    fn guardrail(&self, loader: &Loader<'_>, said: SaidGuardrail) -> Result<Guardrail, Failure> {
        if said.text.is_some() && !may_loosen(self.copy, loader) {
            return Err(self.not_own_text());
        }
        let space = self.space_of(loader, &said.eval)?;
        let SaidGuardrail { eval, mode, params, thresholds, text, .. } = said;
        let text = text.unwrap_or_else(|| REPLACED.to_owned());
        Ok(Guardrail { eval, space, mode, params, thresholds, text })
    }

    fn patterns(&self, said: Option<&Value>) -> Result<Vec<Pattern>, Failure> {
        let bad = || self.bad("match", "is not a list of patterns such as `directive:acme/*`");
        let Some(said) = said else { return Ok(Vec::new()) };
        let list = said.as_array().filter(|list| !list.is_empty()).ok_or_else(bad)?;
        let read = |text: &Value| text.as_str().and_then(|text| text.parse().ok()).ok_or_else(bad);
        list.iter().map(read).collect()
    }

    /// Where the eval that is named lies, which is there. A project cannot replace one of yours.
    fn space_of(&self, loader: &Loader<'_>, item: &Ref) -> Result<Space, Failure> {
        let found = match self.copy.space {
            Space::Project => loader.find(&item.clone().into())?,
            _ => own(loader, item)?.ok_or_else(|| {
                self.bad("eval", format!("is `{item}`, which is not in your user space"))
            })?,
        };
        let (source, parsed) = loader.admit(found)?;
        match parsed {
            Item::Tool(tool) if tool.eval.is_some() => Ok(source.space()),
            _ => {
                let item = item.clone();
                Err(EvalError::NotAnEval { item, why: "its `tool_type` is another one" }.into())
            }
        }
    }
}

/// The item of the user space, or else of the system.
fn own(loader: &Loader<'_>, item: &Ref) -> Result<Option<Found>, Failure> {
    for space in [Space::User, Space::System] {
        let found = loader.resolver(|resolver| resolver.in_space(item, space))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
