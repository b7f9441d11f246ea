//! `rye explain`: the page of an error code.

use serde_json::json;

use super::error::CliError;
use super::exit::{Exit, status};
use super::out::Out;
use super::wire::Wired;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diag::Code;
use crate::id::Query;
use crate::pipeline::RyeBuilder;
use crate::report::Rule;

/// Explain an error code, offline
#[derive(clap::Args)]
pub(super) struct Args {
    /// The code, such as `verify.altered`; without one, the table of exit statuses
    #[arg(value_name = "CODE", add = super::complete::codes())]
    code: Option<String>,
}

pub(super) fn run(args: &Args, _: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    // A page must be there also where the place one stands in is refused.
    let rye = RyeBuilder::new().system_only();
    let page = match &args.code {
        Some(code) => {
            let known = super::codes::all();
            if !known.iter().any(|known| known.0 == code) {
                let near = near(code, known.iter().map(|known| known.0), NEAR_NAMES);
                return Err(CliError::UnknownCode { code: code.clone(), near });
            }
            format!("rye/errors/{code}")
        }
        None => "rye/errors".to_owned(),
    };
    let query: Query = format!("knowledge:{page}@system").parse()?;
    let described = rye.describe(&query)?;
    let text = body(&described.content);
    if out.is_json() {
        let exit = args.code.as_deref().map(status);
        out.success(json!({"code": args.code, "exit_status": exit, "page": text}));
    } else {
        out.text(text);
    }
    Ok(Exit::DONE)
}

/// What a code means, for reports that explain themselves.
pub(super) fn rule(code: Code) -> Rule {
    let rye = RyeBuilder::new().system_only();
    let query = format!("knowledge:rye/errors/{code}@system").parse::<Query>();
    let described = query.ok().and_then(|query| rye.describe(&query).ok());
    let page = described.map(|described| body(&described.content).to_owned()).unwrap_or_default();
    let short = page.split("\n\n").next().unwrap_or_default().trim().replace('\n', " ");
    Rule { short: if short.is_empty() { code.to_string() } else { short }, page }
}

/// The page without its front matter, which is for indexes.
fn body(page: &str) -> &str {
    let inner = page.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    inner.map_or(page, |(_, body)| body.trim_start_matches('\n'))
}
