//! The manifest: what a bundle says of itself, as an in-toto statement in canonical JSON, and the
//! paths that there may be.
//!
//! In:  files by path, to write one; the payload of an envelope, to read one.
//! Out: a [`Manifest`], and its one text.
//!
//! Invariants of a [`Manifest`]
//! - Every path is plain, lies in the folder of a kind, and stays one file where small and capital
//!   letters are the same.
//! - Nothing in it is reserved: no id below `rye/`, no hook, no document about keys.
//! - Files and bytes are within the caps.

use serde::{Deserialize, Serialize};

use crate::base::Digest;
use crate::base::limits::{BUNDLE_BYTES, ITEM_BYTES, WALK_DEPTH};
use crate::base::signed_statement::{Sha256, Statement};
use crate::base::text::unfit;
use crate::id::{BundleName, Kind};
use crate::space::{PathSet, RelPath};

use super::error::BundleError;

/// Most files of a bundle: a large collection has some hundreds.
const BUNDLE_FILES: usize = 5_000;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest(Statement<Row, About>);

const PREDICATE: &str = "urn:rye:bundle:v1";

/// Describes a bundle. Field names are on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub(crate) name: BundleName,
    pub(crate) version: semver::Version,
    pub(crate) description: String,
    /// In UTC, to the second.
    pub(crate) packed_at: String,
    /// The rye that packed it.
    pub(crate) rye: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    digest: Sha256,
    annotations: Notes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Notes {
    /// In bytes.
    size: u64,
    is_program: bool,
}

/// One file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundleFile {
    /// Below `.ai`.
    pub(crate) path: RelPath,
    pub(crate) sha256: Digest,
    pub(crate) size: u64,
    pub(crate) is_program: bool,
}

impl Manifest {
    /// # Errors
    /// `bundle.malformed`, `bundle.content`
    pub(super) fn new(about: About, mut files: Vec<BundleFile>) -> Result<Self, BundleError> {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let row = |file: BundleFile| Row {
            name: file.path.to_string(),
            digest: Sha256 { sha256: file.sha256 },
            annotations: Notes { size: file.size, is_program: file.is_program },
        };
        let rows = files.into_iter().map(row).collect();
        Self(Statement::new(PREDICATE, rows, about)).checked()
    }

    /// Reads the payload of an envelope.
    ///
    /// # Errors
    /// `bundle.malformed`, `bundle.content`
    pub(super) fn read(payload: &[u8]) -> Result<Self, BundleError> {
        let statement = Statement::read(PREDICATE, payload);
        Self(statement.map_err(|why| malformed(format!("its manifest: {why}")))?).checked()
    }

    pub(super) fn to_payload(&self) -> Result<Vec<u8>, BundleError> {
        self.0.to_payload().map_err(malformed)
    }

    pub(crate) fn about(&self) -> &About {
        &self.0.predicate
    }

    /// The files, sorted by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = BundleFile> {
        let file = |row: &Row| {
            let path = row.name.parse().ok()?;
            let Notes { size, is_program } = row.annotations;
            Some(BundleFile { path, sha256: row.digest.sha256, size, is_program })
        };
        // Each is a path, or there were no manifest.
        self.0.subject.iter().filter_map(file)
    }

    fn checked(self) -> Result<Self, BundleError> {
        let rows = &self.0.subject;
        if rows.is_empty() || rows.len() > BUNDLE_FILES {
            return Err(malformed(format!("it lists no file, or more than {BUNDLE_FILES}")));
        }
        let mut total: u64 = 0;
        for row in rows {
            total = total.saturating_add(row.annotations.size);
            if row.annotations.size > ITEM_BYTES || total > BUNDLE_BYTES {
                let (one, all) = (ITEM_BYTES >> 20, BUNDLE_BYTES >> 20);
                let why = format!("a file is larger than {one} MiB, or all are than {all} MiB");
                return Err(malformed(why));
            }
        }
        if rows.windows(2).any(|pair| pair[0].name >= pair[1].name) {
            return Err(malformed("its files are not sorted, or one is listed twice".into()));
        }
        if unfit(&self.0.predicate.description).is_some() {
            return Err(malformed("its description holds what nobody sees".into()));
        }
        check_paths(rows.iter().map(|row| row.name.as_str()))?;
        Ok(self)
    }
}

fn malformed(why: String) -> BundleError {
    BundleError::Malformed { path: "bundle.json".into(), why }
}

/// Refuses paths that may not lie in one bundle.
fn check_paths<'p>(paths: impl Iterator<Item = &'p str>) -> Result<(), BundleError> {
    let mut seen = PathSet::default();
    for path in paths {
        let content = |why: &str| BundleError::Content { path: path.to_owned(), why: why.into() };
        if let Err(why) = seen.add(path) {
            return Err(content(&format!("the path {why}")));
        }
        if path.split('/').any(|part| part.starts_with('.')) {
            return Err(content("a part of the path is hidden"));
        }
        if path.split('/').count() > WALK_DEPTH {
            return Err(content("it lies too deep"));
        }
        let kind = Kind::ALL.into_iter().find_map(|kind| {
            let rest = path.strip_prefix(kind.folder())?.strip_prefix('/')?;
            Some((kind, rest))
        });
        let Some((kind, rest)) = kind else {
            return Err(content("it lies in the folder of no kind of item"));
        };
        let below = |folder: &str| {
            let folded = rest.to_lowercase();
            let name = folded.strip_prefix(folder);
            name.is_some_and(|name| name.starts_with(['/', '.']))
        };
        if below("rye") {
            return Err(content("ids below `rye/` are reserved for rye itself"));
        }
        if kind == Kind::Tool && below("hooks") {
            return Err(content("a hook judges every call, so a person puts it into place"));
        }
        if kind == Kind::Config && below("keys") {
            return Err(content("whom you trust is yours to say"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_paths;

    #[test]
    fn h07_paths_that_a_bundle_may_hold_and_may_not() {
        let good: [&[&str]; 3] = [
            &["config/acme/a.yaml", "knowledge/acme/a.md", "tools/acme/a.py", "tools/acme/a/b.py"],
            &["tools/acme/lib/data.bin", "tools/acme/x.py"],
            &["tools/ryes/a.py", "tools/hooked/a.py", "directives/hooks/a.md"],
        ];
        for paths in good {
            assert!(check_paths(paths.iter().copied()).is_ok(), "{paths:?}");
        }
        let bad: [&[&str]; 18] = [
            &["/etc/passwd"],
            &["tools/../../x.py"],
            &["tools/./x.py"],
            &["tools//x.py"],
            &["tools\\x.py"],
            &["../tools/x.py"],
            &["x.py"],
            &["rye.lock"],
            &["bundles/x/.ai/tools/x.py"],
            &["tools/.git/config"],
            &["tools/a\u{202e}.py"],
            &["tools/rye/bash.py"],
            &["tools/Rye/bash.py"],
            &["tools/hooks/a.yaml"],
            &["config/keys/trusted/a.toml"],
            &["tools/acme/A.py", "tools/acme/a.py"],
            &["tools/Acme/b.py", "tools/acme/a.py"],
            &["tools/acme", "tools/acme/a.py"],
        ];
        for paths in bad {
            assert!(check_paths(paths.iter().copied()).is_err(), "{paths:?}");
        }
    }
}
