//! The metadata element: author, model and limits.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::element::Element;
use crate::base::text::escape_line;
use crate::parse::data::decimal;
use crate::parse::error::ParseFault;

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

const LIMITS: [&str; 7] =
    ["turns", "tokens", "spend", "spend_currency", "spawns", "duration_seconds", "depth"];

/// The line of text inside the one child of that name; an empty one counts as absent.
pub(super) fn line(
    metadata: Option<Element<'_>>,
    name: &str,
) -> Result<Option<String>, ParseFault> {
    let Some(child) = child(metadata, name)? else { return Ok(None) };
    Ok(Some(child.line()?).filter(|line| !line.is_empty()))
}

/// The one child of that name.
pub(super) fn child<'d>(
    metadata: Option<Element<'d>>,
    name: &str,
) -> Result<Option<Element<'d>>, ParseFault> {
    metadata.map_or(Ok(None), |metadata| metadata.child(name))
}

/// The values of an element, given as attributes or as children, each name once.
fn values(element: Element<'_>) -> Result<Vec<(&str, String)>, ParseFault> {
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
        values.push((child.name(), child.line()?));
    }
    Ok(values)
}

pub(super) fn model(element: Element<'_>) -> Result<Model, ParseFault> {
    let mut model = Model::default();
    for (name, value) in values(element)? {
        let field = match name {
            "tier" => &mut model.tier,
            "id" => &mut model.id,
            "fallback" => &mut model.fallback,
            "provider" => &mut model.provider,
            _ => continue,
        };
        *field = Some(value).filter(|value| !value.is_empty());
    }
    Ok(model)
}

/// The limits by name. They are whole numbers, except `spend`, which is any number, and
/// `spend_currency`, which is a word.
pub(super) fn limits(element: Element<'_>) -> Result<Map<String, Value>, ParseFault> {
    let mut limits = Map::new();
    for (name, text) in values(element)? {
        if !LIMITS.contains(&name) {
            return Err(element.unknown(name, &LIMITS, "not a limit in"));
        }
        let value = match name {
            "spend_currency" => {
                let fits = text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
                fits.then(|| Value::from(text.clone()))
            }
            "spend" => decimal(&text).filter(is_amount).map(Value::Number),
            _ => text.parse::<u64>().ok().filter(|_| !text.starts_with('+')).map(Value::from),
        };
        let Some(value) = value else {
            let text = escape_line(&text);
            return Err(
                element.fault(format!("`{text}` is not a valid value for the limit `{name}`"))
            );
        };
        limits.insert(name.to_owned(), value);
    }
    Ok(limits)
}

fn is_amount(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|amount| amount.is_finite() && !amount.is_sign_negative())
}
