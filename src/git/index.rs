//! The staged files below an `.ai` folder, as files of a private folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::program::Repository;
use crate::base::limits::{LISTED_FILES, PARTS_BYTES};
use crate::space::{RelPath, ai_folders};

/// So many paths are named in one call: far from what a command line may hold.
const PATHS_AT_ONCE: usize = 200;

impl Repository {
    /// Paths that are staged otherwise than they are committed, relative to the top; gone ones too.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn changed(&self) -> Result<BTreeSet<String>, GitError> {
        let head = self.find(&["rev-parse", "--quiet", "--verify", "HEAD^{tree}"])?;
        let base = match head {
            Some(tree) => tree,
            // Before the first commit: the tree of nothing, by whichever digest this repository
            // uses.
            None => self.feed(&["hash-object", "-t", "tree", "--stdin"], Some(Vec::new()))?,
        };
        let base = String::from_utf8_lossy(base.trim_ascii_end()).into_owned();
        let args = ["diff-index", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
        let listed = self.ask(&[&args[..], &[&base, "--"]].concat())?;
        Ok(names(&listed))
    }

    /// Folders relative to the top, with a slash at the end, that hold one of the paths, at
    /// whatever depth, and have tools staged in their `.ai`.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn with_tools_above(
        &self,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, GitError> {
        let above = paths.iter().flat_map(|path| Path::new(path).ancestors().skip(1));
        let above: BTreeSet<&Path> = above.collect();
        let asked: Vec<String> =
            above.into_iter().map(|folder| format!("{}.ai/tools/", with_slash(folder))).collect();
        let mut found = BTreeSet::new();
        for some in asked.chunks(PATHS_AT_ONCE) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let listed = self.ask(&[&["ls-files", "-z", "--"], &some[..]].concat())?;
            for path in names(&listed) {
                found.extend(ai_folders(Path::new(&path)).map(|(folder, _)| with_slash(folder)));
            }
        }
        Ok(found)
    }

    /// Returns true if `prefix` + `.ai` is staged as a link.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn is_staged_as_link(&self, prefix: &str) -> Result<bool, GitError> {
        let path = format!("{prefix}.ai");
        let listed = self.ask(&["ls-files", "--stage", "-z", "--", &path])?;
        let (rows, _) = rows(&listed, prefix, &|path| path == ".ai");
        Ok(rows.iter().any(|row| row.is_link))
    }

    /// Writes the staged files below `prefix` + `.ai` into `to`, byte for byte, with no filter in
    /// between. What no item can be, such as a link or a file that is too large, is there as one.
    /// Gives the paths that no file can be written to because they are no plain ones.
    ///
    /// # Errors
    /// `git.failed`, `git.io`
    pub(super) fn write_staged(&self, prefix: &str, to: &Path) -> Result<Vec<String>, GitError> {
        self.write_rows(prefix, &format!("{prefix}.ai/"), &|_| true, to)
    }

    /// As [`Self::write_staged`], for wanted files beside `.ai`.
    ///
    /// # Errors
    /// `git.failed`, `git.io`
    pub(super) fn write_beside(
        &self,
        prefix: &str,
        wanted: &dyn Fn(&str) -> bool,
        to: &Path,
    ) -> Result<(), GitError> {
        let below = if prefix.is_empty() { "." } else { prefix };
        let wanted = |path: &str| !path.starts_with(".ai/") && wanted(path);
        self.write_rows(prefix, below, &wanted, to).map(drop)
    }

    fn write_rows(
        &self,
        prefix: &str,
        below: &str,
        wanted: &dyn Fn(&str) -> bool,
        to: &Path,
    ) -> Result<Vec<String>, GitError> {
        let listed = self.ask(&["ls-files", "--stage", "-z", "--", below])?;
        let (rows, strange) = rows(&listed, prefix, wanted);
        let sizes = self.sizes(&rows)?;
        let mut sized = rows.iter().zip(sizes).peekable();
        while sized.peek().is_some() {
            // As many at once as fit into the memory that one item's files may take.
            let (mut some, mut sum) = (Vec::new(), 0);
            while let Some((row, size)) =
                sized.next_if(|(_, size)| some.is_empty() || sum + size <= PARTS_BYTES)
            {
                if size > PARTS_BYTES {
                    row.write_hole(size, to)?;
                    continue;
                }
                sum += size;
                some.push(row);
            }
            self.write_blobs(&some, to)?;
        }
        Ok(strange)
    }

    /// The sizes of the blobs of these rows, in bytes.
    fn sizes(&self, rows: &[Staged]) -> Result<Vec<usize>, GitError> {
        let asked = ids(rows.iter());
        let told = self.feed(&["cat-file", "--batch-check=%(objectsize)"], Some(asked))?;
        let told = String::from_utf8_lossy(&told).into_owned();
        let sizes: Vec<usize> = told.lines().filter_map(|line| line.parse().ok()).collect();
        match sizes.len() == rows.len() {
            true => Ok(sizes),
            false => Err(not_given("the size of each file")),
        }
    }

    fn write_blobs(&self, rows: &[&Staged], to: &Path) -> Result<(), GitError> {
        let blobs = self.feed(&["cat-file", "--batch"], Some(ids(rows.iter().copied())))?;
        let mut rest = &blobs[..];
        for row in rows {
            let (bytes, more) = blob(rest).ok_or_else(|| not_given(row.path.as_str()))?;
            rest = more;
            row.write(bytes, to)?;
        }
        Ok(())
    }
}

/// A folder as the beginning of what lies in it.
pub(super) fn with_slash(folder: &Path) -> String {
    match folder.to_string_lossy().into_owned() {
        top if top.is_empty() => top,
        folder => folder + "/",
    }
}

/// The input of `cat-file`.
fn ids<'r>(rows: impl Iterator<Item = &'r Staged>) -> Vec<u8> {
    rows.map(|row| format!("{}\n", row.blob)).collect::<String>().into_bytes()
}

fn not_given(what: &str) -> GitError {
    GitError::Failed { what: "cat-file".into(), why: format!("it did not give `{what}`") }
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

/// `<mode> <blob> <stage>\t<path>`, each ended by a NUL; and the paths that are no plain ones.
/// Commits of submodules are left out, and so are the sides of a conflict, which git does not
/// commit.
fn rows(listed: &[u8], prefix: &str, wanted: &dyn Fn(&str) -> bool) -> (Vec<Staged>, Vec<String>) {
    let text = String::from_utf8_lossy(listed);
    let (mut rows, mut strange) = (Vec::new(), Vec::new());
    let all = text.split('\0').filter_map(|row| row.split_once('\t'));
    let all = all.filter(|(_, path)| path.strip_prefix(prefix).is_some_and(wanted));
    for (about, path) in all.take(LISTED_FILES) {
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
    /// The path to write to; its folder is there.
    fn place(&self, to: &Path) -> Result<PathBuf, GitError> {
        let path = to.join(self.path.as_str());
        let parent = path.parent().unwrap_or(to);
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
        Ok(path)
    }

    /// Writes a file of this size without its bytes, for one that is too large for any item.
    fn write_hole(&self, size: usize, to: &Path) -> Result<(), GitError> {
        let path = self.place(to)?;
        let made = File::create(&path).and_then(|file| file.set_len(size as u64));
        made.map_err(GitError::io(&path))
    }

    fn write(&self, bytes: &[u8], to: &Path) -> Result<(), GitError> {
        let path = self.place(to)?;
        let written = if self.is_link {
            // It leads nowhere: that it is a link is all that is asked about it.
            std::os::unix::fs::symlink("link", &path)
        } else {
            fs::write(&path, bytes)
        };
        written.map_err(GitError::io(&path))
    }
}
