//! From a project to the manifest of the files that a run needs, and from one to a workspace.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat};
use walkdir::WalkDir;

use super::error::{At, StoreError};
use super::manifest::{FileMode, TREE_BYTES, TREE_FILES, TreeFile, TreeManifest};
use super::objects::{OBJECT_BYTES, ObjectStore};
use super::travel::{never_travels, never_travels_for_bytes};
use crate::base::Digest;
use crate::base::beneath::make_folder_beneath;
use crate::space::{Glob, Opened, RelPath, read_beneath};

/// Most files found and folders entered below one folder, to find the files that patterns mean.
pub(super) const TREE_WALKED: usize = 100_000;
/// Most refused paths that are told one by one.
const TOLD_PATHS: usize = 1_000;

/// A path that was not taken or not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedPath {
    pub(crate) path: String,
    /// One clause.
    pub(crate) why: String,
}

/// Adds a path; behind the last that is told, it is said that there are more.
pub(super) fn refuse(told: &mut Vec<RefusedPath>, path: &str, why: impl Into<String>) {
    match told.len() {
        0..TOLD_PATHS => told.push(RefusedPath { path: path.to_owned(), why: why.into() }),
        TOLD_PATHS => {
            let (path, why) = ("…".to_owned(), "there are more of them".to_owned());
            told.push(RefusedPath { path, why });
        }
        _ => {}
    }
}

/// A file that travels beside those of the project.
#[derive(Debug, Clone)]
pub(crate) struct GivenFile {
    pub(crate) path: RelPath,
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: FileMode,
}

/// The files that a run needs, and where their bytes are.
#[derive(Debug)]
pub(crate) struct CollectedTree {
    pub(crate) manifest: TreeManifest,
    /// Paths that a pattern with a wildcard matches, and that do not travel.
    pub(crate) left_out: Vec<RefusedPath>,
    project: OwnedFd,
    sources: HashMap<Digest, Source>,
}

/// Where the bytes of a collected file are.
#[derive(Debug)]
enum Source {
    Project(RelPath),
    Given(Vec<u8>),
}

impl CollectedTree {
    /// The bytes of a file of the manifest.
    ///
    /// # Errors
    /// `store.malformed` if the file was changed since; `store.not_found`, `store.io`
    pub(crate) fn bytes(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        let path = match self.sources.get(&digest) {
            None => return Err(StoreError::NotFound { digest }),
            Some(Source::Given(bytes)) => return Ok(bytes.clone()),
            Some(Source::Project(path)) => path,
        };
        match read_file(&self.project, path.as_str()).at(Path::new(path.as_str()))? {
            Ok(Some((bytes, _))) if Digest::of(&bytes) == digest => Ok(bytes),
            _ => Err(StoreError::malformed(&path, "changed while it was pushed")),
        }
    }
}

/// Collects the files of a project that patterns match, and files that are given; of one path the
/// given one counts.
///
/// # Errors
/// `store.never_travels` for a path without a wildcard, or a given one, that does not travel;
/// `store.not_found` for one without a wildcard that is not there; `store.malformed` for more than
/// a manifest may hold; `store.io`
pub(crate) fn collect(
    project: &Path,
    globs: &[Glob],
    given: Vec<GivenFile>,
) -> Result<CollectedTree, StoreError> {
    let root: OwnedFd = File::open(project).at(project)?.into();
    let (wild, plain): (Vec<&Glob>, Vec<&Glob>) =
        globs.iter().partition(|glob| Glob::is_one(glob.text()));
    let (mut wanted, mut left_out) = (BTreeMap::new(), Vec::new());
    walk(project, &wild, never_travels, TREE_WALKED, &mut |path, met| match met {
        Met::Match => drop(wanted.insert(path.to_owned(), false)),
        Met::Refused(why) => refuse(&mut left_out, path, why),
        Met::Other => {}
    })?;
    wanted.extend(plain.into_iter().map(|glob| (glob.text().to_owned(), true)));
    let (mut files, mut sources, mut total) = (BTreeMap::new(), HashMap::new(), 0);
    for (path, is_asked_for) in wanted {
        match take(&root, &path).at(&project.join(&path))? {
            Ok(Some((path, file))) => {
                total += file.size;
                sources.insert(file.sha256, Source::Project(path.clone()));
                files.insert(path, file);
            }
            Ok(None) if is_asked_for => return Err(StoreError::NoInput { path }),
            Ok(None) => {}
            Err(why) if is_asked_for => return Err(StoreError::NeverTravels { path, why }),
            Err(why) => refuse(&mut left_out, &path, why),
        }
        if files.len() > TREE_FILES || total > TREE_BYTES {
            break;
        }
    }
    for GivenFile { path, bytes, mode } in given {
        let why = never_travels(path.as_str()).or_else(|| never_travels_for_bytes(&bytes));
        if let Some(why) = why {
            return Err(StoreError::NeverTravels { path: path.to_string(), why });
        }
        let file = TreeFile::of(&bytes, mode);
        files.insert(path, file);
        sources.insert(file.sha256, Source::Given(bytes));
    }
    let manifest = TreeManifest::new(files);
    let manifest = manifest.map_err(|why| StoreError::malformed(&project.display(), why))?;
    Ok(CollectedTree { manifest, left_out, project: root, sources })
}

/// Looks at the file at a path of a project; `None` if there is none, or one clause that says why
/// it does not travel.
fn take(
    root: &OwnedFd,
    path: &str,
) -> io::Result<Result<Option<(RelPath, TreeFile)>, &'static str>> {
    if let Some(why) = never_travels(path) {
        return Ok(Err(why));
    }
    Ok(read_file(root, path)?.and_then(|read| {
        let Some((bytes, mode)) = read else { return Ok(None) };
        never_travels_for_bytes(&bytes).map_or(Ok(()), Err)?;
        Ok(Some((path.parse()?, TreeFile::of(&bytes, mode))))
    }))
}

/// The files of a project that patterns match, as they are now; what cannot be read or does not
/// travel is passed over.
///
/// # Errors
/// `store.malformed` for more than a manifest may hold; `store.io`
pub(crate) fn present(project: &Path, globs: &[Glob]) -> Result<TreeManifest, StoreError> {
    let root: OwnedFd = File::open(project).at(project)?.into();
    let (mut files, mut found) = (BTreeMap::new(), Vec::new());
    let globs: Vec<&Glob> = globs.iter().collect();
    walk(project, &globs, never_travels, TREE_WALKED, &mut |path, met| {
        found.extend(matches!(met, Met::Match).then(|| path.to_owned()));
    })?;
    for path in found {
        if let Ok(Ok(Some((path, file)))) = take(&root, &path) {
            files.insert(path, file);
        }
    }
    TreeManifest::new(files).map_err(|why| StoreError::malformed(&project.display(), why))
}

/// Writes the files of a manifest into a folder that is made for them. Every one is verified.
///
/// # Errors
/// `store.never_travels` for a file that none should have sent; `store.malformed` for another size
/// than the manifest says; `store.not_found`, `store.altered`; `store.io`, also for a folder that
/// is there. A part of it may be written then.
pub(crate) fn materialise(
    store: &dyn ObjectStore,
    manifest: &TreeManifest,
    into: &Path,
) -> Result<(), StoreError> {
    for path in manifest.files().keys() {
        if let Some(why) = never_travels(path.as_str()) {
            return Err(StoreError::NeverTravels { path: path.to_string(), why });
        }
    }
    let made = DirBuilder::new().mode(0o700).create(into).and_then(|()| File::open(into));
    let root = made.at(into)?;
    for (path, file) in manifest.files() {
        let bytes = bytes_of(store, path, file)?;
        if let Some(why) = never_travels_for_bytes(&bytes) {
            return Err(StoreError::NeverTravels { path: path.to_string(), why });
        }
        let write = || {
            let (folder, name) = make_folder_beneath(&root, path.as_str())?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mode = Mode::from_raw_mode(file.mode.bits());
            File::from(openat(folder, name, flags | OFlags::CLOEXEC, mode)?).write_all(&bytes)
        };
        write().at(&into.join(path.as_str()))?;
    }
    Ok(())
}

/// The bytes of a file of a manifest.
pub(super) fn bytes_of(
    store: &dyn ObjectStore,
    path: &RelPath,
    file: &TreeFile,
) -> Result<Vec<u8>, StoreError> {
    let bytes = store.get(file.sha256)?;
    match bytes.len() as u64 == file.size {
        true => Ok(bytes),
        false => Err(StoreError::malformed(&path, "has another size than its manifest says")),
    }
}

/// The regular file at a path; `None` if there is none, or one clause about what else is there.
pub(super) type FileThere = Result<Option<(Vec<u8>, FileMode)>, &'static str>;

/// Reads the file at a plain path, through no link.
pub(super) fn read_file(root: &OwnedFd, path: &str) -> io::Result<FileThere> {
    Ok(match read_beneath(root, path, OBJECT_BYTES)? {
        Opened::File { bytes, mode } => Ok(Some((bytes, FileMode::of_bits(mode)))),
        Opened::Missing => Ok(None),
        Opened::NotAFile => Err("it is not a regular file"),
        Opened::TooLarge => Err("it is larger than 64 MiB"),
        Opened::Link => Err("it is a link, or lies behind one"),
    })
}

/// A path below a folder, as patterns mean it.
pub(super) enum Met {
    /// A pattern matches it; it may be a link.
    Match,
    /// A pattern matches it, or reaches into it, but it is passed over.
    Refused(&'static str),
    /// No pattern matches it, and it is no folder.
    Other,
}

/// Goes through all folders below one that patterns reach into, through no link; `never` says why
/// a path is passed over.
///
/// # Errors
/// `store.malformed` if patterns mean more than `most` files and folders.
pub(super) fn walk(
    top: &Path,
    globs: &[&Glob],
    never: fn(&str) -> Option<&'static str>,
    most: usize,
    visit: &mut dyn FnMut(&str, Met),
) -> Result<(), StoreError> {
    let mut walk = WalkDir::new(top).min_depth(1).follow_links(false).into_iter();
    let mut count = 0;
    while let Some(entry) = walk.next() {
        // What cannot be read may be either.
        let (path, is_folder, is_file, fault) = match &entry {
            Ok(entry) => {
                let is_folder = entry.file_type().is_dir();
                let fault = entry.path().to_str().is_none().then_some("its name is not text");
                (entry.path(), is_folder, !is_folder, fault)
            }
            Err(error) => (error.path().unwrap_or(top), true, true, Some("it cannot be read")),
        };
        let path = path.strip_prefix(top).unwrap_or(path).to_string_lossy();
        let is_meant =
            |glob: &&Glob| is_folder && glob.reaches_into(&path) || is_file && glob.matches(&path);
        if globs.iter().any(is_meant) {
            count += 1;
            if count > most {
                let why = format!("holds more than {most} files and folders that patterns mean");
                return Err(StoreError::malformed(&top.display(), why));
            }
            match fault.or_else(|| never(&path)) {
                Some(why) => visit(&path, Met::Refused(why)),
                None if is_file => visit(&path, Met::Match),
                None => continue,
            }
        } else if is_file {
            visit(&path, Met::Other);
        }
        if is_folder && entry.is_ok() {
            walk.skip_current_dir();
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
