//! Keys and envelopes: what is read is written as it was, and opened by its own key alone.

use crate::base::fuzz::is_message;
use crate::base::text::brief_line;
use crate::signature::dsse::{AnyEnvelope, Envelope};
use crate::signature::key::{KeyPair, PublicKey};

/// A key that is read is written so that it is read as the same key, and is not weak.
pub(crate) fn key(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(Ok(key)) = PublicKey::from_pem(text) {
        let pem = key.to_pem();
        assert_eq!(PublicKey::from_pem(&pem), Some(Ok(key)));
    }
    if let Some(pair) = KeyPair::from_pem(text) {
        let again = KeyPair::from_pem(&pair.to_pem()).map(|again| again.public());
        assert_eq!(again, Some(pair.public()));
    }
    if let Some(raw) = data.first_chunk::<32>()
        && let Ok(key) = PublicKey::from_bytes(raw)
    {
        assert_eq!(PublicKey::from_pem(&key.to_pem()), Some(Ok(key)));
    }
}

/// An envelope that is read has one text; what was sealed is opened by its own key alone, and not
/// after any change. The bytes are a text of an envelope, and a payload.
pub(crate) fn envelope(data: &[u8]) {
    match Envelope::read(data) {
        Ok(envelope) => {
            let text = envelope.to_text();
            assert_eq!(text.trim_end().as_bytes(), data.strip_suffix(b"\n").unwrap_or(data));
        }
        Err(why) => is_message(&brief_line(&why)),
    }
    if let Err(why) = AnyEnvelope::read(data) {
        is_message(&brief_line(&why));
    }
    let (pair, other) = (KeyPair::of_seed([3; 32]), KeyPair::of_seed([4; 32]));
    let sealed = Envelope::seal(&pair, data.to_vec());
    let text = sealed.to_text();
    let Ok(read) = Envelope::read(text.as_bytes()) else { panic!("{text} is not read") };
    assert_eq!(read.payload(&pair.public()), Some(data));
    assert_eq!(read.payload(&other.public()), None);
    // One byte of the text, chosen by the bytes themselves.
    let mut changed = text.into_bytes();
    let sum = data.iter().fold(data.len(), |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
    let at = sum % (changed.len() - 1);
    changed[at] ^= 1 << (sum / 7 % 8);
    if let Ok(opened) = Envelope::read(&changed) {
        assert_eq!(opened.payload(&pair.public()), None, "byte {at} was changed");
    }
}
