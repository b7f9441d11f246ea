//! What a record proves beside its lines: the files that it names, and whose keys signed it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::async_runs::tool;
use crate::threads::{
    ONLY_ECHO, call, directive, events, fork, hand_over, rows, transcript, world,
};
use crate::world::wait::until;
use crate::world::{End, World, fingerprint, sha256};

/// A thread that is over, one of whose results was too long for its model.
fn with_a_blob() -> (World, String) {
    let turns = json!([call("acme_echo", &json!({})), hand_over(), hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let long = "printf '\"'; head -c 60000 /dev/zero | tr '\\0' x; printf '\"\\n'\n";
    world.signed(".ai/tools/acme/echo.sh", &tool(long));
    let told = fork(&world, &[]).ok();
    (world, told["thread_id"].as_str().unwrap().to_owned())
}

/// Objects with keys that the library for JSON takes for its own, and a deep one.
pub fn odd_objects() -> [String; 4] {
    [
        r#"{"$serde_json::private::Number":"17"}"#.into(),
        r#"{"$serde_json::private::RawValue":"[1]"}"#.into(),
        r#"{"$serde_json::private::RawValue":"nonsense"}"#.into(),
        "{\"a\":".repeat(62) + "{}" + &"}".repeat(62),
    ]
}

#[test]
fn what_a_model_hands_over_is_told_and_read_from_its_record_as_it_was_whatever_its_keys_are() {
    for object in odd_objects() {
        let arguments = format!("{{\"o\":{object}}}");
        let hands_over = call("directive_return", &json!(arguments));
        let turns = json!([hands_over, hands_over]);
        let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
        let text = directive("go", "turns=\"9\"", ONLY_ECHO);
        let text = text.replace("name=\"n\" type=\"integer\"", "name=\"o\" type=\"object\"");
        world.signed(".ai/directives/acme/go.md", &text);
        // These tests read JSON with that library too, so the text is looked at.
        let tells = |args: &[&str]| {
            let said = world.rye(args);
            assert_eq!(said.status, 0, "{args:?} {object}: {said:?}");
            let wanted = format!("\"outputs\":{arguments}");
            assert!(said.stdout.contains(&wanted), "{args:?} {wanted}: {said:?}");
        };
        tells(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let all = rows(&world);
        let id = all[0]["thread_id"].as_str().unwrap();
        tells(&["thread", "wait", id, "--json"]);
        tells(&["thread", "export", id]);
        tells(&["thread", "show", id, "--json"]);
        tells(&["thread", "tail", id, "--json"]);
        assert_eq!(verify(&world, id).0, 0, "{object}");
        // Whoever goes on with it reads it too.
        tells(&["thread", "resume", id, "again", "--json"]);
    }
}

fn verify(world: &World, id: &str) -> (i32, Value) {
    world.json(&["thread", "verify", id])
}

#[test]
fn verify_finds_a_blob_that_was_changed_or_taken_away_and_tells_of_files_that_nothing_names() {
    let (world, id) = with_a_blob();
    let event = &events(&world, &id, "tool_call_result")[0];
    let blob = event["blob"].as_str().unwrap();
    let folder = transcript(&world, &id).with_file_name("blobs");
    let path = folder.join(blob);
    let (status, told) = verify(&world, &id);
    assert_eq!(
        (status, &told["blobs"], &told["unproven_files"]),
        (0, &json!(1), &json!(0)),
        "{told}"
    );
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen('x', "y", 1)).unwrap();
    let found = |why: &str| {
        let told = verify(&world, &id).fails(4, "thread.record_invalid");
        assert!(told["error"].as_str().unwrap().contains(why), "{told}");
        let lines = fs::read_to_string(transcript(&world, &id)).unwrap();
        let line = usize::try_from(told["data"]["line"].as_u64().unwrap()).unwrap();
        assert!(lines.lines().nth(line - 1).unwrap().contains("tool_call_result"), "{told}");
        assert_eq!(told["data"]["blob"], blob, "{told}");
    };
    found("was changed");
    fs::remove_file(&path).unwrap();
    found("is missing");
    // Whoever goes on or hands it out relies on it too.
    for args in [vec!["thread", "export", &id], vec!["thread", "resume", &id, "again"]] {
        assert_eq!(world.json(&args).1["code"], "thread.record_invalid", "{args:?}");
    }
    fs::write(&path, &whole).unwrap();
    fs::write(folder.join("more"), "x").unwrap();
    let (status, told) = verify(&world, &id);
    assert_eq!(
        (status, &told["unproven_file_names"]),
        (0, &json!(["blobs/more"])),
        "it proves nothing of it: {told}"
    );
    let plain = world.rye(&["thread", "verify", &id]).stdout;
    let told = "\nnot proven: 1 file that the record does not name: `blobs/more`\n";
    assert!(plain.contains(told), "{plain}");
    // It is left behind where a thread is killed while its model speaks.
    let words = transcript(&world, &id).with_file_name("words");
    fs::write(words, "half an ans").unwrap();
    let plain = world.rye(&["thread", "verify", &id]).stdout;
    let told = "not proven: 2 files that the record does not name: `blobs/more`, `words` (what the \
                model was saying when its process ended)\n";
    assert!(plain.contains(told), "{plain}");
}

#[test]
fn a_key_that_was_replaced_counts_and_one_that_was_revoked_or_is_anothers_is_named() {
    let (world, id) = with_a_blob();
    let first = fingerprint(&world.own_key());
    assert_eq!(verify(&world, &id).1["signer"], json!(first));
    world.rye(&["keys", "rotate", "--yes"]).ok();
    let second = fingerprint(&world.own_key());
    assert_ne!(first, second);
    assert_eq!(verify(&world, &id).0, 0, "signed by the key before");
    // It goes on by the key of now, and both count.
    world.json(&["thread", "resume", &id, "once more"]).ok();
    assert_eq!(verify(&world, &id).ok()["signer"], json!(second));
    world.rye(&["trust", "revoke", &first, "--yes"]).ok();
    let told = verify(&world, &id).fails(4, "thread.key_revoked");
    assert_eq!(told["data"]["key"], json!(first), "{told}");
    let at = told["data"]["revoked_at"].as_str().unwrap();
    assert!(told["error"].as_str().unwrap().contains(at) && at.starts_with("20"), "{told}");
    world.rye(&["trust", "unrevoke", &first, "--yes"]).ok();
    assert_eq!(verify(&world, &id).0, 0, "as before");
    // The whole record of another person, put among these.
    let (theirs, other) = with_a_blob();
    let (from, to) = (transcript(&theirs, &other), transcript(&world, &other));
    fs::create_dir_all(to.with_file_name("blobs")).unwrap();
    fs::copy(&from, &to).unwrap();
    let (status, told) = verify(&world, &other);
    let key = json!(fingerprint(&theirs.own_key()));
    assert_eq!((status, &told["code"]), (4, &json!("thread.key_not_yours")), "{told}");
    let says = told["error"].as_str().unwrap();
    assert!(says.starts_with(&format!("the record of `{other}` cannot be relied on: ")), "{told}");
    assert_eq!(told["data"]["key"], key, "{told}");
    // While the key of now is revoked, nothing starts whose record would prove nothing.
    fs::remove_file(world.home().join(".ai/config/rye/policy.yaml")).unwrap();
    world.rye(&["trust", "revoke", &second, "--yes"]).ok();
    let shipped = ["execute", "rye/examples/research", "--thread", "fork", "-i", "topic=rye"];
    for more in [&[][..], &["--async"]] {
        let told = world.json(&[&shipped, more].concat()).fails(4, "thread.key_revoked");
        assert_eq!(told["data"]["key"], json!(second), "{told}");
    }
    assert_eq!(rows(&world).len(), 1);
}

#[test]
fn no_folder_on_the_way_to_a_record_is_a_link_but_the_root_of_a_space_may_be_one_table() {
    for link in ["state", "state/threads", "state/threads/acme", "state/threads/acme/go"] {
        let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
        let away = world.outside().join("away");
        let path = world.project().join(".ai").join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir(&away).unwrap();
        symlink(&away, &path).unwrap();
        for more in [&[][..], &["--async"], &["--dry-run"]] {
            let (status, told) = fork(&world, more);
            assert_eq!((status, &told["code"]), (6, &json!("thread.record_io")), "{link} {told}");
            assert!(told["error"].as_str().unwrap().contains("is a link"), "{told}");
        }
        assert_eq!(fs::read_dir(&away).unwrap().count(), 0, "{link}");
        assert_eq!(rows(&world), [Value::Null; 0], "{link}");
        fs::remove_file(&path).unwrap();
        assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    }
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    // Nor has one a name that no file system takes.
    let name = "n".repeat(220);
    let long = directive(&name, "turns=\"9\"", ONLY_ECHO);
    world.signed(&format!(".ai/directives/acme/{name}.md"), &long);
    let item = format!("directive:acme/{name}");
    world.json(&["execute", &item, "--thread", "fork"]).fails(6, "thread.record_io");
    assert_eq!(rows(&world), [Value::Null; 0]);
    let (root, away) = (world.home().join(".ai"), world.outside().join("dotfiles"));
    fs::rename(&root, &away).unwrap();
    symlink(&away, &root).unwrap();
    let bare = world.outside().join("bare");
    fs::create_dir(&bare).unwrap();
    let args = ["execute", "directive:rye/examples/research", "--thread", "fork", "-i", "topic=x"];
    let said = world.rye_in(&bare, &[&args[..], &["--json"]].concat(), b"").ok();
    assert_eq!(verify(&world, said.json()["thread_id"].as_str().unwrap()).0, 0);
    assert!(away.join("state/threads/rye").is_dir());
}

#[test]
fn the_record_of_a_moved_project_is_found_where_it_lies_now_and_only_if_it_is_the_newest() {
    let (world, id) = with_a_blob();
    let moved = world.outside().join("moved");
    let transcript_there = moved.join(".ai/state/threads").join(&id).join("transcript.jsonl");
    let old = transcript(&world, &id);
    let before = fs::read(&old).unwrap();
    assert_eq!(world.json(&["thread", "resume", &id, "once more"]).0, 0);
    fs::rename(world.project(), &moved).unwrap();
    fs::create_dir(world.project()).unwrap();
    let ask = |folder: &std::path::Path, args: &[&str]| {
        let said = world.rye_in(folder, &[args, &["--json"]].concat(), b"");
        let told = said.stdout.lines().last().unwrap_or_default();
        (said.status, serde_json::from_str::<Value>(told).unwrap_or_else(|_| panic!("{said:?}")))
    };
    let verbs: [&[&str]; 5] = [
        &["thread", "verify", &id],
        &["thread", "show", &id],
        &["thread", "wait", &id],
        &["thread", "export", &id],
        &["thread", "tail", &id],
    ];
    for verb in verbs.iter().chain([&["thread", "resume", &id, "and now"][..]].iter()) {
        let (status, told) = ask(&world.project(), verb);
        assert_eq!((status, &told["code"]), (6, &json!("thread.record_io")), "{verb:?} {told}");
        let error = told["error"].as_str().unwrap();
        assert!(error.contains("is not at") && error.contains(old.to_str().unwrap()), "{told}");
        assert!(told["help"].as_str().unwrap().contains("moved"), "{told}");
        assert!(!old.exists(), "nothing is made there");
    }
    for verb in verbs {
        let (status, told) = ask(&moved, verb);
        assert_eq!(status, 0, "{verb:?} {told}");
    }
    // An older state of it is not taken for it.
    let newest = fs::read(&transcript_there).unwrap();
    fs::write(&transcript_there, &before).unwrap();
    for verb in verbs {
        let (status, told) = ask(&moved, verb);
        assert_eq!(
            (status, &told["code"]),
            (4, &json!("thread.record_invalid")),
            "{verb:?} {told}"
        );
    }
    fs::write(&transcript_there, &newest).unwrap();
    // It goes on there, and is known to lie there from then on, wherever it is asked for.
    assert_eq!(world.rye_in(&moved, &["trust", "project", "--yes"], b"").status, 0);
    ask(&moved, &["thread", "resume", &id, "and now"]).ok();
    let told = ask(&world.project(), &["thread", "verify", &id]).ok();
    assert_eq!(told["transcript"], json!(transcript_there.to_str().unwrap()));
}

#[test]
fn what_a_thread_began_with_stands_signed_beside_its_record_table() {
    let (world, id) = with_a_blob();
    let path = transcript(&world, &id).with_file_name("thread.json");
    let text = fs::read_to_string(&path).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let began = &events(&world, &id, "thread_started")[0];
    for (name, want) in [
        ("version", json!(1)),
        ("thread_id", json!(id)),
        ("item_id", json!("directive:acme/go")),
        ("sha256", began["sha256"].clone()),
        ("parent", Value::Null),
        ("provider", json!("tool:acme/script")),
        ("provider_sha256", began["provider_sha256"].clone()),
        ("model", json!("m")),
        ("limits", began["limits"].clone()),
        ("permissions", began["permissions"].clone()),
        ("key", json!(fingerprint(&world.own_key()))),
    ] {
        assert_eq!(document[name], want, "{name}");
    }
    assert_eq!(document["_signature"]["keyid"], document["key"]);
    assert!(began["provider_sha256"].as_str().is_some_and(|it| it.len() == 64), "{began}");
    let (status, told) = world.json(&["thread", "export", &id]);
    assert_eq!((status, &told["export"]["thread"]), (0, &document));
    assert_eq!(verify(&world, &id).1["unproven_files"], json!(0));
    // It is a document of its own, whose signature is not that of a checkpoint.
    let (status, other) = fork(&world, &[]);
    let other = other["thread_id"].as_str().map(|id| transcript(&world, id));
    assert_eq!(status, 0);
    let copied = fs::read_to_string(other.unwrap().with_file_name("thread.json")).unwrap();
    let (theirs, foreign) = with_a_blob();
    let foreign = transcript(&theirs, &foreign).with_file_name("thread.json");
    let foreign = fs::read_to_string(foreign).unwrap();
    let sig = document["_signature"]["sig"].as_str().unwrap();
    let turned: String = sig[..80].chars().rev().chain(sig[80..].chars()).collect();
    for (text, code, why) in [
        (text.replace("acme.echo", "acme.*"), "thread.record_invalid", "not signed by its key"),
        (text.replace(sig, &turned), "thread.record_invalid", "thread.json"),
        (text.replace(',', ", "), "thread.record_invalid", "not as it was written"),
        (copied, "thread.record_invalid", "of another thread"),
        (foreign, "thread.key_not_yours", "is not yours"),
        (String::new(), "thread.record_invalid", "not as it was written"),
    ] {
        fs::write(&path, &text).unwrap();
        let (status, told) = verify(&world, &id);
        assert_eq!((status, &told["code"]), (4, &json!(code)), "{text} {told}");
        assert!(told["error"].as_str().unwrap().contains(why), "{why}: {told}");
    }
    fs::remove_file(&path).unwrap();
    let (_, told) = verify(&world, &id);
    assert!(told["error"].as_str().unwrap().contains("`thread.json` is missing"), "{told}");
    fs::write(&path, &text).unwrap();
    assert_eq!(verify(&world, &id).0, 0);
}

/// Everything in a folder, with what lies below it.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => copied(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Where the checkpoints stand.
fn checkpoints(lines: &[&str]) -> Vec<usize> {
    let all = lines.iter().enumerate().filter(|(_, line)| line.contains("payloadType"));
    all.map(|(at, _)| at).collect()
}

fn cut_to(lines: &[&str], checkpoint: usize) -> String {
    lines[..=checkpoints(lines)[checkpoint]].concat()
}

fn without(lines: &[&str], out: impl Fn(usize) -> bool) -> String {
    let left = lines.iter().enumerate().filter(|(at, _)| !out(*at));
    left.map(|(_, line)| *line).collect()
}

/// Whoever relies on a record is told the same as who verifies it.
#[test]
fn h05_a_record_without_checkpoints_cut_to_an_older_one_or_of_another_id_is_refused_table() {
    let (world, id) = with_a_blob();
    let path = transcript(&world, &id);
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    assert!(checkpoints(&lines).len() > 3, "{good}");
    let refused = |id: &str, what: &str, code: &str, why: &str| {
        let verbs = [&["verify", id][..], &["export", id], &["resume", id, "again"]];
        for verb in verbs {
            let (status, told) = world.json(&[&["thread"], verb].concat());
            assert_eq!((status, &told["code"]), (4, &json!(code)), "{what} {verb:?} {told}");
            assert!(told["error"].as_str().unwrap().contains(why), "{what} {verb:?} {told}");
        }
    };
    let all = checkpoints(&lines);
    for (what, text, why) in [
        ("all checkpoints stripped", without(&lines, |at| all.contains(&at)), "no checkpoint"),
        ("the last one stripped", without(&lines, |at| at == all[all.len() - 1]), "is missing"),
        ("nothing left", String::new(), "no checkpoint"),
        ("cut to the first checkpoint", cut_to(&lines, 0), "is missing"),
        ("cut to the second checkpoint", cut_to(&lines, 1), "is missing"),
        ("a line taken out", without(&lines, |at| at == 0), "other text"),
        ("a checkpoint taken out", without(&lines, |at| at == all[1]), "does not follow"),
    ] {
        fs::write(&path, text).unwrap();
        refused(&id, what, "thread.record_invalid", why);
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(verify(&world, &id).0, 0, "as before");
    // The whole folder under the id of another thread, whose own it replaces.
    let told = fork(&world, &[]).ok();
    let other = told["thread_id"].as_str().unwrap();
    let (from, to) = (path.parent().unwrap(), transcript(&world, other));
    let (to, kept) = (to.parent().unwrap(), world.outside().join("kept"));
    fs::rename(to, &kept).unwrap();
    copied(from, to);
    refused(other, "a whole record copied", "thread.record_invalid", "of another thread");
    fs::remove_dir_all(to).unwrap();
    copied(&kept, to);
    assert_eq!(verify(&world, other).0, 0, "its own is as good as before");
    // And under an id that no thread has.
    let none = format!("{}-01234567-89ab-7def-8000-000000000000", &id[..id.len() - 37]);
    copied(from, transcript(&world, &none).parent().unwrap());
    let (status, told) = verify(&world, &none);
    assert_eq!((status, &told["code"]), (4, &json!("thread.record_invalid")), "{told}");
    assert!(told["error"].as_str().unwrap().contains("of another thread"), "{told}");
    for verb in [&["export", &none][..], &["resume", &none, "again"]] {
        let (status, told) = world.json(&[&["thread"], verb].concat());
        assert!(status != 0, "{verb:?} {told}");
    }
}

/// A thread that was killed has no final checkpoint, so what is missing is what the registry knows.
#[test]
fn h05_the_record_of_a_killed_thread_that_is_cut_to_an_older_checkpoint_is_refused() {
    let turns = json!([call("acme_echo", &json!({})), call("acme_other", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", "<execute><tool>acme.*</tool></execute>");
    world.signed(".ai/tools/acme/other.sh", &tool("touch begun; sleep 300\n"));
    let mut child = world.start(&["execute", "directive:acme/go", "--thread", "fork"]);
    until("it is in its last call", || world.project().join("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let row = rows(&world).pop().unwrap();
    let id = row["thread_id"].as_str().unwrap();
    assert_eq!(verify(&world, id).0, 0, "the fixture works untouched");
    let path = transcript(&world, id);
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let last = checkpoints(&lines).len() - 1;
    assert!(last > 1, "{good}");
    for at in 0..last {
        fs::write(&path, cut_to(&lines, at)).unwrap();
        let (status, told) = verify(&world, id);
        assert_eq!((status, &told["code"]), (4, &json!("thread.record_invalid")), "{at}: {told}");
        let (status, told) = world.json(&["thread", "resume", id]);
        assert_eq!((status, &told["code"]), (4, &json!("thread.record_invalid")), "{at}: {told}");
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(verify(&world, id).0, 0);
}

/// The registry is read first, and a thread that runs writes on meanwhile.
#[test]
fn a_checkpoint_that_the_registry_knew_a_moment_ago_is_enough_while_a_thread_runs() {
    let mut turns: Vec<Value> = (0..4).map(|_| call("acme_echo", &json!({}))).collect();
    turns.push(call("acme_other", &json!({})));
    let world = world(&json!(turns), "turns=\"9\"", "<execute><tool>acme.*</tool></execute>");
    let slow = "touch begun; while ! test -e go; do sleep 0.1; done\n";
    world.signed(".ai/tools/acme/other.sh", &tool(slow));
    let told = fork(&world, &["--async"]).ok();
    let id = told["thread_id"].as_str().unwrap();
    until("it is in its last call", || world.project().join("begun").exists());
    let text = fs::read_to_string(transcript(&world, id)).unwrap();
    let lines = text.split_inclusive('\n').filter(|line| line.contains("payloadType"));
    let known: Vec<String> = lines.map(|line| sha256(line.as_bytes())).collect();
    assert!(known.len() > 3, "{text}");
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let knows = |digest: &str| {
        db.execute("UPDATE thread SET checkpoint = ?1", [digest]).unwrap();
        verify(&world, id)
    };
    for digest in &known {
        assert_eq!(knows(digest).ok()["checkpoints"], json!(known.len()));
    }
    knows(&sha256(b"another")).fails(4, "thread.record_invalid");
    knows(known.last().unwrap());
    assert_eq!(world.json(&["thread", "kill", id]).0, 0);
    // Once it is over, the newest one stands there.
    assert_eq!(knows(&known[0]).1["code"], "thread.record_invalid");
    assert_eq!(knows(known.last().unwrap()).0, 0);
}

/// What it signs while the registry cannot be written is not lost, and is no reason to doubt it.
#[test]
fn the_record_of_a_thread_that_could_not_reach_the_registry_holds_and_the_thread_goes_on() {
    let call_other = call("acme_other", &json!({}));
    let turns = json!([call("acme_echo", &json!({})), call_other, hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", "<execute><tool>acme.*</tool></execute>");
    let slow = "test -e went && exit; touch begun; while ! test -e go; do sleep 0.1; done; \
                touch went\n";
    world.signed(".ai/tools/acme/other.sh", &tool(slow));
    let told = fork(&world, &["--async"]).ok();
    let id = told["thread_id"].as_str().unwrap();
    until("it is in its second call", || world.project().join("begun").exists());
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let known = |db: &rusqlite::Connection| -> String {
        db.query_row("SELECT checkpoint FROM thread", [], |row| row.get(0)).unwrap()
    };
    let before = known(&db);
    // As a lock that somebody holds for too long, but at once.
    let refused = "BEFORE UPDATE OF checkpoint ON thread BEGIN SELECT RAISE(ABORT, 'busy'); END";
    db.execute_batch(&format!("CREATE TRIGGER refused {refused}")).unwrap();
    world.write("go", "");
    world.json(&["thread", "wait", id]).fails(6, "registry.io");
    assert_eq!(known(&db), before, "none was noted");
    db.execute_batch("DROP TRIGGER refused").unwrap();
    assert_eq!(verify(&world, id).ok()["final"], false);
    // Whoever goes on knows of all that was signed, however often that comes to nothing.
    db.execute_batch(&format!("CREATE TRIGGER refused {refused}")).unwrap();
    assert_ne!(world.json(&["thread", "resume", id]).0, 0);
    db.execute_batch("DROP TRIGGER refused").unwrap();
    assert_eq!(verify(&world, id).0, 0);
    assert_eq!(world.json(&["thread", "resume", id]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(verify(&world, id).ok()["final"], true);
    // One that was cut to what the registry did not know yet does not hold.
    let path = transcript(&world, id);
    let text = fs::read_to_string(&path).unwrap();
    let end = text.find("thread_resumed").unwrap();
    let end = text[..end].rfind('\n').unwrap() + 1;
    fs::write(&path, &text[..end]).unwrap();
    assert_eq!(verify(&world, id).1["code"], "thread.record_invalid");
}

/// Each thread is looked at once, however many there are.
#[test]
fn the_tree_of_eight_times_as_many_threads_takes_about_eight_times_as_long() {
    let (world, id) = with_a_blob();
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let of_run = "kind, item, base, state, asked_at, started_at";
    let of_thread = "provider, model, most_turns, most_tokens, most_spend, most_spawns, depth, \
                     grants";
    let n = "WITH RECURSIVE n (i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)";
    let runs = format!(
        "{n} INSERT INTO run (id, parent, {of_run})
         SELECT ?1 || i, ?1, {of_run} FROM n, run WHERE id = ?1"
    );
    let threads = format!(
        "{n} INSERT INTO thread (run, {of_thread})
         SELECT ?1 || i, {of_thread} FROM n, thread WHERE run = ?1"
    );
    let took = |from: usize, to: usize| {
        for sql in [&runs, &threads] {
            db.execute(sql, rusqlite::params![id, from, to]).unwrap();
        }
        // The quickest of many: a busy machine slows down most of them.
        let times = (0..12).map(|_| {
            let begin = std::time::Instant::now();
            let (status, told) = world.json(&["thread", "tree", &id]);
            let rows = told["threads"].as_array().map_or(0, Vec::len);
            assert_eq!((status, rows), (0, to + 1), "each stands there once");
            begin.elapsed()
        });
        times.min().unwrap()
    };
    let (few, many) = (took(0, 250), took(250, 2_000));
    assert!(many < few * 32, "{few:?} {many:?}");
}
