//! `rye lock`: write down what this project has agreed to run.

use serde_json::{Map, Value, json};

use super::confirm::confirm;
use super::context::Context;
use super::diff::painted;
use super::error::CliError;
use super::exit::Exit;
use super::named::{Named, queries};
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::id::{Query, Space};
use crate::lock::{Broken, LOCK_DIFFERS, Pin};
use crate::rye::{Change, LockReport, LockRow, Rye};

/// Write down what this project has agreed to run, in `.ai/rye.lock`
///
/// Adds items with everything that they run through. A row that is there is changed only with
/// `--update`, which shows what changed first.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items to lock, globs such as 'tool:acme/**', or paths of files and folders; by default every
    /// tool and directive of the project
    #[arg(value_name = "REF|GLOB|PATH", add = super::complete::refs())]
    items: Vec<String>,
    /// Every tool and directive of the project; the default without refs
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// Also change rows that say something else, after showing what changed
    #[arg(long)]
    update: bool,
    /// Only say what would change; status 4 if anything would
    #[arg(long, conflicts_with = "update")]
    check: bool,
    /// Take the rows of these items out
    #[arg(long, conflicts_with_all = ["update", "check"], requires = "items")]
    remove: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let report = match args.remove {
        true => rye.locks().survey_removal(&listed(&args.items, &rye)?)?,
        false => {
            rye.spaces().project()?;
            rye.locks().survey(&queries(&args.items, Some(Space::Project), &rye)?)?
        }
    };
    if !out.is_json() {
        for row in &report.rows {
            show(row, args, out);
        }
        for (_, failure) in &report.failed {
            let text = failure.diagnostic().to_text(out.paint_err());
            out.note(text.trim_end());
        }
    }
    let written = !args.check && {
        ask(&report, args, context, out)?;
        rye.locks().write(&report, args.update)?
    };
    let worst = worst(&report, args);
    summary(&report, args, written, worst.as_ref(), out);
    Ok(Exit::Status(worst.map_or(0, |worst| worst.code.exit_status())))
}

/// The rows of the lock that the words name, whether their items are still there or not.
///
/// # Errors
/// Those of a word that names nothing; `cli.usage` for a folder or a glob that no row is in.
fn listed(words: &[String], rye: &Rye) -> Result<Vec<Query>, Failure> {
    let mut all = Vec::new();
    for word in words {
        match Named::read(word, rye)? {
            Named::Item(query) => all.push(query),
            named @ Named::Many(..) => {
                let rows = rye.locks().rows()?;
                let meant: Vec<Query> =
                    rows.into_iter().filter(|row| named.means_row(row)).collect();
                if meant.is_empty() {
                    let message = format!(
                        "no row of `.ai/rye.lock` is of an item of `{}`",
                        escape_line(word)
                    );
                    let help = Some("see its rows with `rye lock --check`".to_owned());
                    return Err(CliError::Usage { message, help }.into());
                }
                all.extend(meant);
            }
        }
    }
    Ok(all)
}

/// Asks for each row that is changed or removed, if a question is needed.
fn ask(report: &LockReport, args: &Args, context: &Context, out: &mut Out) -> Result<(), Failure> {
    for row in &report.rows {
        let what = match &row.change {
            Change::Changed(_) if args.update => "change the lock of",
            Change::Removed => "take out of the lock",
            Change::Gone if args.update => "take out of the lock",
            _ => continue,
        };
        let digest = row.now.as_ref().map(|pin| format!("sha256 {}", pin.sha256));
        confirm(&format!("{what} `{}`", row.name), &digest.unwrap_or_default(), context, out)?;
    }
    Ok(())
}

/// The fault that fails the call.
fn worst(report: &LockReport, args: &Args) -> Option<Diagnostic> {
    let failed = report.failed.iter().map(|(item, failure)| {
        let told = failure.diagnostic();
        Diagnostic { item: Some(item.clone()), ..told }
    });
    let (error, help) = match report.differs() {
        true => (
            "the lock says something else than what is there",
            "see what changed with `rye lock --check`; if you want it, run `rye lock --update`",
        ),
        false => ("what is there is not all listed in the lock", "read it; then run `rye lock`"),
    };
    let kept = report.differs() && !args.update;
    let open = args.check && report.adds();
    let differs = (kept || open).then(|| Diagnostic {
        code: LOCK_DIFFERS,
        message: error.into(),
        help: Some(help.into()),
        place: None,
        item: None,
        data: Map::new(),
    });
    Diagnostic::worst(failed.chain(differs))
}

fn show(row: &LockRow, args: &Args, out: &mut Out) {
    let paint = out.paint();
    let (word, style) = match &row.change {
        Change::Same => return,
        Change::Added => ("added", Style::Good),
        Change::Changed(_) => ("changed", Style::Warning),
        Change::Gone => ("gone", Style::Warning),
        Change::Removed => ("removed", Style::Warning),
    };
    out.line(&format!("{}  {}", paint.style(style, &format!("{word:<7}")), row.name));
    match (&row.was, &row.now) {
        (Some(was), Some(now)) => {
            out.line(&format!("  locked  {}", pin_text(was)));
            out.line(&format!("  found   {}", pin_text(now)));
        }
        (Some(pin), None) | (None, Some(pin)) => out.line(&format!("  {}", pin_text(pin))),
        (None, None) => {}
    }
    if row.change == Change::Gone && !args.update {
        out.line(&format!("  kept; take it out with `rye lock --remove {}`", row.name));
    }
    if let Change::Changed(rule) = &row.change {
        if let Some(rule) = rule {
            out.line(&format!("  {}", paint.style(Style::Error, rule_text(rule))));
        }
        match &row.brief {
            Some(unified) => {
                let text = painted(unified, paint);
                out.exact(&text);
            }
            None => out.line("  the locked version is not known here: read the whole file"),
        }
        if !args.update && !args.check {
            out.line(&format!("  kept; if you want it, run `rye lock --update {}`", row.name));
        }
    }
}

/// The rule that a run would break as long as the row stays.
fn rule_text(rule: &Broken) -> &'static str {
    match rule {
        Broken::Signer => "another key signed it",
        Broken::Space => "it comes from another space",
        Broken::Older => "it is older than what is locked",
        Broken::SameTime => "it was signed in the same second as what is locked",
        Broken::Differs(_) => "it differs",
    }
}

/// One row on one line.
pub(super) fn pin_text(pin: &Pin) -> String {
    let version = pin.version.as_deref().map(|version| format!(" {}", escape_line(version)));
    let (short, signer) = (&pin.sha256.to_string()[..12], pin.signer.short());
    format!(
        "{}{}  sha256 {short}…  signed {} by {signer}",
        pin.space,
        version.unwrap_or_default(),
        pin.signed_at
    )
}

fn summary(
    report: &LockReport,
    args: &Args,
    written: bool,
    worst: Option<&Diagnostic>,
    out: &mut Out,
) {
    let count =
        |is: &dyn Fn(&Change) -> bool| report.rows.iter().filter(|row| is(&row.change)).count();
    let same = count(&|change| *change == Change::Same);
    let added = count(&|change| *change == Change::Added);
    let changed = count(&|change| matches!(change, Change::Changed(_)));
    let gone = count(&|change| matches!(change, Change::Gone | Change::Removed));
    if !out.is_json() {
        let verb = match (args.check, written) {
            (true, _) => "nothing was written",
            (false, true) => "written",
            (false, false) => "left as it was",
        };
        // Of the rows that stay nothing was asked where some are taken out.
        let same = if args.remove { String::new() } else { format!(", {same} as they were") };
        out.line(&format!(
            ".ai/rye.lock: {added} added, {changed} changed, {gone} gone{same}; {verb}"
        ));
        return;
    }
    let rows: Vec<Value> = report.rows.iter().map(row_json).collect();
    let failed: Vec<Value> = report
        .failed
        .iter()
        .map(|(item, failure)| {
            let mut fields = failure.diagnostic().to_json();
            fields.insert("item_id".into(), item.clone().into());
            Value::Object(fields)
        })
        .collect();
    let fields = json!({
        "path": ".ai/rye.lock", "check": args.check, "written": written,
        "added": added, "changed": changed, "gone": gone, "same": same,
        "rows": rows, "failed": failed,
    });
    out.batch(worst, fields);
}

fn row_json(row: &LockRow) -> Value {
    let (change, rule) = match &row.change {
        Change::Same => ("same", None),
        Change::Added => ("added", None),
        Change::Changed(rule) => ("changed", rule.as_ref().map(rule_text)),
        Change::Gone => ("gone", None),
        Change::Removed => ("removed", None),
    };
    json!({
        "item_id": row.name.to_string(), "change": change, "rule": rule, "was": row.was, "now": row.now,
        "diff": row.diff,
    })
}
