//! The program that a process starts: one of this machine, or a file of the run's private folder.
//!
//! Judged by what a template comes to and not by how it is written: a text that leads into the
//! private folder must be a file there, and a file that names its interpreter in its first line
//! gets one that may be used. Otherwise the kernel, or `env`, would choose it by what lies on
//! `PATH`.

use std::path::{Path, PathBuf};

use super::arguments::seen_by_child;
use super::config::Execution;
use super::error::PlanError;
use super::machine::{Chosen, Seeker};
use super::template_context::Filled;
use super::tree::{Pinned, Tree};
use crate::id::Ref;

/// The program that is started.
pub(super) enum Program {
    /// An absolute path, found before the run; `permitted` if it lies in the project and you let it
    /// in.
    Found { path: PathBuf, permitted: bool },
    /// A signed file, by its path in the private folder.
    Copy(String),
    /// A signed file that asks for its interpreter by name.
    Script { interpreter: PathBuf, options: Vec<String>, copy: String },
}

impl Program {
    /// # Errors
    /// `plan.no_command`, `plan.program_not_found`, `plan.argument_nul`, `plan.bad_config`,
    /// `plan.unverified_program`
    pub(super) fn new(
        item: &Ref,
        execution: &Execution,
        filled: &Filled,
        tree: &Tree,
        seek: &mut Seeker<'_>,
        interpreter: Option<&Chosen>,
    ) -> Result<(Self, Option<Chosen>), PlanError> {
        let item = || item.clone();
        let bad = |why| PlanError::BadConfig { item: item(), pointer: "/config/command", why };
        let program = execution.command.as_ref().map(|command| filled.scope().pieces(command));
        let program = program.filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| PlanError::NoCommand { item: item() })?;
        if program.has_nul() {
            return Err(PlanError::ArgumentNul { item: item() });
        }
        if program.leaves_private() {
            return Err(bad("leads out of the folder of verified files by `..`".into()));
        }
        if let Some(path) = program.below_private() {
            let unlisted = || bad(format!("is `{}`, which is not in `files`", path.display()));
            return Self::from_copy(&item(), tree.at(&path).ok_or_else(unlisted)?, seek);
        }
        let program = program.shown();
        let missing = |seek: &Seeker<'_>, program| {
            let passed_over = seek.passed_over().to_vec();
            PlanError::ProgramNotFound { item: item(), program, passed_over }
        };
        let found = |chosen: Chosen| {
            let (path, permitted) = (chosen.path.clone(), chosen.permitted);
            (Self::Found { path, permitted }, Some(chosen))
        };
        if !program.contains('/') {
            return seek.on_path(&program).map(found).ok_or_else(|| missing(seek, program));
        }
        // A relative path is meant from the project, wherever the child starts.
        let path = seek.machine.project_path.join(&program);
        if let Some(file) = tree.copy_of(&path) {
            return Self::from_copy(&item(), file, seek);
        }
        let path = seen_by_child(&path, seek.machine.workplace);
        if let Some(chosen) = interpreter.filter(|chosen| chosen.path == path) {
            return Ok(found(chosen.clone()));
        }
        let look = seek.machine.host.look(&path).filter(|look| look.is_program);
        let look = look.ok_or_else(|| missing(seek, program))?;
        // What a signed item names outright is signed or lies outside; no record changes that.
        match seek.machine.guards_seen(&path, &look) {
            false => Ok(found(Chosen { path, look, permitted: false, is_rye: false })),
            true => Err(PlanError::UnverifiedProgram { item: item(), path }),
        }
    }

    /// A signed file, with the interpreter that its first line asks for.
    fn from_copy(
        item: &Ref,
        file: &Pinned,
        seek: &mut Seeker<'_>,
    ) -> Result<(Self, Option<Chosen>), PlanError> {
        let copy = file.path.clone();
        let bad =
            |why| PlanError::BadConfig { item: item.clone(), pointer: "/config/command", why };
        if !file.is_program {
            let why = format!("is `{copy}`, which is not a program: list it in `exec_files`");
            return Err(bad(why));
        }
        match Shebang::from_bytes(&file.bytes) {
            None => Ok((Self::Copy(copy), None)),
            Some(Shebang::Path(path))
                if !path.is_absolute() || seek.machine.leads_to_foreign_file(&path) =>
            {
                Err(PlanError::UnverifiedProgram { item: item.clone(), path })
            }
            Some(Shebang::Path(_)) => Ok((Self::Copy(copy), None)),
            Some(Shebang::Name { name, options }) => {
                let chosen = seek.on_path(&name).ok_or_else(|| PlanError::ProgramNotFound {
                    item: item.clone(),
                    program: name,
                    passed_over: seek.passed_over().to_vec(),
                })?;
                let interpreter = chosen.path.clone();
                Ok((Self::Script { interpreter, options, copy }, Some(chosen)))
            }
        }
    }

    /// The program of this machine that is started, if it is not a signed file itself.
    pub(super) fn found(&self) -> Option<&Path> {
        match self {
            Self::Found { path, .. } | Self::Script { interpreter: path, .. } => Some(path),
            Self::Copy(_) => None,
        }
    }

    /// The signed file that is started, below the private folder.
    pub(super) fn copy(&self) -> Option<&str> {
        match self {
            Self::Copy(path) | Self::Script { copy: path, .. } => Some(path),
            Self::Found { .. } => None,
        }
    }

    /// Returns true if it is a signed file that another program reads.
    pub(super) fn is_script(&self) -> bool {
        matches!(self, Self::Script { .. })
    }

    /// Returns true if the person let this very path in.
    pub(super) fn permits(&self, path: &Path) -> bool {
        matches!(self, Self::Found { path: known, permitted: true } if known == path)
    }

    /// The path of the program that is started, with the private folder at `pin`.
    pub(super) fn path(&self, pin: &Path) -> PathBuf {
        match self {
            Self::Found { path, .. } | Self::Script { interpreter: path, .. } => path.clone(),
            Self::Copy(path) => pin.join(path),
        }
    }

    /// The arguments that come before the tool's own.
    pub(super) fn arguments(&self, pin: &Path) -> Vec<String> {
        match self {
            Self::Script { options, copy, .. } => {
                let file = pin.join(copy).display().to_string();
                options.iter().cloned().chain([file]).collect()
            }
            Self::Found { .. } | Self::Copy(_) => Vec::new(),
        }
    }
}

/// The interpreter that the first line of a script asks for.
#[derive(Debug, PartialEq, Eq)]
enum Shebang {
    Path(PathBuf),
    /// By way of `env`.
    Name {
        name: String,
        options: Vec<String>,
    },
}

impl Shebang {
    /// As the kernel and `env` read it: one argument, which `-S` takes apart.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        let (program, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        if Path::new(program).file_name().is_none_or(|name| name != "env") {
            return Some(Self::Path(program.into()));
        }
        let rest = rest.trim();
        let mut words = match rest.strip_prefix("-S") {
            Some(several) => several.split_whitespace().map(str::to_owned).collect(),
            None => vec![rest.to_owned()],
        };
        let name = if words.is_empty() { String::new() } else { words.remove(0) };
        match name.contains('/') {
            true => Some(Self::Path(name.into())),
            false => Some(Self::Name { name, options: words }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Shebang;

    #[test]
    fn the_first_line_of_a_script_table() {
        let name = |name: &str, options: &[&str]| {
            let options = options.iter().map(|&option| option.to_owned()).collect();
            Some(Shebang::Name { name: name.to_owned(), options })
        };
        let path = |path: &str| Some(Shebang::Path(path.into()));
        for (text, want) in [
            ("#!/bin/sh\nx", path("/bin/sh")),
            ("#! /bin/sh -e\n", path("/bin/sh")),
            ("#!python3\n", path("python3")),
            ("#!/usr/bin/env python3\n", name("python3", &[])),
            ("#!/usr/bin/env  python3 -u\n", name("python3 -u", &[])),
            ("#!/usr/bin/env -S python3 -u\n", name("python3", &["-u"])),
            ("#!/usr/bin/env /opt/x\n", path("/opt/x")),
            ("#!/usr/bin/env\n", name("", &[])),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            assert_eq!(Shebang::from_bytes(text.as_bytes()), want, "{text}");
        }
    }
}
