//! The policy of one call: the trust of this moment, dev mode, and the project's lock.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::facade::Rye;
use super::hooks::BELOW;
use super::listed_files::Lists;
use super::load::Loader;
use crate::base::Digest;
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::lock::{Lock, LockError};
use crate::space::Entry;
use crate::thread::ThreadId;
use crate::trace::{Quiet, Sink};
use crate::verify::{DevMode, Source, TrustStore};

/// How far the lock binds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockMode {
    /// Not at all: the call is about the lock itself, or uses nothing of what it looks at.
    Off,
    /// An item that it lists keeps its signer and its space, and does not go back.
    Listed,
    /// Only the items that it lists may run, to the byte: `--locked`.
    Exact,
}

impl LockMode {
    /// By `--locked`.
    pub(crate) fn from_flag(locked: bool) -> Self {
        if locked { Self::Exact } else { Self::Listed }
    }
}

/// The policy of one call.
///
/// Invariant: the lock is read at most once, when the first admitted item is held against it; so
/// are the files that the tools list, when they are first asked for.
pub(crate) struct CallPolicy<'a> {
    rye: &'a Rye,
    pub(crate) trust: Arc<TrustStore<'a>>,
    dev: DevMode,
    lock_mode: LockMode,
    /// The thread whose model asks for the call.
    pub(crate) thread: Option<ThreadId>,
    /// When the time of that thread is over.
    until: Option<Instant>,
    lock: OnceLock<Result<Lock, Failure>>,
    /// The files that each tool lists.
    lists: OnceLock<Lists>,
}

/// The policies for hooks, by the space of the hook.
pub(crate) struct HookPolicies<'a> {
    project: CallPolicy<'a>,
    others: CallPolicy<'a>,
}

impl<'a> HookPolicies<'a> {
    pub(crate) fn for_space(&'a self, space: Space) -> &'a CallPolicy<'a> {
        if space == Space::Project { &self.project } else { &self.others }
    }
}

impl<'a> CallPolicy<'a> {
    /// The policy of this moment.
    pub(crate) fn new(rye: &'a Rye, lock_mode: LockMode) -> Self {
        let trust = Arc::new(rye.trust());
        Self {
            rye,
            trust,
            dev: rye.dev,
            lock_mode,
            thread: None,
            until: None,
            lock: OnceLock::new(),
            lists: OnceLock::new(),
        }
    }

    /// The policy for a call of the model of a thread, if there is one.
    pub(crate) fn in_thread(self, thread: Option<ThreadId>) -> Self {
        Self { thread, ..self }
    }

    /// The same, whose hooks are asked until then at most.
    pub(crate) fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    /// How long a hook may take that is asked now, whatever it says itself.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        Some(left.max(Duration::from_millis(1)))
    }

    /// A policy without dev mode and the lock: for texts that are being written.
    pub(crate) fn plain(rye: &'a Rye) -> Self {
        Self { dev: DevMode(false), ..Self::new(rye, LockMode::Off) }
    }

    /// A policy without dev mode, dev keys and the lock: for items that are written into the lock.
    pub(crate) fn strict(rye: &'a Rye) -> Self {
        let trust = Arc::new(rye.trust().refusing_dev_keys(true));
        Self { trust, ..Self::plain(rye) }
    }

    /// Loads items by this policy.
    pub(crate) fn loader<'b>(&'b self, sink: &'b dyn Sink) -> Loader<'b> {
        Loader { rye: self.rye, trust: &self.trust, policy: self, sink }
    }

    /// The policies for the hooks of this call: dev mode weakens none; the project's lock holds the
    /// project's, and says nothing of those that judge it.
    pub(crate) fn for_hooks(&self) -> HookPolicies<'a> {
        let with = |lock_mode| CallPolicy {
            rye: self.rye,
            trust: Arc::clone(&self.trust),
            dev: DevMode(false),
            lock_mode,
            thread: self.thread.clone(),
            until: self.until,
            lock: OnceLock::new(),
            lists: OnceLock::new(),
        };
        HookPolicies { project: with(LockMode::Listed), others: with(LockMode::Off) }
    }

    pub(crate) fn dev(&self) -> DevMode {
        self.dev
    }

    /// Holds an admitted source against the lock.
    ///
    /// # Errors
    /// `verify.signer_changed`, `verify.space_changed`, `verify.rolled_back`, `lock.*`; whatever a
    /// lock that cannot be used is refused with.
    pub(crate) fn judge(&self, source: &Source) -> Result<(), Failure> {
        if self.lock_mode == LockMode::Off {
            return Ok(());
        }
        let lock = self.lock()?;
        Ok(lock.judge(source, self.lock_mode == LockMode::Exact)?)
    }

    /// The lock of the project; empty without one, and in a project that is not accepted, whose
    /// files are not interpreted (core 4.3).
    pub(crate) fn lock(&self) -> Result<&Lock, Failure> {
        let lock = self.lock.get_or_init(|| self.read().map_err(Failure::from));
        lock.as_ref().map_err(Failure::clone)
    }

    /// A tool that lists the file, which is not an item by itself then.
    pub(crate) fn tool_that_lists(&self, file: &Entry) -> Option<Ref> {
        let lists = self.lists.get_or_init(|| {
            let items = self.rye.items();
            let tools =
                Space::NEAREST_FIRST.into_iter().flat_map(|space| items.names(space, Kind::Tool));
            items.lists(tools.flatten())
        });
        lists.tool_of(file).map(|by| by.tool.clone())
    }

    /// The digest that the lock lists for an item, if it can say.
    pub(crate) fn locked_digest(&self, item: &Ref, space: Space) -> Option<Digest> {
        self.lock().ok()?.find(item, space).map(|pin| pin.sha256)
    }

    fn read(&self) -> Result<Lock, LockError> {
        let spaces = &self.rye.spaces;
        let project = spaces.get(Space::Project).zip(spaces.project_identity());
        let Some((project, identity)) = project else { return Ok(Lock::default()) };
        let lock = Lock::read(project, || Ok(self.trust.accepts(identity)?))?;
        let lock = lock.unwrap_or_default();
        match self.gone(&lock) {
            Some(item) => Err(LockError::Gone { item }),
            None => Ok(lock),
        }
    }

    /// A hook or a config that the lock lists and its space does not have: no run meets it by name,
    /// so without it a locked run would be another one.
    fn gone(&self, lock: &Lock) -> Option<Ref> {
        if self.lock_mode != LockMode::Exact {
            return None;
        }
        let mut rows = lock.rows().filter_map(|(name, pin)| {
            let item = Ref::new(name.kind?, name.id.clone());
            (item.kind == Kind::Config || item.id.as_str().starts_with(BELOW))
                .then_some((item, pin.space))
        });
        let is_gone = |(item, space): &(Ref, Space)| {
            let loader = self.loader(&Quiet);
            loader.resolver(|resolver| matches!(resolver.in_space(item, *space), Ok(None)))
        };
        rows.find(is_gone).map(|(item, _)| item)
    }
}
