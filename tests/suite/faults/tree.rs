//! A folder's whole content, to compare with and to go back to.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Folder { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link(PathBuf),
}

/// Every path below a folder, and what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    top: PathBuf,
    pub nodes: BTreeMap<PathBuf, Node>,
}

impl Tree {
    pub fn of(top: &Path) -> Self {
        let walk = walkdir::WalkDir::new(top).min_depth(1);
        let nodes = walk.into_iter().map(|entry| {
            let path = entry.expect("an entry").into_path();
            let stat = fs::symlink_metadata(&path).expect("a state");
            let mode = stat.permissions().mode() & 0o7777;
            let node = if stat.is_dir() {
                Node::Folder { mode }
            } else if stat.is_symlink() {
                Node::Link(fs::read_link(&path).expect("a link"))
            } else {
                Node::File { mode, bytes: fs::read(&path).expect("a file") }
            };
            (path, node)
        });
        Self { top: top.to_owned(), nodes: nodes.collect() }
    }

    /// The paths at which the two differ.
    pub fn differences(&self, other: &Self) -> Vec<PathBuf> {
        let paths = self.nodes.keys().chain(other.nodes.keys());
        let mut paths: Vec<_> =
            paths.filter(|p| self.nodes.get(*p) != other.nodes.get(*p)).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The bytes of the file at `path`.
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        match self.nodes.get(path)? {
            Node::File { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Makes the folder what it was; what is as it was keeps its inode.
    pub fn restore(&self) {
        let now = Self::of(&self.top);
        let differences = now.differences(self);
        for path in differences.iter().rev() {
            match now.nodes.get(path) {
                Some(Node::Folder { .. })
                    if matches!(self.nodes.get(path), Some(Node::Folder { .. })) => {}
                Some(Node::Folder { .. }) => fs::remove_dir(path).expect("an empty folder"),
                Some(_) => fs::remove_file(path).expect("a file"),
                None => {}
            }
        }
        for path in &differences {
            let mode = match self.nodes.get(path) {
                Some(Node::Folder { mode }) => {
                    if !path.is_dir() {
                        fs::create_dir(path).expect("mkdir");
                    }
                    *mode
                }
                Some(Node::File { mode, bytes }) => {
                    fs::write(path, bytes).expect("a written file");
                    *mode
                }
                Some(Node::Link(to)) => {
                    std::os::unix::fs::symlink(to, path).expect("a link");
                    continue;
                }
                None => continue,
            };
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
        }
        assert_eq!(Self::of(&self.top).differences(self), Vec::<PathBuf>::new());
    }
}
