//! `rye export`: items for people who do not use rye.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::context::Context;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::import::{export, hand_out};

/// Hand out items in the formats of others
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    format: Format,
}

#[derive(clap::Subcommand)]
enum Format {
    /// A directive as a skill of the Agent Skills format
    ///
    /// The directive, and the tool that gives out its files, are verified first. What you get
    /// carries no signature: whoever has the folder may change it.
    Skill {
        /// The directive, such as `skills/pdf_processing`
        #[arg(value_name = "REF|PATH", add = super::complete::refs())]
        directive: String,
        /// The folder that the skill's own folder is made in
        #[arg(long, value_name = "DIR", default_value = ".")]
        to: PathBuf,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let Format::Skill { directive, to } = &args.format;
    let rye = context.rye()?;
    let skill = export(&rye, &query(directive, &rye)?)?;
    let folder = hand_out(&skill, to)?;
    let files: Vec<_> = skill.files.keys().map(String::as_str).collect();
    if out.is_json() {
        out.success(json!({"skill": skill.name, "folder": shown(&folder), "files": files}));
        return Ok(Exit::DONE);
    }
    let verb = out.paint().style(Style::Good, "exported");
    let folder = escape_line(&shown(&folder));
    out.line(&format!("{verb}  {}  {folder}  {} files", skill.name, files.len()));
    Ok(Exit::DONE)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
