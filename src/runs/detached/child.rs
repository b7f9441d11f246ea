//! The process of one detached run.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::ended::{EndedRun, ended_run};
use super::log::{OutputLog, forget_log};
use super::process::{Answer, say, told};
use super::request::DetachedRequest;
use super::retry::retry;
use crate::chain::Lineage;
use crate::exec_protocol::Observers;
use crate::host::{Os, StopWatch, Vars, hold_signals, lead_own_session};
use crate::id::Kind;
use crate::registry::{Admission, DetachedEnd, NewRun, Registry, RegistryError, RunState};
use crate::report::Report;
use crate::runs::threads::{ThreadStart, Threads, is_asked_to_stop};
use crate::rye::{DueReceipts, Failed, HeldReceipts, Loader, Request, Rye, RyeBuilder, moment};
use crate::trace::Quiet;

/// The longest time between two such looks, in milliseconds.
const PLACE_LOOK_LONGEST_MS: u64 = 1_000;

/// How often the first of the runs that wait looks for a place, in milliseconds; one behind others
/// looks less often by as many.
const PLACE_LOOK_MS: u64 = 50;

/// After so many looks at the version of the registry it is read.
const PLACE_LOOKS: usize = 4;

/// Runs the request that it is told. The registry says how it ended; its status has no reader.
pub(super) fn main() -> ExitCode {
    match run() {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

fn run() -> Option<()> {
    // Neither the end of the caller nor of a terminal ends it from now on.
    lead_own_session().ok()?;
    let asked = DetachedRequest::from_text(&told().ok()?)?;
    let (mut registry, place) = match registered(&asked) {
        Ok(registered) => registered,
        Err(error) => return say(&Answer::Failed(error.to_string())).ok(),
    };
    let answer = match place {
        Admission::Runs => Answer::Runs,
        Admission::Full(waiting) => Answer::Full(waiting),
        _ => Answer::Waits,
    };
    // The caller may be gone, which changes nothing.
    let _ = say(&answer);
    if place != Admission::Runs && !has_place(&mut registry, &asked.id)? {
        return None;
    }
    let start = Instant::now();
    let mut held = Some(hold_signals());
    let receipts = HeldReceipts::default();
    let (end, observers) = ended(&asked, &receipts, start);
    if end.state == RunState::Cancelled {
        observers.end_soon(None);
    }
    let at = moment();
    let (state, code) = (end.state, end.code.as_deref());
    let (report, receipts) = (end.report.to_string(), receipts.to_text());
    let (receipts, request) = (receipts.as_deref(), end.pending.as_deref());
    let end = DetachedEnd { state, code, at: &at, report: &report, receipts, request };
    retry(|| {
        let is_written = registry.detached().end(&asked.id, end);
        if is_written.is_err() {
            // It has done all but that, so a signal ends it from here on.
            held = None;
        }
        is_written
    })
    .ok()?;
    // If they cannot be written now, the next reader of the run's end tries again.
    let _ = DueReceipts::settle(&mut registry, &asked.id);
    for (base, id) in registry.detached().forget_oldest().ok()? {
        forget_log(Path::new(&base), &id);
    }
    // The end of the run is told without waiting for them.
    drop(observers);
    Some(())
}

/// Registers the run of this process.
fn registered(asked: &DetachedRequest) -> Result<(Registry, Admission), RegistryError> {
    let mut registry = Registry::open(&asked.user)?;
    let kind = if asked.thread().is_some() { Kind::Directive } else { Kind::Tool };
    let new = NewRun {
        id: &asked.id,
        kind: &kind.to_string(),
        item: &asked.item,
        base: &asked.base.to_string_lossy(),
        asked_at: &moment(),
    };
    let place = registry.detached().admit(&new, asked.places)?;
    Ok((registry, place))
}

/// Waits for a place; false if the run was ended meanwhile. `None` where the registry is out of
/// reach.
fn has_place(registry: &mut Registry, id: &str) -> Option<bool> {
    loop {
        // Before it is read, so that nothing written in between is missed.
        let version = retry(|| registry.version()).ok()?;
        let before = match retry(|| registry.detached().take_place(id, &moment())).ok()? {
            Admission::Runs => return Some(true),
            Admission::Behind(before) => before,
            Admission::Full(_) | Admission::Over => return Some(false),
        };
        let pause = PLACE_LOOK_MS.saturating_mul(before + 1).min(PLACE_LOOK_LONGEST_MS);
        // A process that was killed writes nothing, so now and then it is read all the same.
        for _ in 0..PLACE_LOOKS {
            std::thread::sleep(Duration::from_millis(pause));
            if retry(|| registry.version()).ok()? != version {
                break;
            }
        }
    }
}

/// How it ended, with the hooks that were only told and may still run; nothing else of it does.
fn ended(
    asked: &DetachedRequest,
    receipts: &HeldReceipts,
    start: Instant,
) -> (EndedRun, Observers) {
    match asked.to_request().and_then(|request| {
        let request = Request { held_receipts: Some(receipts.clone()), ..request };
        let builder = RyeBuilder::from_vars(Vars::from_process()).cwd(asked.cwd.clone());
        let builder = match &asked.project {
            Some(project) => builder.project(project.clone()),
            None => builder,
        };
        Ok((builder.host(Box::new(Os::new(true))).build()?, request))
    }) {
        Ok((rye, request)) => {
            let run = |request: &Request| run_logged(&rye, asked, request, start);
            let end = ended_run(watched(asked, &request, run), &asked.id, start);
            (end, rye.observers)
        }
        Err(failure) => {
            let failed = Failed::early(failure, &*asked.item, start.elapsed());
            (ended_run(Err(failed), &asked.id, start), Observers::default())
        }
    }
}

/// Runs it; what a tool writes goes to its log.
fn run_logged(
    rye: &Rye,
    asked: &DetachedRequest,
    request: &Request,
    start: Instant,
) -> Result<Report, Failed> {
    match asked.thread() {
        Some((id, verified)) => {
            let thread = |loader: &Loader<'_>, lineage: &Lineage, request: &Request| {
                let how = ThreadStart::Verified(id.clone(), verified.clone());
                Threads::new(rye).start(loader, lineage, request, how)
            };
            rye.runs().starting(&thread).run(request, start, &Quiet)
        }
        None => rye.runs().run(request, start, &OutputLog::new(&asked.base, &asked.id)),
    }
}

/// Runs it until it is asked to stop. A thread looks for that itself.
fn watched(
    asked: &DetachedRequest,
    request: &Request,
    run: impl FnOnce(&Request) -> Result<Report, Failed>,
) -> Result<Report, Failed> {
    if asked.thread().is_some() {
        return run(request);
    }
    let _watch = StopWatch::start(is_asked_to_stop(&asked.user, &asked.id)).ok();
    run(request)
}
