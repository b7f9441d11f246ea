//! Names that read as others: letters of other alphabets and other widths instead of Latin ones.

use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Letters that are drawn as Latin ones are, beside those that Unicode names.
const DRAWN_ALIKE: [(char, &str); 12] = [
    ('a', "аα"),
    ('b', "Ьв"),
    ('c', "сϲ"),
    ('e', "еε"),
    ('i', "іι"),
    ('j', "јϳ"),
    ('k', "кκ"),
    ('o', "оο"),
    ('p', "рρ"),
    ('s', "ѕ"),
    ('x', "хχ"),
    ('y', "уүγ"),
];

/// How a name reads: in small letters of one width and one alphabet, as far as Unicode says that
/// others are drawn as Latin ones, with one blank between words.
pub(crate) fn reading(name: &str) -> String {
    let small = name.nfkc().collect::<String>().to_lowercase();
    let words = small.split_whitespace().map(|word| word.chars().map(latin).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

/// Says if two names can be mistaken for each other: they read alike, or they look alike within
/// one alphabet, as `I`, `l` and `1` do.
pub(crate) fn is_alike(one: &str, other: &str) -> bool {
    let drawn = |name: &str| {
        let latin: String = name.nfkc().map(latin).collect();
        skeleton(&latin).collect::<String>().to_lowercase()
    };
    reading(one) == reading(other) || drawn(one) == drawn(other)
}

/// The Latin letter that a letter of another alphabet is drawn as; any other sign as it is.
fn latin(sign: char) -> char {
    if let Some((latin, _)) = DRAWN_ALIKE.iter().find(|(_, drawn)| drawn.contains(sign)) {
        return *latin;
    }
    if sign.is_ascii() {
        return sign;
    }
    let mut drawn = skeleton(sign.encode_utf8(&mut [0; 4])).collect::<Vec<_>>().into_iter();
    match (drawn.next(), drawn.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => letter.to_ascii_lowercase(),
        _ => sign,
    }
}

/// Returns true if a word of a name has Latin letters and others that are drawn as such, or letters
/// of another width or style. A word of one alphabet alone is as it should be.
pub(crate) fn imitates_latin(name: &str) -> bool {
    let is_odd = |word: &str| {
        let composed: String = word.nfc().collect();
        let compatible: String = word.nfkc().collect();
        let has_latin = compatible.chars().any(|c| c.is_ascii_alphabetic());
        let is_drawn_alike = reading(&compatible) != compatible.to_lowercase();
        has_latin && (composed != compatible || is_drawn_alike)
    };
    name.split_whitespace().any(is_odd)
}

#[cfg(test)]
mod tests {
    use super::{imitates_latin, is_alike, reading};

    #[test]
    fn what_reads_alike_and_what_imitates() {
        for (name, read, imitates) in [
            ("Ann", "ann", false),
            ("  Ann\u{a0} Lee", "ann lee", false),
            ("ｙｏｕ", "you", true),
            ("уоu", "you", true),
            ("𝐚𝐧𝐧", "ann", true),
            ("José", "josé", false),
            ("Jose\u{301}", "josé", false),
            ("Аня", "aня", false),
            ("Рома", "poмa", false),
            ("日本", "日本", false),
            ("Ζoe", "ζoe", false),
        ] {
            assert_eq!((reading(name).as_str(), imitates_latin(name)), (read, imitates), "{name}");
        }
    }

    #[test]
    fn letters_that_are_drawn_alike_are_those_of_unicode() {
        for (name, other) in [
            ("yoυ", "you"),
            ("yoս", "you"),
            ("ʏou", "you"),
            ("alıce", "alice"),
            ("ɑlice", "alice"),
            ("AIice", "Alice"),
            ("a1ice", "alice"),
        ] {
            assert!(is_alike(name, other), "{name} {other}");
            assert!(name.is_ascii() || imitates_latin(name), "{name}");
        }
        assert!(imitates_latin("aӏice"));
        assert!(!is_alike("alice", "alive") && !is_alike("Ann", "Anna"));
    }
}
