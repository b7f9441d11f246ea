//! Writing a new item.

use std::path::Path;

use super::error::AuthorError;
use super::template::{self, Lang};
use crate::base::bytes::write_new;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diagnostic::{Failure, Place};
use crate::id::{IdError, Kind, Query, Ref, Space};
use crate::parse::is_snake_case;
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::rye::Rye;
use crate::space::is_test_spec;
use crate::verify::SignError;

/// An item that was written.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) item: Ref,
    pub(crate) space: Space,
    pub(crate) place: Place,
    pub(crate) lang: Lang,
    /// The content of the file.
    pub(crate) text: String,
    /// Remarks, such as a copy that it shadows, or a name that is nearly its own.
    pub(crate) remarks: Vec<String>,
}

/// Writes a first version of `item` into a space; its signature is left to its author.
///
/// # Errors
/// `author.exists` for an item of that id and kind in the space, in whatever language;
/// `sign.reserved` below `rye/`; `author.language`; `author.io`; `id.malformed` for a directive
/// whose name cannot be one; `space.symlink` where a folder on the way is a link.
pub(crate) fn create(
    rye: &Rye,
    item: &Ref,
    lang: Option<Lang>,
    space: Space,
) -> Result<Made, Failure> {
    let kind = item.kind;
    let Some((lang, ext, text)) = template::find(kind, lang) else {
        let lang = lang.map_or("it", Lang::as_str);
        let known = template::languages(kind);
        return Err(AuthorError::Language { kind, lang, known }.into());
    };
    if item.id.is_reserved() && space != Space::System {
        return Err(SignError::Reserved { item: item.clone() }.into());
    }
    if kind == Kind::Directive && !is_snake_case(item.id.name()) {
        let (text, free) = (item.id.to_string(), item.id.name().to_lowercase());
        let free = free.replace(['-', '.'], "_");
        let why = format!(
            "the last part is the directive's name: lower-case words joined by `_`, such as `{free}`"
        );
        return Err(IdError::Malformed { text, why }.into());
    }
    if is_test_spec(kind, item.id.as_str(), ext) {
        let why = "a file of that name is a test spec, which is not an item".to_owned();
        return Err(IdError::Malformed { text: item.id.to_string(), why }.into());
    }
    if let Some(place) = taken(rye, item, space)? {
        return Err(AuthorError::Exists { item: item.clone(), place }.into());
    }
    let root = match rye.spaces().get(space) {
        Some(root) if root.is_embedded() => {
            return Err(SignError::Embedded { item: item.clone() }.into());
        }
        Some(root) => root,
        // The folder one stands in is the user space; there is no project.
        None => rye.spaces().user()?,
    };
    let space = root.space();
    let remarks = remarks(rye, item, space)?;
    let folder = format!("{}/{}", kind.folder(), item.id.folder());
    let folder = folder.trim_end_matches('/');
    // Says so if one of the folders on the way is a link.
    root.folder(folder)?;
    let relative = format!("{}/{}.{ext}", kind.folder(), item.id);
    let place = root.shown(&relative);
    let author = std::env::var("USER").unwrap_or_default();
    let text = template::filled(text, item, &author);
    write(&root.path(folder), &root.path(&relative), text.as_bytes())
        .map_err(|source| AuthorError::Io { place: place.clone(), source })?;
    Ok(Made { item: item.clone(), space, place, lang, text, remarks })
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    write_new(path, bytes, 0o644)
}

/// The place of the item in a space, if it is there.
pub(super) fn taken(rye: &Rye, item: &Ref, space: Space) -> Result<Option<Place>, Failure> {
    let query = Query { space: Some(space), ..item.clone().into() };
    match rye.signing().find(&query, Some(space)) {
        Ok(found) => Ok(Some(found.place)),
        Err(failure) if failure.reason() == RESOLVE_NOT_FOUND => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn remarks(rye: &Rye, item: &Ref, space: Space) -> Result<Vec<String>, Failure> {
    let mut remarks = Vec::new();
    for other in Space::NEAREST_FIRST.into_iter().filter(|other| *other != space) {
        // What cannot be told of another space is said when it is used.
        if let Ok(Some(place)) = taken(rye, item, other) {
            let verb = if other < space { "shadows" } else { "is shadowed by" };
            remarks.push(format!("it {verb} the {other} space's `{}`", place.path));
        }
    }
    let sibling = match item.kind {
        Kind::Tool => Some(Kind::Directive),
        Kind::Directive => Some(Kind::Tool),
        Kind::Knowledge | Kind::Config => None,
    };
    if let Some(kind) = sibling {
        let sibling = Ref::new(kind, item.id.clone());
        if Space::NEAREST_FIRST.iter().any(|s| matches!(taken(rye, &sibling, *s), Ok(Some(_)))) {
            remarks.push(format!("there is a `{sibling}` too: `{}` alone names both", item.id));
        }
    }
    let mut ids: Vec<String> = Vec::new();
    for own in [Space::Project, Space::User] {
        ids.extend(
            rye.items().list(own, item.kind)?.into_iter().map(|entry| entry.item.id.to_string()),
        );
    }
    let close = near(item.id.as_str(), ids.iter().map(String::as_str), NEAR_NAMES);
    let close: Vec<_> = close
        .into_iter()
        .filter(|id| id != item.id.as_str() && is_slip(id, item.id.as_str()))
        .map(|id| format!("`{}:{id}`", item.kind))
        .collect();
    if !close.is_empty() {
        remarks.push(format!("its name is nearly that of {}", close.join(" and ")));
    }
    Ok(remarks)
}

/// One slip of the fingers apart, and long enough that this is no chance.
fn is_slip(one: &str, other: &str) -> bool {
    one.len() > 4 && strsim::damerau_levenshtein(one, other) == 1
}
