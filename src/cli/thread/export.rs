//! `rye thread export`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf, absolute};

use serde_json::{Value, json};

use super::events::{COST, brief, failure_text};
use super::used_text;
use super::verify::NOT_COMPARED;
use crate::base::bytes::write_new;
use crate::base::json;
use crate::base::text::{counted, escape, escape_line};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::{Failure, Style};
use crate::runs::{ExportedThread, threads_from_outside};

/// The format of an exported thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ExportFormat {
    Json,
    Markdown,
}

impl ExportFormat {
    /// The format by a file's extension.
    fn of(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).is_some_and(|ext| ext == "md") {
            true => Self::Markdown,
            false => Self::Json,
        }
    }
}

pub(super) fn run(
    id: &str,
    path: Option<&Path>,
    format: Option<ExportFormat>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let format = format.unwrap_or_else(|| ExportFormat::of(path));
    let exported = threads_from_outside(&context.rye()?)?.export(id)?;
    let proof = proof(&exported);
    let (proven, unproven) = (exported.proven_bytes, exported.unproven_bytes);
    let document = Value::from(exported.fields);
    let text = match format {
        ExportFormat::Json => json::text(&document) + "\n",
        ExportFormat::Markdown => markdown(&document, &proof),
    };
    out.note(&proof);
    let Some(path) = path else {
        match (out.is_json(), format) {
            (true, ExportFormat::Json) => out.success(json!({"thread_id": id, "export": document})),
            (true, ExportFormat::Markdown) => out.success(json!({"thread_id": id, "export": text})),
            (false, _) => out.foreign(&text),
        }
        return Ok(Exit::DONE);
    };
    // A conversation may be private, and what is there already may be another one.
    let written = absolute(path).and_then(|path| write_new(&path, text.as_bytes(), 0o600));
    written.map_err(|source| CliError::OutputFile { path: PathBuf::from(path), source })?;
    let path = path.display().to_string();
    if out.is_json() {
        out.success(json!({
            "thread_id": id, "path": path, "proven_bytes": proven, "unproven_bytes": unproven,
        }));
    } else {
        let verb = out.paint().style(Style::Good, "exported");
        out.line(&format!("{verb}  {}  {}", escape_line(id), escape_line(&path)));
    }
    Ok(Exit::DONE)
}

/// How much of a record is proven, and by whom.
fn proof(exported: &ExportedThread) -> String {
    let (proven, unproven) = (exported.proven_bytes, exported.unproven_bytes);
    let signer = exported.fields["signer"].as_str().unwrap_or_default();
    let (proven, unproven) = (counted(proven, "byte"), counted(unproven, "byte"));
    let said =
        format!("proven: {proven} of the record, signed by {signer}; not proven: {unproven}");
    match exported.fields["compared_with_registry"] == true {
        true => said,
        false => format!("{said}; {NOT_COMPARED}"),
    }
}

/// The document for people. Each text of a person or a model stands in a block that it cannot
/// leave.
fn markdown(document: &Value, proof: &str) -> String {
    let text = |key: &str| escape_line(document[key].as_str().unwrap_or_default());
    let mut page = format!("# Thread `{}`\n\n", text("thread_id"));
    let thread = &document["thread"];
    let of_thread = |key: &str| escape_line(thread[key].as_str().unwrap_or_default());
    let _ = write!(page, "- status: {}\n- {proof}\n", text("thread_status"));
    if thread.is_object() {
        let (item, model, provider) =
            (of_thread("item_id"), of_thread("model"), of_thread("provider"));
        let _ = writeln!(page, "- `{item}`, by `{model}` of `{provider}`");
    }
    let count = |key: &str| document["ledger"][key].as_u64().unwrap_or_default();
    let used = used_text(count("turns"), count("tokens"), count("spend_micros"));
    let _ = writeln!(page, "- used without the threads below it: {used}");
    if document["failure"].is_object() {
        let _ = write!(page, "\n{}", block(&failure_text(&document["failure"])));
    }
    for (key, title) in [("events", ""), ("unproven_events", "\n## Not proven\n")] {
        let events = document[key].as_array().map(Vec::as_slice).unwrap_or_default();
        if !events.is_empty() {
            page.push_str(title);
        }
        for event in events {
            let at = escape_line(event["at"].as_str().unwrap_or_default());
            for (label, said) in brief(event) {
                let _ = match label {
                    COST => write!(page, "\n{}\n", escape_line(&said)),
                    _ => write!(page, "\n### {label}  {at}\n\n{}", block(&said)),
                };
            }
        }
    }
    page
}

/// A text between fences that are longer than any in it.
fn block(text: &str) -> String {
    let text = escape(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}
