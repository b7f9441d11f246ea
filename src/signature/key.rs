//! Keys (core 3.5, 4.1).

use std::fmt;
use std::io;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::pkcs8::{KeypairBytes, spki::der::pem::LineEnding};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use pkcs8::SecretDocument;
use zeroize::Zeroizing;

use super::cache;
use crate::base::random;
use crate::base::signed_statement::pae;
use crate::id::Fingerprint;

/// How a public key on one line begins.
const TEXT_PREFIX: &str = "ed25519:";

/// The fingerprint of the key that signs the system space; the one trust root in the binary.
pub(crate) const PUBLISHER: Fingerprint = Fingerprint::from_bytes(PUBLISHER_FINGERPRINT);

/// The key itself. A test checks this constant in full, so here it is only decompressed, once.
pub(crate) fn publisher() -> Option<PublicKey> {
    static KEY: OnceLock<Option<PublicKey>> = OnceLock::new();
    KEY.get_or_init(|| VerifyingKey::from_bytes(&PUBLISHER_RAW).ok().map(PublicKey)).clone()
}

/// The fingerprint of the key in `keys-example`, whose private half is public.
pub(crate) const EXAMPLE: Fingerprint = Fingerprint::from_bytes(EXAMPLE_FINGERPRINT);

/// The key in `keys-example` itself.
pub(crate) fn example() -> Option<PublicKey> {
    PublicKey::from_pem(include_str!("../../keys-example/example.pub"))?.ok()
}

const PUBLISHER_RAW: [u8; 32] = [
    0x95, 0x7e, 0x69, 0x44, 0x1e, 0x2a, 0xc5, 0x36, 0x29, 0x74, 0x40, 0x61, 0x4d, 0x2f, 0x31, 0x2a,
    0x3e, 0x90, 0x81, 0x3f, 0x81, 0xdf, 0x05, 0x71, 0xb0, 0x36, 0x28, 0x96, 0x46, 0xf1, 0x65, 0x0a,
];
const PUBLISHER_FINGERPRINT: [u8; 16] = [
    0x78, 0xf7, 0xda, 0xe3, 0xa0, 0xd0, 0x00, 0x13, 0x1c, 0x08, 0x89, 0x80, 0x8c, 0x8c, 0x82, 0x2d,
];
const EXAMPLE_FINGERPRINT: [u8; 16] = [
    0x81, 0x93, 0x6d, 0x6f, 0x35, 0xf0, 0x17, 0xb4, 0x96, 0xe4, 0xa8, 0xa7, 0xaf, 0x80, 0x4f, 0xfd,
];

/// A public key whose signatures prove something: canonical, of full order, not weak.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PublicKey(VerifyingKey);

/// The key is not canonical, of small order, or has a torsion part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeakKey;

impl PublicKey {
    /// # Errors
    /// [`WeakKey`] for bytes that are not a point, a second spelling of one, or a point outside the
    /// prime-order group: several signatures could pass for one, or one for several messages.
    pub(crate) fn from_bytes(raw: &[u8; 32]) -> Result<Self, WeakKey> {
        let key = VerifyingKey::from_bytes(raw).map_err(|_| WeakKey)?;
        let point = key.to_edwards();
        let canonical = point.compress().as_bytes() == raw;
        if canonical && !key.is_weak() && point.is_torsion_free() {
            return Ok(Self(key));
        }
        Err(WeakKey)
    }

    /// Reads an SPKI PEM; `None` if it is not an Ed25519 public key.
    pub(crate) fn from_pem(pem: &str) -> Option<Result<Self, WeakKey>> {
        let key = VerifyingKey::from_public_key_pem(block(pem)?).ok()?;
        Some(Self::from_bytes(key.as_bytes()))
    }

    pub(crate) fn to_pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).expect("a public key has a PEM")
    }

    /// The key on one line: `ed25519:` and base64 for URLs, without padding.
    pub(crate) fn to_text(&self) -> String {
        format!("{TEXT_PREFIX}{}", URL_SAFE_NO_PAD.encode(self.as_bytes()))
    }

    /// Reads [`Self::to_text`]; `None` for any other text.
    pub(crate) fn from_text(text: &str) -> Option<Result<Self, WeakKey>> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(TEXT_PREFIX)?).ok()?;
        Some(Self::from_bytes(&bytes.try_into().ok()?))
    }

    /// The 32 bytes of the key.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from_public_key(self.0.as_bytes())
    }

    /// Returns true if the signature is this key's, by the strict rules. It is computed once in a
    /// process and then cached if it is good.
    pub(crate) fn verifies(&self, message: &[u8], sig: &[u8; 64]) -> bool {
        let name = cache::name(self.0.as_bytes(), message, sig);
        if cache::holds(&name) {
            return true;
        }
        let verifies = self.verifies_once(message, sig);
        if verifies {
            cache::keep(name);
        }
        verifies
    }

    /// Returns true if the signature is this key's, by the strict rules. It is not cached: no
    /// second message has this text.
    pub(super) fn verifies_once(&self, message: &[u8], sig: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(sig)).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

/// A private key with its public half. Has no `Debug` and is wiped from memory when dropped.
pub(crate) struct KeyPair(SigningKey);

impl KeyPair {
    /// A new pair from the system's randomness.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn generate() -> io::Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        random::fill(seed.as_mut())?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// The pair of a public seed, so that fuzzing meets the same bytes each time.
    #[cfg(any(test, feature = "fuzz"))]
    pub(crate) fn of_seed(seed: [u8; 32]) -> Self {
        Self(SigningKey::from_bytes(&seed))
    }

    /// Reads PKCS#8 PEM, version 1 or 2.
    pub(crate) fn from_pem(pem: &str) -> Option<Self> {
        SigningKey::from_pkcs8_pem(block(pem)?).ok().map(Self)
    }

    /// PKCS#8 version 1 PEM, which every OpenSSL reads.
    pub(crate) fn to_pem(&self) -> Zeroizing<String> {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        pair.to_pkcs8_pem(LineEnding::LF).expect("a key pair has a PEM")
    }

    /// PKCS#8 version 1 DER, wiped from memory when dropped.
    pub(super) fn to_der(&self) -> SecretDocument {
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        pair.to_pkcs8_der().expect("a key pair has a DER")
    }

    pub(super) fn from_der(der: &[u8]) -> Option<Self> {
        SigningKey::from_pkcs8_der(der).ok().map(Self)
    }

    pub(crate) fn public(&self) -> PublicKey {
        // Of full order by construction: a clamped scalar times the base point.
        PublicKey(self.0.verifying_key())
    }

    /// Signs the statement of a signature line or of a rotation, or an HTTP message. Their first
    /// bytes differ from each other's, and from those of any other signed text.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// Signs a DSSE payload: never the bytes themselves, always their encoding with type and
    /// length.
    pub(super) fn sign_dsse(&self, payload_type: &str, payload: &[u8]) -> [u8; 64] {
        self.sign(&pae(payload_type, payload))
    }
}

/// The PEM block in a file; what stands around it is for people.
pub(super) fn block(text: &str) -> Option<&str> {
    let start = text.find("-----BEGIN ")?;
    let last = text[start..].find("-----END ")? + start;
    let end = text[last..].find('\n').map_or(text.len(), |i| last + i + 1);
    Some(&text[start..end])
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLE, KeyPair, PUBLISHER, PublicKey, publisher};

    #[test]
    fn keys_survive_their_files() {
        let pair = KeyPair::generate().unwrap();
        let again = KeyPair::from_pem(&pair.to_pem()).unwrap();
        assert_eq!(again.public(), pair.public());
        let public = PublicKey::from_pem(&pair.public().to_pem()).unwrap().unwrap();
        assert!(public.verifies(b"m", &again.sign(b"m")));
        assert!(!public.verifies(b"n", &again.sign(b"m")));
        let other = KeyPair::generate().unwrap().public();
        assert!(!other.verifies(b"m", &again.sign(b"m")), "what is known is known of one key");
        let pem = pair.to_pem();
        let (begin, body) = pem.split_once('\n').unwrap();
        assert!(begin.ends_with(" PRIVATE KEY-----") && body.starts_with("MC4CAQAwBQYDK2Vw"));
    }

    #[test]
    fn the_constants_are_keys() {
        let publisher = publisher().unwrap();
        assert_eq!(PublicKey::from_bytes(publisher.0.as_bytes()), Ok(publisher.clone()));
        assert_eq!(publisher.fingerprint(), PUBLISHER);
        let example = include_str!("../../keys-example/example.pub");
        assert_eq!(PublicKey::from_pem(example).unwrap().unwrap().fingerprint(), EXAMPLE);
    }

    /// The eight points of small order, and other spellings of them, in hex. They are the torsion
    /// subgroup of Curve25519, known from its definition.
    const SMALL_ORDER: [&str; 11] = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];

    #[test]
    fn a16_keys_of_small_or_mixed_order_are_refused() {
        for text in SMALL_ORDER {
            let mut raw = [0; 32];
            hex::decode_to_slice(text, &mut raw).unwrap();
            assert!(PublicKey::from_bytes(&raw).is_err(), "{text}");
        }
        // A good key plus the point of order two: same prime-order part, another order.
        let good = KeyPair::generate().unwrap().public().0;
        let mut order_two = [0; 32];
        hex::decode_to_slice(SMALL_ORDER[1], &mut order_two).unwrap();
        let order_two = ed25519_dalek::VerifyingKey::from_bytes(&order_two).unwrap();
        let mixed = good.to_edwards() + order_two.to_edwards();
        assert!(PublicKey::from_bytes(mixed.compress().as_bytes()).is_err());
        assert!(PublicKey::from_bytes(good.as_bytes()).is_ok());
    }
}
