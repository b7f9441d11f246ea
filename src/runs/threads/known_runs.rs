//! Waiting for a thread or a detached run, from whichever process asks: by the registry alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::detached_waits::{SettleResult, settle};
use super::record_place::placed;
use super::result::{RunEnd, end_of};
use super::{Threads, parsed};
use crate::base::durations::PENDING_LOOK_MS;
use crate::base::json::object;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::near;
use crate::diagnostic::{Diagnostic, Failure};
use crate::registry::{Amounts, AnyRun, Continuations, Registry, RunState, ThreadRow, ThreadWaits};
use crate::runs::remote::RemoteRow;
use crate::rye::DueReceipts;
use crate::thread::{ThreadError, ThreadId, is_uuid, output_log};

/// How long a cancel or a kill waits until the thread ended, in milliseconds; after that it says
/// that it still runs.
const STOP_WAIT_MS: u64 = 5_000;

/// How long a thread may wait for a decided request before a caller that waits for it is told, in
/// milliseconds: a decision and what follows it are two steps.
const UNATTENDED_MS: u64 = 2_000;

/// Longer than any run.
const FOREVER: Duration = Duration::from_hours(24 * 365 * 10);

/// The shortest end of an id that stands for the whole.
const ID_END: usize = 4;

/// A thread or a detached run, as the registry knows it, with what it gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownRun {
    pub(crate) row: AnyRun,
    /// The report of a detached run that ended or waits for a person.
    report: Option<Value>,
    /// Why it failed, where that was asked for.
    pub(super) failure: Option<Value>,
    /// It waited for a person, who approved what it asked: that runs where it was approved.
    is_approved: bool,
}

impl KnownRun {
    fn new(row: AnyRun, is_approved: bool) -> Self {
        Self { row, report: None, failure: None, is_approved }
    }

    /// The thread that it is.
    pub(crate) fn thread(&self) -> Option<&ThreadRow> {
        self.row.thread()
    }

    pub(crate) fn id(&self) -> &str {
        &self.row.id
    }

    /// Its state, of which others may act: one whose report is not written yet runs.
    pub(crate) fn state(&self) -> RunState {
        match self.is_approved || self.row.is_reporting() {
            true => RunState::Running,
            false => self.row.state,
        }
    }

    /// It runs, or waits for a place.
    pub(crate) fn is_open(&self) -> bool {
        self.state().is_open()
    }

    /// It is over, and does not wait for a person.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_open() && self.state() != RunState::Waiting
    }

    pub(crate) fn started_at(&self) -> &str {
        self.row.started_at.as_deref().unwrap_or(&self.row.asked_at)
    }

    /// Its process has other work too, such as one that approved a request, and is not
    /// ended for it.
    pub(super) fn is_shared(&self) -> bool {
        self.is_approved || self.row.is_shared()
    }

    /// Where what a detached tool writes is kept, once it is.
    pub(crate) fn log(&self) -> Option<PathBuf> {
        let id = Some(self.id()).filter(|id| is_uuid(id))?;
        Some(output_log(Path::new(&self.row.base), id)).filter(|path| path.exists())
    }

    /// Why it failed, as its report or its record says it, which is not checked: `code`, `error`,
    /// `help` and `data`. `None` where nothing says it.
    pub(crate) fn failure(&self) -> Option<&Value> {
        self.failure.as_ref()
    }

    /// The request for which a detached tool waits.
    pub(crate) fn waits_for(&self) -> Option<&str> {
        let waits = self.state() == RunState::Waiting;
        self.row.request.as_deref().filter(|_| waits)
    }

    /// The report of a detached run that ended or waits for a person.
    pub(crate) fn report(&self) -> Option<&Value> {
        self.report.as_ref()
    }

    /// The name of the remote whose node runs it.
    pub(crate) fn remote_name(&self) -> Option<String> {
        remote_row(self).map(|remote| remote.name)
    }

    /// As JSON, without the conversation.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let row = &self.row;
        let mut out = object(json!({
            "thread_id": row.id, "item_id": row.item, "base": row.base,
            "thread_status": self.state(), "thread_code": row.code, "failure": self.failure,
            "asked_at": row.asked_at, "started_at": row.started_at, "ended_at": row.ended_at,
            "async": row.is_detached, "pid": row.pid(), "elsewhere": row.is_elsewhere(),
            "parent": row.parent, "continued_by": row.continued_by,
        }));
        if let Some(remote) = remote_row(self) {
            out.insert("remote".into(), remote.to_json());
        }
        if let Some(pending) = self.waits_for() {
            out.insert("pending_id".into(), pending.into());
        }
        if let Some(log) = self.log() {
            out.insert("log".into(), log.display().to_string().into());
        }
        if let Some(row) = self.thread() {
            out.extend(object(json!({
                "provider": row.provider, "model": row.model, "limits": limits(row),
                "used": amounts(&row.used),
            })));
        }
        out
    }
}

/// The limits that the registry knows; the record knows how long it may run.
fn limits(row: &ThreadRow) -> Value {
    let mut limits = amounts(&row.most);
    limits["depth"] = row.depth().into();
    limits
}

pub(super) fn amounts(amounts: &Amounts) -> Value {
    json!({
        "turns": amounts.turns, "tokens": amounts.tokens, "spend_micros": amounts.spend,
        "spawns": amounts.spawns,
    })
}

/// The full id for a text: an id, or the end of exactly one id that `is_seen` lets through, of at
/// least four characters. Another text is given back as it is.
///
/// # Errors
/// `thread.not_found` where several end so, and for the ref of what ran, with the newest id of it;
/// `registry.*`
pub(crate) fn full_run_id(
    threads: Threads<'_>,
    text: &str,
    is_seen: impl Fn(&KnownRun) -> bool,
) -> Result<String, Failure> {
    if text.parse::<ThreadId>().is_ok() {
        return Ok(text.to_owned());
    }
    let all = threads.runs()?;
    let seen: Vec<&KnownRun> = all.iter().rev().filter(|run| is_seen(run)).collect();
    let is_end = |id: &&str| text.len() >= ID_END && id.ends_with(text);
    let mut ids = seen.iter().map(|run| run.id()).filter(is_end);
    let near: Vec<String> = match (ids.next(), ids.next()) {
        (Some(id), None) => return Ok(id.to_owned()),
        (Some(one), Some(other)) => {
            [one, other].into_iter().chain(ids).take(NEAR_NAMES).map(str::to_owned).collect()
        }
        (None, _) => {
            let ran = |run: &KnownRun| {
                let item = &run.row.item;
                item == text || item.split_once(':').is_some_and(|(_, id)| id == text)
            };
            let Some(newest) = seen.iter().find(|run| ran(run)) else {
                return Ok(text.to_owned());
            };
            vec![newest.id().to_owned()]
        }
    };
    Err(ThreadError::NotFound { id: text.to_owned(), near }.into())
}

impl Threads<'_> {
    /// All threads and detached runs of the person, the oldest first.
    ///
    /// # Errors
    /// `registry.*`
    pub(crate) fn runs(self) -> Result<Vec<KnownRun>, Failure> {
        let Some(mut registry) = self.registry()? else { return Ok(Vec::new()) };
        let mut rows = AnyRun::all(&mut registry)?;
        let (mut has_ended, mut approved) = (false, BTreeSet::new());
        for row in &rows {
            match settle(&mut registry, row)? {
                SettleResult::Anew => has_ended = true,
                SettleResult::Approved => drop(approved.insert(row.id.clone())),
                SettleResult::AsBefore => {}
            }
        }
        if has_ended {
            rows = AnyRun::all(&mut registry)?;
        }
        let known = rows.into_iter().map(|row| {
            let is_approved = row.state == RunState::Waiting && approved.contains(&row.id);
            KnownRun::new(row, is_approved)
        });
        Ok(known.collect())
    }

    /// One thread or detached run, with what it gave.
    ///
    /// # Errors
    /// `thread.not_found`, `registry.*`
    pub(crate) fn run(self, id: &str) -> Result<KnownRun, Failure> {
        let none = |near| ThreadError::NotFound { id: id.to_owned(), near };
        if !is_uuid(id) {
            parsed(id)?;
        }
        let Some(mut registry) = self.registry()? else { return Err(none(Vec::new()).into()) };
        match known(self, &mut registry, id)? {
            Some(known) => Ok(known),
            None => {
                let all = self.runs()?;
                let ids = all.iter().map(KnownRun::id);
                Err(none(near(id, ids, NEAR_NAMES)).into())
            }
        }
    }

    /// Waits until one ended, at most for `time`. `Ok(Err)` is the signal that ended the wait.
    ///
    /// # Errors
    /// `thread.not_found`, `thread.still_runs`, `thread.killed`, `thread.cancelled`, `registry.*`
    pub(crate) fn wait(
        self,
        id: &str,
        time: Option<Duration>,
    ) -> Result<Result<RunEnd, i32>, Failure> {
        ask_node(self, id, time.unwrap_or(FOREVER))?;
        let until = time.map(|time| Instant::now() + time);
        self.end_by(id, until, KnownRun::is_open)
    }

    /// Waits until one ended, also while it waits for a person. `Ok(Err)` is the signal that ended
    /// the wait.
    ///
    /// # Errors
    /// As [`Threads::wait`].
    pub(crate) fn wait_for_end(self, id: &str) -> Result<Result<RunEnd, i32>, Failure> {
        self.end_by(id, None, |known| known.is_open() || known.state() == RunState::Waiting)
    }

    fn end_by(
        self,
        id: &str,
        until: Option<Instant>,
        goes_on: fn(&KnownRun) -> bool,
    ) -> Result<Result<RunEnd, i32>, Failure> {
        let mut id = id.to_owned();
        loop {
            let known = match self.until(&id, until, goes_on)? {
                Ok(known) => known,
                Err(signal) => return Ok(Err(signal)),
            };
            if goes_on(&known) {
                let state = known.state();
                return Err(ThreadError::StillRuns { id, state }.into());
            }
            match &known.row.continued_by {
                Some(by) => id.clone_from(by),
                None => return end_of(self, &known).map(Ok),
            }
        }
    }

    /// One as it is once it ended, or once the time is over.
    fn until(
        self,
        id: &str,
        until: Option<Instant>,
        goes_on: fn(&KnownRun) -> bool,
    ) -> Result<Result<KnownRun, i32>, Failure> {
        let first = self.run(id)?;
        let Some(mut registry) = self.registry()? else { return Ok(Ok(first)) };
        let mut attended = Instant::now();
        loop {
            // Before it is read, so that nothing written in between is missed.
            let version = registry.version()?;
            let found = known(self, &mut registry, id)?.unwrap_or_else(|| first.clone());
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let awaits = awaits(&mut registry, &found)?;
            let stops = matches!(awaits, Awaits::Person) && !goes_on(&found);
            if stops || left.is_some_and(|left| left.is_zero()) {
                return Ok(Ok(found));
            }
            match awaits {
                Awaits::Nobody if attended.elapsed() < UNATTENDED => {}
                Awaits::Nobody => {
                    return Err(ThreadError::Unattended { id: found.id().to_owned() }.into());
                }
                Awaits::Person => attended = Instant::now(),
            }
            // A killed process writes nothing, so now and then it is read all the same.
            for _ in 0..LOOKS {
                let pause = Duration::from_millis(PENDING_LOOK_MS);
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                let pause = left.map_or(pause, |left| left.min(pause));
                if let Ok(Some(signal)) = self.rye.host().sleep(pause) {
                    return Ok(Err(signal));
                }
                if registry.version()? != version || left.is_some_and(|left| left.is_zero()) {
                    break;
                }
            }
        }
    }

    pub(super) fn soon_ended(self, id: &str) -> Result<KnownRun, Failure> {
        let until = Instant::now() + Duration::from_millis(STOP_WAIT_MS);
        match self.until(id, Some(until), KnownRun::is_open)? {
            Ok(known) => Ok(known),
            Err(_) => self.run(id),
        }
    }

    /// A thread with all threads below it, each with how deep it stands; parents first. One that
    /// goes on for another stands below that.
    ///
    /// # Errors
    /// `thread.not_found`, `registry.*`
    pub(crate) fn tree(self, id: &str) -> Result<Vec<(usize, KnownRun)>, Failure> {
        let top = self.run(id)?;
        let all = self.runs()?;
        let before =
            all.iter().filter_map(|one| Some((one.row.continued_by.as_deref()?, one.id())));
        let before: BTreeMap<&str, &str> = before.collect();
        let mut below: BTreeMap<&str, Vec<&KnownRun>> = BTreeMap::new();
        for one in all.iter().rev() {
            let parent = one.row.parent.as_deref();
            if let Some(above) = before.get(one.id()).copied().or(parent) {
                below.entry(above).or_default().push(one);
            }
        }
        let mut rows = Vec::new();
        let mut next = vec![(0, top)];
        while let Some((depth, known)) = next.pop() {
            let ones = below.remove(known.id()).unwrap_or_default().into_iter();
            next.extend(ones.map(|one| (depth + 1, one.clone())));
            rows.push((depth, known.with_failure()));
        }
        Ok(rows)
    }
}

/// Asks the node that runs it, if one does, until it ended or for at most `time`; also if it ended,
/// and its files have yet to be fetched.
///
/// # Errors
/// `remote.*`, `store.*`, `receipt.*`, `thread.not_found`, `registry.*`
pub(crate) fn ask_node(threads: Threads<'_>, id: &str, time: Duration) -> Result<(), Failure> {
    let known = threads.run(id)?;
    let lacks_files =
        |report: &Value| ["outputs_made", "receipt"].iter().any(|key| report.get(key).is_some());
    let is_settled = known.is_over() && !known.report.as_ref().is_some_and(lacks_files);
    if let (Some(remote), false) = (remote_row(&known), is_settled)
        && let Some(mut registry) = threads.registry()?
    {
        let asked = remote.refresh(threads.rye, &mut registry, id, time);
        // One that is over says in its report what became of its files.
        if let Err(failure) = asked
            && (failure.interrupted().is_some() || !threads.run(id)?.is_over())
        {
            return Err(failure);
        }
    }
    Ok(())
}

/// The node that runs it, if one does.
pub(super) fn remote_row(known: &KnownRun) -> Option<RemoteRow> {
    known.row.remote.as_deref().and_then(RemoteRow::read)
}

/// The threads that one goes on for, the nearest first.
pub(super) fn earlier_of(threads: Threads<'_>, id: &ThreadId) -> Result<Vec<ThreadId>, Failure> {
    let Some(mut registry) = threads.registry()? else { return Ok(Vec::new()) };
    let all = Continuations::new(&mut registry).earlier_of(id.as_str())?;
    Ok(all.iter().filter_map(|id| id.parse().ok()).collect())
}

/// A thread or detached run as it is now: the thread that goes on for it counts.
///
/// # Errors
/// As [`Threads::run`].
pub(crate) fn newest_run(threads: Threads<'_>, id: &str) -> Result<KnownRun, Failure> {
    threads.run(&newest_of(threads, id)?)
}

/// The thread that goes on for one, or the thread itself.
pub(super) fn newest_of(threads: Threads<'_>, id: &str) -> Result<String, Failure> {
    match threads.registry()? {
        Some(mut registry) => Ok(Continuations::new(&mut registry).newest_of(id)?),
        None => Ok(id.to_owned()),
    }
}

/// After so many looks at the version of the registry it is read.
const LOOKS: usize = 4;

/// For what something waits, if it waits for a person.
enum Awaits {
    /// For the decision, or it does not wait.
    Person,
    /// Its request is decided. The process that decided it goes on with it soon, or is
    /// gone.
    Nobody,
}

const UNATTENDED: Duration = Duration::from_millis(UNATTENDED_MS);

fn awaits(registry: &mut Registry, known: &KnownRun) -> Result<Awaits, Failure> {
    // A node says itself that one waits.
    let is_attended = known.state() != RunState::Waiting
        || known.row.remote.is_some()
        || known.waits_for().is_some()
        || ThreadWaits::new(registry).is_awaited(known.id())?;
    Ok(if is_attended { Awaits::Person } else { Awaits::Nobody })
}

pub(super) fn known(
    threads: Threads<'_>,
    registry: &mut Registry,
    id: &str,
) -> Result<Option<KnownRun>, Failure> {
    let mut found = AnyRun::find(registry, id)?;
    let settled = match &found {
        Some(row) => settle(registry, row)?,
        None => SettleResult::AsBefore,
    };
    if settled == SettleResult::Anew {
        found = AnyRun::find(registry, id)?;
    }
    let Some(mut row) = found else { return Ok(None) };
    if let AnyRun::Thread(thread) = row {
        row = AnyRun::Thread(placed(threads, thread, &parsed(id)?)?);
    }
    let is_approved = settled == SettleResult::Approved;
    // The report of an approved run is that it waited.
    let report = row.report.as_deref().filter(|_| !is_approved);
    let report = report.and_then(|text| crate::parse::kept_json(text.as_bytes()));
    let report = report.map(|report| with_receipts(registry, id, report)).transpose()?;
    let mut known = KnownRun { row, report, failure: None, is_approved };
    if let (None, Some(request)) = (&known.report, known.waits_for()) {
        // Its process was killed before it wrote its report.
        let asked = registry.request(request)?.row;
        known.report = Some(json!({
            "status": "pending", "type": "tool", "item_id": known.row.item, "thread_id": id,
            "pending": {"id": asked.id, "reason": asked.reason, "message": asked.message},
        }));
    }
    Ok(Some(known.with_failure()))
}

/// The report of a run, once its receipts are written; one that cannot be written is told as lost.
fn with_receipts(registry: &mut Registry, id: &str, mut report: Value) -> Result<Value, Failure> {
    if let (Some(lost), Some(fields)) = (DueReceipts::settle(registry, id)?, report.as_object_mut())
    {
        fields.insert("status".into(), "error".into());
        fields.extend(Diagnostic::from(&lost).to_json());
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("receipts");
        }
    }
    Ok(report)
}

/// Asks the registry of this user space if a thread or a run is to stop; cheap while nothing is
/// written there.
pub(crate) fn is_asked_to_stop(user: &Path, id: &str) -> impl FnMut() -> bool + Send + 'static {
    let (user, id): (PathBuf, String) = (user.to_owned(), id.to_owned());
    let mut registry: Option<Registry> = None;
    let mut seen = None;
    move || {
        if registry.is_none() {
            registry = Registry::find(&user).ok().flatten();
        }
        let Some(registry) = &mut registry else { return false };
        let version = registry.version().ok();
        if version.is_some() && version == seen {
            return false;
        }
        seen = version;
        registry.stops().is_asked(&id).unwrap_or(false)
    }
}
