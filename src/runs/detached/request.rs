//! The request that the process of a detached run reads from a pipe.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::json::object;
use crate::diagnostic::Failure;
use crate::host::{Ladder, SandboxLevel};
use crate::parse::kept_json;
use crate::plan::{PlanFile, SandboxChoice};
use crate::rye::{Origin, Request, ThreadOptions};
use crate::thread::ThreadId;

/// A run as it was asked for and verified. It is not trusted: everything is verified again.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DetachedRequest {
    /// Its name in the registry.
    pub(super) id: String,
    /// The folder of the user space, which holds the registry.
    pub(super) user: PathBuf,
    /// The folder that holds the `.ai` of its record.
    pub(super) base: PathBuf,
    pub(super) cwd: PathBuf,
    /// `--project`, as it was given.
    pub(super) project: Option<PathBuf>,
    /// So many run at once.
    pub(super) places: u64,
    pub(super) item: String,
    #[serde(skip_deserializing)]
    params: Map<String, Value>,
    thread: String,
    locked: bool,
    timeout: Option<Duration>,
    sandbox: String,
    receipt: Option<PathBuf>,
    for_record: bool,
    /// A person typed it.
    is_typed: bool,
    /// The plan file of a tool.
    plan: Option<String>,
    /// The verified parts of a thread.
    #[serde(skip_deserializing)]
    verified: Option<Value>,
    model: Option<String>,
    #[serde(skip_deserializing)]
    limits: Map<String, Value>,
}

/// The verified parts of a run, which alone may run.
pub(super) enum VerifiedParts {
    /// The plan file of a tool.
    Plan(String),
    Thread(Value),
}

/// Where a run belongs.
pub(super) struct RunPlace {
    pub(super) id: String,
    pub(super) user: PathBuf,
    pub(super) base: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) project: Option<PathBuf>,
    pub(super) places: u64,
}

impl DetachedRequest {
    /// `params` are the parameters as they were verified.
    pub(super) fn new(
        place: RunPlace,
        request: &Request,
        item: String,
        params: Map<String, Value>,
        verified: VerifiedParts,
        for_record: bool,
    ) -> Self {
        let RunPlace { id, user, base, cwd, project, places } = place;
        let (plan, verified) = match verified {
            VerifiedParts::Plan(plan) => (Some(plan), None),
            VerifiedParts::Thread(verified) => (None, Some(verified)),
        };
        Self {
            id,
            user,
            base,
            cwd,
            project,
            places,
            item,
            params,
            thread: request.thread.to_string(),
            locked: request.locked,
            timeout: request.timeout,
            sandbox: sandbox_word(request.sandbox).to_owned(),
            receipt: request.receipt.clone(),
            for_record,
            is_typed: is_typed(request),
            plan,
            verified,
            model: request.of_thread.model.clone(),
            limits: request.of_thread.limits.clone(),
        }
    }

    /// Reads what was told; `None` where it is not as rye writes it.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut told = object(kept_json(text.as_bytes())?);
        // The library mistakes an object with a certain private key for another value.
        let [params, verified, limits] =
            ["params", "verified", "limits"].map(|key| told.shift_remove(key));
        let asked: Self = serde_json::from_value(told.into()).ok()?;
        let verified = verified.filter(|verified| !verified.is_null());
        let asked = Self { params: object(params?), verified, limits: object(limits?), ..asked };
        // A thread starts only as it was verified.
        (asked.thread == "inline" || asked.thread().is_some()).then_some(asked)
    }

    /// The thread that is asked for, with what was verified of it; `None` for a tool.
    pub(super) fn thread(&self) -> Option<(ThreadId, Value)> {
        Some((self.id.parse().ok()?, self.verified.clone()?))
    }

    /// The run that is asked for.
    ///
    /// # Errors
    /// `plan.malformed`
    pub(super) fn to_request(&self) -> Result<Request, Failure> {
        let plan = self.plan.as_ref().map(|text| PlanFile::read(text.as_bytes())).transpose()?;
        // A thread waits by itself.
        let run = self.verified.is_none().then(|| self.id.clone());
        let origin = Origin {
            run,
            #[cfg(feature = "code")]
            is_typed: self.is_typed,
            ..Origin::default()
        };
        Ok(Request {
            origin,
            params: self.params.clone(),
            thread: self.thread.parse()?,
            locked: self.locked,
            timeout: self.timeout,
            sandbox: sandbox_choice(&self.sandbox),
            receipt: self.receipt.clone(),
            for_record: self.for_record,
            plan,
            of_thread: ThreadOptions { model: self.model.clone(), limits: self.limits.clone() },
            ..Request::new(self.item.clone())
        })
    }
}

#[cfg(feature = "code")]
fn is_typed(request: &Request) -> bool {
    request.origin.is_typed
}

#[cfg(not(feature = "code"))]
fn is_typed(_: &Request) -> bool {
    false
}

/// The sandbox that the caller asks for, as `--sandbox` spells it.
fn sandbox_word(choice: SandboxChoice) -> &'static str {
    match choice {
        SandboxChoice::Off => "off",
        SandboxChoice::On(Ladder::Only(SandboxLevel::Bwrap)) => "bwrap",
        SandboxChoice::On(Ladder::Only(SandboxLevel::Landlock)) => "landlock",
        _ => "auto",
    }
}

/// Reads [`sandbox_word`] back. For a word that it never writes the strictest rule holds.
fn sandbox_choice(word: &str) -> SandboxChoice {
    match word {
        "off" => SandboxChoice::Off,
        "bwrap" => SandboxChoice::On(Ladder::Only(SandboxLevel::Bwrap)),
        "landlock" => SandboxChoice::On(Ladder::Only(SandboxLevel::Landlock)),
        _ => SandboxChoice::Auto,
    }
}
