//! The signature file: a Sigstore bundle (JSON) with a DSSE envelope in it, as OMS 1.0 section 4
//! allows it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::OmsError;
use super::key::OmsSigningKey;
use crate::base::json_reader::may_hold_more;
use crate::base::limits::{CERTIFICATE_BYTES, MESSAGE_NODES};
use crate::base::signed_statement::{STATEMENT, WireEnvelope, WireSignature, pae};
use crate::base::text::brief_line;

/// Most hashes of the proof that a log holds an entry: a log has no more than 2^64 of them.
const PROOF_HASHES: usize = 64;

/// Most entries of a log that a signature file names, and most signed times: one signature is in
/// one log, or in two.
const LOG_ENTRIES: usize = 4;

/// The media type of what is written.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Those of what is read: `sigstore_bundle.proto`, version 0.3 and before.
const MEDIA_TYPES: [&str; 4] = [
    MEDIA_TYPE,
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
];

/// Those of version 0.3 alone, which brought the one certificate of the method `sigstore`.
const VERSION_3: [&str; 2] = [MEDIA_TYPES[0], MEDIA_TYPES[1]];

/// A signature file that was read. Nothing in it is known to be true yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OmsSignature {
    payload: Vec<u8>,
    sig: Vec<u8>,
    pub(super) by: SaysBy,
}

/// Who the signature file says signed it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SaysBy {
    /// The owner of a key, perhaps with its fingerprint; older files have none.
    Key { fingerprint: Option<String> },
    /// The person or workflow that the certificate names, by the word of an authority and a log.
    Sigstore(Box<SigstoreMaterial>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire<M> {
    media_type: String,
    verification_material: M,
    dsse_envelope: WireEnvelope,
}

/// The material of a signature by the method `sigstore` (`sigstore_bundle.proto`, version 0.3, and
/// `sigstore_rekor.proto`). Numbers are texts there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SigstoreMaterial {
    certificate: WireCertificate,
    tlog_entries: Vec<LogEntry>,
    #[serde(default)]
    timestamp_verification_data: Option<SignedTimes>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LogEntry {
    log_index: String,
    log_id: LogId,
    kind_version: KindVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    integrated_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inclusion_promise: Option<InclusionPromise>,
    /// The proof that the log holds the entry is never left out.
    inclusion_proof: InclusionProof,
    canonicalized_body: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LogId {
    key_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindVersion {
    kind: String,
    version: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InclusionPromise {
    signed_entry_timestamp: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InclusionProof {
    log_index: String,
    root_hash: String,
    tree_size: String,
    hashes: Vec<String>,
    checkpoint: Checkpoint,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    envelope: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SignedTimes {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rfc3161_timestamps: Vec<SignedTime>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SignedTime {
    signed_timestamp: String,
}

impl SigstoreMaterial {
    /// Reads it in full, where [`Wire`] of any material has passed over what is in it.
    ///
    /// # Errors
    /// `oms.malformed`
    fn read(text: &[u8]) -> Result<Self, OmsError> {
        let wire: Wire<Self> =
            serde_json::from_slice(text).map_err(|error| OmsError::malformed(error.to_string()))?;
        let wrong = |why: String| Err(OmsError::malformed(why));
        if !VERSION_3.contains(&wire.media_type.as_str()) {
            return wrong("it names a certificate as version 0.3 does, and is of another".into());
        }
        let mut material = wire.verification_material;
        let times = material.timestamp_verification_data.get_or_insert_default();
        let (entries, times) = (&material.tlog_entries, &times.rfc3161_timestamps);
        if entries.is_empty() {
            return wrong("it names no entry of a log".into());
        }
        if entries.len() > LOG_ENTRIES || times.len() > LOG_ENTRIES {
            return wrong(format!("it has more than {LOG_ENTRIES} entries of a log, or times"));
        }
        if entries.iter().any(|entry| entry.inclusion_proof.hashes.len() > PROOF_HASHES) {
            return wrong(format!("it has a proof of more than {PROOF_HASHES} hashes"));
        }
        if material.certificate.raw_bytes.len() > CERTIFICATE_BYTES / 3 * 4 {
            return wrong(format!("its certificate is larger than {CERTIFICATE_BYTES} bytes"));
        }
        Ok(material)
    }

    /// The certificate in DER.
    ///
    /// # Errors
    /// `oms.malformed`
    #[cfg(feature = "sigstore")]
    pub(super) fn certificate(&self) -> Result<Vec<u8>, OmsError> {
        decoded("certificate", &self.certificate.raw_bytes)
    }
}

/// # Errors
/// `oms.malformed`
fn decoded(what: &str, text: &str) -> Result<Vec<u8>, OmsError> {
    let bytes = STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty());
    bytes.ok_or_else(|| OmsError::malformed(format!("its {what} is not base64")))
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Material {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<WireKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x509_certificate_chain: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<Value>,
    /// Of a log that is not asked: with a key it is not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tlog_entries: Option<Vec<Value>>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "timestampVerificationData"
    )]
    _timestamps: Option<Value>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw_bytes: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WireCertificate {
    raw_bytes: String,
}

impl OmsSignature {
    /// Reads a signature file; says nothing about who made it.
    ///
    /// # Errors
    /// `oms.malformed`; `oms.unsupported` for the method `certificate`.
    pub(crate) fn read(text: &[u8]) -> Result<Self, OmsError> {
        if may_hold_more(text, MESSAGE_NODES) {
            return Err(OmsError::malformed(format!(
                "it may hold more than {MESSAGE_NODES} values"
            )));
        }
        let wire: Wire<Material> =
            serde_json::from_slice(text).map_err(|error| OmsError::malformed(error.to_string()))?;
        let Wire { media_type, verification_material: material, dsse_envelope: envelope } = wire;
        if !MEDIA_TYPES.contains(&media_type.as_str()) {
            let why = format!("its media type is `{}`", brief_line(&media_type));
            return Err(OmsError::malformed(why));
        }
        // A key id is of no use: who signed is looked up by the key or the identity.
        let (payload, sig) = envelope.open(STATEMENT).map_err(OmsError::malformed)?;
        let sig = sig.bytes().map_err(OmsError::malformed)?;
        let by = match material {
            Material {
                public_key: Some(key),
                x509_certificate_chain: None,
                certificate: None,
                ..
            } => {
                if key.hint.is_none() && key.raw_bytes.is_none() {
                    return Err(OmsError::malformed("it does not say by which key it is"));
                }
                SaysBy::Key { fingerprint: key.hint }
            }
            Material {
                public_key: None,
                x509_certificate_chain: Some(_),
                certificate: None,
                ..
            } => {
                let what = "a signature by the method `certificate`".into();
                return Err(OmsError::Unsupported { what });
            }
            Material {
                public_key: None,
                x509_certificate_chain: None,
                certificate: Some(_),
                ..
            } => SaysBy::Sigstore(Box::new(SigstoreMaterial::read(text)?)),
            _ => return Err(OmsError::malformed("it does not say by one way who signed")),
        };
        Ok(Self { payload, sig, by })
    }

    /// Signs a payload.
    pub(super) fn seal(with: &OmsSigningKey, payload: Vec<u8>) -> Self {
        let sig = with.sign(&pae(STATEMENT, &payload));
        Self { payload, sig, by: SaysBy::Key { fingerprint: Some(with.fingerprint()) } }
    }

    /// The text of the signature file; ends with a line feed.
    pub(crate) fn to_text(&self) -> String {
        let sig = WireSignature::new(String::new(), &self.sig);
        let envelope = WireEnvelope::new(STATEMENT, &self.payload, vec![sig]);
        let material = match &self.by {
            SaysBy::Sigstore(material) => return written(material.as_ref(), envelope),
            SaysBy::Key { fingerprint } => Material {
                public_key: Some(WireKey { hint: fingerprint.clone(), raw_bytes: None }),
                // Readers that are made from Sigstore's own types ask for it.
                tlog_entries: Some(Vec::new()),
                ..Material::default()
            },
        };
        written(&material, envelope)
    }

    /// The payload as the file gives it; its signature is not checked.
    #[cfg(feature = "sigstore")]
    pub(super) fn unchecked_payload(&self) -> &[u8] {
        &self.payload
    }

    /// The payload, if `verifies` says that the signature is one of what it is given.
    pub(super) fn payload(&self, verifies: impl FnOnce(&[u8], &[u8]) -> bool) -> Option<&[u8]> {
        let is_signed = verifies(&pae(STATEMENT, &self.payload), &self.sig);
        is_signed.then_some(self.payload.as_slice())
    }
}

fn written(material: &impl Serialize, dsse_envelope: WireEnvelope) -> String {
    let media_type = MEDIA_TYPE.into();
    let wire = Wire { media_type, verification_material: material, dsse_envelope };
    serde_json::to_string(&wire).expect("texts are JSON") + "\n"
}
