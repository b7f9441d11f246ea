//! The primitive `rye/core/primitives/execute`: a subprocess (core 7.11).

use super::driver::{Call, prepare, run_once};
use super::error::ExecuteError;
use super::mask::Mask;
use super::outcome::{Outcome, shown_stderr, stderr_tail};
use super::primitive::{Primitive, Running};
use crate::plan::Plan;

/// See the module.
pub(crate) struct Subprocess;

impl Primitive for Subprocess {
    fn id(&self) -> &'static str {
        "rye/core/primitives/execute"
    }

    fn run(&self, plan: &Plan, running: &Running<'_>) -> Result<Outcome, ExecuteError> {
        if let Some(spoken) = plan.spoken() {
            let outcome = running.driver.call(Call { plan, spoken, running })?;
            return Ok(if spoken.below_args { outcome } else { outcome.without_waiting() });
        }
        let (spawn, kept) = prepare(plan, running)?;
        let ended = run_once(plan, &spawn, kept, running)?;
        let mask = Mask::of(plan.secrets());
        if !ended.stderr.is_empty() {
            running.sink.said(plan.item(), &|| shown_stderr(&ended, &mask));
        }
        if ended.timed_out {
            let (item, after) = (plan.item().clone(), plan.timeout());
            let stderr_tail = stderr_tail(&ended, &mask);
            return Err(ExecuteError::Timeout { item, after, stderr_tail });
        }
        Ok(Outcome::of(&ended, &mask))
    }
}
