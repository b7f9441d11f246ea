//! Fuzz target for the lock.

use super::Lock;
use crate::base::fuzz::is_message;
use crate::base::text::{brief_line, unfit};

/// A lock that is read is written so that it says the same, in one spelling.
pub(crate) fn lock(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if unfit(text).is_some() {
        return;
    }
    let read = toml::from_str::<Lock>(text);
    match read {
        Ok(lock) => {
            let written = lock.to_toml();
            assert_eq!(toml::from_str::<Lock>(&written).as_ref(), Ok(&lock), "{written}");
            for (row, pin) in lock.rows() {
                let item = row.kind.map(|kind| crate::id::Ref::new(kind, row.id.clone()));
                assert_eq!(item.and_then(|item| lock.find(&item, pin.space)), Some(pin), "{row}");
            }
        }
        Err(error) => is_message(&brief_line(error.message())),
    }
}
