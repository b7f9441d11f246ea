//! `rye sign`: sign items with your own key.

use serde_json::{Value, json};

use super::confirm::confirm;
use super::error::CliError;
use super::exit::{Exit, status};
use super::out::{Out, Progress};
use super::wire::Wired;
use crate::base::text::escape_line;
use crate::diag::Style;
use crate::grant::Pattern;
use crate::id::{Query, Space};
use crate::parse::Severity;
use crate::pipeline::{Rye, SignOptions, SignReport, Signed};
use crate::resolve::Found;

/// Sign items with your own key
///
/// A single ref is always signed again. A glob or `--all` signs what does not carry your valid
/// signature yet.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items, or globs such as 'tool:acme/**'
    #[arg(value_name = "REF|GLOB", required_unless_present = "all", add = super::complete::refs())]
    items: Vec<String>,
    /// Every item of the space
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// The space whose copy is signed; by default the project, or without one the user space
    #[arg(long, value_name = "SPACE", value_parser = super::words::space())]
    space: Option<Space>,
    /// Only say what would change; status 4 if anything would
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &Args, wired: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    let rye = wired.rye()?;
    let (files, failed) = find(&args.items, args.all, args.space, &rye)?;
    let again = args.items.iter().all(|item| !item.contains('*')) && !args.all;
    let how = match (args.check, again) {
        (true, _) => How::Check,
        (false, true) => How::Again,
        (false, false) => How::New,
    };
    let mut reports = sign(&rye, files, how, wired, out)?;
    reports.extend(failed);
    Ok(show(&reports, args.check, out))
}

/// How files are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Not at all: it is said what would change.
    Check,
    /// What does not carry your valid signature.
    New,
    /// All of them.
    Again,
    /// All of them, and of each these very bytes: what somebody saved since then is left.
    Exactly,
}

/// Signs files.
///
/// # Errors
/// `cli.not_confirmed`; those of your own key.
pub(super) fn sign(
    rye: &Rye,
    files: Vec<Found>,
    how: How,
    wired: &Wired,
    out: &mut Out,
) -> Result<Vec<SignReport>, CliError> {
    let pair = rye.own_pair()?;
    let check = how == How::Check;
    if !check {
        for file in &files {
            let digest = crate::verify::digest_to_sign(file);
            confirm(&format!("sign `{}`", file.item), &format!("sha256 {digest}"), wired, out)?;
        }
    }
    let in_project = files.iter().any(|file| file.space == Space::Project);
    let progress = Progress::new(out, files.len(), "signing");
    let tick = || progress.tick();
    let options = SignOptions {
        check,
        again: matches!(how, How::Again | How::Exactly),
        exactly: how == How::Exactly,
        progress: &tick,
    };
    let reports = rye.sign_all(files, &pair, options);
    progress.done();
    let signed_any = reports.iter().any(|r| matches!(r.signed, Signed::Changed { .. }));
    if in_project && signed_any && !check && rye.accept_project(&pair)? {
        let path = rye.spaces().project_path().display().to_string();
        out.note(&format!(
            "note: `{}` is an accepted project from here on; what you and keys you trust signed may run in it",
            escape_line(&path)
        ));
    }
    Ok(reports)
}

/// The space that one writes into without saying which.
pub(super) fn own_space(rye: &Rye) -> Space {
    let has_project = rye.spaces().get(Space::Project).is_some_and(crate::space::Root::exists);
    if has_project { Space::Project } else { Space::User }
}

/// The files that refs and globs name in a space, or all of it, and those that cannot be used; by
/// default the project's, or without one the user space's.
///
/// # Errors
/// `cli.usage` for a glob that matches nothing; those of finding a ref.
pub(super) fn find(
    items: &[String],
    all: bool,
    space: Option<Space>,
    rye: &Rye,
) -> Result<(Vec<Found>, Vec<SignReport>), CliError> {
    let wanted = space;
    let space = wanted.unwrap_or_else(|| own_space(rye));
    if all {
        let all: Result<Pattern, _> = "*:**".parse();
        let patterns: Vec<_> = all.into_iter().collect();
        return Ok(rye.find_all_to_sign(&patterns, space)?);
    }
    let mut files: Vec<Found> = Vec::new();
    let mut failed = Vec::new();
    for item in items {
        let found = if item.contains('*') {
            let pattern = super::words::pattern(item)?;
            let (found, bad) = rye.find_all_to_sign(&[pattern], space)?;
            let nothing = found.is_empty() && bad.is_empty();
            failed.extend(bad);
            if nothing {
                return Err(super::words::no_match(item, Some(space), rye));
            }
            found
        } else {
            vec![rye.find_to_sign(&item.parse::<Query>()?, wanted)?]
        };
        for file in found {
            if !files.iter().any(|known| known.path == file.path) {
                files.push(file);
            }
        }
    }
    Ok((files, failed))
}

/// The status that a batch asks for.
pub(super) fn worst(reports: &[SignReport]) -> u8 {
    let codes = reports.iter().map(|report| match &report.signed {
        Signed::Failed(failure) => status(failure.code()),
        _ => 0,
    });
    codes.max().unwrap_or(0)
}

/// Shows files that could not be used, and gives the status that they ask for.
pub(super) fn show_failed(failed: &[SignReport], out: &mut Out) -> u8 {
    if out.is_json() { worst(failed) } else { shown(failed, false, out) }
}

/// Shows a batch as text, without its summary, and gives the status that it asks for.
pub(super) fn shown(reports: &[SignReport], check: bool, out: &mut Out) -> u8 {
    rows(reports, check, out).0
}

fn show(reports: &[SignReport], check: bool, out: &mut Out) -> Exit {
    let (exit, counts) = rows(reports, check, out);
    if out.is_json() {
        let status = if counts[2] == 0 { "success" } else { "error" };
        out.object(&json!({
            "status": status, "check": check,
            "items": reports.iter().map(|report| row(report, check)).collect::<Vec<_>>(),
            "changed": counts[0], "up_to_date": counts[1], "failed": counts[2],
        }));
    } else if reports.len() > 1 {
        let verb = if check { "to sign" } else { "signed" };
        out.line(&format!("{} {verb}, {} up to date, {} failed", counts[0], counts[1], counts[2]));
    }
    Exit::Status(exit)
}

/// A line for each report; the status that they ask for, and how many were signed, up to date, failed.
fn rows(reports: &[SignReport], check: bool, out: &mut Out) -> (u8, [usize; 3]) {
    let mut exit = 0;
    let mut counts = [0_usize; 3];
    for report in reports {
        match &report.signed {
            Signed::Changed { digest, was, warnings } => {
                counts[0] += 1;
                if check {
                    exit = exit.max(4);
                }
                let verb = if check { "would sign" } else { "signed" };
                let digest = &digest.to_string()[..12];
                let was =
                    was.filter(|_| check).map(|code| format!("  ({code})")).unwrap_or_default();
                if !out.is_json() {
                    let verb = out.paint().style(Style::Good, verb);
                    let path = out.paint().style(Style::Dim, &escape_line(&report.place.path));
                    out.line(&format!("{verb}  {}  sha256 {digest}…  {path}{was}", report.item));
                }
                for warning in warnings.iter().filter(|w| w.severity == Severity::Warning) {
                    out.warn(&format!("{}: {}", report.item, escape_line(&warning.message)));
                }
            }
            Signed::UpToDate => {
                counts[1] += 1;
                if !out.is_json() && reports.len() == 1 {
                    out.line(&format!("up to date  {}", report.item));
                }
            }
            Signed::Failed(failure) => {
                counts[2] += 1;
                exit = exit.max(status(failure.code()));
                if !out.is_json() {
                    let text = failure.diagnostic().to_text(out.paint_err());
                    out.note(text.trim_end());
                }
            }
        }
    }
    (exit, counts)
}

/// A report as data.
pub(super) fn row(report: &SignReport, check: bool) -> Value {
    let mut row = json!({"item_id": report.item, "path": report.place.path});
    let more = match &report.signed {
        Signed::Changed { digest, was, warnings } => json!({
            "status": if check { "would_sign" } else { "signed" },
            "sha256": digest, "was": was,
            "warnings": warnings.iter().map(crate::parse::Finding::to_json).collect::<Vec<_>>(),
        }),
        Signed::UpToDate => json!({"status": "up_to_date"}),
        Signed::Failed(failure) => {
            let mut fields = failure.diagnostic().to_json();
            fields.insert("status".into(), "failed".into());
            Value::Object(fields)
        }
    };
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more);
    }
    row
}
