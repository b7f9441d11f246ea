//! `rye thread`: the conversations that directives ran as, and their records.
//!
//! One file a verb.

mod list;
mod show;
mod verify;

use serde_json::{Map, Value, json};

use super::context::Context;
use super::exit::Exit;
use super::out::Out;
use crate::base::money;
use crate::diagnostic::Failure;
use crate::registry::ThreadRow;

/// See what directives did that a model ran, and check the record of it
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// List the threads of all projects, the oldest first
    List,
    /// Show what a thread was told, said and called; nothing of it is checked
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Check that the record of a thread is what was signed
    Verify {
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => list::run(context, out),
        Verb::Show { id } => show::run(id, context, out),
        Verb::Verify { id } => verify::run(id, context, out),
    }
}

/// What a thread used, in a few words.
fn used(thread: &ThreadRow) -> String {
    let (turns, tokens) = (thread.used.turns, thread.used.tokens);
    format!("{turns} turns, {tokens} tokens, {} USD", money::shown(thread.used.spend))
}

fn row(thread: &ThreadRow) -> Map<String, Value> {
    let amounts = |amounts: &crate::registry::Amounts| {
        json!({
            "turns": amounts.turns, "tokens": amounts.tokens, "spend_micros": amounts.spend,
            "spawns": amounts.spawns,
        })
    };
    crate::base::json::object(json!({
        "thread_id": thread.id, "parent": thread.parent, "item_id": thread.item,
        "provider": thread.provider, "model": thread.model, "base": thread.base,
        "thread_status": thread.status, "thread_code": thread.code,
        "started_at": thread.started_at, "ended_at": thread.ended_at,
        "limits": amounts(&thread.most), "used": amounts(&thread.used),
    }))
}
