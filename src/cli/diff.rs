//! `rye diff`: what changed since an item was last verified, or was locked.

use serde_json::{Value, json};

use super::context::Context;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::text::{escape, escape_line};
use crate::diagnostic::{Failure, Paint, Style};
use crate::rye::{Against, PastVersion};

/// Show what changed in an item since its last verified version
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `tool:acme/deploy`
    #[arg(value_name = "REF|PATH", add = super::complete::refs())]
    item: String,
    /// Compare with the version that `.ai/rye.lock` lists
    #[arg(long, conflicts_with = "to")]
    lock: bool,
    /// Compare with another known version: its number in the history, the beginning of its sha256,
    /// or a time such as 2027-01-31
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// List the known versions, the latest first
    #[arg(long, conflicts_with_all = ["lock", "to"])]
    history: bool,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let query = query(&args.item, &rye)?;
    if args.history {
        let (item, versions) = rye.history().versions(&query)?;
        return Ok(history(&item.to_string(), &versions, out));
    }
    let against = match &args.to {
        Some(version) => Against::Named(version.clone()),
        None if args.lock => Against::Lock,
        None => Against::Last,
    };
    let difference = rye.history().diff(&query, &against)?;
    let (whole, brief) = (difference.whole(), difference.brief());
    let (item, since) = (difference.item, difference.since);
    let files: Vec<String> = difference.files.iter().map(|f| f.finding.to_string()).collect();
    if out.is_json() {
        out.success(json!({
            "item_id": item, "path": difference.place.path, "since": since,
            "sha256": difference.sha256,
            "changed": !difference.unified.is_empty() || !difference.files.is_empty(),
            "diff": whole, "files": files,
        }));
        return Ok(Exit::DONE);
    }
    if difference.sha256.is_none() {
        out.line(&format!("no version of `{item}` that verifies is known here: all of it is new"));
    } else if difference.unified.is_empty() {
        let since = since.map(|at| at.to_string()).unwrap_or_default();
        let what = match against {
            Against::Last => "was verified",
            Against::Lock => "the lock lists",
            Against::Named(_) => "it was",
        };
        let but = if files.is_empty() { "" } else { "; the files beside it are not:" };
        out.line(&format!("`{item}` is what {what}, signed {since}{but}"));
    }
    let text = painted(&brief, out.paint());
    out.exact(&text);
    for file in &difference.files {
        out.line(&file.finding.to_string());
        let text = painted(&file.unified, out.paint());
        out.exact(&text);
    }
    Ok(Exit::DONE)
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
