//! The files that a run made or changed: out of its workspace, and into the project that asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;

use super::error::{At, StoreError};
use super::manifest::{MANIFEST_BYTES, TREE_BYTES, TREE_FILES, TreeFile, TreeManifest};
use super::objects::ObjectStore;
use super::travel::{never_travels, never_travels_for_bytes};
use super::tree::{Met, RefusedPath, TREE_WALKED, bytes_of, read_file, refuse, walk};
use crate::base::Digest;
use crate::base::beneath::make_folder_beneath;
use crate::base::bytes::{replace_if, write_new};
use crate::space::{Glob, PathSet, RelPath, folded};

const UNDECLARED: &str = "it is not declared as an output";
const NO_ROOM: &str = "outputs have at most 10,000 files, 1 GiB, and 4 MiB of names";

/// The outputs of a run, which are in the store.
#[derive(Debug)]
pub(crate) struct CollectedOutputs {
    pub(crate) manifest: TreeManifest,
    /// New or changed paths that are not taken.
    pub(crate) left_out: Vec<RefusedPath>,
}

/// The room that there is for outputs.
pub(super) struct Room {
    /// Files and folders that patterns mean.
    pub(super) names: usize,
    pub(super) files: usize,
    /// Of all files.
    pub(super) bytes: u64,
    /// Bytes of their manifest.
    pub(super) text: u64,
}

impl Room {
    pub(super) const WHOLE: Self = Self {
        names: TREE_WALKED,
        files: TREE_FILES,
        bytes: TREE_BYTES,
        // Less what a manifest without files has.
        text: MANIFEST_BYTES - 64,
    };

    /// Takes the room of one file; where there is too little, there is none from then on.
    fn take(&mut self, path: &RelPath, file: &TreeFile) -> bool {
        let row = serde_json::to_string(&(path.as_str(), file)).map_or(0, |row| row.len() as u64);
        let has_room = self.files > 0 && self.bytes >= file.size && self.text >= row;
        if has_room {
            (self.files, self.bytes, self.text) =
                (self.files - 1, self.bytes - file.size, self.text - row);
        } else {
            self.files = 0;
        }
        has_room
    }
}

/// Puts the declared files of a workspace that are new, or are not what was pushed, into a store,
/// as many as may come back. A new file in a folder that no pattern reaches is not looked for, and
/// not told.
///
/// # Errors
/// `store.io`
pub(crate) fn collect_outputs(
    store: &dyn ObjectStore,
    workspace: &Path,
    pushed: &TreeManifest,
    declared: &[Glob],
) -> Result<CollectedOutputs, StoreError> {
    collect_within(store, workspace, pushed, declared, Room::WHOLE)
}

pub(super) fn collect_within(
    store: &dyn ObjectStore,
    workspace: &Path,
    pushed: &TreeManifest,
    declared: &[Glob],
    mut room: Room,
) -> Result<CollectedOutputs, StoreError> {
    let root: OwnedFd = File::open(workspace).at(workspace)?.into();
    let known = pushed.files().keys().map(RelPath::as_str);
    let known = known.filter(|path| never_comes_back(path).is_none());
    let (mut found, mut left_out): (BTreeSet<_>, _) = (known.map(str::to_owned).collect(), vec![]);
    let globs: Vec<&Glob> = declared.iter().collect();
    let walked =
        walk(workspace, &globs, never_comes_back, room.names, &mut |path, met| match met {
            Met::Match => drop(found.insert(path.to_owned())),
            // rye itself writes there.
            Met::Refused(_) if path == ".ai" => {}
            Met::Refused(why) => refuse(&mut left_out, path, why),
            Met::Other if found.contains(path) => {}
            Met::Other => refuse(&mut left_out, path, UNDECLARED),
        });
    if walked.is_err() {
        refuse(&mut left_out, "…", "there are more files than are looked at");
    }
    let (mut paths, mut files) = (PathSet::default(), BTreeMap::new());
    for path in &found {
        let known = path.parse().ok().and_then(|path| pushed.files().get::<RelPath>(&path));
        let is_declared = declared.iter().any(|glob| glob.matches(path));
        let read = match room.files > 0 || known.is_some() {
            true => read_file(&root, path).map_err(|error| error.to_string()),
            false => Ok(Err(NO_ROOM)),
        };
        let taken = read.and_then(|read| {
            let Some((bytes, mode)) = read? else { return Ok(None) };
            let file = TreeFile::of(&bytes, mode);
            if known.is_some_and(|known| known.sha256 == file.sha256) {
                return Ok(None);
            }
            let why = if is_declared { never_travels_for_bytes(&bytes) } else { Some(UNDECLARED) };
            let path = why.map_or_else(|| paths.add(path), Err)?;
            match room.take(&path, &file) {
                true => Ok(Some((path, file, bytes))),
                false => Err(NO_ROOM.to_owned()),
            }
        });
        match taken {
            Ok(Some((path, file, bytes))) => {
                store.put(file.sha256, &mut bytes.as_slice())?;
                files.insert(path, file);
            }
            Ok(None) => {}
            Err(why) => refuse(&mut left_out, path, why),
        }
    }
    let manifest = TreeManifest::new(files);
    let manifest = manifest.map_err(|why| StoreError::malformed(&workspace.display(), why))?;
    Ok(CollectedOutputs { manifest, left_out })
}

/// Why no file at this path is written into a project.
fn never_comes_back(path: &str) -> Option<&'static str> {
    let is_item = path.split('/').any(|name| folded(name) == ".ai");
    is_item.then_some("nothing is written into `.ai`").or_else(|| never_travels(path))
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
/// travel, and where a file is, only over what was there when the run was asked for. A file that is
/// replaced keeps its mode.
///
/// # Errors
/// `store.*` if one cannot be had or written, after the others were tried: once there is room, for
/// example, it can be tried again.
pub(crate) fn write_outputs(
    store: &dyn ObjectStore,
    outputs: &TreeManifest,
    project: &Path,
    at_request: &TreeManifest,
    declared: &[Glob],
) -> Result<WrittenOutputs, StoreError> {
    let open = File::open(project).at(project)?;
    let target = Target { store, project, open: open.into(), at_request, declared };
    let (mut done, mut failed) = (WrittenOutputs::default(), None);
    for (path, file) in outputs.files() {
        match target.write(path, file) {
            Ok(OutputWrite::Written) => done.written.push(path.clone()),
            Ok(OutputWrite::Unchanged) => done.unchanged.push(path.clone()),
            Ok(OutputWrite::Refused(why)) => refuse(&mut done.refused, path.as_str(), why),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(done), Err)
}

/// The project that outputs are written into.
struct Target<'a> {
    store: &'a dyn ObjectStore,
    project: &'a Path,
    open: OwnedFd,
    /// The files as they were when the run was asked for.
    at_request: &'a TreeManifest,
    declared: &'a [Glob],
}

/// The outcome of writing one output.
enum OutputWrite {
    Written,
    Unchanged,
    /// One clause.
    Refused(&'static str),
}

impl Target<'_> {
    fn write(&self, path: &RelPath, file: &TreeFile) -> Result<OutputWrite, StoreError> {
        use OutputWrite::{Refused, Unchanged, Written};
        const CHANGED: &str = "it changed since the run was asked for";
        const THERE: &str = "it was not there when the run was asked for";
        if !self.declared.iter().any(|glob| glob.matches(path.as_str())) {
            return Ok(Refused(UNDECLARED));
        }
        if let Some(why) = never_comes_back(path.as_str()) {
            return Ok(Refused(why));
        }
        let place = self.project.join(path.as_str());
        let bytes = bytes_of(self.store, path, file)?;
        if let Some(why) = never_travels_for_bytes(&bytes) {
            return Ok(Refused(why));
        }
        let now = || read_file(&self.open, path.as_str()).at(&place);
        let why_not = match now()? {
            Err(why) => return Ok(Refused(why)),
            Ok(None) => {
                match make_folder_beneath(&self.open, path.as_str()) {
                    Err(Errno::LOOP) => {
                        return Ok(Refused("a link or a file is in the way of its folder"));
                    }
                    made => made.at(&place)?,
                };
                match write_new(&place, &bytes, file.mode.bits()) {
                    Ok(()) => return Ok(Written),
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error).at(&place),
                }
                THERE
            }
            Ok(Some((now, _))) => {
                let digest = Digest::of(&now);
                let before = self.at_request.files().get(path);
                if digest != file.sha256
                    && before.is_some_and(|before| before.sha256 == digest)
                    && replace_if(&place, &now, &bytes).at(&place)?
                {
                    return Ok(Written);
                }
                if before.is_some() { CHANGED } else { THERE }
            }
        };
        // It may be what another process wrote that fetches the same outputs.
        Ok(match now()? {
            Ok(Some((now, _))) if now == bytes => Unchanged,
            Err(why) => Refused(why),
            _ => Refused(why_not),
        })
    }
}
