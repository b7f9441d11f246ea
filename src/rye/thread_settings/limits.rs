//! Limits of a thread, and who says each of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::report::CheckedLimit;
use crate::thread::{ThreadError, ThreadLimits};
use crate::trace::{Event, LoweredLimit, Sink};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct SaidLimits {
    pub(crate) limits: ThreadLimits,
    /// Of each that is not the one that is shipped.
    by: BTreeMap<&'static str, String>,
}

impl SaidLimits {
    /// The limits that hold if none are given.
    pub(crate) fn shipped(limits: ThreadLimits) -> Self {
        Self { limits, by: BTreeMap::new() }
    }

    /// Puts these in their place; each that is different now is said by `by`.
    pub(crate) fn replace(&mut self, limits: ThreadLimits, by: &str) {
        for ((name, was), (_, is)) in self.limits.rows().into_iter().zip(limits.rows()) {
            if was != is {
                self.by.insert(name, by.to_owned());
            }
        }
        self.limits = limits;
    }

    /// No more than `most`; each that is lowered is named as a limit of the source that set the
    /// most.
    pub(crate) fn lower(&mut self, most: &Self) {
        for ((name, was), (_, most_of)) in self.limits.rows().into_iter().zip(most.limits.rows()) {
            match most.by.get(name) {
                Some(by) if most_of < was => drop(self.by.insert(name, by.clone())),
                None if most_of < was => drop(self.by.remove(name)),
                _ => {}
            }
        }
        self.limits = self.limits.min(most.limits);
    }

    /// Tells of each that is less than a start asks for.
    ///
    /// # Errors
    /// `thread.bad_limit`
    pub(crate) fn tell_lowered(
        &self,
        asked: &Map<String, Value>,
        sink: &dyn Sink,
    ) -> Result<(), ThreadError> {
        let asked = self.limits.with(asked)?;
        for ((limit, asked), (_, value)) in asked.rows().into_iter().zip(self.limits.rows()) {
            if value < asked {
                let by = self.by.get(limit).map_or("rye", String::as_str).to_owned();
                sink.record(Event::LimitLowered(LoweredLimit { limit, asked, value, by }));
            }
        }
        Ok(())
    }

    /// Each with its value and who says it.
    pub(crate) fn told(&self) -> Vec<CheckedLimit> {
        let told = |(name, value)| {
            let from = self.by.get(name).cloned().unwrap_or_else(|| "shipped".to_owned());
            CheckedLimit { name, value, from }
        };
        self.limits.rows().into_iter().map(told).collect()
    }
}
