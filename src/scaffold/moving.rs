//! Another id for an item: what goes with it, and what names it.
//!
//! In:  an item as it was found, and the new id.
//! Out: a [`Move`]: every file as it would be. Nothing is written but by its three steps, in order:
//!      [`Move::place`] puts the item and the files that it lists to their new places,
//!      [`Move::write_specs`] changes test specs, [`Move::remove_old`] takes the old files away.
//!      The caller signs after the first.
//!
//! A process that is killed in between leaves both files, and never none; the same move goes on
//! from there.

use std::borrow::Cow;
use std::fs;

use serde_json::Value;

use super::create::taken;
use super::error::AuthorError;
use super::moved_files::{MovedFiles, folder_of, remove_empty, remove_if};
use crate::base::bytes::{remove_file, replace_if, write_new};
use crate::diagnostic::{Failure, Place};
use crate::id::{IdError, ItemId, Kind, Ref, Space};
use crate::parse::{Naming, is_snake_case, places, renamed, replaced_where, tool_of, yaml};
use crate::resolve::Found;
use crate::rye::{CannotMoveFiles, FileToMove, Rye, SignatureState, ToSign};
use crate::space::{Entry, Root, is_test_spec};
use crate::verify::{MARK, SignError, digest_to_sign, without_line};

/// Most lines of one file that are named because they hold the id of an item that moves: more than
/// a person goes through.
const MENTIONS: usize = 20;

/// A file that names the item, as it would be.
#[derive(Debug)]
pub(crate) struct Rewritten {
    /// The item as it is on disk.
    pub(crate) found: Found,
    pub(crate) text: String,
}

/// A place that names the item, or means it, and stays as it is.
#[derive(Debug)]
pub(crate) struct LeftReference {
    pub(crate) place: Place,
    pub(crate) why: &'static str,
}

/// A test spec: where it lies, where it will, and its text before and then.
#[derive(Debug)]
struct Spec {
    from: Entry,
    to: Entry,
    was: Cow<'static, [u8]>,
    text: Vec<u8>,
}

/// See the module.
pub(crate) struct Move {
    pub(crate) from: Found,
    /// The item with its new ref and place, its text as it will be signed.
    pub(crate) to: Found,
    /// Your own key signed it and signs it anew; otherwise it has no signature and gets none.
    pub(crate) is_signed: bool,
    /// The new file, where an earlier move came as far as to write it.
    there: Option<Found>,
    pub(crate) rewritten: Vec<Rewritten>,
    pub(crate) left: Vec<LeftReference>,
    specs: Vec<Spec>,
    files: MovedFiles,
}

impl Move {
    /// The move that gives the item this id. Nothing is written.
    ///
    /// # Errors
    /// `author.cannot_move`, `author.exists`, `sign.reserved`, `sign.embedded`, `id.malformed`;
    /// those of reading the space.
    pub(crate) fn new(rye: &Rye, from: Found, id: ItemId) -> Result<Self, Failure> {
        let to = Ref::new(from.item.kind, id);
        movable(rye, &from, &to)?;
        let root = rye.spaces().get(from.space).ok_or_else(|| embedded(&from))?;
        let text = own_text(&from, &to.id).map_err(|why| {
            cannot(&from, why, "write it by hand, sign it, and move it then".to_owned())
        })?;
        let relative = format!("{}/{}.{}", to.kind.folder(), to.id, from.ext);
        let to = Found {
            item: to.clone(),
            path: root.path(&relative),
            place: root.shown(&relative),
            bytes: Cow::Owned(text.into_bytes()),
            shadowed: Vec::new(),
            ..from.clone()
        };
        let there = match taken(rye, &to.item, from.space)? {
            None => None,
            Some(place) => {
                let exists = || AuthorError::Exists { item: to.item.clone(), place };
                Some(begun(rye, &to).ok_or_else(exists)?)
            }
        };
        let is_signed = is_signed(rye, &from, there.as_ref())?;
        let (rewritten, left, specs) = (Vec::new(), Vec::new(), Vec::new());
        let files = MovedFiles::default();
        let mut all = Self { from, to, is_signed, there, rewritten, left, specs, files };
        all.find_specs(root)?;
        all.find_files(rye, root)?;
        all.find_names(rye)?;
        Ok(all)
    }

    /// The items that your key signs: the item at its new place, and those that name it.
    pub(crate) fn to_sign(&self) -> Vec<ToSign> {
        let on_disk = self.there.as_ref().unwrap_or(&self.to).bytes.clone();
        let own = self.is_signed.then(|| ToSign { found: self.to.clone(), on_disk });
        let others = self.rewritten.iter().map(|rewritten| {
            let Rewritten { found, text } = rewritten;
            let bytes = Cow::Owned(text.clone().into_bytes());
            ToSign { on_disk: found.bytes.clone(), found: Found { bytes, ..found.clone() } }
        });
        own.into_iter().chain(others).collect()
    }

    /// The test specs that change or move: their paths before and then.
    pub(crate) fn spec_paths(&self) -> impl Iterator<Item = (String, String)> {
        self.specs.iter().map(|spec| (spec.from.relative(), spec.to.relative()))
    }

    /// The files that the item lists and that lie elsewhere then.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileToMove> {
        self.files.iter()
    }

    /// Puts the item to its new place, unsigned, and the files that it lists; what is there already
    /// is left.
    ///
    /// # Errors
    /// `author.io`, `space.symlink`.
    pub(crate) fn place(&self, rye: &Rye) -> Result<(), Failure> {
        let root = rye.spaces().get(self.from.space).ok_or_else(|| embedded(&self.from))?;
        self.files.place(root)?;
        if self.there.is_some() {
            return Ok(());
        }
        let relative = self.to.entry().relative();
        let folder = folder_of(&relative);
        // Says so if one of the folders on the way is a link.
        root.folder(folder)?;
        let mode = fs::metadata(&self.from.path).map_or(0o644, |stat| mode(&stat));
        let written = fs::create_dir_all(root.path(folder))
            .and_then(|()| write_new(&self.to.path, &self.to.bytes, mode));
        written.map_err(|source| io(&self.to.place, source))
    }

    /// Takes the new files away again, where they are still as they were placed.
    pub(crate) fn take_back(&self, rye: &Rye) {
        let is_ours =
            self.there.is_none() && fs::read(&self.to.path).is_ok_and(|b| b == *self.to.bytes);
        if is_ours {
            // What stays is told by `rye status`, and the same move goes on from there.
            let _ = remove_file(&self.to.path);
        }
        if let Some(root) = rye.spaces().get(self.from.space).filter(|_| self.there.is_none()) {
            self.files.take_back(root);
        }
    }

    /// Writes the item's own spec at its new place, and the new ref into the specs of others.
    ///
    /// # Errors
    /// `author.io`
    pub(crate) fn write_specs(&self, rye: &Rye) -> Result<(), Failure> {
        let root = rye.spaces().get(self.from.space).ok_or_else(|| embedded(&self.from))?;
        for spec in &self.specs {
            let path = root.path(&spec.to.relative());
            let place = root.shown(&spec.to.relative());
            let done = match spec.from == spec.to {
                true => replace_if(&path, &spec.was, &spec.text).map(drop),
                false => match write_new(&path, &spec.text, 0o644) {
                    Err(_) if fs::read(&path).is_ok_and(|there| there == spec.text) => Ok(()),
                    done => done,
                },
            };
            done.map_err(|source| io(&place, source))?;
        }
        Ok(())
    }

    /// Takes the old files away, those that are still what was read.
    ///
    /// # Errors
    /// `author.io`: one of them was changed in the meantime, or cannot be removed.
    pub(crate) fn remove_old(&self, rye: &Rye) -> Result<(), Failure> {
        let root = rye.spaces().get(self.from.space).ok_or_else(|| embedded(&self.from))?;
        let specs = self.specs.iter().filter(|spec| spec.from != spec.to);
        let specs = specs.map(|spec| {
            let relative = spec.from.relative();
            (root.path(&relative), root.shown(&relative), &spec.was)
        });
        for (path, place, was) in specs {
            remove_if(&path, was).map_err(|source| io(&place, source))?;
        }
        self.files.remove_old(root)?;
        remove_if(&self.from.path, &self.from.bytes)
            .map_err(|source| io(&self.from.place, source))?;
        remove_empty(root, folder_of(&self.from.entry().relative()));
        Ok(())
    }

    /// The item's own specs, which move with it, and those of others that score by it.
    fn find_specs(&mut self, root: &Root) -> Result<(), Failure> {
        let (old, new) = (self.from.item.clone(), self.to.item.clone());
        for kind in [Kind::Tool, Kind::Directive] {
            for from in root.specs(kind)? {
                let Some(was) = root.read(&from.relative())? else { continue };
                let is_own = from.item == old;
                let named = std::str::from_utf8(&was).ok().filter(|_| old.kind == Kind::Tool);
                let text = named.map_or(Ok(None), |text| scored_by(text, &old, &new));
                if text.is_err() {
                    let why = "it scores by it, and that cannot be changed by itself";
                    self.left.push(LeftReference { place: root.shown(&from.relative()), why });
                }
                let text = text.ok().flatten();
                if !is_own && text.is_none() {
                    continue;
                }
                let item = if is_own { new.clone() } else { from.item.clone() };
                let to = Entry { item, ..from.clone() };
                let text = text.map_or_else(|| was.to_vec(), String::into_bytes);
                let spec = Spec { from, to, was, text };
                let there = root.read(&spec.to.relative())?;
                if is_own && there.is_some_and(|there| *there != *spec.text) {
                    let place = root.shown(&spec.to.relative());
                    return Err(AuthorError::FileExists { place }.into());
                }
                self.specs.push(spec);
            }
        }
        Ok(())
    }

    /// The files that the item lists, which move with it or are copied.
    fn find_files(&mut self, rye: &Rye, root: &Root) -> Result<(), Failure> {
        let own = (self.from.entry().relative(), self.to.entry().relative());
        let beside: Vec<_> = self.spec_paths().chain([own]).collect();
        let files = rye.items().files_to_move(&self.from, &self.to, &beside);
        let files = files.map_err(|CannotMoveFiles { why, help }| cannot(&self.from, why, help))?;
        self.files = MovedFiles::new(files, root)?;
        Ok(())
    }

    /// Finds what else of the space names the item: your own items are rewritten, the rest is left.
    fn find_names(&mut self, rye: &Rye) -> Result<(), Failure> {
        for kind in Kind::ALL {
            for entry in rye.items().list(self.from.space, kind)? {
                let is_own = entry.item == self.from.item || entry.item == self.to.item;
                if is_own || entry.item.is_about_keys() || entry.bundle.is_some() {
                    continue;
                }
                let query = entry.item.clone().into();
                let Ok(found) = rye.signing().find(&query, Some(self.from.space)) else { continue };
                self.look_at(rye, found);
            }
        }
        let mentions: Vec<LeftReference> = mentions(&self.to, &self.from.item);
        self.left.extend(mentions);
        Ok(())
    }

    fn look_at(&mut self, rye: &Rye, found: Found) {
        let Ok(text) = std::str::from_utf8(&found.bytes) else { return };
        let (old, new) = (&self.from.item, &self.to.item);
        if found.item.is_hook() && stops_meaning(&found, text, old, new) {
            let place = found.place.clone();
            self.left.push(LeftReference {
                place,
                why: "its `match` means the old ref and not the new one",
            });
        }
        if places(text, old.id.as_str()).next().is_none() {
            return;
        }
        let Some(text) = renamed_in(&found, text, old, new) else {
            return self.left.extend(mentions(&found, old));
        };
        let why = match rye.signing().signature_state(&found) {
            SignatureState::Yours => None,
            SignatureState::YoursUnlocked => {
                Some("it names the item, and the lock lists another version of it")
            }
            _ => Some("it names the item, and your key did not sign it as it is"),
        };
        if let Some(why) = why {
            return self.left.push(LeftReference { place: found.place, why });
        }
        let after = Found { bytes: Cow::Owned(text.clone().into_bytes()), ..found.clone() };
        self.left.extend(mentions(&after, old));
        self.rewritten.push(Rewritten { found, text });
    }
}

/// Checks that the item can have the new ref.
fn movable(rye: &Rye, from: &Found, to: &Ref) -> Result<(), Failure> {
    if from.embedded || !matches!(from.space, Space::Project | Space::User) {
        return Err(embedded(from));
    }
    for item in [&from.item, to] {
        if item.id.is_reserved() {
            return Err(SignError::Reserved { item: item.clone() }.into());
        }
    }
    let kind = from.item.kind;
    if kind == Kind::Config {
        let help = "write it anew under the id that you mean, with `rye sign`".to_owned();
        return Err(cannot(from, "a config has its meaning by its id".to_owned(), help));
    }
    if from.item == *to {
        return Err(cannot(from, "that is its id already".into(), "give another id".into()));
    }
    if kind == Kind::Directive && !is_snake_case(to.id.name()) {
        let why =
            "the last part is the directive's name: lower-case words joined by `_`".to_owned();
        return Err(IdError::Malformed { text: to.id.to_string(), why }.into());
    }
    if is_test_spec(kind, to.id.as_str(), &from.ext) {
        let why = "a file of that name is a test spec, which is not an item".to_owned();
        return Err(IdError::Malformed { text: to.id.to_string(), why }.into());
    }
    if !rye.items().list(from.space, kind)?.iter().any(|entry| entry.item == from.item) {
        let tool = rye.items().tool_with_file(&from.path);
        let tool = tool.map_or("another tool".to_owned(), |tool| format!("`{tool}`"));
        let help = format!("move {tool}, which takes its files along, or change its `files`");
        return Err(cannot(from, format!("it is a file that {tool} lists"), help));
    }
    Ok(())
}

/// Returns true if your own key signed the item, and signs it anew; otherwise it has no signature.
/// An earlier move may have taken files away of one whose new file is signed, with all that it
/// lists.
fn is_signed(rye: &Rye, from: &Found, there: Option<&Found>) -> Result<bool, Failure> {
    let item = &from.item;
    let state = |found: &Found| rye.signing().signature_state(found);
    match state(from) {
        SignatureState::YoursUnlocked => Err(cannot(
            from,
            "the lock lists another version of it".to_owned(),
            format!("see `rye why {item}`; if it is as you want it, `rye lock --update {item}`"),
        )),
        SignatureState::Yours => Ok(true),
        SignatureState::Nothing => Ok(false),
        SignatureState::Others => Err(cannot(
            from,
            "somebody else signed it, and a new id needs a new signature".to_owned(),
            format!("ask them to, or take it over first: read it, then `rye sign {item}`"),
        )),
        SignatureState::Broken if there.is_some_and(|there| state(there).is_yours()) => Ok(true),
        SignatureState::Broken => Err(cannot(
            from,
            "your key did not sign it as it is now".to_owned(),
            format!(
                "see `rye why {item}`; if it is as you want it, sign it with `rye sign {item}`"
            ),
        )),
    }
}

fn cannot(from: &Found, why: String, help: String) -> Failure {
    let (item, place) = (from.item.clone(), from.place.clone());
    AuthorError::CannotMove { item, place, why, help }.into()
}

fn embedded(from: &Found) -> Failure {
    SignError::Embedded { item: from.item.clone() }.into()
}

pub(super) fn io(place: &Place, source: std::io::Error) -> Failure {
    AuthorError::Io { place: place.clone(), source }.into()
}

pub(super) fn mode(stat: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&stat.permissions()) & 0o777
}

/// The file at the new place, if it is what would be written there, signed or not.
fn begun(rye: &Rye, to: &Found) -> Option<Found> {
    let there = rye.signing().find(&to.item.clone().into(), Some(to.space)).ok()?;
    (there.ext == to.ext && digest_to_sign(&there) == digest_to_sign(to)).then_some(there)
}

/// The item's own text under its new id: without a signature line, its name and its category as its
/// place is.
fn own_text(from: &Found, to: &ItemId) -> Result<String, String> {
    let bytes = without_line(&from.bytes, &from.file_type.comment);
    let mut text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let of = (from.item.kind, &from.file_type.header);
    let old = &from.item.id;
    let folders = (old.folder(), to.folder());
    let category = (folders.0 != folders.1).then_some((Naming::Category, folders));
    let is_named = from.item.kind == Kind::Directive && old.name() != to.name();
    let name = is_named.then_some((Naming::Name, (old.name(), to.name())));
    for (naming, names) in category.into_iter().chain(name) {
        if let Some(other) = renamed(of, &text, naming, names)? {
            text = other;
        }
    }
    Ok(text)
}

/// The text of another item with the new ref wherever it names the old one for rye to read; `None`
/// where it does not.
fn renamed_in(found: &Found, text: &str, old: &Ref, new: &Ref) -> Option<String> {
    let of = (found.item.kind, &found.file_type.header);
    let ways = match old.kind {
        Kind::Tool => [Some(Naming::Executor), Some(Naming::Calls)],
        Kind::Directive => [Some(Naming::Extends), Some(Naming::Calls)],
        Kind::Knowledge | Kind::Config => [Some(Naming::Calls), None],
    };
    let mut now = None;
    for naming in ways.into_iter().flatten() {
        let names = (old.id.as_str(), new.id.as_str());
        if let Ok(Some(next)) = renamed(of, now.as_deref().unwrap_or(text), naming, names) {
            now = Some(next);
        }
    }
    now
}

/// The text of a spec with the new ref wherever an eval is named by the old one; `None` where none
/// is, `Err` where that cannot be changed without changing something else.
fn scored_by(text: &str, old: &Ref, new: &Ref) -> Result<Option<String>, ()> {
    let Ok(mut wanted) = yaml(text) else { return Ok(None) };
    if !name_evals(&mut wanted, old, new) {
        return Ok(None);
    }
    let leads_there = |text: &str| {
        yaml(text).is_ok_and(|mut value| {
            name_evals(&mut value, old, new);
            value == wanted
        })
    };
    let text = replaced_where(text, old.id.as_str(), new.id.as_str(), leads_there);
    let is_done = yaml(&text).is_ok_and(|value| value == wanted);
    is_done.then_some(Some(text)).ok_or(())
}

/// Names the new ref in each eval of a spec that names the old one; false where none does.
fn name_evals(spec: &mut Value, old: &Ref, new: &Ref) -> bool {
    let cases = spec.get_mut("cases").and_then(Value::as_array_mut);
    let evals = cases.into_iter().flatten().filter_map(|case| case.get_mut("evals"));
    let evals = evals.filter_map(Value::as_array_mut).flatten();
    let (bare, full) = (old.id.as_str(), old.to_string());
    let mut is_changed = false;
    for name in evals.filter_map(|eval| eval.get_mut("eval")) {
        if name.as_str().is_some_and(|it| it == bare || it == full) {
            *name = name.as_str().unwrap_or_default().replace(bare, new.id.as_str()).into();
            is_changed = true;
        }
    }
    is_changed
}

/// Returns true if a hook watches the old ref by its pattern, and not the new one.
fn stops_meaning(found: &Found, text: &str, old: &Ref, new: &Ref) -> bool {
    let tool = tool_of(text, &found.file_type.header);
    let hook = tool.and_then(|tool| tool.hook);
    hook.is_some_and(|hook| hook.is_about(old) && !hook.is_about(new))
}

/// The lines of a file that hold the id, but for its signature line.
fn mentions(found: &Found, item: &Ref) -> Vec<LeftReference> {
    let Ok(text) = std::str::from_utf8(&found.bytes) else { return Vec::new() };
    let lines = text.lines().enumerate();
    let named = lines.filter(|(_, line)| {
        !line.contains(MARK) && places(line, item.id.as_str()).next().is_some()
    });
    let left = |(at, _)| LeftReference {
        place: found.place.clone().line(at + 1),
        why: "it has these words in its text",
    };
    named.take(MENTIONS).map(left).collect()
}
