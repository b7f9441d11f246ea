//! Templates of signed items: `${VAR}`, `${VAR:-default}` and `{name}` (core 7.7).
//!
//! One pass from left to right over the template; what is inserted is never looked at again.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::params::Params;
use super::pieces::{Piece, Pieces, SHOWN};

/// The value of `{name}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Named {
    Text(String),
    /// A path below the private folder of the run.
    Private(String),
    /// The caller's parameters.
    Params(Params),
}

impl Named {
    fn piece(&self) -> Piece {
        match self {
            Self::Text(text) => Piece::Text(text.clone()),
            Self::Private(below) => Piece::Private(below.clone()),
            Self::Params(params) => Piece::Params(params.clone()),
        }
    }
}

/// The names of templates.
pub(super) type Names = BTreeMap<&'static str, Named>;

/// Parameters that a body may name; `None` for one that was not given.
pub(super) type BodyParams<'a> = BTreeMap<&'a str, Option<&'a Value>>;

/// Where templates take their values from.
pub(super) struct Scope<'a> {
    pub(super) names: &'a Names,
    /// `${VAR}`: the child's environment as resolved so far.
    pub(super) env: &'a BTreeMap<String, Pieces>,
    /// In the body of an HTTP request only.
    pub(super) params: Option<&'a BodyParams<'a>>,
}

impl Scope<'_> {
    /// Expands a text. A variable without value and default is empty; an unknown `{name}` stays.
    pub(super) fn pieces(&self, template: &str) -> Pieces {
        self.expand(template, true)
    }

    /// Expands a text where there is no private folder.
    pub(super) fn text(&self, template: &str) -> String {
        self.pieces(template).shown()
    }

    /// Expands the names alone: a text that holds no value of the environment.
    pub(super) fn names_only(&self, template: &str) -> String {
        self.expand(template, false).shown()
    }

    fn expand(&self, template: &str, with_env: bool) -> Pieces {
        let mut out = Pieces::default();
        // Behind the last brace stands no placeholder; asking at each sign would take too long.
        let closed = closed(template).len();
        let mut rest = template;
        while let Some(at) = rest.find(['$', '{']) {
            out.push_text(&rest[..at]);
            rest = &rest[at..];
            if template.len() - rest.len() >= closed {
                break;
            }
            let taken = match variable(rest) {
                Some((name, default, length)) if with_env => {
                    match self.env.get(name).filter(|value| !value.is_empty()) {
                        Some(value) => out.extend(value),
                        None => out.push_text(default),
                    }
                    length
                }
                Some((_, _, length)) => {
                    out.push_text(&rest[..length]);
                    length
                }
                None => match name(rest).and_then(|n| Some((n, self.named(n)?))) {
                    Some((name, piece)) => {
                        out.push(piece);
                        name.len() + 2
                    }
                    None => {
                        out.push_text(&rest[..1]);
                        1
                    }
                },
            };
            rest = &rest[taken..];
        }
        out.push_text(rest);
        out
    }

    /// The value of a name, if there is one: rye's own names come before parameters, and a
    /// parameter that was not given is empty.
    fn named(&self, name: &str) -> Option<Piece> {
        let own = self.names.get(name).map(Named::piece);
        own.or_else(|| Some(Piece::Text(self.params?.get(name)?.map(plain).unwrap_or_default())))
    }

    /// Expands every string of a value, with the private folder at `pin`; one that is exactly
    /// `{params_json}` is the parameters themselves.
    pub(super) fn value_at(&self, template: &Value, pin: &Path) -> Value {
        match template {
            Value::String(text) => match named(text).and_then(|name| self.names.get(name)) {
                Some(Named::Params(params)) => Value::Object(params.as_map().clone()),
                _ => Value::String(self.pieces(text).render(pin)),
            },
            Value::Array(items) => items.iter().map(|item| self.value_at(item, pin)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(k, v)| (k.clone(), self.value_at(v, pin))).collect())
            }
            other => other.clone(),
        }
    }

    /// As [`Self::value_at`], but where there is no private folder.
    pub(super) fn value(&self, template: &Value) -> Value {
        self.value_at(template, Path::new(SHOWN))
    }

    /// The text of a value that goes to a child: a string as it is, nothing for null, else JSON.
    pub(super) fn input(&self, template: &Value, pin: &Path) -> String {
        match template {
            Value::Null => String::new(),
            Value::String(text) => self.pieces(text).render(pin),
            other => plain(&self.value_at(other, pin)),
        }
    }
}

/// The name in a template that is exactly `{name}`.
pub(super) fn named(template: &str) -> Option<&str> {
    name(template).filter(|name| name.len() + 2 == template.len())
}

/// The names of the variables that a template uses, also those inside of defaults.
pub(super) fn variables(template: &str) -> Vec<&str> {
    let closed = closed(template);
    let places = closed.match_indices("${");
    let used = places.filter_map(|(at, open)| head(&closed[at + open.len()..]));
    let closes = |behind: &str| behind.starts_with('}') || behind.starts_with(":-");
    used.filter(|(_, behind)| closes(behind)).map(|(name, _)| name).collect()
}

/// The `{name}`s of a template, known or not; `${…}` is a variable.
pub(super) fn names(template: &str) -> Vec<&str> {
    let closed = closed(template);
    let braces = closed.match_indices('{').filter(|(at, _)| !closed[..*at].ends_with('$'));
    braces.filter_map(|(at, _)| name(&closed[at..])).collect()
}

/// The template up to its last closing brace.
fn closed(template: &str) -> &str {
    &template[..template.rfind('}').map_or(0, |at| at + 1)]
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
    let (name, behind) = head(text.strip_prefix("${")?)?;
    let (default, rest) = match behind.strip_prefix(":-") {
        Some(words) => words.split_once('}')?,
        None => ("", behind.strip_prefix('}')?),
    };
    Some((name, default, text.len() - rest.len()))
}

/// The variable's name at the start, and what stands behind it.
fn head(text: &str) -> Option<(&str, &str)> {
    let part = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    let (name, behind) = text.split_at(text.bytes().position(|b| !part(b)).unwrap_or(text.len()));
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some((name, behind))
}

/// `{name}` at the start: the name.
fn name(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let name = &inner[..inner.bytes().position(|b| !plain(b))?];
    (!name.is_empty() && inner[name.len()..].starts_with('}')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Named, Names, Params, Pieces, Scope, variables};
    use serde_json::{Value, json};

    fn params(value: &Value) -> Named {
        Named::Params(Params::new(value.as_object().cloned().unwrap_or_default()))
    }

    fn expand(template: &str) -> String {
        let names: Names = [
            ("tool_path", Named::Text("/p/{project_path}".into())),
            ("params_json", params(&json!({"a": "${HOME}"}))),
        ]
        .into();
        let env = [("HOME", "/h/{tool_path}${HOME}"), ("EMPTY", "")];
        let env = env.map(|(name, value)| (name.to_owned(), Pieces::text(value))).into();
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
        let names: Names = [("project_path", Named::Text("/p/${HOME}".into()))].into();
        let env = [("HOME".to_owned(), Pieces::text("/h"))].into();
        let scope = Scope { names: &names, env: &env, params: None };
        let got = scope.names_only("${HOME}/{project_path}/${NONE:-{project_path}}");
        assert_eq!(got, "${HOME}//p/${HOME}/${NONE:-{project_path}}");
    }

    #[test]
    fn the_variables_of_a_template_are_listed() {
        let rows = [
            ("${A}-${B1:-x}${_}", vec!["A", "B1", "_"]),
            ("${A:-${B}}${C:-d", vec!["A", "B"]),
            ("${A:-${B:-c}", vec!["A", "B"]),
            ("${1}${a}${A-b}${A:b}${}$A{A}${A", vec![]),
        ];
        for (template, want) in rows {
            assert_eq!(variables(template), want, "{template}");
        }
    }

    /// 1 MiB here; the whole is 4.
    #[test]
    fn hostile_templates_take_linear_time() {
        let size = if crate::base::whole_tests() { 4 << 20 } else { 1 << 20 };
        for piece in ["{", "$", "${", "${A", "${A:-", "{a", "{tool_path", "${A:-{a"] {
            let open = piece.repeat(size / piece.len());
            assert_eq!(expand(&open), open, "{piece}");
            assert_eq!(variables(&open), [""; 0], "{piece}");
            let closed = format!("{open}}}");
            assert!(expand(&closed).len() <= closed.len() * 32, "{piece}");
            assert!(variables(&closed).len() <= size, "{piece}");
        }
    }

    #[test]
    fn an_exact_name_keeps_its_type() {
        let names: Names = [("params_json", params(&json!({"a": 1})))].into();
        let env = std::collections::BTreeMap::new();
        let scope = Scope { names: &names, env: &env, params: None };
        let got = scope.value(&json!({"p": "{params_json}", "q": ["x{params_json}", 7]}));
        assert_eq!(got, json!({"p": {"a": 1}, "q": ["x{\"a\":1}", 7]}));
    }
}
