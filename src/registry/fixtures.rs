//! Threads as the tests of this folder begin them.

use super::threads::{Amounts, NewThread};

/// A thread that may use so much, and have so many below it, one under the other.
pub(super) fn new<'a>(
    id: &'a str,
    parent: Option<&'a str>,
    most: Amounts,
    depth: u64,
) -> NewThread<'a> {
    let (item, provider, model) = ("directive:a/b", "tool:a/p", "m");
    let (base, started_at, grants) = ("/", "x", "");
    NewThread { id, parent, item, provider, model, base, started_at, most, depth, grants }
}
