//! A private key under a passphrase: encrypted PKCS#8 in PEM (RFC 5958, RFC 8018), which OpenSSL
//! reads and writes too.
//!
//! The cost that a file asks for is checked before any of it is computed, since the file may be
//! anybody's.

use std::io;

use pkcs8::pkcs5::pbes2::{EncryptionScheme, Kdf, Parameters, Salt, ScryptParams};
use pkcs8::{EncryptedPrivateKeyInfoRef, LineEnding, PrivateKeyInfoRef, SecretDocument};
use zeroize::Zeroizing;

use super::key::KeyPair;
use crate::base::limits::{PBKDF2_ROUNDS, SCRYPT_WORK};
use crate::base::random;

/// Memory that the passphrase of a private key may take, in bytes: OWASP asks for 128 MiB.
const SCRYPT_BYTES: u64 = 256 << 20;

const LABEL: &str = "ENCRYPTED PRIVATE KEY";

/// scrypt as OWASP asks for it where 16 MiB are to be enough; OpenSSL gives no more than 32 MiB.
const SCRYPT: (u64, u16, u16) = (1 << 14, 8, 5);

/// Why an encrypted key was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EncryptedKeyFault {
    /// It is not one of a form that rye reads, or not of an Ed25519 key.
    Malformed,
    /// It asks for more memory or time than any passphrase needs.
    Costly,
    /// The passphrase does not open it, or it was damaged.
    Passphrase,
    /// It holds another key than the one that it names: it was damaged.
    OtherKey,
}

/// The line above the key that names it. The cipher does not notice a damaged file by itself.
const NAMES: &str = "fingerprint: ";

/// Returns true if a text holds an encrypted private key.
pub(crate) fn is_encrypted(pem: &str) -> bool {
    pem.contains(&format!("-----BEGIN {LABEL}-----"))
}

impl KeyPair {
    /// Encrypted PKCS#8 PEM: the key of AES-256 in CBC mode is made of the passphrase by scrypt
    /// with `N = 2^14`, `r = 8`, `p = 5` and 16 bytes of salt. A line above it, which readers of
    /// PEM pass over, holds the fingerprint.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn to_encrypted_pem(&self, passphrase: &[u8]) -> io::Result<Zeroizing<String>> {
        let (mut salt, mut iv) = ([0; 16], [0; 16]);
        random::fill(&mut salt)?;
        random::fill(&mut iv)?;
        let (cost_parameter, block_size, parallelization) = SCRYPT;
        let salt = Salt::new(salt).expect("a salt may have 16 bytes");
        let kdf =
            ScryptParams { salt, cost_parameter, block_size, parallelization, key_length: None };
        let encryption = EncryptionScheme::Aes256Cbc { iv };
        let parameters = Parameters { kdf: kdf.into(), encryption };
        let plain = self.to_der();
        let encrypted = PrivateKeyInfoRef::try_from(plain.as_bytes())
            .and_then(|info| info.encrypt_with_params(parameters, passphrase))
            .map_err(io::Error::other)?;
        let pem = encrypted.to_pem(LABEL, LineEnding::LF).map_err(io::Error::other)?;
        Ok(format!("{NAMES}{}\n{}", self.public().fingerprint(), &*pem).into())
    }

    /// # Errors
    /// See [`EncryptedKeyFault`]; nothing is computed of one that is `Malformed` or `Costly`.
    pub(crate) fn from_encrypted_pem(
        pem: &str,
        passphrase: &[u8],
    ) -> Result<Self, EncryptedKeyFault> {
        let malformed = EncryptedKeyFault::Malformed;
        let block = super::key::block(pem).ok_or(malformed)?;
        let (label, document) = SecretDocument::from_pem(block).map_err(|_| malformed)?;
        if label != LABEL {
            return Err(malformed);
        }
        let info =
            EncryptedPrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|_| malformed)?;
        let parameters = info.encryption_algorithm.pbes2().ok_or(malformed)?;
        check_cost(&parameters.kdf)?;
        let plain = info.decrypt(passphrase).map_err(|_| EncryptedKeyFault::Passphrase)?;
        let pair = Self::from_der(plain.as_bytes()).ok_or(malformed)?;
        let mut above = pem.lines().take_while(|line| !line.starts_with("-----BEGIN "));
        let named = above.find_map(|line| line.strip_prefix(NAMES));
        match named.is_none_or(|named| named.trim_end() == pair.public().fingerprint().to_string())
        {
            true => Ok(pair),
            false => Err(EncryptedKeyFault::OtherKey),
        }
    }
}

/// Refuses a file that asks for more memory or work than rye gives.
fn check_cost(kdf: &Kdf) -> Result<(), EncryptedKeyFault> {
    let is_cheap = match kdf {
        Kdf::Scrypt(scrypt) => {
            let (n, r) = (scrypt.cost_parameter, u64::from(scrypt.block_size));
            let p = u64::from(scrypt.parallelization);
            if !n.is_power_of_two() || n < 2 || r == 0 || p == 0 {
                return Err(EncryptedKeyFault::Malformed);
            }
            let blocks = n.saturating_mul(r);
            let bytes = blocks.saturating_add(r * p).saturating_mul(128);
            bytes <= SCRYPT_BYTES && blocks.saturating_mul(p) <= SCRYPT_WORK
        }
        Kdf::Pbkdf2(pbkdf2) => pbkdf2.iteration_count <= PBKDF2_ROUNDS,
        _ => return Err(EncryptedKeyFault::Malformed),
    };
    if is_cheap { Ok(()) } else { Err(EncryptedKeyFault::Costly) }
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD as STANDARD;
    use pkcs8::pkcs5::pbes2::{Kdf, Pbkdf2Params, Salt, ScryptParams};
    use pkcs8::{LineEnding, SecretDocument};

    use super::{EncryptedKeyFault, check_cost, is_encrypted};
    use crate::signature::KeyPair;

    /// 4 damaged bytes here; the whole is 16.
    #[test]
    fn a_key_comes_back_by_its_passphrase_alone() {
        let pair = KeyPair::generate().unwrap();
        let pem = pair.to_encrypted_pem(b"correct horse").unwrap();
        assert!(is_encrypted(&pem) && !is_encrypted(&pair.to_pem()));
        let again = KeyPair::from_encrypted_pem(&pem, b"correct horse");
        assert_eq!(again.map(|pair| pair.public()), Ok(pair.public()));
        let wrong = KeyPair::from_encrypted_pem(&pem, b"correct horsf").map(|pair| pair.public());
        assert_eq!(wrong, Err(EncryptedKeyFault::Passphrase));
        let plain = KeyPair::from_encrypted_pem(&pair.to_pem(), b"x").map(|pair| pair.public());
        assert_eq!(plain, Err(EncryptedKeyFault::Malformed));
        // One bit of the second block of the ciphertext changes a bit of the key, and nothing else.
        let end = pem.find("-----END").unwrap();
        let body = pem[..end].lines().skip(2).collect::<String>();
        let mut der = base64::Engine::decode(&STANDARD, body).unwrap();
        let start = der.len() - 48;
        let mut faults = Vec::new();
        let step = if crate::base::whole_tests() { 1 } else { 4 };
        for at in (start..start + 16).step_by(step) {
            der[at] ^= 1;
            let document = SecretDocument::try_from(der.as_slice()).unwrap();
            let damaged = document.to_pem(super::LABEL, LineEnding::LF).unwrap();
            let named = format!("{}\n{}", pem.lines().next().unwrap(), &*damaged);
            let opened = KeyPair::from_encrypted_pem(&named, b"correct horse");
            faults.push(opened.map(|pair| pair.public()).expect_err("it was damaged"));
            der[at] ^= 1;
        }
        assert!(faults.contains(&EncryptedKeyFault::OtherKey), "{faults:?}");
        let other = pair.to_encrypted_pem(b"correct horse").unwrap();
        assert_ne!(*pem, *other, "salt and IV are new each time");
    }

    #[test]
    fn what_a_file_may_cost_is_bounded_before_it_is_computed() {
        let scrypt = |cost_parameter, block_size, parallelization| {
            let salt = Salt::new([0; 16]).unwrap();
            let key_length = None;
            Kdf::from(ScryptParams {
                salt,
                cost_parameter,
                block_size,
                parallelization,
                key_length,
            })
        };
        let pbkdf2 = |rounds| Kdf::from(Pbkdf2Params::hmac_sha256(rounds, &[0; 16]).unwrap());
        let (costly, malformed) = (EncryptedKeyFault::Costly, EncryptedKeyFault::Malformed);
        let rows = [
            (scrypt(1 << 14, 8, 5), Ok(())),
            (scrypt(1 << 17, 8, 1), Ok(())),
            (scrypt(1 << 22, 8, 1), Err(costly)),
            (scrypt(1 << 63, u16::MAX, u16::MAX), Err(costly)),
            (scrypt(1 << 10, 8, u16::MAX), Err(costly)),
            (scrypt(0, 8, 1), Err(malformed)),
            (scrypt(1, 8, 1), Err(malformed)),
            (scrypt(1000, 8, 1), Err(malformed)),
            (scrypt(1 << 14, 0, 1), Err(malformed)),
            (pbkdf2(600_000), Ok(())),
            (pbkdf2(10_000_001), Err(costly)),
        ];
        for (kdf, want) in rows {
            assert_eq!(check_cost(&kdf), want, "{kdf:?}");
        }
    }
}
