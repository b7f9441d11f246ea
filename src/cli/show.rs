//! `rye show`: shows what an item is and what it takes.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::context::Context;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Paint, Style};
use crate::parse::{Risk, signed_before};
use crate::plan::TimeLimit;
use crate::rye::{Described, read_item};
use crate::verify::Integrity;

/// Show what an item is, what it takes and who signed it
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `tool:rye/bash`
    #[arg(value_name = "REF|PATH", add = super::complete::refs())]
    item: String,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let query = query(&args.item, &rye)?;
    let described = read_item(&rye, &query)?;
    let limit = rye.items().limit(&query);
    let risk = crate::rye::risk(&rye, &described);
    out.warned(&described.warnings);
    if out.is_json() {
        let mut data = described.to_json();
        let before = came_signed_by(&described);
        data.extend(before.map(|by| ("signed_before".to_owned(), by.into())));
        data.extend(limit.map(|limit| ("limit".to_owned(), limit.to_json())));
        data.extend(risk.map(|risk| ("risk".to_owned(), json!(risk))));
        out.success(Value::Object(data));
    } else {
        let text = text(&described, limit.as_ref(), risk, out.paint());
        out.labelled(&text);
    }
    Ok(Exit::DONE)
}

/// Who signed what the item was made of, by the word of the item's signer. Without a valid
/// signature the claim does not count.
pub(super) fn came_signed_by(described: &Described) -> Option<String> {
    let is_signed = described.detail.integrity == Integrity::Verified;
    is_signed.then(|| signed_before(&described.content))?
}

fn text(
    described: &Described,
    limit: Option<&TimeLimit>,
    risk: Option<Risk>,
    paint: Paint,
) -> String {
    let detail = &described.detail;
    let data = described.item.to_json();
    let mut out = String::new();
    let version = detail.version.as_deref().map(escape_line).unwrap_or_default();
    let title = paint.style(Style::Strong, &detail.item.to_string());
    let _ = writeln!(out, "{title} {version}");
    if let Some(about) = described.item.description() {
        let _ = writeln!(out, "{}", escape_line(about));
    }
    out.push('\n');
    let owner = detail.owner.as_deref().map(escape_line).unwrap_or_default();
    let signer = match detail.signer {
        Some(key) => format!("`{owner}` {}", key.short()),
        None => "nobody".into(),
    };
    let before =
        came_signed_by(described).map(|by| format!("its signer says that it came signed by {by}"));
    let rows = [
        ("lies in", format!("{}  {}", detail.space, escape_line(&detail.path))),
        ("signed by", signer),
        ("before", before.unwrap_or_default()),
        ("sha256", detail.digest.to_string()),
        ("extends", texts(&data, "extends").collect::<Vec<_>>().join(" ")),
        ("risk", risk.map(|risk| risk.to_string()).unwrap_or_default()),
        ("time limit", limit.map(|limit| escape_line(&limit.to_text())).unwrap_or_default()),
    ];
    for (label, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(out, "{} {value}", paint.style(Style::Dim, &format!("{label:>12}")));
    }
    for (what, value) in described.item.reach().rows() {
        let label = paint.style(Style::Dim, &format!("{what:>12}"));
        let _ = writeln!(out, "{label} {}", escape_line(&value));
    }
    for place in &described.shadowed {
        let space = place.space.as_deref().unwrap_or_default();
        let label = paint.style(Style::Warning, &format!("{:>12}", "shadows"));
        let _ = writeln!(out, "{label} {space}  {}", escape_line(&place.path));
    }
    out.push_str(&inputs(&data, paint));
    out
}

/// The texts of a list.
fn texts<'a>(data: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> {
    let list = data.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

fn inputs(data: &serde_json::Map<String, Value>, paint: Paint) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    let schema = data.get("schema");
    let required: Vec<&str> = schema
        .and_then(|s| s.get("required")?.as_array())
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = schema.and_then(|s| s.get("properties")?.as_object());
    for (name, property) in properties.into_iter().flatten() {
        rows.push((escape_line(name), row(property, required.contains(&name.as_str()))));
    }
    for input in data.get("inputs").and_then(Value::as_array).into_iter().flatten() {
        let name = input.get("name").and_then(Value::as_str).unwrap_or_default();
        let is_required = input.get("required").is_some_and(|r| r == &json!(true));
        rows.push((name.to_owned(), row(input, is_required)));
    }
    if rows.is_empty() {
        return String::new();
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut out = format!("\n{}\n", paint.style(Style::Strong, "inputs"));
    for (name, rest) in rows {
        let _ = writeln!(out, "  {name:<width$}  {rest}");
    }
    out
}

/// The bounds of a value beyond its type.
fn bounds(property: &Value) -> String {
    let mut out = String::new();
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let _ = write!(out, ", one of {}", values.join(" "));
    }
    let named = [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "above"),
        ("exclusiveMaximum", "below"),
    ];
    for (key, word) in named {
        if let Some(bound) = property.get(key).filter(|bound| bound.is_number()) {
            let _ = write!(out, ", {word} {bound}");
        }
    }
    if let Some(pattern) = property.get("pattern").and_then(Value::as_str) {
        let _ = write!(out, ", matches `{pattern}`");
    }
    out
}

pub(super) fn row(property: &Value, required: bool) -> String {
    let ty = match property.get("type") {
        Some(Value::String(ty)) => ty.clone(),
        None | Some(Value::Null) => "any".into(),
        Some(other) => other.to_string(),
    };
    let mut out = ty;
    if required {
        out.push_str(", required");
    }
    out.push_str(&bounds(property));
    if let Some(default) = property.get("default") {
        let _ = write!(out, ", default {default}");
    }
    if let Some(about) = property.get("description").and_then(Value::as_str) {
        let _ = write!(out, ": {about}");
    }
    escape_line(&out)
}
