//! Writing the digests of a tool's files into its header, as `rye sign` does (core 7.8). Everything
//! else in the file stays as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::exec::FILES_SHA256;
use super::files::PATTERN;
use super::header::header;
use crate::base::Digest;
use crate::base::text::escape_line;
use crate::space::{HeaderStyle, RelPath};
use crate::verify::FileList;

/// The text with `files` as the mapping from patterns and paths that was found.
///
/// # Errors
/// A sentence that says why the header cannot be written without changing more than `files`.
pub(crate) fn write_files(
    text: &str,
    style: &HeaderStyle,
    listed: &FileList,
    digests: &BTreeMap<RelPath, Digest>,
) -> Result<String, String> {
    let read = |text: &str| header(text, style).map_err(|fault| fault.why);
    let mut before = read(text)?;
    // The patterns of an `exec` block stay in it.
    let is_exec = before.contains_key("exec");
    let key = if is_exec { FILES_SHA256 } else { "files" };
    let patterns = listed.patterns.iter().filter(|_| !is_exec);
    let patterns = patterns.map(|p| (p.text().to_owned(), PATTERN.to_owned()));
    let paths = digests.iter().map(|(path, digest)| (path.to_string(), digest.to_string()));
    let rows = Rows { key, of: patterns.chain(paths).collect() };
    let filled = match style {
        HeaderStyle::Yaml => yaml(text, &rows)?,
        HeaderStyle::Toml => toml(text, &rows)?,
        HeaderStyle::Python => block(text, "#", &rows)?,
        HeaderStyle::Block { comment } => block(text, comment.trim(), &rows)?,
        HeaderStyle::Markdown => return Err("Markdown has no `files`".into()),
    };
    // A last check: the header must say the same as before, except for the files.
    let mut after = read(&filled)?;
    let wanted = rows.of.into_iter().map(|(path, value)| (path, Value::from(value))).collect();
    let (_, got) = (before.shift_remove(key), after.shift_remove(key));
    if before != after || got != Some(Value::Object(wanted)) {
        return Err(format!("`{key}` cannot be written here without changing something else"));
    }
    Ok(filled)
}

/// A top-level key, and the mapping that becomes its value.
struct Rows<'k> {
    key: &'k str,
    of: Vec<(String, String)>,
}

/// A top-level block key of YAML, with all that is indented below it; at the end of the text where
/// there is none yet.
fn yaml(text: &str, rows: &Rows<'_>) -> Result<String, String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if rows.key == FILES_SHA256 && !text.lines().any(|line| line.starts_with(FILES_SHA256)) {
        let end = if text.ends_with('\n') { "" } else { newline };
        return yaml(&format!("{text}{end}{FILES_SHA256}:{newline}"), rows);
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let missing = || format!("write `{}:` at the beginning of a line of its own", rows.key);
    let Range { start, end } = block_of(&lines, rows.key).ok_or_else(missing)?;
    let mut out = lines[..start].concat();
    let _ = write!(out, "{}:{newline}", rows.key);
    for (path, value) in &rows.of {
        let _ = write!(out, "  {}: {}{newline}", Value::from(&**path), Value::from(&**value));
    }
    out.push_str(&lines[end..].concat());
    Ok(out)
}

/// The lines of a top-level block key of YAML.
pub(super) fn block_of(lines: &[&str], key: &str) -> Option<Range<usize>> {
    let is_key = |line: &&str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let start = lines.iter().position(is_key)?;
    let goes_on = |line: &&&str| {
        let first = line.chars().next();
        line.trim().is_empty() || matches!(first, Some(' ' | '\t' | '-' | ']' | '}'))
    };
    let length = lines[start + 1..].iter().take_while(goes_on).count();
    let mut end = start + 1 + length;
    // Empty lines behind it belong to what follows.
    while end > start + 1 && lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    Some(start..end)
}

fn toml(text: &str, rows: &Rows<'_>) -> Result<String, String> {
    let document = text.parse::<toml_edit::DocumentMut>();
    let mut document = document.map_err(|e| escape_line(&e.to_string()))?;
    let mut table = toml_edit::Table::new();
    for (path, value) in &rows.of {
        table.insert(path, toml_edit::value(value.as_str()));
    }
    // The place of the table is the old one's, or the end.
    if let Some(position) = document.get(rows.key).and_then(|f| f.as_table()?.position()) {
        table.set_position(Some(position));
    }
    document.remove(rows.key);
    document.insert(rows.key, toml_edit::Item::Table(table));
    Ok(document.to_string())
}

/// The TOML of a `/// rye` block in comments.
fn block(text: &str, comment: &str, rows: &Rows<'_>) -> Result<String, String> {
    let filled = in_block(text, comment, |inside| match inside.contains("files") {
        true => toml(inside, rows),
        false => Err(format!("write `files` into the `{comment} /// rye` block")),
    });
    filled?.ok_or(format!("write `files` into a `{comment} /// rye` block"))
}

/// The text with the TOML of its `/// rye` block as `edit` makes it; `None` where there is no
/// block.
///
/// # Errors
/// The block is not closed; what `edit` says.
pub(super) fn in_block(
    text: &str,
    comment: &str,
    edit: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is = |mark: &str| {
        let whole = format!("{comment} {mark}");
        move |line: &&str| line.trim_end() == whole
    };
    let Some(start) = lines.iter().position(is("/// rye")) else { return Ok(None) };
    let length = lines[start + 1..].iter().position(is("///"));
    let end = start + 1 + length.ok_or("the header block is not closed")?;
    let bare = |line: &&str| {
        let rest = line.trim_end().strip_prefix(comment).unwrap_or_default().to_owned();
        format!("{}\n", rest.strip_prefix(' ').unwrap_or(&rest))
    };
    let inside: String = lines[start + 1..end].iter().map(bare).collect();
    let newline = if lines[start].ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut out = lines[..=start].concat();
    for line in edit(&inside)?.lines() {
        let space = if line.is_empty() { "" } else { " " };
        let _ = write!(out, "{comment}{space}{line}{newline}");
    }
    out.push_str(&lines[end..].concat());
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::write_files;
    use crate::base::Digest;
    use crate::parse::tool::parse;
    use crate::space::HeaderStyle;

    /// The text with one file found, and that text filled in once more.
    fn filled(style: &HeaderStyle, text: &str) -> Result<String, String> {
        let listed = |text: &str| parse(text, style).unwrap().files.unwrap();
        let digests = [("lib/a.py".parse().unwrap(), Digest::of(b"a"))].into();
        let once = write_files(text, style, &listed(text), &digests)?;
        let twice = write_files(&once, style, &listed(&once), &digests)?;
        assert_eq!(twice, once, "filling in again changes nothing");
        Ok(once)
    }

    #[test]
    fn only_the_files_change() {
        let digest = Digest::of(b"a");
        let yaml_rows =
            format!("files:\n  \"lib/**\": \"pattern\"\n  \"lib/a.py\": \"{digest}\"\n");
        let rows = ["files: [\"lib/**\"]\n", "files:\n  - lib/**\n", "files:\n- \"lib/**\"\n"];
        for row in rows {
            let text = |files: &str| format!("# words\nversion: '1'\n{files}\n# more\nenv: [A]\n");
            assert_eq!(filled(&HeaderStyle::Yaml, &text(row)), Ok(text(&yaml_rows)), "{row}");
        }
        let table = format!("[files]\n\"lib/**\" = \"pattern\"\n\"lib/a.py\" = \"{digest}\"\n");
        let text = "# w\nversion = '1' # x\nfiles = [\n  'lib/**',\n]\n\n[config]\ncommand = 'x'\n";
        let got = filled(&HeaderStyle::Toml, text).unwrap();
        assert!(got.starts_with("# w\nversion = '1' # x\n") && got.contains(&table), "{got}");
        let text =
            "#!/bin/sh\n# /// rye\n# version = '1'\n#\n# files = ['lib/**']\n# ///\necho files\n";
        let got = filled(&HeaderStyle::Block { comment: "#".into() }, text).unwrap();
        let commented: String = table.lines().map(|line| format!("# {line}\n")).collect();
        assert!(got.contains(&commented) && got.ends_with("# ///\necho files\n"), "{got}");
        let text = "// /// rye\r\n// files = ['lib/**']\r\n// ///\r\nconst x = 1;\r\n";
        let got = filled(&HeaderStyle::Block { comment: "//".into() }, text).unwrap();
        assert!(got.contains("// [files]\r\n") && got.ends_with("const x = 1;\r\n"), "{got}");
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let rows = [
            (HeaderStyle::Yaml, "{version: '1', files: [a]}"),
            (HeaderStyle::Yaml, "version: '1'\n\"files\": [a]\n"),
            (HeaderStyle::Python, "FILES = ['a']\n"),
            (HeaderStyle::Yaml, "x-a: &f [a]\nfiles: &g [a]\nx-b: *g\n"),
        ];
        for (style, text) in rows {
            assert!(filled(&style, text).is_err(), "{text}");
        }
    }
}
