//! The request to an eval.

use serde_json::{Map, Value, json};

use super::error::EvalError;
use crate::base::text::{escape_line, near};
use crate::id::Ref;
use crate::parse::{Tool, kind};

/// A caller's request to an eval.
#[derive(Debug, Clone, Default)]
pub(crate) struct EvalRequest {
    /// The text to be judged.
    pub(crate) content: String,
    /// They stand over the item's own by name.
    pub(crate) params: Map<String, Value>,
    pub(crate) context: EvalContext,
}

/// The context of the text. All keys are there, whatever was given.
#[derive(Debug, Clone)]
pub(crate) struct EvalContext(Map<String, Value>);

impl Default for EvalContext {
    fn default() -> Self {
        let keys = [
            ("messages", json!([])),
            ("turn_index", json!(0)),
            ("tool_calls", json!([])),
            ("variables", json!({})),
            ("metadata", json!({})),
        ];
        Self(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

impl EvalContext {
    /// The context with these parts of it given.
    ///
    /// # Errors
    /// A clause that says which part is unknown or of another type.
    pub(crate) fn new(given: Map<String, Value>) -> Result<Self, String> {
        let mut all = Self::default().0;
        for (key, value) in given {
            let Some(part) = all.get_mut(&key) else {
                let near = near(&key, all.keys().map(String::as_str), 1).pop();
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(format!(
                    "holds `{}`, which is not known there{near}",
                    escape_line(&key)
                ));
            };
            let fits = match part {
                Value::Number(_) => value.is_u64(),
                _ => kind(part) == kind(&value),
            };
            if !fits {
                let wanted = if part.is_number() { "a whole number from 0" } else { kind(part) };
                return Err(format!("holds `{key}` as {}, not as {wanted}", kind(&value)));
            }
            *part = value;
        }
        Ok(Self(all))
    }
}

impl EvalRequest {
    /// The parameters of the run.
    ///
    /// # Errors
    /// `eval.not_an_eval`
    pub(crate) fn request(&self, item: &Ref, tool: &Tool) -> Result<Map<String, Value>, EvalError> {
        let not = |why| EvalError::NotAnEval { item: item.clone(), why };
        let eval = tool.eval.as_ref().ok_or_else(|| not("its `tool_type` is another one"))?;
        if tool.exec.is_none() {
            return Err(not("it has no `exec` block"));
        }
        let mut params = eval.params.clone();
        params.extend(self.params.clone());
        let mut request = Map::new();
        request.insert("type".into(), eval.type_of(&item.id).into());
        request.insert("params".into(), params.into());
        request.insert("content".into(), self.content.clone().into());
        request.insert("context".into(), self.context.0.clone().into());
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::EvalContext;

    fn read(value: Value) -> Result<Value, String> {
        let Value::Object(map) = value else { panic!("{value}") };
        EvalContext::new(map).map(|context| context.0.into())
    }

    #[test]
    fn every_part_of_a_context_is_there_and_of_its_type() {
        let all = json!({
            "messages": [], "turn_index": 0, "tool_calls": [], "variables": {}, "metadata": {},
        });
        assert_eq!(read(json!({})), Ok(all.clone()));
        let got = read(json!({"turn_index": 3, "variables": {"a": 1}})).unwrap();
        assert_eq!((&got["turn_index"], &got["variables"]), (&json!(3), &json!({"a": 1})));
        assert_eq!(got["messages"], json!([]));
        for (given, named) in [
            (json!({"mesages": []}), "did you mean `messages`"),
            (json!({"messages": {}}), "`messages` as a mapping, not as a list"),
            (json!({"turn_index": -1}), "a whole number from 0"),
            (json!({"turn_index": "1"}), "`turn_index` as a string"),
            (json!({"metadata": null}), "`metadata` as null"),
        ] {
            let why = read(given.clone()).unwrap_err();
            assert!(why.contains(named), "{given}: {why}");
        }
    }
}
