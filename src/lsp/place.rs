//! Places as an editor counts them: lines from 0, columns in the units that were agreed on.

use gen_lsp_types as lsp;

use crate::base::text::Position;

/// The unit that columns are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    Utf8,
    /// The unit that editors use unless they say otherwise.
    Utf16,
    Utf32,
}

impl Units {
    /// The first unit of the editor's list that is known here.
    pub(super) fn agree<'w>(mut wishes: impl Iterator<Item = &'w str>) -> Self {
        let known = wishes.find_map(|wish| match wish {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        });
        known.unwrap_or(Self::Utf16)
    }

    pub(super) fn kind(self) -> lsp::PositionEncodingKind {
        match self {
            Self::Utf8 => lsp::PositionEncodingKind::UTF8,
            Self::Utf16 => lsp::PositionEncodingKind::UTF16,
            Self::Utf32 => lsp::PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    /// The byte of a place; what lies behind a line's end, or behind the last line, counts as the
    /// end. A place inside of a character is its beginning.
    pub(super) fn byte(self, text: &str, place: lsp::Position) -> usize {
        let line = usize::try_from(place.line).unwrap_or(usize::MAX);
        let Some(start) = starts(text).nth(line) else { return text.len() };
        let rest = &text[start..];
        let line = &rest[..rest.find(['\r', '\n']).unwrap_or(rest.len())];
        let mut left = usize::try_from(place.character).unwrap_or(usize::MAX);
        for (at, c) in line.char_indices() {
            let wide = self.width(c);
            if left < wide {
                return start + at;
            }
            left -= wide;
        }
        start + line.len()
    }

    /// The place of a byte.
    pub(super) fn place(self, text: &str, byte: usize) -> lsp::Position {
        let byte = byte.min(text.len());
        let before = starts(text).take_while(|start| *start <= byte);
        let (line, start) = before.enumerate().last().unwrap_or_default();
        let character = text[start..byte].chars().map(|c| self.width(c)).sum();
        lsp::Position::new(small(line), small(character))
    }

    pub(super) fn range(self, text: &str, bytes: std::ops::Range<usize>) -> lsp::Range {
        lsp::Range::new(self.place(text, bytes.start), self.place(text, bytes.end))
    }
}

/// Where an editor's lines begin: behind each line feed, and behind a carriage return that has
/// none.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let ends = (0..bytes.len()).filter(|&at| match bytes[at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|at| at + 1))
}

/// The byte of a place as rye counts: line and column from 1, the column in characters.
pub(super) fn byte_of(text: &str, position: Position) -> usize {
    let Some(start) = line_start(text, position.line.saturating_sub(1)) else { return text.len() };
    let line = line_at(text, start);
    let column = position.column.saturating_sub(1);
    start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

/// The bytes of a line, counted from 1, without what ends it.
pub(super) fn line_range(text: &str, line: usize) -> std::ops::Range<usize> {
    let start = line_start(text, line.saturating_sub(1)).unwrap_or(text.len());
    start..start + line_at(text, start).len()
}

fn line_start(text: &str, line: usize) -> Option<usize> {
    if line == 0 {
        return Some(0);
    }
    text.bytes().enumerate().filter(|(_, b)| *b == b'\n').nth(line - 1).map(|(at, _)| at + 1)
}

fn line_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    let line = rest.find('\n').map_or(rest, |feed| &rest[..feed]);
    line.strip_suffix('\r').unwrap_or(line)
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Units, byte_of, line_range};
    use crate::base::text::Position;
    use gen_lsp_types as lsp;
    use proptest::prelude::{prop_assert_eq, proptest};

    /// One letter of each width: 1, 2, 3 and 4 bytes; the last is two units of UTF-16.
    const TEXT: &str = "aä漢😀b\r\nzw\n";

    #[test]
    fn places_table() {
        let rows = [
            (Units::Utf8, 10, 10),
            (Units::Utf16, 5, 10),
            (Units::Utf32, 4, 10),
            // Inside of the emoji.
            (Units::Utf16, 4, 6),
            (Units::Utf8, 8, 6),
            // Behind the line's end: the end, not the next line.
            (Units::Utf32, 99, 11),
        ];
        for (units, character, byte) in rows {
            assert_eq!(units.byte(TEXT, lsp::Position::new(0, character)), byte, "{units:?}");
        }
        assert_eq!(Units::Utf16.byte(TEXT, lsp::Position::new(1, 1)), 14);
        assert_eq!(Units::Utf16.byte(TEXT, lsp::Position::new(9, 0)), TEXT.len());
        // A carriage return alone ends a line for an editor.
        assert_eq!(Units::Utf16.byte("a\rb\r\nc", lsp::Position::new(1, 9)), 3);
        assert_eq!(Units::Utf16.place("a\rb\r\nc", 5), lsp::Position::new(2, 0));
        assert_eq!(Units::Utf16.byte("", lsp::Position::new(u32::MAX, u32::MAX)), 0);
    }

    #[test]
    fn positions_of_rye_are_found() {
        for (line, column, byte) in
            [(1, 1, 0), (1, 4, 6), (1, 5, 10), (1, 9, 11), (2, 2, 14), (7, 1, 16)]
        {
            assert_eq!(byte_of(TEXT, Position { line, column }), byte, "{line}:{column}");
        }
        assert_eq!(line_range(TEXT, 1), 0..11);
        assert_eq!(line_range(TEXT, 2), 13..15);
        assert_eq!(line_range(TEXT, 3), 16..16);
        assert_eq!(line_range("", 1), 0..0);
    }

    #[test]
    fn the_first_wish_that_is_known_counts() {
        assert_eq!(Units::agree(["utf-7", "utf-32", "utf-8"].into_iter()), Units::Utf32);
        assert_eq!(Units::agree(std::iter::empty()), Units::Utf16);
    }

    proptest! {
        #[test]
        fn the_place_of_a_byte_is_the_byte_of_the_place(text in "(?s)[a-cä漢😀\r\n]{0,40}", at in 0_usize..40) {
            // Between CR and LF is no place.
            let fits = |at: usize| text.is_char_boundary(at) && !(text[..at].ends_with('\r') && text[at..].starts_with('\n'));
            let at = (0..=at.min(text.len())).rev().find(|at| fits(*at)).unwrap_or(0);
            for units in [Units::Utf8, Units::Utf16, Units::Utf32] {
                prop_assert_eq!(units.byte(&text, units.place(&text, at)), at);
            }
        }
    }
}
