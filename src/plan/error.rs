//! Why nothing could be planned.

use std::path::PathBuf;

use super::dotenv::EnvFault;
use super::record::{PlanDifference, difference_lines, of_params_alone};
use super::schema::{NoSchema, SchemaStop};
use crate::base::limits::{ARGUMENT_BYTES, PARAMS_NODES, VARIABLE_BYTES};
use crate::base::text::{brief_line, escape_line, shell_word};
use crate::base::time::TIME_FORMS;
use crate::diagnostic::{Code, Diagnose, Place, codes};
use crate::host::CannotConfine;
use crate::id::{Ref, Space};
use crate::parse::PARSE_LIMIT;
use crate::space::SpaceError;
use crate::trace::SkippedPath;

codes! {
    PLAN_INVALID_PARAMETERS = "plan.invalid_parameters", Usage;
    PLAN_INVALID_SCHEMA = "plan.invalid_schema", CannotRun;
    PLAN_BAD_CONFIG = "plan.bad_config", CannotRun;
    PLAN_NO_COMMAND = "plan.no_command", CannotRun;
    PLAN_PROGRAM_NOT_FOUND = "plan.program_not_found", CannotRun;
    PLAN_ARGUMENT_TOO_LARGE = "plan.argument_too_large", CannotRun;
    PLAN_VARIABLE_TOO_LARGE = "plan.variable_too_large", CannotRun;
    PLAN_ARGUMENT_NUL = "plan.argument_nul", CannotRun;
    PLAN_MISSING_SECRET = "plan.missing_secret", CannotRun;
    PLAN_SECRET_IN_ARGV = "plan.secret_in_argv", CannotRun;
    PLAN_BAD_ENV_FILE = "plan.bad_env_file", CannotRun;
    PLAN_REFUSED_VARIABLE = "plan.refused_variable", CannotRun;
    PLAN_UNVERIFIED_PROGRAM = "plan.unverified_program", CannotRun;
    PLAN_NO_HOSTS = "plan.no_hosts", CannotRun;
    PLAN_BAD_HOSTS = "plan.bad_hosts", CannotRun;
    PLAN_NOT_A_TOOL = "plan.not_a_tool", Usage;
    PLAN_MALFORMED = "plan.malformed", Refused;
    PLAN_DRIFTED = "plan.drifted", Refused;
    MATRIX_TOOL_FORK = "matrix.tool_fork", Refused;
    MATRIX_DIRECTIVE_REMOTE_INLINE = "matrix.directive_remote_inline", Refused;
    MATRIX_DIRECTIVE_ASYNC_INLINE = "matrix.directive_async_inline", Refused;
    MATRIX_DRY_RUN_REMOTE = "matrix.dry_run_remote", Refused;
    MATRIX_ASYNC_DRY_RUN = "matrix.async_dry_run", Refused;
    MATRIX_FORK_SANDBOX = "matrix.fork_sandbox", Refused;
    MATRIX_EMPTY_REMOTE = "matrix.empty_remote", Refused;
    MATRIX_UNKNOWN_WORD = "matrix.unknown_word", Refused;
    MATRIX_NOT_EXECUTABLE = "matrix.not_executable", Refused;
    EXECUTE_TIMEOUT = "execute.timeout", CannotRun;
}

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Violation {
    /// JSON pointer into the parameters; empty for the whole object.
    pub(crate) pointer: String,
    pub(crate) message: String,
}

/// A word that was given, and the known one that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearWord {
    pub(crate) given: String,
    pub(crate) known: String,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PlanError {
    #[error("the parameters of `{item}` do not fit its schema{}", lines(.violations))]
    InvalidParameters {
        item: Ref,
        violations: Vec<Violation>,
        near: Option<NearWord>,
        /// A parameter that was given as text, and what its values look like.
        form: Option<(String, &'static str)>,
    },
    #[error("the schema of `{item}` cannot be used: {why}")]
    InvalidSchema { item: Ref, why: NoSchema },
    #[error("checking the parameters of `{item}` against its schema {stop}")]
    CheckStopped { item: Ref, stop: SchemaStop },
    #[error("the parameters of `{item}` hold more than {PARAMS_NODES} values")]
    TooManyValues { item: Ref },
    #[error("`{item}`: `{pointer}` {}", escape_line(.why))]
    BadConfig { item: Ref, pointer: &'static str, why: String },
    #[error("no link of the chain of `{item}` says which command to run")]
    NoCommand { item: Ref },
    #[error("`{item}` runs `{program}`, which {}", not_found(.passed_over))]
    ProgramNotFound { item: Ref, program: String, passed_over: Vec<SkippedPath> },
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
    #[error("`{item}` would use `{}`, which no signature covers", escape_line(&.path.display().to_string()))]
    UnverifiedProgram { item: Ref, path: PathBuf },
    #[error("{fault}")]
    BadEnvFile { fault: EnvFault },
    /// It is a link, a device or too large.
    #[error("the project's `.env` cannot be read: {0}")]
    EnvFile(SpaceError),
    #[error("`{item}` takes `{name}` from the project's `.env`, which may not set it")]
    RefusedVariable { item: Ref, name: String },
    #[error(
        "the {space} space's `{item}`: `{pointer}` is not a time up to 24 h: {forms}",
        forms = TIME_FORMS
    )]
    BadLimit { item: Ref, space: Space, pointer: String },
    #[error("`{item}` reaches the hosts that your `{list}` lists, and there is no such list")]
    NoHosts {
        item: Ref,
        list: Ref,
        /// Where it would lie; `None` without a user space.
        file: Option<PathBuf>,
    },
    #[error(
        "`{item}` reaches the hosts that your `{list}` lists, and the project's copy leaves none of \
         them"
    )]
    NoCommonHosts { item: Ref, list: Ref },
    #[error("the {space} space's `{list}` {}", escape_line(.why))]
    BadHosts { list: Ref, space: Space, why: String },
    #[error("`{item}` is a {}, and only the run of a tool has a plan and a receipt", .item.kind)]
    NotATool { item: Ref },
    #[error("the plan cannot be used: {}", brief_line(.why))]
    Malformed { why: String },
    #[error("`{item}` is not what was planned{}", difference_lines(.differences))]
    Drifted { item: Ref, differences: Vec<PlanDifference> },
    #[error("the variable `{name}` of `{item}` has {bytes} bytes; one may have {VARIABLE_BYTES}")]
    VariableTooLarge { item: Ref, name: String, bytes: usize },
    #[error("an argument of `{item}` holds a NUL, which no process can be given")]
    ArgumentNul { item: Ref },
}

fn not_found(passed_over: &[SkippedPath]) -> String {
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
        match self {
            Self::InvalidParameters { .. } => PLAN_INVALID_PARAMETERS,
            Self::InvalidSchema {
                why: NoSchema::Malformed(_) | NoSchema::Elsewhere(_), ..
            } => PLAN_INVALID_SCHEMA,
            Self::InvalidSchema { .. } | Self::TooManyValues { .. } => PARSE_LIMIT,
            Self::CheckStopped { stop: SchemaStop::Steps, .. } => PARSE_LIMIT,
            Self::CheckStopped { .. } => EXECUTE_TIMEOUT,
            Self::BadConfig { .. } => PLAN_BAD_CONFIG,
            Self::NoCommand { .. } => PLAN_NO_COMMAND,
            Self::ProgramNotFound { .. } => PLAN_PROGRAM_NOT_FOUND,
            Self::ArgumentTooLarge { .. } => PLAN_ARGUMENT_TOO_LARGE,
            Self::VariableTooLarge { .. } => PLAN_VARIABLE_TOO_LARGE,
            Self::ArgumentNul { .. } => PLAN_ARGUMENT_NUL,
            Self::BadEnvFile { .. } => PLAN_BAD_ENV_FILE,
            Self::RefusedVariable { .. } => PLAN_REFUSED_VARIABLE,
            Self::BadLimit { .. } => PLAN_BAD_CONFIG,
            Self::EnvFile(inner) => inner.code(),
            Self::MissingSecret { .. } => PLAN_MISSING_SECRET,
            Self::SecretInArgv { .. } => PLAN_SECRET_IN_ARGV,
            Self::Sandbox { why, .. } => why.code(),
            Self::UnverifiedProgram { .. } => PLAN_UNVERIFIED_PROGRAM,
            Self::NoHosts { .. } | Self::NoCommonHosts { .. } => PLAN_NO_HOSTS,
            Self::BadHosts { .. } => PLAN_BAD_HOSTS,
            Self::NotATool { .. } => PLAN_NOT_A_TOOL,
            Self::Malformed { .. } => PLAN_MALFORMED,
            Self::Drifted { .. } => PLAN_DRIFTED,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::InvalidParameters { near: Some(NearWord { given, known }), .. } => {
                format!("`{}` is not known here; did you mean `{known}`?", escape_line(given))
            }
            Self::InvalidParameters { item, form: Some((name, form)), .. } => {
                format!("`{}` is {form}; see `rye show {item}`", escape_line(name))
            }
            Self::InvalidParameters { item, .. } => {
                format!("see the parameters with `rye show {item}`")
            }
            Self::InvalidSchema { why: NoSchema::Malformed(_) | NoSchema::Elsewhere(_), .. } => {
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
                format!(
                    "set {} before you run it, or put it into the `.env` of an accepted project, \
                     which git is to ignore",
                    names.join(" and ")
                )
            }
            Self::SecretInArgv { .. } => {
                "hand it on by `env_config.env` or `input_data`, in an HTTP request by `auth` or `headers`".into()
            }
            Self::Sandbox { why, .. } => return why.help(),
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
            Self::NoHosts { list, file: Some(file), .. } => {
                let folder = file.parent().unwrap_or(file).display().to_string();
                let (folder, file) = (shell_word(&folder), shell_word(&file.display().to_string()));
                format!(
                    "list them and sign the list: `mkdir -p {folder} && echo 'hosts: \
                     [\"docs.example.org\"]' > {file} && rye sign {list} --space user`"
                )
            }
            Self::NoHosts { .. } => {
                "there is no user space to list them in; see `rye doctor`".into()
            }
            Self::NoCommonHosts { list, .. } => {
                format!("a project only takes hosts away: see what it lists with `rye show {list}`")
            }
            Self::BadHosts { list, space, .. } => format!(
                "write `hosts: [\"docs.example.org\"]` there, and sign it: `rye sign {list} --space {space}`"
            ),
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
            Self::BadEnvFile { fault } => {
                let place = Place { path: ".env".into(), ..Place::default() };
                Some(place.line(fault.line()))
            }
            Self::EnvFile(_) => Some(Place { path: ".env".into(), ..Place::default() }),
            _ => None,
        }
    }

    fn item(&self) -> Option<String> {
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
        | Self::NoHosts { item, .. }
        | Self::NoCommonHosts { item, .. }
        | Self::BadHosts { list: item, .. }
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
