//! `rye mv`: another id for an item.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::confirm::confirm_always;
use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::{is_path, query};
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::id::{ItemId, Query, Ref, Space};
use crate::resolve::Found;
use crate::rye::{LockReport, Rye, Signed};
use crate::scaffold::{LeftReference, Move};

/// Give an item another id, within its kind and space
///
/// Its file and its test spec move, and the files that a tool lists; those that another tool lists
/// too stay, and the tool takes a copy. What your own key signed it signs anew, since a signature
/// covers the id; the item's row of `.ai/rye.lock` goes with it, and what is yours and names the
/// item (an `executor_id`, `extends`, an action, an eval of a spec) names the new id. What stays as
/// it is, such as words in a text, is listed. All of it is shown first, and you are asked.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, or the path of its file
    #[arg(value_name = "REF|PATH", add = super::complete::refs())]
    item: String,
    /// Its new id, or the path that its file is to have
    #[arg(value_name = "ID|PATH")]
    to: String,
    /// The space; by default the one that holds it
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    space: Option<Space>,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let found = rye.signing().find(&query(&args.item, &rye)?, args.space)?;
    let id = new_id(&args.to, &found, &rye)?;
    let moving = Move::new(&rye, found, id)?;
    let lock = lock_rows(&moving, &rye)?;
    if !out.is_json() {
        show(&moving, lock, out);
        out.flush();
    }
    if args.dry_run {
        end(&moving, lock, true, out);
        return Ok(Exit::DONE);
    }
    let what = format!("move `{}` to `{}`", moving.from.item, moving.to.item);
    confirm_always(&what, "", context, out)?;
    write(&moving, &rye, lock, context, out)?;
    end(&moving, lock, false, out);
    Ok(Exit::DONE)
}

/// Writes it: first what is new, last what is gone, so that a process that is killed leaves more
/// than there was and never less.
fn write(
    moving: &Move,
    rye: &Rye,
    lock: usize,
    context: &Context,
    out: &mut Out,
) -> Result<(), Failure> {
    moving.place(rye)?;
    // The folder may be new, so the spaces are found again.
    let rye = context.rye()?;
    let files = moving.to_sign();
    if !files.is_empty() {
        let signed = super::sign::sign(&rye, files, context, out).and_then(|reports| {
            let failed = reports.into_iter().find_map(|report| match report.signed {
                Signed::Failed(failure) => Some(failure),
                _ => None,
            });
            failed.map_or(Ok(()), Err)
        });
        if signed.is_err() {
            moving.take_back(&rye);
        }
        signed?;
    }
    moving.write_specs(&rye)?;
    if lock > 0 {
        rye.locks().write(&survey(moving, &rye)?, true)?;
    }
    moving.remove_old(&rye)
}

fn survey(moving: &Move, rye: &Rye) -> Result<LockReport, Failure> {
    let changed: Vec<Ref> = moving.rewritten.iter().map(|it| it.found.item.clone()).collect();
    rye.locks().survey_move(&moving.from.item, &moving.to.item, &changed)
}

/// The number of rows in the lock that name what changes; zero if the project has no lock, or none
/// that you accepted, and for an unsigned item.
///
/// # Errors
/// Those of a lock that cannot be read.
fn lock_rows(moving: &Move, rye: &Rye) -> Result<usize, Failure> {
    if moving.from.space != Space::Project || !moving.is_signed || !rye.project().is_accepted() {
        return Ok(0);
    }
    let changed = moving.rewritten.iter().map(|it| &it.found.item);
    rye.locks().listed([&moving.from.item, &moving.to.item].into_iter().chain(changed))
}

/// The id that a word gives: an id, a ref of the item's kind, or a path below its space.
///
/// # Errors
/// `cli.usage` for another kind, space or extension; `id.*`.
fn new_id(word: &str, found: &Found, rye: &Rye) -> Result<ItemId, Failure> {
    let usage = |why: String| {
        let help = "an item keeps its kind, its space and its language: give an id, such as \
                    `acme/deploy`";
        CliError::Usage { message: why, help: Some(help.to_owned()) }
    };
    let shown = escape_line(word);
    if is_path(word) {
        let root = rye.spaces().get(found.space);
        let below = root.and_then(|root| {
            let folder = root.path(found.item.kind.folder()).canonicalize().ok()?;
            real(Path::new(word))?.strip_prefix(folder).ok()?.to_str().map(str::to_owned)
        });
        let kind = found.item.kind;
        let below =
            below.ok_or_else(|| usage(format!("`{shown}` is not a place of a {kind} there")))?;
        let id = below.strip_suffix(&format!(".{}", found.ext));
        let id = id.ok_or_else(|| usage(format!("`{shown}` does not end in `.{}`", found.ext)))?;
        return Ok(id.parse()?);
    }
    let Query { kind, id, space, bundle } = word.parse()?;
    if kind.is_some_and(|kind| kind != found.item.kind) {
        return Err(usage(format!("`{shown}` is of another kind than `{}`", found.item)).into());
    }
    if bundle.is_some() || space.is_some_and(|space| space != found.space) {
        return Err(usage(format!("`{shown}` is in another space than `{}`", found.item)).into());
    }
    // A typed name of the file means the file.
    match id.as_str().strip_suffix(&format!(".{}", found.ext)) {
        Some(id) => Ok(id.parse()?),
        None => Ok(id),
    }
}

/// The real path of a file that need not be there; `None` for one that leads upwards.
fn real(path: &Path) -> Option<PathBuf> {
    let path = std::env::current_dir().ok()?.join(path);
    let there = path.ancestors().find(|above| above.exists())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    is_plain.then_some(there.canonicalize().ok()?.join(rest))
}

fn show(moving: &Move, lock: usize, out: &mut Out) {
    let Move { from, to, .. } = moving;
    let row = |verb: &str, what: &str| format!("{verb:<8}  {what}");
    let path = |path: &str| escape_line(path);
    out.line(&row("move", &format!("{} to {}", from.item, to.item)));
    out.line(&row("", &format!("{} to {}", path(&from.place.path), path(&to.place.path))));
    for (old, new) in moving.spec_paths() {
        let text = match old == new {
            true => format!(".ai/{}, which scores by it", path(&old)),
            false => format!(".ai/{} to .ai/{}", path(&old), path(&new)),
        };
        out.line(&row(if old == new { "change" } else { "" }, &text));
    }
    for file in moving.files() {
        let places = format!(".ai/{} to .ai/{}", path(&file.from), path(&file.to));
        out.line(&match &file.stays_for {
            None => row("", &places),
            Some(tool) => {
                row("copy", &format!("{places}: it stays for `{tool}`, which lists it too"))
            }
        });
    }
    for it in &moving.rewritten {
        let place = path(&it.found.place.path);
        out.line(&row("change", &format!("{}, which names it  {place}", it.found.item)));
    }
    out.line(&row(
        "sign",
        if moving.is_signed {
            "each of them anew, with your key"
        } else {
            "nothing: it is not signed"
        },
    ));
    if lock > 0 {
        let rows = if lock == 1 { "its row".to_owned() } else { format!("{lock} rows") };
        out.line(&row("lock", &format!("{rows} of .ai/rye.lock")));
    }
    for LeftReference { place, why } in &moving.left {
        let at = place.line.map_or(String::new(), |line| format!(":{line}"));
        let text = row("left", &format!("{}{at}: {why}", path(&place.path)));
        let text = out.paint().style(Style::Warning, &text);
        out.line(&text);
    }
}

fn end(moving: &Move, lock: usize, dry_run: bool, out: &mut Out) {
    let Move { from, to, .. } = moving;
    if !out.is_json() {
        match dry_run {
            true => out.line("nothing was written"),
            false => {
                let verb = out.paint().style(Style::Good, "moved");
                let path = escape_line(&to.place.path);
                out.line(&format!("{verb}  {}  {path}", to.item));
            }
        }
        return;
    }
    let specs: Vec<Value> = moving
        .spec_paths()
        .map(|(old, new)| json!({"from": format!(".ai/{old}"), "to": format!(".ai/{new}")}))
        .collect();
    let files = moving.files().map(|file| {
        let (from, to) = (format!(".ai/{}", file.from), format!(".ai/{}", file.to));
        json!({"from": from, "to": to, "stays_for": file.stays_for})
    });
    let files: Vec<Value> = files.collect();
    let changed: Vec<&Ref> = moving.rewritten.iter().map(|it| &it.found.item).collect();
    let left = moving
        .left
        .iter()
        .map(|left| json!({"path": left.place.path, "line": left.place.line, "why": left.why}));
    out.success(json!({
        "item_id": to.item, "was": from.item, "path": to.place.path, "was_path": from.place.path,
        "space": to.space, "signed": moving.is_signed, "specs": specs, "files": files, "changed": changed,
        "lock_rows": lock, "left": left.collect::<Vec<_>>(), "dry_run": dry_run,
    }));
}
