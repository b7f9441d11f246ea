//! Items that are signed as they are written, by hand or by rye.

use std::fs;
use std::path::{Path, PathBuf};

use super::{World, item_of, line, seconds_from_now, write};

impl World {
    /// Writes a project item and signs it.
    #[track_caller]
    pub fn signed(&self, path: &str, text: &str) -> PathBuf {
        self.sign(self.write(path, text), path, text, "project")
    }

    /// Writes an item of the user space and signs it.
    #[track_caller]
    pub fn signed_home(&self, path: &str, text: &str) -> PathBuf {
        self.sign(self.write_home(path, text), path, text, "user")
    }

    /// Writes a project item and has rye sign it, which remembers it as it is.
    #[track_caller]
    pub fn signed_by_rye(&self, path: &str, text: &str) -> PathBuf {
        let file = self.write(path, text);
        self.sign_by_rye(path, "project");
        file
    }

    #[track_caller]
    fn sign_by_rye(&self, path: &str, space: &str) {
        let said = self.answer(&["sign", &item_of(path), "--space", space]);
        assert_eq!(said.status, 0, "{path}: {said:?}");
    }

    /// Signs an item by hand; by rye where its header is to get the digests of files.
    #[track_caller]
    fn sign(&self, file: PathBuf, path: &str, text: &str, space: &str) -> PathBuf {
        match text.contains("files") || text.contains("rye:signed") {
            true => self.sign_by_rye(path, space),
            false => fs::write(&file, self.with_line(path, text)).expect("a written file"),
        }
        file
    }

    /// Writes an item below `base` as a rye signed it that did not look at what it says.
    pub fn signed_before(&self, base: &Path, path: &str, text: &str) {
        write(&base.join(path), self.with_line(path, text).as_bytes());
    }

    /// The text with a signature line of the user's own key, for an item at this path.
    fn with_line(&self, path: &str, text: &str) -> String {
        let (_, ext) = path.rsplit_once('.').expect("an extension");
        let (open, close) = match ext {
            "md" => ("<!-- ", " -->"),
            "js" | "mjs" | "cjs" | "ts" => ("// ", ""),
            _ => ("# ", ""),
        };
        // A program's first line stays the first.
        let shebang =
            if text.starts_with("#!") { text.find('\n').map_or(0, |at| at + 1) } else { 0 };
        let line =
            line(&self.own_key(), &item_of(path), ext, &seconds_from_now(0), text.as_bytes());
        let (first, rest) = text.split_at(shebang);
        format!("{first}{open}{line}{close}\n{rest}")
    }
}
