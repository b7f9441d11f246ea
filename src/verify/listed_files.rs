//! The files beside an item that its signed header lists by digest (core 7.8): one signature covers
//! the tree.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Claim, Reason, Refused};
use super::source::Source;
use crate::base::Digest;
use crate::base::limits::{PARTS, PARTS_BYTES};
use crate::id::{Ref, Space};
use crate::space::{Folder, Glob, RelPath, Root, SpaceError, Spaces, Walked};

/// The folder that listed paths begin at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PartsRoot {
    /// The item's own folder.
    #[default]
    ToolDir,
    /// The folder above it.
    ToolParent,
    /// The folder that holds `.ai`.
    Base,
}

/// The files that a header lists beside its item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileList {
    pub(crate) root: PartsRoot,
    /// Patterns of files; `rye sign` lists the files that they match.
    pub(crate) patterns: Vec<Glob>,
    /// The digest of each file; `None` until the item is signed.
    pub(crate) digests: BTreeMap<RelPath, Option<Digest>>,
    /// Files that are programs.
    pub(crate) programs: Vec<Glob>,
}

/// A file that a signed header covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) path: RelPath,
    pub(crate) digest: Digest,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) is_program: bool,
}

/// A listed file, or one that should be, that is not as the header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartFinding {
    Changed(String),
    Missing(String),
    Extra(String),
    /// A pattern that means no file.
    NoMatch(String),
    /// It was never given a digest: the header was not signed with `rye sign`.
    NotFilled(String),
    /// It is a link, a device, too large, or cannot be read.
    Unusable(String),
    TooMany,
    /// The anchor's `root` is one that this item may not use.
    NoFolder,
    /// The tool lists its own file, which can never hold its own digest.
    Itself(String),
    /// A module of the tool that neither `files` nor a signature line of its own covers.
    Uncovered(String),
}

impl std::fmt::Display for PartFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut say =
            |path: &str, what: &str| write!(f, "`{}` {what}", crate::base::text::escape_line(path));
        match self {
            Self::Changed(path) => say(path, "was changed"),
            Self::Missing(path) => say(path, "is missing"),
            Self::Extra(path) => say(path, "is not listed"),
            Self::NoMatch(pattern) => say(pattern, "matches no file"),
            Self::NotFilled(path) => say(path, "has no digest yet"),
            Self::Unusable(path) => say(path, "is a link, a device, set-id or too large"),
            Self::TooMany => {
                write!(f, "there are more than {PARTS} files, or {} MiB of them", PARTS_BYTES >> 20)
            }
            Self::NoFolder => write!(f, "its anchor begins at a folder that it may not use"),
            Self::Itself(path) => say(path, "is the tool itself"),
            Self::Uncovered(path) => say(path, "is covered by no signature"),
        }
    }
}

impl PartsRoot {
    /// The word for this root in a header.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ToolDir => "tool_dir",
            Self::ToolParent => "tool_parent",
            Self::Base => "project_path",
        }
    }

    /// The folder that this root names for the item whose file lies at `path`; both are relative to
    /// the folder that holds `.ai`. `None` if there is no such folder: only a project's tools may
    /// begin at that folder itself, and a tool without a folder has none above it.
    pub(crate) fn folder(self, path: &str, space: Space) -> Option<&str> {
        let (folder, _) = path.rsplit_once('/')?;
        match self {
            Self::ToolDir => Some(folder),
            // `.ai`, the kind's folder, one of the tool's.
            Self::ToolParent if folder.split('/').count() > 2 => {
                folder.rsplit_once('/').map(|(above, _)| above)
            }
            Self::Base if space == Space::Project => Some(""),
            Self::ToolParent | Self::Base => None,
        }
    }
}

/// Where an item's file lies below the folder that holds `.ai`.
pub(crate) fn path_below_base(item: &Ref, ext: &str) -> String {
    format!(".ai/{}/{}.{ext}", item.kind.folder(), item.id)
}

impl FileList {
    /// The files in the folder that the header lists: those it names, and those its patterns match.
    ///
    /// # Errors
    /// Every entry that cannot be listed.
    pub(crate) fn digests_now(
        &self,
        folder: &Folder<'_>,
        own: &str,
    ) -> Result<BTreeMap<RelPath, Digest>, Vec<PartFinding>> {
        let (mut paths, mut findings) = (BTreeSet::new(), Vec::new());
        // A path that the author wrote must exist; one that only a pattern brought in may be gone.
        paths.extend(self.digests.keys().filter(|p| !self.means(p.as_str())).cloned());
        for walked in self.matched(folder, own).unwrap_or_else(|finding| {
            findings.push(finding);
            Vec::new()
        }) {
            match walked.path.parse() {
                Ok(path) if walked.is_file => drop(paths.insert(path)),
                _ => findings.push(PartFinding::Unusable(walked.path)),
            }
        }
        let is_empty = |pattern: &&Glob| !paths.iter().any(|path| pattern.matches(path.as_str()));
        let empty = self.patterns.iter().chain(&self.programs).filter(is_empty);
        findings.extend(empty.map(|pattern| PartFinding::NoMatch(pattern.text().to_owned())));
        let (mut digests, mut total) = (BTreeMap::new(), 0);
        for path in paths {
            match folder.read_part(&path) {
                _ if path.as_str() == own => findings.push(PartFinding::Itself(path.to_string())),
                Ok(Some(bytes)) => {
                    total += bytes.len();
                    digests.insert(path, Digest::of(&bytes));
                    if total > PARTS_BYTES {
                        break;
                    }
                }
                Ok(None) => findings.push(PartFinding::Missing(path.to_string())),
                Err(_) => findings.push(PartFinding::Unusable(path.to_string())),
            }
        }
        if digests.len() > PARTS || total > PARTS_BYTES {
            findings.push(PartFinding::TooMany);
        }
        if findings.is_empty() { Ok(digests) } else { Err(findings) }
    }

    /// The listed files as they lie there now, without a look at their digests. Files that cannot
    /// be read are left out here; `admit` reports them.
    pub(crate) fn now(
        &self,
        space: &Root,
        item: &Ref,
        ext: &str,
    ) -> BTreeMap<String, Cow<'static, [u8]>> {
        let Ok(Some((folder, own))) = parts_folder(space, item, ext, self.root) else {
            return BTreeMap::new();
        };
        let matched = self.matched(&folder, &own).unwrap_or_default();
        let matched = matched.into_iter().filter_map(|walked| walked.path.parse().ok());
        let paths: BTreeSet<RelPath> = self.digests.keys().cloned().chain(matched).collect();
        let read = |path: RelPath| Some((path.to_string(), folder.read_part(&path).ok()??));
        paths.into_iter().filter_map(read).collect()
    }

    /// Returns true if a pattern matches this path.
    pub(crate) fn means(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(path))
    }

    /// The files of the folder that a pattern matches. The item itself, byte code, hidden folders
    /// and what an editor or a desktop leaves behind never count.
    pub(crate) fn matched(
        &self,
        folder: &Folder<'_>,
        own: &str,
    ) -> Result<Vec<Walked>, PartFinding> {
        let mut found = BTreeSet::new();
        for pattern in &self.patterns {
            let enter = |path: &str| {
                let name = path.rsplit('/').next().unwrap_or(path);
                let depth = path[pattern.prefix().len()..].matches('/').count();
                let is_code = !matches!(name, "__pycache__" | "node_modules");
                !name.starts_with('.') && is_code && pattern.reaches(depth)
            };
            let walked = folder.walk(pattern.prefix(), &enter).ok_or(PartFinding::TooMany)?;
            found.extend(walked.into_iter().filter(|file| {
                file.path != own && !is_of_an_editor(&file.path) && pattern.matches(&file.path)
            }));
        }
        Ok(found.into_iter().collect())
    }

    /// Reads what is listed and compares it.
    fn read(&self, folder: &Folder<'_>, own: &str) -> Result<Vec<Part>, Vec<PartFinding>> {
        let (mut parts, mut findings, mut total) = (Vec::new(), Vec::new(), 0);
        if self.digests.len() > PARTS {
            return Err(vec![PartFinding::TooMany]);
        }
        for (path, digest) in &self.digests {
            let name = || path.to_string();
            let Some(digest) = *digest else {
                findings.push(PartFinding::NotFilled(name()));
                continue;
            };
            match folder.read_part(path) {
                Ok(Some(bytes)) if Digest::of(&bytes) == digest => {
                    total += bytes.len();
                    let is_program = self.programs.iter().any(|p| p.matches(path.as_str()));
                    let bytes = bytes.into();
                    parts.push(Part { path: path.clone(), digest, bytes, is_program });
                }
                Ok(Some(_)) => findings.push(PartFinding::Changed(name())),
                Ok(None) => findings.push(PartFinding::Missing(name())),
                Err(_) => findings.push(PartFinding::Unusable(name())),
            }
            if total > PARTS_BYTES {
                findings.push(PartFinding::TooMany);
                break;
            }
        }
        match self.matched(folder, own) {
            Ok(walked) => findings.extend(
                walked
                    .into_iter()
                    .filter(|w| !self.digests.keys().any(|listed| listed.as_str() == w.path))
                    .map(|w| PartFinding::Extra(w.path)),
            ),
            Err(finding) => findings.push(finding),
        }
        if findings.is_empty() { Ok(parts) } else { Err(findings) }
    }
}

/// Says if editors or desktops leave files of this name beside those that people write.
fn is_of_an_editor(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_swap = || name.rsplit_once(".sw").is_some_and(|(_, end)| end.len() == 1);
    name.ends_with('~')
        || name.starts_with(".#")
        || (name.starts_with('#') && name.ends_with('#'))
        || (name.starts_with('.') && is_swap())
        || matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
}

/// The folder that paths listed by an item begin at, and the item's own path below it. `None` if
/// there is none.
///
/// # Errors
/// `space.symlink`, `space.io`
fn parts_folder<'s>(
    space: &'s Root,
    item: &Ref,
    ext: &str,
    root: PartsRoot,
) -> Result<Option<(Folder<'s>, String)>, SpaceError> {
    let whole = path_below_base(item, ext);
    let Some(folder) = root.folder(&whole, space.space()) else { return Ok(None) };
    let own = whole[folder.len()..].trim_start_matches('/').to_owned();
    let open = match folder.strip_prefix(".ai/") {
        Some(inner) => space.folder(inner)?,
        None => space.base_folder()?,
    };
    Ok(open.map(|open| (open, own)))
}

/// The path of the folder that the listed files of a source begin at, below the folder that holds
/// `.ai`.
pub(crate) fn parts_path(source: &Source) -> String {
    let path = path_below_base(source.item(), source.ext());
    source.parts_root().folder(&path, source.space()).unwrap_or_default().to_owned()
}

impl Source {
    /// See [`parts_folder`].
    ///
    /// # Errors
    /// `space.symlink`, `space.io`
    pub(crate) fn parts_folder<'s>(
        &self,
        spaces: &'s Spaces,
        root: PartsRoot,
    ) -> Result<Option<(Folder<'s>, String)>, SpaceError> {
        match spaces.home(self.space(), self.bundle()) {
            Some(space) => parts_folder(space, self.item(), self.ext(), root),
            None => Ok(None),
        }
    }

    /// Where a listed file lies; a relative path for those of the embedded space.
    pub(crate) fn parts_origin(&self, path: &RelPath) -> PathBuf {
        let own = self.path_below_base();
        // The item was read from this folder, so the folder exists.
        let folder = self.parts_root().folder(&own, self.space()).unwrap_or_default();
        let depth = own[folder.len()..].trim_start_matches('/').split('/').count();
        let up = self.path().ancestors().nth(depth);
        up.unwrap_or(Path::new("")).join(path.as_str())
    }

    /// Where the item's file lies below the folder that holds `.ai`.
    pub(crate) fn path_below_base(&self) -> String {
        path_below_base(self.item(), self.ext())
    }

    /// Adds the files that the source's header lists. Dev mode does not soften this.
    ///
    /// # Errors
    /// `verify.dependency` with every finding.
    pub(crate) fn with_parts(
        self,
        listed: &FileList,
        spaces: &Spaces,
    ) -> Result<Self, Box<Refused>> {
        let read = match self.parts_folder(spaces, listed.root) {
            Ok(Some((folder, own))) => listed.read(&folder, &own),
            Ok(None) => Err(vec![PartFinding::NoFolder]),
            Err(_) => Err(vec![PartFinding::Unusable(self.item().id.folder().to_owned())]),
        };
        match read {
            Ok(parts) => Ok(self.holding(listed.root, parts)),
            Err(findings) => Err(self.lacking(findings)),
        }
    }

    /// The refusal of an item whose files are not as they should be.
    pub(crate) fn lacking(&self, findings: Vec<PartFinding>) -> Box<Refused> {
        let claim = self.signer().map(|signer| Claim {
            key: signer.key,
            owner: signer.owner.clone(),
            at: signer.at,
        });
        let (item, place) = (self.item().clone(), self.place());
        let reason = Reason::Dependency { findings };
        Box::new(Refused { claim, ..Refused::new(item, place, reason) })
    }
}

#[cfg(test)]
mod tests {
    use super::PartsRoot::{Base, ToolDir, ToolParent};
    use crate::id::Space::{Project, User};

    #[test]
    fn each_root_means_one_folder_or_none() {
        let (deep, flat) = (".ai/tools/acme/words/count.py", ".ai/tools/count.py");
        let rows = [
            (ToolDir, deep, User, Some(".ai/tools/acme/words")),
            (ToolParent, deep, User, Some(".ai/tools/acme")),
            (ToolParent, ".ai/tools/acme/count.py", User, Some(".ai/tools")),
            (Base, deep, Project, Some("")),
            (Base, deep, User, None),
            (ToolDir, flat, Project, Some(".ai/tools")),
            (ToolParent, flat, Project, None),
            (Base, flat, Project, Some("")),
        ];
        for (root, path, space, want) in rows {
            assert_eq!(root.folder(path, space), want, "{root:?} {path} {space}");
        }
    }
}
