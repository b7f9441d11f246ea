//! Fuzz targets for templates of signed items, a project's `.env`, plan files and git's index.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::dotenv::read;
use super::gitlinks::gitlinks;
use super::params::Params;
use super::pieces::Pieces;
use super::record::FORMAT;
use super::record::PlanFile;
use super::record::differences;
use super::template::{BodyParams, Named, Names, Scope, plain, variables};
use crate::base::fuzz::is_message;
use crate::base::{Digest, canon};
use crate::id::Ref;
use crate::parse;
use crate::parse::is_loader;

/// Expanding is what core 7.7 says, read one sign at a time: values that look like templates go in
/// as text. In a text that is JSON every string is a template, and its shape is kept.
pub(crate) fn template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let given = json!({"a": "${HOME}", "{tool_path}": [1.5]});
    let names: Names = [
        ("tool_path", Named::Text("/p/{project_path}${HOME}".into())),
        ("project_path", Named::Text("{tool_path}".into())),
        ("params_json", Named::Params(Params::new(given.as_object().cloned().unwrap_or_default()))),
        ("anchor_path", Named::Private("tool".into())),
    ]
    .into();
    let env = [("HOME", "/h/{tool_path}${A1:-x}"), ("A1", "}"), ("EMPTY", ""), ("_", "${")];
    let env = env.map(|(name, value)| (name.to_owned(), Pieces::text(value))).into();
    let value = json!("{tool_path}${HOME}");
    let params = [("a", Some(&value)), ("b-1.c", None), ("tool_path", None)].into();
    let body = Scope { names: &names, env: &env, params: Some(&params) };
    assert_eq!(body.text(text), model(text, &names, &env, &params), "{text:?}");
    let scope = Scope { names: &names, env: &env, params: None };
    let expanded = scope.text(text);
    assert_eq!(expanded, model(text, &names, &env, &BodyParams::new()), "{text:?}");
    assert!(expanded.len() <= text.len() * 32, "{} from {}", expanded.len(), text.len());
    for name in variables(text) {
        assert!(text.contains(&format!("${{{name}")), "{name}");
    }
    // Whatever reaches the text from the environment is listed: secrets are looked for by that
    // list.
    let bare = Scope { names: &names, env: &BTreeMap::new(), params: None };
    if bare.text(text) != expanded {
        assert!(variables(text).iter().any(|name| env.contains_key(*name)), "{text:?}");
    }
    if let Ok(value) = parse::json(text) {
        has_the_shape(&value, &scope.value(&value), &names);
    }
}

fn has_the_shape(template: &Value, expanded: &Value, names: &Names) {
    match (template, expanded) {
        (Value::Array(items), Value::Array(others)) => {
            assert_eq!(items.len(), others.len());
            items.iter().zip(others).for_each(|(item, other)| has_the_shape(item, other, names));
        }
        (Value::Object(map), Value::Object(others)) => {
            assert!(map.keys().eq(others.keys()), "keys are no templates");
            map.iter().for_each(|(key, item)| has_the_shape(item, &others[key], names));
        }
        (Value::String(text), other) => {
            let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            match name.and_then(|name| names.get(name)) {
                Some(Named::Params(params)) => assert_eq!(Some(params.as_map()), other.as_object()),
                _ => assert!(other.is_string()),
            }
        }
        (item, other) => assert_eq!(item, other),
    }
}

type Vars = BTreeMap<String, Pieces>;

fn model(text: &str, names: &Names, env: &Vars, params: &BodyParams<'_>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(sign) = rest.chars().next() {
        if let Some((value, behind)) = variable(rest, env).or_else(|| named(rest, names, params)) {
            out.push_str(&value);
            rest = behind;
        } else {
            out.push(sign);
            rest = &rest[sign.len_utf8()..];
        }
    }
    out
}

/// `${NAME}` or `${NAME:-default}`: an empty variable counts as none.
fn variable<'t>(text: &'t str, env: &Vars) -> Option<(String, &'t str)> {
    let (inside, behind) = text.strip_prefix("${")?.split_once('}')?;
    let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
    let upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(upper) || name.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let value = env.get(name).filter(|value| !value.is_empty());
    Some((value.map_or(default.to_owned(), Pieces::shown), behind))
}

/// `{name}`, where the name stands for something.
fn named<'t>(text: &'t str, names: &Names, params: &BodyParams<'_>) -> Option<(String, &'t str)> {
    let (name, behind) = text.strip_prefix('{')?.split_once('}')?;
    let given = || params.get(name).map(|value| value.map(plain).unwrap_or_default());
    let own = names.get(name).map(|named| match named {
        Named::Text(text) => text.clone(),
        Named::Private(below) => format!("{{private folder}}/{below}"),
        Named::Params(params) => Value::Object(params.as_map().clone()).to_string(),
    });
    Some((own.or_else(given)?, behind))
}

/// Every value of a `.env` stands in its text as it is, below a plain name; a refusal names a line.
pub(crate) fn dotenv(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = || read(text, |_| true);
    assert_eq!(read(), read(), "twice the same");
    match read() {
        Ok(values) => {
            for (name, value) in &values {
                let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                assert!(plain && !name.is_empty(), "{name:?}");
                assert!(!value.contains(['\0', '\n']), "{value:?}");
                assert_eq!(is_loader(name), is_loader(&name.to_ascii_lowercase()), "{name}");
                let said = text.lines().any(|line| line.contains(name) && line.contains(value));
                assert!(said, "{name} {value:?}");
            }
            let lines = text.lines().map(str::trim);
            let said = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count();
            assert!(values.len() <= said && (said == 0) == values.is_empty());
        }
        Err(line) => assert!((1..=text.lines().count()).contains(&line), "line {line}"),
    }
}

/// A plan file that is read says what its digest covers; one more key, or another value, and it is
/// refused. Whatever is no plan file is made one first, where it is a JSON object.
pub(crate) fn plan_file(data: &[u8]) {
    match PlanFile::read(data) {
        Ok(_) => assert!(canon::read(data).is_ok_and(|document| document.is_object())),
        Err(error) => is_message(&error.to_string()),
    }
    let text = std::str::from_utf8(data).unwrap_or_default();
    let Ok(Value::Object(mut map)) = parse::json(text) else { return };
    map.retain(|key, _| key != "sha256" && key != "params");
    map.insert("format".into(), FORMAT.into());
    let document = Value::Object(map);
    let Ok(canonical) = canon::write(&document) else { return };
    let digest = Digest::of(&canonical);
    let with = |document: &Value, key: &str, value: Value| {
        let mut whole = document.clone();
        whole["sha256"] = digest.to_string().into();
        whole[key] = value;
        canon::write(&whole).unwrap_or_default()
    };
    let whole = with(&document, "sha256", digest.to_string().into());
    let item = document.get("item").and_then(Value::as_str).map(str::parse::<Ref>);
    let timeout = document.get("timeout_ms").and_then(Value::as_u64);
    match (PlanFile::read(&whole), item, timeout) {
        (Ok(file), Some(Ok(item)), Some(timeout)) => {
            assert_eq!((file.item(), file.digest()), (&item, digest));
            assert_eq!(file.timeout().as_millis(), timeout.into());
            assert_eq!(file.params(), None);
        }
        (Ok(file), ..) => panic!("{file:?}"),
        (Err(error), item, timeout) => {
            assert!(!matches!(item, Some(Ok(_))) || timeout.is_none(), "{error}");
        }
    }
    for (key, value) in [("more", json!(1)), ("params", "[]".into()), ("format", "x".into())] {
        if document.get(key) != Some(&value) {
            assert!(PlanFile::read(&with(&document, key, value)).is_err(), "{key} was put in");
        }
    }
    say_what_differs(&document);
}

fn say_what_differs(document: &Value) {
    assert_eq!(differences(document, document), []);
    let Value::Object(map) = document else { return };
    for key in map.keys() {
        let mut other = map.clone();
        other.insert(key.clone(), json!(["another"]));
        let found = differences(document, &Value::Object(other));
        assert_eq!(found.is_empty(), map[key] == json!(["another"]), "{key}");
        let mut fewer = map.clone();
        fewer.shift_remove(key);
        assert!(!differences(document, &Value::Object(fewer)).is_empty(), "{key} is gone");
    }
}

/// The paths that are read of an index fit into it.
pub(crate) fn git_index(data: &[u8]) {
    let Some(links) = gitlinks(data) else { return };
    assert!(data.starts_with(b"DIRC"));
    assert!(links.paths.iter().all(|path| !path.is_empty() && !path.contains(&0)));
    assert!(links.paths.len() * 62 <= data.len(), "each has an entry of its own");
    if let Some(shared) = &links.shared {
        assert!(matches!(shared.len(), 40 | 64) && shared.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
