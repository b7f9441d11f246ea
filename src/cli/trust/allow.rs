//! Allows interpreters, version files, packages and providers of a project by name, and servers of
//! sandboxes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::Timestamp;
use crate::base::text::escape_line;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::named::reference;
use crate::cli::out::Out;
use crate::diagnostic::Failure;
use crate::id::{ItemId, Kind, Query, Ref, Space};
use crate::plan::file_identity;
use crate::rye::{Rye, now, project_provider};
use crate::space::ProjectIdentity;
use crate::verify::{
    BACKENDS, BackendIdentity, DEPS, FileIdentity, INTERPRETERS, PROVIDERS, Permit,
    ProviderIdentity, TrustError, allow_backend, allow_deps, allow_file, allow_provider, record_id,
    relative, remove_own, signed_at,
};

/// Files of a project that choose a version. They are allowed like programs.
const VERSION_FILES: [&str; 7] = [
    ".python-version",
    ".ruby-version",
    ".node-version",
    ".nvmrc",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
];

/// `rye trust allow-interpreter`.
pub(super) fn interpreter(
    path: &Path,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let path = rye.located().cwd.join(path);
    let unfit = |why| TrustError::Unfit { path: path.clone(), why };
    if !path.exists() {
        return Err(unfit("it is not there").into());
    }
    let file = file_identity(rye.host(), &path).ok_or_else(|| unfit("it is not a regular file"))?;
    let is_program = rye.host().look(&path).is_some_and(|look| look.is_program);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_program && !VERSION_FILES.contains(&name) {
        return Err(unfit("it is neither a program nor a file that chooses a version").into());
    }
    let pair = rye.signing().own_pair()?;
    let (shown, real) = (file.path.display().to_string(), file.real.display().to_string());
    confirm(&format!("let tools run with `{shown}`"), &real, context, out)?;
    allow_file(rye.spaces().user()?, &pair, &file, now())?;
    if out.is_json() {
        out.success(json!({"path": shown, "real": real}));
        return Ok(Exit::DONE);
    }
    let shown = escape_line(&shown);
    out.line(&match is_program {
        true => format!("tools may run with `{shown}`, as it is now ({})", escape_line(&real)),
        false => format!("`{shown}`, as it is now, may choose versions"),
    });
    out.line(&format!("  take it back with `rye trust disallow {shown}`"));
    Ok(Exit::DONE)
}

/// `rye trust allow-deps`.
pub(super) fn deps(
    folder: &Path,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    const NAME: &str = "node_modules";
    let path = rye.located().cwd.join(folder);
    let inner = path.join(NAME);
    let path = if path.ends_with(NAME) || !inner.is_dir() { path } else { inner };
    let why = match path.exists() {
        true => "it is not a folder named `node_modules`",
        false => "it is not there",
    };
    let unfit = || TrustError::Unfit { path: path.clone(), why };
    let identity = ProjectIdentity::read(&path).ok().filter(|_| path.is_dir());
    let identity = identity.filter(|id| id.path.ends_with(NAME)).ok_or_else(unfit)?;
    let pair = rye.signing().own_pair()?;
    let shown = identity.path.display().to_string();
    confirm(&format!("let tools load packages from `{shown}`"), "", context, out)?;
    allow_deps(rye.spaces().user()?, &pair, &identity, now())?;
    if out.is_json() {
        out.success(json!({"path": shown}));
        return Ok(Exit::DONE);
    }
    let shown = escape_line(&shown);
    out.line(&format!("tools of its space may load packages from `{shown}`"));
    out.line("  rye does not verify what lies in there: their integrity is shown as `external`");
    out.line(&format!("  take it back with `rye trust disallow {shown}`"));
    Ok(Exit::DONE)
}

/// `rye trust allow-provider`.
pub(super) fn provider(
    item: &str,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    rye.spaces().project()?;
    let query: Query = reference(item, rye)?.parse()?;
    let provider = project_provider(rye, &query)?;
    let pair = rye.signing().own_pair()?;
    let path = provider.path.display().to_string();
    let (url, key) = (provider.base_url.as_deref(), provider.credential_env.as_deref());
    let told = match (url, key) {
        (None, _) => "it is a script, and is sent nothing".to_owned(),
        (Some(url), None) => format!("{url} is sent all that a thread is told"),
        (Some(url), Some(key)) => {
            format!("{url} is sent all that a thread is told, and the key in `{key}`")
        }
    };
    confirm(&format!("let threads ask `{}`", provider.item), &told, context, out)?;
    allow_provider(rye.spaces().user()?, &pair, &provider, now())?;
    if out.is_json() {
        out.success(json!({
            "item_id": provider.item, "path": path, "sha256": provider.sha256, "base_url": url,
            "credential_env": key,
        }));
        return Ok(Exit::DONE);
    }
    out.line(&format!("threads may ask `{}`, as it is now", provider.item));
    out.line(&format!("  {}", escape_line(&told)));
    out.line(&format!("  take it back with `rye trust disallow {}`", escape_line(&path)));
    Ok(Exit::DONE)
}

/// `rye trust allow-backend`.
pub(super) fn backend(
    url: &str,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let unfit = |why| TrustError::UnfitServer { url: url.to_owned(), why };
    let server = BackendIdentity::parse(url).map_err(unfit)?;
    let pair = rye.signing().own_pair()?;
    let told = "it is sent the commands and files of their workspaces, and its key";
    let shown = &server.url;
    confirm(&format!("let threads have their sandboxes on `{shown}`"), told, context, out)?;
    allow_backend(rye.spaces().user()?, &pair, &server, now())?;
    if out.is_json() {
        out.success(json!({"url": shown}));
        return Ok(Exit::DONE);
    }
    out.line(&format!("threads may have their sandboxes on `{shown}`"));
    out.line("  they do where `config:agent/sandbox` of your user space says so");
    out.line(&format!("  take it back with `rye trust disallow {shown}`"));
    Ok(Exit::DONE)
}

/// `rye trust disallow`: it also works for files that are gone.
pub(super) fn disallow(
    path: &Path,
    rye: &Rye,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut named = rye.located().cwd.join(path);
    let user = rye.spaces().user()?;
    let server = path.to_str().and_then(|url| BackendIdentity::parse(url).ok());
    let (kinds, all) = match server {
        Some(server) => {
            named = PathBuf::from(server.url);
            (&[BACKENDS][..], vec![named.clone()])
        }
        None => (&[INTERPRETERS, DEPS, PROVIDERS][..], names(&named)),
    };
    let records =
        all.iter().flat_map(|name| kinds.iter().filter_map(move |kind| record_id(kind, name)));
    let mut there: Vec<ItemId> = records.filter(|id| user.path(&relative(id)).is_file()).collect();
    if there.is_empty()
        && let Some((id, file)) = provider_record(path, rye)?
    {
        (there, named) = (vec![id], file);
    }
    if there.is_empty() {
        let what = format!("you have not allowed `{}`", named.display());
        return Err(TrustError::NotFound { what }.into());
    }
    let shown = named.display().to_string();
    confirm(&format!("no longer let `{shown}` in"), "", context, out)?;
    for id in there {
        remove_own(user, &id)?;
    }
    if out.is_json() {
        out.success(json!({"path": shown}));
    } else {
        out.line(&format!("`{}` is not let in any more", escape_line(&shown)));
    }
    Ok(Exit::DONE)
}

/// The record about the provider of this project that has this ref, and where its file lies.
fn provider_record(named: &Path, rye: &Rye) -> Result<Option<(ItemId, PathBuf)>, Failure> {
    let query = named.to_str().and_then(|word| word.parse::<Query>().ok());
    let query = query.filter(|query| query.kind.is_none_or(|kind| kind == Kind::Tool));
    let Some(query) = query else { return Ok(None) };
    let item = Ref::new(Kind::Tool, query.id).to_string();
    let entries = rye.items().list(Space::User, Kind::Config)?;
    let ids = entries.iter().filter(|entry| entry.ext == "toml").map(|entry| &entry.item.id);
    let mut ids = ids.filter(|id| id.folder().strip_prefix("keys/") == Some(PROVIDERS));
    Ok(ids.find_map(|id| {
        let record = rye.trust().record::<ProviderIdentity>(id).ok()??;
        let is_it = record.item == item && record.path.starts_with(rye.spaces().project_path());
        is_it.then(|| (id.clone(), record.path))
    }))
}

/// The names that a record of this path may have been written under.
fn names(path: &Path) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    names.extend(path.canonicalize());
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        names.extend(folder.canonicalize().map(|folder| folder.join(name)));
    }
    names
}

/// An allowed file or folder, and its present state.
pub(in crate::cli) struct Allowed {
    pub(in crate::cli) what: &'static str,
    pub(in crate::cli) path: String,
    /// Why it is not used any more.
    pub(in crate::cli) stale: Option<String>,
    /// When the record was signed last.
    signed_at: Option<Timestamp>,
}

impl Allowed {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "what": self.what, "path": self.path, "used": self.stale.is_none(),
            "why": self.stale, "signed_at": self.signed_at,
        })
    }
}

/// Everything that you allowed, with the records that cannot be read.
pub(in crate::cli) fn allowed(rye: &Rye) -> Result<Vec<Allowed>, Failure> {
    let entries = rye.items().list(Space::User, Kind::Config)?;
    let mut rows = Vec::new();
    for entry in entries.iter().filter(|entry| entry.ext == "toml") {
        let row = match entry.item.id.folder().strip_prefix("keys/") {
            Some(INTERPRETERS) => file(&entry.item.id, rye),
            Some(DEPS) => folder(&entry.item.id, rye),
            Some(PROVIDERS) => named_provider(&entry.item.id, rye),
            Some(BACKENDS) => server(&entry.item.id, rye),
            _ => continue,
        };
        rows.extend(row);
    }
    Ok(rows)
}

fn file(id: &ItemId, rye: &Rye) -> Option<Allowed> {
    let what = "interpreter";
    let record = match rye.trust().record::<FileIdentity>(id) {
        Ok(record) => record?,
        Err(error) => return Some(unreadable(what, id, &error)),
    };
    let stale = match file_identity(rye.host(), &record.path) {
        None => Some("it is gone".to_owned()),
        Some(file) => stale(rye.trust().permits_file(&file)),
    };
    let signed_at = signed_at(&rye.trust(), id);
    Some(Allowed { what, path: record.path.display().to_string(), stale, signed_at })
}

fn folder(id: &ItemId, rye: &Rye) -> Option<Allowed> {
    let what = "packages";
    let record = match rye.trust().record::<ProjectIdentity>(id) {
        Ok(record) => record?,
        Err(error) => return Some(unreadable(what, id, &error)),
    };
    let stale = match ProjectIdentity::read(&record.path) {
        Err(_) => Some("it is gone".to_owned()),
        Ok(folder) => stale(rye.trust().permits_deps(&folder)),
    };
    let signed_at = signed_at(&rye.trust(), id);
    Some(Allowed { what, path: record.path.display().to_string(), stale, signed_at })
}

fn named_provider(id: &ItemId, rye: &Rye) -> Option<Allowed> {
    let what = "provider";
    let record = match rye.trust().record::<ProviderIdentity>(id) {
        Ok(record) => record?,
        Err(error) => return Some(unreadable(what, id, &error)),
    };
    // Of another project than this one only what is known without reading its items.
    let is_here = record.path.starts_with(rye.spaces().project_path());
    let now = || {
        let query: Query = record.item.parse().ok()?;
        project_provider(rye, &query).ok()
    };
    let stale = match (record.path.is_file(), is_here) {
        (false, _) => Some("it is gone".to_owned()),
        (true, false) => None,
        (true, true) => match now() {
            None => Some("it is not admitted any more".to_owned()),
            Some(now) => stale(now.permit(&rye.trust())),
        },
    };
    let signed_at = signed_at(&rye.trust(), id);
    Some(Allowed { what, path: record.path.display().to_string(), stale, signed_at })
}

fn server(id: &ItemId, rye: &Rye) -> Option<Allowed> {
    let what = "sandboxes";
    let record = match rye.trust().record::<BackendIdentity>(id) {
        Ok(record) => record?,
        Err(error) => return Some(unreadable(what, id, &error)),
    };
    let stale = stale(record.permit(&rye.trust()));
    Some(Allowed { what, path: record.url, stale, signed_at: signed_at(&rye.trust(), id) })
}

fn unreadable(what: &'static str, id: &ItemId, error: &TrustError) -> Allowed {
    let path = format!(".ai/{}", relative(id));
    Allowed { what, path, stale: Some(error.to_string()), signed_at: None }
}

fn stale(permit: Permit) -> Option<String> {
    match permit {
        Permit::Given => None,
        Permit::Unknown => Some("its record is about another path".into()),
        Permit::Stale(why) => Some(why),
    }
}
