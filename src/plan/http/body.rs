//! The body of a request: a template into which the caller's parameters go as values.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::config::{Bad, Config};
use super::headers::Headers;
use crate::base::Digest;
use crate::plan::config::strings;
use crate::plan::params::Params;
use crate::plan::template::{BodyParams, Scope, named, plain};
use crate::plan::template_context::TemplateContext;

const POINTER: &str = "/config/body";

/// The bytes of a body and what is shown of it.
pub(super) struct Body {
    pub(super) bytes: Option<Arc<[u8]>>,
    /// The type to say, where no header of the tool says one.
    pub(super) content_type: Option<&'static str>,
    pub(super) shown: Value,
}

/// How the body is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    /// `a=1&b=2`.
    Pairs,
    Text,
}

impl Body {
    /// # Errors
    /// A template in which a value could become more than a value, and what a form cannot hold.
    pub(super) fn new(
        config: &Config,
        headers: &Headers,
        schema: Option<&Value>,
        params: &Params,
        context: &TemplateContext,
    ) -> Result<Self, Bad> {
        let Some(template) = &config.body else {
            return Ok(Self { bytes: None, content_type: None, shown: Value::Null });
        };
        let declared = declared(schema, params);
        let kind = headers.content_type();
        let says = |word: &str| kind.as_ref().is_some_and(|kind| kind.contains(word));
        let is_mixed = |text: &str| {
            let names = declared.keys().copied().chain(["params_json"]);
            let mut held = names.filter(|name| text.contains(&format!("{{{name}}}")));
            let is_value = named(text).is_some() && !says("x-www-form-urlencoded");
            !is_value && (held.next().is_some() || context.env.takes_parameters(text))
        };
        if let Value::String(text) = template
            && (says("json") || says("x-www-form-urlencoded"))
            && is_mixed(text)
        {
            let why = "is text with parameters in it, which could change its form: write a mapping";
            return Err((POINTER, why.into()));
        }
        let is_name = |text: &str| named(text).is_some();
        let filled = context.fill_without_private();
        let scope = Scope { params: Some(&declared), ..filled.scope() };
        let value = fill(template, &scope);
        let form = match &value {
            _ if says("x-www-form-urlencoded") => Form::Pairs,
            // A parameter's text is a value of the JSON, not its writing.
            Some(Value::String(_)) if says("json") && template.as_str().is_some_and(is_name) => {
                Form::Json
            }
            Some(Value::String(_)) => Form::Text,
            _ => Form::Json,
        };
        let bytes = match (value, form) {
            (None, _) => None,
            (Some(Value::Object(map)), Form::Pairs) => Some(pairs(&map)?),
            (Some(Value::String(text)), Form::Pairs) => Some(text),
            (Some(_), Form::Pairs) => {
                return Err((POINTER, "is not a mapping, as a form is".into()));
            }
            (Some(Value::String(text)), Form::Text) => Some(text),
            (Some(other), _) => Some(other.to_string()),
        };
        let (name, default) = match form {
            Form::Json => ("json", "application/json"),
            Form::Pairs => ("form", "application/x-www-form-urlencoded"),
            Form::Text => ("text", "text/plain; charset=utf-8"),
        };
        let content_type = (kind.is_none() && bytes.is_some()).then_some(default);
        let digest = Digest::of(template.to_string().as_bytes());
        let names: Vec<&&str> = declared
            .keys()
            .filter(|name| strings(template).iter().any(|t| t.contains(&format!("{{{name}}}"))))
            .collect();
        let shown = json!({"form": name, "template_sha256": digest, "parameters": names});
        let bytes = bytes.map(|text| Arc::from(text.into_bytes()));
        Ok(Self { bytes, content_type, shown })
    }
}

/// The parameters that the schema declares; `None` for one that was not given.
fn declared<'a>(schema: Option<&'a Value>, params: &'a Params) -> BodyParams<'a> {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let names = properties.into_iter().flat_map(Map::keys);
    names.map(|name| (name.as_str(), params.as_map().get(name))).collect()
}

/// The template with its values. A member whose value was not given is left out; in a list it is
/// null.
fn fill(template: &Value, scope: &Scope<'_>) -> Option<Value> {
    match template {
        Value::String(text) => match named(text).filter(|name| !scope.names.contains_key(name)) {
            Some(name) => match scope.params.and_then(|params| params.get(name)) {
                Some(given) => given.cloned(),
                None => Some(scope.value(template)),
            },
            None => Some(scope.value(template)),
        },
        Value::Array(items) => {
            Some(items.iter().map(|item| fill(item, scope).unwrap_or(Value::Null)).collect())
        }
        Value::Object(map) => {
            let members = map.iter().filter_map(|(k, v)| Some((k.clone(), fill(v, scope)?)));
            Some(Value::Object(members.collect()))
        }
        other => Some(other.clone()),
    }
}

/// A mapping as a form writes it; a list is a name several times.
fn pairs(map: &Map<String, Value>) -> Result<String, Bad> {
    let mut out = Vec::new();
    for (name, value) in map {
        let values = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            if matches!(value, Value::Array(_) | Value::Object(_)) {
                return Err((POINTER, "holds a mapping inside a form, which has none".into()));
            }
            out.push(format!("{}={}", escaped(name), escaped(&plain(value))));
        }
    }
    Ok(out.join("&"))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
