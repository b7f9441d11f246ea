//! One process a call (exec-protocol 2).

use super::stderr::StderrLog;
use super::wire::{Answer, answer, one_line, one_object, outcome, request, shown};
use crate::base::limits::OUTPUT_BYTES;
use crate::execute::{
    Aftermath, ExecuteError, Mask, Outcome, ProtocolFault, RunContext, prepare, run_once,
    status_text,
};
use crate::host::ChildResult;
use crate::plan::{ExecOptions, Plan, Process};

/// # Errors
/// `protocol.*`, `execute.*`
pub(super) fn call(
    plan: &Plan,
    process: &Process,
    options: &ExecOptions,
    running: &RunContext<'_>,
) -> Result<Outcome, ExecuteError> {
    let (mut spawn, folders) = prepare(plan, process, running)?;
    spawn.output_cap = options.max_output_bytes;
    spawn.stderr_end = Some(OUTPUT_BYTES);
    spawn.stops_at_cap = true;
    spawn.stdin = one_line(request(&spawn.stdin, options.below_args, running.approval));
    let paths = folders.authors_paths();
    let ended = run_once(plan, &spawn, folders, running, &mut |_, _, _| ())?;
    let mask = Mask::new(plan.private_values());
    let begin = if ended.stderr_truncated { StderrLog::amid } else { StderrLog::new };
    let mut stderr_log = begin(paths);
    stderr_log.take(plan.item(), &ended.stderr, &mask);
    let tail = stderr_log.tail(plan.item(), &mask, false);
    if !tail.is_empty() {
        running.sink.said(plan.item(), &|| tail.clone());
    }
    let read = match ended.timed_out {
        true => Err(ProtocolFault::Timeout { limit: plan.limit().clone() }),
        false => read(&ended, spawn.output_cap, options.as_it_is, &mask),
    };
    match read {
        Ok(answer) => Ok(Outcome {
            exit_code: ended.exit_code,
            signal: ended.signal,
            max_rss_kib: ended.max_rss_kib,
            accesses: ended.accesses,
            traffic: ended.traffic,
            new_repositories: ended.new_repositories,
            ..outcome(answer, &mask, tail, ended.duration)
        }),
        Err(fault) => {
            let (traffic, new_repositories) = (ended.traffic, ended.new_repositories);
            let after = Box::new(Aftermath { traffic, new_repositories });
            Err(ExecuteError::Protocol {
                item: plan.item().clone(),
                fault,
                stderr_tail: tail,
                after,
            })
        }
    }
}

/// A status other than 0 is an error, whatever was said.
fn read(
    ended: &ChildResult,
    cap: usize,
    as_it_is: bool,
    mask: &Mask,
) -> Result<Answer, ProtocolFault> {
    if ended.stdout_truncated {
        return Err(ProtocolFault::OutputTooLarge { cap });
    }
    let failed = ended.exit_code != Some(0);
    let is_empty = ended.stdout.iter().all(u8::is_ascii_whitespace);
    let said = match is_empty {
        true => Err(ProtocolFault::EmptyResponse),
        false => one_object(&ended.stdout, mask).and_then(|map| {
            if as_it_is {
                return Ok(Answer::Result(map.into()));
            }
            let shown = shown(&ended.stdout, mask);
            answer(map).map_err(|why| ProtocolFault::BadResponse { why: why.into(), shown })
        }),
    };
    match said {
        Ok(Answer::Error(message, value)) => Ok(Answer::Error(message, value)),
        _ if failed => Ok(Answer::Error(status_text(ended), serde_json::Value::Null)),
        other => other,
    }
}
