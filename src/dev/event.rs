//! What a session tells, as data.

use std::path::Path;
use std::time::Duration;

use super::rules::Why;
use crate::base::Timestamp;
use crate::diagnostic::{Diagnostic, Place};
use crate::id::{Fingerprint, Ref};
use crate::report::Report;
use crate::rye::{Failed, FileChange};

/// Who is told.
pub(crate) trait Audience {
    fn tell(&mut self, event: &Event<'_>);
}

/// An audience, and the item whose diff stands last before it.
pub(super) struct Teller<'a> {
    audience: &'a mut dyn Audience,
    shown: Option<Ref>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(audience: &'a mut dyn Audience) -> Self {
        Self { audience, shown: None }
    }

    pub(super) fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Changed { item, .. } => self.shown = Some((*item).clone()),
            Event::Waits { item, .. } if self.shows(item) => {}
            _ => self.shown = None,
        }
        self.audience.tell(event);
    }

    /// Whether the diff of the item is the last thing that was told, but for why it waits.
    pub(super) fn shows(&self, item: &Ref) -> bool {
        self.shown.as_ref() == Some(item)
    }
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// The session begins.
    Started {
        project: &'a Path,
        items: usize,
        /// Items that are not admitted.
        unsigned: usize,
        runs: Option<&'a str>,
        key: Fingerprint,
        until: Timestamp,
        /// Somebody can be asked.
        asks: bool,
        /// What nothing speaks against is signed without a key press.
        signs: bool,
    },
    /// A dev key takes the place of the one whose time is over; so many items are signed again by
    /// it.
    Renewed { key: Fingerprint, until: Timestamp, items: usize },
    /// An item is another than the one that was signed.
    Changed { item: &'a Ref, place: &'a Place, changes: &'a [FileChange] },
    /// The dev key signed what was shown.
    Signed { item: &'a Ref, asked: bool },
    /// Somebody signed it already.
    Admitted { item: &'a Ref, by: &'a str },
    /// It is signed when a person says so, for these reasons.
    Waits { item: &'a Ref, why: &'a [Why], asks: bool },
    /// The question that is open.
    Question { item: &'a Ref, left: usize },
    /// The person said no; it is asked again when it changes.
    Skipped { item: &'a Ref },
    /// It cannot be signed as it is.
    Refused { item: &'a Ref, diagnostic: &'a Diagnostic },
    /// The file is not there any more.
    Gone { item: &'a Ref },
    /// Nothing can be said of the project at the moment.
    Trouble { diagnostic: &'a Diagnostic },
    /// A run begins, which may take its time.
    Runs { item: &'a str },
    /// And ended.
    Ran { item: &'a str, result: &'a Result<Report, Failed>, elapsed: Duration },
    /// It does not run, since it waits to be signed.
    NotRun { item: &'a str },
    /// There is nothing to run.
    NothingToRun,
}
