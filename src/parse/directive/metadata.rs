//! The metadata element: author, model and limits.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value};

use super::element::Element;
use crate::base::text::escape_line;
use crate::base::time::{TIME_FORMS, time_from_text};
use crate::parse::data::decimal;
use crate::parse::error::ParseFault;
use crate::parse::remote_files::{RemoteFiles, checked};

/// The model that a thread of the directive asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) tier: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) fallback: Option<String>,
    pub(crate) provider: Option<String>,
}

impl Model {
    pub(crate) fn to_json(&self) -> Value {
        let parts = [
            ("tier", &self.tier),
            ("id", &self.id),
            ("fallback", &self.fallback),
            ("provider", &self.provider),
        ];
        let known = parts.into_iter().filter_map(|(key, part)| {
            part.as_ref().map(|text| (key.to_owned(), Value::from(text.clone())))
        });
        Value::Object(known.collect())
    }
}

/// The attributes or elements that `<model>` may have.
const MODEL: [&str; 4] = ["tier", "id", "fallback", "provider"];

const LIMITS: [&str; 8] = [
    "turns",
    "tokens",
    "spend",
    "spend_currency",
    "spawns",
    "duration",
    "duration_seconds",
    "depth",
];

/// The line of text inside the one child of that name; an empty one counts as absent.
pub(super) fn line(
    metadata: Option<Element<'_>>,
    name: &str,
) -> Result<Option<String>, ParseFault> {
    let Some(child) = child(metadata, name)? else { return Ok(None) };
    Ok(Some(child.line()?).filter(|line| !line.is_empty()))
}

/// `<remote>` with an `<input>` for each pattern of files that go, and an `<output>` for each of
/// files that come back.
pub(super) fn remote(element: Element<'_>) -> Result<RemoteFiles, ParseFault> {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for child in element.children() {
        match child.name() {
            "input" => inputs.push(child.line()?),
            "output" => outputs.push(child.line()?),
            other => {
                let why = format!("`<remote>` has no `<{}>`", escape_line(other));
                return Err(child.fault(why));
            }
        }
    }
    let checked = |patterns, key: &str| checked(patterns, key).map_err(|why| element.fault(why));
    Ok(RemoteFiles { inputs: checked(inputs, "input")?, outputs: checked(outputs, "output")? })
}

/// The one child of that name.
pub(super) fn child<'d>(
    metadata: Option<Element<'d>>,
    name: &str,
) -> Result<Option<Element<'d>>, ParseFault> {
    metadata.map_or(Ok(None), |metadata| metadata.child(name))
}

/// The values of an element, given as attributes or as children, each name once and none but those
/// that are known: a name that is misspelt would leave the choice to another directive, or to a
/// configuration.
fn values<'d>(
    element: Element<'d>,
    known: &[&str],
    what: &str,
) -> Result<Vec<(&'d str, String)>, ParseFault> {
    if element.holds_text() {
        let (name, known) = (element.name(), known.join("`, `"));
        let why = format!("`<{name}>` holds no text; it takes `{known}` as attributes or elements");
        return Err(element.fault(why));
    }
    let mut values: Vec<(&str, String)> = Vec::new();
    let mut seen = HashSet::new();
    for (name, value) in element.attributes() {
        seen.insert(name);
        values.push((name, value.trim().to_owned()));
    }
    for child in element.children() {
        if !seen.insert(child.name()) {
            let why = format!("`{}` is given twice in `<{}>`", child.name(), element.name());
            return Err(child.fault(why));
        }
        child.only(&[])?;
        values.push((child.name(), child.line()?));
    }
    match values.iter().find(|(name, _)| !known.contains(name)) {
        Some((name, _)) => Err(element.unknown(name, known, what)),
        None => Ok(values),
    }
}

pub(super) fn model(element: Element<'_>) -> Result<Model, ParseFault> {
    let mut model = Model::default();
    for (name, value) in values(element, &MODEL, "not a part of")? {
        if value.is_empty() {
            return Err(element.fault(format!("`{name}` of `<model>` is empty")));
        }
        let field = match name {
            "tier" => &mut model.tier,
            "id" => &mut model.id,
            "fallback" => &mut model.fallback,
            _ => &mut model.provider,
        };
        *field = Some(value);
    }
    Ok(model)
}

/// The limits by name. They are whole numbers, except `spend`, which is any number,
/// `spend_currency`, which is a word, and `duration`, a time that becomes `duration_seconds`.
pub(super) fn limits(element: Element<'_>) -> Result<Map<String, Value>, ParseFault> {
    let mut limits = Map::new();
    for (name, text) in values(element, &LIMITS, "not a limit in")? {
        let value = match name {
            "spend_currency" => {
                let fits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
                fits.then(|| Value::from(text.clone()))
            }
            "duration" => time_from_text(&text).map(seconds),
            "spend" => decimal(&text).filter(is_amount).map(Value::Number),
            _ => text.parse::<u64>().ok().filter(|_| !text.starts_with('+')).map(Value::from),
        };
        let Some(value) = value else {
            let text = escape_line(&text);
            let forms = if name == "duration" { format!(": {TIME_FORMS}") } else { String::new() };
            let why = format!("`{text}` is not a valid value for the limit `{name}`{forms}");
            return Err(element.fault(why));
        };
        let name = if name == "duration" { "duration_seconds" } else { name };
        if limits.insert(name.to_owned(), value).is_some() {
            return Err(element.fault("`duration` stands beside `duration_seconds`"));
        }
    }
    Ok(limits)
}

/// In whole seconds, rounded up.
fn seconds(time: Duration) -> Value {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).into()
}

fn is_amount(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|amount| amount.is_finite() && !amount.is_sign_negative())
}
