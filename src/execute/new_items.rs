//! New items of a tool that may make some (`items: write`).
//!
//! The tool puts them into a private folder. When it is done, what is not there yet is taken over
//! into the project; the items that are there are never open to it, at any level, and none of them
//! stops working by what is new.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::base::bytes::{Bounded, read_at_most, write_new};
use crate::base::limits::{ID_SEGMENTS, ITEM_BYTES};
use crate::host::Policy;
use crate::id::{ItemId, Kind, Space};
use crate::parse::{DepsScope, Tool, tool_of};
use crate::plan::asks_about;
use crate::space::{FileTypes, HeaderStyle};
use crate::verify::PartsRoot;

/// New items that one run may leave (`items: write`), with folders and hidden names, and the bytes
/// of the items: they are held in memory while they are taken over, and a person reads each.
const NEW_ITEMS: usize = 1_000;
const NEW_ITEMS_BYTES: usize = 64 << 20;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes the folder of each kind in the private one; `kinds` are those of the project.
///
/// # Errors
/// An error of the file system.
pub(super) fn make(private: &Path, kinds: &[PathBuf]) -> io::Result<()> {
    let mut names = kinds.iter().filter_map(|kind| kind.file_name());
    names.try_for_each(|name| DirBuilder::new().mode(0o700).create(private.join(name)))
}

/// Puts each file of the private folder into its place in the project. Hidden files stay behind.
///
/// # Errors
/// Nothing is taken over where one of them is there already, is not a regular file, is too large or
/// would stop an item that is there; else what the file system says. Nothing stays in place then.
pub(super) fn take_over(private: &Path, policy: &Policy) -> io::Result<()> {
    let kinds = &policy.new_items;
    let mut made = Made { items: Vec::new(), names: 0, bytes: 0 };
    for name in kinds.iter().filter_map(|kind| kind.file_name()) {
        let folder = openat(CWD, private.join(name), FOLDER, Mode::empty())?;
        made.collect(&folder, Path::new(name))?;
    }
    let Some(path) = kinds.first().and_then(|kind| kind.parent()) else { return Ok(()) };
    if made.items.is_empty() {
        return Ok(());
    }
    // Where the space lies may be a link of the person's own (core 1.5).
    let root = openat(CWD, path, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
    let mut there = There::new(path, policy)?;
    made.items.iter().try_for_each(|item| there.admit(&root, item))?;
    let mut placed = Vec::new();
    let done = made.items.iter().try_for_each(|item| item.place(&root, &mut placed));
    if done.is_err() {
        for (path, flags) in placed.iter().rev() {
            let folder = folder_of(&root, path);
            let _ = folder.and_then(|f| unlinkat(f, path.file_name().unwrap_or_default(), *flags));
        }
    }
    done
}

/// Opens the folder that holds what lies at `path` below `root`; no step follows a link.
fn folder_of(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = openat(root, ".", FOLDER, Mode::empty())?;
    for name in path.parent().into_iter().flat_map(Path::components) {
        folder = openat(&folder, name.as_os_str(), FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

fn told(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("`.ai/{}` {why}", path.display()))
}

fn not_made(path: &Path, error: &io::Error) -> io::Error {
    told(path, &format!("cannot be made: {error}"))
}

struct Item {
    /// Below `.ai`.
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Item {
    /// Each file and folder made is added to `placed`, with the flags that remove it.
    fn place(&self, root: &OwnedFd, placed: &mut Vec<(PathBuf, AtFlags)>) -> io::Result<()> {
        let failed = |error: io::Error| not_made(&self.path, &error);
        let mut steps: Vec<&Path> = self.path.ancestors().skip(1).collect();
        steps.pop();
        for step in steps.into_iter().rev() {
            let folder = folder_of(root, step).map_err(|error| failed(error.into()))?;
            let name = step.file_name().unwrap_or_default();
            match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => placed.push((step.to_owned(), AtFlags::REMOVEDIR)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        let folder = folder_of(root, &self.path).map_err(|error| failed(error.into()))?;
        let name = self.path.file_name().unwrap_or_default();
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        write_new(&path, &self.bytes, 0o644).map_err(failed)?;
        placed.push((self.path.clone(), AtFlags::empty()));
        Ok(())
    }
}

/// Returns true if an `.ai` folder has an item of the id that a path there would have.
fn holds(folder: &Path, path: &Path) -> bool {
    let Some(parent) = path.parent() else { return false };
    let Ok(entries) = std::fs::read_dir(folder.join(parent)) else { return false };
    let id = path.with_extension("");
    entries.flatten().any(|entry| parent.join(entry.file_name()).with_extension("") == id)
}

/// The part of the project that a new item must leave as it is.
struct There {
    /// Paths below `.ai` without their extensions: two files of one are one ambiguous item.
    ids: BTreeSet<PathBuf>,
    root: PathBuf,
    /// Those of the new items.
    new: BTreeSet<PathBuf>,
    /// Tools that list files or ask that modules are covered, each with its path from the folder
    /// that holds `.ai`.
    tools: Vec<(String, Tool)>,
    /// Other `.ai` folders: an item of the project stands before theirs.
    others: Vec<PathBuf>,
}

impl There {
    fn new(root: &Path, policy: &Policy) -> io::Result<Self> {
        let others = policy.other_items.clone();
        let (ids, new) = (BTreeSet::new(), BTreeSet::new());
        let mut there = Self { root: root.to_owned(), ids, new, tools: Vec::new(), others };
        let mut folders: Vec<_> = policy
            .new_items
            .iter()
            .filter_map(|kind| kind.file_name())
            .map(PathBuf::from)
            .collect();
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(root.join(&folder)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(|error| told(&folder, &error.to_string()))?,
            };
            for entry in entries {
                let entry = entry?;
                let (path, file_type) = (folder.join(entry.file_name()), entry.file_type()?);
                if file_type.is_dir() {
                    folders.push(path);
                    continue;
                }
                if file_type.is_file() && path.starts_with(Kind::Tool.folder()) {
                    there.tools.extend(tool_with_files(root, &path));
                }
                there.ids.insert(path.with_extension(""));
            }
        }
        Ok(there)
    }

    /// # Errors
    /// One sentence that names the item: it is there already, or would stop others.
    fn admit(&mut self, root: &OwnedFd, item: &Item) -> io::Result<()> {
        let path = &item.path;
        let name = path.file_name().unwrap_or_default();
        let found = folder_of(root, path)
            .and_then(|folder| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW));
        match found {
            Ok(_) => return Err(told(path, "is there already, and a tool makes new items only")),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(not_made(path, &error.into())),
        }
        if path.starts_with(Path::new(Kind::Tool.folder()).join("hooks")) {
            return Err(told(path, "would be a hook, which every call asks; a person makes those"));
        }
        let id = path.iter().skip(1).collect::<PathBuf>().with_extension("");
        if id.to_str().and_then(|id| id.parse().ok()).is_some_and(|id: ItemId| id.is_reserved()) {
            return Err(told(path, "would have an id that is reserved for what rye brings"));
        }
        if self.others.iter().any(|other| holds(other, path)) {
            return Err(told(path, "would stand before an item of your own that has its id"));
        }
        let stem = path.with_extension("");
        if self.ids.contains(&stem) || !self.new.insert(stem.clone()) {
            return Err(told(path, "would be a second file of an item"));
        }
        let [tool, directive] = [Kind::Tool, Kind::Directive].map(Kind::folder);
        let other = match stem.strip_prefix(tool) {
            Ok(id) => Some(Path::new(directive).join(id)),
            Err(_) => stem.strip_prefix(directive).ok().map(|id| Path::new(tool).join(id)),
        };
        if other.is_some_and(|other| holds(&self.root, &other)) {
            return Err(told(path, "would share its id with a tool or a directive that is there"));
        }
        let is_spec = stem.extension().is_some_and(|end| end == "test");
        if is_spec && self.ids.contains(&stem.with_extension("")) {
            return Err(told(path, "would be a test spec of an item that somebody else wrote"));
        }
        let whole = format!(".ai/{}", path.display());
        for (at, tool) in &self.tools {
            let below = |root: PartsRoot| {
                let folder = root.folder(at, Space::Project)?;
                Some(whole.strip_prefix(folder)?.trim_start_matches('/'))
            };
            let listed = tool.files.as_ref();
            if listed.is_some_and(|it| below(it.root).is_some_and(|path| it.means(path))) {
                return Err(told(path, &format!("would be one of the files that `{at}` lists")));
            }
            let root = match (&tool.verify_deps, &tool.anchor) {
                (Some(deps), Some(anchor)) if deps.scope == DepsScope::Anchor => anchor.root,
                _ => PartsRoot::ToolDir,
            };
            let deps = tool.verify_deps.as_ref();
            if deps.is_some_and(|it| below(root).is_some_and(|path| asks_about(it, path))) {
                return Err(told(path, &format!("would be a module that `{at}` wants covered")));
            }
        }
        Ok(())
    }
}

/// The tool at `path` below `root`, if it lists files or asks that modules are covered.
fn tool_with_files(root: &Path, path: &Path) -> Option<(String, Tool)> {
    let extension = path.extension()?.to_str()?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(CWD, root.join(path), flags, Mode::empty()).ok()?;
    let Bounded::All(bytes) = read_at_most(&mut std::fs::File::from(opened), ITEM_BYTES, 0).ok()?
    else {
        return None;
    };
    let text = std::str::from_utf8(&bytes).ok()?;
    let header = match FileTypes::default().find(Kind::Tool, extension) {
        Some(built_in) => built_in.header,
        // Of a type that may be registered, the block shows how its comments begin.
        None => {
            let comment = text.lines().find_map(|line| line.trim_end().strip_suffix("/// rye"))?;
            HeaderStyle::Block { comment: comment.trim().to_owned() }
        }
    };
    let tool = tool_of(text, &header)?;
    let is_asked = tool.files.is_some() || tool.verify_deps.is_some();
    Some((format!(".ai/{}", path.to_str()?), tool)).filter(|_| is_asked)
}

/// The items that a run made.
struct Made {
    items: Vec<Item>,
    /// Names that were looked at, those of folders and hidden files among them.
    names: usize,
    bytes: usize,
}

impl Made {
    /// Adds what lies in the folder, which is `below` in `.ai`.
    fn collect(&mut self, folder: &OwnedFd, below: &Path) -> io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.names += 1;
            if self.names > NEW_ITEMS {
                return Err(too_many());
            }
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let path = below.join(name);
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
            let flags = if is_folder { FOLDER } else { OFlags::NOFOLLOW | OFlags::NONBLOCK };
            let opened = openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty());
            let opened = opened.map_err(|_| told(&path, "is not a regular file"))?;
            if is_folder {
                // The first is the folder of the kind.
                if path.components().count() > ID_SEGMENTS {
                    return Err(told(&path, "lies too deep for an item"));
                }
                self.collect(&opened, &path)?;
                continue;
            }
            if !FileType::from_raw_mode(fstat(&opened)?.st_mode).is_file() {
                return Err(told(&path, "is not a regular file"));
            }
            match read_at_most(&mut std::fs::File::from(opened), ITEM_BYTES, 0)? {
                Bounded::All(bytes) => {
                    self.bytes += bytes.len();
                    self.items.push(Item { path, bytes });
                }
                Bounded::More => return Err(told(&path, "is too large for an item")),
            }
            if self.bytes > NEW_ITEMS_BYTES {
                return Err(too_many());
            }
        }
        Ok(())
    }
}

fn too_many() -> io::Error {
    io::Error::other("it made more items than one run may")
}
