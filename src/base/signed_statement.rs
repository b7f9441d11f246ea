//! Signed statements on the wire: DSSE envelopes (DSSE 1.0, "protocol.md" and "envelope.md") and
//! the in-toto statements (v1) in them.
//!
//! Who signed an envelope, and what a predicate means, is said by the modules that have one.

use base64::Engine;
use base64::alphabet::{STANDARD as STANDARD_ALPHABET, URL_SAFE};
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::json_reader::typed;
use super::{canon, text::brief_line};

/// The payload type of an in-toto statement.
pub(crate) const STATEMENT: &str = "application/vnd.in-toto+json";

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The pre-authentication encoding, which is what an envelope's signature is made over:
/// `DSSEv1 <length> <type> <length> <payload>`.
pub(crate) fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// A signature as JSON. The key id is a hint.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireSignature {
    pub(crate) keyid: Option<String>,
    sig: String,
}

/// Decodes either alphabet that DSSE allows, with padding or without.
fn decoded(text: &str, what: &str) -> Result<Vec<u8>, String> {
    const ANY: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let mut alphabets = [&STANDARD_ALPHABET, &URL_SAFE].into_iter();
    let bytes = alphabets.find_map(|it| GeneralPurpose::new(it, ANY).decode(text).ok());
    bytes.ok_or_else(|| format!("its {what} is not base64"))
}

/// An envelope as JSON, with its keys in canonical order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct WireEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<WireSignature>,
}

impl WireEnvelope {
    /// With the signatures of one or several over one payload.
    pub(crate) fn new(payload_type: &str, payload: &[u8], signatures: Vec<WireSignature>) -> Self {
        let (payload, payload_type) = (STANDARD.encode(payload), payload_type.to_owned());
        Self { payload, payload_type, signatures }
    }

    /// The payload of this type and its signatures, which are not verified: one to four.
    ///
    /// # Errors
    /// A sentence: it has another type, a payload that is not base64, or another number of them.
    pub(crate) fn open_all(
        self,
        payload_type: &str,
    ) -> Result<(Vec<u8>, Vec<WireSignature>), String> {
        if self.payload_type != payload_type {
            let other = brief_line(&self.payload_type);
            return Err(format!("its payload is `{other}`, not `{payload_type}`"));
        }
        if !(1..=4).contains(&self.signatures.len()) {
            return Err(format!("it has {} signatures", self.signatures.len()));
        }
        Ok((decoded(&self.payload, "payload")?, self.signatures))
    }

    /// The payload of this type and its one signature, which is not verified.
    ///
    /// # Errors
    /// A sentence: it has another type, a payload that is not base64, or more signatures.
    pub(crate) fn open(self, payload_type: &str) -> Result<(Vec<u8>, WireSignature), String> {
        let (payload, signatures) = self.open_all(payload_type)?;
        match <[WireSignature; 1]>::try_from(signatures) {
            Ok([signature]) => Ok((payload, signature)),
            Err(all) => Err(format!("it has {} signatures, not one", all.len())),
        }
    }
}

impl WireSignature {
    pub(crate) fn new(keyid: String, sig: &[u8]) -> Self {
        Self { keyid: Some(keyid), sig: STANDARD.encode(sig) }
    }

    /// # Errors
    /// A sentence: it is not base64.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        decoded(&self.sig, "signature")
    }
}

/// An in-toto statement about `S` with the predicate `P`, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement<S, P> {
    #[serde(rename = "_type")]
    kind: String,
    pub(crate) subject: Vec<S>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    pub(crate) predicate: P,
}

/// A digest as rye's own statements write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sha256 {
    pub(crate) sha256: Digest,
}

impl<S: Serialize + DeserializeOwned, P: Serialize + DeserializeOwned> Statement<S, P> {
    pub(crate) fn new(predicate_type: &str, subject: Vec<S>, predicate: P) -> Self {
        let (kind, predicate_type) = (STATEMENT_TYPE.into(), predicate_type.into());
        Self { kind, subject, predicate_type, predicate }
    }

    /// The statement as canonical JSON.
    ///
    /// # Errors
    /// A sentence about a number that is not exact.
    pub(crate) fn to_payload(&self) -> Result<Vec<u8>, String> {
        let document = serde_json::to_value(self).map_err(|error| error.to_string())?;
        canon::write(&document).map_err(|error| error.to_string())
    }

    /// Reads a statement from its one text.
    ///
    /// # Errors
    /// A sentence: it is not canonical, or not of this form and type.
    pub(crate) fn read(predicate_type: &str, payload: &[u8]) -> Result<Self, String> {
        let document = canon::read(payload).map_err(|error| error.to_string())?;
        let statement: Self = typed(document).map_err(|error| error.to_string())?;
        statement.check_type(predicate_type)?;
        // A field that is missing and one that is null are told apart here.
        match statement.to_payload()? == payload {
            true => Ok(statement),
            false => Err("a field is missing or written in another way".into()),
        }
    }

    /// # Errors
    /// A sentence: it is another statement.
    pub(crate) fn check_type(&self, predicate_type: &str) -> Result<(), String> {
        let said = [(&self.kind, STATEMENT_TYPE), (&self.predicate_type, predicate_type)];
        let other = said.into_iter().find(|(said, wanted)| said != wanted);
        let why = |(said, wanted): (&String, _)| format!("`{}`, not `{wanted}`", brief_line(said));
        other.map_or(Ok(()), |other| Err(format!("it is {}", why(other))))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The example of the DSSE specification.
        let want = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(super::pae("http://example.com/HelloWorld", b"hello world"), want);
    }
}
