//! The faults to correct in an item before it is signed (core 6.6 and 7.4), all at once.

use semver::{Version, VersionReq};
use serde_json::{Value, json};

use super::directive::Directive;
use super::directive::METADATA;
use super::item::Item;
use super::tool::{Constraints, Tool};
use crate::base::text::{Position, brief_line, escape_line, near, position};
use crate::id::{ItemId, Ref};
use crate::verify::Source;

/// Tells whether a finding stops the signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// One thing to correct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) position: Option<Position>,
    pub(crate) message: String,
    /// A word of the text, and what may have been meant by it, nearest first.
    pub(crate) meant: Option<(String, Vec<String>)>,
}

impl Finding {
    pub(crate) fn error(message: impl Into<String>) -> Self {
        // The message may quote a value of any length.
        let message = brief_line(&message.into());
        Self { severity: Severity::Error, position: None, message, meant: None }
    }

    pub(crate) fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    pub(crate) fn at(self, position: Option<Position>) -> Self {
        Self { position, ..self }
    }

    /// Moves the finding up by so many lines.
    pub(crate) fn up(mut self, lines: usize) -> Self {
        if let Some(position) = &mut self.position {
            position.line = position.line.saturating_sub(lines).max(1);
        }
        self
    }

    /// Adds the words that may have been meant; the message names the nearest.
    pub(crate) fn meant(self, word: &str, near: Vec<String>) -> Self {
        let Some(first) = near.first() else { return self };
        let message = format!("{}; did you mean `{first}`?", self.message);
        Self { message, meant: Some((word.to_owned(), near)), ..self }
    }

    /// `severity` and `message`, and `line` and `column` where they are known.
    pub(crate) fn to_json(&self) -> Value {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match self.position {
            None => json!({"severity": severity, "message": self.message}),
            Some(Position { line, column }) => json!({
                "severity": severity, "message": self.message, "line": line, "column": column,
            }),
        }
    }
}

/// Everything about an item that keeps it from being signed as `item`.
///
/// `interpolate::undeclared` finds undeclared placeholders in a directive's body.
pub(crate) fn check_for_signing(parsed: &Item, item: &Ref, source: &Source) -> Vec<Finding> {
    match parsed {
        Item::Directive(directive) => of_directive(directive, &item.id),
        Item::Tool(tool) => of_tool(tool, source.text()),
        Item::Knowledge(_) | Item::Config(_) => Vec::new(),
    }
}

fn of_directive(directive: &Directive, id: &ItemId) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut error = |message: String| {
        findings.push(Finding::error(message).at(Some(directive.root)));
    };
    match directive.name.as_deref() {
        None => error("the directive has no `name`".into()),
        Some(name) => {
            if name != id.name() {
                let (name, stem) = (escape_line(name), id.name());
                error(format!("the name is `{name}`, the file's is `{stem}`: they must be equal"));
            }
            if !is_snake_case(name) {
                error(format!("the name `{}` is not snake_case", escape_line(name)));
            }
        }
    }
    match directive.version.as_deref() {
        None => error("the directive has no `version`".into()),
        Some(text) if Version::parse(text).is_err() => {
            error(format!("`{}` is not a valid version such as `1.0.0`", escape_line(text)));
        }
        Some(_) => {}
    }
    match directive.category.as_deref() {
        // A directive at the top level lies in no folder; an element without text means that.
        None if !id.folder().is_empty() => error("the metadata has no `<category>`".into()),
        Some(category) if category != id.folder() => {
            let (category, folder) = (escape_line(category), id.folder());
            error(format!(
                "the category is `{category}`, the folder is `{folder}`: they must be equal"
            ));
        }
        _ => {}
    }
    if directive.description.is_none() {
        error("the metadata has no `<description>`".into());
    }
    if directive.author.is_none() {
        error("the metadata has no `<author>`".into());
    }
    if directive.extends.as_ref() == Some(id) {
        error("the directive extends itself".into());
    }
    findings.extend(directive.unknown.iter().map(|(name, position)| {
        let beside = ["metadata", "inputs", "outputs"];
        let near = match name.as_str() {
            name if beside.contains(&name) => " here: it stands in `<directive>` itself".into(),
            // There is no word to replace, because the name also stands in the closing tag.
            name => near(name, beside.into_iter().chain(METADATA), 1)
                .pop()
                .map(|near| format!("; did you mean `<{near}>`?"))
                .unwrap_or_default(),
        };
        Finding::error(format!("`<{}>` is not a field of a directive{near}", escape_line(name)))
            .at(Some(*position))
    }));
    findings
}

pub(super) fn of_tool(tool: &Tool, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut error = |word: &str, message: String| {
        findings.push(Finding::error(message).at(place(text, word)));
    };
    let bad = |text: &str| Version::parse(text).is_err();
    if let Some(version) = tool.version.as_deref().filter(|version| bad(version)) {
        error(
            version,
            format!(
                "`/version`: `{}` is not a valid version such as `1.0.0`",
                escape_line(version)
            ),
        );
    }
    let none = Constraints::default();
    let Constraints { min_version, max_version, version } =
        tool.child_constraints.as_ref().unwrap_or(&none);
    for (key, bound) in [("min_version", min_version), ("max_version", max_version)] {
        if let Some(bound) = bound.as_deref().filter(|bound| bad(bound)) {
            let shown = escape_line(bound);
            error(
                bound,
                format!(
                    "`/child_constraints/{key}`: `{shown}` is not a valid version such as `1.0.0`"
                ),
            );
        }
    }
    if let (Some(low), Some(high)) = (min_version, max_version)
        && let (Ok(lowest), Ok(highest)) = (Version::parse(low), Version::parse(high))
        && lowest > highest
    {
        let message = format!("`/child_constraints`: no version is from `{low}` to `{high}`");
        error("max_version", message);
    }
    if let Some(range) = version.as_deref().filter(|range| VersionReq::parse(range).is_err()) {
        let shown = escape_line(range);
        error(
            range,
            format!("`/child_constraints/version`: `{shown}` is not a valid range such as `^1.2`"),
        );
    }
    findings
}

/// The probable position of a value: its first occurrence.
fn place(text: &str, word: &str) -> Option<Position> {
    let at = text.find(word).filter(|_| !word.is_empty())?;
    Some(position(text.as_bytes(), at))
}

/// Returns true if a directive may have this name: `[a-z][a-z0-9]*(_[a-z0-9]+)*`.
pub(crate) fn is_snake_case(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('_').all(part)
}

#[cfg(test)]
mod tests {
    use super::{Finding, is_snake_case, of_directive, of_tool};
    use crate::base::text::Position;
    use crate::parse::directive::Directive;
    use crate::parse::tool;
    use crate::space::HeaderStyle;

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.message).collect()
    }

    fn of(id: &str, root: &str, metadata: &str) -> Vec<String> {
        let text =
            format!("```xml\n<directive {root}><metadata>{metadata}</metadata></directive>\n```\n");
        let directive = Directive::parse(&text).expect("the fixture parses");
        messages(of_directive(&directive, &id.parse().expect("the fixture is an id")))
    }

    #[test]
    fn directives_table() {
        let (root, rest) =
            ("name='go_on' version='1.0.0'", "<description>d</description><author>a</author>");
        let categorised = |category: &str| format!("{rest}<category>{category}</category>");
        assert_eq!(of("acme/x/go_on", root, &categorised("acme/x")), [""; 0]);
        assert_eq!(of("go_on", root, &categorised("")), [""; 0]);
        assert_eq!(of("go_on", root, rest), [""; 0]);
        assert_eq!(of("acme/go_on", root, rest), ["the metadata has no `<category>`"]);
        assert_eq!(
            of("acme/go_on", root, &categorised("")),
            ["the category is ``, the folder is `acme`: they must be equal"]
        );
        assert_eq!(
            of("go_on", root, &categorised("acme")),
            ["the category is `acme`, the folder is ``: they must be equal"]
        );
        assert_eq!(
            of("acme/go", "name='Go-On' version='1.0' extends='acme/go'", "<category>x</category>"),
            [
                "the name is `Go-On`, the file's is `go`: they must be equal",
                "the name `Go-On` is not snake_case",
                "`1.0` is not a valid version such as `1.0.0`",
                "the category is `x`, the folder is `acme`: they must be equal",
                "the metadata has no `<description>`",
                "the metadata has no `<author>`",
                "the directive extends itself",
            ]
        );
        assert_eq!(
            of("go", "", "<description/><author> </author>"),
            [
                "the directive has no `name`",
                "the directive has no `version`",
                "the metadata has no `<description>`",
                "the metadata has no `<author>`",
            ]
        );
    }

    #[test]
    fn tools_table() {
        let of =
            |text: &str| of_tool(&tool::parse(text, &HeaderStyle::Yaml).expect("parses"), text);
        assert_eq!(
            of("version: 1.0.0\nchild_constraints: {min_version: 1.0.0, version: '>=1, <2'}"),
            []
        );
        assert_eq!(of("description: x"), []);
        let long = messages(of(&format!("version: {}", "v".repeat(1 << 20)))).concat();
        assert!(long.starts_with("`/version`: `vvv") && long.chars().count() < 500, "{long}");
        let text = "x-a: 1\nversion: v1\nchild_constraints: {min_version: one, max_version: '2', version: '>>1'}";
        let findings = of(text);
        assert_eq!(findings[0].position, Some(Position { line: 2, column: 10 }));
        assert_eq!(
            messages(findings),
            [
                "`/version`: `v1` is not a valid version such as `1.0.0`",
                "`/child_constraints/min_version`: `one` is not a valid version such as `1.0.0`",
                "`/child_constraints/max_version`: `2` is not a valid version such as `1.0.0`",
                "`/child_constraints/version`: `>>1` is not a valid range such as `^1.2`",
            ]
        );
        assert_eq!(
            messages(of("child_constraints: {min_version: 2.0.0, max_version: 1.0.0}")),
            ["`/child_constraints`: no version is from `2.0.0` to `1.0.0`"]
        );
    }

    #[test]
    fn snake_case_table() {
        for (name, want) in [
            ("a", true),
            ("go_on", true),
            ("v2_x", true),
            ("", false),
            ("Go", false),
            ("go-on", false),
            ("_a", false),
            ("a_", false),
            ("a__b", false),
            ("2a", false),
            ("é", false),
            ("a.b", false),
        ] {
            assert_eq!(is_snake_case(name), want, "{name:?}");
        }
    }
}
