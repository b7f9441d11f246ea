//! The tools of an MCP server, one item each, pinned to what the server says of them now.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::copies::{Taking, from_here, laid_out, package_of, started, written_args};
use super::draft::{Drafts, ItemDraft};
use super::error::{IMPORT_VALUE, ImportError};
use super::files::CopiedFile;
use super::yaml::{entry, list, scalar};
use crate::base::durations::MCP_IMPORT_MS;
use crate::base::limits::{OUTPUT_BYTES, SMALL_TEXT_BYTES};
use crate::base::text::{brief_line, escape_line, unfit};
use crate::base::{Address, Digest};
use crate::diagnostic::{Code, Diagnostic, Failure};
use crate::execute::McpFault;
use crate::host::{DeclaredNet, Net, PrivateDir, RUN_VAR, Spawn};
use crate::id::{ItemId, Kind, Ref};
use crate::mcp_client::{McpAddress, McpOffer, Remote, offer};
use crate::parse::{listed_files, write_files, yaml};
use crate::plan::{Exact, MCP_TOOL, McpTool, PINNED, check_schema, names_exact_code, script_at};
use crate::rye::Rye;
use crate::space::{HeaderStyle, RelPath, is_test_spec};
use crate::verify::{PARSE_CONTROL_TEXT, PARSE_INVISIBLE_TEXT};

/// The input of an import.
pub(crate) struct McpImport<'a> {
    /// The server's command line, or its URL alone.
    pub(crate) words: &'a [String],
    /// Names of variables that the server gets; over HTTP the one that is its bearer token.
    pub(crate) secrets: &'a [String],
    /// Values of secrets that are known beside the environment; it goes before them.
    pub(crate) known: &'a [(String, String)],
    /// Variables that the server gets with these values, which stand in the items.
    pub(crate) env: &'a [(String, String)],
    /// The network that the items' sandbox lets through.
    pub(crate) net: Option<&'a DeclaredNet>,
    /// Folders that the server may write.
    pub(crate) writes: &'a [String],
    /// Files and folders of this folder that the server loads beside those that its command line
    /// names.
    pub(crate) files: &'a [String],
    /// The folder of the items.
    pub(crate) category: &'a ItemId,
}

/// Longest name of an item, in bytes: with `.yaml` it is a file's name, of which systems take 255.
const NAME_BYTES: usize = 250;

/// Shortest secret that no item may hold, in bytes: a shorter one may be a word of its own.
const SECRET_BYTES: usize = 8;

/// Programs that fetch what they run, and where below the home they keep it.
const FETCH: [(&str, &[&str]); 5] = [
    ("npx", &[".npm/"]),
    ("uvx", &[".cache/uv/", ".local/share/uv/"]),
    ("uv", &[".cache/uv/", ".local/share/uv/"]),
    ("pipx", &[".local/share/pipx/", ".cache/pipx/"]),
    ("bunx", &[".bun/"]),
];

/// The names that a server gets from the host, beside `LC_*` and its secrets, as every tool does.
const HOST_NAMES: [&str; 6] = ["HOME", "USER", "LANG", "TERM", "TZ", "TMPDIR"];

/// The drafts of a server's tools: it is started, or asked, once.
///
/// # Errors
/// `mcp.*` for a server that does not say what it offers, `space.*`.
pub(crate) fn mcp_drafts(import: &McpImport<'_>, rye: &Rye) -> Result<Drafts, Failure> {
    let mut launch = Launch::new(import, rye)?;
    let item = Ref::new(Kind::Tool, import.category.clone());
    let values: Vec<String> = launch.secrets.iter().map(|(_, value)| value.clone()).collect();
    let asked = offer(&launch.at, rye.host(), &rye.located().vars, &values, &item);
    let McpOffer { server, tools, mut left_out, passed_over } =
        asked.map_err(|(fault, stderr_tail)| {
            let server = shown(&import.words.join(" "), import, rye);
            let is_copy = launch.copies.is_some();
            ImportError::Server { server, fault, stderr_tail, is_copy }
        })?;
    let mut faults = Vec::new();
    let mut remarks = vec![format!("the server is {}", brief_line(&server))];
    remarks.append(&mut launch.remarks);
    remarks.extend(passed_over.iter().map(|line| {
        format!("passed over on the server's standard output, as it is not a message: {line}")
    }));
    let mut names = BTreeSet::new();
    let mut items = Vec::new();
    for tool in &tools {
        if let Some(fault) = tells_a_secret(tool, &launch.secrets).or_else(|| hidden(tool)) {
            faults.push(fault);
            continue;
        }
        let name = item_name(&tool.name);
        let id = format!("{}/{name}", import.category).parse::<ItemId>();
        let fits =
            |_: &ItemId| name.len() <= NAME_BYTES && !is_test_spec(Kind::Tool, &name, "yaml");
        let Some(id) = id.ok().filter(fits) else {
            left_out.push((tool.name.clone(), "no item can have a name like it".into()));
            continue;
        };
        if !names.insert(name.to_lowercase()) {
            left_out.push((tool.name.clone(), "another tool's item has the same name".into()));
            continue;
        }
        let mut schemas = ["input_schema", "output_schema"].into_iter();
        let bad =
            |field: &str| Some((field.to_owned(), check_schema(tool.pins.get(field)?).err()?));
        if let Some((field, why)) = schemas.find_map(bad) {
            left_out.push((tool.name.clone(), format!("its `{field}` cannot be used: {why}")));
            continue;
        }
        let text = launch.text(import, tool);
        if !reads_the_same(&text, tool) {
            let why = "what it says of itself cannot be written as an item";
            left_out.push((tool.name.clone(), why.into()));
            continue;
        }
        // They are the same for each item, and lie there once.
        let files = if items.is_empty() { launch.files.clone() } else { BTreeMap::new() };
        let item = Ref::new(Kind::Tool, id);
        items.push(ItemDraft { files, ..ItemDraft::new(item, "yaml", text) });
    }
    if items.is_empty() {
        faults.extend(left_out.iter().map(|(name, why)| fault(IMPORT_VALUE, name, why)));
    }
    remarks.extend(left_out.iter().map(|(name, why)| {
        format!("the server's tool `{}` is left out: {}", brief_line(name), brief_line(why))
    }));
    if items.is_empty() && faults.is_empty() {
        remarks.push("it offers no tool now".into());
    }
    if !faults.is_empty() {
        items.clear();
    }
    Ok(Drafts { items, remarks, faults })
}

/// The sandbox that an item declares.
struct Sandbox {
    net: DeclaredNet,
    /// Beside what every program may read, and the project.
    reads: Vec<String>,
    writes: Vec<String>,
}

/// How the server is reached, now and by the items.
struct Launch {
    at: McpAddress,
    secrets: Vec<(String, String)>,
    env: Vec<(String, String)>,
    /// The `config` of the items, but for `mcp`.
    config: Map<String, Value>,
    files: BTreeMap<RelPath, CopiedFile>,
    /// They, laid out as a call does it: what starts from there starts from the items.
    copies: Option<PrivateDir>,
    /// The file that is started, where it is one of them.
    program: Option<String>,
    /// The access that the items' sandbox lets through; none for a server elsewhere.
    sandbox: Option<Sandbox>,
    /// How exactly the items say which code runs: `pinned`, `version` or `external`.
    integrity: &'static str,
    remarks: Vec<String>,
}

impl Launch {
    fn new(import: &McpImport<'_>, rye: &Rye) -> Result<Self, Failure> {
        let vars = &rye.located().vars;
        let mut secrets = Vec::new();
        for name in import.secrets {
            let known = import.known.iter().find(|(known, _)| known == name);
            let known = known.map(|(_, value)| value.as_str());
            let Some(value) = vars.text(name).or(known) else {
                let why = format!("`{name}` is not set in your environment");
                return Err(refused(import, rye, &why));
            };
            if import.words.iter().any(|word| is_in(word, value)) {
                let why =
                    format!("its command line holds the value of `{name}`, and so would the items");
                return Err(refused(import, rye, &why));
            }
            secrets.push((name.clone(), value.to_owned()));
        }
        let is_url = |word: &String| word.starts_with("http://") || word.starts_with("https://");
        let is_secret = |(name, value): &&(String, String)| {
            import.secrets.contains(name) || secrets.iter().any(|(_, secret)| is_in(value, secret))
        };
        if let Some((name, _)) = import.env.iter().find(is_secret) {
            let why = format!("`{name}` is given as a plain variable, and holds a secret");
            return Err(refused(import, rye, &why));
        }
        match import.words {
            [url] if is_url(url) && !import.env.is_empty() => {
                Err(refused(import, rye, "a server behind a URL gets no variables"))
            }
            [url] if is_url(url) => Self::url(import, rye, url, secrets),
            _ => Self::command(import, rye, secrets),
        }
    }

    fn url(
        import: &McpImport<'_>,
        rye: &Rye,
        url: &str,
        secrets: Vec<(String, String)>,
    ) -> Result<Self, Failure> {
        let address =
            Address::parse(url).map_err(|why| refused(import, rye, &format!("the URL {why}")))?;
        if !address.is_https() && !address.is_loopback() {
            let why = "it is not encrypted: a server of another machine is reached by `https`";
            return Err(refused(import, rye, why));
        }
        let mut config = Map::new();
        config.insert("url".into(), url.into());
        let mut headers = Vec::new();
        match secrets.as_slice() {
            [] => {}
            [(name, value)] => {
                let auth =
                    [("type".to_owned(), "bearer".into()), ("secret".into(), name.as_str().into())];
                config.insert("auth".into(), Value::Object(auth.into_iter().collect()));
                headers.push(("authorization".to_owned(), format!("Bearer {value}")));
            }
            _ => return Err(refused(import, rye, "one secret can be its bearer token")),
        }
        let remarks = vec![EXTERNAL_URL.to_owned()];
        Ok(Self {
            at: McpAddress::Url(Remote { address, headers }),
            secrets,
            env: Vec::new(),
            config,
            files: BTreeMap::new(),
            copies: None,
            program: None,
            sandbox: None,
            integrity: "external",
            remarks,
        })
    }

    fn command(
        import: &McpImport<'_>,
        rye: &Rye,
        secrets: Vec<(String, String)>,
    ) -> Result<Self, Failure> {
        let [command, args @ ..] = import.words else {
            return Err(refused(import, rye, "no command was given"));
        };
        let below = format!("{}.files", import.category.name());
        let mut taking = Taking::here(rye.located().cwd.clone(), below)?;
        let mut program = None;
        let is_local = command.contains('/') && !command.starts_with('/');
        let written = match is_local {
            true => {
                let taken = taking.take(command)?;
                let path = taken.ok_or_else(|| {
                    refused(
                        import,
                        rye,
                        &format!("`{}` is not a file that can be copied", escape_line(command)),
                    )
                })?;
                program = Some(path.clone());
                format!("{{tool_dir}}/{path}")
            }
            false => command.clone(),
        };
        let script = script_at(command, args);
        let written_args = written_args(import, rye, (command, args), &mut taking)?;
        let copy = |at: usize| !written_args[at].is_data && written_args[at].text != args[at];
        let is_copied = program.is_some() || script.is_some_and(copy);
        for named in import.files {
            taking.take_beside(named)?.map_err(|why| refused(import, rye, &why))?;
        }
        let integrity = match names_exact_code(command, args) {
            Some(Exact::Digest) => "pinned",
            _ if is_copied => "pinned",
            Some(Exact::Version) => "version",
            None => "external",
        };
        match integrity {
            "version" => taking.remarks.push(VERSION.into()),
            "external" => taking.remarks.push(EXTERNAL.into()),
            _ => {}
        }
        let mut config = Map::new();
        let copies = laid_out(&taking.files, rye).map_err(|why| refused(import, rye, &why))?;
        // What is data is named from this folder now, and from the project by the items.
        let here = written_args.iter().zip(args).map(|(written, word)| match written.is_data {
            true => word.clone(),
            false => written.text.clone(),
        });
        let here: Vec<String> = here.collect();
        let started = started(import.words, &written, &here, copies.as_ref());
        config.insert("command".into(), written.into());
        let as_written = written_args.into_iter().map(|it| match it.is_data {
            true => json!({"data": it.text}),
            false => it.text.into(),
        });
        config.insert("args".into(), as_written.collect());
        let fetches = FETCH.iter().find(|(name, _)| command.rsplit('/').next() == Some(*name));
        let by_default = if fetches.is_some() { Net::Any } else { Net::None };
        let net = import.net.cloned().unwrap_or_else(|| by_default.into());
        let home = rye.located().vars.text("HOME").unwrap_or("/").trim_end_matches('/').to_owned();
        let kept = fetches.into_iter().flat_map(|(_, kept)| *kept);
        // Another person who runs the items has a home of their own.
        let is_user_space =
            rye.spaces().user().is_ok_and(|root| root.base() == Path::new(home.as_str()));
        let below = if is_user_space { "{user_space}" } else { home.as_str() };
        let mut writes: Vec<String> = kept.map(|path| format!("{below}/{path}")).collect();
        let parts = |path: &str| path.split('/').any(|part| part == ".git" || part == ".ai");
        if let Some(path) = import.writes.iter().find(|path| parts(path)) {
            let why = format!(
                "`--write {}` cannot be granted, as no tool may write there; a server that commits \
                 has `git: write` below `sandbox` in its items",
                escape_line(path)
            );
            return Err(refused(import, rye, &why));
        }
        writes.extend(import.writes.iter().map(|path| from_here(path, rye)));
        let spawn = spawn(import, rye, &started, &secrets)?;
        let mut reads = read_by_script(rye, &spawn.program, Path::new(&home));
        // A script that stays where it is, and what it loads from there.
        let script = script.map(|at| args[at].as_str()).filter(|_| !is_copied);
        reads.extend(script.and_then(|script| package_of(Path::new(script), Path::new(&home))));
        Ok(Self {
            at: McpAddress::Program(Box::new(spawn)),
            secrets,
            env: import.env.to_vec(),
            config,
            files: taking.files,
            copies,
            program,
            sandbox: Some(Sandbox { net, reads, writes }),
            integrity,
            remarks: taking.remarks,
        })
    }

    /// The item of a tool.
    fn text(&self, import: &McpImport<'_>, tool: &McpTool) -> String {
        let mut out = format!("version: \"1.0.0\"\ntool_type: tool\nexecutor_id: {MCP_TOOL}\n");
        let _ = writeln!(out, "category: {}", scalar(import.category.as_str()));
        let said = tool.pins.get("description").and_then(Value::as_str);
        let said = said.filter(|said| !said.trim().is_empty());
        let own = format!("The tool `{}` of an MCP server.", tool.name);
        entry(&mut out, 0, "description", &Value::from(said.unwrap_or(&own)));
        let _ = writeln!(out, "integrity: {}", self.integrity);
        if !self.secrets.is_empty() {
            let names = self.secrets.iter().map(|(name, _)| name.clone());
            let _ = writeln!(out, "secrets: {}", list(names));
        }
        if !self.env.is_empty() {
            let env = self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
            entry(&mut out, 0, "env_config", &json!({"env": env.collect::<Map<_, _>>()}));
        }
        if let Some(schema) = tool.pins.get("input_schema") {
            entry(&mut out, 0, "input_schema", schema);
        }
        let mut config = self.config.clone();
        let mut block = Map::new();
        block.insert("tool".into(), tool.name.as_str().into());
        for field in PINNED {
            block.extend(tool.pins.get(field).map(|value| (field.to_owned(), value.clone())));
        }
        config.insert("mcp".into(), block.into());
        entry(&mut out, 0, "config", &config.into());
        if let Some(Sandbox { net, reads, writes }) = &self.sandbox {
            out.push_str("sandbox:\n");
            entry(&mut out, 2, "net", &net.to_json());
            if !(reads.is_empty() && writes.is_empty()) {
                out.push_str("  fs:\n");
            }
            if !reads.is_empty() {
                let all = ["{project_path}".to_owned()].into_iter().chain(reads.iter().cloned());
                let _ = writeln!(out, "    read: {}", list(all));
            }
            if !writes.is_empty() {
                let _ = writeln!(out, "    write: {}", list(writes.iter().cloned()));
            }
        }
        if self.files.is_empty() {
            return out;
        }
        if let Some(program) = &self.program {
            let _ = writeln!(out, "exec_files: {}", list([program.clone()].into_iter()));
        }
        let _ = writeln!(out, "files: {}", list(self.files.keys().map(ToString::to_string)));
        let digests: BTreeMap<RelPath, Digest> =
            self.files.iter().map(|(path, it)| (path.clone(), Digest::of(&it.bytes))).collect();
        let style = HeaderStyle::Yaml;
        let filled =
            listed_files(&out, &style).map(|listed| write_files(&out, &style, &listed, &digests));
        // What cannot be filled does not parse; signing says why.
        filled.and_then(Result::ok).unwrap_or(out)
    }
}

const VERSION: &str = "integrity: version. The command line names an exact version and no digest: the registry \
    says what that is, and what it depends on itself is open";
const EXTERNAL: &str = "integrity: external. The command line names no exact version, no digest and no \
    copied file that is what runs, so other code may run tomorrow; what the tools say of themselves is pinned all the same";
const EXTERNAL_URL: &str = "integrity: external. The server is not on this machine; what its tools say of \
    themselves is pinned, and not what they do";

/// The server as the person's own command line starts it: in this folder, with what every tool gets
/// of the environment.
fn spawn(
    import: &McpImport<'_>,
    rye: &Rye,
    words: &[String],
    secrets: &[(String, String)],
) -> Result<Spawn, Failure> {
    let (vars, cwd) = (&rye.located().vars, rye.located().cwd.clone());
    let command = &words[0];
    let ground = rye.spaces().ground();
    let is_program = |place: &PathBuf| rye.host().look(place).is_some_and(|look| look.is_program);
    let program = match command.contains('/') {
        true => Some(cwd.join(command)).filter(is_program),
        false => ground.find_program(vars, command),
    };
    let program = program.ok_or_else(|| {
        refused(import, rye, &format!("there is no program `{}`", escape_line(command)))
    })?;
    let is_wanted = |name: &&str| HOST_NAMES.contains(name) || name.starts_with("LC_");
    let host = vars.names().filter(is_wanted);
    let host = host.filter_map(|name| Some((name.to_owned(), vars.text(name)?.into())));
    let path =
        std::env::join_paths(ground.own_path(vars)).expect("a folder of `PATH` holds no colon");
    let host = host.chain([("PATH".to_owned(), path)]);
    let given = secrets.iter().chain(import.env);
    let given = given.map(|(name, value)| (name.clone(), value.into()));
    // A rye that it starts is below a run, and asks the person at a terminal.
    let below = [(RUN_VAR.to_owned(), "run-import".into())];
    let time = Duration::from_millis(MCP_IMPORT_MS);
    Ok(Spawn {
        args: words[1..].iter().map(OsString::from).collect(),
        env: host.chain(given).chain(below).collect(),
        ..Spawn::new(&program, &cwd, OUTPUT_BYTES, time)
    })
}

/// Where the interpreter of a script lies that is no program of the system, with what it loads from
/// there: a sandbox shows a program its own folder, and a script's first line leads elsewhere, as
/// in a virtual environment.
fn read_by_script(rye: &Rye, script: &Path, home: &Path) -> Vec<String> {
    let bytes = rye.host().read(script, SMALL_TEXT_BYTES).unwrap_or_default();
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(first).ok().and_then(|line| line.strip_prefix("#!"));
    let Some(named) = line.and_then(|line| line.split_whitespace().next()) else {
        return Vec::new();
    };
    let Some(look) = rye.host().look(Path::new(named)) else { return Vec::new() };
    let is_system =
        |place: &Path| ["/usr", "/bin", "/opt", "/nix"].iter().any(|s| place.starts_with(s));
    let mut found = BTreeSet::new();
    for place in look.places().filter(|place| !is_system(place)) {
        let Some(folder) = place.parent() else { continue };
        let above = folder.parent().filter(|_| folder.ends_with("bin"));
        let above = above.filter(|above| above.parent().is_some() && *above != home);
        found.insert(above.unwrap_or(folder).display().to_string());
    }
    found.into_iter().collect()
}

fn refused(import: &McpImport<'_>, rye: &Rye, why: &str) -> Failure {
    let (server, stderr_tail) = (shown(&import.words.join(" "), import, rye), String::new());
    let fault = McpFault::ServerFailed { why: shown(why, import, rye) };
    ImportError::Server { server, fault, stderr_tail, is_copy: false }.into()
}

/// Words of another client's file, or about them, in which no value of a secret shows: neither of
/// one that the server gets nor of one that stands in that file.
fn shown(text: &str, import: &McpImport<'_>, rye: &Rye) -> String {
    let known = import.known.iter().map(|(_, value)| value.as_str());
    let given = import.secrets.iter().filter_map(|name| rye.located().vars.text(name));
    masked(text, known.chain(given))
}

/// A name that an item may have: what may not stand in one becomes `_`.
pub(super) fn item_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

fn fault(code: Code, tool: &str, why: &str) -> Diagnostic {
    Diagnostic {
        code,
        message: format!(
            "the server's tool `{}` is not imported: {}",
            brief_line(tool),
            brief_line(why)
        ),
        help: Some("nothing of this server was imported; tell its makers".into()),
        place: None,
        item: None,
        data: Map::new(),
    }
}

/// Every text that a tool says of itself, by field.
fn said(tool: &McpTool) -> Vec<(&str, Vec<&str>)> {
    let mut fields = vec![("name", vec![tool.name.as_str()])];
    for (field, value) in &tool.pins {
        let mut texts = Vec::new();
        all_texts(value, &mut texts);
        fields.push((field, texts));
    }
    fields
}

fn is_in(text: &str, secret: &str) -> bool {
    let secret = secret.trim();
    secret.len() >= SECRET_BYTES && text.contains(secret)
}

/// A text in which the values of secrets do not show.
pub(crate) fn masked<'v>(text: &str, secrets: impl Iterator<Item = &'v str>) -> String {
    let hide = |text: String, secret: &str| match is_in(&text, secret) {
        true => text.replace(secret.trim(), "***"),
        false => text,
    };
    secrets.fold(text.to_owned(), hide)
}

/// A secret of the server that would stand in its item, for everybody who reads the project.
fn tells_a_secret(tool: &McpTool, secrets: &[(String, String)]) -> Option<Diagnostic> {
    for (field, texts) in said(tool) {
        let is_told = |(_, value): &&(String, String)| texts.iter().any(|text| is_in(text, value));
        if let Some((secret, _)) = secrets.iter().find(is_told) {
            let name = if field == "name" { "***" } else { &tool.name };
            let why = format!("its `{field}` holds the value of `{}`", escape_line(secret));
            return Some(fault(IMPORT_VALUE, name, &why));
        }
    }
    None
}

/// The fault of a tool with invisible characters in any of its fields: a person could not judge it.
fn hidden(tool: &McpTool) -> Option<Diagnostic> {
    for (field, texts) in said(tool) {
        let Some(found) = texts.into_iter().find_map(unfit) else { continue };
        let code = if found.invisible { PARSE_INVISIBLE_TEXT } else { PARSE_CONTROL_TEXT };
        let why = format!("its `{field}` holds the character U+{:04X}", u32::from(found.char));
        return Some(fault(code, &tool.name, &why));
    }
    None
}

/// Every text of a value, names of keys too.
fn all_texts<'v>(value: &'v Value, into: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(list) => list.iter().for_each(|value| all_texts(value, into)),
        Value::Object(map) => {
            for (key, value) in map {
                into.push(key);
                all_texts(value, into);
            }
        }
        _ => {}
    }
}

/// Returns true if the item pins the server's words, to the letter and the digit.
fn reads_the_same(text: &str, tool: &McpTool) -> bool {
    let Ok(read) = yaml(text) else { return false };
    let block = read.pointer("/config/mcp");
    let at = |field: &str| match field {
        "input_schema" => read.get(field),
        _ => block.and_then(|block| block.get(field)),
    };
    let is_same = |field: &str| at(field) == tool.pins.get(field);
    PINNED.into_iter().chain(["input_schema"]).all(is_same)
        && at("tool").and_then(Value::as_str) == Some(tool.name.as_str())
}
