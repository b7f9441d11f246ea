//! What can be wrong with a command line.

use std::io;

use crate::author::NotMade;
use crate::base::text::escape_line;
use crate::bundle::NotBundled;
use crate::dev::DevError;
use crate::diag::{Code, Diagnose, Diagnostic};
use crate::git::{CheckError, GitError};
use crate::import::NotImported;
use crate::learn::NotLearned;
use crate::pipeline::{Failed, Failure};
use crate::trial::FindError;

pub(crate) const CODES: &[Code] = &[
    Code("cli.usage"),
    Code("cli.input_syntax"),
    Code("cli.input_file"),
    Code("cli.params_json"),
    Code("cli.not_confirmed"),
    Code("cli.unknown_code"),
    Code("cli.output"),
];

#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{message}")]
    Usage { message: String, help: Option<String> },
    #[error("`{}` is no input: {why}", escape_line(.text))]
    InputSyntax { text: String, why: String },
    #[error("cannot read `{}`: {source}", escape_line(.path))]
    InputFile { path: String, source: io::Error },
    #[error("the parameters are no JSON object: {why}")]
    ParamsJson { why: String },
    #[error("{what} was not confirmed, so nothing was done")]
    NotConfirmed { what: String },
    #[error("the answer could not be written: {source}")]
    Output { source: io::Error },
    #[error("`{}` is no code of rye", escape_line(.code))]
    UnknownCode { code: String, near: Vec<String> },
    #[cfg(feature = "lsp")]
    #[error(transparent)]
    Lsp(crate::lsp::LspError),
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error(transparent)]
    Dev(#[from] DevError),
    #[error("{}", .0.failure)]
    Failed(Box<Failed>),
    /// An error of a house.
    #[error("{0}")]
    House(Box<dyn Diagnose + Send + Sync>),
}

impl<E> From<E> for CliError
where
    Failure: From<E>,
    E: Diagnose,
{
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

impl From<NotMade> for CliError {
    fn from(error: NotMade) -> Self {
        match error {
            NotMade::Rule(error) => Self::House(Box::new(error)),
            NotMade::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<NotImported> for CliError {
    fn from(error: NotImported) -> Self {
        match error {
            NotImported::Rule(error) => Self::House(Box::new(error)),
            NotImported::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<NotLearned> for CliError {
    fn from(error: NotLearned) -> Self {
        match error {
            NotLearned::Rule(error) => Self::House(Box::new(error)),
            NotLearned::Run(failed) => Self::Failed(failed),
            NotLearned::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<NotBundled> for CliError {
    fn from(error: NotBundled) -> Self {
        match error {
            NotBundled::Rule(error) => Self::House(error),
            NotBundled::Failure(failure) => Self::Failure(failure),
        }
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> Self {
        Self::House(Box::new(error))
    }
}

impl From<CheckError> for CliError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Git(error) => error.into(),
            CheckError::Rye(failure) => Self::Failure(failure),
        }
    }
}

impl From<FindError> for CliError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Test(error) => Self::House(Box::new(error)),
            FindError::Rye(failure) => Self::Failure(failure),
        }
    }
}

impl CliError {
    pub(super) fn diagnostic(&self) -> Diagnostic {
        let (code, help) = match self {
            Self::Failure(failure) => return failure.diagnostic(),
            #[cfg(feature = "lsp")]
            Self::Lsp(error) => return Diagnostic::from(error),
            Self::Failed(failed) => return failed.failure.diagnostic(),
            Self::Usage { help, .. } => {
                ("cli.usage", help.clone().unwrap_or_else(|| "see `rye --help`".to_owned()))
            }
            Self::House(error) => return Diagnostic::from(error.as_ref()),
            Self::Dev(error) => return error.diagnostic(),
            Self::InputSyntax { .. } => (
                "cli.input_syntax",
                "write `name=value`, `name=@file`, `name=@@text` for a text that begins with `@`, or `name:=json`".into(),
            ),
            Self::InputFile { .. } => ("cli.input_file", "paths are relative to the working directory".into()),
            Self::ParamsJson { .. } => (
                "cli.params_json",
                "give one JSON object, such as `--params '{\"path\": \"a.txt\"}'`".into(),
            ),
            Self::NotConfirmed { .. } => {
                ("cli.not_confirmed", "a person runs it on a terminal, after reading what it is about".into())
            }
            Self::Output { .. } => {
                ("cli.output", "what was asked for was done; make room, and ask again for the answer".into())
            }
            Self::UnknownCode { near, .. } => {
                let help = match near.is_empty() {
                    true => "codes are listed by `rye list --kind knowledge --all`".to_owned(),
                    false => format!("did you mean `{}`?", near.join("` or `")),
                };
                ("cli.unknown_code", help)
            }
        };
        Diagnostic {
            code: Code(code),
            message: self.to_string(),
            help: Some(help),
            place: None,
            item: None,
            data: serde_json::Map::new(),
        }
    }
}
