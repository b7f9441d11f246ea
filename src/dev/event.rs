//! The events of a session, as data.

use std::path::Path;
use std::time::Duration;

use super::rules::HoldReason;
use crate::base::Timestamp;
use crate::diagnostic::{Diagnostic, Place};
use crate::id::{Fingerprint, Ref};
use crate::report::Report;
use crate::rye::{Failed, FileChange};

/// Receives the events.
pub(crate) trait Audience {
    fn tell(&mut self, event: &DevEvent<'_>);
}

/// An audience, and the item whose diff it was shown last.
pub(super) struct Teller<'a> {
    audience: &'a mut dyn Audience,
    shown: Option<Ref>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(audience: &'a mut dyn Audience) -> Self {
        Self { audience, shown: None }
    }

    pub(super) fn tell(&mut self, event: &DevEvent<'_>) {
        match event {
            DevEvent::Changed { item, .. } => self.shown = Some((*item).clone()),
            DevEvent::Waits { item, .. } if self.shows(item) => {}
            _ => self.shown = None,
        }
        self.audience.tell(event);
    }

    /// Returns true if the diff of the item was the last event, apart from the reason why the item
    /// waits.
    pub(super) fn shows(&self, item: &Ref) -> bool {
        self.shown.as_ref() == Some(item)
    }
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum DevEvent<'a> {
    /// The session begins.
    Started {
        project: &'a Path,
        items: usize,
        /// The number of items that are not admitted.
        unsigned: usize,
        runs: Option<&'a str>,
        key: Fingerprint,
        until: Timestamp,
        /// A person can be asked.
        asks: bool,
        /// Changes without a reason to ask are signed without a key press.
        signs: bool,
    },
    /// A new dev key took the place of the expired one and signed this number of items again.
    Renewed { key: Fingerprint, until: Timestamp, items: usize },
    /// An item differs from its signed version.
    Changed { item: &'a Ref, place: &'a Place, changes: &'a [FileChange] },
    /// The dev key signed the change that was shown.
    Signed { item: &'a Ref, asked: bool },
    /// The item was signed already.
    Admitted { item: &'a Ref, by: &'a str },
    /// The item waits for a person, for these reasons.
    Waits { item: &'a Ref, why: &'a [HoldReason], asks: bool },
    /// A question is open.
    Question { item: &'a Ref, left: usize },
    /// The person said no. The question comes again when the item changes.
    Skipped { item: &'a Ref },
    /// The item cannot be signed as it is.
    Refused { item: &'a Ref, diagnostic: &'a Diagnostic },
    /// The file is gone.
    Gone { item: &'a Ref },
    /// The project cannot be checked at the moment.
    Trouble { diagnostic: &'a Diagnostic },
    /// A run begins.
    Runs { item: &'a str },
    /// A run ended.
    Ran { item: &'a str, result: &'a Result<Report, Failed>, elapsed: Duration },
    /// The item was not run, because it waits to be signed.
    NotRun { item: &'a str },
    /// There is nothing to run.
    NothingToRun,
}
