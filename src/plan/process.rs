//! The act of a chain that ends at `rye/core/primitives/execute`: one process.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::Execution;
use super::error::PlanError;
use super::frame::{Filled, Frame};
use super::plan::Machine;
use super::template::plain;
use crate::base::limits::ARGUMENT_BYTES;
use crate::id::Ref;

/// One process, its templates not yet expanded.
pub(crate) struct Process {
    execution: Execution,
    program: Program,
}

/// What is started.
enum Program {
    /// An absolute path, found before the run.
    Found(PathBuf),
    /// A file of the private folder, as a template.
    Pinned(String),
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
    /// `plan.secret_in_argv`, `plan.no_command`, `plan.program_not_found`, `plan.argument_nul`.
    pub(super) fn of(
        item: &Ref,
        execution: Execution,
        frame: &Frame,
        machine: &Machine<'_>,
    ) -> Result<Self, PlanError> {
        let shown = execution.args.iter().chain([&execution.cwd]).chain(&execution.command);
        for template in shown {
            frame.env.keep_out(item, template)?;
        }
        let program = program(item, &execution, frame, machine)?;
        Ok(Self { execution, program })
    }

    /// Every template, as text.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.execution.texts()
    }

    pub(super) fn expand(&self, filled: &Filled) -> Expanded {
        let scope = filled.scope();
        let input = match scope.value(&self.execution.input_data) {
            Value::Null => String::new(),
            other => plain(&other),
        };
        let program = match &self.program {
            Program::Found(path) => path.clone(),
            Program::Pinned(template) => scope.text(template).into(),
        };
        let args = self.execution.args.iter().map(|arg| scope.text(arg)).collect();
        let project = filled.names.get("project_path").map(plain).unwrap_or_default();
        let cwd = Path::new(&project).join(scope.text(&self.execution.cwd));
        Expanded { program, args, cwd, input }
    }

    /// Argument sizes and NULs, with the private paths standing for themselves; then the folder,
    /// and that no command and no argument names a file which no signature covers (core 7.8).
    ///
    /// # Errors
    /// `plan.argument_nul`, `plan.argument_too_large`, `plan.bad_config`, `plan.unverified_program`.
    pub(super) fn check(
        &self,
        item: &Ref,
        filled: &Filled,
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
        let is_private = self.execution.cwd.contains("{tool_");
        if !is_private && !machine.host.is_folder(&expanded.cwd) {
            let why = format!("names `{}`, which is no folder", expanded.cwd.display());
            return Err(PlanError::BadConfig { item: item(), pointer: "/config/cwd", why });
        }
        let named = expanded.args.iter().map(|arg| expanded.cwd.join(arg));
        for path in std::iter::once(expanded.program).chain(named) {
            let Some(real) = machine.host.real_file(&path) else { continue };
            let within = |root: &PathBuf| real.starts_with(root) || path.starts_with(root);
            if machine.guarded.iter().any(within) {
                return Err(PlanError::UnverifiedProgram { item: item(), path });
            }
        }
        Ok(())
    }
}

fn program(
    item: &Ref,
    execution: &Execution,
    frame: &Frame,
    machine: &Machine<'_>,
) -> Result<Program, PlanError> {
    let item = || item.clone();
    let template =
        execution.command.as_ref().ok_or_else(|| PlanError::NoCommand { item: item() })?;
    if template.contains("{tool_path}") || template.contains("{tool_dir}") {
        return Ok(Program::Pinned(template.clone()));
    }
    let filled = frame.fill(None);
    let program = filled.scope().text(template);
    if program.is_empty() {
        return Err(PlanError::NoCommand { item: item() });
    }
    if program.contains('\0') {
        return Err(PlanError::ArgumentNul { item: item() });
    }
    let path = filled.env.get("PATH").map(String::as_str).unwrap_or_default();
    // A relative path is meant from the project, wherever the child starts.
    let named = match program.contains('/') {
        true => machine.project_path.join(&program).into_os_string(),
        false => program.clone().into(),
    };
    let found = machine.host.find_program(&named, path.as_ref());
    let found = found.ok_or_else(|| PlanError::ProgramNotFound { item: item(), program })?;
    Ok(Program::Found(found))
}
