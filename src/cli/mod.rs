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
mod diff;
mod doctor;
mod error;
mod execute;
mod exit;
mod explain;
mod fetch;
mod init;
mod input;
mod keys;
mod list;
mod lock;
mod out;
mod plan;
mod receipt;
mod show;
mod sign;
mod trust;
mod verify;
mod why;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use error::CliError;
use exit::Exit;
use out::Out;
use wire::Wired;

/// A manager for directives and tools whose every file is signed
#[derive(Parser)]
#[command(name = "rye", version = env!("RYE_VERSION"), disable_help_subcommand = false, max_term_width = 100)]
struct Args {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Option<Verb>,
}

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

#[derive(Subcommand)]
enum Verb {
    Execute(execute::Args),
    Plan(plan::Args),
    Receipt(receipt::Args),
    Sign(sign::Args),
    Verify(verify::Args),
    List(list::Args),
    Show(show::Args),
    Fetch(fetch::Args),
    Why(why::Args),
    Diff(diff::Args),
    Lock(lock::Args),
    Keys(keys::Args),
    Trust(trust::Args),
    Init(init::Args),
    Doctor(doctor::Args),
    Explain(explain::Args),
    Completions(completions::Args),
}

/// Reads the command line, runs the verb, shows the result.
pub(crate) fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    if std::env::var_os("COMPLETE").is_some() {
        complete::answer(Args::command);
    }
    let argv: Vec<OsString> = argv.into_iter().collect();
    let matches = match Args::command().try_get_matches_from(&argv) {
        Ok(matches) => matches,
        Err(error) => return usage(&error, &argv),
    };
    let args = match Args::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => return usage(&error, &argv),
    };
    let mut out = Out::new(&args.common);
    out::logs(args.common.verbose);
    let wired = Wired::new(args.common);
    let done = match &args.verb {
        None => list::here(&wired, &mut out),
        Some(verb) => dispatch(verb, &wired, &mut out),
    };
    let exit = done.unwrap_or_else(|error| out.fail(&error));
    out.end(exit).end()
}

fn dispatch(verb: &Verb, wired: &Wired, out: &mut Out) -> Result<Exit, CliError> {
    match verb {
        Verb::Execute(args) => execute::run(args, wired, out),
        Verb::Plan(args) => plan::run(args, wired, out),
        Verb::Receipt(args) => receipt::run(args, wired, out),
        Verb::Sign(args) => sign::run(args, wired, out),
        Verb::Verify(args) => verify::run(args, wired, out),
        Verb::List(args) => list::run(args, wired, out),
        Verb::Show(args) => show::run(args, wired, out),
        Verb::Fetch(args) => fetch::run(args, wired, out),
        Verb::Why(args) => why::run(args, wired, out),
        Verb::Diff(args) => diff::run(args, wired, out),
        Verb::Lock(args) => lock::run(args, wired, out),
        Verb::Keys(args) => keys::run(args, wired, out),
        Verb::Trust(args) => trust::run(args, wired, out),
        Verb::Init(args) => init::run(args, wired, out),
        Verb::Doctor(args) => doctor::run(args, wired, out),
        Verb::Explain(args) => explain::run(args, wired, out),
        Verb::Completions(args) => completions::run(args, wired, out),
    }
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
        let exit = out.fail(&CliError::Usage { message: message.to_owned() });
        out.flush();
        return exit.end();
    }
    let _ = error.print();
    if asks { ExitCode::SUCCESS } else { Exit::Status(2).end() }
}
