//! `rye thread list`.

use serde_json::{Value, json};

use super::super::context::Context;
use super::super::exit::Exit;
use super::super::out::Out;
use super::{row, used};
use crate::diagnostic::{Failure, Style};
use crate::rye::Threads;

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
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
