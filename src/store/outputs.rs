//! The files that a run made or changed: out of its workspace, and into the project that asked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;

use super::error::{At, StoreError};
use super::manifest::{TREE_BYTES, TREE_FILES, TreeFile, TreeManifest};
use super::objects::ObjectStore;
use super::travel::{never_travels, never_travels_for_bytes};
use super::tree::{Met, RefusedPath, bytes_of, read_file, refuse, walk};
use crate::base::Digest;
use crate::base::beneath::make_folder_beneath;
use crate::base::bytes::{replace_if, write_new};
use crate::space::{Glob, PathSet, RelPath, folded};

const UNDECLARED: &str = "it is not declared as an output";

/// The outputs of a run, which are in the store.
#[derive(Debug)]
pub(crate) struct CollectedOutputs {
    pub(crate) manifest: TreeManifest,
    /// New or changed paths that are not taken.
    pub(crate) left_out: Vec<RefusedPath>,
}

/// Puts the declared files of a workspace that are new, or are not what was pushed, into a store.
///
/// # Errors
/// `store.malformed` for more than a manifest may hold; `store.io`
pub(crate) fn collect_outputs(
    store: &dyn ObjectStore,
    workspace: &Path,
    pushed: &TreeManifest,
    declared: &[Glob],
) -> Result<CollectedOutputs, StoreError> {
    let root: OwnedFd = File::open(workspace).at(workspace)?.into();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    walk(workspace, &mut |met| {
        match met {
            // Items are no outputs, and rye itself writes there.
            Met::Folder(".ai") => {}
            Met::Folder(path) => match never_travels(path) {
                Some(why) => refuse(&mut left_out, path, why),
                None => return true,
            },
            Met::File(path) => found.push(path.to_owned()),
            Met::Unread(path, why) => refuse(&mut left_out, path, why),
        }
        false
    })?;
    found.sort_unstable();
    let (mut paths, mut files, mut total) = (PathSet::default(), BTreeMap::new(), 0);
    for path in &found {
        let known = path.parse().ok().and_then(|path| pushed.files().get::<RelPath>(&path));
        let is_declared = declared.iter().any(|glob| glob.matches(path));
        if known.is_none() && !is_declared {
            refuse(&mut left_out, path, UNDECLARED);
            continue;
        }
        let read = read_file(&root, path).map_err(|error| error.to_string());
        let (bytes, mode) = match read.and_then(|read| read.map_err(str::to_owned)) {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err(why) => {
                refuse(&mut left_out, path, why);
                continue;
            }
        };
        let file = TreeFile::of(&bytes, mode);
        if known.is_some_and(|known| known.sha256 == file.sha256) {
            continue;
        }
        let never = || never_travels(path).or_else(|| never_travels_for_bytes(&bytes));
        let why = if is_declared { never() } else { Some(UNDECLARED) };
        match why.map_or_else(|| paths.add(path), Err) {
            Ok(path) => {
                store.put(file.sha256, &mut bytes.as_slice())?;
                total += file.size;
                files.insert(path, file);
            }
            Err(why) => refuse(&mut left_out, path, why),
        }
        if files.len() > TREE_FILES || total > TREE_BYTES {
            break;
        }
    }
    let manifest = TreeManifest::new(files);
    let manifest = manifest.map_err(|why| StoreError::malformed(&workspace.display(), why))?;
    Ok(CollectedOutputs { manifest, left_out })
}

/// Outputs as they were written into a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenOutputs {
    pub(crate) written: Vec<RelPath>,
    /// They were there with these bytes.
    pub(crate) unchanged: Vec<RelPath>,
    pub(crate) refused: Vec<RefusedPath>,
}

/// Writes the outputs of a run into a project, each whole or not at all: declared paths that may
/// travel, and where a file is, only over what was pushed. A file that is replaced keeps its mode.
///
/// # Errors
/// `store.io` if the project cannot be opened. An output that cannot be had or written is refused.
pub(crate) fn write_outputs(
    store: &dyn ObjectStore,
    outputs: &TreeManifest,
    project: &Path,
    pushed: &TreeManifest,
    declared: &[Glob],
) -> Result<WrittenOutputs, StoreError> {
    let open = File::open(project).at(project)?;
    let target = Target { store, project, open: open.into(), pushed, declared };
    let mut done = WrittenOutputs::default();
    for (path, file) in outputs.files() {
        match target.write(path, file) {
            Ok(true) => done.written.push(path.clone()),
            Ok(false) => done.unchanged.push(path.clone()),
            Err(why) => refuse(&mut done.refused, path.as_str(), why),
        }
    }
    Ok(done)
}

/// The project that outputs are written into.
struct Target<'a> {
    store: &'a dyn ObjectStore,
    project: &'a Path,
    open: OwnedFd,
    pushed: &'a TreeManifest,
    declared: &'a [Glob],
}

impl Target<'_> {
    /// Gives false for a file that is there already.
    ///
    /// # Errors
    /// One clause.
    fn write(&self, path: &RelPath, file: &TreeFile) -> Result<bool, String> {
        const CHANGED: &str = "it changed since it was pushed";
        const THERE: &str = "it is there, and was not pushed";
        if !self.declared.iter().any(|glob| glob.matches(path.as_str())) {
            return Err(UNDECLARED.into());
        }
        if path.as_str().split('/').any(|name| folded(name) == ".ai") {
            return Err("nothing is written into `.ai`".into());
        }
        if let Some(why) = never_travels(path.as_str()) {
            return Err(why.into());
        }
        let now = read_file(&self.open, path.as_str()).map_err(|error| error.to_string())??;
        let place = self.project.join(path.as_str());
        let Some((now, _)) = now else {
            let bytes = self.bytes(path, file)?;
            make_folder_beneath(&self.open, path.as_str()).map_err(|error| match error {
                Errno::LOOP => "a link or a file is in the way of its folder".to_owned(),
                other => other.to_string(),
            })?;
            return match write_new(&place, &bytes, file.mode.bits()) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(THERE.into()),
                Err(error) => Err(error.to_string()),
            };
        };
        let digest = Digest::of(&now);
        if digest == file.sha256 {
            return Ok(false);
        }
        match self.pushed.files().get(path) {
            None => return Err(THERE.into()),
            Some(pushed) if pushed.sha256 != digest => return Err(CHANGED.into()),
            Some(_) => {}
        }
        let bytes = self.bytes(path, file)?;
        match replace_if(&place, &now, &bytes) {
            Ok(true) => Ok(true),
            Ok(false) => Err(CHANGED.into()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn bytes(&self, path: &RelPath, file: &TreeFile) -> Result<Vec<u8>, String> {
        let bytes = bytes_of(self.store, path, file).map_err(|error| error.to_string())?;
        never_travels_for_bytes(&bytes).map_or(Ok(bytes), |why| Err(why.to_owned()))
    }
}
