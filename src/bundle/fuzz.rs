//! The properties of the reader of a bundle for arbitrary bytes.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::archive::{entries, write};
use super::manifest::Manifest;

/// A manifest is read from one text alone; an archive gives no more than was asked for, and what
/// was packed comes out again.
pub(crate) fn bundle(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::read(bytes) {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        assert_eq!(manifest.to_payload().ok().as_deref(), Some(text));
        let leads_up = |path: &str| path.split('/').any(|part| part == "..");
        assert!(manifest.files().count() > 0, "a bundle without files");
        assert!(manifest.files().all(|file| !leads_up(file.path.as_str())), "a path that leads up");
    }
    // As it is, and as the inside of what is compressed well.
    let packed = compress_to_vec(bytes, CompressionLevel::Fastest);
    for archive in [bytes, packed.as_slice()] {
        let _ = entries(archive, |next| {
            while let Ok(Some(read)) = next("bundle.json", 64) {
                assert!(read.len() <= 64, "more than was asked for");
            }
            Ok::<(), ()>(())
        });
    }
    let files = std::iter::once(("tools/acme/x.sh", bytes, true));
    let Ok(own) = write("{}", files) else { panic!("any bytes can be packed") };
    let read = entries(own.as_slice(), |next| {
        assert_eq!(next("bundle.json", 2), Ok(Some(b"{}".to_vec())));
        assert_eq!(next("tools/acme/x.sh", bytes.len() as u64), Ok(Some(bytes.to_vec())));
        Ok::<(), ()>(())
    });
    assert_eq!(read, Ok(Ok(())), "what was packed is read");
}
