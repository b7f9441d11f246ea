//! Running an item: from a reference to a report.

use std::time::Instant;

use serde_json::{Map, Value};

use super::call_policy::{CallPolicy, LockMode};
use super::carry_out::Caller;
use super::facade::Rye;
use super::failed::Failed;
use super::grants;
use super::hooks::CallHooks;
use super::load::Loader;
use super::receipts::{ReceiptWriter, WrittenReceipts};
use super::request::Request;
use super::run_modes::{ThreadRun, VerifiedRun};
use crate::base::{Digest, random};
use crate::chain::{Lineage, lineage};
use crate::diagnostic::Failure;
use crate::eval::EvalError;
use crate::execute::{ExecuteError, Outcome};
use crate::id::{Kind, Query};
use crate::interpolate::{bind, render};
use crate::parse::{DirectiveContext, Item, Phase, Tool};
use crate::plan::{
    MatrixError, Params, Plan, PlanContext, PlanError, RunMode, SandboxChoice, Target, Thread,
    hold_anew, typed, with_private_values,
};
use crate::report::{
    CheckedThread, Detail, DirectiveReport, Report, ToolReport, Warned, error_json, thread_warnings,
};
use crate::trace::{Event, Quiet, Sink, Warnings, WithoutOutput};
use crate::validate::{RunTarget, ValidChain};
use crate::verify::Source;

/// How far a run came, for the report of a failure.
struct Progress {
    item: String,
    chain: Vec<String>,
}

/// Running items.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub(super) rye: &'a Rye,
    start_thread: Option<&'a StartThread<'a>>,
}

/// Starts a thread otherwise than anew, such as one that goes on.
pub(crate) type StartThread<'a> =
    dyn Fn(&Loader<'_>, &Lineage, &Request) -> Result<ThreadRun, Failure> + 'a;

impl Rye {
    /// Running items.
    pub(crate) fn runs(&self) -> Runs<'_> {
        Runs { rye: self, start_thread: None }
    }
}

impl Rye {
    /// Runs a request and gives the JSON form of the report, or of the failure (core 7.12).
    pub fn run_json(&self, request: &Request) -> Value {
        let start = Instant::now();
        match self.runs().run(request, start, &Quiet) {
            Ok(report) => report.to_json(start.elapsed(), false, None),
            Err(failed) => {
                let (failure, item) = (&failed.failure, failed.item.as_str());
                let (diagnostic, chain) = (failure.diagnostic(), failure.chain());
                let shown = error_json(&diagnostic, Some(item), &chain, failed.elapsed, None);
                failed.with_warnings(shown)
            }
        }
    }
}

impl<'a> Runs<'a> {
    /// Running items, where the thread of the request is started by this.
    pub(crate) fn starting(self, start_thread: &'a StartThread<'a>) -> Self {
        Self { start_thread: Some(start_thread), ..self }
    }
}

impl Runs<'_> {
    /// Runs a request; a failure says how far the run came.
    pub(crate) fn run(
        self,
        request: &Request,
        start: Instant,
        sink: &dyn Sink,
    ) -> Result<Report, Failed> {
        let mut progress = Progress { item: request.item.clone(), chain: Vec::new() };
        let sink = Warnings::new(sink);
        let mut ran = self.steps(request, &mut progress, &sink);
        if let Ok(Report::Thread(thread)) = &mut ran {
            thread.told = thread_warnings(&sink.of_threads());
        }
        ran.map_err(|failure| {
            let diagnostic = failure.diagnostic();
            tracing::info!(item = progress.item, code = diagnostic.code.name(), "stopped");
            let item_id = diagnostic.item.or_else(|| Some(progress.item.clone()));
            sink.record(Event::Refused { item_id, code: diagnostic.code });
            let chain = match failure.chain() {
                links if links.is_empty() => progress.chain,
                links => links,
            };
            let (item, elapsed) = (progress.item, start.elapsed());
            let warnings =
                sink.kept().into_iter().map(|(item_id, w)| Warned::new(item_id, w)).collect();
            let told = thread_warnings(&sink.of_threads());
            Failed { failure, item, chain, elapsed, warnings, told, trace: None }
        })
    }

    fn steps(
        self,
        request: &Request,
        progress: &mut Progress,
        sink: &dyn Sink,
    ) -> Result<Report, Failure> {
        let mode = RunMode {
            target: request.target.clone(),
            thread: request.thread,
            detached: request.detached,
            dry_run: request.dry_run,
        };
        mode.check_words()?;
        let query: Query = request.item.parse()?;
        if let Some(kind) = query.kind {
            mode.check(kind)?;
        }
        self.rye.sound_types()?;
        let below = match request.origin.thread {
            Some(_) => None,
            None => self.rye.above().narrow(request)?,
        };
        let request = below.as_ref().unwrap_or(request);
        let thread = request.origin.thread.as_ref().map(|parent| parent.id.clone());
        let policy = CallPolicy::new(self.rye, LockMode::from_flag(request.locked));
        let until = request.origin.thread.as_ref().and_then(|parent| parent.until);
        let policy = policy.in_thread(thread).until(until);
        let loader = policy.loader(sink);
        let reach = request.origin.grants.as_ref();
        let found = loader.find(&query).map_err(|failure| {
            grants::in_reach(failure, |item| reach.is_none_or(|reach| reach.allow(item)))
        })?;
        tracing::info!(item = %found.item, space = %found.space, path = %found.path.display(), "found");
        progress.item = found.item.to_string();
        grants::judge(reach, &found.item)?;
        mode.check(found.item.kind)?;
        if request.detached {
            self.rye.modes.may_detach(request)?;
        }
        if request.for_record && found.item.kind != Kind::Tool {
            return Err(PlanError::NotATool { item: found.item }.into());
        }
        if request.eval.is_some() && found.item.kind != Kind::Tool {
            return Err(EvalError::NotAnEval { item: found.item, why: "it is not a tool" }.into());
        }
        let (source, parsed) = loader.admit(found)?;
        match parsed {
            Item::Tool(tool) => self.run_tool(loader, source, *tool, request, progress),
            Item::Directive(directive) => {
                if mode.thread == Thread::Fork && request.sandbox != SandboxChoice::Auto {
                    return Err(MatrixError::ForkSandbox.into());
                }
                let lineage = lineage(source, *directive, &loader)?;
                if let Target::Remote(remote) = &request.target {
                    let report = self.remote_directive((&loader, remote), &lineage, request)?;
                    return Ok(Report::Remote(Box::new(report)));
                }
                let checked = match mode.thread {
                    Thread::Inline => None,
                    Thread::Fork => match self.thread(&loader, &lineage, request)? {
                        ThreadRun::Ran(report) => return Ok(*report),
                        ThreadRun::Checked(checked) => Some(checked),
                    },
                };
                run_directive(&loader, &lineage, request, checked)
            }
            Item::Knowledge(_) => Ok(show_knowledge(&source)),
            Item::Config(_) => Err(MatrixError::NotExecutable { kind: Kind::Config }.into()),
        }
    }

    fn thread(
        self,
        loader: &Loader<'_>,
        lineage: &Lineage,
        request: &Request,
    ) -> Result<ThreadRun, Failure> {
        match self.start_thread {
            Some(start) => start(loader, lineage, request),
            None => self.rye.modes.thread(loader, lineage, request),
        }
    }

    fn run_tool(
        self,
        loader: Loader<'_>,
        source: Source,
        tool: Tool,
        request: &Request,
        progress: &mut Progress,
    ) -> Result<Report, Failure> {
        grants::judge_effects(request.origin.may_write.as_ref(), &source, &tool)?;
        let chain = loader.chain(source, tool, loader.sink)?;
        progress.chain = chain.refs();
        let asked =
            RunTarget { target: request.target.to_string(), thread: request.thread.to_string() };
        let valid = ValidChain::judge(chain, &asked, loader.sink)?;
        let tool = valid.chain().tool();
        let schema = tool.tool.schema.as_ref();
        let mut given = match &request.eval {
            Some(asked) => asked.request(tool.item(), &tool.tool)?,
            None => request.params.clone(),
        };
        let texts = request.texts.iter();
        given.extend(texts.map(|(name, text)| (name.clone(), typed(schema, name, text))));
        let run_id = run_id();
        let hook_policies = loader.policy.for_hooks();
        let call_id = request.origin.call_id.as_ref().unwrap_or(&run_id);
        let mut hooks =
            self.rye.hooks().of_call(&hook_policies, loader.sink, &tool.source, call_id)?;
        hooks.hide(request.origin.private.0.iter().map(String::as_str));
        given = replaced(&mut hooks, given, request)?;
        let asked_with = request.detached.then(|| given.clone());
        let params = Params::check(tool.item(), schema, given, request.timeout)?;
        let args = params.clone();
        if let Some(report) = self.elsewhere(&loader, &valid, request, &params, &hooks)? {
            return Ok(report);
        }
        let receipts = self.rye.receipts().places(request, loader.trust, &run_id)?;
        let for_record = request.for_record || !receipts.is_empty();
        let machine = PlanContext { for_record, ..context(&loader, request, &run_id) };
        let plan = Plan::build(&valid, params, &machine, loader.sink)?;
        let mut plan = with_private_values(plan, &request.origin.private.0);
        hooks.hide(plan.private_values());
        request.compare(&plan)?;
        let chain = valid.chain();
        let sources = chain.links().iter().map(|link| &link.source).chain(plan.dependencies());
        let warnings = Warned::of_sources(sources);
        if let Some(params) = asked_with {
            // What a receipt needs is there; it is written where the run is.
            drop(self.rye.receipts().writer(receipts, &plan, loader.trust)?);
            let item = tool.item().clone();
            let run = VerifiedRun { item, params, plan: &plan, for_record, warnings };
            return self.rye.modes.detached(&loader, request, run);
        }
        // The plan that was compared is the plan that runs; nothing is built anew behind this line
        // but its sandbox, and then it is compared again.
        let (outcome, written) = match request.dry_run {
            true => (None, WrittenReceipts::default()),
            false => {
                hooks.before(args.as_map())?;
                let writer = self.rye.receipts().writer(receipts, &plan, loader.trust)?;
                if let Some(approval) = &request.origin.approval {
                    self.rye.approvals().claim(approval)?;
                }
                let caller = Caller {
                    request,
                    run_id: &run_id,
                    for_record,
                    // A trial asks no person, and an eval is a program that judges.
                    can_wait: request.workplace.is_none() && request.eval.is_none(),
                };
                let begin = Instant::now();
                let unseen = WithoutOutput(loader.sink);
                let sink: &dyn Sink =
                    if hooks.may_withhold(Phase::AfterExecution) { &unseen } else { loader.sink };
                let ended = self.act(&mut plan, writer, caller, &warnings, sink);
                match ended {
                    Ok((mut outcome, written)) => {
                        if let Some(did) = &outcome.snippet {
                            plan = with_private_values(plan, &did.private);
                            hooks.hide(plan.private_values());
                        }
                        let after = hooks.after(args.as_map(), &mut outcome, begin.elapsed());
                        self.rye.approvals().withdraw_if(after, &outcome)?;
                        (Some(outcome), written)
                    }
                    Err(failure) => {
                        return Err(hooks.after_failure(args.as_map(), failure, begin.elapsed()));
                    }
                }
            }
        };
        let pending_id = self.keep_asked(request, &plan, for_record, outcome.as_ref())?;
        if outcome.is_some() {
            loader.remember(chain.links().iter().map(|link| &link.source), false);
        }
        let details = chain.links().iter().map(|l| Detail::new(&l.source, l.tool.version.clone()));
        Ok(Report::Tool(Box::new(ToolReport {
            item: chain.tool().item().clone(),
            details: details.collect(),
            plan,
            outcome,
            hooks: hooks.into_notes(),
            pending_id,
            run_id,
            receipts: written.paths,
            lost: written.lost,
            warnings,
        })))
    }

    /// Keeps what the tool asked a person; gives its id.
    fn keep_asked(
        self,
        request: &Request,
        plan: &Plan,
        for_record: bool,
        outcome: Option<&Outcome>,
    ) -> Result<Option<String>, Failure> {
        // A trial asks no person.
        let outcome = outcome.filter(|_| request.workplace.is_none());
        let pending = outcome.and_then(|outcome| outcome.pending.as_ref());
        let approvals = self.rye.approvals();
        let keep = |pending| approvals.keep(plan, for_record, pending, &request.origin);
        pending.map(keep).transpose()
    }

    /// Runs the plan; however that ends, the receipt is written.
    fn act(
        self,
        plan: &mut Plan,
        writer: Option<ReceiptWriter>,
        caller: Caller<'_>,
        warnings: &[Warned],
        sink: &dyn Sink,
    ) -> Result<(Outcome, WrittenReceipts), Failure> {
        let witness = writer.as_ref().map(|writer| &writer.witness);
        let mut result = self.execute(plan, caller, witness, sink);
        // The sandbox could not be made as on earlier runs here, and nothing ran.
        if matches!(result, Err(ExecuteError::Sandbox { .. }))
            && hold_anew(plan, caller.request.sandbox, self.rye.host(), sink)?
        {
            caller.request.compare(plan)?;
            result = self.execute(plan, caller, witness, sink);
        }
        let held = caller.request.held_receipts.as_ref();
        let written =
            writer.map(|writer| writer.write(plan, caller.run_id, &result, warnings, held));
        let written = written.unwrap_or_default();
        match (result, written.lost) {
            (Ok(outcome), lost) => Ok((outcome, WrittenReceipts { lost, ..written })),
            (Err(_), Some(lost)) => Err(lost.into()),
            (Err(error), None) => Err(error.into()),
        }
    }
}

/// The parameters as hooks replace them.
fn replaced(
    hooks: &mut CallHooks<'_>,
    given: Map<String, Value>,
    request: &Request,
) -> Result<Map<String, Value>, Failure> {
    match &request.origin.approval {
        _ if request.dry_run => {
            hooks.announce();
            Ok(given)
        }
        None => hooks.replace_args(given),
        // They were replaced before they were approved.
        Some(_) if hooks.replace_args(given.clone())? == given => Ok(given),
        Some(approval) => Err(approval.replaced()),
    }
}

/// Hands over what an agent is to do; of one that is only tried, what it would be handed.
fn run_directive(
    loader: &Loader<'_>,
    lineage: &Lineage,
    request: &Request,
    thread: Option<Box<CheckedThread>>,
) -> Result<Report, Failure> {
    let (source, directive) = (&lineage.source, &lineage.directive);
    let inputs = bind(&directive.inputs, request.inputs())?;
    loader.sink.record(Event::Inputs { names: inputs.keys().cloned().collect() });
    if !request.dry_run {
        loader.remember(lineage.sources(), false);
    }
    Ok(Report::Directive(Box::new(DirectiveReport {
        item: source.item().clone(),
        body: render(&directive.body, &inputs),
        data: directive_data(lineage, &inputs),
        signer: source.signer().map(|s| s.key),
        dry_run: request.dry_run,
        thread,
        warnings: Warned::of_sources(lineage.sources()),
        inputs,
    })))
}

/// The context that a plan of the request is made in.
fn context<'a>(loader: &'a Loader<'_>, request: &'a Request, run_id: &'a str) -> PlanContext<'a> {
    let (timeout, sandbox) = (request.timeout, request.sandbox);
    let mut machine = PlanContext { run_id, sandbox, timeout, ..loader.machine() };
    if let Some(folder) = &request.workplace {
        machine.workplace = folder;
        // What lies there was not signed by anybody, so it is no program.
        machine.guarded.push(folder.clone());
    }
    machine
}

/// The `data` of a directive's report: everything declared, interpolated.
fn directive_data(lineage: &Lineage, inputs: &Map<String, Value>) -> Map<String, Value> {
    let (source, directive) = (&lineage.source, &lineage.directive);
    let mut data = directive.to_json(&|text| render(text, inputs));
    data.insert("content".into(), render(&directive.content(), inputs).into());
    data.insert("raw".into(), render(&source.raw(), inputs).into());
    let parents: Vec<_> = lineage.sources().skip(1).map(|s| s.item().id.to_string()).collect();
    data.insert("extends".into(), parents.into());
    let contexts: Vec<_> = lineage.directives().map(|d| &d.context).collect();
    data.insert("context".into(), DirectiveContext::compose(&contexts).to_json());
    data
}

fn show_knowledge(source: &Source) -> Report {
    Report::Knowledge {
        item: source.item().clone(),
        content: source.raw(),
        warnings: Warned::of_sources(std::iter::once(source)),
    }
}

/// A name for one run; it is unique, and not a secret.
pub(crate) fn run_id() -> String {
    let mut salt = [0; 8];
    // Without randomness the clock and the process still tell runs apart.
    let _ = random::fill(&mut salt);
    let now = jiff::Timestamp::now().as_nanosecond().to_le_bytes();
    let digest = Digest::of_parts(&[&now, &std::process::id().to_le_bytes(), &salt]);
    format!("run-{}", &digest.to_string()[..24])
}
