//! The primitive `rye/core/primitives/execute`: a subprocess (core 7.11).

use super::child::{RunContext, prepare, run_once};
use super::error::ExecuteError;
use super::outcome::{Outcome, shown_stderr, stderr_tail};
use super::redact::Mask;
use crate::plan::{Plan, Process};

/// Starts the process and reads what it says to its end.
///
/// # Errors
/// `execute.*`
pub(crate) fn subprocess(
    plan: &Plan,
    process: &Process,
    running: &RunContext<'_>,
) -> Result<Outcome, ExecuteError> {
    let (spawn, folders) = prepare(plan, process, running)?;
    let mask = Mask::new(plan.secrets());
    let of_errors = Mask::new(plan.private_values());
    // A part of a secret is not known as one: with secrets everything is told at the end.
    let is_live = plan.secrets().next().is_none();
    let mut line = Vec::new();
    let ended = run_once(plan, &spawn, folders, running, &mut |bytes| {
        if !is_live {
            return;
        }
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        line.extend_from_slice(&bytes[..end]);
        if end > 0 {
            let lines = std::mem::take(&mut line);
            running.sink.said(plan.item(), &|| String::from_utf8_lossy(&lines).into_owned());
        }
        line.extend_from_slice(&bytes[end..]);
    })?;
    if !is_live && !ended.stderr.is_empty() {
        running.sink.said(plan.item(), &|| shown_stderr(&ended, &mask));
    } else if !line.is_empty() {
        running.sink.said(plan.item(), &|| String::from_utf8_lossy(&line).into_owned());
    }
    if ended.timed_out {
        let (item, after) = (plan.item().clone(), plan.timeout());
        let stderr_tail = stderr_tail(&ended, &of_errors);
        return Err(ExecuteError::Timeout { item, after, stderr_tail });
    }
    Ok(Outcome::from_child(&ended, &mask, &of_errors))
}
