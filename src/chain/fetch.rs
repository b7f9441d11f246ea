//! The seam: how a chain gets its links.

use crate::diagnostic::Failure;
use crate::id::{Ref, Space};
use crate::parse::Item;
use crate::verify::Source;

/// Gets items, resolved, verified and parsed.
pub(crate) trait Fetch {
    /// The item, from the space `from` downwards; `None` if it is in none of them.
    fn fetch(&self, item: &Ref, from: Space) -> Result<Option<(Source, Item)>, Failure>;

    /// The nearest space above `from` that holds the item; nothing of it is read as an item.
    fn find_above(&self, item: &Ref, from: Space) -> Option<Space>;

    /// Names near to the item's.
    fn near(&self, item: &Ref) -> Vec<String>;
}
