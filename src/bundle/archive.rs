//! The file of a bundle: a tar archive, compressed with Zstandard, whose first entry is the signed
//! manifest and whose other entries are the files that it lists, in its order.
//!
//! Everything of a foreign archive is bounded: the file, the window of the compression, what comes
//! out of it, each entry. Entries are read raw, so that the archive's reader never gathers one that
//! only describes another.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Take};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};

use super::error::BundleError;
use super::manifest::Manifest;
use crate::base::Digest;
use crate::base::bytes::{Bounded, read_at_most};
use crate::base::limits::{BUNDLE_BYTES, BUNDLE_MANIFEST_BYTES};
use crate::base::text::brief_line;
use crate::diagnostic::Failure;

/// Largest window of a bundle's compression in bytes: what the usual levels use, held in memory.
const BUNDLE_WINDOW: u64 = 8 << 20;

/// The first entry, and the file's name in the folder of an installed bundle.
pub(super) const MANIFEST: &str = "bundle.json";

/// The archive of an envelope and the files of its manifest, in that order. The same content gives
/// the same bytes.
///
/// # Errors
/// An I/O error of `tar`.
pub(super) fn write<'f>(
    envelope: &'f str,
    files: impl Iterator<Item = (&'f str, &'f [u8], bool)>,
) -> io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    let mut add = |path: &str, bytes: &[u8], is_program: bool| {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(if is_program { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, path, bytes)
    };
    add(MANIFEST, envelope.as_bytes(), false)?;
    for (path, bytes, is_program) in files {
        add(path, bytes, is_program)?;
    }
    Ok(compress_to_vec(tar.into_inner()?.as_slice(), CompressionLevel::Fastest))
}

/// Unpacks an archive into the folder `into`, which is empty and used by no other process: the
/// files of the manifest go below `.ai`. `judge` is given the envelope before anything is written.
///
/// # Errors
/// `bundle.malformed` for an archive that is not just what its manifest lists, and what `judge`
/// says.
pub(super) fn unpack(
    path: &Path,
    into: &Path,
    judge: &mut dyn FnMut(&[u8]) -> Result<Manifest, Failure>,
) -> Result<(Vec<u8>, Manifest), Failure> {
    let shown = path.display().to_string();
    let malformed = |why: String| BundleError::Malformed { path: shown.clone(), why };
    let stat = path.metadata().map_err(|source| io_error(path, source))?;
    if !stat.is_file() || stat.len() > BUNDLE_BYTES {
        let most = BUNDLE_BYTES >> 20;
        return Err(malformed(format!("it is not a file of at most {most} MiB")).into());
    }
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let unpacked = entries(file, |next| {
        let envelope = next(MANIFEST, BUNDLE_MANIFEST_BYTES).map_err(malformed)?;
        let envelope = envelope.ok_or_else(|| malformed("it is empty".into()))?;
        let manifest = judge(&envelope)?;
        for listed in manifest.files() {
            let name = listed.path.as_str();
            let bytes = next(name, listed.size).map_err(malformed)?;
            let bytes = bytes.ok_or_else(|| malformed(format!("`{name}` is missing")))?;
            if Digest::of(&bytes) != listed.sha256 {
                return Err(malformed(format!("`{name}` is not what the manifest says")).into());
            }
            let place = into.join(".ai").join(name);
            put(&place, &bytes, listed.is_program).map_err(|source| io_error(&place, source))?;
        }
        Ok((envelope, manifest))
    });
    unpacked.map_err(malformed)?
}

/// Gives the next entry's bytes, if it is a regular file of that name and of at most so many bytes;
/// none at the end.
pub(super) type Next<'n> = &'n mut dyn FnMut(&str, u64) -> Result<Option<Vec<u8>>, String>;

/// Reads the entries of an archive, one after the other. Where `with` succeeds, the archive and the
/// file must end behind the last entry that it took.
///
/// # Errors
/// One sentence, for what is not such an archive. Inside, what `with` says.
pub(super) fn entries<T, E>(
    from: impl Read,
    with: impl FnOnce(Next<'_>) -> Result<T, E>,
) -> Result<Result<T, E>, String> {
    let decoded = StreamingDecoder::new_with_max_window_size(from, BUNDLE_WINDOW)
        .map_err(|error| format!("it is not compressed with Zstandard: {error}"))?;
    // Each entry takes a header and the rest of a block beside its bytes.
    let mut archive = tar::Archive::new(decoded.take(2 * BUNDLE_BYTES));
    let mut entries = archive.entries().map_err(|error| error.to_string())?.raw(true);
    let given = with(&mut |name, most| entry(&mut entries, name, most));
    if given.is_ok() {
        if entries.next().is_some() {
            return Err("it holds more than its manifest lists".into());
        }
        ends(archive.into_inner())?;
    }
    Ok(given)
}

/// See [`Next`].
fn entry(
    entries: &mut tar::Entries<'_, impl Read>,
    name: &str,
    most: u64,
) -> Result<Option<Vec<u8>>, String> {
    let Some(first) = entries.next() else { return Ok(None) };
    let mut entry = first.map_err(|error| error.to_string())?;
    // `write` puts a path that does not fit into a header into an entry of its own before it.
    let is_long = entry.header().entry_type() == EntryType::GNULongName;
    if is_long {
        let most = name.len() as u64 + 1;
        let long = read_at_most(&mut entry, most, most).map_err(|error| error.to_string())?;
        let is_it = matches!(long, Bounded::All(long) if long == [name.as_bytes(), b"\0"].concat());
        let next = entries.next().filter(|_| is_it);
        let next = next.ok_or_else(|| format!("another path stands where `{name}` should"))?;
        entry = next.map_err(|error| error.to_string())?;
    }
    let path = entry.path_bytes();
    // Behind such an entry stands what fits of the path, or less.
    let is_it = is_long || path.as_ref() == name.as_bytes();
    let is_file = entry.header().entry_type() == EntryType::Regular;
    if !is_it || !is_file || entry.link_name_bytes().is_some() {
        let found = brief_line(&String::from_utf8_lossy(&path));
        return Err(format!("`{found}` stands where the file `{name}` should"));
    }
    match read_at_most(&mut entry, most, most).map_err(|error| error.to_string())? {
        Bounded::All(bytes) => Ok(Some(bytes)),
        Bounded::More => Err(format!("`{name}` is larger than it may be")),
    }
}

/// Behind the last entry come zeros, as the format has it, and nothing behind the compression.
fn ends<R: Read>(mut rest: Take<StreamingDecoder<R, FrameDecoder>>) -> Result<(), String> {
    let mut buffer = [0; 4096];
    loop {
        let read = rest.read(&mut buffer).map_err(|error| error.to_string())?;
        if buffer[..read].iter().any(|&byte| byte != 0) || rest.limit() == 0 {
            return Err("something stands behind its last file".into());
        }
        if read == 0 {
            break;
        }
    }
    match rest.into_inner().into_inner().read(&mut buffer[..1]) {
        Ok(0) => Ok(()),
        Ok(_) => Err("something stands behind the compressed archive".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a file where there is none.
pub(super) fn put(place: &Path, bytes: &[u8], is_program: bool) -> io::Result<()> {
    let folder = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
    let mode = if is_program { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(place)?;
    io::Write::write_all(&mut file, bytes)
}

pub(super) fn io_error(path: &Path, source: io::Error) -> BundleError {
    BundleError::Io { path: path.to_owned(), source }
}
