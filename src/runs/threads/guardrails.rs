//! Evals of what a thread is to hand over (exec-protocol 5): guardrails, which may replace it, and
//! metrics.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::hooks::ThreadHooks;
use crate::base::json::object;
use crate::base::time::as_ms;
use crate::diagnostic::Failure;
use crate::eval::{EvalContext, EvalError, EvalRequest};
use crate::id::Ref;
use crate::rye::{GuardMode, Guardrail, Origin, Request, ThreadParent};
use crate::thread::{Ended, Message};

/// The longest that one eval may take, however much time there is.
const LONGEST_EVAL: Duration = Duration::from_hours(24);

/// A failure of an eval without its words, which may hold the text that it was to judge.
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

    /// Returns true if the text is to be replaced.
    fn score(
        &self,
        guardrail: &Guardrail,
        asked: EvalRequest,
        left: Duration,
    ) -> Result<bool, Failure> {
        let Guardrail { eval, space, mode, thresholds, .. } = guardrail;
        let until = Some(Instant::now() + left);
        let thread = ThreadParent { until, ..ThreadParent::alone(self.id.clone()) };
        let request = Request {
            eval: Some(asked),
            locked: self.locked,
            timeout: Some(left.clamp(Duration::from_millis(1), LONGEST_EVAL)),
            origin: Origin { thread: Some(thread), ..Origin::default() },
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
