//! A thread that goes on where it stopped: verified, as it began, and by one process alone.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::cancel_waiting::was_not_ended;
use super::{Threads, VerifiedThread, read, with_record};
use crate::base::{Digest, money};
use crate::chain::Lineage;
use crate::diagnostic::Failure;
use crate::id::Ref;
use crate::plan::Thread;
use crate::registry::{Amounts, Decision, Registry, RunState, ThreadRow};
use crate::report::Report;
use crate::rye::{Failed, Loader, Request, ThreadOptions};
use crate::thread::{
    Continued, ProvenRecord, Replay, Resumed, ThreadError, ThreadId, ThreadLimits, check_record,
    replay, transcript,
};
use crate::trace::Sink;
use crate::verify::Source;

/// A thread that is to go on, with a record that holds.
#[derive(Debug, Clone)]
pub(crate) struct Resuming {
    row: ThreadRow,
    pub(super) id: ThreadId,
    pub(super) record: ProvenRecord,
    pub(super) resumed: Resumed,
    /// The thread above, which goes on with it.
    above: Option<String>,
    /// Who approved what it waited for.
    decision: Option<Decision>,
    /// Its limits were given anew.
    has_limits: bool,
}

/// How a thread starts.
#[derive(Debug)]
pub(crate) enum ThreadStart {
    New,
    /// With an id and everything that was verified before, which alone may start.
    Verified(ThreadId, Value),
    /// It goes on.
    Resumed(Box<Resuming>),
}

/// How a thread is to go on.
#[derive(Debug, Default)]
pub(super) struct GoingOn {
    /// The message to its model.
    pub(super) message: Option<String>,
    /// Limits that replace those that it had.
    pub(super) limits: Map<String, Value>,
    /// The thread above, which goes on with it.
    pub(super) above: Option<String>,
    /// The decision of a person.
    pub(super) decided: Option<AwaitedDecision>,
    /// It goes on from its wait alone, as with a decision.
    pub(super) from_wait: bool,
}

/// The request that a thread is to wait for, and who approved it; `None` where it was rejected.
#[derive(Debug)]
pub(super) struct AwaitedDecision {
    pub(super) pending: String,
    pub(super) approved: Option<Decision>,
}

impl Threads<'_> {
    /// Goes on with a thread that does not run, with what a person says to its model now and with
    /// limits that replace those that it had. One that was killed before anything of it was
    /// signed starts over with what it began with.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.no_record`, `thread.still_runs`, `thread.waits`,
    /// `thread.record_invalid`, `thread.not_resumable`, `thread.drifted`, `thread.bad_limit`;
    /// whatever starting a thread is refused with.
    pub(crate) fn resume(
        self,
        id: &str,
        message: Option<String>,
        limits: Map<String, Value>,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let how = GoingOn { message, limits, ..GoingOn::default() };
        resume_as(self, id, how, begin, sink)
    }

    /// The request by which a thread goes on.
    pub(super) fn resuming(
        self,
        id: &str,
        how: GoingOn,
    ) -> Result<(Request, Box<Resuming>), Failure> {
        if how.above.is_none() && self.rye.above().has_run() {
            return Err(ThreadError::Outside.into());
        }
        let id = with_record(self, id)?;
        let row = self.row(&id)?;
        let row = row.map_err(|near| ThreadError::NotFound { id: id.to_string(), near })?;
        if row.state == RunState::Running {
            return Err(still_runs(&row).into());
        }
        // A decision that comes with a person who ends it wakes nothing.
        if how.from_wait || how.decided.is_some() {
            was_not_ended(&row)?;
        }
        if let Some(by) = row.run.continued_by {
            return Err(ThreadError::Continued { id, by }.into());
        }
        let (record, replayed, before) = match unsigned(self, &id, &row)? {
            Some((record, replayed)) => {
                let before = replayed.took_before();
                (record, replayed, before)
            }
            None => signed(self, &id)?,
        };
        let started = &replayed.started;
        let GoingOn { message, limits, above, decided, .. } = how;
        let has_limits = !limits.is_empty();
        let mut all = limits_before(&row, &started["limits"]);
        all.extend(limits);
        let request = Request {
            params: started["inputs"].as_object().cloned().unwrap_or_default(),
            thread: Thread::Fork,
            locked: started["locked"] == true,
            of_thread: ThreadOptions { model: Some(row.model.clone()), limits: all },
            ..Request::new(row.item.clone())
        };
        self.is_decided(&id, replayed.awaited.as_ref(), decided.as_ref())?;
        let resumed = Resumed { replayed, message, before };
        let decision = decided.and_then(|decided| decided.approved);
        let resuming = Resuming { row, id, record, resumed, above, decision, has_limits };
        resuming.may_go_on()?;
        Ok((request, Box::new(resuming)))
    }

    /// Runs the request of a thread that goes on.
    pub(super) fn go_on(
        self,
        request: &Request,
        resuming: &Resuming,
        begin: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let start = |loader: &Loader<'_>, lineage: &Lineage, request: &Request| {
            let how = ThreadStart::Resumed(Box::new(resuming.clone()));
            self.start(loader, lineage, request, how)
        };
        self.rye.runs().starting(&start).run(request, begin, sink)
    }
}

/// Goes on with a thread as `how` says.
pub(super) fn resume_as(
    threads: Threads<'_>,
    id: &str,
    how: GoingOn,
    begin: Instant,
    sink: &dyn Sink,
) -> Result<Report, Failed> {
    let (request, resuming) =
        threads.resuming(id, how).map_err(|failure| Failed::early(failure, id, begin.elapsed()))?;
    threads.go_on(&request, &resuming, begin, sink)
}

/// A record that is checked, what it proves, and how long the thread ran.
fn signed(
    threads: Threads<'_>,
    id: &ThreadId,
) -> Result<(ProvenRecord, Replay, Duration), Failure> {
    let VerifiedThread { checked, bytes, .. } = threads.verify(id.as_str())?;
    let proven = usize::try_from(checked.proven_bytes).unwrap_or(bytes.len());
    let replayed = replay(&bytes[..proven])
        .map_err(|why| ThreadError::RecordInvalid { id: id.clone(), finding: why.into() })?;
    let before = checked.ledger["elapsed_ms"].as_u64().unwrap_or_default();
    let (checkpoints, last) = (checked.checkpoints, checked.last);
    let record = ProvenRecord { bytes, proven, checkpoints, last };
    Ok((record, replayed, Duration::from_millis(before)))
}

/// The start of a thread of which nothing is signed yet. The registry says it, and nothing of the
/// record is used. `None` if something is signed.
fn unsigned(
    threads: Threads<'_>,
    id: &ThreadId,
    row: &ThreadRow,
) -> Result<Option<(ProvenRecord, Replay)>, Failure> {
    if row.checkpoint.is_some() {
        return Ok(None);
    }
    let base = Path::new(&row.base);
    let is_there = transcript(base, id).symlink_metadata().is_ok();
    let bytes = if is_there { read(base, id)?.1 } else { Vec::new() };
    let checked = check_record(&bytes, id, &|key| threads.key(key));
    if !checked.is_unsigned() {
        return Ok(None);
    }
    let began = row.began.as_deref().and_then(|text| crate::parse::kept_json(text.as_bytes()));
    let Some(Value::Object(started)) = began else {
        let why = "it stopped before anything of it was signed, and an earlier rye ran it; \
                   start it anew with `rye execute`";
        return Err(ThreadError::NotResumable { id: id.clone(), why: why.into() }.into());
    };
    let record = ProvenRecord { bytes, proven: 0, checkpoints: 0, last: None };
    let replayed = Replay::of_start(started).ok_or_else(|| ThreadError::NotResumable {
        id: id.clone(),
        why: "what it began with is not as this rye writes it".into(),
    })?;
    Ok(Some((record, replayed)))
}

/// The limits that a thread has, as they are given.
fn limits_before(row: &ThreadRow, started: &Value) -> Map<String, Value> {
    let Amounts { turns, tokens, spend, spawns } = row.most;
    let all = json!({
        "turns": turns, "tokens": tokens, "spend": money::shown(spend), "spawns": spawns,
        "duration_seconds": started["duration_seconds"], "depth": row.depth(),
    });
    crate::base::json::object(all)
}

fn still_runs(row: &ThreadRow) -> ThreadError {
    ThreadError::StillRuns { id: row.id.clone(), state: RunState::Running }
}

impl Resuming {
    /// # Errors
    /// `thread.not_resumable`
    fn may_go_on(&self) -> Result<(), ThreadError> {
        let started = &self.resumed.replayed.started;
        let why = if self.row.parent != self.above {
            let parent = self.row.parent.as_deref().unwrap_or_default();
            format!("it is part of `{parent}`, which alone goes on")
        } else if self.above.is_some() {
            return Ok(());
        } else if started["narrowed"] != false {
            "whoever started it decided what it may reach".into()
        } else if self.row.state == RunState::Completed && self.resumed.message.is_none() {
            "it is completed, and goes on only with a message".into()
        } else {
            return Ok(());
        };
        Err(ThreadError::NotResumable { id: self.id.clone(), why })
    }

    /// Checks that the thread which starts now is the one that stopped.
    ///
    /// # Errors
    /// `thread.drifted`, `thread.not_resumable`
    pub(super) fn compare(
        &self,
        source: &Source,
        permissions: &[String],
        provider: &Ref,
        base: &Path,
        told: &(String, String),
    ) -> Result<(), ThreadError> {
        if Path::new(&self.row.base) != base {
            let why = format!("it belongs to `{}`", self.row.base);
            return Err(ThreadError::NotResumable { id: self.id.clone(), why });
        }
        let started = &self.resumed.replayed.started;
        let is_told = self.resumed.replayed.told.as_ref().is_none_or(|before| before == told);
        let what = if started["sha256"] != json!(source.digest()) {
            format!("`{}`", self.row.item)
        } else if started["permissions"] != json!(permissions) {
            "what it may reach".into()
        } else if started["provider"] != json!(provider) {
            "its provider".into()
        } else if !is_told {
            "what its model is told".into()
        } else {
            return Ok(());
        };
        Err(ThreadError::Drifted { id: self.id.clone(), what })
    }

    /// Takes the thread for this process, with these limits: those that it had or was given anew,
    /// and never more than is configured as the most now.
    ///
    /// # Errors
    /// `thread.still_runs` where another process was first, `registry.io`
    pub(super) fn claim(
        &self,
        limits: &ThreadLimits,
        registry: &mut Registry,
    ) -> Result<(), Failure> {
        let waits_for = self.resumed.replayed.awaited.as_ref();
        let waits_for = waits_for.map(|awaited| awaited.pending_id.as_str());
        let ThreadLimits { turns, tokens, spend, spawns, depth, .. } = *limits;
        let limits = (Amounts { turns, tokens, spend, spawns }, depth);
        let newest = self.record.last.map(|digest| digest.to_string());
        match self.row.claim(registry, waits_for, Some(limits), newest.as_deref())? {
            true => Ok(()),
            false => Err(still_runs(&self.row).into()),
        }
    }

    /// Nothing was written to the record since it was checked, of a thread that had ended.
    pub(super) fn is_untouched(&self) -> bool {
        let path = transcript(Path::new(&self.row.base), &self.id);
        let is_same = |meta: fs::Metadata| meta.len() == self.record.bytes.len() as u64;
        self.row.state != RunState::Waiting && fs::symlink_metadata(path).is_ok_and(is_same)
    }

    /// How it had ended, and with which code.
    pub(super) fn ended_before(&self) -> (RunState, Option<&str>) {
        (self.row.state, self.row.code.as_deref())
    }

    /// The most that is configured is less now than what it had.
    fn lowers(&self, limits: &ThreadLimits) -> bool {
        let ThreadLimits { turns, tokens, spend, spawns, depth, .. } = *limits;
        (Amounts { turns, tokens, spend, spawns }, depth) != (self.row.most, self.row.depth())
    }

    /// The thread that it goes on for.
    pub(super) fn continued(&self) -> Option<&Continued> {
        self.resumed.replayed.continued.as_ref()
    }

    /// Who approved what it waited for.
    pub(super) fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// The event of going on, as the record holds it.
    pub(super) fn to_json(
        &self,
        limits: &ThreadLimits,
        provider: Digest,
        unproven: Option<Digest>,
    ) -> Value {
        let mut told = json!({"thread_id": self.id.as_str(), "from": self.row.state});
        // Its owner signed it anew since.
        if self.resumed.replayed.started.get("provider_sha256") != Some(&json!(provider)) {
            told["provider_sha256"] = json!(provider);
        }
        if self.has_limits || self.lowers(limits) {
            told["limits"] = limits.to_json();
        }
        if let Some(awaited) = &self.resumed.replayed.awaited {
            told["pending_id"] = awaited.pending_id.clone().into();
            told["approved_by"] = self.decision.as_ref().map(|decision| &*decision.by).into();
        }
        if let Some(blob) = unproven {
            told["blob"] = blob.to_string().into();
            told["unproven_bytes"] = (self.record.bytes.len() - self.record.proven).into();
        }
        told
    }
}
