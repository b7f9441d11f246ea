//! The act of a chain that ends at `rye/core/primitives/execute`: one process.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::config::Execution;
use super::error::PlanError;
use super::frame::{Filled, Frame, is_private, leaves_private};
use super::machine::{Chosen, Seeker};
use super::plan::Machine;
use super::template::{plain, variables};
use super::tree::Tree;
use crate::base::Digest;
use crate::base::canon::exact;
use crate::base::limits::{ARGUMENT_BYTES, OUTPUT_BYTES, VARIABLE_BYTES};
use crate::id::Ref;

/// One process, its templates not yet expanded.
pub(crate) struct Process {
    execution: Execution,
    program: Program,
    /// Arguments that name a signed file where it lies; the child is given its pinned copy.
    copies: BTreeMap<usize, String>,
}

/// What is started.
enum Program {
    /// An absolute path, found before the run; `permitted` if it lies in the project and you let it in.
    Found { path: PathBuf, permitted: bool },
    /// A file of the private folder, as a template.
    Pinned(String),
    /// A signed file, by its path in the private folder.
    Copy(String),
}

/// A process to the last argument.
pub(super) struct Expanded {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) input: String,
}

impl Process {
    /// Finds the program before anything runs, so that a dry run says what is missing.
    ///
    /// # Errors
    /// `plan.secret_in_argv`, `plan.no_command`, `plan.program_not_found`, `plan.argument_nul`,
    /// `plan.argument_too_large`, `plan.variable_too_large`, `plan.bad_config`, `plan.unverified_program`.
    pub(super) fn of(
        item: &Ref,
        execution: Execution,
        frame: &Frame,
        tree: &Tree,
        seek: &mut Seeker<'_>,
        interpreter: Option<&Chosen>,
    ) -> Result<(Self, Option<Chosen>), PlanError> {
        let shown = execution.args.iter().chain([&execution.cwd]).chain(&execution.command);
        for template in shown {
            frame.env.keep_out(item, template)?;
        }
        let (program, chosen) = program(item, &execution, frame, tree, seek, interpreter)?;
        let mut process = Self { execution, program, copies: BTreeMap::new() };
        process.check(item, &frame.fill(None), tree, seek.machine)?;
        Ok((process, chosen))
    }

    /// The program that is started, where it is no signed file.
    pub(super) fn found(&self) -> Option<&Path> {
        match &self.program {
            Program::Found { path, .. } => Some(path),
            Program::Pinned(_) | Program::Copy(_) => None,
        }
    }

    /// This act's part of the plan as data: templates with names filled in, but for the private
    /// folder's and the parameters; variables stay names, beside the digests of those whose values
    /// reach the command line.
    pub(super) fn document(&self, frame: &Frame) -> Map<String, Value> {
        let mut filled = frame.fill(None);
        filled.names.remove("params_json");
        let scope = filled.scope();
        let Execution { command, args, cwd, input_data, .. } = &self.execution;
        let copy = |path: &String| Value::from(filled.pin.join(path).display().to_string());
        let command_text = match &self.program {
            Program::Found { path, .. } => path.display().to_string().into(),
            Program::Pinned(template) => scope.names_only(template).into(),
            Program::Copy(path) => copy(path),
        };
        let argument = |(at, template): (usize, &String)| match self.copies.get(&at) {
            Some(path) => copy(path),
            None => scope.names_only(template).into(),
        };
        let project = filled.names.get("project_path").map(plain).unwrap_or_default();
        let cwd_text = Path::new(&project).join(scope.names_only(cwd)).display().to_string();
        // A value that ends up in an argument decides what runs; the run's own name does not.
        let used: BTreeMap<&str, Option<Digest>> = args
            .iter()
            .chain([cwd])
            .chain(command)
            .flat_map(|template| variables(template))
            .filter(|name| *name != "RYE_RUN_ID")
            .map(|name| (name, filled.env.get(name).map(|value| Digest::of(value.as_bytes()))))
            .collect();
        let stdin = match input_data {
            Value::String(text) => json!({"text": text}),
            // As text: numbers of a template keep their digits.
            other => json!({"json": exact(other)}),
        };
        [
            ("command", command_text),
            ("args", args.iter().enumerate().map(argument).collect()),
            ("argv_env", json!(used)),
            ("cwd", cwd_text.into()),
            ("stdin", stdin),
            ("env", filled.env.keys().cloned().collect()),
            ("env_set", json!(frame.env.settings())),
            ("output_bytes", json!(OUTPUT_BYTES)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
    }

    /// Whether anything of the private folder is used.
    pub(super) fn uses_private(&self) -> bool {
        let copied = matches!(self.program, Program::Copy(_)) || !self.copies.is_empty();
        copied || self.execution.texts().any(is_private)
    }

    pub(super) fn expand(&self, filled: &Filled) -> Expanded {
        let scope = filled.scope();
        let input = match scope.value(&self.execution.input_data) {
            Value::Null => String::new(),
            other => plain(&other),
        };
        let program = match &self.program {
            Program::Found { path, .. } => path.clone(),
            Program::Pinned(template) => scope.text(template).into(),
            Program::Copy(path) => filled.pin.join(path),
        };
        let arg = |(at, template): (usize, &String)| match self.copies.get(&at) {
            Some(path) => filled.pin.join(path).display().to_string(),
            None => scope.text(template),
        };
        let args = self.execution.args.iter().enumerate().map(arg).collect();
        let project = filled.names.get("project_path").map(plain).unwrap_or_default();
        let cwd = Path::new(&project).join(scope.text(&self.execution.cwd));
        Expanded { program, args, cwd, input }
    }

    /// Sizes of arguments and variables, and NULs, with the private paths standing for themselves;
    /// then the folder, and that no argument names a file which no signature covers (core 7.8).
    fn check(
        &mut self,
        item: &Ref,
        filled: &Filled,
        tree: &Tree,
        machine: &Machine<'_>,
    ) -> Result<(), PlanError> {
        let item = || item.clone();
        let expanded = self.expand(filled);
        for argument in &expanded.args {
            if argument.contains('\0') {
                return Err(PlanError::ArgumentNul { item: item() });
            }
            if argument.len() > ARGUMENT_BYTES {
                let bytes = argument.len();
                return Err(PlanError::ArgumentTooLarge { item: item(), bytes });
            }
        }
        for (name, value) in &filled.env {
            let bytes = name.len() + value.len();
            if bytes > VARIABLE_BYTES {
                return Err(PlanError::VariableTooLarge {
                    item: item(),
                    name: name.clone(),
                    bytes,
                });
            }
        }
        if !is_private(&self.execution.cwd) && !machine.host.is_folder(&expanded.cwd) {
            let why = format!("names `{}`, which is no folder", expanded.cwd.display());
            return Err(PlanError::BadConfig { item: item(), pointer: "/config/cwd", why });
        }
        let permitted = match &self.program {
            Program::Found { path, permitted: true } => Some(path.clone()),
            _ => None,
        };
        let leads_out = |text: &str| {
            leaves_private(text)
                || (is_private(&self.execution.cwd) && text.split('/').any(|p| p == ".."))
        };
        let mut shown = expanded.args.iter().chain(filled.env.values());
        if shown.any(|text| leaves_private(text)) || expanded.args.iter().any(|arg| leads_out(arg))
        {
            let why = "leads out of the folder of verified files by `..`".to_owned();
            return Err(PlanError::BadConfig { item: item(), pointer: "/config/args", why });
        }
        for (at, argument) in expanded.args.iter().enumerate() {
            let path = expanded.cwd.join(argument);
            // By its text first: a file that goes and comes again is still the one that is listed.
            if let Some(copy) = tree.copy_of(&path) {
                self.copies.insert(at, copy.to_owned());
                continue;
            }
            let seen = seen_by_child(&path, &expanded.cwd);
            if permitted.as_ref() == Some(&path) || machine.guards(&seen).is_none() {
                continue;
            }
            return Err(PlanError::UnverifiedProgram { item: item(), path });
        }
        Ok(())
    }
}

fn program(
    item: &Ref,
    execution: &Execution,
    frame: &Frame,
    tree: &Tree,
    seek: &mut Seeker<'_>,
    interpreter: Option<&Chosen>,
) -> Result<(Program, Option<Chosen>), PlanError> {
    let item = || item.clone();
    let template =
        execution.command.as_ref().ok_or_else(|| PlanError::NoCommand { item: item() })?;
    if leaves_private(template) {
        let why = "leads out of the folder of verified files by `..`".to_owned();
        return Err(PlanError::BadConfig { item: item(), pointer: "/config/command", why });
    }
    if is_private(template) {
        return Ok((Program::Pinned(template.clone()), None));
    }
    let program = frame.fill(None).scope().text(template);
    if program.is_empty() {
        return Err(PlanError::NoCommand { item: item() });
    }
    if program.contains('\0') {
        return Err(PlanError::ArgumentNul { item: item() });
    }
    let missing = |seek: &Seeker<'_>, program| {
        let passed_over = seek.passed_over().to_vec();
        PlanError::ProgramNotFound { item: item(), program, passed_over }
    };
    let found = |chosen: Chosen| {
        let (path, permitted) = (chosen.path.clone(), chosen.permitted);
        (Program::Found { path, permitted }, Some(chosen))
    };
    if !program.contains('/') {
        return seek.on_path(&program).map(found).ok_or_else(|| missing(seek, program));
    }
    // A relative path is meant from the project, wherever the child starts.
    let path = seek.machine.project_path.join(&program);
    if let Some(copy) = tree.copy_of(&path) {
        return Ok((Program::Copy(copy.to_owned()), None));
    }
    let path = seen_by_child(&path, seek.machine.project_path);
    if let Some(chosen) = interpreter.filter(|chosen| chosen.path == path) {
        return Ok(found(chosen.clone()));
    }
    let look = seek.machine.host.look(&path).filter(|look| look.is_program);
    let look = look.ok_or_else(|| missing(seek, program))?;
    // What a signed item names outright is signed or lies outside; no record changes that.
    match seek.machine.guards(&path) {
        None => Ok(found(Chosen { path, look, permitted: false })),
        Some(_) => Err(PlanError::UnverifiedProgram { item: item(), path }),
    }
}

/// A path by which a process names itself, such as `/proc/self/cwd/x`, as the child will see it.
fn seen_by_child(path: &Path, cwd: &Path) -> PathBuf {
    let mut parts = path.components().skip(1);
    let (proc, _, what) = (parts.next(), parts.next(), parts.next());
    let is = |part: Option<Component<'_>>, name: &str| part.is_some_and(|p| p.as_os_str() == name);
    let rest: PathBuf = parts.collect();
    match is(proc, "proc") {
        true if is(what, "cwd") => cwd.join(rest),
        true if is(what, "root") => Path::new("/").join(rest),
        _ => path.to_owned(),
    }
}
