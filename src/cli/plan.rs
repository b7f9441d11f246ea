//! `rye plan`: writes a plan of a run, to approve it and to run exactly that later.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::execute::{time, wanted};
use super::exit::Exit;
use super::input::{Inputs, read_bytes};
use super::named::reference;
use super::out::Out;
use crate::base::limits::PARAMS_BYTES;
use crate::base::staged::AtomicFile;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::plan::{PlanError, PlanFile, SandboxChoice};
use crate::report::Report;
use crate::rye::Request;
use crate::trace::Quiet;

/// Largest plan file in bytes: parameters are stored as text in it, whose quotes are escaped twice.
const PLAN_BYTES: u64 = 4 * PARAMS_BYTES;

/// Write down what running a tool would do; `rye execute --plan` runs exactly that
#[derive(clap::Args)]
pub(super) struct Args {
    /// The tool, such as `tool:acme/deploy` or `acme/deploy`
    #[arg(value_name = "REF|PATH", add = super::complete::runnable())]
    item: String,
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write; by default the plan goes to standard output
    #[arg(short, long, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Store the parameters too, so that they need not be given again
    #[arg(long)]
    with_params: bool,
    /// Plan for this time at most, such as `10`, `500ms` or `2m`, if its own limit is longer
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// How the tool is to be held: `auto`, `bwrap`, `landlock`, or `off` where your policy lets it
    /// out
    #[arg(long, default_value = "auto", value_name = "LEVEL", value_parser = wanted)]
    sandbox: SandboxChoice,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let given = args.inputs.read()?;
    let rye = context.rye()?;
    let mut request = Request::new(reference(&args.item, &rye)?).dry_run(true);
    request.params = given.params;
    request.texts = given.texts;
    request.timeout = args.timeout;
    request.sandbox = args.sandbox;
    request.for_record = true;
    let report = rye.runs().run(&request, context.start, &Quiet);
    let report = report?;
    out.warned(report.warnings());
    // Items that are not tools were refused before.
    let Report::Tool(tool) = report else { return Ok(Exit::DONE) };
    let text = PlanFile::write(&tool.plan, args.with_params).map_err(Failure::from)?;
    let digest = tool.plan.digest().map_err(Failure::from)?;
    let Some(path) = &args.out else {
        if out.is_json() {
            let plan: Value = serde_json::from_slice(&text).expect("a plan file is JSON");
            out.success(json!({"item_id": tool.item, "sha256": digest, "plan": plan}));
            return Ok(Exit::DONE);
        }
        out.foreign(&String::from_utf8_lossy(&text));
        return Ok(Exit::DONE);
    };
    // Parameters may be private.
    let mode = if args.with_params { 0o600 } else { 0o644 };
    let written = AtomicFile::at(path, mode).and_then(|file| file.finish(&text));
    written.map_err(|source| CliError::OutputFile { path: path.clone(), source })?;
    let path = path.display().to_string();
    if out.is_json() {
        out.success(json!({"item_id": tool.item, "path": path, "sha256": digest}));
    } else {
        out.line(&format!("planned  {}  {}", tool.item, escape_line(&path)));
        out.line(&format!("  sha256 {digest}"));
    }
    Ok(Exit::DONE)
}

/// Reads a plan file.
///
/// # Errors
/// `cli.input_file`, `plan.malformed`.
pub(super) fn read(path: &Path) -> Result<PlanFile, Failure> {
    let text = read_bytes(path, PLAN_BYTES)?;
    let too_large =
        || PlanError::Malformed { why: format!("it is larger than {} MiB", PLAN_BYTES >> 20) };
    let text = text.ok_or_else(|| Failure::from(too_large()))?;
    Ok(PlanFile::read(&text)?)
}
