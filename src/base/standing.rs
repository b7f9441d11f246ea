//! Which of some values stand in a text.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

use super::json_spelling::without_escapes;
use super::mask::{JSON_LEVELS, parts};

/// The values and lines of values that occur in a text, also where the text is JSON that spells
/// them with escapes: the least that must be known to mask them there.
pub(crate) fn standing<'v>(values: impl Iterator<Item = &'v str>, text: &str) -> Vec<String> {
    let parts: Vec<&str> = values.flat_map(parts).collect();
    let Ok(found) = AhoCorasick::new(&parts) else {
        return parts.into_iter().map(str::to_owned).collect();
    };
    let (mut standing, mut plain) = (BTreeSet::new(), text.to_owned());
    for _ in 0..=JSON_LEVELS {
        let met = found.find_overlapping_iter(&plain).map(|met| parts[met.pattern().as_usize()]);
        standing.extend(met.map(str::to_owned));
        let undone = without_escapes(&plain);
        if undone == plain {
            break;
        }
        plain = undone;
    }
    standing.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::standing;

    #[test]
    fn what_of_values_stands_in_a_text_is_what_is_needed_to_mask_it_table() {
        let lines = "ab\nfirst long line\nsecond long line";
        let values = ["token-0123", lines, "a\"quote", ""];
        let rows: [(&str, &[&str]); 7] = [
            ("{}", &[]),
            (r#"["is token-0123"]"#, &["token-0123"]),
            (r#"["token-012", "ab"]"#, &[]),
            (r#"["ab second long line"]"#, &["second long line"]),
            (r#"["a\"quote"]"#, &["a\"quote"]),
            (r#"["{\"is\": \"a\\\"quote\"}"]"#, &["a\"quote"]),
            (
                r#"["{\"k\":\"ab\\nfirst long line\\nsecond long line\"}"]"#,
                &[lines, "first long line", "second long line"],
            ),
        ];
        for (text, want) in rows {
            assert_eq!(standing(values.into_iter(), text), want, "{text}");
        }
    }
}
