//! `anchor` and `verify_deps`: where a tool's modules lie, and which of them must be signed
//! (core 7.8).

use serde_json::Value;

use super::fields::{Fields, wrong};
use crate::base::text::escape_line;
use crate::parse::error::{PARSE_METADATA, ParseFault};
use crate::space::RelPath;
use crate::verify::PartsRoot;

/// When an anchor counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnchorMode {
    /// The anchor counts if its folder holds one of the markers.
    Auto,
    Always,
    Never,
}

/// The folder from which a tool's modules load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) mode: AnchorMode,
    pub(crate) markers: Vec<RelPath>,
    pub(crate) root: PartsRoot,
    /// A folder below that of the declaring item; `{runtime_lib}`.
    pub(crate) lib: Option<RelPath>,
    /// Variables that hold lists of folders.
    pub(crate) env_paths: Vec<EnvPath>,
    /// A template.
    pub(crate) cwd: Option<String>,
}

/// Folders that are put before and behind what a variable holds; templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnvPath {
    pub(crate) name: String,
    pub(crate) prepend: Vec<String>,
    pub(crate) append: Vec<String>,
}

/// Which files must be covered by a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifyDeps {
    pub(crate) scope: DepsScope,
    pub(crate) recursive: bool,
    /// Without their dot; empty for every file.
    pub(crate) extensions: Vec<String>,
    pub(crate) exclude_dirs: Vec<String>,
}

/// Where the files lie that [`VerifyDeps`] asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DepsScope {
    Anchor,
    ToolDir,
    /// The tool's folder without those below it.
    ToolSiblings,
    /// Only the tool, which is verified anyway.
    ToolFile,
}

/// Folders without modules of the tool. Their files are never copied beside it either.
const EXCLUDED: [&str; 3] = ["__pycache__", "node_modules", ".git"];

/// `None` where there is none, or it is switched off.
pub(super) fn anchor(fields: &Fields<'_>) -> Result<Option<Anchor>, ParseFault> {
    let Some(fields) = fields.fields("anchor")? else { return Ok(None) };
    fields.only(&["enabled", "mode", "markers_any", "root", "lib", "env_paths", "cwd"])?;
    let mode = match fields.string("mode")?.as_deref() {
        None | Some("auto") => AnchorMode::Auto,
        Some("always") => AnchorMode::Always,
        Some("never") => AnchorMode::Never,
        Some(_) => return Err(one_of(&fields, "mode", "auto, always or never")),
    };
    let root = match fields.string("root")?.as_deref() {
        None | Some("tool_dir") => PartsRoot::ToolDir,
        Some("tool_parent") => PartsRoot::ToolParent,
        Some("project_path") => PartsRoot::Base,
        Some(_) => return Err(one_of(&fields, "root", "tool_dir, tool_parent or project_path")),
    };
    let markers = fields.strings("markers_any")?.unwrap_or_default();
    let markers: Vec<RelPath> =
        markers.iter().map(|text| path(&fields, "markers_any", text)).collect::<Result<_, _>>()?;
    let anchor = Anchor {
        mode,
        markers,
        root,
        lib: fields.string("lib")?.map(|text| path(&fields, "lib", &text)).transpose()?,
        env_paths: env_paths(&fields)?,
        cwd: fields.string("cwd")?,
    };
    Ok((fields.truth("enabled")? != Some(false)).then_some(anchor))
}

pub(super) fn verify_deps(fields: &Fields<'_>) -> Result<Option<VerifyDeps>, ParseFault> {
    let Some(fields) = fields.fields("verify_deps")? else { return Ok(None) };
    fields.only(&["enabled", "scope", "recursive", "extensions", "exclude_dirs"])?;
    let scope = match fields.string("scope")?.as_deref() {
        Some("anchor") => DepsScope::Anchor,
        None | Some("tool_dir") => DepsScope::ToolDir,
        Some("tool_siblings") => DepsScope::ToolSiblings,
        Some("tool_file") => DepsScope::ToolFile,
        Some(_) => {
            return Err(one_of(&fields, "scope", "anchor, tool_dir, tool_siblings or tool_file"));
        }
    };
    let extensions = fields.strings("extensions")?.unwrap_or_default();
    let mut exclude_dirs = fields.strings("exclude_dirs")?.unwrap_or_default();
    exclude_dirs.extend(EXCLUDED.map(str::to_owned));
    let deps = VerifyDeps {
        scope,
        recursive: fields.truth("recursive")?.unwrap_or(true),
        extensions: extensions.iter().map(|e| e.trim_start_matches('.').to_owned()).collect(),
        exclude_dirs,
    };
    Ok((fields.truth("enabled")? != Some(false)).then_some(deps))
}

fn env_paths(fields: &Fields<'_>) -> Result<Vec<EnvPath>, ParseFault> {
    let Some(paths) = fields.fields("env_paths")? else { return Ok(Vec::new()) };
    let named = paths.map().keys().map(|name| {
        paths.is_env_name(name)?;
        let Some(lists) = paths.fields(name)? else {
            return Err(wrong(&paths.pointer(name), "a mapping", &Value::Null));
        };
        lists.only(&["prepend", "append"])?;
        Ok(EnvPath {
            name: name.clone(),
            prepend: lists.strings("prepend")?.unwrap_or_default(),
            append: lists.strings("append")?.unwrap_or_default(),
        })
    });
    named.collect()
}

fn path(fields: &Fields<'_>, key: &str, text: &str) -> Result<RelPath, ParseFault> {
    text.parse().map_err(|why| {
        let pointer = fields.pointer(key);
        ParseFault::new(PARSE_METADATA, format!("`{pointer}`: `{}` {why}", escape_line(text)))
    })
}

fn one_of(fields: &Fields<'_>, key: &str, words: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`{}` must be {words}", fields.pointer(key)))
}
