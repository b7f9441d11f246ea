//! Cli: the command line. One file a verb, and the only place that builds the facade.
//!
//! It sees the facade; only `main` sees it.
//!
//! - `context.rs` what the facade is built from · `out.rs` text and JSON · `exit.rs` how the
//!   process ends · `error.rs` what can be wrong with a command line · `input.rs` parameters ·
//!   `confirm.rs` questions to a person

mod acceptance;
mod bundle;
mod codes;
mod complete;
mod completions;
mod confirm;
mod context;
mod describe;
mod dev;
mod diff;
mod doctor;
mod error;
mod eval;
mod execute;
mod exit;
mod explain;
mod export;
mod fetch;
mod fmt;
mod git;
mod graph;
mod hooks;
mod import;
mod init;
mod input;
mod keys;
mod learn;
mod list;
mod lock;
#[cfg(feature = "lsp")]
mod lsp;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod new;
mod out;
mod pending;
mod plan;
mod receipt;
mod search;
mod show;
mod sign;
mod test;
mod trust;
mod value_parsers;
mod verify;
mod why;

use crate::diagnostic::Failure;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use context::Context;
use error::CliError;
use exit::Exit;
use out::Out;

use crate::base::text::escape_line;

// The options of every verb. A docstring here would become the first line of each verb's help.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Global options")]
struct Common {
    /// The project folder; by default the nearest one above that holds `.ai`
    #[arg(short, long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
    /// One JSON object on standard output, and nothing else there
    #[arg(long, global = true)]
    json: bool,
    /// When to colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = false
    )]
    color: out::Color,
    /// Say more on standard error; twice for even more (or set `RYE_LOG`)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Do not ask; for signing and trusting from inside a run
    #[arg(long, global = true)]
    yes: bool,
}

/// A verb: the first word of a command line.
struct Verb {
    name: &'static str,
    /// Adds the verb's arguments to a grammar.
    grammar: fn(Command) -> Command,
    run: Run,
}

/// Runs a verb, if its part of the command line is valid.
type Run = fn(&ArgMatches, &Context, &mut Out) -> Result<Result<Exit, Failure>, clap::Error>;

/// The verbs, in the order of `rye --help`; each is the module of its name, with `Args` and `run`.
macro_rules! verbs {
    ($($(#[$gate:meta])* $verb:ident)*) => {
        const VERBS: &[Verb] = &[$($(#[$gate])* Verb {
            name: stringify!($verb),
            grammar: $verb::Args::augment_args,
            run: |matches, context, out| {
                Ok($verb::run(&$verb::Args::from_arg_matches(matches)?, context, out))
            },
        }),*];
    };
}

verbs! {
    execute
    learn
    dev
    plan
    receipt
    pending
    hooks
    sign
    verify
    list
    search
    show
    describe
    fetch
    why
    diff
    lock
    #[cfg(feature = "lsp")]
    lsp
    #[cfg(feature = "mcp")]
    mcp
    keys
    trust
    new
    import
    export
    bundle
    fmt
    graph
    init
    test
    eval
    git
    doctor
    explain
    completions
    man
}

/// The greatest width of a help text, in columns.
const WIDTH: usize = 100;

/// The grammar without its verbs.
fn bare() -> Command {
    Common::augment_args(Command::new("rye"))
        .version(env!("RYE_VERSION"))
        .about("A manager for directives and tools whose every file is signed")
        .max_term_width(WIDTH)
}

/// The whole grammar.
fn command() -> Command {
    VERBS.iter().map(Verb::command).fold(bare(), Command::subcommand)
}

impl Verb {
    fn find(name: &str) -> Option<&'static Self> {
        VERBS.iter().find(|verb| verb.name == name)
    }

    /// The grammar of this verb.
    fn command(&self) -> Command {
        (self.grammar)(Command::new(self.name))
    }
}

/// A command line that was understood.
struct CommandLine {
    /// `None` if the command line has no verb.
    verb: Option<&'static Verb>,
    /// The matches that the verb reads.
    matches: ArgMatches,
    common: Common,
}

impl CommandLine {
    /// Building the grammar of each verb takes time and memory, so a line that begins with a verb
    /// is read by that verb's grammar alone.
    fn read(argv: &[OsString]) -> Result<Self, clap::Error> {
        let first = argv.get(1).and_then(|first| first.to_str());
        if let Some(verb) = first.and_then(Verb::find) {
            let program = Path::new(&argv[0]).file_name().unwrap_or(OsStr::new("rye"));
            let name = format!("{} {}", program.to_string_lossy(), verb.name);
            let alone = Common::augment_args(verb.command().bin_name(name)).max_term_width(WIDTH);
            let matches = alone.try_get_matches_from(&argv[1..])?;
            let common = Common::from_arg_matches(&matches)?;
            return Ok(Self { verb: Some(verb), matches, common });
        }
        let asks_version = argv.len() == 2 && matches!(first, Some("--version" | "-V"));
        let whole = if asks_version { bare() } else { command() };
        let mut matches = whole.try_get_matches_from(argv)?;
        let common = Common::from_arg_matches(&matches)?;
        let (verb, matches) = match matches.remove_subcommand() {
            Some((name, matches)) => (Verb::find(&name), matches),
            None => (None, matches),
        };
        Ok(Self { verb, matches, common })
    }
}

/// Reads the command line, runs the verb, shows the result.
pub(crate) fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        complete::answer(command);
    }
    let argv: Vec<OsString> = argv.into_iter().collect();
    let CommandLine { verb, matches, common } = match CommandLine::read(&argv) {
        Ok(line) => line,
        Err(error) => return usage(&with_tip(error, &argv), &argv),
    };
    let mut out = Out::new(&common);
    out::logs(common.verbose);
    let context = Context::new(common);
    let done = match verb {
        None => list::here(&context, &mut out),
        Some(verb) => match (verb.run)(&matches, &context, &mut out) {
            Ok(done) => done,
            Err(error) => return usage(&error, &argv),
        },
    };
    let exit = done.unwrap_or_else(|error| out.fail(&error));
    out.end(exit).end()
}

/// A command line that clap did not understand, or a question for help.
fn usage(error: &clap::Error, argv: &[OsString]) -> ExitCode {
    let asks = !error.use_stderr();
    if !asks && argv.iter().any(|arg| arg == "--json") {
        let text = error.to_string();
        // The JSON form holds the sentence and what it names; the usage is for people.
        let told = text
            .lines()
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let told: Vec<_> = told.map(str::trim).filter(|line| !line.is_empty()).collect();
        let told = told.join(" ");
        let message = told.trim_start_matches("error: ");
        let mut out = Out::json();
        let exit = out.fail(&CliError::Usage { message: message.to_owned(), help: None }.into());
        out.flush();
        return exit.end();
    }
    let _ = error.print();
    if asks { ExitCode::SUCCESS } else { Exit::Status(2).end() }
}

/// The same error with a tip for the commonest slip: an input of an item that is typed like an
/// option of rye, or bare.
fn with_tip(mut error: clap::Error, argv: &[OsString]) -> clap::Error {
    let runs = argv.get(1).is_some_and(|verb| verb == "execute" || verb == "run");
    if let Some(ContextValue::String(said)) = error.get(ContextKind::InvalidArg)
        && runs
        && error.kind() == ErrorKind::UnknownArgument
    {
        let name = said.trim_start_matches('-').split('=').next().unwrap_or_default();
        let tip = format!("an input of an item is given as '-i {}=VALUE'", escape_line(name));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{CommandLine, VERBS, command};

    #[test]
    fn a_verb_alone_reads_and_says_what_it_does_among_the_others() {
        for verb in VERBS {
            for rest in
                [&["--help"][..], &["-h"], &["--bogus"], &["a", "b", "c", "d"], &["--color=x"]]
            {
                let line = [&["rye", verb.name], rest].concat();
                let line: Vec<_> = line.iter().map(OsString::from).collect();
                let alone = CommandLine::read(&line).err().map(|error| error.to_string());
                let among = command().try_get_matches_from(&line).err();
                assert_eq!(alone, among.map(|error| error.to_string()), "{line:?}");
            }
        }
    }
}
