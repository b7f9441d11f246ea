//! Rows d03 and l02: a key that you trust without naming hooks signs no hook that anybody asks.

use std::fs;

use super::controlled;
use crate::keys::others::{AT, document, pem, put, signed_text, stranger, trust, trusted};
use crate::world::{End, World, fingerprint};

const HOOK: &str = "tool:hooks/watch";
const CONTROL: &str = "tool:acme/control";

const WATCH: &str = "version: \"1.0.0\"\ntool_type: hook\n\
     executor_id: rye/core/runtimes/exec/oneshot\ncategory: hooks\ndescription: A hook.\n\
     hook: tool\nphases: [before_execution]\n\
     exec:\n  command: ./watch-it.sh\n  files: [watch-it.sh]\nfiles_sha256:\n  \"watch-it.sh\": ";

/// What a stranger's hook does when it is asked.
const PROGRAM: &str = "#!/bin/sh\ncat >\"$RYE_PROJECT/asked\"\necho '{\"allow\": true}'\n";

/// A project of yours with a tool, and with a hook that a stranger signed.
fn with_their_hook() -> World {
    let world = controlled();
    world.write(".ai/tools/hooks/watch-it.sh", PROGRAM);
    let text = format!("{WATCH}\"{}\"\n", crate::world::sha256(PROGRAM.as_bytes()));
    put(&world, &stranger(1), ".ai/tools/hooks/watch.yaml", &text);
    world
}

/// Whether a call of your tool asked the hook.
fn asks(world: &World) -> bool {
    let asked = world.project().join("asked");
    let _ = fs::remove_file(&asked);
    let _ = world.rye(&["execute", CONTROL, "--json"]);
    asked.exists()
}

#[track_caller]
fn is_out_of_scope(world: &World, how: &str) {
    let (status, got) = world.json(&["verify", HOOK]);
    let code = &got["items"][0]["code"];
    assert_eq!((status, code), (4, &"verify.out_of_scope".into()), "{how}: {got}");
    assert!(!asks(world), "{how}: their hook saw a call");
}

#[test]
fn d03_hooks_are_outside_the_default_scope_of_a_trusted_key() {
    let world = with_their_hook();
    trust(&world, &stranger(1), &["--items", "tool:hooks/*"]);
    assert!(asks(&world), "the fixture itself is good: a person who names hooks gets them");
    let wide =
        [&["--items", "tool:acme/**"][..], &["--items", "tool:**"], &["--items", "tool:*/spy"]];
    for scope in [&[][..], &["--in", "."]].into_iter().chain(wide) {
        trust(&world, &stranger(1), scope);
        is_out_of_scope(&world, &format!("{scope:?}"));
    }
}

#[test]
fn l02_a_hook_of_a_key_of_default_scope_is_never_in_force() {
    let thief = stranger(1);
    for wish in ["", "items = [\"tool:**\"]\n", "items = [\"tool:hooks/*\"]\nwas_own = true\n"] {
        let world = with_their_hook();
        trust(&world, &thief, &["--items", "tool:hooks/*"]);
        assert!(asks(&world), "the fixture itself is good");
        world.rye(&["trust", "remove", &fingerprint(&thief)]).ok();
        let text = document(&thief, "acme build", wish);
        world.write(&trusted(&thief), &text);
        let said = world.rye(&["trust", "accept", &fingerprint(&thief), "--json"]);
        assert_eq!(said.status, 0, "{wish}: {said:?}");
        is_out_of_scope(&world, wish);
        // The same document as a file that you add.
        let file = world.outside().join("theirs.toml");
        fs::write(&file, &text).unwrap();
        let said = world.rye(&["trust", "add", file.to_str().unwrap()]);
        assert_eq!(said.status, 0, "{wish}: {said:?}");
        is_out_of_scope(&world, wish);
    }
}

#[test]
fn whoever_trusts_a_key_reads_that_hooks_and_config_are_not_among_what_it_may_sign() {
    let world = with_their_hook();
    let file = world.outside().join("theirs.pem");
    fs::write(&file, pem(&stranger(1))).unwrap();
    let said = world.rye(&["trust", "add", file.to_str().unwrap()]);
    let words = "everything but `rye/**`, hooks and config";
    assert!(said.stdout.contains(words), "{said:?}");
    put(&world, &stranger(1), ".ai/tools/acme/theirs.sh", crate::world::MARKER_SH);
    for verb in [
        &["trust", "list"][..],
        &["trust", "show", &fingerprint(&stranger(1))],
        &["why", "tool:acme/theirs"],
    ] {
        world.rye(verb).ok().shows(words);
    }
    let wish = document(&stranger(2), "acme", "items = [\"tool:**\"]\n");
    let file = world.outside().join("wish.toml");
    fs::write(&file, wish).unwrap();
    world
        .rye(&["trust", "add", file.to_str().unwrap()])
        .shows("tool:**, but for `rye/**`, hooks and config");
    world.rye(&["trust", "list"]).shows("tool:**, but for `rye/**`, hooks and config");
}

#[test]
fn after_a_rotation_your_hooks_and_config_go_on_by_the_old_key_and_policy_does_not() {
    let world = with_their_hook();
    fs::remove_file(world.project().join(".ai/tools/hooks/watch.yaml")).unwrap();
    let old = world.own_key();
    let text = format!("{WATCH}\"{}\"\n", crate::world::sha256(PROGRAM.as_bytes()));
    put(&world, &old, ".ai/tools/hooks/watch.yaml", &text);
    put(&world, &old, ".ai/config/acme/settings.yaml", "a: 1\n");
    assert!(asks(&world), "the fixture itself is good");
    world.rye(&["keys", "rotate"]).ok();
    assert!(asks(&world), "a hook of yours is asked as before");
    world.json(&["verify", "config:acme/settings"]).ok();
    let policy = "allow_shadow: [rye/bash]\n";
    let text = signed_text(&old, "config:rye/policy", "yaml", AT, policy);
    world.write_home(".ai/config/rye/policy.yaml", text);
    world.refused(CONTROL, "verify.trust_unreadable", 4);
}

#[test]
fn a_hook_that_allows_everything_lets_in_nothing_that_was_changed() {
    let world = with_their_hook();
    trust(&world, &stranger(1), &["--items", "tool:hooks/*"]);
    assert!(asks(&world), "the fixture itself works");
    let file = ".ai/tools/acme/control.sh";
    let text = String::from_utf8(world.read(file)).unwrap();
    world.write(file, format!("{text}# more\n"));
    let (status, got) = world.json(&["execute", CONTROL]);
    assert_eq!((status, got["code"].as_str()), (4, Some("verify.altered")), "{got}");
    assert!(!asks(&world), "nothing is asked about what is not admitted");
}
