//! The items that a trust document lets its key sign (core 4.2).

use super::document::TrustDocument;
use crate::id::{Kind, Pattern, Ref, Space};
use crate::space::ProjectIdentity;

/// Why a key may not sign an item where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutOfScope {
    #[error("the publisher's key admits items of the system space only")]
    PublisherElsewhere,
    #[error("only the publisher's key admits items in the binary")]
    Embedded,
    #[error("your own key signs everything but ids under `rye/`")]
    OwnReserved,
    #[error("{0}")]
    DevKey(&'static str),
    #[error("an external system space needs a trust document that names its items")]
    SystemUnnamed,
    #[error("its trust document does not list ids under `rye/`")]
    Reserved,
    #[error("its trust document does not list hooks")]
    Hook,
    #[error("its trust document does not list config, nor is it for this project alone")]
    Config,
    #[error("its trust document does not list this item")]
    NotListed,
    #[error("its trust document names other projects")]
    Elsewhere,
    #[error("the caller that sent it may not send items of that key, or of that kind")]
    NotOfCaller,
}

impl OutOfScope {
    /// Returns true if the key may sign the item once its document names it.
    pub(crate) fn ends_when_named(self) -> bool {
        matches!(self, Self::Hook | Self::Config | Self::NotListed)
    }
}

/// Why a document's key may not sign the item there; `None` if it may.
pub(super) fn scope_of(
    document: &TrustDocument,
    item: &Ref,
    space: Space,
    project: Option<&ProjectIdentity>,
) -> Option<OutOfScope> {
    // A pattern must name hooks explicitly, because a hook sees every call: `tool:**` means the
    // tools that are called.
    let names = |pattern: &Pattern| !item.is_hook() || pattern.as_str().starts_with("tool:hooks/");
    let lists =
        |items: &[Pattern]| items.iter().any(|pattern| names(pattern) && pattern.matches(item));
    if !lists(&document.scope.also) {
        let by_default = document.scope.items.is_none() || document.scope.wished;
        if by_default && let Some(why) = outside_default(document, item, space) {
            return Some(why);
        }
        if document.scope.items.as_ref().is_some_and(|items| !lists(items)) {
            return Some(OutOfScope::NotListed);
        }
    }
    elsewhere(document, space, project)
}

/// The reason why no key may sign the item unless a person named it; `None` if a key may. A
/// project's config only narrows what runs in that project, so a key that counts in named projects
/// may sign theirs.
fn outside_default(document: &TrustDocument, item: &Ref, space: Space) -> Option<OutOfScope> {
    let is_for_projects = document.projects.is_some() && space == Space::Project;
    match () {
        () if space == Space::System => Some(OutOfScope::SystemUnnamed),
        () if item.id.is_reserved() || item.is_about_keys() => Some(OutOfScope::Reserved),
        () if item.is_hook() => Some(OutOfScope::Hook),
        () if item.kind == Kind::Config && !is_for_projects => Some(OutOfScope::Config),
        () => None,
    }
}

/// Why a document that names projects does not count here.
pub(super) fn elsewhere(
    document: &TrustDocument,
    space: Space,
    project: Option<&ProjectIdentity>,
) -> Option<OutOfScope> {
    document.projects.as_ref()?;
    let elsewhere = space != Space::Project || names_others(document, project);
    elsewhere.then_some(OutOfScope::Elsewhere)
}

/// Returns true if a document names projects, and this project is not one of them.
pub(super) fn names_others(document: &TrustDocument, project: Option<&ProjectIdentity>) -> bool {
    let Some(projects) = &document.projects else { return false };
    let here = project.is_some_and(|here| {
        let mut written = document.project_ids.iter().filter(|id| id.path == here.path).peekable();
        // A document that a person wrote by hand may name the path alone.
        let same_folder = written.peek().is_none() || written.any(|id| id.is(here));
        projects.contains(&here.path) && same_folder
    });
    !here
}
