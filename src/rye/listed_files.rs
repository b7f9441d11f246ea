//! Files that a tool lists: they are covered by its signature and are no items of their own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::call_policy::CallPolicy;
use super::facade::Rye;
use super::items::Items;
use crate::base::Digest;
use crate::base::parallel::parallel;
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::parse::{Item, listed_files, may_list_files};
use crate::resolve::Found;
use crate::signature::has_no_line;
use crate::space::{Entry, FileTypes, RelPath, Root, Spaces};
use crate::trace::Quiet;
use crate::verify::{FileList, PartFinding, Refused, Source, path_below_base};

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

/// Files by their paths.
pub(super) type Files = BTreeMap<String, Cow<'static, [u8]>>;

/// What a tool's header lists, and the folder that its paths begin at, below the one that holds
/// `.ai`.
#[derive(Debug)]
pub(super) struct ListedFiles {
    /// The tool's own file, which no pattern of its own means.
    own: String,
    folder: String,
    listed: FileList,
}

impl ListedFiles {
    /// What a tool's text lists or means, signed or not; the folder is not looked at.
    pub(super) fn new(
        types: &FileTypes,
        space: Space,
        item: &Ref,
        ext: &str,
        text: &str,
    ) -> Option<Self> {
        let style = types.find(item.kind, ext).map(|file_type| file_type.header)?;
        let listed = listed_files(text, &style)?;
        let own = path_below_base(item, ext);
        let folder = listed.root.folder(&own, space)?.to_owned();
        Some(Self { own, folder, listed })
    }

    /// The same of a file that was found; `None` for what is not a tool.
    pub(super) fn from_found(rye: &Rye, found: &Found) -> Option<Self> {
        let text = std::str::from_utf8(&found.bytes).ok();
        let text = text.filter(|_| found.item.kind == Kind::Tool)?;
        Self::new(&rye.types, found.space, &found.item, &found.ext, text)
    }

    /// The same of a tool as it lies there now.
    fn from_entry(rye: &Rye, tool: &Entry) -> Option<Self> {
        let root = rye.spaces.home(tool.space, tool.bundle.as_ref())?;
        let bytes = root.read(&tool.relative()).ok()??;
        let text = std::str::from_utf8(&bytes).ok().filter(|text| may_list_files(text))?;
        Self::new(&rye.types, tool.space, &tool.item, &tool.ext, text)
    }

    /// The same by the path below `.ai`.
    pub(super) fn lists_below_ai(&self, path: &str) -> bool {
        self.lists(&format!(".ai/{path}"))
    }

    /// The folder that the paths begin at, below `.ai`; `None` for the one that holds `.ai`.
    pub(super) fn below_ai(&self) -> Option<&str> {
        self.folder.strip_prefix(".ai/")
    }

    /// Whether the list was filled by a signature and does not have the path, which a pattern
    /// brought in.
    pub(super) fn is_unknown(&self, path: &str) -> bool {
        let digests = &self.listed.digests;
        !digests.is_empty() && !digests.keys().any(|known| known.as_str() == path)
    }

    /// The files as they lie there now, by their paths.
    pub(super) fn now(&self, root: &Root, item: &Ref, ext: &str) -> Files {
        self.listed.now(root, item, ext)
    }

    /// Whether the entry is one of the files.
    pub(super) fn holds(&self, entry: &Ref, ext: &str) -> bool {
        self.lists(&path_below_base(entry, ext))
    }

    /// The same by the path below the folder that holds `.ai`.
    fn lists(&self, path: &str) -> bool {
        if path == self.own {
            return false;
        }
        let below = match self.folder.as_str() {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        below.is_some_and(|below| {
            self.listed.means(below) || self.listed.digests.keys().any(|p| p.as_str() == below)
        })
    }
}

/// What tools of a project list that lies outside of `.ai`.
#[derive(Debug, Default)]
pub(crate) struct ListedOutside(Vec<ListedFiles>);

impl ListedOutside {
    /// Whether one of the tools lists or means the path, which is below the folder that holds
    /// `.ai`.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.0.iter().any(|beside| beside.lists(path))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The digests that a version of the file lists; none where its paths begin at another folder.
pub(super) fn listed_digests(found: &Found, last: &Source) -> BTreeMap<RelPath, Option<Digest>> {
    let listed = |text: &str| listed_files(text, &found.file_type.header);
    let now = std::str::from_utf8(&found.bytes).ok().and_then(listed);
    let old = listed(last.text()).filter(|old| now.is_none_or(|now| now.root == old.root));
    old.map(|old| old.digests).unwrap_or_default()
}

/// Files by name that are not those which the last known version lists, and what is the matter with
/// each: all of them where there is none, or where its paths begin at another folder.
pub(super) fn unlike(found: &Found, files: &Files, last: Option<&Source>) -> Vec<PartFinding> {
    let known = last.map(|last| listed_digests(found, last)).unwrap_or_default();
    let mut findings = Vec::new();
    for (name, bytes) in files {
        match known.iter().find(|(path, _)| path.as_str() == name) {
            Some((_, digest)) if *digest == Some(Digest::of(bytes)) => {}
            Some(_) => findings.push(PartFinding::Changed(name.clone())),
            None => findings.push(PartFinding::Extra(name.clone())),
        }
    }
    let gone = known.keys().filter(|path| !files.contains_key(path.as_str()));
    findings.extend(gone.map(|path| PartFinding::Missing(path.to_string())));
    findings
}

/// A file that an item's signature covers.
#[derive(Debug)]
pub(crate) struct Covered {
    /// Below the folder that holds `.ai`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl Items<'_> {
    /// What the tools among the entries list that lies outside of `.ai`.
    pub(crate) fn outside(self, entries: &[Entry]) -> ListedOutside {
        let tools = entries.iter().filter(|entry| entry.item.kind == Kind::Tool);
        let beside = tools.filter_map(|tool| ListedFiles::from_entry(self.rye, tool));
        ListedOutside(beside.filter(|beside| beside.folder.is_empty()).collect())
    }

    /// The entries without those that lie there as files of a tool. Who has a signature line of
    /// their own is always an item: an unsigned header cannot hide it.
    pub(super) fn without_parts(self, entries: Vec<Entry>) -> Vec<Entry> {
        // Each file is read once; with many the waiting for the disk is shared.
        let looked: Vec<(Entry, Looked)> = match entries.len() > TOGETHER {
            true => parallel(entries, |entry| self.look(entry)),
            false => entries.into_iter().map(|entry| self.look(entry)).collect(),
        };
        let (mut entries, mut listing) = (Vec::new(), Vec::new());
        let mut unsigned = HashSet::new();
        for (entry, looked) in looked {
            if looked.is_shipped_part {
                continue;
            }
            if looked.is_unsigned {
                unsigned.insert(entry.clone());
            }
            if looked.may_list {
                listing.push(entry.clone());
            }
            entries.push(entry);
        }
        // Headers are parsed only where something may be left out by them.
        let spaces: HashSet<Space> = unsigned.iter().map(|entry| entry.space).collect();
        listing.retain(|entry| spaces.contains(&entry.space));
        let tools = self.beside(listing);
        entries.retain(|entry| !unsigned.contains(entry) || !is_part(entry, &tools));
        entries
    }

    /// Those of the entries, tools without a signature line, that lie there as files of other
    /// tools, which may be unsigned themselves.
    pub(crate) fn files_of<'e>(
        self,
        unsigned: impl Iterator<Item = &'e Entry>,
        tools: Vec<Entry>,
    ) -> HashSet<Entry> {
        let mut unsigned = unsigned.filter(|entry| entry.item.kind == Kind::Tool).peekable();
        let tools = if unsigned.peek().is_some() { self.beside(tools) } else { HashMap::new() };
        unsigned.filter(|entry| is_part(entry, &tools)).cloned().collect()
    }

    /// What each tool of the spaces lists.
    pub(super) fn listing(
        self,
        spaces: impl Iterator<Item = Space>,
    ) -> HashMap<Entry, ListedFiles> {
        let tools = |space| self.names(space, Kind::Tool).unwrap_or_default();
        self.beside(spaces.flat_map(tools).collect())
    }

    /// A tool that lists the file at a real path, wherever below the folder of its `.ai` it lies.
    pub(crate) fn tool_with_file(self, real: &Path) -> Option<Ref> {
        let lists = |(tool, beside): &(Entry, ListedFiles)| {
            let root = self.rye.spaces.home(tool.space, tool.bundle.as_ref());
            let base = root.and_then(|root| root.base().canonicalize().ok());
            let below = base.as_deref().and_then(|base| real.strip_prefix(base).ok()?.to_str());
            below.is_some_and(|below| beside.lists(below))
        };
        let spaces = Space::NEAREST_FIRST.into_iter().filter(|space| self.is_read(*space));
        let tools = self.listing(spaces).into_iter().filter(lists);
        tools.map(|(tool, _)| tool.item).min()
    }

    /// What each of the tools lists.
    pub(super) fn beside(self, tools: Vec<Entry>) -> HashMap<Entry, ListedFiles> {
        let beside = |tool| Some((ListedFiles::from_entry(self.rye, &tool)?, tool));
        tools.into_iter().filter_map(beside).map(|(beside, tool)| (tool, beside)).collect()
    }

    /// The files beside an item that its signature covers, as they are now, by their names.
    pub(super) fn files_beside(self, found: &Found) -> Files {
        let root = self.rye.spaces.home(found.space, found.bundle.as_ref());
        let files = root.zip(ListedFiles::from_found(self.rye, found));
        files.map(|(root, beside)| beside.now(root, &found.item, &found.ext)).unwrap_or_default()
    }

    /// The item's own file and those that its header lists, all of them verified; a warning of dev
    /// mode is a refusal here.
    ///
    /// # Errors
    /// Those of verifying and parsing it.
    pub(crate) fn signed_files(self, found: Found) -> Result<Vec<Covered>, Failure> {
        let policy = CallPolicy::strict(self.rye);
        let loader = policy.loader(&Quiet);
        let bytes = found.bytes.to_vec();
        let (source, _) = loader.admit(found)?;
        let own = Covered { path: source.path_below_base(), bytes, is_program: false };
        let beside = source.parts().iter().map(|part| {
            let origin = source.parts_origin(&part.path);
            let path = origin.strip_prefix(source.base()).unwrap_or(&origin);
            Covered {
                path: path.display().to_string(),
                bytes: part.bytes.to_vec(),
                is_program: part.is_program,
            }
        });
        Ok([own].into_iter().chain(beside).collect())
    }

    fn look(self, entry: Entry) -> (Entry, Looked) {
        let root = self.rye.spaces.home(entry.space, entry.bundle.as_ref());
        let read = root.and_then(|root| root.read(&entry.relative()).ok().flatten());
        let (Some(root), Some(bytes), Some(file_type)) =
            (root, read, self.rye.types.find(entry.item.kind, &entry.ext))
        else {
            return (entry, Looked::default());
        };
        let has_no_line = has_no_line(&bytes, &file_type.comment);
        let may_list =
            entry.item.kind == Kind::Tool && std::str::from_utf8(&bytes).is_ok_and(may_list_files);
        let is_embedded = root.is_embedded();
        let looked = Looked {
            is_shipped_part: is_embedded && has_no_line,
            is_unsigned: !is_embedded && has_no_line,
            may_list: !is_embedded && may_list,
        };
        (entry, looked)
    }
}

/// From so many files on they are read on all cores: a thread costs as much as reading ten.
const TOGETHER: usize = 64;

/// What a glance at a file tells; nothing of one that cannot be read.
#[derive(Default)]
struct Looked {
    /// Every shipped item is signed; what is not is a file of one.
    is_shipped_part: bool,
    is_unsigned: bool,
    /// A tool that may list files.
    may_list: bool,
}

/// Whether an entry without a signature line lies there as a file of one of the tools. Of two that
/// list each other neither is a file of the other.
pub(super) fn is_part(entry: &Entry, tools: &HashMap<Entry, ListedFiles>) -> bool {
    listers(entry, tools).next().is_some()
}

/// The tools of which the entry is a file, if it has no signature line.
pub(super) fn listers<'t>(
    entry: &Entry,
    tools: &'t HashMap<Entry, ListedFiles>,
) -> impl Iterator<Item = &'t Entry> {
    let own = tools.get(entry);
    let lists = move |(tool, beside): &(&Entry, &ListedFiles)| {
        let lists_it = || own.is_some_and(|own| own.holds(&tool.item, &tool.ext));
        let together = (tool.space, &tool.bundle) == (entry.space, &entry.bundle);
        together && beside.holds(&entry.item, &entry.ext) && !lists_it()
    };
    tools.iter().filter(lists).map(|(tool, _)| tool)
}
