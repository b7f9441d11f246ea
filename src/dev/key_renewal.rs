//! Replaces a dev key whose time is nearly over, and signs again what the old one signed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::DevEvent;
use super::session::Session;
use crate::diagnostic::Failure;
use crate::rye::{Author, Rye, WorkingItem, WorkingText, now};
use crate::space::Entry;
use crate::verify::VERIFY_EXPIRED;

/// How long `rye dev` waits at most before it asks the clock whether its key is nearly over, in
/// milliseconds: far less than the time that is left then, and no load.
const DEV_CLOCK_MS: u64 = 60_000;

impl Session<'_> {
    /// When to check whether another key is due. The check comes early, because the clock jumps
    /// while a machine sleeps.
    pub(super) fn clock_due(&self) -> Instant {
        let left = Duration::from_secs(self.dev.fresh_for(now()).saturating_add(1));
        Instant::now() + left.min(Duration::from_millis(DEV_CLOCK_MS))
    }

    /// Makes another dev key if one is due.
    ///
    /// # Errors
    /// `space.no_project`, `key.*`, `verify.project_not_accepted`, `verify.trust_unreadable`.
    pub(super) fn keep_fresh(&mut self) -> Result<(), Failure> {
        if !self.dev.is_nearly_over(now()) {
            return Ok(());
        }
        match (self.make)() {
            Ok(rye) => self.renew(&rye),
            // The next scan reports the error.
            Err(_) => Ok(()),
        }
    }

    /// Makes another dev key when the time of this one is nearly over.
    ///
    /// # Errors
    /// `space.no_project`, `key.*`, `verify.project_not_accepted`, `verify.trust_unreadable`.
    pub(super) fn renew(&mut self, rye: &Rye) -> Result<(), Failure> {
        if !self.dev.is_nearly_over(now()) {
            return Ok(());
        }
        self.dev = rye.working_items().dev_key()?;
        let (key, until) = (self.dev.fingerprint(), self.dev.not_after());
        self.ours.insert(key);
        let items = self.sign_again(rye);
        self.audience.tell(&DevEvent::Renewed { key, until, items });
        Ok(())
    }

    /// Signs with this session's dev key what an earlier dev key signed, so that no untouched item
    /// is refused. Gives the number of items. A session that signs nothing without a key press does
    /// not sign these either.
    pub(super) fn sign_again(&mut self, rye: &Rye) -> usize {
        if !self.signs_alone() {
            return 0;
        }
        let earlier = |now: &WorkingItem| {
            let key = now.work.as_ref().ok().and_then(|work| work.line_key().ok().flatten());
            now.author() == Some(&Author::Dev) && key != Some(self.dev.fingerprint())
        };
        let all = self.last.iter().filter(|(_, now)| earlier(now));
        let all: Vec<_> = all.map(|(entry, now)| (entry.clone(), Arc::clone(now))).collect();
        all.iter().filter(|(entry, known)| self.sign_one_again(rye, entry, known)).count()
    }

    /// True if the item was signed; an item that has changed is left to the next scan.
    fn sign_one_again(&mut self, rye: &Rye, entry: &Entry, known: &WorkingItem) -> bool {
        let Some(now) = rye.working_items().one(entry).filter(|now| now.is_same(known)) else {
            return false;
        };
        let Ok(work) = &now.work else { return false };
        if !self.is_admitted_as_before(work) {
            return false;
        }
        let Ok(prepared) = rye.working_items().prepare(work, &self.dev) else { return false };
        if !prepared.is_current || !matches!(rye.working_items().finish(&prepared), Ok(true)) {
            return false;
        }
        // An editor may still hold the text with the earlier signature line.
        self.ours.extend(work.line_key().ok().flatten());
        if let Some(after) = rye.working_items().one(entry).filter(|after| after.author().is_some())
        {
            self.last.insert(entry.clone(), Arc::clone(&after));
            self.base.insert(entry.clone(), after);
        }
        true
    }

    /// Returns true if a dev key admits the item now, or a dev key of this session did until it
    /// expired.
    fn is_admitted_as_before(&self, work: &WorkingText) -> bool {
        match &work.verdict {
            Ok((author, _)) => *author == Author::Dev,
            Err(failure) => {
                let key = work.line_key().ok().flatten();
                failure.reason() == VERIFY_EXPIRED
                    && key.is_some_and(|key| self.ours.contains(&key))
            }
        }
    }
}
