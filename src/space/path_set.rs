//! Paths of files that stay different files wherever they are written.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::rel_path::RelPath;
use crate::base::limits::WORKSPACE_DEPTH;
use crate::base::text::unfit;

/// A path as file systems compare it for which neither case counts nor how a letter is composed.
pub(crate) fn folded(path: &str) -> String {
    path.nfd().collect::<String>().to_uppercase().to_lowercase().nfc().collect()
}

/// Paths of files that can lie in one folder together, on every file system.
#[derive(Debug, Default)]
pub(crate) struct PathSet<'p> {
    /// By the number of the folder that it lies in and its folded name.
    known: HashMap<(usize, String), Known<'p>>,
}

#[derive(Debug)]
struct Known<'p> {
    number: usize,
    name: &'p str,
    is_file: bool,
}

impl<'p> PathSet<'p> {
    /// Adds the path of a file.
    ///
    /// # Errors
    /// One clause that says why no such file can lie with the others; its subject is the path.
    pub(crate) fn add(&mut self, path: &'p str) -> Result<RelPath, &'static str> {
        let plain: RelPath = path.parse()?;
        if unfit(path).is_some() {
            return Err("holds a character that is not seen");
        }
        let depth = path.split('/').count();
        if depth > WORKSPACE_DEPTH {
            return Err("lies too deep");
        }
        let mut folder = 0;
        for (at, name) in path.split('/').enumerate() {
            let is_file = at + 1 == depth;
            let number = self.known.len() + 1;
            let known = self.known.entry((folder, folded(name)));
            let known = known.or_insert(Known { number, name, is_file });
            let is_new = known.number == number;
            if known.name != name || (!is_new && (is_file || known.is_file)) {
                return Err("differs from another in case alone, or is a folder's");
            }
            folder = known.number;
        }
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::PathSet;

    #[test]
    fn h07_paths_that_can_lie_in_one_folder_and_not_table() {
        let deep = "d/".repeat(64) + "x";
        let rows: [(&[&str], bool); 17] = [
            (&["a", "b/a", "b/c/a", ".hidden/x"], true),
            (&["a/b", "c/B"], true),
            (&["stra\u{df}e", "strasbourg"], true),
            (&["/a"], false),
            (&["a/../b"], false),
            (&["./a"], false),
            (&["a//b"], false),
            (&["a\\b"], false),
            (&["a\u{7}"], false),
            (&["a\u{202e}b"], false),
            (&[&deep], false),
            (&["a", "a"], false),
            (&["README", "readme"], false),
            (&["Lib/a", "lib/b"], false),
            (&["caf\u{e9}", "cafe\u{301}"], false),
            (&["stra\u{df}e", "STRASSE"], false),
            (&["lib", "lib/a"], false),
        ];
        for (paths, want) in rows {
            for paths in [paths.to_vec(), paths.iter().rev().copied().collect()] {
                let mut set = PathSet::default();
                let fits = paths.iter().all(|path| set.add(path).is_ok());
                assert_eq!(fits, want, "{paths:?}");
            }
        }
    }
}
