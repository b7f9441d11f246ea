//! The step itself (core 2.2, 2.3).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::error::ResolveError;
use super::suggest::{Near, suggest};
use crate::diagnostic::{Diagnose, Place};
use crate::id::{BundleName, ItemId, Kind, Query, Ref, Space};
use crate::space::{Entry, FileType, FileTypes, Root, Spaces, is_test_spec};
use crate::trace::{Event, Sink};

/// Bytes at a place, not yet admitted.
///
/// Invariant: `bytes` were read once, from `place`, which is where `item` with `ext` lies in
/// `space`.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) item: Ref,
    pub(crate) ext: String,
    pub(crate) file_type: FileType,
    pub(crate) space: Space,
    /// The bundle of the system space that holds it.
    pub(crate) bundle: Option<BundleName>,
    /// The item lies in the binary, not on disk.
    pub(crate) embedded: bool,
    pub(crate) path: PathBuf,
    /// The folder that holds the space's `.ai`; empty for the embedded space.
    pub(crate) base: PathBuf,
    pub(crate) place: Place,
    pub(crate) bytes: Cow<'static, [u8]>,
    /// The copies that lost, nearest first.
    pub(crate) shadowed: Vec<Place>,
}

impl Found {
    /// The file as an item by its place and name.
    pub(crate) fn entry(&self) -> Entry {
        let (item, bundle, ext) = (self.item.clone(), self.bundle.clone(), self.ext.clone());
        Entry { item, space: self.space, bundle, ext }
    }
}

/// Answers references from the spaces.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    pub(crate) spaces: &'a Spaces,
    pub(crate) types: &'a FileTypes,
    /// Returns true if the person's policy lets a nearer space hold a differing copy of a reserved
    /// id.
    pub(crate) may_shadow: &'a (dyn Fn(&ItemId) -> bool + Sync),
    /// Returns true if names near to one that was not found are looked for once more: each time
    /// every item is listed.
    pub(crate) may_suggest: &'a (dyn Fn() -> bool + Sync),
}

impl Resolver<'_> {
    /// Answers what a person typed: a plain id is looked up as a tool, then as a directive.
    ///
    /// # Errors
    /// `resolve.not_found`, `resolve.ambiguous_kind`, and those of [`Self::resolve`].
    pub(crate) fn answer(&self, query: &Query, sink: &dyn Sink) -> Result<Found, ResolveError> {
        let kinds = match query.kind {
            Some(kind) => vec![kind],
            None => vec![Kind::Tool, Kind::Directive],
        };
        let mut found = Vec::new();
        for kind in kinds {
            let item = Ref::new(kind, query.id.clone());
            let spaces =
                Space::NEAREST_FIRST.into_iter().filter(|s| query.space.is_none_or(|q| q == *s));
            found.extend(self.first(&item, spaces, query.bundle.as_ref(), sink)?);
        }
        if found.len() > 1 {
            let both = found.into_iter().map(|f| f.item).collect();
            return Err(ResolveError::AmbiguousKind { id: query.id.to_string(), both });
        }
        found.pop().ok_or_else(|| self.not_found(query.clone()))
    }

    /// The file that answers `item` in the spaces from `from` downwards, or `None`.
    ///
    /// # Errors
    /// `resolve.ambiguous_file`, `resolve.reserved`, `space.*`.
    pub(crate) fn resolve(
        &self,
        item: &Ref,
        from: Space,
        sink: &dyn Sink,
    ) -> Result<Option<Found>, ResolveError> {
        let spaces = Space::NEAREST_FIRST.into_iter().filter(|space| *space <= from);
        self.first(item, spaces, None, sink)
    }

    /// Every copy of `item`, nearest first, each as if it were alone; for `why`.
    pub(crate) fn copies(&self, item: &Ref) -> Vec<Result<Found, ResolveError>> {
        let roots = self.spaces.nearest_first();
        roots.filter_map(|root| self.in_root(item, root).transpose()).collect()
    }

    /// The copy of one space, as if it were alone. In the system space a bundle answers for what
    /// the space itself has not, and two bundles are two files of one id.
    ///
    /// # Errors
    /// `resolve.ambiguous_file`, `space.*`.
    pub(crate) fn in_space(&self, item: &Ref, space: Space) -> Result<Option<Found>, ResolveError> {
        let own = self.spaces.get(space).map(|root| self.in_root(item, root)).transpose()?;
        if own.as_ref().is_some_and(Option::is_some) || space != Space::System {
            return Ok(own.flatten());
        }
        let mut found: Option<Found> = None;
        for bundle in self.spaces.bundles() {
            let Some(next) = self.in_root(item, bundle)? else { continue };
            if let Some(first) = found {
                let files = vec![first.place, next.place];
                return Err(ResolveError::AmbiguousFile { item: item.clone(), files });
            }
            found = Some(next);
        }
        Ok(found)
    }

    /// Refs near to what was asked for.
    pub(crate) fn near(&self, query: &Query) -> Vec<String> {
        suggest(self, query).refs
    }

    fn not_found(&self, query: Query) -> ResolveError {
        let Near { refs: near, file } = suggest(self, &query);
        let spaces = self.spaces.nearest_first().filter(|root| root.bundle().is_none());
        // Where there is no project, nothing was looked for in one.
        let spaces = spaces.filter(|root| root.space() != Space::Project || root.exists());
        let spaces = spaces.map(Root::space);
        let searched = spaces.filter(|s| query.space.is_none_or(|q| q == *s)).collect();
        let above = self.project_above(&query);
        ResolveError::NotFound { query, searched, near, file, above }
    }

    /// The nearest folder above the project that has a file of the item's name.
    fn project_above(&self, query: &Query) -> Option<PathBuf> {
        let project = self.spaces.get(Space::Project)?.base();
        let kinds = query.kind.map_or(vec![Kind::Tool, Kind::Directive], |kind| vec![kind]);
        let start = format!("{}.", query.id.name());
        let has = |above: &&Path| {
            kinds.iter().any(|kind| {
                let folder = above.join(".ai").join(kind.folder()).join(query.id.folder());
                let mut names = folder.read_dir().into_iter().flatten().flatten();
                names.any(|entry| entry.file_name().to_string_lossy().starts_with(&start))
            })
        };
        project.ancestors().skip(1).find(has).map(Path::to_owned)
    }

    fn first(
        &self,
        item: &Ref,
        spaces: impl Iterator<Item = Space>,
        bundle: Option<&BundleName>,
        sink: &dyn Sink,
    ) -> Result<Option<Found>, ResolveError> {
        let mut winner: Option<Found> = None;
        let mut searched = Vec::with_capacity(3);
        let in_space = |space: Space| match bundle {
            Some(_) => match self.spaces.home(space, bundle) {
                Some(root) => self.in_root(item, root),
                None => Ok(None),
            },
            None => self.in_space(item, space),
        };
        for space in spaces.filter(|space| self.spaces.get(*space).is_some()) {
            searched.push(space);
            let found = match (in_space(space), &mut winner) {
                (Ok(Some(found)), _) => found,
                (Ok(None), _) => continue,
                // A copy that lost cannot break the one that answers.
                (Err(error), Some(winner)) => {
                    winner.shadowed.extend(error.place());
                    continue;
                }
                (Err(error), None) => return Err(error),
            };
            match &mut winner {
                Some(winner) => winner.shadowed.push(found.place),
                None if self.is_passed_over(&found)? => {}
                None => winner = Some(found),
            }
        }
        if let Some(found) = &winner {
            sink.record(Event::Resolve {
                item_id: item.clone(),
                path: found.place.path.clone(),
                space: found.space,
                searched,
                shadowed: found.shadowed.iter().map(shadow_text).collect(),
            });
        }
        Ok(winner)
    }

    /// A copy of a reserved id or of config that is the system's to the byte is passed over;
    /// another copy of a reserved id is refused unless the person's policy lists it (core 2.3).
    ///
    /// # Errors
    /// `resolve.reserved`
    pub(crate) fn is_passed_over(&self, found: &Found) -> Result<bool, ResolveError> {
        let own_config = found.space == Space::User && found.item.is_own_config();
        if !found.item.yields_to_system() || found.space == Space::System || own_config {
            return Ok(false);
        }
        let system = self.spaces.get(Space::System);
        let original = match system {
            Some(root) => self.in_root(&found.item, root)?,
            None => None,
        };
        if original.is_some_and(|o| o.ext == found.ext && o.bytes == found.bytes) {
            return Ok(true);
        }
        if !found.item.id.is_reserved() || (self.may_shadow)(&found.item.id) {
            return Ok(false);
        }
        let (item, place) = (found.item.clone(), found.place.clone());
        Err(ResolveError::Reserved { item, place })
    }

    /// The file of an entry that was listed, without asking for others of its id.
    ///
    /// # Errors
    /// `space.*`
    pub(crate) fn at(&self, entry: &Entry) -> Result<Option<Found>, ResolveError> {
        match self.spaces.home(entry.space, entry.bundle.as_ref()) {
            Some(root) => self.read(&entry.item, &entry.ext, root, &stem(&entry.item)),
            None => Ok(None),
        }
    }

    /// The file that an entry would be with other bytes, whether it is there or not: for judging a
    /// text that is not saved yet.
    #[cfg(feature = "lsp")]
    pub(crate) fn as_if(&self, entry: &Entry, bytes: Vec<u8>) -> Option<Found> {
        let root = self.spaces.home(entry.space, entry.bundle.as_ref())?;
        let file_type = self.types.find(entry.item.kind, &entry.ext)?;
        let relative = stem(&entry.item) + &entry.ext;
        Some(found(&entry.item, &entry.ext, file_type, root, &relative, Cow::Owned(bytes)))
    }

    fn in_root(&self, item: &Ref, root: &Root) -> Result<Option<Found>, ResolveError> {
        // What everything else runs through is never a bundle's.
        if root.bundle().is_some() && item.id.is_reserved() {
            return Ok(None);
        }
        let mut found: Option<Found> = None;
        // One look instead of one for each extension: most folders are in one space only.
        if !root.may_hold(&format!("{}/{}", item.kind.folder(), item.id.folder())) {
            return Ok(None);
        }
        let stem = stem(item);
        for ext in self.types.extensions(item.kind) {
            let Some(next) = self.read(item, ext, root, &stem)? else { continue };
            if let Some(first) = found {
                let files = vec![first.place, next.place];
                return Err(ResolveError::AmbiguousFile { item: item.clone(), files });
            }
            found = Some(next);
        }
        Ok(found)
    }

    /// The file of an item with that extension; `stem` is the item's.
    fn read(
        &self,
        item: &Ref,
        ext: &str,
        root: &Root,
        stem: &str,
    ) -> Result<Option<Found>, ResolveError> {
        if is_test_spec(item.kind, item.id.as_str(), ext) {
            return Ok(None);
        }
        let relative = [stem, ext].concat();
        let Some(bytes) = root.read(&relative)? else { return Ok(None) };
        let Some(file_type) = self.types.find(item.kind, ext) else { return Ok(None) };
        let found = found(item, ext, file_type, root, &relative, bytes);
        match item.is_about_keys() && found.entry().is_proposal() {
            true => Err(ResolveError::Proposal { place: found.place }),
            false => Ok(Some(found)),
        }
    }
}

/// Where an item's files lie below `.ai`, up to their extension.
fn stem(item: &Ref) -> String {
    [item.kind.folder(), "/", item.id.as_str(), "."].concat()
}

fn found(
    item: &Ref,
    ext: &str,
    file_type: FileType,
    root: &Root,
    relative: &str,
    bytes: Cow<'static, [u8]>,
) -> Found {
    Found {
        item: item.clone(),
        ext: ext.to_owned(),
        file_type,
        space: root.space(),
        bundle: root.bundle().cloned(),
        embedded: root.is_embedded(),
        path: root.path(relative),
        base: root.base().to_owned(),
        place: root.shown(relative),
        bytes,
        shadowed: Vec::new(),
    }
}

fn shadow_text(place: &Place) -> String {
    match &place.space {
        Some(space) => format!("{space} {}", place.path),
        None => place.path.clone(),
    }
}
