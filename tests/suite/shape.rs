//! `rye fmt`: headers in one shape (core 11). The forms have their table beside the code.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::world::{GREET_MD, MARKER_SH, World};

/// A tool whose header is out of order and oddly spaced.
const UNTIDY: &str = "#!/bin/bash\n# what it is\n# /// rye\n# description='Leaves a marker'\n\
    # version   = '1.0.0'\n# tool_type = \"tool\"\n\
    # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n# ///\n\
    :   > marker\necho '{\"ran\": true}'\n";
const TIDY: &str = "#!/bin/bash\n# what it is\n# /// rye\n# version = \"1.0.0\"\n\
    # tool_type = \"tool\"\n# executor_id = \"rye/core/runtimes/shell/script\"\n\
    # category = \"acme\"\n# description = \"Leaves a marker\"\n# ///\n\
    :   > marker\necho '{\"ran\": true}'\n";

#[test]
fn fmt_writes_the_header_anew_and_nothing_else_and_checks_without_writing() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/x.sh", UNTIDY);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let said = world.rye(&["fmt", "tool:acme/x", "--check"]);
    assert_eq!((said.status, said.stdout.contains("would format")), (4, true), "{said:?}");
    world.rye(&["fmt", "tool:acme/x", "--diff"]).ok().shows("+# version = \"1.0.0\"");
    assert_eq!(fs::read_to_string(&path).unwrap(), UNTIDY, "neither wrote anything");
    let said = world.rye(&["fmt"]);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{said:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), TIDY);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    world.rye(&["fmt", "--check"]).ok();
    world.rye(&["sign", "acme/x"]).ok();
    world.works("acme/x");
}

#[test]
fn the_keys_of_programs_evals_and_hooks_have_their_place() {
    let world = World::new();
    let head = |kind: &str| {
        format!(
            "version: \"1.0.0\"\ntool_type: {kind}\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
             category: acme\ndescription: \"x\"\n"
        )
    };
    let run = "exec:\n  files: [run-it]\n  command: ./run-it\n";
    let rows = [
        (
            "exec",
            format!("input_schema: {{type: object}}\nsecrets: [TOKEN]\n{run}files_sha256: {{}}\n"),
        ),
        ("eval", format!("eval_type: mood\nparams: {{a: 1}}\n{run}")),
        (
            "hook",
            format!(
                "hook: tool\nphases: [before_execution]\nmode: filter\nmatch: [\"a/*\"]\norder: 1\n\
                 replaces: true\ncompat: promptkit\n{run}"
            ),
        ),
    ];
    for (kind, keys) in rows {
        let tidy = format!("{}{keys}", head(kind));
        // The entries from the last to the first.
        let mut entries: Vec<String> = Vec::new();
        for line in tidy.lines() {
            match (line.starts_with(' '), entries.last_mut()) {
                (true, Some(entry)) => *entry += &format!("{line}\n"),
                _ => entries.push(format!("{line}\n")),
            }
        }
        entries.reverse();
        let path = world.write(&format!(".ai/tools/acme/{kind}.yaml"), entries.concat());
        world.rye(&["fmt", &format!("tool:acme/{kind}")]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), tidy);
    }
}

#[test]
fn a_signed_file_that_fmt_changes_is_altered_and_it_says_so() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/x.sh", UNTIDY);
    world.works("acme/x");
    let signed = fs::read_to_string(&path).unwrap();
    let line = signed.lines().nth(1).unwrap().to_owned();
    world.rye(&["fmt", "acme/x"]).warns("re-sign with `rye sign tool:acme/x`");
    let now = fs::read_to_string(&path).unwrap();
    assert_eq!(now.lines().nth(1), Some(line.as_str()), "no signature goes away by itself");
    assert_eq!(now.replace(&format!("{line}\n"), ""), TIDY);
    world.refused("acme/x", "verify.altered", 4);
}

#[test]
fn fmt_signs_again_only_what_carried_your_valid_signature() {
    let world = World::new().with(".ai/tools/acme/yours.sh", UNTIDY);
    world.write(".ai/tools/acme/unsigned.sh", UNTIDY);
    let edited = world.signed(".ai/tools/acme/edited.sh", UNTIDY);
    let text = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, text.replace("ran", "changed")).unwrap();
    let (status, got) = world.json(&["fmt", "--sign"]);
    assert_eq!((status, got["changed"].as_u64()), (0, Some(3)), "{got}");
    let signed: Vec<_> = got["signed"].as_array().unwrap().iter().collect();
    assert_eq!(signed.len(), 1, "{got}");
    assert_eq!(signed[0]["item_id"], "tool:acme/yours");
    world.works("acme/yours");
    world.refused("acme/unsigned", "verify.unsigned", 4);
    world.refused("acme/edited", "verify.altered", 4);
}

#[test]
fn what_somebody_else_signed_is_changed_only_by_name() {
    let other = World::new();
    let path = other.signed(".ai/tools/acme/theirs.sh", UNTIDY);
    let theirs = fs::read_to_string(path).unwrap();
    let world = World::new();
    let path = world.write(".ai/tools/acme/theirs.sh", &theirs);
    world.rye(&["fmt"]).shows("somebody else signed it");
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    world.rye(&["fmt", "acme/theirs", "--sign"]).ok();
    let now = fs::read_to_string(&path).unwrap();
    assert!(now != theirs && now.lines().nth(1) == theirs.lines().nth(1), "{now}");
    world.refused("acme/theirs", "verify.altered", 4);
}

#[test]
fn what_cannot_be_read_fails_and_what_cannot_be_tidied_is_left_with_its_reason() {
    let world = World::new();
    let rows = [
        (".ai/tools/acme/crlf.sh", UNTIDY.replace('\n', "\r\n")),
        (".ai/tools/acme/hidden.sh", UNTIDY.replace("marker\n", "marker\u{200b}\n")),
        (".ai/tools/acme/flow.yaml", "{version: '1', tool_type: tool}\n".to_owned()),
        (".ai/tools/acme/twice.sh", format!("{UNTIDY}# rye:signed:v2 stray\n")),
    ];
    for (path, text) in &rows {
        world.write(path, text);
        let item = crate::world::item_of(path);
        let said = world.rye(&["fmt", &item]);
        assert_eq!((said.status, said.stdout.contains("left as it is")), (0, true), "{said:?}");
        assert_eq!(world.read(path), text.as_bytes());
    }
    let text = UNTIDY.replace("version   = '1.0.0'", "version = ");
    world.write(".ai/tools/acme/broken.sh", &text);
    world.rye(&["fmt", "acme/broken"]).fails(5, "parse.toml");
    assert_eq!(world.read(".ai/tools/acme/broken.sh"), text.as_bytes());
}

#[test]
fn nothing_of_a_directive_moves_but_its_metadata() {
    let world = World::new();
    let text =
        GREET_MD.replace("name=\"greet\" version=\"1.0.0\"", "version='1.0.0'  name='greet'");
    let text = text.replace("Words before.", "Words  before. ").replace("Say hello", "Say  hello");
    world.signed(".ai/directives/acme/greet.md", &text);
    world.rye(&["fmt", "directive:acme/greet", "--sign"]).ok();
    let now = String::from_utf8(world.read(".ai/directives/acme/greet.md")).unwrap();
    let rest = now.split_once('\n').unwrap().1;
    let want = text.replace("version='1.0.0'  name='greet'", "name=\"greet\" version=\"1.0.0\"");
    assert_eq!(rest, want);
    let said = world.rye(&["execute", "directive:acme/greet"]);
    assert_eq!(said.stdout.trim(), "Say  hello to world.");
}

#[test]
fn a_tidy_file_and_the_shipped_items_are_left_alone() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let before = fs::read(&path).unwrap();
    world.rye(&["fmt", "tool:acme/mark", "--sign"]).shows("tidy already");
    assert_eq!(fs::read(&path).unwrap(), before);
    let said = world.rye(&["fmt", "tool:rye/bash"]);
    assert_eq!((said.status, said.stdout.contains("in the binary")), (0, true), "{said:?}");
}

#[test]
fn what_a_dev_key_signed_is_yours_to_tidy_and_is_drawn_as_what_it_is() {
    use crate::dev::{Dev, SAY, SAY_FILE, edit, world};
    let world = world();
    let mut dev = Dev::start(&world, &[SAY]);
    dev.ran();
    edit(&world, SAY_FILE, "version = \"1.0.0\"", "version   = '1.0.0'");
    dev.about("signed", SAY);
    dev.signal(rustix::process::Signal::INT);
    dev.end();
    world.works(SAY);
    let (_, got) = world.json(&["graph", SAY]);
    assert_eq!(got["nodes"][0]["standing"], "dev_key", "{got}");
    world
        .rye(&["fmt", "--sign"])
        .shows("formatted  tool:acme/say")
        .warns("re-sign with `rye sign tool:acme/say`");
    // Your own key signs only what it had signed.
    world.refused(SAY, "verify.altered", 4);
}

#[test]
fn fmt_signs_the_text_that_it_tidied_and_nothing_that_was_written_since() {
    let world = World::new();
    let names: Vec<String> = (0..80).map(|n| format!(".ai/tools/acme/x{n:02}.sh")).collect();
    for name in &names {
        world.write(name, UNTIDY);
    }
    world.rye(&["sign", "--all"]).ok();
    let first = world.project().join(&names[0]);
    let signed = fs::read_to_string(&first).unwrap();
    let mut child = world.command(&["fmt", "--sign"]);
    let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
    // As soon as the first is tidy, and while the others are tidied, somebody puts another there.
    let evil = TIDY.replace("{\"ran\": true}", "EVIL");
    let late = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while fs::read_to_string(&first).unwrap() == signed {
        assert!(std::time::Instant::now() < late, "it was never tidied");
    }
    let beside = first.with_extension("new");
    fs::write(&beside, &evil).unwrap();
    fs::rename(&beside, &first).unwrap();
    child.wait().unwrap();
    assert!(fs::read_to_string(&first).unwrap().contains("EVIL"), "what was saved is there");
    world.refused("tool:acme/x00", "verify.unsigned", 4);
    world.works("tool:acme/x01");
}

#[test]
fn fmt_does_not_sign_again_a_tool_whose_files_are_others_now() {
    let world = World::new().with_file(".ai/tools/acme/lib/x.txt", "good\n");
    let text = UNTIDY.replace("# category", "# files = [\"lib/x.txt\"]\n# category");
    world.signed(".ai/tools/acme/x.sh", &text);
    world.works("tool:acme/x");
    world.write(".ai/tools/acme/lib/x.txt", "EVIL\n");
    let (status, got) = world.json(&["fmt", "--sign"]);
    assert_eq!((status, &got["signed"]), (0, &serde_json::json!([])), "{got}");
    world.refused("tool:acme/x", "verify.altered", 4);
}
