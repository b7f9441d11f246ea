//! Errors of a command line.

use std::io;
use std::path::PathBuf;

use crate::base::text::{escape_line, shell_word};
use crate::diagnostic::{Code, Diagnose, codes};
use crate::id::Ref;
use crate::verify::advice_for_file_of;

codes! {
    CLI_USAGE = "cli.usage", Usage;
    CLI_INPUT_SYNTAX = "cli.input_syntax", Usage;
    CLI_INPUT_FILE = "cli.input_file", Usage;
    CLI_PARAMS_JSON = "cli.params_json", Usage;
    CLI_NOT_CONFIRMED = "cli.not_confirmed", Usage;
    CLI_UNKNOWN_CODE = "cli.unknown_code", Usage;
    CLI_NOT_AN_ITEM = "cli.not_an_item", NotFound;
    CLI_OUTPUT = "cli.output", Usage;
    CLI_WOULD_CHANGE = "cli.would_change", Refused;
    CLI_SET_UP = "cli.set_up", Refused;
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error("{message}")]
    Usage { message: String, help: Option<String> },
    #[error("`{}` is not a valid input: {why}", escape_line(.text))]
    InputSyntax { text: String, why: String },
    #[error("cannot read `{}`: {source}", escape_line(.path))]
    InputFile { path: String, source: io::Error },
    #[error("the parameters are not a JSON object: {why}")]
    ParamsJson { why: String },
    /// No person was there to confirm.
    #[error("nobody confirmed to {what}, so nothing was done")]
    NotConfirmed { what: String },
    /// The person declined a question that stands above it.
    #[error("you did not say yes, so nothing was done")]
    Declined,
    #[error("`{}` is not an item: {}", escape_line(.path), escape_line(.why))]
    NotAnItem { path: String, why: String },
    /// A folder or a glob, where one item is asked for; `inside` is one of those that it means.
    #[error("`{}` is not an item: it is a {what}, and one item is asked for", escape_line(.word))]
    Several { word: String, what: &'static str, inside: Option<Ref> },
    /// A path at which nothing lies, and an item whose file has that name.
    #[error("`{}` is not an item: there is no such file", escape_line(.path))]
    NoFile { path: String, near: Ref, file: String },
    #[error("`{}` is a file of `{tool}`, and not an item by itself", escape_line(.path))]
    FileOfATool { path: String, tool: Ref },
    #[error("the answer could not be written: {source}")]
    Output { source: io::Error },
    #[error("`{}` {}", escape_line(&.path.display().to_string()), not_written(.source))]
    OutputFile { path: PathBuf, source: io::Error },
    /// `--check` found items that would change.
    #[error("{count} items would be {verb}, the first is `{first}`")]
    WouldChange { count: usize, verb: &'static str, first: Ref },
    #[error("something is wrong with the set-up: {}", escape_line(.what))]
    SetUp { what: String, help: Option<String> },
    #[error("`{}` is not an error code of rye", escape_line(.code))]
    UnknownCode { code: String, near: Vec<String> },
}

/// Why there is no new file.
fn not_written(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AlreadyExists => "is there already, and is not overwritten".into(),
        _ => format!("could not be written: {source}"),
    }
}

impl Diagnose for CliError {
    fn code(&self) -> Code {
        match self {
            Self::Usage { .. } => CLI_USAGE,
            Self::InputSyntax { .. } => CLI_INPUT_SYNTAX,
            Self::InputFile { .. } => CLI_INPUT_FILE,
            Self::ParamsJson { .. } => CLI_PARAMS_JSON,
            Self::NotConfirmed { .. } | Self::Declined => CLI_NOT_CONFIRMED,
            Self::NotAnItem { .. }
            | Self::Several { .. }
            | Self::NoFile { .. }
            | Self::FileOfATool { .. } => CLI_NOT_AN_ITEM,
            Self::Output { .. } | Self::OutputFile { .. } => CLI_OUTPUT,
            Self::UnknownCode { .. } => CLI_UNKNOWN_CODE,
            Self::WouldChange { .. } => CLI_WOULD_CHANGE,
            Self::SetUp { .. } => CLI_SET_UP,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Usage { help: Some(help), .. } => help.clone(),
            Self::Usage { .. } => "see `rye --help`".into(),
            Self::InputSyntax { .. } => {
                "write `name=value`, `name=@file`, `name=@@text` for a text that begins with `@`, or `name:=json`".into()
            }
            Self::InputFile { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "paths are relative to the working directory".into()
            }
            Self::InputFile { .. } => "see `rye explain cli.input_file`".into(),
            Self::ParamsJson { .. } => {
                "give one JSON object, such as `--params '{\"path\": \"a.txt\"}'`".into()
            }
            Self::NotConfirmed { .. } => {
                "a person has to run this on a terminal, after reading what it is about".into()
            }
            Self::Declined => "run it again if you change your mind".into(),
            Self::Several { word, inside: Some(one), .. } => {
                format!("name one of them, such as `{one}`: `rye list {}`", shell_word(word))
            }
            Self::Several { .. } => "no item is there; see what is here with `rye list`".into(),
            Self::NoFile { near, file, .. } => {
                format!("did you mean `{}`, which is `{near}`?", escape_line(file))
            }
            Self::FileOfATool { tool, .. } => advice_for_file_of(tool),
            Self::NotAnItem { .. } => {
                "name a file below `.ai`, such as `.ai/tools/acme/deploy.py`, or its ref, `tool:acme/deploy`".into()
            }
            Self::OutputFile { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                "what is there stays as it is; name another file".into()
            }
            Self::OutputFile { .. } => {
                "what was there is as it was; name a file in a folder that has room and that you may write to".into()
            }
            Self::Output { .. } => {
                "the command was carried out; make room, then ask for its answer again".into()
            }
            Self::WouldChange { .. } => "do it by the same command without `--check`".into(),
            Self::SetUp { help, .. } => {
                help.clone().unwrap_or_else(|| "see all of it with `rye doctor`".into())
            }
            Self::UnknownCode { near, .. } if near.is_empty() => {
                "`rye explain --list` lists the codes".into()
            }
            Self::UnknownCode { near, .. } => format!("did you mean `{}`?", near.join("` or `")),
        })
    }
}
