//! Asking a registry again that is out of reach for a while, such as on a full disk or behind a
//! long backup. Who gives up at once loses what a run gave, or all that waits for its place.

use std::time::{Duration, Instant};

use crate::base::durations::{REGISTRY_AGAIN_MS, REGISTRY_INSISTS_MS};
use crate::registry::RegistryError;

/// Asks until the registry answers; its refusal after ten minutes.
///
/// # Errors
/// `registry.io`
pub(super) fn retry<T>(
    mut ask: impl FnMut() -> Result<T, RegistryError>,
) -> Result<T, RegistryError> {
    let until = Instant::now() + Duration::from_millis(REGISTRY_INSISTS_MS);
    loop {
        match ask() {
            Err(error) if error.may_pass() && Instant::now() < until => {
                tracing::warn!(%error, "the registry is asked again");
                std::thread::park_timeout(Duration::from_millis(REGISTRY_AGAIN_MS));
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::retry;
    use crate::registry::RegistryError;

    fn failed(code: i32) -> RegistryError {
        let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        RegistryError::Sql { path: PathBuf::new(), source }
    }

    #[test]
    fn a_registry_that_is_out_of_reach_is_asked_again_and_a_broken_one_is_not() {
        let mut answers = [
            Err(failed(rusqlite::ffi::SQLITE_BUSY)),
            Err(failed(rusqlite::ffi::SQLITE_FULL)),
            Ok(7),
        ]
        .into_iter();
        assert_eq!(retry(|| answers.next().unwrap()).unwrap(), 7);
        for code in [rusqlite::ffi::SQLITE_CORRUPT, rusqlite::ffi::SQLITE_ERROR] {
            let mut answers = [Err(failed(code)), Ok(7)].into_iter();
            assert!(retry(|| answers.next().unwrap()).is_err(), "{code}");
        }
    }
}
