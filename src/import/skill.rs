//! A skill of the Agent Skills format as a directive, and back.
//!
//! The front matter goes into the directive's metadata and, to the byte, into a block of YAML above
//! it; the text goes into its body as it is. Files go beside a tool of the same name, which lists
//! each by its name and gives out just these: what an agent reads or runs of a skill is what was
//! signed.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::doc::{Doc, Spot};
use super::draft::{Drafts, ItemDraft};
use super::error::{IMPORT_FILE, IMPORT_MISSING, IMPORT_NAME, IMPORT_VALUE, ImportError};
use super::files::{CopiedFile, is_hidden};
use super::signed_folder::{FolderSignature, SignedFolder, WantedSignature, check_folder};
use super::skill_tool::{giver, signed_line};
use super::yaml::entry;
use crate::base::bytes::write_new;
use crate::base::limits::{PARTS, PARTS_BYTES, PATTERNS};
use crate::base::text::{escape_line, unfit};
use crate::diagnostic::{Code, Failure, Place};
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::oms::OmsSigner;
use crate::parse::{
    Directive, Item, MADE_OF_SKILL, SIGNED_BEFORE, is_snake_case, metadata_range, yaml,
};
use crate::rye::Rye;
use crate::space::{Glob, RelPath, Root};

/// The file that makes a folder a skill.
const SKILL: &str = "SKILL.md";
/// The keys of its front matter.
const KEYS: [&str; 6] =
    ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1024;
const COMPATIBILITY_CHARS: usize = 500;

/// Tells whether a breach of the format's rules is refused, or taken with a remark.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkillRules {
    Strict,
    Lenient,
}

/// The content of front matter.
#[derive(Debug, Default, PartialEq)]
struct Front {
    name: String,
    description: String,
    /// The other keys, in the order of [`KEYS`].
    rest: Map<String, Value>,
}

impl Front {
    fn read(
        doc: &Doc<'_>,
        value: &Value,
        folder: &str,
        rules: SkillRules,
        remarks: &mut Vec<String>,
    ) -> Option<Self> {
        let fields = Spot::top(doc).map(value)?;
        let unknown = fields.entries().filter(|(key, _)| !KEYS.contains(&key.as_str()));
        remarks.extend(unknown.map(|(key, _)| {
            format!(
                "`{}` is not a key of the format; it is kept, and does nothing here",
                fields.at(key)
            )
        }));
        let mut breaks = |spot: Spot<'_>, code: Code, why: &str| match rules {
            SkillRules::Strict => spot.fault(code, why),
            SkillRules::Lenient => remarks.push(format!("`{spot}` {why}; it is kept")),
        };
        let mut rest = Map::new();
        for key in ["license", "compatibility"] {
            rest.extend(fields.readable(key).map(|text| (key.to_owned(), text.into())));
        }
        if let Some(entries) = fields.map("metadata") {
            let texts = entries
                .entries()
                .filter_map(|(key, _)| Some((key.clone(), Value::from(entries.readable(key)?))));
            rest.insert("metadata".into(), Value::Object(texts.collect()));
        }
        let tools = match fields.get("allowed-tools") {
            Some(Value::Array(_)) => {
                let tools = fields.strings("allowed-tools").into_iter().map(|(_, tool)| tool);
                Some(tools.collect::<Vec<_>>().join(" "))
            }
            _ => fields.readable("allowed-tools"),
        };
        rest.extend(tools.map(|tools| ("allowed-tools".to_owned(), tools.into())));
        for (key, most) in
            [("description", DESCRIPTION_CHARS), ("compatibility", COMPATIBILITY_CHARS)]
        {
            let text = fields.get(key).and_then(Value::as_str);
            if text.is_some_and(|text| text.chars().count() > most) {
                breaks(fields.at(key), IMPORT_VALUE, &format!("is longer than {most} characters"));
            }
        }
        let mut name = fields.needed("name")?;
        match check_name(&name) {
            // What it is called then is what its folder is called.
            Err(why) if rules == SkillRules::Lenient && check_name(folder).is_ok() => {
                breaks(fields.at("name"), IMPORT_NAME, &why);
                folder.clone_into(&mut name);
            }
            Err(why) => fields.at("name").fault(IMPORT_NAME, &why),
            Ok(()) if name != folder => {
                let why = format!("is not the folder's, which is `{}`", escape_line(folder));
                breaks(fields.at("name"), IMPORT_NAME, &why);
            }
            Ok(()) => {}
        }
        fields.needed("description")?;
        let description = fields.readable("description")?;
        Some(Self { name, description, rest })
    }

    fn to_yaml(&self) -> String {
        let mut out = String::new();
        entry(&mut out, 0, "name", &self.name.as_str().into());
        entry(&mut out, 0, "description", &self.description.as_str().into());
        self.rest.iter().for_each(|(key, value)| entry(&mut out, 0, key, value));
        out
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        self.rest.get("metadata")?.get(key)?.as_str()
    }
}

/// The rules for names: small letters, digits and single hyphens between them.
fn check_name(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let parted = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    match () {
        () if name.is_empty() || name.len() > NAME_CHARS => {
            Err(format!("is not of 1 to {NAME_CHARS} characters"))
        }
        () if !plain => Err("holds more than small letters, digits and `-`".into()),
        () if parted => Err("begins or ends with `-`, or has two of them together".into()),
        // A directive is named like a word of a program.
        () if !is_snake_case(&name.replace('-', "_")) => {
            Err("cannot be a directive's name, which begins with a letter".into())
        }
        () => Ok(()),
    }
}

/// The drafts of a skill's folder: a directive, and a tool that gives out its files if it has any.
/// Where the folder has a signature of others, that is checked first, and the drafts are made of
/// just the bytes that it covers.
///
/// # Errors
/// `import.nothing` for a folder that is not there or has no `SKILL.md`; `oms.*`; `space.*`
pub(crate) fn skill(
    folder: &Path,
    category: &ItemId,
    rules: SkillRules,
    wanted: &WantedSignature,
) -> Result<Drafts, Failure> {
    let folder = match folder.file_name() {
        Some(name) if name == SKILL => folder.parent().unwrap_or(folder),
        _ => folder,
    };
    let nothing = || ImportError::Nothing {
        path: folder.display().to_string(),
        left_out: Vec::new(),
        is_reserved: false,
    };
    let real = folder
        .canonicalize()
        .map_err(|_| ImportError::NoFolder { path: folder.display().to_string() })?;
    let root = Root::on_disk(Space::Project, real.clone())?;
    let files = root.base_folder()?.ok_or_else(nothing)?;
    let Ok(name) = SKILL.parse::<RelPath>() else { return Err(nothing().into()) };
    let (mut items, mut remarks) = (Vec::new(), Vec::new());
    let (signed, passed_over) = match check_folder((&root, &files), wanted)? {
        FolderSignature::Good(signed) => (Some(*signed), None),
        FolderSignature::None { passed_over } => (None, passed_over),
    };
    let bytes = match &signed {
        Some(signed) => signed.files.get(SKILL).ok_or_else(nothing)?.bytes.clone().into(),
        None => files.read(&name)?.ok_or_else(nothing)?,
    };
    let had_returns = bytes.contains(&b'\r');
    let text = std::str::from_utf8(&bytes).map(|text| text.replace("\r\n", "\n"));
    let (mark, text) = match text {
        Ok(text) => match text.strip_prefix('\u{feff}') {
            Some(rest) => (true, Ok(rest.to_owned())),
            None => (false, Ok(text)),
        },
        error => (false, error),
    };
    let is_text = text.is_ok();
    let text = text.unwrap_or_default();
    let shown = folder.join(SKILL).display().to_string();
    // Places are those of the whole file.
    let (front, body) = split(&text).unwrap_or(("", ""));
    let doc = Doc::new(&shown, front);
    if !is_text {
        Spot::top(&doc).fault(IMPORT_VALUE, "is not UTF-8");
    } else if front.is_empty() {
        Spot::top(&doc).fault(IMPORT_MISSING, "has no front matter between two lines of `---`");
    } else if let Some(value) = doc.yaml() {
        let own = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if mark {
            remarks.push("it begins with a byte order mark, which is left out".into());
        }
        if had_returns {
            remarks.push("its lines end in a carriage return, which is left out".into());
        }
        let head = front.strip_prefix("---\n").unwrap_or(front);
        let front = Front::read(&doc, &value, &own, rules, &mut remarks);
        let by = signed.as_ref().map(|signed| signed.by.clone());
        let taken = match signed {
            Some(signed) => from_signed(signed, &doc, &mut remarks),
            None => from_folder((&root, &files), passed_over.as_deref(), &doc, &mut remarks),
        };
        let programs = taken.values().filter(|file| file.is_program).count();
        if programs > PATTERNS {
            let why =
                format!("stands beside more than {PATTERNS} programs, which no tool can list");
            Spot::top(&doc).fault(IMPORT_FILE, &why);
        }
        if let Some(front) = front {
            if body.contains("{input:") {
                remarks.push("it holds `{input:`, which a directive fills in".into());
            }
            items = drafts(&front, (head, body), category, taken, by.as_ref())?;
        }
    }
    let faults = doc.into_faults();
    if !faults.is_empty() {
        items.clear();
    }
    Ok(Drafts { items, remarks, faults })
}

/// The files beside `SKILL.md`, read from the folder.
fn from_folder(
    (root, files): (&Root, &crate::space::Folder<'_>),
    passed_over: Option<&str>,
    doc: &Doc<'_>,
    remarks: &mut Vec<String>,
) -> BTreeMap<RelPath, CopiedFile> {
    let (mut taken, mut bytes) = (BTreeMap::new(), 0);
    let too_many = || {
        let most = PARTS_BYTES >> 20;
        let why = format!("stands beside more than {PARTS} files, or {most} MiB of them");
        Spot::top(doc).fault(IMPORT_FILE, &why);
    };
    let walked = files.walk("", &|path| !is_hidden(path));
    if walked.is_none() {
        too_many();
    }
    for file in walked.unwrap_or_default() {
        let shown = escape_line(&file.path);
        if is_hidden(&file.path) {
            remarks.push(format!("`{shown}` is hidden, and not copied"));
        } else if passed_over == Some(file.path.as_str()) {
            remarks
                .push(format!("the signature `{shown}` is not checked: nobody vouches for this"));
        } else if file.path != SKILL {
            match take(root, files, &file.path) {
                Ok(file) => {
                    bytes += file.bytes.len();
                    taken.insert(file.path.clone(), file);
                }
                Err(why) => Spot::top(doc)
                    .fault(IMPORT_FILE, &format!("stands beside `{shown}`, which {why}")),
            }
            if bytes > PARTS_BYTES || taken.len() > PARTS {
                too_many();
                break;
            }
        }
    }
    taken
}

/// The files beside `SKILL.md`, as they were read when the signature was checked.
fn from_signed(
    signed: SignedFolder,
    doc: &Doc<'_>,
    remarks: &mut Vec<String>,
) -> BTreeMap<RelPath, CopiedFile> {
    remarks.extend(signed.remarks);
    let mut taken = BTreeMap::new();
    for (path, file) in signed.files {
        let shown = escape_line(&path);
        if path == SKILL {
            continue;
        }
        if is_hidden(&path) {
            remarks.push(format!("`{shown}` is signed, and hidden: it is not copied"));
        } else if is_unfit_name(&path) {
            let why = format!("stands beside `{shown}`, which {UNFIT_NAME}");
            Spot::top(doc).fault(IMPORT_FILE, &why);
        } else {
            taken.insert(file.path.clone(), file);
        }
    }
    taken
}

/// The front matter with its first line, and what stands behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n")?;
    let end = match rest.find("\n---\n") {
        Some(end) => end + 1,
        None => rest.strip_suffix("\n---")?.len() + 1,
    };
    let front = &text[..4 + end];
    let behind = text[4 + end..].strip_prefix("---")?;
    Some((front, behind.strip_prefix('\n').unwrap_or(behind)))
}

const UNFIT_NAME: &str = "has a name that would be read as a pattern, or not be seen";

fn is_unfit_name(path: &str) -> bool {
    Glob::is_one(path) || unfit(path).is_some()
}

fn take(root: &Root, files: &crate::space::Folder<'_>, path: &str) -> Result<CopiedFile, String> {
    let relative: RelPath = path.parse().map_err(str::to_owned)?;
    if is_unfit_name(path) {
        return Err(UNFIT_NAME.into());
    }
    let bytes = files.read_part(&relative).map_err(|error| {
        let why = error.to_string();
        why.strip_prefix(&format!("`{}` ", escape_line(path))).unwrap_or(&why).to_owned()
    })?;
    let bytes = bytes.ok_or("cannot be read")?.into_owned();
    let mode = root.base().join(path).symlink_metadata().map(|stat| stat.permissions().mode());
    Ok(CopiedFile { path: relative, bytes, is_program: mode.is_ok_and(|mode| mode & 0o111 != 0) })
}

fn drafts(
    front: &Front,
    (head, body): (&str, &str),
    category: &ItemId,
    files: BTreeMap<RelPath, CopiedFile>,
    by: Option<&OmsSigner>,
) -> Result<Vec<ItemDraft>, Failure> {
    let name = front.name.replace('-', "_");
    let id: ItemId = format!("{category}/{name}").parse()?;
    let version = front.metadata("version").filter(|text| semver::Version::parse(text).is_ok());
    let author = front.metadata("author").unwrap_or("imported");
    let giver_id: ItemId = format!("{id}{GIVER}").parse()?;
    let note = if files.is_empty() { String::new() } else { note(&giver_id) };
    let signed = by.map(|by| signed_line(by) + "\n\n").unwrap_or_default();
    // The block ends where there are more backticks than in it.
    let fence = "`".repeat(longest_run(head, '`').max(2) + 1);
    let text = format!(
        "# {}\n\n{MADE_OF_SKILL}\n\n{signed}{fence}yaml\n{head}{fence}\n\n\
         ```xml\n<directive name=\"{name}\" version=\"{}\">\n  <metadata>\n    \
         <description>{}</description>\n    <category>{category}</category>\n    \
         <author>{}</author>\n  </metadata>\n</directive>\n```\n\n{note}{body}",
        front.name,
        version.unwrap_or("1.0.0"),
        xml(&front.description),
        xml(author),
    );
    let mut directive = ItemDraft::new(Ref::new(Kind::Directive, id.clone()), "md", text);
    if let Some(tools) = front.rest.get("allowed-tools").and_then(Value::as_str) {
        let tools = escape_line(tools);
        directive.notes.push(format!("`allowed-tools: {tools}` is kept, and allows nothing here"));
    }
    let mut all = Vec::new();
    match files.is_empty() {
        true => directive.tool_of_older = Some(Ref::new(Kind::Tool, giver_id)),
        false => all.push(giver(&front.name, giver_id, files, by)),
    }
    all.push(directive);
    if let Some(by) = by {
        for draft in &mut all {
            draft.notes.insert(0, format!("signed by {}", by.line()));
            draft.about.insert("signed_by".into(), by.to_json());
        }
    }
    Ok(all)
}

/// The suffix of the tool's name, so that the tool and the directive have different names.
const GIVER: &str = "_skill";

/// The beginning of the body, if there are files.
fn note(id: &ItemId) -> String {
    format!(
        "> The files of this skill are covered by the signature of `tool:{id}`, which gives them out: \
         `rye execute tool:{id} -i file=PATH` prints one, `-i to=FOLDER` puts all of them into a folder \
         of the project.\n\n"
    )
}

/// How many of a character stand together at most.
fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or_default()
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A skill, ready to be written.
#[derive(Debug)]
pub(crate) struct Skill {
    pub(crate) name: String,
    /// By path; whether it is a program.
    pub(crate) files: BTreeMap<String, (Vec<u8>, bool)>,
}

/// The skill that a directive is, with the files that the tool of its name gives out. Both are
/// verified.
///
/// # Errors
/// `import.not_a_skill` for a directive that the format cannot hold; those of verifying.
pub(crate) fn export(rye: &Rye, query: &Query) -> Result<Skill, Failure> {
    let query = Query { kind: Some(Kind::Directive), ..query.clone() };
    let described = rye.items().describe(&query)?;
    let item = described.detail.item.clone();
    let not = |why: String| Failure::from(ImportError::NotASkill { item: item.clone(), why });
    let Item::Directive(directive) = described.item else {
        return Err(not("it is not a directive".into()));
    };
    let last = item.id.as_str().rsplit('/').next().unwrap_or_default();
    let name = last.replace('_', "-");
    check_name(&name).map_err(|why| not(format!("its name {why}")))?;
    if !directive.inputs.is_empty() {
        return Err(not("it has inputs, and a skill has none".into()));
    }
    // Those that were imported before share their name with the tool.
    let ids = [format!("{}{GIVER}", item.id).parse()?, item.id.clone()];
    let giver = ids.iter().find(|id| directive.body.contains(note(id).trim_end()));
    let note = note(giver.unwrap_or(&item.id));
    let (text, has_files) = match to_the_byte(&directive, &described.content, &note) {
        Some(kept) => kept,
        None => made(&directive, &name, &note).map_err(not)?,
    };
    let mut files = BTreeMap::from([(SKILL.to_owned(), (text.into_bytes(), false))]);
    if let (true, Some(giver)) = (has_files, giver) {
        // The one beside it, and not a nearer one.
        let (space, bundle) = (Some(described.detail.space), query.bundle);
        let tool = Query { space, bundle, ..Ref::new(Kind::Tool, giver.clone()).into() };
        let covered = rye.items().signed_files(rye.signing().find(&tool, None)?)?;
        let below = format!(".ai/tools/{giver}.files/");
        for file in covered {
            if let Some(path) = file.path.strip_prefix(&below) {
                files.insert(path.to_owned(), (file.bytes, file.is_program));
            }
        }
    }
    Ok(Skill { name, files })
}

/// `SKILL.md` as it was imported, and whether files belong to it; `None` for a directive that was
/// made otherwise, or describes itself otherwise since.
fn to_the_byte(directive: &Directive, text: &str, note: &str) -> Option<(String, bool)> {
    let block = directive.preamble.strip_prefix(MADE_OF_SKILL)?.trim_start_matches('\n');
    let block = match block.strip_prefix(SIGNED_BEFORE) {
        Some(signed) => signed.split_once('\n')?.1.trim_start_matches('\n'),
        None => block,
    };
    let fence = &block[..block.find("yaml\n").filter(|at| *at >= 3)?];
    let head = block.strip_prefix(fence)?.strip_prefix("yaml\n")?.strip_suffix(fence)?;
    let Ok(Value::Object(front)) = yaml(head) else { return None };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let said = front.get("description").and_then(Value::as_str).map(words);
    if said != directive.description.as_deref().map(words) {
        return None;
    }
    let behind = &text[metadata_range(text).ok()?.end..];
    let behind = behind.split_once("```\n")?.1.strip_prefix('\n')?;
    let (body, has_files) = match behind.strip_prefix(note) {
        Some(body) => (body, true),
        None => (behind, false),
    };
    Some((format!("---\n{head}---\n{body}"), has_files))
}

/// `SKILL.md` of a directive as the format can hold it, and whether files belong to it.
///
/// # Errors
/// Why it cannot.
fn made(directive: &Directive, name: &str, note: &str) -> Result<(String, bool), String> {
    let mut front = Front {
        name: name.to_owned(),
        description: directive.description.clone().unwrap_or_default(),
        rest: kept(&directive.preamble, name).unwrap_or_default(),
    };
    if front.rest.is_empty() {
        let said = [("author", &directive.author), ("version", &directive.version)];
        let said = said.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)));
        // A default that an import writes is not worth passing on.
        let said = said.filter(|(_, text)| !matches!(*text, "imported" | "1.0.0"));
        let said: Map<String, Value> =
            said.map(|(key, text)| (key.to_owned(), text.into())).collect();
        if !said.is_empty() {
            front.rest.insert("metadata".into(), Value::Object(said));
        }
    }
    let characters = front.description.chars().count();
    if characters == 0 || characters > DESCRIPTION_CHARS {
        return Err(format!("its description is not of 1 to {DESCRIPTION_CHARS} characters"));
    }
    let (body, has_files) = match directive.body.strip_prefix(note.trim_end()) {
        Some(body) => (body.trim_start_matches('\n'), true),
        None => (directive.body.as_str(), false),
    };
    let text = format!("---\n{}---\n\n{body}", front.to_yaml());
    let text = if text.ends_with('\n') { text } else { format!("{text}\n") };
    Ok((text, has_files))
}

/// Writes a skill into a folder of its name, which there must not be yet; there is all of it or
/// nothing.
///
/// # Errors
/// `import.exists`, `import.io`
pub(crate) fn hand_out(skill: &Skill, to: &Path) -> Result<PathBuf, Failure> {
    let folder = to.join(&skill.name);
    let place = Place { path: folder.display().to_string(), ..Place::default() };
    let io = |source: io::Error| ImportError::Io { place: place.clone(), source };
    let whole = || -> io::Result<bool> {
        std::fs::create_dir_all(to)?;
        let made = tempfile::Builder::new().prefix(".rye-skill-").tempdir_in(to)?;
        for (path, (bytes, is_program)) in &skill.files {
            let path = made.path().join(path);
            std::fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
            write_new(&path, bytes, if *is_program { 0o755 } else { 0o644 })?;
        }
        std::fs::set_permissions(made.path(), Permissions::from_mode(0o755))?;
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        let cwd = rustix::fs::CWD;
        match rustix::fs::renameat_with(cwd, made.path(), cwd, &folder, flags) {
            Ok(()) => drop(made.keep()),
            Err(rustix::io::Errno::EXIST) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    };
    match whole().map_err(io)? {
        true => Ok(folder),
        false => Err(ImportError::There { place }.into()),
    }
}

/// The front matter that the item was made of, as the block of YAML above the metadata keeps it.
fn kept(preamble: &str, name: &str) -> Option<Map<String, Value>> {
    let block = preamble.split_once("```yaml\n")?.1.split_once("\n```")?.0;
    let Ok(Value::Object(mut front)) = yaml(block) else { return None };
    if front.get("name").and_then(Value::as_str) != Some(name) {
        return None;
    }
    front.retain(|key, _| KEYS[2..].contains(&key.as_str()));
    Some(front)
}
