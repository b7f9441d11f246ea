//! How much a permission leaves to a model: classes by pattern (threads 3).
//!
//! A class is of what is permitted, and says whether its author has to acknowledge it. The tier of
//! an item (`rye/risk.rs`) is something else: it says what that item itself could touch.

use serde_json::Value;

use super::permissions::patterns;
use super::{config_fault, configured, may_loosen, only};
use crate::base::text::near;
use crate::chain::Lineage;
use crate::diagnostic::Failure;
use crate::id::{Kind, Pattern};
use crate::parse::{Directive, RiskClass};
use crate::plan::ConfigCopy;
use crate::rye::load::Loader;
use crate::thread::ThreadError;

/// Most rows of one copy of `config:agent/risk`: each is held against each permission.
const RISK_ROWS: usize = 256;

/// The item that says which permissions are of which class.
pub(super) const RISK: &str = "config:agent/risk";
/// Its key, with a class for each pattern over capabilities.
const CLASSES: &str = "classes";

/// The classes where nothing is configured: for a model that writes a command line, and for one
/// that asks for signatures.
const SHIPPED: [(&str, RiskClass); 3] = [
    ("rye.execute.tool.rye.bash", RiskClass::Elevated),
    ("rye.execute.tool.rye.workspace.run_shell_command", RiskClass::Elevated),
    ("rye.sign.*", RiskClass::Elevated),
];

/// The actions of capabilities, each with the class that its permissions have at the least.
const ACTIONS: [(&str, RiskClass); 3] =
    [("execute", RiskClass::Write), ("fetch", RiskClass::Safe), ("sign", RiskClass::Safe)];

/// One pattern over capabilities, and its class.
struct RiskRow {
    capability: String,
    action: &'static str,
    pattern: Pattern,
    class: RiskClass,
}

/// The class of what a thread is permitted, which its author has acknowledged where that is needed.
///
/// # Errors
/// `thread.risk_not_acknowledged`, `thread.bad_config`; whatever a copy of the configuration is
/// refused with.
pub(crate) fn acknowledged(loader: &Loader<'_>, lineage: &Lineage) -> Result<RiskClass, Failure> {
    let mut links = lineage.sources().zip(lineage.directives());
    let declared = links.find_map(|(source, one)| Some((source, one, one.permissions.as_ref()?)));
    let Some((source, directive, permissions)) = declared else { return Ok(RiskClass::Safe) };
    let rows = rows(loader)?;
    let classed = permissions.iter().map(|one| (class(one, &rows), one));
    // Of several of one class the first is told.
    let gravest = classed.reduce(|one, other| if other.0 > one.0 { other } else { one });
    let Some((class, capability)) = gravest else { return Ok(RiskClass::Safe) };
    if is_to_acknowledge(class, directive) {
        return Err(ThreadError::RiskNotAcknowledged {
            directive: source.item().clone(),
            capability: capability.clone(),
            class: class.as_str(),
        }
        .into());
    }
    Ok(class)
}

/// The class that has to be acknowledged before this capability may be permitted as well, and is
/// not. Where the configuration is not valid no thread starts, so nothing is told of it here.
pub(crate) fn to_acknowledge(
    loader: &Loader<'_>,
    lineage: &Lineage,
    capability: &str,
) -> Option<&'static str> {
    let declares = lineage.directives().find(|one| one.permissions.is_some());
    let class = class(capability, &rows(loader).ok()?);
    let is_lacking = is_to_acknowledge(class, declares.unwrap_or(&lineage.directive));
    is_lacking.then(|| class.as_str())
}

/// Returns true if a class has to be acknowledged and the directive does not do so.
fn is_to_acknowledge(class: RiskClass, directive: &Directive) -> bool {
    let said = directive.acknowledged.iter().map(|acknowledged| acknowledged.risk).max();
    class >= RiskClass::Elevated && said.is_none_or(|said| said < class)
}

/// The gravest class of the patterns that share an item with a capability.
fn class(capability: &str, rows: &[RiskRow]) -> RiskClass {
    let of_action = |(action, least): (&'static str, RiskClass)| {
        let own = patterns(&[capability.to_owned()], action).pop()?;
        let is_met = |row: &&RiskRow| row.action == action && row.pattern.meets(&own);
        let class = rows.iter().filter(is_met).map(|row| row.class).max();
        let names_none = action == "execute" && is_every_tool(&own);
        let breadth = if names_none { RiskClass::Unrestricted } else { least };
        Some(class.map_or(breadth, |class| class.max(breadth)))
    };
    // What is no pattern reaches nothing.
    ACTIONS.into_iter().find_map(of_action).unwrap_or(RiskClass::Safe)
}

/// Returns true if the pattern names no part of an id, so that no configuration lowers its class.
fn is_every_tool(pattern: &Pattern) -> bool {
    let id = pattern.as_str().split_once(':').map_or("", |(_, id)| id);
    pattern.kind().is_none_or(|kind| kind == Kind::Tool)
        && id.bytes().all(|sign| matches!(sign, b'*' | b'/'))
}

/// The configured classes over the shipped ones. The person and the system replace the class of the
/// same pattern; a project adds classes, of which the gravest counts.
fn rows(loader: &Loader<'_>) -> Result<Vec<RiskRow>, Failure> {
    let mut rows = Vec::new();
    for (capability, class) in SHIPPED {
        rows.extend(row(capability, class));
    }
    for copy in configured(loader, RISK)? {
        for row in own_rows(&copy)? {
            if may_loosen(&copy, loader) {
                rows.retain(|other| other.capability != row.capability);
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The rows of one copy of the configuration.
///
/// # Errors
/// `thread.bad_config`
fn own_rows(copy: &ConfigCopy) -> Result<Vec<RiskRow>, Failure> {
    only(copy, &[CLASSES])?;
    let classes = match copy.value.get(CLASSES) {
        None => return Ok(Vec::new()),
        Some(Value::Object(classes)) if classes.len() <= RISK_ROWS => classes,
        Some(Value::Object(_)) => {
            return Err(config_fault(copy, CLASSES, format!("has more than {RISK_ROWS} rows")));
        }
        Some(_) => return Err(config_fault(copy, CLASSES, "is not a mapping".into())),
    };
    let read = |(capability, said): (&String, &Value)| {
        let field = format!("{CLASSES}/{capability}");
        let bad = |why: String| config_fault(copy, &field, why);
        let class = said.as_str().and_then(RiskClass::from_text);
        let class = class.ok_or_else(|| bad(no_class(said)))?;
        row(capability, class)
            .ok_or_else(|| bad("is not a capability such as `rye.execute.tool.acme.deploy`".into()))
    };
    classes.iter().map(read).collect()
}

/// Refuses a configuration of classes that a start would refuse, for the person who signs it.
///
/// # Errors
/// `thread.bad_config`
pub(super) fn check_risk(copy: &ConfigCopy) -> Result<(), Failure> {
    own_rows(copy).map(drop)
}

fn row(capability: &str, class: RiskClass) -> Option<RiskRow> {
    ACTIONS.into_iter().find_map(|(action, _)| {
        let pattern = patterns(&[capability.to_owned()], action).pop()?;
        Some(RiskRow { capability: capability.to_owned(), action, pattern, class })
    })
}

fn no_class(said: &Value) -> String {
    let known = RiskClass::ALL.map(RiskClass::as_str);
    let near = near(said.as_str().unwrap_or_default(), known.into_iter(), 1).pop();
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("is not one of `{}`{near}", known.join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::{RiskClass, SHIPPED, class, row};

    #[test]
    fn a_capability_has_the_gravest_class_of_what_it_reaches_table() {
        let own = [
            ("rye.execute.tool.acme.deploy.*", RiskClass::Elevated),
            ("rye.execute.tool.acme.*", RiskClass::Safe),
            ("rye.fetch.knowledge.acme.secret", RiskClass::Write),
        ];
        let rows: Vec<_> =
            SHIPPED.into_iter().chain(own).filter_map(|(text, class)| row(text, class)).collect();
        assert_eq!(rows.len(), SHIPPED.len() + own.len());
        for (capability, want) in [
            ("rye.fetch.*", "write"),
            ("rye.fetch.knowledge.rye.*", "safe"),
            ("rye.fetch.tool.*", "safe"),
            ("rye.execute.tool.other.x", "write"),
            ("rye.execute.directive.*", "write"),
            ("rye.execute.knowledge.*", "write"),
            ("rye.execute.tool.acme.x", "write"),
            ("rye.execute.tool.acme.deploy.now", "elevated"),
            ("rye.execute.tool.acme.deploy", "write"),
            ("rye.execute.tool.acme.*", "elevated"),
            ("rye.execute.tool.*.deploy.now", "elevated"),
            ("rye.execute.tool.a*.**.now", "elevated"),
            ("rye.execute.tool.rye.bash", "elevated"),
            ("rye.execute.tool.rye.*", "elevated"),
            ("rye.execute.tool.r*.b*", "elevated"),
            ("rye.execute.tool.rye.b%2Esh", "write"),
            ("rye.execute.tool.rye.file-system.*", "write"),
            ("rye.execute.tool.rye.workspace.read_workspace_file", "write"),
            ("rye.execute.tool.rye.workspace.*", "elevated"),
            ("rye.sign.tool.acme.x", "elevated"),
            ("rye.execute.*", "unrestricted"),
            ("rye.execute.tool.*", "unrestricted"),
            ("rye.execute.tool.**", "unrestricted"),
            ("rye.execute.tool.*.**", "unrestricted"),
            ("rye.execute.tool.*.*", "unrestricted"),
            ("rye.execute.tool.a**", "safe"),
        ] {
            assert_eq!(class(capability, &rows).as_str(), want, "{capability}");
        }
    }
}
