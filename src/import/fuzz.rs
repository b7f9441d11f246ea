//! The promises of readers of foreign items, for any text.

use super::legacy::{Worth, read};
use crate::id::Kind;

/// The older form: no line is believed without its key, and what is left holds none in its place.
pub(crate) fn older(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for kind in Kind::ALL {
        for ext in ["py", "js", "md", "yaml"] {
            let older = read(kind, ext, text, &[]);
            assert!(older.worth != Worth::Good && older.worth != Worth::Forged, "no key is known");
            assert!(!older.text.contains('\r'), "a carriage return is left");
            assert_eq!(older.key.is_none(), older.worth == Worth::Unsigned);
        }
    }
}
