//! `rye thread`: the conversations that directives ran as, and their records.

use serde_json::{Map, Value, json};

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::money;
use crate::base::text::{brief_line, escape_line};
use crate::diagnostic::{Failure, Style};
use crate::registry::ThreadRow;
use crate::rye::{Threads, VerifiedThread};

/// See what directives did that a model ran, and check the record of it
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List the threads of all projects, the oldest first
    List,
    /// Show what a thread was told, said and called; nothing of it is checked
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Check that the record of a thread is what was signed
    Verify {
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => list(context, out),
        Verb::Show { id } => show(id, context, out),
        Verb::Verify { id } => verify(id, context, out),
    }
}

fn list(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rows = Threads::new(&context.rye()?).all()?;
    if out.is_json() {
        let rows: Vec<Value> = rows.iter().map(|thread| row(thread).into()).collect();
        out.success(json!({"threads": rows}));
        return Ok(Exit::DONE);
    }
    for thread in &rows {
        let id = out.paint().style(Style::Strong, &thread.id);
        let at = out.paint().style(Style::Dim, &thread.started_at);
        let code = thread.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        out.line(&format!("{id}  {}{code}\n    {at}  {}", thread.status, used(thread)));
    }
    if rows.is_empty() {
        out.line("no directive ran as a thread yet");
    }
    Ok(Exit::DONE)
}

/// What a thread used, in a few words.
fn used(thread: &ThreadRow) -> String {
    let (turns, tokens) = (thread.used.turns, thread.used.tokens);
    format!("{turns} turns, {tokens} tokens, {} USD", money::shown(thread.used.spend))
}

fn row(thread: &ThreadRow) -> Map<String, Value> {
    let amounts = |amounts: &crate::registry::Amounts| {
        json!({
            "turns": amounts.turns, "tokens": amounts.tokens, "spend_micros": amounts.spend,
            "spawns": amounts.spawns,
        })
    };
    crate::base::json::object(json!({
        "thread_id": thread.id, "parent": thread.parent, "item_id": thread.item,
        "provider": thread.provider, "model": thread.model, "base": thread.base,
        "thread_status": thread.status, "thread_code": thread.code,
        "started_at": thread.started_at, "ended_at": thread.ended_at,
        "limits": amounts(&thread.most), "used": amounts(&thread.used),
    }))
}

fn show(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (thread, transcript) = Threads::new(&context.rye()?).show(id)?;
    // A line that is not JSON is told by `rye thread verify`; a half one may be the last.
    let lines = transcript.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let events = events.filter(|event| event.get("event").is_some());
    if out.is_json() {
        let mut fields = row(&thread);
        fields.insert("data".into(), json!({"events": events.collect::<Vec<_>>()}));
        out.success(fields.into());
        return Ok(Exit::DONE);
    }
    let code = thread.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    out.line(&format!("{}  {}{code}", thread.id, thread.status));
    out.line(&format!("{} by {}  {}", thread.model, thread.provider, used(&thread)));
    for event in events {
        for (label, said) in brief(&event) {
            let label = out.paint().style(Style::Dim, &format!("{label:>8}"));
            out.line(&format!("{label}  {}", brief_line(&said)));
        }
    }
    out.line(&format!("\nnext: `rye thread verify {}`", thread.id));
    Ok(Exit::DONE)
}

/// What of an event is shown to a person.
fn brief(event: &Value) -> Vec<(&'static str, String)> {
    let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let rows = match event["event"].as_str().unwrap_or_default() {
        "cognition_in" => vec![("system", text("system")), ("told", text("user"))],
        "cognition_out" => vec![("said", text("content"))],
        "tool_call_start" => vec![("call", format!("{} {}", text("name"), text("arguments")))],
        "tool_call_result" => vec![("gave", text("content"))],
        "thread_ended" => vec![("end", text("status"))],
        _ => Vec::new(),
    };
    rows.into_iter().filter(|(_, said)| !said.is_empty()).collect()
}

fn verify(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let VerifiedThread { row, path, checked } = Threads::new(&context.rye()?).verify(id)?;
    if out.is_json() {
        out.success(json!({
            "thread_id": id, "verified": true, "final": checked.is_final,
            "thread_status": row.map_or(checked.status, |row| row.status),
            "checkpoints": checked.checkpoints, "proven_bytes": checked.proven_bytes,
            "unproven_bytes": checked.unproven_bytes, "signer": checked.key,
            "transcript": path.display().to_string(),
        }));
        return Ok(Exit::DONE);
    }
    let good = out.paint().style(Style::Good, "record verified");
    let key = checked.key.map(|key| key.to_string()).unwrap_or_default();
    out.line(&format!("{good}  signed by {key}"));
    let status = row.map_or(checked.status, |row| row.status);
    let (count, proven) = (checked.checkpoints, checked.proven_bytes);
    out.line(&format!("{status}, {count} checkpoints over {proven} bytes"));
    if checked.unproven_bytes > 0 {
        let bytes = checked.unproven_bytes;
        out.line(&format!("{bytes} bytes behind the last checkpoint are not proven"));
    }
    out.line(&escape_line(&path.display().to_string()));
    Ok(Exit::DONE)
}
