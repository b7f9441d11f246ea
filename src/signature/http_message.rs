//! Signatures of HTTP messages (RFC 9421) that cover the digest of the body (RFC 9530): a request
//! to a node, and the node's answer (remote 3).
//!
//! The RFC leaves open what is signed; here all of it is fixed: the components and their order, the
//! parameters, the algorithm, one signature a message, and of each field the one spelling in which
//! RFC 9651 has it written. No two readers can understand such a message differently. A library for
//! structured fields reads more: it must take a parameter that is repeated, and base64 without its
//! padding.
//!
//! An answer covers the signature of its request instead of the request's components. RFC 9421
//! (2.4) advises against that where the signature is not known to be good; the caller made this one
//! itself, and by the strict rules a signature is good for one key and one text.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::key::{KeyPair, PublicKey};
use crate::base::Digest;
use crate::id::Fingerprint;

/// Most seconds from `created` to `expires`: a node remembers the nonce for as long.
const WINDOW: i64 = 300;
/// Most seconds that a request may come from the future: clocks differ.
const AHEAD: i64 = 30;
/// Length of a nonce: 96 random bits, and what a node can remember of every request.
const NONCE: RangeInclusive<usize> = 16..=64;
/// Most digits of a number in RFC 9651.
const DIGITS: usize = 15;

const DIGEST: &str = "content-digest";
const NODE: &str = "rye-node";
const INPUT: &str = "signature-input";
const SIGNATURE: &str = "signature";

/// The components of a request.
const REQUEST: [&str; 4] = ["\"@method\"", "\"@target-uri\"", "\"content-digest\"", "\"rye-node\""];
const LABEL: &str = "rye";
const MISSING: &str = "it is missing";
const SHA_256: &str = "sha-256";
const ALGORITHM: &str = "\"ed25519\"";
const REQUEST_TAG: &str = "\"rye-request-v1\"";
const ANSWER_TAG: &str = "\"rye-answer-v1\"";

/// The headers of a message in the order in which they came, with their names in any case.
pub(crate) type Headers<'a> = &'a [(&'a str, &'a [u8])];

/// A request without its body.
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a str,
    /// The URI that the server was reached by, byte for byte as it was sent.
    pub(crate) target_uri: &'a str,
    pub(crate) headers: Headers<'a>,
}

/// A request whose head is signed. Its nonce may have been seen before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SignedRequest {
    pub(crate) key: Fingerprint,
    pub(crate) nonce: String,
    pub(crate) created: i64,
    pub(crate) expires: i64,
    pub(crate) body: SignedBody,
    /// For the answer.
    pub(crate) signature: HttpSignature,
}

/// The digest that the body of a signed message must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignedBody(Digest);

impl SignedBody {
    /// # Errors
    /// [`MessageFault::BodyDiffers`] if the body that was read has another digest.
    pub(crate) fn check(&self, read: Digest) -> Result<(), MessageFault> {
        if self.0 == read { Ok(()) } else { Err(MessageFault::BodyDiffers) }
    }
}

/// A fault of a signed message. Times are seconds since 1970.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageFault {
    #[error("it has no signature")]
    Unsigned,
    /// A field or component does not have the form that this profile fixes.
    #[error("`{field}`: {why}")]
    Malformed { field: &'static str, why: &'static str },
    #[error("it is for the node `{named}`")]
    WrongNode { named: Fingerprint },
    #[error("it is not valid now")]
    Clock { created: i64, expires: i64, now: i64 },
    /// The key that it names is not known; of an answer, it is not the node's.
    #[error("the key `{key}` is not known")]
    UnknownKey { key: Fingerprint },
    #[error("the key that it names did not make it")]
    Forged,
    #[error("the body is not the one that was signed")]
    BodyDiffers,
}

/// The one signature of a message, good or bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpSignature {
    label: String,
    bytes: [u8; 64],
}

impl HttpSignature {
    /// Reads the signature of a message without verifying it, so that the answer to a refused
    /// request can be signed too.
    pub(crate) fn of(headers: Headers<'_>) -> Result<Self, MessageFault> {
        let text = value(headers, SIGNATURE)?.ok_or(MessageFault::Unsigned)?;
        let (label, bytes) = byte_member(text)
            .ok_or(malformed(SIGNATURE, "it is not one signature of 64 bytes in base64"))?;
        Ok(Self { label: label.to_owned(), bytes })
    }

    fn value(&self) -> String {
        format!(":{}:", STANDARD.encode(self.bytes))
    }
}

impl fmt::Display for HttpSignature {
    /// Writes the header `Signature`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.label, self.value())
    }
}

/// Signs a request from `window.start` to `window.end`, at most 300 seconds; gives the headers to
/// send, and the signature that the answer must cover.
pub(crate) fn sign_request(
    pair: &KeyPair,
    method: &str,
    target_uri: &str,
    body: Digest,
    node: Fingerprint,
    window: Range<i64>,
    nonce: &[u8; 16],
) -> (Vec<(&'static str, String)>, HttpSignature) {
    let (digest, node) = (content_digest(body), node.to_string());
    let parameters = format!(
        ";created={};keyid=\"{}\";alg={ALGORITHM};expires={};nonce=\"{}\";tag={REQUEST_TAG}",
        window.start,
        pair.public().fingerprint(),
        window.end,
        URL_SAFE_NO_PAD.encode(nonce),
    );
    let values = [method, target_uri, &digest, &node];
    let (mut headers, signature) = sign(pair, REQUEST, values, &parameters);
    headers.extend([(DIGEST, digest), (NODE, node)]);
    (headers, signature)
}

/// Verifies the head of a request at the node `here`: its form, its audience, its time, its key and
/// its signature, in this order. The body and the nonce are left to the caller.
///
/// # Errors
/// Every [`MessageFault`] but [`MessageFault::BodyDiffers`].
pub(crate) fn verify_request(
    request: &RequestHead<'_>,
    here: Fingerprint,
    now: i64,
    key: impl FnOnce(&Fingerprint) -> Option<PublicKey>,
) -> Result<SignedRequest, MessageFault> {
    let fields = Fields::read(request.headers)?;
    let node = value(request.headers, NODE)?.ok_or(malformed(NODE, MISSING))?;
    let named = node.parse().map_err(|_| malformed(NODE, "it is not a fingerprint"))?;
    for (component, text) in [("@method", request.method), ("@target-uri", request.target_uri)] {
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(malformed(component, "it has other characters than printable ASCII"));
        }
    }
    let names = ["created", "expires", "nonce", "keyid", "alg", "tag"];
    let [created, expires, nonce, keyid, alg, tag] = fields.parameters(REQUEST, names)?;
    let (created, expires) = (seconds(created)?, seconds(expires)?);
    if !(0..=WINDOW).contains(&(expires - created)) {
        return Err(malformed(INPUT, "`expires` is not 0 to 300 seconds behind `created`"));
    }
    let is_base64url = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let nonce = quoted(nonce)
        .filter(|nonce| NONCE.contains(&nonce.len()) && nonce.bytes().all(is_base64url))
        .ok_or(malformed(INPUT, "`nonce` is not 16 to 64 characters of base64url"))?;
    let signer = signer(keyid, alg, tag, REQUEST_TAG)?;
    if named != here {
        return Err(MessageFault::WrongNode { named });
    }
    if created - AHEAD > now || now > expires {
        return Err(MessageFault::Clock { created, expires, now });
    }
    let key = key(&signer).ok_or(MessageFault::UnknownKey { key: signer })?;
    let (nonce, body) = (nonce.to_owned(), fields.body);
    let values = [request.method, request.target_uri, fields.digest, node];
    let signature = fields.verified(REQUEST, values, &key)?;
    Ok(SignedRequest { key: signer, nonce, created, expires, body, signature })
}

/// Signs the answer to a request with this signature; gives the headers to send.
pub(crate) fn sign_answer(
    pair: &KeyPair,
    status: u16,
    body: Digest,
    request: &HttpSignature,
    created: i64,
) -> Vec<(&'static str, String)> {
    let digest = content_digest(body);
    let keyid = pair.public().fingerprint();
    let parameters =
        format!(";created={created};keyid=\"{keyid}\";alg={ALGORITHM};tag={ANSWER_TAG}");
    let [status, signature, value] = covered(status, request);
    let components = ["\"@status\"", "\"content-digest\"", &signature];
    let (mut headers, _) = sign(pair, components, [&status, &digest, &value], &parameters);
    headers.push((DIGEST, digest));
    headers
}

/// Verifies the head of the node's answer to the request with this signature.
///
/// # Errors
/// [`MessageFault::Unsigned`], `Malformed`, `UnknownKey` or `Forged`.
pub(crate) fn verify_answer(
    status: u16,
    headers: Headers<'_>,
    request: &HttpSignature,
    node: &PublicKey,
) -> Result<SignedBody, MessageFault> {
    let fields = Fields::read(headers)?;
    let [status, signature, value] = covered(status, request);
    let components = ["\"@status\"", "\"content-digest\"", &signature];
    let names = ["created", "keyid", "alg", "tag"];
    let [created, keyid, alg, tag] = fields.parameters(components, names)?;
    seconds(created)?;
    let signer = signer(keyid, alg, tag, ANSWER_TAG)?;
    if signer != node.fingerprint() {
        return Err(MessageFault::UnknownKey { key: signer });
    }
    let (body, digest) = (fields.body, fields.digest);
    fields.verified(components, [&status, digest, &value], node)?;
    Ok(body)
}

/// The status of an answer, and the request's signature as a component of it with its value.
fn covered(status: u16, request: &HttpSignature) -> [String; 3] {
    let component = format!("\"signature\";req;key=\"{}\"", request.label);
    [status.to_string(), component, request.value()]
}

/// The list of components that `Signature-Input` begins with.
fn list<const N: usize>(components: [&str; N]) -> String {
    format!("({})", components.join(" "))
}

/// The text that is signed (RFC 9421, 2.5). `input` is the list and the parameters behind it, as
/// they are sent.
fn base<const N: usize>(components: [&str; N], values: [&str; N], input: &str) -> String {
    let mut base = String::new();
    for (component, value) in components.iter().zip(values) {
        base += &format!("{component}: {value}\n");
    }
    base + "\"@signature-params\": " + input
}

fn sign<const N: usize>(
    pair: &KeyPair,
    components: [&str; N],
    values: [&str; N],
    parameters: &str,
) -> (Vec<(&'static str, String)>, HttpSignature) {
    let input = list(components) + parameters;
    let bytes = pair.sign(base(components, values, &input).as_bytes());
    let signature = HttpSignature { label: LABEL.to_owned(), bytes };
    let headers = vec![(INPUT, format!("{LABEL}={input}")), (SIGNATURE, signature.to_string())];
    (headers, signature)
}

fn malformed(field: &'static str, why: &'static str) -> MessageFault {
    MessageFault::Malformed { field, why }
}

/// The fields that a request and an answer have, each once and in its one spelling.
struct Fields<'a> {
    signature: HttpSignature,
    /// `Signature-Input` behind its label.
    input: &'a str,
    digest: &'a str,
    body: SignedBody,
}

impl<'a> Fields<'a> {
    fn read(headers: Headers<'a>) -> Result<Self, MessageFault> {
        let signature = HttpSignature::of(headers)?;
        let input = value(headers, INPUT)?.ok_or(MessageFault::Unsigned)?;
        let (label, input) = input.split_once('=').unwrap_or_default();
        if label != signature.label {
            return Err(malformed(INPUT, "its label is not the one of `Signature`"));
        }
        let digest = value(headers, DIGEST)?.ok_or(malformed(DIGEST, MISSING))?;
        let Some((SHA_256, bytes)) = byte_member(digest) else {
            return Err(malformed(DIGEST, "it is not one SHA-256 digest"));
        };
        Ok(Self { signature, input, digest, body: SignedBody(Digest::from_bytes(bytes)) })
    }

    /// The values of exactly these parameters, each once, in any order.
    fn parameters<const C: usize, const N: usize>(
        &self,
        components: [&str; C],
        names: [&str; N],
    ) -> Result<[&'a str; N], MessageFault> {
        let parameters = self.input.strip_prefix(&(list(components) + ";"));
        let parameters = parameters
            .ok_or(malformed(INPUT, "its components are others, or stand in another order"))?;
        let mut values = [""; N];
        // No value that is accepted holds a semicolon or is empty.
        for parameter in parameters.split(';') {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            match names.iter().position(|known| *known == name) {
                Some(at) if values[at].is_empty() => values[at] = value,
                _ => return Err(malformed(INPUT, "a parameter is unknown or stands there twice")),
            }
        }
        match values.contains(&"") {
            true => Err(malformed(INPUT, "a parameter is missing")),
            false => Ok(values),
        }
    }

    /// The signature, if it is of this message by this key.
    fn verified<const N: usize>(
        self,
        components: [&str; N],
        values: [&str; N],
        key: &PublicKey,
    ) -> Result<HttpSignature, MessageFault> {
        let base = base(components, values, self.input);
        match key.verifies_once(base.as_bytes(), &self.signature.bytes) {
            true => Ok(self.signature),
            false => Err(MessageFault::Forged),
        }
    }
}

/// The value of a header that may stand there once.
fn value<'a>(headers: Headers<'a>, name: &'static str) -> Result<Option<&'a str>, MessageFault> {
    let mut values = headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    let value = values.next().map(|(_, value)| std::str::from_utf8(value));
    match values.next() {
        None => value.transpose().map_err(|_| malformed(name, "it is not ASCII")),
        Some(_) => Err(malformed(name, "it stands there twice")),
    }
}

fn content_digest(body: Digest) -> String {
    format!("{SHA_256}=:{}:", STANDARD.encode(body.as_bytes()))
}

/// The one member of a dictionary with its name, if it is a byte sequence of this length.
fn byte_member<const N: usize>(text: &str) -> Option<(&str, [u8; N])> {
    let (name, value) = text.split_once('=')?;
    let first = |b: u8| b.is_ascii_lowercase() || b == b'*';
    let fits = |b| first(b) || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.');
    let is_name = name.bytes().next().is_some_and(first) && name.bytes().all(fits);
    // Refuses other padding, and last bits that are not zero.
    let bytes = STANDARD.decode(value.strip_prefix(':')?.strip_suffix(':')?).ok()?;
    Some((name, bytes.try_into().ok()?)).filter(|_| is_name)
}

fn seconds(text: &str) -> Result<i64, MessageFault> {
    let plain = text.len() <= DIGITS && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|number: &i64| plain && number.to_string() == text);
    number.ok_or(malformed(INPUT, "a time is not a number of seconds"))
}

/// The content of a string in which no character is escaped.
fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// The key that a message names, if it names the algorithm and the tag as well.
fn signer(keyid: &str, alg: &str, tag: &str, want: &str) -> Result<Fingerprint, MessageFault> {
    if alg != ALGORITHM {
        return Err(malformed(INPUT, "`alg` is not \"ed25519\""));
    }
    if tag != want {
        return Err(malformed(INPUT, "`tag` is another"));
    }
    let keyid = quoted(keyid).and_then(|keyid| keyid.parse().ok());
    keyid.ok_or(malformed(INPUT, "`keyid` is not a fingerprint"))
}

#[cfg(test)]
#[path = "http_message_tests.rs"]
mod tests;
