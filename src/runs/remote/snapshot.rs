//! The files that go to a node with a run, and those that come back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::known::RemoteRow;
use super::node::Node;
use crate::base::{Digest, Timestamp};
use crate::diagnostic::Failure;
use crate::remote::RemoteError;
use crate::rye::{RemoteParts, Rye, now};
use crate::space::{Glob, RelPath};
use crate::store::kinds::{Snapshot, load, save};
use crate::store::manifest::{FileMode, MANIFEST_BYTES, TreeManifest};
use crate::store::outputs::write_outputs;
use crate::store::tree::{CollectedTree, GivenFile, RefusedPath, collect};
use crate::store::{ObjectStore, StoreError, reached};
use crate::verify::{Source, parts_path, path_below_base};

/// The files that go with a run: its items, and the project's files that they name.
#[derive(Debug)]
pub(crate) struct RemotePlan {
    pub(crate) tree: CollectedTree,
    item: String,
    /// When the newest of its items was signed: of the same files the snapshot is the same.
    time: Timestamp,
}

impl RemotePlan {
    /// # Errors
    /// `store.never_travels`, `store.not_found`, `store.malformed`, `store.io`
    pub(crate) fn new(rye: &Rye, parts: &RemoteParts) -> Result<Self, Failure> {
        let own = parts.sources.iter().filter(|source| !source.item().id.is_reserved());
        let given = own.flat_map(files_of).collect();
        let project = rye.spaces().project_path();
        let tree = collect(project, &parts.files.inputs, given)?;
        let signed = parts.sources.iter().filter_map(|source| Some(source.signer()?.at));
        let time = signed.max().unwrap_or_else(now);
        Ok(Self { tree, item: parts.item.to_string(), time })
    }

    /// Puts all of it into the store; `None` where nothing goes.
    ///
    /// # Errors
    /// `store.*`
    pub(super) fn save(&self, store: &dyn ObjectStore) -> Result<Option<Digest>, Failure> {
        let manifest = &self.tree.manifest;
        if manifest.files().is_empty() {
            return Ok(None);
        }
        for file in manifest.files().values() {
            let bytes = self.tree.bytes(file.sha256)?;
            store.put(file.sha256, &mut bytes.as_slice())?;
        }
        let (manifest, source, time) = (save(store, manifest)?, self.item.clone(), self.time);
        Ok(Some(save(store, &Snapshot { manifest, source, time })?))
    }
}

/// The file of an item and those that it lists, as they lie below a project.
fn files_of(source: &Source) -> Vec<GivenFile> {
    let path = path_below_base(source.item(), source.ext());
    let folder = parts_path(source);
    let parts = source.parts().iter().filter_map(|part| {
        let path = format!("{folder}/{}", part.path);
        let path = path.trim_start_matches('/').parse::<RelPath>().ok()?;
        let mode = if part.is_program { FileMode::Program } else { FileMode::Data };
        Some(GivenFile { path, bytes: part.bytes.to_vec(), mode })
    });
    let own = path.parse().ok().map(|path| GivenFile {
        path,
        bytes: source.text().as_bytes().to_vec(),
        mode: FileMode::Data,
    });
    own.into_iter().chain(parts).collect()
}

/// How long so many bytes may take over a line of 4 Mbit/s.
fn time_for(bytes: u64) -> Duration {
    Duration::from_secs(20 + bytes / 500_000)
}

/// Pushes objects of a snapshot to a node: those that it does not have.
///
/// # Errors
/// `remote.*`
pub(super) fn push(
    node: &Node<'_>,
    store: &dyn ObjectStore,
    snapshot: Option<Digest>,
    missing: impl Iterator<Item = Digest>,
) -> Result<(), RemoteError> {
    // The store also holds objects of other projects and of other nodes.
    let foreign = |_| node.client().bad("it asks for objects that do not belong to the run");
    let all = reached(store, snapshot, &mut |_, error| Err(error)).map_err(foreign)?;
    for digest in missing {
        let bytes = match all.contains(&digest) {
            true => store.get(digest),
            false => Err(StoreError::NotFound { digest }),
        };
        let bytes = bytes.map_err(foreign)?;
        let (path, bytes): (_, Arc<[u8]>) = (format!("/objects/{digest}"), bytes.into());
        let time = Some(time_for(bytes.len() as u64));
        node.patiently(|client| client.bytes("PUT", &path, Some(Arc::clone(&bytes)), time))?;
    }
    Ok(())
}

/// Takes an object of a node into the store.
fn pull(
    node: &Node<'_>,
    store: &dyn ObjectStore,
    digest: Digest,
    most: u64,
) -> Result<(), Failure> {
    if store.missing(&[digest])?.is_empty() {
        return Ok(());
    }
    let path = format!("/objects/{digest}");
    let time = Some(time_for(most));
    let bytes = node.patiently(|client| client.bytes("GET", &path, None, time))?;
    if Digest::of(&bytes) != digest {
        return Err(node.client().bad("an object is not the one that was asked for").into());
    }
    store.put(digest, &mut bytes.as_slice())?;
    Ok(())
}

/// Writes the outputs that a node made into the project. Gives what was done with each.
///
/// # Errors
/// `remote.*`, `store.*`
pub(super) fn take_outputs(
    node: &Node<'_>,
    store: &dyn ObjectStore,
    made: &Value,
    row: &RemoteRow,
) -> Result<Option<Value>, Failure> {
    if !made.is_object() {
        return Ok(None);
    }
    let mut left_out: Vec<Value> = made["left_out"].as_array().cloned().unwrap_or_default();
    let (mut written, mut unchanged) = (Vec::new(), Vec::new());
    if let Some(digest) = made["manifest"].as_str().and_then(|digest| digest.parse().ok()) {
        pull(node, store, digest, MANIFEST_BYTES)?;
        let outputs: TreeManifest = load(store, digest)?;
        for file in outputs.files().values() {
            pull(node, store, file.sha256, file.size)?;
        }
        let declared: Vec<Glob> =
            row.outputs.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
        let done = write_outputs(store, &outputs, &row.project, &row.at_request, &declared)?;
        let text = |paths: Vec<RelPath>| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        (written, unchanged) = (text(done.written), text(done.unchanged));
        left_out.extend(done.refused.into_iter().map(|refused| refused_json(&refused)));
    }
    Ok(Some(json!({"written": written, "unchanged": unchanged, "left_out": left_out})))
}

/// A path that was not taken.
pub(crate) fn refused_json(refused: &RefusedPath) -> Value {
    json!({"path": refused.path, "why": refused.why})
}
