//! Standard error names the files that the author has, and not the private copies that ran.
//!
//! Exactly the beginnings of paths that name the tool's part of the private folder of this run are
//! replaced, each occurrence; standard output is data and stays as it is.

use crate::base::mask::begun;
use std::path::Path;

use aho_corasick::{AhoCorasick, MatchKind};

/// How a file is written as a URL, which is what Node.js names.
const URL: &str = "file://";
/// A shorter end of a piece is not held back: it would be missing from a question without an end
/// of line.
const HELD: usize = 8;

/// The paths of one run, or of one server, to be replaced.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuthorsPaths {
    copies: Vec<Vec<u8>>,
    found: Option<AhoCorasick>,
    folder: String,
}

impl AuthorsPaths {
    /// Shows paths below `tool` in the private folder `pin` as paths in `folder`, which is empty or
    /// ends with `/`.
    pub(super) fn new(pin: &Path, tool: &str, folder: String) -> Self {
        let real = pin.canonicalize().unwrap_or_else(|_| pin.to_owned());
        let paths = [pin, &real].map(|pin| format!("{}/", pin.join(tool).display()));
        let copies: Vec<Vec<u8>> = paths
            .iter()
            .flat_map(|path| [path.clone(), format!("{URL}{path}")])
            .map(String::into_bytes)
            .collect();
        let found =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&copies).ok();
        Self { copies, found, folder }
    }

    /// The bytes with the author's paths.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let Some(found) = &self.found else { return bytes.to_vec() };
        found.replace_all_bytes(bytes, &vec![&self.folder; self.copies.len()])
    }
}

/// As [`AuthorsPaths`], for a stream that comes in pieces: bytes that may begin a path are held
/// back.
pub(super) struct StreamPaths<'p> {
    paths: &'p AuthorsPaths,
    held: Vec<u8>,
}

impl<'p> StreamPaths<'p> {
    pub(super) fn new(paths: &'p AuthorsPaths) -> Self {
        Self { paths, held: Vec::new() }
    }

    /// Returns the bytes that may be shown now that this piece came.
    pub(super) fn next(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let open = self.paths.copies.iter().map(|copy| begun(copy, &self.held)).max();
        let open = open.filter(|open| *open >= HELD).unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - open);
        self.paths.bytes(&std::mem::replace(&mut self.held, rest))
    }

    /// The rest, at the end of the stream.
    pub(super) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::{AuthorsPaths, StreamPaths};
    use std::path::Path;

    fn paths() -> AuthorsPaths {
        AuthorsPaths::new(Path::new("/run/rye/7-ab"), "tool", ".ai/tools/acme/".into())
    }

    #[test]
    fn the_authors_path_stands_for_the_copys_table() {
        for (said, want) in [
            ("/run/rye/7-ab/tool/s.sh: line 3: x", ".ai/tools/acme/s.sh: line 3: x"),
            ("file:///run/rye/7-ab/tool/n.js:7", ".ai/tools/acme/n.js:7"),
            ("at a (file:///run/rye/7-ab/tool/l/b.js:1:2)", "at a (.ai/tools/acme/l/b.js:1:2)"),
            ("/run/rye/7-ab/tool/a /run/rye/7-ab/tool/b", ".ai/tools/acme/a .ai/tools/acme/b"),
            ("/run/rye/7-ab/tools/s.sh", "/run/rye/7-ab/tools/s.sh"),
            ("/run/rye/8-ab/tool/s.sh", "/run/rye/8-ab/tool/s.sh"),
            ("", ""),
        ] {
            assert_eq!(paths().bytes(said.as_bytes()), want.as_bytes(), "{said}");
        }
        assert_eq!(AuthorsPaths::default().bytes(b"as it is"), b"as it is");
    }

    #[test]
    fn a_path_in_pieces_is_told_as_a_whole_and_no_question_is_held_back() {
        let paths = paths();
        let said = b"in file:///run/rye/7-ab/tool/n.js:7";
        for at in 0..said.len() {
            let mut stream = StreamPaths::new(&paths);
            let mut shown = stream.next(&said[..at]);
            shown.extend(stream.next(&said[at..]));
            shown.extend(stream.end());
            if !(4..11).contains(&at) {
                assert_eq!(shown, b"in .ai/tools/acme/n.js:7", "{at}");
            }
        }
        assert_eq!(StreamPaths::new(&paths).next(b"which file"), b"which file");
        let mut stream = StreamPaths::new(&paths);
        assert_eq!(stream.next(b"in /run/rye/7-ab"), b"in ");
        assert_eq!(stream.end(), b"/run/rye/7-ab");
    }
}
