//! One run that is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::approvals::Approval;
#[cfg(feature = "code")]
use super::nesting::Nesting;
use super::receipts::HeldReceipts;
use crate::base::Digest;
use crate::diagnostic::Failure;
use crate::eval;
use crate::id::Grants;
use crate::plan::{Plan, PlanFile, SandboxChoice, Target, Thread};
use crate::registry::PendingRequest;
use crate::thread::ThreadId;

/// An item to run, with its parameters, and how.
#[derive(Debug, Clone)]
#[must_use]
pub struct Request {
    pub(crate) item: String,
    pub(crate) params: Map<String, Value>,
    /// Values that were typed as text; the item's own declarations say what they are.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) target: Target,
    pub(crate) thread: Thread,
    pub(crate) detached: bool,
    pub(crate) dry_run: bool,
    /// Everything that takes part must be as the lock lists it.
    pub(crate) locked: bool,
    pub(crate) timeout: Option<Duration>,
    /// The plan that must result again, before anything starts.
    pub(crate) plan: Option<PlanFile>,
    /// Where a receipt of the run goes.
    pub(crate) receipt: Option<PathBuf>,
    /// Takes the receipts of the run instead of the disk, until its report is written.
    pub(crate) held_receipts: Option<HeldReceipts>,
    /// The plan is for the record: its program is digested, and an item without a plan is refused.
    pub(crate) for_record: bool,
    /// The real path of a folder that a tool works in instead of the project, and knows as its
    /// project. Items still come from the project. If the tool asks a person there, it is ignored.
    pub(crate) workplace: Option<PathBuf>,
    pub(crate) sandbox: SandboxChoice,
    /// The item is an eval, whose parameters are made from this and from its own declaration.
    pub(crate) eval: Option<eval::EvalRequest>,
    /// For a directive that runs as a thread.
    pub(crate) of_thread: ThreadOptions,
    pub(crate) origin: Origin,
}

/// Options of a thread, over those of the directive.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadOptions {
    /// The tier or the name of the model that answers.
    pub(crate) model: Option<String>,
    /// Limits by their names.
    pub(crate) limits: Map<String, Value>,
}

/// The caller of a run: what it may reach, and what was decided about the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// A person approved exactly this plan, which is claimed before anything starts.
    pub(crate) approval: Option<Approval>,
    /// Items that the caller may reach; `None` is every item.
    pub(crate) grants: Option<Grants>,
    /// Tools that may do more than read, with the bytes that a person approved; `None` is every
    /// tool.
    pub(crate) may_write: Option<BTreeMap<String, Digest>>,
    /// The name of the call that hooks are told; the run's own where there is none.
    pub(crate) call_id: Option<String>,
    /// A person typed it, and is not asked about the calls of a saved snippet unless that is
    /// configured.
    #[cfg(feature = "code")]
    pub(crate) is_typed: bool,
    /// The saved snippets that it is called from.
    #[cfg(feature = "code")]
    pub(crate) within: Nesting,
    /// Private values that its snippet was given and may pass on: they are private here too.
    pub(crate) private: PassedValues,
    /// The thread whose model asks for this.
    pub(crate) thread: Option<ThreadParent>,
    /// The detached run that this is, which waits where it asks a person.
    pub(crate) run: Option<String>,
    /// The id that a caller of this node gave the run.
    pub(crate) served: Option<String>,
}

/// Values that go with a request. Its `Debug` shows none of them.
#[derive(Clone, Default)]
pub(crate) struct PassedValues(pub(crate) Vec<String>);

impl fmt::Debug for PassedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} private values", self.0.len())
    }
}

impl Request {
    /// Runs `item`, a ref or a plain id, here and now, without parameters.
    pub fn new(item: impl Into<String>) -> Self {
        Self {
            item: item.into(),
            params: Map::new(),
            texts: Vec::new(),
            target: Target::Local,
            thread: Thread::Inline,
            detached: false,
            dry_run: false,
            locked: false,
            timeout: None,
            plan: None,
            receipt: None,
            held_receipts: None,
            for_record: false,
            workplace: None,
            sandbox: SandboxChoice::Auto,
            eval: None,
            of_thread: ThreadOptions::default(),
            origin: Origin::default(),
        }
    }

    /// Gives one parameter.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// Runs a directive as a thread of its own.
    pub fn fork(self) -> Self {
        Self { thread: Thread::Fork, ..self }
    }

    /// Does everything but the start.
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// The parameters of a directive, for which a typed value is a text.
    pub(crate) fn inputs(&self) -> Map<String, Value> {
        let mut given = self.params.clone();
        for (name, text) in &self.texts {
            given.insert(name.clone(), text.clone().into());
        }
        given
    }

    /// # Errors
    /// `plan.drifted` where another plan was given, `pending.drifted` where another one was
    /// approved.
    pub(super) fn compare(&self, plan: &Plan) -> Result<(), Failure> {
        let compared = self.plan.as_ref().map(|planned| planned.compare(plan, self.for_record));
        match (&self.origin.approval, compared) {
            (Some(approval), Some(Err(error))) => Err(approval.drifted(&error)),
            (None, Some(Err(error))) => Err(error.into()),
            (Some(approval), _) => approval.check_env(plan),
            (None, _) => Ok(()),
        }
    }
}

/// A thread whose model asks for a run.
#[derive(Debug, Clone)]
pub(crate) struct ThreadParent {
    pub(crate) id: ThreadId,
    /// Items that it may read; those that it may run go with every request.
    pub(crate) fetch: Grants,
    /// Items that it may ask a person to sign.
    pub(crate) sign: Grants,
    /// It waits if one of its calls asks a person.
    pub(crate) can_wait: bool,
    /// When its time is over, for the hooks of its calls.
    pub(crate) until: Option<Instant>,
}

impl ThreadParent {
    /// A thread for which its caller neither reads, asks for signatures nor waits.
    pub(crate) fn alone(id: ThreadId) -> Self {
        let nothing = || Grants::new(Vec::new());
        Self { id, fetch: nothing(), sign: nothing(), can_wait: false, until: None }
    }

    /// The thread that waits with a request, for what is only planned anew; `None` where none does.
    pub(crate) fn that_waits(request: &PendingRequest) -> Option<Self> {
        let id = request.row.thread.as_deref()?.parse().ok()?;
        Some(Self { can_wait: true, ..Self::alone(id) })
    }

    /// The thread that waits where this asks a person.
    pub(crate) fn waiting(&self) -> Option<&str> {
        self.can_wait.then(|| self.id.as_str())
    }

    /// The thread, for calls that are decided with the one that they are part of.
    #[cfg(feature = "code")]
    pub(crate) fn without_waiting(self) -> Self {
        Self { can_wait: false, ..self }
    }
}
