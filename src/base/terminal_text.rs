//! The output of a program as a terminal may show it: as it looks without rye, but for controls
//! that reach beyond the line or change the terminal itself.

use std::mem;

use super::text::escape;

/// Longest control sequence that passes, in bytes: a colour and its background take under forty.
const SEQUENCE_BYTES: usize = 64;

/// Ends all colours and styles.
const RESET: &str = "\u{1b}[0m";

/// Filters text that comes in pieces. Carriage returns, backspaces, colours and styles (SGR), and
/// moves and erasures within the line pass; every other control is written out as `\u{…}`.
#[derive(Debug, Default)]
pub(crate) struct TerminalText {
    /// A sequence that is not at its end.
    begun: String,
    is_styled: bool,
}

/// The beginning of a text that is a control.
enum Control {
    /// So many bytes may be shown.
    Passes(usize),
    Unfinished,
    Refused,
}

impl TerminalText {
    pub(crate) fn next(&mut self, piece: &str) -> String {
        self.begun.push_str(piece);
        let text = mem::take(&mut self.begun);
        let (mut out, mut rest) = (String::with_capacity(text.len()), &*text);
        while let Some(at) = rest.find(['\u{1b}', '\r', '\u{8}']) {
            let (before, found) = rest.split_at(at);
            out += &escape(before);
            let len = match control(found) {
                Control::Unfinished => {
                    found.clone_into(&mut self.begun);
                    return out;
                }
                Control::Passes(len) => {
                    out += &found[..len];
                    if found[..len].ends_with('m') {
                        self.is_styled = !matches!(&found[..len], "\u{1b}[m" | RESET);
                    }
                    len
                }
                Control::Refused => {
                    out += &escape(&found[..1]);
                    1
                }
            };
            rest = &found[len..];
        }
        out + &escape(rest)
    }

    /// The rest, and the end of colours that were not ended: what comes next is not the program's.
    pub(crate) fn end(&mut self) -> String {
        let rest = escape(&mem::take(&mut self.begun)).into_owned();
        let reset = if mem::take(&mut self.is_styled) { RESET } else { "" };
        rest + reset
    }
}

/// A whole text, filtered as [`TerminalText`] does.
pub(crate) fn terminal_text(text: &str) -> String {
    let mut filter = TerminalText::default();
    filter.next(text) + &filter.end()
}

/// Tells what a text begins with: a carriage return, a backspace or an escape. Sequences are those
/// of ECMA-48: `ESC [`, parameters of digits, `;` and `:`, and a letter.
fn control(text: &str) -> Control {
    if !text.starts_with('\u{1b}') {
        return Control::Passes(1);
    }
    let bytes = text.as_bytes();
    match bytes.get(1) {
        None => return Control::Unfinished,
        Some(b'[') => {}
        Some(_) => return Control::Refused,
    }
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || b";:".contains(byte);
    let len = 2 + bytes[2..].iter().take(SEQUENCE_BYTES).take_while(|it| is_parameter(it)).count();
    match bytes.get(len) {
        _ if len >= SEQUENCE_BYTES => Control::Refused,
        None => Control::Unfinished,
        // SGR; erase in line; cursor forward, back, to a column.
        Some(b'm' | b'K' | b'C' | b'D' | b'G') => Control::Passes(len + 1),
        Some(_) => Control::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::{SEQUENCE_BYTES, TerminalText};

    #[test]
    fn what_stays_within_the_line_passes_and_all_else_is_written_out_in_whatever_pieces_table() {
        let long = format!("\u{1b}[{}m", "1;".repeat(SEQUENCE_BYTES));
        let rows = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("10 %\r20 %\r\n", "10 %\r20 %\r\n"),
            ("ab\u{8}c", "ab\u{8}c"),
            ("\u{1b}[1;32mgreen\u{1b}[0m", "\u{1b}[1;32mgreen\u{1b}[0m"),
            ("\u{1b}[38:2::1:2:3mrgb\u{1b}[m", "\u{1b}[38:2::1:2:3mrgb\u{1b}[m"),
            ("\u{1b}[31mred", "\u{1b}[31mred\u{1b}[0m"),
            ("\u{1b}[2K\u{1b}[1G\u{1b}[3D\u{1b}[C", "\u{1b}[2K\u{1b}[1G\u{1b}[3D\u{1b}[C"),
            ("\u{1b}[A\u{1b}[2J\u{1b}[H", "\\u{1b}[A\\u{1b}[2J\\u{1b}[H"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[?25l\u{1b}c\u{1b}", "\\u{1b}[?25l\\u{1b}c\\u{1b}"),
            ("\u{1b}[31", "\\u{1b}[31"),
            ("\u{9b}31m\u{202e}x", "\\u{9b}31m\\u{202e}x"),
            (&long, &long.replace('\u{1b}', "\\u{1b}")),
        ];
        for (text, want) in rows {
            for size in 1..=text.chars().count() {
                let chars: Vec<char> = text.chars().collect();
                let mut filter = TerminalText::default();
                let mut got: String = chars
                    .chunks(size)
                    .map(|it| filter.next(&it.iter().collect::<String>()))
                    .collect();
                got += &filter.end();
                assert_eq!(got, want, "{text:?} in pieces of {size}");
            }
        }
    }
}
