//! Report: outcome and trace to text and JSON, and the receipt of a run.
//!
//! Sees `execute`, `plan` and below. Changes no outcome.
//!
//! Wire names stand in `tests/golden/wire.txt` and are never renamed.

mod checked_thread;
mod detached;
mod dry_run;
mod error;
mod failed;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod fuzz;
mod receipt;
mod remote;
#[expect(clippy::module_inception, reason = "the step's own file, named as the design names it")]
mod report;
mod sarif;
mod text;
mod thread;
mod tree;

pub(crate) use checked_thread::{CheckedLimit, CheckedThread};
pub(crate) use detached::DetachedReport;
pub(crate) use error::{CODES, ReceiptError};
pub(crate) use failed::{error_json, error_text};
pub(crate) use receipt::{OutputRecord, Ran, Receipt, RemoteRecord, ResponseRecord};
pub(crate) use remote::RemoteReport;
#[cfg(feature = "code")]
pub(crate) use report::masked_report;
pub(crate) use report::{
    Detail, DirectiveReport, HookNote, Report, ToolReport, Warned, add_warnings, metadata,
    plain_ids,
};
pub(crate) use sarif::{SarifLevel, sarif};
pub(crate) use text::{chain_tree, data_text, external_tree, passed_over_text};
pub(crate) use thread::{ThreadReport, handed_over_text};
pub(crate) use tree::{
    denied_calls_text, limit_lowered_text, provider_failed_text, thread_runs_text,
};
pub(crate) use tree::{thread_warnings, tools_missing_text, tools_refused_text, trace_text};
