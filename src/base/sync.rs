//! What a lock guards, whatever became of a thread that held it.

use std::sync::{LockResult, PoisonError};

/// The value of a lock, also where a thread panicked while it held it: whoever holds a lock of this
/// crate leaves a whole value at every step.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
