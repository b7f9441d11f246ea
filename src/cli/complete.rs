//! Completion of words for a shell. Nothing here is used for trust.

use std::ffi::OsStr;

use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};

use super::named::{is_path, query};
use crate::diagnostic::Code;
use crate::id::{Kind, Ref, Space};
use crate::rye::{Rye, RyeBuilder};

/// Answers the shell and ends the process, if it asked.
pub(super) fn answer(command: impl Fn() -> clap::Command) {
    CompleteEnv::with_factory(command).bin("rye").complete();
}

/// Completes refs: plain ids as long as a plain id is typed, since some shells drop what does not
/// begin with what was typed.
pub(super) fn refs() -> ArgValueCompleter {
    refs_of(|_| true)
}

/// As [`refs`], for a verb that runs an item: tools and directives, without runtimes and
/// primitives.
pub(super) fn runnable() -> ArgValueCompleter {
    refs_of(|item| matches!(item.kind, Kind::Tool | Kind::Directive) && !item.id.is_runtime_part())
}

fn refs_of(is_wanted: fn(&Ref) -> bool) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        if current.to_str().is_some_and(is_path) {
            let mut found = PathCompleter::any().complete(current);
            found.retain(|it| it.get_value().to_str().is_some_and(is_plain));
            return found;
        }
        let (Some(current), Some(rye)) = (current.to_str(), here()) else {
            return Vec::new();
        };
        let kinds: &[Kind] = match current.split_once(':') {
            Some((kind, _)) => &kind.parse::<Kind>().map_or(vec![], |kind| vec![kind]),
            None => &[Kind::Tool, Kind::Directive],
        };
        let mut found: Vec<String> = Vec::new();
        for space in Space::NEAREST_FIRST {
            for kind in kinds {
                let entries = rye.items().list(space, *kind).unwrap_or_default();
                let wanted = entries.into_iter().filter(|entry| is_wanted(&entry.item));
                found.extend(wanted.map(|entry| entry.item.to_string()));
            }
        }
        found.sort();
        found.dedup();
        let id = |item: &str| item.split_once(':').map_or("", |(_, id)| id).to_owned();
        // An id of two kinds needs its kind.
        let is_twice = |plain: &str| found.iter().filter(|item| id(item) == plain).count() > 1;
        let fitting = found.iter().filter_map(|item| {
            let plain = id(item);
            match item.starts_with(current) {
                true => Some(item.clone()),
                false if !plain.starts_with(current) => None,
                false => Some(if is_twice(&plain) { item.clone() } else { plain }),
            }
        });
        fitting.map(CompletionCandidate::new).collect()
    })
}

/// Completes input names, and the values of inputs that have a fixed set of them.
pub(super) fn inputs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let (Some(current), Some(rye)) = (current.to_str(), here()) else {
            return Vec::new();
        };
        let named = item_on_the_line(&rye).unwrap_or_default();
        let mut out = Vec::new();
        for (name, help, values) in named.into_iter().filter(|(name, ..)| is_plain(name)) {
            let typed = current.strip_prefix(&name).and_then(|rest| rest.strip_prefix('='));
            match typed {
                Some(start) => {
                    let fits = values.iter().filter(|it| it.starts_with(start) && is_plain(it));
                    out.extend(fits.map(|v| CompletionCandidate::new(format!("{name}={v}"))));
                }
                None if name.starts_with(current) => {
                    let help = (!help.is_empty()).then(|| help.into());
                    out.push(CompletionCandidate::new(format!("{name}=")).help(help));
                }
                None => {}
            }
        }
        out
    })
}

/// Returns true if a word means itself in every shell: an offered word is put on the command line
/// as it is, and the author of the item or the file chose it.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "_.-/:@".contains(c))
}

/// Completes error codes.
pub(super) fn codes() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let current = current.to_str().unwrap_or_default();
        let codes = super::codes::all().into_iter().map(Code::name);
        codes.filter(|code| code.starts_with(current)).map(CompletionCandidate::new).collect()
    })
}

type Named = Vec<(String, String, Vec<String>)>;

/// The inputs of the item that stands on the command line being completed: name, help, values.
fn item_on_the_line(rye: &Rye) -> Option<Named> {
    let words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| RUNS.contains(&word.as_str()))?;
    let queries = words[at + 1..].iter().filter(|word| !word.starts_with('-'));
    // The value of an option may look like an id, but it is not one.
    let mut queries = queries.filter_map(|word| query(word, rye).ok());
    let described = queries.find_map(|query| rye.items().describe(&query).ok())?;
    Some(described.item.declared())
}

/// The verbs that take inputs of an item.
const RUNS: [&str; 5] = ["execute", "run", "plan", "dev", "learn"];

/// The project that the command line being completed names, else the one of the working directory.
fn here() -> Option<Rye> {
    let mut words = std::env::args();
    let mut project = None;
    while let Some(word) = words.next() {
        if word == "-p" || word == "--project" {
            project = words.next();
        } else if let Some(named) = word.strip_prefix("--project=") {
            project = Some(named.to_owned());
        }
    }
    let builder = RyeBuilder::new();
    let builder = match project {
        Some(project) => builder.project(project),
        None => builder,
    };
    builder.build().ok()
}
