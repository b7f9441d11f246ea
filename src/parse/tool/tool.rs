//! A tool: what its signed header says, typed.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::anchor::{Anchor, AnchorMode, VerifyDeps, anchor, verify_deps};
use super::calls::calls;
use super::config_keys;
use super::config_resolve::{ConfigResolve, config_resolve};
use super::eval::{Eval, eval};
use super::exec::{Block, Exec, exec};
use super::fields::{Fields, string, wrong};
use super::files::files;
use super::hook::{Hook, hook};
use super::interpreter::Interpreter;
use super::provider::{Provider, provider};
use super::sandbox::{Sandbox, sandbox};
use super::schema::{output_schema, schema};
use crate::base::text::escape_line;
use crate::diagnostic::Diagnose;
use crate::host::Service;
use crate::id::{IdError, ItemId, Pattern};
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_METADATA, ParseFault};
use crate::parse::outline::texts;
use crate::parse::remote_files::{self, RemoteFiles};
use crate::space::HeaderStyle;
use crate::verify::{FileList, PartsRoot};

/// The keys of a header, in the order in which they are written. Any other is a fault, because a
/// typing error must not switch anything off; keys that begin with `x-` are for others to read.
pub(super) const KEYS: &[&str] = &[
    "version",
    "tool_type",
    "executor_id",
    "category",
    "description",
    "effects",
    "calls",
    "eval_type",
    "params",
    "hook",
    "phases",
    "mode",
    "match",
    "order",
    "replaces",
    "compat",
    "provider",
    "parameters",
    "input_schema",
    "output_schema",
    "config_schema",
    "examples",
    "inputs",
    "outputs",
    "env",
    "secrets",
    "env_config",
    "config",
    "exec",
    "files_sha256",
    "config_resolve",
    "overridable",
    "anchor",
    "verify_deps",
    "files",
    "sandbox",
    "integrity",
    "child_constraints",
    "allowed_threads",
    "allowed_targets",
    "remote",
    "exec_files",
    "tags",
    "notes",
    "references",
];

/// The declarations of a tool's header.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tool {
    pub(crate) version: Option<String>,
    #[expect(clippy::struct_field_names, reason = "the key's name in every header")]
    pub(crate) tool_type: Option<String>,
    /// The next link of the chain; a tool without one is a primitive.
    pub(crate) executor: Option<ItemId>,
    pub(crate) category: Option<String>,
    pub(crate) description: Option<String>,
    /// A JSON Schema that is an object. It may still fail to compile.
    pub(crate) schema: Option<Value>,
    /// A JSON Schema of what the tool gives, which is an object. It may still fail to compile.
    pub(crate) output_schema: Option<Value>,
    /// `env_config.env` in the order written, values as text, templates not expanded.
    pub(crate) env: Vec<(String, String)>,
    /// `env_config.interpreter`.
    pub(crate) interpreter: Option<Interpreter>,
    pub(crate) config: Map<String, Value>,
    /// The program that speaks the exec protocol.
    pub(crate) exec: Option<Exec>,
    /// The request of a tool of `tool_type: eval`.
    pub(crate) eval: Option<Eval>,
    /// The calls that the tool watches, if it is a hook.
    pub(crate) hook: Option<Hook>,
    /// The model that answers in threads, if the tool is a provider.
    pub(crate) provider: Option<Provider>,
    pub(crate) config_resolve: Option<ConfigResolve>,
    pub(crate) anchor: Option<Anchor>,
    pub(crate) verify_deps: Option<VerifyDeps>,
    /// The access that the tool needs in a sandbox.
    pub(crate) sandbox: Option<Sandbox>,
    /// Names of host variables the tool asks for (top-level `env`).
    pub(crate) env_names: Vec<String>,
    /// Names of host variables that are secrets.
    pub(crate) secrets: Vec<String>,
    /// Digests of the tool's other files, and the patterns to make them from.
    pub(crate) files: Option<FileList>,
    /// Paths of the config that a nearer space may change.
    pub(crate) overridable: Vec<String>,
    pub(crate) child_constraints: Option<Constraints>,
    pub(crate) inputs: Option<Vec<Port>>,
    pub(crate) outputs: Option<Vec<Port>>,
    pub(crate) allowed_threads: Option<Vec<String>>,
    pub(crate) allowed_targets: Option<Vec<String>>,
    /// The files of the project that go with a remote run, and come back.
    pub(crate) remote: RemoteFiles,
    pub(crate) effects: Option<String>,
    /// The tools that a saved snippet may call.
    pub(crate) calls: Vec<Pattern>,
    /// The header's own examples, then the schema's.
    pub(crate) examples: Vec<Value>,
    /// Words for searching.
    pub(crate) tags: Vec<String>,
    /// Notes for use.
    pub(crate) notes: Option<String>,
    /// References: refs or addresses.
    pub(crate) references: Vec<String>,
}

/// The versions of a child that a link accepts, as written; they are checked later.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Constraints {
    pub(crate) min_version: Option<String>,
    pub(crate) max_version: Option<String>,
    /// A semver range.
    pub(crate) version: Option<String>,
}

/// One named thing that a link takes from its child or gives to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) required: bool,
}

impl Tool {
    /// The services that it calls without their secrets.
    pub(crate) fn services(&self) -> &[Service] {
        self.sandbox.as_ref().map_or(&[], |sandbox| &sandbox.services)
    }

    /// Returns true if the tool is a link for other tools and is not run by itself.
    pub(crate) fn is_link(&self) -> bool {
        matches!(self.tool_type.as_deref(), Some("runtime" | "primitive"))
    }

    /// Returns true if the tool runs through a chain of its own; a link stands in those of other
    /// tools, and a provider is asked by threads.
    pub(crate) fn begins_chain(&self) -> bool {
        !self.is_link() && self.provider.is_none()
    }

    /// The tool that the header of a file of that style declares.
    ///
    /// # Errors
    /// `parse.metadata` for a field of another type or shape, named by its pointer;
    /// `parse.duplicate_metadata` for parameters declared twice.
    pub(super) fn new(
        header: &Map<String, Value>,
        style: &HeaderStyle,
    ) -> Result<Self, ParseFault> {
        let fields = Fields::new(header);
        fields.only_or_x(KEYS)?;
        let (env_config, config) = (fields.fields("env_config")?, fields.fields("config")?);
        let executor = executor(&fields)?;
        let calls = calls(&fields, executor.as_ref())?;
        if let Some(config) = &config {
            config_keys::check(config, style, executor.as_ref())?;
        }
        let (env, interpreter) = match &env_config {
            Some(config) => {
                config.only_or_x(&["env", "interpreter"])?;
                let block = config.fields("interpreter")?;
                (config.env("env")?, block.as_ref().map(Interpreter::new).transpose()?)
            }
            None => (Vec::new(), None),
        };
        let schema = schema(&fields)?;
        let anchor = anchor(&fields)?;
        let root = anchor.as_ref().filter(|anchor| anchor.mode != AnchorMode::Never);
        // A runtime's anchor is about the tools that it runs; its own files lie beside it.
        let is_link =
            matches!(fields.string("tool_type")?.as_deref(), Some("runtime" | "primitive"));
        let root = root.filter(|_| !is_link).map_or(PartsRoot::ToolDir, |anchor| anchor.root);
        let (exec, asked, listed) = match exec(&fields)? {
            Some(Block { exec, env_names, files }) => (Some(exec), env_names, files),
            None => (None, Vec::new(), files(&fields, root)?),
        };
        let mut examples = fields.list("examples")?.cloned().unwrap_or_default();
        let of_schema = schema.as_ref().and_then(|schema| schema.get("examples")?.as_array());
        examples.extend(of_schema.into_iter().flatten().cloned());
        Ok(Self {
            version: fields.string("version")?,
            tool_type: fields.string("tool_type")?,
            executor,
            category: fields.string("category")?,
            description: fields.string("description")?,
            schema,
            output_schema: output_schema(&fields)?,
            env,
            interpreter,
            config: config.map_or_else(Map::new, |config| config.map().clone()),
            config_resolve: config_resolve(&fields)?,
            files: listed,
            exec,
            eval: eval(&fields)?,
            hook: hook(&fields)?,
            provider: provider(&fields)?,
            anchor,
            verify_deps: verify_deps(&fields)?,
            sandbox: sandbox(&fields)?,
            env_names: [fields.env_names("env")?, asked].concat(),
            secrets: fields.env_names("secrets")?,
            overridable: fields.strings("overridable")?.unwrap_or_default(),
            child_constraints: fields
                .fields("child_constraints")?
                .as_ref()
                .map(constraints)
                .transpose()?,
            inputs: ports(&fields, "inputs", true)?,
            outputs: ports(&fields, "outputs", false)?,
            allowed_threads: fields.strings("allowed_threads")?,
            allowed_targets: fields.strings("allowed_targets")?,
            remote: remote(&fields)?,
            effects: fields.string("effects")?,
            calls,
            examples,
            tags: texts(fields.get("tags")),
            notes: fields.get("notes").and_then(Value::as_str).map(str::to_owned),
            references: texts(fields.get("references")),
        })
    }
}

fn executor(fields: &Fields<'_>) -> Result<Option<ItemId>, ParseFault> {
    let Some(text) = fields.string("executor_id")? else { return Ok(None) };
    let fault = |error: IdError| ParseFault::new(error.code(), format!("`/executor_id`: {error}"));
    text.parse().map(Some).map_err(fault)
}

fn remote(fields: &Fields<'_>) -> Result<RemoteFiles, ParseFault> {
    let Some(block) = fields.fields("remote")? else { return Ok(RemoteFiles::default()) };
    block.only(&["inputs", "outputs"])?;
    let patterns = |key: &str| {
        let given = block.strings(key)?.unwrap_or_default();
        remote_files::checked(given, &block.pointer(key))
            .map_err(|why| ParseFault::new(PARSE_METADATA, why))
    };
    Ok(RemoteFiles { inputs: patterns("inputs")?, outputs: patterns("outputs")? })
}

fn constraints(fields: &Fields<'_>) -> Result<Constraints, ParseFault> {
    fields.only_or_x(&["min_version", "max_version", "version"])?;
    Ok(Constraints {
        min_version: fields.string("min_version")?,
        max_version: fields.string("max_version")?,
        version: fields.string("version")?,
    })
}

/// The keys of a port.
const PORT: [&str; 5] = ["name", "type", "required", "default", "description"];

/// Ports from a list of names, a list of `{name, required}`, or a mapping from names.
fn ports(fields: &Fields<'_>, key: &str, required: bool) -> Result<Option<Vec<Port>>, ParseFault> {
    let pointer = fields.pointer(key);
    let ports: Vec<Port> = match fields.get(key) {
        None => return Ok(None),
        Some(Value::Array(list)) => {
            let items = list.iter().enumerate();
            items
                .map(|(at, item)| port(item, &format!("{pointer}/{at}"), required))
                .collect::<Result<_, _>>()?
        }
        Some(Value::Object(map)) => {
            let items = map.iter().map(|(name, item)| {
                let named = Fields::from_value(item, format!("{pointer}/{name}"));
                let stated = match item {
                    Value::Object(_) => {
                        let named = named?;
                        named.only_or_x(&PORT)?;
                        named.truth("required")?
                    }
                    _ => None,
                };
                Ok(Port { name: name.clone(), required: stated.unwrap_or(required) })
            });
            items.collect::<Result<_, ParseFault>>()?
        }
        Some(other) => return Err(wrong(&pointer, "a list or a mapping of names", other)),
    };
    let mut seen = HashSet::new();
    if let Some(again) = ports.iter().find(|port| !seen.insert(port.name.as_str())) {
        let why = format!("`{pointer}` names `{}` twice", escape_line(&again.name));
        return Err(ParseFault::new(PARSE_DUPLICATE_METADATA, why));
    }
    Ok(Some(ports))
}

fn port(item: &Value, pointer: &str, required: bool) -> Result<Port, ParseFault> {
    if !item.is_object() {
        return Ok(Port { name: string(item, pointer)?, required });
    }
    let fields = Fields::from_value(item, pointer.to_owned())?;
    fields.only_or_x(&PORT)?;
    let name = fields.string("name")?;
    let name =
        name.ok_or_else(|| ParseFault::new(PARSE_METADATA, format!("`{pointer}` has no `name`")))?;
    Ok(Port { name, required: fields.truth("required")?.unwrap_or(required) })
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
