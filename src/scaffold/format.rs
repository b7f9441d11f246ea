//! Tidying the headers of files.

use crate::base::bytes::replace_if;
use crate::base::diff::unified;
use crate::diagnostic::{Diagnostic, Place};
use crate::id::Ref;
use crate::parse::{FormattedHeader, formatted};
use crate::resolve::Found;
use crate::rye::{Rye, SignatureState};

use super::error::AuthorError;

/// What became of one file.
#[derive(Debug)]
pub(crate) struct Formatted {
    pub(crate) item: Ref,
    pub(crate) place: Place,
    pub(crate) shaped: Shaped,
}

/// See [`Formatted`].
#[derive(Debug)]
pub(crate) enum Shaped {
    Same,
    /// Its header has another shape now, or would have; what its signature line was worth before.
    Changed {
        unified: String,
        text: String,
        was: SignatureState,
    },
    /// It stays as it is, and why.
    Left(String),
    Failed(Box<Diagnostic>),
}

/// Tidies the headers of files, a row for each in their order, and writes them if `write` is given.
/// Files that others signed are left alone unless they are `named` one by one: a changed file has
/// to be signed again, by whoever changed it.
pub(crate) fn format(rye: &Rye, files: &[Found], write: bool, named: bool) -> Vec<Formatted> {
    let shape = |found: &Found| {
        let (item, place) = (found.item.clone(), found.place.clone());
        Formatted { item, place, shaped: shaped(rye, found, write, named) }
    };
    files.iter().map(shape).collect()
}

fn shaped(rye: &Rye, found: &Found, write: bool, named: bool) -> Shaped {
    if found.embedded {
        return Shaped::Left("it lies in the binary".into());
    }
    if found.bundle.is_some() {
        return Shaped::Left("it belongs to an installed bundle".into());
    }
    let text = match formatted(found) {
        Err(error) => return Shaped::Failed(Box::new(Diagnostic::from(&error))),
        Ok(FormattedHeader::Same) => return Shaped::Same,
        Ok(FormattedHeader::Left(why)) => return Shaped::Left(why),
        Ok(FormattedHeader::Changed(text)) => text,
    };
    let was = rye.signing().signature_state(found);
    if was == SignatureState::Others && !named {
        return Shaped::Left("somebody else signed it; name it to change it all the same".into());
    }
    if write {
        match replace_if(&found.path, &found.bytes, text.as_bytes()) {
            Ok(true) => {}
            Ok(false) => return Shaped::Left("it was saved in the meantime".into()),
            Err(source) => {
                let error = AuthorError::Io { place: found.place.clone(), source };
                return Shaped::Failed(Box::new(Diagnostic::from(&error)));
            }
        }
    }
    let old = String::from_utf8_lossy(&found.bytes);
    let unified = unified(&found.place.path, ("on disk", &old), ("tidy", &text));
    Shaped::Changed { unified, text, was }
}
