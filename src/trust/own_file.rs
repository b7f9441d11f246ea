//! The files of the user space that decide about trust: read if the own key signed them, written
//! with its signature, removed.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::TrustError;
use super::own_keys::OwnKeys;
use super::unfinished_rotation;
use crate::base::{Timestamp, bytes};
use crate::id::{Fingerprint, ItemId, Kind, Ref};
use crate::signature::{KeyPair, PublicKey, SignedText, TextFault, check, sign_bytes};
use crate::space::{Comment, Root, SpaceError};

pub(super) fn toml_comment() -> Comment {
    Comment { open: "# ".into(), close: String::new() }
}

/// Where a document lies below `.ai`.
pub(crate) fn relative(id: &ItemId) -> String {
    format!("config/{id}.toml")
}

/// A file `config/<id>.<ext>` that decides about trust, as it was read. Who signed it is not known
/// yet.
pub(super) struct OwnFile<'a> {
    id: &'a ItemId,
    ext: &'a str,
    /// The file in its place.
    in_place: Option<Cow<'a, [u8]>>,
    /// The file that waits in an unfinished rotation, until the key with that fingerprint is your
    /// own.
    waiting: Option<(Fingerprint, Vec<u8>)>,
}

/// Why a file that decides about trust does not count.
#[derive(Debug, thiserror::Error)]
enum NotOwn {
    #[error(transparent)]
    Text(#[from] TextFault),
    #[error("you have no key of your own that could have signed it")]
    NoKey,
    #[error("it is not signed by your own key")]
    OtherKey,
}

/// Reads `config/<id>.<ext>` of the user space if `key` signed it; `None` if it is not there.
///
/// # Errors
/// `verify.trust_unreadable`
pub(super) fn read_own(
    user: &Root,
    id: &ItemId,
    ext: &str,
    key: Option<&PublicKey>,
    now: Timestamp,
) -> Result<Option<String>, TrustError> {
    match OwnFile::find(user, id, ext)? {
        Some(file) => file.verified_text(key, now),
        None => Ok(None),
    }
}

impl<'a> OwnFile<'a> {
    /// Reads the file; `None` if it is not there. No key is read.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(super) fn find(
        user: &'a Root,
        id: &'a ItemId,
        ext: &'a str,
    ) -> Result<Option<Self>, TrustError> {
        let relative = format!("config/{id}.{ext}");
        let error = |error: SpaceError| unreadable(id, ext, error.to_string());
        // A rotation puts a document into its place before it removes the waiting copy.
        let waiting = unfinished_rotation::waiting(user, &relative).map_err(error)?;
        let in_place = user.read(&relative).map_err(error)?;
        let is_there = in_place.is_some() || waiting.is_some();
        Ok(is_there.then_some(Self { id, ext, in_place, waiting }))
    }

    /// The text, if `key` signed it for this place; `None` if there is only a copy that waits for
    /// another key.
    ///
    /// Every file that decides about trust is read here: a file that is there but was not signed by
    /// `key` is an error.
    ///
    /// # Errors
    /// `verify.trust_unreadable`
    pub(super) fn verified_text(
        &self,
        key: Option<&PublicKey>,
        now: Timestamp,
    ) -> Result<Option<String>, TrustError> {
        let own = key.map(PublicKey::fingerprint);
        let waiting = self.waiting.as_ref().filter(|(waits_for, _)| Some(*waits_for) == own);
        let bytes = match (waiting, &self.in_place) {
            (Some((_, bytes)), _) => bytes.as_slice(),
            (None, Some(bytes)) => bytes,
            (None, None) => return Ok(None),
        };
        let text = signed_by(bytes, self.id, self.ext, key, now);
        text.map(Some).map_err(|why| unreadable(self.id, self.ext, why.to_string()))
    }
}

impl OwnFile<'_> {
    /// When `key` signed the file; `None` where it did not.
    pub(super) fn signed_at(&self, key: Option<&PublicKey>, now: Timestamp) -> Option<Timestamp> {
        self.verified_text(key, now).ok()??;
        let (item, comment) = (Ref::new(Kind::Config, self.id.clone()), toml_comment());
        let bytes = match &self.waiting {
            Some((waits_for, bytes)) if Some(*waits_for) == key.map(PublicKey::fingerprint) => {
                bytes
            }
            _ => self.in_place.as_deref()?,
        };
        let signed = SignedText { bytes, item: &item, ext: self.ext, comment: &comment };
        let verdict = check(&signed, now, |_| Err::<(PublicKey, ()), _>(NotOwn::NoKey));
        verdict.line().map(|line| line.at)
    }
}

/// The text of a document, if `key` signed it for this id.
fn signed_by(
    bytes: &[u8],
    id: &ItemId,
    ext: &str,
    key: Option<&PublicKey>,
    now: Timestamp,
) -> Result<String, NotOwn> {
    let (item, comment) = (Ref::new(Kind::Config, id.clone()), toml_comment());
    let signed = SignedText { bytes, item: &item, ext, comment: &comment };
    let verdict = check(&signed, now, |line| match key {
        None => Err(NotOwn::NoKey),
        Some(own) if own.fingerprint() == line.key => Ok((own.clone(), ())),
        Some(_) => Err(NotOwn::OtherKey),
    });
    verdict.strictly().map(|checked| checked.text.to_owned())
}

/// Reads a document that waits below `staged`, if `key` signed it. The caller checks its time.
///
/// # Errors
/// `verify.trust_unreadable`
pub(super) fn read_staged(
    staged: &Root,
    id: &ItemId,
    ext: &str,
    key: &PublicKey,
) -> Result<Option<String>, TrustError> {
    let any_time = Timestamp::from_second(i64::MAX / 2);
    let read = staged.read(&format!("config/{id}.{ext}"));
    let bytes = read.map_err(|error| unreadable(id, ext, error.to_string()))?;
    let text = bytes.map(|bytes| signed_by(&bytes, id, ext, Some(key), any_time)).transpose();
    text.map_err(|why| unreadable(id, ext, why.to_string()))
}

fn unreadable(id: &ItemId, ext: &str, why: String) -> TrustError {
    TrustError::Unreadable { path: format!(".ai/config/{id}.{ext}"), why, help: None }
}

/// Writes `config/<id>.toml` of the user space, signed by `pair`; only you may read the folders
/// that it makes. An unfinished rotation is finished first, so that no waiting document is newer.
///
/// # Errors
/// `trust.malformed` for a body that could not be read again, `trust.io`.
pub(crate) fn write_own(
    user: &Root,
    id: &ItemId,
    body: &str,
    pair: &KeyPair,
    now: Timestamp,
) -> Result<PathBuf, TrustError> {
    unfinished_rotation::finish(user, &pair.public())?;
    write_signed(user.base(), id, "toml", body, pair, now)
}

/// Removes a document of the user space; false if there is none. An unfinished rotation is finished
/// first, so that it does not bring the document back.
///
/// # Errors
/// `trust.io`, `key.*`
pub(crate) fn remove_own(user: &Root, id: &ItemId) -> Result<bool, TrustError> {
    if let Some(own) = OwnKeys::new(user).find_public()? {
        unfinished_rotation::finish(user, &own)?;
    }
    let path = user.path(&relative(id));
    match bytes::remove_file(&path) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(|source| TrustError::Io { path, source }),
    }
}

/// Writes `config/<id>.<ext>` below `base`, signed by `pair`; its comments begin with `# `.
///
/// # Errors
/// `trust.malformed`, `trust.io`
pub(super) fn write_signed(
    base: &Path,
    id: &ItemId,
    ext: &str,
    body: &str,
    pair: &KeyPair,
    now: Timestamp,
) -> Result<PathBuf, TrustError> {
    let item = Ref::new(Kind::Config, id.clone());
    let signed = sign_bytes(body.as_bytes(), &item, ext, &toml_comment(), pair, now);
    let malformed = |why: String| TrustError::Malformed { what: id.to_string(), why };
    let signed = signed.map_err(|()| malformed("it cannot be signed".into()))?;
    // A document that could not be read again would be an error from then on.
    let read = signed_by(&signed, id, ext, Some(&pair.public()), now);
    read.map_err(|why| malformed(format!("it could not be read again: {why}")))?;
    write_document(base, id, ext, &signed)
}

/// Puts a signed document in its place below `base`, whole or not at all.
///
/// # Errors
/// `trust.io`
pub(super) fn write_document(
    base: &Path,
    id: &ItemId,
    ext: &str,
    signed: &[u8],
) -> Result<PathBuf, TrustError> {
    let path = base.join(format!(".ai/config/{id}.{ext}"));
    let write = || -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        bytes::write_atomic(&path, signed, 0o600)
    };
    write().map_err(|source| TrustError::Io { path: path.clone(), source })?;
    Ok(path)
}
