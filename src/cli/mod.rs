//! Cli: the door. One file a verb, and the only place that wires.
//!
//! Layer 15. Sees the facade; is seen by `main` alone.
//!
//! - `wire.rs` what the facade is built from · `out.rs` text and JSON · `exit.rs` codes to statuses ·
//!   `error.rs` what can be wrong with a command line · `input.rs` parameters · `confirm.rs` asking

mod codes;
mod complete;
mod completions;
mod confirm;
mod describe;
mod dev;
mod diff;
mod doctor;
mod error;
mod eval;
mod execute;
mod exit;
mod explain;
mod fetch;
mod fmt;
mod git;
mod graph;
mod hooks;
mod import;
mod init;
mod input;
mod keys;
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
mod verify;
mod why;
mod wire;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use error::CliError;
use exit::Exit;
use out::Out;
use wire::Wired;

/// What every verb takes.
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

/// The verbs, in the order of `rye --help`; each is the module of its name, with `Args` and `run`.
macro_rules! verbs {
    ($($(#[$gate:meta])* $verb:ident)*) => {
        const VERBS: &[&str] = &[$($(#[$gate])* stringify!($verb)),*];

        /// The grammar of one verb.
        fn grammar(verb: &str) -> Option<Command> {
            match verb {
                $($(#[$gate])* stringify!($verb) => Some($verb::Args::augment_args(Command::new(stringify!($verb)))),)*
                _ => None,
            }
        }

        /// Runs a verb, if its part of the command line is what it takes.
        fn dispatch(
            verb: &str,
            matches: &ArgMatches,
            wired: &Wired,
            out: &mut Out,
        ) -> Result<Result<Exit, CliError>, clap::Error> {
            match verb {
                $($(#[$gate])* stringify!($verb) => Ok($verb::run(&$verb::Args::from_arg_matches(matches)?, wired, out)),)*
                _ => Ok(list::here(wired, out)),
            }
        }
    };
}

verbs! {
    execute
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

/// The grammar without its verbs.
fn bare() -> Command {
    Common::augment_args(Command::new("rye"))
        .version(env!("RYE_VERSION"))
        .about("A manager for directives and tools whose every file is signed")
        .max_term_width(100)
}

/// The whole grammar.
fn command() -> Command {
    VERBS.iter().filter_map(|verb| grammar(verb)).fold(bare(), Command::subcommand)
}

/// What a command line needs of the grammar. Each verb's part takes time and memory to build, so a
/// line that begins with a verb gets that one alone.
fn command_for(argv: &[OsString]) -> Command {
    if argv.len() == 2 && (argv[1] == "--version" || argv[1] == "-V") {
        return bare();
    }
    let verb = argv.get(1).and_then(|verb| grammar(verb.to_str()?));
    verb.map_or_else(command, |verb| bare().subcommand(verb))
}

/// Reads the command line, runs the verb, shows the result.
pub(crate) fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        complete::answer(command);
    }
    let argv: Vec<OsString> = argv.into_iter().collect();
    let read = command_for(&argv).try_get_matches_from(&argv);
    let (matches, common) = match read.and_then(|m| Ok((Common::from_arg_matches(&m)?, m))) {
        Ok((common, matches)) => (matches, common),
        Err(error) => return usage(&error, &argv),
    };
    let mut out = Out::new(&common);
    out::logs(common.verbose);
    let wired = Wired::new(common);
    let (verb, rest) = matches.subcommand().unwrap_or(("", &matches));
    let done = match dispatch(verb, rest, &wired, &mut out) {
        Ok(done) => done,
        Err(error) => return usage(&error, &argv),
    };
    let exit = done.unwrap_or_else(|error| out.fail(&error));
    out.end(exit).end()
}

/// A command line that clap did not understand, or a question for help.
fn usage(error: &clap::Error, argv: &[OsString]) -> ExitCode {
    let asks = !error.use_stderr();
    if !asks && argv.iter().any(|arg| arg == "--json") {
        let text = error.to_string();
        // The sentence and what it names; the usage behind it is for people.
        let told = text
            .lines()
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
        let told: Vec<_> = told.map(str::trim).filter(|line| !line.is_empty()).collect();
        let told = told.join(" ");
        let message = told.trim_start_matches("error: ");
        let mut out = Out::json();
        let exit = out.fail(&CliError::Usage { message: message.to_owned(), help: None });
        out.flush();
        return exit.end();
    }
    let _ = error.print();
    if asks { ExitCode::SUCCESS } else { Exit::Status(2).end() }
}
