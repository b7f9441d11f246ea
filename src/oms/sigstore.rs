//! The method `sigstore`: a certificate for a few minutes that names an identity, and a log that
//! holds the signature. Checked by `sigstore-verify`, with no network, against a root that the
//! person gave; its arithmetic is `ring`.

use std::sync::Once;

use ring::{digest, signature as rs};
use sigstore_verify::crypto::error::{Error as CryptoError, Result as CryptoResult};
use sigstore_verify::crypto::{
    CryptoProvider, HashContext, SigningScheme, install_default_provider, parse_certificate_info,
};
use sigstore_verify::trust_root::TrustedRoot as ReadRoot;
use sigstore_verify::types::{Bundle, DerCertificate, HashAlgorithm, Sha256Hash};
use sigstore_verify::{
    Error, IdentityMatcher, SubjectAltName, TransparencyLogError, VerificationPolicy, Verifier,
};

use super::error::OmsError;
use super::identity::{SignerIdentity, TrustedRoot};
use crate::base::text::brief_line;

/// Whom a certificate names. Nothing vouches for it yet.
pub(super) struct SaysIdentity {
    identity: Option<SubjectAltName>,
    issuer: Option<String>,
}

impl SaysIdentity {
    /// # Errors
    /// `oms.malformed`
    pub(super) fn of_certificate(der: &[u8]) -> Result<Self, OmsError> {
        install();
        let said = parse_certificate_info(&DerCertificate::from_bytes(der));
        let said = said.map_err(|why| OmsError::malformed(format!("its certificate: {why}")))?;
        Ok(Self { identity: said.identity, issuer: said.issuer })
    }

    pub(super) fn is(&self, known: &SignerIdentity) -> bool {
        let is_issuer = self.issuer.as_ref() == Some(&known.issuer);
        is_issuer && self.identity.as_ref().is_some_and(|said| matcher(known).matches(said))
    }

    /// The two as the certificate says them.
    pub(super) fn line(&self) -> String {
        let said = |text: Option<&str>| brief_line(text.unwrap_or("nobody"));
        let identity = said(self.identity.as_ref().map(SubjectAltName::as_str));
        format!("`{identity}` of the issuer `{}`", said(self.issuer.as_deref()))
    }
}

fn matcher(known: &SignerIdentity) -> IdentityMatcher {
    match known.is_uri() {
        true => IdentityMatcher::Uri(known.identity.clone()),
        false => IdentityMatcher::Email(known.identity.clone()),
    }
}

/// Checks all of it: the times, the chain of the certificate with its SCT, the identity with its
/// issuer, the proof that the log holds the entry, the signature, that it is over `digest`
/// (SHA-256 in hexadecimal), and that the entry is of this signature. `bundle` is as rye writes it.
///
/// # Errors
/// `oms.root`, `oms.forged`, `oms.unknown_signer`, `oms.malformed`
pub(super) fn check(
    bundle: &str,
    digest: &str,
    by: &SignerIdentity,
    root: &TrustedRoot,
) -> Result<(), OmsError> {
    install();
    let unread = |why: String| OmsError::Root { why: format!("cannot be used: {why}") };
    let root = ReadRoot::from_json(&root.text).map_err(|why| unread(why.to_string()))?;
    let verifier = Verifier::new(&root).map_err(|why| unread(why.to_string()))?;
    let bundle = Bundle::from_json(bundle).map_err(|why| OmsError::malformed(why.to_string()))?;
    let digest =
        Sha256Hash::from_hex(digest).map_err(|why| OmsError::malformed(why.to_string()))?;
    let policy = VerificationPolicy::new(matcher(by), by.issuer.as_str());
    let said = verifier.verify(digest, &bundle, &policy).map_err(|why| refused(&why, by))?;
    // What `verify` promises is asked for by name, should another version promise less.
    let is_whole = said.certificate_verified()
        && said.sct_verified()
        && said.tlog_verified()
        && said.identity_policy_checked();
    match is_whole {
        true => Ok(()),
        false => Err(OmsError::Forged { signer: by.identity.clone() }),
    }
}

fn refused(why: &Error, by: &SignerIdentity) -> OmsError {
    let said = brief_line(&why.to_string());
    match why {
        Error::IdentityMismatch { .. } | Error::IssuerMismatch { .. } => {
            OmsError::UnknownSigner { signer: said }
        }
        Error::SignatureInvalid(_)
        | Error::ArtifactMismatch(_)
        | Error::TransparencyLog(
            TransparencyLogError::InclusionProof(_)
            | TransparencyLogError::EntryMismatch(_)
            | TransparencyLogError::MalformedEntry(_)
            | TransparencyLogError::IntegratedTime(_),
        ) => OmsError::Forged { signer: by.identity.clone() },
        Error::InvalidTrustRoot(_) | Error::TrustRoot(_) | Error::TrustedCertificate(_) => {
            OmsError::Root { why: format!("cannot be used: {said}") }
        }
        Error::InvalidBundle(_)
        | Error::UnsupportedBundle(_)
        | Error::Types(_)
        | Error::Bundle(_) => OmsError::malformed(said),
        // Keys that the root does not have, or not for that time: authorities, logs, clocks.
        _ => OmsError::Root { why: format!("does not vouch for `{}`: {said}", by.identity) },
    }
}

/// Tells the crate once what it calculates with. It fails if that was told already, by this.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = install_default_provider(&Ring);
    });
}

#[derive(Debug)]
struct Ring;

struct Hash(digest::Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

fn algorithm(scheme: SigningScheme) -> CryptoResult<&'static dyn rs::VerificationAlgorithm> {
    Ok(match scheme {
        SigningScheme::EcdsaP256Sha256 => &rs::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &rs::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &rs::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &rs::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &rs::ED25519,
        SigningScheme::RsaPkcs1Sha256 => &rs::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &rs::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &rs::RSA_PKCS1_2048_8192_SHA512,
        SigningScheme::RsaPssSha256 => &rs::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &rs::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &rs::RSA_PSS_2048_8192_SHA512,
        other => return Err(CryptoError::UnsupportedAlgorithm(other.name().into())),
    })
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> CryptoResult<Box<dyn HashContext>> {
        let of = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            other => return Err(CryptoError::UnsupportedAlgorithm(other.to_string())),
        };
        Ok(Box::new(Hash(digest::Context::new(of))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> CryptoResult<()> {
        let key = rs::UnparsedPublicKey::new(algorithm(scheme)?, key);
        let wrong = |_| CryptoError::Verification(format!("{} signature invalid", scheme.name()));
        key.verify(data, signature).map_err(wrong)
    }

    /// Of a digest alone no signature of this kind is made: each is over an envelope.
    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        _: &[u8],
        _: &[u8],
        _: &[u8],
    ) -> CryptoResult<()> {
        Err(CryptoError::UnsupportedAlgorithm(format!("{} of a digest", scheme.name())))
    }
}
