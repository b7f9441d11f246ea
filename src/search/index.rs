//! The index that items are found by: made in memory from the files that are there.
//!
//! In:  the files of a root.
//! Out: a segment of their words.
//!
//! Invariants
//! - The words are for finding alone: nothing of them is shown or believed.
//! - No file of a root is read that the caller may not read, such as those of a project that is not
//!   accepted (core 4.3).
//! - A segment is used a second time only if its files are watched and none has changed since.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::segment::{Doc, Segment, SegmentBuilder};
use crate::base::parallel::parallel;
use crate::base::sync::unpoisoned;
use crate::id::Kind;
use crate::parse::outline;
use crate::signature::has_no_line;
use crate::space::{Entry, FileTypes, Root};

/// How long a search index is kept at most where its files are watched, in milliseconds: a network
/// file system gives no sign of what another machine writes.
const SEARCH_KEEP_MS: u64 = 60_000;

/// The segments of roots whose files are watched, kept between searches. Without a watcher, each
/// search reads every file.
#[derive(Default)]
pub(crate) struct SearchIndex(Mutex<State>);

#[derive(Default)]
struct State {
    /// The bases of the roots that are watched.
    watched: Vec<PathBuf>,
    /// How often something below them has changed.
    changes: u64,
    kept: HashMap<PathBuf, Kept>,
}

struct Kept {
    segment: Arc<Segment>,
    made: Instant,
}

impl SearchIndex {
    /// From now on [`Self::changed`] is called whenever a file below one of these bases has
    /// changed.
    #[cfg(feature = "mcp")]
    pub(crate) fn watch(&self, bases: Vec<PathBuf>) {
        self.state().watched = bases;
        self.changed();
    }

    /// Nothing that is kept is used again.
    #[cfg(feature = "mcp")]
    pub(crate) fn changed(&self) {
        let mut state = self.state();
        state.changes += 1;
        state.kept.clear();
    }

    /// The words of the items of a root; `None` where it is not there. Where the files may not be
    /// read, items are found by their ids.
    pub(crate) fn segment(
        &self,
        root: &Root,
        types: &FileTypes,
        may_read: bool,
    ) -> Option<Arc<Segment>> {
        if !root.exists() {
            return None;
        }
        Some(match may_read {
            true => self.get(root, || build(root, types, true)),
            false => Arc::new(build(root, types, false)),
        })
    }

    /// The segment of a root as it was kept; else a new one, which is kept unless a file changed
    /// while it was made.
    fn get(&self, root: &Root, make: impl FnOnce() -> Segment) -> Arc<Segment> {
        let state = self.state();
        if let Some(kept) = state.kept.get(root.base()).filter(|kept| kept.is_young()) {
            return Arc::clone(&kept.segment);
        }
        let before = state.changes;
        drop(state);
        let (made, segment) = (Instant::now(), Arc::new(make()));
        let mut state = self.state();
        if state.changes == before && state.watched.iter().any(|base| base == root.base()) {
            let kept = Kept { segment: Arc::clone(&segment), made };
            state.kept.insert(root.base().to_owned(), kept);
        }
        segment
    }

    fn state(&self) -> MutexGuard<'_, State> {
        unpoisoned(self.0.lock())
    }
}

impl Kept {
    fn is_young(&self) -> bool {
        self.made.elapsed() < Duration::from_millis(SEARCH_KEEP_MS)
    }
}

fn build(root: &Root, types: &FileTypes, may_read: bool) -> Segment {
    let list = |kind| root.list(kind, types).unwrap_or_default().entries;
    let entries = Kind::ALL.into_iter().flat_map(list).collect();
    let doc = |entry: Entry| match may_read && entry.item.kind != Kind::Config {
        true => read_doc(root, types, entry),
        false => Doc::new(entry, None, false),
    };
    let mut builder = SegmentBuilder::default();
    for doc in parallel(entries, doc) {
        // A shipped file without a signature line is a part of a tool.
        if !(root.is_embedded() && doc.is_unsigned) {
            builder.add(doc);
        }
    }
    builder.done()
}

/// Reads the words by which a file is found; its id alone if it cannot be read or does not parse.
fn read_doc(root: &Root, types: &FileTypes, entry: Entry) -> Doc {
    let bytes = root.read(&entry.relative()).ok().flatten();
    let file_type = types.find(entry.item.kind, &entry.ext);
    let (Some(bytes), Some(file_type)) = (bytes, file_type) else {
        return Doc::new(entry, None, false);
    };
    let text = std::str::from_utf8(&bytes).ok();
    let outline = text.and_then(|text| outline(entry.item.kind, text, &file_type.header));
    Doc::new(entry, outline.as_ref(), has_no_line(&bytes, &file_type.comment))
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use super::SearchIndex;
    use crate::id::Space;
    use crate::search::Segment;
    use crate::space::Root;

    #[test]
    fn a_segment_is_kept_while_its_files_are_watched_and_none_changes() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::on_disk(Space::Project, dir.path().into()).unwrap();
        let index = SearchIndex::default();
        let is_made = |index: &SearchIndex| {
            let mut is_made = false;
            index.get(&root, || {
                is_made = true;
                Segment::default()
            });
            is_made
        };
        assert!(is_made(&index) && is_made(&index), "nobody watches");
        index.watch(vec![dir.path().join("elsewhere")]);
        assert!(is_made(&index) && is_made(&index), "another folder is watched");
        index.watch(vec![dir.path().to_owned()]);
        assert!(is_made(&index) && !is_made(&index), "it is kept");
        index.changed();
        assert!(is_made(&index) && !is_made(&index), "a file changed");
        index.changed();
        index.get(&root, || {
            index.changed();
            Segment::default()
        });
        assert!(is_made(&index), "a file changed while it was made");
        index.watch(Vec::new());
        assert!(is_made(&index) && is_made(&index), "nobody watches any more");
    }
}
