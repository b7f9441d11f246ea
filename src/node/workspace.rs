//! The folders of runs, and what a run leaves in its own.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::execute::ServedAsk;
use super::server::Node;
use crate::base::Digest;
use crate::base::sync::unpoisoned;
use crate::diagnostic::Failure;
use crate::id::Fingerprint;
use crate::registry::{Served, ServedRuns};
use crate::report::RemoteRecord;
use crate::runs::{Threads, newest_run, refused_json};
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

/// The prefixes of the refs that hold what a run was sent, and what it made.
const SENT: &str = "served";
const MADE: &str = "outputs";

/// The ref that holds what a run was sent.
pub(super) fn run_ref(id: &str) -> RefName {
    RefName::of_run(SENT, id)
}

/// The name of a run's folder: half of the digest of its id.
fn folder_name(id: &str) -> String {
    Digest::of(id.as_bytes()).to_string()[..32].to_owned()
}

impl Workspaces {
    /// The folders of a node below `root`, in one that is its own: old ones are removed there.
    ///
    /// # Errors
    /// `store.io`
    pub(super) fn open(root: &Path, node: Fingerprint) -> Result<Self, StoreError> {
        let root = root.join(format!("rye-node-{node}"));
        let io = |source| StoreError::Io { path: root.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(io)?;
        Ok(Self { root: fs::canonicalize(&root).map_err(io)? })
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.root.join(folder_name(id))
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
        node.remove_folder(&self.folder(id));
        let _ = node.store.remove_ref(&run_ref(id));
    }
}

impl Node {
    /// Puts the outputs of a run that is over into the store and signs its receipt for the caller,
    /// once; gives both. Its folder goes.
    ///
    /// # Errors
    /// `store.*`, `registry.*`, `receipt.*`
    pub(super) fn finish(&self, id: &str) -> Result<Value, Failure> {
        let made = |served: &Served| {
            let made = served.made.as_ref()?;
            Some(crate::parse::kept_json(made.as_bytes()).unwrap_or_default())
        };
        let known = ServedRuns::new(&mut self.registry()).find(id)?;
        if let Some(made) = known.as_ref().and_then(made) {
            return Ok(made);
        }
        // Several may ask, and the sweep comes by.
        let digit = folder_name(id).chars().next().and_then(|digit| digit.to_digit(16));
        let place = digit.and_then(|digit| usize::try_from(digit).ok()).unwrap_or_default();
        let _one = unpoisoned(self.finishing[place].lock());
        let Some(served) = ServedRuns::new(&mut self.registry()).find(id)? else {
            return Ok(json!({}));
        };
        if let Some(made) = made(&served) {
            return Ok(made);
        }
        let asked: ServedAsk = serde_json::from_str(&served.asked).unwrap_or_default();
        let folder = self.workspaces.folder(id);
        let (mut made, mut digest) = (json!({}), None);
        if !asked.outputs.is_empty() && folder.is_dir() {
            let pushed = asked.snapshot.map(|snapshot| {
                load(&self.store, load::<Snapshot>(&self.store, snapshot)?.manifest)
            });
            let pushed = match pushed.transpose() {
                // Then every declared file that is there counts as made.
                Err(StoreError::NotFound { .. } | StoreError::Altered { .. }) => None,
                pushed => pushed?,
            };
            let pushed = pushed.unwrap_or_default();
            let declared: Vec<Glob> =
                asked.outputs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
            let outputs = collect_outputs(&self.store, &folder, &pushed, &declared)?;
            let manifest = save(&self.store, &outputs.manifest)?;
            self.store.set_ref(&RefName::of_run(MADE, id), &[manifest])?;
            let left_out: Vec<Value> = outputs.left_out.iter().map(refused_json).collect();
            made["outputs_made"] = json!({"manifest": manifest.to_string(), "left_out": left_out});
            digest = Some(manifest);
        }
        if let Some(path) = asked.receipt.filter(|path| path.is_file()) {
            let (run, node) = (id.to_owned(), self.fingerprint.to_string());
            let remote = RemoteRecord { run, node, caller: served.caller, outputs: digest };
            made["receipt"] = self.rye.receipts().for_caller(&path, remote)?;
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
        let Ok(ids) = ServedRuns::new(&mut self.registry()).ids() else { return };
        let by_folder: HashMap<String, &String> =
            ids.iter().map(|id| (folder_name(id), id)).collect();
        for entry in fs::read_dir(&self.workspaces.root).into_iter().flatten().flatten() {
            match entry.file_name().to_str().and_then(|name| by_folder.get(name)) {
                Some(id)
                    if newest_run(Threads::new(&self.rye), id).is_ok_and(|run| run.is_over()) =>
                {
                    let _ = self.finish(id);
                }
                None if is_older(&entry.path(), LEFT_ALONE) => self.remove_folder(&entry.path()),
                _ => {}
            }
        }
        let held: HashSet<RefName> = ids.iter().map(|id| run_ref(id)).collect();
        for name in self.store.refs().unwrap_or_default().into_keys() {
            let kept = match name.as_str().split('-').next() {
                Some(MADE) => OUTPUTS_KEPT,
                Some(SENT) if !held.contains(&name) => LEFT_ALONE,
                _ => continue,
            };
            if self.store.ref_age(&name).is_ok_and(|age| age.is_some_and(|age| age > kept)) {
                let _ = self.store.remove_ref(&name);
            }
        }
        let _ = self.store.collect(GRACE, false);
    }

    fn remove_folder(&self, folder: &Path) {
        if let (Ok(identity), Ok(user)) = (ProjectIdentity::read(folder), self.rye.spaces().user())
        {
            let _ = forget_guest(user, &identity);
        }
        let _ = fs::remove_dir_all(folder);
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|stat| stat.modified());
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|is| is > age))
}
