//! The grammar, row by row.

use super::{Scan, SigFault, TAKEN_OUT, place, print, scan, statement, without_signatures};
use crate::base::Digest;
use crate::space::Comment;

fn hash() -> Comment {
    Comment { open: "# ".into(), close: String::new() }
}

fn line() -> String {
    let key = "00112233445566778899aabbccddeeff".parse().unwrap();
    let at = "2026-11-20T01:02:03Z".parse().unwrap();
    let text = statement(&"tool:acme/x".parse().unwrap(), "py", at, Digest::of(b"x\n"), key);
    print(&hash(), &text, &[7; 64])
}

fn why(text: &str) -> Result<bool, SigFault> {
    scan(text.as_bytes(), &hash()).map(|s| s != Scan::None)
}

#[test]
fn the_line_as_specified_is_read_back() {
    let text = format!("{}x\n", line());
    let Scan::Line { line: found, range } = scan(text.as_bytes(), &hash()).unwrap() else {
        panic!("no line")
    };
    assert_eq!(range, 0..line().len());
    assert_eq!(print(&hash(), &found.statement, &found.sig), line());
    let again = statement(&found.item, &found.ext, found.at, found.sha256, found.key);
    assert_eq!(found.statement, again);
    assert!(
        line()
            .starts_with("# rye:signed:v2 item=tool:acme/x ext=py at=2026-11-20T01:02:03Z sha256=")
    );
}

#[test]
fn places_table() {
    let line = line();
    let stray = |line| Err(SigFault::Stray { line });
    let rows = [
        (format!("{line}x\n"), Ok(true)),
        (format!("#!/bin/sh\n{line}x\n"), Ok(true)),
        ("x\n".into(), Ok(false)),
        (String::new(), Ok(false)),
        (format!("x\n{line}"), stray(2)),
        (format!("\n{line}"), stray(2)),
        (format!("\u{feff}{line}"), stray(1)),
        (format!("{line}{line}"), stray(2)),
        (format!("{line}x\n{line}"), stray(3)),
        (format!("{line}x = 1 # rye:signed:v2\n"), stray(2)),
        (format!("{line}  #   rye:signed:anything\n"), stray(2)),
        (format!("{line}print('rye:signed:v2')\n"), Ok(true)),
        (format!("#!/bin/sh\nx\n{line}"), stray(3)),
    ];
    for (text, want) in rows {
        let got = why(&text);
        if text.starts_with('\u{feff}') {
            assert!(got.is_err(), "{text:?}");
        } else {
            assert_eq!(got, want, "{text:?}");
        }
    }
    let swapped = format!("{line}#!/bin/sh\n");
    assert!(matches!(why(&swapped), Err(SigFault::Malformed { line: 1, .. })));
    assert_eq!(place(b"#!/bin/sh\nx\n", &hash()), Ok(10..10));
}

#[test]
fn malformed_table() {
    let good = line();
    let sig = good.trim_end().rsplit("sig=").next().unwrap().to_owned();
    let digest = Digest::of(b"x\n").to_string();
    let with = |from: &str, to: &str| good.replacen(from, to, 1);
    let rows = [
        good.trim_end().to_owned(),
        with("\n", "\r\n"),
        with("\n", " \n"),
        with("\n", " x=1\n"),
        with("# rye", "#rye"),
        with("# rye", "#  rye"),
        with("# rye", " # rye"),
        with(":v2 ", ":v3 "),
        with(":v2 ", ":v2  "),
        with(" ext=py", ""),
        with(" ext=py", " ext="),
        with(" ext=py", " ext=.py"),
        with("item=", "Item="),
        with("tool:acme/x", "acme/x"),
        with("tool:acme/x", "tool:acme/../x"),
        with("Z sha", " sha"),
        with("2026-11-20", "2026-11-32"),
        with("key=0011", "key=001"),
        with(&sig, &format!("{sig}==")),
        with(&sig, &sig[..85]),
        with(&sig, &format!("{}!", &sig[..85])),
        with(&sig, &format!("{}+", &sig[..85])),
        // 86 digits hold 516 bits; the last four must be zero.
        with(&sig, &format!("{}B", &sig[..85])),
        with(&sig, &format!("{sig}AA")),
        with(" sig=", "  sig="),
        with(&digest, &digest.to_uppercase()),
        with("key=00112233445566778899aabbccddeeff", "key=00112233445566778899AABBCCDDEEFF"),
        with("02:03Z", "02:03z"),
        with("item=tool:", "item=Tool:"),
        "# rye:signed:\n".into(),
        "# rye:signed:v2\n".into(),
        format!("# rye:signed:{}\n", "a".repeat(2000)),
    ];
    for row in rows {
        assert!(
            matches!(why(&row), Err(SigFault::Malformed { line: 1, .. })),
            "{row:?}: {:?}",
            why(&row)
        );
    }
}

#[test]
fn the_older_form_is_named() {
    let digest = Digest::of(b"").to_string();
    for tail in ["", "|github@someone"] {
        let line = format!(
            "# rye:signed:2026-02-01T00:00:00Z:{digest}:abc_-==:0123456789abcdef{tail}\nx\n"
        );
        assert_eq!(why(&line), Err(SigFault::Legacy { line: 1 }), "{line}");
    }
}

#[test]
fn a_text_is_shown_without_what_its_signature_lines_say_and_with_all_else_table() {
    let line = line();
    let words = line.strip_prefix("# ").unwrap().trim_end();
    let older =
        format!("rye:signed:2026-02-03T04:05:06Z:{}:AbC-_=:{}", "a".repeat(64), "b".repeat(16));
    let whole = |text: &str| text.replace("{}", words).replace("{older}", &older);
    let shown = |text: &str| text.replace("{}", TAKEN_OUT).replace("{older}", TAKEN_OUT);
    for text in [
        "# {}\nx = 1\n",
        "#!/bin/sh\n# {}\nx\n",
        "<!-- {} -->\n# A page\n",
        ".ai/tools/acme/x.py:1:# {}\n.ai/tools/acme/x.py:2:x\n",
        "{\"content\": \"# {}\\nx = 1\\n\"}",
        "# {}\r\nx\n",
        "# {}\n# {}\n{}",
        "# {older}\nx\n",
        "<!-- {older} -->\nx\n",
        "# {older}|github@somebody\nx\n",
    ] {
        let want = shown(text).replace("|github@somebody", "");
        assert_eq!(without_signatures(&whole(text)), Some(want), "{text}");
    }
    for text in [
        "",
        "x = 1\n",
        "rye:signed:",
        "# rye:signed:v2 …\n",
        "each line begins with `rye:signed:v2 item=`, and the key signs it",
        "# rye:signed:v2 item=<kind>:<id> ext=<ext> at=<time> sha256=<digest> key=<key> sig=<s>",
        "rye:signed:v2 item=tool:acme/x ext=py at=… sha256=… key=… sig=…\n",
        "the mark is rye:signed:v2",
        "the mark is rye:signed:v2 ",
        "# rye:signed:v2 item=config:keys/trusted/<fp> …      (signed by YOUR key)\n",
        "rye:signed:2026 is a year",
    ] {
        assert_eq!(without_signatures(text), None, "{text}");
    }
}

#[test]
fn a_signature_line_that_is_cut_anywhere_shows_nothing_of_what_it_signs() {
    let whole = line().trim_end().to_owned();
    let first = "# rye:signed:v2 i".len();
    for end in first..=whole.len() {
        for behind in ["", "\n", "\r\ny"] {
            let text = format!("x\n{}{behind}", &whole[..end]);
            // Before the first value it says nothing.
            let says_it = end >= "# rye:signed:v2 item=".len();
            let want = says_it.then(|| format!("x\n# [signature line]{behind}"));
            assert_eq!(without_signatures(&text), want, "{text:?}");
        }
    }
    // Where a tool writes of its own that it cut a text, the line is known by its time.
    let time = whole.find(" sha256=").unwrap();
    for end in time..=whole.len() {
        let shown = without_signatures(&format!("{}… and more", &whole[..end])).unwrap();
        let rest = shown.strip_prefix("# [signature line]").unwrap();
        assert!(
            !rest.contains("AgICAg") && rest.ends_with("… and more") && rest.len() < 22,
            "{rest}"
        );
    }
}

#[test]
fn marks_without_end_are_read_in_one_pass() {
    let begin = std::time::Instant::now();
    for text in
        ["rye:signed:", "rye:signed:v2 item=", "rye:signed:v2 item=a ext=b ", "rye:signed:20"]
    {
        without_signatures(&text.repeat((1 << 18) / text.len()));
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}
