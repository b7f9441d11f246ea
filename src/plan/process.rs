//! The act of a chain that ends at `rye/core/primitives/execute`: one process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::arguments::{judged, paths, seen_by_child, values};
use super::config::{Execution, strings};
use super::context::PlanContext;
use super::error::PlanError;
use super::machine::{Chosen, Seeker};
use super::pieces::{Pieces, SHOWN};
use super::start::Program;
use super::template::{Named, variables};
use super::template_context::{Filled, TemplateContext};
use super::tree::Tree;
use crate::base::Digest;
use crate::base::canon::exact;
use crate::base::limits::{ARGUMENT_BYTES, OUTPUT_BYTES, VARIABLE_BYTES};
use crate::host::{RUN_VAR, THREAD_VAR};
use crate::id::Ref;
use crate::parse::Argument;

/// One process, its templates not yet expanded.
pub(crate) struct Process {
    execution: Execution,
    program: Program,
    /// Arguments that name a signed file where it lies, also behind `--option=`; the child is given
    /// its pinned copy.
    copies: BTreeMap<usize, Copy>,
}

/// Said of a text that names the private folder and a way up.
const OUT: &str = "leads out of the folder of verified files by `..`";

/// An argument that is a pinned copy.
struct Copy {
    /// `--option=`, or nothing.
    option: String,
    /// Below the private folder.
    path: String,
}

impl Copy {
    fn argument(&self, pin: &Path) -> String {
        format!("{}{}", self.option, pin.join(&self.path).display())
    }
}

/// A process to the last argument, the private folder still a piece.
struct Expanded {
    args: Vec<Pieces>,
    /// Below the project, where it is relative.
    cwd: Pieces,
}

/// The program, arguments and input of a process, to the last byte.
pub(super) struct Started {
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
    /// `plan.argument_too_large`, `plan.variable_too_large`, `plan.bad_config`,
    /// `plan.unverified_program`.
    pub(super) fn new(
        item: &Ref,
        execution: Execution,
        context: &TemplateContext,
        tree: &Tree,
        seek: &mut Seeker<'_>,
        interpreter: Option<&Chosen>,
    ) -> Result<(Self, Option<Chosen>), PlanError> {
        let shown = execution.arguments().chain([&execution.cwd]).chain(&execution.command);
        for template in shown {
            context.env.keep_out(item, template)?;
        }
        let lacking = execution.texts().chain(context.env.templates());
        if let Some(template) = lacking.into_iter().find(|text| context.lacks_place(text)) {
            let why = format!("says `{template}`, and no runtime of this tool has such a folder");
            return Err(PlanError::BadConfig { item: item.clone(), pointer: "/config", why });
        }
        let filled = context.fill();
        let (program, chosen) = Program::new(item, &execution, &filled, tree, seek, interpreter)?;
        let mut process = Self { execution, program, copies: BTreeMap::new() };
        process.check(item, &filled, tree, seek.machine)?;
        Ok((process, chosen))
    }

    /// The program that is started, where it is no signed file.
    pub(super) fn found(&self) -> Option<&Path> {
        self.program.found()
    }

    /// This act's part of the plan as data: templates with names filled in, but for the private
    /// folder's and the parameters; variables stay names, beside the digests of those whose values
    /// reach the command line.
    pub(super) fn document(&self, context: &TemplateContext) -> Map<String, Value> {
        let mut filled = context.fill_without_private();
        filled.names.remove("params_json");
        let scope = filled.scope();
        let Execution { command, args, cwd, input_data, .. } = &self.execution;
        let private = Path::new(SHOWN);
        let argument = |(at, argument): (usize, &Argument)| match self.copies.get(&at) {
            Some(copy) => copy.argument(private),
            None => scope.names_only(&argument.text),
        };
        let before = self.program.arguments(private).into_iter();
        let arguments: Vec<String> = before.chain(args.iter().enumerate().map(argument)).collect();
        let cwd_text = project(&filled).join(scope.names_only(cwd)).display().to_string();
        // A value that ends up in an argument decides what runs; the run's own name does not.
        let used: BTreeMap<&str, Option<Digest>> = self
            .execution
            .arguments()
            .chain([cwd])
            .chain(command)
            .flat_map(|template| variables(template))
            .filter(|name| ![RUN_VAR, THREAD_VAR].contains(name))
            .map(|name| {
                let value = filled.env.get(name);
                (name, value.map(|value| Digest::of(value.shown().as_bytes())))
            })
            .collect();
        let stdin = match input_data {
            Value::String(text) => json!({"text": text}),
            // As text: numbers of a template keep their digits.
            other => json!({"json": exact(other)}),
        };
        [
            ("command", self.program.path(private).display().to_string().into()),
            ("args", json!(arguments)),
            ("argv_env", json!(used)),
            ("cwd", cwd_text.into()),
            ("stdin", stdin),
            ("env", filled.env.keys().cloned().collect()),
            ("env_set", json!(context.env.settings())),
            ("output_bytes", json!(OUTPUT_BYTES)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
    }

    /// Returns true if anything of the private folder is used.
    pub(super) fn uses_private(&self, filled: &Filled) -> bool {
        let Expanded { args, cwd } = self.expand(filled);
        let scope = filled.scope();
        let input = strings(&self.execution.input_data);
        self.program.found().is_none()
            || self.program.is_script()
            || !self.copies.is_empty()
            || cwd.is_private()
            || args.iter().any(Pieces::is_private)
            || input.iter().any(|text| scope.pieces(text).is_private())
    }

    fn expand(&self, filled: &Filled) -> Expanded {
        let scope = filled.scope();
        let args = self.execution.arguments().map(|template| scope.pieces(template)).collect();
        Expanded { args, cwd: scope.pieces(&self.execution.cwd) }
    }

    /// The program, arguments and input, with the private folder at `pin`.
    pub(super) fn start(&self, filled: &Filled, pin: &Path) -> Started {
        let Expanded { args, cwd } = self.expand(filled);
        let arg = |(at, argument): (usize, &Pieces)| match self.copies.get(&at) {
            Some(copy) => copy.argument(pin),
            None => argument.render(pin),
        };
        let before = self.program.arguments(pin).into_iter();
        Started {
            program: self.program.path(pin),
            args: before.chain(args.iter().enumerate().map(arg)).collect(),
            cwd: project(filled).join(cwd.render(pin)),
            input: filled.scope().input(&self.execution.input_data, pin),
        }
    }

    /// The folders from which Python would load modules beside what it is started with: those of
    /// the pinned Python files in the command line that are not alone there, and the working
    /// directory where that is pinned. Below the private folder. A file that is alone would be a
    /// module itself, for every Python that it starts.
    pub(super) fn python_folders(&self, filled: &Filled, tree: &Tree) -> Vec<PathBuf> {
        let Expanded { args, cwd } = self.expand(filled);
        let mut found: Vec<PathBuf> = Vec::new();
        let program = self.program.copy().map(PathBuf::from);
        let copies = self.copies.values().map(|copy| PathBuf::from(&copy.path));
        let named = args.iter().filter_map(Pieces::below_private);
        for path in program.into_iter().chain(copies).chain(named) {
            let is_python = tree.at(&path).is_some_and(|file| {
                path.extension().is_some_and(|it| it == "py") || file.asks_for("python")
            });
            let has_more = |folder: &&Path| {
                tree.files()
                    .iter()
                    .map(|file| Path::new(&file.path))
                    .any(|file| file != path && file.starts_with(folder))
            };
            if let Some(folder) = path.parent().filter(|_| is_python).filter(has_more) {
                found.push(folder.to_owned());
            }
        }
        found.extend(cwd.below_private());
        found.dedup();
        found
    }

    /// Sizes of arguments and variables, and NULs; then the folder, and that no argument names a
    /// file which no signature covers (core 7.8).
    fn check(
        &mut self,
        item: &Ref,
        filled: &Filled,
        tree: &Tree,
        machine: &PlanContext<'_>,
    ) -> Result<(), PlanError> {
        let item = || item.clone();
        let Expanded { args, cwd } = self.expand(filled);
        let before = self.program.arguments(Path::new(""));
        if args.iter().any(Pieces::has_nul) || before.iter().any(|text| text.contains('\0')) {
            return Err(PlanError::ArgumentNul { item: item() });
        }
        if let Some(bytes) = args.iter().map(Pieces::len).find(|bytes| *bytes > ARGUMENT_BYTES) {
            return Err(PlanError::ArgumentTooLarge { item: item(), bytes });
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
        let in_private = cwd.below_private();
        let bad = |pointer, why: &str| {
            Err(PlanError::BadConfig { item: item(), pointer, why: why.into() })
        };
        if cwd.leaves_private() {
            return bad("/config/cwd", OUT);
        }
        // Below a folder of verified files, `..` on its own leads there too.
        let is_up = |text: &Pieces| in_private.is_some() && text.has_way_up();
        if args.iter().any(|text| text.leaves_private() || is_up(text)) {
            return bad("/config/args", OUT);
        }
        if filled.env.values().any(Pieces::leaves_private) {
            return bad("/env", OUT);
        }
        // A folder of the private one is not there yet.
        let folder = (!cwd.is_private()).then(|| project(filled).join(cwd.shown()));
        let is_folder = match (&in_private, &folder) {
            (Some(below), _) => tree.is_folder(below),
            (None, Some(folder)) => machine.host.is_folder(folder),
            (None, None) => false,
        };
        if !is_folder {
            return bad("/config/cwd", &format!("names `{}`, which is not a folder", cwd.shown()));
        }
        let folder = folder.unwrap_or_default();
        for (at, argument) in args.iter().enumerate() {
            if let Some(copy) = Copy::find(argument, &folder, tree) {
                self.copies.insert(at, copy);
                continue;
            }
            let is_module = at > 0 && is_module(self.execution.arguments().nth(at - 1), argument);
            if self.execution.args[at].is_data || is_module {
                continue;
            }
            if let Some(path) = self.unverified(argument, &folder, machine) {
                return Err(PlanError::UnverifiedProgram { item: item(), path });
            }
        }
        Ok(())
    }

    /// The file of the project or of a space that an argument reads as, if it does. `folder` is the
    /// working directory; without one (it is private) a relative path leads to verified files.
    fn unverified(
        &self,
        argument: &Pieces,
        folder: &Path,
        machine: &PlanContext<'_>,
    ) -> Option<PathBuf> {
        let is_private = folder.as_os_str().is_empty();
        let texts = judged(argument);
        let place = |text: &str| {
            let path = folder.join(text);
            (!is_private || path.is_absolute()).then(|| (seen_by_child(&path, folder), path))
        };
        let leads = |path: &(PathBuf, PathBuf)| {
            !self.program.permits(&path.1)
                && [&path.0, &path.1].into_iter().any(|path| machine.leads_to_foreign_file(path))
        };
        let by_text = texts.iter().flat_map(|text| paths(text));
        let by_text = by_text.filter_map(|text| place(&text)).find(leads);
        // A plain word could be anything; one that is the name of a file there means that file.
        let by_name = || {
            let words = texts.iter().flat_map(|text| values(text));
            let mut words = words.filter_map(|(_, word)| place(word));
            words.find(|path| !self.program.permits(&path.1) && machine.guards(&path.0))
        };
        by_text.or_else(by_name).map(|(_, path)| path)
    }
}

impl Copy {
    /// The pinned copy that an argument names by where the file lies, by its text alone: a file
    /// that goes and comes again is still the one that is listed.
    fn find(argument: &Pieces, folder: &Path, tree: &Tree) -> Option<Self> {
        if argument.is_private() || folder.as_os_str().is_empty() {
            return None;
        }
        let text = argument.shown();
        values(&text).into_iter().find_map(|(option, named)| {
            let file = tree.copy_of(&folder.join(named))?;
            Some(Self { option: option.into(), path: file.path.clone() })
        })
    }
}

/// Returns true if an argument is the name of a module behind `-m`, as Python takes one.
fn is_module(before: Option<&String>, argument: &Pieces) -> bool {
    let text = argument.shown();
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    before.is_some_and(|text| text == "-m") && text.chars().all(is_name)
}

fn project(filled: &Filled) -> &Path {
    match filled.names.get("project_path") {
        Some(Named::Text(path)) => Path::new(path),
        _ => Path::new(""),
    }
}
