//! The properties of the reader of manifests for arbitrary bytes.

use super::kinds::StoredKind;
use super::manifest::TreeManifest;

/// A manifest is read from one text alone, and no path of it leads out of a folder.
pub(crate) fn manifest(bytes: &[u8]) {
    let Ok(manifest) = TreeManifest::read(bytes) else { return };
    assert_eq!(manifest.to_text().ok().as_deref(), Some(bytes));
    let leads_up = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
    assert!(!manifest.files().keys().any(|path| leads_up(path.as_str())), "a path that leads out");
}
