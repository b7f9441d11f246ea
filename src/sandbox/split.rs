//! Splits a grant into parts that contain no protected place, for landlock, which cannot forbid.

use std::fs;
use std::path::{Path, PathBuf};

/// Most parts of one grant. A folder with more of them needs the level `bwrap`.
const MOST: usize = 4096;

/// The paths below `granted` that are not in `out`, contain none of `out` and lie in none of `out`;
/// `None` if there are too many. Files that are created later are not included.
pub(super) fn split(granted: &Path, out: &[&Path]) -> Option<Vec<PathBuf>> {
    let mut parts = Vec::new();
    let mut left = vec![granted.to_owned()];
    while let Some(path) = left.pop() {
        if out.iter().any(|out| path.starts_with(out)) {
            continue;
        }
        if !out.iter().any(|out| out.starts_with(&path)) {
            parts.push(path);
        } else if let Ok(entries) = fs::read_dir(&path) {
            // A symbolic link may lead out of the grant.
            let entries =
                entries.flatten().filter(|e| e.file_type().is_ok_and(|t| !t.is_symlink()));
            left.extend(entries.map(|entry| entry.path()));
        }
        if parts.len() + left.len() > MOST {
            return None;
        }
    }
    parts.sort();
    Some(parts)
}
