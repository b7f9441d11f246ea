//! `rye export`: items for people who do not use rye.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use zeroize::Zeroizing;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::named::query;
use super::out::Out;
use crate::base::bytes::{Bounded, open_named, read_at_most};
use crate::base::limits::SMALL_TEXT_BYTES;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::import::{export, hand_out, sign_skill};
use crate::oms::{OmsError, OmsSigningKey};

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
    /// The directive, and the tool that gives out its files, are verified first. The folder that
    /// you get carries no signature unless you give a key: others may change it.
    #[command(after_help = "examples:\n  rye export skill skills/word_count --to out\n  \
        rye export skill skills/word_count --to out --oms key.pem")]
    Skill {
        /// The directive, such as `skills/pdf_processing`
        #[arg(value_name = "REF|PATH", add = super::complete::refs())]
        directive: String,
        /// The folder that the skill's own folder is made in
        #[arg(long, value_name = "DIR", default_value = ".")]
        to: PathBuf,
        /// Put `skill.oms.sig` into the folder, a signature by `OpenSSF` Model Signing: a private
        /// key on P-256, P-384 or P-521, as PEM
        #[arg(long, value_name = "KEY")]
        oms: Option<PathBuf>,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let Format::Skill { directive, to, oms } = &args.format;
    let rye = context.rye()?;
    let with = sign_with(oms.as_deref())?;
    let mut skill = export(&rye, &query(directive, &rye)?)?;
    if let Some(with) = &with {
        sign_skill(&mut skill, with)?;
    }
    let folder = hand_out(&skill, to)?;
    let files: Vec<_> = skill.files.keys().map(String::as_str).collect();
    if out.is_json() {
        let signed_by = with.as_ref().map(OmsSigningKey::fingerprint);
        out.success(json!({
            "skill": skill.name, "folder": shown(&folder), "files": files, "signed_by": signed_by,
        }));
        return Ok(Exit::DONE);
    }
    let verb = out.paint().style(Style::Good, "exported");
    let folder = escape_line(&shown(&folder));
    out.line(&format!("{verb}  {}  {folder}  {} files", skill.name, files.len()));
    Ok(Exit::DONE)
}

/// The key that a signature for others is made with, if one is wanted.
///
/// # Errors
/// `oms.key`, `cli.input_file`; nothing of what the file holds is in them.
pub(super) fn sign_with(key: Option<&Path>) -> Result<Option<OmsSigningKey>, Failure> {
    let Some(path) = key else { return Ok(None) };
    let read = || match read_at_most(&mut open_named(path)?, SMALL_TEXT_BYTES, 0)? {
        Bounded::All(bytes) => Ok(Zeroizing::new(bytes)),
        Bounded::More => Err(io::Error::other("it is too large")),
    };
    let pem = read().map_err(|source| CliError::InputFile { path: shown(path), source })?;
    let text = std::str::from_utf8(&pem).map_err(|_| "is not PEM");
    let wrong = |why: &str| OmsError::Key { path: shown(path), why: why.into() };
    Ok(Some(text.and_then(OmsSigningKey::of_pem).map_err(wrong)?))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
