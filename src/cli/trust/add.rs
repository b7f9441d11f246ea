//! Trusting a key.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Named, Scope, document_id};
use crate::base::bytes::{Bounded, open_named, read_at_most, read_plain};
use crate::base::file_lock;
use crate::base::limits::OWN_CONFIG_BYTES;
use crate::base::look_alike::{is_alike, reading};
use crate::base::text::escape_line;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::id::{Fingerprint, Pattern, Ref};
use crate::rye::{Rye, now};
use crate::scaffold::workflows_without;
use crate::space::{ProjectIdentity, SpaceError};
use crate::verify::{
    DocumentFault, EXAMPLE, KeyScope, PUBLISHER, PublicKey, TrustDocument, TrustError, proposals,
    relative, write_own,
};

/// The least number of hex digits that may name a proposed key. A project chooses its proposals:
/// with eight digits, a key that looks like the one you were told can be made in a day; with
/// sixteen it cannot be made.
const PROPOSED_DIGITS: usize = 16;

/// How a key is to be trusted, beside its scope.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) owner: Option<String>,
    pub(super) projects: Vec<PathBuf>,
    pub(super) example: bool,
}

/// `rye trust add`.
pub(super) fn run(
    key: &str,
    wanted: Wanted,
    scope: &Scope,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    // A word that could be a fingerprint is never read as a file, so that a project cannot replace
    // a key by a file of that name.
    let path = rye.located().cwd.join(key);
    let is_meant =
        path.extension().is_some_and(|ext| ext == "pem" || ext == "toml" || ext == "pub");
    let mut document = match key.contains(['/', '.']) && (is_meant || path.is_file()) {
        _ if PublicKey::from_text(key).is_some() => {
            let (key, owner) = key_of(key, rye)?;
            TrustDocument::new(key, owner)
        }
        true => from_file(&path, key)?.into_wish(),
        false => proposed_or_said(key, rye)?,
    };
    let before = Before::read(document.fingerprint, rye)?;
    // What you said of a key earlier stays, unless you say nothing but that you trust it.
    let says_more = wanted.owner.is_some() || !wanted.projects.is_empty() || !scope.is_empty();
    let said = rye.trust().document(document.fingerprint).ok().flatten();
    let said = said.filter(|_| says_more);
    let is_known = said.is_some();
    document = said.unwrap_or(document);
    if let Some(owner) = wanted.owner {
        document.owner = owner;
    }
    document.example |= wanted.example;
    let projects = match wanted.projects.is_empty() {
        true if is_known => Vec::new(),
        true => document.projects.take().unwrap_or_default(),
        false => wanted.projects,
    };
    let identity = |path: &PathBuf| {
        let path = rye.located().cwd.join(path);
        let read = ProjectIdentity::read(&path);
        let id = read.map_err(|source| TrustError::Io { path, source })?;
        match id.path.join(".ai").is_dir() {
            true => Ok(id),
            false => Err(Failure::from(SpaceError::NotAProject { folder: id.path })),
        }
    };
    let ids = projects.iter().map(identity).collect::<Result<Vec<_>, Failure>>()?;
    // Of a key that counts everywhere, projects are a limit.
    if is_known && !ids.is_empty() && document.projects.is_some() {
        for id in &ids {
            accept_in(&mut document, id, KeyScope::default(), scope)?;
        }
        return write(document, scope, &before, rye, context, out);
    }
    if !ids.is_empty() {
        limit(&mut document, ids)?;
    }
    // Without a project it is about the key wherever it counts.
    scope.apply(&mut document.scope, is_known);
    for own in &mut document.in_project {
        scope.apply(&mut own.scope, is_known);
    }
    write(document, scope, &before, rye, context, out)
}

/// The file of a trust document before it is changed, so that no other program's change is lost.
struct Before {
    path: PathBuf,
    bytes: Option<Vec<u8>>,
}

impl Before {
    fn read(key: Fingerprint, rye: &Rye) -> Result<Self, Failure> {
        let path = rye.spaces().user()?.path(&relative(&document_id("trusted", key)?));
        let bytes = Self::now(&path);
        Ok(Self { path, bytes })
    }

    fn now(path: &Path) -> Option<Vec<u8>> {
        match read_plain(path, OWN_CONFIG_BYTES as u64) {
            Ok(Bounded::All(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Writes while no other process does, if the file is still what it was.
    ///
    /// # Errors
    /// `trust.io`
    fn write<R>(&self, write: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let io = |source| TrustError::Io { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or(&self.path);
        let held = match File::open(folder) {
            Ok(held) => {
                file_lock::lock(&held, folder).map_err(io)?;
                Some(held)
            }
            // It is made with the first document.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io(error).into()),
        };
        if Self::now(&self.path) != self.bytes {
            let why = "another program changed it in the meantime: run the same again";
            return Err(io(io::Error::other(why)).into());
        }
        let written = write();
        drop(held);
        written
    }
}

/// `rye trust accept`: the project, and a key that it proposes.
pub(super) fn accept(
    key: &str,
    everywhere: bool,
    scope: &Scope,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut document = proposed_or_said(key, rye)?;
    let before = Before::read(document.fingerprint, rye)?;
    // A document that cannot be used, such as one of a key that is gone, is ignored.
    let said = rye.trust().document(document.fingerprint).ok().flatten();
    let here = rye.spaces().project_identity();
    let is_known = said.is_some();
    match said {
        // Your earlier document about the key stays, and so does what it says of other projects.
        Some(said) => {
            // Where the project proposes nothing, the end that you gave the key holds in it too.
            let until = KeyScope { not_after: said.scope.not_after, ..KeyScope::default() };
            let proposed = if document == said { until } else { document.scope };
            document = said;
            match here.filter(|_| !everywhere) {
                Some(here) => accept_in(&mut document, here, proposed, scope)?,
                None if document.projects.is_none() => scope.apply(&mut document.scope, true),
                None => {
                    let mut general = proposed;
                    scope.apply(&mut general, false);
                    document.set_scope_everywhere(general);
                }
            }
        }
        None => {
            (document.projects, document.project_ids) = (None, Vec::new());
            if let Some(here) = here.filter(|_| !everywhere) {
                limit(&mut document, vec![here.clone()])?;
            }
            scope.apply(&mut document.scope, false);
        }
    }
    // The project is accepted behind the question, and before anything is said of its items.
    let fingerprint = document.fingerprint;
    let path = believe(&mut document, scope, &before, rye, context, out)?;
    let pair = rye.signing().own_pair()?;
    if !rye.project().accept(&pair)? {
        rye.project().approve(&pair)?;
    }
    let left_out = rye.project().left_out(fingerprint)?;
    let without_it = workflows_without(fingerprint, rye);
    told(&document, here, &path, (&left_out, &without_it), out);
    let scope_here = document.as_in(here.filter(|_| !everywhere)).scope;
    let is_kept = is_known && scope.items.is_empty() && scope.only.is_empty();
    if is_kept && !out.is_json() && scope_here.items.is_some() && !scope_here.wished {
        out.line("  it was narrowed to that before, and stays so; what a key may sign by default:");
        out.line(&format!("  `rye trust accept {fingerprint} --default`"));
        out.line("  `--items` adds to what it may sign now, `--only` replaces it");
    }
    Ok(Exit::DONE)
}

/// Says in an earlier document what its key may sign in this project. A project that is new to it
/// begins with what was `proposed`.
fn accept_in(
    document: &mut TrustDocument,
    here: &ProjectIdentity,
    proposed: KeyScope,
    wanted: &Scope,
) -> Result<(), TrustError> {
    let ids = &document.project_ids;
    let by_hand = document.projects.as_ref().is_some_and(|paths| paths.contains(&here.path));
    let is_known = match &document.projects {
        None => true,
        Some(_) if ids.iter().any(|id| id.path == here.path) => ids.iter().any(|id| id.is(here)),
        Some(_) => by_hand,
    };
    let mut scope = if is_known { document.as_in(Some(here)).scope } else { proposed };
    wanted.apply(&mut scope, is_known);
    if let Some(paths) = &document.projects {
        let (others, mut ids) = (paths.clone(), ids.clone());
        ids.retain(|known| known.path != here.path);
        ids.push(here.clone());
        limit(document, ids)?;
        // Paths that a person wrote by hand are kept.
        let projects = document.projects.get_or_insert_default();
        projects.extend(others.into_iter().filter(|path| *path != here.path));
        projects.sort();
        projects.dedup();
    }
    document.set_scope_in(here, scope);
    Ok(())
}

impl Scope {
    fn is_empty(&self) -> bool {
        !self.default && self.items.is_empty() && self.only.is_empty() && self.not_after.is_none()
    }

    /// Adds the items that were asked for, or replaces the others by them. A key of which nothing
    /// was said yet may sign just these.
    fn apply(&self, scope: &mut KeyScope, is_known: bool) {
        if self.default {
            scope.set_default();
        } else if !self.only.is_empty() {
            scope.set_items(self.only.clone());
        } else if is_known {
            scope.add_items(&self.items);
        } else if !self.items.is_empty() {
            scope.set_items(self.items.clone());
        }
        if self.not_after.is_some() {
            scope.not_after = self.not_after;
        }
    }
}

/// Limits a document to these projects.
fn limit(document: &mut TrustDocument, ids: Vec<ProjectIdentity>) -> Result<(), TrustError> {
    if let Some(id) = ids.iter().find(|id| id.path.to_str().is_none()) {
        let what = format!("`{}` is not UTF-8, so no document can name it", id.path.display());
        return Err(TrustError::NotFound { what });
    }
    document.projects = Some(ids.iter().map(|id| id.path.clone()).collect());
    document.project_ids = ids;
    Ok(())
}

fn write(
    mut document: TrustDocument,
    scope: &Scope,
    before: &Before,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let path = believe(&mut document, scope, before, rye, context, out)?;
    told(&document, rye.spaces().project_identity(), &path, (&[], &[]), out);
    Ok(Exit::DONE)
}

/// Asks where a program asks, and writes the document; gives its path.
fn believe(
    document: &mut TrustDocument,
    scope: &Scope,
    before: &Before,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<PathBuf, Failure> {
    let fingerprint = document.fingerprint;
    document.example = document.example && fingerprint == EXAMPLE;
    if fingerprint == EXAMPLE && !document.example {
        return Err(TrustError::Example { fingerprint }.into());
    }
    if fingerprint == PUBLISHER {
        let (what, why) =
            (fingerprint.to_string(), "the publisher's key is in the binary".to_owned());
        return Err(TrustError::Malformed { what, why }.into());
    }
    let name = reading(&document.owner);
    let first = name.split_whitespace().next().unwrap_or_default();
    if ["you", "your", "rye"].iter().any(|own| is_alike(first, own)) {
        let what = format!("the owner `{}`", document.owner);
        let why = "rye uses that name itself; say whose key it is with `--owner`".to_owned();
        return Err(TrustError::Malformed { what, why }.into());
    }
    let body = document.to_toml();
    TrustDocument::parse(&body).map_err(|why| malformed(&fingerprint.to_string(), why))?;
    if rye.trust().is_revoked(fingerprint).map_err(Failure::from)? {
        return Err(TrustError::Revoked { fingerprint, own: false }.into());
    }
    let pair = rye.signing().own_pair()?;
    let owner = escape_line(&document.owner);
    for doubt in super::list::doubts(document, rye) {
        out.warn(&doubt);
    }
    let mut what = format!("trust `{owner}`");
    if scope.default {
        what.push_str(&format!(" for {}", escape_line(&document.covers_everywhere())));
    }
    confirm(&what, &fingerprint.to_string(), context, out)?;
    let id = document_id("trusted", fingerprint)?;
    if scope.not_after.is_some_and(|at| at < now()) {
        out.warn("that time is over: nothing that the key signed is admitted");
    }
    let user = rye.spaces().user()?;
    before.write(|| Ok(write_own(user, &id, &body, &pair, now())?))
}

/// Says what was written as it reads in the project `here`, what of that the key signed and may not
/// sign, and which workflows of CI do not name it.
fn told(
    document: &TrustDocument,
    here: Option<&ProjectIdentity>,
    path: &Path,
    (left_out, without_it): (&[Ref], &[String]),
    out: &mut Out,
) {
    let fingerprint = document.fingerprint;
    let texts = |items: &[Pattern]| items.iter().map(|p| p.as_str().to_owned()).collect::<Vec<_>>();
    if out.is_json() {
        let KeyScope { items, also, not_after, .. } = document.as_in(here).scope;
        out.success(json!({
            "fingerprint": fingerprint, "owner": document.owner, "path": path,
            "projects": document.projects, "items": items.as_deref().map(texts),
            "also": texts(&also), "not_after": not_after, "left_out": left_out,
            "workflows_without_it": without_it,
        }));
        return;
    }
    let place = match document.projects {
        None => ", in every project that you accept",
        Some(_) => "",
    };
    let owner = escape_line(&document.owner);
    out.line(&format!("you trust `{owner}` {fingerprint}"));
    out.line(&format!("  for {}{place}", escape_line(&document.covers_everywhere())));
    if let Some(first) = left_out.first() {
        let more = match left_out.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        out.line(&format!(
            "it also signed `{first}`{more} here, which stays refused; read it, and"
        ));
        out.line(&format!("  to let it in: `{}`", accept_more(fingerprint, left_out)));
    }
    super::propose::name_workflows(without_it, fingerprint, out);
}

/// The command that adds the items to what the key may sign.
pub(super) fn accept_more(key: Fingerprint, items: &[Ref]) -> String {
    let mut patterns: Vec<String> = items.iter().map(ToString::to_string).collect();
    if patterns.len() > 3 {
        let all = |item: &Ref| match item.is_hook() {
            true => "tool:hooks/**".to_owned(),
            false => format!("{}:**", item.kind),
        };
        patterns = items.iter().map(all).collect();
    }
    patterns.sort();
    patterns.dedup();
    let options: String = patterns.iter().map(|p| format!(" --items '{p}'")).collect();
    format!("rye trust accept {key}{options}")
}

fn malformed(what: &str, why: DocumentFault) -> Failure {
    match why {
        DocumentFault::Weak => TrustError::Weak { what: what.to_owned() }.into(),
        DocumentFault::Wrong(why) => TrustError::Malformed { what: what.to_owned(), why }.into(),
    }
}

/// A PEM file or a trust document; in a document everything except the key and the owner is only a
/// proposal.
fn from_file(path: &Path, shown: &str) -> Result<TrustDocument, Failure> {
    let failed = |source| CliError::InputFile { path: shown.to_owned(), source };
    let mut file = open_named(path).map_err(failed)?;
    let Bounded::All(bytes) = read_at_most(&mut file, 1 << 16, 0).map_err(failed)? else {
        return Err(malformed(shown, "it is larger than 64 KiB".into()));
    };
    let text = String::from_utf8(bytes).map_err(|_| malformed(shown, "it is not UTF-8".into()))?;
    if path.extension().is_some_and(|ext| ext == "toml") {
        return TrustDocument::parse(&text).map_err(|why| malformed(shown, why));
    }
    match PublicKey::from_pem(&text) {
        None => Err(malformed(shown, "it is not a valid Ed25519 public key as SPKI PEM".into())),
        Some(Err(_)) => Err(TrustError::Weak { what: shown.to_owned() }.into()),
        Some(Ok(public_key)) => {
            let stem =
                path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(TrustDocument::new(public_key, escape_line(&stem)))
        }
    }
}

/// A key by its file, by its text, or by the fingerprint of one that you trust; and its owner.
///
/// # Errors
/// `trust.malformed`, `trust.weak_key`, `trust.not_found`
pub(in crate::cli) fn key_of(name: &str, rye: &Rye) -> Result<(PublicKey, String), Failure> {
    let weak = || TrustError::Weak { what: name.to_owned() };
    if let Some(key) = PublicKey::from_text(name) {
        let key = key.map_err(|_| weak())?;
        let owner = key.fingerprint().to_string();
        return Ok((key, owner));
    }
    let document = match name.parse::<Fingerprint>() {
        Ok(key) => rye.trust().document(key)?.ok_or_else(|| TrustError::NotFound {
            what: format!("you do not trust the key `{key}`"),
        })?,
        Err(_) => from_file(&rye.located().cwd.join(name), name)?,
    };
    Ok((document.public_key, document.owner))
}

/// A key by its file or its whole fingerprint, for one check.
pub(super) fn named_key(name: &str, rye: &Rye, out: &mut Out) -> Result<TrustDocument, Failure> {
    let document = match name.parse::<Fingerprint>() {
        Ok(key) => proposed(name, rye).map_err(|failure| match failure.code() {
            "trust.not_found" => TrustError::NotProposed { key }.into(),
            _ => failure,
        })?,
        Err(_) => {
            let document = from_file(&rye.located().cwd.join(name), name)?;
            if is_of_project(name, rye) {
                let name = escape_line(name);
                out.warn(&format!(
                    "`{name}` lies in the project that it is to judge, so whoever changes the \
                     project can change it: name the key's fingerprint instead"
                ));
            }
            document
        }
    };
    match document.fingerprint {
        EXAMPLE => Err(TrustError::Example { fingerprint: EXAMPLE }.into()),
        _ => Ok(document),
    }
}

/// Returns true if the project has a say in which file a path names: the file lies in it, or a name
/// on the way does, which could be a link.
fn is_of_project(path: &str, rye: &Rye) -> bool {
    let Some(project) = rye.spaces().project_identity() else { return false };
    let cwd = &rye.located().cwd;
    let lies_there =
        |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&project.path));
    let mut names = Path::new(path).ancestors().filter(|part| part.file_name().is_some());
    lies_there(&cwd.join(path)) || names.any(|part| cwd.join(part).parent().is_some_and(lies_there))
}

/// The proposal of this project that is named, or else the document that you wrote already.
fn proposed_or_said(text: &str, rye: &Rye) -> Result<TrustDocument, Failure> {
    let proposal = match proposed(text, rye) {
        Ok(proposal) => return Ok(proposal.into_wish()),
        Err(failure) => failure,
    };
    let said = super::list::find(text, rye).ok();
    said.and_then(|key| rye.trust().document(key).ok().flatten()).ok_or(proposal)
}

/// The one proposal of this project whose fingerprint is named.
fn proposed(text: &str, rye: &Rye) -> Result<TrustDocument, Failure> {
    let named = Named::parse(text, PROPOSED_DIGITS)?;
    let project = rye.spaces().project()?;
    let mut fitting = proposals(project);
    fitting.retain(|proposal| {
        let name = proposal.path.rsplit('/').next().unwrap_or_default();
        named.fits(name.trim_end_matches(".toml"))
    });
    match fitting.len() {
        1 => {
            let proposal = fitting.remove(0);
            proposal.document.map_err(|why| malformed(&proposal.path, why.into()))
        }
        0 => {
            let what = format!("this project proposes no key `{text}`");
            Err(TrustError::NotFound { what }.into())
        }
        _ => {
            let what = format!("several proposed keys are like `{text}`; give more of it");
            Err(TrustError::NotFound { what }.into())
        }
    }
}
