//! Chains of certificates (X.509, RFC 5280): from the one that signed to a root that the person
//! gave.
//!
//! Path validation is written here because the libraries for it are made for TLS: they refuse a
//! signing certificate that says `CA:TRUE`, and such stand in the test vectors of OMS and behind
//! its own instructions. Certificates are read by `x509-cert`, and signatures checked by `ring` and
//! the crates of the curves. What is not understood is refused.

use x509_cert::Certificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::oid::{AssociatedOid, db};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, NameConstraints};

use super::error::OmsError;
use super::key::{EcKey, MessageHash};
use crate::base::Timestamp;
use crate::base::limits::{CERTIFICATE_BYTES, CERTIFICATES};
use crate::base::text::brief_line;

/// A certificate with all that is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cert {
    der: Vec<u8>,
    parsed: Certificate,
    /// What its own signature is made over.
    tbs: Vec<u8>,
    basic: Option<BasicConstraints>,
    usage: Option<KeyUsage>,
    purposes: Option<ExtendedKeyUsage>,
}

/// The certificate that signed, once its chain was checked.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) key: EcKey,
    pub(super) subject: String,
}

impl Cert {
    /// # Errors
    /// A clause that says why it is not accepted.
    pub(super) fn read(der: &[u8]) -> Result<Self, String> {
        if der.len() > CERTIFICATE_BYTES {
            return Err(format!("is larger than {CERTIFICATE_BYTES} bytes"));
        }
        let invalid = |error| format!("is not a valid certificate: {error}");
        let parsed = Certificate::from_der(der).map_err(invalid)?;
        // So what was read is all of it, and `tbs` are the bytes that were signed.
        if parsed.to_der().ok().as_deref() != Some(der) {
            return Err("is not a certificate in DER".into());
        }
        let inner = parsed.tbs_certificate();
        let tbs = inner.to_der().map_err(invalid)?;
        if inner.signature() != parsed.signature_algorithm() {
            return Err("names two signature algorithms".into());
        }
        let mut seen = Vec::new();
        for extension in inner.extensions().into_iter().flatten() {
            if seen.contains(&extension.extn_id) {
                return Err("has an extension twice".into());
            }
            if seen.len() >= CERTIFICATES {
                return Err("has too many extensions".into());
            }
            seen.push(extension.extn_id);
            // What they leave out is not told from what they let in, so none is taken.
            if extension.extn_id == NameConstraints::OID {
                return Err("has name constraints, which are not known here".into());
            }
            if extension.critical && !KNOWN_EXTENSIONS.contains(&extension.extn_id) {
                let id = extension.extn_id;
                return Err(format!("has the critical extension {id}, which is not known here"));
            }
        }
        let basic = inner.get_extension::<BasicConstraints>().map_err(invalid)?;
        let usage = inner.get_extension::<KeyUsage>().map_err(invalid)?;
        let purposes = inner.get_extension::<ExtendedKeyUsage>().map_err(invalid)?;
        let (basic, usage) = (basic.map(|(_, it)| it), usage.map(|(_, it)| it));
        let purposes = purposes.map(|(_, it)| it);
        Ok(Self { der: der.to_vec(), tbs, basic, usage, purposes, parsed })
    }

    /// Its owner as it says, on one short line.
    pub(super) fn subject(&self) -> String {
        // It goes into items, where these would mean something; what is written out has them too.
        let subject = self.parsed.tbs_certificate().subject().to_string();
        brief_line(&subject.replace(['`', '{', '}'], "?"))
    }

    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    pub(super) fn key(&self) -> Option<EcKey> {
        let spki = self.parsed.tbs_certificate().subject_public_key_info();
        EcKey::of_spki(&spki.to_der().ok()?)
    }

    fn is_issued_in_the_name_of(&self, other: &Self) -> bool {
        self.parsed.tbs_certificate().issuer() == other.parsed.tbs_certificate().subject()
    }

    fn is_self_issued(&self) -> bool {
        self.is_issued_in_the_name_of(self)
    }

    /// Whether `issuer` made this one's signature.
    fn is_signed_by(&self, issuer: &Self) -> bool {
        let algorithm = self.parsed.signature_algorithm().oid;
        let Some(signature) = self.parsed.signature().as_bytes() else { return false };
        let ec =
            |hash| issuer.key().is_some_and(|key| key.verifies_hashed(hash, &self.tbs, signature));
        let rsa = |kind: &'static ring::signature::RsaParameters| {
            let spki = issuer.parsed.tbs_certificate().subject_public_key_info();
            let key = spki.subject_public_key.as_bytes().unwrap_or_default();
            let key = ring::signature::UnparsedPublicKey::new(kind, key);
            spki.algorithm.oid == db::rfc5912::RSA_ENCRYPTION
                && key.verify(&self.tbs, signature).is_ok()
        };
        match algorithm {
            db::rfc5912::ECDSA_WITH_SHA_256 => ec(MessageHash::Sha256),
            db::rfc5912::ECDSA_WITH_SHA_384 => ec(MessageHash::Sha384),
            db::rfc5912::ECDSA_WITH_SHA_512 => ec(MessageHash::Sha512),
            db::rfc5912::SHA_256_WITH_RSA_ENCRYPTION => {
                rsa(&ring::signature::RSA_PKCS1_2048_8192_SHA256)
            }
            db::rfc5912::SHA_384_WITH_RSA_ENCRYPTION => {
                rsa(&ring::signature::RSA_PKCS1_2048_8192_SHA384)
            }
            db::rfc5912::SHA_512_WITH_RSA_ENCRYPTION => {
                rsa(&ring::signature::RSA_PKCS1_2048_8192_SHA512)
            }
            _ => false,
        }
    }

    /// # Errors
    /// `oms.certificate`
    fn is_valid_at(&self, now: Timestamp) -> Result<(), OmsError> {
        let validity = self.parsed.tbs_certificate().validity();
        let second = |time: x509_cert::time::Time| {
            i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX)
        };
        let (from, to) = (second(validity.not_before), second(validity.not_after));
        let at = |second| Timestamp::from_second(second);
        if now.as_second() < from {
            return Err(self.refused(format!("it is valid from {} on", at(from))));
        }
        if now.as_second() > to {
            let why = "and nothing that is trusted here says when the signature was made";
            return Err(self.refused(format!("it was valid until {}, {why}", at(to))));
        }
        Ok(())
    }

    /// Whether it may issue certificates for code, with `below` certificates of others under it.
    ///
    /// # Errors
    /// `oms.certificate`
    fn may_issue(&self, below: usize) -> Result<(), OmsError> {
        let Some(basic) = self.basic.as_ref().filter(|basic| basic.ca) else {
            return Err(self.refused("it is not one of a certificate authority"));
        };
        if basic.path_len_constraint.is_some_and(|most| below > usize::from(most)) {
            return Err(self.refused("its chain is longer than it allows"));
        }
        if self.usage.as_ref().is_some_and(|usage| !usage.key_cert_sign()) {
            return Err(self.refused("it may not sign certificates"));
        }
        let any = |list: &ExtendedKeyUsage| {
            list.0.contains(&CODE_SIGNING) || list.0.contains(&ANY_PURPOSE)
        };
        if self.purposes.as_ref().is_some_and(|list| !any(list)) {
            return Err(self.refused("it may not issue certificates that sign code"));
        }
        Ok(())
    }

    /// Whether it may sign files: for code signing, where it says what it is for; and in any case
    /// it says so in one of the two ways.
    ///
    /// # Errors
    /// `oms.certificate`
    fn may_sign(&self) -> Result<(), OmsError> {
        if self.usage.as_ref().is_some_and(|usage| !usage.digital_signature()) {
            return Err(self.refused("its key may not make signatures"));
        }
        if self.purposes.as_ref().is_some_and(|list| !list.0.contains(&CODE_SIGNING)) {
            return Err(self.refused("it is for other purposes than signing code"));
        }
        match self.usage.is_some() || self.purposes.is_some() {
            true => Ok(()),
            false => Err(self.refused("it does not say that it may sign")),
        }
    }

    fn refused(&self, why: impl Into<String>) -> OmsError {
        OmsError::Certificate { subject: self.subject(), why: why.into() }
    }
}

const CODE_SIGNING: ObjectIdentifier = db::rfc5280::ID_KP_CODE_SIGNING;
const ANY_PURPOSE: ObjectIdentifier = db::rfc5280::ANY_EXTENDED_KEY_USAGE;

/// What is read of a certificate, or may be passed over whatever it says.
const KNOWN_EXTENSIONS: [ObjectIdentifier; 4] = [
    db::rfc5280::ID_CE_BASIC_CONSTRAINTS,
    db::rfc5280::ID_CE_KEY_USAGE,
    db::rfc5280::ID_CE_EXT_KEY_USAGE,
    db::rfc5280::ID_CE_SUBJECT_ALT_NAME,
];

/// The certificates of a signature file: first the one that signed, then those that may lead to a
/// root.
///
/// # Errors
/// `oms.malformed`
pub(super) fn read_chain(ders: &[Vec<u8>]) -> Result<Vec<Cert>, OmsError> {
    if ders.len() > CERTIFICATES {
        return Err(OmsError::malformed(format!("it holds more than {CERTIFICATES} certificates")));
    }
    let read = |(number, der): (usize, &Vec<u8>)| {
        Cert::read(der)
            .map_err(|why| OmsError::malformed(format!("certificate {} {why}", number + 1)))
    };
    ders.iter().enumerate().map(read).collect()
}

/// The certificate that signed, if it may, and a way leads from it to one of `roots`, which are
/// those that the person gave. All of them are valid at `now`.
///
/// # Errors
/// `oms.unknown_signer` where no way leads there; `oms.certificate`, `oms.unsupported`
pub(super) fn check_chain<'r>(
    chain: &[Cert],
    roots: &'r [Cert],
    now: Timestamp,
) -> Result<(Leaf, &'r Cert), OmsError> {
    let Some((leaf, others)) = chain.split_first() else {
        return Err(OmsError::malformed("it holds no certificate"));
    };
    let unknown =
        || OmsError::UnknownSigner { signer: format!("the certificate of `{}`", leaf.subject()) };
    // First the way, so that nobody is told of a fault in what a stranger made.
    let mut way = Vec::new();
    let root = match roots.iter().find(|root| root.der == leaf.der) {
        Some(root) => root,
        None => {
            let mut left: Vec<&Cert> = others.iter().collect();
            let mut last = leaf;
            loop {
                let issues =
                    |by: &&Cert| last.is_issued_in_the_name_of(by) && last.is_signed_by(by);
                if let Some(root) = roots.iter().find(|root| issues(root)) {
                    way.push(root);
                    break root;
                }
                // Each is taken once, so this ends.
                let next = left.iter().position(issues).ok_or_else(unknown)?;
                last = left.remove(next);
                way.push(last);
            }
        }
    };
    leaf.may_sign()?;
    leaf.is_valid_at(now)?;
    let mut below = 0;
    for authority in way {
        authority.is_valid_at(now)?;
        authority.may_issue(below)?;
        below += usize::from(!authority.is_self_issued());
    }
    let key = leaf.key().ok_or_else(|| OmsError::Unsupported {
        what: format!("a signature by the kind of key that `{}` has", leaf.subject()),
    })?;
    Ok((Leaf { key, subject: leaf.subject() }, root))
}
