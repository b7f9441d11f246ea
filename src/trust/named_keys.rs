//! Keys that a caller names for one check, instead of those of a user space: for a machine that
//! judges a project and has no key of its own.

use super::document::TrustDocument;
use super::key_scope::KeyScope;
use super::store::TrustStore;
use crate::base::Timestamp;
use crate::id::Pattern;
use crate::space::ProjectIdentity;

/// Keys by name, for one project, which counts as accepted.
#[derive(Debug)]
pub(crate) struct NamedKeys {
    project: ProjectIdentity,
    documents: Vec<TrustDocument>,
}

impl NamedKeys {
    /// Each key may sign what its document lists, or whatever is signed in that project, hooks and
    /// config too, until its time: what is judged so is not run.
    pub(crate) fn new(project: ProjectIdentity, keys: Vec<TrustDocument>) -> Self {
        let hooks: Vec<Pattern> = "tool:hooks/**".parse().into_iter().collect();
        let limited = |key: TrustDocument| TrustDocument {
            scope: KeyScope {
                not_after: key.scope.not_after,
                wished: key.scope.items.is_some(),
                also: if key.scope.items.is_some() { Vec::new() } else { hooks.clone() },
                items: key.scope.items,
            },
            projects: Some(vec![project.path.clone()]),
            project_ids: vec![project.clone()],
            ..TrustDocument::new(key.public_key, key.owner)
        };
        let documents = keys.into_iter().map(limited).collect();
        Self { project, documents }
    }

    /// Returns true if this is the project that the keys were named for.
    pub(super) fn accepts(&self, project: &ProjectIdentity) -> bool {
        self.project.is(project)
    }

    /// The store of these keys and of the publisher's, and of nothing that a user space says.
    pub(crate) fn store(&self, now: Timestamp) -> TrustStore<'_> {
        let mut store = TrustStore::new(None, now);
        store.given = Some(self);
        store
    }

    pub(super) fn document(&self, key: crate::id::Fingerprint) -> Option<&TrustDocument> {
        self.documents.iter().find(|document| document.fingerprint == key)
    }
}
