//! What a person sees before signing (rows l02, l03): what is signed was shown, and nothing else
//! is.

use std::fs;

use serde_json::{Value, json};

use crate::dev::{Dev, at_terminal, says};
use crate::files::{COUNT, counts, package};
use crate::keys::others::{document, put, stranger, trust, trusted};
use crate::world::{End, MARKER_SH, World, fingerprint, sha256};

const MARK: &str = "tool:acme/mark";
const MARK_FILE: &str = ".ai/tools/acme/mark.sh";

/// The row of a batch about one item.
#[track_caller]
fn row<'v>(said: &'v Value, item: &str) -> &'v Value {
    let rows = said["items"].as_array().expect("rows");
    rows.iter().find(|row| row["item_id"] == item).unwrap_or_else(|| panic!("{item}: {said}"))
}

#[test]
fn l02_nothing_about_keys_is_signed_as_an_item_by_any_door() {
    let world = World::new().with(MARK_FILE, MARKER_SH);
    world.works(MARK);
    let mallory = stranger(1);
    let text = document(&mallory, "mallory", "");
    let here = world.write(&trusted(&mallory), &text);
    let item = format!("config:keys/trusted/{}", fingerprint(&mallory));
    let is_refused = |args: &[&str], code: &str, status: i32| {
        world.rye(args).fails(status, code);
    };
    for more in [&[][..], &["--check"], &["--yes"], &["--space", "project"]] {
        is_refused(&[&["sign", &item], more].concat(), "resolve.proposal", 3);
    }
    for glob in ["config:keys/**", "config:**", "*:**"] {
        world.rye(&["sign", glob, "--others"]);
    }
    world.rye(&["sign", "--all", "--others"]);
    assert_eq!(fs::read_to_string(&here).unwrap(), text, "it was signed in the project");
    // Nor in the user space, where it would be believed.
    let there = world.write_home(&trusted(&mallory), &text);
    is_refused(&["sign", &format!("{item}@user")], "sign.reserved", 4);
    is_refused(&["sign", &item, "--space", "user"], "sign.reserved", 4);
    world.rye(&["sign", "--all", "--others", "--space", "user"]);
    assert_eq!(fs::read_to_string(&there).unwrap(), text, "it was signed in the user space");
    let said = world.rye(&["bundle", "pack", "keys", &item, "--version", "1.0.0"]);
    assert_ne!(said.status, 0, "{said:?}");
    put(&world, &mallory, ".ai/tools/acme/evil.sh", MARKER_SH);
    let (status, code) = world.run("tool:acme/evil");
    assert_eq!((status, code.starts_with("verify.")), (4, true), "{code}");
}

#[test]
fn l03_the_clones_copy_of_your_tool_is_not_signed_in_its_place() {
    let world = World::new();
    let mine = world.signed_home(MARK_FILE, MARKER_SH);
    world.works(MARK);
    let theirs = world.write(MARK_FILE, MARKER_SH.replace("Leaves", "Leaves their"));
    let before = world.snapshot();
    for name in ["acme/mark", MARK] {
        let said = world.json(&["sign", name]).fails(3, "resolve.ambiguous_space");
        assert_eq!(said["refs"], Value::Null, "{said}");
        assert_eq!(
            said["data"]["refs"],
            json!([format!("{MARK}@project"), format!("{MARK}@user")])
        );
    }
    assert!(world.snapshot() == before, "something was written");
    // Each is signed by its name, and the row says which it was.
    let bytes = fs::read(&theirs).unwrap();
    let said = world.rye(&["sign", &format!("{MARK}@user")]).ok();
    assert!(said.stdout.starts_with(&format!("signed  {MARK}  user  sha256 ")), "{said:?}");
    assert_eq!(fs::read(&theirs).unwrap(), bytes);
    let bytes = fs::read(&mine).unwrap();
    let (status, said) = world.json(&["sign", "acme/mark", "--space", "project"]);
    assert_eq!((status, &row(&said, MARK)["space"]), (0, &json!("project")), "{said}");
    assert_eq!(fs::read(&mine).unwrap(), bytes);
    world.rye(&["sign", &format!("{MARK}@user"), "--space", "project"]).fails_with("cli.usage");
}

/// A clone that nobody accepted, and the key of whoever looks at it.
fn clone() -> World {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    world.write(MARK_FILE, MARKER_SH);
    put(&world, &stranger(1), ".ai/tools/acme/other.sh", MARKER_SH);
    world
}

#[test]
fn l03_a_project_that_is_not_accepted_is_shown_before_it_is_signed_into() {
    let world = clone();
    let before = world.snapshot();
    for args in [
        &["sign", "acme/mark"][..],
        &["sign", "acme/mark", "--yes"],
        &["sign", "--all"],
        &["sign", "--all", "--yes", "--json"],
        &["new", "tool", "acme/mine", "--sign"],
    ] {
        let said = world.rye(args).fails_with("verify.project_not_accepted");
        assert_eq!(said.status, 4, "{args:?}");
        assert!(world.snapshot() == before, "{args:?}: something was written");
    }
    let said = world.rye_at_a_terminal("n\n", &["sign", "acme/mark"]);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    // What it holds, and the text that would be signed.
    for part in ["tool:acme/other", "unknown: ", ": > marker", "Accept this project"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    assert!(world.snapshot() == before, "something was written");
    world.rye_at_a_terminal("y\n", &["sign", "acme/mark"]).ok();
    world.works(MARK);
    assert_eq!(world.run("tool:acme/other").1, "verify.untrusted");
}

/// A clone that nobody accepted, with an unsigned tool that lists files.
fn clone_of_a_package() -> World {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    package(&world);
    world
}

#[test]
fn l03_what_a_signature_would_cover_is_shown_whole_before_a_project_is_accepted() {
    let world = clone_of_a_package();
    let folder = ".ai/tools/acme/words";
    world.write(&format!("{folder}/lib/planted.py"), "import planted\n");
    world.write(&format!("{folder}/data/blob.json"), b"\xff\xfe");
    let said = world.rye_at_a_terminal("n\n", &["sign", COUNT, "--color", "never"]);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    let blob = sha256(b"\xff\xfe");
    let module = sha256(&world.read(&format!("{folder}/lib/words.py")));
    for line in [
        "  from lib.deep.more import shout",
        "  def count(text, stop):",
        "      return len([w for w in text.split() if w not in stop])",
        "  import planted",
        "  [\"the\"]",
        &format!("  it is not text: sha256 {blob}"),
        // It is the staged file: its header has the digests that are signed.
        &format!("  # \"lib/words.py\" = \"{module}\""),
    ] {
        let has = said.stdout.lines().any(|shown| shown.trim_end_matches('\r') == line);
        assert!(has, "{line}: {}", said.stdout);
    }
    world.rye_at_a_terminal("y\n", &["sign", COUNT]).ok();
    fs::remove_file(world.project().join(folder).join("data/blob.json")).unwrap();
    assert_eq!(world.run(COUNT).1, "verify.dependency");
}

#[test]
fn l03_what_changes_while_a_project_is_looked_at_is_not_signed() {
    let module = ".ai/tools/acme/words/lib/words.py";
    let own = ".ai/tools/acme/words/count.py";
    for changed in [None, Some(module), Some(own)] {
        let world = clone_of_a_package();
        let script = changed.map(|path| format!("echo '# evil' >> {path}")).unwrap_or_default();
        let said = world.rye_at_a_terminal_while(&script, "y\n", &["sign", COUNT]);
        let is_signed = String::from_utf8(world.read(own)).unwrap().contains("rye:signed");
        assert_eq!(is_signed, changed.is_none(), "{changed:?}");
        assert_eq!(said.status == 0, changed.is_none(), "{changed:?}: {said:?}");
    }
}

#[test]
fn l03_what_was_typed_before_a_question_does_not_answer_it() {
    // The first question of a sign, a set-up and a signature below a run.
    let (sign, init) = (&["sign", MARK][..], &["init"][..]);
    let clone = clone();
    let before = clone.snapshot();
    for args in [sign, init] {
        let said = clone.rye_typed_ahead(false, "y\n", "n\n", args);
        assert_eq!(said.code_shown(), "cli.not_confirmed", "{args:?}: {said:?}");
        assert!(clone.snapshot() == before, "{args:?}: a key answered what it never saw");
    }
    clone.rye_typed_ahead(false, "n\n", "y\n", sign).ok();
    let world = World::new().with_file(MARK_FILE, MARKER_SH);
    let before = world.snapshot();
    let said = world.rye_typed_ahead(true, "y\n", "n\n", sign);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    assert!(world.snapshot() == before, "a key answered what it never saw");
    world.rye_typed_ahead(true, "n\n", "y\n", sign).ok();
}

#[test]
fn l03_init_in_somebody_elses_clone_shows_it_and_asks() {
    let world = clone();
    let before = world.snapshot();
    for args in [&["init"][..], &["init", "--yes"], &["init", "--json"]] {
        world.rye(args).fails(4, "verify.project_not_accepted");
    }
    let said = world.rye_at_a_terminal("n\n", &["init"]);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    assert!(said.stdout.contains("tool:acme/other"), "{said:?}");
    assert!(world.snapshot() == before, "something was written");
    world.rye_at_a_terminal("y\n", &["init"]).ok();
    assert_eq!(world.run("tool:acme/other").1, "verify.untrusted");
    // In one that is accepted, and in an empty folder, it is one step.
    world.rye(&["init"]).ok();
    assert_eq!(World::empty().rye(&["init"]).status, 0);
}

#[test]
fn l03_the_digest_that_is_confirmed_is_the_one_that_is_signed() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let file = ".ai/tools/acme/words/count.py";
    let module = ".ai/tools/acme/words/lib/words.py";
    world.write(module, "def count(text, stop):\n    return 7\n");
    let said = world.rye_below_a_run(&["sign", COUNT, "--yes"]).ok();
    let confirmed = said.stderr.split("sha256 ").nth(1).expect("a digest")[..64].to_owned();
    let text = String::from_utf8(world.read(file)).unwrap();
    let signed = text.split("sha256=").nth(1).expect("a line")[..64].to_owned();
    assert_eq!(confirmed, signed, "{said:?}");
    // What changes between the question and the answer is not signed.
    let world = world.env("RYE_RUN_ID", "run-of-a-test");
    world.write(module, "def count(text, stop):\n    return 8\n");
    let before = world.read(file);
    let mut asked = Dev::of(at_terminal(&world, &["sign", COUNT, "--color", "never"]));
    while !asked.line().contains("sha256 ") {}
    world.write(module, "def count(text, stop):\n    return 9\n");
    asked.press("y\n");
    assert_eq!(asked.end(), 4, "it was signed");
    assert!(world.read(file) == before, "it was signed");
}

#[test]
fn l03_all_takes_what_is_yours_or_unsigned_and_names_what_others_signed() {
    let world = World::new();
    let bob = stranger(1);
    trust(&world, &bob, &["--owner", "bob"]);
    let theirs = put(&world, &bob, ".ai/tools/acme/theirs.sh", MARKER_SH);
    world.works("tool:acme/theirs");
    world.signed(MARK_FILE, MARKER_SH);
    world.write(MARK_FILE, [&world.read(MARK_FILE)[..], b"# mine\n"].concat());
    world.write(".ai/tools/acme/fresh.sh", MARKER_SH);
    let damaged = String::from_utf8(fs::read(&theirs).unwrap()).unwrap().replace(" key=", " kee=");
    let damaged_file = world.write(".ai/tools/acme/damaged.sh", &damaged);
    let bytes = fs::read(&theirs).unwrap();
    for all in [&["sign", "--all"][..], &["sign", "tool:**"]] {
        let (status, said) = world.json(&[all, &["--check"]].concat());
        assert_eq!(
            (status, &said["changed"], &said["passed_over"]),
            (4, &json!(2), &json!(2)),
            "{said}"
        );
        assert_eq!(row(&said, "tool:acme/theirs")["signer"]["owner"], "bob", "{said}");
        assert_eq!(row(&said, "tool:acme/damaged")["why"], "unclear", "{said}");
    }
    let said = world.rye(&["sign", "--all"]).ok();
    let named = "passed over  1 item that others signed and that is as signed";
    assert!(said.stdout.contains(named), "{said:?}");
    assert!(said.stdout.contains("2 signed, 0 up to date, 2 passed over, 0 failed"), "{said:?}");
    assert_eq!(fs::read(&theirs).unwrap(), bytes);
    assert_eq!(fs::read_to_string(&damaged_file).unwrap(), damaged);
    // What your key before this one signed is yours, unless you revoked it.
    world.rye(&["keys", "rotate"]).ok();
    let (_, said) = world.json(&["sign", "--all", "--check"]);
    assert_eq!(row(&said, MARK)["status"], "would_sign", "{said}");
    // By its name it is signed, and it is said in whose place.
    world.rye(&["sign", "acme/theirs"]).ok().shows("in the place of the signature of `bob`");
    // With the rest it is signed where its signature does not count, and was asked for.
    fs::write(&theirs, &bytes).unwrap();
    let (status, said) = world.json(&["sign", "--all", "--others"]);
    assert_eq!(row(&said, "tool:acme/theirs")["status"], "passed_over", "{said}");
    assert_eq!((status, &said["passed_over"]), (0, &json!(1)), "{said}");
    assert_eq!(fs::read(&theirs).unwrap(), bytes, "bob's signature is good");
    world.rye(&["trust", "remove", &fingerprint(&bob)]).ok();
    let (status, said) = world.json(&["sign", "--all", "--others"]);
    assert_eq!(row(&said, "tool:acme/theirs")["status"], "signed", "{said}");
    assert_eq!((status, &said["passed_over"]), (0, &json!(0)), "{said}");
}

#[test]
fn what_others_signed_and_was_changed_since_is_named_with_the_command_that_signs_just_that() {
    let world = World::new();
    let bob = stranger(1);
    trust(&world, &bob, &["--owner", "bob"]);
    for name in ["one", "two", "three", "four"] {
        let file = format!(".ai/tools/acme/{name}.sh");
        put(&world, &bob, &file, MARKER_SH);
        world.works(&format!("tool:acme/{name}"));
    }
    for name in ["one", "two"] {
        let file = format!(".ai/tools/acme/{name}.sh");
        world.write(&file, [&world.read(&file)[..], b"# mine\n"].concat());
    }
    let before = world.read(".ai/tools/acme/three.sh");
    let said = world.rye(&["sign", "."]).ok();
    for part in [
        "passed over  tool:acme/one  changed since `bob` ",
        "passed over  2 items that others signed and that are as signed\n",
        "`rye diff tool:acme/one tool:acme/two`",
        "`rye sign tool:acme/one tool:acme/two`",
        "0 signed, 0 up to date, 4 passed over, 0 failed",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    assert!(!said.stdout.contains("tool:acme/three"), "{said:?}");
    let (_, got) = world.json(&["sign", "."]);
    assert_eq!(row(&got, "tool:acme/one")["why"], "altered", "{got}");
    assert_eq!(row(&got, "tool:acme/three")["why"], "others", "{got}");
    // What was changed is taken, what is good as it is is not.
    world.rye(&["sign", ".", "--others"]).shows("2 signed, 0 up to date, 2 passed over");
    assert!(world.read(".ai/tools/acme/three.sh") == before, "bob's signature is good");
    world.works("tool:acme/two");
}

#[test]
fn l03_what_a_revoked_key_of_yours_signed_is_not_signed_again_with_the_rest() {
    let world = World::new().with(MARK_FILE, MARKER_SH);
    let old = fingerprint(&world.own_key());
    world.rye(&["keys", "rotate"]).ok();
    world.rye(&["trust", "revoke", &old]).ok();
    let bytes = world.read(MARK_FILE);
    let (_, said) = world.json(&["sign", "--all"]);
    assert_eq!(row(&said, MARK)["status"], "passed_over", "{said}");
    assert!(world.read(MARK_FILE) == bytes, "a thief may have signed it");
    world.rye(&["sign", MARK]).ok();
    world.works(MARK);
}

#[test]
fn l03_what_dev_holds_back_is_not_signed_by_all() {
    let world = crate::dev::world();
    let mut dev = crate::dev::rules::session(&world, &[]);
    let (fresh, file) = ("tool:acme/fresh", ".ai/tools/acme/fresh.sh");
    world.write(file, says("fresh"));
    dev.about("waits", fresh);
    let bytes = world.read(file);
    // Also once the session is gone, however it ended.
    for _ in 0..2 {
        for all in [&["sign", "--all", "--json"][..], &["sign", "--all", "--others", "--json"]] {
            let said = world.rye(all).json();
            assert_eq!(row(&said, fresh)["why"], "held_back", "{said}");
            assert!(world.read(file) == bytes, "it was signed");
        }
        dev.signal(rustix::process::Signal::KILL);
    }
    world.rye(&["sign", "--all"]).shows("held back by `rye dev`");
    // By its name it is signed, and then it is yours like any other.
    world.rye(&["sign", fresh]).ok();
    crate::dev::edit(&world, file, "fresh", "later");
    let said = world.rye(&["sign", "--all", "--json"]).json();
    assert_eq!(row(&said, fresh)["status"], "signed", "{said}");
}

#[test]
fn l03_a_diff_shows_the_lines_of_changed_and_planted_files() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let folder = ".ai/tools/acme/words/lib";
    world.write(&format!("{folder}/words.py"), "def count(text, stop):\n    return evil(text)\n");
    world.write(&format!("{folder}/planted.py"), "import planted\n");
    fs::remove_file(world.project().join(folder).join("deep/more.py")).unwrap();
    let said = world.rye(&["diff", COUNT, "--color", "never"]).ok();
    for line in [
        "-    return len([w for w in text.split() if w not in stop])",
        "+    return evil(text)",
        "+import planted",
        "-def shout(text):",
    ] {
        assert!(said.stdout.lines().any(|shown| shown == line), "{line}: {}", said.stdout);
    }
    let (_, said) = world.json(&["diff", COUNT]);
    assert!(said["diff"].as_str().unwrap().contains("+    return evil(text)"), "{said}");
    assert_eq!(said["changed"], true);
    // Where what they were is not kept, they are shown whole.
    let all = walkdir::WalkDir::new(world.home().join(".ai/state/items")).into_iter().flatten();
    let kept: Vec<_> = all.filter(|entry| entry.file_name() == "files").collect();
    assert_eq!(kept.len(), 1);
    for folder in kept {
        fs::remove_dir_all(folder.path()).unwrap();
    }
    let said = world.rye(&["diff", COUNT, "--color", "never"]);
    for line in ["+def count(text, stop):", "+    return evil(text)", "+import planted"] {
        assert!(said.stdout.lines().any(|shown| shown == line), "{line}: {}", said.stdout);
    }
    {
        let world = World::new().with(MARK_FILE, MARKER_SH);
        world.works(MARK);
        let text = String::from_utf8(world.read(MARK_FILE)).unwrap();
        world.write(MARK_FILE, text.replace(": > marker\n", ": > marker\r\n"));
        let said = world.rye(&["diff", MARK, "--color", "never"]);
        let has = |line: &str| said.stdout.lines().any(|shown| shown == line);
        assert!(has("-: > marker") && has("+: > marker\\u{d}"), "{said:?}");
    }
}

#[test]
fn l03_a_diff_is_made_of_kept_files_that_are_what_was_verified() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let module = ".ai/tools/acme/words/lib/words.py";
    let was = sha256(&world.read(module));
    let evil = "def count(text, stop):\n    return evil(text)\n";
    world.write(module, evil);
    let all = walkdir::WalkDir::new(world.home().join(".ai/state/items")).into_iter().flatten();
    let kept: Vec<_> = all.filter(|entry| entry.file_name() == was.as_str()).collect();
    assert_eq!(kept.len(), 1);
    // Whatever was put there is not what the version listed.
    fs::write(kept[0].path(), evil).unwrap();
    let said = world.rye(&["diff", COUNT, "--color", "never"]);
    assert!(said.stdout.lines().any(|line| line == "+    return evil(text)"), "{said:?}");
}
