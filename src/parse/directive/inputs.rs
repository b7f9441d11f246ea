//! The inputs and outputs of a directive.

use serde_json::{Map, Value};

use super::element::Element;
use crate::base::text::escape_line;
use crate::parse::data::{decimal, json};
use crate::parse::error::ParseFault;

/// The type of an input or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum InputType {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl InputType {
    const ALL: [Self; 6] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The value as one of this type, if it can be one.
    ///
    /// A number or boolean may stand for a string, and a string for a value that it spells: digits,
    /// a JSON number, `true` or `false`, a JSON array or object.
    pub(crate) fn coerce(self, value: Value) -> Option<Value> {
        match (self, value) {
            (Self::String, value @ (Value::Number(_) | Value::Bool(_))) => {
                Some(Value::String(value.to_string()))
            }
            (Self::Integer, Value::Number(number)) => {
                let whole = !number.as_str().contains(['.', 'e', 'E']);
                whole.then_some(Value::Number(number))
            }
            (Self::Integer, Value::String(text)) => {
                let digits = text.strip_prefix('-').unwrap_or(&text);
                let whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                whole.then(|| decimal(&text)).flatten().map(Value::Number)
            }
            (Self::Number, Value::String(text)) => text.parse().ok().map(Value::Number),
            (Self::Boolean, Value::String(text)) => text.parse().ok().map(Value::Bool),
            (Self::Array, Value::String(text)) => json(&text).ok().filter(Value::is_array),
            (Self::Object, Value::String(text)) => json(&text).ok().filter(Value::is_object),
            (Self::String, value @ Value::String(_))
            | (Self::Number, value @ Value::Number(_))
            | (Self::Boolean, value @ Value::Bool(_))
            | (Self::Array, value @ Value::Array(_))
            | (Self::Object, value @ Value::Object(_)) => Some(value),
            _ => None,
        }
    }
}

/// One declared input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) ty: InputType,
    pub(crate) required: bool,
    /// Of the declared type.
    pub(crate) default: Option<Value>,
    pub(crate) description: String,
}

impl Input {
    /// The input as it is shown to callers: `default` where declared, `description` where given.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = shown(&self.name, self.ty, self.required);
        map.extend(self.default.clone().map(|default| ("default".to_owned(), default)));
        described(map, &self.description)
    }
}

/// One declared output; it is required unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectiveOutput {
    pub(crate) name: String,
    pub(crate) ty: InputType,
    pub(crate) required: bool,
    pub(crate) description: String,
}

impl DirectiveOutput {
    pub(crate) fn to_json(&self) -> Value {
        described(shown(&self.name, self.ty, self.required), &self.description)
    }
}

fn shown(name: &str, ty: InputType, required: bool) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("name".into(), name.into());
    map.insert("type".into(), ty.as_str().into());
    map.insert("required".into(), required.into());
    map
}

fn described(mut map: Map<String, Value>, description: &str) -> Value {
    if !description.is_empty() {
        map.insert("description".into(), description.into());
    }
    Value::Object(map)
}

/// Returns true if a text may name an input: `[A-Za-z_][A-Za-z0-9_-]*`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The inputs that `<inputs>` declares.
pub(super) fn inputs(element: Element<'_>) -> Result<Vec<Input>, ParseFault> {
    let mut inputs: Vec<Input> = Vec::new();
    for child in declarations(element, "input")? {
        child.only(&["name", "type", "required", "default", "description"])?;
        let (name, ty) = named(child, inputs.iter().map(|before| before.name.as_str()))?;
        let default = child.attribute("default").map(|text| {
            let fault = || {
                let text = escape_line(text);
                child.fault(format!(
                    "the default `{text}` of `{name}` is not of the type `{}`",
                    ty.as_str()
                ))
            };
            ty.coerce(text.into()).ok_or_else(fault)
        });
        let (required, default) = (truth(child, "required")?, default.transpose()?);
        let description = description(child)?;
        inputs.push(Input { name, ty, required: required.unwrap_or(false), default, description });
    }
    Ok(inputs)
}

/// The outputs that `<outputs>` declares.
pub(super) fn outputs(element: Element<'_>) -> Result<Vec<DirectiveOutput>, ParseFault> {
    let mut outputs: Vec<DirectiveOutput> = Vec::new();
    for child in declarations(element, "output")? {
        child.only(&["name", "type", "required", "description"])?;
        let (name, ty) = named(child, outputs.iter().map(|before| before.name.as_str()))?;
        let (required, description) = (truth(child, "required")?, description(child)?);
        outputs.push(DirectiveOutput { name, ty, required: required.unwrap_or(true), description });
    }
    Ok(outputs)
}

fn declarations<'d>(element: Element<'d>, name: &str) -> Result<Vec<Element<'d>>, ParseFault> {
    match element.children().find(|child| child.name() != name) {
        Some(other) => Err(other.fault(format!("`<{}>` holds `<{name}>` only", element.name()))),
        None => Ok(element.children().collect()),
    }
}

fn named<'a>(
    element: Element<'_>,
    mut before: impl Iterator<Item = &'a str>,
) -> Result<(String, InputType), ParseFault> {
    let what = element.name();
    let Some(name) = element.attribute("name") else {
        return Err(element.fault(format!("an `<{what}>` has no `name`")));
    };
    if !is_name(name) {
        let name = escape_line(name);
        let why = "letters, digits, `_` and `-`, no digit or `-` first";
        return Err(element.fault(format!("`{name}` cannot name an {what}: {why}")));
    }
    if before.any(|earlier| earlier == name) {
        return Err(element.fault(format!("the {what} `{name}` is declared twice")));
    }
    let ty = match element.attribute("type") {
        None => InputType::default(),
        Some(word) => {
            let known = InputType::ALL.map(InputType::as_str);
            let found = InputType::ALL.into_iter().find(|ty| ty.as_str() == word);
            found.ok_or_else(|| element.unknown(word, &known, "not a type for"))?
        }
    };
    Ok((name.to_owned(), ty))
}

fn truth(element: Element<'_>, name: &str) -> Result<Option<bool>, ParseFault> {
    let read = |text: &str| {
        let why = || format!("`{name}` is `true` or `false`, not `{}`", escape_line(text));
        text.parse().map_err(|_| element.fault(why()))
    };
    element.attribute(name).map(read).transpose()
}

fn description(element: Element<'_>) -> Result<String, ParseFault> {
    let line = element.line()?;
    Ok(if line.is_empty() {
        element.attribute("description").unwrap_or("").to_owned()
    } else {
        line
    })
}

#[cfg(test)]
mod tests {
    use super::InputType;
    use serde_json::{Value, json};

    #[test]
    fn coercions_table() {
        let rows = [
            ("string", json!("a"), Some(json!("a"))),
            ("string", json!(""), Some(json!(""))),
            ("string", json!(1), Some(json!("1"))),
            ("string", json!(true), Some(json!("true"))),
            ("string", json!([1]), None),
            ("string", json!({}), None),
            ("integer", json!(5), Some(json!(5))),
            ("integer", json!("-5"), Some(json!(-5))),
            ("integer", json!("007"), Some(json!(7))),
            ("integer", json!("5.0"), None),
            ("integer", json!("+5"), None),
            ("integer", json!(""), None),
            ("integer", json!("-"), None),
            ("integer", json!(" 5"), None),
            ("integer", json!(true), None),
            ("number", json!(5), Some(json!(5))),
            ("number", json!("-5e2"), Some(json!(-500))),
            ("number", json!("x"), None),
            ("number", json!("NaN"), None),
            ("boolean", json!(false), Some(json!(false))),
            ("boolean", json!("true"), Some(json!(true))),
            ("boolean", json!("yes"), None),
            ("boolean", json!(1), None),
            ("array", json!([1]), Some(json!([1]))),
            ("array", json!("[1, 2]"), Some(json!([1, 2]))),
            ("array", json!("{}"), None),
            ("array", json!("a,b"), None),
            ("object", json!({"a": 1}), Some(json!({"a": 1}))),
            ("object", json!("{\"a\": 1}"), Some(json!({"a": 1}))),
            ("object", json!("{\"a\": 1, \"a\": 2}"), None),
            ("object", json!([]), None),
            ("string", Value::Null, None),
        ];
        for (word, value, want) in rows {
            let ty = InputType::ALL.into_iter().find(|ty| ty.as_str() == word).unwrap();
            let got = ty.coerce(value.clone());
            let same = match (&got, &want) {
                (Some(Value::Number(a)), Some(Value::Number(b))) => a.as_f64() == b.as_f64(),
                _ => got == want,
            };
            assert!(same, "{word} {value}: {got:?}");
        }
        let exact: Value = serde_json::from_str("1.50").unwrap();
        assert_eq!(InputType::Number.coerce(exact).map(|v| v.to_string()).as_deref(), Some("1.50"));
        let float: Value = serde_json::from_str("5.0").unwrap();
        assert_eq!(InputType::Integer.coerce(float), None);
    }
}
