//! From what a caller gives to the values of a directive's inputs (core 6.4).

use serde_json::{Map, Value};

use super::error::{InterpolateError, WrongInput};
use crate::parse::Input;

/// The values of the declared inputs, in declaration order.
///
/// In this order: (1) declared defaults fill what is absent, and null counts as absent; (2) names
/// that are not declared are refused, if anything is declared; (3) required inputs need a value;
/// (4) values become those of the declared type. Where nothing is declared, everything is taken.
///
/// # Errors
/// `interpolate.unknown_input`, `interpolate.missing_inputs`, `interpolate.wrong_type`; each names
/// all inputs it is about.
pub(crate) fn bind(
    declared: &[Input],
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, InterpolateError> {
    if declared.is_empty() {
        return Ok(given);
    }
    let mut values = Map::new();
    for input in declared {
        let value = given.shift_remove(&input.name).filter(|value| !value.is_null());
        if let Some(value) = value.or_else(|| input.default.clone()) {
            values.insert(input.name.clone(), value);
        }
    }
    let all = || declared.to_vec();
    if !given.is_empty() {
        let names = given.keys().cloned().collect();
        return Err(InterpolateError::UnknownInput { names, declared: all() });
    }
    let lacks = |input: &&Input| input.required && !values.contains_key(&input.name);
    let names: Vec<String> =
        declared.iter().filter(lacks).map(|input| input.name.clone()).collect();
    if !names.is_empty() {
        return Err(InterpolateError::MissingInputs { names, declared: all() });
    }
    let mut wrong = Vec::new();
    for input in declared {
        let Some(value) = values.get_mut(&input.name) else { continue };
        match input.ty.coerce(value.clone()) {
            Some(coerced) => *value = coerced,
            None => wrong.push(WrongInput {
                name: input.name.clone(),
                ty: input.ty,
                value: value.clone(),
            }),
        }
    }
    if wrong.is_empty() {
        return Ok(values);
    }
    Err(InterpolateError::WrongType { wrong, declared: all() })
}

#[cfg(test)]
mod tests {
    use super::bind;
    use crate::diagnostic::{Diagnose, Diagnostic};
    use crate::interpolate::error::InterpolateError;
    use crate::parse::{Input, InputType};
    use serde_json::{Value, json};

    fn declared() -> Vec<Input> {
        let input = |name: &str, ty, required, default: Option<Value>, description: &str| Input {
            name: name.into(),
            ty,
            required,
            default,
            description: description.into(),
        };
        vec![
            input("target", InputType::String, true, None, "Where to"),
            input("count", InputType::Integer, false, Some(json!(3)), ""),
            input("note", InputType::String, true, Some(json!("")), ""),
            input("tags", InputType::Array, false, None, ""),
            input("deep", InputType::Object, true, None, ""),
        ]
    }

    fn bound(given: Value) -> Result<String, Box<Diagnostic>> {
        let Value::Object(given) = given else { panic!("the fixture is an object") };
        let values =
            bind(&declared(), given).map_err(|error| Box::new(Diagnostic::from(&error)))?;
        Ok(Value::Object(values).to_string())
    }

    #[test]
    fn values_table() {
        let rows = [
            (json!({"deep": {}, "target": "x"}), r#"{"target":"x","count":3,"note":"","deep":{}}"#),
            (
                json!({"target": 7, "count": "12", "note": null, "tags": "[1]", "deep": "{\"a\":1}"}),
                r#"{"target":"7","count":12,"note":"","tags":[1],"deep":{"a":1}}"#,
            ),
            (
                json!({"target": "", "tags": null, "deep": {}}),
                r#"{"target":"","count":3,"note":"","deep":{}}"#,
            ),
        ];
        for (given, want) in rows {
            assert_eq!(bound(given.clone()).as_deref().ok(), Some(want), "{given}");
        }
        let free = json!({"b": 1, "a": null});
        let got = bind(&[], free.as_object().unwrap().clone()).unwrap();
        assert_eq!(Value::Object(got), free);
    }

    #[test]
    fn each_fault_has_its_turn() {
        let rows = [
            // Unknown names before missing ones, missing ones before wrong types.
            (json!({"targt": "x", "zzz": 1, "count": "x"}), "interpolate.unknown_input"),
            (json!({"count": "x"}), "interpolate.missing_inputs"),
            (json!({"target": null, "deep": {}}), "interpolate.missing_inputs"),
            (json!({"target": "x", "deep": [], "count": "x"}), "interpolate.wrong_type"),
        ];
        for (given, code) in rows {
            assert_eq!(bound(given.clone()).map_err(|d| d.code.name()), Err(code), "{given}");
        }
    }

    #[test]
    fn what_callers_are_told() {
        let missing = bound(json!({})).unwrap_err();
        assert_eq!(missing.message, "Missing required inputs: target, deep");
        assert_eq!(
            missing.data["declared_inputs"],
            json!([
                {"name": "target", "type": "string", "required": true, "description": "Where to"},
                {"name": "count", "type": "integer", "required": false, "default": 3},
                {"name": "note", "type": "string", "required": true, "default": ""},
                {"name": "tags", "type": "array", "required": false},
                {"name": "deep", "type": "object", "required": true},
            ])
        );
        let unknown = bound(json!({"targt": "x", "zzz\u{1b}": 1})).unwrap_err();
        assert_eq!(unknown.message, "no such input: `targt`, `zzz\\u{1b}`");
        let help = unknown.help.unwrap_or_default();
        assert!(
            help.starts_with("did you mean `target`? the inputs are `target`, `count`"),
            "{help}"
        );
        assert_eq!(unknown.data["nearest"], json!(["target"]));
        let wrong = bound(json!({"target": "x", "deep": [1], "count": true})).unwrap_err();
        assert_eq!(
            wrong.message,
            "the input `count` must be an integer, not `true`; \
             the input `deep` must be an object, not `[1]`"
        );
    }

    #[test]
    fn the_error_itself_lists_the_inputs() {
        let error = bind(&declared(), serde_json::Map::new()).unwrap_err();
        assert!(
            matches!(&error, InterpolateError::MissingInputs { names, .. } if names.len() == 2)
        );
        assert_eq!(error.declared_inputs(), error.data()["declared_inputs"]);
    }
}
