//! The file `.ai/rye.lock`, and what it is asked.

use std::collections::BTreeMap;
use std::fs::File;

use super::error::{Drift, LockError};
use super::form::other_version;
use super::pin::{FoundItem, Pin};
use crate::base::bytes::write_atomic;
use crate::base::file_lock;
use crate::base::limits::{ITEM_BYTES, LOCK_SIGNS};
use crate::base::text::{position, unfit};
use crate::base::value_count::has_more_signs;
use crate::diagnostic::Place;
use crate::id::{Kind, Query, Ref, Space};
use crate::space::{Root, SpaceError};
use crate::verify::Source;

/// The file's name, below a project's `.ai`.
pub(crate) const LOCK_FILE: &str = "rye.lock";

/// The rows of a lock, each by the name that [`Lock::name`] gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    rows: BTreeMap<Query, Pin>,
}

impl Lock {
    pub(super) fn from_rows(rows: BTreeMap<Query, Pin>) -> Self {
        Self { rows }
    }

    /// Reads the lock of a project; `None` if it has none, or the project is not `accepted`, which
    /// is asked only if something is there.
    ///
    /// # Errors
    /// `lock.malformed`, `lock.version`; `space.*` for a file that cannot be opened as one.
    pub(crate) fn read(
        project: &Root,
        accepted: impl FnOnce() -> Result<bool, LockError>,
    ) -> Result<Option<Self>, LockError> {
        let read = project.read(LOCK_FILE);
        if matches!(read, Ok(None)) || !accepted()? {
            return Ok(None);
        }
        let Some(bytes) = read? else { return Ok(None) };
        let place = project.shown(LOCK_FILE);
        let malformed = |at: Option<usize>, why: String| {
            let place = place.clone();
            let place = match at {
                Some(at) => place.at(position(&bytes, at)),
                None => place,
            };
            LockError::Malformed { place, why }
        };
        let text = std::str::from_utf8(&bytes)
            .map_err(|e| malformed(Some(e.valid_up_to()), "it is not UTF-8".into()))?;
        if let Some(unfit) = unfit(text) {
            let why = format!("it holds the character U+{:04X}", u32::from(unfit.char));
            return Err(malformed(Some(unfit.at), why));
        }
        if has_more_signs(text, LOCK_SIGNS) {
            return Err(malformed(None, "it holds more than any lock".into()));
        }
        match toml::from_str::<Self>(text) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) => {
                if let Some(line) = text.lines().position(|line| line.starts_with("<<<<<<< ")) {
                    return Err(LockError::Conflict { place: place.line(line + 1) });
                }
                if let Some(found) = other_version(text) {
                    return Err(LockError::Version { place, found });
                }
                Err(malformed(error.span().map(|span| span.start), error.message().to_owned()))
            }
        }
    }

    /// The lock that a text holds, strictly.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let is_sound = unfit(text).is_none() && !has_more_signs(text, LOCK_SIGNS);
        toml::from_str(text).ok().filter(|_| is_sound)
    }

    /// Waits until no other process changes the lock, and keeps others waiting for as long as the
    /// value lives.
    ///
    /// # Errors
    /// `lock.io`
    pub(crate) fn hold(project: &Root) -> Result<File, LockError> {
        let path = project.path("");
        File::open(&path)
            .and_then(|folder| file_lock::lock(&folder, &path).map(|()| folder))
            .map_err(|source| LockError::Io { path, source })
    }

    /// Writes the lock: the old file or the whole of the other one, whatever happens.
    ///
    /// # Errors
    /// `space.too_large` for one that could not be read again; `lock.io`.
    pub(crate) fn write(&self, project: &Root) -> Result<(), LockError> {
        let text = self.to_toml();
        if u64::try_from(text.len()).is_ok_and(|len| len > ITEM_BYTES) {
            return Err(SpaceError::TooLarge { place: project.shown(LOCK_FILE) }.into());
        }
        let path = project.path(LOCK_FILE);
        write_atomic(&path, text.as_bytes(), 0o644).map_err(|source| LockError::Io { path, source })
    }

    /// The name of an item's row: its ref; for config, whose copies of several spaces are merged,
    /// its ref and space. `None` for config of the user space: it is each person's own, and no
    /// project can agree on it.
    pub(crate) fn name(item: &Ref, space: Space) -> Option<Query> {
        let query = Query::from(item.clone());
        match (item.kind, space) {
            (Kind::Config, Space::User) => None,
            (Kind::Config, _) => Some(Query { space: Some(space), ..query }),
            _ => Some(query),
        }
    }

    /// The row of an item that answers from `space`.
    pub(crate) fn find(&self, item: &Ref, space: Space) -> Option<&Pin> {
        self.get(&Self::name(item, space)?)
    }

    pub(crate) fn get(&self, row: &Query) -> Option<&Pin> {
        self.rows.get(row)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Query, &Pin)> {
        self.rows.iter()
    }

    pub(crate) fn insert(&mut self, row: Query, pin: Pin) {
        self.rows.insert(row, pin);
    }

    pub(crate) fn remove(&mut self, row: &Query) -> Option<Pin> {
        self.rows.remove(row)
    }

    /// The error of an item that no row lists.
    pub(crate) fn not_listed(&self, item: Ref, place: Option<Place>) -> LockError {
        LockError::NotListed { item, place, any: !self.rows.is_empty() }
    }

    /// Judges an admitted source by the row that lists it. `exact` asks that it is listed and that
    /// nothing differs.
    ///
    /// # Errors
    /// `verify.signer_changed`, `verify.space_changed`, `verify.rolled_back`; with `exact` also
    /// `lock.differs` and `lock.not_listed`.
    pub(crate) fn judge(&self, source: &Source, exact: bool) -> Result<(), LockError> {
        let item = source.item();
        let Some(row) = Self::name(item, source.space()) else { return Ok(()) };
        let Some(locked) = self.get(&row) else {
            if exact {
                return Err(self.not_listed(item.clone(), Some(source.place())));
            }
            return Ok(());
        };
        let found = FoundItem::from_source(source);
        let Some(rule) = locked.broken(&found, exact) else { return Ok(()) };
        let note = source.signer().map(|signer| {
            let owner = signer.owner.as_ref().map(|owner| format!("`{owner}` "));
            format!("signed {} by {}{}", signer.at, owner.unwrap_or_default(), signer.key.short())
        });
        Err(LockError::Drift(Box::new(Drift {
            item: item.clone(),
            place: Place { note, ..source.place() },
            rule,
            locked: locked.clone(),
            found,
            embedded: source.is_embedded(),
        })))
    }
}
