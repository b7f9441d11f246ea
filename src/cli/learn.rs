//! `rye learn`: run a tool once under observation, and propose what its item should declare.

use std::time::Duration;

use serde_json::json;

use super::context::Context;
use super::diff::painted;
use super::execute::time;
use super::exit::Exit;
use super::input::Inputs;
use super::named::reference;
use super::out::{Out, is_terminal, output_err};
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Failure, Style};
use crate::id::Space;
use crate::learn::{Learned, learn, put};
use crate::report::Report;
use crate::rye::Request;
use crate::trace::Quiet;

/// Run a tool once under observation, and propose the narrowest sandbox for it
///
/// The tool runs for good: it may do all but what no sandbox lets a tool do. What it was seen to
/// need becomes a change of its item, which you read and sign. Other parameters may need more.
/// With `--write` what the last look showed is put into the file, and nothing runs, as long as the
/// tool, its parameters and all that it runs through are the same.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The tool, such as `tool:acme/build`
    #[arg(value_name = "REF|PATH", add = super::complete::runnable())]
    item: String,
    #[command(flatten)]
    inputs: Inputs,
    /// Stop it after this time, such as `10`, `500ms` or `2m`, if that is sooner than its own limit
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Put the change into the file, which has to be signed again then
    #[arg(long)]
    write: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let given = args.inputs.read()?;
    let rye = context.rye()?;
    let mut request = Request::new(reference(&args.item, &rye)?);
    request.params = given.params;
    request.texts = given.texts;
    request.timeout = args.timeout;
    let learned = learn(&rye, request, args.write, context.start, &Quiet)?;
    if let Some(report) = &learned.report {
        out.warned(report.warnings());
    }
    // A run that failed, or waits for a person, did not reach everything that the tool needs.
    let is_whole = learned.exit_status() == 0;
    let is_new = !learned.unified.is_empty();
    let writes = args.write && is_new && is_whole;
    if writes || (args.write && learned.text.is_err()) {
        let put = put(&learned);
        // A person who has to write the block by hand has to see it.
        if put.is_err() && !out.is_json() {
            show(&learned, false, out);
            out.flush();
        }
        put?;
    }
    if out.is_json() {
        let report = learned.report.as_ref();
        let mut run = report.map(|report| report.to_json(context.start.elapsed(), false, None));
        // The trace is long and does not help a reader of the proposal.
        if let Some(metadata) = run.as_mut().and_then(|run| run["metadata"].as_object_mut()) {
            metadata.remove("sandbox");
        }
        out.object(&json!({
            "status": run.as_ref().map_or(json!("success"), |run| run["status"].clone()),
            "item_id": learned.item, "path": learned.found.place.path,
            "sandbox": sandbox(&learned), "changed": is_new, "diff": learned.unified,
            "remarks": learned.remarks, "written": writes,
            "run": run,
        }));
    } else {
        show(&learned, writes, out);
    }
    Ok(Exit::Status(learned.exit_status()))
}

/// The block as an item has it.
fn sandbox(learned: &Learned) -> serde_json::Value {
    learned.needs.block(None).into()
}

/// How a run ended that was not seen to its end.
fn show_end(report: &Report, out: &mut Out) {
    if let Some(error) = report.error_text(out.paint_err()) {
        let said = report.to_text(out.paint(), is_terminal());
        output_err(&said.stderr, out);
        out.note(error.trim_end());
        out.note("note: it failed, so what it had not come to is missing here");
    } else if report.waits() {
        out.note(report.to_text(out.paint_err(), is_terminal()).stdout.trim_end());
        out.note("note: it waits for a person, so what comes after that is missing here");
    }
}

fn show(learned: &Learned, written: bool, out: &mut Out) {
    let Learned { item, found, unified, remarks, text, .. } = learned;
    let path = escape_line(&found.place.path);
    let is_part = learned.exit_status() != 0;
    match &learned.report {
        Some(report) => show_end(report, out),
        None => {
            out.note("note: the last look showed this, and nothing changed, so nothing ran now");
        }
    }
    match text {
        Err(why) => {
            let why = escape(why);
            out.line(&format!("`{item}` needs this, which cannot be written into {path}: {why}"));
            out.exact(&escape(&learned.block));
        }
        Ok(_) if unified.is_empty() && (is_part || !remarks.is_empty()) => {}
        Ok(_) if unified.is_empty() => {
            out.line(&format!("`{item}` needs what it may have already, and all of that"));
        }
        Ok(_) => {
            let text = painted(unified, out.paint());
            out.exact(&text);
        }
    }
    out.flush();
    for remark in remarks {
        out.note(&format!("note: {remark}"));
    }
    if unified.is_empty() || is_part {
        return;
    }
    let space = if found.space == Space::User { " --space user" } else { "" };
    let sign = format!("`rye sign {item}{space}`");
    out.line("");
    if written {
        let verb = out.paint().style(Style::Good, "written");
        out.line(&format!("{verb}  {item}  {path}"));
        out.line(&format!("next: read it (`rye diff {item}`), and sign it with {sign}"));
    } else {
        out.line(&format!(
            "next: read it; the same line with `--write` puts just this into the file, which you then \
             sign with {sign}"
        ));
    }
}
