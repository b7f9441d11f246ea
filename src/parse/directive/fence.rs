//! Cutting a directive: title, preamble, the one metadata fence, body.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::base::text::position;
use crate::diagnostic::Code;
use crate::parse::data::plain_text;
use crate::parse::error::{
    PARSE_DIRECTIVE, PARSE_LIMIT, PARSE_NO_DIRECTIVE_FENCE, PARSE_TWO_DIRECTIVE_FENCES, ParseFault,
};

/// Largest metadata fence in bytes: the XML reader's attribute check is quadratic.
const FENCE_BYTES: usize = 64 << 10;

/// Where the parts of a directive lie, as byte ranges of its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) title: Option<String>,
    /// From behind the title, or the start, to the fence.
    pub(super) preamble: Range<usize>,
    /// The XML between the fence's two lines.
    pub(super) xml: Range<usize>,
    /// From the line behind the fence to the end.
    pub(super) body: Range<usize>,
    /// Where the fence opens.
    pub(super) fence: usize,
}

/// One fenced block at top level that may be metadata.
struct Fence {
    block: Range<usize>,
    inside: Range<usize>,
}

/// Cuts a directive's text, the signature line being blank.
///
/// # Errors
/// `parse.no_directive_fence`, `parse.two_directive_fences`, `parse.limit` for a fence of more
/// than `FENCE_BYTES`, `parse.directive` for metadata in a tilde fence; those of [`first_heading`].
pub(super) fn cut(text: &str) -> Result<Layout, ParseFault> {
    let fault = |code: Code, at: usize, why: &str| {
        ParseFault::new(code, why).at(position(text.as_bytes(), at))
    };
    let fences = fences(text);
    let [Fence { block, inside }] = fences.as_slice() else {
        return Err(match fences.get(1) {
            None => ParseFault::new(PARSE_NO_DIRECTIVE_FENCE, "it has no `<directive>` fence"),
            Some(second) => fault(
                PARSE_TWO_DIRECTIVE_FENCES,
                second.block.start,
                "it has a second `<directive>` fence",
            ),
        });
    };
    if text[block.start..].starts_with('~') {
        let why = "the metadata must stand in a fence of backticks, not of tildes";
        return Err(fault(PARSE_DIRECTIVE, block.start, why));
    }
    if inside.len() > FENCE_BYTES {
        let why = format!("its metadata fence holds more than {FENCE_BYTES} bytes");
        return Err(fault(PARSE_LIMIT, block.start, &why));
    }
    if !text[inside.end..block.end].trim().starts_with("```") {
        return Err(fault(
            PARSE_NO_DIRECTIVE_FENCE,
            block.start,
            "its metadata fence is not closed",
        ));
    }
    let heading = heading(text)?.filter(|(_, heading)| heading.end <= block.start);
    let (title, start) = match heading {
        Some((title, heading)) => (Some(title), heading.end),
        None => (None, 0),
    };
    let behind = text[block.end..].find('\n').map_or(text.len(), |at| block.end + at + 1);
    // The Markdown reader may or may not include the last line feed in the block's range.
    let body = if text[..block.end].ends_with('\n') { block.end } else { behind };
    Ok(Layout {
        title,
        preamble: start..block.start,
        xml: inside.clone(),
        body: body..text.len(),
        fence: block.start,
    })
}

/// Where the metadata lies in a directive's text that has no signature line.
///
/// # Errors
/// Those of [`cut`].
pub(crate) fn metadata_range(text: &str) -> Result<Range<usize>, ParseFault> {
    cut(text).map(|layout| layout.xml)
}

/// The title of a Markdown text: its first heading.
///
/// # Errors
/// `parse.invisible_text`, `parse.control_text`: an entity stands for a character that the check of
/// the file could not see.
pub(crate) fn first_heading(text: &str) -> Result<Option<String>, ParseFault> {
    Ok(heading(text)?.map(|(title, _)| title))
}

/// The text and the range of the first heading at top level.
fn heading(text: &str) -> Result<Option<(String, Range<usize>)>, ParseFault> {
    let (mut depth, mut title) = (0_usize, None::<String>);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match (event, &mut title) {
            (Event::Start(Tag::Heading { .. }), None) if depth == 0 => {
                title = Some(String::new());
                depth += 1;
            }
            (Event::End(TagEnd::Heading(_)), Some(words)) => {
                plain_text(words)?;
                return Ok(Some((words.trim().to_owned(), range)));
            }
            (Event::Text(part) | Event::Code(part), Some(words)) => words.push_str(&part),
            (Event::SoftBreak | Event::HardBreak, Some(words)) => words.push(' '),
            (Event::Start(_), _) => depth += 1,
            (Event::End(_), _) => depth -= 1,
            _ => {}
        }
    }
    Ok(None)
}

/// The `xml` fences at top level whose root element is `<directive>`.
fn fences(text: &str) -> Vec<Fence> {
    let (mut depth, mut found) = (0_usize, Vec::new());
    let mut open: Option<Fence> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(words)))
                if depth == 0 && words.split_whitespace().next() == Some("xml") =>
            {
                // The inside is empty until text is found.
                let line =
                    text[range.clone()].find('\n').map_or(range.end, |at| range.start + at + 1);
                open = Some(Fence { block: range, inside: line..line });
                depth += 1;
            }
            Event::Text(_) => {
                if let Some(fence) = &mut open {
                    fence.inside.end = range.end;
                }
            }
            Event::End(_) => {
                depth -= 1;
                if depth == 0 {
                    found.extend(
                        open.take().filter(|fence| holds_directive(&text[fence.inside.clone()])),
                    );
                }
            }
            Event::Start(_) => depth += 1,
            _ => {}
        }
    }
    found
}

/// Returns true if the first element of an XML text is `<directive>`, whatever follows it.
fn holds_directive(xml: &str) -> bool {
    let mut rest = xml.trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<!--") => rest.find("-->").map(|at| at + 3),
            _ if rest.starts_with("<?") => rest.find("?>").map(|at| at + 2),
            // The XML reader refuses a document type.
            _ if rest.starts_with("<!") => return rest.contains("<directive"),
            _ => {
                let name = rest.strip_prefix("<directive");
                let ends = |c: char| c.is_whitespace() || matches!(c, '>' | '/');
                return name.is_some_and(|behind| behind.is_empty() || behind.starts_with(ends));
            }
        };
        match end {
            Some(end) => rest = rest[end..].trim_start(),
            None => return rest.contains("<directive"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, first_heading};

    const META: &str = "```xml\n<directive name=\"x\"/>\n```\n";

    /// Title, preamble, XML and body of a text, each trimmed.
    fn parts(text: &str) -> Result<(Option<String>, String, String, String), &'static str> {
        let layout = cut(text).map_err(|fault| fault.code.name())?;
        let part = |range: &std::ops::Range<usize>| text[range.clone()].trim().to_owned();
        Ok((layout.title.clone(), part(&layout.preamble), part(&layout.xml), part(&layout.body)))
    }

    #[test]
    fn layouts_table() {
        let xml = "<directive name=\"x\"/>";
        let want = |title: Option<&str>, preamble: &str, body: &str| {
            Ok((title.map(Into::into), preamble.into(), xml.into(), body.into()))
        };
        let rows = [
            (META.to_owned(), want(None, "", "")),
            (
                format!("# A `b` *c*\n\nwords\n\n{META}\nDo it.\n"),
                want(Some("A b c"), "words", "Do it."),
            ),
            (format!("A\n=\n{META}Do it."), want(Some("A"), "", "Do it.")),
            (format!("words\n\n{META}\n# Later\n"), want(None, "words", "# Later")),
            (format!("{META}\n```xml\n<other/>\n```\n"), want(None, "", "```xml\n<other/>\n```")),
            (format!("```xml\n<other/>\n```\n{META}b"), want(None, "```xml\n<other/>\n```", "b")),
            (
                format!("{META}- ```xml\n  <directive/>\n  ```\n"),
                want(None, "", "- ```xml\n  <directive/>\n  ```"),
            ),
            (
                format!("{META}> ```xml\n> <directive/>\n> ```\n"),
                want(None, "", "> ```xml\n> <directive/>\n> ```"),
            ),
            (
                format!("{META}````text\n{META}````\n"),
                want(None, "", &format!("````text\n{META}````")),
            ),
            (META.replace("xml", "xml directive"), want(None, "", "")),
            (META.replace("```", "`````"), want(None, "", "")),
            (format!("{}b", META.replace('\n', "\r\n")), want(None, "", "b")),
            (META.trim_end().to_owned(), want(None, "", "")),
            (format!("   {META}b"), want(None, "", "b")),
        ];
        for (text, want) in rows {
            assert_eq!(parts(&text), want, "{text:?}");
        }
        for lead in ["<?xml version=\"1.0\"?>\n", "\n \t<!-- <x> -->\n<!-- y -->", "<?pi?>"] {
            let text = META.replace("<directive", &format!("{lead}<directive"));
            assert_eq!(cut(&text).map(|layout| layout.fence), Ok(0), "{lead:?}");
        }
    }

    #[test]
    fn what_is_refused() {
        let rows = [
            (String::new(), "parse.no_directive_fence"),
            ("# Title\n\nwords\n".to_owned(), "parse.no_directive_fence"),
            (META.replace("xml", "XML"), "parse.no_directive_fence"),
            (META.replace("xml", "html"), "parse.no_directive_fence"),
            (META.replace("xml", ""), "parse.no_directive_fence"),
            (META.replace("xml", "directive xml"), "parse.no_directive_fence"),
            (META.replace("<directive", "<directives"), "parse.no_directive_fence"),
            (META.replace("<directive", "<x:directive"), "parse.no_directive_fence"),
            (META.replace("<directive", "words <directive"), "parse.no_directive_fence"),
            ("```xml\n```\n".to_owned(), "parse.no_directive_fence"),
            ("```xml".to_owned(), "parse.no_directive_fence"),
            ("```xml\n<directive name=\"x\"/>\n".to_owned(), "parse.no_directive_fence"),
            ("- ```xml\n  <directive/>\n  ```\n".to_owned(), "parse.no_directive_fence"),
            ("> ```xml\n> <directive/>\n> ```\n".to_owned(), "parse.no_directive_fence"),
            ("    ```xml\n    <directive/>\n    ```\n".to_owned(), "parse.no_directive_fence"),
            (format!("````\n{META}````\n"), "parse.no_directive_fence"),
            (format!("<!--\n{META}-->\n"), "parse.no_directive_fence"),
            (format!("{META}{META}"), "parse.two_directive_fences"),
            (format!("{META}words\n\n{META}"), "parse.two_directive_fences"),
            (format!("{META}{}", META.replace("```", "~~~")), "parse.two_directive_fences"),
            (META.replace("```", "~~~"), "parse.directive"),
            (META.replace("/>", &format!(" a=\"{}\"/>", "x".repeat(70_000))), "parse.limit"),
        ];
        for (text, code) in rows {
            assert_eq!(parts(&text), Err(code), "{text:.80?}");
        }
    }

    #[test]
    fn headings_table() {
        let rows = [
            ("# A", Some("A")),
            ("words\n\n## B `c`\n# D", Some("B c")),
            ("> # quoted\n\n# E", Some("E")),
            ("words", None),
            ("```\n# code\n```", None),
        ];
        for (text, want) in rows {
            assert_eq!(first_heading(text), Ok(want.map(str::to_owned)), "{text:?}");
        }
    }
}
