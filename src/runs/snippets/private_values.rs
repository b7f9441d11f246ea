//! The values that the tools of a snippet named of the host. A snippet that no model wrote is given
//! them where a tool prints them, and may pass them on; whatever is told of it and kept is shown
//! without them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::base::sync::unpoisoned;
use crate::base::{Mask, standing};

/// The private values of what a snippet called, and its own. Has no `Debug`.
#[derive(Default)]
pub(crate) struct PrivateValues(Mutex<BTreeSet<String>>);

impl PrivateValues {
    pub(super) fn of<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        Self(Mutex::new(values.map(str::to_owned).collect()))
    }

    /// These are private from here on.
    pub(super) fn add<'v>(&self, values: impl Iterator<Item = &'v str>) {
        unpoisoned(self.0.lock()).extend(values.map(str::to_owned));
    }

    pub(super) fn all(&self) -> Vec<String> {
        unpoisoned(self.0.lock()).iter().cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        unpoisoned(self.0.lock()).len()
    }

    pub(super) fn mask(&self) -> Mask {
        Mask::new(self.all().iter().map(String::as_str))
    }

    /// Those of the values that stand in this JSON.
    pub(super) fn standing_in(&self, json: &str) -> Vec<String> {
        standing(self.all().iter().map(String::as_str), json)
    }
}
