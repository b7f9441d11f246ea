//! A document whose every fault has its line and column.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::error::{IMPORT_MISSING, IMPORT_SYNTAX, IMPORT_UNKNOWN_KEY, IMPORT_VALUE, help};
use crate::base::text::{Position, escape_line, near, unfit};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::parse::{json, yaml, yaml_position};

/// Most faults of an imported document that are told at once: each is looked up from its top, and
/// no person mends more in one go.
const IMPORT_FAULTS: usize = 64;

/// A text, and what is wrong with it.
pub(super) struct Doc<'t> {
    /// The path as the person gave it.
    path: &'t str,
    text: &'t str,
    faults: RefCell<Vec<Diagnostic>>,
}

impl<'t> Doc<'t> {
    pub(super) fn new(path: &'t str, text: &'t str) -> Self {
        Self { path, text, faults: RefCell::default() }
    }

    /// The document as YAML; one that is none has its fault.
    pub(super) fn yaml(&self) -> Option<Value> {
        self.read(yaml(self.text).map_err(|fault| (fault.why, fault.position)))
    }

    /// The document as JSON.
    pub(super) fn json(&self) -> Option<Value> {
        self.read(json(self.text).map_err(|fault| (fault.why, fault.position)))
    }

    fn read(&self, read: Result<Value, (String, Option<Position>)>) -> Option<Value> {
        let fault = |(why, at)| self.push(IMPORT_SYNTAX, at, format!("`{}`: {why}", self.name()));
        read.map_err(fault).ok()
    }

    fn name(&self) -> String {
        escape_line(self.path)
    }

    fn push(&self, code: Code, at: Option<Position>, message: String) {
        let place = Place { path: self.name(), ..Place::default() };
        let place = Some(at.map_or(place.clone(), |at| place.at(at)));
        let mut faults = self.faults.borrow_mut();
        // Each is looked for from the top; who has more mends these first.
        if faults.len() < IMPORT_FAULTS {
            let (item, data) = (None, Map::new());
            faults.push(Diagnostic { code, message, help: Some(help(code)), place, item, data });
        }
    }

    /// The faults that were found, in the order of the text.
    pub(super) fn into_faults(self) -> Vec<Diagnostic> {
        let mut faults = self.faults.into_inner();
        let at = |fault: &Diagnostic| fault.place.as_ref().map(|place| (place.line, place.column));
        faults.sort_by_key(at);
        faults
    }
}

/// A node of a document: where it stands.
#[derive(Clone)]
pub(super) struct Spot<'d> {
    doc: &'d Doc<'d>,
    path: Vec<String>,
}

impl<'d> Spot<'d> {
    pub(super) fn top(doc: &'d Doc<'d>) -> Self {
        Self { doc, path: Vec::new() }
    }

    pub(super) fn below(&self, step: &str) -> Self {
        let mut path = self.path.clone();
        path.push(step.to_string());
        Self { doc: self.doc, path }
    }

    /// Records what is wrong with the node's value: `why` follows its path.
    pub(super) fn fault(&self, code: Code, why: &str) {
        self.push(code, false, why);
    }

    /// Records what is wrong with the node's key, or with what is not below it.
    pub(super) fn fault_of_key(&self, code: Code, why: &str) {
        self.push(code, true, why);
    }

    /// The same, unless something else is wrong with the document already.
    pub(super) fn fault_unless_others(&self, code: Code, why: &str) {
        if self.doc.faults.borrow().is_empty() {
            self.push(code, false, why);
        }
    }

    fn push(&self, code: Code, key: bool, why: &str) {
        let at = yaml_position(self.doc.text, &self.path, key && !self.path.is_empty());
        let message = match self.path.is_empty() {
            true => format!("`{}` {why}", self.doc.name()),
            false => format!("`{self}` {why}"),
        };
        self.doc.push(code, at, message);
    }

    /// The mapping that stands here.
    pub(super) fn map(self, value: &'d Value) -> Option<Fields<'d>> {
        match value {
            Value::Object(map) => Some(Fields { spot: self, map }),
            other => {
                self.wrong("a mapping", other);
                None
            }
        }
    }

    /// The text that stands here. A number is taken for the text that it was written as.
    fn string(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => return Some(text.clone()),
            Value::Number(number) if self.reads(&number.to_string()) => {
                return Some(number.to_string());
            }
            other => self.wrong("a string", other),
        }
        None
    }

    /// Returns true if exactly these characters stand at the place of the node.
    fn reads(&self, text: &str) -> bool {
        let at = yaml_position(self.doc.text, &self.path, false);
        let line = at.and_then(|at| Some((self.doc.text.lines().nth(at.line - 1)?, at.column)));
        let rest: String =
            line.map(|(line, column)| line.chars().skip(column - 1).collect()).unwrap_or_default();
        let rest = rest.strip_prefix(text);
        rest.is_some_and(|rest| rest.chars().next().is_none_or(|c| matches!(c, ' ' | ',' | ']')))
    }

    fn wrong(&self, wanted: &str, got: &Value) {
        let (got, hint) = match got {
            Value::Null => {
                return self.fault_of_key(IMPORT_VALUE, &format!("is null, and not {wanted}"));
            }
            Value::Bool(_) => ("a boolean", true),
            Value::Number(_) => ("a number", true),
            Value::String(_) => ("a string", false),
            Value::Array(_) => ("a list", false),
            Value::Object(_) => ("a mapping", false),
        };
        let hint = if hint && wanted == "a string" { ": put it in quotes" } else { "" };
        self.fault(IMPORT_VALUE, &format!("must be {wanted}, not {got}{hint}"));
    }
}

/// The path as people say it: `spec.tools.a.exec.args[0]`.
impl std::fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, step) in self.path.iter().enumerate() {
            match step.bytes().all(|b| b.is_ascii_digit()) {
                true => write!(f, "[{step}]")?,
                false if at == 0 => write!(f, "{}", escape_line(step))?,
                false => write!(f, ".{}", escape_line(step))?,
            }
        }
        Ok(())
    }
}

/// A mapping of a document. A getter that gives nothing has said why, unless the key is not there.
pub(super) struct Fields<'d> {
    pub(super) spot: Spot<'d>,
    map: &'d Map<String, Value>,
}

impl<'d> Fields<'d> {
    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'d Value> {
        self.map.get(key)
    }

    pub(super) fn at(&self, key: &str) -> Spot<'d> {
        self.spot.below(key)
    }

    /// Every key of the mapping, with its value.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'d String, &'d Value)> {
        self.map.iter()
    }

    /// Faults keys that are none of `known`.
    pub(super) fn only(&self, known: &[&str]) {
        self.only_these(known, &[]);
    }

    /// Faults keys that are in neither `known` nor `others`; none of `others` is suggested for one.
    pub(super) fn only_these(&self, known: &[&str], others: &[&str]) {
        let is_known =
            |key: &&String| known.contains(&key.as_str()) || others.contains(&key.as_str());
        for key in self.map.keys().filter(|key| !is_known(key)) {
            let near = near(key, known.iter().copied(), 1).pop();
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.at(key).fault_of_key(IMPORT_UNKNOWN_KEY, &format!("is not known here{near}"));
        }
    }

    pub(super) fn map(&self, key: &str) -> Option<Fields<'d>> {
        self.at(key).map(self.map.get(key)?)
    }

    pub(super) fn string(&self, key: &str) -> Option<String> {
        self.at(key).string(self.map.get(key)?)
    }

    /// A text that people and models read: nothing in it is hidden from them.
    pub(super) fn readable(&self, key: &str) -> Option<String> {
        let text = self.string(key)?;
        if let Some(found) = unfit(&text) {
            let why = format!("holds the character U+{:04X}", u32::from(found.char));
            self.at(key).fault(IMPORT_VALUE, &why);
        }
        Some(text)
    }

    /// A string that must be there and say something.
    pub(super) fn needed(&self, key: &str) -> Option<String> {
        if !self.has(key) {
            self.spot.fault_of_key(IMPORT_MISSING, &format!("has no `{key}`"));
        }
        let text = self.string(key)?;
        if text.trim().is_empty() {
            self.at(key).fault(IMPORT_MISSING, "is empty");
            return None;
        }
        Some(text)
    }

    /// A string that is one of `known`.
    pub(super) fn one_of(&self, key: &str, known: &[&'static str]) -> Option<&'static str> {
        let text = self.string(key)?;
        one_of(&self.at(key), &text, known)
    }

    /// A list of strings, each with its place.
    pub(super) fn strings(&self, key: &str) -> Vec<(Spot<'d>, String)> {
        let Some(value) = self.map.get(key) else { return Vec::new() };
        let Value::Array(list) = value else {
            self.at(key).wrong("a list", value);
            return Vec::new();
        };
        let entries =
            list.iter().enumerate().map(|(at, entry)| (self.at(key).below(&at.to_string()), entry));
        entries
            .filter_map(|(spot, entry)| {
                if entry.is_null() {
                    spot.fault(IMPORT_VALUE, "is null, and not a string");
                    return None;
                }
                let text = spot.string(entry)?;
                Some((spot, text))
            })
            .collect()
    }

    /// A whole number from 1 to `most`.
    pub(super) fn positive(&self, key: &str, most: u64) -> Option<u64> {
        let value = self.map.get(key)?;
        let number = value.as_u64().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            match value {
                Value::Null => self.at(key).wrong("a number", value),
                _ => self
                    .at(key)
                    .fault(IMPORT_VALUE, &format!("must be a whole number from 1 to {most}")),
            }
        }
        number
    }
}

/// The one of `known` that a text is.
pub(super) fn one_of(spot: &Spot<'_>, text: &str, known: &[&'static str]) -> Option<&'static str> {
    let found = known.iter().find(|word| **word == text).copied();
    if found.is_none() {
        let near = near(text, known.iter().copied(), 1).pop();
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let known = known.join("`, `");
        spot.fault(
            IMPORT_VALUE,
            &format!("is `{}`, and not one of `{known}`{near}", escape_line(text)),
        );
    }
    found
}
