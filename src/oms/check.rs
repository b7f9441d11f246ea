//! Compares files that are held in memory with the signed ones.

use std::collections::BTreeMap;

use super::error::OmsError;
use super::statement::{Piece, SignedFiles};

/// A folder whose signed files are all there and unchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Files that the signature does not list and does not leave out either, where the caller asked
    /// for the signed ones only; and empty ones, which a signature by parts cannot list.
    pub(crate) unsigned: Vec<String>,
}

impl SignedFiles {
    /// Checks the bytes of every file of a folder but for those that are ignored and the signature
    /// file itself. With `signed_only` a file that is not listed is told; else it is refused.
    ///
    /// # Errors
    /// `oms.files` with every file that is missing, changed or not listed.
    pub(crate) fn check<B: AsRef<[u8]>>(
        &self,
        files: &BTreeMap<String, B>,
        signed_only: bool,
    ) -> Result<Checked, OmsError> {
        let (mut findings, mut checked) = (Vec::new(), Checked::default());
        for (path, pieces) in &self.files {
            match files.get(path) {
                None => findings.push(format!("`{path}` is signed, and is not there")),
                Some(bytes) if !self.are_all_of(pieces, bytes.as_ref()) => {
                    findings.push(format!("`{path}` was changed after it was signed"));
                }
                Some(_) => {}
            }
        }
        for (path, bytes) in files {
            if self.lists(path) || self.ignores(path) {
                continue;
            }
            let is_unlistable = self.shard.is_some() && bytes.as_ref().is_empty();
            match signed_only || is_unlistable {
                true => checked.unsigned.push(path.clone()),
                false => findings.push(format!("`{path}` is not signed")),
            }
        }
        match findings.is_empty() {
            true => Ok(checked),
            false => Err(OmsError::Files { findings }),
        }
    }

    /// Returns true if the pieces, in their order, are the whole file.
    fn are_all_of(&self, pieces: &[Piece], bytes: &[u8]) -> bool {
        let length = bytes.len() as u64;
        let reaches =
            pieces.last().and_then(|piece| piece.range).is_none_or(|(_, end)| end == length);
        reaches
            && pieces.iter().all(|piece| {
                let part = match piece.range {
                    None => Some(bytes),
                    Some((start, end)) => {
                        let start = usize::try_from(start).ok();
                        let end = usize::try_from(end).ok();
                        start.zip(end).and_then(|(start, end)| bytes.get(start..end))
                    }
                };
                part.is_some_and(|part| self.hash.digest(part) == piece.digest)
            })
    }
}
