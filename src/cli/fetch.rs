//! `rye fetch`: print an item's verified content, or find items.

use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use super::search::{self, Filters};
use crate::base::text::escape;
use crate::diagnostic::Failure;
use crate::id::{Kind, Query, Ref, Space};
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::rye::{Rye, read_item};

/// Print the verified content of an item, or find items with `--query`
///
/// A page of knowledge is also found by the last part of its id, such as `overview`, if one page
/// alone ends so.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `knowledge:rye/overview`
    #[arg(value_name = "REF|PATH", required_unless_present = "query", add = super::complete::refs())]
    item: Option<String>,
    /// Find items by words instead, as `rye search` does
    #[arg(long, value_name = "WORDS", conflicts_with = "item")]
    query: Option<String>,
    #[command(flatten)]
    filters: Filters,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    let Some(item) = &args.item else {
        let words = args.query.as_deref().unwrap_or_default();
        return search::find(words, &args.filters, false, &rye, out);
    };
    if args.filters.narrow() {
        let message =
            "a ref names one item; `--kind`, `--space`, `--limit` and `--cursor` narrow a search";
        let help = Some("give words with `--query`, or the ref alone".into());
        return Err(CliError::Usage { message: message.into(), help }.into());
    }
    let asked = query(item, &rye)?;
    let described = match read_item(&rye, &asked) {
        Err(failure) if failure.reason() == RESOLVE_NOT_FOUND => {
            let page = page_that_ends_so(&asked, &rye).ok_or(failure)?;
            out.note(&format!("note: this is {page}"));
            read_item(&rye, &page.into())?
        }
        described => described?,
    };
    out.warned(&described.warnings);
    if out.is_json() {
        let mut fields = json!({
            "item_id": described.detail.item, "content": described.content, "detail": described.detail,
        });
        if !described.warnings.is_empty() {
            fields["warnings"] = json!(described.warnings);
        }
        out.success(fields);
    } else {
        // A program is shown as it is.
        let is_markdown = matches!(described.detail.item.kind, Kind::Knowledge | Kind::Directive);
        match out.columns() {
            Some(_) if is_markdown => {
                out.page(&escape(&described.content));
            }
            _ => out.foreign(&described.content),
        }
    }
    Ok(Exit::DONE)
}

/// The page of knowledge with the id that was asked for without a kind; or the only one whose id
/// ends with it, if that is one segment.
fn page_that_ends_so(asked: &Query, rye: &Rye) -> Option<Ref> {
    let is_plain = asked.space.is_none()
        && asked.bundle.is_none()
        && asked.kind.is_none_or(|kind| kind == Kind::Knowledge);
    if !is_plain {
        return None;
    }
    let listed = |space| rye.items().list(space, Kind::Knowledge).unwrap_or_default();
    let pages = Space::NEAREST_FIRST.into_iter().flat_map(listed).map(|entry| entry.item);
    let id = asked.id.as_str();
    let mut pages: Vec<Ref> =
        pages.filter(|page| page.id.as_str() == id || page.id.name() == id).collect();
    pages.sort_unstable();
    pages.dedup();
    if pages.len() == 1 { pages.pop() } else { None }
}
