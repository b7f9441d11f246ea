//! Running an eval: a run as of any tool, then what its answer says (exec-protocol 5).

use std::time::{Duration, Instant};

use super::failed::Failed;
use super::request::Request;
use super::run::Runs;
use crate::diagnostic::Failure;
use crate::eval::{EvalError, Judged};
use crate::execute::{ExecuteError, Mask};
use crate::id::Ref;
use crate::report::{Report, ToolReport, Warned};
use crate::trace::{Event, Sink};

/// The result of an eval.
#[derive(Debug)]
pub(crate) struct Scored {
    pub(crate) item: Ref,
    pub(crate) judged: Judged,
    /// The refs of the links that it ran through.
    pub(crate) chain: Vec<String>,
    pub(crate) elapsed: Duration,
    pub(crate) warnings: Vec<Warned>,
}

impl Runs<'_> {
    /// Runs an eval: a request that says what it is asked.
    ///
    /// # Errors
    /// Those of a run; `eval.not_an_eval`, `eval.error`, `protocol.bad_score`.
    pub(crate) fn eval(
        self,
        request: &Request,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Scored, Failed> {
        let report = self.run(request, start, sink)?;
        let warnings = report.warnings().to_vec();
        let (item, chain, read) = match report {
            Report::Tool(tool) => (tool.item.clone(), tool.plan.chain().to_vec(), read(*tool)),
            Report::Directive(directive) => no_tool(directive.item),
            Report::Knowledge { item, .. } => no_tool(item),
            Report::Thread(thread) => no_tool(thread.item),
            Report::Detached(detached) => no_tool(detached.item),
            Report::Remote(remote) => no_tool(remote.item),
        };
        let elapsed = start.elapsed();
        match read {
            Ok(judged) => Ok(Scored { item, judged, chain, elapsed, warnings }),
            Err(failure) => {
                let (item, code) = (item.to_string(), failure.reason());
                sink.record(Event::Refused { item_id: Some(item.clone()), code });
                let told = Vec::new();
                Err(Failed { failure, item, chain, elapsed, warnings, told, trace: None })
            }
        }
    }
}

/// Nothing but a tool is an eval.
fn no_tool(item: Ref) -> (Ref, Vec<String>, Result<Judged, Failure>) {
    let failure = EvalError::NotAnEval { item: item.clone(), why: "it is not a tool" };
    (item, Vec::new(), Err(failure.into()))
}

/// Reads the answer of the program. A failure, in whatever way, is no score.
fn read(tool: ToolReport) -> Result<Judged, Failure> {
    if let Some(lost) = tool.lost {
        return Err(lost.into());
    }
    let errored = |message: String, stderr_tail: String| {
        Failure::from(EvalError::Errored { item: tool.item.clone(), message, stderr_tail })
    };
    let outcome = tool.outcome.ok_or_else(|| errored("it was not run".into(), String::new()))?;
    if let Some(failure) = outcome.failure {
        return Err(errored(failure.message, failure.tail));
    }
    let mask = Mask::new(tool.plan.private_values());
    Judged::read(&outcome.data, &mask).map_err(|fault| {
        let (item, stderr_tail, after) = (tool.item.clone(), String::new(), Box::default());
        ExecuteError::Protocol { item, fault, stderr_tail, after }.into()
    })
}
