//! Starting a thread: everything is decided and checked before anything is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Threads;
use super::backend::ThreadBackend;
use super::denied::Denials;
use super::failed_thread::told_as_of;
use super::hooks::{HookLog, ThreadHooks};
use super::known_runs::is_asked_to_stop;
use super::prompt::prompt;
use super::result::cost;
use super::resume::{Resuming, ThreadStart};
use super::tools::{GrantedActions, ThreadCalls};
use super::verified_start::{is_as_verified, verified};
use crate::chain::Lineage;
use crate::diagnostic::Failure;
use crate::host::{StopWatch, is_below_a_run};
use crate::id::Space;
use crate::interpolate::bind;
use crate::parse::RiskClass;
use crate::registry::{Amounts, Continuations, NewThread, Registry, RunState, ThreadRow};
use crate::report::{CheckedThread, Report, ThreadReport, Warned};
use crate::runs::detached::{Detaching, state_base};
use crate::rye::{
    ChosenModel, Loader, Request, SaidLimits, ThreadParent, ThreadRun, acknowledged, limits,
    max_async, model, moment, narrowed, patterns,
};
use crate::space::Root;
use crate::thread::{
    Continued, Conversation, Ended, Prompt, RECORD_VERSION, Record, Resumed, THREAD_KILLED,
    THREAD_RESUMED, ThreadError, ThreadId, ThreadLimits, ThreadOutcome, ToolTable, converse,
    refuse_record_links, transcript,
};
use crate::trace::{Event, Sink, WithoutOutput};
use crate::verify::{KeyError, KeyPair, OwnKeys};

/// A thread of a continuation chain, before it starts.
struct Start<'a> {
    id: ThreadId,
    /// The parts that were verified before, for one that starts later.
    verified: Option<Value>,
    /// The thread that goes on in another process, where this is one.
    resuming: Option<Box<Resuming>>,
    /// The thread that it goes on for.
    continued: Option<Continued>,
    /// The thread before it registered it.
    is_registered: bool,
    /// Goes from one to the next.
    backend: ThreadBackend<'a>,
    begin: Instant,
}

/// The result of one start.
enum StartResult<'a> {
    Report(Box<Report>),
    Next(Box<Start<'a>>),
    /// It would start.
    Checked(Box<CheckedThread>),
}

/// A thread that is ready to start.
struct ReadyThread<'a> {
    start: &'a Start<'a>,
    lineage: &'a Lineage,
    inputs: Map<String, Value>,
    limits: ThreadLimits,
    said: SaidLimits,
    chosen: ChosenModel,
    hooks: ThreadHooks<'a>,
    prompt: Prompt,
    table: ToolTable<'a>,
    denials: Denials<'a>,
    permissions: &'a [String],
    risk: RiskClass,
    /// The folder that holds the `.ai` of its record.
    base: PathBuf,
    /// Hears what the model says.
    listener: &'a dyn Sink,
}

impl Threads<'_> {
    /// Runs a directive as a thread in this process, to its end. Of one that is only tried,
    /// everything but the start is done.
    ///
    /// # Errors
    /// `thread.*`, `provider.*`, `key.*`, `registry.*`; whatever an item is refused with. What is
    /// refused before the start has written nothing.
    pub(crate) fn start(
        self,
        loader: &Loader<'_>,
        lineage: &Lineage,
        request: &Request,
        how: ThreadStart,
    ) -> Result<ThreadRun, Failure> {
        let begin = Instant::now();
        if request.origin.thread.is_none() && is_below_a_run() {
            return Err(ThreadError::Outside.into());
        }
        let (id, verified, resuming) = match how {
            ThreadStart::New => {
                let given = request.origin.served.as_ref().and_then(|id| id.parse().ok());
                let new = || ThreadId::new(&lineage.source.item().id);
                (given.map_or_else(new, Ok), None, None)
            }
            ThreadStart::Verified(id, verified) => (Ok(id), Some(verified), None),
            ThreadStart::Resumed(resuming) => (Ok(resuming.id.clone()), None, Some(resuming)),
        };
        let id = id.map_err(|source| ThreadError::Record { path: PathBuf::new(), source })?;
        let continued = resuming.as_ref().and_then(|resuming| resuming.continued().cloned());
        let backend = ThreadBackend::new(self.rye, loader, id.clone())?;
        let mut start =
            Start { id, verified, resuming, continued, is_registered: false, backend, begin };
        loop {
            let (id, is_registered) = (start.id.clone(), start.is_registered);
            match start.run(self, loader, lineage, request) {
                Ok(StartResult::Report(report)) => return Ok(ThreadRun::Ran(report)),
                Ok(StartResult::Next(next)) => start = *next,
                Ok(StartResult::Checked(checked)) => return Ok(ThreadRun::Checked(checked)),
                Err(failure) => {
                    if is_registered {
                        over(self, &id, &failure);
                    }
                    return Err(failure);
                }
            }
        }
    }
}

/// Ends a registered thread that could not begin. A failure to write this down changes nothing.
fn over(threads: Threads<'_>, id: &ThreadId, failure: &Failure) {
    if let Ok(Some(mut registry)) = threads.registry() {
        let _ = registry.end_thread(id.as_str(), RunState::Failed, Some(failure.code()), None);
    }
}

impl<'a> Start<'a> {
    /// Runs one thread, until it is over, waits, or another one is to go on for it.
    fn run(
        self,
        threads: Threads<'_>,
        loader: &Loader<'_>,
        lineage: &Lineage,
        request: &Request,
    ) -> Result<StartResult<'a>, Failure> {
        let user = threads.rye.spaces().get(Space::User).ok_or(KeyError::Missing)?;
        let leaf = &lineage.directive;
        let inputs = bind(&leaf.inputs, request.inputs())?;
        if !request.dry_run {
            loader.sink.record(Event::Inputs { names: inputs.keys().cloned().collect() });
        }
        let permissions = lineage.directives().find_map(|one| one.permissions.as_deref());
        let permissions = permissions.unwrap_or_default();
        let (execute, fetch) = (patterns(permissions, "execute"), patterns(permissions, "fetch"));
        let sign = patterns(permissions, "sign");
        let granted = GrantedActions::new(&execute, &fetch, &sign);
        let risk = acknowledged(loader, lineage)?;
        let (item, id) = (lineage.source.item().clone(), self.id.clone());
        let base = state_base(threads.rye);
        // What calls see of the run is the model's; the caller hears of the outcome alone.
        let quiet = WithoutOutput(loader.sink);
        let log = HookLog::new(&quiet);
        let calls = ThreadCalls {
            rye: threads.rye,
            sink: &log,
            outer: &quiet,
            id: id.clone(),
            execute: narrowed(execute, request.origin.grants.as_ref()),
            fetch: narrowed(fetch, request.origin.thread.as_ref().map(|parent| &parent.fetch)),
            sign: narrowed(sign, request.origin.thread.as_ref().map(|parent| &parent.sign)),
            locked: request.locked,
            base: base.clone(),
            can_wait: match &request.origin.thread {
                Some(parent) => parent.can_wait,
                // Another caller, which narrows what it may reach, is gone when it goes on.
                None => request.origin.grants.is_none(),
            },
            decision: self.resuming.as_ref().and_then(|it| it.decision().cloned()),
        };
        let chosen = model(loader, lineage, request.of_thread.model.as_deref())?;
        if request.origin.thread.is_none() && self.continued.is_none() {
            chosen.tell_passed_over(loader.sink);
        }
        let hooks =
            ThreadHooks::checked(loader, &log, &id, &lineage.source, &chosen, request.locked)?;
        let mut said = limits(loader, lineage, &request.of_thread.limits)?;
        self.lower(&mut said, threads, request, loader.sink)?;
        let prepared = ReadyThread {
            limits: said.limits,
            said,
            chosen,
            hooks,
            prompt: prompt(loader, lineage, &inputs, self.continued.as_ref())?,
            table: calls.table(&leaf.outputs, &granted)?,
            denials: Denials::new(&calls, loader, lineage),
            permissions,
            risk,
            start: &self,
            lineage,
            inputs,
            base,
            listener: loader.sink,
        };
        let pair = own_pair(loader, user)?;
        prepared.check_place(&id)?;
        if request.dry_run {
            return Ok(StartResult::Checked(Box::new(prepared.checked())));
        }
        let verified = verified(lineage, permissions, &prepared.chosen, &prepared.prompt);
        is_as_verified(self.verified.as_ref(), &verified, &item, &id)?;
        if request.detached {
            let report = detached(threads, loader, lineage, request, (&id, verified))?;
            return Ok(StartResult::Report(Box::new(report)));
        }
        let mut registry = Registry::open(user.base())?;
        let came = prepared.watched(pair, request, &calls, user.base(), &mut registry)?;
        let (is_top, begin) = (request.origin.thread.is_none(), self.begin);
        loader.remember(lineage.sources(), false);
        let (ended, awaited) = match came {
            ThreadOutcome::Ended(ended) => (ended, None),
            ThreadOutcome::Waits(awaited) => {
                if let Some(report) = threads.went_on(&id, &awaited, is_top, begin, loader.sink)? {
                    return Ok(StartResult::Report(Box::new(report)));
                }
                let nothing =
                    Ended { result: String::new(), outputs: Map::new(), replaced_by: None };
                (nothing, Some(awaited))
            }
            ThreadOutcome::Continues { by, continued } => {
                drop(prepared);
                return Ok(StartResult::Next(Box::new(self.next(by, *continued))));
            }
        };
        let report = ThreadReport {
            item,
            thread_id: id.to_string(),
            result: ended.result,
            outputs: ended.outputs,
            replaced_by: ended.replaced_by,
            cost: registry.thread(id.as_str())?.map_or_else(|_| Map::new(), |row| cost(&row)),
            warnings: Warned::of_sources(lineage.sources()),
            told: Vec::new(),
            awaited,
        };
        Ok(StartResult::Report(Box::new(Report::Thread(Box::new(report)))))
    }

    /// Lowers limits to the time that the caller waits and to what the threads above have left;
    /// tells of each that is less than was asked for.
    fn lower(
        &self,
        said: &mut SaidLimits,
        threads: Threads<'_>,
        request: &Request,
        sink: &dyn Sink,
    ) -> Result<(), Failure> {
        said.replace(said.limits.within(request.timeout), "`--timeout`");
        let left = self.left(threads, request, said.limits)?;
        said.replace(left, "what the thread above has left");
        // What goes on for another thread has what that one left.
        if !self.is_registered {
            said.tell_lowered(&request.of_thread.limits, sink)?;
        }
        Ok(())
    }

    /// Limits, and no more than the threads above have left; of a thread that was registered
    /// before, those that stand there.
    fn left(
        &self,
        threads: Threads<'_>,
        request: &Request,
        limits: ThreadLimits,
    ) -> Result<ThreadLimits, Failure> {
        let parent = request.origin.thread.as_ref();
        if self.resuming.is_some() || (parent.is_none() && !self.is_registered) {
            return Ok(limits);
        }
        let Some(mut registry) = threads.registry()? else { return Ok(limits) };
        let left = match parent.filter(|_| !self.is_registered) {
            Some(parent) => Some(ThreadRow::left_below(&registry, parent.id.as_str())?),
            None => registry.thread(self.id.as_str())?.ok().map(|row| (row.most, row.depth())),
        };
        Ok(left.map_or(limits, |(amounts, depth)| limits.at_most(amounts, depth)))
    }

    /// The thread that goes on for this one, which is over.
    fn next(mut self, id: ThreadId, continued: Continued) -> Self {
        self.backend.thread = id.clone();
        Self {
            backend: self.backend,
            id,
            verified: None,
            resuming: None,
            continued: Some(continued),
            is_registered: true,
            begin: Instant::now(),
        }
    }

    /// How far it came before this process, or before it.
    fn resumed(&self) -> Option<Resumed> {
        match (&self.resuming, &self.continued) {
            (Some(resuming), _) => Some(resuming.resumed.clone()),
            (None, Some(continued)) => Some(Resumed::of(continued)),
            (None, None) => None,
        }
    }
}

/// Lets a thread run in another process, with what was verified of it.
fn detached(
    threads: Threads<'_>,
    loader: &Loader<'_>,
    lineage: &Lineage,
    request: &Request,
    (id, verified): (&ThreadId, Value),
) -> Result<Report, Failure> {
    let (places, warnings) = (max_async(loader)?, Warned::of_sources(lineage.sources()));
    // They were checked, and are checked anew.
    let (item, params) = (lineage.source.item().clone(), request.inputs());
    let detaching = Detaching { rye: threads.rye, request, item, params, places, warnings };
    detaching.thread(id, verified)
}

/// The keys that sign the record.
///
/// # Errors
/// `key.*`, `thread.key_revoked`
fn own_pair(loader: &Loader<'_>, user: &Root) -> Result<KeyPair, Failure> {
    let pair = OwnKeys::new(user).pair()?;
    match loader.trust.own_is_revoked() {
        true => Err(ThreadError::OwnKeyRevoked { key: pair.public().fingerprint() }.into()),
        false => Ok(pair),
    }
}

impl ReadyThread<'_> {
    /// Begins the thread, or goes on with it, and runs it until it ends, waits, or is asked
    /// to stop.
    fn watched(
        &self,
        pair: KeyPair,
        request: &Request,
        calls: &ThreadCalls<'_>,
        user: &Path,
        registry: &mut Registry,
    ) -> Result<ThreadOutcome, Failure> {
        let id = &calls.id;
        if let Some(resuming) = &self.start.resuming {
            self.compare(resuming)?;
            self.chosen.answers(&resuming.resumed)?;
            resuming.claim(&self.limits, registry)?;
        }
        let watch = StopWatch::start(is_asked_to_stop(user, id.as_str())).ok();
        let record = self.open(id, pair, request, calls, registry)?;
        if request.origin.thread.is_none() {
            self.listener.record(Event::ThreadRuns { thread_id: id.to_string() });
        }
        let is_stopped = watch.as_ref().map(StopWatch::flag).unwrap_or_default();
        let came = self.run(calls, request, record, is_stopped, registry);
        self.hooks.let_go(&came, request.origin.thread.as_ref());
        let is_stopped = watch.is_some_and(|watch| watch.is_stopped());
        if is_stopped {
            registry.stops().forget(id.as_str())?;
        }
        let is_top = request.origin.thread.is_none();
        came.map_err(|failure| told_as_of(id, failure, is_stopped, is_top))
    }

    /// The thread that would start.
    fn checked(&self) -> CheckedThread {
        let ChosenModel { item, space, path, model, model_from, .. } = &self.chosen;
        CheckedThread {
            provider: item.clone(),
            space: *space,
            path: path.clone(),
            model: model.clone(),
            model_from: model_from.clone(),
            passed_over: self.chosen.passed_over.clone(),
            limits: self.said.told(),
            permissions: self.permissions.to_vec(),
            risk: self.risk.as_str(),
            tools: self.table.tools().iter().map(|tool| tool.name.clone()).collect(),
            tools_left_out: self.table.left_out,
            tools_refused: self.table.refused.clone(),
            tools_missing: self.table.missing.clone(),
        }
    }

    /// # Errors
    /// `thread.record_io` where a folder on the way to its record is a link.
    fn check_place(&self, id: &ThreadId) -> Result<(), ThreadError> {
        let path = transcript(&self.base, id);
        let checked = refuse_record_links(&self.base, &path);
        checked.map_err(|source| ThreadError::Record { path, source })
    }

    /// Registers the thread and opens its record.
    fn open(
        &self,
        id: &ThreadId,
        pair: KeyPair,
        request: &Request,
        calls: &ThreadCalls<'_>,
        registry: &mut Registry,
    ) -> Result<Record, Failure> {
        if let Some(resuming) = &self.start.resuming {
            return self.reopen(id, pair, request, resuming, registry);
        }
        let parent = request.origin.thread.as_ref();
        let began = self.to_json(id, request, self.start.continued.as_ref());
        if !self.start.is_registered {
            self.register(id, parent, calls, &began, registry)?;
        }
        let record = Record::create(&self.base, id.clone(), pair);
        let record = record.and_then(|mut record| {
            record.begin(began)?;
            Ok(record)
        });
        record.map_err(|error| {
            let failure = Failure::from(error);
            // The thread is over; that this cannot be written down changes nothing of it.
            let _ = registry.end_thread(id.as_str(), RunState::Failed, Some(failure.code()), None);
            failure
        })
    }

    fn register(
        &self,
        id: &ThreadId,
        parent: Option<&ThreadParent>,
        calls: &ThreadCalls<'_>,
        began: &Value,
        registry: &mut Registry,
    ) -> Result<(), Failure> {
        let ThreadLimits { turns, tokens, spend, spawns, depth, .. } = self.limits;
        let grants = calls.grants().to_text();
        let begun = registry.begin_thread(&NewThread {
            id: id.as_str(),
            parent: parent.map(|parent| parent.id.as_str()),
            item: &self.lineage.source.item().to_string(),
            provider: &self.chosen.item.to_string(),
            model: &self.chosen.model,
            base: &self.base.to_string_lossy(),
            started_at: &moment(),
            most: Amounts { turns, tokens, spend, spawns },
            depth,
            grants: &grants,
            began: &began.to_string(),
        })?;
        match begun {
            Some(breach) => {
                let is_below = parent.is_some();
                Err(ThreadError::LimitExceeded { id: id.clone(), breach, is_below }.into())
            }
            None => Ok(()),
        }
    }

    /// Registers the thread that goes on for this one, which is over then.
    fn continue_by(
        &self,
        registry: &mut Registry,
        request: &Request,
        continued: &Continued,
    ) -> Result<ThreadId, Failure> {
        let id = ThreadId::new(&self.lineage.source.item().id);
        let id = id.map_err(|source| ThreadError::Record { path: PathBuf::new(), source })?;
        let began = self.to_json(&id, request, Some(continued)).to_string();
        let old = self.start.id.as_str();
        Continuations::new(registry).begin(old, id.as_str(), &moment(), &began)?;
        Ok(id)
    }

    /// Opens the record of a thread that goes on, and says so in it.
    fn reopen(
        &self,
        id: &ThreadId,
        pair: KeyPair,
        request: &Request,
        resuming: &Resuming,
        registry: &mut Registry,
    ) -> Result<Record, Failure> {
        let opened = Record::reopen(&self.base, id.clone(), pair, &resuming.record);
        let opened = opened.and_then(|(mut record, unproven)| {
            if resuming.record.proven == 0 {
                let continued = self.start.continued.as_ref();
                record.begin(self.to_json(id, request, continued))?;
            }
            let told = resuming.to_json(&self.limits, self.chosen.digest, unproven);
            record.event(THREAD_RESUMED, told)?;
            Ok(record)
        });
        opened.map_err(|error| {
            // Restores the old status; marks the thread killed if anything was written: then it can
            // be resumed later, and a process that still writes it sees that. A failure to write
            // this down changes nothing.
            let (status, code) = match resuming.is_untouched() {
                true => resuming.ended_before(),
                false => (RunState::Killed, Some(THREAD_KILLED.name())),
            };
            let _ = registry.end_thread(id.as_str(), status, code, None);
            Failure::from(error)
        })
    }

    /// # Errors
    /// `thread.drifted`, `thread.not_resumable`
    fn compare(&self, resuming: &Resuming) -> Result<(), ThreadError> {
        let told = (self.prompt.system(), self.prompt.user(&self.lineage.directive.outputs));
        let source = &self.lineage.source;
        resuming.compare(source, self.permissions, &self.chosen.item, &self.base, &told)
    }

    fn to_json(&self, id: &ThreadId, request: &Request, continued: Option<&Continued>) -> Value {
        let parent = request.origin.thread.as_ref();
        let source = &self.lineage.source;
        let tools: Vec<&str> = self.table.tools().iter().map(|tool| tool.name.as_str()).collect();
        json!({
            "version": RECORD_VERSION, "thread_id": id.as_str(),
            "parent": parent.map(|parent| parent.id.as_str()),
            "continues": continued.map(Continued::to_json),
            "item_id": source.item(), "sha256": source.digest(),
            "signer": source.signer().map(|signer| signer.key),
            "provider": self.chosen.item, "provider_sha256": self.chosen.digest,
            "model": self.chosen.model, "passed_over": self.chosen.passed_over,
            "context_window": self.chosen.provider.context_window,
            "limits": self.limits.to_json(), "permissions": self.permissions,
            "risk": self.risk.as_str(), "sandbox_server": self.start.backend.server,
            "locked": request.locked, "narrowed": request.origin.grants.is_some(),
            "inputs": self.inputs, "tools": tools, "tools_left_out": self.table.left_out,
            "tools_refused": self.table.refused, "tools_missing": self.table.missing,
        })
    }

    fn run(
        &self,
        calls: &ThreadCalls<'_>,
        request: &Request,
        mut record: Record,
        is_stopped: Arc<AtomicBool>,
        registry: &mut Registry,
    ) -> Result<ThreadOutcome, Failure> {
        let ChosenModel { provider, prices, .. } = &self.chosen;
        let outputs = &self.lineage.directive.outputs;
        let is_below = request.origin.thread.is_some();
        let conversation = Conversation {
            system: self.prompt.system(),
            user: self.prompt.user(outputs),
            outputs,
            watcher: &self.hooks,
            table: &self.table,
            backend: &self.start.backend,
            model: self.chosen.language_model(calls.rye, (!is_below).then(|| calls.id.clone())),
            listener: self.listener,
            prices: *prices,
            answer_tokens: provider.answer_tokens,
            context_window: provider.context_window,
            continue_by: &|registry: &mut Registry, continued: &Continued| {
                self.continue_by(registry, request, continued)
            },
            denied_by: &|call, kind, detail| self.denials.of(call, kind, detail),
            limits: self.limits,
            is_below,
            begin: self.start.begin,
            is_stopped,
            resumed: self.start.resumed(),
        };
        converse(conversation, &mut record, registry)
    }
}
