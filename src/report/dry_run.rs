//! The text of a dry run: the chain, and what would be started or sent.

use std::fmt::Write as _;

use serde_json::Value;

use super::report::ToolReport;
use super::text::{chain_tree, external_tree, passed_over_text};
use crate::base::text::{escape_line, shell_word};
use crate::diagnostic::{Paint, Style};
use crate::host::service_line;

impl ToolReport {
    /// The text for people of what an execution would do.
    pub(super) fn dry_run_text(&self, paint: Paint) -> String {
        let mut out = format!(
            "{} {}\n\n",
            paint.style(Style::Good, "validation passed"),
            paint.style(Style::Dim, "(dry run: nothing was started)")
        );
        out.push_str(&chain_tree(&self.details, paint));
        let survey = self.plan.survey();
        out.push_str(&external_tree(survey, self.details.len(), paint));
        let plan = self.plan.to_json();
        out.push('\n');
        let rows = match () {
            () if !plan["snippet"].is_null() => snippet_rows(&plan["snippet"]),
            () if !plan["method"].is_null() => http_rows(&plan),
            () => process_rows(&plan),
        };
        let rows = rows.into_iter().chain([("time limit", self.plan.limit().to_text())]);
        for (label, value) in rows {
            let label = paint.style(Style::Dim, &format!("{label:>12}"));
            let _ = writeln!(out, "{label} {}", escape_line(&value));
        }
        out.push_str(&passed_over_text(survey, paint));
        out
    }
}

/// The rows of a process that would be started.
fn process_rows(plan: &Value) -> Vec<(&'static str, String)> {
    let mut argv = vec![plan["command"].as_str().unwrap_or_default().to_owned()];
    let args = plan["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    argv.extend(args.map(shell_word));
    let mut names: Vec<_> =
        plan["env"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if plan["sandbox"]["net"]["hosts"].is_array() {
        names.extend(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]);
    }
    let services = plan["sandbox"]["services"].as_array().into_iter().flatten();
    names.extend(services.filter_map(|service| service["env"].as_str()));
    names.sort_unstable();
    names.dedup();
    vec![
        ("would run", argv.join(" ")),
        ("in", plan["cwd"].as_str().unwrap_or_default().to_owned()),
        ("environment", names.join(" ")),
        ("sandbox", sandbox_text(&plan["sandbox"])),
    ]
}

/// The rows of a snippet that would run.
fn snippet_rows(snippet: &Value) -> Vec<(&'static str, String)> {
    let calls = snippet["calls"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let calls: Vec<_> = calls.collect();
    let calls = if calls.is_empty() { "nothing".to_owned() } else { calls.join(" ") };
    vec![
        ("would run", format!("a snippet of {}", snippet["language"].as_str().unwrap_or_default())),
        ("may call", calls),
    ]
}

/// The sandbox of a process, in one line.
pub(super) fn sandbox_text(in_force: &Value) -> String {
    let level = in_force["level"].as_str().unwrap_or_default();
    if in_force["fs"].is_null() {
        return level.to_owned();
    }
    let list = |value: &Value| {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    let or_nothing = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    let mut net = match &in_force["net"]["hosts"] {
        Value::Null => in_force["net"].as_str().unwrap_or("loopback").to_owned(),
        hosts => or_nothing(list(hosts)),
    };
    if let Some(ports) = in_force["net"]["listen"].as_array() {
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        let _ = write!(net, "; reached on this machine at port {}", ports.join(" "));
    }
    let services = in_force["services"].as_array().into_iter().flatten();
    let services: Vec<_> = services.map(service_text).collect();
    let (reads, writes) = (list(&in_force["fs"]["read"]), list(&in_force["fs"]["write"]));
    let mut text =
        format!("{level}, reads {}, writes {}, net {net}", or_nothing(reads), or_nothing(writes));
    if !services.is_empty() {
        let _ = write!(text, ", services {}", services.join("; "));
    }
    let missing = list(&in_force["missing"]);
    if !missing.is_empty() {
        let _ = write!(text, "; does not hold: {missing}");
    }
    text
}

/// A service as a plan has it.
fn service_text(service: &Value) -> String {
    let text = |key: &str| service[key].as_str().unwrap_or_default();
    let calls = service["allow"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let calls: Vec<_> = calls.collect();
    service_line(["name", "upstream", "secret", "header", "format", "env"].map(text), &calls)
}

/// The rows of a request that would be sent.
fn http_rows(plan: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| plan[key].as_str().unwrap_or_default();
    let headers = plan["headers"].as_object().into_iter().flatten();
    let headers: Vec<_> = headers
        .map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default()))
        .collect();
    let body = match plan["body"]["form"].as_str() {
        None => "none".to_owned(),
        Some(form) => {
            let names = plan["body"]["parameters"].as_array().into_iter().flatten();
            let names: Vec<_> = names.filter_map(Value::as_str).collect();
            format!("{form} {}", names.join(" "))
        }
    };
    vec![
        ("would send", format!("{} {}", text("method"), text("url"))),
        ("headers", headers.join(", ")),
        ("body", body.trim_end().to_owned()),
    ]
}
