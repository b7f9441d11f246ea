//! The report of a dry run about a thread that would start.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::tree::{tools_missing_text, tools_refused_text};
use crate::base::money;
use crate::base::text::escape_line;
use crate::diagnostic::{Paint, Style};
use crate::id::{Ref, Space};
use crate::trace::MissingTool;

/// A thread that was checked as far as a start checks it.
#[derive(Debug)]
pub(crate) struct CheckedThread {
    pub(crate) provider: Ref,
    pub(crate) space: Space,
    /// The file of the provider.
    pub(crate) path: String,
    pub(crate) model: String,
    /// Who named the model, in words.
    pub(crate) model_from: String,
    /// Whose word about the provider does not count, in words.
    pub(crate) passed_over: Option<String>,
    pub(crate) limits: Vec<CheckedLimit>,
    pub(crate) permissions: Vec<String>,
    /// The class of the gravest of them.
    pub(crate) risk: &'static str,
    /// The names of what the model may call.
    pub(crate) tools: Vec<String>,
    /// How many more are permitted than a model is told of.
    pub(crate) tools_left_out: usize,
    /// Those of which it is not told, as they would be refused.
    pub(crate) tools_refused: Vec<Ref>,
    /// Those of which it is not told, as no space has them.
    pub(crate) tools_missing: Vec<MissingTool>,
}

/// One limit, and who says it.
#[derive(Debug)]
pub(crate) struct CheckedLimit {
    pub(crate) name: &'static str,
    pub(crate) value: u64,
    pub(crate) from: String,
}

impl CheckedLimit {
    fn to_text(&self) -> String {
        let Self { name, value, from } = self;
        let value = match *name {
            "spend" => format!("{} USD", money::shown(*value)),
            _ => value.to_string(),
        };
        format!("{name} {value}  ({from})")
    }
}

impl CheckedThread {
    pub(super) fn to_json(&self) -> Value {
        let limits = self.limits.iter().map(|CheckedLimit { name, value, from }| {
            // Money is told in millionths everywhere.
            let name = if *name == "spend" { "spend_micros" } else { name };
            (name.to_owned(), json!({"value": value, "from": from}))
        });
        json!({
            "provider": {"item_id": self.provider, "space": self.space, "path": self.path},
            "model": self.model, "model_from": self.model_from, "passed_over": self.passed_over,
            "limits": limits.collect::<Map<_, _>>(),
            "permissions": self.permissions, "risk": self.risk,
            "tools": self.tools, "tools_left_out": self.tools_left_out,
            "tools_refused": self.tools_refused, "tools_missing": self.tools_missing,
        })
    }

    /// For people, one row a line.
    pub(super) fn to_text(&self, paint: Paint) -> String {
        let Self { provider, space, path, model, model_from, .. } = self;
        let mut rows = vec![
            ("provider", format!("{provider}  {space}  {path}")),
            ("model", format!("{model}  ({model_from})")),
        ];
        rows.extend(self.passed_over.iter().map(|why| ("ignored", why.clone())));
        rows.extend(self.limits.iter().map(|limit| ("limit", limit.to_text())));
        rows.extend(self.permissions.iter().map(|permission| ("permits", permission.clone())));
        if self.permissions.is_empty() {
            rows.push(("permits", "nothing".to_owned()));
        }
        rows.push(("risk", self.risk.to_owned()));
        rows.extend(self.tools.iter().map(|tool| ("tool", tool.clone())));
        if self.tools_left_out > 0 {
            rows.push(("tool", format!("and {} of which it is not told", self.tools_left_out)));
        }
        if !self.tools_refused.is_empty() {
            rows.push(("refused", tools_refused_text(&self.tools_refused)));
        }
        if !self.tools_missing.is_empty() {
            rows.push(("missing", tools_missing_text(&self.tools_missing)));
        }
        let (mut out, mut last) = (String::new(), "");
        for (label, text) in rows {
            let shown = if label == last { "" } else { label };
            let shown = paint.style(Style::Dim, &format!("{shown:>10}"));
            let _ = writeln!(out, "{shown}  {}", escape_line(&text));
            last = label;
        }
        out
    }
}
