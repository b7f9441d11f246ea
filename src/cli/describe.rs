//! `rye describe`: what an item is for and what it takes, as far as is asked.

use std::fmt::Write as _;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Map, Value};

use super::context::Context;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Failure, Paint, Style};
use crate::rye::DetailLevel;

/// Describe an item for its callers: in short, with what it takes, or in full
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `tool:rye/bash`
    #[arg(value_name = "REF|PATH", add = super::complete::refs())]
    item: String,
    /// How much: `summary`, `schema` (and what it takes) or `full` (and notes, examples,
    /// references)
    #[arg(long, value_name = "LEVEL", default_value = "full", hide_possible_values = true, value_parser = level())]
    level: DetailLevel,
    /// At most so many examples, up to 20
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(0..=20))]
    examples: Option<u8>,
}

fn level() -> impl TypedValueParser<Value = DetailLevel> {
    let known = PossibleValuesParser::new(DetailLevel::ALL.map(DetailLevel::as_str));
    // Clap lets only known words through.
    known.map(|word| word.parse().unwrap_or(DetailLevel::Full))
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let query = query(&args.item, &rye)?;
    let (described, warnings) =
        rye.items().describe_at(&query, args.level, args.examples.map(usize::from))?;
    out.warned(&warnings);
    if out.is_json() {
        out.success(Value::Object(described));
    } else {
        let text = text(&described, out.paint());
        out.labelled(&text);
    }
    Ok(Exit::DONE)
}

fn text(described: &Map<String, Value>, paint: Paint) -> String {
    let field = |key: &str| described.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let list = |key: &str| described.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut out = paint.style(Style::Strong, field("item_id").unwrap_or_default());
    if let Some(version) = field("version") {
        let _ = write!(out, " {}", escape_line(version));
    }
    out.push('\n');
    if let Some(about) = field("description").or(field("summary")) {
        let _ = writeln!(out, "{}", escape(about));
    }
    let risk = described.get("risk");
    let of_risk = |key: &str| risk.and_then(|risk| risk.get(key)).and_then(Value::as_str);
    let fields = (of_risk("tier"), of_risk("name"), of_risk("because"));
    if let (Some(tier), Some(name), Some(because)) = fields {
        let _ = writeln!(out, "\n{} {tier} {name}: {because}", paint.style(Style::Strong, "risk"));
    }
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n{}", paint.style(Style::Strong, title));
            out.extend(lines.iter().map(|line| format!("  {line}\n")));
        }
    };
    part("inputs", list("parameters").map(parameter).collect());
    let reach = described.get("reach").and_then(Value::as_object);
    part("reach", reach.into_iter().flatten().map(reached).collect());
    let notes = field("notes").map(escape).unwrap_or_default();
    part("notes", notes.lines().map(str::to_owned).collect());
    part("examples", list("examples").map(|example| escape_line(&example.to_string())).collect());
    part("references", list("references").filter_map(Value::as_str).map(escape_line).collect());
    out
}

/// `net  any`
fn reached((what, value): (&String, &Value)) -> String {
    let one = |value: &Value| match value {
        Value::Number(port) => port.to_string(),
        other => other.as_str().map(escape_line).unwrap_or_default(),
    };
    let list = |value: &Value| match value.as_array() {
        Some(list) => list.iter().map(one).collect::<Vec<_>>().join(", "),
        None => one(value),
    };
    let hosts = value.get("hosts").or(value.get("hosts_from"));
    let ports = value.get("listen").map(list);
    let mut values = match hosts {
        Some(hosts) if hosts.as_array().is_some_and(Vec::is_empty) => "its services alone".into(),
        Some(hosts) => list(hosts),
        None if ports.is_some() => "loopback".into(),
        None => list(value),
    };
    if let Some(ports) = ports {
        let _ = write!(values, "; reached on this machine at port {ports}");
    }
    format!("{what}  {values}")
}

/// `name  type, required, default …: what it is`
fn parameter(parameter: &Value) -> String {
    let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_required = parameter.get("required").and_then(Value::as_bool).unwrap_or_default();
    format!("{}  {}", escape_line(name), super::show::row(parameter, is_required))
}
