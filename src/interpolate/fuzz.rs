//! Fuzz target for placeholders.

use serde_json::{Map, Value, json};

use super::placeholder::{Token, tokens};
use super::render;

/// The tokens of a template are the template, and rendering is what the grammar says, read one sign
/// at a time; a value that looks like a placeholder goes in as text.
pub(crate) fn placeholder(data: &[u8]) {
    let Ok(template) = std::str::from_utf8(data) else { return };
    let printed: String = tokens(template)
        .map(|token| match token {
            Token::Text(text) => text,
            Token::Input { raw, .. } => raw,
        })
        .collect();
    assert_eq!(printed, template);
    let values = values();
    let rendered = render(template, &values);
    assert_eq!(rendered, model(template, &values), "{template:?}");
    let most = values.values().map(|value| value.to_string().len()).max().unwrap_or(0);
    assert!(rendered.len() <= template.len() * most);
}

fn values() -> Map<String, Value> {
    let values = json!({
        "a": "{input:b}", "b": "{input:a:", "c": "}", "empty": "", "none": null, "n": 1.5,
        "t": true, "list": ["{input:a}"], "x-1": "${HOME}{params_json}", "_": "{input:",
    });
    let Value::Object(values) = values else { panic!("an object") };
    values
}

/// Core 6.5 in the slowest way: at each sign, is this a placeholder?
fn model(template: &str, values: &Map<String, Value>) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some(sign) = rest.chars().next() {
        if let Some((name, fallback, length)) = at_start(rest) {
            match values.get(name) {
                Some(Value::String(text)) => out.push_str(text),
                None | Some(Value::Null) => out.push_str(fallback.unwrap_or(&rest[..length])),
                Some(other) => out.push_str(&other.to_string()),
            }
            rest = &rest[length..];
        } else {
            out.push(sign);
            rest = &rest[sign.len_utf8()..];
        }
    }
    out
}

/// Key, fallback and length of the placeholder that the text begins with.
fn at_start(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let inside = text.strip_prefix("{input:")?;
    let key: String = inside
        .chars()
        .enumerate()
        .take_while(|(at, c)| {
            c.is_ascii_alphabetic() || *c == '_' || (*at > 0 && (c.is_ascii_digit() || *c == '-'))
        })
        .map(|(_, c)| c)
        .collect();
    if key.is_empty() {
        return None;
    }
    let (key, behind) = inside.split_at(key.len());
    let length = |behind: &str| text.len() - behind.len();
    if let Some(behind) = behind.strip_prefix('}') {
        return Some((key, None, length(behind)));
    }
    if let Some(behind) = behind.strip_prefix("?}") {
        return Some((key, Some(""), length(behind)));
    }
    let (words, behind) = behind.strip_prefix([':', '|'])?.split_once('}')?;
    Some((key, Some(words), length(behind)))
}
