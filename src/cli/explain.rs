//! `rye explain`: the page of an error code.

use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::{codes, complete};
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diagnostic::{Code, EXIT_STATUSES, Failure};
use crate::id::Query;
use crate::rye::RyeBuilder;

/// Explain an error code or an exit status, offline
#[derive(clap::Args)]
pub(super) struct Args {
    /// The code, such as `verify.altered`, or an exit status, such as 4; without one, the table of
    /// exit statuses
    #[arg(value_name = "CODE", add = complete::codes())]
    code: Option<String>,
    /// Every code with its exit status, a line each
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

pub(super) fn run(args: &Args, _: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.code {
        Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => {
            status(name, out)?;
        }
        Some(name) => {
            let code = codes::find(name).ok_or_else(|| unknown(name))?;
            show(Some(code), &code.page(), out);
        }
        None if args.list => list(out),
        None => {
            // The page must be available even if the present folder is refused.
            let rye = RyeBuilder::new().system_only();
            let query: Query = "knowledge:rye/errors@system".parse()?;
            show(None, body(&rye.items().describe(&query)?.content), out);
        }
    }
    Ok(Exit::DONE)
}

fn unknown(name: &str) -> Failure {
    let near = near(name, codes::all().iter().map(|known| known.name()), NEAR_NAMES);
    CliError::UnknownCode { code: name.to_owned(), near }.into()
}

fn show(code: Option<Code>, page: &str, out: &mut Out) {
    if out.is_json() {
        let exit = code.map(Code::exit_status);
        out.success(json!({"code": code, "exit_status": exit, "page": page}));
    } else {
        out.page(page);
    }
}

/// The meaning of an exit status, and the codes that end with it.
///
/// # Errors
/// `cli.usage` for a number that rye never ends with.
fn status(number: &str, out: &mut Out) -> Result<(), CliError> {
    let known = EXIT_STATUSES.iter().find(|(status, _)| status.to_string() == number);
    let Some((status, meaning)) = known else {
        let known: Vec<String> = EXIT_STATUSES.iter().map(|(it, _)| it.to_string()).collect();
        let message = format!("rye itself never ends with {number}");
        let help = format!(
            "its statuses are {}; above 128 a signal ended it, whose number is 128 less",
            known.join(", ")
        );
        return Err(CliError::Usage { message, help: Some(help) });
    };
    let codes: Vec<Code> =
        codes::all().into_iter().filter(|code| code.exit_status() == *status).collect();
    if out.is_json() {
        let codes: Vec<&str> = codes.iter().map(|code| code.name()).collect();
        out.success(json!({"exit_status": status, "meaning": meaning, "codes": codes}));
        return Ok(());
    }
    out.line(&format!("{status}  {meaning}"));
    for code in codes {
        out.line(&format!("   {code}"));
    }
    Ok(())
}

fn list(out: &mut Out) {
    let codes = codes::all();
    if out.is_json() {
        let row = |code: &Code| json!({"code": code, "exit_status": code.exit_status(), "summary": code.summary()});
        return out.success(json!({"codes": codes.iter().map(row).collect::<Vec<Value>>()}));
    }
    for code in codes {
        out.line(&format!("{}  {code}", code.exit_status()));
    }
}

/// The page without its front matter.
fn body(page: &str) -> &str {
    let inner = page.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    inner.map_or(page, |(_, body)| body.trim_start_matches('\n'))
}
