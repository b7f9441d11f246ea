//! Manifests: trees of files by the digests of their bytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::{NamedObject, StoredKind};
use super::objects::OBJECT_BYTES;
use crate::base::Digest;
use crate::space::{PathSet, RelPath};

/// Most files of a tree: a snapshot holds what one run needs, and never a project.
pub(crate) const TREE_FILES: usize = 10_000;
/// Most bytes of all files of a tree.
pub(crate) const TREE_BYTES: u64 = 1 << 30;
/// Most bytes of the text of a manifest, which is read whole: 400 for each file.
pub(crate) const MANIFEST_BYTES: u64 = 4 << 20;

/// The permissions of a file. Another machine's owners and groups mean nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FileMode {
    #[serde(rename = "0644")]
    Data,
    #[serde(rename = "0755")]
    Program,
}

impl FileMode {
    /// A file is a program if its owner may run it.
    pub(crate) fn of_bits(mode: u32) -> Self {
        if mode & 0o100 == 0 { Self::Data } else { Self::Program }
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Data => 0o644,
            Self::Program => 0o755,
        }
    }
}

/// One file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeFile {
    pub(crate) mode: FileMode,
    pub(crate) sha256: Digest,
    /// In bytes.
    pub(crate) size: u64,
}

impl TreeFile {
    pub(crate) fn of(bytes: &[u8], mode: FileMode) -> Self {
        Self { mode, sha256: Digest::of(bytes), size: bytes.len() as u64 }
    }
}

/// A tree of files.
///
/// Invariant: its paths keep the rules of a [`PathSet`], and files and bytes the caps of this file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub(crate) struct TreeManifest(BTreeMap<RelPath, TreeFile>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    files: BTreeMap<String, TreeFile>,
}

impl TreeManifest {
    /// # Errors
    /// One clause that says which rule the tree breaks.
    pub(crate) fn new(files: BTreeMap<RelPath, TreeFile>) -> Result<Self, String> {
        let files = files.into_iter().map(|(path, file)| (path.to_string(), file)).collect();
        Self::try_from(Fields { files })
    }

    pub(crate) fn files(&self) -> &BTreeMap<RelPath, TreeFile> {
        &self.0
    }
}

impl TryFrom<Fields> for TreeManifest {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let files = &fields.files;
        if files.len() > TREE_FILES {
            return Err(format!("has more than {TREE_FILES} files"));
        }
        let total = files.values().fold(0, |total: u64, file| total.saturating_add(file.size));
        if total > TREE_BYTES || files.values().any(|file| file.size > OBJECT_BYTES) {
            let (one, all) = (OBJECT_BYTES >> 20, TREE_BYTES >> 20);
            return Err(format!("has a file larger than {one} MiB, or more than {all} MiB in all"));
        }
        let mut paths = PathSet::default();
        let plain = |(path, file): (_, &TreeFile)| {
            let plain =
                paths.add(path).map_err(|why| format!("has the path `{path}`, which {why}"));
            Ok((plain?, *file))
        };
        files
            .iter()
            .map(|(path, file)| (path.as_str(), file))
            .map(plain)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl From<TreeManifest> for Fields {
    fn from(manifest: TreeManifest) -> Self {
        let files = manifest.0.into_iter().map(|(path, file)| (path.to_string(), file));
        Self { files: files.collect() }
    }
}

impl StoredKind for TreeManifest {
    const KIND: &'static str = "manifest";
    const MOST: u64 = MANIFEST_BYTES;

    fn named(&self) -> Vec<NamedObject> {
        self.0.values().map(|file| NamedObject::Blob(file.sha256)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{FileMode, TREE_BYTES, TREE_FILES, TreeFile, TreeManifest};
    use crate::base::Digest;
    use crate::store::kinds::{Snapshot, StoredKind};

    fn file(size: u64) -> TreeFile {
        TreeFile { mode: FileMode::Data, sha256: Digest::of(b"x"), size }
    }

    #[test]
    fn each_kind_is_read_from_its_one_text_alone() {
        let digest = Digest::of(b"x");
        let files = [("a/b".parse().unwrap(), file(1))].into();
        let manifest = TreeManifest::new(files).unwrap();
        let text = manifest.to_text().unwrap();
        let want = format!(
            r#"{{"files":{{"a/b":{{"mode":"0644","sha256":"{digest}","size":1}}}},"kind":"manifest","schema":1}}"#
        );
        assert_eq!(String::from_utf8(text).unwrap(), want);
        assert_eq!(TreeManifest::read(want.as_bytes()), Ok(manifest));
        for (from, to) in [
            ("0644", "0600"),
            ("\"schema\":1", "\"schema\":2"),
            ("manifest", "snapshot"),
            (":1}}", ": 1}}"),
            ("a/b", "a/../b"),
            ("\"size\":1", "\"size\":1,\"uid\":0"),
            ("\"size\":1", "\"size\":-1"),
            ("1}", "1}\n"),
        ] {
            let other = want.replace(from, to);
            assert!(TreeManifest::read(other.as_bytes()).is_err(), "{other}");
        }
        let (source, time) = ("tool:acme/x".to_owned(), "2026-12-01T00:00:00Z".parse().unwrap());
        let snapshot = Snapshot { manifest: digest, source, time };
        assert_eq!(Snapshot::read(&snapshot.to_text().unwrap()), Ok(snapshot));
    }

    #[test]
    fn a_tree_is_bounded_in_files_in_bytes_and_in_its_text() {
        let of = |count: usize, path: &str, size: u64| {
            let files = (0..count).map(|at| (format!("{path}{at}").parse().unwrap(), file(size)));
            TreeManifest::new(files.collect())
        };
        assert!(of(TREE_FILES, "f", 0).is_ok() && of(TREE_FILES + 1, "f", 0).is_err());
        assert!(of(16, "f", TREE_BYTES / 16).is_ok() && of(17, "f", TREE_BYTES / 16).is_err());
        assert!(of(1, "f", (64 << 20) + 1).is_err());
        assert!(of(TREE_FILES, &"f".repeat(200), 0).unwrap().to_text().is_ok());
        assert!(of(TREE_FILES, &"f".repeat(400), 0).unwrap().to_text().is_err());
    }
}
