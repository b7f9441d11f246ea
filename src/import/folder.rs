//! A folder of items of the older form, as drafts.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::draft::{Drafts, ItemDraft};
use super::error::ImportError;
use super::files::is_hidden;
use super::legacy::{Older, OlderKey, Worth, read};
use crate::base::limits::PARTS_WALKED;
use crate::base::text::escape_line;
use crate::diagnostic::Failure;
use crate::id::{ItemId, Kind, Ref, Space};
use crate::parse::{Knowledge, signed_before, yaml};
use crate::rye::Rye;
use crate::space::{FileTypes, Folder, RelPath, Root};

/// A folder whose `.ai` holds items of the older form.
pub(crate) struct OlderFolder<'a> {
    /// The folder that holds `.ai`, or that `.ai` itself.
    pub(crate) path: &'a Path,
    /// Keys that the person vouches for, beside their own.
    pub(crate) keys: Vec<OlderKey>,
    /// Also what no older signature vouches for.
    pub(crate) unchecked: bool,
    /// The folder that all of it is put into; by default each item keeps its id.
    pub(crate) category: Option<ItemId>,
}

/// Why what is below `rye/` is left out.
const RESERVED: &str =
    "ids below `rye/` are of the system space alone; `--category` puts it into a folder of yours";

/// The items of a folder whose older signatures are good, and what was left out and why.
///
/// # Errors
/// `import.nothing` where there is nothing to import; `space.*` for a folder that cannot be read.
pub(crate) fn older_items(
    rye: &Rye,
    mut folder: OlderFolder<'_>,
) -> Result<(Drafts, Vec<LeftOut>), Failure> {
    let base = match folder.path.file_name() {
        Some(name) if name == ".ai" => folder.path.parent().unwrap_or(folder.path),
        _ => folder.path,
    };
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    if !base.is_dir() {
        return Err(ImportError::NoFolder { path: base.display().to_string() }.into());
    }
    let root = Root::on_disk(Space::Project, base.to_owned())?;
    folder.keys.extend(rye.trust().own().ok().flatten().cloned().map(OlderKey::new));
    let (mut items, mut left_out, mut others) = (Vec::new(), Vec::new(), 0);
    for kind in Kind::ALL {
        let Some(files) = root.folder(kind.folder())? else { continue };
        let Some(walked) = files.walk("", &|path| !is_hidden(path)) else {
            let place = root.shown(kind.folder());
            let source = std::io::Error::other(format!("there are more than {PARTS_WALKED} files"));
            return Err(ImportError::Io { place, source }.into());
        };
        for file in walked.iter().filter(|file| !is_hidden(&file.path)) {
            match one(&folder, &root, &files, kind, &file.path) {
                One::Item(draft) => items.push(*draft),
                One::Left(left) => left_out.push(left),
                One::Other => others += 1,
            }
        }
    }
    if items.is_empty() && left_out.is_empty() {
        return Err(nothing(folder.path, &left_out).into());
    }
    let mut remarks = Vec::new();
    if others > 0 {
        let files = if others == 1 { "file is" } else { "files are" };
        remarks.push(format!("{others} other {files} no item, and not copied"));
    }
    Ok((Drafts { items, remarks, faults: Vec::new() }, left_out))
}

/// The failure where nothing is left to import.
pub(crate) fn nothing(path: &Path, left_out: &[LeftOut]) -> ImportError {
    let is_reserved = left_out.iter().any(|left| left.why == RESERVED);
    let left_out = left_out.iter().map(LeftOut::to_json).collect();
    ImportError::Nothing { path: path.display().to_string(), left_out, is_reserved }
}

/// A file that is not imported.
#[derive(Debug)]
pub(crate) struct LeftOut {
    /// Below `.ai`.
    pub(crate) path: String,
    /// The word for its older signature, if that is why.
    pub(crate) worth: Option<&'static str>,
    pub(crate) why: String,
}

impl LeftOut {
    pub(crate) fn to_json(&self) -> Value {
        json!({"path": format!(".ai/{}", self.path), "older_signature": self.worth, "why": self.why})
    }
}

enum One {
    Item(Box<ItemDraft>),
    Left(LeftOut),
    /// It is not named like an item.
    Other,
}

fn one(folder: &OlderFolder<'_>, root: &Root, files: &Folder<'_>, kind: Kind, name: &str) -> One {
    let path = format!("{}/{name}", kind.folder());
    let left = |worth: Option<Worth>, why: String| {
        One::Left(LeftOut { path: path.clone(), worth: worth.map(Worth::word), why })
    };
    let Some((id, ext)) = name.rsplit_once('.') else { return One::Other };
    let is_item = FileTypes::default().find(kind, ext).is_some();
    let was_item = kind == Kind::Tool && ext == "json";
    if !(is_item || was_item) {
        return One::Other;
    }
    let below = match &folder.category {
        Some(category) => format!("{category}/{id}"),
        None => id.to_owned(),
    };
    let (Ok(id), Ok(new)) = (id.parse::<ItemId>(), below.parse::<ItemId>()) else {
        return left(None, "its name is not a valid item id".into());
    };
    let about = Ref::new(kind, id.clone());
    let item = Ref::new(kind, new);
    if about.is_about_keys() || item.is_about_keys() {
        return left(None, "documents about keys are yours to write: see `rye trust add`".into());
    }
    if item.id.is_reserved() {
        return left(None, RESERVED.into());
    }
    let bytes = match name.parse::<RelPath>().map(|path| files.read(&path)) {
        Ok(Ok(Some(bytes))) => bytes.into_owned(),
        Ok(Err(error)) => return left(None, error.to_string()),
        _ => return left(None, "it cannot be read".into()),
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return left(None, "it is not UTF-8".into());
    };
    let older = read(kind, ext, text, &folder.keys);
    if !is_item {
        let why = format!("rye has no tools with the extension `{}`", escape_line(ext));
        return left(Some(older.worth), why);
    }
    if older.worth != Worth::Good && !folder.unchecked {
        return left(Some(older.worth), why_left(&older));
    }
    let mut text = older.text.clone();
    let (mut notes, about) = said(&older);
    if folder.category.is_some() {
        text = with_category(&text, id.folder(), item.id.folder());
    }
    if kind == Kind::Knowledge
        && ext == "md"
        && let Some(with) = with_front_matter(&text)
    {
        text = with;
        notes.push("its metadata stood in a fence, and stands in front matter now".into());
    }
    if kind == Kind::Tool && text.contains("--project-path") {
        notes.push(
            "it reads `--project-path` from its command line, which nothing gives it here: a script gets \
             its parameters as JSON on standard input, and works in the project"
                .into(),
        );
    }
    if signed_before(&text).is_some() {
        let why =
            "it says whose signature it came with, as only an import of a signed skill writes";
        return left(Some(older.worth), why.into());
    }
    let mut draft = ItemDraft::new(item, ext, text);
    (draft.notes, draft.about) = (notes, about);
    draft.is_vouched_for = older.worth == Worth::Good;
    draft.was = Some((root.path(&path), bytes));
    One::Item(Box::new(draft))
}

/// The text with another category where it says its own, which is that of its folder.
fn with_category(text: &str, old: &str, new: &str) -> String {
    let mut out = String::new();
    let mut is_done = false;
    for line in text.split_inclusive('\n') {
        match named_category(line).filter(|(_, said)| !is_done && *said == old) {
            Some((at, said)) => {
                is_done = true;
                out.push_str(&line[..at]);
                out.push_str(new);
                out.push_str(&line[at + said.len()..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// The category that a line names, and where: as an element, a key of YAML or a plain assignment.
fn named_category(line: &str) -> Option<(usize, &str)> {
    if let Some((before, rest)) = line.split_once("<category>") {
        let (said, _) = rest.split_once("</category>")?;
        let blank = said.len() - said.trim_start().len();
        return Some((before.len() + "<category>".len() + blank, said.trim()));
    }
    let lower = line.to_ascii_lowercase();
    let behind = lower.find("category")? + "category".len();
    let of_name = |c: char| c == '_' || c == '"' || c == '\'' || c.is_whitespace();
    let sign = behind + line[behind..].find(|c| !of_name(c))?;
    let value = line[sign..].strip_prefix([':', '='])?;
    let start = line.len()
        - value.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'').len();
    let is_id = |c: char| c.is_alphanumeric() || "/_-.".contains(c);
    let end = line[start..].find(|c| !is_id(c)).map_or(line.len(), |at| start + at);
    Some((start, &line[start..end]))
}

/// Knowledge with the metadata of its first fence as front matter, which is how the older
/// implementation kept it; `None` where there is none, or none that front matter may say.
fn with_front_matter(text: &str) -> Option<String> {
    let (before, rest) = text.split_once("```yaml\n")?;
    let (block, body) = rest.split_once("\n```")?;
    let is_plain = |line: &str| line.trim().is_empty() || line.starts_with("# ");
    if !before.lines().all(is_plain) {
        return None;
    }
    let Ok(Value::Object(map)) = yaml(block) else { return None };
    if !["title", "description", "tags"].iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    let (before, body) = (before.trim(), body.trim_start_matches('\n'));
    let gap = if before.is_empty() { "" } else { "\n\n" };
    let new = format!("---\n{block}\n---\n\n{before}{gap}{body}");
    Knowledge::markdown(&new).is_ok().then_some(new)
}

fn why_left(older: &Older) -> String {
    let key = older.key.as_deref().unwrap_or_default();
    match older.worth {
        Worth::Good => String::new(),
        Worth::Unsigned => "it carries no older signature".into(),
        Worth::Changed => "it was changed after it was signed".into(),
        Worth::Untrusted => format!("it is signed by `{key}`; if you know that key, give `--key`"),
        Worth::Forged => format!("its signature was not made by `{key}`"),
    }
}

/// The worth of the older signature, for people and as data.
fn said(older: &Older) -> (Vec<String>, Map<String, Value>) {
    let key = older.key.as_deref().unwrap_or_default();
    let notes = match older.worth {
        Worth::Good => vec![
            format!("older signature: good, by `{key}`"),
            format!("it does not cover: {}", older.uncovered.join("; ")),
        ],
        _ => vec![format!("older signature: {}; nobody vouches for this", why_left(older))],
    };
    let about = [
        ("older_signature", older.worth.word().into()),
        ("older_key", older.key.clone().into()),
        ("uncovered", older.uncovered.clone().into()),
    ];
    (notes, about.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
