//! Documents about trust, keys, and the two configs that only your own key may sign.

use crate::base::fuzz::is_message;
use crate::base::text::{brief_line, unfit};
use crate::base::{Digest, Timestamp};
use crate::id::{Kind, Ref};
use crate::verify::check_own_config;
use crate::verify::document::{Revocation, TrustDocument, toml_comment};
use crate::verify::dsse::Envelope;
use crate::verify::key::{KeyPair, PublicKey};
use crate::verify::sig_line::{Scan, scan};
use crate::verify::sign::sign_bytes;

/// A document that is read says the same after it was written and signed; its owner is a word that
/// can be shown, and its fingerprint that of its key.
pub(crate) fn trust_document(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match TrustDocument::parse(text) {
        Ok(document) => {
            assert_eq!(document.public_key.fingerprint(), document.fingerprint);
            assert_eq!(unfit(&document.owner), None);
            is_message(&document.owner);
            let written = document.to_toml();
            assert_eq!(TrustDocument::parse(&written).as_ref(), Ok(&document), "{written}");
            can_be_read_when_signed(&written);
        }
        Err(why) => is_message(&why.to_string()),
    }
    if let Ok(revocation) = toml::from_str::<Revocation>(text) {
        let written = revocation.to_toml();
        assert_eq!(toml::from_str::<Revocation>(&written).ok(), Some(revocation));
    }
}

/// What is written about trust must not be refused when it is read: no value of a document looks
/// like a signature line.
fn can_be_read_when_signed(body: &str) {
    let Ok(id) = "keys/trusted/x".parse() else { panic!("an id") };
    let (item, pair) = (Ref::new(Kind::Config, id), KeyPair::of_seed([5; 32]));
    let now = Timestamp::from_second(1_800_000_000);
    let signed = sign_bytes(body.as_bytes(), &item, "toml", &toml_comment(), &pair, now);
    let scanned = signed.ok().and_then(|signed| scan(&signed, &toml_comment()).ok());
    let Some(Scan::Line { line, .. }) = scanned else { panic!("no line is found in {body:?}") };
    assert_eq!(line.sha256, Digest::of(body.as_bytes()));
}

/// The configs that widen what rye believes: read or refused, with a reason that can be shown. The
/// first byte chooses one.
pub(crate) fn own_config(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(data) else { return };
    let id = if *choice == b'p' { "rye/policy" } else { "rye/file-types" };
    let checked = check_own_config(id, "yaml", text);
    assert_eq!(checked, check_own_config(id, "yaml", text), "twice the same");
    if let Err(why) = checked {
        is_message(&why);
    }
}

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
