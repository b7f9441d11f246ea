//! The part of this machine that a run would use: the program, the folders of packages, and what
//! was found and passed over.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::interpreter;
use super::packages;
use super::program::{Chosen, Seeker};
use crate::chain::Chain;
use crate::parse::DEPS_VAR;
use crate::plan::config::Execution;
use crate::plan::context::PlanContext;
use crate::plan::env::path as host_path;
use crate::plan::error::PlanError;
use crate::plan::pieces::Pieces;
use crate::plan::process::Process;
use crate::plan::template_context::TemplateContext;
use crate::plan::tree::Tree;
use crate::trace::{Event, Sink, SkippedPath};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    /// The variable that names the program to the child, if a link asks for one, and the program;
    /// none where the tool itself is the program.
    interpreter: Option<(Option<String>, Chosen)>,
    /// Folders of packages that are not verified and that you allowed.
    external: Vec<PathBuf>,
    passed_over: Vec<SkippedPath>,
}

impl Survey {
    /// Finds the interpreter and the program, and tells the child of them by its environment.
    ///
    /// # Errors
    /// `plan.bad_config`, `plan.no_command`, `plan.program_not_found`, `plan.argument_nul`,
    /// `plan.secret_in_argv`, `plan.argument_too_large`, `plan.unverified_program`.
    pub(in crate::plan) fn make(
        chain: &Chain,
        execution: Execution,
        context: &mut TemplateContext,
        tree: &Tree,
        machine: &PlanContext<'_>,
        sink: &dyn Sink,
    ) -> Result<(Self, Process), PlanError> {
        let path = context.fill_without_private().env.remove("PATH").as_ref().map(Pieces::shown);
        // A tool that is given no `PATH` is still looked for by its name; and where folders were
        // taken out of it, what lies there is named with the reason.
        let path = path.filter(|path| !context.env.is_of_host(path));
        let path = path.or_else(|| host_path(machine.vars)).unwrap_or_default();
        let mut seek = Seeker::new(machine, &path);
        let named = interpreter::find(chain, &mut seek)?;
        if let Some((var, chosen)) = &named {
            context.env.add(var, chosen.path.display().to_string());
            let (by, keys) = ("interpreter".to_owned(), vec![var.clone()]);
            sink.record(Event::ResolveEnv { contributed_by: by, keys });
        }
        let packages = execution.packages.clone();
        let item = chain.tool().item();
        let chosen = named.as_ref().map(|(_, chosen)| chosen);
        let (process, started) = Process::new(item, execution, context, tree, &mut seek, chosen)?;
        let interpreter = match named {
            Some((var, chosen)) => Some((Some(var), chosen)),
            None => started.map(|chosen| (None, chosen)),
        };
        let mut passed_over = seek.into_passed_over();
        if let Some((var, chosen)) = &interpreter {
            sink.record(Event::Interpreter {
                var: var.clone(),
                path: chosen.path.display().to_string(),
                real: chosen.look.real().display().to_string(),
                permitted: chosen.permitted,
                passed_over: passed_over.clone(),
            });
        }
        let (external, passed) = match &packages {
            Some(name) => packages::find(chain, machine, name),
            None => (Vec::new(), Vec::new()),
        };
        let folders: Vec<String> = external.iter().map(|f| f.display().to_string()).collect();
        if !folders.is_empty() {
            context.env.add(DEPS_VAR, json!(folders).to_string());
        }
        if !folders.is_empty() || !passed.is_empty() {
            sink.record(Event::External { folders, passed_over: passed.clone() });
        }
        passed_over.extend(passed);
        let python = process.python_folders(&context.fill(), tree);
        context.env.load_python_from(python);
        Ok((Self { interpreter, external, passed_over }, process))
    }

    /// The program that a run starts; none where the tool itself is the program.
    pub(crate) fn program(&self) -> Option<&Chosen> {
        self.interpreter.as_ref().map(|(_, chosen)| chosen)
    }

    /// Folders of packages that are not verified and that you allowed.
    pub(crate) fn external(&self) -> &[PathBuf] {
        &self.external
    }

    pub(crate) fn passed_over(&self) -> &[SkippedPath] {
        &self.passed_over
    }

    /// The program as data; numbers that JSON readers may round are text.
    pub(crate) fn program_json(&self) -> Value {
        let Some((var, chosen)) = &self.interpreter else { return Value::Null };
        json!({
            "var": var, "path": chosen.path, "real": chosen.look.real(),
            "permitted": chosen.permitted, "device": chosen.look.device.to_string(),
            "inode": chosen.look.inode.to_string(), "size": chosen.look.size,
            "ctime_ns": chosen.look.ctime_ns.to_string(),
        })
    }

    /// The folders of packages as data.
    pub(crate) fn external_json(&self) -> Value {
        let folders = self.external.iter();
        folders.map(|folder| json!({"path": folder, "integrity": "external"})).collect()
    }
}
