//! Files that a tool lists: they are covered by its signature and are no items of their own.

use std::collections::HashSet;
use std::path::PathBuf;

use super::rye::Rye;
use crate::id::{Kind, Ref, Space};
use crate::parse::{Item, listed_files};
use crate::space::{Entry, FileType, Spaces};
use crate::verify::{Refused, Scan, Source, parts_folder, scan};

/// The source with what its header lists, if it is a tool that lists files. What does not parse is
/// left to those who parse it.
///
/// # Errors
/// `verify.dependency`
pub(super) fn checked(source: Source, spaces: &Spaces) -> Result<Source, Box<Refused>> {
    if source.item().kind != Kind::Tool
        || listed_files(source.text(), &source.header_style()).is_none()
    {
        return Ok(source);
    }
    match Item::parse(&source) {
        Ok(Item::Tool(tool)) => match &tool.files {
            Some(listed) => source.with_parts(listed, spaces),
            None => Ok(source),
        },
        _ => Ok(source),
    }
}

/// Where the files lie that a tool's text lists or means, signed or not.
pub(super) fn listed_paths(
    rye: &Rye,
    space: Space,
    item: &Ref,
    ext: &str,
    text: &str,
) -> Vec<PathBuf> {
    let style = rye.types.find(item.kind, ext).map(|file_type| file_type.header);
    let listed = style.and_then(|style| listed_files(text, &style));
    let (Some(listed), Some(root)) = (listed, rye.spaces.get(space)) else { return Vec::new() };
    let Ok(Some((folder, own))) = parts_folder(root, item, ext, listed.root) else {
        return Vec::new();
    };
    let walked = listed.matched(&folder, &own).unwrap_or_default();
    let matched = walked.iter().map(|walked| folder.path().join(&walked.path));
    matched.chain(listed.digests.keys().map(|path| folder.path().join(path.as_str()))).collect()
}

impl Rye {
    /// The entries without those that lie there as files of a tool. Who has a signature line of their
    /// own is always an item: an unsigned header cannot hide it.
    pub(super) fn without_parts(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        let read = |entry: &Entry| {
            let root = self.spaces.get(entry.space)?;
            let bytes = root.read(&entry.relative()).ok()??;
            Some((root.path(&entry.relative()), bytes))
        };
        let mut parts = HashSet::new();
        let mut unsigned = HashSet::new();
        for entry in entries.iter().filter(|entry| entry.item.kind == Kind::Tool) {
            let (Some((path, bytes)), Some(file_type)) =
                (read(entry), self.types.find(entry.item.kind, &entry.ext))
            else {
                continue;
            };
            if has_no_line(&bytes, &file_type) {
                unsigned.insert(path);
            }
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            parts.extend(listed_paths(self, entry.space, &entry.item, &entry.ext, text));
        }
        entries.retain(|entry| {
            let path = self.spaces.get(entry.space).map(|root| root.path(&entry.relative()));
            path.is_none_or(|path| !(parts.contains(&path) && unsigned.contains(&path)))
        });
        entries
    }
}

fn has_no_line(bytes: &[u8], file_type: &FileType) -> bool {
    matches!(scan(bytes, &file_type.comment), Ok(Scan::None))
}
