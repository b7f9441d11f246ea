//! The receipt of an installed bundle: which files were put there, so that just these are taken
//! out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::archive::MANIFEST;
use super::check::Bundle;
use crate::base::bytes::{Bounded, open_named, read_at_most};
use crate::base::json_reader::typed;
use crate::base::limits::{BUNDLE_MANIFEST_BYTES, ITEM_BYTES};
use crate::base::{Digest, canon};
use crate::rye::now;
use crate::space::RelPath;

/// The file's name in the folder of an installed bundle.
pub(super) const RECEIPT: &str = "receipt.json";

/// See the module.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Receipt {
    /// Of this form.
    format: u8,
    pub(super) installed_at: String,
    /// The archive that it came from, as it was named then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) installed_from: Option<String>,
    /// Below the bundle's folder.
    files: BTreeMap<String, Digest>,
}

/// The state of an installed file: the same, changed or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    Same,
    Changed,
    Gone,
}

impl Receipt {
    pub(super) fn new(bundle: &Bundle, from: &Path) -> Self {
        let files = bundle.manifest.files().map(|file| (format!(".ai/{}", file.path), file.sha256));
        let manifest = (MANIFEST.to_owned(), Digest::of(&bundle.envelope));
        let real = from.canonicalize().unwrap_or_else(|_| from.to_owned());
        Self {
            format: 1,
            installed_at: now().to_string(),
            installed_from: Some(real.display().to_string()),
            files: files.chain([manifest]).collect(),
        }
    }

    /// # Errors
    /// One sentence.
    pub(super) fn to_text(&self) -> Result<Vec<u8>, String> {
        let document = serde_json::to_value(self).map_err(|error| error.to_string())?;
        canon::write(&document).map_err(|error| error.to_string())
    }

    /// The receipt in a bundle's folder.
    ///
    /// # Errors
    /// One sentence.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let text = read_file(&folder.join(RECEIPT), BUNDLE_MANIFEST_BYTES)?;
        let document = canon::read(&text).map_err(|error| error.to_string())?;
        let receipt: Self = typed(document).map_err(|error| error.to_string())?;
        if receipt.format != 1 {
            return Err(format!("its format is {}", receipt.format));
        }
        match receipt.files.keys().find(|path| path.parse::<RelPath>().is_err()) {
            Some(path) => Err(format!("`{path}` is not a plain path")),
            None => Ok(receipt),
        }
    }

    /// Each file, and what stands in its place below `folder`.
    pub(super) fn look<'r>(&'r self, folder: &'r Path) -> impl Iterator<Item = (&'r str, Now)> {
        self.files.iter().map(move |(path, digest)| (path.as_str(), look(folder, path, *digest)))
    }

    /// The folders that the files lie in, the deepest first.
    pub(super) fn folders(&self, folder: &Path) -> Vec<PathBuf> {
        let folders = self.files.keys().flat_map(|path| Path::new(path).ancestors().skip(1));
        let folders = folders.filter(|inner| !inner.as_os_str().is_empty());
        let folders: std::collections::BTreeSet<_> = folders.map(|f| folder.join(f)).collect();
        // A folder sorts before what it holds.
        folders.into_iter().rev().collect()
    }
}

/// The state of the file at a plain path below a folder; a file behind a link counts as changed.
fn look(folder: &Path, path: &str, digest: Digest) -> Now {
    let mut inner = folder.to_owned();
    for part in path.split('/') {
        if inner.symlink_metadata().is_ok_and(|stat| !stat.is_dir()) {
            return Now::Changed;
        }
        inner.push(part);
    }
    match inner.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Now::Gone,
        Ok(stat) if stat.is_file() => {
            let cap = ITEM_BYTES.max(BUNDLE_MANIFEST_BYTES);
            match read_file(&inner, cap).is_ok_and(|bytes| Digest::of(&bytes) == digest) {
                true => Now::Same,
                false => Now::Changed,
            }
        }
        _ => Now::Changed,
    }
}

pub(super) fn read_file(path: &Path, cap: u64) -> Result<Vec<u8>, String> {
    let read = || read_at_most(&mut open_named(path)?, cap, 0);
    match read() {
        Ok(Bounded::All(bytes)) => Ok(bytes),
        Ok(Bounded::More) => Err(format!("`{}` is too large", path.display())),
        Err(error) => Err(format!("`{}`: {error}", path.display())),
    }
}
