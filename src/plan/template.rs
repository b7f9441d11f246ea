//! Templates of signed items: `${VAR}`, `${VAR:-default}` and `{name}` (core 7.7).
//!
//! One pass from left to right over the template; what is inserted is never looked at again.

use std::collections::BTreeMap;

use serde_json::Value;

/// What `{name}` stands for.
pub(super) type Names = BTreeMap<&'static str, Value>;

/// Where templates take their values from.
pub(super) struct Scope<'a> {
    pub(super) names: &'a Names,
    /// `${VAR}`: the child's environment as resolved so far.
    pub(super) env: &'a BTreeMap<String, String>,
    /// In the body of an HTTP request only: declared parameters; `None` for one that was not given.
    pub(super) params: Option<&'a BTreeMap<String, Option<Value>>>,
}

impl Scope<'_> {
    /// Expands a text. A variable without value and default is empty; an unknown `{name}` stays.
    pub(super) fn text(&self, template: &str) -> String {
        self.expand(template, true)
    }

    /// Expands the names alone: a text that holds no value of the environment.
    pub(super) fn names_only(&self, template: &str) -> String {
        self.expand(template, false)
    }

    fn expand(&self, template: &str, with_env: bool) -> String {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['$', '{']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = match variable(rest) {
                Some((name, default, length)) if with_env => {
                    let value = self.env.get(name).filter(|v| !v.is_empty());
                    out.push_str(value.map_or(default, String::as_str));
                    length
                }
                Some((_, _, length)) => {
                    out.push_str(&rest[..length]);
                    length
                }
                None => match name(rest).and_then(|n| Some((n, self.named(n)?))) {
                    Some((name, value)) => {
                        out.push_str(&value);
                        name.len() + 2
                    }
                    None => {
                        out.push_str(&rest[..1]);
                        1
                    }
                },
            };
            rest = &rest[taken..];
        }
        out.push_str(rest);
        out
    }

    /// The text for a name, if it stands for anything: rye's own names come before parameters, and one
    /// that was not given is empty.
    fn named(&self, name: &str) -> Option<String> {
        let own = self.names.get(name).map(plain);
        own.or_else(|| Some(self.params?.get(name)?.as_ref().map(plain).unwrap_or_default()))
    }

    /// Expands every string of a value; one that is exactly `{name}` keeps the value's type.
    pub(super) fn value(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => match named(text) {
                Some(name) if self.names.contains_key(name) => self.names[name].clone(),
                _ => Value::String(self.text(text)),
            },
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(k, v)| (k.clone(), self.value(v))).collect())
            }
            other => other.clone(),
        }
    }
}

/// The name in a template that is exactly `{name}`.
pub(super) fn named(template: &str) -> Option<&str> {
    name(template).filter(|name| name.len() + 2 == template.len())
}

/// The names of the variables that a template uses.
pub(super) fn variables(template: &str) -> Vec<&str> {
    let places = template.match_indices('$');
    places.filter_map(|(at, _)| variable(&template[at..])).map(|(name, _, _)| name).collect()
}

/// A string as it is, anything else as compact JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `${NAME}` or `${NAME:-default}` at the start: name, default, length.
fn variable(text: &str) -> Option<(&str, &str, usize)> {
    let inner = text.strip_prefix("${")?;
    let end = inner.find('}')?;
    let (name, default) = match inner[..end].split_once(":-") {
        Some((name, default)) => (name, default),
        None => (&inner[..end], ""),
    };
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_uppercase() || b == b'_');
    let rest = letters.all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (first && rest).then_some((name, default, end + 3))
}

/// `{name}` at the start: the name.
fn name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let name = &inner[..inner.find('}')?];
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    (!name.is_empty() && name.bytes().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Names, Scope};
    use serde_json::json;

    fn expand(template: &str) -> String {
        let names: Names =
            [("tool_path", json!("/p/{project_path}")), ("params_json", json!({"a": "${HOME}"}))]
                .into();
        let env = [("HOME", "/h/{tool_path}${HOME}"), ("EMPTY", "")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Scope { names: &names, env: &env, params: None }.text(template)
    }

    #[test]
    fn templates_table() {
        let rows = [
            ("", ""),
            ("plain $ { } ${ {", "plain $ { } ${ {"),
            ("${HOME}", "/h/{tool_path}${HOME}"),
            ("${NONE}", ""),
            ("${NONE:-x y}", "x y"),
            ("${EMPTY:-d}", "d"),
            ("${NONE:-{tool_path}}", "{tool_path}"),
            ("${home}", "${home}"),
            ("$HOME", "$HOME"),
            ("$${HOME}", "$/h/{tool_path}${HOME}"),
            ("{tool_path}:{tool_path}", "/p/{project_path}:/p/{project_path}"),
            ("{unknown} {Tool_Path} {tool path}", "{unknown} {Tool_Path} {tool path}"),
            ("{{tool_path}}", "{/p/{project_path}}"),
            ("{params_json}", "{\"a\":\"${HOME}\"}"),
            ("ü{tool_path}ü", "ü/p/{project_path}ü"),
        ];
        for (template, want) in rows {
            assert_eq!(expand(template), want, "{template}");
        }
    }

    #[test]
    fn names_alone_leave_variables_as_they_stand() {
        let names: Names = [("project_path", json!("/p/${HOME}"))].into();
        let env = [("HOME".to_owned(), "/h".to_owned())].into();
        let scope = Scope { names: &names, env: &env, params: None };
        let got = scope.names_only("${HOME}/{project_path}/${NONE:-{project_path}}");
        assert_eq!(got, "${HOME}//p/${HOME}/${NONE:-{project_path}}");
    }

    #[test]
    fn an_exact_name_keeps_its_type() {
        let names: Names = [("params_json", json!({"a": 1}))].into();
        let env = std::collections::BTreeMap::new();
        let scope = Scope { names: &names, env: &env, params: None };
        let got = scope.value(&json!({"p": "{params_json}", "q": ["x{params_json}", 7]}));
        assert_eq!(got, json!({"p": {"a": 1}, "q": ["x{\"a\":1}", 7]}));
    }
}
