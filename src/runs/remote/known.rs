//! A run that a node was asked for, found again by its id.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::node::Node;
use super::snapshot::take_outputs;
use crate::base::Digest;
use crate::diagnostic::{Diagnose as _, Failure};
use crate::id::{Fingerprint, Space};
use crate::parse::kept_json;
use crate::registry::{Registry, RunState, ServedRuns};
use crate::remote::{NamedRemote, NodeClient, REMOTE_NOT_FOUND, RemoteError, RunAnswer, run_path};
use crate::rye::{Rye, moment};
use crate::store::manifest::TreeManifest;
use crate::store::{FolderStore, ObjectStore, RefName};
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
    pub(super) node: String,
    /// The files that may be written, as they were when the run was asked for.
    pub(super) before: TreeManifest,
    /// The patterns of the files that come back.
    pub(super) outputs: Vec<String>,
    /// The folder that they come back to.
    pub(super) project: PathBuf,
    /// Where the receipt goes.
    pub(super) receipt: Option<PathBuf>,
    /// How long the node may be out of reach, in milliseconds.
    pub(super) timeout_ms: u64,
}

impl RemoteRow {
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a struct of texts is JSON")
    }

    /// # Errors
    /// `remote.bad_config` for a row of another rye.
    pub(in crate::runs) fn read(text: &str) -> Result<Self, RemoteError> {
        let why = "the registry does not say which node runs it".to_owned();
        serde_json::from_str(text).map_err(|_| RemoteError::BadConfig { why })
    }

    /// The name of the remote, and its key, for those who list runs.
    pub(in crate::runs) fn to_json(&self) -> Value {
        json!({"name": self.name, "node": self.node})
    }

    /// The node of the row, as it was when the run was asked for.
    fn node<'a>(&self, rye: &'a Rye) -> Result<Node<'a>, Failure> {
        let why = "the registry does not name the node's key".to_owned();
        let node: Fingerprint = self.node.parse().map_err(|_| RemoteError::BadConfig { why })?;
        let timeout = Some(Duration::from_millis(self.timeout_ms));
        Node::new(rye, NamedRemote::new(&self.name, &self.url, node, timeout)?)
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
        let (node, store) = (self.node(rye)?, store(rye)?);
        let asking = Asking { rye, node: &node, row: self, store: &store, id };
        let answer = match asking.look(Duration::ZERO) {
            // It never got the run, or has forgotten it.
            Err(error) if error.code() == REMOTE_NOT_FOUND => {
                let code = Some(REMOTE_NOT_FOUND.name());
                ServedRuns::new(registry).said(
                    id,
                    RunState::Killed,
                    code,
                    Some(&moment()),
                    None,
                )?;
                return asking.release();
            }
            answer => answer?,
        };
        let answer = asking.ended(answer, Some(time))?;
        asking.keep(registry, &answer).map(drop)
    }

    /// Asks the node to end the run.
    ///
    /// # Errors
    /// `remote.*`
    pub(in crate::runs) fn cancel(&self, rye: &Rye, id: &str) -> Result<(), Failure> {
        let (node, path) = (self.node(rye)?, run_path(id, "/cancel"));
        node.patiently(|client| client.json("POST", &path, None, None))?;
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

fn store(rye: &Rye) -> Result<FolderStore, Failure> {
    let user = rye.spaces().get(Space::User).ok_or(KeyError::Missing)?;
    Ok(FolderStore::of_user(user.base())?)
}

/// The ref that holds what a run needs until it ended.
pub(super) fn ref_of(id: &str) -> RefName {
    format!("run-{}", Digest::of(id.as_bytes())).parse().expect("hex digits are a plain name")
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

    /// Writes what the node says of the run into the registry, its files into the project, and its
    /// receipt where that was asked for. Gives the report once there is one.
    pub(super) fn keep(
        &self,
        registry: &mut Registry,
        answer: &RunAnswer,
    ) -> Result<Option<Value>, Failure> {
        let mut report = answer.report.clone();
        let has_ended = !matches!(answer.state(), "created" | "running" | "waiting");
        if let Some(fields) = report.as_mut().and_then(Value::as_object_mut) {
            fields.insert("thread_id".into(), self.id.into());
            fields.insert("remote".into(), self.row.to_json());
            let receipt = fields.shift_remove("receipt");
            let told = Value::Object(fields.clone());
            if let Some(written) = take_outputs(self.node, self.store, &told, self.row)? {
                fields.shift_remove("outputs_made");
                fields.insert("outputs_written".into(), written);
            }
            if let (Some(path), Some(receipt), Some(key)) =
                (&self.row.receipt, receipt, self.node.key())
            {
                let outputs = told.pointer("/outputs_made/manifest").and_then(Value::as_str);
                let outputs = outputs.and_then(|digest| digest.parse().ok());
                let written = self.rye.receipts().countersign(&receipt, path, key, outputs)?;
                fields.insert("receipts".into(), json!([written]));
            }
        }
        let text = |key: &str| answer.run.get(key).and_then(Value::as_str);
        let known = report.as_ref().map(Value::to_string);
        let (code, ended_at) = (text("thread_code"), text("ended_at"));
        let state = state_of(answer.state());
        ServedRuns::new(registry).said(self.id, state, code, ended_at, known.as_deref())?;
        if has_ended {
            self.release()?;
        }
        Ok(report)
    }

    /// Ends a run there that was interrupted here, and takes note of what the node says of it.
    pub(super) fn cancel(&self, registry: &mut Registry) {
        let told = self.node.client().json("POST", &run_path(self.id, "/cancel"), None, None);
        if let Ok(answer) = told.and_then(|told| self.read(told)) {
            let _ = self.keep(registry, &answer);
        }
    }

    /// Lets go what was kept for the run.
    pub(super) fn release(&self) -> Result<(), Failure> {
        Ok(self.store.remove_ref(&ref_of(self.id))?)
    }
}

/// The state that a node's word means; for a word of another rye the run goes on.
fn state_of(word: &str) -> RunState {
    RunState::ALL.into_iter().find(|state| state.as_str() == word).unwrap_or(RunState::Running)
}
