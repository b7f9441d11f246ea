//! `rye thread`: the conversations that directives ran as, and their records.
//!
//! One file a verb.

mod events;
mod export;
mod list;
mod resume;
mod show;
mod stop;
mod tail;
mod tree;
mod verify;
mod wait;

use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::money;
use crate::base::text::counted;
use crate::diagnostic::Failure;
use crate::registry::ThreadRow;
use crate::runs::{full_run_id, threads_from_outside};

/// Watch, stop, resume and check threads (directives that a model runs) and runs started with
/// `--async`
///
/// The last four or more characters of an id are enough if no other id ends with them; `rye thread
/// list` shows eight.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

// A docstring here would become the first line of the help of each verb that takes one.
#[derive(clap::Args)]
struct RunId {
    /// The thread or run: its id, or its last four or more characters
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List the threads and the detached runs of all projects, the newest first
    ///
    /// Of each the end of its id, its state, when it began, what it cost and what it runs. With
    /// `--json` all of them are told whole, the oldest first.
    List {
        /// All of them, and not the newest 20 alone
        #[arg(short, long)]
        all: bool,
    },
    /// Show what a thread was told, said and called, or what a detached run gave; the record is not
    /// verified
    Show {
        #[command(flatten)]
        id: RunId,
    },
    /// Follow what a thread does until it ends; the record is not verified
    ///
    /// It ends as the thread does, with what `rye thread wait` gives, which is checked. With
    /// `--json` each event is an object on a line of its own, and so is the answer at the end.
    Tail {
        #[command(flatten)]
        id: RunId,
    },
    /// Wait until a thread or a detached run has ended, and give what it gave
    ///
    /// The record of a thread is checked before anything is taken from it, as `rye thread verify`
    /// does.
    Wait {
        #[command(flatten)]
        id: RunId,
        /// No longer than this, such as `10`, `500ms` or `2m`
        #[arg(long, value_name = "TIME", value_parser = super::execute::time)]
        timeout: Option<Duration>,
    },
    /// Ask a thread or a detached run to stop; what it started ends with it
    Cancel {
        #[command(flatten)]
        id: RunId,
    },
    /// Kill the process that runs a thread or a detached run, with all that it started
    ///
    /// It refuses with `thread.not_alone` where a thread above runs in the same process, and names
    /// what to cancel or to kill instead. What runs in a process that has other work too, such as a
    /// thread in a server, is cancelled instead.
    Kill {
        #[command(flatten)]
        id: RunId,
    },
    /// Show a thread with the threads below it
    Tree {
        #[command(flatten)]
        id: RunId,
    },
    /// Go on with a thread that stopped, and repeat nothing that was carried out
    Resume {
        #[command(flatten)]
        id: RunId,
        /// A message for its model
        #[arg(value_name = "MESSAGE")]
        message: Option<String>,
        /// A limit instead of the one it had, such as `turns=50`; again for more
        #[arg(long, value_name = "NAME=VALUE", value_parser = super::execute::limit)]
        limit: Vec<(String, String)>,
    },
    /// Hand out a thread with its whole conversation as one file; its record is checked first
    ///
    /// The file and standard error say how many bytes of the record are proven. Secrets are hidden
    /// as they are in the record. A file that is there already stays as it is.
    Export {
        #[command(flatten)]
        id: RunId,
        /// The file to write; by default the thread goes to standard output
        #[arg(short, long, alias = "output", value_name = "FILE")]
        out: Option<PathBuf>,
        /// For programs, or for people; by default `markdown` for a file that ends in `.md`, and
        /// `json` for any other
        #[arg(long, value_name = "FORMAT")]
        format: Option<export::ExportFormat>,
    },
    /// Check that the record of a thread is what was signed
    Verify {
        #[command(flatten)]
        id: RunId,
    },
}

pub(super) use wait::show as show_end;

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let full = |id: &RunId| full_run_id(threads_from_outside(&context.rye()?)?, &id.id, |_| true);
    match &args.verb {
        Verb::List { all } => list::run(*all, context, out),
        Verb::Show { id } => show::run(&full(id)?, context, out),
        Verb::Tail { id } => tail::run(&full(id)?, context, out),
        Verb::Wait { id, timeout } => wait::run(&full(id)?, *timeout, context, out),
        Verb::Cancel { id } => stop::cancel(&full(id)?, context, out),
        Verb::Kill { id } => stop::kill(&full(id)?, context, out),
        Verb::Tree { id } => tree::run(&full(id)?, context, out),
        Verb::Resume { id, message, limit } => {
            resume::run(&full(id)?, message.clone(), limit, context, out)
        }
        Verb::Export { id, out: path, format } => {
            export::run(&full(id)?, path.as_deref(), *format, context, out)
        }
        Verb::Verify { id } => verify::run(&full(id)?, context, out),
    }
}

/// Verbs of other programs, and what they are called here.
const OTHER_WORDS: [(&str, &str); 5] =
    [("ls", "list"), ("status", "show"), ("stop", "cancel"), ("log", "tail"), ("logs", "tail")];

/// Gives what is wrong with a command line of these verbs the tip that helps.
pub(super) fn set_tip(error: &mut clap::Error) {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(said)) => said.clone(),
        _ => String::new(),
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument if said(ContextKind::InvalidArg).starts_with("--model") => {
            Some("a thread keeps its model".to_owned())
        }
        ErrorKind::InvalidSubcommand => {
            let word = said(ContextKind::InvalidSubcommand);
            let meant = OTHER_WORDS.iter().find(|(other, _)| *other == word);
            meant.map(|(_, verb)| format!("did you mean 'rye thread {verb}'?"))
        }
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        // Clap's own says how to give the option to the model, as a message.
        error.remove(ContextKind::Suggested);
    }
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// The use of a thread, in a few words.
fn used(thread: &ThreadRow) -> String {
    used_text(thread.used.turns, thread.used.tokens, thread.used.spend)
}

fn used_text(turns: u64, tokens: u64, spend: u64) -> String {
    let (turns, tokens) = (counted(turns, "turn"), counted(tokens, "token"));
    format!("{turns}, {tokens}, {} USD", money::shown(spend))
}
