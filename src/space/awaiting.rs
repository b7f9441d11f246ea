//! Shipped items that a contributor changed, and that the publisher did not sign yet.

use crate::id::Ref;

/// One ref a line. `.ci/await-signature` writes it, and the publisher empties it by signing the
/// items.
const LIST: &str = include_str!("awaiting.txt");

// What is handed out has only items that the publisher signed.
#[cfg(not(debug_build))]
const _: () = assert!(LIST.is_empty(), "shipped items await the publisher's signature");

/// Returns true if the item in the binary bears the example key's signature for now. Never in an
/// optimised program: one with a list is not compiled.
pub(crate) fn awaits_publisher(item: &Ref) -> bool {
    cfg!(debug_build) && LIST.lines().any(|line| line == item.to_string())
}
