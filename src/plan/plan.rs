//! A plan and how it is made.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::config::Execution;
use super::env::Env;
use super::error::PlanError;
use super::params::Params;
use super::template::{Names, Scope, plain};
use crate::base::Digest;
use crate::base::limits::{ARGUMENT_BYTES, OUTPUT_BYTES, TIMEOUT_MS};
use crate::chain::Chain;
use crate::host::{Host, Spawn, Vars};
use crate::id::{ItemId, Ref};
use crate::trace::{Event, Sink};
use crate::validate::ValidChain;
use crate::verify::Source;

/// What a plan needs to know of the machine and the caller.
pub(crate) struct Machine<'a> {
    pub(crate) vars: &'a Vars,
    pub(crate) host: &'a dyn Host,
    pub(crate) project_path: &'a Path,
    pub(crate) user_space: Option<&'a Path>,
    pub(crate) system_space: Option<&'a Path>,
    /// Folders whose files are in somebody's hands: the project and the spaces on disk.
    pub(crate) guarded: Vec<PathBuf>,
    pub(crate) run_id: &'a str,
    /// A caller may shorten the time, never lengthen it.
    pub(crate) timeout: Option<Duration>,
}

/// A file that is written to the run's private folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Everything needed to act, nothing done yet.
///
/// Invariant: made from a `ValidChain` alone. Where the private copy of the tool will lie is not
/// known yet, so templates stay templates; [`Plan::spawn`] expands them once it is.
pub(crate) struct Plan {
    item: Ref,
    primitive: ItemId,
    execution: Execution,
    names: Names,
    env: Env,
    program: Program,
    pinned: Vec<Pinned>,
    timeout: Duration,
    pairs: Vec<String>,
    chain: Vec<String>,
    digests: Vec<Value>,
}

/// What is started.
enum Program {
    /// An absolute path, found before the run.
    Found(PathBuf),
    /// The private copy of the tool itself, as a template.
    Tool(String),
}

impl Plan {
    /// # Errors
    /// `plan.*`
    pub(crate) fn build(
        valid: &ValidChain,
        params: &Params,
        machine: &Machine<'_>,
        sink: &dyn Sink,
    ) -> Result<Self, PlanError> {
        let chain = valid.chain();
        let tool = chain.tool();
        let item = tool.item().clone();
        let own = vec![
            ("RYE_PROJECT", machine.project_path.display().to_string()),
            ("RYE_ITEM", item.to_string()),
            ("RYE_ITEM_PATH", tool.source.path().display().to_string()),
            ("RYE_RUN_ID", machine.run_id.to_owned()),
        ];
        built(chain)?;
        if machine.project_path.to_str().is_none() {
            let why = "cannot be the project: its path is not UTF-8".to_owned();
            return Err(PlanError::BadConfig { item, pointer: "/config/cwd", why });
        }
        let execution = Execution::of(chain, TIMEOUT_MS)?;
        let names = names(&tool.source, params, machine);
        let env = Env::of(chain, machine.vars, own, sink)?;
        let shown = execution.args.iter().chain([&execution.cwd]).chain(&execution.command);
        for template in shown {
            env.keep_out(&item, template)?;
        }
        let program = program(&item, &execution, &names, &env, machine)?;
        // A program that never looks at the tool's file needs no copy of it.
        let looks = |text: &str| text.contains("{tool_");
        let looks_at_tool = execution.texts().any(looks) || env.templates().any(looks);
        let pinned = if looks_at_tool { pinned(&tool.source) } else { Vec::new() };
        let plan = Self {
            item,
            primitive: chain.primitive().item().id.clone(),
            timeout: limit(execution.timeout_ms, machine.timeout),
            execution,
            names,
            env,
            program,
            pinned,
            pairs: valid.pairs().to_vec(),
            chain: chain.ids(),
            digests: chain.links().iter().map(|link| digest(&link.source)).collect(),
        };
        plan.check()?;
        plan.check_programs(machine)?;
        sink.record(Event::Plan { digest: plan.digest() });
        Ok(plan)
    }

    /// Argument sizes and NULs, with the private path standing for itself.
    fn check(&self) -> Result<(), PlanError> {
        for argument in self.expand(None).args {
            if argument.contains('\0') {
                return Err(PlanError::ArgumentNul { item: self.item.clone() });
            }
            if argument.len() > ARGUMENT_BYTES {
                let (item, bytes) = (self.item.clone(), argument.len());
                return Err(PlanError::ArgumentTooLarge { item, bytes });
            }
        }
        Ok(())
    }

    /// Refuses a folder that is not there, and a command, or an argument, that names a file which no
    /// signature covers (core 7.8).
    fn check_programs(&self, machine: &Machine<'_>) -> Result<(), PlanError> {
        let expanded = self.expand(None);
        let is_private = self.execution.cwd.contains("{tool_");
        if !is_private && !machine.host.is_folder(&expanded.cwd) {
            let why = format!("names `{}`, which is no folder", expanded.cwd.display());
            let (item, pointer) = (self.item.clone(), "/config/cwd");
            return Err(PlanError::BadConfig { item, pointer, why });
        }
        let named = expanded.args.iter().map(|arg| expanded.cwd.join(arg));
        for path in std::iter::once(expanded.program).chain(named) {
            let Some(real) = machine.host.real_file(&path) else { continue };
            let within = |root: &PathBuf| real.starts_with(root) || path.starts_with(root);
            if machine.guarded.iter().any(within) {
                return Err(PlanError::UnverifiedProgram { item: self.item.clone(), path });
            }
        }
        Ok(())
    }

    /// The one pass over every template; `{tool_path}` stands for itself while it is not known.
    fn expand(&self, tool_path: Option<&Path>) -> Expanded {
        let mut names = self.names.clone();
        if let Some(path) = tool_path {
            let folder = path.parent().unwrap_or(path);
            let parent = folder.parent().unwrap_or(folder);
            names.insert("tool_path", path.display().to_string().into());
            names.insert("tool_dir", folder.display().to_string().into());
            names.insert("tool_parent", parent.display().to_string().into());
        }
        let env = self.env.resolve(&names);
        let variable = |name: &str| env.get(name).cloned();
        let scope = Scope { names: &names, variable: &variable };
        let input = match scope.value(&self.execution.input_data) {
            Value::Null => String::new(),
            other => plain(&other),
        };
        let program = match &self.program {
            Program::Found(path) => path.clone(),
            Program::Tool(template) => scope.text(template).into(),
        };
        let args = self.execution.args.iter().map(|arg| scope.text(arg)).collect();
        let project = self.names.get("project_path").map(plain).unwrap_or_default();
        let cwd = Path::new(&project).join(scope.text(&self.execution.cwd));
        Expanded { program, args, cwd, input, env }
    }

    /// What to start, once the verified bytes lie at `tool_path`.
    pub(crate) fn spawn(&self, tool_path: &Path) -> Spawn {
        let expanded = self.expand(Some(tool_path));
        Spawn {
            program: expanded.program,
            args: expanded.args.into_iter().map(OsString::from).collect(),
            env: expanded.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
            cwd: expanded.cwd,
            stdin: expanded.input.into_bytes(),
            timeout: self.timeout,
            output_cap: OUTPUT_BYTES,
        }
    }

    pub(crate) fn item(&self) -> &Ref {
        &self.item
    }

    pub(crate) fn primitive(&self) -> &ItemId {
        &self.primitive
    }

    /// The files of the private folder, the tool first.
    pub(crate) fn pinned(&self) -> &[Pinned] {
        &self.pinned
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// `<child id> -> <parent id>`, in order.
    pub(crate) fn pairs(&self) -> &[String] {
        &self.pairs
    }

    /// Plain ids, the tool's first.
    pub(crate) fn chain(&self) -> &[String] {
        &self.chain
    }

    /// The plan as data: no environment values; parameters only where a signed argument names them.
    pub(crate) fn to_json(&self) -> Value {
        let expanded = self.expand(None);
        json!({
            "command": expanded.program,
            "args": expanded.args,
            "cwd": expanded.cwd,
            "env": expanded.env.keys().collect::<Vec<_>>(),
            "timeout_ms": u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            "sandbox": {"level": "off"},
            "digests": self.digests,
        })
    }

    /// The digest of the plan as data.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.to_json().to_string().as_bytes())
    }
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

struct Expanded {
    program: PathBuf,
    args: Vec<String>,
    cwd: PathBuf,
    input: String,
    env: BTreeMap<String, String>,
}

/// Finds the program before anything runs, so that a dry run says what is missing.
fn program(
    item: &Ref,
    execution: &Execution,
    names: &Names,
    env: &Env,
    machine: &Machine<'_>,
) -> Result<Program, PlanError> {
    let item = || item.clone();
    let template =
        execution.command.as_ref().ok_or_else(|| PlanError::NoCommand { item: item() })?;
    if template.contains("{tool_path}") || template.contains("{tool_dir}") {
        return Ok(Program::Tool(template.clone()));
    }
    let env = env.resolve(names);
    let variable = |name: &str| env.get(name).cloned();
    let program = Scope { names, variable: &variable }.text(template);
    if program.is_empty() {
        return Err(PlanError::NoCommand { item: item() });
    }
    if program.contains('\0') {
        return Err(PlanError::ArgumentNul { item: item() });
    }
    let path = env.get("PATH").map(String::as_str).unwrap_or_default();
    // A relative path is meant from the project, wherever the child starts.
    let named = match program.contains('/') {
        true => machine.project_path.join(&program).into_os_string(),
        false => program.clone().into(),
    };
    let found = machine.host.find_program(&named, path.as_ref());
    let found = found.ok_or_else(|| PlanError::ProgramNotFound { item: item(), program })?;
    Ok(Program::Found(found))
}

/// Refuses what a signed item asks for and this build cannot do: running it without the check that
/// its author asked for would be a weaker promise than the signed one.
fn built(chain: &Chain) -> Result<(), PlanError> {
    let enabled = |value: &Option<Value>| {
        value.as_ref().is_some_and(|v| v.get("enabled") != Some(&Value::Bool(false)))
    };
    for link in chain.links() {
        let tool = &link.tool;
        let asked = [
            ("files", tool.files.is_some()),
            ("anchor", enabled(&tool.anchor)),
            ("verify_deps", enabled(&tool.verify_deps)),
            ("config_resolve", tool.config_resolve.is_some()),
            ("sandbox", tool.sandbox.is_some()),
            ("env_config.interpreter", tool.interpreter.is_some()),
        ];
        if let Some((field, _)) = asked.into_iter().find(|(_, asked)| *asked) {
            return Err(PlanError::NotBuilt { item: link.item().clone(), field });
        }
    }
    Ok(())
}

/// The verified bytes of the tool under its own name. Node looks for a `package.json` in every
/// folder above a script; one of our own ends that search.
fn pinned(tool: &Source) -> Vec<Pinned> {
    let name = format!("{}.{}", tool.item().id.name(), tool.ext());
    let mut files = vec![Pinned { name, bytes: tool.text().as_bytes().to_vec() }];
    if matches!(tool.ext(), "js" | "mjs" | "cjs" | "ts") {
        files.push(Pinned { name: "package.json".into(), bytes: b"{}\n".to_vec() });
    }
    files
}

fn limit(signed_ms: u64, asked: Option<Duration>) -> Duration {
    let signed = Duration::from_millis(signed_ms);
    asked.map_or(signed, |asked| asked.min(signed))
}

fn digest(source: &Source) -> Value {
    let signer = source.signer().map(|s| s.key);
    json!({"item": source.item(), "sha256": source.digest(), "signer": signer})
}

/// What `{name}` stands for, but for the names of the private copy.
fn names(tool: &Source, params: &Params, machine: &Machine<'_>) -> Names {
    let text = |path: Option<&Path>| {
        Value::from(path.map(|path| path.display().to_string()).unwrap_or_default())
    };
    [
        ("item_dir", text(tool.path().parent())),
        ("project_path", text(Some(machine.project_path))),
        ("user_space", text(machine.user_space)),
        ("system_space", text(machine.system_space)),
        ("params_json", Value::Object(params.as_map().clone())),
    ]
    .into()
}
