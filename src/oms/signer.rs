//! Whose signature it is.

use serde_json::{Value, json};

use super::certificate::{Cert, check_chain, read_chain};
use super::envelope::{OmsSignature, SaysBy};
use super::error::OmsError;
use super::key::{EcKey, pem_blocks};
use super::statement::SignedFiles;
use crate::base::limits::CERTIFICATES;
use crate::base::{Digest, Timestamp};

/// A signer that the person knows: a key, or roots whose certificates they believe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownSigner {
    /// What the person calls them.
    name: Option<String>,
    is: Known,
}

#[derive(Debug, Clone, PartialEq)]
enum Known {
    Key(EcKey),
    Roots(Vec<Cert>),
}

/// Who made a signature that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OmsSigner {
    /// What the person calls the signer, where they named them.
    pub(crate) name: Option<String>,
    /// `key` or `certificate`.
    pub(crate) method: &'static str,
    /// Of the key that signed: SHA-256 of it as PEM, in hexadecimal.
    pub(crate) fingerprint: String,
    /// Of the certificate that signed: its subject, and the SHA-256 of the root behind it.
    pub(crate) certificate: Option<(String, String)>,
}

impl OmsSigner {
    /// The signer in one line: the names that the person or a root gave, and the key.
    pub(crate) fn line(&self) -> String {
        let key = &self.fingerprint;
        match (&self.name, &self.certificate) {
            (Some(name), Some((subject, _))) => format!("`{name}`, `{subject}`, key {key}"),
            (None, Some((subject, _))) => format!("`{subject}`, key {key}"),
            (Some(name), None) => format!("`{name}`, key {key}"),
            (None, None) => format!("key {key}"),
        }
    }

    /// The same as data.
    pub(crate) fn to_json(&self) -> Value {
        let (subject, root) = self.certificate.as_ref().map(|(s, r)| (s, r)).unzip();
        json!({
            "name": self.name, "method": self.method, "key": self.fingerprint,
            "certificate": subject, "root_sha256": root,
        })
    }
}

impl KnownSigner {
    /// The signer of a PEM text with one public key or with certificates.
    ///
    /// # Errors
    /// A clause that says what is wrong with it.
    pub(crate) fn of_pem(name: Option<String>, text: &str) -> Result<Self, String> {
        let blocks: Vec<_> = pem_blocks(text).take(CERTIFICATES + 1).collect();
        let is = match blocks[..] {
            [("PUBLIC KEY", block)] => Known::Key(EcKey::of_pem(block)?),
            [("CERTIFICATE", _), ..] if blocks.len() <= CERTIFICATES => {
                let certs = blocks.iter().map(|(label, block)| match *label {
                    "CERTIFICATE" => certificate(block),
                    _ => Err("holds more than certificates".to_owned()),
                });
                Known::Roots(certs.collect::<Result<_, _>>()?)
            }
            _ if blocks.iter().any(|(label, _)| label.ends_with("PRIVATE KEY")) => {
                return Err("holds a private key, and is to be the public one".into());
            }
            _ => return Err("holds neither one public key nor certificates".into()),
        };
        Ok(Self { name, is })
    }
}

/// A certificate of a PEM block.
///
/// # Errors
/// A clause that says what is wrong with it.
pub(super) fn certificate(block: &str) -> Result<Cert, String> {
    let read = x509_cert::der::pem::decode_vec(block.as_bytes());
    let (_, der) = read.map_err(|_| "holds a certificate that is not valid PEM")?;
    Cert::read(&der).map_err(|why| format!("holds a certificate that {why}"))
}

impl OmsSignature {
    /// What is signed, if one of `known` signed it, with who that is. `now` is when certificates
    /// have to be valid, since nothing says reliably when the signature was made.
    ///
    /// # Errors
    /// `oms.unknown_signer`, `oms.forged`, `oms.certificate`, `oms.unsupported`, `oms.malformed`
    pub(crate) fn check(
        &self,
        known: &[KnownSigner],
        now: Timestamp,
    ) -> Result<(SignedFiles, OmsSigner), OmsError> {
        let (payload, by) = match &self.by {
            SaysBy::Key { fingerprint } => self.by_key(fingerprint.as_deref(), known)?,
            SaysBy::Certificates(ders) => self.by_certificate(ders, known, now)?,
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
            Known::Roots(_) => None,
        });
        let keys: Vec<_> =
            keys.filter(|(.., own)| named.is_none_or(|named| named == own)).collect();
        for (signer, key, fingerprint) in &keys {
            if let Some(payload) = self.payload(|message, sig| key.verifies(message, sig)) {
                let (name, fingerprint) = (signer.name.clone(), fingerprint.clone());
                let by = OmsSigner { name, method: "key", fingerprint, certificate: None };
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

    fn by_certificate(
        &self,
        ders: &[Vec<u8>],
        known: &[KnownSigner],
        now: Timestamp,
    ) -> Result<(&[u8], OmsSigner), OmsError> {
        let chain = read_chain(ders)?;
        let all = known.iter().filter_map(|signer| match &signer.is {
            Known::Roots(roots) => Some(roots.iter().map(move |root| (signer, root))),
            Known::Key(_) => None,
        });
        let (signers, roots): (Vec<_>, Vec<_>) =
            all.flatten().map(|(signer, root)| (signer, root.clone())).unzip();
        let (leaf, root) = check_chain(&chain, &roots, now)?;
        let Some(payload) = self.payload(|message, sig| leaf.key.verifies(message, sig)) else {
            return Err(OmsError::Forged { signer: leaf.subject });
        };
        let at = roots.iter().position(|it| it == root);
        let name = at.and_then(|at| signers.get(at)).and_then(|signer| signer.name.clone());
        let certificate = Some((leaf.subject, Digest::of(root.der()).to_string()));
        let fingerprint = leaf.key.fingerprint();
        Ok((payload, OmsSigner { name, method: "certificate", fingerprint, certificate }))
    }
}
