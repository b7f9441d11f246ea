//! Rows a: the bytes of an item, its signature line and the place of that line.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use crate::world::{Attempt, GREET_MD, MARKER_PY, MARKER_SH, World, line, seconds_from_now};

const NOTES_MD: &str = "---\ntitle: Notes\ntags: [a]\n---\n# Notes\n\nRead me.\n";

/// A signed shell tool in a project of its own.
fn shell() -> (World, PathBuf, String) {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let text = fs::read_to_string(&file).unwrap();
    (world, file, text)
}

/// The signature line of a file without its line feed.
fn line_of(text: &str) -> &str {
    text.lines().find(|line| line.contains("rye:signed:v2 ")).unwrap()
}

/// The comment around a signature line.
fn comment(ext: &str) -> (&'static str, &'static str) {
    match ext {
        "js" => ("// ", ""),
        "md" => ("<!-- ", " -->"),
        _ => ("# ", ""),
    }
}

/// `rest` with a signature line at its place, and where the line with its line feed is.
fn with_line(ext: &str, line: &str, rest: &[u8]) -> (Vec<u8>, Range<usize>) {
    let (open, close) = comment(ext);
    let line = format!("{open}{line}{close}\n");
    let start = match rest.starts_with(b"#!") {
        true => rest.iter().position(|b| *b == b'\n').unwrap() + 1,
        false => 0,
    };
    let bytes = [&rest[..start], line.as_bytes(), &rest[start..]].concat();
    (bytes, start..start + line.len())
}

/// The codes that a flip at `at` may end in: what a reader cannot see comes first, then the rule
/// that guards the field or, outside the line, the digest.
fn codes_of_a_flip(bytes: &[u8], at: usize, line: &Range<usize>) -> Vec<&'static str> {
    let byte = bytes[at];
    if !byte.is_ascii() {
        return vec!["parse.not_utf8"];
    }
    if byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r') {
        return vec!["parse.control_text"];
    }
    if !line.contains(&at) {
        // Without its `#!`, or joined with it, the line stands where none belongs.
        let stray = line.start > 0 && (at < 2 || at + 1 == line.start);
        // A title `# A` can become a shebang, and then the line stands before it.
        let shebang = line.start == 0 && bytes[line.end..].starts_with(b"#!");
        return vec![match (stray, shebang) {
            (true, _) => "verify.stray_signature_line",
            (_, true) => "verify.malformed",
            _ => "verify.altered",
        }];
    }
    let fields = [" item=", " ext=", " at=", " sha256=", " key=", " sig="];
    let guards = ["moved", "moved", "forged", "altered", "untrusted", "forged"];
    let text = String::from_utf8_lossy(&bytes[line.start..at]);
    // A field begins behind its sign; the name and the space before it are the frame's.
    let guard = fields.iter().rposition(|field| text.contains(field)).map(|i| guards[i]);
    match guard.unwrap_or("unsigned") {
        "moved" => vec!["verify.moved", "verify.malformed"],
        "forged" => vec!["verify.forged", "verify.malformed"],
        "altered" => vec!["verify.altered", "verify.malformed"],
        "untrusted" => vec!["verify.untrusted", "verify.malformed"],
        _ => vec!["verify.unsigned", "verify.malformed"],
    }
}

/// Signs `rest` once for each bit of the file, flips that bit, and lets one call judge them all.
#[track_caller]
fn every_flipped_bit_is_refused(kind: &str, ext: &str, rest: &str) {
    let world = World::new();
    let (key, at) = (world.own_key(), seconds_from_now(0));
    let (base, folder) = match kind {
        "config" => (world.home(), "config".to_owned()),
        "knowledge" => (world.project(), "knowledge".to_owned()),
        _ => (world.project(), format!("{kind}s")),
    };
    let folder = base.join(".ai").join(folder).join("flip");
    fs::create_dir_all(&folder).unwrap();
    let signed = |name: &str| {
        let line = line(&key, &format!("{kind}:flip/{name}"), ext, &at, rest.as_bytes());
        with_line(ext, &line, rest.as_bytes())
    };
    let (whole, place) = signed("whole");
    fs::write(folder.join(format!("whole.{ext}")), &whole).unwrap();
    let mut want = BTreeMap::new();
    for bit in 0..whole.len() * 8 {
        let name = format!("{bit:05}");
        let (mut bytes, _) = signed(&name);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(folder.join(format!("{name}.{ext}")), &bytes).unwrap();
        want.insert(
            format!("{kind}:flip/{name}"),
            (bit / 8, codes_of_a_flip(&bytes, bit / 8, &place)),
        );
    }
    let (status, report) = world.json(&["verify", &format!("{kind}:flip/**")]);
    assert!(status == 4 || status == 5, "{status}");
    let rows: BTreeMap<&str, &Value> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["item_id"].as_str().unwrap(), row))
        .collect();
    let untouched = format!("{kind}:flip/whole");
    assert_eq!(rows[untouched.as_str()]["status"], "verified", "{}", rows[untouched.as_str()]);
    assert_eq!(rows.len(), want.len() + 1);
    for (item, (byte, codes)) in want {
        let row = rows[item.as_str()];
        let code = row["code"].as_str().unwrap_or("none");
        let refused = row["status"] == "refused" && codes.contains(&code);
        assert!(refused, "{item}, byte {byte}: expected one of {codes:?}: {row}");
    }
}

#[test]
fn a01_every_flipped_bit_of_a_python_tool_is_refused() {
    every_flipped_bit_is_refused("tool", "py", "__version__ = \"1.0.0\"\nprint('{}')\n");
}

#[test]
fn a01_every_flipped_bit_of_every_other_kind_of_file_is_refused_table() {
    let shell = "#!/bin/sh\n# /// rye\n# version = \"1.0.0\"\n# ///\n: > marker\n";
    let directive = "# A\n\n```xml\n<directive name=\"a\" version=\"1.0.0\"/>\n```\nDo.\n";
    for (kind, ext, text) in [
        ("tool", "js", "// /// rye\n// version = '1.0.0'\n// ///\nlet a = 1;\n"),
        ("tool", "sh", shell),
        ("tool", "yaml", "version: \"1.0.0\"\nexecutor_id: a/b\n"),
        ("tool", "toml", "version = \"1.0.0\"\nexecutor_id = \"a/b\"\n"),
        ("directive", "md", directive),
        ("knowledge", "md", "---\ntitle: A\n---\nRead.\n"),
        ("config", "toml", "[a]\nb = 1\n"),
    ] {
        every_flipped_bit_is_refused(kind, ext, text);
    }
}

#[test]
fn a01_a_flipped_bit_is_refused_when_the_tool_is_run() {
    let (world, file, text) = shell();
    let start = text.find("# rye:signed").unwrap();
    let place = start..start + line_of(&text).len() + 1;
    world.works("tool:acme/mark");
    // A prime step meets every bit position and every field.
    for bit in (0..text.len() * 8).step_by(157) {
        let mut bytes = text.clone().into_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, &bytes).unwrap();
        let attempt = world.attempt("tool:acme/mark");
        let codes = codes_of_a_flip(&bytes, bit / 8, &place);
        assert!(codes.contains(&attempt.code.as_str()), "bit {bit}: {codes:?}: {attempt:?}");
        assert_eq!(attempt, Attempt::refused(&attempt.code), "bit {bit}");
    }
    fs::write(&file, text).unwrap();
    world.works("tool:acme/mark");
}

#[test]
fn a02_directive_text_outside_the_fence_is_signed_too() {
    let world = World::new();
    let file = world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let text = fs::read_to_string(&file).unwrap();
    let altered = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
    let rows = [
        ("title", altered("# Greet", "# Greed"), "verify.altered"),
        ("preamble", altered("Words before.", "Other words."), "verify.altered"),
        ("body", altered("Say hello", "Say goodbye"), "verify.altered"),
        ("body grown", format!("{text}Then delete it.\n").into_bytes(), "verify.altered"),
        ("metadata", altered("Greet somebody", "Greet nobody"), "verify.altered"),
        ("comment", altered("# Greet", "<!-- x -->\n# Greet"), "verify.altered"),
    ];
    world.refuses_each("directive:acme/greet", &file, &rows);
}

#[test]
fn a03_knowledge_front_matter_is_signed_too() {
    let world = World::new();
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let text = fs::read_to_string(&file).unwrap();
    let altered = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
    let rows = [
        ("title", altered("title: Notes", "title: Other"), "verify.altered"),
        ("tags", altered("[a]", "[b]"), "verify.altered"),
        ("one more key", altered("tags:", "x: 1\ntags:"), "verify.altered"),
        ("none", altered("---\ntitle: Notes\ntags: [a]\n---\n", ""), "verify.altered"),
        ("body", altered("Read me", "Read on"), "verify.altered"),
    ];
    world.refuses_each("knowledge:acme/notes", &file, &rows);
    fs::write(&file, &rows[0].1).unwrap();
    for verb in ["execute", "fetch", "show"] {
        let said = world.rye(&[verb, "knowledge:acme/notes"]);
        assert_eq!((said.status, said.stdout.as_str()), (4, ""), "{verb} shows none of it");
    }
}

#[test]
fn a04_the_shebang_is_signed_too() {
    let (world, file, text) = shell();
    let altered = |to: &str| text.replacen("#!/bin/bash\n", to, 1).into_bytes();
    let rows = [
        ("another program", altered("#!/bin/sh\n"), "verify.altered"),
        ("an argument", altered("#!/bin/bash -x\n"), "verify.altered"),
        ("a space behind", altered("#!/bin/bash \n"), "verify.altered"),
        ("CRLF", altered("#!/bin/bash\r\n"), "verify.altered"),
        ("none", altered(""), "verify.altered"),
    ];
    world.refuses_each("tool:acme/mark", &file, &rows);
    let file = world.signed(".ai/tools/acme/snake.py", MARKER_PY);
    let added = format!("#!/usr/bin/python3\n{}", fs::read_to_string(&file).unwrap());
    let rows = [("one added", added.into_bytes(), "verify.altered")];
    world.refuses_each("tool:acme/snake", &file, &rows);
}

#[test]
fn a06_text_before_inside_or_behind_the_line_is_malformed() {
    let (world, file, text) = shell();
    let changed = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
    let rows = [
        ("no space in the opener", changed("# rye:signed", "#rye:signed")),
        ("two spaces in the opener", changed("# rye:signed", "#  rye:signed")),
        ("a space before", changed("# rye:signed", " # rye:signed")),
        ("code before", changed("# rye:signed", ": # rye:signed")),
        ("two spaces between fields", changed(" ext=sh", "  ext=sh")),
        ("a tab between fields", changed(" ext=sh", "\text=sh")),
        (
            "fields in another order",
            changed("item=tool:acme/mark ext=sh", "ext=sh item=tool:acme/mark"),
        ),
        ("a field twice", changed(" ext=sh", " ext=sh ext=sh")),
        ("a field missing", changed(" ext=sh", "")),
        ("an empty field", changed(" ext=sh", " ext=")),
        ("another field", changed(" ext=sh", " ext=sh alg=none")),
    ];
    let rows = rows.map(|(what, bytes)| (what, bytes, "verify.malformed"));
    world.refuses_each("tool:acme/mark", &file, &rows);
    {
        let (world, file, text) = shell();
        let grown =
            |more: &str| text.replacen(line_of(&text), &format!("{}{more}", line_of(&text)), 1);
        let rows =
            [" x", "x", " ", "\t", "=", " # x", " ext=sh", " -->", " sig=AAAA", "; rm -rf ~"];
        let rows = rows.map(|more| (more, grown(more).into_bytes(), "verify.malformed"));
        world.refuses_each("tool:acme/mark", &file, &rows);
        let file = world.signed(".ai/directives/acme/greet.md", GREET_MD);
        let text = fs::read_to_string(&file).unwrap();
        let changed = |to: &str| text.replacen(" -->\n", to, 1).into_bytes();
        let rows = [
            ("inside the comment", changed(" Obey. -->\n"), "verify.malformed"),
            ("behind the comment", changed(" --> Obey.\n"), "verify.malformed"),
            ("white space behind", changed(" --> \n"), "verify.malformed"),
            ("another closer", changed(" --!>\n"), "verify.malformed"),
            ("no closer", changed("\n"), "verify.malformed"),
        ];
        world.refuses_each("directive:acme/greet", &file, &rows);
    }
}

#[test]
fn a07_a_removed_line_is_unsigned() {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.refuses_each("tool:acme/mark", &file, &[("", MARKER_SH.into(), "verify.unsigned")]);
    let file = world.signed(".ai/tools/acme/snake.py", MARKER_PY);
    world.refuses_each("tool:acme/snake", &file, &[("", MARKER_PY.into(), "verify.unsigned")]);
    let file = world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.refuses_each("directive:acme/greet", &file, &[("", GREET_MD.into(), "verify.unsigned")]);
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    world.refuses_each("knowledge:acme/notes", &file, &[("", NOTES_MD.into(), "verify.unsigned")]);
}

#[test]
fn a08_a_second_signature_line_is_stray() {
    let (world, file, text) = shell();
    let line = line_of(&text);
    let behind = |more: &str| format!("{text}{more}\n").into_bytes();
    let stray = "verify.stray_signature_line";
    let rows = [
        ("directly behind", text.replacen(line, &format!("{line}\n{line}"), 1).into_bytes(), stray),
        ("at the end", behind(line), stray),
        ("indented", behind(&format!("  {line}")), stray),
        ("behind code", behind(&format!("true {line}")), stray),
        ("no space in the opener", behind(&line.replacen("# ", "#", 1)), stray),
        ("only the mark", behind("# rye:signed:"), stray),
        ("an older form", behind("# rye:signed:2026-01-01T00:00:00Z:00:00:00"), stray),
        // Before the `#!` line it is also where no line may be, which is the earlier rule.
        ("before", format!("{line}\n{text}").into_bytes(), "verify.malformed"),
    ];
    world.refuses_each("tool:acme/mark", &file, &rows);
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let text = fs::read_to_string(&file).unwrap();
    let line = line_of(&text);
    let rows = [
        ("before", format!("{line}\n{text}").into_bytes(), stray),
        ("at the end", format!("{text}{line}\n").into_bytes(), stray),
        ("in the front matter", text.replacen("tags", &format!("{line}\ntags"), 1).into(), stray),
    ];
    world.refuses_each("knowledge:acme/notes", &file, &rows);
}

#[test]
fn a08_a_valid_signature_over_a_stray_line_does_not_help_it() {
    let (world, file, _) = shell();
    let rest = MARKER_SH.replacen(": > marker", "# rye:signed:v2 item=tool:acme/x\n: > marker", 1);
    let rest = rest.as_bytes();
    let line = line(&world.own_key(), "tool:acme/mark", "sh", &seconds_from_now(0), rest);
    let (bytes, _) = with_line("sh", &line, rest);
    let rows = [("signed over", bytes.clone(), "verify.stray_signature_line")];
    world.refuses_each("tool:acme/mark", &file, &rows);
    fs::write(&file, bytes).unwrap();
    let attempt = world.attempt_by(&["sign", "tool:acme/mark"]);
    assert_eq!(attempt, Attempt::refused("verify.stray_signature_line"), "nor is it signed");
}

#[test]
fn a09_a_line_in_another_place_is_refused() {
    let world = World::new();
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let text = fs::read_to_string(&file).unwrap();
    let stray = "verify.stray_signature_line";
    let (line, rest) = text.split_once('\n').unwrap();
    let rows = [
        ("line 2 without a shebang", format!("Hi\n{text}").into_bytes(), stray),
        ("after a blank line", format!("\n{text}").into_bytes(), stray),
        ("after a line of spaces", format!("  \n{text}").into_bytes(), stray),
        ("at the end", format!("{rest}{line}\n").into_bytes(), stray),
        ("after a BOM", format!("\u{feff}{text}").into_bytes(), "parse.control_text"),
    ];
    world.refuses_each("knowledge:acme/notes", &file, &rows);
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let text = fs::read_to_string(&file).unwrap();
    let line = format!("{}\n", line_of(&text));
    let third =
        text.replacen(&line, "", 1).replacen("# /// rye\n", &format!("# /// rye\n{line}"), 1);
    let rows = [
        ("line 3 behind a shebang", third.into_bytes(), stray),
        ("after what is no shebang", format!(" {text}").into_bytes(), stray),
        ("after a BOM", format!("\u{feff}{text}").into_bytes(), "parse.control_text"),
    ];
    world.refuses_each("tool:acme/mark", &file, &rows);
    fs::write(&file, format!("\u{feff}{text}")).unwrap();
    world
        .rye(&["sign", "tool:acme/mark"])
        .warns("save the file as UTF-8 without a byte order mark");
}

#[test]
fn a10_other_line_ends_are_another_file() {
    let world = World::new();
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let text = fs::read_to_string(&file).unwrap();
    let (line, rest) = text.split_once('\n').unwrap();
    let with = |rest: String| format!("{line}\n{rest}").into_bytes();
    let rows = [
        ("LF → CRLF", with(rest.replace('\n', "\r\n")), "verify.altered"),
        ("LF → CRLF, once", with(rest.replacen('\n', "\r\n", 1)), "verify.altered"),
        ("LF → CR", with(rest.replace('\n', "\r")), "verify.altered"),
        ("CR at the end", with(format!("{rest}\r")), "verify.altered"),
        ("last newline dropped", with(rest.trim_end().into()), "verify.altered"),
        ("newline added", with(format!("{rest}\n")), "verify.altered"),
        ("the line's too", text.replace('\n', "\r\n").into_bytes(), "verify.malformed"),
    ];
    world.refuses_each("knowledge:acme/notes", &file, &rows);
    // As git does to a whole file: the help is not that the line was edited.
    fs::write(&file, text.replace('\n', "\r\n")).unwrap();
    world.rye(&["verify", "knowledge:acme/notes"]).warns("`rye git install`");
    let crlf = NOTES_MD.replace('\n', "\r\n");
    let file = world.signed(".ai/knowledge/acme/dos.md", &crlf);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.ends_with(&format!(" -->\n{crlf}")), "every carriage return stays: {text:?}");
    let swapped = text.replacen("Notes\r\n", "Notes\n\r", 1).into_bytes();
    let rows = [
        ("CRLF → LF", text.replace("\r\n", "\n").into_bytes(), "verify.altered"),
        ("CR and LF swapped", swapped, "verify.altered"),
    ];
    world.refuses_each("knowledge:acme/dos", &file, &rows);
}

/// What, the bytes, the code, line and column.
type Row<'a> = (&'a str, &'a [u8], &'a str, (u64, u64));

#[test]
fn a11_text_that_is_none_is_refused_at_sign_and_at_load() {
    let world = World::new();
    let key = world.own_key();
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let rows: [Row<'_>; 9] = [
        ("NUL", b"# Notes\nab\0c\n", "parse.control_text", (2, 3)),
        ("NUL at the start", b"\0", "parse.control_text", (1, 1)),
        ("a lone byte", b"# Notes\n\xff\n", "parse.not_utf8", (2, 1)),
        ("overlong slash", b"a\xc0\xaf\n", "parse.not_utf8", (1, 2)),
        ("overlong in three", b"a\xe0\x80\xaf\n", "parse.not_utf8", (1, 2)),
        ("a lone surrogate", b"a\n\xed\xa0\x80\n", "parse.not_utf8", (2, 1)),
        ("a pair of surrogates", b"\xed\xa0\x80\xed\xb0\x80\n", "parse.not_utf8", (1, 1)),
        ("cut short", b"a\xe2\x82", "parse.not_utf8", (1, 2)),
        ("beyond U+10FFFF", b"\xf4\x90\x80\x80\n", "parse.not_utf8", (1, 1)),
    ];
    for (what, rest, code, (row, column)) in rows {
        let line = line(&key, "knowledge:acme/notes", "md", &seconds_from_now(0), rest);
        let (bytes, _) = with_line("md", &line, rest);
        world.refuses_each("knowledge:acme/notes", &file, &[(what, bytes.clone(), code)]);
        world.write(".ai/knowledge/acme/load.md", bytes);
        let (_, said) = world.json(&["execute", "knowledge:acme/load"]);
        let place = (said["place"]["line"].as_u64(), said["place"]["column"].as_u64());
        assert_eq!(place, (Some(row + 1), Some(column)), "{what}: {said}");
        if code == "parse.control_text" {
            assert!(said["error"].as_str().unwrap().contains("U+0000"), "{said}");
        }
        world.write(".ai/knowledge/acme/raw.md", rest);
        let attempt = world.attempt_by(&["sign", "knowledge:acme/raw"]);
        assert_eq!(attempt, Attempt::refused(code), "{what}");
    }
}

#[test]
fn a20_a_line_on_the_wrong_side_or_without_its_end_is_malformed() {
    let (world, file, text) = shell();
    let line = line_of(&text);
    let changed = |from: &str, to: &str| text.replacen(from, to, 1).into_bytes();
    let cut = &text[..text.find(line).unwrap() + line.len()];
    let pair = format!("#!/bin/bash\n{line}\n");
    let rows = [
        ("swapped", changed(&pair, &format!("{line}\n#!/bin/bash\n"))),
        ("CR behind", changed(line, &format!("{line}\r"))),
        ("CR before the signature", changed(" sig=", "\r sig=")),
        ("CR for a space", changed(" ext=", "\rext=")),
        ("no line feed behind", cut.into()),
    ];
    let rows = rows.map(|(what, bytes)| (what, bytes, "verify.malformed"));
    world.refuses_each("tool:acme/mark", &file, &rows);
    let file = world.signed(".ai/knowledge/acme/notes.md", NOTES_MD);
    let empty = line_with_nothing_behind(&world);
    let rows = [("no line feed behind, nothing to sign", empty, "verify.malformed")];
    world.refuses_each("knowledge:acme/notes", &file, &rows);
}

/// A valid line over no bytes at all, without its line feed.
fn line_with_nothing_behind(world: &World) -> Vec<u8> {
    let at = seconds_from_now(0);
    let line = line(&world.own_key(), "knowledge:acme/notes", "md", &at, b"");
    let (mut bytes, _) = with_line("md", &line, b"");
    assert_eq!(bytes.pop(), Some(b'\n'));
    bytes
}
