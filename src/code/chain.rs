//! Chains: steps of tools, each of which may take what the one before it gave.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Instant;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::border::{Border, Came, Guard};
use super::engine::{
    CallAnswer, EngineError, EngineLimit, Produced, SnippetCall, Stop, Surroundings,
};
use super::error::CodeError;
use super::faults::fault;
use super::journal::Steps;
use super::records::CalledBy;
use super::tools::{Backend, ToolFault};
use crate::base::json_reader::typed;

/// One step of a chain, as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) tool_id: String,
    #[serde(default)]
    args: Map<String, Value>,
    /// The argument `previous` is what the step before it gave.
    #[serde(default)]
    use_previous: bool,
    /// The name of that argument.
    previous_as: Option<String>,
    /// A JSON pointer to the part of it that is meant.
    previous_path: Option<String>,
}

/// Reads the steps of a chain.
///
/// # Errors
/// `code.chain`: there is none, one is not a step, or the first one takes what nothing gave.
pub(super) fn steps(value: Option<&Value>) -> Result<Vec<Step>, CodeError> {
    let bad = |why: String| CodeError::Chain { why };
    let list = value.and_then(Value::as_array).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| bad("it is not a list of steps".into()))?;
    let mut steps = Vec::new();
    for (at, step) in list.iter().enumerate() {
        let number = at + 1;
        let read: Step =
            typed(step.clone()).map_err(|error| bad(format!("step {number}: {error}")))?;
        if read.use_previous && at == 0 {
            return Err(bad(
                "step 1: nothing is before it, so `use_previous` has no meaning".into()
            ));
        }
        if !read.use_previous && (read.previous_as.is_some() || read.previous_path.is_some()) {
            let why = "`previous_as` and `previous_path` go with `use_previous: true`";
            return Err(bad(format!("step {number}: {why}")));
        }
        if read
            .previous_path
            .as_ref()
            .is_some_and(|path| !path.is_empty() && !path.starts_with('/'))
        {
            let why = "`previous_path` is a JSON pointer, such as `/items/0`";
            return Err(bad(format!("step {number}: {why}")));
        }
        steps.push(read);
    }
    Ok(steps)
}

impl Step {
    /// The arguments of the step, given what the one before it gave.
    ///
    /// # Errors
    /// `code.chain`: there is nothing at `previous_path`.
    pub(super) fn args(&self, previous: Option<&Value>) -> Result<Map<String, Value>, CodeError> {
        let mut args = self.args.clone();
        if let Some(previous) = previous.filter(|_| self.use_previous) {
            let path = self.previous_path.as_deref().unwrap_or_default();
            let part = previous.pointer(path).ok_or_else(|| CodeError::Chain {
                why: format!("the step before it gave nothing at `{path}`"),
            })?;
            let name = self.previous_as.clone().unwrap_or_else(|| "previous".into());
            args.insert(name, part.clone());
        }
        Ok(args)
    }

    /// The arguments as they are written, for a step that is not run.
    pub(super) fn own_args(&self) -> Value {
        self.args.clone().into()
    }
}

impl Border<'_, '_> {
    /// Runs a chain without a snippet around it.
    pub(super) fn chain_alone(
        &self,
        steps: &Value,
        deadline: Instant,
        stop: &Stop,
    ) -> Result<Produced, EngineError> {
        let (tell, told) = channel();
        let wake = tell.clone();
        let _waking = stop.on_stop(move || drop(wake.send(None)));
        let answer = CallAnswer::new(move |came, _| drop(tell.send(Some(came))));
        let call = SnippetCall { function: "runChain".into(), args: vec![steps.clone()] };
        self.call(call, answer);
        self.idle(0);
        let left = deadline.saturating_duration_since(Instant::now());
        match told.recv_timeout(left) {
            Ok(Some(Ok(value))) => Ok(Produced { value, warnings: Vec::new() }),
            Ok(Some(Err(thrown))) => {
                self.guard.end(CodeError::ChainFailed(Box::new(thrown)));
                Err(EngineError::Stopped)
            }
            Ok(None) => Err(EngineError::Stopped),
            Err(_) => Err(EngineError::Limit(EngineLimit::Timeout)),
        }
    }
}

impl Guard<'_> {
    /// The steps of a chain, one behind the other; `given` has what each gave, also those that were
    /// run before. `None` where one of them waits for a person.
    pub(super) fn chain(
        &self,
        call: usize,
        steps: &[Step],
        given: &mut Steps,
        is_cancelled: &AtomicBool,
    ) -> Option<Came> {
        let mut backend = Backend::Local;
        for (at, step) in steps.iter().enumerate().skip(given.len()) {
            let number = at + 1;
            let previous = given.last().map(|(_, value)| value);
            let args = step.args(previous);
            let shown = args.clone().map_or_else(|_| step.own_args(), Value::Object);
            let record = self.state().records.begin(&step.tool_id, &shown, CalledBy::Chain);
            let came = match args {
                Ok(args) => self.run_tool((call, at), &step.tool_id, args, record, is_cancelled)?,
                Err(error) => self.seen(Err(fault(&error)), record, is_cancelled),
            };
            match came {
                Ok((value, by)) => {
                    backend = by;
                    given.push((step.tool_id.clone(), value));
                }
                Err(fault) => {
                    let tool = step.tool_id.clone();
                    let mut fault = failed(number, given, fault);
                    fault.data["tool"] = tool.into();
                    return Some(Err(fault));
                }
            }
        }
        Some(Ok((result(given), backend)))
    }
}

/// The result of a chain: the value of the last step, and the value of each step.
fn result(given: &[(String, Value)]) -> Value {
    let value = given.last().map_or(Value::Null, |(_, value)| value.clone());
    json!({"value": value, "steps": told(given)})
}

/// The fault of a chain: that of the step which failed, and what those before it gave.
fn failed(number: usize, given: &[(String, Value)], fault: ToolFault) -> ToolFault {
    let data = json!({"step": number, "steps": told(given), "data": fault.data});
    ToolFault { message: format!("step {number}: {}", fault.message), data, ..fault }
}

fn told(given: &[(String, Value)]) -> Vec<Value> {
    given.iter().map(|(id, value)| json!({"tool_id": id, "value": value})).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::steps;

    fn args(step: &Value, previous: &Value) -> Result<Value, String> {
        let all = json!([{"tool_id": "a"}, step]);
        let steps = steps(Some(&all)).map_err(|error| error.to_string())?;
        steps[1].args(Some(previous)).map(Value::from).map_err(|error| error.to_string())
    }

    #[test]
    fn a_step_takes_what_the_one_before_it_gave_table() {
        let previous = json!({"items": [1, {"n": 2}]});
        for (step, want) in [
            (json!({"tool_id": "b", "args": {"x": 1}}), json!({"x": 1})),
            (json!({"tool_id": "b", "use_previous": true}), json!({"previous": previous})),
            (
                json!({"tool_id": "b", "use_previous": true, "previous_as": "in", "args": {"in": 0}}),
                json!({"in": previous}),
            ),
            (
                json!({"tool_id": "b", "use_previous": true, "previous_path": "/items/1/n"}),
                json!({"previous": 2}),
            ),
            (
                json!({"tool_id": "b", "use_previous": true, "previous_path": ""}),
                json!({"previous": previous}),
            ),
        ] {
            assert_eq!(args(&step, &previous), Ok(want), "{step}");
        }
        let gone = json!({"tool_id": "b", "use_previous": true, "previous_path": "/no"});
        assert!(args(&gone, &previous).unwrap_err().contains("nothing at `/no`"));
    }

    #[test]
    fn what_is_not_a_chain_is_refused_before_any_step_table() {
        for wrong in [
            json!(null),
            json!([]),
            json!({"tool_id": "a"}),
            json!(["a"]),
            json!([{"args": {}}]),
            json!([{"tool_id": "a", "arg": {}}]),
            json!([{"tool_id": "a", "args": []}]),
            json!([{"tool_id": "a", "use_previous": true}]),
            json!([{"tool_id": "a"}, {"tool_id": "b", "previous_as": "x"}]),
            json!([{"tool_id": "a"}, {"tool_id": "b", "use_previous": true, "previous_path": "x"}]),
        ] {
            assert!(steps(Some(&wrong)).is_err(), "{wrong}");
        }
        assert!(steps(None).is_err());
    }
}
