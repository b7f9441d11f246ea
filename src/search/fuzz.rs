//! What the reader of kept words promises for any bytes.

use super::cache::Cache;
use super::rank::{Wanted, search};
use super::shelf::{Copied, Filling};
use crate::id::Space;

/// Kept words that decode are whole: they can be searched, go on being kept, and encode to the same bytes.
/// The sum is made right, since whoever writes the file can do so too.
pub(crate) fn kept_words(data: &[u8]) {
    let cache = Cache::of("/".as_ref(), &[b"fuzz"]);
    let bytes = cache.with_head(data);
    let Some(shelf) = cache.decode(bytes.clone(), Space::Project) else { return };
    assert_eq!(cache.encode(&shelf), bytes, "nothing is passed over");
    let known = shelf.folder_at();
    let (mut filling, mut copied) = (Filling::new(Space::Project), Copied::of(&shelf));
    for (kind, path, stamp) in shelf.folders() {
        filling.folder(kind, path, stamp);
        let (at, _) = known[path];
        shelf.inside(at).take(100).for_each(|(file, _, _)| filling.copy(&mut copied, file));
    }
    let kept = filling.done();
    for (text, limit) in [("", 1), ("a deploy", 3), ("部 wombat slips", 100)] {
        for shelf in [&shelf, &kept] {
            let wanted = Wanted {
                text,
                filters: "",
                takes: &|_| true,
                is_hit: &|spot| !shelf.holds(spot.kind, "a/b"),
                limit,
                cursor: None,
            };
            let page = search(&[shelf], &wanted);
            assert!(page.is_ok(), "few words are looked for");
            let Some(next) = page.ok().and_then(|page| page.next) else { continue };
            let wanted = Wanted { cursor: Some(&next), ..wanted };
            assert!(search(&[shelf], &wanted).is_ok(), "a cursor goes on in its own search");
        }
    }
}
