//! Parsers for values of a command line: kinds, spaces and patterns, with near names for typing
//! errors.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::error::CliError;
use super::named::is_path;
use crate::base::limits::NEAR_NAMES;
use crate::base::text::{escape_line, near};
use crate::diagnostic::Failure;
use crate::id::{Kind, Pattern, Space};
use crate::rye::Rye;

/// Reads a space. Clap lists and completes the spaces, and suggests the nearest one.
pub(super) fn space() -> impl TypedValueParser<Value = Space> {
    let known = PossibleValuesParser::new(Space::NEAREST_FIRST.map(Space::as_str));
    // Clap lets only known words through.
    known.map(|word| word.parse().unwrap_or(Space::Project))
}

/// Reads a kind, in the same way.
pub(super) fn kind() -> impl TypedValueParser<Value = Kind> {
    let known = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str));
    known.map(|word| word.parse().unwrap_or(Kind::Tool))
}

/// Reads a pattern over refs; one without a kind means items of every kind.
///
/// # Errors
/// `cli.usage`
pub(super) fn pattern(text: &str) -> Result<Pattern, Failure> {
    let any = if text.contains(':') { "" } else { "*:" };
    format!("{any}{text}").parse::<Pattern>().map_err(|why| {
        let kind = text.split_once(':').map_or("", |(kind, _)| kind);
        let near = near(kind, Kind::ALL.iter().map(|kind| kind.as_str()), 1).pop();
        let help = near.filter(|near| near != kind).map(|near| format!("did you mean `{near}:`?"));
        let message = format!("`{}`: {why}", escape_line(text));
        CliError::Usage { message, help }.into()
    })
}

/// The error of a pattern that no item matches, and of a folder without items: a typing error must
/// not pass for "nothing to do".
pub(super) fn no_match(text: &str, space: Option<Space>, rye: &Rye) -> Failure {
    if is_path(text) {
        let message = format!("nothing is here: `{}` holds no item", escape_line(text));
        let help = Some("`rye new tool acme/hello` makes a first one".to_owned());
        return CliError::Usage { message, help }.into();
    }
    let wanted = text.split_once(':').map_or(text, |(_, id)| id).replace('*', "");
    let mut refs = Vec::new();
    for space in Space::NEAREST_FIRST.into_iter().filter(|one| space.is_none_or(|s| s == *one)) {
        for kind in Kind::ALL {
            refs.extend(
                rye.items().list(space, kind).unwrap_or_default().into_iter().map(|e| e.item),
            );
        }
    }
    // Most typing errors are in a folder's name.
    let mut folders: Vec<String> = refs.iter().map(|item| item.id.folder().to_owned()).collect();
    folders.sort();
    folders.dedup();
    let near = near(wanted.trim_end_matches('/'), folders.iter().map(String::as_str), NEAR_NAMES);
    let near: Vec<_> = near.iter().filter(|near| !near.is_empty()).collect();
    let help = (!near.is_empty()).then(|| {
        let near: Vec<_> = near.iter().map(|folder| format!("`{folder}/**`")).collect();
        format!("did you mean {}?", near.join(" or "))
    });
    let place = space.map(|space| format!(" of the {space} space")).unwrap_or_default();
    CliError::Usage { message: format!("no item{place} matches `{}`", escape_line(text)), help }
        .into()
}
