//! Runs for callers: what they ask for is checked, and carried out in a folder of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::answers::{answer_of, created, wait_until_over_here};
use super::asked::{Asked, beside, json};
use super::server::Node;
use crate::base::Digest;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::host::{PoolError, Ticket};
use crate::id::{Kind, Ref};
use crate::plan::{RunMode, Target, Thread};
use crate::registry::{DetachedEnd, NewRun, ServedClaim, ServedRuns};
use crate::remote::{ExecuteRequest, RemoteError};
use crate::runs::{EndedRun, Threads, ended_run};
use crate::rye::{Failed, Origin, Request, ThreadOptions, moment};
use crate::store::kinds::{Snapshot, load};
use crate::store::manifest::TreeManifest;
use crate::store::{ObjectStore, StoreError};
use crate::thread::{THREAD_NOT_FOUND, ThreadError};
use crate::trace::Quiet;
use crate::trust::NodeCaller;

/// How long the answer to a run is held back until it ended; a detached one needs only to begin.
const HELD_BACK: Duration = Duration::from_secs(20);

/// The rest of a caller's request, beside the item; the registry keeps it until the run is over.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ServedAsk {
    pub(super) snapshot: Option<Digest>,
    pub(super) outputs: Vec<String>,
    pub(super) receipt: Option<PathBuf>,
}

/// A run of this process. Dropping it cancels the run.
pub(super) struct RunningRun {
    ticket: Ticket<'static>,
    pub(super) over: watch::Receiver<RunOver>,
    /// A thread looks itself if it is asked to stop.
    pub(super) is_thread: bool,
    turn: SharedTurn,
}

/// A run, and those who are told how far it is.
struct Turn {
    run: PreparedRun,
    say: watch::Sender<RunOver>,
}

/// The turn of a run, which its thread takes to begin it, or a request to cancel it: the first.
type SharedTurn = Arc<Mutex<Option<Turn>>>;

impl RunningRun {
    /// Cancels the run; one whose turn has not come ends at once.
    pub(super) fn cancel(self, node: &Node) {
        let turn = unpoisoned(self.turn.lock()).take();
        drop(self.ticket);
        if let Some(Turn { run, say }) = turn {
            let id = run.request.run.clone();
            let why = ThreadError::Cancelled { id: id.clone(), is_below: false };
            let cancelled = Failed::early(why.into(), run.item.to_string(), Duration::ZERO);
            run.write_end(node, &ended_run(Err(cancelled), &id, Instant::now()));
            node.metrics.ended();
            say.send_replace(RunOver { is_over: true, ..RunOver::default() });
        }
    }
}

/// How far a run of this process is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunOver {
    pub(super) has_begun: bool,
    pub(super) is_over: bool,
}

/// `POST /execute`
pub(super) async fn execute(
    State(node): State<Arc<Node>>,
    Extension(asked): Extension<Asked>,
) -> Result<Response, Failure> {
    let request = ExecuteRequest::read(&asked.body)?;
    let item = request
        .item_id
        .parse::<Ref>()
        .map_err(|error| RemoteError::bad_request(format!("`item_id`: {error}")))?;
    may_run(&node, &asked, &request, &item)?;
    let id = request.run.clone();
    // It goes on where the caller's line breaks, so that no claim is left without its run.
    let (here, own) = (Arc::clone(&node), asked.clone());
    let begun = tokio::spawn(async move { begin(&here, &own, request, item).await });
    if let Some(over) = begun.await.map_err(|_| RemoteError::Bug)?? {
        wait_until_over_here(over, HELD_BACK).await;
    }
    match answer_of(&node, id.clone()).await {
        // Another request for it was let in a moment ago.
        Err(failure) if failure.reason() == THREAD_NOT_FOUND => Ok(json(&created(&id))),
        answer => Ok(json(&answer?)),
    }
}

/// Refuses what this caller may not ask, and what no run can be.
fn may_run(
    node: &Node,
    asked: &Asked,
    request: &ExecuteRequest,
    item: &Ref,
) -> Result<(), Failure> {
    let out_of_scope = |what: String| RemoteError::OutOfScope {
        owner: asked.caller.owner.clone(),
        key: asked.caller.key.fingerprint(),
        what,
    };
    if node.is_ending() {
        return Err(RemoteError::Busy { why: "is about to end" }.into());
    }
    if !asked.caller.may_execute(item) {
        return Err(out_of_scope(format!("runs of `{item}`")).into());
    }
    if request.snapshot.is_some() && !asked.caller.may_use_objects() {
        return Err(out_of_scope("objects".into()).into());
    }
    let mode = RunMode {
        target: Target::Remote("default".into()),
        thread: request.thread.parse::<Thread>()?,
        detached: request.detached,
        dry_run: false,
    };
    mode.check(item.kind)?;
    if !request.has_fit_id(item) {
        let why = "`run` is not the id of a run: a UUID of version 7, behind the name of a thread";
        return Err(RemoteError::bad_request(why).into());
    }
    let vars = &node.rye.located().vars;
    let is_missing = |name: &&String| vars.text(name).is_none_or(str::is_empty);
    let names: Vec<String> = request.secrets.iter().filter(is_missing).cloned().collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(RemoteError::MissingSecret { item: item.clone(), names }.into()),
    }
}

/// Begins a run, unless the caller asked for it before; a run of this process says when it is over.
async fn begin(
    node: &Arc<Node>,
    asked: &Asked,
    request: ExecuteRequest,
    item: Ref,
) -> Result<Option<watch::Receiver<RunOver>>, Failure> {
    let (here, caller, id) = (Arc::clone(node), Arc::clone(&asked.caller), request.run.clone());
    let prepared = beside(move || prepare(&here, &caller, request, item)).await?;
    let Some(run) = prepared else {
        return Ok(unpoisoned(node.running.lock()).get(&id).map(|run| run.over.clone()));
    };
    let is_thread = run.request.thread == "fork";
    let (say, over) = watch::channel(RunOver::default());
    let here = Arc::clone(node);
    let turn: SharedTurn = Arc::new(Mutex::new(Some(Turn { run, say })));
    let own = Arc::clone(&turn);
    let job = move |_: &AtomicBool| {
        let taken = unpoisoned(own.lock()).take();
        let Some(Turn { run, say }) = taken else { return };
        say.send_modify(|over| over.has_begun = true);
        run.carry_out(&here);
        unpoisoned(here.running.lock()).remove(&run.request.run);
        here.metrics.ended();
        say.send_replace(RunOver { has_begun: true, is_over: true });
    };
    let mut running = unpoisoned(node.running.lock());
    match node.pool.submit(Box::new(job)) {
        Ok(ticket) => {
            node.metrics.started();
            let run = RunningRun { ticket, over: over.clone(), is_thread, turn };
            running.insert(id, run);
            Ok(Some(over))
        }
        Err(error) => {
            drop(running);
            let _ = ServedRuns::new(&mut node.registry()).withdraw(&id);
            let why = match error {
                PoolError::Busy { .. } => "runs as much as it may already",
                PoolError::Thread { .. } => "has no thread left",
            };
            Err(RemoteError::Busy { why }.into())
        }
    }
}

/// A run that may begin.
struct PreparedRun {
    request: ExecuteRequest,
    item: Ref,
    caller: Arc<NodeCaller>,
    tree: Option<TreeManifest>,
    receipt: Option<PathBuf>,
}

/// Checks that all objects are there, and gives the id to the caller; `None` if it has it.
fn prepare(
    node: &Node,
    caller: &Arc<NodeCaller>,
    request: ExecuteRequest,
    item: Ref,
) -> Result<Option<PreparedRun>, Failure> {
    let tree = request.snapshot.map(|snapshot| tree_of(node, snapshot)).transpose()?;
    let receipt = request.receipt && item.kind == Kind::Tool;
    let receipt =
        receipt.then(|| node.user.join(format!(".ai/state/receipts/{}.json", request.run)));
    let asked = ServedAsk {
        snapshot: request.snapshot,
        outputs: request.outputs.clone(),
        receipt: receipt.clone(),
    };
    let asked = serde_json::to_string(&asked).expect("a struct of texts is JSON");
    let (kind, named, base) =
        (item.kind.to_string(), item.to_string(), node.user.to_string_lossy().into_owned());
    let row =
        NewRun { id: &request.run, kind: &kind, item: &named, base: &base, asked_at: &moment() };
    let caller_key = caller.key.fingerprint().to_string();
    let claim = ServedRuns::new(&mut node.registry()).claim(
        &request.run,
        (&caller_key, &asked),
        (!registers_itself(&request, &item)).then_some(&row),
    )?;
    match claim {
        ServedClaim::New => {
            let run = PreparedRun { request, item, caller: Arc::clone(caller), tree, receipt };
            if let Err(refused) = run.hold_files(node) {
                ServedRuns::new(&mut node.registry()).withdraw(&run.request.run)?;
                return Err(refused);
            }
            Ok(Some(run))
        }
        ServedClaim::Known => Ok(None),
        ServedClaim::Taken => Err(RemoteError::bad_request("another run has its id").into()),
    }
}

/// Returns true for a thread and a detached run.
fn registers_itself(request: &ExecuteRequest, item: &Ref) -> bool {
    item.kind == Kind::Directive || request.detached
}

/// The files of a snapshot, all of which are there.
fn tree_of(node: &Node, snapshot: Digest) -> Result<TreeManifest, Failure> {
    let missing = |missing| Err(RemoteError::MissingObjects { missing }.into());
    let read = load::<Snapshot>(&node.store, snapshot)
        .and_then(|snapshot| load::<TreeManifest>(&node.store, snapshot.manifest));
    let tree = match read {
        Ok(tree) => tree,
        Err(StoreError::NotFound { .. } | StoreError::Altered { .. }) => {
            let manifest = load::<Snapshot>(&node.store, snapshot).map(|read| read.manifest);
            return missing(manifest.map_or(vec![snapshot], |manifest| vec![manifest]));
        }
        Err(error) => return Err(error.into()),
    };
    let absent = node.store.missing(&blobs_of(&tree))?;
    if absent.is_empty() { Ok(tree) } else { missing(absent) }
}

fn blobs_of(tree: &TreeManifest) -> Vec<Digest> {
    tree.files().values().map(|file| file.sha256).collect()
}

impl PreparedRun {
    /// Keeps the files of its snapshot until the run is over.
    fn hold_files(&self, node: &Node) -> Result<(), Failure> {
        let (Some(snapshot), Some(tree)) = (self.request.snapshot, &self.tree) else {
            return Ok(());
        };
        match node.store.set_ref(&super::workspace::run_ref(&self.request.run), &[snapshot]) {
            Ok(()) => Ok(()),
            // It was found altered while it was read.
            Err(StoreError::NotFound { .. } | StoreError::Altered { .. }) => {
                let missing = node.store.missing(&blobs_of(tree))?;
                Err(RemoteError::MissingObjects { missing }.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes how it ended, or that it waits for a person.
    fn write_end(&self, node: &Node, end: &EndedRun) {
        let (kind, item, at) = (self.item.kind.to_string(), self.item.to_string(), moment());
        let (base, report) = (node.user.to_string_lossy(), end.report.to_string());
        let (id, kind, item) = (&*self.request.run, &*kind, &*item);
        let row = NewRun { id, kind, item, base: &base, asked_at: &at };
        let end = DetachedEnd {
            state: end.state,
            code: end.code.as_deref(),
            at: &at,
            report: &report,
            receipts: None,
            request: end.pending.as_deref(),
        };
        // What cannot be written is killed for every reader, once this process is gone.
        let _ = ServedRuns::new(&mut node.registry()).end(&row, end);
    }

    fn carry_out(&self, node: &Node) {
        let (start, id) = (Instant::now(), &self.request.run);
        let ran = catch_unwind(AssertUnwindSafe(|| self.run(node, start)));
        let ran = ran.unwrap_or_else(|_| {
            let why = RemoteError::Bug.into();
            Err(Failed::early(why, self.item.to_string(), start.elapsed()))
        });
        let end = ended_run(ran, id, start);
        let known = || Threads::new(&node.rye).run(id);
        let was_refused = || known().is_err_and(|failure| failure.reason() == THREAD_NOT_FOUND);
        if !registers_itself(&self.request, &self.item) || was_refused() {
            self.write_end(node, &end);
        }
    }

    fn run(&self, node: &Node, start: Instant) -> Result<crate::report::Report, Failed> {
        let failed =
            |failure| Failed::early(failure, self.request.item_id.clone(), start.elapsed());
        let leaves_record = registers_itself(&self.request, &self.item);
        let folder = node
            .workspaces
            .make(node, &self.request.run, self.tree.as_ref(), &self.caller, leaves_record)
            .map_err(failed)?;
        let rye = (node.setup.project)(&folder).map_err(failed)?;
        let asked = &self.request;
        let request = Request {
            params: asked.parameters.clone(),
            thread: asked.thread.parse().map_err(|error| failed(Failure::from(error)))?,
            detached: asked.detached,
            timeout: asked.timeout_ms.map(Duration::from_millis),
            receipt: self.receipt.clone(),
            of_thread: ThreadOptions {
                model: asked.model.clone(),
                limits: asked.limit_overrides.clone(),
            },
            origin: Origin { served: Some(asked.run.clone()), ..Origin::default() },
            ..Request::new(asked.item_id.clone())
        };
        rye.runs().run(&request, start, &Quiet)
    }
}
