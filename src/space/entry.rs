//! The files below a root: items, and files that look like one but cannot be.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use walkdir::WalkDir;

use super::embedded::EMBEDDED;
use super::error::{ODD_FILE, SpaceError};
use super::file_type::FileTypes;
use super::root::{Root, RootPlace};
use super::roots::Spaces;
use crate::base::limits::{LISTED_FILES, WALK_DEPTH};
use crate::base::text::escape_line;
use crate::diagnostic;
use crate::id::{BundleName, ItemId, Kind, Ref, Space};

/// A file that is an item by its place and name; nothing of it was read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    pub(crate) bundle: Option<BundleName>,
    pub(crate) ext: String,
}

impl Entry {
    /// The path below `.ai`.
    pub(crate) fn relative(&self) -> String {
        format!("{}/{}.{}", self.item.kind.folder(), self.item.id, self.ext)
    }

    /// Returns true for a trust document in a project. It proposes a key, and is no item for any
    /// verb (core 4.3).
    pub(crate) fn is_proposal(&self) -> bool {
        let is_document = self.item.id.folder() == "keys/trusted" && self.ext == "toml";
        self.space == Space::Project && self.item.is_about_keys() && is_document
    }
}

/// Each `.ai` that a path leads through or to, the outermost first: the folder that holds it, and
/// the path below it.
pub(crate) fn ai_folders(path: &Path) -> impl DoubleEndedIterator<Item = (&Path, &Path)> {
    let all = path.ancestors().filter(|above| above.file_name().is_some_and(|name| name == ".ai"));
    let all = all.filter_map(|ai| Some((ai.parent()?, path.strip_prefix(ai).ok()?)));
    all.collect::<Vec<_>>().into_iter().rev()
}

/// A file that has an item's extension but cannot be one, or a folder that hides what lies in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Odd {
    pub(crate) place: diagnostic::Place,
    pub(crate) why: String,
    is_folder: bool,
}

impl Odd {
    pub(crate) fn file(place: diagnostic::Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into(), is_folder: false }
    }

    fn folder(place: diagnostic::Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into(), is_folder: true }
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// Returns the fault as a diagnostic.
    pub(crate) fn diagnostic(&self) -> diagnostic::Diagnostic {
        let path = escape_line(&self.place.path);
        let (message, help) = match self.is_folder {
            true => (
                format!("what lies in `{path}` cannot be listed: {}", self.why),
                "let it be read (`chmod u+rx`), or take it out of `.ai`",
            ),
            false => (
                format!("`{path}` has an item's extension and cannot be one: {}", self.why),
                "rename it, or take it out of `.ai`",
            ),
        };
        diagnostic::Diagnostic {
            code: ODD_FILE,
            message,
            help: Some(help.into()),
            place: Some(self.place.clone()),
            item: None,
            data: serde_json::Map::new(),
        }
    }
}

/// The files of a kind in one root, sorted by ref.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    pub(crate) odd: Vec<Odd>,
}

/// A thing that a walk meets below a root.
enum Met {
    File,
    /// A link, a pipe, a device.
    Special,
    /// A folder that can be entered by name, and cannot be listed; with why.
    Unreadable(String),
}

impl Spaces {
    /// The one item whose file has this name, in the nearest space that has one; and the file.
    pub(crate) fn with_file_name(
        &self,
        name: &str,
        types: &FileTypes,
    ) -> Option<(Ref, diagnostic::Place)> {
        let (stem, ext) = name.rsplit_once('.')?;
        for root in self.nearest_first().filter(|root| !root.is_embedded()) {
            let listed = Kind::ALL.into_iter().filter_map(|kind| root.list(kind, types).ok());
            let mut named = listed.flat_map(|listing| listing.entries).filter(|entry| {
                entry.ext == ext && entry.item.id.name() == stem && !entry.item.is_about_keys()
            });
            if let Some(entry) = named.next() {
                let place = root.shown(&entry.relative());
                return named.next().is_none().then_some((entry.item, place));
            }
        }
        None
    }
}

impl Root {
    /// Lists the items of `kind`, without reading any.
    pub(crate) fn list(&self, kind: Kind, types: &FileTypes) -> Result<Listing, SpaceError> {
        self.list_below(kind, "", types)
    }

    /// Lists the items of `kind` whose ids begin with the segments `below`, if there are any.
    pub(crate) fn list_below(
        &self,
        kind: Kind,
        below: &str,
        types: &FileTypes,
    ) -> Result<Listing, SpaceError> {
        let mut listing = Listing::default();
        match self.place() {
            RootPlace::Embedded => {
                let prefix = format!("{}/", kind.folder());
                let files = EMBEDDED.iter().filter_map(|file| file.path.strip_prefix(&prefix));
                let is_below = |relative: &&str| {
                    let rest = relative.strip_prefix(below);
                    below.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
                };
                for relative in files.filter(is_below) {
                    self.add(&mut listing, kind, types, relative, false);
                }
            }
            RootPlace::Disk(None) => {}
            RootPlace::Disk(Some(_)) => {
                let more = self.walk(kind, below, &mut |relative, met| {
                    match met {
                        Met::File => self.add(&mut listing, kind, types, relative, false),
                        Met::Special => self.add(&mut listing, kind, types, relative, true),
                        Met::Unreadable(why) => {
                            let path = format!("{}/{relative}", kind.folder());
                            let place = self.shown(path.trim_end_matches('/'));
                            listing.odd.push(Odd::folder(place, why));
                        }
                    }
                    listing.entries.len() < LISTED_FILES
                })?;
                if !more {
                    let why = format!("more than {LISTED_FILES} files; the rest is not listed");
                    listing.odd.push(Odd::folder(self.shown(kind.folder()), why));
                }
            }
        }
        listing.entries.sort();
        self.report_clashes(&mut listing, kind);
        Ok(listing)
    }

    /// Ids that differ in case alone are one file on other systems.
    fn report_clashes(&self, listing: &mut Listing, kind: Kind) {
        let mut seen: HashMap<String, &Entry> = HashMap::new();
        for entry in &listing.entries {
            let folded = entry.item.id.as_str().to_ascii_lowercase();
            let Some(first) = seen.insert(folded, entry) else { continue };
            if first.item == entry.item {
                continue;
            }
            let path = format!("{}/{}.{}", kind.folder(), entry.item.id, entry.ext);
            let why = format!("`{}` differs from `{}` in case alone", entry.item, first.item);
            listing.odd.push(Odd::file(self.shown(&path), why));
        }
    }

    /// The test specs beside the items of `kind`, sorted, without reading any; the extension of
    /// each is `test.yaml` or `test.yml`. The embedded space has none.
    ///
    /// # Errors
    /// `space.symlink`
    pub(crate) fn specs(&self, kind: Kind) -> Result<Vec<Entry>, SpaceError> {
        let mut specs = Vec::new();
        if let RootPlace::Disk(Some(_)) = self.place() {
            self.walk(kind, "", &mut |relative, _| {
                let spec =
                    relative.rsplit_once('.').filter(|(id, ext)| is_test_spec(kind, id, ext));
                let named = spec.and_then(|(id, ext)| Some((id.strip_suffix(".test")?, ext)));
                if let Some((id, ext)) = named
                    && let Ok(id) = id.parse()
                {
                    let (item, ext) = (Ref::new(kind, id), format!("test.{ext}"));
                    specs.push(self.entry_of(item, ext));
                }
                specs.len() < LISTED_FILES
            })?;
        }
        specs.sort();
        Ok(specs)
    }

    fn entry_of(&self, item: Ref, ext: String) -> Entry {
        Entry { item, space: self.space(), bundle: self.bundle().cloned(), ext }
    }

    /// Hands each file below the kind's folder, and there `below`, to `each`, by its path from the
    /// kind's folder, and each folder that cannot be listed, until `each` has enough; false if it
    /// had.
    fn walk(
        &self,
        kind: Kind,
        below: &str,
        each: &mut dyn FnMut(&str, Met) -> bool,
    ) -> Result<bool, SpaceError> {
        let top = self.path(kind.folder());
        if top.symlink_metadata().is_ok_and(|m| m.is_symlink()) {
            return Err(SpaceError::Symlink { place: self.shown(kind.folder()) });
        }
        let from = top.join(below);
        if from.symlink_metadata().is_ok_and(|m| m.is_symlink()) {
            return Err(SpaceError::Symlink {
                place: self.shown(&format!("{}/{below}", kind.folder())),
            });
        }
        let files = WalkDir::new(&from).max_depth(WALK_DEPTH).follow_links(false);
        for file in files.into_iter().filter_entry(|e| !is_hidden(e.path(), &top)) {
            let (path, met) = match &file {
                Ok(file) if file.file_type().is_dir() => continue,
                Ok(file) if file.file_type().is_file() => (file.path(), Met::File),
                Ok(file) => (file.path(), Met::Special),
                Err(error) => {
                    let (path, io) = (error.path().unwrap_or(&from), error.io_error());
                    // What is gone by now hides nothing.
                    let Some(io) = io.filter(|io| io.kind() != ErrorKind::NotFound) else {
                        continue;
                    };
                    (path, Met::Unreadable(io.to_string()))
                }
            };
            let relative = path.strip_prefix(&top).unwrap_or(path);
            if !each(&relative.to_string_lossy(), met) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The item that a file at the relative path below `.ai` is, or would be.
    pub(crate) fn entry(&self, relative: &str, types: &FileTypes) -> Option<Entry> {
        let kind = Kind::ALL.into_iter().find_map(|kind| {
            let inner = relative.strip_prefix(kind.folder())?.strip_prefix('/')?;
            Some((kind, inner))
        });
        let (kind, inner) = kind?;
        let mut listing = Listing::default();
        self.add(&mut listing, kind, types, inner, false);
        listing.entries.pop()
    }

    fn add(&self, to: &mut Listing, kind: Kind, types: &FileTypes, relative: &str, special: bool) {
        let Some((id, ext)) = relative.rsplit_once('.') else { return };
        if is_test_spec(kind, id, ext) || types.find(kind, ext).is_none() {
            return;
        }
        let place = || self.shown(&format!("{}/{relative}", kind.folder()));
        match id.parse::<ItemId>() {
            Ok(_) if special => {
                to.odd.push(Odd::file(place(), "it is not a regular file"));
            }
            Ok(id) => {
                let item = Ref::new(kind, id);
                to.entries.push(self.entry_of(item, ext.to_owned()));
            }
            Err(error) => to.odd.push(Odd::file(place(), error.to_string())),
        }
    }
}

/// `<item>.test.yaml` beside a tool or a directive says how it is tested; it is no item, for no
/// door.
pub(crate) fn is_test_spec(kind: Kind, id: &str, ext: &str) -> bool {
    let stem = id.rsplit_once('.').map(|(_, end)| end);
    let tested = matches!(kind, Kind::Tool | Kind::Directive);
    tested && stem == Some("test") && matches!(ext, "yaml" | "yml")
}

/// Hidden files and folders are never items: no id segment begins with a dot.
fn is_hidden(path: &Path, top: &Path) -> bool {
    path != top && path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ai_folders;

    #[test]
    fn ai_folders_table() {
        let rows: [(&str, &[(&str, &str)]); 7] = [
            (".ai/tools/x.py", &[("", "tools/x.py")]),
            ("/p/.ai/tools/x.py", &[("/p", "tools/x.py")]),
            ("a/.ai/tools/f/.ai/x", &[("a", "tools/f/.ai/x"), ("a/.ai/tools/f", "x")]),
            ("a/.ai", &[("a", "")]),
            (".ai", &[("", "")]),
            ("a.ai/x", &[]),
            ("src/main.rs", &[]),
        ];
        for (path, want) in rows {
            let found: Vec<_> = ai_folders(Path::new(path)).collect();
            let want: Vec<_> = want.iter().map(|(a, b)| (Path::new(a), Path::new(b))).collect();
            assert_eq!(found, want, "{path}");
        }
    }
}
