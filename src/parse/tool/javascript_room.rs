//! Room for a parser of JavaScript, for those who read a text as a whole.

use super::javascript_depth::extent;
use super::nesting::on_a_stack_for;

/// Does `work`, which parses the text as JavaScript or, with `types`, as TypeScript, on a stack
/// that holds all of its levels.
///
/// # Errors
/// A text that is too long or nests too deep, as a fragment of a sentence: "it has …".
pub(crate) fn with_room_for_javascript<T: Send>(
    text: &str,
    types: bool,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    on_a_stack_for(extent(text, types), || Ok(work())).map_err(|fault| fault.why)
}
