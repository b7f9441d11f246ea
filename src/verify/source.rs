//! Bytes that were admitted.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::listed_files::{Part, PartsRoot};
use crate::base::{Digest, Timestamp};
use crate::diagnostic::Place;
use crate::id::{BundleName, Fingerprint, Ref, Space};
use crate::resolve::Found;
use crate::space::HeaderStyle;
use crate::trace::Warning;

/// Who signed a source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Signer {
    pub(crate) key: Fingerprint,
    pub(crate) owner: Option<String>,
    pub(crate) at: Timestamp,
    /// Your own key, if a dev key signed in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dev_for: Option<Fingerprint>,
}

/// Tells whether every check passed, or dev mode let one through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Integrity {
    Verified,
    Unverified,
}

/// Bytes admitted by `verify`, with who signed them. A clone shares the text.
///
/// Invariant: made only by `admit` and by `stage` (which signs them itself); valid UTF-8 without
/// control or invisible characters.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The file as it was found, but for its bytes, which are `text` now.
    found: Found,
    text: Arc<str>,
    /// The signature line with its line feed; empty if dev mode let an unsigned file through.
    line: Range<usize>,
    digest: Digest,
    signer: Option<Signer>,
    warnings: Vec<Warning>,
    parts_root: PartsRoot,
    parts: Vec<Part>,
}

impl Source {
    pub(super) fn new(
        found: Found,
        text: impl Into<Arc<str>>,
        line: Range<usize>,
        digest: Digest,
        signer: Option<Signer>,
        warnings: Vec<Warning>,
    ) -> Self {
        Self {
            found: Found { bytes: Cow::Borrowed(&[]), ..found },
            text: text.into(),
            line,
            digest,
            signer,
            warnings,
            parts_root: PartsRoot::default(),
            parts: Vec::new(),
        }
    }

    /// Adds the files that the source's header covers.
    pub(super) fn holding(self, parts_root: PartsRoot, parts: Vec<Part>) -> Self {
        Self { parts_root, parts, ..self }
    }

    pub(super) fn parts_root(&self) -> PartsRoot {
        self.parts_root
    }

    /// The files beside the item that its signature covers, sorted by path.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn item(&self) -> &Ref {
        &self.found.item
    }

    /// The extension without its dot.
    pub(crate) fn ext(&self) -> &str {
        &self.found.ext
    }

    pub(crate) fn space(&self) -> Space {
        self.found.space
    }

    pub(crate) fn bundle(&self) -> Option<&BundleName> {
        self.found.bundle.as_ref()
    }

    pub(crate) fn is_embedded(&self) -> bool {
        self.found.embedded
    }

    pub(crate) fn header_style(&self) -> HeaderStyle {
        self.found.file_type.header.clone()
    }

    /// The whole file, so that positions in it are the file's.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The file without its signature line.
    pub(crate) fn raw(&self) -> String {
        format!("{}{}", &self.text[..self.line.start], &self.text[self.line.end..])
    }

    pub(crate) fn place(&self) -> Place {
        self.found.place.clone()
    }

    /// Where the file lies on disk; for an embedded item a path that begins at `.ai`.
    pub(crate) fn path(&self) -> &Path {
        &self.found.path
    }

    /// The folder that holds the space's `.ai`.
    pub(crate) fn base(&self) -> &PathBuf {
        &self.found.base
    }

    pub(crate) fn shadowed(&self) -> &[Place] {
        &self.found.shadowed
    }

    /// SHA-256 over everything but the signature line.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn signer(&self) -> Option<&Signer> {
        self.signer.as_ref()
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn integrity(&self) -> Integrity {
        if self.warnings.is_empty() { Integrity::Verified } else { Integrity::Unverified }
    }
}

/// The whole file, shared.
impl From<&Source> for Arc<[u8]> {
    fn from(source: &Source) -> Self {
        Arc::clone(&source.text).into()
    }
}
