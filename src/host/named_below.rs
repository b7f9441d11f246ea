//! Finding a name, and bare repositories, in a folder and in all that lies below it.

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
    /// Folders that git takes for bare repositories.
    pub(crate) bare: Vec<PathBuf>,
    pub(crate) is_whole: bool,
}

/// The files by which git takes a folder for a repository (`setup.c`, `is_git_directory`): a
/// `HEAD`, and beside it objects and references, or a file that says where those are.
#[derive(Default)]
struct Seen {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl Seen {
    fn take(&mut self, entry: &OsStr) {
        for (name, seen) in [
            ("HEAD", &mut self.head),
            ("objects", &mut self.objects),
            ("refs", &mut self.refs),
            ("commondir", &mut self.commondir),
        ] {
            *seen |= is_name(entry, name);
        }
    }

    fn is_bare(&self) -> bool {
        self.head && (self.commondir || self.objects && self.refs)
    }
}

/// See [`super::Host::named_below`].
pub(super) fn named_below(top: &Path, name: &str, most: usize) -> NamedBelow {
    let own = rustix::process::geteuid().as_raw();
    let mut found = NamedBelow { is_whole: true, ..NamedBelow::default() };
    let mut left = VecDeque::from([top.to_owned()]);
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
        let mut seen = Seen::default();
        let mut inner = Vec::new();
        for entry in entries.flatten() {
            looked += 1;
            if looked > most {
                found.is_whole = false;
                break;
            }
            seen.take(&entry.file_name());
            // Links are not folders here, so none is followed.
            let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_name(&entry.file_name(), name) {
                found.at.push(entry.path());
            } else if is_folder() {
                inner.push(entry.path());
            }
        }
        if seen.is_bare() {
            found.bare.push(folder.clone());
        }
        if looked > most {
            break;
        }
        if !seen.is_bare() || folder == top {
            left.extend(inner);
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
        let nothing = NamedBelow { is_whole: true, ..NamedBelow::default() };
        assert_eq!(named_below(&top.join("not-there"), ".git", 100), nothing);
    }

    #[test]
    fn a_folder_that_git_takes_for_a_bare_repository_is_found_table() {
        for (names, is_bare) in [
            (&["HEAD", "objects/x", "refs/x"][..], true),
            (&["HEAD", "commondir"], true),
            (&["head", "OBJECTS/x", "refs/x"], true),
            (&["HEAD", "objects/x"], false),
            (&["objects/x", "refs/x", "commondir"], false),
            (&["HEAD"], false),
        ] {
            let base = tempfile::tempdir().unwrap();
            let (top, at) = (base.path(), base.path().join("a/b"));
            for name in names {
                let file = at.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            fs::create_dir_all(at.join("in/.git")).unwrap();
            let found = named_below(top, ".git", 100);
            assert_eq!(!found.bare.is_empty(), is_bare, "{names:?}");
            assert!(found.bare.iter().all(|bare| *bare == at), "{names:?}");
            assert_eq!(found.at.is_empty(), is_bare, "{names:?}: it is not looked into");
            let found = named_below(&at, ".git", 100);
            assert_eq!(
                (!found.bare.is_empty(), found.at.len()),
                (is_bare, 1),
                "{names:?}: the top"
            );
        }
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
