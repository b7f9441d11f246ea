//! Writing what was imported.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::draft::ItemDraft;
use super::error::ImportError;
use crate::base::bytes::{write_atomic, write_new};
use crate::diagnostic::{Failure, Place};
use crate::id::{Query, Ref, Space};
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::rye::Rye;
use crate::space::Root;
use crate::verify::SignError;

/// An item that was written and carries no signature yet, or whose older form waits for one.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    pub(crate) place: Place,
    /// Files of an earlier import that the item no longer lists.
    pub(crate) left_over: Vec<Place>,
    /// A tool that an older version of the item had: it is there, and left as it is.
    pub(crate) older_tool: Option<(Ref, Place)>,
    /// The file that the item was made of, where it lies in the item's place: it is left as it is
    /// until the signed item takes its place.
    pub(crate) older: Option<Vec<u8>>,
}

/// Where items go, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put {
    pub(crate) space: Space,
    /// Over what is there.
    pub(crate) force: bool,
}

/// Writes items and their files into a space; each file is put into its place whole.
///
/// # Errors
/// `import.exists` for what is there already, unless `force` is given; `sign.reserved` below
/// `rye/`; `space.symlink` where a folder on the way is a link: then nothing was written.
/// `import.io`; then what was written is taken back, but for what it was written over.
pub(crate) fn write(rye: &Rye, drafts: &[ItemDraft], into: Put) -> Result<Vec<Written>, Failure> {
    let root = root(rye, into.space)?;
    for draft in drafts {
        may_write(rye, root, draft, into.force)?;
    }
    let mut done = Vec::new();
    let one = |draft: &ItemDraft| {
        let written = write_one(root, draft, into, &mut done)?;
        Ok(Written { older_tool: older_tool(rye, root, draft), ..written })
    };
    let written = drafts.iter().map(one).collect();
    if Result::is_err(&written) {
        done.iter().rev().for_each(|step| step.undo(root));
    }
    written
}

/// The tool of an older version, if it lies in the same space.
fn older_tool(rye: &Rye, root: &Root, draft: &ItemDraft) -> Option<(Ref, Place)> {
    let tool = draft.tool_of_older.clone()?;
    let query = Query { space: Some(root.space()), ..tool.clone().into() };
    let found = rye.signing().find(&query, Some(root.space())).ok()?;
    Some((tool, found.place))
}

fn root(rye: &Rye, space: Space) -> Result<&Root, Failure> {
    match rye.spaces().get(space) {
        Some(root) => Ok(root),
        // The folder one stands in is the user space; there is no project.
        None => Ok(rye.spaces().user()?),
    }
}

/// A file that was made, by its path below `.ai`.
struct Made(String);

impl Made {
    /// Takes it back as far as that goes: the cause of it is what is told.
    fn undo(&self, root: &Root) {
        let _ = std::fs::remove_file(root.path(&self.0));
        // Folders that hold nothing now, below that of the kind.
        let mut path = self.0.as_str();
        while let Some((folder, _)) = path.rsplit_once('/').filter(|(f, _)| f.contains('/')) {
            if std::fs::remove_dir(root.path(folder)).is_err() {
                break;
            }
            path = folder;
        }
    }
}

/// Where an item's own file lies below `.ai`.
fn own_path(draft: &ItemDraft) -> String {
    format!("{}/{}.{}", draft.item.kind.folder(), draft.item.id, draft.ext)
}

/// The bytes of the file that the draft was made of, if it is the one that it becomes.
fn in_place<'d>(root: &Root, draft: &'d ItemDraft) -> Option<&'d [u8]> {
    let (path, bytes) = draft.was.as_ref()?;
    let real = |path: &Path| path.canonicalize().ok();
    let same = real(path).is_some_and(|was| real(&root.path(&own_path(draft))) == Some(was));
    same.then_some(bytes)
}

/// The files of a draft below `.ai`, with their bytes and modes; the item comes last, so that it
/// never stands there without them.
fn parts(draft: &ItemDraft) -> Vec<(String, &[u8], u32)> {
    let folder = format!("{}/{}", draft.item.kind.folder(), draft.item.id.folder());
    let file = |(path, taken): (&crate::space::RelPath, &'_ super::files::CopiedFile)| {
        (format!("{folder}/{path}"), if taken.is_program { 0o755 } else { 0o644 })
    };
    let named = draft.files.iter().map(|entry| (file(entry), entry.1.bytes.as_slice()));
    let mut all: Vec<_> = named.map(|((path, mode), bytes)| (path, bytes, mode)).collect();
    all.push((own_path(draft), draft.text.as_bytes(), 0o644));
    all
}

fn may_write(rye: &Rye, root: &Root, draft: &ItemDraft, force: bool) -> Result<(), Failure> {
    let item = &draft.item;
    if root.is_embedded() {
        return Err(SignError::Embedded { item: item.clone() }.into());
    }
    if item.id.is_reserved() && root.space() != Space::System {
        return Err(SignError::Reserved { item: item.clone() }.into());
    }
    if in_place(root, draft).is_some() {
        return Ok(());
    }
    let exists = |place: Place| Err(ImportError::Exists { item: item.clone(), place }.into());
    // In whatever language it is written.
    let query = Query { space: Some(root.space()), ..item.clone().into() };
    match rye.signing().find(&query, Some(root.space())) {
        Ok(found) if !force || found.ext != draft.ext => return exists(found.place),
        Err(failure) if failure.reason() != RESOLVE_NOT_FOUND => return Err(failure),
        _ => {}
    }
    for (path, ..) in parts(draft) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Says so if one of the folders on the way is a link.
        root.folder(folder)?;
        match root.path(&path).symlink_metadata() {
            Ok(stat) if !force || !stat.is_file() => return exists(root.shown(&path)),
            _ => {}
        }
    }
    Ok(())
}

fn write_one(
    root: &Root,
    draft: &ItemDraft,
    into: Put,
    done: &mut Vec<Made>,
) -> Result<Written, Failure> {
    let own = own_path(draft);
    if let Some(was) = in_place(root, draft) {
        let (item, space, place) = (draft.item.clone(), root.space(), root.shown(&own));
        return Ok(Written {
            item,
            space,
            place,
            left_over: Vec::new(),
            older_tool: None,
            older: Some(was.to_vec()),
        });
    }
    let mut mine = BTreeSet::new();
    for (path, bytes, mode) in parts(draft) {
        let io = |source| ImportError::Io { place: root.shown(&path), source };
        let is_new = root.path(&path).symlink_metadata().is_err();
        put(root, &path, bytes, mode, into.force).map_err(io)?;
        done.extend(is_new.then(|| Made(path.clone())));
        mine.insert(path);
    }
    let folder = format!("{}/{}.files", draft.item.kind.folder(), draft.item.id);
    let found = root.folder(&folder)?;
    let found = found.and_then(|found| found.walk("", &|_| true)).unwrap_or_default();
    let left = found.into_iter().map(|walked| format!("{folder}/{}", walked.path));
    let left_over = left.filter(|path| !mine.contains(path)).map(|path| root.shown(&path));
    Ok(Written {
        item: draft.item.clone(),
        space: root.space(),
        place: root.shown(&own),
        left_over: left_over.collect(),
        older_tool: None,
        older: None,
    })
}

fn put(root: &Root, path: &str, bytes: &[u8], mode: u32, force: bool) -> io::Result<()> {
    let path = root.path(path);
    std::fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    if !force {
        return write_new(&path, bytes, mode);
    }
    write_atomic(&path, bytes, mode)?;
    // The mode of what was there was kept.
    std::fs::set_permissions(&path, Permissions::from_mode(mode))
}
