//! `rye search`: find items by words.

use serde_json::Value;

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::id::{Kind, Space};
use crate::rye::{Rye, SearchHit, SearchPage, SearchRequest};

/// Find items by words of their names, ids, tags, descriptions and parameters
#[derive(clap::Args)]
pub(super) struct Args {
    /// Words to look for, in any order; beginnings and small slips count too
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Runtimes and primitives too
    #[arg(short, long)]
    all: bool,
}

/// The filters of a search.
#[derive(clap::Args)]
pub(super) struct Filters {
    /// Only this kind; by default tools, directives and knowledge
    #[arg(long, value_name = "KIND", value_parser = super::value_parsers::kind())]
    pub(super) kind: Option<Kind>,
    /// Only this space, what is shadowed there included
    #[arg(long, value_name = "SPACE", value_parser = super::value_parsers::space())]
    pub(super) space: Option<Space>,
    /// At most so many, up to 100; by default 20
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(super) limit: Option<u8>,
    /// Go on behind a page, by what it gave as `next_cursor`
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
}

impl Filters {
    /// Returns true if any filter is given.
    pub(super) fn narrow(&self) -> bool {
        let Self { kind, space, limit, cursor } = self;
        kind.is_some() || space.is_some() || limit.is_some() || cursor.is_some()
    }
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let rye = context.rye()?;
    find(&args.words.join(" "), &args.filters, args.all, &rye, out)
}

/// Finds and shows; for `rye fetch --query` as well.
pub(super) fn find(
    words: &str,
    filters: &Filters,
    all: bool,
    rye: &Rye,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut request = SearchRequest::new(words).all(all).kind(filters.kind).space(filters.space);
    if let Some(limit) = filters.limit {
        request = request.limit(limit.into());
    }
    if let Some(cursor) = &filters.cursor {
        request = request.cursor(cursor);
    }
    let page = rye.search().find(&request.grants(rye.above().may_read()?))?;
    if out.is_json() {
        out.success(Value::Object(page.to_json()));
    } else {
        text(words, &page, out);
    }
    Ok(Exit::DONE)
}

fn text(words: &str, page: &SearchPage, out: &mut Out) {
    if page.hits.is_empty() && page.total == 0 {
        let words = escape_line(words);
        out.line(&format!("nothing is found for `{words}`; `rye list --all` shows what is there"));
        return;
    }
    let width = page.hits.iter().map(|hit| hit.item.to_string().len()).max().unwrap_or(0).min(48);
    for hit in &page.hits {
        let line = row(hit, width, out);
        out.line(line.trim_end());
    }
    let mut hints = Vec::new();
    if let Some(refused) = page.hits.iter().find(|hit| hit.seen.is_err()) {
        hints.push(format!("why one is not verified: `rye why {}`", refused.item));
    }
    if let Some(next) = &page.next_cursor {
        hints.push(format!("{} of {}; more with `--cursor {next}`", page.hits.len(), page.total));
    }
    if !hints.is_empty() {
        out.line("");
    }
    for hint in hints {
        let hint = out.paint().style(Style::Dim, &hint);
        out.line(&hint);
    }
}

fn row(hit: &SearchHit, width: usize, out: &Out) -> String {
    let paint = out.paint();
    let (item, space) = (hit.item.to_string(), hit.space);
    let about = match &hit.seen {
        Ok(summary) => paint.style(Style::Dim, &escape_line(&summary.text)),
        Err(code) => paint.style(Style::Error, &format!("unverified: {code}")),
    };
    format!("{item:<width$}  {space:<7}  {about}")
}
