//! DSSE envelopes: a payload, what it is, and one signature over both.
//!
//! The signed bytes are the pre-authentication encoding (PAE), which begins with `DSSEv1`. The
//! statement of a signature line begins with `rye:signed:`, so a signature of the one is never
//! valid for the other.

use serde_json::{Value, json};

use super::key::{KeyPair, PublicKey};
use crate::base::canon;
use crate::base::json_reader::{self, typed};
use crate::base::limits::{KEPT_DEPTH, MESSAGE_NODES};
use crate::base::signed_statement::{STATEMENT, WireEnvelope, WireSignature, pae};
use crate::id::Fingerprint;

/// The type of a payload. It is signed too, so a payload of one type never counts as one of
/// another; envelopes of any other type are neither made nor read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadType {
    /// An in-toto statement.
    Statement,
    /// How far the record of a thread came (threads 7).
    Checkpoint,
    /// The facts of a thread when it starts (threads 7).
    Thread,
}

impl PayloadType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Statement => STATEMENT,
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

/// An in-toto statement in an envelope that any library wrote.
#[derive(Debug)]
pub(crate) struct AnyEnvelope {
    payload: Vec<u8>,
    /// Each signature, with the key that it names if that is a fingerprint.
    signatures: Vec<(Option<Fingerprint>, [u8; 64])>,
}

impl AnyEnvelope {
    /// Reads an envelope however it is laid out; says nothing about who signed it. Fields that are
    /// not known are passed over.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let (payload, signatures) = wire(text)?.open_all(STATEMENT)?;
        let named = |sig: &WireSignature| sig.keyid.as_deref().and_then(|id| id.parse().ok());
        let sized = |sig: &WireSignature| Ok::<_, String>((named(sig), sized(sig)?));
        Ok(Self { payload, signatures: signatures.iter().map(sized).collect::<Result<_, _>>()? })
    }

    /// The keys that may have signed it: those that it names, or each of `known`.
    pub(crate) fn keys(&self, known: &[Fingerprint]) -> Vec<Fingerprint> {
        let named: Vec<_> = self.signatures.iter().filter_map(|(named, _)| *named).collect();
        if named.is_empty() { known.to_vec() } else { named }
    }

    /// The payload, if `key` signed it.
    pub(crate) fn payload(&self, key: &PublicKey) -> Option<&[u8]> {
        let signed = self.signatures.iter().any(|(named, sig)| {
            let named = named.is_none_or(|named| named == key.fingerprint());
            named && key.verifies(&pae(STATEMENT, &self.payload), sig)
        });
        signed.then_some(self.payload.as_slice())
    }

    /// How many signed it.
    pub(crate) fn count(&self) -> usize {
        self.signatures.len()
    }

    /// The text of the envelope with one signature more; ends with a line feed.
    pub(crate) fn countersigned(&self, pair: &KeyPair) -> String {
        let wire = |(key, sig): &(Option<Fingerprint>, [u8; 64])| {
            WireSignature::new(key.map(|key| key.to_string()).unwrap_or_default(), sig)
        };
        let mut signatures: Vec<_> = self.signatures.iter().map(wire).collect();
        let sig = pair.sign_dsse(STATEMENT, &self.payload);
        signatures.push(WireSignature::new(pair.public().fingerprint().to_string(), &sig));
        let wire = WireEnvelope::new(STATEMENT, &self.payload, signatures);
        serde_json::to_string(&wire).expect("texts are JSON") + "\n"
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
        let (payload, sig) = opened(text, kind.as_str())?;
        let (key, sig) = signed_by(&sig)?;
        let read = Self { kind, payload, key, sig };
        match read.to_text().trim_end().as_bytes() == text.strip_suffix(b"\n").unwrap_or(text) {
            true => Ok(read),
            false => Err("it is not written canonically".into()),
        }
    }

    /// The text of the envelope; ends with a line feed.
    pub(crate) fn to_text(&self) -> String {
        let wire = WireEnvelope::new(self.kind.as_str(), &self.payload, vec![self.signature()]);
        serde_json::to_string(&wire).expect("texts are JSON") + "\n"
    }

    fn signature(&self) -> WireSignature {
        WireSignature::new(self.key.to_string(), &self.sig)
    }

    /// The payload, which is a JSON object, as canonical text with the signature in it as
    /// `_signature`; ends with a line feed.
    ///
    /// # Errors
    /// The payload is not such an object.
    pub(crate) fn to_document(&self) -> Result<String, String> {
        let document = canon::read(&self.payload).map_err(|error| error.to_string())?;
        let Value::Object(mut document) = document else { return Err(NOT_AN_OBJECT.into()) };
        document.insert(SIGNATURE.into(), json!(self.signature()));
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
        let signature: WireSignature = typed(signature)
            .map_err(|error| format!("its `{SIGNATURE}` has another form: {error}"))?;
        let (key, sig) = signed_by(&signature)?;
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

/// The payload and the signature of an envelope with one.
fn opened(text: &[u8], payload_type: &str) -> Result<(Vec<u8>, WireSignature), String> {
    wire(text)?.open(payload_type)
}

/// An envelope. Fields that are not known are passed over.
fn wire(text: &[u8]) -> Result<WireEnvelope, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let read = json_reader::read(text, MESSAGE_NODES, KEPT_DEPTH);
    let mut wire = read.map_err(|(fault, _)| fault.to_string())?;
    keep(&mut wire, &["payload", "payloadType", "signatures"]);
    let signatures = wire.get_mut("signatures").and_then(Value::as_array_mut);
    signatures.into_iter().flatten().for_each(|sig| keep(sig, &["keyid", "sig"]));
    typed(wire).map_err(|error| format!("it is not a DSSE envelope: {error}"))
}

/// Takes all members but these out of an object.
fn keep(value: &mut Value, names: &[&str]) {
    if let Value::Object(members) = value {
        members.retain(|name, _| names.contains(&name.as_str()));
    }
}

/// The key that a signature must name, and its bytes; of the one spelling that rye writes.
fn signed_by(signature: &WireSignature) -> Result<(Fingerprint, [u8; 64]), String> {
    let keyid = signature.keyid.as_deref().unwrap_or_default();
    let key: Fingerprint =
        keyid.parse().map_err(|_| format!("its key id `{keyid}` is not a valid fingerprint"))?;
    let sig = sized(signature)?;
    match WireSignature::new(key.to_string(), &sig) == *signature {
        true => Ok((key, sig)),
        false => Err("its signature has another spelling".into()),
    }
}

fn sized(signature: &WireSignature) -> Result<[u8; 64], String> {
    signature.bytes()?.try_into().map_err(|_| "its signature does not have 64 bytes".into())
}

#[cfg(test)]
mod tests {
    use super::{AnyEnvelope, Envelope, PayloadType};
    use crate::base::signed_statement::pae;
    use crate::signature::KeyPair;

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
