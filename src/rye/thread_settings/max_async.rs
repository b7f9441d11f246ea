//! How many detached runs run at once (remote 1).

use std::num::NonZero;
use std::thread::available_parallelism;

use serde_json::Value;

use super::{MAX_ASYNC, limit_copies, may_loosen};
use crate::diagnostic::Failure;
use crate::plan::ConfigCopy;
use crate::rye::load::Loader;
use crate::thread::ThreadError;

/// The most of them that can be configured: each is a process, and its tool another one.
const DETACHED_MAX: u64 = 1_000;

/// Such runs at once for each processor, unless it is configured otherwise (remote 1).
const DETACHED_PER_CORE: u64 = 4;

/// As many as the configuration says, which a project only lowers; else four for each processor.
///
/// # Errors
/// `thread.bad_limit`; whatever a copy of the configuration is refused with.
pub(crate) fn max_async(loader: &Loader<'_>) -> Result<u64, Failure> {
    let cores = available_parallelism().map_or(1, NonZero::get) as u64;
    let mut places = cores.saturating_mul(DETACHED_PER_CORE).min(DETACHED_MAX);
    for copy in limit_copies(loader)? {
        let Some(said) = said_places(&copy)? else { continue };
        places = if may_loosen(&copy, loader) { said } else { places.min(said) };
    }
    Ok(places)
}

/// # Errors
/// `thread.bad_limit`
pub(super) fn said_places(copy: &ConfigCopy) -> Result<Option<u64>, ThreadError> {
    let said = copy.value.get(MAX_ASYNC).map(number).transpose();
    said.map_err(|error| error.within(copy.source.item()))
}

fn number(value: &Value) -> Result<u64, ThreadError> {
    let number = value.as_u64().filter(|number| (1..=DETACHED_MAX).contains(number));
    number.ok_or_else(|| ThreadError::BadLimit {
        name: MAX_ASYNC.into(),
        why: format!("`{value}` is not a whole number from 1 to {DETACHED_MAX}"),
        within: None,
    })
}
