//! The value behind a lock, even if a thread panicked while it held the lock.

use std::sync::{LockResult, PoisonError};

/// The value of a lock, even if a thread panicked while it held it: code that holds a lock of this
/// crate leaves a whole value at every step.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
