//! How a secret is spelled in what a server sends back: as it is, in JSON, in URLs and in base64.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

use crate::base::spellings as json_spellings;

/// A part of a secret in base64 that is shorter is not looked for: it would be found by chance.
const BASE64_CHARS: usize = 8;

/// The secret itself, and as JSON, percent-encoded, and as base64 at each of its three places.
pub(super) fn spellings(secret: &str) -> Vec<Zeroizing<String>> {
    let mut all: Vec<_> = json_spellings(secret).into_iter().map(Zeroizing::new).collect();
    // Some libraries escape these in JSON as well: those of Go and Ruby, and of .NET.
    all.extend(all.clone().iter().map(|one| Zeroizing::new(one.replace('/', "\\/"))));
    all.extend(all.clone().iter().map(|one| escaped(one, "<>&", false)));
    all.push(escaped(secret, "<>&'\"+`", true));
    all.extend([true, false].map(|is_upper| percent(secret, is_upper)));
    let places = (0..3).flat_map(|before| {
        [base64_core(secret, before, &STANDARD), base64_core(secret, before, &URL_SAFE)]
    });
    all.extend(places.filter(|core| core.len() >= BASE64_CHARS));
    all
}

/// These signs as JSON may spell any: by their numbers.
fn escaped(secret: &str, signs: &str, is_upper: bool) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for sign in secret.chars() {
        let _ = match (signs.contains(sign), is_upper) {
            (false, _) => write!(out, "{sign}"),
            (true, true) => write!(out, "\\u{:04X}", u32::from(sign)),
            (true, false) => write!(out, "\\u{:04x}", u32::from(sign)),
        };
    }
    out
}

/// Percent-encoded where a byte is not unreserved (RFC 3986, 2.3).
fn percent(secret: &str, is_upper: bool) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::new());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else if is_upper {
            let _ = write!(out, "%{byte:02X}");
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

/// The part of the secret's base64 that is the same whatever stands around it, if so many bytes
/// before it share its first group.
fn base64_core(secret: &str, before: usize, engine: &impl Engine) -> Zeroizing<String> {
    let mut bytes = Zeroizing::new(vec![0; before]);
    bytes.extend_from_slice(secret.as_bytes());
    let text = Zeroizing::new(engine.encode(&*bytes));
    // Of a letter that holds bits of another byte nothing is known.
    let (first, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    Zeroizing::new(text[first.min(end)..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::spellings;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn a_secret_is_found_in_json_in_urls_and_at_each_place_of_base64_table() {
        let found = |secret: &str, text: &str| {
            spellings(secret).iter().any(|spelling| text.contains(spelling.as_str()))
        };
        let secret = "to/ken+\"value\u{e9}\" <1>";
        for text in [
            secret,
            "to%2Fken%2B%22value%C3%A9%22%20%3C1%3E",
            "to%2fken%2b%22value%c3%a9%22%20%3c1%3e",
            "to/ken+\\\"value\u{e9}\\\" <1>",
            "to\\/ken+\\\"value\u{e9}\\\" <1>",
            "to/ken+\\\"value\\u00e9\\\" <1>",
            "to/ken+\\\"value\u{e9}\\\" \\u003c1\\u003e",
            "to/ken\\u002B\\u0022value\u{e9}\\u0022 \\u003C1\\u003E",
        ] {
            assert!(found(secret, text), "{text}");
        }
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "a", "ab"] {
                let text = STANDARD.encode(format!("{before}{secret}{after}"));
                assert!(found(secret, &text), "{text}");
                let safe = text.replace('+', "-").replace('/', "_");
                assert!(found(secret, &safe), "{safe}");
            }
        }
        assert!(!found(secret, "to ken value"), "what is not the secret is not taken for it");
        assert!(spellings("abc").iter().all(|spelling| spelling.as_str() == "abc"));
    }
}
