//! `env_config.interpreter`: which program runs a family of tools, and where rye looks for it.
//!
//! In:  the block of a signed header. Out: an [`Interpreter`].
//!
//! Unlike in the rest of a header, unknown keys are faults, because a misspelt key would change
//! what runs.

use super::fields::{Fields, wrong};
use super::own_variables::is_own;
use crate::base::text::escape_line;
use crate::parse::error::{PARSE_METADATA, ParseFault};

/// An interpreter that a link asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) search: Search,
    /// The variable that gets the path; the nearest link that names one wins.
    pub(crate) var: Option<String>,
    /// A plain program name or an absolute path for when nothing else is found.
    pub(crate) fallback: Option<String>,
}

/// Where an interpreter is looked for. Program names are plain; folders are relative and plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    /// Each folder below the project with each name, then `PATH`.
    LocalBinary { candidates: Vec<String>, search_paths: Vec<String> },
    /// The Python of a virtual environment below the project.
    VenvPython { venv: String },
    /// A program of the project's `node_modules/.bin`.
    NodeModules { binary: String },
    /// `PATH` alone.
    SystemBinary { candidates: Vec<String> },
    /// The program that a version manager of the operator has chosen.
    VersionManager { manager: Manager, binary: String },
    /// The first line that a program prints.
    Command { argv: Vec<String> },
    /// The very program that runs the tool: rye.
    Rye,
}

/// A version manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manager {
    Pyenv,
    Rbenv,
    Nvm,
    Asdf,
    Mise,
}

const MANAGERS: [(&str, Manager); 5] = [
    ("pyenv", Manager::Pyenv),
    ("rbenv", Manager::Rbenv),
    ("nvm", Manager::Nvm),
    ("asdf", Manager::Asdf),
    ("mise", Manager::Mise),
];

impl Interpreter {
    /// # Errors
    /// `parse.metadata` for an unknown type or key, a value of another type, a name that is not a
    /// plain program name, and a folder that leaves the project.
    pub(super) fn new(fields: &Fields<'_>) -> Result<Self, ParseFault> {
        let kind = fields.string("type")?;
        let kind = kind.ok_or_else(|| missing(fields, "type"))?;
        let (search, keys): (_, &[&str]) = match kind.as_str() {
            "local_binary" => {
                let search_paths = required_list(fields, "search_paths")?;
                each(&search_paths, fields, "search_paths", folder)?;
                let candidates = candidates(fields)?;
                let search = Search::LocalBinary { candidates, search_paths };
                (search, &["binary", "candidates", "search_paths"])
            }
            "venv_python" => {
                let venv = fields.string("venv")?.unwrap_or_else(|| ".venv".into());
                folder(&venv, &fields.pointer("venv"))?;
                (Search::VenvPython { venv }, &["venv"])
            }
            "node_modules" => (Search::NodeModules { binary: binary(fields)? }, &["binary"]),
            "system_binary" => (
                Search::SystemBinary { candidates: candidates(fields)? },
                &["binary", "candidates"],
            ),
            "version_manager" => {
                let (manager, binary) = (manager(fields)?, binary(fields)?);
                (Search::VersionManager { manager, binary }, &["manager", "binary"])
            }
            "command" => {
                let argv = required_list(fields, "command")?;
                if argv.iter().any(|argument| argument.contains('\0')) {
                    return Err(fault(&fields.pointer("command"), "holds a NUL character"));
                }
                program_or_path(&argv[0], &format!("{}/0", fields.pointer("command")))?;
                (Search::Command { argv }, &["command"])
            }
            "rye" => (Search::Rye, &[]),
            _ => {
                let known = "local_binary, venv_python, node_modules, system_binary, \
                             version_manager, command or rye";
                return Err(fault(&fields.pointer("type"), &format!("must be {known}")));
            }
        };
        fields.only_or_x(&[&["type", "var", "fallback"], keys].concat())?;
        let fallback = fields.string("fallback")?;
        if let Some(program) = &fallback {
            program_or_path(program, &fields.pointer("fallback"))?;
        }
        Ok(Self { search, var: var(fields)?, fallback })
    }
}

fn fault(pointer: &str, why: &str) -> ParseFault {
    ParseFault::new(PARSE_METADATA, format!("`{}` {why}", escape_line(pointer)))
}

fn missing(fields: &Fields<'_>, key: &str) -> ParseFault {
    fault(&fields.pointer(key), "is missing")
}

fn required_list(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, ParseFault> {
    match fields.strings(key)? {
        Some(list) if list.is_empty() => Err(fault(&fields.pointer(key), "is empty")),
        Some(list) => Ok(list),
        None => Err(missing(fields, key)),
    }
}

fn each(
    list: &[String],
    fields: &Fields<'_>,
    key: &str,
    check: fn(&str, &str) -> Result<(), ParseFault>,
) -> Result<(), ParseFault> {
    let pointer = fields.pointer(key);
    list.iter().enumerate().try_for_each(|(at, text)| check(text, &format!("{pointer}/{at}")))
}

fn binary(fields: &Fields<'_>) -> Result<String, ParseFault> {
    let name = fields.string("binary")?.ok_or_else(|| missing(fields, "binary"))?;
    program(&name, &fields.pointer("binary"))?;
    Ok(name)
}

/// One `binary` or a list of `candidates`.
fn candidates(fields: &Fields<'_>) -> Result<Vec<String>, ParseFault> {
    match (fields.get("binary"), fields.get("candidates")) {
        (Some(_), Some(_)) => Err(fault(&fields.pointer("binary"), "stands beside `candidates`")),
        (Some(_), None) => Ok(vec![binary(fields)?]),
        (None, _) => {
            let list = required_list(fields, "candidates")?;
            each(&list, fields, "candidates", program)?;
            Ok(list)
        }
    }
}

fn manager(fields: &Fields<'_>) -> Result<Manager, ParseFault> {
    let pointer = fields.pointer("manager");
    let name = fields.string("manager")?.ok_or_else(|| missing(fields, "manager"))?;
    let known = MANAGERS.iter().find(|(known, _)| *known == name);
    let names = MANAGERS.map(|(name, _)| name).join(", ");
    known
        .map(|(_, manager)| *manager)
        .ok_or_else(|| fault(&pointer, &format!("must be one of {names}")))
}

/// A name without a folder.
fn program(name: &str, pointer: &str) -> Result<(), ParseFault> {
    let plain = !name.is_empty() && !name.starts_with(['.', '-']) && !name.contains(['/', '\0']);
    if plain { Ok(()) } else { Err(fault(pointer, "is not a plain program name")) }
}

fn program_or_path(name: &str, pointer: &str) -> Result<(), ParseFault> {
    match name.starts_with('/') && !name.contains('\0') {
        true => Ok(()),
        false => program(name, pointer)
            .map_err(|_| fault(pointer, "is neither a plain program name nor an absolute path")),
    }
}

/// A folder below the project.
fn folder(path: &str, pointer: &str) -> Result<(), ParseFault> {
    let plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    match path.split('/').all(plain) {
        true => Ok(()),
        false => Err(fault(pointer, "is not a plain relative folder")),
    }
}

fn var(fields: &Fields<'_>) -> Result<Option<String>, ParseFault> {
    let Some(value) = fields.get("var") else { return Ok(None) };
    let pointer = fields.pointer("var");
    let name = value.as_str().ok_or_else(|| wrong(&pointer, "a string", value))?;
    let starts = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    let letter = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if !starts || !name.bytes().all(letter) {
        return Err(fault(&pointer, "must be a variable's name in upper case"));
    }
    if is_own(name) || matches!(name, "PATH" | "HOME") || name.starts_with("LD_") {
        return Err(fault(&pointer, &format!("is `{name}`, which no interpreter may set")));
    }
    Ok(Some(name.to_owned()))
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
