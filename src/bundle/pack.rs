//! Packing: items that are verified here become one file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::archive::{io_error, write};
use super::error::BundleError;
use super::manifest::{About, BundleFile, Manifest};
use crate::base::Digest;
use crate::base::bytes::write_new;
use crate::diagnostic::Failure;
use crate::id::{BundleName, Ref};
use crate::oms::{OmsSigningKey, sign_files};
use crate::resolve::Found;
use crate::rye::{Rye, now};
use crate::space::RelPath;
use crate::verify::Envelope;

/// The bundle to pack.
pub(crate) struct Wish {
    pub(crate) name: BundleName,
    pub(crate) version: semver::Version,
    pub(crate) description: String,
    pub(crate) items: Vec<Found>,
    /// The file that is made.
    pub(crate) output: PathBuf,
    /// The key of a signature for others, which is written beside the file.
    pub(crate) oms: Option<OmsSigningKey>,
}

/// A packed bundle.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) items: Vec<Ref>,
    pub(crate) manifest: Manifest,
    /// Of the whole file.
    pub(crate) sha256: Digest,
    pub(crate) bytes: usize,
    /// The signature for others.
    pub(crate) oms: Option<PathBuf>,
}

/// Packs items with the files that belong to them, signed with your own key. An item that would be
/// refused here is not packed.
///
/// # Errors
/// That of the first item that is refused; `bundle.content`, `bundle.malformed`, `bundle.exists`,
/// `bundle.io`, `key.*`.
pub(crate) fn pack(rye: &Rye, wish: Wish) -> Result<Packed, Failure> {
    let pair = rye.signing().own_pair()?;
    let mut files: BTreeMap<RelPath, (Vec<u8>, bool)> = BTreeMap::new();
    let mut items = Vec::new();
    for found in wish.items {
        items.push(found.item.clone());
        for covered in rye.items().signed_files(found)? {
            let path = covered.path.strip_prefix(".ai/").and_then(|path| path.parse().ok());
            let path: RelPath = path.ok_or_else(|| BundleError::Content {
                path: covered.path.clone(),
                why: "it lies outside of `.ai`".into(),
            })?;
            let known = files.entry(path).or_insert((covered.bytes, false));
            known.1 |= covered.is_program;
        }
    }
    items.sort();
    let rows = files.iter().map(|(path, (bytes, is_program))| BundleFile {
        path: path.clone(),
        sha256: Digest::of(bytes),
        size: bytes.len() as u64,
        is_program: *is_program,
    });
    let about = About {
        name: wish.name,
        version: wish.version,
        description: wish.description,
        packed_at: now().to_string(),
        rye: env!("CARGO_PKG_VERSION").into(),
    };
    let manifest = Manifest::new(about, rows.collect())?;
    let envelope = Envelope::seal(&pair, manifest.to_payload()?).to_text();
    let rows = files.iter().map(|(path, (bytes, is))| (path.as_str(), bytes.as_slice(), *is));
    let output =
        std::path::absolute(&wish.output).map_err(|error| io_error(&wish.output, error))?;
    let archive = write(&envelope, rows).map_err(|source| io_error(&wish.output, source))?;
    let put = |path: &Path, bytes: &[u8]| {
        write_new(path, bytes, 0o644).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => BundleError::Exists { path: path.to_owned() },
            _ => io_error(path, source),
        })
    };
    let signature = wish.oms.as_ref().map(|with| signature(&output, &archive, with)).transpose()?;
    put(&output, &archive)?;
    if let Some((path, text)) = &signature
        && let Err(error) = put(path, text.as_bytes())
    {
        // There are both or neither.
        let _ = std::fs::remove_file(&output);
        return Err(error.into());
    }
    let (sha256, bytes) = (Digest::of(&archive), archive.len());
    Ok(Packed { items, manifest, sha256, bytes, oms: signature.map(|(path, _)| path) })
}

/// The signature for others over the file of a bundle, and its path: that of the file with
/// `.oms.sig` behind it.
fn signature(
    output: &Path,
    archive: &[u8],
    with: &OmsSigningKey,
) -> Result<(PathBuf, String), Failure> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files = BTreeMap::from([(name.clone(), archive)]);
    let text = sign_files(&name, &files, &[], with)?.to_text();
    let mut path = output.as_os_str().to_owned();
    path.push(".oms.sig");
    Ok((path.into(), text))
}
