//! Finding a name in a folder and in all that lies below it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where a name was found, and whether every folder was looked into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedBelow {
    /// Those of outer folders first.
    pub(crate) at: Vec<PathBuf>,
    pub(crate) is_whole: bool,
}

/// See [`super::Host::named_below`].
pub(super) fn named_below(folder: &Path, name: &str, most: usize) -> NamedBelow {
    let own = rustix::process::geteuid().as_raw();
    let mut found = NamedBelow { at: Vec::new(), is_whole: true };
    let mut left = VecDeque::from([folder.to_owned()]);
    let mut looked = 0;
    while let Some(folder) = left.pop_front() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                // A child can open a folder of its own user by changing the mode, and no other.
                let is_own = || fs::symlink_metadata(&folder).is_ok_and(|stat| stat.uid() == own);
                found.is_whole &= error.kind() == io::ErrorKind::NotFound || !is_own();
                continue;
            }
        };
        for entry in entries.flatten() {
            looked += 1;
            if looked > most {
                found.is_whole = false;
                return found;
            }
            // Links are not folders here, so none is followed.
            let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_name(&entry.file_name(), name) {
                found.at.push(entry.path());
            } else if is_folder() {
                left.push_back(entry.path());
            }
        }
    }
    found
}

/// Some file systems know no difference between large and small letters.
fn is_name(found: &OsStr, name: &str) -> bool {
    found.as_encoded_bytes().eq_ignore_ascii_case(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{NamedBelow, named_below};

    #[test]
    fn a_name_is_found_at_every_depth_and_behind_no_link() {
        let base = tempfile::tempdir().unwrap();
        let (top, out) = (base.path().join("top"), base.path().join("out"));
        for folder in ["a/.git/x/.git", "a/b/c", "d"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::create_dir_all(out.join(".git")).unwrap();
        fs::write(top.join("a/b/c/.git"), "").unwrap();
        symlink("nowhere", top.join("d/.GIT")).unwrap();
        symlink(&out, top.join("link")).unwrap();
        let mut found = named_below(&top, ".git", 100);
        assert_eq!(found.at.last(), Some(&top.join("a/b/c/.git")), "outer ones first");
        found.at.sort();
        assert_eq!(found.at, ["a/.git", "a/b/c/.git", "d/.GIT"].map(|path| top.join(path)));
        assert!(found.is_whole);
        let nothing = NamedBelow { at: Vec::new(), is_whole: true };
        assert_eq!(named_below(&top.join("not-there"), ".git", 100), nothing);
    }

    #[test]
    fn a_search_that_ends_early_says_so() {
        let top = tempfile::tempdir().unwrap();
        for name in ["1", "2", "3"] {
            fs::write(top.path().join(name), "").unwrap();
        }
        assert!(named_below(top.path(), "x", 3).is_whole);
        assert!(!named_below(top.path(), "x", 2).is_whole);
    }
}
