//! The way to a signature: shown, asked, and only then.

use std::fs;

use serde_json::{Value, json};

use super::editor::{Editor, codes};
use crate::files::{COUNT, counts, package};
use crate::world::{MARKER_PY, World};

const COUNT_FILE: &str = ".ai/tools/acme/words/count.py";
const WORDS: &str = ".ai/tools/acme/words/lib/words.py";

fn actions() -> Value {
    json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}})
}

/// A signed tool that was changed and saved, open in an editor.
fn altered(world: &World, capabilities: &Value) -> (Editor, std::path::PathBuf, String) {
    let path = world.signed_by_rye(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(world, capabilities);
    assert_eq!(editor.open(&path), Vec::<Value>::new(), "the fixture itself is good");
    let text = format!("{}added = 1\n", fs::read_to_string(&path).unwrap());
    editor.change(&path, &text);
    let said = editor.save(&path, &text);
    assert_eq!(codes(&said)[0].0, "verify.altered");
    (editor, path, text)
}

#[test]
fn signing_shows_the_change_and_waits_for_the_answer() {
    let world = World::new();
    let (mut editor, path, text) = altered(&world, &actions());
    let offered = editor.actions(&path, 0, 3);
    let titles: Vec<_> = offered.iter().map(|action| action["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Sign `tool:acme/x` …", "Show what changed in `tool:acme/x`"]);
    let command = &offered[0]["command"];
    let answer = editor.ask("workspace/executeCommand", command);
    assert!(answer["result"]["diff"].as_str().unwrap().contains("+added = 1\n"), "{answer}");
    let question = editor.next("window/showMessageRequest");
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(
        asked.starts_with("Sign `tool:acme/x`, sha256 ") && asked.contains("\n+added = 1\n"),
        "{asked}"
    );
    assert_eq!(question["params"]["actions"], json!([{"title": "Sign"}, {"title": "Cancel"}]));
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing is signed before the answer");
    editor.reply(&question, &json!({"title": "Sign"}));
    let told = editor.next("window/showMessage");
    assert_eq!(told["params"], json!({"type": 3, "message": "signed `tool:acme/x`"}));
    let signed = fs::read_to_string(&path).unwrap();
    world.rye(&["verify", "tool:acme/x"]).ok();
    assert_eq!(signed.split_once('\n').unwrap().1, text.split_once('\n').unwrap().1);
    // The editor reads the file again.
    assert_eq!(codes(&editor.said(&path)), [("verify.altered".to_owned(), 4)], "its text is older");
    assert_eq!(editor.change(&path, &signed), Vec::<Value>::new());
    editor.bye();
}

#[test]
fn an_editor_that_opens_files_is_shown_the_change_in_one() {
    let world = World::new();
    let mut capabilities = actions();
    capabilities["window"] = json!({"showDocument": {"support": true}});
    let (mut editor, path, _) = altered(&world, &capabilities);
    editor.command("rye.sign", &path);
    let shown = editor.next("window/showDocument");
    let file = shown["params"]["uri"].as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    assert_eq!(std::path::Path::new(&file).extension().unwrap(), "diff");
    assert!(fs::read_to_string(&file).unwrap().contains("\n+added = 1\n"));
    editor.reply(&shown, &json!({"success": true}));
    let question = editor.next("window/showMessageRequest");
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(asked.ends_with("You are shown what changed since it was last verified."), "{asked}");
    editor.reply(&question, &json!({"title": "Sign"}));
    editor.next("window/showMessage");
    world.rye(&["verify", "tool:acme/x"]).ok();
    // Showing alone asks nothing; an editor that could not open the file is asked with the change.
    world.write(".ai/tools/acme/x.py", fs::read_to_string(&path).unwrap() + "more = 2\n");
    let now = fs::read_to_string(&path).unwrap();
    editor.change(&path, &now);
    editor.command("rye.showDiff", &path);
    let shown = editor.next("window/showDocument");
    editor.reply(&shown, &json!({"success": true}));
    editor.command("rye.sign", &path);
    let shown = editor.next("window/showDocument");
    editor.reply(&shown, &json!({"success": false}));
    let question = editor.next("window/showMessageRequest");
    assert!(
        question["params"]["message"].as_str().unwrap().contains("\n+more = 2\n"),
        "{question}"
    );
    assert_eq!(editor.bye().status, Some(0));
    assert!(!std::path::Path::new(&file).exists(), "nothing is left behind");
}

#[test]
fn every_other_answer_signs_nothing() {
    let world = World::new();
    let (mut editor, path, text) = altered(&world, &actions());
    for answer in [json!({"title": "Cancel"}), Value::Null, json!({"title": "sign"}), json!("Sign")]
    {
        editor.command("rye.sign", &path);
        let question = editor.next("window/showMessageRequest");
        editor.reply(&question, &answer);
        // One question has one answer.
        editor.reply(&question, &json!({"title": "Sign"}));
    }
    // Nor does an answer to what was never asked, and an error.
    editor.reply(&json!({"id": 99}), &json!({"title": "Sign"}));
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    let error = json!({"code": -32603, "message": "no"});
    editor.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
    assert_eq!(editor.bye().status, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn of_many_questions_only_the_last_ones_are_still_open() {
    let world = World::new();
    let (mut editor, path, text) = altered(&world, &actions());
    let questions: Vec<Value> = (0..17)
        .map(|_| {
            editor.command("rye.sign", &path);
            editor.next("window/showMessageRequest")
        })
        .collect();
    editor.reply(&questions[0], &json!({"title": "Sign"}));
    // A round trip, so that whatever the answer led to has happened.
    editor.at("textDocument/hover", &path, 0, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "the first was given up");
    editor.reply(&questions[1], &json!({"title": "Sign"}));
    editor.next("window/showMessage");
    assert_ne!(fs::read_to_string(&path).unwrap(), text);
    editor.bye();
}

#[test]
fn what_was_changed_since_it_was_shown_is_not_signed() {
    let world = World::new();
    let (mut editor, path, text) = altered(&world, &actions());
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    let swapped = format!("{text}swapped = 2\n");
    fs::write(&path, &swapped).unwrap();
    editor.reply(&question, &json!({"title": "Sign"}));
    let told = editor.next("window/showMessage");
    assert_eq!(
        told["params"]["message"],
        "`tool:acme/x` was changed since it was shown, so nothing was signed"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), swapped);
    editor.bye();
}

/// A signed tool of several files, one of them changed, and the question about it.
fn module_changed(world: &World) -> (Editor, String, Value) {
    package(world);
    world.rye(&["sign", COUNT]).ok();
    counts(world);
    let words = String::from_utf8(world.read(WORDS)).unwrap();
    let changed = words.replace("return len(", "return 10 + len(");
    world.write(WORDS, &changed);
    let path = world.project().join(COUNT_FILE);
    let mut editor = Editor::new(world, &actions());
    editor.open(&path);
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    (editor, changed, question)
}

#[test]
fn a_changed_file_beside_a_tool_is_shown_and_signed_with_it() {
    let world = World::new();
    let (mut editor, changed, question) = module_changed(&world);
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(asked.contains("`lib/words.py` was changed\n"), "{asked}");
    let last = changed.lines().last().unwrap();
    assert!(asked.contains("\n-    return len(["), "{asked}");
    assert!(asked.contains(&format!("\n+{last}\n")), "{last}: {asked}");
    assert!(!asked.contains("def shout"), "what was signed before is not shown: {asked}");
    editor.reply(&question, &json!({"title": "Sign"}));
    let told = editor.next("window/showMessage");
    assert_eq!(told["params"]["message"], format!("signed `{COUNT}`"));
    editor.bye();
    let signed = String::from_utf8(world.read(COUNT_FILE)).unwrap();
    let digest = asked.split_once("sha256 ").unwrap().1.split_once('…').unwrap().0;
    assert!(signed.contains(&format!(" sha256={digest}")), "the digest of the question: {asked}");
    let (_, got) = world.json(&["execute", COUNT, "-i", "text=the big world"]);
    assert_eq!(got["data"]["count"], 12, "{got}");
}

#[test]
fn a_file_beside_a_tool_that_is_swapped_after_the_question_is_not_signed() {
    for swapped in [WORDS, ".ai/tools/acme/words/lib/more.py"] {
        let world = World::new();
        let (mut editor, _, question) = module_changed(&world);
        let before = world.read(COUNT_FILE);
        world.write(swapped, "def count(text, stop):\n    return 666\n");
        editor.reply(&question, &json!({"title": "Sign"}));
        let told = editor.next("window/showMessage");
        assert_eq!(
            told["params"]["message"],
            format!("`{COUNT}` was changed since it was shown, so nothing was signed")
        );
        editor.bye();
        assert_eq!(world.read(COUNT_FILE), before, "{swapped}");
        world.refused(COUNT, "verify.dependency", 4);
    }
}

#[test]
fn every_file_of_a_new_tool_is_shown() {
    let world = World::new();
    package(&world);
    let path = world.project().join(COUNT_FILE);
    let mut editor = Editor::new(&world, &actions());
    editor.open(&path);
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    let asked = question["params"]["message"].as_str().unwrap();
    for text in
        ["+    return len([w for", "+def shout(text):", "+[\"the\"]", "`lib/__init__.py` is not"]
    {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    editor.reply(&question, &json!({"title": "Sign"}));
    editor.next("window/showMessage");
    editor.bye();
    counts(&world);
}

#[test]
fn what_is_not_saved_or_does_not_validate_is_not_signed() {
    let world = World::new();
    let (mut editor, path, text) = altered(&world, &actions());
    editor.change(&path, &format!("{text}x = 2\n"));
    let answer = editor.command("rye.sign", &path);
    assert!(
        answer["error"]["message"].as_str().unwrap().starts_with("save the file first"),
        "{answer}"
    );
    let broken = text.replace("__version__ = \"1.0.0\"", "__version__ = \"one\"");
    editor.change(&path, &broken);
    editor.save(&path, &broken);
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    editor.reply(&question, &json!({"title": "Sign"}));
    let told = editor.next("window/showMessage");
    assert!(told["params"]["message"].as_str().unwrap().starts_with("sign.invalid: "), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    editor.bye();
}

#[test]
fn a_file_without_a_verified_version_is_shown_whole() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/new.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    editor.open(&path);
    // An editor that knows commands alone is given those.
    let offered = editor.actions(&path, 0, 0);
    assert_eq!(offered[0]["command"], "rye.sign", "{offered:?}");
    editor.command("rye.sign", &path);
    let question = editor.next("window/showMessageRequest");
    let asked = question["params"]["message"].as_str().unwrap();
    assert!(asked.contains("no verified version of it is known"), "{asked}");
    for line in MARKER_PY.lines() {
        assert!(asked.contains(&format!("\n+{line}\n")), "{line}");
    }
    editor.bye();
}

#[test]
fn a_change_that_nobody_could_read_in_a_question_is_not_asked_about() {
    let world = World::new();
    let long = format!("{MARKER_PY}{}", "x = 1\n".repeat(4000));
    let path = world.write(".ai/tools/acme/new.py", &long);
    let mut editor = Editor::new(&world, &json!({}));
    editor.open(&path);
    editor.command("rye.sign", &path);
    let told = editor.next("window/showMessage");
    assert!(
        told["params"]["message"].as_str().unwrap().contains("`rye diff tool:acme/new`"),
        "{told}"
    );
    editor.bye();
    assert_eq!(fs::read_to_string(&path).unwrap(), long);
}

#[test]
fn a_project_that_is_not_accepted_is_read_and_never_signed_into() {
    let world = World::new();
    let path = world.signed(".ai/tools/acme/x.py", MARKER_PY);
    world.works("tool:acme/x");
    // Another folder at the same path is another project.
    let clone = world.outside().join("clone");
    fs::create_dir_all(clone.join(".ai/tools/acme")).unwrap();
    let copy = clone.join(".ai/tools/acme/x.py");
    fs::copy(&path, &copy).unwrap();
    fs::write(clone.join(".env"), "X=1\n").unwrap();
    let mut editor = Editor::new(&world, &actions());
    let said = editor.open(&copy);
    assert_eq!(codes(&said), [("verify.project_not_accepted".to_owned(), 1)], "{said:?}");
    assert!(editor.actions(&copy, 0, 0).is_empty());
    let before = fs::read(&copy).unwrap();
    let answer = editor.command("rye.sign", &copy);
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(
        why.starts_with("verify.project_not_accepted: ") && why.contains("rye trust review"),
        "{why}"
    );
    // An unsigned file there as well.
    let new = clone.join(".ai/tools/acme/new.py");
    fs::write(&new, MARKER_PY).unwrap();
    editor.open(&new);
    let answer = editor.command("rye.sign", &new);
    assert!(
        answer["error"]["message"].as_str().unwrap().starts_with("verify.project_not_accepted"),
        "{answer}"
    );
    editor.bye();
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert_eq!(fs::read_to_string(&new).unwrap(), MARKER_PY);
    let said = world.rye_in(&clone, &["execute", "tool:acme/x", "--json"], b"");
    assert_eq!(said.code(), "verify.project_not_accepted", "it is no more accepted than before");
}

#[test]
fn what_rye_runs_cannot_say_yes_to_itself() {
    let world = World::new().env("RYE_RUN_ID", "run-of-a-test");
    let path = world.write(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(codes(&editor.open(&path)), [("verify.unsigned".to_owned(), 1)], "it may look");
    let answer = editor.command("rye.sign", &path);
    let why = answer["error"]["message"].as_str().unwrap();
    assert!(why.starts_with("the editor was started by a program that rye runs"), "{why}");
    editor.bye();
    assert_eq!(fs::read_to_string(&path).unwrap(), MARKER_PY);
}
