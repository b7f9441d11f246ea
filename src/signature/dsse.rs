//! DSSE envelopes: a payload, what it is, and one signature over both.
//!
//! What is signed is the pre-authentication encoding (PAE), which begins with `DSSEv1`. The
//! statement of a signature line begins with `rye:signed:`, so a signature of the one is never
//! valid for the other.

use base64::Engine;
use base64::alphabet::{STANDARD as STANDARD_ALPHABET, URL_SAFE as URL_SAFE_ALPHABET};
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::key::{KeyPair, PublicKey};
use crate::base::canon;
use crate::base::json_reader::{may_hold_more, typed};
use crate::base::limits::MESSAGE_NODES;
use crate::base::pae::pae;
use crate::id::Fingerprint;

/// The payload type of an in-toto statement.
const PAYLOAD_TYPE: &str = PayloadType::Statement.as_str();

/// What an envelope holds. It is signed too, so what was signed as the one is never the other;
/// envelopes of any other type are neither made nor read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadType {
    /// An in-toto statement.
    Statement,
    /// How far the record of a thread came (threads 7).
    Checkpoint,
    /// What is known of a thread when it starts (threads 7).
    Thread,
}

impl PayloadType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Statement => "application/vnd.in-toto+json",
            Self::Checkpoint => "application/vnd.rye.checkpoint+json",
            Self::Thread => "application/vnd.rye.thread+json",
        }
    }
}

/// A payload with one signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    kind: PayloadType,
    payload: Vec<u8>,
    key: Fingerprint,
    sig: [u8; 64],
}

/// The envelope as JSON; DSSE, "protocol.md".
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    payload: String,
    payload_type: String,
    signatures: [WireSignature; 1],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignature {
    keyid: String,
    sig: String,
}

/// The same as any library may write it: with more fields, either base64, and key ids that are
/// hints or missing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyWire {
    payload: String,
    payload_type: String,
    signatures: [AnyWireSignature; 1],
}

#[derive(Deserialize)]
struct AnyWireSignature {
    #[serde(default)]
    keyid: Option<String>,
    sig: String,
}

/// An in-toto statement with one signature in an envelope that any library wrote.
#[derive(Debug)]
pub(crate) struct AnyEnvelope {
    payload: Vec<u8>,
    /// The key that it names, if that is a fingerprint.
    named: Option<Fingerprint>,
    sig: [u8; 64],
}

/// The alphabets of DSSE, with padding or without.
const EITHER: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&STANDARD_ALPHABET, ANY_PADDING),
    GeneralPurpose::new(&URL_SAFE_ALPHABET, ANY_PADDING),
];
const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

fn decoded_either(text: &str) -> Option<Vec<u8>> {
    EITHER.iter().find_map(|alphabet| alphabet.decode(text).ok())
}

impl AnyEnvelope {
    /// Reads an envelope however it is laid out; says nothing about who signed it. Fields that are
    /// not known are passed over.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        if may_hold_more(text, MESSAGE_NODES) {
            return Err(format!("it may hold more than {MESSAGE_NODES} values"));
        }
        let wire: AnyWire = serde_json::from_slice(text)
            .map_err(|error| format!("it is not a DSSE envelope with one signature: {error}"))?;
        if wire.payload_type != PAYLOAD_TYPE {
            return Err(format!("its payload is `{}`, not `{PAYLOAD_TYPE}`", wire.payload_type));
        }
        let payload = decoded_either(&wire.payload).ok_or("its payload is not base64")?;
        let [AnyWireSignature { keyid, sig }] = wire.signatures;
        let sig = decoded_either(&sig).and_then(|sig| sig.try_into().ok());
        let sig = sig.ok_or("its signature is not base64 of 64 bytes")?;
        Ok(Self { payload, named: keyid.and_then(|keyid| keyid.parse().ok()), sig })
    }

    /// The keys that may have signed it: the one that it names, or each of `known`.
    pub(crate) fn keys<'k>(&'k self, known: &'k [Fingerprint]) -> &'k [Fingerprint] {
        self.named.as_ref().map_or(known, std::slice::from_ref)
    }

    /// The payload, if `key` signed it.
    pub(crate) fn payload(&self, key: &PublicKey) -> Option<&[u8]> {
        let named = self.named.is_none_or(|named| named == key.fingerprint());
        let signed = named && key.verifies(&pae(PAYLOAD_TYPE, &self.payload), &self.sig);
        signed.then_some(self.payload.as_slice())
    }
}

impl Envelope {
    /// Signs an in-toto statement.
    pub(crate) fn seal(pair: &KeyPair, payload: Vec<u8>) -> Self {
        Self::seal_as(PayloadType::Statement, pair, payload)
    }

    /// Signs a payload as what it is.
    pub(crate) fn seal_as(kind: PayloadType, pair: &KeyPair, payload: Vec<u8>) -> Self {
        let sig = pair.sign_dsse(kind.as_str(), &payload);
        Self { kind, payload, key: pair.public().fingerprint(), sig }
    }

    /// Reads an envelope of an in-toto statement, as [`Envelope::read_as`] does.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        Self::read_as(PayloadType::Statement, text)
    }

    /// Reads an envelope from its canonical text; says nothing about who signed it.
    ///
    /// # Errors
    /// A sentence, for every text but the canonical one: for other white space, keys or orders,
    /// other payload types, another number of signatures, or another spelling of base64.
    pub(crate) fn read_as(kind: PayloadType, text: &[u8]) -> Result<Self, String> {
        let document = canon::read(text).map_err(|e| e.to_string())?;
        let wire: Wire = typed(document)
            .map_err(|e| format!("it is not a DSSE envelope with one signature: {e}"))?;
        if wire.payload_type != kind.as_str() {
            return Err(format!("its payload is `{}`, not `{}`", wire.payload_type, kind.as_str()));
        }
        let [WireSignature { keyid, sig }] = wire.signatures;
        let payload = STANDARD.decode(&wire.payload).map_err(|_| "its payload is not base64")?;
        let (key, sig) = signed_by(&keyid, &sig)?;
        Ok(Self { kind, payload, key, sig })
    }

    /// The text of the envelope; ends with a line feed.
    pub(crate) fn to_text(&self) -> String {
        let signature =
            WireSignature { keyid: self.key.to_string(), sig: STANDARD.encode(self.sig) };
        let wire = Wire {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.kind.as_str().into(),
            signatures: [signature],
        };
        // The keys stand in canonical order.
        serde_json::to_string(&wire).expect("three texts are JSON") + "\n"
    }

    /// The payload, which is a JSON object, as canonical text with the signature in it as
    /// `_signature`; ends with a line feed.
    ///
    /// # Errors
    /// The payload is not such an object.
    pub(crate) fn to_document(&self) -> Result<String, String> {
        let document = canon::read(&self.payload).map_err(|error| error.to_string())?;
        let Value::Object(mut document) = document else { return Err(NOT_AN_OBJECT.into()) };
        let sig = STANDARD.encode(self.sig);
        let signature = json!({"keyid": self.key.to_string(), "sig": sig});
        document.insert(SIGNATURE.into(), signature);
        let text = canon::write(&document.into()).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&text).into_owned() + "\n")
    }

    /// Reads such a text; says nothing about who signed it.
    ///
    /// # Errors
    /// A sentence, for every text but the canonical one.
    pub(crate) fn read_document(kind: PayloadType, text: &[u8]) -> Result<Self, String> {
        let text = text.strip_suffix(b"\n").ok_or("its last line has no end")?;
        let Value::Object(mut document) = canon::read(text).map_err(|e| e.to_string())? else {
            return Err(NOT_AN_OBJECT.into());
        };
        let signature = document.remove(SIGNATURE).unwrap_or_default();
        let WireSignature { keyid, sig } = typed(signature)
            .map_err(|error| format!("its `{SIGNATURE}` has another form: {error}"))?;
        let (key, sig) = signed_by(&keyid, &sig)?;
        let payload = canon::write(&document.into()).map_err(|error| error.to_string())?;
        Ok(Self { kind, payload, key, sig })
    }

    /// The key that the envelope names.
    pub(crate) fn key(&self) -> Fingerprint {
        self.key
    }

    /// The payload, if `key` signed it.
    pub(crate) fn payload(&self, key: &PublicKey) -> Option<&[u8]> {
        let named = key.fingerprint() == self.key;
        let signed = named && key.verifies(&pae(self.kind.as_str(), &self.payload), &self.sig);
        signed.then_some(self.payload.as_slice())
    }
}

const SIGNATURE: &str = "_signature";

const NOT_AN_OBJECT: &str = "it is not a JSON object";

/// A key and its signature, as they stand in a text.
fn signed_by(keyid: &str, sig: &str) -> Result<(Fingerprint, [u8; 64]), String> {
    let sig = STANDARD.decode(sig).ok().and_then(|sig| sig.try_into().ok());
    let sig = sig.ok_or("its signature is not base64 of 64 bytes")?;
    let key = keyid.parse();
    let key = key.map_err(|_| format!("its key id `{keyid}` is not a valid fingerprint"))?;
    Ok((key, sig))
}

#[cfg(test)]
mod tests {
    use super::{AnyEnvelope, Envelope, PayloadType};
    use crate::base::pae::pae;
    use crate::signature::KeyPair;

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The example of the DSSE specification.
        let want = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(pae("http://example.com/HelloWorld", b"hello world"), want);
    }

    #[test]
    fn an_envelope_is_its_text_and_a_flipped_bit_anywhere_is_refused() {
        let pair = KeyPair::generate().unwrap();
        let sealed = Envelope::seal(&pair, b"{\"a\":1}".to_vec());
        let text = sealed.to_text();
        assert_eq!(Envelope::read(text.as_bytes()), Ok(sealed.clone()));
        assert_eq!(sealed.payload(&pair.public()), Some(b"{\"a\":1}".as_slice()));
        let other = KeyPair::generate().unwrap();
        assert_eq!(sealed.payload(&other.public()), None);
        let good = text.as_bytes();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.to_vec();
                bytes[at] ^= 1 << bit;
                let opened = Envelope::read(&bytes).ok();
                let opened = opened.as_ref().and_then(|it| it.payload(&pair.public()));
                assert_eq!(opened, None, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn nothing_but_one_envelope_with_one_signature_is_read() {
        let pair = KeyPair::generate().unwrap();
        let text = Envelope::seal(&pair, b"{}".to_vec()).to_text();
        let signature = text.split(['[', ']']).nth(1).unwrap().to_owned();
        let rows = [
            ("two signatures", text.replace(&signature, &format!("{signature},{signature}"))),
            ("no signature", text.replace(&signature, "")),
            ("another type", text.replace("vnd.in-toto+json", "json")),
            ("a field more", text.replace("\"payloadType\"", "\"payloadTypE\":1,\"payloadType\"")),
            ("a field twice", text.replace("\"payload\"", "\"payload\":\"e30=\",\"payload\"")),
            ("nested", format!("{{\"payload\":{text}}}")),
            ("a list", format!("[{}]", text.trim())),
            ("spaces", text.replace(':', ": ")),
            ("no padding", text.replace("e30=", "e30")),
            ("other last bits", text.replace("e30=", "e31=")),
            (
                "upper-case key",
                text.replace(&pair.public().fingerprint().to_string(), &"A".repeat(32)),
            ),
        ];
        for (what, other) in rows {
            assert_ne!(other, text, "{what}");
            assert!(Envelope::read(other.as_bytes()).is_err(), "{what}");
        }
    }

    #[test]
    fn an_envelope_of_any_library_is_read_and_a_flipped_bit_says_nothing_else() {
        let pair = KeyPair::generate().unwrap();
        let own = pair.public().fingerprint();
        let payload = b"{\"a\":\"\xc3\xbf\xc3\xbe?~\"}".to_vec();
        let text = Envelope::seal(&pair, payload.clone()).to_text();
        let url_safe =
            text.replace('+', "-").replace('/', "_").replace("application_", "application/");
        let id = format!("\"keyid\":\"{own}\",");
        for other in [
            text.clone(),
            url_safe.replace("vnd.in-toto-json", "vnd.in-toto+json"),
            text.replace(':', ": ").replace(',', ",\n  "),
            text.replace('=', ""),
            text.replace(&id, ""),
            text.replace(&id, "\"keyid\":\"SHA256:abc\",\"cert\":{\"x\":[1]},"),
            text.replace("\"signatures\":[", "\"x\":[1],\"signatures\":["),
        ] {
            let read =
                AnyEnvelope::read(other.as_bytes()).unwrap_or_else(|why| panic!("{why}: {other}"));
            assert!(read.keys(&[own]).contains(&own), "{other}");
            assert_eq!(read.payload(&pair.public()), Some(payload.as_slice()), "{other}");
            let stranger = KeyPair::generate().unwrap().public();
            assert_eq!(read.payload(&stranger), None, "{other}");
        }
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(read) = AnyEnvelope::read(&bytes) else { continue };
                let said = read.payload(&pair.public());
                assert!(said.is_none_or(|said| said == payload), "byte {at}, bit {bit}");
            }
        }
        let type_too = text.replace("vnd.in-toto+json", "json");
        assert!(AnyEnvelope::read(type_too.as_bytes()).is_err());
        let twice = text.replace("\"payload\"", "\"payload\":\"e30=\",\"payload\"");
        assert!(AnyEnvelope::read(twice.as_bytes()).is_err());
    }

    #[test]
    fn what_was_signed_as_a_statement_is_never_a_checkpoint() {
        let pair = KeyPair::generate().unwrap();
        let (statement, checkpoint) = (PayloadType::Statement, PayloadType::Checkpoint);
        for (kind, other) in [(statement, checkpoint), (checkpoint, statement)] {
            let text = Envelope::seal_as(kind, &pair, b"{}".to_vec()).to_text();
            let read = Envelope::read_as(kind, text.as_bytes()).unwrap();
            assert_eq!(read.payload(&pair.public()), Some(b"{}".as_slice()));
            assert!(Envelope::read_as(other, text.as_bytes()).is_err());
            let renamed = text.replace(kind.as_str(), other.as_str());
            let read = Envelope::read_as(other, renamed.as_bytes()).unwrap();
            assert_eq!(read.payload(&pair.public()), None, "the type is signed too");
        }
    }

    #[test]
    fn a_signature_of_an_envelope_is_none_of_an_item() {
        let pair = KeyPair::generate().unwrap();
        let statement = b"rye:signed:v2 item=tool:a ext=py".to_vec();
        let sealed = Envelope::seal(&pair, statement.clone());
        assert!(!pair.public().verifies(&statement, &sealed.sig));
        assert!(!pae("x", &statement).starts_with(b"rye:"));
    }
}
