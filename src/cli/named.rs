//! The meaning of a word of a command line: a ref, a glob, or the path of a file or folder of
//! items.
//!
//! The text alone says which. Each segment of an id begins with a letter, a digit or `_`, so a word
//! that begins with `.` or `/`, or goes through a hidden folder, is a path and nothing else; no
//! file that lies somewhere turns a ref into another item.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::value_parsers::{no_match, pattern};
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::rye::Rye;
use crate::space::{Entry, Root, ai_folders, is_test_spec};

/// The meaning of a word.
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
        Self::read_in(word, None, rye)
    }

    /// As [`Self::read`], where `--space` says in which space a ref is looked for.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub(super) fn read_in(word: &str, space: Option<Space>, rye: &Rye) -> Result<Self, Failure> {
        match word {
            word if is_path(word) => at_path(word, rye),
            word if word.contains('*') => Ok(Self::Many(pattern(word)?, None)),
            word => {
                let query: Query = word.parse()?;
                let space = query.space.or(space);
                rye.project().is_no_proposal(&Query { space, ..query.clone() })?;
                Ok(Self::Item(query))
            }
        }
    }

    /// The space that this word and `--space` say.
    ///
    /// # Errors
    /// `cli.usage` if they say two.
    pub(super) fn one_space(
        &self,
        word: &str,
        wanted: Option<Space>,
    ) -> Result<Option<Space>, Failure> {
        let said = match self {
            Self::Item(query) => query.space,
            Self::Many(_, space) => *space,
        };
        match (said, wanted) {
            (Some(said), Some(wanted)) if said != wanted => {
                let message = format!("`{}` is not in the {wanted} space", escape_line(word));
                let help = match is_path(word) {
                    true => format!(
                        "a path says by itself in which space it lies, here the {said} space: leave \
                         `--space` out, or name items of the {wanted} space, such as 'tool:**'"
                    ),
                    false => "name one space".into(),
                };
                Err(CliError::Usage { message, help: Some(help) }.into())
            }
            (said, wanted) => Ok(wanted.or(said)),
        }
    }

    /// The item, if one was named by itself.
    pub(super) fn item(&self) -> Option<Query> {
        match self {
            Self::Item(query) => Some(query.clone()),
            Self::Many(..) => None,
        }
    }

    /// Returns true if a row of the lock is of one of those that are meant.
    pub(super) fn means_row(&self, row: &Query) -> bool {
        let item = row.kind.map(|kind| Ref::new(kind, row.id.clone()));
        match self {
            Self::Item(query) => query == row,
            Self::Many(pattern, space) => {
                item.is_some_and(|item| pattern.matches(&item))
                    && space.is_none_or(|space| Some(space) == row.space)
            }
        }
    }

    /// Returns true if a listed item is one of those that are meant.
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
/// `cli.not_an_item`, also for a folder or a glob; `id.*`, `resolve.proposal`.
pub(super) fn query(word: &str, rye: &Rye) -> Result<Query, Failure> {
    let named = Named::read(word, rye).map_err(|failure| match word.parse::<Query>() {
        // What is neither a ref nor a glob was meant as a ref.
        Err(malformed) if !is_path(word) => Failure::from(malformed),
        _ => failure,
    });
    match named? {
        Named::Item(query) => Ok(query),
        Named::Many(pattern, space) => {
            let what = if is_path(word) { "folder" } else { "glob" };
            let inside = listed(&pattern, space, rye)?.into_iter().next();
            let inside = inside.and_then(|one| Some(Ref::new(one.kind?, one.id)));
            Err(CliError::Several { word: word.to_owned(), what, inside }.into())
        }
    }
}

/// A ref as it was typed; for the path of a file, the ref of its item.
///
/// # Errors
/// Those of [`query`], but for a malformed ref.
pub(super) fn reference(word: &str, rye: &Rye) -> Result<String, Failure> {
    match query(word, rye) {
        Ok(query) if is_path(word) => Ok(query.to_string()),
        // The reader of the id reports its fault.
        Err(failure) if !failure.code().starts_with("id.") => Err(failure),
        _ => Ok(word.to_owned()),
    }
}

/// The items that the words name, each once. A folder, or a glob in the space `within` or else in
/// every space, means its tools and directives, or what is of the kind that it says.
///
/// # Errors
/// Those of [`Named::read`]; `cli.usage` for a folder or a glob without any.
pub(super) fn queries(
    words: &[String],
    within: Option<Space>,
    rye: &Rye,
) -> Result<Vec<Query>, Failure> {
    let mut all: Vec<Query> = Vec::new();
    for word in words {
        let meant = match Named::read(word, rye)? {
            Named::Item(query) => vec![query],
            Named::Many(pattern, said) => {
                let space = said.or(within);
                let meant = listed(&pattern, space, rye)?;
                if meant.is_empty() {
                    return Err(no_match(word, space, rye));
                }
                meant.into_iter().collect()
            }
        };
        for query in meant {
            if !all.contains(&query) {
                all.push(query);
            }
        }
    }
    Ok(all)
}

/// The items of one space, or else of all of them, that a pattern means: tools and directives if it
/// says no kind.
pub(super) fn listed(
    pattern: &Pattern,
    space: Option<Space>,
    rye: &Rye,
) -> Result<BTreeSet<Query>, Failure> {
    let kinds = pattern.kind().map_or(vec![Kind::Tool, Kind::Directive], |kind| vec![kind]);
    let mut found = BTreeSet::new();
    for of in Space::NEAREST_FIRST.into_iter().filter(|of| space.is_none_or(|one| one == *of)) {
        for kind in &kinds {
            for entry in rye.items().list(of, *kind)? {
                let is_meant = pattern.matches(&entry.item) && !entry.item.is_about_keys();
                if is_meant && !rye.items().is_system_copy(&entry) {
                    let bundle = entry.bundle.filter(|_| space.is_some());
                    found.insert(Query { space, bundle, ..entry.item.into() });
                }
            }
        }
    }
    Ok(found)
}

/// Returns true if a word is a path; such a word is never an id.
pub(super) fn is_path(word: &str) -> bool {
    let has_hidden = || word.split('/').any(|segment| segment.starts_with('.'));
    word.starts_with(['.', '/']) || (!word.contains(':') && has_hidden())
}

fn at_path(word: &str, rye: &Rye) -> Result<Named, Failure> {
    let path = Path::new(word);
    let io = |error: std::io::Error| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let near = rye.spaces().with_file_name(name, &rye.types);
        match near.filter(|_| error.kind() == std::io::ErrorKind::NotFound) {
            Some((near, place)) => {
                CliError::NoFile { path: word.to_owned(), near, file: place.path }.into()
            }
            None => not_an_item(word, &format!("it cannot be read: {error}")),
        }
    };
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
    if let Some(Named::Item(query)) = &named {
        rye.project().is_no_proposal(query)?;
    }
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

/// The item that the test spec at this path is of.
pub(super) fn item_of_spec(word: &str, rye: &Rye) -> Option<Query> {
    let real = real_place(Path::new(word)).ok().filter(|_| is_path(word))?;
    rye.spaces().nearest_first().filter(|root| !root.is_embedded()).find_map(|root| {
        let items = root.path("").canonicalize().ok()?;
        let (folder, rest) = real.strip_prefix(items).ok()?.to_str()?.split_once('/')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.folder() == folder)?;
        let (stem, ext) = rest.rsplit_once('.')?;
        let id = stem.strip_suffix(".test").filter(|_| is_test_spec(kind, stem, ext))?;
        let id = id.parse().ok()?;
        Some(Query { space: Some(root.space()), ..Ref::new(kind, id).into() })
    })
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
        // The same reason as in a list of what lies there.
        Some(_) if here => {
            odd_at(real, rye).unwrap_or_else(|| "no kind of item has such a file".to_owned())
        }
        Some(base) => format!("it belongs to another project: give `--project {base}`"),
        None if is_folder => "items lie in the folder `.ai` of a project".to_owned(),
        None => "it lies in no space".to_owned(),
    };
    not_an_item(word, &why)
}

/// Why the file at a real path cannot be an item.
fn odd_at(real: &Path, rye: &Rye) -> Option<String> {
    let odd = rye.items().survey(&[]).ok()?.odd;
    let found = odd.into_iter().find(|odd| real.ends_with(&odd.place.path))?;
    Some(escape_line(&found.why))
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
