//! The files that a tool lists, when the tool gets another id: its paths begin at another folder
//! then.

use super::facade::Rye;
use super::items::Items;
use super::listed_files::ListedFiles;
use crate::id::Ref;
use crate::resolve::Found;
use crate::signature::has_no_line;
use crate::space::Root;

/// A listed file that has to lie elsewhere; its paths are below `.ai`.
#[derive(Debug)]
pub(crate) struct FileToMove {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) bytes: Vec<u8>,
    /// Another tool that lists it too: then it stays, and the one that moves gets a copy.
    pub(crate) stays_for: Option<Ref>,
}

/// Why the files of a tool cannot be had at its new place, and what to do.
#[derive(Debug)]
pub(crate) struct CannotMoveFiles {
    pub(crate) why: String,
    pub(crate) help: String,
}

impl Items<'_> {
    /// The files that the tool `from` lists and that it would not find as `to`; none where its
    /// paths begin at the same folder. `beside` are the paths below `.ai`, before and then, of what
    /// moves anyway: the tool itself and its test specs.
    ///
    /// # Errors
    /// A pattern means what it is not to mean; a file is an item by itself.
    pub(crate) fn files_to_move(
        self,
        from: &Found,
        to: &Found,
        beside: &[(String, String)],
    ) -> Result<Vec<FileToMove>, CannotMoveFiles> {
        let rye = self.rye;
        let root = rye.spaces.get(from.space);
        let Some((root, here)) = root.zip(ListedFiles::from_found(rye, from)) else {
            return Ok(Vec::new());
        };
        let there = ListedFiles::from_found(rye, to).ok_or_else(no_folder)?;
        let is_meant = |path: &&String| here.lists_below_ai(path) || there.lists_below_ai(path);
        let meant = beside.iter().flat_map(|(old, new)| [old, new]).find(is_meant);
        meant.map_or(Ok(()), |path| Err(meant_too(path)))?;
        let (Some(old), Some(new)) = (here.below_ai(), there.below_ai()) else {
            return Ok(Vec::new());
        };
        if old == new {
            return Ok(Vec::new());
        }
        let files = here.now(root, &from.item, &from.ext);
        let wanted = there.now(root, &to.item, &to.ext);
        let is_strange = |path: &&String| !files.contains_key(*path) && there.is_unknown(path);
        let strange = wanted.keys().find(is_strange);
        strange.map_or(Ok(()), |path| Err(meant_too(&format!("{new}/{path}"))))?;
        let mut others: Vec<_> = self.listing([from.space].into_iter()).collect();
        others.retain(|(tool, _)| ![&from.item, &to.item].contains(&&tool.item));
        let mut moved = Vec::new();
        for (path, bytes) in &files {
            let (from, to) = (format!("{old}/{path}"), format!("{new}/{path}"));
            if here.lists_below_ai(&to) || there.lists_below_ai(&from) {
                return Err(meant_too(&from));
            }
            if let Some(item) = signed_item(rye, root, &from, bytes) {
                return Err(item_by_itself(&from, &item));
            }
            let listing = others.iter().filter(|(_, files)| files.lists_below_ai(&from));
            let stays_for = listing.map(|(tool, _)| tool.item.clone()).min();
            moved.push(FileToMove { from, to, bytes: bytes.to_vec(), stays_for });
        }
        Ok(moved)
    }
}

/// The item that a file is, if it has a signature line of its own.
fn signed_item(rye: &Rye, root: &Root, path: &str, bytes: &[u8]) -> Option<Ref> {
    let entry = root.entry(path, &rye.types)?;
    let file_type = rye.types.find(entry.item.kind, &entry.ext)?;
    (!has_no_line(bytes, &file_type.comment)).then_some(entry.item)
}

fn no_folder() -> CannotMoveFiles {
    let why = "its `files` begin at a folder that it would not have there".to_owned();
    CannotMoveFiles { why, help: "give an id that has a folder above its own".to_owned() }
}

fn meant_too(path: &str) -> CannotMoveFiles {
    let help = "name the files one by one, or narrow the pattern, sign the tool, and move it then";
    CannotMoveFiles {
        why: format!("its `files` would mean `.ai/{path}` too"),
        help: help.to_owned(),
    }
}

fn item_by_itself(path: &str, item: &Ref) -> CannotMoveFiles {
    let help = "its signature line holds for its place: take the line out, since the tool's own \
                signature covers the file, sign the tool, and move it then";
    CannotMoveFiles {
        why: format!("it lists `.ai/{path}`, which is `{item}` by a signature of its own"),
        help: help.to_owned(),
    }
}
