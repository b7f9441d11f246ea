//! A plan and how it is made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::config::Execution;
use super::env::Env;
use super::error::PlanError;
use super::frame::Frame;
use super::params::Params;
use super::process::Process;
use super::template::Names;
use crate::base::Digest;
use crate::base::limits::{OUTPUT_BYTES, TIMEOUT_MS};
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
    act: Act,
    frame: Frame,
    pinned: Vec<Pinned>,
    timeout: Duration,
    pairs: Vec<String>,
    chain: Vec<String>,
    digests: Vec<Value>,
}

/// What the end of the chain is asked to do.
pub(crate) enum Act {
    Process(Process),
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
        let timeout = limit(execution.timeout_ms, machine.timeout);
        let names = names(&tool.source, params, machine);
        let frame = Frame { names, env: Env::of(chain, machine.vars, own, sink)? };
        let process = Process::of(&item, execution, &frame, machine)?;
        process.check(&item, &frame.fill(None), machine)?;
        // A program that never looks at the tool's file needs no copy of it.
        let looks = |text: &str| text.contains("{tool_");
        let looks_at_tool = process.texts().any(looks) || frame.env.templates().any(looks);
        let pinned = if looks_at_tool { pinned(&tool.source) } else { Vec::new() };
        let plan = Self {
            item,
            primitive: chain.primitive().item().id.clone(),
            timeout,
            act: Act::Process(process),
            frame,
            pinned,
            pairs: valid.pairs().to_vec(),
            chain: chain.ids(),
            digests: chain.links().iter().map(|link| digest(&link.source)).collect(),
        };
        sink.record(Event::Plan { digest: plan.digest() });
        Ok(plan)
    }

    /// What to start, once the verified bytes lie at `tool_path`.
    pub(crate) fn spawn(&self, tool_path: &Path) -> Spawn {
        let Act::Process(process) = &self.act;
        let filled = self.frame.fill(Some(tool_path));
        let expanded = process.expand(&filled);
        Spawn {
            program: expanded.program,
            args: expanded.args.into_iter().map(OsString::from).collect(),
            env: filled.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
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
        let filled = self.frame.fill(None);
        let Act::Process(process) = &self.act;
        let expanded = process.expand(&filled);
        json!({
            "command": expanded.program,
            "args": expanded.args,
            "cwd": expanded.cwd,
            "env": filled.env.keys().collect::<Vec<_>>(),
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
