//! What is staged below an `.ai` folder, as files of a private folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use super::error::GitError;
use super::program::Repository;
use crate::base::limits::{LISTED_FILES, PARTS_BYTES};
use crate::space::RelPath;

impl Repository {
    /// Paths that are staged otherwise than they are committed, relative to the top; gone ones too.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn changed(&self) -> Result<BTreeSet<String>, GitError> {
        let head = self.find(&["rev-parse", "--quiet", "--verify", "HEAD^{tree}"])?;
        let base = match head {
            Some(tree) => tree,
            // Before the first commit: the tree of nothing, by whichever digest this repository uses.
            None => self.feed(&["hash-object", "-t", "tree", "--stdin"], Some(Vec::new()))?,
        };
        let base = String::from_utf8_lossy(base.trim_ascii_end()).into_owned();
        let args = ["diff-index", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
        let listed = self.ask(&[&args[..], &[&base, "--"]].concat())?;
        Ok(names(&listed))
    }

    /// Writes the staged files below `prefix` + `.ai` into `to`, byte for byte, with no filter in
    /// between. What no item can be, such as a link or a file that is too large, is there as one. Gives
    /// the paths that no file can be written to because they are no plain ones.
    ///
    /// # Errors
    /// `git.failed`, `git.io`
    pub(super) fn write_staged(&self, prefix: &str, to: &Path) -> Result<Vec<String>, GitError> {
        let below = format!("{prefix}.ai/");
        let listed = self.ask(&["ls-files", "--stage", "-z", "--", &below])?;
        let (rows, strange) = rows(&listed, prefix);
        let ids: String = rows.iter().map(|row| format!("{}\n", row.blob)).collect();
        let blobs = self.feed(&["cat-file", "--batch"], Some(ids.into_bytes()))?;
        let mut rest = &blobs[..];
        for row in rows {
            let (bytes, more) = blob(rest).ok_or_else(|| GitError::Failed {
                what: "cat-file".into(),
                why: format!("it did not give `{}`", row.path),
            })?;
            rest = more;
            row.write(bytes, to)?;
        }
        Ok(strange)
    }
}

fn names(listed: &[u8]) -> BTreeSet<String> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// One file of the index.
struct Staged {
    blob: String,
    is_link: bool,
    /// Below the folder that holds `.ai`.
    path: RelPath,
}

/// `<mode> <blob> <stage>\t<path>`, each ended by a NUL; and the paths that are no plain ones. Commits
/// of submodules are left out, and so are the sides of a conflict, which git does not commit.
fn rows(listed: &[u8], prefix: &str) -> (Vec<Staged>, Vec<String>) {
    let text = String::from_utf8_lossy(listed);
    let (mut rows, mut strange) = (Vec::new(), Vec::new());
    for row in text.split('\0').take(LISTED_FILES) {
        let Some((about, path)) = row.split_once('\t') else { continue };
        let mut about = about.split(' ');
        let (Some(mode), Some(blob), Some("0")) = (about.next(), about.next(), about.next()) else {
            continue;
        };
        let Some(path) = path.strip_prefix(prefix).filter(|_| mode != "160000") else { continue };
        match path.parse() {
            Ok(path) => {
                let (blob, is_link) = (blob.to_owned(), mode == "120000");
                rows.push(Staged { blob, is_link, path });
            }
            Err(_) => strange.push(path.to_owned()),
        }
    }
    (rows, strange)
}

/// The next `<id> blob <size>\n<bytes>\n`, and what follows it.
fn blob(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let size = std::str::from_utf8(&text[..end]).ok()?.rsplit(' ').next()?.parse().ok()?;
    let rest = &text[end + 1..];
    Some((rest.get(..size)?, rest.get(size + 1..)?))
}

impl Staged {
    fn write(&self, bytes: &[u8], to: &Path) -> Result<(), GitError> {
        let path = to.join(self.path.as_str());
        let parent = path.parent().unwrap_or(to);
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
        let written = if self.is_link {
            // It leads nowhere: that it is a link is all that is asked about it.
            std::os::unix::fs::symlink("link", &path)
        } else if bytes.len() > PARTS_BYTES {
            File::create(&path).and_then(|file| file.set_len(bytes.len() as u64))
        } else {
            fs::write(&path, bytes)
        };
        written.map_err(GitError::io(&path))
    }
}
