//! Why a reference was not answered by one file.

use std::path::PathBuf;

use crate::base::text::escape_line;
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::id::{Kind, Query, Ref, Space};
use crate::space::SpaceError;

codes! {
    RESOLVE_NOT_FOUND = "resolve.not_found", NotFound;
    RESOLVE_AMBIGUOUS_KIND = "resolve.ambiguous_kind", NotFound;
    RESOLVE_AMBIGUOUS_FILE = "resolve.ambiguous_file", NotFound;
    RESOLVE_AMBIGUOUS_SPACE = "resolve.ambiguous_space", NotFound;
    RESOLVE_RESERVED = "resolve.reserved", Refused;
    RESOLVE_PROPOSAL = "resolve.proposal", NotFound;
}

/// Where the pages of codes lay when they were items.
const CODE_PAGES: &str = "rye/errors/";

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ResolveError {
    #[error("`{query}` is in none of the spaces looked into: {}", names(.searched))]
    NotFound {
        query: Query,
        searched: Vec<Space>,
        near: Vec<String>,
        /// The file of the project that the query gives by its file name instead of its id; its
        /// item is the one in `near`.
        file: Option<Place>,
        /// A folder above the project whose own project has an item of this name.
        above: Option<PathBuf>,
    },
    #[error("`{id}` is both {}", refs(.both))]
    AmbiguousKind { id: String, both: Vec<Ref> },
    #[error("two files define `{item}`: {}", paths(.files))]
    AmbiguousFile { item: Ref, files: Vec<Place> },
    #[error("`{item}` lies in more than one space that you write into: {}", in_spaces(.item, .spaces))]
    AmbiguousSpace { item: Ref, spaces: Vec<Space> },
    #[error("`{item}` is reserved for the system space, and this copy differs from the system's")]
    Reserved { item: Ref, place: Place },
    #[error("`{}` proposes a key, and is not an item", escape_line(&.place.path))]
    Proposal { place: Place },
    #[error(transparent)]
    Space(#[from] SpaceError),
}

fn names(spaces: &[Space]) -> String {
    let names: Vec<_> = spaces.iter().map(|s| s.as_str()).collect();
    names.join(", ")
}

fn refs(refs: &[Ref]) -> String {
    let refs: Vec<_> = refs.iter().map(|r| format!("`{r}`")).collect();
    refs.join(" and ")
}

fn in_spaces(item: &Ref, spaces: &[Space]) -> String {
    let refs: Vec<_> = spaces.iter().map(|space| format!("`{item}@{space}`")).collect();
    refs.join(" and ")
}

fn paths(files: &[Place]) -> String {
    let paths = files.iter().map(|file| match &file.space {
        // Of two bundles the paths are the same.
        Some(space) if space.contains(':') => format!("`{space} {}`", file.path),
        _ => format!("`{}`", file.path),
    });
    paths.collect::<Vec<_>>().join(" and ")
}

impl ResolveError {
    /// The error without the names of other items that `may` does not let through; `None` if it
    /// names none.
    pub(crate) fn in_reach(&self, may: impl Fn(&Ref) -> bool) -> Option<Self> {
        match self {
            Self::NotFound { query, searched, near, file, above } => {
                let is_let = |near: &&String| near.parse().is_ok_and(|item| may(&item));
                let near: Vec<String> = near.iter().filter(is_let).cloned().collect();
                let file = file.clone().filter(|_| !near.is_empty());
                let (query, searched) = (query.clone(), searched.clone());
                let own = Ref::new(query.kind.unwrap_or(Kind::Tool), query.id.clone());
                let above = above.clone().filter(|_| may(&own));
                Some(Self::NotFound { query, searched, near, file, above })
            }
            Self::AmbiguousKind { id, both } if !both.iter().all(&may) => {
                let query = id.parse().ok()?;
                let near = both.iter().filter(|item| may(item)).map(Ref::to_string).collect();
                let searched = Space::NEAREST_FIRST.to_vec();
                Some(Self::NotFound { query, searched, near, file: None, above: None })
            }
            _ => None,
        }
    }
}

impl Diagnose for ResolveError {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => RESOLVE_NOT_FOUND,
            Self::AmbiguousKind { .. } => RESOLVE_AMBIGUOUS_KIND,
            Self::AmbiguousFile { .. } => RESOLVE_AMBIGUOUS_FILE,
            Self::AmbiguousSpace { .. } => RESOLVE_AMBIGUOUS_SPACE,
            Self::Reserved { .. } => RESOLVE_RESERVED,
            Self::Proposal { .. } => RESOLVE_PROPOSAL,
            Self::Space(inner) => inner.code(),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { query, .. } if query.id.as_str().starts_with(CODE_PAGES) => {
                let code = &query.id.as_str()[CODE_PAGES.len()..];
                format!("the page of a code is not an item: `rye explain {code}` shows it")
            }
            Self::NotFound { near, file: Some(file), .. } => {
                let item = near.first().map(|item| format!(", which is `{item}`"));
                format!("did you mean `{}`{}?", escape_line(&file.path), item.unwrap_or_default())
            }
            Self::NotFound { above: Some(above), .. } => format!(
                "the project above this one has it: run rye in `{}`",
                escape_line(&above.display().to_string())
            ),
            Self::NotFound { near, .. } if !near.is_empty() => {
                let near: Vec<_> = near.iter().map(|n| format!("`{n}`")).collect();
                format!("did you mean {}?", near.join(" or "))
            }
            Self::NotFound { .. } => "see what is here with `rye list`".into(),
            Self::AmbiguousKind { both, .. } => format!("say which: {}", refs(both)),
            Self::AmbiguousFile { .. } => {
                "keep one of them; if you did not put the other there, find out who did".into()
            }
            Self::AmbiguousSpace { item, spaces } => {
                format!("say which one you mean: {}, or `--space`", in_spaces(item, spaces))
            }
            Self::Reserved { item, .. } => format!(
                "remove the copy; to use it all the same, list `{}` under `allow_shadow` in your own `config:rye/policy`",
                item.id
            ),
            Self::Proposal { .. } => {
                "see whose key it is with `rye trust review`, which names the next step".into()
            }
            Self::Space(inner) => return inner.help(),
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Reserved { place, .. } | Self::Proposal { place } => Some(place.clone()),
            Self::AmbiguousFile { files, .. } => files.first().cloned(),
            Self::Space(inner) => inner.place(),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            // What was typed without a kind is no ref.
            Self::NotFound { query, .. } => query.kind.map(|_| query.to_string()),
            Self::AmbiguousKind { .. } | Self::Proposal { .. } => None,
            Self::AmbiguousFile { item, .. }
            | Self::AmbiguousSpace { item, .. }
            | Self::Reserved { item, .. } => Some(item.to_string()),
            Self::Space(inner) => inner.item(),
        }
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        match self {
            Self::NotFound { query, near, .. } => {
                data.insert("asked".into(), query.to_string().into());
                data.insert("near".into(), near.clone().into())
            }
            Self::AmbiguousKind { id, both } => {
                data.insert("asked".into(), id.clone().into());
                let refs: Vec<_> = both.iter().map(Ref::to_string).collect();
                data.insert("refs".into(), refs.into())
            }
            Self::AmbiguousFile { files, .. } => {
                let paths: Vec<_> = files.iter().map(|f| f.path.clone()).collect();
                data.insert("files".into(), paths.into())
            }
            Self::AmbiguousSpace { item, spaces } => {
                let refs: Vec<_> = spaces.iter().map(|space| format!("{item}@{space}")).collect();
                data.insert("refs".into(), refs.into())
            }
            _ => None,
        };
        data
    }
}
