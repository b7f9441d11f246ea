//! SHA-256 of stated bytes.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// A SHA-256 value; printed and read as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::of_parts(&[bytes])
    }

    /// The digest of the parts one behind the other.
    pub(crate) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    pub(crate) const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A digest in the making, for bytes that come piece by piece.
#[derive(Clone, Default)]
pub(crate) struct Digesting {
    hasher: Sha256,
    bytes: u64,
}

impl Digesting {
    pub(crate) fn take(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
    }

    /// How many bytes were taken.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of everything that was taken so far.
    pub(crate) fn digest(&self) -> Digest {
        Digest(self.hasher.clone().finalize().into())
    }
}

impl fmt::Debug for Digesting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digesting({} bytes, {})", self.bytes, self.digest())
    }
}

impl PartialEq for Digesting {
    fn eq(&self, other: &Self) -> bool {
        (self.bytes, self.digest()) == (other.bytes, other.digest())
    }
}

impl Eq for Digesting {}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = ();

    /// Upper-case digits are refused: a digest has one spelling.
    fn from_str(text: &str) -> Result<Self, ()> {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| ())?;
        Ok(Self(bytes))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|()| serde::de::Error::custom("no SHA-256 in lower-case hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Digesting};

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Digest::of(b"abc");
        let text = digest.to_string();
        assert_eq!(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(text.parse(), Ok(digest));
        assert!(text.to_uppercase().parse::<Digest>().is_err());
        assert!(text[1..].parse::<Digest>().is_err());
        assert_eq!(Digest::of_parts(&[b"a", b"", b"bc"]), digest);
        let mut digesting = Digesting::default();
        for piece in [b"a".as_slice(), b"", b"bc"] {
            digesting.take(piece);
        }
        assert_eq!((digesting.digest(), digesting.bytes()), (digest, 3));
    }
}
