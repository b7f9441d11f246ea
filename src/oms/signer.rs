//! Whose signature it is.

use serde_json::{Value, json};

use super::envelope::{OmsSignature, SaysBy, SigstoreMaterial};
use super::error::OmsError;
use super::identity::{SignerIdentity, TrustedRoot};
use super::key::{EcKey, pem_blocks};
#[cfg(feature = "sigstore")]
use super::sigstore::SaysIdentity;
use super::statement::SignedFiles;

/// A signer that the person knows: a key, or an identity with its issuer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownSigner {
    /// The person's own name for the signer.
    name: Option<String>,
    is: Known,
}

#[derive(Debug, Clone, PartialEq)]
enum Known {
    Key(EcKey),
    Identity(SignerIdentity),
}

/// Who made a signature that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OmsSigner {
    /// The person's own name for the signer, where they gave one.
    pub(crate) name: Option<String>,
    /// `key` or `sigstore`.
    pub(crate) method: &'static str,
    /// Of the key that signed: SHA-256 of it as PEM, in hexadecimal. By `sigstore` each signature
    /// has a key of its own, which says nothing.
    pub(crate) fingerprint: Option<String>,
    /// By `sigstore`: the identity and its issuer, and the SHA-256 of the trusted root.
    pub(crate) identity: Option<(SignerIdentity, String)>,
}

impl OmsSigner {
    /// The signer in one line: the name that the person gave, and the key, or the identity with
    /// its issuer.
    pub(crate) fn line(&self) -> String {
        let mut parts: Vec<_> = self.name.iter().map(|name| format!("`{name}`")).collect();
        parts.extend(self.fingerprint.as_ref().map(|key| format!("key {key}")));
        parts.extend(self.identity.as_ref().map(|(who, _)| who.line()));
        parts.join(", ")
    }

    /// Returns the signer as data.
    pub(crate) fn to_json(&self) -> Value {
        let (who, root) = self.identity.as_ref().map(|(who, root)| (who, root)).unzip();
        json!({
            "name": self.name, "method": self.method, "key": self.fingerprint,
            "root_sha256": root, "identity": who.map(|who| &who.identity),
            "issuer": who.map(|who| &who.issuer),
        })
    }
}

impl KnownSigner {
    /// The signer of a PEM text with one public key.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
    pub(crate) fn of_pem(name: Option<String>, text: &str) -> Result<Self, String> {
        let blocks: Vec<_> = pem_blocks(text).take(2).collect();
        match blocks[..] {
            [("PUBLIC KEY", block)] => Ok(Self { name, is: Known::Key(EcKey::of_pem(block)?) }),
            [("CERTIFICATE", _), ..] => {
                Err("holds a certificate: signatures by certificates are not checked".into())
            }
            _ if blocks.iter().any(|(label, _)| label.ends_with("PRIVATE KEY")) => {
                Err("holds a private key, and is to be the public one".into())
            }
            _ => Err("does not hold one public key".into()),
        }
    }

    /// The signer with an identity that an issuer vouches for.
    pub(crate) fn of_identity(name: Option<String>, who: SignerIdentity) -> Self {
        Self { name, is: Known::Identity(who) }
    }
}

impl OmsSignature {
    /// Returns what is signed, if one of `known` signed it, with who that is. Certificates of
    /// `sigstore` are valid at the times that `root` vouches for.
    ///
    /// # Errors
    /// `oms.unknown_signer`, `oms.forged`, `oms.unsupported`, `oms.malformed`, `oms.root`
    pub(crate) fn check(
        &self,
        known: &[KnownSigner],
        root: Option<&TrustedRoot>,
    ) -> Result<(SignedFiles, OmsSigner), OmsError> {
        let (payload, by) = match &self.by {
            SaysBy::Sigstore(material) => return self.by_sigstore(material, known, root),
            SaysBy::Key { fingerprint } => self.by_key(fingerprint.as_deref(), known)?,
        };
        Ok((SignedFiles::read(payload)?, by))
    }

    fn by_key(
        &self,
        named: Option<&str>,
        known: &[KnownSigner],
    ) -> Result<(&[u8], OmsSigner), OmsError> {
        let keys = known.iter().filter_map(|signer| match &signer.is {
            Known::Key(key) => Some((signer, key, key.fingerprint())),
            Known::Identity(_) => None,
        });
        let keys: Vec<_> =
            keys.filter(|(.., own)| named.is_none_or(|named| named == own)).collect();
        for (signer, key, fingerprint) in &keys {
            if let Some(payload) = self.payload(|message, sig| key.verifies(message, sig)) {
                let (name, fingerprint) = (signer.name.clone(), Some(fingerprint.clone()));
                let by = OmsSigner { name, method: "key", fingerprint, identity: None };
                return Ok((payload, by));
            }
        }
        Err(match (&keys[..], named) {
            // A file that names no key is as well by anybody else.
            ([], Some(named)) => OmsError::UnknownSigner { signer: format!("the key {named}") },
            (_, None) => OmsError::UnknownSigner { signer: "a key that it does not name".into() },
            ([(signer, ..), ..], Some(named)) => {
                OmsError::Forged { signer: signer.name.clone().unwrap_or_else(|| named.to_owned()) }
            }
        })
    }

    /// Reads the signed files before their signature is checked, since the check needs their
    /// digest; they are returned only if it holds.
    #[cfg(feature = "sigstore")]
    fn by_sigstore(
        &self,
        material: &SigstoreMaterial,
        known: &[KnownSigner],
        root: Option<&TrustedRoot>,
    ) -> Result<(SignedFiles, OmsSigner), OmsError> {
        let says = SaysIdentity::of_certificate(&material.certificate()?)?;
        let signer = known.iter().find_map(|signer| match &signer.is {
            Known::Identity(who) if says.is(who) => Some((signer.name.clone(), who)),
            _ => None,
        });
        let (name, who) = signer.ok_or_else(|| OmsError::UnknownSigner { signer: says.line() })?;
        let root = root.ok_or_else(|| OmsError::Root {
            why: "is not given, and rye brings none: nothing else knows the authorities and logs of a signature by `sigstore`".into(),
        })?;
        let (signed, digest) = SignedFiles::read_with_root(self.unchecked_payload())?;
        super::sigstore::check(&self.to_text(), &digest, who, root)?;
        let identity = Some((who.clone(), root.sha256.to_string()));
        Ok((signed, OmsSigner { name, method: "sigstore", fingerprint: None, identity }))
    }

    /// This build leaves the method out.
    #[cfg(not(feature = "sigstore"))]
    #[expect(clippy::unused_self, reason = "as where the method is checked")]
    fn by_sigstore(
        &self,
        _: &SigstoreMaterial,
        _: &[KnownSigner],
        _: Option<&TrustedRoot>,
    ) -> Result<(SignedFiles, OmsSigner), OmsError> {
        Err(OmsError::Unsupported { what: "a signature by the method `sigstore`".into() })
    }
}
