//! Looking at files of the real machine: what a path leads to, small contents, names.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::host::ResolvedPath;
use crate::base::bytes::{Bounded, read_at_most};

/// Most symbolic links on the way to a file; the kernel follows no more either.
const LINKS: usize = 40;

/// See [`super::Host::look`].
pub(super) fn look(path: &Path) -> Option<ResolvedPath> {
    let stat = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let Way { steps, hops, .. } =
        walk(path, |place| fs::read_link(place).ok()).filter(|way| !way.steps.is_empty())?;
    let ctime_ns = stat.ctime().checked_mul(1_000_000_000)?.checked_add(stat.ctime_nsec())?;
    Some(ResolvedPath {
        steps,
        hops,
        device: stat.dev(),
        inode: stat.ino(),
        size: stat.size(),
        ctime_ns,
        is_program: (stat.mode() & 0o111).count_ones() > 0,
    })
}

/// The way of a path, as the kernel follows it.
#[derive(Default)]
struct Way {
    /// The places of the file itself.
    steps: Vec<PathBuf>,
    /// The links to folders.
    hops: Vec<PathBuf>,
    /// Every folder and link on the way, and what it leads to, there or not.
    passed: Vec<PathBuf>,
    /// The place that it leads to, there or not.
    end: PathBuf,
}

/// A cache of what lies at the places of some paths. Each place is asked of the disk once, however
/// many paths lead through it, so this lives no longer than one question does.
#[derive(Default)]
pub(crate) struct PathLookup(HashMap<PathBuf, Option<FileAt>>);

/// The file or folder at one place.
#[derive(Clone)]
pub(crate) struct FileAt {
    /// Device and inode.
    pub(crate) id: (u64, u64),
    pub(crate) is_folder: bool,
    /// Where a symbolic link leads to.
    target: Option<PathBuf>,
}

impl PathLookup {
    /// Every place that a path leads through, and the one that it leads to, there or not; `None` if
    /// it leads through more links than the kernel follows.
    pub(crate) fn passed(&mut self, path: &Path) -> Option<Vec<PathBuf>> {
        let way = walk(path, |place| self.at(place)?.target.clone());
        way.map(|way| way.passed)
    }

    /// The file or folder at a place; a link is not followed.
    pub(crate) fn at(&mut self, place: &Path) -> Option<&FileAt> {
        if !self.0.contains_key(place) {
            self.0.insert(place.to_owned(), FileAt::from_disk(place));
        }
        self.0.get(place).and_then(Option::as_ref)
    }

    /// The real path of what a path leads to, if it is there.
    pub(crate) fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let real = walk(path, |place| self.at(place)?.target.clone())?.end;
        self.at(&real).is_some().then_some(real)
    }
}

impl FileAt {
    fn from_disk(place: &Path) -> Option<Self> {
        let stat = fs::symlink_metadata(place).ok()?;
        let target = if stat.is_symlink() { fs::read_link(place).ok() } else { None };
        Some(Self { id: (stat.dev(), stat.ino()), is_folder: stat.is_dir(), target })
    }
}

fn walk(path: &Path, mut target: impl FnMut(&Path) -> Option<PathBuf>) -> Option<Way> {
    let mut way = Way::default();
    let mut here = PathBuf::from("/");
    // What is still to be walked, the next part last.
    let mut ahead = Vec::new();
    let push = |ahead: &mut Vec<OsString>, path: &Path| {
        ahead.extend(path.components().rev().map(|part| part.as_os_str().to_owned()));
    };
    push(&mut ahead, &std::path::absolute(path).ok()?);
    while let Some(part) = ahead.pop() {
        match part.as_encoded_bytes() {
            b"/" => here = PathBuf::from("/"),
            b"." => {}
            // Every folder so far is real, so the one above is the one that the kernel means.
            b".." => drop(here.pop()),
            _ => {
                let place = here.join(&part);
                let target = target(&place);
                if way.steps.len() + way.hops.len() > LINKS {
                    return None;
                }
                match (&target, ahead.is_empty()) {
                    (None, false) => here.clone_from(&place),
                    (_, true) => way.steps.push(place.clone()),
                    (Some(_), false) => way.hops.push(place.clone()),
                }
                way.passed.push(place);
                if let Some(target) = target {
                    push(&mut ahead, &target);
                } else if ahead.is_empty() {
                    here.push(&part);
                }
            }
        }
    }
    way.end = here;
    Some(way)
}

/// See [`super::Host::read`].
pub(crate) fn read(path: &Path, cap: u64) -> Option<Vec<u8>> {
    // Opening a pipe does not wait for a writer; it is refused because it is not a regular file.
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let stat = file.metadata().ok().filter(fs::Metadata::is_file)?;
    match read_at_most(&mut file, cap, stat.size()) {
        Ok(Bounded::All(bytes)) => Some(bytes),
        _ => None,
    }
}

/// See [`super::Host::names`].
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{PathLookup, look, names, read};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn every_place_on_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::write(top.join("a/file"), "12345").unwrap();
        symlink("../file", top.join("a/b/near")).unwrap();
        symlink(top.join("a/b/near"), top.join("far")).unwrap();
        symlink("a", top.join("folder")).unwrap();
        let seen = look(&top.join("far")).unwrap();
        let steps = ["far", "a/b/near", "a/file"].map(|step| top.join(step)).to_vec();
        assert_eq!((seen.steps, seen.size, seen.is_program), (steps, 5, false));
        let seen = look(&top.join("folder/b/../file")).unwrap();
        assert_eq!((seen.place(), seen.real()), (&*top.join("a/file"), &*top.join("a/file")));
        fs::set_permissions(top.join("a/file"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(look(&top.join("far")).unwrap().is_program);
        symlink("loop", top.join("loop")).unwrap();
        for none in ["none", "loop", "a", "none/file"] {
            assert_eq!(look(&top.join(none)), None, "{none}");
        }
    }

    #[test]
    fn a_path_leads_through_every_folder_and_link_on_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("a/b", top.join("link")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        let through = |path: &str| {
            let all = PathLookup::default().passed(&top.join(path))?;
            let below = all.iter().filter_map(|place| place.strip_prefix(&top).ok());
            let below = below.map(|place| place.display().to_string());
            Some(below.filter(|place| !place.is_empty()).collect::<Vec<_>>())
        };
        for (path, want, real) in [
            ("a/b", &["a", "a/b"][..], Some("a/b")),
            ("a/b/", &["a", "a/b"], Some("a/b")),
            ("a/./b/..", &["a", "a/b"], Some("a")),
            ("link/../x", &["link", "a", "a/b", "a/x"], None),
            ("link", &["link", "a", "a/b"], Some("a/b")),
            ("link/..", &["link", "a", "a/b"], Some("a")),
            ("none/at/all", &["none", "none/at", "none/at/all"], None),
        ] {
            assert_eq!(through(path).unwrap(), want, "{path}");
            let path = top.join(path);
            let real = real.map(|real| top.join(real));
            assert_eq!(
                (PathLookup::default().real(&path), path.canonicalize().ok()),
                (real.clone(), real)
            );
        }
        assert_eq!(through("loop/x"), None);
        assert_eq!(PathLookup::default().passed("/".as_ref()), Some(vec![]));
        assert_eq!(PathLookup::default().real("/".as_ref()), Some("/".into()));
    }

    #[test]
    fn reading_is_bounded_and_never_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5), Some(b"12345".to_vec()));
        assert_eq!((read(&file, 4), read(folder.path(), 5)), (None, None));
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(read(&pipe, 5), None);
        let mut found = names(folder.path());
        found.sort();
        assert_eq!(found, ["file", "pipe"]);
        assert_eq!(names(&file), Vec::<String>::new());
    }
}
