//! The tools of a model in a thread: each call of an item is a run like any other.
//!
//! Invariant: the grants of the thread go with every call, and are judged where every call is
//! judged (`rye/grants.rs`); those of tools that are no items, here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::find_tools::FindTool;
use super::own_paths::OwnPaths;
use super::own_tools::OwnTool;
#[cfg(feature = "code")]
use super::snippet_tool::SnippetTool;
use crate::base::limits::{ANSWER_BYTES, OUTPUT_BYTES};
use crate::base::text::near;
use crate::diagnostic::Failure;
use crate::execute::ExecuteError;
use crate::id::{Grants, Kind, Pattern, Query, Ref, Space};
use crate::parse::{DirectiveOutput, Item, Tool};
use crate::plan::{PLAN_INVALID_PARAMETERS, Params, Thread};
use crate::registry::Decision;
use crate::report::Report;
use crate::rye::{
    CallPolicy, GRANT_DENIED, HOOK_DENIED, LockMode, Origin, Request, Rye, ThreadGrants,
    ThreadParent, grants, is_link,
};
use crate::thread::{
    TableTool, ThreadId, ThreadSession, ThreadTool, ToolCallFault, ToolCallFaultKind, ToolTable,
    WorkspaceTool, cut_streams, tool_name,
};
use crate::trace::{Event, MissingTool, Quiet, Sink};

/// The longest that one call may take: what a run takes as its time limit is not longer.
const LONGEST_CALL: Duration = Duration::from_hours(24);

/// The folder of ids under which the tools of a workspace are granted.
pub(super) const WORKSPACE: &str = "rye/workspace";

/// The calls of one thread, and the items that it may reach.
pub(super) struct ThreadCalls<'a> {
    pub(super) rye: &'a Rye,
    pub(super) sink: &'a dyn Sink,
    /// For a thread below, which writes down itself what hooks say in it.
    pub(super) outer: &'a dyn Sink,
    pub(super) id: ThreadId,
    pub(super) execute: Grants,
    pub(super) fetch: Grants,
    pub(super) sign: Grants,
    pub(super) locked: bool,
    /// The folder that holds the `.ai` of its record.
    pub(super) base: PathBuf,
    /// It waits where one of its calls asks a person.
    pub(super) can_wait: bool,
    /// Who approved what it waited for.
    pub(super) decision: Option<Decision>,
}

/// The actions that a thread has any capability of.
pub(super) struct GrantedActions {
    executes: bool,
    fetches: bool,
    signs: bool,
    /// The tools that it may call by their names.
    named: Vec<Ref>,
}

impl GrantedActions {
    pub(super) fn new(execute: &[Pattern], fetch: &[Pattern], sign: &[Pattern]) -> Self {
        let named = execute.iter().filter_map(Pattern::only_item);
        let mut named: Vec<Ref> = named.filter(|item| item.kind == Kind::Tool).collect();
        named.sort();
        named.dedup();
        let (executes, fetches) = (!execute.is_empty(), !fetch.is_empty());
        Self { executes, fetches, signs: !sign.is_empty(), named }
    }
}

impl<'a> ThreadCalls<'a> {
    /// The tools that the model is told of.
    ///
    /// # Errors
    /// `thread.tool_name_conflict`, `space.*`
    pub(super) fn table(
        &'a self,
        outputs: &[DirectiveOutput],
        granted: &GrantedActions,
    ) -> Result<ToolTable<'a>, Failure> {
        let own = [
            (granted.executes, OwnTool::Execute(self)),
            (granted.fetches, OwnTool::Fetch(self)),
            (granted.signs, OwnTool::Sign(self)),
        ];
        let own = own.into_iter().map(|(is_granted, tool)| {
            let (judged, item) = (tool.judged(), own_item(tool.name()));
            (is_granted, CheckedTool { judged, ..self.checked(Arc::new(tool), item) })
        });
        let of_workspace = WorkspaceTool::ALL.into_iter().map(|tool| {
            self.checked(Arc::new(tool), reference(&format!("{WORKSPACE}/{}", tool.name())))
        });
        let find = [FindTool::Search(self), FindTool::Describe(self)].map(|tool| {
            let item = own_item(tool.name());
            self.checked(Arc::new(tool), item)
        });
        let by_name = |tool: CheckedTool<'a>| (tool.is_granted(), tool);
        let rest = of_workspace.chain(find).chain(self.snippets()).map(by_name);
        let of_rye: Vec<(bool, CheckedTool<'a>)> = own.chain(rest).collect();
        let names: Vec<String> = of_rye.iter().map(|(_, tool)| tool.name().to_owned()).collect();
        let of_program = self.rye.thread_tools.iter();
        let of_program = of_program
            .filter(|tool| tool_name(tool.name()) == tool.name())
            .filter_map(|tool| Some((tool, reference(tool.name())?)))
            .map(|(tool, item)| by_name(self.checked(Arc::clone(tool), Some(item))));
        let built_in: Vec<(bool, CheckedTool<'a>)> = of_rye.into_iter().chain(of_program).collect();
        let mut known: Vec<Ref> = built_in.iter().filter_map(|(_, it)| it.item.clone()).collect();
        let built_in = built_in.into_iter().filter_map(|(is_granted, tool)| {
            is_granted.then(|| TableTool { tool: Box::new(tool), item: None })
        });
        let listed = if granted.executes { listed(self.rye)? } else { Vec::new() };
        known.extend(listed.iter().cloned());
        let (items, refused) = self.items(listed);
        let mut table = ToolTable::new(built_in.collect(), &names, items, outputs)?;
        table.missing = missing(&granted.named, &known);
        if !table.missing.is_empty() {
            self.sink.record(Event::ToolsMissing { missing: table.missing.clone() });
        }
        if !refused.is_empty() {
            self.sink.record(Event::ToolsRefused { item_ids: refused.clone() });
        }
        table.refused = refused;
        Ok(table)
    }

    /// The tool that runs snippets, where this build has them.
    #[cfg(feature = "code")]
    fn snippets(&'a self) -> [CheckedTool<'a>; 1] {
        [self.checked(Arc::new(SnippetTool(self)), own_item("rye_code"))]
    }

    #[cfg(not(feature = "code"))]
    #[expect(clippy::unused_self, reason = "as with snippets")]
    fn snippets(&'a self) -> [CheckedTool<'a>; 0] {
        []
    }

    fn checked(&'a self, tool: Arc<dyn ThreadTool + 'a>, item: Option<Ref>) -> CheckedTool<'a> {
        CheckedTool { calls: self, tool, item, judged: JudgedHere::Whole }
    }

    /// Those of the tools that may be called, and those that would be refused.
    fn items(&'a self, mut items: Vec<Ref>) -> (Vec<TableTool<'a>>, Vec<Ref>) {
        items.retain(|item| !is_link(item) && self.execute.allow(item));
        let queries = items.iter().cloned().map(Query::from).collect();
        let described = self.rye.items().describe_all(queries);
        let is_refused = items.into_iter().zip(&described);
        let refused = is_refused.filter(|(_, described)| described.is_err());
        let refused = refused.map(|(item, _)| item).collect();
        let tools = described.into_iter().filter_map(|described| {
            // What is not admitted would not run either, and is told when it is called.
            let described = described.ok()?;
            let Item::Tool(tool) = &described.item else { return None };
            if !is_for_models(tool) {
                return None;
            }
            let schema = described.item.input_schema();
            let item = described.detail.item;
            let tool = ItemTool {
                calls: self,
                name: tool_name(item.id.as_str()),
                about: described.item.description().unwrap_or_default().to_owned(),
                schema: schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
                only_reads: tool.effects.as_deref() == Some("read"),
                item: item.clone(),
            };
            Some(TableTool { tool: Box::new(tool), item: Some(item) })
        });
        (tools.collect(), refused)
    }

    pub(super) fn run(
        &self,
        request: Request,
        session: &ThreadSession<'_>,
    ) -> Result<Value, ToolCallFault> {
        if let Some(awaited) = session.awaited {
            return self.go_on(awaited, session);
        }
        let timeout = Some(session.time_left().clamp(Duration::from_millis(1), LONGEST_CALL));
        let request = Request { timeout, ..self.below(request, session) };
        let begin = Instant::now();
        let sink = if request.thread == Thread::Fork { self.outer } else { self.sink };
        match self.rye.runs().run(&request, begin, sink) {
            Ok(report) => self.gave(&report, begin),
            Err(failed) => Err(refused(failed.failure)),
        }
    }

    /// A request of this thread, which reaches what the thread reaches.
    pub(super) fn below(&self, request: Request, session: &ThreadSession<'_>) -> Request {
        let origin = Origin {
            grants: Some(self.execute.clone()),
            thread: Some(self.as_parent(Some(session.until))),
            call_id: Some(self.call_id(session)),
            ..request.origin
        };
        Request { locked: self.locked, origin, ..request }
    }

    /// The answer to the model for a run that ended.
    pub(super) fn gave(&self, report: &Report, begin: Instant) -> Result<Value, ToolCallFault> {
        match report {
            Report::Thread(thread) if thread.awaited.is_some() => Err(self.waits(report)),
            Report::Thread(thread) => Ok(json!({
                "thread_id": thread.thread_id, "result": thread.result, "outputs": thread.outputs,
            })),
            Report::Directive(directive) => Ok(json!({"your_directions": directive.body})),
            _ if report.waits() => Err(self.waits(report)),
            _ => told(masked(report, begin.elapsed())),
        }
    }
}

/// A report as a model, and the record, are shown it: with no value that a tool named of the host.
pub(super) fn masked(report: &Report, elapsed: Duration) -> Value {
    let mut shown = report.to_masked_json(elapsed);
    if let Some(data) = shown.get_mut("data") {
        *data = with_cut(report, data.take());
    }
    shown
}

/// The answer to a model for the report of a tool.
pub(super) fn told(mut report: Value) -> Result<Value, ToolCallFault> {
    match report["status"].as_str() {
        Some("success") => Ok(report["data"].take()),
        _ => {
            let error = report["error"].as_str().unwrap_or_default().to_owned();
            Err(ToolCallFault::new(error).detail(report["data"].take()))
        }
    }
}

impl ThreadCalls<'_> {
    /// The thread, for whatever it starts, and when its time is over.
    pub(super) fn as_parent(&self, until: Option<Instant>) -> ThreadParent {
        let (fetch, sign) = (self.fetch.clone(), self.sign.clone());
        ThreadParent { id: self.id.clone(), fetch, sign, can_wait: self.can_wait, until }
    }

    /// The items that a rye may reach which a call starts.
    pub(super) fn grants(&self) -> ThreadGrants {
        let (execute, fetch) = (self.execute.clone(), self.fetch.clone());
        ThreadGrants { execute, fetch, locked: self.locked }
    }

    /// Returns true for a call that names a directive; an item that is not found is told by
    /// its run.
    fn names_a_directive(&self, args: &Map<String, Value>) -> bool {
        let item = args.get("item_id").and_then(Value::as_str).unwrap_or_default();
        let Ok(query) = item.parse::<Query>() else { return false };
        let policy = CallPolicy::new(self.rye, LockMode::from_flag(self.locked));
        let policy = policy.in_thread(Some(self.id.clone()));
        let kind = query.kind.or_else(|| {
            let found = policy.loader(&Quiet).find(&query);
            found.ok().map(|found| found.item.kind)
        });
        kind == Some(Kind::Directive)
    }

    /// The id of a call, as hooks are told it.
    pub(super) fn call_id(&self, session: &ThreadSession<'_>) -> String {
        format!("{}-{}", self.id, session.call_id())
    }
}

/// Returns true for a tool that a model is offered; others are for rye itself, or for other tools.
pub(super) fn is_for_models(tool: &Tool) -> bool {
    let is_for_others = tool.is_link() || tool.hook.is_some() || tool.eval.is_some();
    !is_for_others && tool.provider.is_none()
}

/// The tools of all spaces.
///
/// # Errors
/// `space.*`
pub(super) fn listed(rye: &Rye) -> Result<Vec<Ref>, Failure> {
    let mut items: Vec<Ref> = Vec::new();
    for space in Space::NEAREST_FIRST {
        items.extend(rye.items().list(space, Kind::Tool)?.into_iter().map(|it| it.item));
    }
    items.sort();
    items.dedup();
    Ok(items)
}

/// The tools that are permitted by their names, and that are none of those known.
fn missing(named: &[Ref], known: &[Ref]) -> Vec<MissingTool> {
    let missing = named.iter().filter(|item| !known.contains(item)).map(|item| {
        let ids = known.iter().map(|known| known.id.as_str());
        let near = near(item.id.as_str(), ids, 1).pop().and_then(|id| reference(&id));
        MissingTool { item_id: item.clone(), near }
    });
    missing.collect()
}

/// The item by whose name a tool is granted that is none.
pub(super) fn reference(id: &str) -> Option<Ref> {
    Some(Ref::new(Kind::Tool, id.parse().ok()?))
}

/// The item by whose name a tool of rye is granted: `rye/code` lets `rye_code` be called.
pub(super) fn own_item(name: &str) -> Option<Ref> {
    reference(&name.replacen('_', "/", 1))
}

/// A tool that runs an item.
struct ItemTool<'a> {
    calls: &'a ThreadCalls<'a>,
    item: Ref,
    name: String,
    about: String,
    schema: Value,
    only_reads: bool,
}

impl ThreadTool for ItemTool<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.about
    }

    fn parameters(&self) -> Value {
        self.schema.clone()
    }

    fn only_reads(&self) -> bool {
        self.only_reads
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let request = Request { params: args, ..Request::new(self.item.to_string()) };
        let came = self.calls.run(request, session);
        came.map_err(|fault| OwnPaths::of(self.calls.rye).hidden_in(fault))
    }
}

/// A tool that is no item: its grant, its arguments and the hooks are asked around its call as they
/// are around that of an item, and its panic is a failure of the call.
struct CheckedTool<'a> {
    calls: &'a ThreadCalls<'a>,
    tool: Arc<dyn ThreadTool + 'a>,
    /// The name by which it is granted, and by which hooks know it.
    item: Option<Ref>,
    judged: JudgedHere,
}

/// How much of a call is judged around the tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JudgedHere {
    /// The grant of its name, its arguments, and hooks.
    Whole,
    /// All but the grant, which is about what its arguments name.
    AllButGrant,
    /// Its arguments, and hooks where it names a directive; what it runs is judged where every item
    /// is.
    Arguments,
}

impl CheckedTool<'_> {
    fn is_granted(&self) -> bool {
        self.item.as_ref().is_some_and(|item| self.calls.execute.allow(item))
    }
}

impl ThreadTool for CheckedTool<'_> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn parameters(&self) -> Value {
        self.tool.parameters()
    }

    fn only_reads(&self) -> bool {
        self.tool.only_reads()
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let came = self.judged(session, args);
        came.map_err(|fault| OwnPaths::of(self.calls.rye).hidden_in(fault))
    }
}

impl CheckedTool<'_> {
    fn judged(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let Some(item) = self.item.clone() else {
            return Err(ToolCallFault::new("the tool has no name that can be granted"));
        };
        match self.judged {
            JudgedHere::Whole => {
                let judged = grants::judge(Some(&self.calls.execute), &item);
                judged.map_err(|denied| refused(denied.into()))?;
            }
            JudgedHere::AllButGrant => {}
            // Of a tool the hooks are asked where it runs; a directive is run by this call alone.
            JudgedHere::Arguments if self.calls.names_a_directive(&args) => {}
            JudgedHere::Arguments => {
                let args = self.checked(&item, session, args)?;
                return self.carry_out(&item, session, args);
            }
        }
        let calls = self.calls;
        let policy = CallPolicy::new(calls.rye, LockMode::from_flag(calls.locked));
        let policy = policy.in_thread(Some(calls.id.clone())).until(Some(session.until));
        let policy = policy.for_hooks();
        let call_id = calls.call_id(session);
        let hooks = calls.rye.hooks().of_own_tool(&policy, calls.sink, &item, &call_id);
        let hooks = hooks.map_err(refused)?;
        let args = hooks.replace_args(args).map_err(refused)?;
        let args = self.checked(&item, session, args)?;
        hooks.before(&args).map_err(refused)?;
        let begin = Instant::now();
        let came = self.carry_out(&item, session, args.clone());
        if came.as_ref().is_err_and(|fault| fault.stopped.is_some() || fault.waits.is_some()) {
            // Where it waits, hooks hear what it gives once it goes on.
            return came;
        }
        let shown = || match &came {
            Ok(value) => value.clone(),
            Err(fault) => json!({"error": fault.message, "data": fault.detail}),
        };
        let replaced = hooks.after_value(&args, shown, begin.elapsed()).map_err(refused)?;
        match (came, replaced) {
            (came, None) => came,
            (Ok(_), Some(other)) => Ok(other),
            (Err(fault), Some(other)) => {
                let message = "it failed; what it said was replaced by a hook";
                Err(ToolCallFault::of(fault.kind, message, other))
            }
        }
    }

    /// Arguments that fit the schema of the tool.
    fn checked(
        &self,
        item: &Ref,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolCallFault> {
        let (schema, time) = (self.parameters(), Some(session.time_left()));
        let args = Params::check(item, Some(&schema), args, time);
        Ok(args.map_err(|error| refused(error.into()))?.as_map().clone())
    }

    fn carry_out(
        &self,
        item: &Ref,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let called = catch_unwind(AssertUnwindSafe(|| self.tool.call(session, args)));
        let fault = match called {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(fault)) => fault,
            Err(_) => return Err(ToolCallFault::new("the tool panicked")),
        };
        // A command that was cut short, because this process or this thread was asked to end.
        match fault.signal() {
            Some(signal) => {
                let item = item.clone();
                Err(ToolCallFault::stopped(ExecuteError::Interrupted { item, signal }.into()))
            }
            None => Err(fault),
        }
    }
}

/// The output of a tool, with the number of bytes that were not kept.
fn with_cut(report: &Report, data: Value) -> Value {
    let Report::Tool(tool) = report else { return data };
    let Some(outcome) = tool.outcome.as_ref().filter(|outcome| outcome.truncated) else {
        return data;
    };
    let Some((stdout, stderr)) = outcome.wrote else {
        return json!({"value": data, "truncated": {"shown": ANSWER_BYTES, "total": null}});
    };
    let cut = cut_streams(OUTPUT_BYTES, stdout, stderr);
    match data {
        Value::Object(mut data) => {
            data.insert("truncated".into(), cut.into());
            data.into()
        }
        data => json!({"value": data, "truncated": cut}),
    }
}

/// The answer to the model for a run that did not start, or was stopped.
pub(super) fn refused(failure: Failure) -> ToolCallFault {
    if failure.interrupted().is_some() {
        return ToolCallFault::stopped(failure);
    }
    let told = failure.diagnostic();
    let kind = match failure.reason() {
        code if code == GRANT_DENIED => ToolCallFaultKind::PermissionDenied,
        code if code == HOOK_DENIED => ToolCallFaultKind::BlockedByHook,
        code if code == PLAN_INVALID_PARAMETERS => {
            // Violations of a schema, each with its pointer.
            let violations = told.data.get("violations").cloned().unwrap_or_default();
            let kind = ToolCallFaultKind::InvalidArguments;
            return ToolCallFault::of(kind, told.message, violations);
        }
        _ => ToolCallFaultKind::Exception,
    };
    let data = if told.data.is_empty() { Value::Null } else { told.data.into() };
    let mut detail = json!({"code": told.code, "data": data});
    if kind == ToolCallFaultKind::PermissionDenied {
        detail["item_id"] = told.item.into();
    }
    ToolCallFault::of(kind, told.message, detail)
}
