//! `rye sign`: sign items with your own key.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::acceptance::accept_first;
use super::confirm::{ask, can_ask, confirm, is_below};
use super::context::Context;
use super::diff::painted;
use super::error::CliError;
use super::exit::Exit;
use super::named::Named;
use super::out::{Out, Progress};
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnostic, Failure, Style};
use crate::id::{Pattern, Query, Ref, Space};
use crate::parse::{Severity, signed_before};
use crate::resolve::Found;
use crate::rye::{
    Against, NotSigned, OtherSigner, Rye, SignReport, SignScope, Signed, StagedRow, ToSign,
};
use crate::scaffold::Lang;
use crate::verify::{KeyPair, PartFinding, VERIFY_ALTERED};

/// Most items whose change a batch shows before it asks: more are not read.
const CHANGES_SHOWN: usize = 10;

/// Most lines of a change that a batch shows of one item before it asks; `rye diff` shows all.
const CHANGE_LINES: usize = 40;

/// Sign items with your own key
///
/// Items that are named by their ref or file, one or several, are always signed again, and it is
/// said whose signature yours replaces; on a terminal the change since they were signed or verified
/// last is shown first, and there is no question. A glob, a folder or `--all` signs what is yours
/// or unsigned and does not carry your valid signature yet; on a terminal each change is shown
/// first, and you are asked. It passes over what others signed, and names what of that was changed
/// since, and what `rye dev` showed and you did not say yes to. In a project that you have not
/// accepted all of it is shown first, and you are asked.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items, globs such as 'tool:acme/**', or paths of files and folders, such as `.`
    #[arg(value_name = "REF|GLOB|PATH", required_unless_present = "all", add = super::complete::refs())]
    items: Vec<String>,
    /// Every item of the space
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// With a glob, a folder or `--all`: also what others signed and is refused as it is; what
    /// carries a good signature of another person is signed by its name alone
    #[arg(long)]
    others: bool,
    /// The space whose copy is signed; by default the project, and for a ref your user space too
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Only say what would change; status 4 if anything would
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    // A sandbox hides what is to be signed, and the key, from what a thread starts.
    rye.above().may_read()?;
    let NamedFiles { files, failed, by_name } = find(&args.items, args.all, args.space, &rye)?;
    let scope = if by_name { SignScope::Named } else { SignScope::Open { others: args.others } };
    let files: Vec<ToSign> = files.into_iter().map(ToSign::from).collect();
    let claims = claims(&files);
    // Without a key there is no question.
    let pair = rye.signing().own_pair()?;
    let staged = stage(&rye, files, &pair, scope, out);
    for row in staged.iter().filter(|row| row.digest().is_some()) {
        if let Some(by) = claims.get(&(row.item.clone(), row.place.path.clone())) {
            out.warn(&format!(
                "{}: it says that it came signed by {by}, as an import writes it; nobody checks that \
                 here, and who reads it believes your signature",
                row.item
            ));
        }
    }
    let mut reports = match args.check {
        true => staged.into_iter().map(StagedRow::unwritten).collect(),
        false => {
            if staged.iter().any(is_in_project) {
                accept_first(&rye, &staged, &[], out)?;
            }
            show_changes(&staged, scope, &rye, context, out)?;
            write(&rye, staged, &pair, context, out)?
        }
    };
    if !args.check {
        warn_of_lock(&reports, &pair, &rye, out);
    }
    reports.extend(failed);
    if !by_name && !out.is_json() {
        super::list::warn_of_odd(&rye.items().survey(&[])?.odd, out);
    }
    Ok(show(&reports, args.check, out))
}

/// The signatures that items had before they were imported, as the items say.
fn claims(files: &[ToSign]) -> BTreeMap<(Ref, String), String> {
    let claim = |file: &ToSign| {
        let by = signed_before(std::str::from_utf8(&file.found.bytes).ok()?)?;
        Some(((file.found.item.clone(), file.found.place.path.clone()), by))
    };
    files.iter().filter_map(claim).collect()
}

/// Signs files whose text was already shown.
///
/// # Errors
/// `cli.not_confirmed`; those of your own key.
pub(super) fn sign(
    rye: &Rye,
    files: Vec<ToSign>,
    context: &Context,
    out: &mut Out,
) -> Result<Vec<SignReport>, Failure> {
    let pair = rye.signing().own_pair()?;
    let staged = stage(rye, files, &pair, SignScope::Exactly, out);
    write(rye, staged, &pair, context, out)
}

/// Shows what changed in files since they were signed or verified last. Of a batch it asks whether
/// that is to be signed; what was named by itself was chosen. Without a terminal, or with `--yes`,
/// nothing is shown.
///
/// # Errors
/// `cli.not_confirmed`
fn show_changes(
    staged: &[StagedRow],
    scope: SignScope,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    let changed: Vec<&StagedRow> = staged.iter().filter(|row| row.is_change()).collect();
    if changed.is_empty() || !can_ask() || out.is_json() || context.common.yes || is_below(context)
    {
        return Ok(());
    }
    for row in changed.iter().take(CHANGES_SHOWN) {
        let head = format!("{} was changed since it was verified last:", row.item);
        let head = out.paint().style(Style::Strong, &head);
        out.line(&head);
        let space = row.place.space.as_deref().and_then(|space| space.parse().ok());
        let query = Query { space, ..Query::from(row.item.clone()) };
        let change = match rye.history().diff(&query, &Against::Last) {
            Ok(difference) => painted(&difference.whole(), out.paint()),
            Err(failure) => failure.diagnostic().to_text(out.paint()),
        };
        let lines: Vec<&str> = change.lines().collect();
        lines.iter().take(CHANGE_LINES).for_each(|line| out.line(line));
        if let Some(more) = lines.len().checked_sub(CHANGE_LINES).filter(|more| *more > 0) {
            out.line(&format!("… and {more} more lines: `rye diff {}`", row.item));
        }
        out.line("");
    }
    if let Some(more) = changed.len().checked_sub(CHANGES_SHOWN).filter(|more| *more > 0) {
        out.line(&format!("{more} more were changed; see each with `rye diff`"));
    }
    out.flush();
    if scope == SignScope::Named {
        return Ok(());
    }
    let what = match changed.as_slice() {
        [one] => format!("sign the change of `{}`", one.item),
        more => format!("sign the changes of these {} items", more.len()),
    };
    match ask(&format!("{what}? [y/N] ")) {
        Some(true) => Ok(()),
        Some(false) => Err(CliError::Declined.into()),
        None => Err(CliError::NotConfirmed { what }.into()),
    }
}

/// Signs files in memory; nothing is written.
fn stage(
    rye: &Rye,
    files: Vec<ToSign>,
    pair: &KeyPair,
    scope: SignScope,
    out: &Out,
) -> Vec<StagedRow> {
    let progress = Progress::new(out, files.len(), "reading");
    let staged = rye.signing().stage_all(files, pair, scope, &|| progress.tick());
    progress.done();
    staged
}

/// Writes what was staged; below a run of rye a person says yes to each digest first.
///
/// # Errors
/// `cli.not_confirmed`; those of your own key.
fn write(
    rye: &Rye,
    staged: Vec<StagedRow>,
    pair: &KeyPair,
    context: &Context,
    out: &mut Out,
) -> Result<Vec<SignReport>, Failure> {
    for row in &staged {
        if let Some(digest) = row.digest() {
            confirm(&format!("sign `{}`", row.item), &format!("sha256 {digest}"), context, out)?;
        }
    }
    let in_project = staged.iter().any(is_in_project);
    let progress = Progress::new(out, staged.len(), "signing");
    let reports = rye.signing().write_all(staged, &|| progress.tick());
    progress.done();
    let signed_any = reports.iter().any(|r| matches!(r.signed, Signed::Changed { .. }));
    if in_project && signed_any && rye.project().accept(pair)? {
        let path = rye.spaces().project_path().display().to_string();
        out.note(&format!(
            "note: `{}` is an accepted project from here on; what you and keys you trust signed may run in it",
            escape_line(&path)
        ));
    }
    Ok(reports)
}

/// Says which items of the project the lock gives to another signer.
fn warn_of_lock(reports: &[SignReport], pair: &KeyPair, rye: &Rye, out: &mut Out) {
    let is_here = |report: &&SignReport| {
        report.place.space.as_deref() == Some(Space::Project.as_str())
            && matches!(report.signed, Signed::Changed { .. })
    };
    let items = reports.iter().filter(is_here).map(|report| &report.item);
    // A lock that cannot be read is told where it is asked.
    let key = pair.public().fingerprint();
    for item in rye.locks().signed_by_others(key, items).unwrap_or_default() {
        out.warn(&format!(
            "`.ai/rye.lock` lists `{item}` by another signer: `rye lock --update {item}`"
        ));
    }
}

fn is_in_project(row: &StagedRow) -> bool {
    row.place.space.as_deref() == Some(Space::Project.as_str())
}

/// The space that is written into: the one that is named, or else the project.
///
/// # Errors
/// `space.no_project`
pub(super) fn written_space(named: Option<Space>, rye: &Rye) -> Result<Space, Failure> {
    match named {
        Some(space) => Ok(space),
        None => Ok(rye.spaces().project().map(|_| Space::Project)?),
    }
}

/// The files that words name.
#[derive(Default)]
pub(super) struct NamedFiles {
    pub(super) files: Vec<Found>,
    /// The files that cannot be used.
    pub(super) failed: Vec<SignReport>,
    /// Each was named by itself, and none by a glob, a folder or `--all`.
    pub(super) by_name: bool,
}

/// The files that refs, globs and paths name in a space, or all of it; by default the project's.
///
/// # Errors
/// `space.no_project`; `cli.usage` for a glob that matches nothing; `cli.not_an_item`; those of
/// finding a ref.
pub(super) fn find(
    items: &[String],
    all: bool,
    space: Option<Space>,
    rye: &Rye,
) -> Result<NamedFiles, Failure> {
    let mut named = NamedFiles { by_name: !all, ..NamedFiles::default() };
    if all {
        let all: Result<Pattern, _> = "*:**".parse();
        let patterns: Vec<_> = all.into_iter().collect();
        let own = written_space(space, rye)?;
        (named.files, named.failed) = rye.signing().find_all(&patterns, own)?;
        return Ok(named);
    }
    for item in items {
        let meant = Named::read_in(item, space, rye)?;
        let within = meant.one_space(item, space)?;
        let found = match meant {
            Named::Many(pattern, _) => {
                named.by_name = false;
                let wanted = written_space(within, rye)?;
                let (found, bad) = rye.signing().find_all(&[pattern], wanted)?;
                if found.is_empty() && bad.is_empty() {
                    return Err(super::value_parsers::no_match(item, Some(wanted), rye));
                }
                named.failed.extend(bad);
                found
            }
            Named::Item(query) => vec![rye.signing().find(&query, space)?],
        };
        for file in found {
            if !named.files.iter().any(|known| known.path == file.path) {
                named.files.push(file);
            }
        }
    }
    Ok(named)
}

/// The worst failure of a batch.
pub(super) fn worst(reports: &[SignReport]) -> Option<Diagnostic> {
    Diagnostic::worst(reports.iter().filter_map(|report| match &report.signed {
        Signed::Failed(failure) => Some(failure.diagnostic()),
        _ => None,
    }))
}

/// The exit status of a batch.
pub(super) fn status(worst: Option<&Diagnostic>) -> u8 {
    worst.map_or(0, |diagnostic| diagnostic.code.exit_status())
}

/// Shows a batch as text, without its summary, and gives the status that it asks for.
pub(super) fn shown(reports: &[SignReport], check: bool, out: &mut Out) -> u8 {
    rows(reports, check, out).0
}

fn show(reports: &[SignReport], check: bool, out: &mut Out) -> Exit {
    let (exit, counts) = rows(reports, check, out);
    let Counts { changed, up_to_date, passed_over, failed } = counts;
    let is_typescript = |report: &SignReport| {
        Path::new(&report.place.path).extension().is_some_and(|ext| ext == "ts")
            && matches!(report.signed, Signed::Changed { .. })
    };
    if let Some(needs) = Lang::TypeScript.needs()
        && !out.is_json()
        && reports.iter().any(is_typescript)
    {
        out.note(&format!("note: to run TypeScript it takes {needs}"));
    }
    if out.is_json() {
        let would = reports.iter().find(|report| matches!(report.signed, Signed::Changed { .. }));
        let would = would.filter(|_| check).map(|report| {
            let (count, first) = (changed, report.item.clone());
            Diagnostic::from(&CliError::WouldChange { count, verb: "signed", first })
        });
        let worst = Diagnostic::worst(worst(reports).into_iter().chain(would));
        let fields = json!({
            "check": check,
            "items": reports.iter().map(|report| row(report, check)).collect::<Vec<_>>(),
            "changed": changed, "up_to_date": up_to_date, "passed_over": passed_over,
            "failed": failed,
        });
        out.batch(worst.as_ref(), fields);
    } else if reports.len() != 1 {
        let verb = if check { "to sign" } else { "signed" };
        let over = match passed_over {
            0 => String::new(),
            over => format!("{over} passed over, "),
        };
        out.line(&format!("{changed} {verb}, {up_to_date} up to date, {over}{failed} failed"));
    }
    Exit::Status(exit)
}

/// The number of rows for each outcome.
#[derive(Default)]
struct Counts {
    changed: usize,
    up_to_date: usize,
    passed_over: usize,
    failed: usize,
}

/// Shows a line for each report. Gives the exit status, and the number of rows for each outcome.
fn rows(reports: &[SignReport], check: bool, out: &mut Out) -> (u8, Counts) {
    let mut exit = 0;
    let mut counts = Counts::default();
    for report in reports {
        match &report.signed {
            Signed::Changed { .. } => {
                counts.changed += 1;
                if check {
                    exit = exit.max(4);
                }
                changed(report, check, out);
            }
            Signed::UpToDate => {
                counts.up_to_date += 1;
                if !out.is_json() && reports.len() == 1 {
                    out.line(&format!("up to date  {}", report.item));
                }
            }
            Signed::NotSigned(why) => {
                counts.passed_over += 1;
                if let Some(reason) = reason(why, report).filter(|_| !out.is_json()) {
                    let verb = out.paint().style(Style::Warning, "passed over");
                    out.line(&format!("{verb}  {}  {reason}", report.item));
                }
            }
            Signed::Failed(failure) => {
                counts.failed += 1;
                exit = exit.max(failure.reason().exit_status());
                if !out.is_json() {
                    let text = failure.diagnostic().to_text(out.paint_err());
                    out.note(text.trim_end());
                }
            }
        }
    }
    if !out.is_json() {
        passed_over(reports, out);
    }
    (exit, counts)
}

/// The files that others signed: the number of those that are good as they are, and how to sign
/// those that were changed since.
fn passed_over(reports: &[SignReport], out: &mut Out) {
    let is_good = |r: &&SignReport| matches!(&r.signed, Signed::NotSigned(NotSigned::Good(_)));
    let good = reports.iter().filter(is_good).count();
    if good > 0 {
        let verb = out.paint().style(Style::Dim, "passed over");
        let (items, are) = if good == 1 { ("item", "is") } else { ("items", "are") };
        out.line(&format!("{verb}  {good} {items} that others signed and that {are} as signed"));
    }
    let altered = reports.iter().filter_map(|report| match &report.signed {
        Signed::NotSigned(NotSigned::Altered(_)) => Some(named(report)),
        _ => None,
    });
    let altered = altered.collect::<Vec<_>>().join(" ");
    if !altered.is_empty() {
        out.line(&format!(
            "refused until somebody signs; read them with `rye diff {altered}`, and"
        ));
        out.line(&format!("  sign just these with `rye sign {altered}`"));
    }
}

/// The item as it is named on a command line.
fn named(report: &SignReport) -> String {
    let space = report.place.space.as_deref().and_then(|space| space.parse().ok());
    let space = space.filter(|space| *space != Space::Project);
    Query { space, ..Query::from(report.item.clone()) }.to_string()
}

/// The row of an item that was signed, or would be: the item, its space, whose signature was
/// replaced, the digest, the file.
fn changed(report: &SignReport, check: bool, out: &mut Out) {
    let Signed::Changed { digest, was, replaces, warnings, files } = &report.signed else { return };
    let verb = if check { "would sign" } else { "signed" };
    let digest = &digest.to_string()[..12];
    // A new item and one that was changed behind its signature are two things to see.
    let was = match was {
        Some(code) if check => format!("  ({code})"),
        Some(code) if *code == VERIFY_ALTERED => "  (it was changed since it was signed)".into(),
        _ => String::new(),
    };
    if !out.is_json() {
        let verb = out.paint().style(Style::Good, verb);
        let place = &report.place;
        let path = out.paint().style(Style::Dim, &escape_line(&place.path));
        let space = place.space.as_deref().unwrap_or_default();
        let item = &report.item;
        out.line(&format!("{verb}  {item}  {space}  sha256 {digest}…  {path}{was}"));
        if let Some(other) = replaces {
            let text = format!("  in the place of the signature of {}", name(other));
            let text = out.paint().style(Style::Warning, &text);
            out.line(&text);
        }
        for (word, path) in files.iter().filter_map(file) {
            out.line(&format!("  {word}  {}", escape_line(path)));
        }
    }
    for warning in warnings.iter().filter(|w| w.severity == Severity::Warning) {
        out.warn(&format!("{}: {}", report.item, escape_line(&warning.message)));
    }
}

/// A listed file that differs from the old header: what happened to it, and its path.
fn file(finding: &PartFinding) -> Option<(&'static str, &str)> {
    match finding {
        PartFinding::Extra(path) => Some(("added", path)),
        PartFinding::Changed(path) => Some(("changed", path)),
        PartFinding::Missing(path) => Some(("gone", path)),
        _ => None,
    }
}

/// Why a file was passed over, and which option includes it; `None` for one that is good.
fn reason(why: &NotSigned, report: &SignReport) -> Option<String> {
    let item = &report.item;
    Some(match why {
        NotSigned::Good(_) => return None,
        NotSigned::Altered(other) => format!("changed since {} signed it", name(other)),
        NotSigned::Others(other) => {
            format!("signed by {}; `--others` takes it", name(other))
        }
        NotSigned::Unclear => {
            format!("its signature line is damaged, or of the older form; see `rye why {item}`")
        }
        NotSigned::HeldBack => {
            format!("held back by `rye dev`; see `rye diff {item}`, then sign it by its name")
        }
    })
}

fn name(other: &OtherSigner) -> String {
    match &other.owner {
        Some(owner) => format!("`{}` {}", escape_line(owner), other.key.short()),
        None => format!("{}, whom you do not trust", other.key.short()),
    }
}

/// A report as data.
pub(super) fn row(report: &SignReport, check: bool) -> Value {
    let (path, space) = (&report.place.path, &report.place.space);
    let mut row = json!({"item_id": report.item, "space": space, "path": path});
    let signer = |other: &OtherSigner| json!({"key": other.key, "owner": other.owner});
    let more = match &report.signed {
        Signed::Changed { digest, was, replaces, warnings, files } => json!({
            "status": if check { "would_sign" } else { "signed" },
            "sha256": digest, "was": was, "replaces": replaces.as_ref().map(signer),
            "files": files.iter().filter_map(file)
                .map(|(word, path)| json!({"path": path, "change": word})).collect::<Vec<_>>(),
            "warnings": warnings.iter().map(crate::parse::Finding::to_json).collect::<Vec<_>>(),
        }),
        Signed::UpToDate => json!({"status": "up_to_date"}),
        Signed::NotSigned(why) => {
            let (word, by) = match why {
                NotSigned::Good(other) | NotSigned::Others(other) => {
                    ("others", Some(signer(other)))
                }
                NotSigned::Altered(other) => ("altered", Some(signer(other))),
                NotSigned::Unclear => ("unclear", None),
                NotSigned::HeldBack => ("held_back", None),
            };
            json!({"status": "passed_over", "why": word, "signer": by})
        }
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
