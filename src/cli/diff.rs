//! `rye diff`: what changed since an item was last verified, or was locked.

use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::{Named, query};
use super::out::Out;
use super::value_parsers::no_match;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Diagnostic, Failure, Paint, Style};
use crate::id::{Query, Space};
use crate::rye::{Against, Difference, PastVersion, Rye};
use crate::space::Entry;

/// Show what changed in items since they were last verified here
///
/// Without a ref, every item of the project that is another version than the one that you signed,
/// ran, locked or accepted last, such as after a `git pull`. A folder, a glob or several refs mean
/// the same of their items; one item is shown as it is, changed or not.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Items, globs such as 'tool:acme/**', or paths of files and folders, such as `.`
    #[arg(value_name = "REF|GLOB|PATH", add = super::complete::refs())]
    items: Vec<String>,
    /// Compare one item with the version that `.ai/rye.lock` lists
    #[arg(long, conflicts_with = "to")]
    lock: bool,
    /// Compare one item with another known version: its number in the history, the beginning of its
    /// sha256, or a time such as 2027-01-31
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// List the known versions of one item, the latest first
    #[arg(long, conflicts_with_all = ["lock", "to"])]
    history: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    if args.history || args.lock || args.to.is_some() {
        let [word] = args.items.as_slice() else {
            let message = "`--history`, `--lock` and `--to` are about one item".to_owned();
            let help = Some("name one item, such as `tool:acme/deploy`".to_owned());
            return Err(CliError::Usage { message, help }.into());
        };
        return one(args, &query(word, &rye)?, &rye, out);
    }
    let named = args.items.iter().map(|word| Named::read(word, &rye));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    match named.as_slice() {
        [Named::Item(query)] => one(args, query, &rye, out),
        _ => many(&args.items, &named, &rye, out),
    }
}

/// The difference of one item, or its history.
fn one(args: &Args, query: &Query, rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    if args.history {
        let (item, versions) = rye.history().versions(query)?;
        return Ok(history(&item.to_string(), &versions, out));
    }
    let against = match &args.to {
        Some(version) => Against::Named(version.clone()),
        None if args.lock => Against::Lock,
        None => Against::Last,
    };
    let difference = rye.history().diff(query, &against)?;
    if out.is_json() {
        out.success(row(&difference));
        return Ok(Exit::DONE);
    }
    let item = &difference.item;
    if difference.sha256.is_none() {
        out.line(&format!("no version of `{item}` that verifies is known here: all of it is new"));
    } else if difference.unified.is_empty() {
        let since = difference.since.map(|at| at.to_string()).unwrap_or_default();
        let what = match against {
            Against::Last => "was verified",
            Against::Lock => "the lock lists",
            Against::Named(_) => "it was",
        };
        let but = if difference.is_any() { "; the files beside it are not:" } else { "" };
        out.line(&format!("`{item}` is what {what}, signed {since}{but}"));
    }
    show(&difference, out);
    Ok(Exit::DONE)
}

/// The differences of all items that are meant and changed; without words, of the project's.
fn many(words: &[String], named: &[Named], rye: &Rye, out: &mut Out) -> Result<Exit, Failure> {
    if named.is_empty() {
        rye.spaces().project()?;
    }
    let mut entries = rye.items().survey(&[])?.entries;
    for (word, named) in words.iter().zip(named) {
        if !entries.iter().any(|entry| named.means(entry)) {
            return Err(no_match(word, None, rye));
        }
    }
    // Of what is named by itself the nearest copy; of many neither what rye brings nor what is
    // about keys.
    let by_name = named.iter().filter(|named| named.item().is_some());
    let nearest = by_name.filter_map(|named| entries.iter().find(|entry| named.means(entry)));
    let mut nearest: Vec<Entry> = nearest.cloned().collect();
    entries.retain(|entry| {
        let is_shipped = entry.space == Space::System || rye.items().is_system_copy(entry);
        let is_meant = match named {
            [] => entry.space == Space::Project,
            named => named.iter().any(|named| named.item().is_none() && named.means(entry)),
        };
        is_meant && !is_shipped && !entry.item.is_about_keys() && !nearest.contains(entry)
    });
    entries.append(&mut nearest);
    let (changed, failed) = rye.history().changed(&entries);
    let unchanged = entries.len().saturating_sub(changed.len() + failed.len());
    let failed: Vec<_> = failed.iter().map(Failure::diagnostic).collect();
    let status = failed.iter().map(|told| told.code.exit_status()).max().unwrap_or(0);
    if out.is_json() {
        let items: Vec<Value> = changed.iter().map(row).collect();
        let failures: Vec<Value> = failed.iter().map(|told| told.to_json().into()).collect();
        let fields = json!({"items": items, "unchanged": unchanged, "failed": failures});
        out.batch(Diagnostic::worst(failed).as_ref(), fields);
        return Ok(Exit::Status(status));
    }
    let (new, changed): (Vec<_>, Vec<_>) = changed.iter().partition(|one| one.sha256.is_none());
    for difference in &changed {
        let (item, path) = (&difference.item, escape_line(&difference.place.path));
        let head = out.paint().style(Style::Strong, &format!("{item}  {path}"));
        out.line(&head);
        show(difference, out);
        out.line("");
    }
    if changed.is_empty() && failed.is_empty() {
        out.line(match entries.len() - new.len() {
            0 => "no version of an item here was verified before",
            _ => "nothing changed since it was last verified",
        });
    }
    for difference in &new {
        let item = &difference.item;
        out.line(&format!("new  {item}  no version that verifies is known: `rye diff {item}`"));
    }
    for told in failed {
        let text = told.to_text(out.paint_err());
        out.note(text.trim_end());
    }
    Ok(Exit::Status(status))
}

/// The lines that differ, in the file and in those beside it.
fn show(difference: &Difference, out: &mut Out) {
    let text = painted(&difference.brief(), out.paint());
    out.exact(&text);
    for file in &difference.files {
        out.line(&file.finding.to_string());
        let text = painted(&file.unified, out.paint());
        out.exact(&text);
    }
}

fn row(difference: &Difference) -> Value {
    let files: Vec<String> = difference.files.iter().map(|f| f.finding.to_string()).collect();
    json!({
        "item_id": difference.item, "path": difference.place.path, "since": difference.since,
        "sha256": difference.sha256, "changed": difference.is_any(), "diff": difference.whole(),
        "files": files,
    })
}

/// A unified diff for people.
pub(super) fn painted(unified: &str, paint: Paint) -> String {
    // Lines end at line feeds only, so a carriage return is shown like any other character.
    let lines = unified.split_terminator('\n').map(|line| {
        // The text is always escaped, because a reader must see hidden characters in a change.
        let line = escape(line);
        let style = match line.as_bytes().first() {
            Some(b'+') => Some(Style::Good),
            Some(b'-') => Some(Style::Error),
            Some(b'@') => Some(Style::Dim),
            _ => None,
        };
        let line = style.map_or_else(|| line.to_string(), |style| paint.style(style, &line));
        format!("{line}\n")
    });
    lines.collect()
}

fn history(item: &str, versions: &[PastVersion], out: &mut Out) -> Exit {
    if out.is_json() {
        let rows: Vec<Value> = versions
            .iter()
            .enumerate()
            .map(|(number, v)| {
                json!({
                    "number": number, "sha256": v.sha256, "signed_at": v.signed_at,
                    "signer": v.signer, "owner": v.owner, "locked": v.locked, "on_disk": v.on_disk,
                })
            })
            .collect();
        out.success(json!({"item_id": item, "versions": rows}));
        return Exit::DONE;
    }
    if versions.is_empty() {
        out.line(&format!("no version of `{item}` that verifies is known here"));
    }
    for (number, version) in versions.iter().enumerate() {
        let owner = version.owner.as_deref().map(escape_line).unwrap_or_default();
        let mut line = format!(
            "{number:>3}  sha256 {}…  signed {} by `{owner}` {}",
            &version.sha256.to_string()[..12],
            version.signed_at,
            version.signer.short()
        );
        for (is, word) in [(version.locked, "locked"), (version.on_disk, "on disk")] {
            if is {
                line.push_str(&format!("  ({word})"));
            }
        }
        out.line(&line);
    }
    Exit::DONE
}
