//! Which interpreter runs the tool: the nearest link's block, looked up on this machine (core 7.6).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::program::{Chosen, Seeker};
use super::version_managers::{Version, of_manager};
use crate::base::limits::SMALL_TEXT_BYTES;
use crate::chain::{Chain, Link};
use crate::host::{RUN_VAR, Spawn, THREAD_VAR};
use crate::id::Space;
use crate::parse::{Interpreter, Search};
use crate::plan::error::PlanError;

/// How long a program that tells an interpreter's path may take, in milliseconds: it is in the way
/// of every run.
const INTERPRETER_COMMAND_MS: u64 = 5_000;

/// The variable of the interpreter that the chain asks for, and the program; `None` if no link
/// asks.
///
/// # Errors
/// `plan.bad_config`, `plan.program_not_found`
pub(in crate::plan) fn find(
    chain: &Chain,
    seek: &mut Seeker<'_>,
) -> Result<Option<(String, Chosen)>, PlanError> {
    let asking = |link: &'_ Link| link.tool.interpreter.is_some();
    let Some(link) = chain.links().iter().find(|link| asking(link)) else { return Ok(None) };
    let Some(block) = &link.tool.interpreter else { return Ok(None) };
    let bad = |pointer, why: &str| {
        let (item, why) = (link.item().clone(), why.to_owned());
        PlanError::BadConfig { item, pointer, why }
    };
    let var = chain.links().iter().find_map(|link| link.tool.interpreter.as_ref()?.var.clone());
    let var = var.ok_or_else(|| bad("/env_config/interpreter/var", "is missing"))?;
    if matches!(block.search, Search::Command { .. }) && link.source.space() == Space::Project {
        let why = "is `command`, which only items of the user and the system space may ask for";
        return Err(bad("/env_config/interpreter/type", why));
    }
    // The item before the runtime chooses what rye is started with.
    let is_shipped = |link: &Link| link.source.space() == Space::System;
    if matches!(block.search, Search::Rye) && !chain.links().iter().all(is_shipped) {
        let why = "is `rye`, which only shipped items may ask for";
        return Err(bad("/env_config/interpreter/type", why));
    }
    let chosen = meant(block, seek).ok_or_else(|| PlanError::ProgramNotFound {
        item: chain.tool().item().clone(),
        program: wanted(block),
        passed_over: seek.passed_over().to_vec(),
    })?;
    Ok(Some((var, chosen)))
}

/// The program that a block means.
pub(super) fn meant(block: &Interpreter, seek: &mut Seeker<'_>) -> Option<Chosen> {
    search(&block.search, seek).or_else(|| fallback(block.fallback.as_deref(), seek))
}

fn search(search: &Search, seek: &mut Seeker<'_>) -> Option<Chosen> {
    let project: &Path = seek.machine.project_path;
    let on_path =
        |seek: &mut Seeker<'_>, names: &[String]| names.iter().find_map(|name| seek.on_path(name));
    match search {
        Search::LocalBinary { candidates, search_paths } => {
            for folder in search_paths {
                for name in candidates {
                    if let Some(chosen) = seek.at(&project.join(folder).join(name), true) {
                        return Some(chosen);
                    }
                }
            }
            on_path(seek, candidates)
        }
        Search::VenvPython { venv } => {
            let bin = project.join(venv).join("bin");
            let mut names = ["python3", "python"].into_iter();
            names.find_map(|name| seek.at(&bin.join(name), true))
        }
        Search::NodeModules { binary } => {
            seek.at(&project.join("node_modules/.bin").join(binary), true)
        }
        Search::SystemBinary { candidates } => on_path(seek, candidates),
        Search::VersionManager { manager, binary } => match of_manager(seek, *manager, binary) {
            Ok(Version::At(path)) => seek.at(&path, false),
            Ok(Version::System) => seek.on_path(binary),
            Err(why) => {
                seek.pass(Path::new(binary), why, None);
                None
            }
        },
        Search::Rye => seek.own_program(),
        Search::Command { argv } => match ask(argv, seek) {
            Ok(path) => seek.at(&path, false),
            Err(why) => {
                seek.pass(Path::new(&argv[0]), why, None);
                None
            }
        },
    }
}

fn fallback(program: Option<&str>, seek: &mut Seeker<'_>) -> Option<Chosen> {
    let program = program?;
    if program.starts_with('/') {
        seek.at(Path::new(program), false)
    } else {
        seek.on_path(program)
    }
}

/// Runs a program of a user or system item and takes the first line that it prints, also for a dry
/// run. It starts in `/` with the operator's own `PATH`, so that nothing in the project speaks.
fn ask(argv: &[String], seek: &mut Seeker<'_>) -> Result<PathBuf, String> {
    let machine = seek.machine;
    let program = if argv[0].starts_with('/') {
        seek.at(Path::new(&argv[0]), false)
    } else {
        seek.on_path(&argv[0])
    };
    let program = program.ok_or("the program that knows it is not found")?;
    let kept = ["HOME", "USER", "LANG"];
    let env = kept.into_iter().filter_map(|name| Some((name, machine.vars.get(name)?.into())));
    let env = env.chain(machine.child_path().map(|path| ("PATH", path.into())));
    // A rye that it starts is below this run, and below the thread of it.
    let env = env.chain([(RUN_VAR, machine.run_id.into())]);
    let env = env.chain(machine.thread.map(|thread| (THREAD_VAR, thread.into())));
    let env = env.map(|(name, value)| (name.to_owned(), value));
    let cap = usize::try_from(SMALL_TEXT_BYTES).unwrap_or(usize::MAX);
    let time = Duration::from_millis(INTERPRETER_COMMAND_MS);
    let spawn = Spawn {
        args: argv[1..].iter().map(Into::into).collect(),
        env: env.collect(),
        ..Spawn::new(&program.path, Path::new("/"), cap, time)
    };
    let ended = machine.host.run(&spawn, &mut |_| ()).map_err(|e| e.to_string())?;
    if ended.exit_code != Some(0) || ended.timed_out {
        return Err("the program that knows it failed".into());
    }
    let text = String::from_utf8(ended.stdout).map_err(|_| "what it printed is not UTF-8")?;
    let line = text.lines().next().unwrap_or_default().trim();
    match line.starts_with('/') && !line.contains('\0') {
        true => Ok(line.into()),
        false => Err("what it printed is not an absolute path".into()),
    }
}

/// The programs that were looked for, for people.
fn wanted(block: &Interpreter) -> String {
    match &block.search {
        Search::LocalBinary { candidates, .. } | Search::SystemBinary { candidates } => {
            candidates.join("` or `")
        }
        Search::VenvPython { venv } => format!("{venv}/bin/python3"),
        Search::NodeModules { binary } | Search::VersionManager { binary, .. } => binary.clone(),
        Search::Command { argv } => argv[0].clone(),
        Search::Rye => "rye".into(),
    }
}
