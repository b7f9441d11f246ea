//! Writing the lock: what a ref depends on, and what that changes (core 10).

use std::collections::{BTreeMap, BTreeSet};

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::history::Difference;
use super::load::Loader;
use crate::base::parallel::parallel;
use crate::diagnostic::Failure;
use crate::id::{Fingerprint, Kind, Query, Ref, Space};
use crate::lock::{Broken, FoundItem, Lock, Pin};
use crate::space::Root;
use crate::trace::Quiet;
use crate::verify::Source;

/// The change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Same,
    Added,
    /// The row says something else; the rule that a run would meet, if it would meet one.
    Changed(Option<Broken>),
    /// Nothing answers to the ref any more.
    Gone,
    /// Taken out by name.
    Removed,
}

/// One row of the lock, before and after.
#[derive(Debug)]
pub(crate) struct LockRow {
    /// Its name in the lock.
    pub(crate) name: Query,
    pub(crate) change: Change,
    pub(crate) was: Option<Pin>,
    pub(crate) now: Option<Pin>,
    /// Unified; `None` where nothing changed or the locked version is not known here.
    pub(crate) diff: Option<String>,
    /// As `diff`, with a short form of the signature lines, which the pins tell.
    pub(crate) brief: Option<String>,
    source: Option<Source>,
}

/// The changes that writing the lock would make.
#[derive(Debug)]
pub(crate) struct LockReport {
    /// Sorted by ref.
    pub(crate) rows: Vec<LockRow>,
    /// The queries that could not be locked.
    pub(crate) failed: Vec<(String, Failure)>,
}

impl LockReport {
    fn any(&self, is: impl Fn(&Change) -> bool) -> bool {
        self.rows.iter().any(|row| is(&row.change))
    }

    /// Returns true if a row says something else than what is there.
    pub(crate) fn differs(&self) -> bool {
        self.any(|change| matches!(change, Change::Changed(_) | Change::Gone))
    }

    /// Returns true if there is anything to add.
    pub(crate) fn adds(&self) -> bool {
        self.any(|change| *change == Change::Added)
    }
}

/// The project's lock: what it would list, and writing it.
#[derive(Clone, Copy)]
pub(crate) struct Locks<'a> {
    pub(super) rye: &'a Rye,
}

impl Rye {
    /// The project's lock: what it would list, and writing it.
    pub(crate) fn locks(&self) -> Locks<'_> {
        Locks { rye: self }
    }
}

impl<'a> Locks<'a> {
    /// How many rows of the project's lock name this key.
    ///
    /// # Errors
    /// Those of a lock that cannot be read.
    pub(crate) fn signed_by(self, key: Fingerprint) -> Result<usize, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let lock = policy.lock()?;
        Ok(lock.rows().filter(|(_, pin)| pin.signer == key).count())
    }

    /// Those of these items whose row of the project's lock names another key.
    ///
    /// # Errors
    /// Those of a lock that cannot be read.
    pub(crate) fn signed_by_others<'i>(
        self,
        key: Fingerprint,
        items: impl Iterator<Item = &'i Ref>,
    ) -> Result<Vec<Ref>, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let lock = policy.lock()?;
        let differs = |item: &&Ref| {
            lock.get(&Query::from((*item).clone())).is_some_and(|pin| pin.signer != key)
        };
        Ok(items.filter(differs).cloned().collect())
    }

    /// The changes that locking these would make; without any, every tool and directive of the
    /// project and every row that is there. Nothing is written. Dev mode lets nothing into a lock.
    ///
    /// # Errors
    /// `space.no_project`, `verify.project_not_accepted`, and those of a lock that cannot be read.
    pub(crate) fn survey(self, queries: &[Query]) -> Result<LockReport, Failure> {
        self.rye.sound_types()?;
        let policy = CallPolicy::strict(self.rye);
        let (_, before) = self.lock_to_write(&policy)?;
        let mut gone = BTreeSet::new();
        let loader = policy.loader(&Quiet);
        let queries = match queries {
            [] => {
                let listed = before.rows().map(|(name, _)| name);
                gone.extend(listed.filter(|name| is_gone(loader, name)).cloned());
                let mut all: BTreeSet<Query> =
                    self.lockable()?.into_iter().map(Query::from).collect();
                all.extend(before.rows().map(|(name, _)| name.clone()));
                all.difference(&gone).cloned().collect()
            }
            named => named.to_vec(),
        };
        let found = parallel(queries, |query| {
            let locked = pins(loader, &query, &before);
            locked.map_err(|failure| (query.to_string(), failure))
        });
        let mut failed = Vec::new();
        let mut rows: BTreeMap<String, LockRow> = BTreeMap::new();
        for result in found {
            match result {
                Ok(found) => {
                    for row in found {
                        rows.entry(row.name.to_string()).or_insert(row);
                    }
                }
                Err(error) => failed.push(error),
            }
        }
        for name in gone {
            let was = before.get(&name).cloned();
            let row = LockRow { was, ..LockRow::bare(name.clone(), Change::Gone) };
            rows.insert(name.to_string(), row);
        }
        for row in rows.values_mut() {
            let difference = row_difference(loader, row);
            row.diff = difference.as_ref().map(Difference::whole);
            row.brief = difference.as_ref().map(Difference::brief_whole);
        }
        Ok(LockReport { rows: rows.into_values().collect(), failed })
    }

    /// The rows of the project's lock, each with the space that its item lay in.
    ///
    /// # Errors
    /// `space.no_project`, `verify.project_not_accepted`, and those of a lock that cannot be read.
    pub(crate) fn rows(self) -> Result<Vec<Query>, Failure> {
        let policy = CallPolicy::strict(self.rye);
        let (_, lock) = self.lock_to_write(&policy)?;
        let row = |(name, pin): (&Query, &Pin)| Query { space: Some(pin.space), ..name.clone() };
        Ok(lock.rows().map(row).collect())
    }

    /// The changes that taking these out of the lock would make.
    ///
    /// # Errors
    /// `lock.not_listed`, `space.no_project`, `verify.project_not_accepted`, and those of a lock
    /// that cannot be read.
    pub(crate) fn survey_removal(self, queries: &[Query]) -> Result<LockReport, Failure> {
        let policy = CallPolicy::strict(self.rye);
        let (_, before) = self.lock_to_write(&policy)?;
        let mut rows = Vec::new();
        for query in queries {
            let named = before.rows().filter(|(name, pin)| {
                name.id == query.id
                    && query.kind.is_none_or(|kind| name.kind == Some(kind))
                    && query.space.is_none_or(|space| pin.space == space)
            });
            let known = rows.len();
            rows.extend(named.map(|(name, pin)| {
                let bare = LockRow::bare(name.clone(), Change::Removed);
                LockRow { was: Some(pin.clone()), ..bare }
            }));
            if rows.len() == known {
                let item = Ref::new(query.kind.unwrap_or(Kind::Tool), query.id.clone());
                return Err(before.not_listed(item, None).into());
            }
        }
        Ok(LockReport { rows, failed: Vec::new() })
    }

    /// How many of these the project's lock lists.
    ///
    /// # Errors
    /// Those of a lock that cannot be read.
    pub(crate) fn listed<'i>(self, items: impl Iterator<Item = &'i Ref>) -> Result<usize, Failure> {
        let policy = CallPolicy::new(self.rye, LockMode::Off);
        let lock = policy.lock()?;
        Ok(items.filter(|item| lock.get(&Query::from((*item).clone())).is_some()).count())
    }

    /// The changes that the move of an item makes to the lock: its row goes over to the new ref,
    /// and the rows of `changed` items say what they are now. No other row is touched, and none is
    /// added.
    ///
    /// # Errors
    /// `space.no_project`, `verify.project_not_accepted`, and those of a lock that cannot be read;
    /// whatever is wrong with an item.
    pub(crate) fn survey_move(
        self,
        was: &Ref,
        now: &Ref,
        changed: &[Ref],
    ) -> Result<LockReport, Failure> {
        let policy = CallPolicy::strict(self.rye);
        let (_, before) = self.lock_to_write(&policy)?;
        let loader = policy.loader(&Quiet);
        let (old, new) = (Query::from(was.clone()), Query::from(now.clone()));
        let mut rows = Vec::new();
        let mut locked: Vec<Query> = changed.iter().map(|item| Query::from(item.clone())).collect();
        locked.push(new.clone());
        locked.retain(|query| before.get(query).is_some());
        if let Some(pin) = before.get(&old) {
            rows.push(LockRow { was: Some(pin.clone()), ..LockRow::bare(old, Change::Removed) });
            // An earlier move may have come as far as this.
            if !locked.contains(&new) {
                locked.push(new);
            }
        }
        for query in locked {
            let of_item = pins(loader, &query, &before)?;
            rows.extend(of_item.into_iter().filter(|row| row.name == query));
        }
        Ok(LockReport { rows, failed: Vec::new() })
    }

    /// Writes what was surveyed: what is added or removed, and with `changed` also the rows that
    /// say something else. True if the file is another one now.
    ///
    /// # Errors
    /// `lock.io`, `space.no_project`, `verify.project_not_accepted`, `space.too_large`.
    pub(crate) fn write(self, report: &LockReport, changed: bool) -> Result<bool, Failure> {
        // Held from the reading to the writing, so that two calls at once lose no row.
        let _held = Lock::hold(self.rye.spaces().project()?)?;
        let policy = CallPolicy::strict(self.rye);
        let (project, before) = self.lock_to_write(&policy)?;
        let mut lock = before.clone();
        let mut written = Vec::new();
        for row in &report.rows {
            let wanted = match row.change {
                Change::Same => false,
                Change::Added | Change::Removed => true,
                Change::Changed(_) | Change::Gone => changed,
            };
            // A row that another process wrote meanwhile was not the one that was shown.
            if !wanted || lock.get(&row.name) != row.was.as_ref() {
                continue;
            }
            match &row.now {
                Some(now) => lock.insert(row.name.clone(), now.clone()),
                None => drop(lock.remove(&row.name)),
            }
            written.extend(&row.source);
        }
        if lock == before {
            return Ok(false);
        }
        lock.write(project)?;
        // Read anew, so that what the lock lists now is what is kept longest.
        let policy = CallPolicy::strict(self.rye);
        policy.loader(&Quiet).remember(written.into_iter(), true);
        Ok(true)
    }

    /// Every tool and directive of the project, but copies of system items that it holds to the
    /// byte.
    ///
    /// # Errors
    /// `space.*`
    pub(crate) fn lockable(self) -> Result<Vec<Ref>, Failure> {
        let mut all = Vec::new();
        for kind in [Kind::Tool, Kind::Directive] {
            let entries = self.rye.items().list(Space::Project, kind)?;
            let own = entries.into_iter().filter(|entry| !self.rye.items().is_system_copy(entry));
            all.extend(own.map(|entry| entry.item));
        }
        Ok(all)
    }

    /// The rows that nothing answers to any more.
    ///
    /// # Errors
    /// Those of a lock that cannot be read.
    pub(crate) fn gone_rows(self) -> Result<(usize, Vec<Query>), Failure> {
        let policy = CallPolicy::strict(self.rye);
        let lock = policy.lock()?;
        let loader = policy.loader(&Quiet);
        let rows = lock.rows().map(|(name, _)| name);
        let gone = rows.filter(|name| is_gone(loader, name)).cloned().collect();
        Ok((lock.rows().count(), gone))
    }

    fn lock_to_write(self, policy: &CallPolicy<'_>) -> Result<(&'a Root, Lock), Failure> {
        let project = self.rye.spaces().project()?;
        self.rye.project().must_be_accepted()?;
        let lock = policy.lock()?;
        Ok((project, lock.clone()))
    }
}

/// The rows that locking one item makes.
fn pins(loader: Loader<'_>, query: &Query, before: &Lock) -> Result<Vec<LockRow>, Failure> {
    let (source, item) = loader.admit(loader.find(query)?)?;
    let rows = loader.links(source, item, true, |source, version| {
        let name = Lock::name(source.item(), source.space())?;
        let was = before.get(&name).cloned();
        let now = Pin::from_source(source, version)?;
        let change = match &was {
            None => Change::Added,
            Some(was) if *was == now => Change::Same,
            Some(was) => Change::Changed(was.broken(&FoundItem::from(&now), false)),
        };
        // Only what is written is also kept.
        let kept = (change != Change::Same).then(|| source.clone());
        Some(LockRow { was, now: Some(now), source: kept, ..LockRow::bare(name, change) })
    })?;
    Ok(rows.into_iter().flatten().collect())
}

impl LockRow {
    fn bare(name: Query, change: Change) -> Self {
        Self { name, change, was: None, now: None, diff: None, brief: None, source: None }
    }
}

/// Returns true if no item answers to a row any more.
fn is_gone(loader: Loader<'_>, name: &Query) -> bool {
    let Some(kind) = name.kind else { return true };
    let item = Ref::new(kind, name.id.clone());
    loader.resolver(|resolver| match name.space {
        Some(space) => matches!(resolver.in_space(&item, space), Ok(None)),
        None => resolver.copies(&item).is_empty(),
    })
}

/// The difference from the locked version, if that version is known here.
fn row_difference(loader: Loader<'_>, row: &LockRow) -> Option<Difference> {
    let Change::Changed(_) = row.change else { return None };
    let (was, now) = (row.was.as_ref()?, row.now.as_ref()?);
    let query = Query { space: Some(now.space), ..row.name.clone() };
    let found = loader.find(&query).ok()?;
    loader.diff_locked(&found, was).ok()
}
