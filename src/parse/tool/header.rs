//! From a text and its header style to the tool's header.

use serde_json::{Map, Value};

use super::{Tool, block, python};
use crate::base::text::escape_line;
use crate::parse::data::{kind, plain, toml, yaml};
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_METADATA, ParseFault};
use crate::space::HeaderStyle;
use crate::verify::FileList;

/// The tool that a file declares.
///
/// # Errors
/// `parse.syntax`, `parse.yaml`, `parse.toml`, `parse.limit`, `parse.encoding`, `parse.metadata`
/// and `parse.duplicate_metadata`.
pub(crate) fn parse(text: &str, style: &HeaderStyle) -> Result<Tool, ParseFault> {
    let header = header(text, style)?;
    // People and models read these fields. Values for a process are checked when it is planned.
    let read = header.iter().filter(|(key, _)| SHOWN.contains(&key.as_str()));
    read.map(|(_, value)| value).try_for_each(plain)?;
    Tool::new(&header, style)
}

/// The files that a tool's header lists, whether or not anybody signed it; `None` for a file that
/// lists none or does not parse. Good for leaving files out of a list, and for nothing else.
pub(crate) fn listed_files(text: &str, style: &HeaderStyle) -> Option<FileList> {
    if !may_list_files(text) || *style == HeaderStyle::Markdown {
        return None;
    }
    parse(text, style).ok()?.files
}

/// Returns true if a text mentions `files` at all; cheap, and most tools do not.
pub(crate) fn may_list_files(text: &str) -> bool {
    text.contains("files") || text.contains("FILES")
}

const SHOWN: [&str; 14] = [
    "version",
    "tool_type",
    "category",
    "description",
    "input_schema",
    "output_schema",
    "config_schema",
    "parameters",
    "examples",
    "tags",
    "notes",
    "references",
    "inputs",
    "outputs",
];

/// The map that a file declares, before it is typed.
///
/// # Errors
/// As [`parse`].
pub(crate) fn header(text: &str, style: &HeaderStyle) -> Result<Map<String, Value>, ParseFault> {
    match style {
        HeaderStyle::Python => joined(python::header(text)?, block::header(text, "#")?),
        HeaderStyle::Yaml => mapping(yaml(text)?),
        HeaderStyle::Toml => mapping(toml(text)?),
        HeaderStyle::Block { comment } => block::header(text, comment),
        HeaderStyle::Markdown => Err(ParseFault::new(PARSE_METADATA, "Markdown is not a program")),
    }
}

fn mapping(value: Value) -> Result<Map<String, Value>, ParseFault> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(ParseFault::new(
            PARSE_METADATA,
            format!("it must be a mapping, not {}", kind(&other)),
        )),
    }
}

/// A program's own declarations and its header block (core 7.8 puts `files` there).
fn joined(
    mut declared: Map<String, Value>,
    block: Map<String, Value>,
) -> Result<Map<String, Value>, ParseFault> {
    for (key, value) in block {
        if declared.contains_key(&key) {
            let why = format!("`{}` is in the header block and in the code", escape_line(&key));
            return Err(ParseFault::new(PARSE_DUPLICATE_METADATA, why));
        }
        declared.insert(key, value);
    }
    Ok(declared)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::space::HeaderStyle;

    #[test]
    fn each_style_gives_the_same_tool() {
        let block = |open: &str| {
            ["/// rye", "version = '1'", "executor_id = 'a/b'", "secrets = ['T']", "///"]
                .map(|line| format!("{open} {line}\n"))
                .concat()
        };
        let rows = [
            (HeaderStyle::Yaml, "version: '1'\nexecutor_id: a/b\nsecrets: [T]\n".to_owned()),
            (HeaderStyle::Toml, "version = '1'\nexecutor_id = 'a/b'\nsecrets = ['T']\n".into()),
            (
                HeaderStyle::Python,
                "__version__ = '1'\n__executor_id__ = 'a/b'\nSECRETS = ('T',)\n".into(),
            ),
            (HeaderStyle::Block { comment: "--".into() }, block("--")),
            (HeaderStyle::Python, block("#") + "import sys\n"),
            (HeaderStyle::Block { comment: "//".into() }, block("//")),
        ];
        let want = parse(&rows[0].1, &rows[0].0).expect("the first row is good");
        assert_eq!(want.executor.as_ref().map(ToString::to_string).as_deref(), Some("a/b"));
        for (style, text) in rows {
            assert_eq!(parse(&text, &style).as_ref(), Ok(&want), "{style:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let rows = [
            (HeaderStyle::Yaml, "- a", "parse.metadata"),
            (HeaderStyle::Yaml, "", "parse.metadata"),
            (HeaderStyle::Yaml, "a: 1\n---\nb: 1", "parse.yaml"),
            (HeaderStyle::Toml, "a", "parse.toml"),
            (
                HeaderStyle::Python,
                "# /// rye\n# version = '1'\n# ///\n__version__ = '1'\n",
                "parse.duplicate_metadata",
            ),
            (HeaderStyle::Python, "# /// rye\n# version = 1\n# ///\n", "parse.metadata"),
            (
                HeaderStyle::Block { comment: "//".into() },
                "const __version__ = '1'\n",
                "parse.metadata",
            ),
            (HeaderStyle::Markdown, "# x", "parse.metadata"),
        ];
        for (style, text, code) in rows {
            assert_eq!(
                parse(text, &style).map_err(|f| f.code.name()),
                Err(code),
                "{style:?} {text:?}"
            );
        }
    }
}
