//! The facade.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::carry_out::KeptServers;
use super::run_modes::RunModes;
use crate::base::Timestamp;
use crate::diagnostic::Failure;
use crate::exec_protocol::Observers;
use crate::host::Host;
use crate::id::Space;
use crate::registry::RegistryPool;
use crate::search::SearchIndex;
use crate::space::{FileTypes, Spaces, Where};
use crate::thread::ThreadTool;
use crate::verify::{DevMode, NamedKeys, TrustDocument, TrustError, TrustStore};

/// One project as rye sees it: the three spaces and the machine.
///
/// Made by [`super::RyeBuilder`]. Holds no trust: each call reads what it needs anew, so that a
/// revocation counts from the next call on. What can be asked of it stands in services, one
/// question each, such as `items` and `signing`; each stands in a file of its own.
///
/// ```
/// # fn main() -> Result<(), rye::Failure> {
/// let rye = rye::RyeBuilder::new().project("/").build()?;
/// let request = rye::Request::new("tool:rye/file-system/read");
/// let request = request.dry_run(true).param("path", "etc/hostname");
/// let report = rye.run_json(&request);
/// assert_eq!(report["status"], "validation_passed");
/// # Ok(())
/// # }
/// ```
pub struct Rye {
    pub(super) at: Where,
    pub(super) spaces: Spaces,
    /// The session's runtime folder; none that lies in the foreign ground, where tools may write.
    pub(crate) runtime: Option<PathBuf>,
    /// Which extensions are items, and how their comments look.
    pub(crate) types: FileTypes,
    /// Why registered file types could not be read; what runs or verifies stops there.
    pub(super) types_fault: Option<Arc<TrustError>>,
    pub(super) dev: DevMode,
    /// Keys that the caller named for this check, instead of those of a user space.
    pub(super) given: Option<Arc<NamedKeys>>,
    /// Signatures of dev keys do not count, as for `rye verify --ci`.
    pub(super) refuses_dev_keys: bool,
    pub(super) host: Box<dyn Host + Send>,
    /// Programs and MCP servers that serve many calls; they end with the last facade.
    pub(super) servers: Arc<KeptServers>,
    /// Hooks that are told of a call and still run; they are waited for when this is dropped.
    pub(crate) observers: Observers,
    /// The index by which items are found, kept between searches.
    pub(super) search_index: Arc<SearchIndex>,
    /// Connections to the registry of its user space.
    pub(crate) registries: RegistryPool,
    /// How often names near to one that was not found were looked for.
    pub(super) suggested: AtomicUsize,
    /// Tools of the program for models of threads.
    pub(crate) thread_tools: Vec<Arc<dyn ThreadTool>>,
    /// Carries out what takes more than one call.
    pub(super) modes: Arc<dyn RunModes>,
}

impl Rye {
    pub(crate) fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    /// # Errors
    /// `verify.trust_unreadable`: file types are registered that your own key did not sign. The
    /// verbs that mend this go on with the built-in ones.
    pub(crate) fn sound_types(&self) -> Result<(), Failure> {
        self.types_fault.clone().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The options and variables that decided where the spaces are.
    pub(crate) fn located(&self) -> &Where {
        &self.at
    }

    pub(crate) fn dev_mode(&self) -> bool {
        self.dev.0
    }

    pub(crate) fn host(&self) -> &dyn Host {
        self.host.as_ref()
    }

    /// The same, where what a dev key signed does not count.
    pub(crate) fn refusing_dev_keys(self, refuses: bool) -> Self {
        Self { refuses_dev_keys: refuses, ..self }
    }

    /// The same, where these keys and the publisher's count and nothing that a user space holds;
    /// the project counts as accepted. Only to judge it. `self` where there is no project.
    pub(crate) fn judging_by(self, keys: Vec<TrustDocument>) -> Self {
        let Some(identity) = self.spaces.project_identity().cloned() else { return self };
        let given = Some(Arc::new(NamedKeys::new(identity, keys)));
        let (spaces, types) = (self.spaces.without_user(), FileTypes::default());
        Self { given, spaces, types, types_fault: None, dev: DevMode(false), ..self }
    }

    /// The trust of this moment.
    pub(crate) fn trust(&self) -> TrustStore<'_> {
        let trust = match &self.given {
            Some(given) => given.store(now()),
            None => TrustStore::new(self.spaces.get(Space::User), now()),
        };
        trust.refusing_dev_keys(self.refuses_dev_keys)
    }
}

/// The present moment to the millisecond, as threads and runs say when they began and ended.
pub(crate) fn moment() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The clock, to the second.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(jiff::Timestamp::now().as_second())
}
