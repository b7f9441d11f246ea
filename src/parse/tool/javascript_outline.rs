//! The outline of a JavaScript or TypeScript file: its text without the bodies of functions and
//! classes that are declared at top level.
//!
//! As with Python, a body is left out only if it says none of the names, and a text that this file
//! is not sure of is parsed whole. An object that is assigned is no body.

use std::ops::Range;

use super::syntax::{closes, names_any};

/// Words behind which a slash opens a regular expression.
const BEFORE_PATTERN: &[&str] = &[
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "else",
    "do",
    "await",
    "yield",
    "instanceof",
];

/// Words that open a declaration. Blocks of other statements are parsed: they share its names.
const DECLARES: &[&str] =
    &["function", "async", "class", "abstract", "export", "const", "let", "var"];

/// The parts of the text to parse, in order; `None` if all of it must be.
pub(super) fn outline(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let (mut kept, mut from) = (Vec::new(), 0);
    let (mut at, mut open, mut last) = (0, Vec::new(), 0);
    // Where the statement at top level begins; none behind its end.
    let mut statement: Option<usize> = None;
    // Where the block at top level opened, if it may be left out.
    let mut block: Option<usize> = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'/' => {
                if let Some(end) = comment(text, at) {
                    at = end;
                    continue;
                }
                divides(&text[..=last], bytes[last]).then_some(())?;
            }
            b'"' | b'\'' => at = quoted(bytes, at)?,
            b'`' => at = template(bytes, at)?,
            b'(' | b'[' => open.push(byte),
            b'{' => {
                if open.is_empty() && statement.is_some_and(|from| is_body(&text[from..=last])) {
                    block = Some(at + 1);
                }
                open.push(byte);
            }
            b')' | b']' | b'}' => {
                closes(open.pop()?, byte).then_some(())?;
                if open.is_empty()
                    && let Some(start) = block.take().filter(|_| byte == b'}')
                    && start < at
                    && !names_any(&text[start..at])
                {
                    kept.push(from..start);
                    from = at;
                }
            }
            _ => {}
        }
        if open.is_empty() && matches!(byte, b';' | b'}' | b'\n') {
            statement = None;
        } else if !byte.is_ascii_whitespace() {
            statement = statement.or(Some(at));
        }
        if !byte.is_ascii_whitespace() {
            last = at;
        }
        at += 1;
    }
    if kept.is_empty() || !open.is_empty() {
        return None;
    }
    kept.push(from..text.len());
    Some(kept)
}

/// Whether a brace behind this part of a statement opens the body of a function or class.
fn is_body(before: &str) -> bool {
    let word = before.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let sign = before.as_bytes().last().copied().unwrap_or_default();
    let ends = sign.is_ascii_alphanumeric() || matches!(sign, b'_' | b'$' | b')' | b'>');
    ends && DECLARES.contains(&word)
}

/// The end of the comment at `at`, if one is there; an open one ends with the text.
fn comment(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        return Some(rest.find('\n').map_or(text.len(), |end| at + end));
    }
    let body = rest.strip_prefix("/*")?;
    Some(body.find("*/").map_or(text.len(), |end| at + 2 + end + 2))
}

/// Whether a slash behind this text is surely the sign of a division.
fn divides(before: &str, last: u8) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let word = &before[before.trim_end_matches(part).len()..];
    match last {
        b']' => true,
        _ => !word.is_empty() && !BEFORE_PATTERN.contains(&word),
    }
}

/// The place of the quote that closes the string at `at`.
fn quoted(bytes: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    loop {
        match *bytes.get(end)? {
            b'\\' => end += 1,
            b'\n' => return None,
            byte if byte == bytes[at] => return Some(end),
            _ => {}
        }
        end += 1;
    }
}

/// The place of the backtick that closes the template at `at`; nested ones are not followed.
fn template(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut end, mut open) = (at + 1, 0_usize);
    loop {
        match *bytes.get(end)? {
            b'\\' => end += 1,
            b'`' if open == 0 => return Some(end),
            b'`' | b'/' if open > 0 => return None,
            b'"' | b'\'' if open > 0 => end = quoted(bytes, end)?,
            b'$' if open == 0 && bytes.get(end + 1) == Some(&b'{') => (open, end) = (1, end + 1),
            b'{' if open > 0 => open += 1,
            b'}' if open > 0 => open -= 1,
            _ => {}
        }
        end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::outline;

    /// What is left of a text.
    fn kept(text: &str) -> Option<String> {
        Some(outline(text)?.into_iter().map(|part| &text[part]).collect())
    }

    #[test]
    fn outlines_table() {
        let rows = [
            ("", None),
            ("const x = {a: {b: 1}};", None),
            ("function f() { return {a: 1} }\nx()", Some("function f() {}\nx()")),
            (
                "const f = (a = {}) => { a };\nclass A extends B { c() {} }",
                Some("const f = (a = {}) => {};\nclass A extends B {}"),
            ),
            (
                "function f(): Map<a, b> { '}' + \"}\" + `}${ {a: '}'} }` /* } */ // }\n }",
                Some("function f(): Map<a, b> {}"),
            ),
            ("f(function () { x })", None),
            ("if (a) { const CONFIG = 1 }", None),
            ("async function f() { b / c / d[1] / 2 }", Some("async function f() {}")),
            (
                "export default class { b }\nexport const {a} = b",
                Some("export default class {}\nexport const {} = b"),
            ),
            ("if (a) { b }\nfor (;;) { b } try { b } finally { b }", None),
            ("import {a} from 'b'", None),
            ("const x = {a: 1}, y = [{b: 1}]", None),
            ("function f() {}", None),
            // What is not clear is parsed whole.
            ("function f() { return /}/ }", None),
            ("function f() { x = /}/ }", None),
            ("function f() { (a) / b }", None),
            ("function f() { `${`x`}` }", None),
            ("function f() { `${/}/}` }", None),
            ("function f() { 'open\n }", None),
            ("function f() { x } {", None),
            ("function f() { x } }", None),
            ("function f() { (] }", None),
            ("function f() { `open }", None),
        ];
        for (text, want) in rows {
            assert_eq!(kept(text).as_deref(), want, "{text:?}");
        }
    }
}
