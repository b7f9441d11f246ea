//! Trying the cases, several at a time, and telling of each in its order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::find::Suite;
use super::folder::Workplace;
use super::judge::{Came, Mismatch, judge, plain};
use super::score::score;
use super::spec::Case;
use crate::diagnostic::Diagnostic;
use crate::execute::Mask;
use crate::host::{hold_signals, send_on};
use crate::plan::SandboxChoice;
use crate::report::{Report, Warned};
use crate::rye::{Request, Rye};
use crate::trace::Quiet;

/// The result of one case.
#[derive(Debug)]
pub(crate) struct CaseResult {
    /// Nothing, if it passed.
    pub(crate) findings: Vec<Mismatch>,
    pub(crate) elapsed: Duration,
    /// The faults that dev mode let through.
    pub(crate) warnings: Vec<Warned>,
    /// The signal that interrupted it.
    pub(crate) interrupted: Option<i32>,
}

/// How cases are tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trying {
    /// So many at a time.
    pub(crate) jobs: usize,
    /// The sandbox that is wanted for all that they run, evals too.
    pub(crate) sandbox: SandboxChoice,
}

/// Tries every case of the suites, some at a time. Each verdict is handed to `tell` in the order
/// of the suites and their cases, as soon as those before it are there. A signal that asks rye to
/// end ends the cases that run, and no other is started: those have no verdict. Gives that signal.
pub(crate) fn run(
    rye: &Rye,
    suites: &[Suite],
    Trying { jobs, sandbox }: Trying,
    tell: &mut dyn FnMut(&Suite, &Case, CaseResult),
) -> Option<i32> {
    let work: Vec<(&Suite, &Case)> = suites
        .iter()
        .flat_map(|suite| suite.cases.iter().flatten().map(move |case| (suite, case)))
        .collect();
    // Without it, a signal would end rye and leave what it started.
    let _held = hold_signals();
    let (next, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stop = AtomicBool::new(false);
    let (to, from) = mpsc::channel();
    let mut signal = None;
    let attempts = |to: &mpsc::Sender<(usize, CaseResult)>| {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((suite, case)) = work.get(at) else { break };
            running.fetch_add(1, Ordering::SeqCst);
            let verdict = attempt(rye, suite, case, sandbox);
            let others = running.fetch_sub(1, Ordering::SeqCst) - 1;
            if let Some(signal) = verdict.interrupted {
                stop.store(true, Ordering::Relaxed);
                // One thread heard it; the next one that runs a case is to hear it too.
                if others > 0 {
                    send_on(signal);
                }
            }
            if to.send((at, verdict)).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        let attempts = &attempts;
        let start = |to: mpsc::Sender<_>| {
            std::thread::Builder::new().spawn_scoped(scope, move || attempts(&to))
        };
        let started = (0..jobs.min(work.len())).take_while(|_| start(to.clone()).is_ok()).count();
        // Without another thread this one tries them all, and tells of them afterwards.
        if started == 0 {
            attempts(&to);
        }
        drop(to);
        signal = in_order(&work, &from, tell);
    });
    signal
}

fn in_order(
    work: &[(&Suite, &Case)],
    from: &mpsc::Receiver<(usize, CaseResult)>,
    tell: &mut dyn FnMut(&Suite, &Case, CaseResult),
) -> Option<i32> {
    let mut early: Vec<Option<CaseResult>> = work.iter().map(|_| None).collect();
    let (mut told, mut signal, mut ended) = (0, None, false);
    for (at, verdict) in from {
        signal = signal.or(verdict.interrupted);
        early[at] = Some(verdict);
        while let Some(verdict) = early.get_mut(told).and_then(Option::take) {
            let (suite, case) = work[told];
            told += 1;
            // What comes behind a case without a verdict has no place to be told at.
            ended |= verdict.interrupted.is_some();
            if !ended {
                tell(suite, case, verdict);
            }
        }
    }
    signal
}

fn attempt(rye: &Rye, suite: &Suite, case: &Case, sandbox: SandboxChoice) -> CaseResult {
    let start = Instant::now();
    let workplace = match Workplace::with(&case.setup) {
        Ok(workplace) => workplace,
        Err(error) => {
            let why = Diagnostic::from(&error).message;
            let finding = plain("setup", why);
            return CaseResult {
                findings: vec![finding],
                elapsed: start.elapsed(),
                warnings: Vec::new(),
                interrupted: None,
            };
        }
    };
    let mut request = Request::new(suite.query.to_string()).dry_run(case.dry_run);
    request.params.clone_from(&case.inputs);
    request.timeout = case.timeout;
    request.sandbox = sandbox;
    request.workplace = Some(workplace.path().to_owned());
    let mut mask = Mask::default();
    let (came, warnings, interrupted) = match rye.runs().run(&request, start, &Quiet) {
        Ok(report) => {
            if let Report::Tool(tool) = &report {
                mask = Mask::new(tool.plan.private_values());
            }
            (Came::from_report(&report), report.warnings().to_vec(), None)
        }
        Err(failed) => {
            let interrupted = failed.failure.interrupted();
            (Came::refused(&failed.failure.diagnostic()), failed.warnings, interrupted)
        }
    };
    let findings = judge(&case.expect, &came, &workplace);
    let mut verdict = CaseResult { findings, elapsed: start.elapsed(), warnings, interrupted };
    if verdict.interrupted.is_none() {
        score(rye, case, &came, &request, &mut verdict);
        verdict.elapsed = start.elapsed();
    }
    let findings = std::mem::take(&mut verdict.findings);
    verdict.findings = findings.into_iter().map(|finding| finding.masked(&mask)).collect();
    verdict
}
