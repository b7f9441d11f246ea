//! The digests of files: the algorithm registry of OMS 1.0.

use blake2::{Blake2b512, Digest as _};

use crate::base::Digest;

/// How the files of a signature are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileHash {
    Sha256,
    Blake2b,
    Blake3,
}

impl FileHash {
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "sha256" => Self::Sha256,
            "blake2b" => Self::Blake2b,
            "blake3" => Self::Blake3,
            _ => return None,
        })
    }

    /// Of a digest, in bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Sha256 | Self::Blake3 => 32,
            Self::Blake2b => 64,
        }
    }

    pub(super) fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Digest::of(bytes).as_bytes().to_vec(),
            Self::Blake2b => Blake2b512::digest(bytes).to_vec(),
            Self::Blake3 => blake3::hash(bytes).as_bytes().to_vec(),
        }
    }
}
