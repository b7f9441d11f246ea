//! The private folder of a run as it will be (core 7.9): which verified bytes lie where in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arguments::plain_path;
use super::error::PlanError;
use super::plan_source::PlanSource;
use crate::chain::{Chain, Link};
use crate::diagnostic::Failure;
use crate::parse::{Anchor, AnchorMode};
use crate::space::RelPath;
use crate::trace::{Event, Sink};
use crate::verify::{PartsRoot, Source};

/// A file that is written to the run's private folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// The path below the private folder.
    pub(crate) path: String,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) is_program: bool,
    /// Where the bytes were read; no path for those of rye itself.
    pub(super) origin: PathBuf,
}

impl Pinned {
    /// The folder that [`TOOL`] is a copy of, with `/` at its end; `None` for a file elsewhere.
    pub(crate) fn authors_folder(&self) -> Option<&str> {
        let below = self.path.strip_prefix(TOOL)?.strip_prefix('/')?;
        self.origin.to_str()?.strip_suffix(below)
    }

    /// Returns true if its first line names this program.
    pub(super) fn asks_for(&self, program: &str) -> bool {
        let line =
            self.bytes.strip_prefix(b"#!").and_then(|rest| rest.split(|b| *b == b'\n').next());
        line.is_some_and(|line| String::from_utf8_lossy(line).contains(program))
    }
}

/// The files of the private folder, and the places in it that templates can name.
///
/// Invariant: every byte in it was verified, or is rye's own.
pub(crate) struct Tree {
    files: Vec<Pinned>,
    places: Places,
}

/// Paths below the private folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) tool: String,
    /// The folder from which the tool's modules load.
    pub(super) anchor: String,
    pub(super) lib: Option<String>,
}

/// The anchor that counts for a chain.
pub(super) struct Anchored<'a> {
    pub(super) anchor: &'a Anchor,
}

/// Where the tool and its files lie in the private folder.
pub(crate) const TOOL: &str = "tool";

/// The files that make a folder the root of modules if an `auto` anchor names no markers.
const MARKERS: [&str; 3] = ["__init__.py", "pyproject.toml", "package.json"];

impl Tree {
    /// The tree of a chain: the tool with its files, further `modules` of it, and the runtimes'
    /// files.
    ///
    /// `modules` are sources that carry a signature line of their own.
    pub(super) fn new(chain: &Chain, anchored: Option<&Anchored<'_>>, modules: &[Source]) -> Self {
        let tool = chain.tool();
        let whole = tool.source.path_below_base();
        // Both were asked for before: a folder that the tool may not use ended the plan.
        let folder_of =
            |root: PartsRoot| root.folder(&whole, tool.source.space()).unwrap_or_default();
        let listed = tool.tool.files.as_ref().map_or(PartsRoot::ToolDir, |listed| listed.root);
        let anchor = anchored.map_or(PartsRoot::ToolDir, |a| a.anchor.root);
        let top = [listed, anchor].into_iter().max_by_key(|root| height(*root)).unwrap_or_default();
        let top = folder_of(top);
        let place = |path: &str| format!("{TOOL}/{}", below(path, top));
        let mut tree = Self {
            files: Vec::new(),
            places: Places {
                tool: place(&whole),
                anchor: place(folder_of(anchor)).trim_end_matches('/').to_owned(),
                lib: lib(chain),
            },
        };
        let own = Arc::from(&tool.source);
        tree.add(tree.places.tool.clone(), own, false, tool.source.path().to_owned());
        tree.add_parts(&tool.source, |path| place(&join(folder_of(listed), path)));
        for module in modules {
            let path = place(&module.path_below_base());
            if tree.files.iter().all(|file| file.path != path) {
                tree.add(path, module.into(), false, module.path().to_owned());
            }
        }
        for (at, link) in chain.links().iter().enumerate().skip(1) {
            tree.add_parts(&link.source, |path| format!("lib{at}/{path}"));
        }
        let script = |path: &str| [".js", ".mjs", ".cjs", ".ts"].iter().any(|e| path.ends_with(e));
        if tree.files.iter().any(|file| script(&file.path)) {
            // Node looks for one in every folder above a script; ours ends that search.
            let bytes = b"{}\n".as_slice().into();
            tree.add("package.json".into(), bytes, false, PathBuf::new());
        }
        tree
    }

    fn add(&mut self, path: String, bytes: Arc<[u8]>, is_program: bool, origin: PathBuf) {
        self.files.push(Pinned { path, bytes, is_program, origin });
    }

    fn add_parts(&mut self, source: &Source, place: impl Fn(&str) -> String) {
        for part in source.parts() {
            let origin = source.parts_origin(&part.path);
            self.add(place(part.path.as_str()), part.bytes.clone(), part.is_program, origin);
        }
    }

    /// The files, the tool first.
    pub(crate) fn files(&self) -> &[Pinned] {
        &self.files
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// The file at a path below the private folder.
    pub(super) fn at(&self, path: &Path) -> Option<&Pinned> {
        self.files.iter().find(|file| Path::new(&file.path) == path)
    }

    /// Returns true if a path below the private folder is a folder in it.
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.files.iter().any(|file| Path::new(&file.path).ancestors().skip(1).any(|f| f == path))
    }

    /// The pinned copy of a file, by the path of the original as it is written: what lies there now
    /// is not asked.
    pub(super) fn copy_of(&self, path: &Path) -> Option<&Pinned> {
        let path = plain_path(path);
        let is_it = |file: &&Pinned| file.origin.is_absolute() && file.origin == path;
        self.files.iter().find(is_it)
    }
}

impl<'a> Anchored<'a> {
    /// The nearest link's anchor, if it counts here.
    ///
    /// # Errors
    /// `plan.bad_config` for a root that the tool may not use; `space.*`.
    pub(super) fn find(
        chain: &'a Chain,
        plan_source: &dyn PlanSource,
        sink: &dyn Sink,
    ) -> Result<Option<Self>, Failure> {
        let mut declared = chain.links().iter().enumerate();
        let declared = declared.find_map(|(at, link)| Some((at, link.tool.anchor.as_ref()?)));
        let Some((link, anchor)) = declared else { return Ok(None) };
        let tool = chain.tool();
        let counts = match anchor.mode {
            AnchorMode::Never => false,
            AnchorMode::Always => true,
            AnchorMode::Auto => is_marked(tool, anchor, plan_source)?,
        };
        sink.record(Event::Anchor {
            declared_by: chain.links()[link].item().clone(),
            root: anchor.root.name(),
            counts,
        });
        if counts && plan_source.parts_folder(&tool.source, anchor.root)?.is_none() {
            return Err(PlanError::BadConfig {
                item: tool.item().clone(),
                pointer: "/anchor/root",
                why: format!("is `{}`, a folder that this item may not use", anchor.root.name()),
            }
            .into());
        }
        Ok(counts.then_some(Self { anchor }))
    }
}

/// `{runtime_lib}`: the folder that the nearest runtime names whose anchor has one, in force or
/// not.
fn lib(chain: &Chain) -> Option<String> {
    let mut links = chain.links().iter().enumerate().skip(1);
    let named = links.find_map(|(at, link)| Some((at, link.tool.anchor.as_ref()?.lib.as_ref()?)));
    named.map(|(at, lib)| format!("lib{at}/{lib}"))
}

fn is_marked(tool: &Link, anchor: &Anchor, plan_source: &dyn PlanSource) -> Result<bool, Failure> {
    let Some((folder, _)) = plan_source.parts_folder(&tool.source, anchor.root)? else {
        return Ok(false);
    };
    let usual = || MARKERS.iter().filter_map(|name| name.parse::<RelPath>().ok()).collect();
    let markers = if anchor.markers.is_empty() { usual() } else { anchor.markers.clone() };
    Ok(markers.iter().any(|marker| folder.holds(marker)))
}

fn height(root: PartsRoot) -> u8 {
    match root {
        PartsRoot::ToolDir => 0,
        PartsRoot::ToolParent => 1,
        PartsRoot::Base => 2,
    }
}

fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
}

pub(super) fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}
