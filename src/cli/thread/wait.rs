//! `rye thread wait`.

use std::time::Duration;

use serde_json::Value;

use crate::base::text::escape_line;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::out::{Out, output, output_err};
use crate::diagnostic::Failure;
use crate::report::{data_text, handed_over_text};
use crate::runs::threads_from_outside;

pub(super) fn run(
    id: &str,
    timeout: Option<Duration>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let ended = match threads_from_outside(&context.rye()?)?.wait(id, timeout)? {
        Ok(ended) => ended,
        Err(signal) => return Ok(Exit::Signal(signal)),
    };
    Ok(show(&ended.report, false, out))
}

/// Shows what one gave that ended, or waits for a person; what its tool wrote, unless it was shown.
pub(in crate::cli) fn show(report: &Value, is_output_shown: bool, out: &mut Out) -> Exit {
    let code = report["code"].as_str().map(str::to_owned);
    let is_pending = report["status"] == "pending";
    if !out.is_json() {
        show_warnings(report, out);
    }
    if out.is_json() {
        out.object(report);
    } else if let Some(code) = &code {
        if !is_output_shown {
            show_written(&report["data"], out);
        }
        let text = |key: &str| escape_line(report[key].as_str().unwrap_or_default());
        out.note(&format!("error[{code}]: {}\n  help: {}", text("error"), text("help")));
    } else if is_pending {
        let id = escape_line(report["pending"]["id"].as_str().unwrap_or_default());
        match report["remote"]["name"].as_str().map(escape_line) {
            None => out.note(&format!("it waits for a person: `rye pending show {id}`")),
            Some(remote) => {
                let run = escape_line(report["thread_id"].as_str().unwrap_or_default());
                out.note(&format!("it waits for a person at `{remote}`, who sees it as `{id}`"));
                out.note(&format!("then: `rye thread wait {run}`"));
            }
        }
    } else if report["type"] == "directive" {
        let words = report["result"].as_str().unwrap_or_default();
        match handed_over_text(&report["outputs"], words) {
            text if text.is_empty() => out.note("it ended, and gave neither outputs nor words"),
            text => out.exact(&text),
        }
    } else {
        let text = data_text(&report["data"]);
        output(&text.stdout, out);
        output_err(&text.stderr, out);
    }
    if !out.is_json() {
        show_files(&report["outputs_written"], out);
    }
    exit_of(report)
}

/// Shows which files came back from a node, and which did not.
fn show_files(outputs: &Value, out: &mut Out) {
    let rows = |key: &str| outputs[key].as_array().into_iter().flatten();
    for path in rows("written") {
        out.note(&format!("wrote {}", escape_line(path.as_str().unwrap_or_default())));
    }
    for left in rows("left_out") {
        let text = |key: &str| escape_line(left[key].as_str().unwrap_or_default());
        out.warn(&format!("not written: {}: {}", text("path"), text("why")));
    }
}

/// Shows the messages for the caller that started a thread; the warnings of dev mode, which have a
/// code, are left out.
fn show_warnings(report: &Value, out: &mut Out) {
    let warnings = report["warnings"].as_array().into_iter().flatten();
    for warning in warnings.filter(|warning| warning.get("code").is_none()) {
        out.note(&escape_line(warning["message"].as_str().unwrap_or_default()));
    }
}

/// Shows what a tool wrote that failed, as far as its report holds it.
pub(super) fn show_written(data: &Value, out: &mut Out) {
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    output(text("stdout"), out);
    let said = if data["stderr"].is_string() { text("stderr") } else { text("stderr_tail") };
    output_err(said, out);
}

/// How a command ends that waited for it.
pub(super) fn exit_of(report: &Value) -> Exit {
    Exit::Status(match report["code"].as_str() {
        Some(code) => crate::cli::codes::exit_status(code),
        None if report["status"] == "pending" => 8,
        None => 0,
    })
}
