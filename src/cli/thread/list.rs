//! `rye thread list`.

use serde_json::{Value, json};

use crate::base::money;
use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::runs::{KnownRun, listed_runs, threads_from_outside};

/// How many are shown without `--all`.
const SHOWN: usize = 20;
/// How much of the end of an id is shown, which is enough to tell most apart.
const ID_END: usize = 8;

pub(super) fn run(all: bool, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rows = listed_runs(threads_from_outside(&context.rye()?)?)?;
    if out.is_json() {
        let rows: Vec<Value> = rows.iter().map(|known| known.to_json().into()).collect();
        out.success(json!({"threads": rows}));
        return Ok(Exit::DONE);
    }
    let shown = if all { rows.len() } else { SHOWN };
    for known in rows.iter().rev().take(shown) {
        out.line(&line(known, out));
    }
    match rows.len().checked_sub(shown) {
        _ if rows.is_empty() => out.line("no directive ran as a thread yet, and nothing detached"),
        None | Some(0) => {}
        Some(more) => out.line(&format!("{more} more began earlier: `rye thread list --all`")),
    }
    Ok(Exit::DONE)
}

fn line(known: &KnownRun, out: &Out) -> String {
    let id = known.id();
    let end = escape_line(&id[id.len().saturating_sub(ID_END)..]);
    let id = out.paint().style(Style::Strong, &end);
    // The date and the minute.
    let at: String = known.started_at().chars().take(16).collect();
    let at = out.paint().style(Style::Dim, &at.replace('T', " "));
    let cost = known.thread().map(|thread| format!("{} USD", money::shown(thread.used.spend)));
    let cost = cost.unwrap_or_default();
    let place = if known.row.is_elsewhere() { " elsewhere" } else { "" };
    let item = escape_line(&known.row.item);
    let on = known.remote_name().map(|name| format!(" on {}", escape_line(&name)));
    let on = on.unwrap_or_default();
    format!("{id}  {:<9}  {at}  {cost:>12}  {item}{place}{on}", known.state().as_str())
}
