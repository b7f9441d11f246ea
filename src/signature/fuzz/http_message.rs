//! Signed HTTP messages: a head has one reading, and no other head has its signature.

use crate::base::Digest;
use crate::signature::http_message::{MessageFault, RequestHead, sign_request, verify_request};
use crate::signature::key::KeyPair;

/// A head that has the form holds the parameters that it is read as and no others; what is signed
/// verifies, and not after a change of any byte. The bytes are a method and a URI, and a line for
/// each header; and a body.
pub(crate) fn http_message(data: &[u8]) {
    let (pair, node) = (KeyPair::of_seed([3; 32]), KeyPair::of_seed([4; 32]).public());
    let text = String::from_utf8_lossy(data);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let (method, target_uri) = first.split_once(' ').unwrap_or((first, ""));
    let headers: Vec<_> = rest.lines().filter_map(|line| line.split_once(": ")).collect();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    has_one_reading(&RequestHead { method, target_uri, headers: &headers });

    let (node, known) = (node.fingerprint(), |_: &_| Some(pair.public()));
    let uri: String = target_uri.chars().filter(char::is_ascii_graphic).collect();
    let nonce = data.first_chunk().unwrap_or(&[0; 16]);
    let (sent, _) = sign_request(&pair, "POST", &uri, Digest::of(data), node, 5..9, nonce);
    let mut sent: Vec<_> = sent.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    let verify = |sent: &[(&str, Vec<u8>)]| {
        let headers: Vec<_> = sent.iter().map(|(name, value)| (*name, value.as_slice())).collect();
        let head = RequestHead { method: "POST", target_uri: &uri, headers: &headers };
        verify_request(&head, node, 7, known).map(|signed| signed.body.digest())
    };
    assert_eq!(verify(&sent), Ok(Digest::of(data)));
    // One byte, chosen by the bytes themselves.
    let sum = data.iter().fold(data.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
    let header = &mut sent[sum % 4].1;
    let at = sum / 4 % header.len();
    header[at] ^= 1 << (sum / 7 % 8);
    assert!(verify(&sent).is_err(), "byte {at} of header {} was changed", sum % 4);
}

/// Follows the faults of a head to its signature, and holds what they say against its text.
fn has_one_reading(head: &RequestHead<'_>) {
    let key = KeyPair::of_seed([3; 32]).public();
    let verify = |here, now, key| verify_request(head, here, now, |_| key);
    let Err(MessageFault::WrongNode { named }) = verify(key.fingerprint(), 0, None) else { return };
    let Err(MessageFault::Clock { created, expires, .. }) = verify(named, i64::MAX, None) else {
        panic!("every request expires")
    };
    let Err(MessageFault::UnknownKey { key: signer }) = verify(named, created, None) else {
        panic!("no key is known")
    };
    assert!(matches!(verify(named, expires, Some(key)), Err(MessageFault::Forged)));
    let value = |name: &str| {
        let (_, value) = head.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    };
    let [Some(input), Some(node)] = ["signature-input", "rye-node"].map(value) else {
        panic!("a field was made up")
    };
    let mut parameters: Vec<&str> = input.split(';').skip(1).collect();
    parameters.sort_unstable();
    let (nonce, others) = (parameters.remove(4), parameters);
    assert!(nonce.starts_with("nonce=\"") && nonce.ends_with('"'), "{nonce}");
    let want = format!(
        "alg=\"ed25519\";created={created};expires={expires};keyid=\"{signer}\";\
         tag=\"rye-request-v1\""
    );
    assert_eq!((others.join(";"), node), (want, named.to_string().as_str()));
}
