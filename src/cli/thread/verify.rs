//! `rye thread verify`.

use serde_json::json;

use crate::base::text::{counted, escape_line};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::registry::RunState;
use crate::runs::{VerifiedThread, threads_from_outside};
use crate::thread::LIVE_WORDS;

/// The note that the check is less certain without the registry.
pub(super) const NOT_COMPARED: &str = "not compared with the registry, which does not know this \
    thread or is of a newer rye: an older state of the record would hold as well";

pub(super) fn run(id: &str, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let VerifiedThread { row, path, checked, files, .. } =
        threads_from_outside(&context.rye()?)?.verify(id)?;
    let is_compared = row.is_some();
    let is_running = row.as_ref().is_some_and(|row| row.state == RunState::Running);
    if out.is_json() {
        out.success(json!({
            "thread_id": id, "verified": true, "compared_with_registry": is_compared,
            "final": checked.is_final,
            "thread_status": row.map_or(checked.status, |row| row.state.to_string()),
            "checkpoints": checked.checkpoints, "proven_bytes": checked.proven_bytes,
            "unproven_bytes": checked.unproven_bytes, "signer": checked.key,
            "transcript": path.display().to_string(), "blobs": files.blobs,
            "unproven_files": files.unproven, "unproven_file_names": files.unproven_names,
        }));
        return Ok(Exit::DONE);
    }
    let good = out.paint().style(Style::Good, "record verified");
    let key = checked.key.map(|key| key.to_string()).unwrap_or_default();
    out.line(&format!("{good}  signed by {key}"));
    let status = row.map_or(checked.status, |row| row.state.to_string());
    let count = counted(checked.checkpoints, "checkpoint");
    out.line(&format!("{status}, {count} over {}", counted(checked.proven_bytes, "byte")));
    if !is_compared {
        out.line(NOT_COMPARED);
    }
    if checked.unproven_bytes > 0 {
        let bytes = counted(checked.unproven_bytes, "byte");
        out.line(&format!("not proven: {bytes} of the record behind its last checkpoint"));
    }
    if files.unproven > 0 {
        let names = files.unproven_names.iter().map(|name| told_file(name, is_running));
        let names: Vec<String> = names.collect();
        let left_out = files.unproven - names.len() as u64;
        let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
        let count = counted(files.unproven, "file");
        let names = names.join(", ");
        out.line(&format!("not proven: {count} that the record does not name: {names}{more}"));
    }
    out.line(&escape_line(&path.display().to_string()));
    Ok(Exit::DONE)
}

/// A file of the folder, and what it is where rye itself made it.
fn told_file(name: &str, is_running: bool) -> String {
    match name {
        LIVE_WORDS if is_running => format!("`{name}` (what the model is saying now)"),
        LIVE_WORDS => format!("`{name}` (what the model was saying when its process ended)"),
        name => format!("`{}`", escape_line(name)),
    }
}
