//! Bytes to text, as browsers do it: a byte order mark, then what the server says, then what the
//! page says itself, else UTF-8. No byte is an error: what is no letter becomes `U+FFFD`.

use encoding_rs::{Encoding, UTF_8};

use super::fetch::Form;

/// How far a page is looked through for its own word (HTML standard, "prescan a byte stream").
const PRESCAN_BYTES: usize = 1_024;

/// The text of an answer. `named` is the server's word for its letters.
pub(super) fn decode(bytes: &[u8], named: Option<&str>, form: Form) -> String {
    let by_server = || Encoding::for_label(named?.as_bytes());
    let by_page = || match form {
        Form::Html | Form::Xml => of_page(bytes),
        Form::Markdown | Form::Text => None,
    };
    let (encoding, mark) = match Encoding::for_bom(bytes) {
        Some(found) => found,
        None => (by_server().or_else(by_page).unwrap_or(UTF_8), 0),
    };
    encoding.decode_without_bom_handling(&bytes[mark..]).0.into_owned()
}

/// `charset=` of a `meta`, or `encoding=` of an XML declaration.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let begin = &bytes[..bytes.len().min(PRESCAN_BYTES)];
    let text = String::from_utf8_lossy(begin).to_ascii_lowercase();
    let declaration =
        text.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split("?>").next());
    let metas = text.match_indices("<meta").map(|(at, _)| &text[at..]);
    let metas = metas.filter_map(|tag| tag.split('>').next());
    let label = declaration
        .and_then(|tag| value(tag, "encoding"))
        .or_else(|| metas.into_iter().find_map(|tag| value(tag, "charset")))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // Where this could be read, it was not in two bytes a letter.
    Some(encoding.output_encoding())
}

/// The value behind `name=` in a tag.
fn value<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let rest = tag
        .match_indices(name)
        .find_map(|(at, _)| tag[at + name.len()..].trim_start().strip_prefix('='))?;
    let rest = rest.trim_start().trim_start_matches(['"', '\'']);
    let is_end = |c: char| c.is_whitespace() || "\"';/>?".contains(c);
    rest.split(is_end).next().filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Form, decode};

    #[test]
    fn letters_are_read_as_browsers_read_them_table() {
        let html = Form::Html;
        let sjis = b"<meta charset=shift_jis>\x83\x65\x83\x58\x83\x67";
        let latin = b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=ISO-8859-1'>\xe9";
        let late = [&b" ".repeat(2_000)[..], b"<meta charset=windows-1251>\xcf"].concat();
        for (bytes, named, form, want) in [
            (&b"caf\xc3\xa9"[..], None, html, "café"),
            (b"caf\xc3\xa9", Some("utf-8"), html, "café"),
            (b"caf\xe9", None, html, "caf\u{fffd}"),
            (b"caf\xe9", Some("iso-8859-1"), html, "café"),
            (b"caf\xe9", Some("Windows-1252"), html, "café"),
            (b"\x93quoted\x94", Some("latin1"), html, "\u{201c}quoted\u{201d}"),
            (b"caf\xc3\xa9", Some("no such letters"), html, "café"),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", Some("windows-1251"), html, "Привет"),
            (b"\xa4\xa2", Some("euc-jp"), html, "あ"),
            (b"\xc4\xe3\xba\xc3", Some("gb2312"), html, "你好"),
            (sjis, None, html, "<meta charset=shift_jis>テスト"),
            (
                latin,
                None,
                html,
                "<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=ISO-8859-1'>é",
            ),
            (
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                None,
                Form::Xml,
                "<?xml version='1.0' encoding='koi8-r'?>П",
            ),
            // A text is not looked through, and the server's word stands before the page's.
            (b"<meta charset=koi8-r>\xc3\xa9", None, Form::Text, "<meta charset=koi8-r>é"),
            (b"<meta charset=koi8-r>\xc3\xa9", Some("utf-8"), html, "<meta charset=koi8-r>é"),
            (b"<meta charset=utf-16>\xc3\xa9", None, html, "<meta charset=utf-16>é"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", Some("iso-8859-1"), html, "café"),
            (b"\xff\xfec\0a\0f\0\xe9\0", Some("utf-8"), html, "café"),
            (b"\xfe\xff\0c\0a", None, html, "ca"),
            (b"\xff\xfe\0", None, html, "\u{fffd}"),
            (b"", Some("utf-16"), html, ""),
            (b"a\0b", None, Form::Text, "a\0b"),
            (b"<meta charset=>x", None, html, "<meta charset=>x"),
            (b"<meta charset", None, html, "<meta charset"),
        ] {
            assert_eq!(decode(bytes, named, form), want, "{bytes:?} {named:?}");
        }
        let got = decode(&late, None, html);
        assert!(got.ends_with('\u{fffd}'), "what stands later than browsers look is not seen");
        for label in ["iso-2022-kr", "utf-7", "x-user-defined", "replacement", "\0", "utf-16le"] {
            let all: Vec<u8> = (0..=255).collect();
            let _ = decode(&all, Some(label), html);
        }
    }
}
