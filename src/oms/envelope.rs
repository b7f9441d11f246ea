//! The signature file: a Sigstore bundle (JSON) with a DSSE envelope in it, as OMS 1.0 section 4
//! allows it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::OmsError;
use crate::base::limits::MESSAGE_NODES;
use crate::base::pae;
use crate::base::text::brief_line;
use crate::base::value_count::has_more_values;

/// The payload type of an in-toto statement.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The media type of what is written.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// Those of what is read: `sigstore_bundle.proto`, version 0.3 and before.
const MEDIA_TYPES: [&str; 4] = [
    MEDIA_TYPE,
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.1",
];

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
    /// The owner of the first certificate (DER).
    Certificates(Vec<Vec<u8>>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    media_type: String,
    verification_material: Material,
    dsse_envelope: WireEnvelope,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Material {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<WireKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x509_certificate_chain: Option<WireChain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<Value>,
    /// Of a log that is not asked: with a key or a certificate it is not needed.
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

#[derive(Serialize, Deserialize)]
struct WireChain {
    certificates: Vec<WireCertificate>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCertificate {
    raw_bytes: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WireEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<WireSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignature {
    sig: String,
    /// Of no use: who signed is looked up by the key or the certificate.
    #[serde(default)]
    keyid: Option<String>,
}

impl OmsSignature {
    /// Reads a signature file; says nothing about who made it.
    ///
    /// # Errors
    /// `oms.malformed`; `oms.unsupported` for a signature by the method `sigstore`.
    pub(crate) fn read(text: &[u8]) -> Result<Self, OmsError> {
        if has_more_values(text, MESSAGE_NODES) {
            return Err(OmsError::malformed(format!(
                "it may hold more than {MESSAGE_NODES} values"
            )));
        }
        let wire: Wire =
            serde_json::from_slice(text).map_err(|error| OmsError::malformed(error.to_string()))?;
        let Wire { media_type, verification_material: material, dsse_envelope: envelope } = wire;
        if !MEDIA_TYPES.contains(&media_type.as_str()) {
            let why = format!("its media type is `{}`", brief_line(&media_type));
            return Err(OmsError::malformed(why));
        }
        if envelope.payload_type != PAYLOAD_TYPE {
            let other = brief_line(&envelope.payload_type);
            return Err(OmsError::malformed(format!("its payload is `{other}`")));
        }
        let [WireSignature { sig, keyid: _ }] = &envelope.signatures[..] else {
            return Err(OmsError::malformed("it holds other than one signature"));
        };
        let decoded = |what: &str, text: &str| {
            let bytes = STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty());
            bytes.ok_or_else(|| OmsError::malformed(format!("its {what} is not base64")))
        };
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
                x509_certificate_chain: Some(chain),
                certificate: None,
                ..
            } => {
                let ders = chain.certificates.iter();
                let ders = ders.map(|it| decoded("certificate", &it.raw_bytes));
                SaysBy::Certificates(ders.collect::<Result<_, _>>()?)
            }
            Material {
                public_key: None,
                x509_certificate_chain: None,
                certificate: Some(_),
                ..
            } => {
                return Err(OmsError::Unsupported {
                    what: "a signature by the method `sigstore`".into(),
                });
            }
            _ => return Err(OmsError::malformed("it does not say by one way who signed")),
        };
        let (payload, sig) = (decoded("payload", &envelope.payload)?, decoded("signature", sig)?);
        Ok(Self { payload, sig, by })
    }

    /// A signature file over a payload. `sign` makes the signature (DER) of what it is given.
    pub(super) fn seal(by: SaysBy, payload: Vec<u8>, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        let sig = sign(&pae::pae(PAYLOAD_TYPE, &payload));
        Self { payload, sig, by }
    }

    /// The text of the signature file; ends with a line feed.
    pub(crate) fn to_text(&self) -> String {
        // Readers that are made from Sigstore's own types ask for it.
        let none = || Material { tlog_entries: Some(Vec::new()), ..Material::default() };
        let material = match &self.by {
            SaysBy::Key { fingerprint } => Material {
                public_key: Some(WireKey { hint: fingerprint.clone(), raw_bytes: None }),
                ..none()
            },
            SaysBy::Certificates(ders) => {
                let rows =
                    ders.iter().map(|der| WireCertificate { raw_bytes: STANDARD.encode(der) });
                let chain = WireChain { certificates: rows.collect() };
                Material { x509_certificate_chain: Some(chain), ..none() }
            }
        };
        let sig = WireSignature { sig: STANDARD.encode(&self.sig), keyid: Some(String::new()) };
        let wire = Wire {
            media_type: MEDIA_TYPE.into(),
            verification_material: material,
            dsse_envelope: WireEnvelope {
                payload: STANDARD.encode(&self.payload),
                payload_type: PAYLOAD_TYPE.into(),
                signatures: vec![sig],
            },
        };
        serde_json::to_string(&wire).expect("texts are JSON") + "\n"
    }

    /// The payload, if `verifies` says that the signature is one of what it is given.
    pub(super) fn payload(&self, verifies: impl FnOnce(&[u8], &[u8]) -> bool) -> Option<&[u8]> {
        let is_signed = verifies(&pae::pae(PAYLOAD_TYPE, &self.payload), &self.sig);
        is_signed.then_some(self.payload.as_slice())
    }
}
