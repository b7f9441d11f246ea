//! Why nothing could be planned.

use std::path::PathBuf;
use std::sync::Arc;

use super::dotenv::EnvFault;
use super::record::{Difference, difference_lines, of_params_alone};
use super::schema::{NoSchema, Stop};
use crate::base::limits::{ARGUMENT_BYTES, PARAMS_NODES, VARIABLE_BYTES};
use crate::base::text::{brief_line, escape_line};
use crate::chain::FetchError;
use crate::diag::{Code, Diagnose, Place};
use crate::host::CannotConfine;
use crate::id::{Ref, Space};
use crate::space::SpaceError;
use crate::trace::PassedOver;
use crate::verify::TrustError;

pub(crate) const CODES: &[Code] = &[
    Code("plan.invalid_parameters"),
    Code("plan.invalid_schema"),
    Code("plan.bad_config"),
    Code("plan.no_command"),
    Code("plan.program_not_found"),
    Code("plan.argument_too_large"),
    Code("plan.variable_too_large"),
    Code("plan.argument_nul"),
    Code("plan.missing_secret"),
    Code("plan.secret_in_argv"),
    Code("plan.bad_env_file"),
    Code("plan.refused_variable"),
    Code("plan.unverified_program"),
    Code("plan.not_a_tool"),
    Code("plan.malformed"),
    Code("plan.drifted"),
];

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Violation {
    /// JSON pointer into the parameters; empty for the whole object.
    pub(crate) pointer: String,
    pub(crate) message: String,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PlanError {
    #[error("the parameters of `{item}` do not fit its schema{}", lines(.violations))]
    InvalidParameters { item: Ref, violations: Vec<Violation>, near: Option<String> },
    #[error("the schema of `{item}` cannot be used: {why}")]
    InvalidSchema { item: Ref, why: NoSchema },
    #[error("checking the parameters of `{item}` against its schema {stop}")]
    CheckStopped { item: Ref, stop: Stop },
    #[error("the parameters of `{item}` hold more than {PARAMS_NODES} values")]
    TooManyValues { item: Ref },
    #[error("`{item}`: `{pointer}` {}", escape_line(.why))]
    BadConfig { item: Ref, pointer: &'static str, why: String },
    #[error("no link of the chain of `{item}` says which command to run")]
    NoCommand { item: Ref },
    #[error("`{item}` runs `{program}`, which {}", not_found(.passed_over))]
    ProgramNotFound { item: Ref, program: String, passed_over: Vec<PassedOver> },
    #[error("an argument of `{item}` has {bytes} bytes; one may have {ARGUMENT_BYTES}")]
    ArgumentTooLarge { item: Ref, bytes: usize },
    #[error("`{item}` asks for secrets that this environment does not have: {}", .names.join(", "))]
    MissingSecret { item: Ref, names: Vec<String> },
    #[error(
        "`{item}` puts `${{{name}}}` into its command line, folder or url, where others can read it"
    )]
    SecretInArgv { item: Ref, name: String },
    #[error("`{item}`: {why}")]
    Sandbox { item: Ref, why: CannotConfine },
    #[error(transparent)]
    Trust(#[from] Arc<TrustError>),
    #[error("`{item}` would use `{}`, which no signature covers", escape_line(&.path.display().to_string()))]
    UnverifiedProgram { item: Ref, path: PathBuf },
    #[error("{fault}")]
    BadEnvFile { fault: EnvFault },
    /// It is a link, a device or too large.
    #[error("the project's `.env` cannot be read: {0}")]
    EnvFile(SpaceError),
    #[error("`{item}` takes `{name}` from the project's `.env`, which may not set it")]
    RefusedVariable { item: Ref, name: String },
    #[error("the {space} space's `{item}`: `{pointer}` is no number of seconds up to a day")]
    BadLimit { item: Ref, space: Space, pointer: String },
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Space(#[from] SpaceError),
    #[error("`{item}` is a {}, and only the run of a tool has a plan and a receipt", .item.kind)]
    NotATool { item: Ref },
    #[error("the plan cannot be used: {}", brief_line(.why))]
    Malformed { why: String },
    #[error("`{item}` is not what was planned{}", difference_lines(.differences))]
    Drifted { item: Ref, differences: Vec<Difference> },
    #[error("the variable `{name}` of `{item}` has {bytes} bytes; one may have {VARIABLE_BYTES}")]
    VariableTooLarge { item: Ref, name: String, bytes: usize },
    #[error("an argument of `{item}` holds a NUL, which no process can be given")]
    ArgumentNul { item: Ref },
}

fn not_found(passed_over: &[PassedOver]) -> String {
    let passed =
        passed_over.iter().map(|p| format!("\n{}: {}", escape_line(&p.path), escape_line(&p.why)));
    match passed_over.is_empty() {
        true => "is not on this machine's PATH".into(),
        false => format!("is not there to be used; passed over:{}", passed.collect::<String>()),
    }
}

fn lines(violations: &[Violation]) -> String {
    let mut out = String::new();
    for Violation { pointer, message } in violations {
        let at = if pointer.is_empty() { "/" } else { pointer };
        out.push_str(&format!("\n{at}: {message}"));
    }
    out
}

impl Diagnose for PlanError {
    fn code(&self) -> Code {
        Code(match self {
            Self::InvalidParameters { .. } => "plan.invalid_parameters",
            Self::InvalidSchema { why: NoSchema::Malformed(_), .. } => "plan.invalid_schema",
            Self::InvalidSchema { .. } | Self::TooManyValues { .. } => "parse.limit",
            Self::CheckStopped { stop: Stop::Steps, .. } => "parse.limit",
            Self::CheckStopped { .. } => "execute.timeout",
            Self::BadConfig { .. } => "plan.bad_config",
            Self::NoCommand { .. } => "plan.no_command",
            Self::ProgramNotFound { .. } => "plan.program_not_found",
            Self::ArgumentTooLarge { .. } => "plan.argument_too_large",
            Self::VariableTooLarge { .. } => "plan.variable_too_large",
            Self::ArgumentNul { .. } => "plan.argument_nul",
            Self::BadEnvFile { .. } => "plan.bad_env_file",
            Self::RefusedVariable { .. } => "plan.refused_variable",
            Self::BadLimit { .. } => "plan.bad_config",
            Self::Fetch(inner) => return inner.code(),
            Self::Space(inner) | Self::EnvFile(inner) => return inner.code(),
            Self::MissingSecret { .. } => "plan.missing_secret",
            Self::SecretInArgv { .. } => "plan.secret_in_argv",
            Self::Sandbox { why, .. } => return why.code(),
            Self::Trust(inner) => return inner.code(),
            Self::UnverifiedProgram { .. } => "plan.unverified_program",
            Self::NotATool { .. } => "plan.not_a_tool",
            Self::Malformed { .. } => "plan.malformed",
            Self::Drifted { .. } => "plan.drifted",
        })
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::InvalidParameters { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::InvalidParameters { item, .. } => {
                format!("see the parameters with `rye show {item}`")
            }
            Self::InvalidSchema { why: NoSchema::Malformed(_), .. } => {
                "see `rye explain plan.invalid_schema`".into()
            }
            Self::InvalidSchema { .. } => {
                "write the schema with fewer alternatives, and name a definition once".into()
            }
            Self::CheckStopped { .. } => {
                "give less at once; if the schema is yours, write it with fewer alternatives".into()
            }
            Self::TooManyValues { .. } => {
                "give less at once, or the path of a file that the tool reads".into()
            }
            Self::BadConfig { .. } => "see `rye explain plan.bad_config`".into(),
            Self::NoCommand { .. } => {
                "set `config.command` in the tool, or name a runtime that has one".into()
            }
            Self::ProgramNotFound { passed_over, .. } if !passed_over.is_empty() => {
                match passed_over.iter().find_map(|passed| passed.help.as_ref()) {
                    Some(help) => format!("if you know it, run `{help}`"),
                    None => "see `rye explain plan.program_not_found`".into(),
                }
            }
            Self::ProgramNotFound { program, .. } => {
                format!("install `{program}`, or add its folder to PATH; `rye doctor` lists what is missing")
            }
            Self::MissingSecret { names, .. } => {
                format!("set {} before you run it", names.join(" and "))
            }
            Self::SecretInArgv { .. } => {
                "hand it on by `env_config.env` or `input_data`, in an HTTP request by `auth` or `headers`".into()
            }
            Self::Sandbox { why, .. } => return why.help(),
            Self::Trust(inner) => return inner.help(),
            Self::UnverifiedProgram { .. } => {
                "list the file in the tool's `files` and sign the tool, or name a program outside the project".into()
            }
            Self::BadEnvFile { fault: EnvFault::Line(_) } => {
                "write one `NAME=value` a line; a line that begins with `#` is a comment".into()
            }
            Self::BadEnvFile { .. } => "save `.env` as UTF-8 without a byte order mark".into(),
            Self::EnvFile(_) => {
                "make `.env` a plain file of a few lines in the project's folder, or set the variables in your own environment".into()
            }
            Self::RefusedVariable { name, .. } => {
                format!("set `{name}` in your own environment if you want it; a project may not")
            }
            Self::BadLimit { .. } => "see `rye explain plan.bad_config`".into(),
            Self::Fetch(inner) => return inner.help(),
            Self::Space(inner) => return inner.help(),
            Self::NotATool { item } => format!("see what it does with `rye execute {item} --dry-run`"),
            Self::Malformed { .. } => {
                "make it anew with `rye plan <ref> --out FILE`, and compare it with what was approved".into()
            }
            Self::Drifted { item, differences } if of_params_alone(differences) => {
                format!("give the parameters that `{item}` was planned with, or store them with `rye plan --with-params`")
            }
            Self::Drifted { item, .. } => {
                format!("read what changed, then plan it again with `rye plan {item} --out FILE`")
            }
            Self::VariableTooLarge { name, .. } => {
                format!("set `{name}` to something shorter, such as the path of a file that holds it")
            }
            Self::ArgumentTooLarge { .. } | Self::ArgumentNul { .. } => {
                "pass parameters by standard input, which is the default, instead of `{params_json}`".into()
            }
        })
    }

    fn place(&self) -> Option<Place> {
        match self {
            Self::Fetch(inner) => inner.place(),
            Self::Space(inner) => inner.place(),
            Self::Trust(inner) => inner.place(),
            Self::BadEnvFile { fault } => {
                let place = Place { path: ".env".into(), ..Place::default() };
                Some(place.line(fault.line()))
            }
            Self::EnvFile(_) => Some(Place { path: ".env".into(), ..Place::default() }),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
        match self {
            Self::Fetch(inner) => return inner.item(),
            Self::Space(inner) => return inner.item(),
            Self::Trust(inner) => return inner.item(),
            Self::BadEnvFile { .. } | Self::EnvFile(_) => return None,
            _ => {}
        }
        let (Self::InvalidParameters { item, .. }
        | Self::InvalidSchema { item, .. }
        | Self::CheckStopped { item, .. }
        | Self::TooManyValues { item }
        | Self::BadConfig { item, .. }
        | Self::NoCommand { item }
        | Self::ProgramNotFound { item, .. }
        | Self::ArgumentTooLarge { item, .. }
        | Self::VariableTooLarge { item, .. }
        | Self::MissingSecret { item, .. }
        | Self::SecretInArgv { item, .. }
        | Self::Sandbox { item, .. }
        | Self::UnverifiedProgram { item, .. }
        | Self::RefusedVariable { item, .. }
        | Self::BadLimit { item, .. }
        | Self::NotATool { item }
        | Self::Drifted { item, .. }
        | Self::ArgumentNul { item }) = self
        else {
            return None;
        };
        Some(item.to_string())
    }

    fn data(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut data = serde_json::Map::new();
        if let Self::Fetch(inner) = self {
            return inner.data();
        }
        if let Self::InvalidParameters { violations, .. } = self
            && let Ok(violations) = serde_json::to_value(violations)
        {
            data.insert("violations".into(), violations);
        }
        if let Self::ProgramNotFound { passed_over, .. } = self
            && let Ok(passed_over) = serde_json::to_value(passed_over)
        {
            data.insert("passed_over".into(), passed_over);
        }
        if let Self::Drifted { differences, .. } = self {
            data.insert("differences".into(), serde_json::json!(differences));
        }
        data
    }
}
