//! How many values a text may hold, told before a reader makes any of them.

/// Returns true if the text may hold more than `most` values. Each value but the outermost follows
/// a comma or the opening of a list or an object, so that counting those outside of strings is
/// enough; of a text that is not JSON, this holds for the part that a reader gets through before it
/// finds out.
///
/// A value of two bytes takes a reader some hundred: a text must be counted before any reader that
/// has no such bound of its own sees it.
pub(crate) fn has_more_values(text: &[u8], most: usize) -> bool {
    let (mut values, mut is_string, mut is_escaped) = (1_usize, false, false);
    for byte in text {
        match (byte, is_string) {
            (_, true) if is_escaped => is_escaped = false,
            (b'\\', true) => is_escaped = true,
            (b'"', _) => is_string = !is_string,
            (b',' | b'[' | b'{', false) => values += 1,
            _ => {}
        }
    }
    values > most
}

/// Returns true if a text of TOML or YAML may hold more than `most` values, keys and parts of keys:
/// each needs one of these signs. They are counted in strings and comments too, so a long text
/// counts as some values; one of four MiB that people wrote has a hundred thousand of them.
pub(crate) fn has_more_signs(text: &str, most: usize) -> bool {
    let bytes = text.as_bytes();
    let is_sign = |at: &usize| match bytes[*at] {
        b',' | b'=' | b'[' | b'{' | b'.' | b':' | b'?' | b'\n' => true,
        b'-' => bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace),
        _ => false,
    };
    (0..bytes.len()).filter(is_sign).count() > most
}

#[cfg(test)]
mod tests {
    use super::{has_more_signs, has_more_values};

    #[test]
    fn signs_of_toml_and_yaml_are_counted() {
        let rows = [
            ("", 0),
            ("a = 1\n", 2),
            ("a.b = [1, 2]\n", 5),
            ("- a: {b: 1}\n", 5),
            ("- - a-b\n", 3),
        ];
        for (text, signs) in rows {
            assert!(!has_more_signs(text, signs), "{text}");
            assert!(signs == 0 || has_more_signs(text, signs - 1), "{text}");
        }
    }

    #[test]
    fn no_text_holds_more_values_than_are_counted() {
        // The text, its values, and what is counted.
        let rows = [
            ("1", 1, 1),
            ("[]", 1, 2),
            ("[1]", 2, 2),
            ("[1,2,3]", 4, 4),
            (r#"{"a":1,"b":[2,{}]}"#, 5, 6),
            (r#"["[,{","\",,,\\",1]"#, 4, 4),
            ("[0,0,0,", 4, 5),
        ];
        for (text, values, counted) in rows {
            assert!(has_more_values(text.as_bytes(), values - 1), "{text}");
            assert!(has_more_values(text.as_bytes(), counted - 1), "{text}");
            assert!(!has_more_values(text.as_bytes(), counted), "{text}");
        }
    }
}
