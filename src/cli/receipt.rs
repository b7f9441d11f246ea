//! `rye receipt`: whether the receipt of a run is what it says.

use std::path::PathBuf;

use serde_json::json;

use super::context::Context;
use super::exit::Exit;
use super::input::read_bytes;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Failure, Style};
use crate::report::{OutputRecord, ReceiptError, RemoteRecord, ResponseRecord};
use crate::rye::{CheckedReceipt, ExpectedRun};

/// Largest receipt in bytes: a chain has few links, and outputs are digests.
const RECEIPT_BYTES: u64 = 4 << 20;

/// Check the receipt of a run
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Check who signed a receipt, that nothing in it was changed, and show what it says
    Verify {
        /// The receipt, as `rye execute --receipt` wrote it
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// It must be of this plan, a file of `rye plan`
        #[arg(long, value_name = "FILE")]
        plan: Option<PathBuf>,
        /// It must be of this run
        #[arg(long, value_name = "RUN_ID")]
        run: Option<String>,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let Verb::Verify { file, plan, run } = &args.verb;
    let too_large = || ReceiptError::Malformed { why: "it is larger than 4 MiB".into() };
    let text = read_bytes(file, RECEIPT_BYTES)?.ok_or_else(|| Failure::from(too_large()))?;
    let plan = plan.as_deref().map(super::plan::read).transpose()?;
    let rye = context.rye()?;
    // Without remotes a receipt of a node is refused for its key.
    let remotes = super::remote::table(&rye).and_then(|table| Ok(table.all()?));
    let nodes: Vec<_> =
        remotes.unwrap_or_default().into_iter().filter_map(|remote| remote.key).collect();
    let wanted = ExpectedRun { plan: plan.as_ref(), run_id: run.as_deref(), nodes: &nodes };
    let checked = rye.receipts().check(&text, wanted)?;
    if out.is_json() {
        let CheckedReceipt { key, owner, receipt } = &checked;
        out.success(json!({
            "item_id": receipt.item(), "verified": true, "signer": key, "owner": owner, "receipt": receipt,
        }));
    } else {
        show(&checked, out);
    }
    Ok(Exit::DONE)
}

fn show(checked: &CheckedReceipt, out: &mut Out) {
    let CheckedReceipt { key, owner, receipt } = checked;
    let ran = receipt.record();
    let paint = out.paint();
    let output = |name, output: &OutputRecord| {
        [(name, format!("{} bytes", output.bytes)), ("", output.sha256.to_string())]
    };
    let how = match (ran.exit_code, ran.signal) {
        (Some(code), None) => format!("{} (status {code})", ran.ended),
        (Some(code), Some(signal)) => format!("{} (status {code}, signal {signal})", ran.ended),
        (None, Some(signal)) => format!("{} (signal {signal})", ran.ended),
        (None, None) => ran.ended.clone(),
    };
    let level = ran.sandbox.get("level").and_then(serde_json::Value::as_str).unwrap_or("unknown");
    let program = ran.interpreter.get("real").and_then(serde_json::Value::as_str);
    // With its name a digest would not fit a line of 80 columns.
    let good = paint.style(Style::Good, "receipt verified");
    out.line(&format!("{good}  signed by `{}` {key}", escape_line(owner)));
    let mut rows = vec![
        ("run", ran.run_id.clone()),
        ("tool", receipt.item().to_string()),
        ("", receipt.tool().to_string()),
        ("plan", ran.plan.sha256.to_string()),
        ("parameters", ran.params.sha256.to_string()),
        ("started", ran.started_at.clone()),
        ("ended", ran.ended_at.clone()),
        ("how", how),
    ];
    if let Some(RemoteRecord { run, node, caller, outputs }) = &ran.remote {
        rows.extend([("node", node.clone()), ("asked by", caller.clone()), ("as", run.clone())]);
        rows.extend(outputs.map(|digest| ("outputs", digest.to_string())));
    }
    let streams = [("stdout", &ran.stdout), ("stderr", &ran.stderr)];
    rows.extend(
        streams.into_iter().filter_map(|(name, it)| Some(output(name, it.as_ref()?))).flatten(),
    );
    if let Some(ResponseRecord { status, body }) = &ran.response {
        rows.push(("answer", format!("status {status}  {} bytes", body.bytes)));
        rows.push(("", body.sha256.to_string()));
    }
    rows.extend(program.map(|program| ("program", program.to_owned())));
    rows.extend([("sandbox", level.to_owned()), ("rye", ran.rye.clone())]);
    rows.push(("digests", "SHA-256".to_owned()));
    rows.extend(ran.warnings.iter().map(|w| ("DEV MODE", format!("{} {}", w.item, w.code))));
    for (label, value) in rows {
        let label = paint.style(Style::Dim, &format!("{label:>10}"));
        out.line(&format!("{label}  {}", escape_line(&value)));
    }
}
