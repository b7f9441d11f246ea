//! What a word of a command line names: a ref, a glob, or the path of a file or folder of items.
//!
//! The text alone says which. Each segment of an id begins with a letter, a digit or `_`, so a word
//! that begins with `.` or `/`, or goes through a hidden folder, is a path and nothing else; no
//! file that lies somewhere turns a ref into another item.

use std::path::{Path, PathBuf};

use super::error::CliError;
use super::value_parsers::pattern;
use crate::diagnostic::Failure;
use crate::id::{Kind, Pattern, Query, Space};
use crate::rye::Rye;
use crate::space::{Entry, Root, ai_folders, is_test_spec};

/// What a word names.
#[derive(Debug)]
pub(super) enum Named {
    Item(Query),
    /// Every item that the pattern means; those of one space if a folder was named.
    Many(Pattern, Option<Space>),
}

impl Named {
    /// # Errors
    /// `cli.not_an_item`, `cli.usage` for a malformed glob, `id.*`.
    pub(super) fn read(word: &str, rye: &Rye) -> Result<Self, Failure> {
        match word {
            word if is_path(word) => at_path(word, rye),
            word if word.contains('*') => Ok(Self::Many(pattern(word)?, None)),
            word => Ok(Self::Item(word.parse()?)),
        }
    }

    /// The item, if one was named by itself.
    pub(super) fn item(&self) -> Option<Query> {
        match self {
            Self::Item(query) => Some(query.clone()),
            Self::Many(..) => None,
        }
    }

    /// Whether a listed item is one of those that are meant.
    pub(super) fn means(&self, entry: &Entry) -> bool {
        match self {
            Self::Item(query) => {
                entry.item.id == query.id
                    && query.kind.is_none_or(|kind| kind == entry.item.kind)
                    && query.space.is_none_or(|space| space == entry.space)
                    && (query.bundle.is_none() || query.bundle == entry.bundle)
            }
            Self::Many(pattern, space) => {
                pattern.matches(&entry.item) && space.is_none_or(|space| space == entry.space)
            }
        }
    }
}

/// The one item that a word names: a ref, or the path of its file.
///
/// # Errors
/// `cli.not_an_item`, `id.*`.
pub(super) fn query(word: &str, rye: &Rye) -> Result<Query, Failure> {
    if !is_path(word) {
        return Ok(word.parse()?);
    }
    match at_path(word, rye)? {
        Named::Item(query) => Ok(query),
        Named::Many(..) => Err(not_an_item(word, "it is a folder, and one item is asked for")),
    }
}

/// A ref as it was typed; for the path of a file, the ref of its item.
///
/// # Errors
/// `cli.not_an_item`.
pub(super) fn reference(word: &str, rye: &Rye) -> Result<String, Failure> {
    match is_path(word) {
        true => Ok(query(word, rye)?.to_string()),
        false => Ok(word.to_owned()),
    }
}

/// The items that the words name, each a ref or the path of a file.
///
/// # Errors
/// Those of [`query`].
pub(super) fn queries(words: &[String], rye: &Rye) -> Result<Vec<Query>, Failure> {
    words.iter().map(|word| query(word, rye)).collect()
}

/// Whether a word is a path; such a word is never an id.
pub(super) fn is_path(word: &str) -> bool {
    let has_hidden = || word.split('/').any(|segment| segment.starts_with('.'));
    word.starts_with(['.', '/']) || (!word.contains(':') && has_hidden())
}

fn at_path(word: &str, rye: &Rye) -> Result<Named, Failure> {
    let path = Path::new(word);
    let io = |error: std::io::Error| not_an_item(word, &format!("it cannot be read: {error}"));
    let is_folder = path.metadata().map_err(io)?.is_dir();
    if let Some(link) = project_link(path, is_folder, rye) {
        let why = format!("`{}` is a link of the project: name its end", link.display());
        return Err(not_an_item(word, &why));
    }
    let real = if is_folder { path.canonicalize() } else { real_place(path) }.map_err(io)?;
    let mut roots = rye.spaces().nearest_first().filter(|root| !root.is_embedded());
    let named = roots.find_map(|root| match is_folder {
        true => items_below(&real, root),
        false => item_at(&real, root, rye),
    });
    named.ok_or_else(|| outside(word, &real, is_folder, rye))
}

/// The real folder of a file with the name that was typed: of a link itself, not of its end.
fn real_place(path: &Path) -> std::io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
    Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
}

/// The first link on the way to a folder or a file that lies in the project itself: a clone may
/// have brought it, and it leads wherever it wants. A file that is a link is told by its own name.
fn project_link<'a>(path: &'a Path, is_folder: bool, rye: &Rye) -> Option<&'a Path> {
    let project = rye.spaces().project_path();
    let is_link = |step: &&Path| {
        step.is_symlink() && real_place(step).is_ok_and(|real| real.starts_with(project))
    };
    let steps: Vec<&Path> = path.ancestors().skip(usize::from(!is_folder)).collect();
    steps.into_iter().rev().find(is_link)
}

fn item_at(real: &Path, root: &Root, rye: &Rye) -> Option<Named> {
    let items = root.path("").canonicalize().ok()?;
    let entry = root.entry(real.strip_prefix(items).ok()?.to_str()?, &rye.types)?;
    let bundle = root.bundle().cloned();
    Some(Named::Item(Query { space: Some(root.space()), bundle, ..entry.item.into() }))
}

fn items_below(real: &Path, root: &Root) -> Option<Named> {
    let named = |text: String| Some(Named::Many(text.parse().ok()?, Some(root.space())));
    let items = root.path("").canonicalize().ok()?;
    if real == items || root.base().canonicalize().is_ok_and(|base| base == real) {
        return named("*:**".to_owned());
    }
    let below = real.strip_prefix(items).ok()?.to_str()?;
    let (folder, rest) = below.split_once('/').unwrap_or((below, ""));
    let kind = Kind::ALL.into_iter().find(|kind| kind.folder() == folder)?;
    let rest = if rest.is_empty() { String::new() } else { format!("{rest}/") };
    named(format!("{kind}:{rest}**"))
}

/// The error for a path at which no space of this call has items.
fn outside(word: &str, real: &Path, is_folder: bool, rye: &Rye) -> Failure {
    if let Some(tool) = rye.items().tool_with_file(real) {
        return CliError::FileOfATool { path: word.to_owned(), tool }.into();
    }
    let here = rye
        .spaces()
        .nearest_first()
        .any(|root| root.path("").canonicalize().is_ok_and(|items| real.starts_with(items)));
    let other = ai_folders(real).next_back().map(|(base, _)| base.display().to_string());
    if let (true, None, Err(no_project)) = (is_folder, &other, rye.spaces().project()) {
        return no_project.into();
    }
    let name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (stem, ext) = name.rsplit_once('.').unwrap_or((name, ""));
    let why = match other {
        Some(_) if here && is_test_spec(Kind::Tool, stem, ext) => {
            "it is a test spec, which `rye test` tries".to_owned()
        }
        Some(_) if here => "no kind of item has such a file".to_owned(),
        Some(base) => format!("it belongs to another project: give `--project {base}`"),
        None if is_folder => "items lie in the folder `.ai` of a project".to_owned(),
        None => "it lies in no space".to_owned(),
    };
    not_an_item(word, &why)
}

fn not_an_item(path: &str, why: &str) -> Failure {
    CliError::NotAnItem { path: path.to_owned(), why: why.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use super::is_path;
    use crate::id::{ItemId, Query};

    #[test]
    fn no_word_is_both_a_path_and_a_ref() {
        for path in [".", "..", "./x.sh", ".ai/tools/x.py", "/p/.ai/tools/x.py", "../x", "a/.ai/x"]
        {
            assert!(is_path(path), "{path}");
            assert!(path.parse::<ItemId>().is_err() && path.parse::<Query>().is_err(), "{path}");
        }
        for word in ["x.sh", "acme/1.2.3", "tool:acme/x", "tool:../x", "a/..x:y", "acme/**", ""] {
            assert!(!is_path(word), "{word}");
        }
    }
}
