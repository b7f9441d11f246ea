//! A run that a node was asked for, found again by its id.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::node::Node;
use super::snapshot::take_outputs;
use crate::diagnostic::{Code, Diagnose as _, Diagnostic, Failure};
use crate::id::{Fingerprint, Space};
use crate::parse::kept_json;
use crate::registry::{AnyRun, Registry, RunState, ServedRuns};
use crate::remote::{NamedRemote, NodeClient, REMOTE_NOT_FOUND, RemoteError, RunAnswer, run_path};
use crate::report::{RemoteRecord, error_json};
use crate::rye::{ReceiptPlace, Rye, moment};
use crate::store::manifest::TreeManifest;
use crate::store::{FolderStore, GRACE, ObjectStore, RefName};
use crate::thread::{THREAD_CANCELLED, THREAD_KILLED, THREAD_NOT_FOUND};
use crate::verify::{KeyError, PublicKey};

/// How long the node may hold an answer back until the run ended, in seconds.
const HELD_BACK: u64 = 20;

/// How long events are heard over one connection: one that died without a word is noticed then.
const STREAM: Duration = Duration::from_secs(30);

/// A run that a node was asked for, as the registry keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::runs) struct RemoteRow {
    pub(in crate::runs) name: String,
    pub(super) url: String,
    pub(super) node: Fingerprint,
    /// The files that match `outputs`, as they were when the run was asked for: only these may be
    /// replaced.
    pub(super) at_request: TreeManifest,
    /// The patterns of the files that come back.
    pub(super) outputs: Vec<String>,
    /// The folder that they come back to.
    pub(super) project: PathBuf,
    /// The hooks of the process that asked for it judge its result.
    #[serde(default)]
    pub(in crate::runs) is_judged: bool,
    /// Where the receipt goes.
    pub(super) receipts: Vec<ReceiptPlace>,
    /// How long the node may be out of reach, in milliseconds.
    pub(super) timeout_ms: u64,
}

impl RemoteRow {
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a struct of texts is JSON")
    }

    /// The node of a row of the registry; `None` for one that another version of rye wrote.
    pub(in crate::runs) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The name of the remote, and its key, for those who list runs.
    pub(in crate::runs) fn to_json(&self) -> Value {
        json!({"name": self.name, "node": self.node})
    }

    /// The node of the row, as it was when the run was asked for.
    fn node<'a>(&self, rye: &'a Rye) -> Result<Node<'a>, Failure> {
        let timeout = Some(Duration::from_millis(self.timeout_ms));
        Node::new(rye, NamedRemote::new(&self.name, &self.url, self.node, timeout)?)
    }

    /// Asks the node how the run is, for at most `time` until it ended, and writes that down.
    ///
    /// # Errors
    /// `remote.*`, `store.*`, `registry.*`, `receipt.*`
    pub(in crate::runs) fn refresh(
        &self,
        rye: &Rye,
        registry: &mut Registry,
        id: &str,
        time: Duration,
    ) -> Result<(), Failure> {
        // Before the node is asked: a process that asks for it now may have done so by then.
        let is_being_asked = ServedRuns::new(registry).is_being_asked(id);
        if self.is_judged && is_being_asked {
            // What becomes of it is for the hooks of that process.
            return Ok(());
        }
        let (mut node, store) = (self.node(rye)?, store(rye)?);
        node.remote.timeout = node.remote.timeout.min(time);
        let asking = Asking { rye, node: &node, row: self, store: &store, id };
        if self.is_judged {
            return asking.abandoned(registry);
        }
        let answer = match asking.look(Duration::ZERO) {
            Err(error) if is_unknown(&error) && is_being_asked => return Ok(()),
            // It never got the run, or has forgotten it.
            Err(error) if is_unknown(&error) => return asking.forgotten(registry),
            answer => answer?,
        };
        let answer = asking.ended(answer, Some(time))?;
        asking.keep(registry, &answer).map(drop)
    }

    /// Asks the node to end the run; one that is being asked for is not asked for any more.
    ///
    /// # Errors
    /// `remote.*`, `registry.*`
    pub(in crate::runs) fn cancel(
        &self,
        rye: &Rye,
        registry: &mut Registry,
        id: &str,
    ) -> Result<(), Failure> {
        let (node, path) = (self.node(rye)?, run_path(id, "/cancel"));
        let ask = |client: &NodeClient<'_>| client.json("POST", &path, None, None);
        let mut is_being_asked = || ServedRuns::new(registry).is_being_asked(id);
        if is_being_asked() && ask(&node.client()).is_ok() {
            return Ok(());
        }
        if is_being_asked() {
            // The process that asks for it sees this, and cancels what the node began meanwhile.
            let (state, code, at) = (RunState::Cancelled, THREAD_CANCELLED.name(), moment());
            ServedRuns::new(registry).said(id, state, Some(code), Some(&at), None)?;
        } else {
            node.patiently(ask)?;
        }
        Ok(())
    }

    /// The transcript of a thread as the node has it, where it is, and the node's key.
    ///
    /// # Errors
    /// `remote.*`
    pub(in crate::runs) fn record(
        &self,
        rye: &Rye,
        id: &str,
    ) -> Result<(Vec<u8>, String, PublicKey), Failure> {
        let (node, path) = (self.node(rye)?, run_path(id, "/record"));
        let bytes = node.patiently(|client| client.bytes("GET", &path, None, None))?;
        let key = node.key().cloned().expect("an answer was verified by it");
        Ok((bytes, format!("{}{path}", self.url), key))
    }

    /// Tells the events of the run as they come, each once, until it ended; where the line breaks,
    /// those that are left.
    ///
    /// # Errors
    /// `remote.*`
    pub(in crate::runs) fn tail(
        &self,
        rye: &Rye,
        id: &str,
        tell: &mut dyn FnMut(&Value) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Failure> {
        let (node, mut after, mut left) = (self.node(rye)?, String::new(), false);
        let mut ask = |client: &NodeClient<'_>| {
            let path = run_path(id, &format!("/events?after={after}"));
            client.events(&path, STREAM, &mut |event| {
                let Some(mut told) = kept_json(event.data.as_bytes()) else {
                    return ControlFlow::Continue(());
                };
                let at = told.as_object_mut().and_then(|told| told.shift_remove("at"));
                after = at.and_then(|at| at.as_str().map(str::to_owned)).unwrap_or(after.clone());
                let flow = tell(&told["event"]);
                left |= flow.is_break();
                flow
            })
        };
        while !node.patiently(&mut ask)? {
            node.rest()?;
        }
        Ok(if left { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Returns true if the node does not know the run.
fn is_unknown(error: &RemoteError) -> bool {
    [REMOTE_NOT_FOUND, THREAD_NOT_FOUND].contains(&error.code())
}

fn store(rye: &Rye) -> Result<FolderStore, Failure> {
    let user = rye.spaces().get(Space::User).ok_or(KeyError::Missing)?;
    Ok(FolderStore::of_user(user.base())?)
}

/// The ref that holds what a run needs until it ended.
pub(super) fn ref_of(id: &str) -> RefName {
    RefName::of_run("run", id)
}

/// One run at its node.
pub(super) struct Asking<'a> {
    pub(super) rye: &'a Rye,
    pub(super) node: &'a Node<'a>,
    pub(super) row: &'a RemoteRow,
    pub(super) store: &'a dyn ObjectStore,
    pub(super) id: &'a str,
}

impl Asking<'_> {
    pub(super) fn read(&self, answer: Value) -> Result<RunAnswer, RemoteError> {
        RunAnswer::read(answer).map_err(|why| self.node.client().bad(why))
    }

    /// How the run is; the node may hold its answer back for so long until the run ended.
    fn look(&self, held_back: Duration) -> Result<RunAnswer, RemoteError> {
        let path = run_path(self.id, &format!("?wait={}", held_back.as_secs()));
        self.read(self.node.patiently(|client| client.json("GET", &path, None, None))?)
    }

    /// Waits until the run ended, or waits for a person, at most for `time`.
    pub(super) fn ended(
        &self,
        mut answer: RunAnswer,
        time: Option<Duration>,
    ) -> Result<RunAnswer, RemoteError> {
        let until = time.map(|time| Instant::now() + time);
        while matches!(answer.state(), "created" | "running") {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let held_back = Duration::from_secs(HELD_BACK);
            answer = self.look(left.map_or(held_back, |left| left.min(held_back)))?;
        }
        Ok(answer)
    }

    /// Writes the node's word of the run into the registry, its files into the project, and its
    /// receipt where that was asked for. Gives the report once there is one.
    ///
    /// # Errors
    /// `remote.*`, `store.*`, `receipt.*` where the files cannot be had or written. The report says
    /// so too, and the next one who asks for the run tries again.
    pub(super) fn keep(
        &self,
        registry: &mut Registry,
        answer: &RunAnswer,
    ) -> Result<Option<Value>, Failure> {
        let mut report = answer.report.clone();
        let mut files = Ok(());
        if let Some(fields) = report.as_mut().and_then(Value::as_object_mut) {
            fields.insert("thread_id".into(), self.id.into());
            fields.insert("remote".into(), self.row.to_json());
            files = self.take_files(fields);
            if let Err(failure) = &files {
                if self.row.is_judged {
                    // They are not fetched again with what the node says.
                    fields.retain(|key, _| key != "outputs_made" && key != "receipt");
                }
                fields.insert("status".into(), "error".into());
                fields.extend(failure.diagnostic().to_json());
            }
        }
        let text = |key: &str| answer.run.get(key).and_then(Value::as_str);
        let known = report.as_ref().map(Value::to_string);
        let (code, ended_at) = (text("thread_code"), text("ended_at"));
        let state = state_of(answer.state());
        ServedRuns::new(registry).said(self.id, state, code, ended_at, known.as_deref())?;
        files?;
        if !matches!(answer.state(), "created" | "running" | "waiting") {
            self.release()?;
        }
        Ok(report)
    }

    /// Writes the outputs and the receipt that a report holds, and takes note of that in it.
    fn take_files(&self, fields: &mut Map<String, Value>) -> Result<(), Failure> {
        let made = fields.get("outputs_made").cloned().unwrap_or_default();
        if let Some(written) = take_outputs(self.node, self.store, &made, self.row)? {
            fields.shift_remove("outputs_made");
            fields.insert("outputs_written".into(), written);
        }
        let (Some(receipt), Some(node)) = (fields.get("receipt"), self.node.key()) else {
            return Ok(());
        };
        let remote = RemoteRecord {
            run: self.id.to_owned(),
            node: node.fingerprint().to_string(),
            caller: self.node.own().to_string(),
            outputs: made["manifest"].as_str().and_then(|digest| digest.parse().ok()),
        };
        let receipts = self.rye.receipts();
        let written = receipts.countersign(receipt, &self.row.receipts, node, &remote)?;
        fields.shift_remove("receipt");
        fields.insert("receipts".into(), json!(written));
        Ok(())
    }

    /// Writes that the node does not know the run: it never got it; or it forgot it, or another key
    /// asked for it.
    fn forgotten(&self, registry: &mut Registry) -> Result<(), Failure> {
        let row = AnyRun::find(registry, self.id)?;
        // One that ended, and whose files were not fetched, keeps its report.
        if row.as_ref().is_some_and(|row| !row.state.is_open() && row.state != RunState::Waiting) {
            return Ok(());
        }
        if row.as_ref().is_none_or(|row| row.started_at.is_none()) {
            return self.end(registry, RunState::Killed, REMOTE_NOT_FOUND, None);
        }
        let error = RemoteError::NotFound { what: format!("the run `{}`", self.id) };
        let item = row.as_ref().map(|row| row.item.as_str());
        let report = error_json(&Diagnostic::from(&error), item, &[], Duration::ZERO, None);
        self.end(registry, RunState::Failed, REMOTE_NOT_FOUND, Some(&report.to_string()))
    }

    /// Ends a run whose result the hooks here were to judge, in a process that is gone: the result
    /// is shown to none.
    fn abandoned(&self, registry: &mut Registry) -> Result<(), Failure> {
        let _ = self.node.client().json("POST", &run_path(self.id, "/cancel"), None, None);
        self.end(registry, RunState::Killed, THREAD_KILLED, None)
    }

    /// Writes that the run ended without the node's word.
    pub(super) fn end(
        &self,
        registry: &mut Registry,
        state: RunState,
        code: Code,
        report: Option<&str>,
    ) -> Result<(), Failure> {
        let (code, at) = (Some(code.name()), moment());
        ServedRuns::new(registry).said(self.id, state, code, Some(&at), report)?;
        self.release()
    }

    /// Ends a run there that was interrupted here, and takes note of what the node says of it.
    pub(super) fn cancel(&self, registry: &mut Registry) {
        let told = self.node.client().json("POST", &run_path(self.id, "/cancel"), None, None);
        let _ = match told.and_then(|told| self.read(told)) {
            Ok(_) if self.row.is_judged => {
                self.end(registry, RunState::Cancelled, THREAD_CANCELLED, None)
            }
            Ok(answer) => self.keep(registry, &answer).map(drop),
            Err(_) => Ok(()),
        };
    }

    /// Lets go what was kept for the run, and what no run needs.
    pub(super) fn release(&self) -> Result<(), Failure> {
        self.store.remove_ref(&ref_of(self.id))?;
        let _ = self.store.collect(GRACE, false);
        Ok(())
    }
}

/// The state that a node's word means; for a word of another rye the run goes on.
fn state_of(word: &str) -> RunState {
    RunState::ALL.into_iter().find(|state| state.as_str() == word).unwrap_or(RunState::Running)
}
