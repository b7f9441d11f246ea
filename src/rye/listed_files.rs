//! Files that a tool lists: they are covered by its signature and are no items of their own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::call_policy::CallPolicy;
use super::facade::Rye;
use super::items::Items;
use crate::base::Digest;
use crate::base::limits::PATTERNS;
use crate::base::parallel::parallel;
use crate::diagnostic::Failure;
use crate::id::{BundleName, Kind, Ref, Space};
use crate::parse::{Item, listed_files, may_list_files};
use crate::resolve::Found;
use crate::signature::has_no_line;
use crate::space::{Entry, FileTypes, Glob, RelPath, Root, Spaces};
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

/// The files that a tool's header lists, and the folder that their paths begin at, below the one
/// that holds `.ai`.
#[derive(Debug)]
pub(super) struct ListedFiles {
    /// The tool's own file, which no pattern of its own means.
    own: String,
    folder: String,
    listed: FileList,
}

impl ListedFiles {
    /// Reads the files that a tool's text lists or means, signed or not; the folder is not looked
    /// at.
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

    /// As [`Self::new`], for a file that was found; `None` if it is not a tool.
    pub(super) fn from_found(rye: &Rye, found: &Found) -> Option<Self> {
        let text = std::str::from_utf8(&found.bytes).ok();
        let text = text.filter(|_| found.item.kind == Kind::Tool)?;
        Self::new(&rye.types, found.space, &found.item, &found.ext, text)
    }

    /// Returns true if it lists or means the path, which is below `.ai`.
    pub(super) fn lists_below_ai(&self, path: &str) -> bool {
        self.lists(&format!(".ai/{path}"))
    }

    /// The folder that the paths begin at, below `.ai`; `None` for the one that holds `.ai`.
    pub(super) fn below_ai(&self) -> Option<&str> {
        self.folder.strip_prefix(".ai/")
    }

    /// Returns true if the list was filled by a signature and does not have the path, which a
    /// pattern brought in.
    pub(super) fn is_unknown(&self, path: &str) -> bool {
        let digests = &self.listed.digests;
        !digests.is_empty() && !digests.keys().any(|known| known.as_str() == path)
    }

    /// The files as they lie there now, by their paths.
    pub(super) fn now(&self, root: &Root, item: &Ref, ext: &str) -> Files {
        self.listed.now(root, item, ext)
    }

    /// Returns true if it lists or means the path, which is below the folder that holds `.ai`.
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

/// The files that tools list, indexed by folder.
#[derive(Debug, Default)]
pub(super) struct Lists {
    tools: HashMap<Entry, ListedBy>,
    /// Of each path below the folder that holds `.ai`, who lists it by name.
    named: HashMap<(Home, String), ListedBy>,
    /// By the folder that they begin at.
    patterns: HashMap<(Home, String), Vec<ListedPattern>>,
}

/// The space, or the bundle in it.
type Home = (Space, Option<BundleName>);

/// A pattern of a tool.
#[derive(Debug)]
struct ListedPattern {
    pattern: Glob,
    /// The folder that the pattern's paths begin at, and the tool's own file.
    folder: String,
    own: String,
    by: ListedBy,
}

/// A tool that lists a file. The least is one whose header is verified, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListedBy {
    is_unverified: bool,
    pub(super) tool: Ref,
}

impl ListedBy {
    /// Says if the header was verified, so that its signature covers the file. An unverified header
    /// is only a claim of its author.
    pub(super) fn covers(&self) -> bool {
        !self.is_unverified
    }
}

impl Lists {
    /// Adds what a tool lists.
    pub(super) fn insert(&mut self, tool: Entry, listed: ListedFiles, is_verified: bool) {
        let by = ListedBy { is_unverified: !is_verified, tool: tool.item.clone() };
        let home: Home = (tool.space, tool.bundle.clone());
        let ListedFiles { own, folder, listed } = listed;
        let whole = |path: &str| match folder.as_str() {
            "" => path.to_owned(),
            folder if path.is_empty() => folder.to_owned(),
            folder => format!("{folder}/{path}"),
        };
        let paths = listed.digests.keys().map(|path| whole(path.as_str()));
        for path in paths.filter(|path| *path != own) {
            let first = self.named.entry((home.clone(), path)).or_insert_with(|| by.clone());
            if by < *first {
                *first = by.clone();
            }
        }
        for pattern in listed.patterns {
            let of_folder =
                self.patterns.entry((home.clone(), whole(pattern.prefix()))).or_default();
            // A signed header lists its files by name as well, beyond this bound.
            if of_folder.len() < PATTERNS {
                let (folder, own, by) = (folder.clone(), own.clone(), by.clone());
                of_folder.push(ListedPattern { pattern, folder, own, by });
            }
        }
        self.tools.insert(tool, by);
    }

    /// The tool of which an entry without a signature line is a file. What lists files itself is an
    /// item, unless a verified header lists it: tools that list each other hide none of them.
    pub(super) fn tool_of(&self, file: &Entry) -> Option<&ListedBy> {
        let home = (file.space, file.bundle.clone());
        let found = self.find(home, &path_below_base(&file.item, &file.ext));
        found.filter(|by| by.covers() || !self.tools.contains_key(file))
    }

    /// A tool that lists or means the path, which is below the folder that holds `.ai`.
    fn find(&self, home: Home, path: &str) -> Option<&ListedBy> {
        let mut key = (home, path.to_owned());
        let mut found: Option<&ListedBy> = self.named.get(&key);
        while !key.1.is_empty() {
            key.1.truncate(key.1.rfind('/').unwrap_or(0));
            for listed in self.patterns.get(&key).into_iter().flatten() {
                let below = path[listed.folder.len()..].trim_start_matches('/');
                if path != listed.own && listed.pattern.matches(below) {
                    found = found.into_iter().chain([&listed.by]).min();
                }
            }
        }
        found
    }
}

/// The files outside of `.ai` that tools of a project list.
#[derive(Debug, Default)]
pub(crate) struct ListedOutside(Lists);

impl ListedOutside {
    /// Returns true if one of the tools lists or means the path, which is below the folder that
    /// holds `.ai`.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.0.find((Space::Project, None), path).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
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
    /// The files outside of `.ai` that the tools among the entries list.
    pub(crate) fn outside(self, entries: &[Entry]) -> ListedOutside {
        let tools = entries.iter().filter(|entry| entry.item.kind == Kind::Tool).cloned();
        let mut lists = Lists::default();
        for (tool, listed) in beside(self.rye, tools) {
            if listed.folder.is_empty() {
                lists.insert(tool, listed, false);
            }
        }
        ListedOutside(lists)
    }

    /// The entries without the files that verified headers list, each with the unverified tool that
    /// lists it. A file with a signature line of its own is always an item.
    pub(super) fn with_tools(self, entries: Vec<Entry>) -> Vec<(Entry, Option<Ref>)> {
        // Each file is read once; with many the waiting for the disk is shared.
        let looked: Vec<(Entry, Looked)> = match entries.len() > TOGETHER {
            true => parallel(entries, |entry| self.look(entry)),
            false => entries.into_iter().map(|entry| self.look(entry)).collect(),
        };
        // Headers are parsed only where something may be a file by them.
        let unsigned = looked.iter().filter(|(_, looked)| looked.is_unsigned);
        let spaces: HashSet<Space> = unsigned.map(|(entry, _)| entry.space).collect();
        let may_list =
            looked.iter().filter(|(entry, it)| it.may_list && spaces.contains(&entry.space));
        let lists = self.lists(may_list.map(|(entry, _)| entry.clone()));
        let kept = looked.into_iter().filter_map(|(entry, looked)| {
            if looked.is_shipped_part {
                return None;
            }
            let by = if looked.is_unsigned { lists.tool_of(&entry) } else { None };
            let by = by.cloned();
            (!by.as_ref().is_some_and(ListedBy::covers)).then(|| (entry, by.map(|by| by.tool)))
        });
        kept.collect()
    }

    /// The files that each tool of the spaces lists.
    pub(super) fn listing(
        self,
        spaces: impl Iterator<Item = Space>,
    ) -> impl Iterator<Item = (Entry, ListedFiles)> {
        beside(
            self.rye,
            spaces.flat_map(move |space| self.names(space, Kind::Tool).unwrap_or_default()),
        )
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
        let tools = self.listing(spaces).filter(lists);
        tools.map(|(tool, _)| tool.item).min()
    }

    /// The files that the tools list, and which headers are verified.
    pub(super) fn lists(self, tools: impl Iterator<Item = Entry>) -> Lists {
        let policy = CallPolicy::plain(self.rye);
        let loader = policy.loader(&Quiet);
        let mut lists = Lists::default();
        for tool in tools {
            let Ok(Some(found)) = loader.file_of(&tool, false) else { continue };
            let Some(listed) = ListedFiles::from_found(self.rye, &found) else { continue };
            let is_verified = loader.verify_alone(found).is_ok_and(|it| it.signer().is_some());
            lists.insert(tool, listed, is_verified);
        }
        lists
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

/// The result of a glance at a file; all false for one that cannot be read.
#[derive(Default)]
struct Looked {
    /// Every shipped item is signed; what is not is a file of one.
    is_shipped_part: bool,
    is_unsigned: bool,
    /// A tool that may list files.
    may_list: bool,
}

/// The files that each of the tools lists now, signed or not.
fn beside(
    rye: &Rye,
    tools: impl Iterator<Item = Entry>,
) -> impl Iterator<Item = (Entry, ListedFiles)> {
    tools.filter_map(move |tool| {
        let root = rye.spaces.home(tool.space, tool.bundle.as_ref())?;
        let bytes = root.read(&tool.relative()).ok()??;
        let text = std::str::from_utf8(&bytes).ok().filter(|text| may_list_files(text))?;
        let listed = ListedFiles::new(&rye.types, tool.space, &tool.item, &tool.ext, text)?;
        Some((tool, listed))
    })
}
