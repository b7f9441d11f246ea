//! One look at the project: what changed since the last one, and what is done about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::Event;
use super::git_state::GitIs;
use super::repositories::Repositories;
use super::rules::{Why, fields};
use super::session::{Held, Session};
use crate::base::limits::{DEV_AGAIN_MS, DEV_FILES, DEV_PATIENCE_MS};
use crate::diagnostic::{Diagnostic, Failure};
use crate::rye::{Author, Prepared, Rye, WorkingItem, WorkingText};
use crate::space::Entry;

/// How long after git put its lock away it is taken to be done.
const GIT_SETTLES: Duration = Duration::from_millis(300);

/// What a look found.
pub(super) struct Seen {
    rye: Rye,
    now: BTreeMap<Entry, Arc<WorkingItem>>,
    around: BTreeSet<Why>,
    /// What changed while something ran does not make it run again.
    may_run: bool,
}

impl Session<'_> {
    /// Looks, and does what is to be done about it.
    ///
    /// # Errors
    /// `dev.watch`; whatever else is wrong is told, and is looked at again.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        if let Some(seen) = self.observe(None)?
            && (self.act(seen)? || self.owes_a_question())
        {
            self.ask();
        }
        Ok(())
    }

    /// What is there now; `None` if it is not the time to judge it. `during` is what ran since the
    /// last look.
    ///
    /// # Errors
    /// `dev.watch`
    pub(super) fn observe(&mut self, during: Option<&str>) -> Result<Option<Seen>, Failure> {
        self.around.extend(during.map(|item| Why::During(item.to_owned())));
        let rye = match (self.make)() {
            Ok(rye) => rye,
            Err(failure) => {
                self.trouble(&failure);
                return Ok(None);
            }
        };
        self.cover(&rye)?;
        let git = self.repositories(&rye);
        self.around.extend(git.is_unclear().then_some(Why::GitUnclear));
        let git_is = git.are();
        if during.is_none() && self.is_git_at_work(git_is) {
            return Ok(None);
        }
        self.look_around(&rye, &git, git_is, during);
        let now = rye.working_items().all(&self.last);
        // What git began to do while we looked is its work, too.
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

    /// Signs what may be signed of what was seen, and runs what there is to run if anything that is
    /// admitted changed; true if anything changed. Asks nothing, so that the caller asks when all
    /// of it is told.
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

    /// Notes what goes on beside the edits, for the look that comes to an end.
    fn look_around(&mut self, rye: &Rye, git: &Repositories, git_is: GitIs, during: Option<&str>) {
        self.around.extend((git_is == GitIs::Stuck).then_some(Why::GitBusy));
        let state = git.states(rye.host());
        self.git_moved |= state != self.git || git.is_midway();
        self.git = state;
        self.around.extend(self.git_moved.then_some(Why::GitMoved));
        self.note_touched(git);
        if self.runs.any_since() && during.is_none() {
            self.around.insert(Why::OtherRun);
        }
    }

    /// Where git only took its lock, what changed since the last look may be its work; what comes
    /// later is not, since it holds the lock until the last file is written.
    fn note_touched(&mut self, git: &Repositories) {
        let touched = git.touches();
        self.around.extend((touched != self.git_touched).then_some(Why::GitMoved));
        self.git_touched = touched;
    }

    /// Whether more was written while we looked: then it is looked at again, unless that never
    /// ends.
    fn is_still_going_on(&mut self) -> bool {
        let patience = Duration::from_millis(DEV_PATIENCE_MS);
        if !self.watch.is_hinted() || self.hinted.is_some_and(|first| first.elapsed() > patience) {
            return false;
        }
        self.hint();
        true
    }

    /// While git is at work, and a moment after, nothing that it does is judged half done.
    fn is_git_at_work(&mut self, git_is: GitIs) -> bool {
        let was_busy = std::mem::replace(&mut self.git_was_busy, git_is == GitIs::Busy);
        let wait = match git_is {
            GitIs::Busy => Duration::from_millis(100),
            GitIs::Idle if was_busy => GIT_SETTLES,
            GitIs::Idle | GitIs::Stuck => return false,
        };
        self.due = Some(Instant::now() + wait);
        true
    }

    pub(super) fn trouble(&mut self, failure: &Failure) {
        self.audience.tell(&Event::Trouble { diagnostic: &failure.diagnostic() });
        self.again = Some(Instant::now() + Duration::from_millis(2 * DEV_AGAIN_MS));
    }

    /// Tells of items that are gone; an editor may be about to put one back.
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
            self.audience.tell(&Event::Gone { item: &entry.item });
        }
    }

    /// Takes note of what changed; true if something that is admitted did.
    fn take(
        &mut self,
        rye: &Rye,
        changed: Vec<(Entry, Arc<WorkingItem>)>,
        around: &BTreeSet<Why>,
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
        around.extend((count > DEV_FILES).then_some(Why::Many(count)));
        if !open.is_empty() {
            // Each of them keeps it as its own reason.
            self.git_moved = false;
            self.renew(rye)?;
        }
        for (entry, now) in open {
            run |= self.judge(rye, &entry, &now, &around);
        }
        Ok(run)
    }

    /// Somebody signed it: true if what it says is not what it said.
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
        // Whoever signs an item with the own key is asked elsewhere, where that is due.
        match author {
            Author::Own | Author::Dev => drop(self.eligible.insert(entry.clone())),
            Author::Other(_) => drop(self.eligible.remove(entry)),
        }
        if !is_known || was_open {
            self.audience.tell(&Event::Admitted { item: &entry.item, by });
        }
        !is_known
    }

    /// What is not admitted as it is: signed, or held until a person says so. True if it was
    /// signed.
    fn judge(
        &mut self,
        rye: &Rye,
        entry: &Entry,
        now: &Arc<WorkingItem>,
        around: &BTreeSet<Why>,
    ) -> bool {
        self.last.insert(entry.clone(), Arc::clone(now));
        let base = self.base.get(entry).cloned();
        let changes = rye.working_items().changes(base.as_deref(), now);
        let (item, place) = (&entry.item, &now.place);
        self.audience.tell(&Event::Changed { item, place, changes: &changes });
        let mut why = around.clone();
        why.extend(self.held.get(entry).iter().flat_map(|held| held.why.iter().cloned()));
        why.extend(self.standing(entry, now));
        why.extend(now.hides(base.as_deref()).map(|file| Why::Invisible(file.to_owned())));
        why.extend((!self.signs_alone()).then_some(Why::NoTerminal));
        let prepared = self.prepare(rye, now);
        if let (Ok(prepared), Some(was)) = (&prepared, base.as_ref().and_then(|b| b.parsed())) {
            why.extend(fields(was, prepared.item()).into_iter().map(Why::Field));
        }
        let is_open = prepared.is_ok();
        if let Err(diagnostic) = &prepared {
            self.audience.tell(&Event::Refused { item, diagnostic });
        }
        if why.is_empty() {
            return prepared.is_ok_and(|prepared| self.write(rye, entry, now, &prepared, false));
        }
        // Whatever speaks against it stays until somebody has looked, also where it cannot be
        // signed yet.
        let reasons: Vec<Why> = why.iter().cloned().collect();
        self.hold(rye, entry, Held { why, is_open, now: Arc::clone(now) });
        if is_open {
            let asks = self.ears.terminal().is_some();
            self.audience.tell(&Event::Waits { item, why: &reasons, asks });
        }
        false
    }

    /// What speaks against an item whatever else happens.
    fn standing(&self, entry: &Entry, now: &WorkingItem) -> Option<Why> {
        if !self.eligible.contains(entry) {
            return Some(match self.base.get(entry).and_then(|base| base.author()) {
                Some(Author::Other(name)) => Why::OtherSigner(name.clone()),
                _ if self.held.contains_key(entry) => return None,
                _ if self.strange.contains(entry) => Why::NotAdmitted,
                _ => Why::New,
            });
        }
        let key = now.work.as_ref().map_or(Ok(None), WorkingText::line_key);
        // A file that was saved from an editor carries the line of an earlier version of ours.
        match key {
            Ok(None) => (now.work.is_ok() && !now.is_empty()).then_some(Why::LineGone),
            Ok(Some(key)) => (!self.ours.contains(&key)).then_some(Why::SignatureLine),
            Err(()) => Some(Why::SignatureLine),
        }
    }

    fn prepare(&self, rye: &Rye, now: &WorkingItem) -> Result<Prepared, Diagnostic> {
        let work = now.work.as_ref().map_err(Failure::diagnostic)?;
        rye.working_items().prepare(work, &self.dev).map_err(|failure| failure.diagnostic())
    }

    /// Items that are not admitted when the session begins wait, if a person can look through them.
    pub(super) fn hold_what_is_unsigned(&mut self, rye: &Rye) {
        let open = self.last.iter().filter(|(_, now)| now.author().is_none());
        let open: Vec<_> = open.map(|(entry, now)| (entry.clone(), Arc::clone(now))).collect();
        if open.len() > DEV_FILES {
            return;
        }
        for (entry, now) in open {
            self.held.insert(
                entry.clone(),
                Held { why: [Why::NotAdmitted].into(), is_open: false, now: Arc::clone(&now) },
            );
            self.judge(rye, &entry, &now, &BTreeSet::new());
        }
    }

    /// Signs what was shown. True if that was done.
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
                self.audience.tell(&Event::Refused { item, diagnostic: &diagnostic });
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
                // It is another by now, which the next look finds, since this one is forgotten.
                self.last.remove(entry);
                self.due = Some(Instant::now());
                return false;
            }
            Err(failure) => {
                self.audience.tell(&Event::Refused { item, diagnostic: &failure.diagnostic() });
                return false;
            }
        }
        self.let_go(rye, entry);
        if asked {
            self.eligible.insert(entry.clone());
        }
        self.audience.tell(&Event::Signed { item, asked });
        let after = rye.working_items().one(entry);
        if let Some(after) = after.filter(|after| after.author().is_some()) {
            self.last.insert(entry.clone(), Arc::clone(&after));
            self.base.insert(entry.clone(), after);
        } else {
            // Saved again at once: the next look finds it.
            self.last.insert(entry.clone(), Arc::clone(shown));
            self.due = Some(Instant::now());
        }
        true
    }
}
