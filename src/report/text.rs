//! A report as text for people.

use std::fmt::Write as _;

use serde_json::Value;

use super::report::{Detail, DirectiveReport, Report, ToolReport};
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Paint, Style};
use crate::execute::{EXECUTE_TOOL_FAILED, Mask, Pending};
use crate::plan::Survey;
use crate::verify::Integrity;

/// The texts for standard output and for standard error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Report {
    /// The text form. A directive is its body alone, so that it can be piped into any agent.
    ///
    /// In a terminal no value is shown that the item named of the host, whatever the tool did with
    /// it; elsewhere the data of a success are the tool's own.
    pub(crate) fn to_text(&self, paint: Paint, in_terminal: bool) -> Text {
        match self {
            Self::Tool(tool) => tool.to_text(paint, in_terminal),
            Self::Directive(directive) => directive.to_text(paint),
            Self::Thread(thread) => thread.to_text(paint),
            Self::Detached(detached) => detached.to_text(),
            Self::Remote(remote) => remote.to_text(),
            Self::Knowledge { content, .. } => {
                Text { stdout: ended_line(content), stderr: String::new() }
            }
        }
    }
}

impl Report {
    /// The error line of a tool that failed, ours and not the tool's.
    pub(crate) fn error_text(&self, paint: Paint) -> Option<String> {
        match self {
            Self::Tool(tool) => tool.error_text(paint),
            _ => None,
        }
    }
}

impl ToolReport {
    fn to_text(&self, paint: Paint, in_terminal: bool) -> Text {
        let Some(outcome) = &self.outcome else {
            return Text { stdout: self.dry_run_text(paint), stderr: String::new() };
        };
        if let Some(pending) = &outcome.pending {
            return Text { stdout: self.pending_text(pending, paint), stderr: String::new() };
        }
        let named = Mask::new(self.plan.private_values());
        let masked = in_terminal.then(|| named.value(outcome.data.clone()));
        let data = masked.as_ref().unwrap_or(&outcome.data);
        let mut text = match outcome.http.as_ref().filter(|http| http.is_wrapped) {
            Some(_) => answer_text(data),
            None => data_text(data),
        };
        if let Some(snippet) = &outcome.snippet {
            // The value is the answer, and what is printed on the way stands beside it, masked as
            // where it is shown as it comes.
            let printed = ["stdout", "stderr"].map(|key| snippet.told.get(key)?.as_str());
            text.stderr = printed.into_iter().flatten().map(|text| named.text(text)).collect();
        }
        if let Some(failure) = &outcome.failure {
            // What the tool wrote is shown once: here, unless it stood in the data already.
            if text.stderr.is_empty() && outcome.http.is_none() {
                text.stderr = ended_line(&failure.tail);
            }
            let says_it = outcome.data.get("success").is_some();
            if outcome.data.is_null() || says_it && outcome.data.get("stdout").is_none() {
                // The error line says it already.
                text.stdout.clear();
            }
        }
        text
    }

    /// The question to a person, and how to answer it.
    fn pending_text(&self, pending: &Pending, paint: Paint) -> String {
        let id = self.pending_id.as_deref().unwrap_or_default();
        waits_text(&self.item.to_string(), id, &pending.reason, &pending.message, paint)
    }

    fn error_text(&self, paint: Paint) -> Option<String> {
        let outcome = self.outcome.as_ref()?;
        let failure = outcome.failure.as_ref()?;
        let status = outcome.exit_code.or(outcome.http.as_ref().map(|http| http.status.into()));
        let status = status.map_or("none".into(), |status: i32| status.to_string());
        let diagnostic = Diagnostic {
            code: EXECUTE_TOOL_FAILED,
            message: format!("`{}`: {}", self.item, failure.message),
            help: Some(self.help(format!(
                "the tool itself failed (its status: {status}); see all of it with `--json`"
            ))),
            place: None,
            item: None,
            data: serde_json::Map::new(),
        };
        Some(diagnostic.to_text(paint))
    }
}

/// The body of an answer that is no JSON.
fn answer_text(data: &Value) -> Text {
    let body = data["body"].as_str().unwrap_or_default();
    Text { stdout: ended_line(body), stderr: String::new() }
}

/// Folders of packages as the last branches of the tree; their content was not verified.
pub(crate) fn external_tree(survey: &Survey, depth: usize, paint: Paint) -> String {
    let indent = "   ".repeat(depth.saturating_sub(1));
    let lines = survey.external().iter().map(|folder| {
        let path = paint.style(Style::Strong, &escape_line(&folder.display().to_string()));
        let rest = paint.style(Style::Warning, "external: not verified, you allowed it");
        format!("{indent}└─ {path}  {rest}\n")
    });
    lines.collect()
}

/// The files that were found and not used, each with its reason and the command that would let it
/// in.
pub(crate) fn passed_over_text(survey: &Survey, paint: Paint) -> String {
    let mut out = String::new();
    for passed in survey.passed_over() {
        let label = paint.style(Style::Warning, &format!("{:>12}", "passed over"));
        let _ =
            writeln!(out, "{label} {}: {}", escape_line(&passed.path), escape_line(&passed.why));
        if let Some(help) = &passed.help {
            let _ = writeln!(out, "{:>12} if you know it, run `{}`", "", escape_line(help));
        }
    }
    out
}

impl DirectiveReport {
    fn to_text(&self, paint: Paint) -> Text {
        if !self.dry_run {
            return Text { stdout: ended_line(&self.body), stderr: String::new() };
        }
        let mut out = format!(
            "{} {}\n\n",
            paint.style(Style::Good, "validation passed"),
            paint.style(Style::Dim, "(dry run: nothing was started)")
        );
        let _ = writeln!(out, "{}", paint.style(Style::Strong, &self.item.to_string()));
        for (name, value) in &self.inputs {
            let _ = writeln!(out, "  {name} = {}", escape_line(&value.to_string()));
        }
        if let Some(thread) = &self.thread {
            let _ = write!(out, "\n{}", thread.to_text(paint));
        }
        Text { stdout: out, stderr: String::new() }
    }
}

/// The question of an item that waits for a person, and how to decide it.
pub(super) fn waits_text(
    item: &str,
    id: &str,
    reason: &str,
    message: &str,
    paint: Paint,
) -> String {
    let waits = paint.style(Style::Warning, "waits for a person");
    let mut out = format!("{waits}  {}  {id}\n", escape_line(item));
    for (label, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            let label = paint.style(Style::Dim, &format!("{label:>8}"));
            let _ = writeln!(out, "{label}  {}", escape_line(text));
        }
    }
    let _ = writeln!(
        out,
        "\nnext: `rye pending show {id}`, then `rye pending approve {id}` or `rye pending reject {id}`"
    );
    out
}

/// The chain as a tree, the tool at its root.
pub(crate) fn chain_tree(details: &[Detail], paint: Paint) -> String {
    let mut out = String::new();
    for (depth, link) in details.iter().enumerate() {
        let branch =
            if depth == 0 { String::new() } else { format!("{}└─ ", "   ".repeat(depth - 1)) };
        let by = match (&link.owner, link.signer) {
            _ if link.integrity == Integrity::Unverified => "NOT verified (dev mode)".to_owned(),
            (Some(owner), Some(key)) => {
                format!("signed by `{}` {}", escape_line(owner), key.short())
            }
            (None, Some(key)) => format!("signed by {}", key.short()),
            _ => "unverified".to_owned(),
        };
        let version = link.version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        let item = paint.style(Style::Strong, &link.item.to_string());
        let rest =
            paint.style(Style::Dim, &format!("{}{}  {by}", link.space, escape_line(&version)));
        let _ = writeln!(out, "{branch}{item}  {rest}");
    }
    out
}

/// A tool's data as a person wants it: captured streams as streams, a text as text, else JSON.
pub(crate) fn data_text(data: &Value) -> Text {
    let stream = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(stdout) = stream("stdout") {
        return Text { stdout, stderr: stream("stderr").unwrap_or_default() };
    }
    let stdout = match data {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).expect("a JSON value is JSON"),
    };
    Text { stdout: ended_line(&stdout), stderr: String::new() }
}

fn ended_line(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
