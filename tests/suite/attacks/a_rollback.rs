//! Rows a: what was signed once and is put back, in a project with a lock.

use std::fs;

use crate::lock::{put, sh};
use crate::world::{Attempt, World, line, seconds_from_now};

const TOOL: &str = "tool:acme/mark";
const PATH: &str = ".ai/tools/acme/mark.sh";
const RUNTIME: &str = ".ai/tools/acme/shell.yaml";
const PARENT: &str = ".ai/directives/acme/base.md";

/// A runtime of the project.
fn runtime(about: &str) -> String {
    format!(
        "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
         description: {about}\nconfig:\n  command: /bin/bash\n  args: ['{{tool_path}}']\n"
    )
}

fn directive(name: &str, extends: &str, body: &str) -> String {
    format!(
        "# T\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\"{extends}>\n  <metadata>\n    \
         <description>d</description>\n    <category>acme</category>\n    <author>a</author>\n  \
         </metadata>\n</directive>\n```\n\n{body}\n"
    )
}

/// A file of the project signed with the own key at a time, as bytes.
fn signed_at(world: &World, path: &str, text: &str, ago: i64) -> Vec<u8> {
    put(world, path, text, &seconds_from_now(-ago))
}

/// Every verb that admits an item.
fn verbs(item: &str) -> Vec<Vec<String>> {
    let calls: [&[&str]; 8] = [
        &["execute", item],
        &["execute", item, "--dry-run"],
        &["execute", item, "--locked"],
        &["verify", item],
        &["verify", item, "--locked"],
        &["show", item],
        &["fetch", item],
        &["why", item],
    ];
    calls.map(|call| call.iter().map(|&word| word.to_owned()).collect()).into()
}

/// The file holds `bytes`; every verb refuses the item with the code, and nothing else happens.
#[track_caller]
fn every_verb_refuses(world: &World, item: &str, code: &str) {
    for call in verbs(item) {
        let mut call: Vec<&str> = call.iter().map(String::as_str).collect();
        call.push("--json");
        let got = world.attempt_by(&call);
        // `verify` gives a row an item.
        let got = match call[0] {
            "verify" => {
                let said = world.rye(&call).json();
                let code = said["items"][0]["code"].as_str().unwrap_or_default().to_owned();
                Attempt { code, ..got }
            }
            _ => got,
        };
        assert_eq!(got, Attempt::refused(code), "{call:?}");
    }
}

#[test]
fn a18_an_older_signed_version_that_is_put_back_is_refused_by_every_verb() {
    let world = World::new();
    let old = signed_at(&world, PATH, &sh("old"), 1000);
    world.works(TOOL);
    let new = signed_at(&world, PATH, &sh("new"), 500);
    world.rye(&["lock"]).ok();
    for call in verbs(TOOL) {
        let call: Vec<&str> = call.iter().map(String::as_str).collect();
        assert_eq!(world.rye(&call).status, 0, "the fixture itself is good: {call:?}");
    }
    fs::write(world.project().join(PATH), &old).unwrap();
    every_verb_refuses(&world, TOOL, "verify.rolled_back");
    // The glob, the listing and the whole space too.
    world.rye(&["verify", "tool:acme/*"]).fails(4, "verify.rolled_back");
    let (status, rows) = world.json(&["verify", "--all"]);
    let bad = rows["items"].as_array().unwrap().iter().filter(|row| row["code"].is_string());
    assert_eq!((status, bad.count()), (4, 1));
    let said = world.rye(&["list", "--long"]).stdout;
    assert!(said.contains("refused: verify.rolled_back"), "{said}");
    // Newer than what is locked, by the same key: nothing is rolled back.
    let newer = signed_at(&world, PATH, &sh("newer"), 100);
    world.works(TOOL);
    for bytes in [&new, &newer] {
        fs::write(world.project().join(PATH), bytes).unwrap();
        world.works(TOOL);
    }
    // Without the lock the old one is as good as any.
    fs::write(world.project().join(PATH), &old).unwrap();
    fs::remove_file(world.project().join(".ai/rye.lock")).unwrap();
    world.works(TOOL);
}

#[test]
fn a18_the_refusal_says_what_is_locked_what_was_found_and_the_mend() {
    let world = World::new();
    let old = signed_at(&world, PATH, &sh("old"), 1000);
    signed_at(&world, PATH, &sh("new"), 500);
    world.works(TOOL);
    world.rye(&["lock", TOOL]).ok();
    fs::write(world.project().join(PATH), old).unwrap();
    let (_, said) = world.json(&["execute", TOOL]);
    let (locked, found) = (&said["data"]["locked"], &said["data"]["found"]);
    let at = |value: &serde_json::Value| value["signed_at"].as_str().unwrap().to_owned();
    assert!(at(found) < at(locked), "{said}");
    assert_ne!(found["sha256"], locked["sha256"]);
    assert_eq!(found["signer"], locked["signer"]);
    let help = said["help"].as_str().unwrap();
    assert!(help.contains(&format!("`rye diff {TOOL} --lock`")), "{help}");
    assert!(help.contains(&format!("`rye lock --update {TOOL}`")), "{help}");
    // The mend that comes first shows what would be lost.
    let said = world.rye(&["diff", TOOL, "--lock"]).stdout;
    assert!(said.contains("-# description = \"new\"\n+# description = \"old\""), "{said}");
    let said = world.rye(&["why", TOOL]);
    assert!(said.stdout.contains("does NOT hold"), "{said:?}");
    for part in ["verify.rolled_back", "rye diff tool:acme/mark --lock"] {
        assert!(said.stdout.contains(part), "{said:?}");
    }
}

#[test]
fn a18_an_older_directive_or_parent_is_refused() {
    let world = World::new();
    let path = ".ai/directives/acme/leaf.md";
    let leaf = |body: &str| directive("leaf", " extends=\"acme/base\"", body);
    let old_leaf = signed_at(&world, path, &leaf("one"), 1000);
    let new_leaf = signed_at(&world, path, &leaf("two"), 500);
    let old_parent = signed_at(&world, PARENT, &directive("base", "", "one"), 1000);
    let new_parent = signed_at(&world, PARENT, &directive("base", "", "two"), 500);
    world.works("directive:acme/leaf");
    world.rye(&["lock", "directive:acme/leaf"]).ok();
    world.works("directive:acme/leaf");
    fs::write(world.project().join(path), old_leaf).unwrap();
    every_verb_refuses(&world, "directive:acme/leaf", "verify.rolled_back");
    fs::write(world.project().join(path), new_leaf).unwrap();
    world.works("directive:acme/leaf");
    fs::write(world.project().join(PARENT), old_parent).unwrap();
    let got = world.attempt("directive:acme/leaf");
    assert_eq!(got, Attempt::refused("verify.rolled_back"));
    fs::write(world.project().join(PARENT), new_parent).unwrap();
    world.works("directive:acme/leaf");
}

#[test]
fn a18_dev_mode_does_not_reach_what_a_lock_lists() {
    let world = World::new();
    let old = signed_at(&world, PATH, &sh("old"), 1000);
    let new = signed_at(&world, PATH, &sh("new"), 500);
    let other = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let foreign = line(&other, TOOL, "sh", &seconds_from_now(-10), sh("x").as_bytes());
    let foreign = sh("x").replacen('\n', &format!("\n# {foreign}\n"), 1).into_bytes();
    let altered = [&new[..], b"echo more\n"].concat();
    let rows = [
        ("older", old, "verify.rolled_back"),
        ("altered", altered, "verify.rolled_back"),
        ("not signed", sh("new").into_bytes(), "verify.signer_changed"),
        ("signed by a stranger", foreign, "verify.signer_changed"),
    ];
    let world = world.env("RYE_DEV_MODE", "1");
    for (what, bytes, _) in &rows {
        fs::write(world.project().join(PATH), bytes).unwrap();
        let said = world.rye(&["execute", TOOL, "--json"]);
        assert_eq!(said.status, 0, "{what}: dev mode lets it through without a lock: {said:?}");
    }
    fs::write(world.project().join(PATH), &new).unwrap();
    world.rye(&["lock"]).ok();
    world.refuses_each(TOOL, &world.project().join(PATH), &rows);
}

#[test]
fn a19_a_new_tool_with_an_older_runtime_is_refused() {
    let world = World::new();
    let old = signed_at(&world, RUNTIME, &runtime("old"), 1000);
    let new = signed_at(&world, RUNTIME, &runtime("new"), 500);
    let text = |about: &str| sh(about).replace("rye/core/runtimes/shell/script", "acme/shell");
    signed_at(&world, PATH, &text("first"), 500);
    world.works(TOOL);
    world.rye(&["lock"]).ok();
    world.works(TOOL);
    // The tool is newer than the lock, which is fine; the runtime below it is not.
    signed_at(&world, PATH, &text("second"), 100);
    world.works(TOOL);
    fs::write(world.project().join(RUNTIME), &old).unwrap();
    for call in [&["execute", TOOL][..], &["execute", TOOL, "--dry-run"], &["why", TOOL]] {
        let got = world.attempt_by(&[call, &["--json"]].concat());
        assert_eq!(got, Attempt::refused("verify.rolled_back"), "{call:?}");
    }
    let (_, said) = world.json(&["execute", TOOL]);
    assert!(said["error"].as_str().unwrap().contains("`tool:acme/shell`"), "{said}");
    fs::write(world.project().join(RUNTIME), new).unwrap();
    world.works(TOOL);
    // So is it without a lock, where the old runtime is a good one.
    fs::write(world.project().join(RUNTIME), old).unwrap();
    fs::remove_file(world.project().join(".ai/rye.lock")).unwrap();
    world.works(TOOL);
}

#[test]
fn a22_other_bytes_of_the_same_second_are_refused() {
    let world = World::new();
    let other = signed_at(&world, PATH, &sh("other"), 500);
    world.works(TOOL);
    let locked = signed_at(&world, PATH, &sh("locked"), 500);
    let at = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split(" at=").nth(1).unwrap()[..20].to_owned()
    };
    // The two were made within one second of the clock or the next; the same is wanted.
    let other = if at(&other) == at(&locked) {
        other
    } else {
        put(&world, PATH, &sh("other"), &at(&locked))
    };
    fs::write(world.project().join(PATH), &locked).unwrap();
    world.rye(&["lock"]).ok();
    world.works(TOOL);
    fs::write(world.project().join(PATH), other).unwrap();
    every_verb_refuses(&world, TOOL, "verify.rolled_back");
    fs::write(world.project().join(PATH), locked).unwrap();
    world.works(TOOL);
}

#[test]
fn what_another_key_signed_is_not_what_is_locked() {
    let world = World::new();
    let other = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let pem = {
        use ed25519_dalek::pkcs8::EncodePublicKey;
        use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
        other.verifying_key().to_public_key_pem(LineEnding::LF).unwrap()
    };
    fs::write(world.outside().join("other.pem"), pem).unwrap();
    world.rye(&["trust", "add", "../other.pem", "--owner", "other"]).ok();
    let mine = signed_at(&world, PATH, &sh("x"), 500);
    let theirs = line(&other, TOOL, "sh", &seconds_from_now(-10), sh("x").as_bytes());
    let theirs = sh("x").replacen('\n', &format!("\n# {theirs}\n"), 1);
    fs::write(world.project().join(PATH), &theirs).unwrap();
    world.works(TOOL);
    fs::write(world.project().join(PATH), &mine).unwrap();
    world.rye(&["lock"]).ok();
    world.works(TOOL);
    fs::write(world.project().join(PATH), theirs).unwrap();
    every_verb_refuses(&world, TOOL, "verify.signer_changed");
    fs::write(world.project().join(PATH), mine).unwrap();
    world.works(TOOL);
}

#[test]
fn what_answers_from_another_space_is_not_what_is_locked() {
    let world = World::new();
    signed_at(&world, PATH, &sh("x"), 500);
    world.rye(&["lock"]).ok();
    world.signed_home(PATH, &sh("x"));
    // The copy that loses is not what the lock is about.
    world.works(TOOL);
    world.rye(&["verify", "tool:acme/*"]).ok();
    let (_, why) = world.json(&["why", TOOL]);
    assert_eq!(why["copies"][1]["admitted"], true, "{why}");
    let hidden = world.outside().join("mark.sh");
    fs::rename(world.project().join(PATH), &hidden).unwrap();
    every_verb_refuses(&world, TOOL, "verify.space_changed");
    world.rye(&["diff", TOOL, "--lock"]).ok();
    fs::rename(hidden, world.project().join(PATH)).unwrap();
    world.works(TOOL);
    assert_eq!(world.attempt("tool:acme/mark@user"), Attempt::refused("verify.space_changed"));
}
