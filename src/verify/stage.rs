//! Stage: the mirror of `admit` (core 3.8).
//!
//! Signing has two halves. `stage` makes the signed bytes in memory and gives them as a `Source`,
//! so that they can be parsed and judged like any other; [`SignedFile::write_over`] puts them on
//! disk.

use super::error::{
    Reason, Refused, SIGN_BUNDLED, SIGN_DEV_KEY, SIGN_EMBEDDED, SIGN_IO, SIGN_RESERVED,
    SIGN_SHEBANG,
};
use super::source::{Signer, Source};
use crate::base::bytes::replace_if;
use crate::base::limits::ITEM_BYTES;
use crate::base::{Digest, Timestamp};
use crate::diagnostic::{Code, Diagnose, Place};
use crate::id::{BundleName, Ref, Space};
use crate::resolve::Found;
use crate::signature::{
    KeyPair, SigFault, fit_text, is_whole_line, line_start, scan, sign_bytes, without_line,
};
use crate::space::SPACE_TOO_LARGE;
use crate::trust::{DEV_OWNER, DevKey};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SignError {
    #[error("`{item}` lies in the binary and cannot be signed in place")]
    Embedded { item: Ref },
    #[error("`{item}` belongs to the installed bundle `{bundle}` and is signed by its publisher")]
    Bundled { item: Ref, bundle: BundleName },
    #[error("`{item}` is reserved: only the system space holds ids under `rye/`")]
    Reserved { item: Ref },
    #[error(
        "`{item}` is about keys: `rye trust` writes such documents, and nobody signs one as an item"
    )]
    AboutKeys { item: Ref },
    #[error("the `#!` line of `{item}` has no line feed, so no line fits behind it")]
    Shebang { item: Ref },
    #[error("with its signature line `{item}` would be larger than {} MiB", ITEM_BYTES >> 20)]
    TooLarge { item: Ref },
    #[error("the dev key does not sign `{item}`: {why}")]
    DevKey { item: Ref, why: &'static str },
    #[error(transparent)]
    Refused(Box<Refused>),
    #[error("cannot write `{}`: {source}", .place.path)]
    Io { place: Place, source: std::io::Error },
}

impl Diagnose for SignError {
    fn code(&self) -> Code {
        match self {
            Self::Embedded { .. } => SIGN_EMBEDDED,
            Self::Bundled { .. } => SIGN_BUNDLED,
            Self::Reserved { .. } | Self::AboutKeys { .. } => SIGN_RESERVED,
            Self::DevKey { .. } => SIGN_DEV_KEY,
            Self::Shebang { .. } => SIGN_SHEBANG,
            Self::TooLarge { .. } => SPACE_TOO_LARGE,
            Self::Refused(inner) => inner.code(),
            Self::Io { .. } => SIGN_IO,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Embedded { .. } => {
                "to try edits of system items, set RYE_SYSTEM_SPACE to a folder that holds them in `.ai`".into()
            }
            Self::Bundled { .. } => {
                "put a copy into your project or user space, which shadows it, and sign that".into()
            }
            Self::Reserved { .. } => "give the item an id of your own, such as `acme/…`".into(),
            Self::AboutKeys { .. } => {
                "see who is proposed with `rye trust review`; `rye trust accept` and `rye trust add` write a document of yours".into()
            }
            Self::DevKey { item, .. } => format!("if it is yours, run `rye sign {item}`"),
            Self::Shebang { .. } => "end the line with a line feed".into(),
            Self::TooLarge { .. } => "keep data out of items; a tool can read it from the project".into(),
            Self::Refused(inner) => return inner.help(),
            Self::Io { .. } => "the file is as it was, or signed whole; mend the cause and sign again".into(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Refused(inner) => inner.place(),
            Self::Io { place, .. } => Some(place.clone()),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Embedded { item }
            | Self::Bundled { item, .. }
            | Self::Reserved { item }
            | Self::AboutKeys { item }
            | Self::DevKey { item, .. }
            | Self::Shebang { item }
            | Self::TooLarge { item } => Some(item.to_string()),
            Self::Refused(inner) => inner.item(),
            Self::Io { .. } => None,
        }
    }
}

/// Who signs.
#[derive(Clone, Copy)]
pub(crate) enum SignWith<'a> {
    Own(&'a KeyPair),
    Dev(&'a DevKey),
}

impl SignWith<'_> {
    fn pair(&self) -> &KeyPair {
        match self {
            Self::Own(pair) => pair,
            Self::Dev(dev) => dev.pair(),
        }
    }

    fn signer(&self, at: Timestamp) -> Signer {
        let key = self.pair().public().fingerprint();
        let (owner, dev_for) = match self {
            Self::Own(_) => ("you", None),
            Self::Dev(dev) => (DEV_OWNER, Some(dev.signs_for())),
        };
        Signer { key, owner: Some(owner.into()), at, dev_for }
    }
}

/// A file that is signed in memory; nothing is written yet.
pub(crate) struct SignedFile {
    source: Source,
    added_lines: usize,
    bytes: Vec<u8>,
}

/// Signs a file in memory. A signature line that stands where it belongs is replaced, well-formed
/// or not; one that stands elsewhere is for a person to remove.
///
/// # Errors
/// `sign.embedded`, `sign.bundled`, `sign.reserved`, `sign.dev_key`, `sign.shebang`,
/// `verify.stray_signature_line`, `parse.*` for text that must not be in an item. Nothing about
/// keys is ever signed here, in any space and by any door.
pub(crate) fn stage(
    found: Found,
    by: SignWith<'_>,
    now: Timestamp,
    may_sign_reserved: bool,
) -> Result<SignedFile, SignError> {
    let item = found.item.clone();
    if found.embedded {
        return Err(SignError::Embedded { item });
    }
    if let Some(bundle) = found.bundle.clone() {
        return Err(SignError::Bundled { item, bundle });
    }
    if item.id.is_reserved() && found.space != Space::System && !may_sign_reserved {
        return Err(SignError::Reserved { item });
    }
    if item.is_about_keys() {
        return Err(SignError::AboutKeys { item });
    }
    if let SignWith::Dev(dev) = by
        && let Some(why) = dev.out_of_scope(&item, found.space)
    {
        return Err(SignError::DevKey { item, why });
    }
    let refuse = |reason: Reason| {
        SignError::Refused(Box::new(Refused::new(item.clone(), found.place.clone(), reason)))
    };
    fit_text(&found.bytes).map_err(|fault| refuse(fault.into()))?;
    let comment = found.file_type.comment.clone();
    if !is_whole_line(&found.bytes, &comment) {
        let why = "something stands before it on its line; remove it by hand";
        return Err(refuse(Reason::Malformed { why }));
    }
    let rest = without_line(&found.bytes, &comment);
    if let Err(SigFault::Stray { line }) = scan(&rest, &comment) {
        return Err(refuse(Reason::Stray { line }));
    }
    let bytes = sign_bytes(&rest, &item, &found.ext, &comment, by.pair(), now)
        .map_err(|()| SignError::Shebang { item: item.clone() })?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > ITEM_BYTES) {
        return Err(SignError::TooLarge { item });
    }
    let start = line_start(&rest).unwrap_or(0);
    let end = start + (bytes.len() - rest.len());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let signer = by.signer(now);
    let digest = Digest::of(&rest);
    let added_lines = usize::from(rest.len() == found.bytes.len());
    let source = Source::new(found, text, start..end, digest, Some(signer), Vec::new());
    Ok(SignedFile { source, added_lines, bytes })
}

impl SignedFile {
    /// The signed bytes as `parse` takes them.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// How many lines the signed file has more than the file on disk. Positions in the parsed text
    /// are shifted by as many lines for a reader of the file on disk.
    pub(crate) fn added_lines(&self) -> usize {
        self.added_lines
    }

    /// Replaces the file if it is still `expected`, whole or not at all; false if it has changed. A
    /// file that a person saves at the same moment is there afterwards.
    ///
    /// # Errors
    /// `sign.io`
    pub(crate) fn write_over(&self, expected: &[u8]) -> Result<bool, SignError> {
        replace_if(self.source.path(), expected, &self.bytes)
            .map_err(|source| SignError::Io { place: self.source.place(), source })
    }
}

/// The digest that a signature of this file would cover.
pub(crate) fn digest_to_sign(found: &Found) -> Digest {
    Digest::of(&without_line(&found.bytes, &found.file_type.comment))
}
