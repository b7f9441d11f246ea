//! Parameters from the command line (core 11).

use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use super::error::CliError;
use crate::base::bytes::{Bounded, open_named, read_at_most};
use crate::base::limits::{PARAMS_BYTES, PARAMS_NODES};
use crate::diagnostic::Failure;
use crate::parse::{json, json_of};

/// Where parameters come from.
#[derive(clap::Args)]
pub(super) struct Inputs {
    /// One input: `name=value`, `name=@file`, `name:=json`; again for more
    #[arg(short, long = "input", value_name = "NAME=VALUE", add = super::complete::inputs())]
    input: Vec<String>,
    /// All inputs as one JSON object; `-` reads it from standard input
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// All inputs as one JSON object in a file
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    params_file: Option<String>,
    /// Inputs, as behind `-i`; behind `--` also those that begin with `-`
    #[arg(value_name = "NAME=VALUE", add = super::complete::inputs())]
    more: Vec<String>,
}

/// The given inputs: JSON values, and texts whose type the item's declarations decide.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Given {
    pub(super) params: Map<String, Value>,
    pub(super) texts: Vec<(String, String)>,
}

impl Inputs {
    /// # Errors
    /// `cli.input_syntax`, `cli.input_file`, `cli.params_json`.
    pub(super) fn read(&self) -> Result<Given, Failure> {
        self.read_behind(None)
    }

    /// The same, where `first` stands in front of the inputs.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub(super) fn read_behind(&self, first: Option<&String>) -> Result<Given, Failure> {
        let mut given = Given::default();
        let whole = match (&self.params, &self.params_file) {
            (Some(text), _) if text == "-" => Some(read_text("-", &mut io::stdin().lock())?),
            (Some(text), _) => Some(text.clone()),
            (None, Some(path)) => Some(read_file(path)?),
            (None, None) => None,
        };
        if let Some(text) = whole {
            given.params = object(&text)?;
        }
        let mut seen: Vec<String> = Vec::new();
        for text in self.input.iter().chain(first).chain(&self.more) {
            let (name, value) = split(text)?;
            if seen.iter().any(|known| known == name) {
                return Err(syntax(text, format!("`{name}` is given twice")));
            }
            seen.push(name.to_owned());
            given.params.remove(name);
            match value {
                Typed::Text(value) => given.texts.push((name.to_owned(), value)),
                Typed::Json(value) => {
                    given.params.insert(name.to_owned(), value);
                }
            }
        }
        Ok(given)
    }
}

/// One JSON object.
///
/// # Errors
/// `cli.params_json`
pub(super) fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    match json_of(text, PARAMS_NODES) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(CliError::ParamsJson { why: "it is another JSON value".into() }.into()),
        Err(fault) => Err(CliError::ParamsJson { why: fault.why }.into()),
    }
}

/// One JSON object: as it was typed, of a file behind `@`, or of standard input for `-`.
///
/// # Errors
/// `cli.input_file`, `cli.params_json`
pub(super) fn read_object(argument: &str) -> Result<Map<String, Value>, Failure> {
    match argument.strip_prefix('@') {
        Some(path) => object(&read_file(path)?),
        None if argument == "-" => object(&read_text("-", &mut io::stdin().lock())?),
        None => object(argument),
    }
}

/// The value of one `-i`.
#[derive(Debug, PartialEq)]
enum Typed {
    Text(String),
    Json(Value),
}

fn split(text: &str) -> Result<(&str, Typed), Failure> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| syntax(text, "there is no `=` in it"))?;
    let (name, is_json) = match name.strip_suffix(':') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return Err(syntax(text, "there is no name in front of the `=`"));
    }
    let value = match value {
        value if is_json => match json(value) {
            Ok(value) => Typed::Json(value),
            Err(fault) => {
                return Err(syntax(text, format!("what follows `:=` is not JSON: {}", fault.why)));
            }
        },
        value => match value.strip_prefix('@') {
            Some(literal) if literal.starts_with('@') => Typed::Text(literal.to_owned()),
            Some(path) => Typed::Text(read_file(path)?),
            None => Typed::Text(value.to_owned()),
        },
    };
    Ok((name, value))
}

fn syntax(text: &str, why: impl Into<String>) -> Failure {
    CliError::InputSyntax { text: text.chars().take(200).collect(), why: why.into() }.into()
}

fn read_file(path: &str) -> Result<String, Failure> {
    let open = open_named(Path::new(path));
    let mut file = open.map_err(|source| CliError::InputFile { path: path.into(), source })?;
    read_text(path, &mut file)
}

/// The bytes of a file; `None` if there are more than `cap`.
///
/// # Errors
/// `cli.input_file`
pub(super) fn read_bytes(path: &Path, cap: u64) -> Result<Option<Vec<u8>>, Failure> {
    let failed = |source| CliError::InputFile { path: path.display().to_string(), source };
    let mut file = open_named(path).map_err(failed)?;
    match read_at_most(&mut file, cap, 0).map_err(failed)? {
        Bounded::All(bytes) => Ok(Some(bytes)),
        Bounded::More => Ok(None),
    }
}

/// A text of bounded size.
///
/// # Errors
/// `cli.input_file`
pub(super) fn read_text(path: &str, from: &mut impl Read) -> Result<String, Failure> {
    let failed = |source| Failure::from(CliError::InputFile { path: path.to_owned(), source });
    match read_at_most(from, PARAMS_BYTES, 0).map_err(failed)? {
        Bounded::All(bytes) => {
            String::from_utf8(bytes).map_err(|_| failed(io::Error::other("it is not UTF-8")))
        }
        Bounded::More => Err(failed(io::Error::other("it is larger than 16 MiB"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Typed, split};
    use serde_json::json;

    #[test]
    fn inputs_table() {
        let text = |text: &str| Typed::Text(text.into());
        let rows = [
            ("a=b", "a", text("b")),
            ("a=", "a", text("")),
            ("a=b=c", "a", text("b=c")),
            ("a=@@x", "a", text("@x")),
            ("a=x@y", "a", text("x@y")),
            ("a:=7", "a", Typed::Json(json!(7))),
            ("a:=[1, \"=\"]", "a", Typed::Json(json!([1, "="]))),
            ("a=-x\n$(y)", "a", text("-x\n$(y)")),
        ];
        for (given, name, want) in rows {
            assert_eq!(split(given).ok(), Some((name, want)), "{given}");
        }
        for bad in ["a", "=b", ":=1", "a:=", "a:={", "a=@/nonexistent/file", "a:={\"x\":1,\"x\":2}"]
        {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}
