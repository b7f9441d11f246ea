//! The parts of a grant that hold nothing which must stay out, for a level that can only allow.

use std::fs;
use std::path::{Path, PathBuf};

/// Parts of one grant; more is a folder for which `bwrap` is there.
const MOST: usize = 4096;

/// What lies below `granted` and neither is, holds nor lies in one of `out`; `None` if that is too
/// much to name. What is made there later is not among it.
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
            // A link is what it leads to, which was not granted by this name.
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
