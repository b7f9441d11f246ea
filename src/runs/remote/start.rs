//! One run on a node, from the push to the files that come back.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::known::{Asking, RemoteRow};
use super::node::Node;
use super::snapshot::{RemotePlan, globs, push};
use crate::base::Digest;
use crate::base::json::object;
use crate::diagnostic::{Diagnose, Failure};
use crate::id::{Kind, Space};
use crate::registry::{NewServed, Registry, ServedRuns};
use crate::remote::{ExecuteRequest, REMOTE_MISSING_OBJECTS, RemoteError, RunAnswer};
use crate::report::{RemoteReport, Warned};
use crate::runs::detached::state_base;
use crate::rye::{Loader, RemoteRun, Request, moment, remotes_of};
use crate::store::FolderStore;
use crate::store::manifest::TreeManifest;
use crate::store::tree::present;
use crate::thread::{ThreadError, ThreadId, new_uuid};
use crate::verify::KeyError;

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
    let snapshot = RemotePlan::new(rye, run.parts)?.save(&store, &id)?;
    let row = RemoteRow {
        name: node.remote.name.clone(),
        url: node.remote.url.origin(),
        node: node.remote.node.to_string(),
        before: match run.parts.files.outputs.is_empty() {
            true => TreeManifest::default(),
            false => present(project, &globs(&run.parts.files.outputs))?,
        },
        outputs: run.parts.files.outputs.clone(),
        project: project.to_owned(),
        receipt: request.receipt.clone(),
        timeout_ms: millis(node.remote.timeout),
    };
    let mut registry = Registry::open(&user)?;
    let (kind, item) = (run.parts.item.kind.to_string(), run.parts.item.to_string());
    let (base, at) = (state_base(rye), moment());
    let base = base.to_string_lossy();
    let new = NewServed { id: &id, kind: &kind, item: &item, base: &base, asked_at: &at };
    ServedRuns::new(&mut registry).ask(&new, &row.to_text())?;
    let asking = Asking { rye, node: &node, row: &row, store: &store, id: &id };
    let answer = match asked(&asking, &request_for(&id, request, run, snapshot)) {
        Ok(answer) => answer,
        Err(error) => {
            if error.signal().is_some() {
                asking.cancel(&mut registry);
            }
            // The node may have begun although its answer is lost.
            if !matches!(error, RemoteError::Unreachable { .. } | RemoteError::BadAnswer { .. }) {
                ServedRuns::new(&mut registry).refused(&id)?;
                asking.release()?;
            }
            return Err(error.into());
        }
    };
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
            let answer = answer?;
            let report = answer.report.clone().map(object).unwrap_or_default();
            (answer, report)
        }
    };
    let kept = asking.keep(&mut registry, &answer)?;
    Ok(RemoteReport {
        item: run.parts.item.clone(),
        run: id,
        remote: row.name.clone(),
        node: node.remote.node,
        report: kept.filter(|_| !request.detached).map_or(report, object),
        warnings: Warned::of_sources(run.parts.sources.iter()),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn request_for(
    id: &str,
    request: &Request,
    run: &RemoteRun<'_>,
    snapshot: Option<Digest>,
) -> ExecuteRequest {
    ExecuteRequest {
        run: id.to_owned(),
        item_id: run.parts.item.to_string(),
        parameters: run.params.clone(),
        thread: request.thread.to_string(),
        detached: request.detached,
        snapshot,
        secrets: run.parts.secrets.clone(),
        outputs: run.parts.files.outputs.clone(),
        model: request.of_thread.model.clone(),
        limit_overrides: request.of_thread.limits.clone(),
        timeout_ms: request.timeout.map(millis),
        receipt: request.receipt.is_some(),
        trace: false,
    }
}

/// Asks the node for the run, and pushes what it does not have.
fn asked(asking: &Asking<'_>, request: &ExecuteRequest) -> Result<RunAnswer, RemoteError> {
    let (body, mut pushes) = (json!(request), 0);
    loop {
        let answer = asking.node.patiently(|node| node.json("POST", "/execute", Some(&body), None));
        match answer {
            Ok(answer) => return asking.read(answer),
            Err(error) if error.code() == REMOTE_MISSING_OBJECTS && pushes < PUSHES => {
                pushes += 1;
                let data = error.data();
                let missing = data.get("missing").and_then(Value::as_array).into_iter().flatten();
                let missing = missing.filter_map(|digest| digest.as_str()?.parse().ok());
                push(asking.node, asking.store, missing)?;
            }
            Err(error) => return Err(error),
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
