//! `rye diff`: what changed since an item was last verified.

use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::wire::Wired;
use crate::base::text::escape;
use crate::diag::Style;
use crate::id::Query;

/// Show what changed in an item since its last verified version
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `tool:acme/deploy`
    #[arg(value_name = "REF", add = super::complete::refs())]
    item: String,
}

pub(super) fn run(args: &Args, wired: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    let rye = wired.rye()?;
    let difference = rye.diff(&args.item.parse::<Query>()?)?;
    if out.is_json() {
        out.success(json!({
            "item_id": difference.item, "path": difference.place.path, "since": difference.since,
            "changed": !difference.unified.is_empty(), "diff": difference.unified,
        }));
        return Ok(Exit::DONE);
    }
    if difference.unified.is_empty() {
        let since = difference.since.unwrap_or_default();
        out.line(&format!("`{}` is what was verified, signed {since}", difference.item));
        return Ok(Exit::DONE);
    }
    let paint = out.paint();
    for line in difference.unified.lines() {
        // Always escaped: what hides in a change is what a reader must see.
        let line = escape(line);
        let style = match line.as_bytes().first() {
            Some(b'+') => Some(Style::Good),
            Some(b'-') => Some(Style::Error),
            Some(b'@') => Some(Style::Dim),
            _ => None,
        };
        out.line(&style.map_or_else(|| line.to_string(), |style| paint.style(style, &line)));
    }
    Ok(Exit::DONE)
}
