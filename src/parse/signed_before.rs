//! What an item says of a signature that it had before it was imported.

use crate::base::text::escape_line;

/// What the line begins with that an import writes; behind it stands who signed.
pub(crate) const SIGNED_BEFORE: &str =
    "Signed by others before it was imported, and checked then (OpenSSF Model Signing): ";

/// Who is said to have signed what an item was made of; it is the word of whoever signed the item.
pub(crate) fn signed_before(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("# ").unwrap_or(line).strip_prefix(SIGNED_BEFORE))?;
    Some(escape_line(line.strip_suffix('.').unwrap_or(line)))
}
