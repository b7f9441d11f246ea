//! Dev mode (core 5.1, rows d06 and d08): what it lets through with a warning, and what it never
//! does.

use std::fs;

use serde_json::{Value, json};

use crate::keys::others::{
    AT, clone_world, document, example_key, files, pem, put, put_home, signed_text, stranger,
    trust, trusted, weak,
};
use crate::world::{GREET_MD, MARKER_SH, World, fingerprint, line, sha256};

const ITEM: &str = "tool:acme/mark";
const FILE: &str = ".ai/tools/acme/mark.sh";
const NOTE: &str = "---\ntitle: note\n---\n\nA note.\n";
const ON: &[(&str, &str)] = &[("RYE_DEV_MODE", "1")];

/// Runs rye in the project with dev mode on.
fn dev(world: &World, args: &[&str]) -> crate::world::Said {
    world.rye_env(&world.project(), args, b"", ON)
}

/// Dev mode lets the item through with exactly these warnings, in this order, everywhere they
/// belong; without it the item is refused with the first of them.
#[track_caller]
fn warned(world: &World, item: &str, codes: &[&str], how: &str) -> Value {
    let without = world.rye(&["execute", item, "--json"]);
    assert_eq!((without.code().as_str(), without.status), (codes[0], 4), "{how}: {without:?}");
    let said = dev(world, &["execute", item, "--json", "--trace", "--chain-details"]);
    let json = said.json();
    assert_eq!(said.status, 0, "{how}: {said:?}");
    assert_eq!(json["status"], "success", "{how}");
    let warnings = json["warnings"].as_array().cloned().unwrap_or_default();
    let got: Vec<_> = warnings.iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert_eq!(got, codes, "{how}: {json}");
    let lines: Vec<_> = said.stderr.lines().filter(|l| l.starts_with("[DEV MODE] ")).collect();
    assert_eq!(lines.len(), codes.len(), "{how}: {said:?}");
    for (line, code) in lines.iter().zip(codes) {
        assert!(line.contains(code) && line.contains(item), "{how}: {line}");
    }
    let judged = |event: &&Value| event["step"] == "verify_integrity" && event["item_id"] == item;
    let event = json["trace"].as_array().unwrap().iter().find(judged).unwrap();
    assert_eq!(event["verified"], false, "{how}: {event}");
    assert!(codes.iter().all(|code| json["trace"].to_string().contains(code)), "{how}: {json}");
    if let Some(links) = json["chain_details"].as_array() {
        let states: Vec<_> = links.iter().map(|link| &link["integrity"]).collect();
        assert_eq!(states[0], "unverified", "{how}");
        assert!(states[1..].iter().all(|state| *state == "verified"), "{how}: {json}");
    }
    json
}

/// The older form of the signature line, in front of `text`.
fn legacy(text: &str) -> String {
    let digest = sha256(text.as_bytes());
    let line =
        format!("# rye:signed:2025-01-01T00:00:00Z:{digest}:{}:0123456789abcdef", "A".repeat(86));
    text.replacen("#!/bin/bash\n", &format!("#!/bin/bash\n{line}\n"), 1)
}

/// The five refusals that dev mode turns into warnings, made of a good file.
fn downgradable(key: &ed25519_dalek::SigningKey) -> Vec<(String, &'static str)> {
    let good = signed_text(key, ITEM, "sh", AT, MARKER_SH);
    vec![
        (MARKER_SH.to_owned(), "verify.unsigned"),
        (format!("{good}# more\n"), "verify.altered"),
        (signed_text(key, "tool:acme/other", "sh", AT, MARKER_SH), "verify.moved"),
        (signed_text(key, ITEM, "py", AT, MARKER_SH), "verify.moved"),
        (signed_text(&stranger(1), ITEM, "sh", AT, MARKER_SH), "verify.untrusted"),
        (legacy(MARKER_SH), "verify.legacy"),
    ]
}

#[test]
fn five_refusals_become_warnings_in_an_accepted_project_and_in_the_user_space() {
    for in_project in [true, false] {
        let world = World::new();
        let place = |text: &str| match in_project {
            true => world.write(FILE, text),
            false => world.write_home(FILE, text),
        };
        let own = world.own_key();
        place(&signed_text(&own, ITEM, "sh", AT, MARKER_SH));
        world.works(ITEM);
        let clean = dev(&world, &["execute", ITEM, "--json"]);
        assert_eq!((clean.status, &clean.json()["warnings"]), (0, &Value::Null), "{clean:?}");
        assert_eq!(clean.stderr, "");
        for (text, code) in downgradable(&own) {
            place(&text);
            warned(&world, ITEM, &[code], code);
        }
    }
}

#[test]
fn directives_and_knowledge_are_warned_of_like_tools() {
    let world = World::new();
    let own = world.own_key();
    for (path, item, text) in [
        (".ai/directives/acme/greet.md", "directive:acme/greet", GREET_MD),
        (".ai/knowledge/acme/note.md", "knowledge:acme/note", NOTE),
    ] {
        put(&world, &own, path, text);
        world.works(item);
        world.write(path, text);
        warned(&world, item, &["verify.unsigned"], item);
        world.write(path, signed_text(&own, item, "md", AT, text) + "\nmore\n");
        warned(&world, item, &["verify.altered"], item);
        put(&world, &stranger(1), path, text);
        warned(&world, item, &["verify.untrusted"], item);
    }
}

#[test]
fn every_later_check_still_runs_with_each_warning_added() {
    let world = World::new();
    let (own, thief) = (world.own_key(), stranger(1));
    world.signed(FILE, MARKER_SH);
    world.works(ITEM);
    let elsewhere = |key| signed_text(key, "tool:acme/other", "sh", AT, MARKER_SH) + "# more\n";
    let rows: &[(String, &[&str])] = &[
        (elsewhere(&own), &["verify.moved", "verify.altered"]),
        (elsewhere(&thief), &["verify.moved", "verify.altered", "verify.untrusted"]),
        (
            signed_text(&thief, ITEM, "sh", AT, MARKER_SH) + "# more\n",
            &["verify.altered", "verify.untrusted"],
        ),
    ];
    for (text, codes) in rows {
        world.write(FILE, text);
        warned(&world, ITEM, codes, codes[0]);
    }
}

/// Dev mode or not, the item is refused with the code, and nothing was written.
#[track_caller]
fn refused(world: &World, item: &str, code: &str, how: &str) {
    let before = files(world);
    let marker = world.project().join("marker");
    drop(fs::remove_file(&marker));
    for json in [&["--json"][..], &[]] {
        let said = dev(world, &[&["execute", item], json].concat());
        assert_eq!((said.code().as_str(), said.status), (code, 4), "{how}: {said:?}");
    }
    assert!(!marker.exists(), "{how}: it ran");
    assert_eq!(files(world), before, "{how}");
}

#[test]
fn d06_what_dev_mode_never_lets_through() {
    let world = World::new();
    let own = world.own_key();
    let (gone, late, narrow, thief) = (stranger(1), stranger(2), stranger(3), stranger(4));
    trust(&world, &gone, &[]);
    world.rye(&["trust", "revoke", &fingerprint(&gone)]).ok();
    trust(&world, &late, &["--not-after", "2020-01-01T00:00:00Z"]);
    trust(&world, &narrow, &["--items", "tool:other/*"]);
    let by = |key| signed_text(key, ITEM, "sh", AT, MARKER_SH);
    let good = by(&own);
    world.write(FILE, &good);
    world.works(ITEM);
    let signature = good.split(" sig=").nth(1).unwrap()[..86].to_owned();
    let others = by(&thief).split(" sig=").nth(1).unwrap()[..86].to_owned();
    let line_of_own = line(&own, ITEM, "sh", AT, MARKER_SH.as_bytes());
    let rows = [
        (good.replace(&signature, &others), "verify.forged"),
        (good.replace(AT, "2025-01-01T00:00:01Z"), "verify.forged"),
        (good.replace(&signature, &others) + "# altered too\n", "verify.forged"),
        (good.replace("item=tool:acme/mark", "item=tool:acme/other"), "verify.forged"),
        (by(&gone), "verify.revoked"),
        (by(&gone) + "# altered too\n", "verify.revoked"),
        (by(&late), "verify.expired"),
        (by(&late) + "# altered too\n", "verify.expired"),
        (by(&narrow), "verify.out_of_scope"),
        (format!("{good}# {line_of_own}\n"), "verify.stray_signature_line"),
        (format!("{MARKER_SH}# {line_of_own}\n"), "verify.stray_signature_line"),
        (good.replace("v2 item", "v3 item"), "verify.malformed"),
        (good.replace(&signature, &signature[..85]), "verify.malformed"),
        (signed_text(&own, ITEM, "sh", "2099-01-01T00:00:00Z", MARKER_SH), "verify.not_yet"),
        (signed_text(&thief, ITEM, "sh", "2099-01-01T00:00:00Z", MARKER_SH), "verify.not_yet"),
    ];
    for (text, code) in rows {
        assert_ne!(text, good);
        world.write(FILE, &text);
        refused(&world, ITEM, code, code);
    }
    // A key that is revoked without ever having been trusted.
    world.write(FILE, by(&thief));
    world.rye(&["trust", "revoke", &fingerprint(&thief)]).ok();
    assert_eq!(dev(&world, &["execute", ITEM, "--json"]).code(), "verify.revoked");
    world.write(FILE, good);
    world.works(ITEM);
}

#[test]
fn d06_what_is_not_about_signatures_is_refused_as_ever() {
    let world = World::new().with_file(FILE, MARKER_SH);
    warned(&world, ITEM, &["verify.unsigned"], "the fixture itself");
    let rows = [
        (MARKER_SH.replace("acme", "ac\u{202e}me"), "parse.invisible_text", 5),
        (MARKER_SH.replace("# ///\n:", "# ///\n\u{1}:"), "parse.control_text", 5),
        (MARKER_SH.replace("category = \"acme\"", "category = 7"), "parse.metadata", 5),
        (MARKER_SH.replace("shell/script", "shell/nowhere"), "chain.executor_not_found", 3),
    ];
    for (text, code, status) in rows {
        world.write(FILE, text);
        dev(&world, &["execute", ITEM, "--json"]).fails(status, code);
    }
    world.write(FILE, MARKER_SH);
    world.write(".ai/tools/acme/mark.py", "x");
    let said = dev(&world, &["execute", ITEM, "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("resolve.ambiguous_file", 3));
    world.write(".ai/tools/rye/bash.py", crate::world::MARKER_PY);
    refused(&world, "tool:rye/bash", "resolve.reserved", "a reserved id");
}

#[test]
fn d06_only_the_one_word_turns_it_on() {
    let world = World::new().with_file(FILE, MARKER_SH);
    warned(&world, ITEM, &["verify.unsigned"], "the fixture itself");
    drop(fs::remove_file(world.project().join("marker")));
    for word in ["true", "TRUE", "yes", "on", "0", "", " 1", "1 ", "01", "1\n", "2", "11", "dev"] {
        let env = [("RYE_DEV_MODE", word)];
        let said = world.rye_env(&world.project(), &["execute", ITEM, "--json"], b"", &env);
        assert_eq!((said.code().as_str(), said.status), ("verify.unsigned", 4), "{word:?}");
        assert_eq!(said.stderr, "", "{word:?}");
    }
    // Nor does a file of the project.
    world.write(".env", "RYE_DEV_MODE=1\n");
    world.refused(ITEM, "verify.unsigned", 4);
}

#[test]
fn d06_an_altered_item_of_the_system_is_refused() {
    let world = World::new();
    let system = world.outside().join("system");
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/tools/rye");
    for path in ["core/runtimes/shell/script.yaml", "core/primitives/execute.yaml"] {
        let to = system.join(".ai/tools/rye").join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(path), to).unwrap();
    }
    let world = world.env("RYE_SYSTEM_SPACE", &system.display().to_string());
    world.signed(FILE, MARKER_SH);
    world.works(ITEM);
    assert_eq!(dev(&world, &["execute", ITEM]).status, 0);
    let runtime = system.join(".ai/tools/rye/core/runtimes/shell/script.yaml");
    let good = fs::read_to_string(&runtime).unwrap();
    let unsigned = good.split_once('\n').unwrap().1.to_owned();
    let thief = "tool:rye/core/runtimes/shell/script";
    for (text, code) in [
        (format!("{good}# more\n"), "verify.altered"),
        (unsigned.clone(), "verify.unsigned"),
        (signed_text(&stranger(1), thief, "yaml", AT, &unsigned), "verify.untrusted"),
    ] {
        fs::write(&runtime, text).unwrap();
        refused(&world, ITEM, code, code);
    }
    fs::write(&runtime, good).unwrap();
    world.works(ITEM);
}

#[test]
fn d06_config_is_never_let_through() {
    let world = World::new();
    let (own, path) = (world.own_key(), ".ai/config/acme/settings.yaml");
    let item = "config:acme/settings";
    put(&world, &own, path, "a: 1\n");
    assert_eq!(dev(&world, &["fetch", item]).status, 0, "the fixture itself is good");
    for (text, code) in [
        ("a: 1\n".to_owned(), "verify.unsigned"),
        (signed_text(&own, item, "yaml", AT, "a: 1\n") + "b: 2\n", "verify.altered"),
        (signed_text(&own, "config:acme/other", "yaml", AT, "a: 1\n"), "verify.moved"),
        (signed_text(&stranger(1), item, "yaml", AT, "a: 1\n"), "verify.untrusted"),
    ] {
        world.write(path, &text);
        world.write_home(path, &text);
        for item in [item, "config:acme/settings@user"] {
            dev(&world, &["fetch", item, "--json"]).fails(4, code);
        }
    }
}

#[test]
fn d08_documents_that_are_not_signed_admit_nothing() {
    let world = World::new();
    let (own, signer) = (world.own_key(), stranger(1));
    let by = |key, text: &str| {
        signed_text(key, &format!("config:keys/trusted/{}", fingerprint(&signer)), "toml", AT, text)
    };
    put(&world, &signer, FILE, MARKER_SH);
    let text = document(&signer, "acme build", "");
    world.write_home(&trusted(&signer), by(&own, &text));
    world.works(ITEM);
    for (how, text) in [
        ("unsigned", text.clone()),
        ("self-signed", by(&signer, &text)),
        ("altered", by(&own, &text).replace("acme build", "somebody")),
    ] {
        world.write_home(&trusted(&signer), text);
        refused(&world, ITEM, "verify.trust_unreadable", how);
    }
    fs::remove_file(world.home().join(trusted(&signer))).unwrap();
    // The record that accepts the project.
    world.signed(FILE, MARKER_SH);
    let folder = world.home().join(".ai/config/keys/projects");
    let record = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let good = fs::read_to_string(&record).unwrap();
    fs::write(&record, good.split_once('\n').unwrap().1).unwrap();
    refused(&world, ITEM, "verify.trust_unreadable", "the record is not signed");
    fs::write(&record, good).unwrap();
    world.works(ITEM);
}

#[test]
fn d08_a_policy_or_file_types_that_are_not_signed_say_nothing() {
    let world = World::new();
    let text = MARKER_SH.replace("category = \"acme\"", "category = \"rye\"");
    put_home(&world, &world.own_key(), ".ai/tools/rye/mine.sh", &text);
    let policy = ".ai/config/rye/policy.yaml";
    let shadow = "allow_shadow: [\"rye/mine\"]\n";
    put_home(&world, &world.own_key(), policy, shadow);
    world.works("tool:rye/mine");
    for bad in
        [shadow.to_owned(), signed_text(&stranger(1), "config:rye/policy", "yaml", AT, shadow)]
    {
        world.write_home(policy, bad);
        refused(&world, "tool:rye/mine", "resolve.reserved", "policy");
    }
    // Nor does taking its signature away free a run from what it asks for.
    world.signed(".ai/tools/acme/plain.sh", MARKER_SH);
    refused(&world, "tool:acme/plain", "verify.trust_unreadable", "policy");
    put_home(&world, &world.own_key(), policy, shadow);
    world.works("tool:acme/plain");
    let types = ".ai/config/rye/file-types.yaml";
    put(&world, &world.own_key(), ".ai/tools/acme/mark.bash2", MARKER_SH);
    put_home(&world, &world.own_key(), types, "bash2: {comment: \"#\", header: block}\n");
    world.works(ITEM);
    world.write_home(types, "bash2: {comment: \"#\", header: block}\n");
    refused(&world, ITEM, "verify.trust_unreadable", "file types");
}

#[test]
fn d08_a_project_that_is_not_accepted_is_not_worked_in() {
    let world = clone_world();
    let own = world.own_key();
    put(&world, &own, FILE, MARKER_SH);
    refused(&world, ITEM, "verify.project_not_accepted", "signed");
    for (text, code) in downgradable(&own) {
        world.write(FILE, text);
        let code = if code == "verify.untrusted" { "verify.project_not_accepted" } else { code };
        refused(&world, ITEM, code, code);
    }
    world.rye(&["trust", "project"]).ok();
    for (text, code) in downgradable(&own) {
        world.write(FILE, text);
        warned(&world, ITEM, &[code], code);
    }
}

#[test]
fn d08_the_example_key_and_weak_keys_are_refused() {
    let world = World::new();
    put(&world, &stranger(1), FILE, MARKER_SH);
    warned(&world, ITEM, &["verify.untrusted"], "the fixture itself");
    put(&world, &example_key(), FILE, MARKER_SH);
    refused(&world, ITEM, "verify.example_key", "the example key");
    // A document of your own with the point of order two in it.
    let (weak, framed) = weak();
    let some = stranger(2);
    let text = document(&some, "weak", "").replace(&pem(&some), &framed);
    let text = text.replace(&fingerprint(&some), &weak);
    put_home(&world, &world.own_key(), &format!(".ai/config/keys/trusted/{weak}.toml"), &text);
    let line = signed_text(&some, ITEM, "sh", AT, MARKER_SH).replace(&fingerprint(&some), &weak);
    world.write(FILE, line);
    refused(&world, ITEM, "verify.weak_key", "a weak key");
}

/// A runtime of the project, as the shell one.
const RUNTIME: &str = "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
    category: acme\ndescription: \"Runs a shell script.\"\nconfig:\n  command: bash\n  args: [\"{tool_path}\"]\n";

#[test]
fn a_link_below_the_tool_is_warned_of_by_its_own_name() {
    let world = World::new()
        .with(".ai/tools/acme/runtime.yaml", RUNTIME)
        .with(FILE, &MARKER_SH.replace("rye/core/runtimes/shell/script", "acme/runtime"));
    world.works(ITEM);
    world.write(".ai/tools/acme/runtime.yaml", RUNTIME);
    world.refused(ITEM, "verify.unsigned", 4);
    let said = dev(&world, &["execute", ITEM, "--json", "--chain-details"]);
    let json = said.json();
    assert_eq!(said.status, 0, "{said:?}");
    assert_eq!(json["warnings"][0]["item_id"], "tool:acme/runtime");
    let states: Vec<_> =
        json["chain_details"].as_array().unwrap().iter().map(|link| &link["integrity"]).collect();
    assert_eq!(states, ["verified", "unverified", "verified"]);
    assert!(said.stderr.starts_with("[DEV MODE] verify.unsigned: `tool:acme/runtime`"), "{said:?}");
}

#[test]
fn a_parent_of_a_directive_is_warned_of_too() {
    let world = World::new();
    let child = GREET_MD.replace("name=\"greet\"", "name=\"child\" extends=\"acme/greet\"");
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.signed(".ai/directives/acme/child.md", &child);
    world.works("directive:acme/child");
    world.write(".ai/directives/acme/greet.md", GREET_MD);
    world.refused("directive:acme/child", "verify.unsigned", 4);
    let said = dev(&world, &["execute", "directive:acme/child", "--json"]).ok();
    let want = json!([["directive:acme/greet", "verify.unsigned"]]);
    let json = said.json();
    let got: Vec<_> = json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| json!([w["item_id"], w["code"]]))
        .collect();
    assert_eq!(json!(got), want);
}

#[test]
fn every_verb_that_shows_what_was_let_through_says_so() {
    let world = World::new().with(".ai/knowledge/acme/note.md", NOTE);
    let item = "knowledge:acme/note";
    world.rye(&["fetch", item]).ok();
    world.write(".ai/knowledge/acme/note.md", NOTE);
    for verb in ["fetch", "show", "verify", "execute"] {
        let said = dev(&world, &[verb, item]);
        assert_eq!(said.status, 0, "{verb}: {said:?}");
        assert!(said.stderr.contains("[DEV MODE] verify.unsigned"), "{verb}: {said:?}");
        let said = dev(&world, &[verb, item, "--json"]);
        assert!(said.stdout.contains("\"warnings\":[{"), "{verb}: {said:?}");
        assert!(said.stderr.contains("[DEV MODE] verify.unsigned"), "{verb} --json: {said:?}");
    }
}

#[test]
fn a_warning_is_said_even_if_the_run_stops_later() {
    let world = World::new();
    let text = GREET_MD.replace("required=\"false\" default=\"world\"", "required=\"true\"");
    world.write(".ai/directives/acme/greet.md", &text);
    let said = dev(&world, &["execute", "directive:acme/greet", "-i", "who=you"]);
    assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    let said = dev(&world, &["execute", "directive:acme/greet", "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("interpolate.missing_inputs", 2));
    assert!(said.stderr.contains("[DEV MODE] verify.unsigned"), "{said:?}");
}

#[test]
fn machines_refuse_what_dev_mode_lets_through() {
    let world = World::new().with_file(FILE, MARKER_SH);
    for args in [&["verify", "tool:acme/*"][..], &["verify", ITEM], &["verify"]] {
        assert_eq!(dev(&world, args).status, 0, "{args:?}");
        let said = dev(&world, &[args, &["--ci"]].concat());
        assert_eq!(said.status, 4, "{args:?}: {said:?}");
    }
}

#[test]
fn what_dev_mode_let_through_never_becomes_the_version_that_changes_are_shown_against() {
    let world = World::new().with(FILE, MARKER_SH);
    world.works(ITEM);
    let signed = world.read(FILE);
    world.write(FILE, [&signed[..], b"# planted\n"].concat());
    warned(&world, ITEM, &["verify.altered"], "altered");
    world.rye(&["diff", ITEM]).shows("+# planted");
}

#[test]
fn doctor_says_that_dev_mode_is_on() {
    let world = World::new();
    assert!(!world.rye(&["doctor"]).stdout.contains("RYE_DEV_MODE"));
    assert!(dev(&world, &["doctor"]).stdout.contains("RYE_DEV_MODE=1"));
}
