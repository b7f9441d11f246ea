//! A plan and how it is made.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;

use super::act::{Act, McpServer};
use super::config::{Execution, merged};
use super::config_layers;
use super::context::{PlanContext, SandboxChoice};
use super::env::Env;
use super::error::PlanError;
use super::exec;
use super::grants::{self, BasePolicy};
use super::http::HttpPlan;
use super::listed_hosts;
use super::machine::Survey;
use super::matrix::MatrixError;
use super::mcp::{self, McpTool};
use super::params::Params;
use super::pieces::Pieces;
use super::process::Process;
use super::record::{Content, PlannedItem};
#[cfg(feature = "code")]
use super::snippet::SnippetPlan;
use super::template::{Named, Names};
use super::template_context::TemplateContext;
use super::time_limit::{LimitKey, TimeLimit};
use super::tree::{Anchored, Pinned, Tree};
use super::verify_deps;
use crate::base::Digest;
use crate::base::canon::exact;
use crate::base::limits::OUTPUT_BYTES;
use crate::chain::{Chain, Primitive};
use crate::diagnostic::Failure;
use crate::host::{
    ChildSandbox, Confinement, EgressOfRun, Host, Ladder, RUN_VAR, Spawn, THREAD_VAR,
};
use crate::id::Ref;
use crate::parse::{Anchor, EnvPath, PIN_VAR};
use crate::trace::{Event, Sink};
use crate::validate::ValidChain;
use crate::verify::Source;

/// Everything needed to act, nothing done yet.
///
/// Invariant: made from a `ValidChain` alone. Where the private copy of the tool will lie is not
/// known yet, so templates stay templates; [`Plan::spawn`] expands them once it is.
pub(crate) struct Plan {
    item: Ref,
    pub(super) act: Act,
    pub(super) context: TemplateContext,
    pub(super) survey: Survey,
    /// The confinement of the process, if it is one and confined.
    confinement: Option<Arc<Confinement>>,
    /// The policy without its own declaration, for a run that is watched to learn one.
    base_policy: Option<BasePolicy>,
    tree: Option<Tree>,
    dependencies: Vec<Source>,
    limit: TimeLimit,
    chain: Vec<String>,
    /// The JSON schema of the tool's result.
    pub(crate) output_schema: Option<Value>,
    links: Vec<PlannedItem>,
    /// The parameters that the caller gave; those of the tool may contain config as well.
    pub(super) params: Params,
    /// The digest of that config.
    pub(super) config: Option<Digest>,
    /// There where the plan is for the record.
    pub(super) content: Option<Content>,
    digest: OnceLock<Digest>,
}

impl Plan {
    /// # Errors
    /// `plan.*`
    pub(crate) fn build(
        valid: &ValidChain,
        given: Params,
        machine: &PlanContext<'_>,
        sink: &dyn Sink,
    ) -> Result<Self, Failure> {
        let chain = valid.chain();
        let tool = chain.tool();
        let item = tool.item().clone();
        let mut own = vec![
            ("RYE_PROJECT", machine.workplace.display().to_string()),
            ("RYE_ITEM", item.to_string()),
            ("RYE_ITEM_PATH", tool.source.path().display().to_string()),
            (RUN_VAR, machine.run_id.to_owned()),
        ];
        own.extend(machine.thread.map(|thread| (THREAD_VAR, thread.to_owned())));
        if machine.workplace.to_str().is_none() {
            let why = "cannot be the project: its path is not UTF-8".to_owned();
            return Err(PlanError::BadConfig { item, pointer: "/config/cwd", why }.into());
        }
        let anchored = Anchored::find(chain, machine.plan_source, sink)?;
        let modules = verify_deps::modules(chain, anchored.as_ref(), machine.plan_source, sink)?;
        let tree = Tree::new(chain, anchored.as_ref(), &modules);
        let resolved = config_layers::resolve(chain, machine.plan_source, sink)?;
        let listed = listed_hosts::resolve(chain, machine, sink)?;
        let (mut limits, limited_by) = config_layers::limits(&item, machine.plan_source, sink)?;
        limits.at_most = limits.at_most.filter(|_| machine.project_shortens);
        let config = resolved.value.as_ref().map(|value| Digest::of(exact(value).as_bytes()));
        let params = match resolved.value {
            Some(value) => given.clone().with_config(value),
            None => given.clone(),
        };
        let mut env =
            Env::new(chain, machine.vars, machine.child_path(), own, machine.plan_source, sink)?;
        if let Some(Anchored { anchor, .. }) = &anchored {
            env = env.with_paths(anchor_paths(&item, anchor)?);
        }
        let mut context = TemplateContext {
            names: names(&tool.source, &params, machine),
            env,
            places: Some(tree.places().clone()),
        };
        let (survey, act, signed_ms) =
            act(chain, &params, &mut context, &tree, anchored.as_ref(), machine, sink)?;
        let (confinement, base_policy) = match act.process() {
            Some(_) => grants::confinement(chain, &survey, &listed, machine)?,
            None => (None, None),
        };
        if let Some(held) = &confinement {
            sink.record(Event::Sandbox { in_force: held.to_json() });
        }
        let signed = signed_ms.map(|ms| (ms, LimitKey::of_chain(chain)));
        let limit = limits.of_run(signed, machine.timeout);
        sink.record(Event::TimeLimit { limit: limit.to_json() });
        // A program that never looks at the tool's file needs no copy of it, and a request none at
        // all.
        let uses_tree = act.process().is_some_and(|process| {
            let filled = context.fill();
            let mut set = filled.env.iter().filter(|(name, _)| *name != PIN_VAR);
            process.uses_private(&filled) || set.any(|(_, value)| value.is_private())
        });
        context.places = context.places.filter(|_| uses_tree);
        let content = Content::read(&act, &survey, machine);
        let plan = Self {
            item,
            limit,
            act,
            context,
            survey,
            confinement,
            base_policy,
            tree: uses_tree.then_some(tree),
            chain: chain.refs(),
            output_schema: tool.tool.output_schema.clone(),
            links: chain.links().iter().map(PlannedItem::link).collect(),
            dependencies: [modules, resolved.sources, listed.sources, limited_by].concat(),
            params: given,
            content,
            config,
            digest: OnceLock::new(),
        };
        if machine.for_record || sink.has_reader() {
            sink.record(Event::Plan { digest: plan.digest()? });
        }
        Ok(plan)
    }

    /// The act to perform.
    pub(crate) fn act(&self) -> &Act {
        &self.act
    }

    /// The command that starts the process of this plan, once the verified bytes lie in the folder
    /// `pin` and, if it is confined, `tmp` is its private folder. The confinement of the plan
    /// applies in any case.
    pub(crate) fn spawn(&self, process: &Process, pin: Option<&Path>, tmp: Option<&Path>) -> Spawn {
        let filled = self.context.fill();
        // Without a folder nothing names it.
        let place = pin.unwrap_or(Path::new(""));
        let started = process.start(&filled, place);
        let variable = |(name, value): (String, Pieces)| (name, value.render(place).into());
        Spawn {
            args: started.args.into_iter().map(OsString::from).collect(),
            env: filled.env.into_iter().map(variable).collect(),
            stdin: started.input.into_bytes(),
            sandbox: self.confinement.as_ref().map(|confinement| ChildSandbox {
                confinement: Arc::clone(confinement),
                pin: pin.map(Path::to_owned),
                tmp: tmp.map(Path::to_owned),
                new_items: None,
                index: None,
                egress: egress(confinement, &self.context.env),
            }),
            watched: self.base_policy.is_some(),
            ..Spawn::new(&started.program, &started.cwd, OUTPUT_BYTES, self.timeout())
        }
    }

    /// The parameters that an MCP server's tool is called with, as JSON.
    pub(crate) fn arguments(&self) -> String {
        self.params.text()
    }

    /// The values of declared secrets and of what an `exec` block names; output of the act is shown
    /// without them.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.context.env.secrets()
    }

    /// As [`Self::secrets`], and the values of all other names that links ask for: no error shows
    /// them (core 7.5).
    pub(crate) fn private_values(&self) -> impl Iterator<Item = &str> {
        self.context.env.private_values()
    }

    /// The names and values that the project's `.env` gives. The plan as data names the variables,
    /// and says nothing of their values.
    pub(crate) fn of_env_file(&self) -> impl Iterator<Item = (&str, &str)> {
        self.context.env.of_file()
    }

    pub(crate) fn item(&self) -> &Ref {
        &self.item
    }

    /// The files of the private folder, the tool first; none if nothing looks at them.
    pub(crate) fn pinned(&self) -> &[Pinned] {
        self.tree.as_ref().map_or(&[], Tree::files)
    }

    /// The sources that were verified beside the links: modules with a line of their own, and
    /// config.
    pub(crate) fn dependencies(&self) -> &[Source] {
        &self.dependencies
    }

    /// The confinement of the process; none if it runs without one, or the act is not a process.
    pub(crate) fn confinement(&self) -> Option<&Arc<Confinement>> {
        self.confinement.as_ref()
    }

    /// The policy without its own declaration; `Some` if the run is watched to learn one.
    pub(crate) fn base_policy(&self) -> Option<&BasePolicy> {
        self.base_policy.as_ref()
    }

    /// The path as an item would name it.
    pub(crate) fn as_template(&self, path: &Path) -> String {
        let roots = ["project_path", "user_space"];
        let below = roots.iter().find_map(|name| {
            let Named::Text(root) = self.context.names.get(*name)? else { return None };
            let root = Some(root).filter(|root| root.len() > 1)?;
            let root = Path::new(root).canonicalize().ok()?;
            let rest = path.strip_prefix(root).ok()?.display().to_string();
            Some(if rest.is_empty() { format!("{{{name}}}") } else { format!("{{{name}}}/{rest}") })
        });
        below.unwrap_or_else(|| path.display().to_string())
    }

    /// The part of this machine that it uses.
    pub(crate) fn survey(&self) -> &Survey {
        &self.survey
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.limit.time()
    }

    /// The time that it has, and who says so.
    pub(crate) fn limit(&self) -> &TimeLimit {
        &self.limit
    }

    /// The refs of the links, the tool's first.
    pub(crate) fn chain(&self) -> &[String] {
        &self.chain
    }

    /// The digest of the plan as data, [`Plan::to_json`]; made when first asked for.
    ///
    /// # Errors
    /// `plan.bad_config`: the plan holds a number that its digest could not tell from another.
    pub(crate) fn digest(&self) -> Result<Digest, PlanError> {
        if let Some(digest) = self.digest.get() {
            return Ok(*digest);
        }
        let digest = self.document_digest()?;
        Ok(*self.digest.get_or_init(|| digest))
    }

    /// The links that run, the tool first.
    pub(crate) fn links(&self) -> &[PlannedItem] {
        &self.links
    }
}

/// The secrets that rye adds in the tool's place; where requests go out is not known here.
fn egress(confinement: &Confinement, env: &Env) -> EgressOfRun {
    let services = confinement.policy.egress.services.iter();
    let secrets = services.filter_map(|service| {
        let value = env.of_service(service.secret())?;
        Some((service.name().to_owned(), value.to_owned().into()))
    });
    EgressOfRun { secrets: secrets.collect(), ..EgressOfRun::default() }
}

/// The act of the chain's primitive, the part of this machine that it uses, and the time that the
/// signed links give it, in milliseconds.
fn act(
    chain: &Chain,
    params: &Params,
    context: &mut TemplateContext,
    tree: &Tree,
    anchored: Option<&Anchored>,
    machine: &PlanContext<'_>,
    sink: &dyn Sink,
) -> Result<(Survey, Act, Option<u64>), Failure> {
    let mut config = merged(chain);
    let mut tool = None;
    let item = chain.tool().item();
    #[cfg(feature = "code")]
    if chain.primitive() == Primitive::Code {
        let (snippet, signed_ms) = SnippetPlan::new(chain, config, params)?;
        return Ok((Survey::default(), Act::Code(snippet), signed_ms));
    }
    if !chain.tool().tool.calls.is_empty() {
        let why = "says what a snippet may call, and this chain runs another program".to_owned();
        return Err(PlanError::BadConfig { item: item.clone(), pointer: "/calls", why }.into());
    }
    match chain.primitive() {
        #[cfg(feature = "code")]
        Primitive::Code => {}
        Primitive::Execute => {}
        // It is carried out before a plan is made, since a node makes the plan.
        Primitive::Remote => return Err(MatrixError::DryRunRemote.into()),
        Primitive::HttpClient => {
            let http = HttpPlan::new(chain, &config, params, context)?;
            let signed_ms = http.timeout_ms;
            return Ok((Survey::default(), Act::Http(http), signed_ms));
        }
        Primitive::Mcp => {
            let bad = |(pointer, why)| PlanError::BadConfig { item: item.clone(), pointer, why };
            let taken = McpTool::take(chain, &mut config).map_err(bad)?;
            if config.contains_key("url") {
                let http = mcp::request(config).map_err(bad)?;
                let http = HttpPlan::new(chain, &http, params, context)?;
                mcp::check_encryption(&http.request.address).map_err(bad)?;
                let signed_ms = http.timeout_ms;
                let act = Act::Mcp(McpServer::Url(http), taken);
                return Ok((Survey::default(), act, signed_ms));
            }
            tool = Some(taken);
        }
    }
    let (mut execution, options) = match exec::execution(chain, machine)? {
        Some((execution, options)) => (execution, Some(options)),
        None => (Execution::from_config(chain, &config)?, None),
    };
    let signed_ms = execution.timeout_ms;
    if let Some(Anchored { anchor, .. }) = anchored {
        execution.cwd = anchor.cwd.clone().unwrap_or(execution.cwd);
    }
    let (survey, process) = Survey::make(chain, execution, context, tree, machine, sink)?;
    let act = match (tool, options) {
        (Some(tool), _) => Act::Mcp(McpServer::Program(process), tool),
        (None, Some(options)) => Act::Exec(process, options),
        (None, None) => Act::Process(process),
    };
    Ok((survey, act, signed_ms))
}

impl std::fmt::Debug for Plan {
    /// Without parameters and environment values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("item", &self.item)
            .field("chain", &self.chain)
            .finish_non_exhaustive()
    }
}

/// The folders that an anchor adds to variables. They are all in the private folder: another one
/// would let in files that are not verified.
fn anchor_paths(item: &Ref, anchor: &Anchor) -> Result<Vec<EnvPath>, PlanError> {
    let paths = &anchor.env_paths;
    let mut templates = paths.iter().flat_map(|path| path.prepend.iter().chain(&path.append));
    let is_plain = |text: &str| text.split('/').skip(1).all(|part| !matches!(part, "." | ".."));
    let private = |text: &str| {
        let names = ["{anchor_path}", "{tool_dir}", "{tool_parent}", "{runtime_lib}"];
        let rest = names.iter().find_map(|name| text.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && is_plain(rest)))
            && !text.contains([':', '$'])
    };
    match templates.find(|text| !private(text)) {
        None => Ok(paths.clone()),
        Some(text) => Err(PlanError::BadConfig {
            item: item.clone(),
            pointer: "/anchor/env_paths",
            why: format!("names `{text}`, which is not a folder of verified files"),
        }),
    }
}

/// The values of `{name}`, except those of the private copy.
fn names(tool: &Source, params: &Params, machine: &PlanContext<'_>) -> Names {
    let text = |path: Option<&Path>| {
        Named::Text(path.map(|path| path.display().to_string()).unwrap_or_default())
    };
    [
        ("item_dir", text(tool.path().parent())),
        ("project_path", text(Some(machine.workplace))),
        ("user_space", text(machine.user_space)),
        ("system_space", text(machine.system_space)),
        ("params_json", Named::Params(params.clone())),
    ]
    .into()
}

/// The plan of what is told of another's call: the private values of that are private here too.
pub(crate) fn with_private_values(mut plan: Plan, values: &[String]) -> Plan {
    plan.context.env.add_private(values);
    plan
}

/// Chooses the level again, after the sandbox of the plan could not be made and nothing ran.
/// Returns true if the choice is another one.
///
/// # Errors
/// `sandbox.*`
pub(crate) fn hold_anew(
    plan: &mut Plan,
    choice: SandboxChoice,
    host: &dyn Host,
    sink: &dyn Sink,
) -> Result<bool, PlanError> {
    let Some(held) = plan.confinement.as_ref().filter(|_| plan.base_policy.is_none()) else {
        return Ok(false);
    };
    let ladder = match choice {
        SandboxChoice::On(ladder) => ladder,
        _ => Ladder::Auto,
    };
    let anew = host.confine(held.policy.clone(), ladder);
    let anew = anew.map_err(|why| PlanError::Sandbox { item: plan.item.clone(), why })?;
    if anew == **held {
        return Ok(false);
    }
    sink.record(Event::Sandbox { in_force: anew.to_json() });
    plan.confinement = Some(Arc::new(anew));
    plan.digest = OnceLock::new();
    Ok(true)
}
