//! The items that a configuration becomes, before anything is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::doc::Doc;
use super::error::{IMPORT_FILE, IMPORT_MISSING, IMPORT_NOT_IN_PACK};
use super::files::{CopiedFile, Folder, Named};
use super::pack::Pack;
use super::runtimeconfig::{self, Bound, Role};
use super::yaml::{entry, list, scalar};
use crate::base::Digest;
use crate::base::text::{escape_line, near};
use crate::diagnostic::{Diagnostic, Failure};
use crate::id::{ItemId, Kind, Ref};
use crate::parse::{HookKind, listed_files, write_files};
use crate::rye::HOOKS_BELOW;
use crate::space::{FileTypes, RelPath};

/// The input of an import.
pub(crate) struct Import<'a> {
    /// The configuration's path; relative paths in it begin at its folder.
    pub(crate) config: &'a Path,
    pub(crate) text: &'a str,
    /// The pack's path and text.
    pub(crate) pack: Option<(&'a Path, &'a str)>,
    /// The folder of the items.
    pub(crate) category: &'a ItemId,
}

/// An item that may be written.
#[derive(Debug)]
pub(crate) struct ItemDraft {
    pub(crate) item: Ref,
    pub(crate) ext: String,
    /// The whole file, with the digests of its files.
    pub(crate) text: String,
    /// Copies, by their paths below the item's own folder.
    pub(crate) files: BTreeMap<RelPath, CopiedFile>,
    /// Remarks about this item, for a person.
    pub(crate) notes: Vec<String>,
    /// The remarks as data.
    pub(crate) about: Map<String, Value>,
    /// The file that it was made of, if that may be the one that it becomes.
    pub(crate) was: Option<(PathBuf, Vec<u8>)>,
    /// The tool that an older version of it may have had, and that it does not have.
    pub(crate) tool_of_older: Option<Ref>,
    /// It may be signed together with others; else each is for a person to sign by its name.
    pub(crate) is_vouched_for: bool,
}

impl ItemDraft {
    pub(super) fn new(item: Ref, ext: &str, text: String) -> Self {
        let (files, notes, about) = (BTreeMap::new(), Vec::new(), Map::new());
        let (was, is_vouched_for, ext) = (None, true, ext.to_owned());
        Self { item, ext, text, files, notes, about, was, tool_of_older: None, is_vouched_for }
    }

    /// As `self`, with files, whose digests are written into its header.
    pub(super) fn with_files(self, files: BTreeMap<RelPath, CopiedFile>) -> Self {
        let digests: BTreeMap<RelPath, Digest> =
            files.iter().map(|(path, taken)| (path.clone(), Digest::of(&taken.bytes))).collect();
        let style = FileTypes::default().find(self.item.kind, &self.ext).map(|found| found.header);
        let text = &self.text;
        let filled = style.and_then(|style| {
            listed_files(text, &style).map(|listed| write_files(text, &style, &listed, &digests))
        });
        // What cannot be filled does not parse; signing says why.
        let text = filled.and_then(Result::ok).unwrap_or_else(|| text.clone());
        Self { text, files, ..self }
    }
}

/// The items that a configuration becomes.
#[derive(Debug)]
pub(crate) struct Drafts {
    /// None if there are faults.
    pub(crate) items: Vec<ItemDraft>,
    /// Remarks about the items, for a person.
    pub(crate) remarks: Vec<String>,
    /// The faults of the documents, in the order of the text.
    pub(crate) faults: Vec<Diagnostic>,
}

/// The drafts of a configuration.
///
/// # Errors
/// `space.*` for a folder that cannot be read.
pub(crate) fn drafts(import: &Import<'_>) -> Result<Drafts, Failure> {
    let name = |path: &Path| path.display().to_string();
    let config_name = name(import.config);
    let pack_name = import.pack.map(|(path, _)| name(path)).unwrap_or_default();
    let config = Doc::new(&config_name, import.text);
    let pack = Doc::new(&pack_name, import.pack.map_or("", |(_, text)| text));
    let mut remarks = Vec::new();
    let mut drafts = read(import, &config, &pack, &mut remarks)?;
    let faults = [config.into_faults(), pack.into_faults()].concat();
    if !faults.is_empty() {
        drafts.clear();
    }
    Ok(Drafts { items: drafts, remarks, faults })
}

fn read(
    import: &Import<'_>,
    config: &Doc<'_>,
    pack_doc: &Doc<'_>,
    remarks: &mut Vec<String>,
) -> Result<Vec<ItemDraft>, Failure> {
    let (value, described) = (config.yaml(), import.pack.and_then(|_| pack_doc.json()));
    let Some(value) = value else { return Ok(Vec::new()) };
    let pack = described.as_ref().and_then(|value| Pack::read(pack_doc, value, remarks));
    let bound = runtimeconfig::read(config, &value, remarks);
    let folder = Folder::open(import.config)?;
    let mut drafts = Vec::new();
    for bound in &bound {
        let maker = Maker { import, folder: &folder, pack: pack.as_ref(), bound };
        drafts.extend(maker.draft(remarks)?);
    }
    if bound.is_empty() {
        let why = "binds no program: it has no `spec.tools.….exec`, `spec.evals` or `spec.hooks`";
        super::doc::Spot::top(config).fault_unless_others(IMPORT_MISSING, why);
    }
    Ok(drafts)
}

/// Makes the draft of one program.
struct Maker<'a, 'd> {
    import: &'a Import<'a>,
    folder: &'a Folder,
    pack: Option<&'a Pack<'d>>,
    bound: &'a Bound<'d>,
}

impl Maker<'_, '_> {
    /// `None` for a name that is none; it has its fault.
    fn draft(&self, remarks: &mut Vec<String>) -> Result<Option<ItemDraft>, Failure> {
        let bound = self.bound;
        let category = match bound.role {
            Role::Tool => self.import.category.to_string(),
            Role::Eval => format!("{}/evals", self.import.category),
            // A hook elsewhere is never asked.
            Role::Hook(_) => format!("{HOOKS_BELOW}{}", self.import.category),
        };
        let mut head = format!("version: \"1.0.0\"\ntool_type: {}\n", self.tool_type());
        let mode = if bound.is_server { "server" } else { "oneshot" };
        let _ = writeln!(head, "executor_id: rye/core/runtimes/exec/{mode}");
        let _ = writeln!(head, "category: {}", scalar(&category));
        self.describe(&mut head, remarks);
        let mut files = BTreeMap::new();
        let program = self.program(&mut files, remarks)?;
        let Ok(id) = format!("{category}/{}", bound.name).parse::<ItemId>() else {
            return Ok(None);
        };
        let draft = ItemDraft::new(Ref::new(Kind::Tool, id), "yaml", format!("{head}{program}"));
        Ok(Some(draft.with_files(files)))
    }

    fn tool_type(&self) -> &'static str {
        match self.bound.role {
            Role::Tool => "exec",
            Role::Eval => "eval",
            Role::Hook(_) => "hook",
        }
    }

    /// The keys that say what the item is.
    fn describe(&self, out: &mut String, remarks: &mut Vec<String>) {
        let Bound { name, role, spot, .. } = self.bound;
        let file = self.import.config.file_name().unwrap_or_default().to_string_lossy();
        let mut description = format!("`{spot}` of {file}");
        match role {
            Role::Tool => {
                let described = self.pack.map(|pack| pack.tool(name));
                if let (Some(None), Some(pack)) = (&described, self.pack) {
                    let near = near(name, pack.names(), 1).pop();
                    let near = near.map(|near| format!("; did you mean `{}`?", escape_line(&near)));
                    let why = format!("is not a tool of the pack{}", near.unwrap_or_default());
                    spot.fault_of_key(IMPORT_NOT_IN_PACK, &why);
                }
                let described = described.flatten().unwrap_or_default();
                if let Some(said) = described.description.or(self.bound.description.clone()) {
                    description = said;
                }
                let _ = writeln!(out, "description: {}", Value::from(description));
                match described.schema.or(self.bound.schema.clone()) {
                    Some(schema) => entry(out, 0, "input_schema", &schema),
                    None => remarks.push(format!(
                        "`{spot}` takes any parameters: no schema of them was given"
                    )),
                }
                if let Some(schema) = &self.bound.output_schema {
                    entry(out, 0, "output_schema", schema);
                }
            }
            Role::Eval => {
                let (said, params) = self.pack.map_or((None, None), |pack| pack.eval(name));
                let _ = writeln!(out, "description: {}", Value::from(said.unwrap_or(description)));
                let _ = writeln!(out, "eval_type: {}", scalar(name));
                if let Some(params) = params {
                    entry(out, 0, "params", &params);
                }
            }
            Role::Hook(hook) => {
                let _ = writeln!(out, "description: {}", Value::from(description));
                let _ = writeln!(out, "hook: {}", hook.on);
                if hook.on == HookKind::Tool.name() {
                    let category = &self.import.category;
                    remarks.push(format!(
                        "`{spot}` will judge the calls of every tool, not only of these; to narrow it, add \
                         `match: [\"tool:{category}/**\"]` to the item"
                    ));
                }
                let _ = writeln!(out, "phases: [{}]", hook.phases.join(", "));
                if let Some(mode) = hook.mode {
                    let _ = writeln!(out, "mode: {mode}");
                }
                out.push_str("compat: promptkit\n");
            }
        }
    }

    /// The `exec` block; the files that it names go to `files`.
    fn program(
        &self,
        files: &mut BTreeMap<RelPath, CopiedFile>,
        remarks: &mut Vec<String>,
    ) -> Result<String, Failure> {
        let Bound { command: (spot, command), is_server, timeout_ms, env, .. } = self.bound;
        let shown = escape_line(command);
        let mut run = command.clone();
        if command.starts_with('/') {
            remarks.push(format!("`{shown}` is absolute and not copied: its bytes are not signed"));
        } else if command.contains('/') {
            match self.folder.find(command)? {
                Named::File(taken) => run = format!("./{}", self.take(taken, files)),
                Named::Left(why) => spot.fault(IMPORT_FILE, &format!("is `{shown}`, which {why}")),
                Named::Nothing => {
                    spot.fault(IMPORT_FILE, &format!("is `{shown}`, and there is no such file"));
                }
            }
        }
        let mut out = format!("exec:\n  command: {}\n", scalar(&run));
        let mut args = Vec::new();
        for (spot, argument) in &self.bound.args {
            args.push(self.argument(argument, files)?.unwrap_or_else(|why| {
                let argument = escape_line(argument);
                remarks.push(format!("`{spot}` names `{argument}`, which {why}: it is not copied"));
                argument
            }));
        }
        let line = |name: &str, texts: Vec<String>| match texts.is_empty() {
            true => String::new(),
            false => format!("  {name}: {}\n", list(texts.into_iter())),
        };
        out.push_str(&line("args", args));
        if *is_server {
            out.push_str("  runtime: server\n");
        }
        if let Some(ms) = timeout_ms {
            let _ = writeln!(out, "  timeout_ms: {ms}");
        }
        out.push_str(&line("env", env.clone()));
        out.push_str(&line("files", files.keys().map(ToString::to_string).collect()));
        Ok(out)
    }

    /// An argument as the item has it: a file's copy instead of the file, also behind `--option=`;
    /// or why what is there was left.
    fn argument(
        &self,
        argument: &str,
        files: &mut BTreeMap<RelPath, CopiedFile>,
    ) -> Result<Result<String, String>, Failure> {
        let option = argument.find('=').filter(|_| argument.starts_with('-')).map(|at| at + 1);
        for at in std::iter::once(0).chain(option) {
            let (option, value) = argument.split_at(at);
            match self.folder.find(value)? {
                Named::File(taken) => {
                    return Ok(Ok(format!("{option}{}", self.take(taken, files))));
                }
                Named::Left(why) => return Ok(Err(why)),
                Named::Nothing => {}
            }
        }
        Ok(Ok(argument.to_owned()))
    }

    /// Takes a file over and gives its path below the item's folder.
    fn take(&self, taken: CopiedFile, files: &mut BTreeMap<RelPath, CopiedFile>) -> String {
        let path = format!("{}.files/{}", self.bound.name, taken.path);
        if let Ok(path) = path.parse() {
            files.insert(path, taken);
        }
        path
    }
}
