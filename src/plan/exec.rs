//! The execution keys of a tool with an `exec` block (exec-protocol 1), like those of any other
//! tool.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::arguments::{paths, values};
use super::config::Execution;
use super::context::PlanContext;
use super::error::PlanError;
use crate::base::durations::EXEC_IDLE_MS;
use crate::base::text::escape_line;
use crate::chain::Chain;
use crate::id::Space;
use crate::parse::{Argument, EnvBase, Exec, ExecMode};

/// Time for a hook in milliseconds, unless its item says otherwise (exec-protocol 6).
const HOOK_TIMEOUT_MS: u64 = 10_000;

/// Time for one call of the exec protocol in milliseconds, unless the item says otherwise.
const EXEC_TIMEOUT_MS: u64 = 30_000;

/// How the program of a plan is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecOptions {
    pub(crate) mode: ExecMode,
    /// The parameters are sent below `args`; an eval or a hook is sent them as they are.
    pub(crate) below_args: bool,
    /// The answer is the result without change, whatever its keys are; also for a hook.
    pub(crate) as_it_is: bool,
    /// Bytes of one answer.
    pub(crate) max_output_bytes: usize,
    /// Calls that a server is sent before it answered the first.
    pub(crate) max_in_flight: usize,
    /// A call that a server died over may be sent again.
    pub(crate) idempotent: bool,
    /// How long a server without a call is kept.
    pub(crate) idle_ms: u64,
}

impl ExecOptions {
    /// As the plan's data: what decides how the program is spoken to.
    pub(super) fn to_json(&self) -> Value {
        let mut out: Map<String, Value> = Map::new();
        out.insert("mode".into(), self.mode.name().into());
        out.insert("max_output_bytes".into(), self.max_output_bytes.into());
        if self.mode == ExecMode::Server {
            out.insert("max_in_flight".into(), self.max_in_flight.into());
            out.insert("idempotent".into(), self.idempotent.into());
            out.insert("idle_timeout_ms".into(), json!(self.idle_ms));
        }
        out.into()
    }
}

/// The execution that the tool's `exec` block asks for; `None` for a tool without one.
///
/// # Errors
/// `plan.bad_config`: the block and the chain's runtime do not go together, or the block asks for
/// more than a project's item may have. `plan.unverified_program`: an argument names, from the
/// item's folder, a file of the project or of a space that is not in `files`.
pub(super) fn execution(
    chain: &Chain,
    machine: &PlanContext<'_>,
) -> Result<Option<(Execution, ExecOptions)>, PlanError> {
    let tool = chain.tool();
    let bad =
        |pointer, why: String| PlanError::BadConfig { item: tool.item().clone(), pointer, why };
    let runtimes = &chain.links()[1..];
    let protocol = runtimes.iter().find_map(|link| link.tool.config.get("protocol"));
    let (exec, protocol) = match (&tool.tool.exec, protocol) {
        (None, None) => return Ok(None),
        (Some(exec), Some(protocol)) => (exec, protocol),
        (Some(exec), None) => {
            let runtime = exec.mode.name();
            let why = format!("needs the executor `rye/core/runtimes/exec/{runtime}`");
            return Err(bad("/exec", why));
        }
        (None, Some(_)) => return Err(bad("/exec", "is missing: it says what is run".into())),
    };
    if protocol.as_str().and_then(ExecMode::named) != Some(exec.mode) {
        let runtime = exec.mode.name();
        let why = format!("does not fit the executor: use `rye/core/runtimes/exec/{runtime}`");
        return Err(bad("/exec/runtime", why));
    }
    if exec.env_base == EnvBase::Inherit && tool.source.space() == Space::Project {
        let why = "is `inherit`, which an item of a project may not ask for: name what it needs";
        return Err(bad("/exec/env_base", why.to_owned()));
    }
    let (command, is_private) = command(exec);
    let is_listed = |path| tool.source.parts().iter().any(|part| part.path.as_str() == path);
    if is_private && !is_listed(below(&exec.command)) {
        let shown = escape_line(&exec.command);
        let why =
            format!("is `{shown}`, which is not in `exec.files`: list it there and sign the tool");
        return Err(bad("/exec/command", why));
    }
    let here = Here { chain, machine };
    let args =
        exec.args.iter().map(|argument| here.argument(argument)).collect::<Result<_, _>>()?;
    let default_ms = if tool.tool.hook.is_some() { HOOK_TIMEOUT_MS } else { EXEC_TIMEOUT_MS };
    let execution = Execution {
        command: Some(command),
        args,
        cwd: "{project_path}".into(),
        input_data: "{params_json}".into(),
        timeout_ms: Some(exec.timeout_ms.unwrap_or(default_ms)),
        packages: None,
    };
    let is_hook = tool.tool.hook.is_some();
    let options = ExecOptions {
        mode: exec.mode,
        as_it_is: is_hook,
        below_args: !matches!(tool.tool.tool_type.as_deref(), Some("eval" | "hook")),
        max_output_bytes: exec.max_output_bytes,
        max_in_flight: exec.max_in_flight,
        idempotent: exec.idempotent,
        idle_ms: exec.idle_timeout_ms.unwrap_or(EXEC_IDLE_MS),
    };
    Ok(Some((execution, options)))
}

/// Where the relative paths of an `exec` block are meant from: the folder of the item's own file.
struct Here<'a> {
    chain: &'a Chain,
    machine: &'a PlanContext<'a>,
}

impl Here<'_> {
    /// An argument that names a listed file becomes its pinned copy, also behind `--option=` and
    /// short options.
    fn argument(&self, argument: &Argument) -> Result<Argument, PlanError> {
        let tool = self.chain.tool();
        for (option, value) in values(&argument.text) {
            let path = below(value);
            if tool.source.parts().iter().any(|part| part.path.as_str() == path) {
                let text = format!("{option}{{tool_dir}}/{path}");
                return Ok(Argument { text, ..argument.clone() });
            }
        }
        let folder = tool.source.path().parent().unwrap_or(Path::new("/"));
        // What a template puts in is judged once it is filled in.
        let is_plain = |text: &&str| !text.is_empty() && !text.contains(['{', '$']);
        let text = Some(argument.text.as_str()).filter(|text| !argument.is_data && is_plain(text));
        let by_text = text.into_iter().flat_map(paths).map(|path| folder.join(path));
        let by_text = by_text.filter(|path| self.machine.leads_to_foreign_file(path));
        let words = text.into_iter().flat_map(values).map(|(_, word)| folder.join(word));
        let by_name = words.filter(|path| self.machine.guards(path));
        match by_text.chain(by_name).next() {
            Some(path) => Err(PlanError::UnverifiedProgram { item: tool.item().clone(), path }),
            None => Ok(argument.clone()),
        }
    }
}

/// A path becomes that of the pinned copy, which must be there; a bare name stays.
fn command(exec: &Exec) -> (String, bool) {
    let is_private = exec.command.contains('/') && !exec.command.starts_with('/');
    let command = match is_private {
        true => format!("{{tool_dir}}/{}", below(&exec.command)),
        false => exec.command.clone(),
    };
    (command, is_private)
}

fn below(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}
