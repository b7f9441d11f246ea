//! The hooks, the merge driver and the attribute: set up, taken out, looked at.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::part::{Edit, Objection, hook, line, no_hook, no_line, read};
use super::program::Repository;
use crate::base::bytes::write_atomic;

/// The hooks before a commit: one's own, and that of a merge without conflicts.
const HOOKS: [&str; 2] = ["pre-commit", "pre-merge-commit"];
/// Line endings stay as they were signed, and conflicts are for our driver.
const ATTRIBUTE: &str = "/.ai/** -text merge=rye";
/// Values of `.env` are secrets, and what rye keeps there is each person's own.
const IGNORED: [&str; 2] = ["/.env", "/.ai/state/"];
const DRIVER: &str = "merge.rye.driver";
const NAME: &str = "merge.rye.name";
const NAME_IS: &str = "signed items: merged without their signature lines";

const SHARED: Objection =
    "your configuration names this folder for the hooks of all your repositories";
const OTHERS: Objection = "another project of this repository is set up, too";

/// The action that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetupAction {
    In,
    Out,
    /// Nothing is changed.
    Look,
}

/// How one of the places is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlaceState {
    /// It was put there.
    Added,
    /// It was another one before.
    Updated,
    Removed,
    /// It is there, as it would be written.
    There,
    /// Something else of ours is there.
    Outdated,
    Absent,
    /// It is not ours to change, for a reason.
    Kept,
}

/// One place.
#[derive(Debug)]
pub(crate) struct Row {
    /// `pre-commit`, `pre-merge-commit`, `merge driver`, `attribute`, `line ends`, `ignored`.
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) state: PlaceState,
    pub(crate) why: Option<Objection>,
}

/// Sets up or takes out what calls `rye`, which is the program at that path, for the project in
/// `project`; or only says how things are. One place that is not ours to change stops no other.
///
/// # Errors
/// `git.failed`, `git.io`
pub(crate) fn set_up(
    repository: &Repository,
    project: &Path,
    rye: &Path,
    wanted: SetupAction,
) -> Result<Vec<Row>, GitError> {
    let mut rows = Vec::new();
    let hooks = repository.own_path("hooks")?;
    let is_shared = repository.are_shared(&hooks)?;
    let attributes = project.join(".gitattributes");
    // What belongs to the repository stays while another project of it is set up.
    let others = wanted == SetupAction::Out && repository.has_other_projects(&attributes)?;
    for name in HOOKS {
        let path = hooks.join(name);
        if is_shared || (others && is_ours(&path)) {
            let (why, ours) = (if is_shared { SHARED } else { OTHERS }, is_ours(&path));
            let state = match wanted {
                _ if ours => PlaceState::There,
                SetupAction::Out => PlaceState::Absent,
                _ => PlaceState::Kept,
            };
            rows.push(Row { what: name, path, state, why: Some(why) });
            continue;
        }
        let edit = |before| match wanted {
            SetupAction::Out => no_hook(before),
            _ => hook(&path, before, &call(rye, "check", " || exit 1")),
        };
        rows.push(file(name, &path, 0o755, wanted, &edit)?);
    }
    let mut row = driver(repository, rye, if others { SetupAction::Look } else { wanted })?;
    row.why = (others && row.state != PlaceState::Absent).then_some(OTHERS);
    rows.push(row);
    let path = attributes;
    let edit = |before| {
        Ok(match wanted {
            SetupAction::Out => no_line(before, ATTRIBUTE),
            _ => line(before, ATTRIBUTE),
        })
    };
    rows.push(file("attribute", &path, 0o644, wanted, &edit)?);
    if wanted == SetupAction::In && put_line_ends_back(repository, project)? {
        let path = project.join(".ai");
        rows.push(Row { what: "line ends", path, state: PlaceState::Updated, why: None });
    }
    // Uninstalling leaves `.gitignore` as it is, so that no secret is committed later.
    if wanted != SetupAction::Out {
        rows.push(ignored(project, wanted)?);
    }
    Ok(rows)
}

/// Gives the project's files the line ends back that git changed at a check-out, as with
/// `core.autocrlf`: it takes them for unchanged, so that no later check-out does. What else was
/// written into them stays. True if there were any.
fn put_line_ends_back(repository: &Repository, project: &Path) -> Result<bool, GitError> {
    let ai = project.join(".ai").display().to_string();
    let listed = repository.ask(&["ls-files", "-z", "--eol", "--", &ai])?;
    let mut is_any = false;
    for row in listed.split(|byte| *byte == 0) {
        let Some(at) = row.iter().position(|byte| *byte == b'\t') else { continue };
        let ends = String::from_utf8_lossy(&row[..at]);
        let mut ends = ends.split_whitespace();
        let was_changed =
            ends.next() == Some("i/lf") && matches!(ends.next(), Some("w/crlf" | "w/mixed"));
        let path = repository.top().join(OsStr::from_bytes(&row[at + 1..]));
        if let (true, Ok(Some(text))) = (was_changed, read(&path)?) {
            let text = text.replace("\r\n", "\n");
            write_atomic(&path, text.as_bytes(), 0o644).map_err(GitError::io(&path))?;
            is_any = true;
        }
    }
    Ok(is_any)
}

/// Has git ignore what is never to be committed, in a project that lies in a working tree; true if
/// that is new.
///
/// # Errors
/// `git.failed`, `git.io`
pub(crate) fn ignore_secrets(project: &Path) -> Result<bool, GitError> {
    match Repository::discover(project) {
        Ok(_) => Ok(ignored(project, SetupAction::In)?.state == PlaceState::Added),
        Err(_) => Ok(false),
    }
}

/// Says if the project has a `.env` that git would commit.
pub(crate) fn would_commit_env(project: &Path) -> bool {
    let path = project.join(".env");
    let Ok(repository) = Repository::discover(project) else { return false };
    let ignored = repository.find(&["check-ignore", "-q", "--", &path.display().to_string()]);
    path.exists() && matches!(ignored, Ok(None))
}

fn ignored(project: &Path, wanted: SetupAction) -> Result<Row, GitError> {
    let edit = |before: Option<String>| {
        let mut edit = Edit { after: before.clone(), before };
        for name in IGNORED {
            let bare = name.trim_start_matches('/');
            let is_there = |text: &String| text.lines().any(|line| line.trim() == bare);
            if !edit.after.as_ref().is_some_and(is_there) {
                edit.after = line(edit.after.take(), name).after;
            }
        }
        Ok(edit)
    };
    file("ignored", &project.join(".gitignore"), 0o644, wanted, &edit)
}

impl Repository {
    /// Returns true if conflicts of the project's items are for our driver, by the staged
    /// attributes or those in the folder.
    ///
    /// # Errors
    /// `git.failed`
    pub(super) fn is_attributed(&self, prefix: &str) -> Result<bool, GitError> {
        let path = format!("{prefix}.ai/tools/x");
        for more in [&["--cached"][..], &[]] {
            let args = [&["check-attr", "-z"], more, &["merge", "--", &path]].concat();
            let said = self.ask(&args)?;
            if said.split(|byte| *byte == 0).nth(2) == Some(b"rye") {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Repository {
    /// Returns true if the folder of hooks is one that other repositories look into as well.
    fn are_shared(&self, hooks: &Path) -> Result<bool, GitError> {
        let scope = self.find(&["config", "--show-scope", "--get", "core.hooksPath"])?;
        let scope = scope.unwrap_or_default();
        let is_wide = [&b"global\t"[..], b"system\t"].iter().any(|wide| scope.starts_with(wide));
        if !is_wide {
            return Ok(false);
        }
        let common = self.ask(&["rev-parse", "--git-common-dir"])?;
        let common = self.top().join(OsStr::from_bytes(common.trim_ascii_end()));
        Ok(!hooks.starts_with(self.top()) && !hooks.starts_with(common))
    }

    /// Returns true if our attribute stands in another file of the working tree than this one.
    fn has_other_projects(&self, own: &Path) -> Result<bool, GitError> {
        let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = self.ask(&listed)?;
        let all =
            listed.split(|byte| *byte == 0).map(|path| self.top().join(OsStr::from_bytes(path)));
        let files = all.filter(|path| path.ends_with(".gitattributes") && !is_one_file(path, own));
        Ok(files.into_iter().any(|path| {
            matches!(read(&path), Ok(Ok(Some(text))) if text.lines().any(|line| line == ATTRIBUTE))
        }))
    }
}

fn is_one_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// A line of shell that calls this rye, or the one on the path if it is gone.
fn call(rye: &Path, verb: &str, behind: &str) -> String {
    let path = rye.display().to_string().replace('\'', r"'\''");
    format!(
        "if [ -x '{path}' ]; then '{path}' git {verb}{behind}; else rye git {verb}{behind}; fi\n"
    )
}

fn file(
    what: &'static str,
    path: &Path,
    mode: u32,
    wanted: SetupAction,
    edit: &dyn Fn(Option<String>) -> Result<Edit, Objection>,
) -> Result<Row, GitError> {
    let row = |state, why| Row { what, path: path.to_owned(), state, why };
    let edit = match read(path)?.and_then(edit) {
        Ok(edit) => edit,
        // What is not there needs not be taken out.
        Err(_) if wanted == SetupAction::Out && !is_ours(path) => {
            return Ok(row(PlaceState::Absent, None));
        }
        Err(why) => return Ok(row(PlaceState::Kept, Some(why))),
    };
    let had = edit
        .before
        .as_deref()
        .is_some_and(|text| text.contains("rye git") || text.contains("merge=rye"));
    let state = match (wanted, edit.is_change()) {
        (SetupAction::In | SetupAction::Look, false) => PlaceState::There,
        (SetupAction::In, true) => {
            if had {
                PlaceState::Updated
            } else {
                PlaceState::Added
            }
        }
        (SetupAction::Look, true) => {
            if had {
                PlaceState::Outdated
            } else {
                PlaceState::Absent
            }
        }
        (SetupAction::Out, true) => PlaceState::Removed,
        (SetupAction::Out, false) => PlaceState::Absent,
    };
    if wanted != SetupAction::Look {
        edit.write(path, mode)?;
    }
    Ok(row(state, None))
}

fn is_ours(path: &Path) -> bool {
    matches!(read(path), Ok(Ok(Some(text))) if text.contains(">>> rye git"))
}

fn driver(repository: &Repository, rye: &Path, wanted: SetupAction) -> Result<Row, GitError> {
    // git puts words in for what begins with `%`.
    let rye = PathBuf::from(rye.display().to_string().replace('%', "%%"));
    let command = call(&rye, "merge -- %O %A %B %L %P", "");
    let command = command.trim_end();
    let get = ["config", "--local", "--get", DRIVER];
    let before = repository.find(&get)?.map(|value| String::from_utf8_lossy(&value).into_owned());
    let is_same = before.as_deref() == Some(command);
    let state = match (wanted, &before) {
        (SetupAction::In | SetupAction::Look, Some(_)) if is_same => PlaceState::There,
        (SetupAction::In, Some(_)) => PlaceState::Updated,
        (SetupAction::In, None) => PlaceState::Added,
        (SetupAction::Look, Some(_)) => PlaceState::Outdated,
        (SetupAction::Out, Some(_)) => PlaceState::Removed,
        (SetupAction::Look | SetupAction::Out, None) => PlaceState::Absent,
    };
    match state {
        PlaceState::Added | PlaceState::Updated => {
            repository.ask(&["config", "--local", NAME, NAME_IS])?;
            repository.ask(&["config", "--local", DRIVER, command])?;
        }
        PlaceState::Removed => {
            repository.ask(&["config", "--local", "--remove-section", "merge.rye"])?;
        }
        _ => {}
    }
    let path = repository.own_path("config")?;
    Ok(Row { what: "merge driver", path, state, why: None })
}
