//! Runs that wait for a person (exec-protocol 4): kept in the registry, and claimed when approved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::facade::{Rye, now};
#[cfg(feature = "code")]
use super::kept_snippet::WaitedSnippet;
use super::request::{Origin, Request, ThreadParent};
use crate::base::standing;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::execute::{Outcome, Pending};
use crate::plan::{Plan, PlanError, PlanFile};
use crate::registry::{
    Decision, EnvDigests, NewRequest, PendingRequest, Registry, RegistryError, RequestKind,
};

/// That a person approved a kept request.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) decision: Decision,
    /// The values that the project's `.env` gave when it was asked; without them none is the same.
    env: Option<EnvDigests>,
    /// This very run claimed it, so what comes of it is this run's to say.
    claimed: Arc<AtomicBool>,
    /// The saved snippet that waited.
    #[cfg(feature = "code")]
    pub(crate) snippet: Option<Arc<WaitedSnippet>>,
}

impl Approval {
    /// As the program is told.
    pub(crate) fn to_json(&self) -> Value {
        json!({"id": self.id, "by": self.decision.by, "at": self.decision.at})
    }

    /// The saved snippet that waited is to go on.
    #[cfg(feature = "code")]
    pub(crate) fn goes_on(self, snippet: Arc<WaitedSnippet>) -> Self {
        Self { snippet: Some(snippet), ..self }
    }

    /// The failure where a hook wants other arguments than the approved ones.
    pub(crate) fn replaced(&self) -> Failure {
        let why = "a hook wants other arguments than those that were approved".into();
        RegistryError::Drifted { id: self.id.clone(), why }.into()
    }

    /// The failure where another plan would run now than the one that waited.
    pub(crate) fn drifted(&self, error: &PlanError) -> Failure {
        RegistryError::Drifted { id: self.id.clone(), why: error.to_string() }.into()
    }

    /// Refuses a run that would get other values of the project's `.env` than the one that asked.
    ///
    /// # Errors
    /// `pending.drifted` with the names of the variables, and no value.
    pub(crate) fn check_env(&self, plan: &Plan) -> Result<(), Failure> {
        let holds =
            |name: &str, value: &str| self.env.as_ref().is_some_and(|env| env.holds(name, value));
        let others = plan.of_env_file().filter(|(name, value)| !holds(name, value));
        let others: Vec<_> = others.map(|(name, _)| format!("`{}`", escape_line(name))).collect();
        if others.is_empty() {
            return Ok(());
        }
        let names = others.join(", ");
        let why = format!("the project's `.env` says something else of {names} now");
        Err(RegistryError::Drifted { id: self.id.clone(), why }.into())
    }
}

/// Runs that wait for a person.
#[derive(Clone, Copy)]
pub(crate) struct Approvals<'a> {
    pub(crate) rye: &'a Rye,
}

impl Rye {
    /// Runs that wait for a person.
    pub(crate) fn approvals(&self) -> Approvals<'_> {
        Approvals { rye: self }
    }
}

impl Approvals<'_> {
    /// The registry of the user space; `None` if there is none yet.
    pub(crate) fn registry(self) -> Result<Option<Registry>, Failure> {
        Ok(Registry::find(self.rye.spaces.user()?.base())?)
    }

    /// Keeps what a tool asked for, with the plan and the parameters, unless it is kept already;
    /// gives the id. A thread or a detached run may wait with it.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    pub(crate) fn keep(
        self,
        plan: &Plan,
        for_record: bool,
        pending: &Pending,
        origin: &Origin,
    ) -> Result<String, Failure> {
        if let Some(id) = &pending.kept_as {
            return Ok(id.clone());
        }
        let file = PlanFile::write(plan, true)?;
        let mut registry = Registry::open(self.rye.spaces.user()?.base())?;
        let env = registry.env_digests(plan.of_env_file())?;
        let private = private_in(plan, &file)?;
        Ok(registry.postpone(&NewRequest {
            kind: RequestKind::Tool,
            env: &env,
            asked_at: &now().to_string(),
            item: &plan.item().to_string(),
            project: self.rye.spaces.project_path(),
            payload: &file,
            for_record,
            reason: &pending.reason,
            message: &pending.message,
            thread: origin.thread.as_ref().and_then(ThreadParent::waiting),
            run: origin.run.as_deref(),
            private: &private,
        })?)
    }

    /// Who decides, and when: by the own key, which says who you are.
    pub(crate) fn decision(self) -> Decision {
        let own = self.rye.trust().own().ok().flatten().map(|key| key.fingerprint().to_string());
        Decision {
            by: own.unwrap_or_else(|| "somebody without a key".into()),
            at: now().to_string(),
        }
    }

    /// Takes the request for the run that follows.
    ///
    /// # Errors
    /// `pending.decided`, `registry.io`
    pub(crate) fn claim(self, approval: &Approval) -> Result<(), Failure> {
        #[cfg(feature = "code")]
        if approval.snippet.as_ref().is_some_and(|waited| !waited.is_approved) {
            // That was written before: it is run once more to be told so.
            return Ok(());
        }
        let registry = Registry::open(self.rye.spaces.user()?.base())?;
        registry.claim(&approval.id, &approval.decision)?;
        approval.claimed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Rejects the request that a run kept, where a hook refuses the run behind it: the caller is
    /// not told of the request, so no person is to decide it.
    ///
    /// # Errors
    /// The refusal of the hook; `registry.io`
    pub(crate) fn withdraw_if(
        self,
        after: Result<(), Failure>,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let kept = outcome.pending.as_ref().and_then(|pending| pending.kept_as.as_deref());
        let (Err(refused), Some(id)) = (&after, kept) else { return after };
        if let Some(registry) = self.registry()? {
            registry.reject(id, &self.decision(), &refused.to_string())?;
        }
        after
    }
}

/// The run of a kept request as it was asked for, and whether that run claimed it.
pub(crate) fn approved_run(
    request: &PendingRequest,
    decision: Decision,
) -> Result<(Request, Arc<AtomicBool>), Failure> {
    let plan = PlanFile::read(&request.payload)?;
    let claimed = Arc::new(AtomicBool::new(false));
    let id = request.row.id.clone();
    let mut asked = Request::new(request.row.item.clone());
    asked.params = plan.params().cloned().unwrap_or_default();
    asked.timeout = Some(plan.timeout());
    asked.plan = Some(plan);
    // Made the same way, so that it is compared like with like.
    asked.for_record = request.for_record;
    let (env, shared) = (request.env.clone(), Arc::clone(&claimed));
    let approval = Approval {
        id,
        decision,
        env,
        claimed: shared,
        #[cfg(feature = "code")]
        snippet: None,
    };
    asked.origin = Origin { approval: Some(approval), ..Origin::default() };
    Ok((asked, claimed))
}

/// The private values of a plan that stand in the parameters of its file.
///
/// # Errors
/// `plan.malformed`, which does not happen to a file that was just written.
pub(crate) fn private_in(plan: &Plan, file: &[u8]) -> Result<Vec<String>, Failure> {
    let params = PlanFile::read(file)?.params().cloned().unwrap_or_default();
    Ok(standing(plan.private_values(), &Value::from(params).to_string()))
}
