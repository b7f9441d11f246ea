//! The promises of the readers of a signature, for any bytes.

use super::envelope::OmsSignature;
use super::signer::KnownSigner;
use super::statement::{SignedFiles, is_canonical};

/// Asserts that no signature counts without a known signer; that a signature file that was read is
/// written and read as the same; and that a statement lists plain paths that it does not leave out.
pub(crate) fn signature(bytes: &[u8]) {
    if let Ok(read) = OmsSignature::read(bytes) {
        assert!(read.check(&[], None).is_err());
        if let Ok(again) = OmsSignature::read(read.to_text().as_bytes()) {
            assert_eq!(again, read, "it is written as another one");
        }
    }
    if let Ok(signed) = SignedFiles::read(bytes) {
        assert!(!signed.files.is_empty(), "it lists nothing");
        for path in signed.files.keys() {
            assert!(is_canonical(path) && !signed.ignores(path), "{path:?}");
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = KnownSigner::of_pem(None, text);
    }
}
