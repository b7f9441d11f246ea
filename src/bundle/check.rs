//! Checks that a bundle may be installed here: who signed it, what they may sign, and what each of
//! its items is worth.

use std::path::{Path, PathBuf};

use super::archive::unpack;
use super::error::BundleError;
use super::manifest::Manifest;
use crate::diagnostic::Failure;
use crate::id::{BundleName, Fingerprint, Kind, Ref, Space};
use crate::rye::{ItemVerdict, LockMode, Rye};
use crate::verify::Envelope;

/// A rye that sees one more bundle, whose `.ai` lies in the folder.
pub(crate) type Seeing<'a> = &'a dyn Fn(BundleName, PathBuf) -> Result<Rye, Failure>;

/// A bundle that passed every check.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) manifest: Manifest,
    /// The signed manifest, as it came.
    pub(super) envelope: Vec<u8>,
    pub(crate) key: Fingerprint,
    pub(crate) owner: String,
    /// Sorted.
    pub(crate) items: Vec<Ref>,
}

/// Unpacks an archive into a folder of one's own, and checks all of it there.
///
/// # Errors
/// `bundle.*`; the folder may then hold a part of it.
pub(crate) fn check_archive(
    rye: &Rye,
    archive: &Path,
    into: &Path,
    seeing: Seeing<'_>,
) -> Result<Bundle, Failure> {
    let mut signer = None;
    let mut judge = |envelope: &[u8]| -> Result<Manifest, Failure> {
        let (manifest, key, owner) = opened(rye, envelope)?;
        signer = Some((key, owner));
        Ok(manifest)
    };
    let (envelope, manifest) = unpack(archive, into, &mut judge)?;
    let (key, owner) = signer.ok_or_else(|| BundleError::Malformed {
        path: archive.display().to_string(),
        why: "it is not signed".into(),
    })?;
    let name = manifest.about().name.clone();
    // What is installed at this moment, and not when the command began.
    let seeing = seeing(name.clone(), into.to_owned())?;
    let items = judged(&seeing, &name, key)?;
    no_clash(&seeing, &name, &items)?;
    Ok(Bundle { manifest, envelope, key, owner, items })
}

/// The content of a signed manifest, the key that signed it, and the owner of the key.
///
/// # Errors
/// `bundle.malformed`, `bundle.untrusted`, `bundle.forged`, `bundle.content`
pub(super) fn opened(
    rye: &Rye,
    envelope: &[u8],
) -> Result<(Manifest, Fingerprint, String), Failure> {
    let path = super::archive::MANIFEST.to_owned();
    let envelope = Envelope::read(envelope).map_err(|why| BundleError::Malformed { path, why })?;
    let (trust, key) = (rye.trust(), envelope.key());
    let voucher = trust.receipt_key(key, rye.spaces().project_identity());
    let voucher = voucher.map_err(|why| BundleError::Untrusted { key, why })?;
    let payload = envelope.payload(&voucher.key).ok_or(BundleError::Forged { key })?;
    Ok((Manifest::read(payload)?, key, voucher.owner))
}

/// The items of a bundle that `rye` sees, each admitted like any other, and each one that the
/// publisher of the bundle may sign.
///
/// # Errors
/// `bundle.refused`, `bundle.untrusted`, `bundle.malformed` for a bundle without items
pub(super) fn judged(rye: &Rye, name: &BundleName, key: Fingerprint) -> Result<Vec<Ref>, Failure> {
    let mut entries = Vec::new();
    for kind in Kind::ALL {
        let listed = rye.items().list(Space::System, kind)?;
        entries.extend(listed.into_iter().filter(|entry| entry.bundle.as_ref() == Some(name)));
    }
    let mut items: Vec<Ref> = entries.iter().map(|entry| entry.item.clone()).collect();
    items.sort();
    items.dedup();
    if items.is_empty() {
        let (path, why) = (name.to_string(), "it holds no item".to_owned());
        return Err(BundleError::Malformed { path, why }.into());
    }
    let trust = rye.trust();
    let identity = rye.spaces().project_identity();
    for item in &items {
        let scope = trust.out_of_scope(key, item, Space::System, false, identity);
        let why = match scope {
            Ok(why) => why.map(|why| why.to_string()),
            Err(_) => Some("your trust cannot be read".to_owned()),
        };
        if let Some(why) = why {
            let item = item.clone();
            return Err(BundleError::OutOfScope { key, item, why }.into());
        }
    }
    let checked = rye.checks().all(entries, true, LockMode::Off, &|| true);
    let findings = checked.into_iter().filter_map(|row| match row.verdict {
        ItemVerdict::Bad(failure) => Some(failure.diagnostic()),
        ItemVerdict::Good(..) => None,
    });
    let findings: Vec<_> = findings.collect();
    match findings.is_empty() {
        true => Ok(items),
        false => Err(BundleError::Refused { findings }.into()),
    }
}

/// # Errors
/// `bundle.clash` for an item that the system space, or another bundle, has already
pub(super) fn no_clash(rye: &Rye, name: &BundleName, items: &[Ref]) -> Result<(), Failure> {
    for kind in Kind::ALL {
        for entry in rye.items().list(Space::System, kind)? {
            if entry.bundle.as_ref() == Some(name) || items.binary_search(&entry.item).is_err() {
                continue;
            }
            let there = rye.spaces().home(entry.space, entry.bundle.as_ref());
            let there = there.map(|root| root.shown(&entry.relative())).unwrap_or_default();
            return Err(BundleError::Clash { item: entry.item, there }.into());
        }
    }
    Ok(())
}
