//! `rye fmt`: puts the headers of items into one shape.

use serde_json::{Value, json};

use super::context::Context;
use super::diff::painted;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::sign::NamedFiles;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::id::Space;
use crate::resolve::Found;
use crate::rye::{SignReport, SignatureState, ToSign};
use crate::scaffold::{Formatted, Shaped, format};

/// Tidy the metadata headers of items, and nothing else of them
///
/// Keys come in one order, with one way of spacing and quoting. What an item says stays the same,
/// and so do its body and its comments; where that cannot be promised the file is left as it is,
/// with the reason. A file that changed has to be signed again.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items, globs, or paths of files and folders; by default every item of the space
    #[arg(value_name = "REF|GLOB|PATH", add = super::complete::refs())]
    items: Vec<String>,
    /// Every item of the space; the default without refs
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// The space; by default the project
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Only say what would change; status 4 if anything would
    #[arg(long)]
    check: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    diff: bool,
    /// Sign again what carried your valid signature before
    #[arg(long, conflicts_with_all = ["check", "diff"])]
    sign: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let all = args.all || args.items.is_empty();
    let NamedFiles { files, failed, by_name } =
        super::sign::find(&args.items, all, args.space, &rye)?;
    let write = !args.check && !args.diff;
    let rows = format(&rye, &files, write, by_name);
    let mut exit = super::sign::show_failed(&failed, out);
    let mut yours = Vec::new();
    for (row, file) in rows.iter().zip(files) {
        exit = exit.max(show(row, args, out));
        if let Shaped::Changed { was, text, .. } = &row.shaped
            && was.is_yours()
        {
            // The text that was formatted is signed, and not what is on disk by now.
            yours.push(ToSign::from(Found { bytes: text.clone().into_bytes().into(), ..file }));
        }
    }
    let mut signed = Vec::new();
    if args.sign && !yours.is_empty() {
        signed = super::sign::sign(&rye, yours, context, out)?;
        exit = exit.max(match out.is_json() {
            true => super::sign::status(super::sign::worst(&signed).as_ref()),
            false => super::sign::shown(&signed, false, out),
        });
    }
    summary(&rows, &failed, &signed, args, out);
    Ok(Exit::Status(exit))
}

/// Shows a row and gives the status that it asks for.
fn show(row: &Formatted, args: &Args, out: &mut Out) -> u8 {
    let item = &row.item;
    let path = out.paint().style(Style::Dim, &escape_line(&row.place.path));
    match &row.shaped {
        Shaped::Same => {
            if !out.is_json() && args.items.len() == 1 {
                out.line(&format!("tidy already  {item}"));
            }
            0
        }
        Shaped::Changed { unified, was, .. } => {
            let write = !args.check && !args.diff;
            if !out.is_json() {
                let verb = if write { "formatted" } else { "would format" };
                let verb = out.paint().style(Style::Good, verb);
                out.line(&format!("{verb}  {item}  {path}"));
                if args.diff {
                    let text = painted(unified, out.paint());
                    out.exact(&text);
                }
                let again = write && !(args.sign && was.is_yours());
                if again && *was != SignatureState::Nothing {
                    out.note(&format!(
                        "note: its signature covers the old text; re-sign with `rye sign {item}`"
                    ));
                }
            }
            if args.check { 4 } else { 0 }
        }
        Shaped::Left(why) => {
            if !out.is_json() {
                out.line(&format!("left as it is  {item}  {path}: {}", escape_line(why)));
            }
            0
        }
        Shaped::Failed(diagnostic) => {
            if !out.is_json() {
                let text = diagnostic.to_text(out.paint_err());
                out.note(text.trim_end());
            }
            diagnostic.code.exit_status()
        }
    }
}

fn summary(
    rows: &[Formatted],
    failed: &[SignReport],
    signed: &[SignReport],
    args: &Args,
    out: &mut Out,
) {
    let count = |is: fn(&Shaped) -> bool| rows.iter().filter(|row| is(&row.shaped)).count();
    let changed = count(|shaped| matches!(shaped, Shaped::Changed { .. }));
    let same = count(|shaped| matches!(shaped, Shaped::Same));
    let left = count(|shaped| matches!(shaped, Shaped::Left(_)));
    let bad = failed.len() + count(|shaped| matches!(shaped, Shaped::Failed(_)));
    if out.is_json() {
        let worst = worst(rows, [failed, signed], changed, args);
        let failed = failed.iter().map(|report| super::sign::row(report, args.check));
        let items: Vec<Value> = rows.iter().map(|row| to_json(row, args)).chain(failed).collect();
        let signed: Vec<Value> = signed.iter().map(|row| super::sign::row(row, false)).collect();
        let fields = json!({
            "check": args.check, "items": items, "signed": signed,
            "changed": changed, "same": same, "left": left, "failed": bad,
        });
        out.batch(worst.as_ref(), fields);
    } else if args.items.len() != 1 || rows.len() + failed.len() != 1 {
        let verb = if args.check || args.diff { "to format" } else { "formatted" };
        out.line(&format!("{changed} {verb}, {same} tidy already, {left} left, {bad} failed"));
    }
}

/// What the call fails of.
fn worst(
    rows: &[Formatted],
    signed: [&[SignReport]; 2],
    count: usize,
    args: &Args,
) -> Option<Diagnostic> {
    let changed = rows.iter().find(|row| matches!(row.shaped, Shaped::Changed { .. }));
    let changed = changed.filter(|_| args.check).map(|row| {
        let first = row.item.clone();
        Diagnostic::from(&CliError::WouldChange { count, verb: "formatted", first })
    });
    let failed = rows.iter().filter_map(|row| match &row.shaped {
        Shaped::Failed(diagnostic) => Some((**diagnostic).clone()),
        _ => None,
    });
    let of_signing = signed.into_iter().filter_map(super::sign::worst);
    Diagnostic::worst(failed.chain(of_signing).chain(changed))
}

fn to_json(row: &Formatted, args: &Args) -> Value {
    let mut out = json!({"item_id": row.item, "path": row.place.path});
    let more = match &row.shaped {
        Shaped::Same => json!({"status": "same"}),
        Shaped::Changed { unified, was, .. } => json!({
            "status": if args.check || args.diff { "would_format" } else { "formatted" },
            "diff": unified, "re_sign": *was != SignatureState::Nothing,
        }),
        Shaped::Left(why) => json!({"status": "left", "why": why}),
        Shaped::Failed(diagnostic) => {
            let mut fields = diagnostic.to_json();
            fields.insert("status".into(), "failed".into());
            Value::Object(fields)
        }
    };
    if let (Value::Object(out), Value::Object(more)) = (&mut out, more) {
        out.extend(more);
    }
    out
}
