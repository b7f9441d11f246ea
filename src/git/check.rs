//! Checks the staged files of `.ai` folders as they are staged.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::{GIT_REFUSED, GitError};
use super::index::with_slash;
use super::program::Repository;
use crate::base::bytes::{Bounded, read_plain};
use crate::base::limits::ITEM_BYTES;
use crate::base::text::{escape_line, invisible, position};
use crate::diagnostic::{Code, Diagnostic, Failure, Place};
use crate::id::{Kind, Ref, Space};
use crate::lock::{LOCK_DIFFERS, LOCK_MALFORMED, LockError};
use crate::plan::assignment;
use crate::resolve::RESOLVE_AMBIGUOUS_FILE;
use crate::rye::{CheckedItem, ItemVerdict, LockMode, Rye, RyeBuilder, variables_of};
use crate::space::{Entry, Odd, SPACE_SYMLINK, ai_folders};
use crate::trust::VERIFY_TRUST_UNREADABLE;
use crate::verify::{
    PARSE_INVISIBLE_TEXT, VERIFY_DEPENDENCY, VERIFY_EXPIRED, VERIFY_OUT_OF_SCOPE,
    VERIFY_PROJECT_NOT_ACCEPTED, VERIFY_UNTRUSTED,
};

/// Refusals that are about this person's trust and not about the file: another one, who trusts the
/// signer, commits it.
const MATTERS_OF_TRUST: [Code; 5] = [
    VERIFY_EXPIRED,
    VERIFY_OUT_OF_SCOPE,
    VERIFY_PROJECT_NOT_ACCEPTED,
    VERIFY_TRUST_UNREADABLE,
    VERIFY_UNTRUSTED,
];

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The file is not to be committed.
    Refused,
    /// It may be, but it will not run here.
    Warned,
}

/// Something about a staged file.
#[derive(Debug)]
pub(crate) struct CommitFinding {
    pub(crate) weight: Weight,
    pub(crate) diagnostic: Diagnostic,
}

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Staged files that differ from what is committed: those of `.ai` folders, and those outside
    /// that their tools list.
    pub(crate) files: usize,
    pub(crate) findings: Vec<CommitFinding>,
}

/// Folders relative to the top, with a slash at the end, whose `.ai` has changes staged, or has
/// tools that may list what has.
#[derive(Debug, Default)]
pub(crate) struct Projects {
    pub(crate) judged: BTreeSet<String>,
    /// An `.ai` that lies in the repository like any other folder, such as one for tests.
    pub(crate) passed_over: BTreeSet<String>,
}

/// Which projects are judged: the one at the top, the one in `here`, and those that `rye git
/// install` was run for, which their attribute says.
///
/// # Errors
/// `git.failed`
pub(crate) fn projects(repository: &Repository, here: &Path) -> Result<Projects, GitError> {
    let changed = repository.changed()?;
    let own = |path: &String| {
        ai_folders(Path::new(path)).map(|(folder, _)| with_slash(folder)).collect::<Vec<_>>()
    };
    let found: BTreeSet<String> = changed.iter().flat_map(own).collect();
    let above = repository.with_tools_above(&changed)?;
    let mut projects = Projects::default();
    for prefix in found.union(&above) {
        let is_here = here == repository.top().join(prefix);
        if prefix.is_empty() || is_here || repository.is_attributed(prefix)? {
            projects.judged.insert(prefix.clone());
        } else if found.contains(prefix) {
            projects.passed_over.insert(prefix.clone());
        }
    }
    Ok(projects)
}

/// Judges what is staged of one project: each file that differs from what is committed, and
/// whatever else fails because of it. `builder` is that of the project itself, whose standing
/// counts.
///
/// # Errors
/// `git.failed`, `git.io`, `space.*`, `verify.trust_unreadable`
pub(crate) fn check(
    repository: &Repository,
    prefix: &str,
    builder: RyeBuilder,
) -> Result<Findings, Failure> {
    let changed = repository.changed()?;
    let all: Vec<&str> = changed.iter().filter_map(|path| path.strip_prefix(prefix)).collect();
    let is_own = |path: &str| path == ".ai" || path.starts_with(".ai/");
    let mut changed: BTreeSet<&str> = all.iter().copied().filter(|path| is_own(path)).collect();
    if changed.contains(".ai") && repository.is_staged_as_link(prefix)? {
        return Ok(Findings { files: 1, findings: vec![link(prefix)] });
    }
    let folder = tempfile::Builder::new().prefix("rye-staged-").tempdir();
    let folder = folder.map_err(GitError::io(std::env::temp_dir()))?;
    let strange = repository.write_staged(prefix, folder.path())?;
    // What CI will refuse is not committed.
    let rye = builder.strict().project_files(folder.path().to_owned()).build()?;
    let rye = rye.refusing_dev_keys(true);
    if rye.spaces().get(Space::Project).is_none() {
        return Ok(Findings::default());
    }
    let mut listing = rye.items().survey(&[])?;
    listing.odd.extend(strange.into_iter().map(|path| {
        let place = Place { space: Some(Space::Project.to_string()), path, ..Place::default() };
        Odd::file(place, "its path is not plain")
    }));
    let own = |e: &Entry| e.space == Space::Project && !e.item.is_about_keys();
    let entries: Vec<_> = listing.entries.into_iter().filter(own).collect();
    let outside = rye.items().outside(&entries);
    let has_env = all.contains(&ENV);
    if has_env || !outside.is_empty() {
        let wanted = |path: &str| path == ENV || outside.holds(path);
        repository.write_beside(prefix, &wanted, folder.path())?;
    }
    let secrets = if has_env { staged_secrets(&rye, &entries, folder.path()) } else { None };
    changed.extend(all.into_iter().filter(|path| !is_own(path) && outside.holds(path)));
    if changed.is_empty() {
        let files = usize::from(secrets.is_some());
        return Ok(Findings { files, findings: secrets.into_iter().collect() });
    }
    let rows = rye.checks().all(entries.clone(), true, LockMode::Listed, &|| true);
    let mut findings: Vec<CommitFinding> =
        rows.iter().filter_map(|row| finding(row, &changed)).chain(secrets).collect();
    let bad = |row: &CheckedItem| matches!(row.verdict, ItemVerdict::Bad(_));
    let refused: BTreeSet<_> =
        rows.iter().filter(|row| bad(row)).map(|row| &row.entry.item).collect();
    let sound = entries.into_iter().filter(|entry| !refused.contains(&entry.item)).collect();
    findings.extend(drift(&rye, sound, &changed));
    findings.extend(gone(&rye, &changed));
    for odd in listing.odd.into_iter().filter(|odd| changed.contains(odd.place.path.as_str())) {
        findings.push(CommitFinding { weight: Weight::Refused, diagnostic: odd.diagnostic() });
    }
    let items: BTreeSet<&str> = rows.iter().map(|row| row.place.path.as_str()).collect();
    let others = changed.iter().filter(|path| !items.contains(**path));
    findings.extend(others.filter_map(|path| hidden(folder.path(), path)));
    // It refuses every item, and is one thing to mend.
    let mut is_told = false;
    findings.retain(|finding| {
        finding.diagnostic.code != LOCK_MALFORMED || !std::mem::replace(&mut is_told, true)
    });
    Ok(Findings { files: changed.len(), findings })
}

/// The file of a project that gives values to its tools.
const ENV: &str = ".env";

/// A staged `.env` that gives a variable which a tool asks for.
fn staged_secrets(rye: &Rye, entries: &[Entry], folder: &Path) -> Option<CommitFinding> {
    let Ok(Bounded::All(bytes)) = read_plain(&folder.join(ENV), ITEM_BYTES) else { return None };
    let text = String::from_utf8_lossy(&bytes);
    // A line that is malformed hides no other one here.
    let given = text.lines().filter_map(assignment).filter(|(_, value)| !value.is_empty());
    let given: BTreeSet<&str> = given.map(|(name, _)| name).collect();
    let asked = entries.iter().find_map(|entry| {
        let name = variables_of(rye, entry).into_iter().find(|it| given.contains(&**it))?;
        Some((name, &entry.item))
    });
    let (name, item) = asked?;
    let diagnostic = Diagnostic {
        code: GIT_REFUSED,
        message: format!("`{ENV}` is staged, and gives `{name}`, which `{item}` asks for"),
        help: Some(format!(
            "take it out with `git rm --cached {ENV}`; `rye git install` has git ignore it"
        )),
        place: Some(Place { path: ENV.to_owned(), ..Place::default() }),
        item: None,
        data: serde_json::Map::new(),
    };
    Some(CommitFinding { weight: Weight::Refused, diagnostic })
}

/// The finding about an `.ai` that is a link: it cannot be known what a clone will have in its
/// place.
fn link(prefix: &str) -> CommitFinding {
    let path = format!("{prefix}.ai");
    let diagnostic = Diagnostic {
        code: SPACE_SYMLINK,
        message: format!(
            "`{}` is staged as a symbolic link, so what it leads to is not checked",
            escape_line(&path)
        ),
        help: Some("stage the folder itself".into()),
        place: Some(Place { path, ..Place::default() }),
        item: None,
        data: serde_json::Map::new(),
    };
    CommitFinding { weight: Weight::Refused, diagnostic }
}

/// Text that a reviewer cannot see in a staged file that is no item, such as a module beside a tool
/// or a test spec. A file that is no text is not checked.
fn hidden(folder: &Path, path: &str) -> Option<CommitFinding> {
    let file = folder.join(path);
    let stat = file.symlink_metadata().ok()?;
    if !stat.is_file() || stat.len() > ITEM_BYTES {
        return None;
    }
    let text = String::from_utf8(std::fs::read(file).ok()?).ok()?;
    let (char, at) = invisible(&text)?;
    let place = Place { space: Some("project".into()), path: path.to_owned(), ..Place::default() };
    let diagnostic = Diagnostic {
        code: PARSE_INVISIBLE_TEXT,
        message: format!(
            "`{}` holds the invisible character U+{:04X}",
            escape_line(path),
            u32::from(char)
        ),
        help: Some("remove it, or write it as an escape".into()),
        place: Some(place.at(position(text.as_bytes(), at))),
        item: None,
        data: serde_json::Map::new(),
    };
    Some(CommitFinding { weight: Weight::Refused, diagnostic })
}

/// The findings of the lock about items that are sound: a row that lists other bytes must be
/// written anew in the same commit.
fn drift(rye: &Rye, entries: Vec<Entry>, changed: &BTreeSet<&str>) -> Vec<CommitFinding> {
    let rows = rye.checks().all(entries, false, LockMode::Exact, &|| true);
    let differs = |row: &&CheckedItem| matches!(&row.verdict, ItemVerdict::Bad(f) if f.reason() == LOCK_DIFFERS);
    rows.iter().filter(differs).filter_map(|row| finding(row, changed)).collect()
}

/// The findings about rows of the lock whose item is gone, if a staged file is concerned. A lock
/// that cannot be read is reported with each item.
fn gone(rye: &Rye, changed: &BTreeSet<&str>) -> Vec<CommitFinding> {
    let names = rye.locks().gone_rows().map(|(_, names)| names).unwrap_or_default();
    let items = names.into_iter().filter_map(|name| Some(Ref::new(name.kind?, name.id)));
    let concerned = items.filter(|item| {
        let stem = format!(".ai/{}/{}.", item.kind.folder(), item.id);
        changed.contains(".ai/rye.lock") || changed.iter().any(|path| path.starts_with(&stem))
    });
    let finding = |item| CommitFinding {
        weight: Weight::Refused,
        diagnostic: Failure::from(LockError::Gone { item }).diagnostic(),
    };
    concerned.map(finding).collect()
}

/// The finding of a row, if what is staged has to do with it.
fn finding(row: &CheckedItem, changed: &BTreeSet<&str>) -> Option<CommitFinding> {
    let ItemVerdict::Bad(failure) = &row.verdict else { return None };
    let code = failure.reason();
    let is_about_lock = crate::lock::refuses_with(code);
    let concerned = changed.contains(row.place.path.as_str())
        || (is_about_lock && changed.contains(".ai/rye.lock"))
        || (code == VERIFY_DEPENDENCY && row.entry.item.kind == Kind::Tool && parts(changed))
        || (code == RESOLVE_AMBIGUOUS_FILE && changed.iter().any(|path| is_twin(row, path)));
    let trust = MATTERS_OF_TRUST.contains(&code);
    let weight = if trust { Weight::Warned } else { Weight::Refused };
    concerned.then(|| CommitFinding { weight, diagnostic: failure.diagnostic() })
}

/// Returns true if a file that a tool may list has changed.
fn parts(changed: &BTreeSet<&str>) -> bool {
    changed.iter().any(|path| path.starts_with(".ai/tools/") || !path.starts_with(".ai/"))
}

/// Returns true if the file at `path` gives the same id as this row's.
fn is_twin(row: &CheckedItem, path: &str) -> bool {
    let stem = format!(".ai/{}/{}.", row.entry.item.kind.folder(), row.entry.item.id);
    path.strip_prefix(&stem).is_some_and(|ext| !ext.contains(['.', '/']))
}
