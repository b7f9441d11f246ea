//! The act of a chain that ends at `rye/core/primitives/execute`: one process.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::config::Execution;
use super::error::PlanError;
use super::frame::{Filled, Frame, below_private, is_private, leaves_private};
use super::machine::{Chosen, Seeker};
use super::plan::Machine;
use super::start::Program;
use super::template::{plain, variables};
use super::tree::Tree;
use crate::base::Digest;
use crate::base::canon::exact;
use crate::base::limits::{ARGUMENT_BYTES, OUTPUT_BYTES, SHORT_OPTIONS, VARIABLE_BYTES};
use crate::id::Ref;

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
        let lacking = execution.texts().chain(frame.env.templates()).find(|t| frame.lacks_place(t));
        if let Some(template) = lacking {
            let why = format!("says `{template}`, and no runtime of this tool has such a folder");
            return Err(PlanError::BadConfig { item: item.clone(), pointer: "/config", why });
        }
        let filled = frame.rehearse();
        let (program, chosen) = Program::of(item, &execution, &filled, tree, seek, interpreter)?;
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
    pub(super) fn document(&self, frame: &Frame) -> Map<String, Value> {
        let mut filled = frame.fill(None);
        filled.names.remove("params_json");
        let scope = filled.scope();
        let Execution { command, args, cwd, input_data, .. } = &self.execution;
        let argument = |(at, template): (usize, &String)| match self.copies.get(&at) {
            Some(copy) => copy.argument(&filled.pin),
            None => scope.names_only(template),
        };
        let before = self.program.arguments(&filled.pin).into_iter();
        let arguments: Vec<String> = before.chain(args.iter().enumerate().map(argument)).collect();
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
            ("command", self.program.path(&filled.pin).display().to_string().into()),
            ("args", json!(arguments)),
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

    /// Whether anything of the private folder is used, by what was rehearsed.
    pub(super) fn uses_private(&self, rehearsed: &Filled) -> bool {
        let copied = self.program.found().is_none() || !self.copies.is_empty();
        let Expanded { args, cwd, input, .. } = self.expand(rehearsed);
        let named = args.iter().chain([&input]).any(|text| is_private(text));
        copied || named || is_private(&cwd.to_string_lossy()) || self.program.is_script()
    }

    pub(super) fn expand(&self, filled: &Filled) -> Expanded {
        let scope = filled.scope();
        let input = match scope.value(&self.execution.input_data) {
            Value::Null => String::new(),
            other => plain(&other),
        };
        let program = self.program.path(&filled.pin);
        let arg = |(at, template): (usize, &String)| match self.copies.get(&at) {
            Some(copy) => copy.argument(&filled.pin),
            None => scope.text(template),
        };
        let before = self.program.arguments(&filled.pin).into_iter();
        let args = before.chain(self.execution.args.iter().enumerate().map(arg)).collect();
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
        let cwd = expanded.cwd.to_string_lossy().into_owned();
        let in_private = below_private(&cwd);
        let bad = |pointer, why: &str| {
            Err(PlanError::BadConfig { item: item(), pointer, why: why.into() })
        };
        // Below a folder of verified files, `..` on its own leads there too.
        let is_up =
            |text: &String| in_private.is_some() && text.split('/').any(|part| part == "..");
        if leaves_private(&cwd) {
            return bad("/config/cwd", OUT);
        }
        if expanded.args.iter().any(|text| leaves_private(text) || is_up(text)) {
            return bad("/config/args", OUT);
        }
        if filled.env.values().any(|text| leaves_private(text)) {
            return bad("/env", OUT);
        }
        let is_folder = match in_private {
            Some(folder) => tree.is_folder(folder),
            None => machine.host.is_folder(&expanded.cwd),
        };
        if !is_folder {
            return bad("/config/cwd", &format!("names `{cwd}`, which is no folder"));
        }
        let before = expanded.args.len() - self.execution.args.len();
        for (at, argument) in expanded.args.iter().skip(before).enumerate() {
            for (option, named) in named_in(argument) {
                let path = expanded.cwd.join(named);
                // By its text first: a file that goes and comes again is still the one that is listed.
                if let Some(file) = tree.copy_of(&path) {
                    self.copies.insert(at, Copy { option: option.into(), path: file.path.clone() });
                    break;
                }
                let seen = seen_by_child(&path, &expanded.cwd);
                if !is_private(named) && !self.program.permits(&path) && machine.guards(&seen) {
                    return Err(PlanError::UnverifiedProgram { item: item(), path });
                }
            }
        }
        Ok(())
    }
}

/// What an argument may name a file by, behind the option that it belongs to: all of it, the value of
/// `--option=value`, and what is attached to short options, as in `-rvalue` and `-xrvalue`.
pub(super) fn named_in(argument: &str) -> Vec<(&str, &str)> {
    let mut all = vec![("", argument)];
    let Some(rest) = argument.strip_prefix('-') else { return all };
    all.extend(rest.find('=').map(|at| argument.split_at(at + 2)));
    let letters = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    for at in 1..=letters.min(SHORT_OPTIONS) {
        let (options, value) = argument.split_at(at + 1);
        // Several letters and a plain word are letters rather than a word.
        if at == 1 || value.contains(['.', '/']) {
            all.push((options, value));
        }
    }
    all.retain(|(_, value)| !value.is_empty());
    all
}

/// A path by which a process names itself, such as `/proc/self/cwd/x`, as the child will see it.
pub(super) fn seen_by_child(path: &Path, cwd: &Path) -> PathBuf {
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

#[cfg(test)]
mod tests {
    use super::named_in;

    #[test]
    fn what_an_argument_names_table() {
        for (argument, want) in [
            ("x.sh", &["x.sh"][..]),
            ("", &[""]),
            ("-", &["-"]),
            ("-c", &["-c"]),
            ("--file=x.sh", &["--file=x.sh", "x.sh"]),
            ("-f=x.sh", &["-f=x.sh", "x.sh", "=x.sh"]),
            ("-fx", &["-fx", "x"]),
            ("-la", &["-la", "a"]),
            ("-fab", &["-fab", "ab"]),
            ("-r./x", &["-r./x", "./x"]),
            ("-xr./x", &["-xr./x", "r./x", "./x"]),
            ("-fé", &["-fé", "é"]),
            ("--x.sh", &["--x.sh"]),
        ] {
            let found: Vec<_> = named_in(argument).into_iter().map(|(_, value)| value).collect();
            assert_eq!(found, want, "{argument}");
            for (option, value) in named_in(argument) {
                assert_eq!(format!("{option}{value}"), argument);
            }
        }
    }
}
