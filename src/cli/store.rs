//! `rye store`: objects by their digests, for runs on other machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::input::read_bytes;
use super::out::Out;
use crate::base::Digest;
use crate::base::bytes::write_new;
use crate::base::text::{counted, escape_line};
use crate::base::time::{TIME_FORMS, time_text, time_with_unit};
use crate::diagnostic::{Failure, Style};
use crate::store::{FolderStore, GRACE, OBJECT_BYTES, OBJECTS, ObjectStore, verify};

/// Look after the store of objects, which holds the files of runs on other machines
///
/// An object is any bytes, named by their SHA-256. Runs hold what they need by refs; what no ref
/// reaches is removed by `rye store gc`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Count the objects, their bytes and the refs
    Stat,
    /// Read every object, and put aside those that are not what their names say
    Verify,
    /// Remove the objects that no ref reaches
    Gc {
        /// Keep those that were put within this time, such as 10m or 2h; by default an hour
        #[arg(long, value_name = "TIME", value_parser = grace)]
        grace: Option<Duration>,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Write an object into a new file
    Get {
        /// The SHA-256 of its bytes, in hex digits
        #[arg(value_name = "DIGEST", value_parser = digest)]
        digest: Digest,
        /// The file to make
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Put a file into the store
    Put {
        /// A file of at most 64 MiB
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

fn grace(text: &str) -> Result<Duration, String> {
    time_with_unit(text).ok_or_else(|| format!("not a time that can pass: {TIME_FORMS}"))
}

fn digest(text: &str) -> Result<Digest, &'static str> {
    text.parse().map_err(|()| "a digest is 64 hex digits in small letters")
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let store = FolderStore::open(context.rye_of_user()?.spaces().user()?.path(OBJECTS))?;
    let (good, text, fields) = match &args.verb {
        Verb::Stat => {
            let objects = store.list()?;
            let (count, refs) = (objects.len() as u64, store.refs()?.len() as u64);
            let bytes: u64 = objects.iter().map(|(_, bytes)| bytes).sum();
            let text = format!("{}  {bytes} bytes", counted(count, "object"));
            let text = format!("{text}  {}", counted(refs, "ref"));
            ("store", text, json!({"objects": count, "bytes": bytes, "refs": refs}))
        }
        Verb::Verify => {
            let (count, bytes) = verify(&store)?;
            let text = format!("{}  {bytes} bytes", counted(count, "object"));
            ("verified", text, json!({"objects": count, "bytes": bytes}))
        }
        Verb::Gc { grace, dry_run } => {
            let grace = grace.unwrap_or(GRACE);
            let garbage = store.collect(grace, *dry_run)?;
            for lost in &garbage.lost {
                out.warn(&format!("a ref holds `{lost}`, which is missing or was put aside"));
            }
            let text = format!(
                "{}  {} bytes; {} kept, of the last {} or held by a ref",
                counted(garbage.removed, "object"),
                garbage.removed_bytes,
                counted(garbage.kept, "object"),
                time_text(grace),
            );
            let fields = json!({
                "removed": garbage.removed, "removed_bytes": garbage.removed_bytes,
                "kept": garbage.kept, "lost": garbage.lost, "dry_run": dry_run,
            });
            (if *dry_run { "would be removed" } else { "removed" }, text, fields)
        }
        Verb::Get { digest, file } => {
            let bytes = store.get(*digest)?;
            write_new(&absolute(file)?, &bytes, 0o644).map_err(|error| not_made(file, error))?;
            let shown = file.display().to_string();
            let text = format!("{}  {} bytes", escape_line(&shown), bytes.len());
            ("written", text, json!({"sha256": digest, "bytes": bytes.len(), "file": shown}))
        }
        Verb::Put { file } => {
            let bytes = read_bytes(file, OBJECT_BYTES)?.ok_or_else(|| CliError::Usage {
                message: format!(
                    "`{}` is larger than 64 MiB",
                    escape_line(&file.display().to_string())
                ),
                help: Some("an object is read whole; split the file".into()),
            })?;
            let digest = Digest::of(&bytes);
            let bytes = store.put(digest, &mut bytes.as_slice())?;
            ("put", digest.to_string(), json!({"sha256": digest, "bytes": bytes}))
        }
    };
    match out.is_json() {
        true => out.success(fields),
        false => {
            let good = out.paint().style(Style::Good, good);
            out.line(&format!("{good}  {text}"));
        }
    }
    Ok(Exit::DONE)
}

fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(|error| not_made(file, error).into())
}

fn not_made(file: &Path, source: std::io::Error) -> CliError {
    CliError::OutputFile { path: file.to_owned(), source }
}
