//! Signed HTTP messages: the head of a request has one reading.

use crate::signature::http_message::{HttpSignature, MessageFault, RequestHead, verify_request};
use crate::signature::key::KeyPair;

/// A head that has the form says what its faults say, and no more; no key signed it. The bytes are
/// a method and a URI, and a line for each header.
pub(crate) fn http_message(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (method, target_uri) = first.split_once(' ').unwrap_or((first, ""));
    let lines: Vec<_> = rest.lines().filter_map(|line| line.split_once(": ")).collect();
    let headers: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let head = RequestHead { method, target_uri, headers: &headers };

    let key = KeyPair::of_seed([3; 32]).public();
    let verify = |here, now, key| verify_request(&head, here, now, |_| key);
    let Err(MessageFault::WrongNode { named }) = verify(key.fingerprint(), 0, None) else { return };
    let Err(MessageFault::Clock { created, expires, .. }) = verify(named, i64::MAX, None) else {
        panic!("every request expires")
    };
    let Err(MessageFault::UnknownKey { key: signer }) = verify(named, created, None) else {
        panic!("no key is known")
    };
    assert_eq!(verify(named, expires, Some(key)), Err(MessageFault::Forged));

    let value = |name: &str| {
        let mut values = lines.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| *value).filter(|_| values.next().is_none())
    };
    assert_eq!(value("rye-node"), Some(named.to_string().as_str()));
    let signature = HttpSignature::of(&headers).map(|signature| signature.to_string());
    assert_eq!(value("signature"), signature.as_deref().ok());
    let mut parts: Vec<&str> = value("signature-input").unwrap_or_default().split(';').collect();
    parts[1..].sort_unstable();
    let nonce = parts.remove(5);
    assert!(nonce.starts_with("nonce=\"") && nonce.ends_with('"'), "{nonce}");
    let want = format!(
        "alg=\"ed25519\";created={created};expires={expires};keyid=\"{signer}\";\
         tag=\"rye-request-v1\""
    );
    assert_eq!(parts[1..].join(";"), want);
}
