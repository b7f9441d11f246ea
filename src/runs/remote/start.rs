//! One run on a node, from the push to the files that come back.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::known::{Asking, RemoteRow, ref_of};
use super::node::Node;
use super::snapshot::{RemotePlan, push, refused_json};
use crate::base::Digest;
use crate::base::json::object;
use crate::base::time::as_ms;
use crate::diagnostic::{Diagnose, ExitStatus, Failure};
use crate::id::{Kind, Space};
use crate::registry::{AnyRun, NewRun, Registry, RunState, ServedRuns};
use crate::remote::{ExecuteRequest, REMOTE_MISSING_OBJECTS, RemoteError, RunAnswer};
use crate::report::{RemoteReport, Warned};
use crate::runs::detached::state_base;
use crate::rye::{Loader, ReceiptPlace, RemoteRun, Request, moment, remotes_of};
use crate::store::manifest::TreeManifest;
use crate::store::tree::present;
use crate::store::{FolderStore, ObjectStore};
use crate::thread::{THREAD_CANCELLED, ThreadError, ThreadId, new_uuid};
use crate::verify::KeyError;

/// The exit status of a request that was refused.
const REFUSED_STATUS: u8 = ExitStatus::Refused as u8;

/// How often the objects of a run are pushed: the node may collect an old one in between.
const PUSHES: usize = 4;

/// Lets a node run an item, and gives its report; of a detached run, that it runs.
///
/// # Errors
/// `remote.*`, `store.*`, `registry.*`, `key.*`
pub(in crate::runs) fn run_on_node(
    loader: &Loader<'_>,
    request: &Request,
    run: &RemoteRun<'_>,
) -> Result<RemoteReport, Failure> {
    let rye = loader.rye;
    let node = Node::new(rye, remotes_of(loader)?.find(run.remote)?)?;
    let user = rye.spaces().get(Space::User).ok_or(KeyError::Missing)?.base().to_owned();
    let store = FolderStore::of_user(&user)?;
    let id = match run.parts.item.kind {
        Kind::Directive => ThreadId::new(&run.parts.item.id).map(|id| id.to_string()),
        _ => new_uuid(),
    };
    let id = id.map_err(|source| ThreadError::Record { path: PathBuf::new(), source })?;
    let project = rye.spaces().project_path();
    let plan = RemotePlan::new(rye, run.parts)?;
    let snapshot = plan.save(&store)?;
    let outputs = &run.parts.files.outputs;
    let at_request = match outputs.is_empty() {
        true => TreeManifest::default(),
        false => present(project, outputs)?,
    };
    let receipts = match run.parts.item.kind {
        Kind::Tool => rye.receipts().places(request, loader.trust, &id)?,
        _ => Vec::new(),
    };
    let absolute = |(path, mode): ReceiptPlace| Some((std::path::absolute(path).ok()?, mode));
    // Each can be written, before anything runs.
    drop(rye.receipts().open(receipts.clone())?);
    let row = RemoteRow {
        name: node.remote.name.clone(),
        url: node.remote.url.origin(),
        node: node.remote.node,
        at_request,
        is_judged: run.is_judged,
        outputs: outputs.iter().map(|glob| glob.text().to_owned()).collect(),
        project: project.to_owned(),
        receipts: receipts.into_iter().filter_map(absolute).collect(),
        timeout_ms: as_ms(node.remote.timeout),
    };
    let mut registry = Registry::open(&user)?;
    let (kind, item) = (run.parts.item.kind.to_string(), run.parts.item.to_string());
    let (base, at) = (state_base(rye), moment());
    let base = base.to_string_lossy();
    let new = NewRun { id: &id, kind: &kind, item: &item, base: &base, asked_at: &at };
    ServedRuns::new(&mut registry).ask(&new, &row.to_text())?;
    let asking = Asking { rye, node: &node, row: &row, store: &store, id: &id };
    let held = snapshot.map_or(Ok(()), |snapshot| store.set_ref(&ref_of(&id), &[snapshot]));
    let asked = held.map_err(Failure::from).and_then(|()| {
        asking.begin(&mut registry, &request_for(&id, request, run, snapshot, &row))
    });
    let answer = asked.map_err(|failure| asking.not_begun(&mut registry, failure))?;
    let (answer, report) = match request.detached {
        true => {
            let refused = answer.report.clone().filter(|report| report["status"] == "error");
            let report = refused.map_or_else(|| started(&answer.run, request), object);
            (answer, report)
        }
        false => {
            let answer = asking.ended(answer, None);
            if answer.as_ref().is_err_and(|error| error.signal().is_some()) {
                asking.cancel(&mut registry);
            }
            let answer = answer.map_err(|error| asking.left(error.into()))?;
            let report = answer.report.clone().map(object).unwrap_or_default();
            (answer, report)
        }
    };
    let mut report = RemoteReport {
        item: run.parts.item.clone(),
        run: id.clone(),
        remote: row.name.clone(),
        node: node.remote.node,
        left_out: plan.tree.left_out.iter().map(refused_json).collect(),
        report,
        warnings: Warned::of_sources(run.parts.sources.iter()),
    };
    if request.detached {
        asking.keep(&mut registry, &answer).map_err(|failure| asking.left(failure))?;
        // It may have been cancelled since the node answered.
        asking.is_wanted(&mut registry).inspect_err(|_| asking.cancel(&mut registry))?;
        return Ok(report);
    }
    // Nothing of an answer is kept that a hook withholds.
    if let Err(failure) = (run.judge)(&mut report) {
        if answer.state() == "waiting" {
            asking.cancel(&mut registry);
        }
        asking.end(&mut registry, RunState::Failed, failure.reason(), None)?;
        return Err(failure);
    }
    let judged =
        RunAnswer { report: answer.report.map(|_| report.report.clone().into()), ..answer };
    let kept = asking.keep(&mut registry, &judged).map_err(|failure| asking.left(failure))?;
    report.report = kept.map_or(report.report, object);
    Ok(report)
}

fn request_for(
    id: &str,
    request: &Request,
    run: &RemoteRun<'_>,
    snapshot: Option<Digest>,
    row: &RemoteRow,
) -> ExecuteRequest {
    ExecuteRequest {
        run: id.to_owned(),
        item_id: run.parts.item.to_string(),
        parameters: run.params.clone(),
        thread: request.thread.to_string(),
        detached: request.detached,
        snapshot,
        secrets: run.parts.secrets.iter().cloned().collect(),
        outputs: row.outputs.clone(),
        model: request.of_thread.model.clone(),
        limit_overrides: request.of_thread.limits.clone(),
        timeout_ms: request.timeout.map(as_ms),
        receipt: !row.receipts.is_empty(),
    }
}

impl Asking<'_> {
    /// Asks the node for the run, and pushes what it does not have.
    ///
    /// # Errors
    /// `remote.*`, `thread.cancelled`, `registry.*`
    fn begin(
        &self,
        registry: &mut Registry,
        request: &ExecuteRequest,
    ) -> Result<RunAnswer, Failure> {
        let (body, mut pushes) = (json!(request), 0);
        let answer = loop {
            self.is_wanted(registry)?;
            let answer =
                self.node.patiently(|node| node.json("POST", "/execute", Some(&body), None));
            match answer {
                Ok(answer) => break self.read(answer)?,
                Err(error) if error.code() == REMOTE_MISSING_OBJECTS && pushes < PUSHES => {
                    pushes += 1;
                    let data = error.data();
                    let missing =
                        data.get("missing").and_then(Value::as_array).into_iter().flatten();
                    let missing = missing.filter_map(|digest| digest.as_str()?.parse().ok());
                    push(self.node, self.store, request.snapshot, missing)?;
                }
                Err(error) => return Err(error.into()),
            }
        };
        if !self.row.is_judged {
            ServedRuns::new(registry).was_asked(self.id);
        }
        self.is_wanted(registry).inspect_err(|_| self.cancel(registry))?;
        Ok(answer)
    }

    /// Lets go of a run that was not begun; gives the failure for the person.
    fn not_begun(&self, registry: &mut Registry, failure: Failure) -> Failure {
        ServedRuns::new(registry).was_asked(self.id);
        if failure.interrupted().is_some() {
            self.cancel(registry);
        }
        // Only a request that was refused, or given up, has certainly begun nothing.
        let status = failure.reason().exit_status();
        if status != REFUSED_STATUS && failure.reason() != THREAD_CANCELLED {
            return self.left(failure);
        }
        let forgotten = ServedRuns::new(registry).refused(self.id).map_err(Failure::from);
        match forgotten.and_then(|()| self.release()) {
            Ok(()) => failure,
            Err(other) => other,
        }
    }

    /// The failure of a run that the node may go on with, with the way to find it again.
    fn left(&self, of: Failure) -> Failure {
        RemoteError::Left { id: self.id.to_owned(), of }.into()
    }

    /// # Errors
    /// `thread.cancelled` if another process cancelled the run; `registry.*`
    fn is_wanted(&self, registry: &mut Registry) -> Result<(), Failure> {
        let row = AnyRun::find(registry, self.id)?;
        match row.is_some_and(|row| row.state == RunState::Cancelled) {
            false => Ok(()),
            true => Err(ThreadError::Cancelled { id: self.id.to_owned(), is_below: false }.into()),
        }
    }
}

/// The answer about a run that goes on.
fn started(run: &Map<String, Value>, request: &Request) -> Map<String, Value> {
    let kind = run.get("item_id").and_then(Value::as_str).and_then(|item| item.split_once(':'));
    let (kind, mode) = (kind.map_or("tool", |(kind, _)| kind), request.thread.to_string());
    object(json!({
        "status": "success", "async": true, "type": kind, "execution_mode": mode,
        "state": run.get("thread_status"),
    }))
}
