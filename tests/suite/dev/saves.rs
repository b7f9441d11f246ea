//! Saves: none missed, none run twice, whatever the editor does.

use std::fs;
use std::io::Write;
use std::sync::Barrier;

use serde_json::Value;

use super::{
    Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, admitted, by_rename, edit, reword, reworded, says,
    signer, word, world,
};
use crate::files::{COUNT, counts, package};
use crate::world::World;

/// How an editor writes a file.
type Save<'a> = &'a dyn Fn(&[u8]);

/// The words that the tool said, in order.
fn words(dev: &Dev) -> Vec<String> {
    dev.all("ran").into_iter().map(word).collect()
}

#[test]
fn each_save_is_shown_signed_and_run_once_however_the_editor_writes() {
    let world = world();
    let own = signer(&world, SAY_FILE);
    let mut dev = Dev::start(&world, &[SAY]);
    let key = dev.seen[0]["dev_key"].as_str().unwrap().to_owned();
    assert_eq!(dev.ran(), "first");
    let path = world.project().join(SAY_FILE);
    let ways: [(&str, Save<'_>); 4] = [
        ("in place", &|bytes| drop(world.write(SAY_FILE, bytes))),
        ("by rename", &|bytes| by_rename(&world, SAY_FILE, bytes)),
        ("removed and made", &|bytes| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }),
        ("in pieces", &|bytes| {
            let mut file = fs::File::create(&path).unwrap();
            for piece in bytes.chunks(64) {
                file.write_all(piece).unwrap();
                file.sync_all().unwrap();
            }
        }),
    ];
    let mut want = vec!["first".to_owned()];
    for round in 0..3 {
        for (way, save) in &ways {
            let next = format!("{way} {round}");
            save(&reworded(&world, SAY_FILE, &next));
            let changed = dev.about("changed", SAY);
            let diff = changed["files"][0]["diff"].as_str().unwrap();
            assert!(diff.contains(&format!("+echo '{{\"said\": \"{next}\"}}'")), "{way}: {diff}");
            let before = want.last().unwrap();
            assert!(diff.contains(&format!("-echo '{{\"said\": \"{before}\"}}'")), "{way}: {diff}");
            dev.about("signed", SAY);
            assert_eq!(dev.ran(), next, "{way}");
            want.push(next);
        }
    }
    assert_eq!(signer(&world, SAY_FILE), key);
    assert_ne!(key, own);
    admitted(&world, SAY);
    // What comes last has seen everything before it.
    reword(&world, OTHER_FILE, "the end");
    dev.about("signed", OTHER);
    dev.ran();
    want.push(want.last().unwrap().clone());
    assert_eq!(words(&dev), want, "{:#?}", dev.seen);
}

#[test]
fn of_many_saves_at_once_the_last_one_runs_and_no_text_is_lost() {
    let world = world();
    let mut dev = Dev::start(&world, &[SAY]);
    assert_eq!(dev.ran(), "first");
    for round in 0..80 {
        let bytes = reworded(&world, SAY_FILE, &format!("save {round}"));
        match round % 2 {
            0 => drop(world.write(SAY_FILE, bytes)),
            _ => by_rename(&world, SAY_FILE, &bytes),
        }
    }
    dev.until_that(|event| event["event"] == "ran" && word(event) == "save 79");
    // One edit more: whatever is still to come of the others comes before it.
    reword(&world, SAY_FILE, "end");
    dev.until_that(|event| event["event"] == "ran" && word(event) == "end");
    let mut words = words(&dev);
    let count = words.len();
    words.dedup();
    assert_eq!(words.len(), count, "nothing runs twice: {words:?}");
    let text = String::from_utf8(world.read(SAY_FILE)).unwrap();
    assert!(text.ends_with("echo '{\"said\": \"end\"}'\n"), "{text}");
    world.works(SAY);
}

#[test]
fn two_editors_among_a_thousand_files() {
    let world = World::new();
    for n in 0..1000 {
        world.write(&format!(".ai/tools/many/f{}/t{n}.sh", n % 20), says(&format!("{n}")));
    }
    world.rye(&["sign", "--all"]).ok();
    let files = [".ai/tools/many/f3/t3.sh", ".ai/tools/many/f7/t27.sh"];
    let items = ["tool:many/f3/t3", "tool:many/f7/t27"];
    let mut dev = Dev::start(&world, &[items[0]]);
    assert_eq!((&dev.seen[0]["items"], &dev.seen[0]["unsigned"]), (&1000.into(), &0.into()));
    assert_eq!(dev.ran(), "3");
    let rounds = 6;
    for round in 0..rounds {
        let barrier = Barrier::new(2);
        let edited = files.map(|file| reworded(&world, file, &format!("round {round}")));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                world.write(files[0], &edited[0]);
            });
            scope.spawn(|| {
                barrier.wait();
                by_rename(&world, files[1], &edited[1]);
            });
        });
        let mut left = items.to_vec();
        while !left.is_empty() {
            let event = dev.until("signed");
            left.retain(|item| event["item_id"] != *item);
        }
        assert_eq!(dev.ran(), format!("round {round}"));
    }
    reword(&world, files[0], "end");
    dev.until_that(|event| event["event"] == "ran" && word(event) == "end");
    for item in items {
        let signed = dev.all("signed").into_iter().filter(|e| e["item_id"] == item).count();
        let want = rounds + usize::from(item == items[0]);
        assert_eq!(signed, want, "{item}: {:#?}", dev.all("signed"));
    }
    // One run for each look that signed something: at most one for each signature, and the first.
    let (runs, signed) = (dev.all("ran").len(), dev.all("signed").len());
    assert!((rounds + 2..=signed + 1).contains(&runs), "{runs} runs, {signed} signed");
}

#[test]
fn what_lies_in_a_new_folder_is_seen() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    for n in 0..5 {
        world.write(&format!(".ai/tools/fresh{n}/deep/er/tool.sh"), says("new"));
        let waits = dev.about("waits", &format!("tool:fresh{n}/deep/er/tool"));
        assert_eq!(waits["why"], serde_json::json!(["new"]));
    }
    // And further on, in a folder that was not there at the start.
    world.rye(&["sign", "fresh0/deep/er/tool"]).ok();
    dev.about("admitted", "tool:fresh0/deep/er/tool");
    reword(&world, ".ai/tools/fresh0/deep/er/tool.sh", "changed");
    dev.about("signed", "tool:fresh0/deep/er/tool");
}

#[test]
fn a_file_beside_a_tool_signs_the_tool_again() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let mut dev = Dev::start(&world, &[COUNT, "-i", "text=the big world"]);
    assert_eq!(dev.until("ran")["report"]["data"]["count"], 2);
    let lib = ".ai/tools/acme/words/lib/words.py";
    edit(&world, lib, "return len(", "return 10 + len(");
    let changed = dev.about("changed", COUNT);
    assert_eq!(changed["files"][0]["path"], "lib/words.py");
    assert!(changed["files"][0]["diff"].as_str().unwrap().contains("+    return 10 + len("));
    dev.about("signed", COUNT);
    assert_eq!(dev.until("ran")["report"]["data"]["count"], 12);
    // One that was not listed is another list, which a person looks at.
    world.write(".ai/tools/acme/words/lib/more.py", "x = 1\n");
    let waits = dev.about("waits", COUNT);
    assert_eq!(waits["why"], serde_json::json!(["field:files"]));
}

#[test]
fn hidden_text_in_a_file_beside_a_tool_waits() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let mut dev = Dev::start(&world, &[]);
    let lib = ".ai/tools/acme/words/lib/words.py";
    edit(&world, lib, "return len(", "return 10 + len(");
    dev.about("signed", COUNT);
    // The first unfit character is one that shows; the one that hides comes after it.
    edit(&world, lib, "return 10", "return 1 # \u{c} \u{202e}0\n    return 10");
    let refused = dev.about("refused", COUNT).to_string();
    assert!(refused.contains("lib/words.py"), "{refused}");
    world.refused(COUNT, "verify.dependency", 4);
    // No other signature covers it either.
    assert_eq!(world.rye(&["sign", COUNT]).code(), "sign.invalid");
}

#[test]
fn a_file_beside_a_tool_that_is_not_text_waits() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    let data = ".ai/tools/acme/words/data/stop.json";
    let mut dev = Dev::start(&world, &[]);
    edit(&world, data, "the", "a");
    dev.about("signed", COUNT);
    // As it is changed, and as it is planted.
    for path in [data, ".ai/tools/acme/words/data/planted.json"] {
        world.write(path, b"[\"the\"]\n\xff");
        let waits = dev.about("waits", COUNT);
        let why = waits["why"].as_array().unwrap();
        assert!(why.contains(&"invisible_text".into()), "{waits}");
        let name = path.rsplit_once('/').unwrap().1;
        let said = waits["reasons"].to_string();
        assert!(said.contains(name) && said.contains("is not text"), "{waits}");
        assert_eq!(world.rye(&["verify", COUNT]).code(), "verify.dependency");
        world.rye(&["sign", COUNT]).ok();
        dev.about("admitted", COUNT);
    }
    // What you signed is known, and is no reason any more.
    edit(&world, ".ai/tools/acme/words/lib/deep/more.py", "upper()", "lower()");
    assert_eq!(dev.about("signed", COUNT)["asked"], false);
}

#[test]
fn a_file_beside_a_tool_that_was_changed_before_the_session_is_shown() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    counts(&world);
    edit(&world, ".ai/tools/acme/words/lib/words.py", "return len(", "return 10 + len(");
    let mut dev = Dev::at_terminal(&world, &[COUNT, "-i", "text=the big world"]);
    let changed = dev.about("changed", COUNT);
    let files = changed["files"].as_array().unwrap();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["lib/words.py"], "{changed}");
    let diff = files[0]["diff"].as_str().unwrap();
    assert!(diff.contains("-    return len(") && diff.contains("+    return 10 + len("), "{diff}");
}

#[test]
fn what_cannot_be_signed_is_said_and_the_next_save_mends_it() {
    let world = world();
    let mut dev = Dev::start(&world, &[SAY]);
    assert_eq!(dev.ran(), "first");
    let good = world.read(SAY_FILE);
    edit(&world, SAY_FILE, "# version = \"1.0.0\"", "# version = [");
    let refused = dev.about("refused", SAY);
    assert_eq!(refused["code"], "parse.toml", "{refused}");
    let help = refused["help"].as_str().unwrap();
    assert_eq!(help, "mend the file and save it; see `rye explain parse.toml`");
    world.write(SAY_FILE, &good);
    dev.about("admitted", SAY);
    reword(&world, SAY_FILE, "mended");
    dev.about("signed", SAY);
    assert_eq!(dev.until_that(|e| e["event"] == "ran" && word(e) != "first")["item_id"], SAY);
}

#[test]
fn what_is_removed_is_gone_and_what_is_signed_elsewhere_runs() {
    let world = world();
    let mut dev = Dev::start(&world, &[SAY]);
    assert_eq!(dev.ran(), "first");
    fs::remove_file(world.project().join(OTHER_FILE)).unwrap();
    dev.about("gone", OTHER);
    // Back again it is new.
    world.write(OTHER_FILE, says("other"));
    assert_eq!(dev.about("waits", OTHER)["why"], serde_json::json!(["new"]));
    world.rye(&["sign", OTHER]).ok();
    let admitted = dev.about("admitted", OTHER);
    assert_eq!(admitted["by"], "you");
    assert_eq!(dev.ran(), "first");
    assert!(dev.all("signed").is_empty(), "{:#?}", dev.seen);
}

#[test]
fn a_dry_run_starts_nothing_and_shows_the_plan() {
    let world = world();
    let mut dev = Dev::start(&world, &[SAY, "--dry-run"]);
    let plan = |event: &Value| event["report"]["status"].as_str().unwrap_or_default().to_owned();
    assert_eq!(plan(&dev.until("ran")), "validation_passed");
    edit(&world, SAY_FILE, "echo '{", ": > marker; echo '{");
    dev.about("signed", SAY);
    assert_eq!(plan(&dev.until("ran")), "validation_passed");
    assert!(!world.project().join("marker").exists());
}
