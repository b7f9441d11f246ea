//! The short form: `rye greet name=Ada` is `rye execute greet name=Ada`.
//!
//! A verb always wins, and a slip of a verb is never taken for an item, whatever items there are.
//! So no item can take the place of a verb; and where a verb has the name of an item that is here,
//! it is said.

use std::ffi::OsString;

use super::Verb;
use super::error::{CLI_INPUT_SYNTAX, CliError};
use crate::base::text::near;
use crate::diagnostic::Failure;
use crate::id::{Kind, Ref, Space};
use crate::resolve::RESOLVE_NOT_FOUND;
use crate::rye::Rye;

/// Verbs of other programs, and what they are called here.
const OTHER_WORDS: [(&str, &str); 6] = [
    ("ls", "list"),
    ("cat", "fetch"),
    ("info", "show"),
    ("exec", "execute"),
    ("status", "doctor"),
    ("check", "verify"),
];

/// The verb that was probably meant by a word that is not one.
fn verb_meant(word: &str) -> Option<String> {
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == word);
    other.map(|(_, verb)| (*verb).to_owned()).or_else(|| near(word, Verb::names(), 1).pop())
}

/// The first word of a command line, if it stands where a verb would and is not one.
pub(super) fn word(argv: &[OsString]) -> Option<&str> {
    let word = argv.get(1)?.to_str()?;
    let is_word = !word.is_empty() && !word.starts_with('-') && word != "help";
    (is_word && Verb::find(word).is_none()).then_some(word)
}

/// # Errors
/// `cli.usage` for a word that is nearly a verb: in capitals, with its letters in another order,
/// with one letter more or less, or with another letter in a verb of five or more (`lint` is not a
/// slip of `list`).
pub(super) fn is_no_slip(word: &str) -> Result<(), Failure> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let typed = word.to_lowercase();
    let is_slip = |verb: &&str| {
        let counts =
            verb.len() >= 5 || typed.len() != verb.len() || letters(&typed) == letters(verb);
        counts && strsim::damerau_levenshtein(&typed, verb) <= 1
    };
    match Verb::names().find(is_slip) {
        Some(verb) => Err(slip(word, &verb_meant(word).unwrap_or_else(|| verb.to_owned()))),
        None => Ok(()),
    }
}

fn slip(word: &str, verb: &str) -> Failure {
    let message = format!("`{word}` is not a verb of rye");
    let help =
        format!("did you mean `rye {verb}`? An item of that name is run with `rye run {word}`");
    CliError::Usage { message, help: Some(help) }.into()
}

/// The failure for a word that is neither a verb nor an item: a bare word may have been meant as
/// either.
pub(super) fn explain(word: &str, failure: Failure) -> Failure {
    // What stands behind the verb of another program is not an input.
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == word);
    if let Some((_, verb)) = other.filter(|_| failure.code() == CLI_INPUT_SYNTAX.name()) {
        return slip(word, verb);
    }
    if failure.code() != RESOLVE_NOT_FOUND.name() || word.contains(['/', ':', '.', '@']) {
        return failure;
    }
    let data = failure.diagnostic().data;
    let items = data.get("near").and_then(serde_json::Value::as_array).into_iter().flatten();
    let items = items.filter_map(|item| item.as_str()).map(|item| format!("`rye run {item}`"));
    let verbs = verb_meant(word).into_iter().map(|verb| format!("`rye {verb}`"));
    let meant: Vec<String> = verbs.chain(items).collect();
    let message = format!("`{word}` is neither a verb of rye nor a tool or directive here");
    let help = match meant.is_empty() {
        true => "`rye --help` lists the verbs, and `rye list` what can be run".to_owned(),
        false => format!("did you mean {}?", meant.join(" or ")),
    };
    CliError::Usage { message, help: Some(help) }.into()
}

/// The failure for wrong words behind one that is not a verb.
pub(super) fn misread(word: &str, error: &clap::Error) -> Failure {
    let said = error.to_string();
    let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let verbs = verb_meant(word);
    let message = format!("`{word}` is not a verb of rye, and as the name of an item: {said}");
    let help = match verbs {
        Some(verb) => format!("did you mean `rye {verb}`?"),
        None => "an input of an item is given as `name=value`; see `rye run --help`".to_owned(),
    };
    CliError::Usage { message, help: Some(help) }.into()
}

/// The item of the project or of your own space that has the name of a verb.
pub(super) fn same_name(verb: &str, rye: &Rye) -> Option<Ref> {
    let roots = [Space::Project, Space::User].into_iter().filter_map(|one| rye.spaces().get(one));
    roots.filter(|root| root.exists()).find_map(|root| {
        [Kind::Tool, Kind::Directive].into_iter().find_map(|kind| {
            let file = |ext| root.path(&format!("{}/{verb}.{ext}", kind.folder()));
            let is_there =
                rye.types.extensions(kind).any(|ext| file(ext).symlink_metadata().is_ok());
            is_there.then(|| Some(Ref::new(kind, verb.parse().ok()?)))?
        })
    })
}
