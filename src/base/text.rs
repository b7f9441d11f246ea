//! Text as people meet it: safe to print, where it is, what was meant, what may hide in it.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

use super::limits::{MESSAGE_CHARS, NEAR_BYTES};

/// A place in a text: line and column from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The position of byte `at` of `text`; past the end counts as the end.
pub(crate) fn position(text: &[u8], at: usize) -> Position {
    PositionFinder::new(text).find(at)
}

/// The positions of many bytes of a text; rising ones are found in one walk over it.
pub(crate) struct PositionFinder<'t> {
    text: &'t [u8],
    at: usize,
    found: Position,
}

impl<'t> PositionFinder<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0, found: Position { line: 1, column: 1 } }
    }

    /// The position of byte `at`; past the end counts as the end.
    pub(crate) fn find(&mut self, at: usize) -> Position {
        let at = at.min(self.text.len());
        if at < self.at {
            *self = Self::new(self.text);
        }
        let mut part = &self.text[self.at..at];
        if let Some(feed) = part.iter().rposition(|&b| b == b'\n') {
            self.found.line += part.iter().filter(|&&b| b == b'\n').count();
            self.found.column = 1;
            part = &part[feed + 1..];
        }
        self.found.column += String::from_utf8_lossy(part).chars().count();
        self.at = at;
        self.found
    }
}

/// A character that must not stand in an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForbiddenChar {
    pub(crate) char: char,
    pub(crate) at: usize,
    pub(crate) invisible: bool,
}

/// The first character that has no place in reviewed text (core 1.5), and whether it is one that
/// cannot be seen. A lone carriage return is left to [`lone_return`].
pub(crate) fn unfit(text: &str) -> Option<ForbiddenChar> {
    if text.is_ascii() {
        // Fast path: of the ASCII characters only controls are unfit.
        let at = text.as_bytes().iter().position(is_control_byte)?;
        return Some(ForbiddenChar { char: char::from(text.as_bytes()[at]), at, invisible: false });
    }
    hiding(text).find(|found| found.char != '\r')
}

/// The first character that cannot be seen, and where; other unfit ones are passed over.
pub(crate) fn invisible(text: &str) -> Option<(char, usize)> {
    if text.is_ascii() {
        return None;
    }
    hiding(text).find(|found| found.invisible).map(|found| (found.char, found.at))
}

/// Every character that could steer a terminal or hide in a text, carriage returns too; line feeds
/// and tabs do not.
pub(crate) fn hiding(text: &str) -> impl Iterator<Item = ForbiddenChar> {
    let mut rest = text.char_indices().peekable();
    let mut before = None;
    std::iter::from_fn(move || {
        while let Some((at, char)) = rest.next() {
            let after = rest.peek().map(|(_, after)| *after);
            let invisible = is_invisible(before, char, after);
            let hides = invisible || is_control(char) || char == '\r';
            // What hides is written out, so that nothing stands behind it as itself.
            before = (!hides).then_some(char);
            if hides {
                return Some(ForbiddenChar { char, at, invisible });
            }
        }
        None
    })
}

/// The first carriage return that is not before a line feed.
pub(crate) fn lone_return(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\r', bytes).find(|at| bytes.get(at + 1) != Some(&b'\n'))
}

fn is_control(c: char) -> bool {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => is_control_byte(&byte),
        _ => c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}'),
    }
}

/// Of ASCII, all controls but tab, line feed and carriage return.
fn is_control_byte(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127)
}

/// Returns true if a character prints as nothing where it stands, between `before` and `after`.
fn is_invisible(before: Option<char>, c: char, after: Option<char>) -> bool {
    match c {
        _ if c.is_ascii() => false,
        // A control, which is said of it instead.
        '\u{feff}' => false,
        // Text or emoji form of the character before it.
        '\u{fe0e}' | '\u{fe0f}' => !has_two_forms(before, after),
        // Joiners are needed to write several languages and emoji.
        '\u{200c}' | '\u{200d}' => {
            let joins = |c| c == '\u{fe0f}' || is_joinable(c);
            !before.is_some_and(joins) || !after.is_some_and(is_joinable)
        }
        // Braille without a dot.
        '\u{2800}' => true,
        _ => is_ignorable(c) || c.general_category() == GeneralCategory::Format,
    }
}

/// Returns true if a form can be chosen for `before`: an emoji, or the digit of a keycap.
fn has_two_forms(before: Option<char>, after: Option<char>) -> bool {
    match before {
        Some('0'..='9' | '#' | '*') => after == Some('\u{20e3}'),
        Some(before) => before.is_emoji_char(),
        None => false,
    }
}

/// A letter, a mark on one, or an emoji.
fn is_joinable(c: char) -> bool {
    let is_mark = || {
        matches!(
            c.general_category(),
            GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark
        )
    };
    let is_emoji = !c.is_ascii() && c.is_emoji_char();
    !is_ignorable(c) && (c.is_alphabetic() || is_emoji || is_mark())
}

/// The property `Default_Ignorable_Code_Point`, unassigned ones included: what a renderer shows as
/// nothing. From `DerivedCoreProperties.txt` of Unicode 16.0; newer versions assign within these
/// ranges and add none.
fn is_ignorable(c: char) -> bool {
    matches!(
        u32::from(c),
        0x00ad
            | 0x034f
            | 0x061c
            | 0x115f..=0x1160
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x202a..=0x202e
            | 0x2060..=0x206f
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfff8
            | 0x1bca0..=0x1bca3
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

/// The text with everything that could steer a terminal or hide in it written out as `\u{…}`.
/// Line feeds and tabs stay.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    let mut hiding = hiding(text).peekable();
    if hiding.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for found in hiding {
        out.push_str(&text[done..found.at]);
        let _ = write!(out, "\\u{{{:x}}}", u32::from(found.char));
        done = found.at + found.char.len_utf8();
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// A path as it stands in a URI: what is not plain is written in percent signs.
pub(crate) fn uri_path(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for &byte in path {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// As [`escape`], but on one line: line feeds and tabs are written out too.
pub(crate) fn escape_line(text: &str) -> String {
    escape(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// The same, cut where it would be more than a person reads.
pub(crate) fn brief_line(text: &str) -> String {
    // Only so much of it is looked at: a message may quote a whole file.
    let start: String = text.chars().take(MESSAGE_CHARS + 1).collect();
    let line = escape_line(&start);
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// So many of a thing, whose name takes an `s` where there is more than one.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
}

/// An argument as a shell would need it.
pub(crate) fn shell_word(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,{}@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

/// At most `most` of the names that a person may have meant by `name`, nearest first.
pub(crate) fn near<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    if name.len() > NEAR_BYTES {
        return Vec::new();
    }
    let wanted = name.to_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter(|candidate| candidate.len() <= NEAR_BYTES)
        .filter_map(|candidate| {
            let known = candidate.to_lowercase();
            let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
            let named = Some(last(&wanted)).filter(|name| !name.is_empty());
            let by_last = named.and_then(|name| word_slips(&name, &last(&known))).map(|s| s + 1);
            let by_part = is_part_of(&wanted, &known).then_some(1);
            let slips = path_slips(&wanted, &known).into_iter().chain(by_last).chain(by_part);
            Some((slips.min()?, candidate))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(most).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// How many slips lead from one path to the other: segment by segment, so that a short name in a
/// long path is still judged as a short one.
fn path_slips(wanted: &str, known: &str) -> Option<usize> {
    if wanted.split('/').count() != known.split('/').count() {
        return word_slips(wanted, known);
    }
    let segments = wanted.split('/').zip(known.split('/'));
    let slips = segments.map(|(wanted, known)| word_slips(wanted, known)).sum::<Option<usize>>();
    slips.filter(|slips| *slips <= most_slips(wanted))
}

/// How many slips a text of that length may hold: one, or a quarter of its letters.
fn most_slips(text: &str) -> usize {
    (text.chars().count() / 4).max(1)
}

/// How many slips lead from one word to the other, if so few that it may have been meant. Another
/// letter in a word of three makes another word, and so does each slip in a shorter one.
fn word_slips(wanted: &str, known: &str) -> Option<usize> {
    if wanted == known {
        return Some(0);
    }
    let most = most_slips(wanted);
    // Measuring costs the product of the lengths; most names are told apart by length alone.
    if known.len().abs_diff(wanted.len()) > most * 4 {
        return None;
    }
    let slips = strsim::damerau_levenshtein(wanted, known);
    let length = wanted.chars().count();
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_another_letter = || length == known.chars().count() && sorted(wanted) != sorted(known);
    let first = |text: &str| text.chars().next();
    let fits = match length {
        0..=2 => false,
        3 => !is_another_letter(),
        4 => !is_another_letter() || first(wanted) == first(known),
        _ => true,
    };
    (slips <= most && fits).then_some(slips)
}

/// Returns true if a name is a part of the other that says enough: the fewer letters, the more of
/// it.
fn is_part_of(wanted: &str, known: &str) -> bool {
    let begins_word = |at: usize| !known[..at].ends_with(char::is_alphanumeric);
    match wanted.chars().count() {
        0 => false,
        1..=2 => known.split('/').any(|segment| segment == wanted),
        3..=4 => known.match_indices(wanted).any(|(at, _)| begins_word(at)),
        _ => known.contains(wanted),
    }
}

/// A text of a URL without its percent signs; bytes that are not UTF-8 then are replaced.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let mut digit = || char::from(ahead.next()?).to_digit(16);
        let code = if byte == b'%' { digit().zip(digit()) } else { None };
        match code.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(byte) => {
                out.push(byte);
                bytes = ahead;
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{
        Position, PositionFinder, brief_line, counted, escape, escape_line, lone_return, near,
        position, unfit,
    };

    #[test]
    fn positions_count_characters() {
        let text = "añb\ncd".as_bytes();
        assert_eq!(position(text, 3), Position { line: 1, column: 3 });
        assert_eq!(position(text, 5), Position { line: 2, column: 1 });
        assert_eq!(position(text, 99), Position { line: 2, column: 3 });
        let mut places = PositionFinder::new(text);
        for at in [0, 1, 3, 4, 5, 6, 2, 1, 99, 0] {
            assert_eq!(places.find(at), position(text, at), "{at}");
        }
    }

    #[test]
    fn unfit_characters_table() {
        let rows = [
            ("plain\ttext\r\n", None),
            ("nul\0", Some(false)),
            ("\u{feff}bom", Some(false)),
            ("esc\u{1b}[31m", Some(false)),
            ("next\u{85}line", Some(false)),
            ("line\u{2028}", Some(false)),
            ("del\u{7f}", Some(false)),
            ("bidi\u{202e}", Some(true)),
            ("isolate\u{2066}", Some(true)),
            ("zero\u{200b}width", Some(true)),
            ("word\u{2060}joiner", Some(true)),
            ("soft\u{ad}hyphen", Some(true)),
            ("tag\u{e0041}", Some(true)),
            ("selector\u{e0100}", Some(true)),
            ("filler\u{3164}", Some(true)),
            ("joiner \u{200d} between spaces", Some(true)),
            ("non-joiner\u{200c}", Some(true)),
            ("two a\u{200d}\u{200d}b", Some(true)),
            ("\u{200d}first", Some(true)),
            ("Persian می\u{200c}خواهم, Sinhala ශ්\u{200d}රී", None),
            ("emoji \u{2764}\u{fe0f}, 漢字, ñ", None),
            ("family 👨\u{200d}👩\u{200d}👧, heart on fire ❤\u{fe0f}\u{200d}🔥, 👍🏽", None),
            ("keycap 1\u{fe0f}\u{20e3}", None),
            ("digit 1\u{fe0f}", Some(true)),
            ("letter a\u{fe0f}", Some(true)),
            ("heart \u{2764}\u{fe0f}\u{fe0f}", Some(true)),
            ("heart \u{2764}\u{fe00}", Some(true)),
            ("grapheme\u{34f}joiner", Some(true)),
            ("khmer\u{17b4}", Some(true)),
            ("mongolian\u{180b}", Some(true)),
            ("reserved\u{2065}", Some(true)),
            ("reserved\u{fff0}", Some(true)),
            ("reserved\u{e0080}", Some(true)),
            ("reserved\u{e01f0}", Some(true)),
            ("braille\u{2800}blank", Some(true)),
        ];
        for (text, want) in rows {
            assert_eq!(unfit(text).map(|u| u.invisible), want, "{text:?}");
        }
    }

    #[test]
    fn one_thing_has_no_ending_and_none_or_several_have_one() {
        let told = [0, 1, 2].map(|count| counted(count, "turn"));
        assert_eq!(told, ["0 turns", "1 turn", "2 turns"]);
    }

    #[test]
    fn a_lone_return_is_found() {
        assert_eq!(lone_return(b"a\r\nb"), None);
        assert_eq!(lone_return(b"a\rb"), Some(1));
        assert_eq!(lone_return(b"a\r"), Some(1));
    }

    #[test]
    fn terminal_text_is_escaped() {
        assert_eq!(escape("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\nc");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape("\u{feff}\r"), "\\u{feff}\\u{d}");
        assert_eq!(escape("a\u{fe0f}b ❤\u{fe0f}"), "a\\u{fe0f}b ❤\u{fe0f}");
        assert_eq!(escape("\u{2800}\u{200d}"), "\\u{2800}\\u{200d}");
        for (text, shown) in [
            ("x\u{fe0f}\u{200d}🔥", "x\\u{fe0f}\\u{200d}🔥"),
            ("a\u{200d}\u{115f}", "a\\u{200d}\\u{115f}"),
            ("a\u{200d}\u{fe0f}", "a\\u{200d}\\u{fe0f}"),
        ] {
            assert_eq!(escape(text), shown);
            assert_eq!(escape(shown), shown, "what is shown is shown as it is");
        }
        assert_eq!(escape_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(brief_line("a\n\u{1b}"), "a\\n\\u{1b}");
        for sign in ["é", "\n", "\u{1b}"] {
            let brief = brief_line(&sign.repeat(1 << 22));
            assert!(brief.chars().count() <= 401 && brief.ends_with('…'), "{brief}");
        }
    }

    #[test]
    fn near_names_are_nearest_first() {
        let names = ["acme/deploy", "acme/destroy", "rye/bash", "rye/file-system/read"];
        let found = |name| near(name, names.iter().copied(), 2);
        assert_eq!(found("acme/deplyo"), ["acme/deploy"]);
        assert_eq!(found("bash"), ["rye/bash"]);
        assert_eq!(found("zzz"), [""; 0]);
        // Another word is not a slip.
        assert_eq!(near("a/readme", ["rye/read"].into_iter(), 2), [""; 0]);
        // Names that no person means by a slip, which would take minutes to tell apart.
        let (long, longer) = ("a".repeat(1 << 20), "b".repeat(1 << 20));
        assert_eq!(near(&long, [longer.as_str(), "a"].into_iter(), 2), [""; 0]);
        assert_eq!(near("abcde", [longer.as_str(), "abcdef"].into_iter(), 2), ["abcdef"]);
    }

    #[test]
    fn the_shorter_a_name_the_nearer_is_what_may_have_been_meant() {
        let rows = [
            // A letter too few, too many, or two in the wrong order.
            ("lst", "list", true),
            ("tol", "tool", true),
            ("fmtt", "fmt", true),
            ("woh", "who", true),
            ("gti", "git", true),
            // Another letter in a word of three is another word.
            ("get", "git", false),
            ("log", "lib", false),
            ("cat", "cut", false),
            ("a/get", "a/git", false),
            ("acme/foo", "acme/for", false),
            ("foo", "acme/for", false),
            // In one of four it is a slip, behind the first.
            ("toll", "tool", true),
            ("whon", "whom", true),
            ("same", "name", false),
            ("rust", "run", false),
            ("name", "node", false),
            // One or two letters are no word to mistake.
            ("ls", "lsp", false),
            ("a", "a/hello", true),
            ("a", "acme/hello", false),
            ("hi", "a/hi", true),
            ("el", "a/hello", false),
            // Part of a word: from its beginning while it is short.
            ("exec", "execute", true),
            ("read", "rye/file-system/read", true),
            ("tool", "rye/core/create_tool", true),
            ("llo", "a/hello", false),
            ("system", "rye/file-system/read", true),
            // Longer ones as before, and segment by segment.
            ("acme/deplyo", "acme/deploy", true),
            ("amce/", "acme/", true),
            ("zzz/", "acme/", false),
            ("amce/deplyo", "acme/deploy", true),
            ("verify.alterd", "verify.altered", true),
            ("acmegreet", "acme/greet", true),
            ("greets", "rye/bash", false),
        ];
        for (name, known, is_near) in rows {
            let found = near(name, [known].into_iter(), 1);
            assert_eq!(!found.is_empty(), is_near, "{name:?} {known:?}");
        }
    }
}
