//! How a secret is spelled in what a server sends back: as it is, and in the encodings of HTTP,
//! JSON and HTML.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

/// A part of a secret in base64 that is shorter is not looked for: it would be found by chance.
const BASE64_CHARS: usize = 8;

/// The secret itself, and as base64 at each of its three places, hexadecimal, percent-encoded and
/// escaped for JSON and HTML; the same of what a secret in base64, such as that of `Basic`, stands
/// for, and of the password in that.
pub(super) fn spellings(secret: &str) -> Vec<Zeroizing<String>> {
    let mut all = Vec::new();
    spell(secret, &mut all);
    let decoded = STANDARD.decode(secret).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(decoded) = decoded.map(Zeroizing::new).filter(|text| text.len() >= BASE64_CHARS) {
        spell(&decoded, &mut all);
        if let Some((_, password)) = decoded.split_once(':')
            && password.len() >= BASE64_CHARS
        {
            spell(password, &mut all);
        }
    }
    all
}

fn spell(secret: &str, all: &mut Vec<Zeroizing<String>>) {
    let mut add = |text: String| all.push(Zeroizing::new(text));
    add(secret.to_owned());
    for (of, is_upper) in [(false, true), (false, false), (true, true), (true, false)] {
        add(percent(secret, of, is_upper));
    }
    add(secret.bytes().map(|byte| format!("{byte:02x}")).collect());
    add(secret.bytes().map(|byte| format!("{byte:02X}")).collect());
    add(form(secret));
    for escaped in json(secret) {
        add(escaped);
    }
    for entities in HTML {
        add(html(secret, entities));
    }
    for engine in [STANDARD, URL_SAFE] {
        for skipped in 0..3 {
            let core = base64_core(secret, skipped, &engine);
            if core.len() >= BASE64_CHARS {
                add(core);
            }
        }
    }
}

/// Percent-encoded: every byte, or those that are not unreserved (RFC 3986, 2.3).
fn percent(secret: &str, every: bool, is_upper: bool) -> String {
    let mut out = String::new();
    for byte in secret.bytes() {
        let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_unreserved && !every {
            out.push(char::from(byte));
        } else if is_upper {
            let _ = write!(out, "%{byte:02X}");
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

/// As a field of a form: a blank is `+`.
fn form(secret: &str) -> String {
    percent(secret, false, true).replace("%20", "+").replace("%2A", "*").replace('~', "%7E")
}

/// Inside a string of JSON, as libraries write it.
fn json(secret: &str) -> [String; 3] {
    let quoted = serde_json::to_string(secret).unwrap_or_default();
    let plain = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let plain = plain.unwrap_or_default().to_owned();
    let slashed = plain.replace('/', "\\/");
    // For HTML, and with everything outside ASCII written out.
    let mut careful = String::new();
    for unit in plain.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() && !b"<>&'+=".contains(&byte) => {
                careful.push(char::from(byte));
            }
            _ => {
                let _ = write!(careful, "\\u{unit:04x}");
            }
        }
    }
    [plain, slashed, careful]
}

/// What libraries write for a letter in HTML and XML.
const HTML: [&[(char, &str)]; 9] = [
    // Text of XML and HTML.
    &[('&', "&amp;"), ('<', "&lt;")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")],
    // Attributes as well.
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")],
    // XML.
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&apos;")],
    // JavaScript and Ruby; PHP; Python.
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#039;")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#x27;")],
    // Go, whose templates write `+` as well.
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&#34;"), ('\'', "&#39;")],
    &[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&#34;"),
        ('\'', "&#39;"),
        ('+', "&#43;"),
    ],
];

fn html(secret: &str, entities: &[(char, &str)]) -> String {
    let mut out = String::new();
    for letter in secret.chars() {
        match entities.iter().find(|(of, _)| *of == letter) {
            Some((_, entity)) => out.push_str(entity),
            None => out.push(letter),
        }
    }
    out
}

/// What of the secret's base64 is the same whatever stands around it, if so many bytes before it
/// share its first group.
fn base64_core(secret: &str, before: usize, engine: &impl Engine) -> String {
    let mut bytes = Zeroizing::new(vec![0; before]);
    bytes.extend_from_slice(secret.as_bytes());
    let text = Zeroizing::new(engine.encode(&*bytes));
    // Of a letter that holds bits of another byte nothing is known.
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    text.get(first..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::spellings;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn a_secret_is_found_in_each_usual_encoding_and_at_each_place_of_it_table() {
        let found = |secret: &str, text: &str| {
            spellings(secret).iter().any(|spelling| text.contains(spelling.as_str()))
        };
        let secret = "to/ken+\"value\u{e9}\" <1>";
        for text in [
            secret,
            "to%2Fken%2B%22value%C3%A9%22%20%3C1%3E",
            "to%2fken%2b%22value%c3%a9%22%20%3c1%3e",
            "to%2Fken%2B%22value%C3%A9%22+%3C1%3E",
            "to/ken+\\\"value\u{e9}\\\" <1>",
            "to\\/ken+\\\"value\u{e9}\\\" <1>",
            "to/ken\\u002b\\\"value\\u00e9\\\" \\u003c1\\u003e",
            "746f2f6b656e2b2276616c7565c3a922203c313e",
            "746F2F6B656E2B2276616C7565C3A922203C313E",
            "to/ken+\"value\u{e9}\" &lt;1>",
            "to/ken+&quot;value\u{e9}&quot; &lt;1&gt;",
            "to/ken&#43;&#34;value\u{e9}&#34; &lt;1&gt;",
        ] {
            assert!(found(secret, text), "{text}");
        }
        for text in ["a&amp;b&#39;c&lt;d", "a&amp;b&#039;c&lt;d", "a&amp;b&apos;c&lt;d"] {
            assert!(found("a&b'c<d", text), "{text}");
        }
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "a", "ab"] {
                let text = STANDARD.encode(format!("{before}{secret}{after}"));
                assert!(found(secret, &text), "{text}");
                let safe = text.replace('+', "-").replace('/', "_");
                assert!(found(secret, &safe), "{safe}");
            }
        }
        let basic = STANDARD.encode("me:a long password");
        assert!(found(&basic, "{\"password\": \"a long password\"}"));
        assert!(found(&basic, &format!("Basic {basic}")));
        assert!(!found(secret, "to ken value"), "what is not the secret is not taken for it");
        assert!(spellings("abc").iter().all(|spelling| !spelling.is_empty()));
    }
}
