//! `rye thread tree`.

use serde_json::{Value, json};

use super::used;
use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::runs::threads_from_outside;

pub(super) fn run(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rows = threads_from_outside(&context.rye()?)?.tree(id)?;
    if out.is_json() {
        let rows = rows.iter().map(|(depth, known)| {
            let mut row = known.to_json();
            row.insert("level".into(), (*depth).into());
            Value::from(row)
        });
        out.success(json!({"threads": rows.collect::<Vec<_>>()}));
        return Ok(Exit::DONE);
    }
    for (depth, known) in &rows {
        let indent = "  ".repeat(*depth);
        let id = out.paint().style(Style::Strong, &escape_line(known.id()));
        out.line(&format!("{indent}{id}"));
        let used = known.thread().map(used).unwrap_or_default();
        out.line(&format!("{indent}    {}  {used}", known.state()));
    }
    Ok(Exit::DONE)
}
