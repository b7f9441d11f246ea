//! The outline of a Python file: its text without the bodies of functions and classes.
//!
//! Most of a program lies in such bodies, no metadata does, and parsing is what reading a tool
//! costs. A body is left out only if it says none of the names, so that nothing can hide there; a
//! text that this file is not sure of is parsed whole.

use std::ops::Range;

use super::syntax::{begins_with_any, closes, names_any};

/// The parts of the text to parse, in order; `None` if all of it must be.
pub(super) fn outline(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let (mut kept, mut from, mut at, mut open) = (Vec::new(), 0, 0, Vec::new());
    let mut body: Option<usize> = None;
    while at < bytes.len() {
        let opens = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | b'#' => false,
            b'\x0c' => return None,
            _ => {
                if let Some(start) = body.take().filter(|&start| !names_any(&text[start..at])) {
                    kept.push(from..start);
                    from = at;
                }
                ["def ", "async def ", "class "].iter().any(|word| text[at..].starts_with(word))
            }
        };
        let line = Line::read(bytes, at, &mut open)?;
        if opens && line.ends_in_colon {
            body = Some(line.end);
        }
        at = line.end;
    }
    if let Some(start) = body.filter(|&start| !names_any(&text[start..])) {
        kept.push(from..start);
        from = text.len();
    }
    if kept.is_empty() {
        return None;
    }
    if from < text.len() {
        kept.push(from..text.len());
    }
    Some(kept)
}

/// The lines at top level that begin with one of the names, and nothing else; `None` for a text that, up to
/// the last of them, this file is not sure of. What is found by them is for finding alone: a name may be
/// bound elsewhere too.
pub(super) fn declarations(text: &str) -> Option<Vec<&str>> {
    let (bytes, mut kept, mut at, mut open) = (text.as_bytes(), Vec::new(), 0, Vec::new());
    // Most of a program stands behind the last of them.
    let Some(last) = last_named(text) else { return Some(kept) };
    while at <= last {
        let line = Line::read(bytes, at, &mut open)?;
        if begins_with_any(&text[at..line.end]) {
            kept.push(&text[at..line.end]);
        }
        at = line.end;
    }
    Some(kept)
}

/// Where the last line begins that begins with one of the names, be it a line of a string.
fn last_named(text: &str) -> Option<usize> {
    const BLOCK: usize = 256;
    // So begins every name, and hardly any line.
    let may = |(before, first): (&u8, &u8)| {
        *before == b'\n' && (*first == b'_' || first.is_ascii_uppercase())
    };
    let (befores, firsts) = (text.as_bytes(), text.as_bytes().get(1..)?);
    let blocks = befores.chunks(BLOCK).zip(firsts.chunks(BLOCK)).enumerate();
    for (number, (befores, firsts)) in blocks.rev() {
        let pairs = || befores.iter().zip(firsts);
        // No branch for each byte.
        if !pairs().fold(false, |any, pair| any | may(pair)) {
            continue;
        }
        let starts = pairs().enumerate().filter(|(_, pair)| may(*pair));
        let mut starts = starts.map(|(at, _)| number * BLOCK + at + 1).rev();
        if let Some(last) = starts.find(|at| begins_with_any(&text[*at..])) {
            return Some(last);
        }
    }
    begins_with_any(text).then_some(0)
}

/// One logical line: brackets, strings and backslashes carry it over line feeds.
struct Line {
    /// Behind its line feed.
    end: usize,
    ends_in_colon: bool,
}

impl Line {
    /// The line that begins at `start`; `open` is room for the brackets that are open.
    fn read(bytes: &[u8], start: usize, open: &mut Vec<u8>) -> Option<Self> {
        let (mut at, mut remark) = (start, None);
        open.clear();
        while let Some(&byte) = bytes.get(at) {
            match byte {
                byte if is_plain(byte) => {}
                b'\n' if open.is_empty() => break,
                b'\n' => remark = None,
                b'#' => {
                    remark = Some(at);
                    at += bytes[at..].iter().position(|&b| b == b'\n')?;
                    continue;
                }
                b'\\' => match &bytes[at + 1..] {
                    [b'\n', ..] => at += 1,
                    [b'\r', b'\n', ..] => at += 2,
                    _ => return None,
                },
                b'"' | b'\'' => at = string(bytes, start, at)?,
                b'(' | b'[' | b'{' => open.push(byte),
                _ => closes(open.pop()?, byte).then_some(())?,
            }
            at += 1;
        }
        let code = bytes[start..remark.unwrap_or(at)].trim_ascii_end();
        let end = if at < bytes.len() { at + 1 } else { at };
        open.is_empty().then_some(Self { end, ends_in_colon: code.ends_with(b":") })
    }
}

/// A byte that decides nothing about where a line ends. Most are.
fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let (mut plain, mut at) = ([true; 256], 0);
        let others = b"\n#\\\"'([{)]}";
        while at < others.len() {
            plain[others[at] as usize] = false;
            at += 1;
        }
        plain
    };
    PLAIN[byte as usize]
}

/// The place of the quote that closes the string whose first quote is at `at`.
fn string(bytes: &[u8], start: usize, at: usize) -> Option<usize> {
    let quote = bytes[at];
    let word =
        bytes[start..at].iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
    let is_template = word.clone().count() <= 2 && word.clone().any(|b| b"fFtT".contains(b));
    let triple = bytes[at..].starts_with(&[quote; 3]);
    let (mut at, mut open) = (at + if triple { 3 } else { 1 }, 0_usize);
    loop {
        let byte = *bytes.get(at)?;
        match byte {
            b'\\' => at += 1,
            b'\n' if !triple => return None,
            b'{' if is_template && open == 0 && bytes.get(at + 1) == Some(&b'{') => at += 1,
            b'{' if is_template => open += 1,
            b'}' if is_template => open = open.saturating_sub(1),
            // The same quote inside braces closes the string or not, by the language's version.
            _ if open > 0 && byte == quote => return None,
            b'"' | b'\'' if open > 0 => {
                let inner = &bytes[at + 1..];
                at += 1 + inner.iter().position(|&b| b == byte || b == b'\n')?;
            }
            _ if byte != quote => {}
            _ if !triple => return Some(at),
            _ if bytes[at..].starts_with(&[quote; 3]) => return Some(at + 2),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{declarations, last_named, outline};
    use crate::parse::tool::syntax::{NAMES, begins_with_any};

    proptest! {
        #[test]
        fn the_last_line_that_begins_with_a_name_is_found_wherever_it_stands(
            lines in proptest::collection::vec(
                "(__version__|ENV|CONFIGURED|x| |_|A)?( = [a-z\\n]{0,70})?", 0..9),
        ) {
            let text = lines.join("\n");
            let mut starts =
                std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).rev();
            let want = starts.find(|at| begins_with_any(&text[*at..]));
            prop_assert_eq!(last_named(&text), want, "{:?}", text);
        }
    }

    #[test]
    fn declarations_are_whole_statements_at_top_level() {
        let text = "# c\n'''\n__version__ = 1\n'''\n__version__ = '1'\ndef f():\n    CONFIG = 1\n\
                    CONFIG_SCHEMA: dict = {\n'a': [\n1]}\nCONFIGURED = 1\n";
        let want = "__version__ = '1'\nCONFIG_SCHEMA: dict = {\n'a': [\n1]}\n";
        assert_eq!(declarations(text).map(|lines| lines.concat()).as_deref(), Some(want));
        assert_eq!(declarations("x = (\n"), Some(Vec::new()));
        assert_eq!(declarations("ENV = 1\nx = (\n"), Some(vec!["ENV = 1\n"]));
        assert_eq!(declarations("x = (\nENV = 1\n"), None);
        for (name, _) in NAMES {
            let text = format!("{name} = 1");
            assert_eq!(declarations(&text), Some(vec![text.as_str()]));
        }
    }

    /// What is left of a text.
    fn kept(text: &str) -> Option<String> {
        Some(outline(text)?.into_iter().map(|part| &text[part]).collect())
    }

    #[test]
    fn outlines_table() {
        let rows = [
            ("", None),
            ("x = 1\n", None),
            ("def f():\n    pass\n", Some("def f():\n")),
            ("def f():\n    pass", Some("def f():\n")),
            ("def f():\n    pass\n\n# c\nx = 1\n", Some("def f():\nx = 1\n")),
            (
                "class C(\n  D):  # c\n  x = 1\n\n  def f(self): pass\ny = 1",
                Some("class C(\n  D):  # c\ny = 1"),
            ),
            (
                "@d\nasync def f(a='''\n:''') -> {1: 2}:\r\n  pass\r\nx = 1",
                Some("@d\nasync def f(a='''\n:''') -> {1: 2}:\r\nx = 1"),
            ),
            ("def f(): return 1\nx = 1\n", None),
            ("if x:\n    y = 1\n", None),
            ("def f():\n    '''\nx = 1\n'''\ny = 1\n", Some("def f():\ny = 1\n")),
            ("def f():\n    x = [\n1]\ny = 1\n", Some("def f():\ny = 1\n")),
            ("def f():\n    x = 1 + \\\n2\ny = 1\n", Some("def f():\ny = 1\n")),
            ("def f():\n    x = '\\'' # '\ny = 1\n", Some("def f():\ny = 1\n")),
            ("def f():\n    x = f\"{a['k']} {{ {b:{c}} '\"\ny = 1\n", Some("def f():\ny = 1\n")),
            // A name inside keeps a body.
            ("def f():\n    global CONFIG\ny = 1\n", None),
            (
                "def f():\n    pass\ndef g():\n  # __version__\n  pass\n",
                Some("def f():\ndef g():\n  # __version__\n  pass\n"),
            ),
            ("def f():\n    CONFIGURED = my__version__\n", Some("def f():\n")),
            // What is not clear is parsed whole.
            ("def f():\n    x = f\"{a[\"k\"]}\"\n", None),
            ("def f():\n    x = 'open\ny = 1\n", None),
            ("def f():\n    x = (\ny = 1\n", None),
            ("def f():\n    x = )\ny = 1\n", None),
            ("def f():\n    x = (]\ny = 1\n", None),
            ("def f():\n    '''open\ny = 1\n", None),
            ("def f():\n    x = 1 \\ \ny = 1\n", None),
            ("\x0cdef f():\n    pass\n", None),
        ];
        for (text, want) in rows {
            assert_eq!(kept(text).as_deref(), want, "{text:?}");
        }
    }
}
