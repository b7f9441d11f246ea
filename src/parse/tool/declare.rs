//! Writing what a tool needs of the machine into its header, as `rye learn` proposes it. Everything
//! else in the file stays as it is.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, Item, Table};

use super::header::header;
use super::write_files::{block_of, in_block};
use crate::base::text::escape_line;
use crate::host::Net;
use crate::space::HeaderStyle;

const KEY: &str = "sandbox";

/// The access that a tool needs beyond what every tool has. Paths are templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Needs {
    /// Empty if the default, the project, is enough.
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    /// `None` if the default is enough.
    pub(crate) net: Option<Net>,
    /// The hosts that it reaches if `net` is [`Net::Hosts`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
}

impl Needs {
    /// The `sandbox` block with these needs, and with all other keys of the old block.
    pub(crate) fn block(&self, old: Option<&Value>) -> Map<String, Value> {
        let mut block = old.and_then(Value::as_object).cloned().unwrap_or_default();
        let mut fs = block.remove("fs").and_then(|fs| fs.as_object().cloned()).unwrap_or_default();
        fs.remove("read");
        fs.remove("write");
        block.remove("net");
        let mut new = Map::new();
        for (name, paths) in [("read", &self.read), ("write", &self.write)] {
            if !paths.is_empty() {
                new.insert(name.into(), json!(paths));
            }
        }
        new.extend(fs);
        let mut all = Map::new();
        // Plain values come first, because behind a TOML table they would belong to that table.
        match self.net {
            None | Some(Net::Hosts) => {}
            Some(net) => drop(all.insert("net".into(), json!(net))),
        }
        all.extend(block);
        if self.net == Some(Net::Hosts) {
            all.insert("net".into(), json!({ "hosts": self.hosts }));
        }
        if !new.is_empty() {
            all.insert("fs".into(), new.into());
        }
        all
    }
}

/// The text with these needs as its `sandbox` block; limits and other keys stay.
///
/// # Errors
/// One sentence: the header cannot be written without changing something else.
pub(crate) fn declare(text: &str, style: &HeaderStyle, needs: &Needs) -> Result<String, String> {
    let read = |text: &str| header(text, style).map_err(|fault| fault.why);
    let mut before = read(text)?;
    let old = before.shift_remove(KEY);
    let block = needs.block(old.as_ref());
    let is_said = match &old {
        None => block.is_empty(),
        Some(old) => old.as_object() == Some(&block),
    };
    if is_said {
        return Ok(text.to_owned());
    }
    let in_comments = |comment: &str| {
        let declared = in_block(text, comment, |inside| toml(inside, &block))?;
        declared.map_or_else(|| new_block(text, comment, &block), Ok)
    };
    let declared = match style {
        HeaderStyle::Yaml => yaml(text, &block),
        HeaderStyle::Toml => toml(text, &block)?,
        HeaderStyle::Python => in_comments("#")?,
        HeaderStyle::Block { comment } => in_comments(comment.trim())?,
        HeaderStyle::Markdown => return Err("Markdown is not a program".into()),
    };
    // A last check: the header must say the same as before, except for this block.
    let mut after = read(&declared)?;
    let got = after.shift_remove(KEY);
    let wanted = (!block.is_empty()).then(|| Value::Object(block));
    if before != after || got != wanted {
        return Err(format!("`{KEY}` cannot be written here without changing something else"));
    }
    Ok(declared)
}

/// The `sandbox` block by itself, as a person puts it into a header of this style; empty if it says
/// nothing.
pub(crate) fn declaration(style: &HeaderStyle, needs: &Needs) -> String {
    let block = needs.block(None);
    if block.is_empty() {
        return String::new();
    }
    let in_comments = |comment: &str| new_block("", comment, &block);
    let text = match style {
        HeaderStyle::Yaml | HeaderStyle::Markdown => Ok(yaml("", &block)),
        HeaderStyle::Toml => toml("", &block),
        HeaderStyle::Python => in_comments("#"),
        HeaderStyle::Block { comment } => in_comments(comment.trim()),
    };
    // Texts and no numbers, so each of these styles has a form for it.
    text.unwrap_or_default()
}

fn yaml(text: &str, block: &Map<String, Value>) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = block_of(&lines, KEY).unwrap_or(lines.len()..lines.len());
    let mut out = lines[..at.start].concat();
    if !block.is_empty() {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(newline);
        }
        let _ = write!(out, "{KEY}:{newline}");
        below(block, "  ", newline, &mut out);
    }
    out.push_str(&lines[at.end..].concat());
    out
}

/// A mapping of YAML; each path of a list on a line of its own.
fn below(map: &Map<String, Value>, indent: &str, newline: &str, out: &mut String) {
    for (key, value) in map {
        let _ = match value {
            Value::Object(map) => {
                let _ = write!(out, "{indent}{key}:{newline}");
                below(map, &format!("{indent}  "), newline, out);
                Ok(())
            }
            Value::Array(items) if !items.is_empty() => {
                let _ = write!(out, "{indent}{key}:{newline}");
                items.iter().try_for_each(|item| write!(out, "{indent}  - {item}{newline}"))
            }
            Value::String(word) if word.bytes().all(|b| b.is_ascii_lowercase()) => {
                write!(out, "{indent}{key}: {word}{newline}")
            }
            value => write!(out, "{indent}{key}: {value}{newline}"),
        };
    }
}

fn toml(text: &str, block: &Map<String, Value>) -> Result<String, String> {
    let document = text.parse::<DocumentMut>();
    let mut document = document.map_err(|e| escape_line(&e.to_string()))?;
    let old = document.remove(KEY);
    if !block.is_empty() {
        let mut table = table(block)?;
        // The place is the old block's, or the end with an empty line between.
        match old.as_ref().and_then(Item::as_table) {
            Some(old) => {
                table.set_position(old.position());
                *table.decor_mut() = old.decor().clone();
            }
            None if text.is_empty() => {}
            None => set_apart(&mut table),
        }
        document.insert(KEY, Item::Table(table));
    }
    Ok(document.to_string())
}

/// An empty line before the table: a table of tables alone has no line of its own.
fn set_apart(table: &mut Table) {
    if !table.is_implicit() {
        return table.decor_mut().set_prefix("\n");
    }
    if let Some((_, Item::Table(inner))) = table.iter_mut().next() {
        inner.decor_mut().set_prefix("\n");
    }
}

fn table(map: &Map<String, Value>) -> Result<Table, String> {
    let mut table = Table::new();
    table.set_implicit(map.values().all(Value::is_object));
    for (key, value) in map {
        let item = match value {
            Value::Object(map) => Item::Table(self::table(map)?),
            Value::String(text) => toml_edit::value(text),
            Value::Bool(is) => toml_edit::value(*is),
            Value::Number(number) => {
                toml_edit::value(number.as_i64().ok_or("a number is too large for TOML")?)
            }
            Value::Array(items) => toml_edit::value(array(items)),
            Value::Null => continue,
        };
        table.insert(key, item);
    }
    Ok(table)
}

/// A list of texts; several of them each on a line of its own.
fn array(items: &[Value]) -> Array {
    let mut array: Array = items.iter().filter_map(Value::as_str).collect();
    if items.len() > 1 {
        array.iter_mut().for_each(|item| item.decor_mut().set_prefix("\n  "));
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    array
}

/// A header block for a text that has none, behind what must be first.
fn new_block(text: &str, comment: &str, block: &Map<String, Value>) -> Result<String, String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let is_first = |line: &&str| {
        let words = line.strip_prefix(comment).map(str::trim_start);
        line.starts_with("#!")
            || words.is_some_and(|words| words.starts_with("rye:signed:"))
            || words.is_some_and(|words| words.contains("coding:") || words.contains("coding="))
    };
    let length = text.split_inclusive('\n').take_while(is_first).map(str::len).sum();
    let (head, rest) = text.split_at(length);
    let mut out = head.to_owned();
    let inside = toml("", block)?;
    let lines = ["/// rye"].into_iter().chain(inside.lines()).chain(["///"]);
    for line in lines {
        let space = if line.is_empty() { "" } else { " " };
        let _ = write!(out, "{comment}{space}{line}{newline}");
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Needs, declaration, declare};
    use crate::host::Net;
    use crate::space::HeaderStyle;

    fn needs() -> Needs {
        Needs {
            read: vec!["/data".into(), "{project_path}".into()],
            write: vec!["{project_path}/out/".into()],
            net: Some(Net::Loopback),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn hosts_are_a_list_in_each_form() {
        let needs = Needs {
            net: Some(Net::Hosts),
            hosts: vec!["api.example.org".into(), "x.org:8443".into()],
            ..Needs::default()
        };
        let yaml = "sandbox:\n  net:\n    hosts:\n      - \"api.example.org\"\n      - \
                    \"x.org:8443\"\n";
        let head = "version: '1'\n";
        let old = format!("{head}sandbox:\n  net: any\n  limits: {{files: 8}}\n");
        let with_limits = yaml.replacen("  net:", "  limits:\n    files: 8\n  net:", 1);
        assert_eq!(declare(head, &HeaderStyle::Yaml, &needs), Ok(format!("{head}{yaml}")));
        assert_eq!(declare(&old, &HeaderStyle::Yaml, &needs), Ok(format!("{head}{with_limits}")));
        let toml = "[sandbox.net]\nhosts = [\n  \"api.example.org\",\n  \"x.org:8443\",\n]\n";
        assert_eq!(declare("", &HeaderStyle::Toml, &needs).as_deref(), Ok(toml));
        assert_eq!(declaration(&HeaderStyle::Toml, &needs), toml);
    }

    const TABLES: &str = "[sandbox]\nnet = \"loopback\"\n\n[sandbox.fs]\nread = [\n  \"/data\",\n  \
                          \"{project_path}\",\n]\nwrite = [\"{project_path}/out/\"]\n";

    fn commented(sign: &str, text: &str) -> String {
        let line = |line: &str| match line {
            "" => format!("{sign}\n"),
            line => format!("{sign} {line}\n"),
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn each_style_says_it_in_its_own_form() {
        let yaml = "sandbox:\n  net: loopback\n  fs:\n    read:\n      - \"/data\"\n      - \
                    \"{project_path}\"\n    write:\n      - \"{project_path}/out/\"\n";
        let shell = HeaderStyle::Block { comment: "#".into() };
        let rows = [
            (
                HeaderStyle::Yaml,
                "# w\nversion: '1'\n".to_owned(),
                format!("# w\nversion: '1'\n{yaml}"),
            ),
            (HeaderStyle::Yaml, "version: '1'".into(), format!("version: '1'\n{yaml}")),
            (
                HeaderStyle::Yaml,
                "sandbox: {net: any, fs: {read: [/]}}\n# more\nversion: '1'\n".into(),
                format!("{yaml}# more\nversion: '1'\n"),
            ),
            (
                HeaderStyle::Toml,
                "version = '1' # w\n".into(),
                format!("version = '1' # w\n\n{TABLES}"),
            ),
            (
                shell,
                "#!/bin/sh\n# /// rye\n# version = '1'\n# ///\necho\n".into(),
                format!(
                    "#!/bin/sh\n# /// rye\n# version = '1'\n{}# ///\necho\n",
                    commented("#", &format!("\n{TABLES}"))
                ),
            ),
            (
                HeaderStyle::Python,
                "#!/usr/bin/python3\n# rye:signed:v2 x\n\"\"\"Words.\"\"\"\n__version__ = '1'\n"
                    .into(),
                format!(
                    "#!/usr/bin/python3\n# rye:signed:v2 x\n# /// rye\n{}# ///\n\"\"\"Words.\"\"\"\n__version__ = '1'\n",
                    commented("#", TABLES)
                ),
            ),
            (
                HeaderStyle::Block { comment: "//".into() },
                "const a = '1';\n".into(),
                format!("// /// rye\n{}// ///\nconst a = '1';\n", commented("//", TABLES)),
            ),
        ];
        for (style, text, want) in rows {
            let once = declare(&text, &style, &needs());
            assert_eq!(once.as_deref(), Ok(want.as_str()), "{text}");
            assert_eq!(declare(&want, &style, &needs()), Ok(want.clone()), "again changes nothing");
        }
    }

    #[test]
    fn limits_stay_and_a_block_of_nothing_goes() {
        let text = "sandbox:\n  net: any\n  limits: {files: 8}\nversion: '1'\n";
        let got = declare(text, &HeaderStyle::Yaml, &Needs::default());
        assert_eq!(got.as_deref(), Ok("sandbox:\n  limits:\n    files: 8\nversion: '1'\n"));
        let text = "version: '1'\nsandbox:\n  net: any\n";
        let got = declare(text, &HeaderStyle::Yaml, &Needs::default());
        assert_eq!(got.as_deref(), Ok("version: '1'\n"));
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        for text in ["{version: '1'}", "version: '1'\n\"sandbox\": {net: any}\n"] {
            assert!(declare(text, &HeaderStyle::Yaml, &needs()).is_err(), "{text}");
        }
    }
}
