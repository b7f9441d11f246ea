//! The submodules that an index of git names ("gitlinks"), read without git.
//!
//! Format: git's `Documentation/gitformat-index.txt`, versions 2 to 4, with digests of 20 or 32
//! bytes. Which of the two it is stands in another file; only the right one leads from the first
//! entry to the end, over names of the length that each says, so both are tried.

use crate::base::limits::LISTED_FILES;

/// Longest path in git's index, in bytes: Linux takes no longer one.
const PATH_BYTES: usize = 4 << 10;

/// The submodules that an index names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Gitlinks {
    /// Their paths below the work tree, as git spells them.
    pub(super) paths: Vec<Vec<u8>>,
    /// The digest in the name of the file `sharedindex.…` that holds the rest of the index.
    pub(super) shared: Option<String>,
}

/// The type of an entry that is a commit of another repository, and the bits that hold the type.
const GITLINK: u32 = 0o160_000;
const TYPE: u32 = 0o170_000;

/// The bytes before the mode in an entry: two times, a device and an inode.
const BEFORE_MODE: usize = 24;
/// The bytes between the mode and the digest: two ids and a size.
const AFTER_MODE: usize = 12;

/// `None` if it is not an index that this program knows.
pub(super) fn gitlinks(index: &[u8]) -> Option<Gitlinks> {
    [20, 32].into_iter().find_map(|digest| Reader { rest: index, at: 0 }.index(digest))
}

struct Reader<'a> {
    rest: &'a [u8],
    /// How much was read.
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    /// Up to a NUL, which is taken too.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// A number of seven bits a byte, as in the deltas of a pack with an offset.
    fn offset(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = value.checked_add(1)?.checked_mul(0x80)? | usize::from(byte & 0x7f);
        }
        Some(value)
    }

    fn index(mut self, digest: usize) -> Option<Gitlinks> {
        let whole = self.rest.len();
        if self.take(4)? != b"DIRC" {
            return None;
        }
        let version = self.number().filter(|version| (2..=4).contains(version))?;
        let mut links = Gitlinks::default();
        let mut name = Vec::new();
        for _ in 0..self.number()? {
            let is_link = self.entry(version, digest, &mut name)?;
            // One of a split index that stands for another in the shared file has no name, and
            // which one that is stands in a map that is not read here.
            if is_link && (name.is_empty() || links.paths.len() >= LISTED_FILES) {
                return None;
            }
            if is_link {
                links.paths.push(name.clone());
            }
        }
        while self.at < whole.checked_sub(digest)? {
            let kind = self.take(4)?;
            let size = usize::try_from(self.number()?).ok()?;
            let content = self.take(size)?;
            if kind == b"link" {
                let shared = content.get(..digest)?;
                links.shared = Some(shared.iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
        (self.rest.len() == digest).then_some(links)
    }

    /// Puts the name of the next entry into `name`, which holds the one before; whether it is a
    /// gitlink.
    fn entry(&mut self, version: u32, digest: usize, name: &mut Vec<u8>) -> Option<bool> {
        const HAS_MORE_FLAGS: u16 = 0x4000;
        /// A longer name has this length.
        const LENGTH: u16 = 0xfff;
        let start = self.at;
        self.take(BEFORE_MODE)?;
        let mode = self.number()?;
        self.take(AFTER_MODE + digest)?;
        let flags = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        if flags & HAS_MORE_FLAGS != 0 {
            self.take(2)?;
        }
        if version == 4 {
            let kept = name.len().checked_sub(self.offset()?)?;
            name.truncate(kept);
            name.extend(self.text()?);
        } else {
            name.clear();
            name.extend(self.text()?);
            // With the NUL that was taken already, as many as fill eight bytes.
            let padding = (8 - (self.at - start) % 8) % 8;
            if self.take(padding)?.iter().any(|byte| *byte != 0) {
                return None;
            }
        }
        let said = usize::from(flags & LENGTH);
        if said != name.len().min(usize::from(LENGTH)) || name.len() > PATH_BYTES {
            return None;
        }
        Some(mode & TYPE == GITLINK)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::gitlinks;

    /// The index that git wrote into a repository of the given kind, with these submodules.
    fn written(format: &str, version: &str, links: &[&str]) -> Vec<u8> {
        let folder = repository(format, version, links);
        std::fs::read(folder.path().join(".git/index")).unwrap()
    }

    fn repository(format: &str, version: &str, links: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args).current_dir(&folder).env("GIT_CONFIG_NOSYSTEM", "1");
            let said = git.env("HOME", folder.path()).output().unwrap();
            assert!(said.status.success(), "{args:?}: {said:?}");
        };
        git(&["init", "-q", &format!("--object-format={format}")]);
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for name in ["a/b/x", "a/b/xy", "f", "longer-than-eight", "z"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        git(&["add", "."]);
        git(&["add", "--intent-to-add", "f"]);
        let id = "1".repeat(if format == "sha1" { 40 } else { 64 });
        for link in links {
            git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},{link}")]);
        }
        git(&["update-index", "--index-version", version]);
        git(&["update-index", "--force-untracked-cache"]);
        folder
    }

    #[test]
    fn the_submodules_of_an_index_are_read_as_git_writes_them_table() {
        let links = ["a/b/link", "a/link", "sub", "ü b"];
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                let read = gitlinks(&written(format, version, &links)).unwrap();
                let paths: Vec<_> =
                    read.paths.iter().map(|path| str::from_utf8(path).unwrap()).collect();
                assert_eq!(
                    (paths.as_slice(), read.shared),
                    (&links[..], None),
                    "{format} {version}"
                );
                let none = gitlinks(&written(format, version, &[])).unwrap();
                assert_eq!(none.paths, [b""; 0], "{format} {version}");
            }
        }
    }

    #[test]
    fn the_submodules_of_an_index_in_two_files_are_those_of_both_or_it_is_not_read() {
        let folder = repository("sha1", "2", &["sub"]);
        let git = |args: &[&str]| {
            let said = Command::new("git").args(args).current_dir(&folder).output().unwrap();
            assert!(said.status.success(), "{args:?}: {said:?}");
        };
        let index = || std::fs::read(folder.path().join(".git/index")).unwrap();
        git(&["update-index", "--split-index"]);
        git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},new", "1".repeat(40))]);
        let read = gitlinks(&index()).unwrap();
        assert_eq!(read.paths, [b"new"]);
        let shared = format!(".git/sharedindex.{}", read.shared.unwrap());
        let shared = std::fs::read(folder.path().join(shared)).unwrap();
        assert_eq!(gitlinks(&shared).unwrap().paths, [b"sub"]);
        // It stands for another entry of the shared file, and only a map says which.
        git(&["update-index", "--cacheinfo", &format!("160000,{},z", "2".repeat(40))]);
        assert_eq!(gitlinks(&index()), None);
    }

    #[test]
    fn what_is_cut_is_not_an_index_or_names_all_of_them() {
        let whole = written("sha1", "2", &["sub"]);
        let links = gitlinks(&whole);
        assert!(links.is_some());
        // Behind the entries stand parts of which none has to be there.
        for end in 0..whole.len() {
            let read = gitlinks(&whole[..end]);
            assert!(read.is_none() || read == links, "{end}: {read:?}");
        }
        assert_eq!(gitlinks(&whole[..whole.len() - 1]), None);
        let other = [&b"DIRC\0\0\0\x05"[..], &whole[8..]].concat();
        assert_eq!(gitlinks(&other), None);
    }
}
