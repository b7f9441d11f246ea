//! `rye doctor`: what works here and what does not, with what to do about it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::context::Context;
use super::error::CliError;
use super::exit::Exit;
use super::out::Out;
use crate::base::text::escape_line;
use crate::diagnostic::{Diagnose, Diagnostic, Failure, Style};
use crate::host::SandboxLevel;
use crate::id::{Kind, Query, Space};
use crate::parse::Item;
use crate::rye::{ItemVerdict, LockMode, Rye};
use crate::scaffold::Lang;
use crate::space::{Entry, NotSearched, SPACE_NO_PROJECT, Searched};
use crate::verify::{EXAMPLE, KeyError, OwnKeys, TrustError, VERIFY_PROJECT_NOT_ACCEPTED};

/// Check the set-up, and say how to mend what is wrong; ends with 4 where something is bad
#[derive(clap::Args)]
pub(super) struct Args {}

/// How many items a row names.
const NAMED: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// It works, but the person should know it.
    Note,
    Bad,
}

/// One thing that was looked at.
struct Row {
    name: &'static str,
    state: State,
    text: String,
    help: Option<String>,
}

fn row(name: &'static str, state: State, text: impl Into<String>) -> Row {
    Row { name, state, text: text.into(), help: None }
}

#[expect(clippy::unnecessary_wraps, reason = "every verb has the same shape")]
pub(super) fn run(_: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (rye, first, refused) = match context.rye() {
        Ok(rye) => {
            let first = project(&rye);
            (rye, first, None)
        }
        Err(error) => {
            let told = error.diagnostic();
            let (text, help) = (told.message.clone(), told.help.clone());
            let failed = Row { help, ..row("spaces", State::Bad, text) };
            // A fault of the project alone hides nothing else.
            match context.rye_of_user() {
                Ok(rye) => (rye, failed, Some(told)),
                Err(_) => return Ok(show(&[failed], Some(told), out)),
            }
        }
    };
    let mut rows = vec![first];
    rows.extend(unknown_signers(&rye));
    rows.extend(env_file(&rye));
    rows.push(user(&rye));
    rows.extend(ground(&rye));
    rows.extend(keys(&rye));
    rows.extend(documents(&rye));
    if let Err(failure) = rye.sound_types() {
        let help = failure.help();
        rows.push(Row { help, ..row("file types", State::Bad, failure.to_string()) });
    }
    rows.extend(allowed(&rye));
    rows.push(system(&rye));
    rows.extend(lock(&rye));
    rows.extend(programs(&rye));
    rows.extend(sandbox());
    rows.extend(root());
    rows.extend(clients(&rye));
    if rye.dev_mode() {
        let text = "RYE_DEV_MODE=1: unsigned and changed items of yours run with a warning";
        rows.push(row("dev mode", State::Note, text));
    }
    let bad = rows.iter().find(|row| row.state == State::Bad);
    let bad = bad.map(|row| CliError::SetUp { what: row.text.clone(), help: row.help.clone() });
    Ok(show(&rows, refused.or_else(|| bad.as_ref().map(Diagnostic::from)), out))
}

/// A note for root, whose rights no sandbox takes away.
fn root() -> Option<Row> {
    let is_root = rustix::process::geteuid().is_root();
    is_root.then(|| Row {
        help: Some("run rye as a user of its own; what a tool may read of `/etc` is root's".into()),
        ..row("root", State::Note, "you are root: a tool in its sandbox still owns root's files")
    })
}

/// The sandbox levels: which one holds tools here, and why each other one does not work.
fn sandbox() -> Vec<Row> {
    let levels = crate::sandbox::tried();
    let works = levels.iter().any(|(_, level)| level.is_ok());
    let lacking = if works { State::Note } else { State::Bad };
    let rows = levels.into_iter().map(|(level, tried)| match tried {
        Ok(what) => row("sandbox", State::Good, format!("{} works: {what}", level.as_str())),
        Err(why) => {
            let goes = match level {
                SandboxLevel::Bwrap if works => {
                    "; so tools that list hosts or services, or need `net: loopback`, do not run"
                }
                _ => "",
            };
            let text = format!("{} does not work: {}{goes}", level.as_str(), why.why);
            Row { help: Some(why.mend), ..row("sandbox", lacking, text) }
        }
    });
    rows.collect()
}

/// The clients of agents that seem to be here, and whether they know rye.
#[cfg(feature = "mcp")]
fn clients(rye: &Rye) -> Vec<Row> {
    let rows = super::mcp_install::entries(rye).into_iter().map(|(name, path, has)| match has {
        Ok(true) => row("client", State::Good, format!("{name} has an entry for rye in {path}")),
        Ok(false) => Row {
            help: Some(format!("to let its agents use rye: `rye mcp install {name}`")),
            ..row("client", State::Note, format!("{name} has no entry for rye in {path}"))
        },
        Err(why) => {
            row("client", State::Note, format!("{name} keeps {path}, which is unread: {why}"))
        }
    });
    rows.collect()
}

#[cfg(not(feature = "mcp"))]
fn clients(_: &Rye) -> Vec<Row> {
    Vec::new()
}

fn project(rye: &Rye) -> Row {
    let path = rye.spaces().project_path().display().to_string();
    let Err(failure) = rye.project().must_be_accepted() else {
        return accepted(&path);
    };
    let told = failure.diagnostic();
    if told.code == VERIFY_PROJECT_NOT_ACCEPTED {
        let help = "see what it brings with `rye trust review`, or set it up with `rye init`";
        let what = format!("{path}, not accepted: its items do not run");
        return Row { help: Some(help.into()), ..row("project", State::Note, what) };
    }
    let state = if told.code == SPACE_NO_PROJECT { State::Note } else { State::Bad };
    Row { help: told.help, ..row("project", state, told.message) }
}

/// A project that may be used; that nothing can be kept in it is worth knowing.
fn accepted(path: &str) -> Row {
    match unwritable(Path::new(path)) {
        None => row("project", State::Good, format!("{path}, accepted")),
        Some((why, help)) => Row {
            help: Some(help),
            ..row("project", State::Note, format!("{path}, accepted; it {why}"))
        },
    }
}

/// Items of an accepted project that do not run, because you do not trust who signed them.
fn unknown_signers(rye: &Rye) -> Option<Row> {
    rye.project().must_be_accepted().ok()?;
    rye.project().has_unknown_signers().ok()?.then(|| Row {
        help: Some("see them, and how to let each key in, with `rye trust review`".into()),
        ..row("signers", State::Note, "items here are signed by keys that you do not trust yet")
    })
}

/// The foreign ground of this folder, and what is not used because it lies there.
/// A note on secrets that a commit would take in.
fn env_file(rye: &Rye) -> Option<Row> {
    crate::git::would_commit_env(rye.spaces().project_path()).then(|| Row {
        help: Some(
            "let git ignore it with `rye git install`; if it was committed, take it out with \
             `git rm --cached .env` and change what it gives"
                .into(),
        ),
        ..row("`.env`", State::Note, "git does not ignore the project's `.env`")
    })
}

fn ground(rye: &Rye) -> Vec<Row> {
    let ground = rye.spaces().ground();
    let vars = &rye.located().vars;
    let folders: Vec<_> = ground.folders().map(|folder| folder.display().to_string()).collect();
    let text = match folders.as_slice() {
        [] => "nothing here: this folder is or holds your own".to_owned(),
        folders => format!(
            "{}: no space, no private folder and no program is taken from there",
            folders.join(", ")
        ),
    };
    let mut rows = vec![row("ground", State::Good, text)];
    for Searched { folder, why_not, .. } in ground.search_path(vars) {
        let text = |why: NotSearched| {
            format!("`{}` of PATH is passed over: {}", folder.display(), why.as_str())
        };
        rows.extend(why_not.map(|why| row("PATH", State::Note, text(why))));
    }
    if let Some(folder) = vars.path("XDG_RUNTIME_DIR").filter(|folder| ground.holds(folder)) {
        let text = format!("`{}` lies there, and is not used for runs", folder.display());
        let help = Some("unset XDG_RUNTIME_DIR, or let it name a folder of the session".to_owned());
        rows.push(Row { help, ..row("runtime", State::Note, text) });
    }
    rows
}

fn user(rye: &Rye) -> Row {
    let Ok(user) = rye.spaces().user() else {
        let text = "neither USER_SPACE nor HOME is set; only shipped items can run";
        return row("user space", State::Note, text);
    };
    let folder = user.base().join(".ai");
    let text = folder.display().to_string();
    match std::fs::metadata(&folder) {
        Ok(stat) if stat.permissions().mode() & 0o002 != 0 => Row {
            help: Some(format!("close it: `chmod o-w {text}`")),
            ..row("user space", State::Bad, format!("{text} is writable by others"))
        },
        Ok(_) => match unwritable(&folder) {
            None => row("user space", State::Good, text),
            Some((why, help)) => Row {
                help: Some(format!("nothing can be kept there; {help}")),
                ..row("user space", State::Bad, format!("{text} {why}"))
            },
        },
        Err(_) if unwritable(user.base()).is_some() => Row {
            help: Some("let HOME or USER_SPACE name a folder that you can write".into()),
            ..row("user space", State::Bad, format!("{text} is not there and cannot be made"))
        },
        Err(_) => row("user space", State::Note, format!("{text} is not there yet")),
    }
}

/// Why nothing can be written to a folder, and what mends it.
fn unwritable(folder: &Path) -> Option<(&'static str, String)> {
    let path = folder.display();
    if let Ok(disk) = rustix::fs::statvfs(folder) {
        if disk.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
            let help = "mount that file system for writing, or work in another folder";
            return Some(("cannot be written: its file system is read-only", help.into()));
        }
        // What is kept back for root is root's.
        let is_root = rustix::process::geteuid().is_root();
        let room = if is_root { disk.f_bfree } else { disk.f_bavail };
        if disk.f_blocks > 0 && room == 0 {
            let help = format!("make room: `df -h {path}`");
            return Some(("cannot be written: its file system is full", help));
        }
    }
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let help = || ("cannot be written", format!("let yourself in: `chmod u+w {path}`"));
    rustix::fs::access(folder, access).is_err().then(help)
}

fn keys(rye: &Rye) -> Vec<Row> {
    let Ok(user) = rye.spaces().user() else { return Vec::new() };
    let keys = OwnKeys::new(user);
    let finished = keys.finish_rotation();
    let mut rows = vec![match keys.find_public() {
        Ok(Some(public)) if public.fingerprint() == EXAMPLE => Row {
            help: Some("make one of your own: `rye keys rotate`".into()),
            ..row("key", State::Bad, "the example key, whose private half is public")
        },
        Ok(Some(_)) if rye.trust().own_is_revoked() => Row {
            help: Some("make another: `rye keys rotate`".into()),
            ..row("key", State::Bad, "you revoked your own key")
        },
        Ok(Some(public)) => row("key", State::Good, public.fingerprint().to_string()),
        Ok(None) => Row {
            help: Some("to sign, make one: `rye keys generate`".into()),
            ..row("key", State::Note, "none yet; shipped items run without one")
        },
        Err(error) => Row { help: error.help(), ..row("key", State::Bad, error.to_string()) },
    }];
    if rye.project().must_be_accepted().is_ok() && super::trust::is_unproposed(rye) {
        rows.push(Row {
            help: Some("let colleagues find it: `rye trust propose`, and commit the file".into()),
            ..row("key", State::Note, "this project does not propose yours")
        });
    }
    match finished {
        Ok(false) => {}
        Ok(true) => {
            let text = "a change of your key was cut short; what it left undone is done now";
            rows.push(row("rotation", State::Note, text));
        }
        // If the key cannot be read, the row above says why.
        Err(TrustError::Key(_)) => {}
        Err(error) => rows.push(Row {
            help: Some("mend that, then run `rye doctor` again".into()),
            ..row("rotation", State::Bad, format!("it was cut short and waits: {error}"))
        }),
    }
    // If there is a key, its row says so.
    let folder = keys.folder();
    let is_open = std::fs::metadata(&folder).is_ok_and(|m| m.permissions().mode() & 0o077 != 0);
    if is_open && matches!(keys.find_public(), Ok(None)) {
        let error = KeyError::OpenFolder { path: folder };
        rows.push(Row { help: error.help(), ..row("key folder", State::Bad, error.to_string()) });
    }
    rows
}

/// Reads every trust document.
fn documents(rye: &Rye) -> Vec<Row> {
    let trust = rye.trust();
    let entries = rye.items().list(Space::User, Kind::Config).unwrap_or_default();
    let named = entries.iter().filter(|e| e.item.id.folder() == "keys/trusted");
    let keys: Vec<crate::id::Fingerprint> =
        named.filter_map(|e| e.item.id.name().parse().ok()).collect();
    let mut rows = Vec::new();
    let mut good = 0;
    for key in keys {
        match trust.document(key) {
            Ok(Some(document)) if document.example => rows.push(Row {
                help: Some(format!("when the walk is done: `rye trust remove {key}`")),
                ..row("trust", State::Note, "the example key is let in; its private half is public")
            }),
            Ok(Some(_)) => good += 1,
            Ok(None) => rows.push(row("trust", State::Bad, format!("{key} is a weak key"))),
            Err(error) => {
                rows.push(Row {
                    help: error.help(),
                    ..row("trust", State::Bad, error.to_string())
                });
            }
        }
    }
    rows.insert(
        0,
        row(
            "trust",
            State::Good,
            match good {
                1 => "1 key of somebody else".to_owned(),
                good => format!("{good} keys of others"),
            },
        ),
    );
    rows
}

/// One row for each thing that was allowed in a project.
fn allowed(rye: &Rye) -> Vec<Row> {
    let rows = super::trust::allowed(rye).unwrap_or_default().into_iter().map(|allowed| {
        let path = &allowed.path;
        match allowed.stale {
            None => row("allowed", State::Good, format!("{}  {path}", allowed.what)),
            Some(why) => Row {
                help: Some(format!(
                    "take it back with `rye trust disallow {path}`, or allow it anew"
                )),
                ..row(
                    "allowed",
                    State::Note,
                    format!("{}  {path} is not used: {why}", allowed.what),
                )
            },
        }
    });
    rows.collect()
}

/// Verifies every item of the system space.
fn system(rye: &Rye) -> Row {
    let listing = rye.items().survey(&[]).unwrap_or_default();
    let system: Vec<_> = listing.entries.into_iter().filter(|e| e.space == Space::System).collect();
    let checked = rye.checks().all(system, true, LockMode::Off, &|| true);
    let bad: Vec<_> = checked
        .iter()
        .filter(|c| matches!(c.verdict, ItemVerdict::Bad(_)))
        .map(|c| c.entry.item.to_string())
        .collect();
    let text = format!("{} items, {} verified", checked.len(), checked.len() - bad.len());
    match bad.first() {
        None => row("system", State::Good, text),
        Some(first) => Row {
            help: Some(format!("see `rye why {first}`")),
            ..row("system", State::Bad, format!("{text}; refused: {}", bad.join(", ")))
        },
    }
}

/// The lock of the project, if it has one.
fn lock(rye: &Rye) -> Option<Row> {
    let (count, gone) = match rye.locks().gone_rows() {
        Ok((0, _)) => return None,
        Ok(rows) => rows,
        Err(failure) => {
            return Some(Row {
                help: failure.help(),
                ..row("lock", State::Bad, failure.to_string())
            });
        }
    };
    let text = format!("{count} items are locked");
    let Some(first) = gone.first() else { return Some(row("lock", State::Good, text)) };
    let names: Vec<_> = gone.iter().map(ToString::to_string).collect();
    Some(Row {
        help: Some(format!("take a row out with `rye lock --remove {first}`")),
        ..row("lock", State::Note, format!("{text}; not there any more: {}", names.join(", ")))
    })
}

/// The programs that the shipped runtimes start, as a run here would find them.
fn programs(rye: &Rye) -> Vec<Row> {
    let wanted = [
        ("python3", "rye/core/runtimes/python/", "script", "Python tools"),
        ("bash", "rye/core/runtimes/shell/", "script", "shell tools and `rye/bash`"),
        ("node", "rye/core/runtimes/node/", "node", "JavaScript tools"),
    ];
    let rows = wanted.into_iter().flat_map(|(program, family, runtime, what)| {
        let runtime = format!("tool:{family}{runtime}");
        let (found, passed_over) = rye.items().find_program(&runtime, program);
        let found = match found {
            Some(path) => {
                let typescript = Lang::TypeScript.needs().filter(|_| program == "node");
                let beside = typescript.map(|needs| format!("  (TypeScript takes {needs})"));
                let text = format!("{program}  {}{}", path.display(), beside.unwrap_or_default());
                row("program", State::Good, text)
            }
            None => lacking(rye, program, family, what, passed_over.is_empty()),
        };
        let passed = passed_over.into_iter().map(move |passed| Row {
            help: passed.help.map(|help| format!("to use it, run `{help}`")),
            ..row("program", State::Note, format!("{} is passed over: {}", passed.path, passed.why))
        });
        std::iter::once(found).chain(passed)
    });
    rows.collect()
}

/// A program that is not there, with the items that need it: without one it is worth a note.
fn lacking(rye: &Rye, program: &str, family: &str, what: &str, is_nowhere: bool) -> Row {
    let tools = Space::NEAREST_FIRST.map(|space| rye.items().list(space, Kind::Tool));
    let tools = tools.into_iter().flat_map(Result::unwrap_or_default);
    let tools = tools.filter(|tool| !tool.item.id.is_runtime_part());
    let tools = tools.map(|Entry { item, space, bundle, .. }| Query {
        space: Some(space),
        bundle,
        ..item.into()
    });
    let described = rye.items().describe_all(tools.collect());
    let needs = |item: &Item| match item {
        Item::Tool(tool) => {
            tool.executor.as_ref().is_some_and(|id| id.as_str().starts_with(family))
        }
        _ => false,
    };
    let needing = described.into_iter().flatten().filter(|described| needs(&described.item));
    let needing: Vec<_> = needing.map(|described| described.detail.item.to_string()).collect();
    let (another, told) = match is_nowhere {
        true => ("", format!("{program} is not on PATH")),
        false => ("another ", format!("no {program} that is there may be used")),
    };
    let (state, told) = match needing.as_slice() {
        [] => (State::Note, told),
        items => {
            let more = items.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = items[..items.len().min(NAMED)].join(", ");
            (State::Bad, format!("{told}, and {named}{more} cannot run without it"))
        }
    };
    let help = Some(format!("install {another}`{program}` to run {what}"));
    Row { help, ..row("program", state, told) }
}

fn show(rows: &[Row], failed: Option<Diagnostic>, out: &mut Out) -> Exit {
    if out.is_json() {
        let word = |state| match state {
            State::Good => "good",
            State::Note => "note",
            State::Bad => "bad",
        };
        let checks: Vec<Value> = rows
            .iter()
            .map(
                |r| json!({"name": r.name, "state": word(r.state), "text": r.text, "help": r.help}),
            )
            .collect();
        out.batch(failed.as_ref(), json!({"checks": checks}));
    } else {
        let paint = out.paint();
        for row in rows {
            let mark = match row.state {
                State::Good => paint.style(Style::Good, "ok  "),
                State::Note => paint.style(Style::Warning, "note"),
                State::Bad => paint.style(Style::Error, "bad "),
            };
            let line = format!("{mark}  {:<10}  {}", row.name, escape_line(&row.text));
            out.line(&line);
            if let Some(help) = &row.help {
                out.line(&format!("                  help: {}", escape_line(help)));
            }
        }
    }
    Exit::Status(failed.map_or(0, |failed| failed.code.exit_status().max(4)))
}
