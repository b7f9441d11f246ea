//! Keys on the three curves of OMS 1.0, and PEM.

use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey, LineEnding};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use crate::base::Digest;

/// A public key that may sign files.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EcKey {
    P256(p256::PublicKey),
    P384(p384::PublicKey),
    P521(p521::PublicKey),
}

/// A private key to sign files with. Its memory is overwritten when it is dropped.
pub(crate) enum OmsSigningKey {
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
}

/// The blocks of a PEM text with their labels, without what stands around them.
pub(super) fn pem_blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("-----BEGIN ").filter_map(|(at, begin)| {
        let (label, _) = text[at + begin.len()..].split_once("-----")?;
        // Every block ends before the next begins, so a text is gone through twice at most.
        let block = &text[at..];
        let next = block[begin.len()..].find("-----BEGIN ").map(|next| next + begin.len());
        let block = &block[..next.unwrap_or(block.len())];
        let end = format!("-----END {label}-----");
        Some((label, &block[..block.find(&end)? + end.len()]))
    })
}

const OTHER_KEY: &str = "holds a key that is not on P-256, P-384 or P-521";

impl EcKey {
    /// The key of a PEM block `PUBLIC KEY`.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
    pub(super) fn of_pem(block: &str) -> Result<Self, &'static str> {
        let read = p256::pkcs8::der::pem::decode_vec(block.as_bytes());
        let (_, der) = read.map_err(|_| "holds a public key that is not valid PEM")?;
        p256::PublicKey::from_public_key_der(&der)
            .map(Self::P256)
            .or_else(|_| p384::PublicKey::from_public_key_der(&der).map(Self::P384))
            .or_else(|_| p521::PublicKey::from_public_key_der(&der).map(Self::P521))
            .map_err(|_| OTHER_KEY)
    }

    /// SHA-256 of the key as PEM, in hexadecimal: what the field `hint` of a signature file holds.
    pub(super) fn fingerprint(&self) -> String {
        let pem = match self {
            Self::P256(key) => key.to_public_key_pem(LineEnding::LF),
            Self::P384(key) => key.to_public_key_pem(LineEnding::LF),
            Self::P521(key) => key.to_public_key_pem(LineEnding::LF),
        };
        Digest::of(pem.expect("a public key is PEM").as_bytes()).to_string()
    }

    /// Checks a signature (DER) of the message, made with the hash of the curve (FIPS 186-5).
    pub(super) fn verifies(&self, message: &[u8], sig: &[u8]) -> bool {
        use p256::ecdsa::VerifyingKey as P256Key;
        use p384::ecdsa::VerifyingKey as P384Key;
        use p521::ecdsa::VerifyingKey as P521Key;
        match self {
            Self::P256(key) => p256::ecdsa::DerSignature::from_bytes(sig).is_ok_and(|sig| {
                P256Key::from(key).verify_prehash(&Sha256::digest(message), &sig).is_ok()
            }),
            Self::P384(key) => p384::ecdsa::DerSignature::from_bytes(sig).is_ok_and(|sig| {
                P384Key::from(key).verify_prehash(&Sha384::digest(message), &sig).is_ok()
            }),
            Self::P521(key) => p521::ecdsa::DerSignature::from_bytes(sig).is_ok_and(|sig| {
                P521Key::from(key).verify_prehash(&Sha512::digest(message), &sig).is_ok()
            }),
        }
    }
}

impl OmsSigningKey {
    /// The key of a PEM text, `PRIVATE KEY` or `EC PRIVATE KEY`.
    ///
    /// # Errors
    /// A clause that says what is wrong with it, and nothing of what the text holds.
    pub(crate) fn of_pem(text: &str) -> Result<Self, &'static str> {
        let blocks = pem_blocks(text).filter(|(label, _)| label.ends_with("PRIVATE KEY"));
        match blocks.collect::<Vec<_>>()[..] {
            [("PRIVATE KEY", block)] => p256::SecretKey::from_pkcs8_pem(block)
                .map(Self::P256)
                .or_else(|_| p384::SecretKey::from_pkcs8_pem(block).map(Self::P384))
                .or_else(|_| p521::SecretKey::from_pkcs8_pem(block).map(Self::P521))
                .map_err(|_| OTHER_KEY),
            [("EC PRIVATE KEY", block)] => p256::SecretKey::from_sec1_pem(block)
                .map(Self::P256)
                .or_else(|_| p384::SecretKey::from_sec1_pem(block).map(Self::P384))
                .or_else(|_| p521::SecretKey::from_sec1_pem(block).map(Self::P521))
                .map_err(|_| OTHER_KEY),
            [("ENCRYPTED PRIVATE KEY", _)] => Err("holds a private key under a passphrase"),
            [] => Err("holds no private key"),
            [_] => Err(OTHER_KEY),
            _ => Err("holds more than one private key"),
        }
    }

    /// SHA-256 of the public key as PEM, in hexadecimal.
    pub(crate) fn fingerprint(&self) -> String {
        let public = match self {
            Self::P256(key) => EcKey::P256(key.public_key()),
            Self::P384(key) => EcKey::P384(key.public_key()),
            Self::P521(key) => EcKey::P521(key.public_key()),
        };
        public.fingerprint()
    }

    /// A signature (DER) of the message, with the hash of the key's curve; the same each time
    /// (RFC 6979).
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::P256(key) => {
                let sig: p256::ecdsa::DerSignature =
                    p256::ecdsa::SigningKey::from(key).sign(message);
                sig.as_bytes().to_vec()
            }
            Self::P384(key) => {
                let sig: p384::ecdsa::DerSignature =
                    p384::ecdsa::SigningKey::from(key).sign(message);
                sig.as_bytes().to_vec()
            }
            Self::P521(key) => {
                let sig: p521::ecdsa::DerSignature =
                    p521::ecdsa::SigningKey::from(key).sign(message);
                sig.as_bytes().to_vec()
            }
        }
    }
}
