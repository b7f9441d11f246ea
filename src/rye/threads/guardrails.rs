//! Evals of what a thread is to hand over (exec-protocol 5): guardrails, which may replace it, and
//! metrics.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::ThreadParent;
use super::settings::{config_fault, configured, may_loosen, only};
use super::watch::ThreadHooks;
use crate::base::json::object;
use crate::base::limits::GUARDRAILS;
use crate::base::text::near;
use crate::base::time::as_ms;
use crate::diagnostic::Failure;
use crate::eval::{EvalContext, EvalError, EvalRequest, Score, Thresholds};
use crate::id::{Grants, Pattern, Ref, Space};
use crate::parse::Item;
use crate::plan::ConfigCopy;
use crate::resolve::Found;
use crate::rye::load::Loader;
use crate::rye::run::Request;
use crate::thread::{Ended, Message};

/// The item that names the evals, and its key.
pub(super) const GUARDRAILS_CONFIG: &str = "config:agent/guardrails";
const ROWS: &str = "guardrails";
const KEYS: [&str; 7] = ["eval", "mode", "match", "params", "min_score", "max_score", "text"];
/// What stands in the place of a text that did not pass.
const REPLACED: &str = "What was answered did not pass a check, and is not shown.";
/// The longest that one eval may take, however much time there is.
const LONGEST_EVAL: Duration = Duration::from_hours(24);

/// What comes of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardMode {
    /// What does not pass is replaced.
    Enforce,
    /// It is written down whether it passes.
    Monitor,
    /// The score is written down.
    Metric,
}

impl GuardMode {
    const ALL: [Self; 3] = [Self::Enforce, Self::Monitor, Self::Metric];

    fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Monitor => "monitor",
            Self::Metric => "metric",
        }
    }
}

/// One eval of what a thread is to hand over.
pub(super) struct Guardrail {
    eval: Ref,
    /// Where it lies; none of another space takes its place.
    space: Space,
    mode: GuardMode,
    params: Map<String, Value>,
    thresholds: Thresholds,
    text: String,
}

impl Guardrail {
    /// Whether it may put its text in the place of what a model said.
    pub(super) fn may_replace(&self) -> bool {
        self.mode == GuardMode::Enforce
    }
}

/// Those for a directive, in the order in which they are written, the farthest space first. A
/// project's judge its own directives, and say no text.
///
/// # Errors
/// `thread.bad_config`, `eval.not_an_eval`; whatever an eval or a copy is refused with.
pub(super) fn guardrails(
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

/// What a start would refuse in a configuration of guardrails, for whoever signs it; its evals are
/// not looked at, which may be signed later.
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

/// What one row says.
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

    /// Where the eval that is named lies, which is there. A project puts none in the place of
    /// yours.
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

/// What an eval says when it fails may hold the very text that it was to judge, so its code alone
/// is told.
fn without_words(eval: &Ref, failure: Failure) -> Failure {
    let code = failure.code();
    let has_words = code.starts_with("protocol.")
        || failure.downcast_ref::<EvalError>().is_some()
        || failure.diagnostic().data.contains_key("stderr_tail");
    if !has_words {
        return failure;
    }
    let message =
        format!("{code}; what it said may hold the text that it judged, and is not shown");
    EvalError::Errored { item: eval.clone(), message, stderr_tail: String::new() }.into()
}

impl ThreadHooks<'_> {
    /// Judges what a thread is to hand over.
    ///
    /// # Errors
    /// Why there is no score, where that decides: what no eval judged is not handed over.
    pub(super) fn judge_output(
        &self,
        ended: &mut Ended,
        messages: &[Message],
        turns: u64,
        time: Duration,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        let whole = match ended.outputs.is_empty() {
            true => ended.result.clone(),
            false => json!({"result": ended.result, "outputs": ended.outputs}).to_string(),
        };
        let shown = ended.clone();
        for guardrail in &self.guardrails {
            let context = self.context(&shown, messages, turns)?;
            let left = time.saturating_sub(begin.elapsed());
            let asked =
                EvalRequest { content: whole.clone(), params: guardrail.params.clone(), context };
            if self.score(guardrail, asked, left)? && ended.replaced_by.is_none() {
                ended.result.clone_from(&guardrail.text);
                ended.outputs.clear();
                ended.replaced_by = Some(guardrail.eval.clone());
            }
        }
        Ok(())
    }

    /// Whether the text is to be replaced.
    fn score(
        &self,
        guardrail: &Guardrail,
        asked: EvalRequest,
        left: Duration,
    ) -> Result<bool, Failure> {
        let Guardrail { eval, space, mode, thresholds, .. } = guardrail;
        let request = Request {
            eval: Some(asked),
            locked: self.locked,
            timeout: Some(left.clamp(Duration::from_millis(1), LONGEST_EVAL)),
            parent: Some(ThreadParent {
                id: self.id.clone(),
                fetch: Grants::new(Vec::new()),
                sign: Grants::new(Vec::new()),
                can_wait: false,
                until: Some(Instant::now() + left),
            }),
            ..Request::new(format!("{eval}@{space}"))
        };
        let begin = Instant::now();
        let came = self.rye.runs().eval(&request, begin, self.log);
        let mut told = object(json!({"item_id": eval, "space": space, "mode": mode.as_str()}));
        told.insert("took_ms".into(), as_ms(begin.elapsed()).into());
        let is_replaced = match &came {
            Ok(scored) => {
                let miss = thresholds.miss(&scored.judged.score);
                told.insert("score".into(), scored.judged.score.to_json());
                if *mode != GuardMode::Metric {
                    told.insert("passed".into(), miss.is_none().into());
                    told.extend(thresholds.to_json());
                }
                *mode == GuardMode::Enforce && miss.is_some()
            }
            Err(failed) => {
                told.insert("code".into(), failed.failure.code().into());
                false
            }
        };
        self.log.keep("eval", told.into());
        match came {
            Err(failed)
                if *mode == GuardMode::Enforce || failed.failure.interrupted().is_some() =>
            {
                Err(without_words(eval, failed.failure))
            }
            _ => Ok(is_replaced),
        }
    }

    fn context(
        &self,
        ended: &Ended,
        messages: &[Message],
        turns: u64,
    ) -> Result<EvalContext, Failure> {
        let calls = messages.iter().filter_map(|message| match message {
            Message::Model(turn) => turn.to_json().get("tool_calls")?.as_array().cloned(),
            _ => None,
        });
        let calls: Vec<Value> = calls.flatten().collect();
        let given = object(json!({
            "messages": messages.iter().map(Message::to_json).collect::<Vec<_>>(),
            "turn_index": turns, "tool_calls": calls, "variables": ended.outputs,
            "metadata": {"thread_id": self.id.as_str(), "directive": self.directive},
        }));
        let wrong = |why: String| EvalError::Errored {
            item: self.directive.clone(),
            message: why,
            stderr_tail: String::new(),
        };
        EvalContext::new(given).map_err(|why| wrong(why).into())
    }
}
