//! `rye thread list`.

use serde_json::{Value, json};

use super::used;
use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::rye::threads_from_outside;

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rows = threads_from_outside(&context.rye()?)?.runs()?;
    if out.is_json() {
        let rows: Vec<Value> = rows.iter().map(|known| known.to_json().into()).collect();
        out.success(json!({"threads": rows}));
        return Ok(Exit::DONE);
    }
    for known in &rows {
        let id = out.paint().style(Style::Strong, &escape_line(known.id()));
        let at = out.paint().style(Style::Dim, known.started_at());
        let code = known.code().map(|code| format!(" ({code})")).unwrap_or_default();
        let used = known.thread.as_ref().map_or_else(|| known.item().to_owned(), used);
        let place = if known.is_elsewhere() { " elsewhere" } else { "" };
        out.line(&format!("{id}  {}{place}{code}\n    {at}  {used}", known.state()));
    }
    if rows.is_empty() {
        out.line("no directive ran as a thread yet, and nothing detached");
    }
    Ok(Exit::DONE)
}
