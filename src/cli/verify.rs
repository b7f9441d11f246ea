//! `rye verify`: check items without running them.

use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::Named;
use super::out::{Out, Progress};
use crate::base::text::escape_line;
use crate::base::time::time_text;
use crate::diagnostic::{Diagnostic, Failure, Place, Style};
use crate::id::{Query, Space};
use crate::lock::LOCK_MALFORMED;
use crate::report::{SarifLevel, Warned, metadata, sarif};
use crate::rye::{CheckedItem, ItemVerdict, LockMode, Rye, refused_row, verified_row};
use crate::space::{Entry, Listing};
use crate::verify::{VERIFY_PROJECT_NOT_ACCEPTED, VERIFY_UNSIGNED, VERIFY_UNTRUSTED};

/// Check signatures, of items and of the chains they run through
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items to check with their chains; or globs such as 'tool:acme/**', and paths
    #[arg(value_name = "REF|GLOB|PATH", add = super::complete::refs())]
    items: Vec<String>,
    /// Every item of every space; the default without refs
    #[arg(long, conflicts_with = "items")]
    all: bool,
    /// For machines: each file must also read as an item, dev mode lets nothing through, what a dev
    /// key signed does not count, and files that cannot be items count as failures
    #[arg(long)]
    ci: bool,
    /// By these keys alone, instead of what your user space says: PEM files, trust documents, or
    /// whole fingerprints that the project proposes. Takes no key of one's own, nor an accepted
    /// project
    #[arg(long, value_name = "FILE|FINGERPRINT", requires = "ci", num_args = 1..)]
    trust: Vec<String>,
    /// Each item must be what `.ai/rye.lock` lists, to the byte; without refs, every tool and
    /// directive of the project with its chain
    #[arg(long, conflicts_with = "all")]
    locked: bool,
    /// The findings in SARIF 2.1.0 on standard output, for code scanning services
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
}

/// How many items are named that one cause refuses.
const NAMED: usize = 5;

/// The findings: the worst of them, and all if SARIF was asked for.
struct Findings {
    worst: Option<Diagnostic>,
    kept: Option<Vec<(SarifLevel, Diagnostic)>>,
}

impl Findings {
    fn new(args: &Args) -> Self {
        Self { worst: None, kept: args.sarif.then(Vec::new) }
    }

    fn keep(&mut self, level: SarifLevel, diagnostic: impl FnOnce() -> Diagnostic) {
        if level != SarifLevel::Error && self.kept.is_none() {
            return;
        }
        let found = diagnostic();
        if level == SarifLevel::Error {
            self.worst = Diagnostic::worst(self.worst.take().into_iter().chain([found.clone()]));
        }
        if let Some(kept) = &mut self.kept {
            kept.push((level, found));
        }
    }

    /// Keeps what dev mode let through, at the place of the item if that is known.
    fn warned(&mut self, warnings: &[Warned], place: Option<&Place>, ci: bool) {
        for warned in warnings {
            self.keep(if ci { SarifLevel::Error } else { SarifLevel::Warning }, || Diagnostic {
                code: warned.code,
                message: warned.message.clone(),
                help: None,
                place: place.cloned(),
                item: Some(warned.item_id.to_string()),
                data: serde_json::Map::new(),
            });
        }
    }

    fn is_asked_for(&self) -> bool {
        self.kept.is_some()
    }

    /// Writes the SARIF log; false if it was not asked for.
    fn show(&self, exit: u8, out: &mut Out) -> bool {
        let Some(kept) = &self.kept else { return false };
        out.object(&sarif(kept, env!("RYE_VERSION"), exit));
        true
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = match args.trust.is_empty() {
        true => context.rye()?,
        false => {
            let rye = context.rye_to_judge()?;
            let keys = super::trust::named_keys(&args.trust, &rye, out)?;
            rye.judging_by(keys)
        }
    };
    let rye = rye.refusing_dev_keys(args.ci);
    if args.locked && args.items.is_empty() {
        rye.spaces().project()?;
        let mut all: Vec<Query> = rye.locks().lockable()?.into_iter().map(Query::from).collect();
        all.extend(rye.locks().gone_rows()?.1);
        if args.ci && all.is_empty() {
            holds_something(args, &rye.items().survey(&[])?, &rye)?;
        }
        return Ok(chains(args, &all, &rye, out));
    }
    let mut named = Vec::new();
    for word in &args.items {
        named.push(Named::read(word, &rye)?);
    }
    let only: Vec<Query> = named.iter().filter_map(Named::item).collect();
    if !only.is_empty() && only.len() == named.len() {
        return Ok(chains(args, &only, &rye, out));
    }
    let start = Instant::now();
    let mut listing = rye.items().survey(&[])?;
    if args.ci && !args.all && args.items.is_empty() {
        rye.spaces().project()?;
    }
    if args.ci && !args.all {
        holds_something(args, &listing, &rye)?;
    }
    for (word, named) in args.items.iter().zip(&named) {
        if !listing.entries.iter().any(|entry| named.means(entry)) {
            return Err(super::value_parsers::no_match(word, None, &rye));
        }
    }
    if !named.is_empty() {
        listing.entries.retain(|entry| named.iter().any(|named| named.means(entry)));
        listing.odd.clear();
    }
    let progress = Progress::new(out, listing.entries.len(), "verifying");
    let ticks = || {
        progress.tick();
        true
    };
    let checked =
        rye.checks().all(listing.entries, args.ci, LockMode::from_flag(args.locked), &ticks);
    progress.done();
    let elapsed = start.elapsed();
    let odd = listing.odd;
    let mut findings = Findings::new(args);
    let mut exit = judge_all(&checked, args, &mut findings, out);
    for file in &odd {
        let level = if args.ci { SarifLevel::Error } else { SarifLevel::Warning };
        findings.keep(level, || file.diagnostic());
    }
    if !out.is_json() && !findings.is_asked_for() {
        for file in &odd {
            out.warn(&format!(
                "`{}` is odd: {}",
                escape_line(&file.place.path),
                escape_line(&file.why)
            ));
        }
    }
    if args.ci {
        exit = odd.iter().map(|file| file.diagnostic().code.exit_status()).fold(exit, u8::max);
    }
    if !findings.show(exit, out) {
        summary(&checked, &odd, elapsed, findings.worst.as_ref(), out);
    }
    Ok(Exit::Status(exit))
}

/// Shows each refusal, once where one cause refuses many items, and gives the exit status.
fn judge_all(checked: &[CheckedItem], args: &Args, findings: &mut Findings, out: &mut Out) -> u8 {
    let mut exit = 0;
    let causes: Vec<_> = checked.iter().map(common_cause).collect();
    let mut concerned: HashMap<_, Vec<_>> = HashMap::new();
    for (row, cause) in checked.iter().zip(&causes).filter(|(_, cause)| cause.is_some()) {
        concerned.entry(cause).or_default().push(&row.entry.item);
    }
    for (row, cause) in checked.iter().zip(&causes) {
        // Told with the first item, and taken out.
        let all = concerned.remove(cause);
        let is_again = cause.is_some() && all.is_none();
        exit = exit.max(judge(row, args, is_again, findings, out));
        let Some([_, others @ ..]) = all.as_deref() else { continue };
        if others.is_empty() || out.is_json() || args.sarif {
            continue;
        }
        let named: Vec<_> = others.iter().take(NAMED).map(ToString::to_string).collect();
        let (named, count) = (named.join(", "), others.len());
        let beyond = if count > NAMED { ", …" } else { "" };
        let items = if count == 1 { "item" } else { "items" };
        out.note(&format!("  the same goes for {count} more {items} here: {named}{beyond}"));
    }
    exit
}

/// The one cause that refuses many items, which is one finding for a person: a project that is not
/// accepted, a lock that cannot be used, a signer who is not trusted, or a tool that lists them and
/// is not verified.
fn common_cause(row: &CheckedItem) -> Option<(&'static str, String)> {
    let ItemVerdict::Bad(failure) = &row.verdict else { return None };
    match failure.reason() {
        VERIFY_PROJECT_NOT_ACCEPTED | LOCK_MALFORMED => Some((failure.code(), String::new())),
        VERIFY_UNTRUSTED => {
            let signer = failure.diagnostic().data.get("signer")?.as_str()?.to_owned();
            Some((failure.code(), signer))
        }
        VERIFY_UNSIGNED => {
            let tool = failure.diagnostic().data.get("listed_by")?.as_str()?.to_owned();
            Some((failure.code(), tool))
        }
        _ => None,
    }
}

/// That nothing is wrong says nothing where there is nothing, such as in a submodule that was not
/// checked out.
///
/// # Errors
/// `space.no_project`, `cli.usage`
fn holds_something(args: &Args, listing: &Listing, rye: &Rye) -> Result<(), Failure> {
    let is_own = |entry: &Entry| {
        !entry.item.is_about_keys()
            && match args.trust.is_empty() {
                true => entry.space != Space::System,
                // Nothing of a user space counts there.
                false => entry.space == Space::Project,
            }
    };
    if listing.entries.iter().any(is_own) || !listing.odd.is_empty() {
        return Ok(());
    }
    rye.spaces().project()?;
    let path = escape_line(&rye.spaces().project_path().display().to_string());
    let message = format!("`{path}` holds no item, so there is nothing to verify");
    let help = "see that all of it was checked out, submodules too: `git submodule update --init`";
    Err(CliError::Usage { message, help: Some(help.into()) }.into())
}

/// Shows a refusal unless it was told already, and gives the exit status of a row.
fn judge(
    row: &CheckedItem,
    args: &Args,
    is_told: bool,
    findings: &mut Findings,
    out: &mut Out,
) -> u8 {
    match &row.verdict {
        ItemVerdict::Good(_, warnings) if warnings.is_empty() => 0,
        ItemVerdict::Good(_, warnings) => {
            out.warned(warnings);
            findings.warned(warnings, Some(&row.place), args.ci);
            if args.ci { 4 } else { 0 }
        }
        ItemVerdict::Bad(failure) => {
            let diagnostic = || {
                let told = failure.diagnostic();
                match failure.reason() {
                    // Whom a user space trusts has no say then.
                    VERIFY_UNTRUSTED if !args.trust.is_empty() => {
                        let help = "if its signer is one of you, name their key with `--trust` too";
                        Diagnostic { help: Some(help.into()), ..told }
                    }
                    _ => told,
                }
            };
            findings.keep(SarifLevel::Error, diagnostic);
            if !out.is_json() && !findings.is_asked_for() && !is_told {
                let text = diagnostic().to_text(out.paint_err());
                out.note(text.trim_end());
            }
            failure.reason().exit_status()
        }
    }
}

fn summary(
    checked: &[CheckedItem],
    odd: &[crate::space::Odd],
    elapsed: std::time::Duration,
    worst: Option<&Diagnostic>,
    out: &mut Out,
) {
    // What you keep about keys was verified too, and is not one of the items.
    let items = checked.iter().filter(|row| !row.entry.item.is_about_keys());
    let items: Vec<&CheckedItem> = items.collect();
    let bad = items.iter().filter(|row| matches!(row.verdict, ItemVerdict::Bad(_))).count();
    let passed =
        items.iter().filter(|row| matches!(&row.verdict, ItemVerdict::Good(_, w) if !w.is_empty()));
    let passed = passed.count();
    let bytes: usize = checked.iter().map(|row| row.bytes).sum();
    let seconds = elapsed.as_secs_f64();
    if out.is_json() {
        let about_keys = checked.iter().filter(|row| row.entry.item.is_about_keys());
        let about_keys: Vec<Value> = about_keys.map(CheckedItem::to_json).collect();
        let rows: Vec<Value> = items.iter().map(|row| row.to_json()).collect();
        let mut about = metadata(elapsed);
        about.insert("bytes".into(), bytes.into());
        let odd: Vec<_> = odd.iter().map(|o| json!({"path": o.place.path, "why": o.why})).collect();
        let fields = json!({
            "items": rows, "about_keys": about_keys, "not_items": odd,
            "verified": items.len() - bad - passed, "unverified": passed,
            "failed": bad,
            "metadata": about,
        });
        return out.batch(worst, fields);
    }
    let good = out.paint().style(
        if bad + passed == 0 && worst.is_none() { Style::Good } else { Style::Error },
        "verified",
    );
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = checked.len() as f64 / seconds.max(1e-9);
    let good_of = |space: Space| {
        let good = |row: &&&CheckedItem| {
            row.entry.space == space
                && matches!(&row.verdict, ItemVerdict::Good(_, w) if w.is_empty())
        };
        items.iter().filter(good).count()
    };
    let mut apart = Vec::new();
    let (of_project, shipped) = (good_of(Space::Project), good_of(Space::System));
    let mut yours = good_of(Space::User);
    // Where nothing else was looked at, yours are what was asked for.
    if of_project + bad + passed == 0 {
        yours = 0;
    }
    if yours > 0 {
        apart.push(format!("{yours} of your own"));
    }
    if shipped > 0 {
        apart.push(format!("{shipped} that rye brings"));
    }
    let apart: String = apart.iter().map(|count| format!(" and {count}")).collect();
    out.line(&format!(
        "{good} {} of {} items{apart}, {} KiB, in {} ({rate:.0} items/s)",
        items.len() - bad - passed - shipped - yours,
        items.len() - shipped - yours,
        bytes >> 10,
        time_text(elapsed),
    ));
}

/// Named items, each with the chain that it runs through.
fn chains(args: &Args, items: &[Query], rye: &Rye, out: &mut Out) -> Exit {
    let mut exit = 0;
    let mut rows = Vec::new();
    let mut findings = Findings::new(args);
    let tells = !out.is_json() && !args.sarif;
    for query in items {
        let (details, warnings) = rye.checks().chain(query, LockMode::from_flag(args.locked));
        let item = rye.items().full_ref(query);
        out.warned(&warnings);
        findings.warned(&warnings, None, args.ci);
        match details {
            Ok(details) => {
                let unverified =
                    details.iter().any(|d| d.integrity == crate::verify::Integrity::Unverified);
                if unverified && args.ci {
                    exit = exit.max(4);
                }
                if tells {
                    let tree = crate::report::chain_tree(&details, out.paint());
                    out.text(&tree);
                }
                rows.push(Value::Object(verified_row(&details, &warnings)));
            }
            Err(failure) => {
                exit = exit.max(failure.reason().exit_status());
                let diagnostic = failure.diagnostic();
                findings.keep(SarifLevel::Error, || diagnostic.clone());
                if tells {
                    let text = diagnostic.to_text(out.paint_err());
                    out.note(text.trim_end());
                }
                let place = rye.checks().place(query);
                let mut fields = refused_row(&diagnostic, place.as_ref());
                // What answers nothing, and was typed without a kind, is not a ref.
                let is_ref = query.kind.is_some() || item != query.to_string();
                if is_ref {
                    fields.insert("item_id".into(), item.into());
                }
                rows.push(Value::Object(fields));
            }
        }
    }
    if !findings.show(exit, out) && out.is_json() {
        out.batch(findings.worst.as_ref(), json!({"items": rows}));
    }
    Exit::Status(exit)
}
