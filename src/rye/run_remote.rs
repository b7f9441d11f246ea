//! Running an item on a node: it is verified here with all that goes, and judged by the hooks here.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Map, Value};

use super::call_policy::{CallPolicy, LockMode};
use super::facade::Rye;
use super::hooks::CallHooks;
use super::load::Loader;
use super::request::{Request, ThreadOptions};
use super::run::Runs;
use super::run_modes::{RemoteParts, RemoteRun};
use super::thread_settings::patterns;
use crate::chain::{Chain, Lineage, Primitive, lineage};
use crate::diagnostic::Failure;
use crate::host::is_below_a_run;
use crate::id::{Kind, Pattern, Query, Ref, Space};
use crate::interpolate::bind;
use crate::parse::{DirectiveContext, Item, Phase, Tool};
use crate::plan::{MatrixError, Params, PlanSource, Target, dependencies};
use crate::remote::RemoteTable;
use crate::report::{RemoteReport, Report};
use crate::thread::ThreadError;
use crate::trace::Quiet;
use crate::validate::ValidChain;

impl Runs<'_> {
    /// Lets a node run a tool, if that is asked for; the hooks here judge what goes and comes.
    pub(super) fn elsewhere(
        self,
        loader: &Loader<'_>,
        valid: &ValidChain,
        request: &Request,
        params: &Params,
        hooks: &CallHooks<'_>,
    ) -> Result<Option<Report>, Failure> {
        if valid.chain().primitive() == Primitive::Remote {
            if !request.dry_run {
                hooks.before(params.as_map())?;
            }
            return self.remote_call(loader, request, params.as_map(), hooks).map(Some);
        }
        let Target::Remote(remote) = &request.target else { return Ok(None) };
        let report = self.remote_tool((loader, remote), valid, request, params, hooks)?;
        Ok(Some(Report::Remote(Box::new(report))))
    }

    fn remote_tool(
        self,
        (loader, remote): (&Loader<'_>, &str),
        valid: &ValidChain,
        request: &Request,
        params: &Params,
        hooks: &CallHooks<'_>,
    ) -> Result<RemoteReport, Failure> {
        let (chain, args) = (valid.chain(), params.as_map());
        let parts = RemoteParts::of_tool(loader, chain)?;
        if request.detached {
            hooks.may_leave()?;
        }
        hooks.before(args)?;
        let begin = Instant::now();
        let is_judged = hooks.may_withhold(Phase::AfterExecution);
        let judge = |report: &mut RemoteReport| judge(hooks, args, report, begin);
        let run =
            RemoteRun { remote, params: args.clone(), parts: &parts, is_judged, judge: &judge };
        let asked = self.rye.modes.remote(loader, request, run);
        let report =
            asked.map_err(|failure| hooks.after_failure(args, failure, begin.elapsed()))?;
        loader.remember(chain.links().iter().map(|link| &link.source), false);
        Ok(report)
    }

    /// Carries out `rye/core/remote/remote`: the run of another item on a node, which the caller of
    /// the tool must reach as well.
    fn remote_call(
        self,
        loader: &Loader<'_>,
        request: &Request,
        args: &Map<String, Value>,
        hooks: &CallHooks<'_>,
    ) -> Result<Report, Failure> {
        let text = |key: &str| args.get(key).and_then(Value::as_str);
        let object = |key: &str| args.get(key).and_then(Value::as_object).cloned();
        let item: Ref = text("item_id").unwrap_or_default().parse()?;
        let kind_of_run = if item.kind == Kind::Directive { "fork" } else { "inline" };
        let target: Target = text("target").unwrap_or("remote").parse()?;
        if target == Target::Local {
            return Err(MatrixError::EmptyRemote.into());
        }
        let detached = args.get("async") == Some(&Value::Bool(true));
        if detached {
            hooks.may_leave()?;
        }
        let asked = Request {
            params: object("parameters").unwrap_or_default(),
            target,
            thread: text("thread").unwrap_or(kind_of_run).parse()?,
            detached,
            dry_run: request.dry_run,
            locked: request.locked,
            receipt: request.receipt.clone(),
            timeout: request.timeout,
            of_thread: ThreadOptions {
                model: text("model").map(str::to_owned),
                limits: object("limit_overrides").unwrap_or_default(),
            },
            origin: request.origin.clone(),
            ..Request::new(item.to_string())
        };
        let begin = Instant::now();
        let mut ran = self.run(&asked, begin, loader.sink).map_err(|failed| failed.failure);
        match &mut ran {
            Ok(Report::Remote(report)) if !asked.detached => judge(hooks, args, report, begin)?,
            Ok(_) => {}
            Err(_) => {
                return ran.map_err(|failure| hooks.after_failure(args, failure, begin.elapsed()));
            }
        }
        ran
    }

    /// Lets a node run a directive as a thread, with the items that it permits.
    pub(super) fn remote_directive(
        self,
        (loader, remote): (&Loader<'_>, &str),
        lineage: &Lineage,
        request: &Request,
    ) -> Result<RemoteReport, Failure> {
        bind(&lineage.directive.inputs, request.inputs())?;
        // A node knows nothing of the limits and permissions of a thread here.
        if request.origin.thread.is_some() || is_below_a_run() {
            return Err(ThreadError::Outside.into());
        }
        let parts = RemoteParts::of_directive(loader, lineage)?;
        let (params, judge) = (request.inputs(), &|_: &mut RemoteReport| Ok(()));
        let run = RemoteRun { remote, params, parts: &parts, is_judged: false, judge };
        let report = self.rye.modes.remote(loader, request, run)?;
        loader.remember(lineage.sources(), false);
        Ok(report)
    }
}

impl RemoteParts {
    /// The parts of the item that a query answers.
    ///
    /// # Errors
    /// Those of a run, and `matrix.not_executable`.
    pub(crate) fn find(rye: &Rye, query: &Query) -> Result<Self, Failure> {
        let policy = CallPolicy::new(rye, LockMode::Listed);
        let loader = policy.loader(&Quiet);
        let (source, item) = loader.admit(loader.find(query)?)?;
        match item {
            Item::Tool(tool) => Self::of_tool(&loader, &loader.chain(source, *tool, &Quiet)?),
            Item::Directive(directive) => {
                Self::of_directive(&loader, &lineage(source, *directive, &loader)?)
            }
            _ => Err(MatrixError::NotExecutable { kind: source.item().kind }.into()),
        }
    }

    fn of_tool(loader: &Loader<'_>, chain: &Chain) -> Result<Self, Failure> {
        let modules = dependencies(chain, loader, &Quiet)?;
        // Config stays: on a node its operator's counts.
        let modules = modules.into_iter().filter(|source| source.item().kind != Kind::Config);
        let links = chain.links().iter();
        Ok(Self {
            item: chain.tool().item().clone(),
            secrets: links.clone().flat_map(|link| secrets(&link.tool)).collect(),
            sources: links.map(|link| link.source.clone()).chain(modules).collect(),
            files: chain.tool().tool.remote.clone(),
        })
    }

    /// Those of a directive, with the items that it permits, or shows its model.
    fn of_directive(loader: &Loader<'_>, lineage: &Lineage) -> Result<Self, Failure> {
        let mut parts = Self {
            item: lineage.source.item().clone(),
            sources: lineage.sources().cloned().collect(),
            secrets: BTreeSet::new(),
            files: lineage.directive.remote.clone(),
        };
        let contexts: Vec<_> = lineage.directives().map(|one| &one.context).collect();
        let DirectiveContext { system, before, after, .. } = DirectiveContext::compose(&contexts);
        for id in [system, before, after].into_iter().flatten() {
            parts.add(loader, Ref::new(Kind::Knowledge, id))?;
        }
        let capabilities = lineage.directives().find_map(|one| one.permissions.as_deref());
        let capabilities = capabilities.unwrap_or_default();
        let globs: Vec<Pattern> = ["execute", "fetch"]
            .into_iter()
            .flat_map(|action| patterns(capabilities, action).into_iter())
            .collect();
        if !globs.is_empty() {
            let survey = loader.rye.items().survey(&globs)?;
            let all: BTreeSet<Ref> = survey.entries.into_iter().map(|entry| entry.item).collect();
            for item in all.into_iter().filter(|item| item.kind != Kind::Config && !item.is_hook())
            {
                // One that is not admitted is offered to no model, here or there.
                let _ = parts.add(loader, item);
            }
        }
        let mut known = BTreeSet::new();
        parts.sources.retain(|source| known.insert(source.item().clone()));
        Ok(parts)
    }

    /// Adds an item with all that it runs through, unless it comes with every rye.
    fn add(&mut self, loader: &Loader<'_>, item: Ref) -> Result<(), Failure> {
        let found = loader.find(&Query::from(item))?;
        if found.space == Space::System {
            return Ok(());
        }
        match loader.admit(found)? {
            (source, Item::Tool(tool)) if tool.begins_chain() => {
                let parts = Self::of_tool(loader, &loader.chain(source, *tool, &Quiet)?)?;
                self.sources.extend(parts.sources);
                self.secrets.extend(parts.secrets);
            }
            (source, Item::Directive(directive)) => {
                self.sources.extend(lineage(source, *directive, loader)?.sources().cloned());
            }
            (source, item) => {
                if let Item::Tool(tool) = item {
                    self.secrets.extend(secrets(&tool));
                }
                self.sources.push(source);
            }
        }
        Ok(())
    }
}

/// Shows the answer of a tool to the hooks, and takes over what they make of it.
fn judge(
    hooks: &CallHooks<'_>,
    args: &Map<String, Value>,
    report: &mut RemoteReport,
    begin: Instant,
) -> Result<(), Failure> {
    if report.pending_id().is_some() {
        // It goes on once a person at the node approves, with no process here.
        hooks.may_leave()?;
    }
    let mut outcome = report.outcome();
    hooks.after(args, &mut outcome, begin.elapsed())?;
    report.replace(outcome);
    Ok(())
}

/// The remotes that the configs of these spaces name.
///
/// # Errors
/// `remote.bad_config`, and those of the configs.
pub(crate) fn remotes_of(loader: &Loader<'_>) -> Result<RemoteTable, Failure> {
    let item = Ref::new(Kind::Config, "remotes/remotes".parse()?);
    let mut table = RemoteTable::default();
    for copy in loader.configs(&item)? {
        table.add(copy.space, &Value::Object(copy.value))?;
    }
    Ok(table)
}

fn secrets(tool: &Tool) -> impl Iterator<Item = String> {
    let of_services = tool.services().iter().map(|service| service.secret().to_owned());
    tool.secrets.iter().cloned().chain(of_services)
}
