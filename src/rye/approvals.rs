//! Runs that wait for a person (exec-protocol 4): kept in the registry, and run once when approved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};

use super::facade::{Rye, now};
use super::failed::Failed;
#[cfg(feature = "code")]
use super::paused::{SnippetRows, WaitedSnippet};
use super::run::{PassedValues, Request};
use super::threads::{CarriedOutFor, ThreadParent, WaitingThreads};
use crate::base::durations::{PENDING_LOOK_MS, wait_of};
use crate::base::standing;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::execute::{Mask, Outcome, Pending};
use crate::plan::{Plan, PlanError, PlanFile};
#[cfg(feature = "code")]
use crate::registry::unclaim_snippet;
use crate::registry::{
    AfterDecision, Decision, EnvDigests, PendingRequest, PendingState, Postponed, Registry,
    RegistryError, decide,
};
use crate::report::{Report, error_json};
use crate::trace::Sink;

/// That a person approved a kept request.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(super) id: String,
    pub(super) decision: Decision,
    /// What the project's `.env` gave when it was asked, if that is known.
    env: Option<EnvDigests>,
    /// This very run claimed it, so what comes of it is this run's to say.
    claimed: Arc<AtomicBool>,
    /// The saved snippet that waited.
    #[cfg(feature = "code")]
    pub(super) snippet: Option<Arc<WaitedSnippet>>,
}

impl Approval {
    /// As the program is told.
    pub(super) fn to_json(&self) -> Value {
        json!({"id": self.id, "by": self.decision.by, "at": self.decision.at})
    }

    /// The saved snippet that waited is to go on.
    #[cfg(feature = "code")]
    pub(super) fn goes_on(self, snippet: Arc<WaitedSnippet>) -> Self {
        Self { snippet: Some(snippet), ..self }
    }

    /// A hook wants other arguments than the approved ones, which nobody replaces.
    pub(super) fn replaced(&self) -> Failure {
        let why = "a hook wants other arguments than those that were approved".into();
        RegistryError::Drifted { id: self.id.clone(), why }.into()
    }

    /// What was planned then is not what would run now.
    pub(super) fn drifted(&self, error: &PlanError) -> Failure {
        RegistryError::Drifted { id: self.id.clone(), why: error.to_string() }.into()
    }

    /// Refuses a run that would get other values of the project's `.env` than the one that asked.
    ///
    /// # Errors
    /// `pending.drifted` with the names of the variables, and no value.
    pub(super) fn check_env(&self, plan: &Plan) -> Result<(), Failure> {
        let holds =
            |name: &str, value: &str| self.env.as_ref().is_some_and(|env| env.holds(name, value));
        let others = plan.of_env_file().filter(|(name, value)| !holds(name, value));
        let others: Vec<_> = others.map(|(name, _)| format!("`{}`", escape_line(name))).collect();
        if others.is_empty() {
            return Ok(());
        }
        let names = others.join(", ");
        let why = match self.env {
            Some(_) => format!("the project's `.env` says something else of {names} now"),
            None => {
                format!("an earlier rye kept it, without what the project's `.env` gave as {names}")
            }
        };
        Err(RegistryError::Drifted { id: self.id.clone(), why }.into())
    }
}

/// The step that follows the decision of a request.
pub(crate) enum Decided {
    /// These, which were asked at once with it, are open.
    Noted(Vec<PendingRequest>),
    /// The request is carried out as a whole, with this decision.
    Approved(PendingRequest, Decision),
    /// The request is rejected as a whole, with this decision.
    Rejected(PendingRequest, Decision),
}

/// Runs that wait for a person.
#[derive(Clone, Copy)]
pub(crate) struct Approvals<'a> {
    pub(super) rye: &'a Rye,
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
    /// gives the id. A thread may wait with it.
    ///
    /// # Errors
    /// `pending.full`, `registry.io`
    pub(super) fn keep(
        self,
        plan: &Plan,
        for_record: bool,
        pending: &Pending,
        thread: Option<&str>,
    ) -> Result<String, Failure> {
        if let Some(id) = &pending.kept_as {
            return Ok(id.clone());
        }
        let file = PlanFile::write(plan, true)?;
        let mut registry = Registry::open(self.rye.spaces.user()?.base())?;
        let env = registry.env_digests(plan.of_env_file())?;
        let private = private_in(plan, &file)?;
        Ok(registry.postpone(&Postponed {
            env: &env,
            asked_at: &now().to_string(),
            item: &plan.item().to_string(),
            project: self.rye.spaces.project_path(),
            plan: &file,
            for_record,
            reason: &pending.reason,
            message: &pending.message,
            thread,
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

    /// Takes what a person says of a request; `why` is the reason of one that they reject. Of a
    /// snippet that asked several questions at once nothing runs before all are decided.
    ///
    /// # Errors
    /// `pending.decided`, `pending.held`, `pending.drifted`, `registry.io`
    pub(crate) fn decide(
        self,
        request: PendingRequest,
        decision: Decision,
        why: Option<&str>,
    ) -> Result<Decided, Failure> {
        let registry = self.registry()?.filter(|_| request.snippet.is_some());
        let Some(registry) = registry else {
            return Ok(match why {
                None => Decided::Approved(request, decision),
                Some(_) => Decided::Rejected(request, decision),
            });
        };
        #[cfg(feature = "code")]
        if let (None, Some(text)) = (why, &request.snippet) {
            self.unchanged(&request.row.id, text)?;
        }
        match decide(&registry, &request.row, &decision, why)? {
            AfterDecision::Noted(ids) => {
                let open = ids.iter().map(|id| registry.request(id)).collect::<Result<_, _>>()?;
                Ok(Decided::Noted(open))
            }
            AfterDecision::Last(decision, state) => {
                let whole = registry.request(request.row.whole())?;
                Ok(match state {
                    PendingState::Approved => Decided::Approved(whole, decision),
                    _ => Decided::Rejected(whole, decision),
                })
            }
        }
    }

    /// Takes the request for the run that follows.
    ///
    /// # Errors
    /// `pending.decided`, `registry.io`
    pub(super) fn claim(self, approval: &Approval) -> Result<(), Failure> {
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

    /// What a run kept is rejected where a hook refuses the run behind it: whoever called is not
    /// told of the request, so nobody is to decide it.
    ///
    /// # Errors
    /// What the hook said; `registry.io`
    pub(super) fn withdraw_if(
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

    /// Runs a kept request: planned anew, compared with what was asked for, claimed, started. This
    /// is the project that it was asked in.
    pub(crate) fn approve(
        self,
        request: &PendingRequest,
        decision: Decision,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        self.approve_in((None, Vec::new()), request, decision, start, sink)
    }

    /// The same for what was asked in a thread that does not wait for it, or by a snippet that was
    /// given these private values.
    pub(super) fn approve_in(
        self,
        (parent, private): (Option<ThreadParent>, Vec<String>),
        request: &PendingRequest,
        decision: Decision,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let early = |failure| not_run(failure, request, start);
        if request.row.state != PendingState::Waiting {
            let (id, state) = (request.row.id.clone(), request.row.state);
            return Err(early(RegistryError::Decided { id, state }.into()));
        }
        if request.row.thread.is_some() {
            // The call is the thread's: it is made there, and the thread goes on.
            return WaitingThreads::new(self.rye).approve(request, decision, start, sink);
        }
        let (asked, claimed) = approved(request, decision).map_err(early)?;
        #[cfg(feature = "code")]
        let asked = self.with_snippet(asked, request, true).map_err(early)?;
        let private = PassedValues(private);
        let asked = Request { parent: parent.or(asked.parent.clone()), private, ..asked };
        let waits = CarriedOutFor::watched(self.rye, &request.row.id).map_err(early)?;
        let result = self.rye.runs().run(&asked, start, sink);
        let result = match (result, waits) {
            (Err(failed), Some(waits)) => Err(waits.told(failed)),
            (result, _) => result,
        };
        if !claimed.load(Ordering::Relaxed) {
            // Nothing was started, or somebody else's run of it was.
            return result;
        }
        #[cfg(feature = "code")]
        if let Err(failed) = &result
            && failed.failure.interrupted().is_some()
            && self.waits_again(request).map_err(early)?
        {
            return result;
        }
        let told = match &result {
            // Whoever shows it later knows none of the values.
            Ok(report) => report.to_masked_json(start.elapsed()),
            Err(failed) => {
                let (item, chain) = (Some(failed.item.as_str()), &failed.chain);
                error_json(&failed.failure.diagnostic(), item, chain, failed.elapsed, None)
            }
        };
        let kept = self.registry().and_then(|registry| match registry {
            Some(registry) => Ok(registry.finish(&request.row.id, &told.to_string())?),
            None => Ok(()),
        });
        match (result, kept) {
            (Ok(_), Err(lost)) => Err(early(lost)),
            (result, _) => result,
        }
    }

    /// A saved snippet that was asked to end before anything new of it ran may be decided again.
    #[cfg(feature = "code")]
    fn waits_again(self, request: &PendingRequest) -> Result<bool, Failure> {
        let registry = self.registry()?;
        let again = registry.map(|registry| unclaim_snippet(&registry, &request.row.id));
        Ok(again.transpose()?.unwrap_or(false))
    }

    /// What a person is shown of a kept request before they decide it, without the values of
    /// secrets. It is planned anew for that, so what changed since is not shown.
    ///
    /// # Errors
    /// `pending.drifted`, `plan.malformed`; those of planning.
    #[cfg(feature = "mcp")]
    pub(crate) fn shown(self, request: &PendingRequest) -> Result<RequestRows, Failure> {
        let (asked, _) = approved(request, self.decision())?;
        let parent = ThreadParent::that_waits(request);
        let asked = Request { parent, ..asked.dry_run(true) };
        let report = self.rye.runs().run(&asked, Instant::now(), &crate::trace::Quiet);
        let report = report.map_err(|failed| failed.failure)?;
        let values = match &report {
            Report::Tool(tool) => tool.plan.private_values().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        RequestRows::new(request, &PlanFile::read(&request.plan)?, &values)
    }

    /// Waits until somebody decided, and gives the report of the run as JSON.
    ///
    /// # Errors
    /// `pending.rejected`, `pending.lost`, `pending.not_found`, `registry.io`; the signal that
    /// ended the wait.
    pub(crate) fn wait_for(self, id: &str) -> Result<Result<Value, i32>, Failure> {
        let registry = Registry::open(self.rye.spaces.user()?.base())?;
        loop {
            // Before it is read, so that nothing written in between is missed.
            let version = registry.version()?;
            let request = registry.request(id)?;
            let result = request.result.unwrap_or_default();
            match request.row.state {
                PendingState::Rejected => {
                    return Err(RegistryError::Rejected { id: id.to_owned(), why: result }.into());
                }
                PendingState::Done => {
                    return Ok(Ok(crate::parse::kept_json(result.as_bytes()).unwrap_or_default()));
                }
                PendingState::Lost => {
                    return Err(RegistryError::Lost { id: id.to_owned() }.into());
                }
                PendingState::Waiting | PendingState::Approved => {}
            }
            // Its plan may be large: it is read again when there may be something else to read.
            loop {
                if let Ok(Some(signal)) = self.rye.host().sleep(wait_of(PENDING_LOOK_MS)) {
                    return Ok(Err(signal));
                }
                if request.row.is_left() || registry.version()? != version {
                    break;
                }
            }
        }
    }
}

/// A failure before the run of a kept request.
pub(super) fn not_run(failure: Failure, request: &PendingRequest, start: Instant) -> Failed {
    Failed {
        failure,
        item: request.row.item.clone(),
        chain: Vec::new(),
        elapsed: start.elapsed(),
        warnings: Vec::new(),
        told: Vec::new(),
        trace: None,
    }
}

/// The run of a kept request as it was asked for, and whether that run claimed it.
pub(super) fn approved(
    request: &PendingRequest,
    decision: Decision,
) -> Result<(Request, Arc<AtomicBool>), Failure> {
    let plan = PlanFile::read(&request.plan)?;
    let claimed = Arc::new(AtomicBool::new(false));
    let id = request.row.id.clone();
    let mut asked = Request::new(request.row.item.clone());
    asked.params = plan.params().cloned().unwrap_or_default();
    asked.timeout = Some(plan.timeout());
    asked.plan = Some(plan);
    // Made the same way, so that it is compared like with like.
    asked.for_record = request.for_record;
    let (env, shared) = (request.env.clone(), Arc::clone(&claimed));
    asked.approval = Some(Approval {
        id,
        decision,
        env,
        claimed: shared,
        #[cfg(feature = "code")]
        snippet: None,
    });
    Ok((asked, claimed))
}

/// What of the private values of a plan stands in the parameters of its file.
///
/// # Errors
/// `plan.malformed`, which does not happen to a file that was just written.
pub(super) fn private_in(plan: &Plan, file: &[u8]) -> Result<Vec<String>, Failure> {
    let params = PlanFile::read(file)?.params().cloned().unwrap_or_default();
    Ok(standing(plan.private_values(), &Value::from(params).to_string()))
}

/// What a person is shown of a request, row by row: a label and a value that may be of any form.
pub(crate) struct RequestRows {
    /// What rye knows of it.
    pub(crate) known: Vec<(&'static str, String)>,
    /// The tool's own words, which nobody checked.
    pub(crate) said: [(&'static str, String); 2],
    /// The parameters, which stand in `known` as text.
    pub(crate) params: Value,
}

impl RequestRows {
    /// What stands above the tool's own words.
    pub(crate) const SAID: &str = "The tool says, in words that nobody checked:";

    /// None of these values is shown.
    ///
    /// # Errors
    /// `pending.drifted`: of a saved snippet that waits it is not what was kept.
    pub(crate) fn new(
        request: &PendingRequest,
        plan: &PlanFile,
        values: &[String],
    ) -> Result<Self, Failure> {
        let mask = Mask::new(values.iter().chain(&request.private).map(String::as_str));
        let params = mask.value(plan.params().cloned().unwrap_or_default().into());
        let row = &request.row;
        let known = vec![
            ("request", row.id.clone()),
            ("tool", row.item.clone()),
            ("project", row.project.display().to_string()),
            ("asked", row.asked_at.clone()),
            ("plan", format!("sha256 {}", plan.digest())),
            ("parameters", params.to_string()),
        ];
        let call =
            waiting_call(request)?.into_iter().map(|(label, text)| (label, mask.words(&text)));
        let known = known.into_iter().chain(call).collect();
        let said = [("reason", mask.words(&row.reason)), ("message", mask.words(&row.message))];
        Ok(Self { known, said, params })
    }
}

/// The call that waits in a saved snippet, row by row.
///
/// # Errors
/// `pending.drifted`
#[cfg(feature = "code")]
fn waiting_call(request: &PendingRequest) -> Result<Vec<(&'static str, String)>, Failure> {
    Ok(SnippetRows::of(request)?.map(|snippet| snippet.call()).unwrap_or_default())
}

#[cfg(not(feature = "code"))]
#[expect(clippy::unnecessary_wraps, reason = "as with snippets")]
fn waiting_call(_: &PendingRequest) -> Result<Vec<(&'static str, String)>, Failure> {
    Ok(Vec::new())
}
