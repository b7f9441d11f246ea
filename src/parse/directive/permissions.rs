//! Permissions as capabilities: `rye.<execute|fetch|sign>.<kind>.<dotted id pattern>` (core 6.3).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::element::Element;
use crate::base::text::escape_line;
use crate::parse::error::ParseFault;

const ACTIONS: [&str; 3] = ["execute", "fetch", "sign"];
const KINDS: [&str; 3] = ["tool", "directive", "knowledge"];

/// A risk that the author acknowledges, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) risk: String,
    pub(crate) why: String,
}

impl Acknowledged {
    pub(crate) fn to_json(&self) -> Value {
        json!({"risk": self.risk, "why": self.why})
    }
}

/// The capabilities of `<permissions>`, in their order and without duplicates. A bare `*` inside an
/// action means that action on every kind; a bare `*` outside means every action.
pub(super) fn capabilities(element: Element<'_>) -> Result<Vec<String>, ParseFault> {
    let mut found = Vec::new();
    if element.children().next().is_none() {
        match element.text()?.as_str() {
            "" => {}
            "*" => found.extend(ACTIONS.map(|action| format!("rye.{action}.*"))),
            other => return Err(pattern_fault(element, other)),
        }
    }
    for action in element.children().filter(|child| child.name() != "acknowledge") {
        if !ACTIONS.contains(&action.name()) {
            return Err(element.unknown(action.name(), &ACTIONS, "not a part of"));
        }
        of_action(action, &mut found)?;
    }
    let mut seen = HashSet::new();
    found.retain(|capability| seen.insert(capability.clone()));
    Ok(found)
}

fn of_action(action: Element<'_>, found: &mut Vec<String>) -> Result<(), ParseFault> {
    let name = action.name();
    action.only(&[])?;
    if action.children().next().is_none() {
        return match action.text()?.as_str() {
            "" => Ok(()),
            "*" => {
                found.push(format!("rye.{name}.*"));
                Ok(())
            }
            other => Err(pattern_fault(action, other)),
        };
    }
    for kind in action.children() {
        if !KINDS.contains(&kind.name()) {
            return Err(action.unknown(kind.name(), &KINDS, "not a part of"));
        }
        kind.only(&[])?;
        let pattern = kind.text()?;
        let pattern = dotted(&pattern).ok_or_else(|| pattern_fault(kind, &pattern))?;
        found.push(format!("rye.{name}.{}.{pattern}", kind.name()));
    }
    Ok(())
}

/// A pattern with dots. In a pattern that is written as a path, slashes become dots, and dots
/// inside its segments become `%2E`, so that `a/b.c` and `a/b/c` differ.
fn dotted(pattern: &str) -> Option<String> {
    let is_path = pattern.contains('/');
    if is_path && pattern.split('/').any(|segment| segment.starts_with('.')) {
        return None;
    }
    let dotted =
        if is_path { pattern.replace('.', "%2E").replace('/', ".") } else { pattern.to_owned() };
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'*' | b'%');
    let fits = dotted.split('.').all(|segment| !segment.is_empty() && segment.bytes().all(part));
    fits.then_some(dotted)
}

fn pattern_fault(element: Element<'_>, pattern: &str) -> ParseFault {
    let pattern = escape_line(pattern);
    element.fault(format!("`{pattern}` in `<{}>` is not a pattern over dotted ids", element.name()))
}

/// The risks that `<acknowledge risk="…">why</acknowledge>` elements name.
pub(super) fn acknowledged(element: Element<'_>) -> Result<Vec<Acknowledged>, ParseFault> {
    let children = element.children().filter(|child| child.name() == "acknowledge");
    children
        .map(|child| match child.attribute("risk").map(str::trim) {
            Some(risk) if !risk.is_empty() => {
                Ok(Acknowledged { risk: risk.to_owned(), why: child.line()? })
            }
            _ => Err(child.fault("an `<acknowledge>` has no `risk`")),
        })
        .collect()
}
