//! Splits a text into words, in the form in which they are compared.

/// Longest word that is told from others, in bytes: what is longer is no word.
const SEARCH_WORD_BYTES: usize = 64;

/// Calls `each` with the words of `text`, in lower case. A word is a run of letters and digits; a
/// capital behind a small letter begins a new one. A character of a script without spaces is a word
/// by itself.
pub(super) fn each_word(text: &str, each: &mut dyn FnMut(&str)) {
    let mut word = String::with_capacity(SEARCH_WORD_BYTES);
    let mut was_small = false;
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            each(word);
            word.clear();
        }
    };
    for c in text.chars() {
        if stands_alone(c) {
            end(&mut word);
            word.push(c);
            end(&mut word);
            was_small = false;
        } else if c.is_alphanumeric() {
            if was_small && c.is_uppercase() {
                end(&mut word);
            }
            was_small = c.is_lowercase() || c.is_numeric();
            // Of a run that is longer than any word, the beginning counts.
            if word.len() < SEARCH_WORD_BYTES {
                match c.is_ascii() {
                    true => word.push(c.to_ascii_lowercase()),
                    false => word.extend(c.to_lowercase()),
                }
            }
        } else {
            end(&mut word);
            was_small = false;
        }
    }
    end(&mut word);
}

/// The words of a text, as a list.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_word(text, &mut |word| words.push(word.to_owned()));
    words
}

/// Returns true if a character is a kana or an ideograph.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The letters and digits of a word, a bit each; all other characters share the bits that are left.
pub(super) fn letters(word: &str) -> u64 {
    word.chars().fold(0, |bits, c| {
        bits | 1
            << match c {
                'a'..='z' => u32::from(c) - u32::from('a'),
                '0'..='9' => 26 + u32::from(c) - u32::from('0'),
                other => 36 + u32::from(other) % 28,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_table() {
        let rows: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("Deploys the site.", &["deploys", "the", "site"]),
            ("acme/deploy-it_now", &["acme", "deploy", "it", "now"]),
            ("deployToProd", &["deploy", "to", "prod"]),
            ("HTTPServer v2Beta", &["httpserver", "v2", "beta"]),
            ("Straße ÉCOLE", &["straße", "école"]),
            ("部署 server", &["部", "署", "server"]),
            ("\u{202e}a\u{200b}b", &["a", "b"]),
            ("--- !!", &[]),
        ];
        for (text, want) in rows {
            assert_eq!(words(text), want, "{text:?}");
        }
        assert!(words(&"a".repeat(1 << 20))[0].len() <= 64);
    }
}
