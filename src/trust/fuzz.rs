//! Documents about trust, keys, and the two configs that only your own key may sign.

use crate::base::fuzz::is_message;
use crate::base::text::unfit;
use crate::base::{Digest, Timestamp};
use crate::id::{Kind, Ref};
use crate::signature::{KeyPair, Scan, scan, sign_bytes};
use crate::trust::check_own_config;
use crate::trust::document::TrustDocument;
use crate::trust::own_file::toml_comment;
use crate::trust::revocation::Revocation;

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

/// A document about trust that is written must not be refused when it is read: none of its values
/// looks like a signature line.
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
