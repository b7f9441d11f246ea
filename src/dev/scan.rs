//! One scan of the project: what changed since the last one, and what is done about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::DevEvent;
use super::git_state::GitIs;
use super::repositories::Repositories;
use super::rules::{HoldReason, fields};
use super::session::{Held, Session};
use crate::base::durations::{DEV_AGAIN_MS, DEV_PATIENCE_MS};
use crate::diagnostic::{Diagnostic, Failure};
use crate::parse::then_sign;
use crate::rye::{Author, Prepared, Rye, WorkingItem, WorkingText};
use crate::space::Entry;

/// How long after git removed its lock git counts as done, in milliseconds.
const DEV_GIT_SETTLES_MS: u64 = 300;

/// Most files that `rye dev` signs at once without asking: a person saves one, a program many.
const DEV_FILES: usize = 5;

/// The result of a scan.
pub(super) struct Seen {
    rye: Rye,
    now: BTreeMap<Entry, Arc<WorkingItem>>,
    around: BTreeSet<HoldReason>,
    /// Changes during a run do not start another run.
    may_run: bool,
}

impl Session<'_> {
    /// Scans the project and acts on what changed.
    ///
    /// # Errors
    /// `dev.watch`; other errors are told to the audience, and the project is scanned again.
    pub(super) fn scan(&mut self) -> Result<(), Failure> {
        if let Some(seen) = self.observe(None)?
            && (self.act(seen)? || self.owes_a_question())
        {
            self.ask();
        }
        Ok(())
    }

    /// The present state of the project; `None` while it cannot be judged, such as while git works.
    /// `during` names the item that ran since the last scan.
    ///
    /// # Errors
    /// `dev.watch`
    pub(super) fn observe(&mut self, during: Option<&str>) -> Result<Option<Seen>, Failure> {
        self.around.extend(during.map(|item| HoldReason::During(item.to_owned())));
        let rye = match (self.make)() {
            Ok(rye) => rye,
            Err(failure) => {
                self.trouble(&failure);
                return Ok(None);
            }
        };
        self.cover(&rye)?;
        let git = self.repositories(&rye);
        self.around.extend(git.is_unclear().then_some(HoldReason::GitUnclear));
        let git_is = git.are();
        if during.is_none() && self.is_git_at_work(git_is) {
            return Ok(None);
        }
        self.look_around(&rye, &git, git_is, during);
        let now = rye.working_items().all(&self.last);
        // Changes that git began to make during the scan count as git's as well.
        self.note_touched(&git);
        let now = match now {
            Ok(now) => now,
            Err(failure) => {
                self.trouble(&failure);
                return Ok(None);
            }
        };
        let same = |(entry, now): (&Entry, &Arc<WorkingItem>)| {
            self.last.get(entry).is_some_and(|last| last.is_same(now))
        };
        if during.is_none() && !now.iter().all(same) && self.is_still_going_on() {
            return Ok(None);
        }
        self.hinted = None;
        let around = std::mem::take(&mut self.around);
        Ok(Some(Seen { rye, now, around, may_run: during.is_none() }))
    }

    /// Signs what may be signed, and runs the requested item if anything admitted changed; true if
    /// anything changed. It asks nothing: the caller asks when everything has been told.
    ///
    /// # Errors
    /// `dev.watch`
    pub(super) fn act(&mut self, seen: Seen) -> Result<bool, Failure> {
        let Seen { rye, now, around, may_run } = seen;
        self.part_with(&rye, &now.keys().collect());
        let changed = now
            .into_iter()
            .filter(|(entry, now)| self.last.get(entry).is_none_or(|last| !last.is_same(now)));
        let changed: Vec<_> = changed.collect();
        let any = !changed.is_empty();
        let run = self.take(&rye, changed, &around)?;
        if run && may_run {
            self.run_now()?;
        }
        Ok(any)
    }

    /// Notes what git and other runs did, for the scan that is about to end.
    fn look_around(&mut self, rye: &Rye, git: &Repositories, git_is: GitIs, during: Option<&str>) {
        self.around.extend((git_is == GitIs::Stuck).then_some(HoldReason::GitBusy));
        let state = git.states(rye.host());
        self.git_moved |= state != self.git || git.is_midway();
        self.git = state;
        self.around.extend(self.git_moved.then_some(HoldReason::GitMoved));
        self.note_touched(git);
        if self.runs.any_since() && during.is_none() {
            self.around.insert(HoldReason::OtherRun);
        }
    }

    /// If git only took its lock, changes since the last scan may be its work. Later changes are
    /// not, because git holds the lock until the last file is written.
    fn note_touched(&mut self, git: &Repositories) {
        let touched = git.touches();
        self.around.extend((touched != self.git_touched).then_some(HoldReason::GitMoved));
        self.git_touched = touched;
    }

    /// Returns true if more was written during the scan. If so the project is scanned again, but
    /// not without end.
    fn is_still_going_on(&mut self) -> bool {
        let patience = Duration::from_millis(DEV_PATIENCE_MS);
        if !self.watch.is_hinted() || self.hinted.is_some_and(|first| first.elapsed() > patience) {
            return false;
        }
        self.hint();
        true
    }

    /// Waits while git is at work, and for a moment after, so that half of its work is not judged.
    fn is_git_at_work(&mut self, git_is: GitIs) -> bool {
        let was_busy = std::mem::replace(&mut self.git_was_busy, git_is == GitIs::Busy);
        let wait = match git_is {
            GitIs::Busy => Duration::from_millis(100),
            GitIs::Idle if was_busy => Duration::from_millis(DEV_GIT_SETTLES_MS),
            GitIs::Idle | GitIs::Stuck => return false,
        };
        self.due = Some(Instant::now() + wait);
        true
    }

    pub(super) fn trouble(&mut self, failure: &Failure) {
        self.audience.tell(&DevEvent::Trouble { diagnostic: &failure.diagnostic() });
        self.again = Some(Instant::now() + Duration::from_millis(2 * DEV_AGAIN_MS));
    }

    /// Tells of items that are gone, after a moment in which an editor may put one back.
    fn part_with(&mut self, rye: &Rye, there: &BTreeSet<&Entry>) {
        let at = Instant::now();
        self.missing.retain(|entry, _| !there.contains(entry));
        let absent = self.last.keys().filter(|entry| !there.contains(entry));
        for entry in absent.cloned().collect::<Vec<_>>() {
            let first = *self.missing.entry(entry.clone()).or_insert(at);
            if at.duration_since(first) < Duration::from_millis(DEV_AGAIN_MS - 50) {
                self.again.get_or_insert(at + Duration::from_millis(DEV_AGAIN_MS));
                continue;
            }
            self.missing.remove(&entry);
            self.last.remove(&entry);
            self.base.remove(&entry);
            self.let_go(rye, &entry);
            self.eligible.remove(&entry);
            self.audience.tell(&DevEvent::Gone { item: &entry.item });
        }
    }

    /// Handles each changed item; true if an admitted one changed.
    fn take(
        &mut self,
        rye: &Rye,
        changed: Vec<(Entry, Arc<WorkingItem>)>,
        around: &BTreeSet<HoldReason>,
    ) -> Result<bool, Failure> {
        let mut run = false;
        let mut open = Vec::new();
        for (entry, now) in changed {
            // An editor empties a file before it writes it.
            if now.is_empty() && around.is_empty() && self.emptied.insert(entry.clone()) {
                self.again.get_or_insert(Instant::now() + Duration::from_millis(DEV_AGAIN_MS));
                continue;
            }
            self.emptied.remove(&entry);
            match now.author() {
                Some(author) => run |= self.admitted(rye, &entry, &now, author),
                None => open.push((entry, now)),
            }
        }
        let count = |(entry, now): &(Entry, Arc<WorkingItem>)| {
            now.differing(self.base.get(entry).map(Arc::as_ref))
        };
        let count: usize = open.iter().map(count).sum();
        let mut around = around.clone();
        around.extend((count > DEV_FILES).then_some(HoldReason::Many(count)));
        if !open.is_empty() {
            // Each item keeps this reason until a person has looked at it.
            self.git_moved = false;
            self.renew(rye)?;
        }
        for (entry, now) in open {
            run |= self.judge(rye, &entry, &now, &around);
        }
        Ok(run)
    }

    /// Handles an item that a person signed; true if its content changed.
    fn admitted(
        &mut self,
        rye: &Rye,
        entry: &Entry,
        now: &Arc<WorkingItem>,
        author: &Author,
    ) -> bool {
        let is_known = self.base.get(entry).is_some_and(|base| base.covers_same(now));
        let was_open = self.last.get(entry).is_some_and(|last| last.author().is_none());
        self.last.insert(entry.clone(), Arc::clone(now));
        self.base.insert(entry.clone(), Arc::clone(now));
        self.let_go(rye, entry);
        let by = match author {
            Author::Own => "you",
            Author::Dev => "the dev key",
            Author::Other(name) => name,
        };
        // Signing with the own key asks by itself where it has to.
        match author {
            Author::Own | Author::Dev => drop(self.eligible.insert(entry.clone())),
            Author::Other(_) => drop(self.eligible.remove(entry)),
        }
        if !is_known || was_open {
            self.audience.tell(&DevEvent::Admitted { item: &entry.item, by });
        }
        !is_known
    }

    /// Handles an item that is not admitted: signs it, or holds it until a person approves it. True
    /// if it was signed.
    fn judge(
        &mut self,
        rye: &Rye,
        entry: &Entry,
        now: &Arc<WorkingItem>,
        around: &BTreeSet<HoldReason>,
    ) -> bool {
        self.last.insert(entry.clone(), Arc::clone(now));
        let base = self.base.get(entry).cloned();
        let changes = rye.working_items().changes(base.as_deref(), now);
        let (item, place) = (&entry.item, &now.place);
        self.audience.tell(&DevEvent::Changed { item, place, changes: &changes });
        let mut why = around.clone();
        why.extend(self.held.get(entry).iter().flat_map(|held| held.why.iter().cloned()));
        why.extend(self.standing(entry, now));
        why.extend(now.hides(base.as_deref()).map(|file| HoldReason::Invisible(file.to_owned())));
        why.extend((!self.signs_alone()).then_some(HoldReason::NoTerminal));
        let prepared = self.prepare(rye, now);
        if let (Ok(prepared), Some(was)) = (&prepared, base.as_ref().and_then(|b| b.parsed())) {
            why.extend(fields(was, prepared.item()).into_iter().map(HoldReason::Field));
        }
        let is_open = prepared.is_ok();
        if let Err(diagnostic) = &prepared {
            self.audience.tell(&DevEvent::Refused { item, diagnostic });
        }
        if why.is_empty() {
            return prepared.is_ok_and(|prepared| self.write(rye, entry, now, &prepared, false));
        }
        // A reason stays until a person has looked, even if the item cannot be signed yet.
        let reasons: Vec<HoldReason> = why.iter().cloned().collect();
        self.hold(rye, entry, Held { why, is_open, now: Arc::clone(now) });
        if is_open {
            let asks = self.poll.terminal().is_some();
            self.audience.tell(&DevEvent::Waits { item, why: &reasons, asks });
        }
        false
    }

    /// The reason to hold an item that does not depend on what else happens.
    fn standing(&self, entry: &Entry, now: &WorkingItem) -> Option<HoldReason> {
        if !self.eligible.contains(entry) {
            return Some(match self.base.get(entry).and_then(|base| base.author()) {
                Some(Author::Other(name)) => HoldReason::OtherSigner(name.clone()),
                _ if self.held.contains_key(entry) => return None,
                _ if self.strange.contains(entry) => HoldReason::NotAdmitted,
                _ => HoldReason::New,
            });
        }
        let key = now.work.as_ref().map_or(Ok(None), WorkingText::line_key);
        // A file that an editor saved may carry an earlier signature line of this session.
        match key {
            Ok(None) => (now.work.is_ok() && !now.is_empty()).then_some(HoldReason::LineGone),
            Ok(Some(key)) => (!self.ours.contains(&key)).then_some(HoldReason::SignatureLine),
            Err(()) => Some(HoldReason::SignatureLine),
        }
    }

    fn prepare(&self, rye: &Rye, now: &WorkingItem) -> Result<Prepared, Diagnostic> {
        let work = now.work.as_ref().map_err(Failure::diagnostic)?;
        rye.working_items().prepare(work, &self.dev).map_err(|failure| {
            let mut told = failure.diagnostic();
            if let Some(item) = told.item.as_ref().filter(|_| self.signs_alone()) {
                let by_hand = then_sign(item);
                told.help = told.help.map(|help| help.replace(&by_hand, " and save it"));
            }
            told
        })
    }

    /// Items that are not admitted at the start wait for a person, if there is a terminal.
    pub(super) fn hold_what_is_unsigned(&mut self, rye: &Rye) {
        let open = self.last.iter().filter(|(_, now)| now.author().is_none());
        let open: Vec<_> = open.map(|(entry, now)| (entry.clone(), Arc::clone(now))).collect();
        if open.len() > DEV_FILES {
            return;
        }
        for (entry, now) in open {
            self.held.insert(
                entry.clone(),
                Held {
                    why: [HoldReason::NotAdmitted].into(),
                    is_open: false,
                    now: Arc::clone(&now),
                },
            );
            self.judge(rye, &entry, &now, &BTreeSet::new());
        }
    }

    /// Signs what was shown; true on success.
    pub(super) fn sign(
        &mut self,
        rye: &Rye,
        entry: &Entry,
        shown: &Arc<WorkingItem>,
        asked: bool,
    ) -> bool {
        match self.prepare(rye, shown) {
            Ok(prepared) => self.write(rye, entry, shown, &prepared, asked),
            Err(diagnostic) => {
                let item = &entry.item;
                self.audience.tell(&DevEvent::Refused { item, diagnostic: &diagnostic });
                if let Some(held) = self.held.get_mut(entry) {
                    held.is_open = false;
                }
                false
            }
        }
    }

    fn write(
        &mut self,
        rye: &Rye,
        entry: &Entry,
        shown: &Arc<WorkingItem>,
        prepared: &Prepared,
        asked: bool,
    ) -> bool {
        let item = &entry.item;
        let written =
            if prepared.is_current { rye.working_items().finish(prepared) } else { Ok(false) };
        match written {
            Ok(true) => {}
            Ok(false) => {
                // The file has changed meanwhile. The next scan finds that, because this state is
                // forgotten.
                self.last.remove(entry);
                self.due = Some(Instant::now());
                return false;
            }
            Err(failure) => {
                self.audience.tell(&DevEvent::Refused { item, diagnostic: &failure.diagnostic() });
                return false;
            }
        }
        self.let_go(rye, entry);
        if asked {
            self.eligible.insert(entry.clone());
        }
        self.audience.tell(&DevEvent::Signed { item, asked });
        let after = rye.working_items().one(entry);
        if let Some(after) = after.filter(|after| after.author().is_some()) {
            self.last.insert(entry.clone(), Arc::clone(&after));
            self.base.insert(entry.clone(), after);
        } else {
            // The file was saved again at once; the next scan finds that.
            self.last.insert(entry.clone(), Arc::clone(shown));
            self.due = Some(Instant::now());
        }
        true
    }
}
