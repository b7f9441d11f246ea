//! Permissions as capabilities: `rye.<execute|fetch|sign>.<kind>.<dotted id pattern>` (core 6.3).

use std::collections::HashSet;

use serde_json::{Value, json};

use super::element::Element;
use crate::base::text::escape_line;
use crate::parse::error::ParseFault;

const ACTIONS: [&str; 3] = ["execute", "fetch", "sign"];
const KINDS: [&str; 3] = ["tool", "directive", "knowledge"];

/// How much a permission leaves to a model; the least first (threads 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RiskClass {
    /// It only reads items.
    Safe,
    /// It runs items that were named.
    Write,
    /// It runs whatever the model writes, or something as grave.
    Elevated,
    /// It runs every tool that there is.
    Unrestricted,
}

impl RiskClass {
    pub(crate) const ALL: [Self; 4] = [Self::Safe, Self::Write, Self::Elevated, Self::Unrestricted];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Write => "write",
            Self::Elevated => "elevated",
            Self::Unrestricted => "unrestricted",
        }
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

/// A class of risk that the author acknowledges, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) risk: RiskClass,
    pub(crate) why: String,
}

impl Acknowledged {
    pub(crate) fn to_json(&self) -> Value {
        json!({"risk": self.risk.as_str(), "why": self.why})
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
            other => Err(kind_is_missing(action, other)),
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

/// The fault of an action that names an item without saying of which kind it is.
fn kind_is_missing(action: Element<'_>, pattern: &str) -> ParseFault {
    let named = of_ref(pattern).filter(|_| !KINDS.contains(&pattern));
    let Some((kind, dotted)) = named else { return pattern_fault(action, pattern) };
    let name = action.name();
    action.fault(format!(
        "`<{name}>` holds a kind or `*`, not `{pattern}`; write \
         `<{name}><{kind}>{dotted}</{kind}></{name}>`"
    ))
}

/// A ref or a pattern without its kind as kind and dotted pattern; a tool where it names no kind.
fn of_ref(text: &str) -> Option<(&str, String)> {
    let (kind, rest) = text.split_once(':').unwrap_or(("tool", text));
    let known = KINDS.contains(&kind);
    dotted(rest).filter(|_| known).map(|pattern| (kind, pattern))
}

fn pattern_fault(element: Element<'_>, pattern: &str) -> ParseFault {
    // The ref of an item is what every other place takes.
    let is_ref = pattern.contains(':') && KINDS.contains(&element.name());
    let hint = match of_ref(pattern).filter(|_| is_ref) {
        Some((kind, dotted)) if kind == element.name() => format!("; write `{dotted}`"),
        Some((kind, dotted)) => format!("; write `<{kind}>{dotted}</{kind}>`"),
        None => String::new(),
    };
    let (pattern, name) = (escape_line(pattern), element.name());
    element.fault(format!("`{pattern}` in `<{name}>` is not a pattern over dotted ids{hint}"))
}

/// The risks that `<acknowledge risk="…">why</acknowledge>` elements name.
pub(super) fn acknowledged(element: Element<'_>) -> Result<Vec<Acknowledged>, ParseFault> {
    let children = element.children().filter(|child| child.name() == "acknowledge");
    children
        .map(|child| {
            child.only(&["risk"])?;
            let Some(risk) = child.attribute("risk").map(str::trim).filter(|risk| !risk.is_empty())
            else {
                return Err(child.fault("an `<acknowledge>` has no `risk`"));
            };
            let Some(class) = RiskClass::from_text(risk) else {
                let known = RiskClass::ALL.map(RiskClass::as_str);
                return Err(child.unknown(risk, &known, "not a class of risk in"));
            };
            Ok(Acknowledged { risk: class, why: child.line()? })
        })
        .collect()
}
