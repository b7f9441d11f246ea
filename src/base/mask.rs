//! Texts and streams without the values that stand in them: every byte of every occurrence of each
//! is replaced by `***`. Another spelling of a value, such as base64, is another value.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Deref;

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use serde_json::Value;

use super::json_spelling::{spellings, without_escapes};

/// The text that stands for a secret.
const MASK: &[u8] = b"***";
/// A line of a secret of many lines is masked alone from this length on, in bytes: logs break
/// texts.
const LINE: usize = 8;
/// The number of bytes held back of a stream is a multiple of this one.
#[cfg(any(feature = "http", test))]
const LAG: usize = 1 << 10;

/// JSON may stand in a string of JSON, and so on; so many levels are looked through.
pub(super) const JSON_LEVELS: usize = 4;

/// The value, and each of its lines that is long enough to be masked alone.
pub(super) fn parts(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE);
    std::iter::once(value.trim()).chain(lines).filter(|part| !part.is_empty())
}

/// The values to be masked. Has no `Debug`.
#[derive(Default)]
pub(crate) struct Mask {
    secrets: Vec<Vec<u8>>,
    /// All of them at once: a text is read once, however many lines a secret has. `None` without a
    /// secret, or with more than it can hold.
    found: Option<NFA>,
}

impl Mask {
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<Vec<u8>> = secrets
            .flat_map(|value| {
                // Its lines stand in its spellings, and would be masked alone there.
                let is_of_lines = value.trim().contains('\n');
                let spelled = if is_of_lines { spellings(value.trim()) } else { BTreeSet::new() };
                let parts = parts(value).map(|part| part.as_bytes().to_vec());
                parts.chain(spelled.into_iter().map(String::into_bytes)).collect::<Vec<_>>()
            })
            .collect();
        secrets.sort();
        secrets.dedup();
        let found = if secrets.is_empty() { None } else { NFA::new(&secrets).ok() };
        Self { secrets, found }
    }

    /// Returns true if there is no secret to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The value without the secrets in its strings, keys and numbers; a string may hold JSON.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.words(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let members = map.into_iter();
                Value::Object(members.map(|(k, v)| (self.words(&k), self.value(v))).collect())
            }
            Value::Number(number) => {
                let text = number.to_string();
                let masked = self.text(&text);
                if masked == text { Value::Number(number) } else { masked.into() }
            }
            other => other,
        }
    }

    /// The text without the secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes(), false)).into_owned()
    }

    /// The text without the secrets, also where it holds JSON that spells one of them with escapes.
    /// A text that is JSON as a whole stays JSON; in another one with such a secret the escapes are
    /// undone.
    pub(crate) fn words(&self, text: &str) -> String {
        let mut shown = self.text(text);
        if self.is_empty() || !shown.contains('\\') {
            return shown;
        }
        let read = serde_json::from_str(&shown).ok();
        let read = read.filter(|read: &Value| read.is_object() || read.is_array());
        if let Some(read) = read {
            let masked = self.value(read.clone());
            if masked != read {
                return masked.to_string();
            }
        }
        let mut plain = shown.clone();
        for _ in 0..JSON_LEVELS {
            if !plain.contains('\\') {
                break;
            }
            let undone = without_escapes(&plain);
            plain = self.text(&undone);
            if plain != undone {
                shown.clone_from(&plain);
            }
        }
        shown
    }

    /// The bytes without the secrets, every byte of every occurrence; of bytes that were `cut` the
    /// end may be part of one.
    pub(crate) fn bytes(&self, bytes: &[u8], cut: bool) -> Vec<u8> {
        self.after(bytes, 0, cut)
    }

    /// How many bytes before others may be part of a secret that reaches into those.
    pub(crate) fn reach(&self) -> usize {
        self.secrets.iter().map(Vec::len).max().unwrap_or(1) - 1
    }

    /// As [`Self::bytes`], but from this place on: the bytes before it are known and are not shown.
    pub(crate) fn after(&self, bytes: &[u8], from: usize, cut: bool) -> Vec<u8> {
        if self.secrets.is_empty() {
            return bytes[from..].to_vec();
        }
        // What cannot be looked through is not shown.
        let Some(mut masked) = self.masked(bytes, from) else { return MASK.to_vec() };
        if cut {
            masked.cover(bytes.len() - self.begun(bytes), bytes.len());
        }
        masked.end(bytes.len()).0
    }

    /// How many of the last bytes of a text are the beginning of a secret, and not all of it.
    fn begun(&self, bytes: &[u8]) -> usize {
        self.secrets.iter().map(|secret| begun(secret, bytes)).max().unwrap_or(0)
    }

    /// The text from this place on with every occurrence found; `None` where it cannot be looked
    /// through.
    fn masked<'b>(&self, bytes: &'b [u8], from: usize) -> Option<Masked<'b>> {
        let nfa = self.found.as_ref()?;
        let mut state = nfa.start_state(ANYWHERE).ok()?;
        let reach = self.reach() + 1;
        let mut masked = Masked {
            bytes,
            out: Vec::with_capacity(bytes.len() - from),
            done: from,
            reach,
            open: VecDeque::new(),
        };
        // Of those that end at one place the longest holds the others.
        let mut longest = HashMap::new();
        for (at, byte) in bytes.iter().enumerate() {
            state = nfa.next_state(ANYWHERE, state, *byte);
            if nfa.is_match(state) {
                let length = *longest.entry(state).or_insert_with(|| {
                    let ending = (0..nfa.match_len(state)).map(|i| nfa.match_pattern(state, i));
                    ending.map(|secret| nfa.pattern_len(secret)).max().unwrap_or(0)
                });
                masked.cover(at + 1 - length, at + 1);
            }
        }
        Some(masked)
    }
}

/// The mask of a stream that comes in pieces: what may be the beginning of a secret is held back
/// until the next piece shows if it is one. So the pieces tell what begins like a secret; where
/// the reader also chooses the text, a stream has to be [lagging](Self::lagging).
pub(crate) struct StreamMask<M> {
    mask: M,
    held: Vec<u8>,
    /// So many bytes of what is held back belong to an occurrence that was masked already.
    covered: usize,
    is_over: bool,
    /// So many of the last bytes are held back, whatever they are.
    lag: Option<usize>,
}

impl<M: Deref<Target = Mask>> StreamMask<M> {
    pub(crate) fn new(mask: M) -> Self {
        Self { mask, held: Vec::new(), covered: 0, is_over: false, lag: None }
    }

    /// Makes the mask of a stream whose text may be chosen by its reader, to find a secret out by
    /// what is held back. Its pieces depend on the pieces that came, on the ends of lines and on
    /// whole secrets, and never on what begins like one.
    #[cfg(any(test, feature = "http"))]
    pub(crate) fn lagging(mask: M) -> Self {
        // Rounded up, so that it does not tell how long the longest secret is.
        let lag = mask.reach().next_multiple_of(LAG);
        Self { lag: Some(lag), ..Self::new(mask) }
    }

    /// Returns what may be shown now that this piece came. Of a lagging stream each byte is looked
    /// at three times at the most, however small the pieces are.
    pub(crate) fn next(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.mask.secrets.is_empty() {
            return piece.to_vec();
        }
        let came = self.held.len();
        self.held.extend_from_slice(piece);
        let until = match self.lag {
            None => self.held.len() - self.mask.begun(&self.held),
            Some(lag) => {
                // No secret reaches over the end of a line, unless one has such an end in it.
                let is_of_lines = !self.mask.secrets.iter().any(|one| one.contains(&b'\n'));
                let end = piece.iter().rposition(|byte| *byte == b'\n').filter(|_| is_of_lines);
                let whole_lines = end.map_or(0, |at| came + at + 1);
                let is_much = self.held.len() - whole_lines >= 2 * lag;
                if is_much { self.held.len() - lag } else { whole_lines }
            }
        };
        if until == 0 { Vec::new() } else { self.shown(until) }
    }

    /// The rest, at the end of the stream; where that was `cut`, it may be part of a secret. What
    /// a lagging stream holds back then is never shown.
    pub(crate) fn end(&mut self, cut: bool) -> Vec<u8> {
        let held = self.held.len();
        let (begun, is_told) = match self.lag {
            _ if !cut => (0, false),
            None => (self.mask.begun(&self.held), true),
            Some(lag) => (lag.min(held), false),
        };
        let mut rest = self.shown(held - begun);
        if is_told && begun > 0 && !rest.ends_with(MASK) {
            rest.extend_from_slice(MASK);
        }
        rest
    }

    fn shown(&mut self, until: usize) -> Vec<u8> {
        let Some(masked) = self.mask.masked(&self.held, self.covered) else {
            self.held.clear();
            let is_first = !std::mem::replace(&mut self.is_over, true);
            return if is_first && until > 0 { MASK.to_vec() } else { Vec::new() };
        };
        let (shown, done) = masked.end(until);
        self.held.drain(..until);
        self.covered = done - until;
        shown
    }
}

const ANYWHERE: Anchored = Anchored::No;

/// A text while it is being masked.
struct Masked<'b> {
    bytes: &'b [u8],
    out: Vec<u8>,
    /// Up to where the text is in `out`, or is not to be shown.
    done: usize,
    /// No occurrence is longer.
    reach: usize,
    /// Ranges to be masked, in order and apart, into which a later occurrence may still reach.
    open: VecDeque<(usize, usize)>,
}

impl Masked<'_> {
    /// Masks a range as well; ranges come by their ends. Those that share a byte become one.
    fn cover(&mut self, mut from: usize, to: usize) {
        if from == to {
            return;
        }
        while let Some((start, _)) = self.open.pop_back_if(|(_, end)| *end > from) {
            from = from.min(start);
        }
        self.open.push_back((from, to));
        while let Some((start, end)) = self.open.pop_front_if(|(_, end)| *end + self.reach <= to) {
            self.write(start, end);
        }
    }

    fn write(&mut self, start: usize, end: usize) {
        if end <= self.done {
            return;
        }
        self.out.extend(&self.bytes[self.done..start.max(self.done)]);
        self.out.extend(MASK);
        self.done = end;
    }

    /// The text up to this place, and up to where it was judged: an occurrence may reach further.
    fn end(mut self, until: usize) -> (Vec<u8>, usize) {
        for (start, end) in std::mem::take(&mut self.open) {
            if start < until {
                self.write(start, end);
            }
        }
        if self.done < until {
            self.out.extend(&self.bytes[self.done..until]);
            self.done = until;
        }
        (self.out, self.done)
    }
}

/// How many of the last bytes of a text are the beginning of a secret, and not all of it.
pub(crate) fn begun(secret: &[u8], bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len() - bytes.len().min(secret.len() - 1)..];
    // The length of the longest beginning that ends at each place, first of the secret itself.
    let mut borders = vec![0; secret.len()];
    let next = |borders: &[usize], mut length: usize, byte: u8| {
        while length > 0 && secret[length] != byte {
            length = borders[length - 1];
        }
        length + usize::from(secret[length] == byte)
    };
    for at in 1..secret.len() {
        borders[at] = next(&borders, borders[at - 1], secret[at]);
    }
    tail.iter().fold(0, |length, byte| next(&borders, length, *byte))
}

#[cfg(test)]
mod tests {
    use super::{LAG, Mask, StreamMask};
    use serde_json::Value;
    use std::time::{Duration, Instant};

    #[test]
    fn masked_table() {
        let mask = |secrets: &[&str], text: &str| Mask::new(secrets.iter().copied()).text(text);
        let rows: &[(&[&str], &str, &str)] = &[
            (&[], "abc", "abc"),
            (&["abc"], "xabcx abcabc", "x***x ******"),
            (&["abc", "abcdef"], "abcdef abc", "*** ***"),
            (&["abc\n"], "abc.", "***."),
            (&["", " "], "a b", "a b"),
            (&["x"], "xyx", "***y***"),
            (&["first line\nsecond line"], "> first line\n> second line", "> ***\n> ***"),
            (&["first line\nsecond line"], "first line\nsecond line", "***"),
            (&["ab"], "a b", "a b"),
            (&["h\u{e9}"], "h\u{e9}!", "***!"),
        ];
        for (secrets, text, want) in rows {
            assert_eq!(mask(secrets, text), *want, "{secrets:?} {text:?}");
        }
    }

    #[test]
    fn in_words_a_secret_is_found_however_json_spells_it_and_at_any_level_table() {
        let mask = Mask::new(["key-\"\u{e9}\\"].into_iter());
        let value = Value::from("is key-\"\u{e9}\\, all");
        let once = value.to_string();
        let twice = Value::from(&*once).to_string();
        for text in [&*once, &*twice, r#"{"x":"is key\u002d\u0022\u00E9\\"#] {
            let shown = mask.words(text);
            assert!(shown.contains("is ***") && !shown.contains("key"), "{text}: {shown}");
        }
        let held = Value::from(vec![twice]);
        assert!(!mask.value(held).to_string().contains("key"));
        let others = r#"{"a":"b\n\u0041"}"#;
        assert_eq!(mask.words(others), others, "without a secret it is as it was");
        let mask = Mask::new(["token-0123", "first long line\nab\nsecond long line"].into_iter());
        let arguments = r#"{"key":"\u0074oken-0123","q":"a \"b\""}"#;
        assert_eq!(mask.words(arguments), r#"{"key":"***","q":"a \"b\""}"#, "JSON stays JSON");
        let lines = r#"{"k":"first long line\nab\nsecond long line"}"#;
        assert_eq!(mask.words(lines), r#"{"k":"***"}"#);
    }

    #[test]
    fn of_what_was_cut_the_end_tells_no_part_of_a_secret() {
        let mask = Mask::new(["token-0123"].into_iter());
        for end in 1..10 {
            let text = format!("is {}", &"token-0123"[..end]);
            assert_eq!(mask.bytes(text.as_bytes(), true), b"is ***", "{text}");
            assert_eq!(mask.bytes(text.as_bytes(), false), text.as_bytes());
        }
        assert_eq!(mask.bytes(b"is not", true), b"is no***", "a first letter is one too");
    }

    #[test]
    fn after_a_place_the_rest_of_a_secret_that_began_before_it_is_masked() {
        let mask = Mask::new(["token-0123", "01234"].into_iter());
        let text = b"is token-01234, token-0123";
        for (from, want) in [(0, "is ***, ***"), (2, " ***, ***"), (3, "***, ***"), (4, "***, ***")]
        {
            assert_eq!(mask.after(text, from, false), want.as_bytes(), "{from}");
        }
        assert_eq!(mask.after(text, 13, false), b"***, ***");
        assert_eq!(mask.after(text, 14, false), b", ***");
        assert_eq!(mask.after(text, text.len(), false), b"");
        assert_eq!((mask.reach(), Mask::new(std::iter::empty()).reach()), (9, 0));
    }

    /// The same, each place of the text by itself.
    fn slowly(secrets: &[&str], text: &str, cut: bool) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for start in 0..text.len() {
            let rest = &text[start..];
            let at = secrets.iter().filter(|secret| rest.starts_with(**secret));
            ranges.extend(at.map(|secret| (start, start + secret.len())));
            if cut && secrets.iter().any(|secret| secret.starts_with(rest)) {
                ranges.push((start, text.len()));
            }
        }
        let (mut out, mut done, mut at) = (String::new(), 0, 0);
        while let Some((start, mut end)) = ranges.get(at).copied() {
            while let Some((_, to)) =
                ranges.get(at).filter(|(from, _)| *from < end || *from == start)
            {
                (end, at) = (end.max(*to), at + 1);
            }
            out = out + &text[done..start] + "***";
            done = end;
        }
        out + &text[done..]
    }

    #[test]
    fn every_byte_of_every_occurrence_is_masked_also_where_they_overlap() {
        let mask = |secrets: &[&str], text: &str| Mask::new(secrets.iter().copied()).text(text);
        assert_eq!(mask(&["abc", "cde"], "xabcdex"), "x***x");
        assert_eq!(mask(&["aba"], "xababax"), "x***x");
        assert_eq!(mask(&["b", "abc", "cd"], "abcd"), "***");
        let mut dice: u32 = 7;
        let mut word = |most: u32| -> String {
            let mut next = || {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                dice >> 16
            };
            (0..=next() % most).map(|_| if next() % 2 == 0 { 'a' } else { 'b' }).collect()
        };
        for _ in 0..2_000 {
            let secrets = [word(3), word(5), word(6)];
            let (secrets, text) = (secrets.each_ref().map(String::as_str), word(24));
            let mask = Mask::new(secrets.into_iter());
            for cut in [false, true] {
                let got = String::from_utf8(mask.bytes(text.as_bytes(), cut)).unwrap();
                assert_eq!(got, slowly(&secrets, &text, cut), "{secrets:?} {text} {cut}");
            }
        }
    }

    #[test]
    fn a_stream_in_pieces_of_any_size_shows_no_byte_of_a_secret_and_all_else() {
        let plain = |text: Vec<u8>| String::from_utf8(text).unwrap().replace("***", "*");
        let squeezed = |text: String| {
            text.split('*').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("*")
        };
        let texts = ["xtokenx", "tok", "tokentoken", "toktoken", "a token-b tokn", "abcdexab"];
        for secrets in [&["token"][..], &["abc", "cde"], &["aa"], &["tok", "token-b"], &[]] {
            let mask = Mask::new(secrets.iter().copied());
            for text in texts.iter().map(|t| (*t).to_owned()).chain(["a".repeat(9)]) {
                let whole = squeezed(plain(mask.bytes(text.as_bytes(), false)));
                for size in 1..=text.len() {
                    let mut stream = StreamMask::new(&mask);
                    let mut shown = Vec::new();
                    for piece in text.as_bytes().chunks(size) {
                        shown.extend(stream.next(piece));
                    }
                    shown.extend(stream.end(false));
                    assert_eq!(squeezed(plain(shown)), whole, "{secrets:?} {text} {size}");
                }
            }
        }
        let mask = Mask::new(["token-0123"].into_iter());
        let mut stream = StreamMask::new(&mask);
        assert_eq!(stream.next(b"a line\nis tok"), b"a line\nis ", "a beginning is held back");
        assert_eq!(stream.next(b"en-"), b"");
        assert_eq!(stream.next(b"0123!"), b"***!", "and masked with the rest");
        assert_eq!(stream.next(b"tok"), b"");
        assert_eq!(stream.end(true), b"***", "where it was cut off");
    }

    #[test]
    fn what_a_lagging_stream_shows_is_the_same_whether_or_not_the_text_begins_like_a_secret() {
        let secret = "token-0123456789-abcdef";
        let mask = Mask::new([secret, "b2tlbi0wMTIzNDU2Nzg5LWFi"].into_iter());
        let lengths = |text: &str, size: usize, cut: bool| -> Vec<usize> {
            let mut stream = StreamMask::lagging(&mask);
            let mut all = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                all.push(stream.next(piece).len());
            }
            all.push(stream.end(cut).len());
            all
        };
        // A text that holds the whole secret is told from others: this fixture can tell.
        let with = |guess: &str, tail: &str| format!("{}\nis {guess}{tail}", "x".repeat(3 * LAG));
        let other = |length: usize| "~".repeat(length);
        assert_ne!(lengths(&with(secret, ""), 7, false), lengths(&with(&other(23), ""), 7, false));
        for length in 1..secret.len() {
            for tail in [String::new(), "\n".into(), "!".into(), "!".repeat(2 * LAG)] {
                for size in [1, 7, LAG, 8 * LAG] {
                    for cut in [false, true] {
                        assert_eq!(
                            lengths(&with(&secret[..length], &tail), size, cut),
                            lengths(&with(&other(length), &tail), size, cut),
                            "{length} {tail:.3} {size} {cut}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_lagging_stream_shows_whole_lines_at_once_and_of_what_was_cut_no_tail() {
        let mask = Mask::new(["token-0123"].into_iter());
        let mut stream = StreamMask::lagging(&mask);
        assert_eq!(stream.next(b"data: 1\n\nis token-"), b"data: 1\n\n");
        assert_eq!(stream.next(b"01"), b"");
        assert_eq!(stream.next(b"23!\n"), b"is ***!\n");
        assert_eq!(stream.next(b"is tok"), b"");
        assert_eq!(stream.end(true), b"", "nothing stands for a mere beginning");
        let mut stream = StreamMask::lagging(&mask);
        assert_eq!(stream.next(b"is tok"), b"");
        assert_eq!(stream.end(false), b"is tok");
        // Not where a secret has more lines than one.
        let mask = Mask::new(["ab\ncd"].into_iter());
        let mut stream = StreamMask::lagging(&mask);
        assert_eq!(stream.next(b"ab\n"), b"");
        assert_eq!(stream.next(b"cd\n"), b"");
        assert_eq!(stream.end(false), b"***\n");
        let none = Mask::new(std::iter::empty());
        assert_eq!(StreamMask::lagging(&none).next(b"tok"), b"tok");
    }

    #[test]
    fn a_lagging_stream_in_pieces_of_any_size_shows_no_byte_of_a_secret_and_all_else() {
        let squeezed = |text: Vec<u8>| {
            let text = String::from_utf8(text).unwrap().replace("***", "*");
            text.split('*').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("*")
        };
        let filler = "abb\n".repeat(LAG) + &"ab".repeat(3 * LAG);
        for secrets in [&["token"][..], &["token", "enab"], &["aba"], &["bb\nab", "tok"]] {
            let mask = Mask::new(secrets.iter().copied());
            for text in ["token", "toktoken\n", "tokenab"] {
                let text = format!("{text}{filler}{text}{}{text}", "-".repeat(LAG - 3));
                let whole = squeezed(mask.bytes(text.as_bytes(), false));
                for size in [1, 2, 3, LAG - 1, LAG, LAG + 1, text.len()] {
                    let mut stream = StreamMask::lagging(&mask);
                    let mut shown = Vec::new();
                    for piece in text.as_bytes().chunks(size) {
                        shown.extend(stream.next(piece));
                    }
                    shown.extend(stream.end(false));
                    assert!(squeezed(shown) == whole, "{secrets:?} {text:.9} {size}");
                }
            }
        }
    }

    #[test]
    fn small_pieces_of_a_lagging_stream_are_looked_through_together() {
        let secret = "s".repeat(8 << 10);
        let mask = Mask::new([secret.as_str()].into_iter());
        let mut stream = StreamMask::lagging(&mask);
        let shown: Vec<usize> = (0..40_000).map(|_| stream.next(b"s").len()).collect();
        // Whenever something is looked through, at least half of it is done with.
        let looks = shown.iter().filter(|length| **length > 0).count();
        assert!((1..=40_000 / secret.len()).contains(&looks), "{looks}");
    }

    #[test]
    fn a_secret_of_many_lines_costs_no_more_than_one_of_one() {
        let secret: String = (0..2_000).map(|at| format!("{}{at}\n", "x".repeat(40))).collect();
        let mut text = "x".repeat(8 << 20).into_bytes();
        text.extend(b"1999");
        let began = Instant::now();
        let masked = Mask::new([secret.as_str()].into_iter()).bytes(&text, false);
        assert!(masked.ends_with(b"xxx***") && masked.len() == (8 << 20) - 40 + 3);
        // Each place with each line by itself takes many minutes.
        assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    }
}
