//! Header blocks: TOML in the leading comments of any text file.
//!
//! ```text
//! #!/bin/sh
//! # /// rye
//! # version = "1.0.0"
//! # executor_id = "rye/core/runtimes/shell/script"
//! # ///
//! ```
//!
//! Invariants
//! - One block a file, before any code; a line that opens another one is a fault, wherever it is.
//! - A JavaScript file that declares metadata in its code is a fault, never an empty header.
//! - Positions of faults are those of the file.

use serde_json::{Map, Value};

use crate::base::text::Position;
use crate::parse::data::toml;
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_METADATA, ParseFault};

/// The header block of a file whose comments open with `comment`; empty without a block.
///
/// # Errors
/// `parse.toml`, `parse.limit`; `parse.duplicate_metadata` for a second block; `parse.metadata` for
/// a block that is not closed, stands behind code, or has a line that is not a comment.
pub(super) fn header(text: &str, comment: &str) -> Result<Map<String, Value>, ParseFault> {
    let comment = comment.trim();
    let opener = format!("{comment} /// rye");
    let none = |text| if comment == "//" { not_in_code(text) } else { Ok(Map::new()) };
    if !text.contains(&opener) {
        return none(text);
    }
    let opens = |line: &str| line.trim_end() == opener;
    let lines: Vec<&str> = text.split('\n').collect();
    let mut openers = lines.iter().enumerate().filter(|(_, line)| opens(line)).map(|(at, _)| at);
    let Some(start) = openers.next() else { return none(text) };
    let fault = |code, at: usize, why: &str| {
        ParseFault::new(code, why).at(Position { line: at + 1, column: 1 })
    };
    let leads = |(at, line): (usize, &&str)| {
        let is_shebang = at == 0 && line.starts_with("#!");
        is_shebang || line.starts_with(comment) || line.trim().is_empty()
    };
    if !lines[..start].iter().enumerate().all(leads) {
        return Err(fault(PARSE_METADATA, start, "a header block must stand before any code"));
    }
    if let Some(second) = openers.next() {
        return Err(fault(PARSE_DUPLICATE_METADATA, second, "a second header block opens here"));
    }
    let mut inside = String::new();
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        if line.trim_end() == format!("{comment} ///") {
            return read(&inside, start, comment);
        }
        match line.strip_prefix(comment) {
            Some(rest) if rest.trim().is_empty() => {}
            Some(rest) if rest.starts_with(' ') => inside.push_str(&rest[1..]),
            _ => return Err(fault(PARSE_METADATA, at, "a header block holds comment lines only")),
        }
        inside.push('\n');
    }
    Err(fault(PARSE_METADATA, start, "a header block is not closed"))
}

/// The empty header of a JavaScript file, unless it declares metadata as other tools read it.
fn not_in_code(text: &str) -> Result<Map<String, Value>, ParseFault> {
    let declares = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '*', '/']);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let name = ["const ", "let ", "var "].iter().find_map(|word| line.strip_prefix(word));
        let name = name.and_then(|rest| rest.split(['=', ':', ' ', ';']).next());
        // `__dirname` and what bundlers define end otherwise.
        let is_metadata = |name: &str| name.starts_with("__") && name.ends_with("__");
        line.starts_with("@executor_id ") || name.is_some_and(is_metadata)
    };
    let Some(at) = text.lines().position(declares) else { return Ok(Map::new()) };
    let why = "metadata such as `__executor_id__` is not read from the code: write a header block, \
               `// /// rye`, before it";
    Err(ParseFault::new(PARSE_METADATA, why).at(Position { line: at + 1, column: 1 }))
}

/// Reads the block's TOML, whose first line is the one behind line `start` (from 0).
fn read(inside: &str, start: usize, comment: &str) -> Result<Map<String, Value>, ParseFault> {
    match toml(inside) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Ok(Map::new()),
        Err(fault) => {
            let place = |p: Position| Position {
                line: p.line + start + 1,
                column: p.column + comment.chars().count() + 1,
            };
            Err(ParseFault { position: fault.position.map(place), ..fault })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::header;
    use crate::base::text::Position;
    use serde_json::{Value, json};

    #[test]
    fn blocks_table() {
        let want = json!({"version": "1.0.0", "env": ["A"]});
        let rows = [
            (
                "#",
                "#!/bin/sh\n# rye:signed:v2 …\n# /// rye\n# version = \"1.0.0\"\n#\n# env = ['A']\n# ///\necho\n",
            ),
            (
                "#",
                "\n# words\n\n# /// rye  \n# version = \"1.0.0\" # remark\n# env = [\n#   'A',\n# ]\n# ///",
            ),
            (
                "--",
                "#!/usr/bin/lua\n-- /// rye\r\n-- version = \"1.0.0\"\r\n--\r\n-- env = ['A']\r\n-- ///\r\nx = 1\r\n",
            ),
            ("// ", "// /// rye\n// version = \"1.0.0\"\n// env = ['A']\n// ///\n"),
        ];
        for (comment, text) in rows {
            assert_eq!(header(text, comment).map(Value::Object), Ok(want.clone()), "{text:?}");
        }
        for text in
            ["", "echo\n", "# /// script\n# a = 1\n# ///\n", "#/// rye\n", "# words /// rye\n"]
        {
            assert_eq!(header(text, "#").map(Value::Object), Ok(json!({})), "{text:?}");
        }
    }

    #[test]
    fn metadata_in_the_code_of_javascript_is_refused_with_its_line() {
        for (text, line) in [
            ("import x from 'y';\nexport const __version__ = '1';\n", Some(2)),
            ("const __executorid__ = 'a/b'", Some(1)),
            ("const __dirname = dirname(fileURLToPath(import.meta.url));", None),
            ("var __defProp = Object.defineProperty;", None),
            ("let __executor_id__ = 'a/b'", Some(1)),
            ("/**\n * @executor_id a/b\n */\n", Some(2)),
            ("const version = '1'; f(__executor_id__)\n", None),
            ("// /// rye\n// version = '1'\n// ///\nconst __version__ = '2'\n", None),
        ] {
            let fault = header(text, "//").err();
            assert_eq!(fault.as_ref().map(|it| it.code.name()), line.map(|_| "parse.metadata"));
            assert_eq!(fault.and_then(|it| it.position).map(|it| it.line), line, "{text}");
        }
        assert!(header("const __version__ = '1'", "#").is_ok());
    }

    #[test]
    fn what_is_refused() {
        let rows = [
            ("# /// rye\n# a = 1\n", "parse.metadata"),
            ("# /// rye\n# a = 1\necho\n# ///\n", "parse.metadata"),
            ("# /// rye\n#a = 1\n# ///\n", "parse.metadata"),
            ("# /// rye\n# a = 1\n\n# ///\n", "parse.metadata"),
            ("echo\n# /// rye\n# a = 1\n# ///\n", "parse.metadata"),
            ("# /// rye\n# ///\n# /// rye\n# ///\n", "parse.duplicate_metadata"),
            ("# /// rye\n# ///\necho <<X\n# /// rye\nX\n", "parse.duplicate_metadata"),
            ("# /// rye\n# /// rye\n# ///\n", "parse.duplicate_metadata"),
            ("# /// rye\n# a = 1\n# a = 2\n# ///\n", "parse.toml"),
            ("# /// rye\n# a = \n# ///\n", "parse.toml"),
        ];
        for (text, code) in rows {
            assert_eq!(header(text, "#").map_err(|f| f.code.name()), Err(code), "{text:?}");
        }
        let fault = header("#!x\n# /// rye\n# a = 1\n# b = nan\n# ///\n", "#").unwrap_err();
        assert_eq!(fault.position, Some(Position { line: 4, column: 7 }));
    }
}
