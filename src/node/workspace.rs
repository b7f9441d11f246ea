//! The folders of runs, and what a run leaves in its own.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::execute::ServedAsk;
use super::server::Node;
use crate::diagnostic::Failure;
use crate::registry::{Served, ServedRuns};
use crate::runs::{KnownRun, Threads, refused_json};
use crate::rye::now;
use crate::space::{Glob, ProjectIdentity};
use crate::store::kinds::{Snapshot, load, save};
use crate::store::manifest::TreeManifest;
use crate::store::outputs::collect_outputs;
use crate::store::tree::materialise;
use crate::store::{GRACE, ObjectStore, RefName, StoreError};
use crate::trust::{NodeCaller, forget_guest};

/// How long outputs of a run are kept for its caller.
const OUTPUTS_KEPT: Duration = Duration::from_hours(7 * 24);

/// How long a folder without a run is left alone.
const LEFT_ALONE: Duration = Duration::from_hours(1);

/// The folder below which each run has one of its own.
pub(super) struct Workspaces {
    root: PathBuf,
}

/// The unique end of a run's id, which is a plain name.
fn uuid_of(id: &str) -> &str {
    &id[id.len().saturating_sub(36)..]
}

fn ref_of(prefix: &str, id: &str) -> RefName {
    format!("{prefix}-{}", uuid_of(id)).parse().expect("an id was checked, and ends with a UUID")
}

/// The ref that holds what a run was sent.
pub(super) fn run_ref(id: &str) -> RefName {
    ref_of("served", id)
}

/// The ref that holds what a run made.
fn outputs_ref(id: &str) -> RefName {
    ref_of("outputs", id)
}

impl Workspaces {
    /// # Errors
    /// `store.io`
    pub(super) fn open(root: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { path: root.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(io)?;
        Ok(Self { root: fs::canonicalize(root).map_err(io)? })
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.root.join(uuid_of(id))
    }

    /// Makes the folder of a run, with what its caller sent. A thread or a detached run
    /// `leaves_record`.
    ///
    /// # Errors
    /// `store.*`, `trust.io`
    pub(super) fn make(
        &self,
        node: &Node,
        id: &str,
        tree: Option<&TreeManifest>,
        caller: &NodeCaller,
        leaves_record: bool,
    ) -> Result<PathBuf, Failure> {
        let folder = self.folder(id);
        let io = |source| StoreError::Io { path: folder.clone(), source };
        match tree {
            None => DirBuilder::new().mode(0o700).create(&folder).map_err(io)?,
            Some(tree) => materialise(&node.store, tree, &folder)?,
        }
        // So that no folder above is taken for the project.
        match DirBuilder::new().mode(0o700).create(folder.join(".ai")) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(io(error).into()),
            _ => {}
        }
        // What is kept of the run outlives a folder that is known to be a caller's.
        let has_items =
            |tree: &TreeManifest| tree.files().keys().any(|path| path.as_str().starts_with(".ai/"));
        if leaves_record || tree.is_some_and(has_items) {
            let identity = ProjectIdentity::read(&folder).map_err(io)?;
            caller.receive(identity, node.rye.spaces().user()?, &node.pair, now())?;
        }
        Ok(folder)
    }

    /// Removes the folder of a run, and what the operator's space says of it.
    pub(super) fn remove(&self, node: &Node, id: &str) {
        let folder = self.folder(id);
        if let (Ok(identity), Ok(user)) = (ProjectIdentity::read(&folder), node.rye.spaces().user())
        {
            let _ = forget_guest(user, &identity);
        }
        let _ = fs::remove_dir_all(&folder);
        let _ = node.store.remove_ref(&run_ref(id));
    }
}

impl Node {
    /// Puts the outputs of a run into the store and signs its receipt for the caller, once; gives
    /// both. Its folder goes.
    ///
    /// # Errors
    /// `store.*`, `registry.*`, `receipt.*`
    pub(super) fn finish(&self, known: &KnownRun, served: &Served) -> Result<Value, Failure> {
        if let Some(made) = &served.made {
            return Ok(crate::parse::kept_json(made.as_bytes()).unwrap_or_default());
        }
        let id = known.id();
        let asked: ServedAsk = serde_json::from_str(&served.asked).unwrap_or_default();
        let folder = self.workspaces.folder(id);
        let (mut made, mut digest) = (json!({}), None);
        if !asked.outputs.is_empty() && folder.is_dir() {
            let pushed = match asked.snapshot {
                Some(snapshot) => {
                    load(&self.store, load::<Snapshot>(&self.store, snapshot)?.manifest)?
                }
                None => TreeManifest::default(),
            };
            let declared: Vec<Glob> =
                asked.outputs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
            let outputs = collect_outputs(&self.store, &folder, &pushed, &declared)?;
            let manifest = save(&self.store, &outputs.manifest)?;
            self.store.set_ref(&outputs_ref(id), &[manifest])?;
            let left_out: Vec<Value> = outputs.left_out.iter().map(refused_json).collect();
            made["outputs_made"] = json!({"manifest": manifest.to_string(), "left_out": left_out});
            digest = Some(manifest);
        }
        if let Some(path) = asked.receipt.filter(|path| path.is_file()) {
            made["receipt"] = self.rye.receipts().for_caller(&path, &served.caller, digest)?;
        }
        let has_made = made.as_object().is_some_and(|made| !made.is_empty());
        if has_made {
            ServedRuns::new(&mut self.registry()).made(id, &made.to_string())?;
        }
        self.workspaces.remove(self, id);
        Ok(made)
    }

    /// Finishes runs that are over and were not asked for since, and removes what is left of old
    /// ones.
    pub(super) fn sweep(&self) {
        let names = fs::read_dir(&self.workspaces.root).into_iter().flatten().flatten();
        for entry in names {
            let name = entry.file_name().to_string_lossy().into_owned();
            let id = ServedRuns::new(&mut self.registry()).ending_with(&name).ok().flatten();
            let Some(id) = id else {
                if is_older(&entry.path(), LEFT_ALONE) {
                    self.workspaces.remove(self, &name);
                }
                continue;
            };
            let served = ServedRuns::new(&mut self.registry()).find(&id).ok().flatten();
            let known = Threads::new(&self.rye).run(&id);
            if let (Some(served), Ok(known)) = (served, known)
                && known.is_over()
            {
                let _ = self.finish(&known, &served);
            }
        }
        for name in self.store.refs().unwrap_or_default().into_keys() {
            let uuid = name.as_str().strip_prefix("outputs-");
            if uuid.is_some_and(|uuid| is_id_older(uuid, OUTPUTS_KEPT)) {
                let _ = self.store.remove_ref(&name);
            }
        }
        let _ = self.store.collect(GRACE, false);
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|stat| stat.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|is| is > age))
}

/// Returns true if the time in a UUID of version 7 is longer ago than that.
fn is_id_older(uuid: &str, age: Duration) -> bool {
    let hex: String = uuid.chars().filter(|c| *c != '-').take(12).collect();
    let Ok(ms) = i64::from_str_radix(&hex, 16) else { return true };
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::now().as_millisecond().saturating_sub(ms) > age
}
