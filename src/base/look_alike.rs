//! Names that read as others: letters of other alphabets and other widths in the place of Latin
//! ones.

use unicode_normalization::UnicodeNormalization;

/// Letters of other alphabets that are drawn as Latin ones are.
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

/// How a name reads: in small letters of one width and one alphabet, as far as others are drawn as
/// Latin ones, with one blank between words. Two names that read alike can be taken for each other.
pub(crate) fn reading(name: &str) -> String {
    let small = name.nfkc().collect::<String>().to_lowercase();
    let latin = |c: char| {
        let alike = DRAWN_ALIKE.iter().find(|(_, drawn)| drawn.contains(c));
        alike.map_or(c, |(latin, _)| *latin)
    };
    let words = small.split_whitespace().map(|word| word.chars().map(latin).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a word of a name has Latin letters and others that are drawn as such, or letters of
/// another width or style. A word of one alphabet alone is as it should be.
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
    use super::{imitates_latin, reading};

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
}
