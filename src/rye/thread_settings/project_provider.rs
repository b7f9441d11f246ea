//! A provider of a project, which is sent a key and all that a thread is told: only one that the
//! person let in by name, as it was then.

use crate::diagnostic::Failure;
use crate::id::{Kind, Query, Ref, Space};
use crate::parse::{Item, Provider, ProviderKind};
use crate::rye::Rye;
use crate::rye::call_policy::{CallPolicy, LockMode};
use crate::rye::load::Loader;
use crate::thread::ThreadError;
use crate::trace::Quiet;
use crate::verify::{Permit, ProviderIdentity, Source};

/// The provider of the project that is named, verified, as it is now.
///
/// # Errors
/// `thread.not_a_provider`; whatever the item is refused with.
pub(crate) fn project_provider(rye: &Rye, query: &Query) -> Result<ProviderIdentity, Failure> {
    let policy = CallPolicy::new(rye, LockMode::Listed);
    let loader = policy.loader(&Quiet);
    let kind = query.kind.or(Some(Kind::Tool));
    let query = Query { kind, space: Some(Space::Project), ..query.clone() };
    let (source, parsed) = loader.admit(loader.find(&query)?)?;
    let provider = provider_of(&source, parsed)?;
    Ok(identity(&source, &provider))
}

/// # Errors
/// `thread.not_a_provider`
pub(super) fn provider_of(source: &Source, parsed: Item) -> Result<Provider, ThreadError> {
    let provider = match parsed {
        Item::Tool(tool) => tool.provider,
        _ => None,
    };
    provider.ok_or_else(|| ThreadError::NotAProvider { item: source.item().clone() })
}

/// Lets a provider of the project through that the person let in.
///
/// # Errors
/// `thread.project_provider`
pub(super) fn check_permit(
    loader: &Loader<'_>,
    source: &Source,
    provider: &Provider,
) -> Result<(), ThreadError> {
    if source.space() != Space::Project {
        return Ok(());
    }
    let refused = |item: &Ref, stale| ThreadError::ProjectProvider { item: item.clone(), stale };
    match identity(source, provider).permit(loader.trust) {
        Permit::Given => Ok(()),
        Permit::Unknown => Err(refused(source.item(), None)),
        Permit::Stale(why) => Err(refused(source.item(), Some(why))),
    }
}

fn identity(source: &Source, provider: &Provider) -> ProviderIdentity {
    let path = source.path();
    let (base_url, credential_env) = match &provider.kind {
        ProviderKind::Scripted(_) => (None, None),
        ProviderKind::Http(http) => {
            (Some(http.base.as_str().to_owned()), http.credential_env.clone())
        }
    };
    ProviderIdentity {
        item: source.item().to_string(),
        path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        sha256: source.digest().to_string(),
        base_url,
        credential_env,
    }
}
