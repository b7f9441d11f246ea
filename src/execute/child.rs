//! The child of a run: its private folders, its start and its end.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::authors_paths::AuthorsPaths;
use super::git_index::GitIndex;
use super::new_repositories::new_repositories;
use super::{ExecuteError, OutputWitness, new_items};
use crate::base::text::{escape_line, shell_word};
use crate::host::{
    ChildEvent, ChildResult, Host, NamespacesNotMade, NetSettings, OutputStream, PersistentChild,
    PrivateDir, PrivateDirError, Spawn, Traffic, Vars,
};
use crate::plan::{Pinned, Plan, Process, TOOL};
use crate::trace::{Event, Sink};

/// The means that an act may use while it runs.
pub(crate) struct RunContext<'a> {
    pub(crate) host: &'a dyn Host,
    pub(crate) vars: &'a Vars,
    /// The session's runtime folder, where private folders go, if it is outside of the foreign
    /// ground.
    pub(crate) runtime: Option<&'a Path>,
    /// Where private folders go when there is none.
    pub(crate) pin_fallback: Option<&'a Path>,
    pub(crate) sink: &'a dyn Sink,
    /// That a person approved what a program asked for: its id, who, and when.
    pub(crate) approval: Option<&'a Value>,
    /// Told what the act did, where a receipt of the run is wanted.
    pub(crate) witness: Option<&'a OutputWitness>,
}

impl RunContext<'_> {
    /// Tells what went through rye's proxy, if there is one.
    pub(crate) fn carried(&self, traffic: Option<&Traffic>) {
        let Some(traffic) = traffic else { return };
        self.sink.record(Event::Traffic { traffic: traffic.clone() });
        if let Some(witness) = self.witness {
            witness.carried(traffic);
        }
    }
}

/// The private folder of a run and its mark: there as long as the program runs.
#[derive(Debug, Default)]
pub(crate) struct RunFolders {
    _pin: Option<PrivateDir>,
    /// Where a confined program may write whatever it likes.
    _tmp: Option<PrivateDir>,
    /// Where one that may make new items puts them.
    new_items: Option<PrivateDir>,
    /// The copy of git's index of one that may write a repository.
    index: Option<GitIndex>,
    _mark: Option<PrivateDir>,
    authors_paths: AuthorsPaths,
}

impl RunFolders {
    /// The paths that standard error names in place of the private copies.
    pub(crate) fn authors_paths(&self) -> AuthorsPaths {
        self.authors_paths.clone()
    }
}

/// The author's files in place of the private copies below `pin`; those of the project from there.
fn authors_paths(plan: &Plan, spawn: &Spawn, pin: Option<&Path>) -> AuthorsPaths {
    let folder = plan.pinned().first().and_then(Pinned::authors_folder);
    let Some((pin, folder)) = pin.zip(folder) else { return AuthorsPaths::default() };
    let project = spawn.env.get("RYE_PROJECT").and_then(|project| project.to_str());
    let below = project.and_then(|project| folder.strip_prefix(project)?.strip_prefix('/'));
    AuthorsPaths::new(pin, TOOL, below.unwrap_or(folder).to_owned())
}

/// Writes the verified bytes to a private folder, and says what to start there.
///
/// # Errors
/// `execute.pin`, `execute.spawn`
pub(crate) fn prepare(
    plan: &Plan,
    process: &Process,
    running: &RunContext<'_>,
) -> Result<(Spawn, RunFolders), ExecuteError> {
    let item = || plan.item().clone();
    let pin_error = |source: PrivateDirError| ExecuteError::PrivateDir { item: item(), source };
    let pin = match plan.pinned() {
        [] => None,
        files => Some(pinned(files, running).map_err(pin_error)?),
    };
    let held = plan.confinement().filter(|held| !held.has_own_tmp());
    let tmp = held.map(|_| PrivateDir::new(running.runtime, running.pin_fallback)).transpose();
    let tmp = tmp.map_err(pin_error)?;
    let kinds = plan.confinement().map_or(&[][..], |held| &held.policy.new_items);
    let new_items = (!kinds.is_empty()).then(|| {
        let private = PrivateDir::new(running.runtime, running.pin_fallback)?;
        let at = private.path().to_owned();
        new_items::make(&at, kinds).map_err(|source| PrivateDirError { at, source })?;
        Ok(private)
    });
    let new_items = new_items.transpose().map_err(pin_error)?;
    let commits = plan.confinement().and_then(|held| held.policy.commits.as_ref());
    let index = commits.map(|commits| {
        let private = PrivateDir::new(running.runtime, running.pin_fallback)?;
        let at = private.path().to_owned();
        GitIndex::copied(private, commits).map_err(|source| PrivateDirError { at, source })
    });
    let index = index.transpose().map_err(pin_error)?;
    let (pin_path, tmp_path) =
        (pin.as_ref().map(PrivateDir::path), tmp.as_ref().map(PrivateDir::path));
    let mut spawn = plan.spawn(process, pin_path, tmp_path);
    if let Some(sandbox) = &mut spawn.sandbox {
        sandbox.new_items = new_items.as_ref().map(|private| private.path().to_owned());
        sandbox.index = index.as_ref().map(|index| index.folder().to_owned());
        sandbox.egress.https = NetSettings::of_scheme(running.vars, true);
        sandbox.egress.http = NetSettings::of_scheme(running.vars, false);
    }
    spawn.digests_output = running.witness.is_some();
    let mark = running.pin_fallback.and_then(PrivateDir::mark);
    let authors_paths = authors_paths(plan, &spawn, pin.as_ref().map(PrivateDir::path));
    Ok((spawn, RunFolders { _pin: pin, _tmp: tmp, new_items, index, _mark: mark, authors_paths }))
}

/// Starts the process of a plan as one that others talk with, without the variables `left_out`.
///
/// # Errors
/// `execute.pin`, `execute.spawn`
pub(crate) fn start(
    plan: &Plan,
    process: &Process,
    running: &RunContext<'_>,
    left_out: &[&str],
) -> Result<(PersistentChild, RunFolders), ExecuteError> {
    let (mut spawn, folders) = prepare(plan, process, running)?;
    spawn.env.retain(|name, _| !left_out.contains(&name.as_str()));
    match running.host.start(&spawn) {
        Ok(child) => Ok((child, folders)),
        Err(source) => Err(not_started(plan, &spawn, source)),
    }
}

/// The command that is started, as a shell would be given it. It contains no secret: none goes into
/// an argument.
fn command_line(spawn: &Spawn) -> String {
    let args = spawn.args.iter().map(|argument| shell_word(&argument.to_string_lossy()));
    let program = shell_word(&spawn.program.to_string_lossy());
    escape_line(&[program].into_iter().chain(args).collect::<Vec<_>>().join(" "))
}

/// A path need not be UTF-8.
fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Why a child did not start: its sandbox was not made, or its program was not executed in it.
fn not_started(plan: &Plan, spawn: &Spawn, source: io::Error) -> ExecuteError {
    let item = plan.item().clone();
    match NamespacesNotMade::is(&source) {
        true => ExecuteError::Sandbox { item, why: source.to_string() },
        false => ExecuteError::Spawn { item, program: spawn.program.clone(), source },
    }
}

/// The private folder with these files.
fn pinned(files: &[Pinned], running: &RunContext<'_>) -> Result<PrivateDir, PrivateDirError> {
    let pin = PrivateDir::new(running.runtime, running.pin_fallback)?;
    for file in files {
        let written = pin.write(&file.path, &file.bytes, file.is_program);
        let below = || pin.path().parent().unwrap_or(pin.path()).to_owned();
        written.map_err(|source| PrivateDirError { at: below(), source })?;
    }
    running.sink.record(Event::Pin { files: files.len() });
    Ok(pin)
}

/// Starts a process, waits for its end and tells of both.
///
/// # Errors
/// `execute.spawn`, `execute.interrupted`
pub(crate) fn run_once(
    plan: &Plan,
    spawn: &Spawn,
    folders: RunFolders,
    running: &RunContext<'_>,
    wrote: &mut dyn FnMut(OutputStream, &[u8], usize),
) -> Result<ChildResult, ExecuteError> {
    let item = || plan.item().clone();
    let sink = running.sink;
    tracing::info!(cwd = %spawn.cwd.display(), "runs {}", command_line(spawn));
    // The private folders of a run are no part of what its program needs.
    let own = spawn.sandbox.iter().filter(|_| spawn.watched);
    let own = own.flat_map(|sandbox| {
        sandbox.pin.iter().chain(&sandbox.tmp).chain(&sandbox.new_items).chain(&sandbox.index)
    });
    let real = |path: &PathBuf| running.host.real_folder(path);
    let own: Vec<_> = own.flat_map(|path| [Some(path.clone()), real(path)]).flatten().collect();
    let ended = running.host.run(spawn, &mut |heard| match heard {
        ChildEvent::Started(pid) => sink.record(Event::Spawn { pid }),
        ChildEvent::Wrote { stream, bytes, kept } => wrote(stream, bytes, kept),
    });
    let ended = ended.map_err(|source| not_started(plan, spawn, source))?;
    let ended = ended.told_like_a_shell();
    let inner = plan.confinement().map(|held| &held.policy.inner);
    let made = inner.map(|inner| new_repositories(running.host, inner)).unwrap_or_default();
    if !made.is_empty() {
        let at = shown(&made.at);
        sink.record(Event::NewRepositories { at, may_be_more: made.may_be_more });
    }
    // What a tool left that did not get to its end may be half of something.
    let is_done = ended.exit_code == Some(0) && !ended.timed_out && ended.interrupted.is_none();
    if let (Some(made), Some(held), true) = (&folders.new_items, plan.confinement(), is_done) {
        let taken = new_items::take_over(made.path(), &held.policy);
        taken.map_err(|source| ExecuteError::NewItems { item: item(), source })?;
    }
    // What was committed is committed, however the tool ended, and the index belongs to it.
    if let Some(index) = &folders.index {
        let taken = index.take_over(running.host);
        taken.map_err(|source| ExecuteError::GitIndex { item: item(), source })?;
    }
    drop(folders);
    let accesses = ended.accesses.outside(&own);
    let ended = ChildResult { accesses, new_repositories: made, ..ended };
    running.carried(ended.traffic.as_ref());
    sink.record(Event::Exit {
        exit_code: ended.exit_code,
        signal: ended.signal,
        timed_out: ended.timed_out,
    });
    if let Some(witness) = running.witness {
        witness.saw(&ended);
    }
    match ended.interrupted {
        Some(signal) => Err(ExecuteError::Interrupted { item: item(), signal }),
        None => Ok(ended),
    }
}
