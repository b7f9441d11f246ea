//! Threads as the tests of this folder begin them.

use super::ledger::{Amounts, NewThread};
use super::process_id::{ProcessId, place_of};

/// A thread that may use so much, and have so many below it, one under the other.
pub(super) fn new<'a>(
    id: &'a str,
    parent: Option<&'a str>,
    most: Amounts,
    depth: u64,
) -> NewThread<'a> {
    let (item, provider, model) = ("directive:a/b", "tool:a/p", "m");
    let (base, started_at, grants) = ("/", "x", "");
    let began = "{}";
    NewThread { id, parent, item, provider, model, base, started_at, most, depth, grants, began }
}

/// A place as the registry keeps it: another namespace of this machine, and this namespace of a
/// machine that was started before.
pub(super) fn other_places() -> (String, String) {
    let here = place_of(ProcessId::own()).unwrap();
    let (boot, namespace) = here.split_once(':').unwrap();
    (format!("{boot}:1"), format!("{:032x}:{namespace}", 1))
}
