//! Runs as their callers see them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::asked::{Asked, Segment, beside, json as answer, with_kind};
use super::execute::{RunOver, RunningRun};
use super::server::Node;
use crate::base::sync::unpoisoned;
use crate::diagnostic::{Diagnostic, Failure};
use crate::registry::{Served, ServedRuns};
use crate::remote::RemoteError;
use crate::report::error_json;
use crate::runs::{KnownRun, Threads, newest_run};

/// The longest time for which an answer is held back, in seconds.
const HELD_BACK: u64 = 60;

/// Between two looks at a run of another process.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Runs that a list holds at the most.
const LISTED: u64 = 200;

/// The fields of a run that are for its caller; the others are of this machine.
const FIELDS: [&str; 15] = [
    "thread_id",
    "item_id",
    "thread_status",
    "thread_code",
    "failure",
    "asked_at",
    "started_at",
    "ended_at",
    "async",
    "parent",
    "pending_id",
    "provider",
    "model",
    "limits",
    "used",
];

/// A run under the id that its caller gave it: a thread that goes on for it is it too.
fn for_caller(id: &str, known: &KnownRun) -> Map<String, Value> {
    let all = known.to_json().into_iter();
    let mut told: Map<String, Value> =
        all.filter(|(key, _)| FIELDS.contains(&key.as_str())).collect();
    told.insert("thread_id".into(), id.into());
    told
}

/// A run of this caller.
///
/// # Errors
/// `remote.not_found`, also for the run of another caller.
pub(super) fn own(node: &Node, asked: &Asked, id: &str) -> Result<Served, Failure> {
    let key = asked.caller.key.fingerprint().to_string();
    let served = ServedRuns::new(&mut node.registry()).find(id)?;
    let own = served.filter(|served| served.caller == key);
    Ok(own.ok_or_else(|| RemoteError::NotFound { what: format!("the run `{id}`") })?)
}

/// `GET /threads`
pub(super) async fn list(
    State(node): State<Arc<Node>>,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let listed = beside(move || {
        let key = asked.caller.key.fingerprint().to_string();
        let ids = ServedRuns::new(&mut node.registry()).ids_of(&key, LISTED)?;
        let threads = Threads::new(&node.rye);
        let told = |id: &String| Some(for_caller(id, &newest_run(threads, id).ok()?));
        Ok(json!({"threads": ids.iter().filter_map(told).collect::<Vec<_>>()}))
    });
    Ok(answer(&listed.await?))
}

/// `GET /threads/{id}`
pub(super) async fn show(
    State(node): State<Arc<Node>>,
    Segment(id): Segment,
    RawQuery(query): RawQuery,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    own(&node, &asked, &id)?;
    let wait = parameter(query.as_deref(), "wait").unwrap_or("0");
    let wait = wait.parse().ok().filter(|wait| *wait <= HELD_BACK);
    let why = "`wait` is not a number of seconds up to 60";
    let wait = wait.ok_or_else(|| RemoteError::bad_request(why))?;
    wait_until_over(&node, &id, Duration::from_secs(wait)).await?;
    Ok(answer(&answer_of(&node, id).await?))
}

/// `GET /threads/{id}/record`
pub(super) async fn record(
    State(node): State<Arc<Node>>,
    Segment(id): Segment,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let read = beside(move || {
        own(&node, &asked, &id)?;
        Ok(Threads::new(&node.rye).show(&id)?.1)
    });
    Ok(with_kind("application/x-ndjson", read.await?))
}

/// `POST /threads/{id}/cancel`
pub(super) async fn cancel(
    State(node): State<Arc<Node>>,
    Segment(id): Segment,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    own(&node, &asked, &id)?;
    let here = {
        let mut running = unpoisoned(node.running.lock());
        let ends_here = |run: &RunningRun| !run.is_thread || !run.over.borrow().has_begun;
        if running.get(&id).is_some_and(ends_here) { running.remove(&id) } else { None }
    };
    if let Some(run) = here {
        let over = run.over.clone();
        run.cancel(&node);
        wait_until_over_here(over, Duration::from_secs(HELD_BACK)).await;
    }
    let (here, name) = (Arc::clone(&node), id.clone());
    let cancelled = beside(move || {
        let threads = Threads::new(&here.rye);
        let until = Instant::now() + Duration::from_secs(HELD_BACK);
        // A thread has begun, and registers itself soon.
        while here.has_to_run(&name) && threads.run(&name).is_err() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        // A caller whose line broke asks once more. A detached run has a process of its own.
        match newest_run(threads, &name)?.is_over() {
            true => Ok(()),
            false => threads.cancel(&name).map(drop),
        }
    });
    cancelled.await?;
    Ok(answer(&answer_of(&node, id).await?))
}

/// Waits until this process has no more to do for a run, at most for `time`: one with a process of
/// its own goes on.
pub(super) async fn wait_until_over_here(
    mut over: watch::Receiver<RunOver>,
    time: Duration,
) -> RunOver {
    let over = tokio::time::timeout(time, over.wait_for(|over| over.is_over)).await;
    over.ok().and_then(Result::ok).map(|over| *over).unwrap_or_default()
}

/// A run that has yet to begin.
pub(super) fn created(id: &str) -> Value {
    json!({"run": {"thread_id": id, "thread_status": "created"}})
}

/// Waits until a run is over or waits for a person, at most for `time`.
pub(super) async fn wait_until_over(
    node: &Arc<Node>,
    id: &str,
    time: Duration,
) -> Result<(), Failure> {
    let until = Instant::now() + time;
    let known = unpoisoned(node.running.lock()).get(id).map(|run| run.over.clone());
    if let Some(over) = known
        && !wait_until_over_here(over, time).await.is_over
    {
        return Ok(());
    }
    let mut version = None;
    while Instant::now() < until {
        let (here, name) = (Arc::clone(node), id.to_owned());
        let newest = node.registry().version()?;
        if version.replace(newest) != Some(newest) {
            let open = beside(move || Ok(newest_run(Threads::new(&here.rye), &name)?.is_open()));
            if !open.await? {
                break;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// A run with its report once it is over or waits, and what came of it.
pub(super) async fn answer_of(node: &Arc<Node>, id: String) -> Result<Value, Failure> {
    let here = Arc::clone(node);
    let told = beside(move || {
        let threads = Threads::new(&here.rye);
        let is_here = here.has_to_run(&id);
        let known = match newest_run(threads, &id) {
            // It registers itself when its turn has come.
            Err(_) if is_here => return Ok(created(&id)),
            known => known?,
        };
        let mut told = json!({"run": for_caller(&id, &known)});
        if known.is_open() {
            return Ok(told);
        }
        let mut report = match known.report() {
            Some(report) => report.clone(),
            None => match threads.wait(known.id(), Some(Duration::ZERO)) {
                Ok(Ok(ended)) => ended.report,
                Ok(Err(_)) => return Ok(told),
                Err(failure) => failed(&failure, &known),
            },
        };
        if known.is_over()
            && let (Some(report), Value::Object(made)) = (report.as_object_mut(), here.finish(&id)?)
        {
            report.extend(made);
        }
        told["report"] = report;
        Ok(told)
    });
    told.await
}

fn failed(failure: &Failure, known: &KnownRun) -> Value {
    let diagnostic: Diagnostic = failure.diagnostic();
    error_json(&diagnostic, Some(&known.row.item), &[], Duration::ZERO, None)
}

/// The value of a parameter of a query, as it stands there.
pub(super) fn parameter<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    query?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
