//! The request that an item of `tool_type: eval` asks for (exec-protocol 5). Unknown keys are
//! faults, because a typing error must not change what is judged.

use serde_json::{Map, Value};

use super::fields::Fields;
use crate::base::text::escape_line;
use crate::id::ItemId;
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// A program that scores a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Eval {
    /// The `type` of its request, where the item says one.
    eval_type: Option<String>,
    /// The `params` of its request; the caller's stand over them by name.
    pub(crate) params: Map<String, Value>,
}

impl Eval {
    /// The `type` of its request: as the item says, else the last segment of its id.
    pub(crate) fn type_of<'a>(&'a self, id: &'a ItemId) -> &'a str {
        self.eval_type.as_deref().unwrap_or_else(|| id.name())
    }
}

const EVAL: &str = "eval";
const KEYS: [&str; 2] = ["eval_type", "params"];

/// The keys that only an eval has; `None` for any other tool.
///
/// # Errors
/// `parse.metadata`
pub(super) fn eval(fields: &Fields<'_>) -> Result<Option<Eval>, ParseFault> {
    if fields.string("tool_type")?.as_deref() != Some(EVAL) {
        return match KEYS.iter().find(|key| fields.get(key).is_some()) {
            Some(key) => Err(bad(key, "is for `tool_type: eval` alone")),
            None => Ok(None),
        };
    }
    let eval_type = fields.string("eval_type")?;
    if eval_type.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(bad("eval_type", "is empty"));
    }
    let params = fields.fields("params")?.map_or_else(Map::new, |params| params.map().clone());
    Ok(Some(Eval { eval_type, params }))
}

fn bad(key: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`/{}` {why}", escape_line(key)))
}

#[cfg(test)]
mod tests {
    use super::eval;
    use crate::parse::data::yaml;
    use crate::parse::tool::fields::Fields;

    fn read(text: &str) -> Result<Option<(String, String)>, String> {
        let header = yaml(text).unwrap();
        let eval = eval(&Fields::new(header.as_object().unwrap())).map_err(|fault| fault.why)?;
        let id = "acme/mood".parse().unwrap();
        Ok(eval
            .map(|eval| (eval.type_of(&id).to_owned(), serde_json::json!(eval.params).to_string())))
    }

    #[test]
    fn what_an_eval_says_of_its_request() {
        let is = |kind: &str, params: &str| Ok(Some((kind.to_owned(), params.to_owned())));
        for (text, want) in [
            ("tool_type: tool", Ok(None)),
            ("description: x", Ok(None)),
            ("tool_type: eval", is("mood", "{}")),
            ("{tool_type: eval, eval_type: null, params: null}", is("mood", "{}")),
            (
                "{tool_type: eval, eval_type: tone, params: {a: 1.50, b: null}}",
                is("tone", "{\"a\":1.50,\"b\":null}"),
            ),
        ] {
            assert_eq!(read(text), want, "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_named_by_its_pointer() {
        for (text, pointer) in [
            ("{tool_type: tool, params: {a: 1}}", "/params"),
            ("{eval_type: mood}", "/eval_type"),
            ("{tool_type: hook, eval_type: mood}", "/eval_type"),
            ("{tool_type: eval, eval_type: 1}", "/eval_type"),
            ("{tool_type: eval, eval_type: ' '}", "/eval_type"),
            ("{tool_type: eval, params: [1]}", "/params"),
            ("{tool_type: eval, params: x}", "/params"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.starts_with(&format!("`{pointer}` ")), "{text}: {why}");
        }
    }
}
