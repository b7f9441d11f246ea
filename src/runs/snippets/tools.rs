//! Snippets on the way into rye: each call of a tool is a run like any other.
//!
//! Invariant: what a snippet may reach goes with each call and is judged where every call is
//! judged (`rye/grants.rs`); nothing here decides about an item.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::private_values::PrivateValues;
use super::saved::SavedRun;
use crate::base::Digest;
use crate::base::staged::AtomicFile;
use crate::base::sync::unpoisoned;
use crate::base::time::as_ms;
use crate::code::{
    Asks, Backend, CodeError, CodeRequest, CodeResult, DeclaredTool, Executor, PausedSnippet,
    SnippetReach, ToolAnswer, ToolCall, ToolFault, Tools, Verdict,
};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{Grants, Kind, Query, Ref, Space};
use crate::plan::{Act, PlanError};
use crate::registry::RegistryError;
use crate::report::{Report, Warned};
use crate::runs::requests::DecidedRequest;
use crate::rye::grants::{self, ApprovalNeeded};
use crate::rye::{
    CallApproval, Caller, CodePolicy, DetailLevel, Failed, ItemDigests, KeptSnippet, Nesting,
    PassedValues, Request, Rye, SearchRequest, ThreadParent, is_link, run_id,
};
use crate::trace::{Event, Quiet, Sink};

/// Results of snippets that are kept because they were too long for an answer; the oldest go.
#[cfg(feature = "code")]
const CODE_KEPT: usize = 50;

impl Rye {
    /// Runs a snippet with the tools of this project. It waits for a person before the first call
    /// of a tool that does not say `effects: read`, unless the user's configuration says
    /// otherwise; see [`CodeResult::pending_id`].
    ///
    /// ```
    /// # fn main() -> Result<(), rye::Failure> {
    /// use std::sync::Arc;
    /// use rye::code::{
    ///     CodeConfig, CodeRequest, Engine, EngineError, Executor, Produced, Snippet, Stop,
    ///     Surroundings,
    /// };
    ///
    /// /// A language in which each snippet means its own length.
    /// struct Lengths;
    ///
    /// impl Engine for Lengths {
    ///     fn languages(&self) -> &'static [&'static str] {
    ///         &["lengths"]
    ///     }
    ///
    ///     fn run(
    ///         &self,
    ///         snippet: &Snippet<'_>,
    ///         _around: &dyn Surroundings,
    ///         _stop: &Stop,
    ///     ) -> Result<Produced, EngineError> {
    ///         Ok(Produced { value: snippet.code.len().into(), warnings: Vec::new() })
    ///     }
    /// }
    ///
    /// let rye = rye::RyeBuilder::new().project("/").build()?;
    /// let executor = Executor::new(CodeConfig::default()).engine(Arc::new(Lengths));
    /// let result = rye.run_code(&executor, &CodeRequest::new("four").language("lengths"));
    /// assert_eq!(result.value(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run_code(&self, executor: &Executor, request: &CodeRequest) -> CodeResult {
        executor.run(request, &RyeTools::new(self, &Quiet), &|_, _| ())
    }
}

/// A question of a snippet, with the bytes of the item that it was about.
type AskedItem = (Asks, Option<Digest>);

/// The tools of a rye, for snippets: each call is a run.
pub struct RyeTools<'a> {
    pub(super) rye: &'a Rye,
    sink: &'a (dyn Sink + 'a),
    /// The name of the snippet's run; a call has it with its number.
    run_id: String,
    /// The items that the caller itself may reach; `None` is every item.
    grants: Option<Grants>,
    /// When a person is asked about a tool that does not say that it only reads.
    approval: CallApproval,
    /// Such tools that a person approved for the whole snippet, with their bytes.
    pub(super) approved: Mutex<ItemDigests>,
    /// Items that were called or asked about, with their bytes.
    called: Mutex<ItemDigests>,
    /// Of what is configured, when the snippet began.
    policy: Option<Digest>,
    locked: bool,
    /// A person may be asked; not in a test, which runs in another workplace, nor by an eval.
    can_wait: bool,
    /// The run that the snippet is, where it is saved as a tool.
    pub(super) saved: Option<SavedRun<'a>>,
    /// Where a receipt of each call goes.
    receipts: Option<PathBuf>,
    warned: Mutex<Vec<Warned>>,
    /// The saved snippets that a call is within.
    within: Nesting,
    /// The request that the snippet waited with, and what it asked, with the bytes of each item.
    pub(super) waited: Option<(String, Vec<AskedItem>)>,
    /// This process claimed that; otherwise all of it was rejected.
    pub(super) is_claimed: bool,
    /// The thread that the snippet is called in.
    thread: Option<ThreadParent>,
    /// The thread that waits where the snippet asks a person.
    pub(super) waiting_thread: Option<String>,
    /// A model wrote it, which is shown no value that a tool named of the host, whatever a snippet
    /// would make of it, and not where files lie.
    hides_values: bool,
    /// Its own private values, and those of what it called and was not masked for it.
    pub(super) private: PrivateValues,
}

impl<'a> RyeTools<'a> {
    /// A person is asked before the first call of each tool that does not say that it only reads,
    /// unless the user's configuration says otherwise.
    pub(crate) fn new(rye: &'a Rye, sink: &'a dyn Sink) -> Self {
        let policy = CodePolicy::of(rye).ok();
        let approval = policy.as_ref().map(|policy| policy.approval(CallApproval::First));
        Self {
            rye,
            sink,
            run_id: run_id(),
            grants: None,
            approval: approval.unwrap_or(CallApproval::First),
            approved: Mutex::default(),
            called: Mutex::default(),
            policy: policy.map(|policy| policy.digest()),
            locked: false,
            can_wait: true,
            saved: None,
            receipts: None,
            warned: Mutex::default(),
            within: Nesting::default(),
            waited: None,
            is_claimed: false,
            thread: None,
            waiting_thread: None,
            hides_values: false,
            private: PrivateValues::default(),
        }
    }

    /// Asks a person as this says.
    pub(crate) fn approval(self, approval: CallApproval) -> Self {
        Self { approval, ..self }
    }

    /// The tools of a snippet that waited under this id.
    pub(super) fn again(
        rye: &'a Rye,
        sink: &'a dyn Sink,
        id: &str,
        (kept, paused): (&KeptSnippet, &PausedSnippet),
        is_claimed: bool,
    ) -> Self {
        let asks = paused.asked().iter().map(|asked| asked.asks.clone());
        let asked = asks.map(|asks| (asks.clone(), kept.called.get(&asks.item).copied()));
        Self {
            rye,
            sink,
            run_id: kept.run_id.clone(),
            grants: kept.granted(),
            approval: kept.approval,
            approved: Mutex::new(kept.approved.clone()),
            called: Mutex::new(kept.called.clone()),
            policy: Some(kept.policy),
            locked: kept.locked,
            can_wait: true,
            saved: None,
            within: Nesting::default(),
            thread: kept.parent(),
            waiting_thread: None,
            hides_values: kept.hides_values,
            private: PrivateValues::of(kept.private.iter().map(String::as_str)),
            receipts: kept.receipts.clone(),
            warned: Mutex::default(),
            waited: Some((id.to_owned(), asked.collect())),
            is_claimed,
        }
    }

    /// The part of these tools that is kept while their snippet waits.
    ///
    /// # Errors
    /// Those of the configuration.
    pub(super) fn kept(
        &self,
        format: &str,
        paused: Value,
        text: &str,
    ) -> Result<KeptSnippet, Failure> {
        let policy = match self.policy {
            Some(policy) => policy,
            None => CodePolicy::of(self.rye)?.digest(),
        };
        Ok(KeptSnippet {
            run_id: self.run_id.clone(),
            approval: self.approval,
            approved: unpoisoned(self.approved.lock()).clone(),
            called: unpoisoned(self.called.lock()).clone(),
            locked: self.locked,
            receipts: self.receipts.clone(),
            grants: self.grants.as_ref().map(Grants::to_texts),
            thread: self.thread.as_ref().map(|thread| thread.id.to_string()),
            hides_values: self.hides_values,
            format: format.to_owned(),
            paused,
            sha256: Digest::of(text.as_bytes()),
            private: self.private.standing_in(text),
            policy,
        })
    }

    /// Notes what bytes of an item were called or asked about.
    fn note(&self, item: &Ref, digest: Digest) {
        unpoisoned(self.called.lock()).insert(item.to_string(), digest);
    }

    /// Runs what the tool of a call had asked a person, who approved it.
    fn run_approved(
        &self,
        request: &str,
        id: &str,
        begin: Instant,
    ) -> Result<ToolAnswer, ToolFault> {
        let approvals = self.rye.approvals();
        let missing = || RegistryError::NotFound { id: request.to_owned(), near: Vec::new() };
        let registry = approvals.registry()?.ok_or_else(|| Failure::from(missing()))?;
        let asked = registry.request(request).map_err(Failure::from)?;
        let (asked, decision) = match approvals.decide(asked, approvals.decision(), None)? {
            DecidedRequest::Approved(asked, decision)
            | DecidedRequest::Rejected(asked, decision) => (asked, decision),
            // A saved snippet that asked several questions at once: the next one of them.
            DecidedRequest::Noted(open) => {
                let next = open.into_iter().next().map(|next| next.row);
                let asks = next.map(|next| Asks {
                    item: next.item,
                    reason: next.reason,
                    message: next.message,
                    request: Some(next.id),
                    is_for_all: false,
                });
                return Err(ToolFault { asks, ..ToolFault::default() });
            }
        };
        let caller = (self.thread.clone(), self.private.all());
        match approvals.approve_in(caller, &asked, decision, begin, self.sink) {
            Ok(report) => self.ran(&report, id, begin),
            Err(failed) => self.refused(failed),
        }
    }

    /// A call that came to no report.
    fn refused(&self, failed: Failed) -> Result<ToolAnswer, ToolFault> {
        unpoisoned(self.warned.lock()).extend(failed.warnings);
        let needed = failed.failure.downcast_ref::<ApprovalNeeded>().filter(|_| self.can_wait);
        let asks = needed.map(|needed| {
            self.note(&needed.item, needed.digest);
            let item = needed.item.to_string();
            let message =
                format!("a snippet calls `{item}`, which does not say that it only reads");
            let is_for_all = self.approval == CallApproval::First;
            Asks { item, reason: "effects".into(), message, request: None, is_for_all }
        });
        Err(ToolFault { asks, ..failed.failure.into() })
    }

    /// For a snippet of the model of a thread: it reaches what the thread reaches.
    pub(crate) fn of_thread(self, run_id: String, grants: Grants, thread: ThreadParent) -> Self {
        let grants = Some(grants);
        Self { run_id, grants, ..self }.in_thread(Some(thread))
    }

    /// Whatever takes part must be what the lock lists.
    pub(crate) fn locked(self, locked: bool) -> Self {
        Self { locked, ..self }
    }

    /// Leaves a receipt of each call in a folder.
    pub(crate) fn receipts(self, receipts: Option<PathBuf>) -> Self {
        Self { receipts, ..self }
    }

    /// For a saved snippet, which reaches these tools and of them what its caller reaches.
    pub(super) fn below(self, caller: Caller<'_>, own: Grants) -> Self {
        let grants = match caller.request.origin.grants.clone() {
            Some(granted) => granted.and(own),
            None => own,
        };
        let tools = Self { run_id: caller.run_id.to_owned(), grants: Some(grants), ..self };
        tools.in_thread(caller.request.origin.thread.clone())
    }

    /// For a snippet that runs in a thread: what its tools ask is decided with it.
    pub(super) fn in_thread(self, thread: Option<ThreadParent>) -> Self {
        // Whatever is told in a thread, its model reads.
        let hides_values = self.hides_values || thread.is_some();
        let waiting_thread = thread.as_ref().and_then(ThreadParent::waiting).map(str::to_owned);
        let thread = thread.map(ThreadParent::without_waiting);
        Self { thread, waiting_thread, hides_values, ..self }
    }

    /// For a snippet that is this run.
    pub(super) fn of_saved(self, saved: SavedRun<'a>, within: Nesting, can_wait: bool) -> Self {
        self.private.add(saved.plan.private_values());
        Self { saved: Some(saved), within, can_wait, ..self }
    }

    /// The warnings of dev mode.
    pub(crate) fn warned(&self) -> Vec<Warned> {
        unpoisoned(self.warned.lock()).clone()
    }

    /// The items that this caller and the snippet both reach.
    fn granted(&self, reach: &SnippetReach) -> Option<Grants> {
        match (self.grants.clone(), reach.grants().cloned()) {
            (Some(own), Some(asked)) => Some(own.and(asked)),
            (own, asked) => own.or(asked),
        }
    }

    /// A tool in reach, described.
    fn described(
        &self,
        id: &str,
        level: DetailLevel,
        examples: Option<usize>,
        reach: &SnippetReach,
    ) -> Result<Map<String, Value>, Failure> {
        let query = tool(id)?;
        let granted = self.granted(reach);
        let may = |item: &Ref| granted.as_ref().is_none_or(|granted| granted.allow(item));
        let told = self.rye.items().describe_at(&query, level, examples);
        let (mut told, _) = told.map_err(|no| grants::in_reach(no, may))?;
        if self.hides_values {
            told.retain(|key, _| !["path", "shadowed"].contains(&key.as_str()));
        }
        let item = told.get("item_id").and_then(Value::as_str).unwrap_or_default();
        let item = item.parse::<Ref>()?;
        grants::judge(granted.as_ref(), &item)?;
        Ok(told)
    }

    /// The ids of all tools in reach, each once.
    fn ids(&self, reach: &SnippetReach) -> Result<Vec<Ref>, Failure> {
        let granted = self.granted(reach);
        let mut items = Vec::new();
        for space in Space::NEAREST_FIRST {
            let entries = self.rye.items().list(space, Kind::Tool)?;
            let items_here = entries.into_iter().map(|entry| entry.item);
            items.extend(items_here.filter(|item| !is_link(item) && !item.is_hook()));
        }
        items.retain(|item| granted.as_ref().is_none_or(|granted| granted.allow(item)));
        items.sort();
        items.dedup();
        Ok(items)
    }

    /// The tools in reach that are verified, as declarations.
    ///
    /// # Errors
    /// `space.*`
    pub(crate) fn declared(&self, reach: &SnippetReach) -> Result<Vec<DeclaredTool>, Failure> {
        let items = self.ids(reach)?;
        let described = self.rye.items().describe_all(items.into_iter().map(Query::from).collect());
        let tools = described.into_iter().filter_map(|described| {
            let described = described.ok()?;
            let summary = described.item.description().unwrap_or_default();
            Some(DeclaredTool {
                id: described.detail.item.id.to_string(),
                summary: summary.split_whitespace().collect::<Vec<_>>().join(" "),
                schema: described.item.input_schema().unwrap_or_default(),
                output: described.item.output_schema().cloned(),
            })
        });
        Ok(tools.collect())
    }

    fn ran(&self, report: &Report, id: &str, begin: Instant) -> Result<ToolAnswer, ToolFault> {
        unpoisoned(self.warned.lock()).extend(report.warnings().iter().cloned());
        if let Report::Tool(tool) = report {
            tool.details.iter().for_each(|link| self.note(&link.item, link.digest));
            if !self.hides_values {
                self.private.add(tool.plan.private_values());
            }
        }
        let backend = backend(report);
        let mut told = match self.hides_values {
            true => report.to_masked_json(begin.elapsed()),
            false => report.to_json(begin.elapsed(), false, None),
        };
        let text = |told: &Value, key: &str| told[key].as_str().map(str::to_owned);
        match told["status"].as_str() {
            Some("success") => {
                Ok(ToolAnswer { value: report.value_of(told["data"].take()), backend })
            }
            Some("pending") => {
                let request = report.pending_id().map(str::to_owned);
                let message = text(&told["pending"], "message").unwrap_or_default();
                let reason = text(&told["pending"], "reason").unwrap_or_default();
                let item = text(&told, "item_id").unwrap_or_default();
                let (tool, id) = (id.to_owned(), request.clone());
                let error = CodeError::CallPending { tool, id, message: message.clone() };
                // A test and an eval ask no person.
                let asks = request.filter(|_| self.can_wait).map(|request| Asks {
                    item,
                    reason,
                    message,
                    request: Some(request),
                    is_for_all: false,
                });
                Err(ToolFault { backend, asks, ..Diagnostic::from(&error).into() })
            }
            _ => Err(ToolFault {
                code: text(&told, "code").unwrap_or_default(),
                message: text(&told, "error").unwrap_or_default(),
                help: text(&told, "help"),
                data: told["data"].take(),
                backend,
                signal: None,
                asks: None,
            }),
        }
    }
}

impl Tools for RyeTools<'_> {
    fn run_tool(&self, call: ToolCall<'_>) -> Result<ToolAnswer, ToolFault> {
        let begin = Instant::now();
        if let Some(Asks { request: Some(request), .. }) = call.approved {
            return self.run_approved(request, call.id, begin);
        }
        let query = tool(call.id)?;
        let call_id = format!("{}-{}", self.run_id, call.number);
        let shown = call_id.clone();
        let mut request = Request::new(query.to_string());
        request.params = call.args;
        request.origin.grants = self.granted(call.reach);
        if self.approval != CallApproval::Never {
            let mut approved = unpoisoned(self.approved.lock()).clone();
            approved.extend(call.approved.and_then(|asks| self.as_asked(asks)));
            request.origin.may_write = Some(approved);
        }
        request.locked = self.locked;
        request.receipt = self.receipts.as_ref().map(|at| at.join(format!("{call_id}.json")));
        request.origin.call_id = Some(call_id);
        request.origin.is_typed = self.approval == CallApproval::Never;
        request.origin.within = self.within.clone();
        request.origin.private = PassedValues(self.private.all());
        request.origin.thread.clone_from(&self.thread);
        let came = match self.rye.runs().run(&request, begin, self.sink) {
            Ok(report) => self.ran(&report, call.id, begin),
            Err(failed) => self.refused(failed),
        };
        self.sink.record(Event::Call {
            call_id: shown,
            tool_id: call.id.to_owned(),
            failed: came.as_ref().err().map(|fault: &ToolFault| fault.code.clone()),
            took_ms: as_ms(begin.elapsed()),
        });
        came
    }

    fn pause(&self, paused: &PausedSnippet) -> Result<Vec<String>, Failure> {
        self.keep_waiting(paused)
    }

    fn withdraw(&self, requests: &[&str]) {
        self.withdraw_asked(requests);
    }

    fn goes_on(&self) -> Result<Vec<Verdict>, Failure> {
        self.decided()
    }

    fn search_tools(
        &self,
        query: &str,
        limit: Option<usize>,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        let mut request = SearchRequest::new(query).kind(Some(Kind::Tool));
        if let Some(limit) = limit {
            request = request.limit(limit);
        }
        let page = self.rye.search().find(&request.grants(self.granted(reach)))?;
        let mut told = page.to_json();
        told.shift_remove("next_cursor");
        Ok(told.into())
    }

    fn list_namespaces(&self, reach: &SnippetReach) -> Result<Value, ToolFault> {
        let mut counts: Vec<(String, u64)> = Vec::new();
        for item in self.ids(reach)? {
            let first = item.id.as_str().split('/').next().unwrap_or_default();
            match counts.last_mut().filter(|(name, _)| name == first) {
                Some((_, count)) => *count += 1,
                None => counts.push((first.to_owned(), 1)),
            }
        }
        let rows = counts.into_iter().map(|(name, tools)| json!({"name": name, "tools": tools}));
        Ok(rows.collect())
    }

    fn describe_tool(
        &self,
        id: &str,
        level: &str,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        let known = level.parse::<DetailLevel>().map_err(|()| ToolFault {
            code: "code.failed".into(),
            message: "a level is `summary`, `schema` or `full`".into(),
            ..ToolFault::default()
        })?;
        Ok(self.described(id, known, None, reach)?.into())
    }

    fn list_tool_examples(
        &self,
        id: &str,
        most: Option<usize>,
        reach: &SnippetReach,
    ) -> Result<Value, ToolFault> {
        let mut told = self.described(id, DetailLevel::Full, most, reach)?;
        Ok(told.shift_remove("examples").unwrap_or_else(|| json!([])))
    }

    fn keep(&self, result: &[u8]) -> Option<String> {
        let user = self.rye.spaces().get(Space::User)?;
        let folder = user.base().join(".ai/state/code");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let path = folder.join(format!("{}.json", Digest::of(result)));
        AtomicFile::at(&path, 0o600).and_then(|file| file.finish(result)).ok()?;
        forget_oldest(&folder);
        Some(path.display().to_string())
    }
}

/// Removes the oldest results beyond those that are kept.
fn forget_oldest(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let files = entries.flatten().filter_map(|entry| {
        let at = entry.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
        Some((at, entry.path()))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    for (_, path) in files.iter().take(files.len().saturating_sub(CODE_KEPT)) {
        let _ = std::fs::remove_file(path);
    }
}

/// Reads the name of a tool, and refuses an item of another kind.
///
/// # Errors
/// `id.*`, `plan.not_a_tool`
fn tool(id: &str) -> Result<Query, Failure> {
    let query: Query = id.parse()?;
    match query.kind {
        None | Some(Kind::Tool) => Ok(Query { kind: Some(Kind::Tool), ..query }),
        Some(kind) => Err(PlanError::NotATool { item: Ref::new(kind, query.id) }.into()),
    }
}

fn backend(report: &Report) -> Backend {
    let Report::Tool(tool) = report else { return Backend::Local };
    match tool.plan.act() {
        Act::Process(_) => Backend::Local,
        Act::Exec(..) => Backend::Exec,
        Act::Http(_) => Backend::Http,
        Act::Mcp(..) => Backend::Mcp,
        Act::Code(_) => Backend::Local,
    }
}
