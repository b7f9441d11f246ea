//! `rye fetch`: print an item's verified content.

use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use super::wire::Wired;
use crate::id::Query;

/// Print the verified content of an item
#[derive(clap::Args)]
pub(super) struct Args {
    /// The item, such as `knowledge:rye/overview`
    #[arg(value_name = "REF", add = super::complete::refs())]
    item: String,
}

pub(super) fn run(args: &Args, wired: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    let rye = wired.rye()?;
    let described = rye.describe(&args.item.parse::<Query>()?)?;
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
        out.foreign(&described.content);
    }
    Ok(Exit::DONE)
}
