//! What somebody new is told: whom CI does not know yet, what to do in a clone, and what the lists
//! of keys mean.

use std::fs;

use super::{FILE, ITEM, clone_by};
use crate::keys::others::{document, put, stranger, trust, trusted};
use crate::world::{MARKER_SH, World, fingerprint};

#[test]
fn who_proposes_or_accepts_a_key_that_ci_does_not_name_is_told_the_file_and_the_key() {
    let (world, key) = clone_by(1);
    // Without a workflow there is nothing to say.
    let said = world.rye(&["trust", "accept", &key]);
    assert!(said.status == 0 && !said.stdout.contains("--trust"), "{said:?}");
    world.rye(&["new", "ci", "shell"]).ok();
    let own = fingerprint(&world.own_key());
    let said = world.rye(&["trust", "propose", "--owner", "me"]);
    assert!(said.status == 0 && !said.stdout.contains("ci/rye.sh"), "it names the key: {said:?}");
    let other = stranger(2);
    world.write(&trusted(&other), document(&other, "Bob", ""));
    let new = fingerprint(&other);
    let said = world.rye(&["trust", "accept", &new]);
    let told = format!("`ci/rye.sh` names the keys that count in CI, and not this one: add {new} ");
    assert!(said.status == 0 && said.stdout.contains(&told), "{said:?}");
    let (_, got) = world.json(&["trust", "accept", &new]);
    assert_eq!(got["workflows_without_it"][0], "ci/rye.sh", "{got}");
    // The owner of the key is told as well.
    let script = String::from_utf8(world.read("ci/rye.sh")).unwrap();
    world.write("ci/rye.sh", script.replace(&own, &new));
    world
        .rye(&["trust", "propose", "--owner", "me"])
        .shows(&format!("not this one: add {own} behind"));
    // A workflow of one's own that names no key has no place for it.
    world.write("ci/rye.sh", "#!/bin/sh\nrye verify --ci\n");
    let said = world.rye(&["trust", "propose", "--owner", "me"]);
    assert!(!said.stdout.contains("ci/rye.sh"), "{said:?}");
}

#[test]
fn a_workflow_that_is_there_is_left_and_the_line_to_change_is_told() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["new", "ci", "shell"]).ok();
    let before = world.read("ci/rye.sh");
    let (status, got) = world.json(&["new", "ci", "shell"]);
    assert_eq!((status, &got["code"]), (4, &"author.exists".into()), "{got}");
    let script = String::from_utf8(before.clone()).unwrap();
    let line = script.lines().find(|line| line.contains("--trust")).unwrap();
    let trust = &line[line.find("--trust").unwrap()..];
    assert!(got["help"].as_str().unwrap().contains(&format!("`{trust}`")), "{got}");
    assert_eq!(world.read("ci/rye.sh"), before);
    // A key of the workflow that nobody proposes any more is taken out of the workflow.
    fs::remove_file(world.project().join(trusted(&stranger(1)))).unwrap();
    let (status, got) = world.json(&["verify", "--ci", "--trust", &key]);
    assert_eq!((status, &got["code"]), (3, &"trust.not_found".into()), "{got}");
    let help = got["help"].as_str().unwrap();
    assert!(help.contains(&format!("take {key} out of the workflow")), "{got}");
}

#[test]
fn in_a_clone_of_somebody_else_the_next_step_is_to_review_and_accept() {
    let (world, key) = clone_by(1);
    let next = "`rye trust review` shows them, and how to let each key in";
    let said = world.rye_at_a_terminal("y\n", &["init"]).ok();
    assert!(said.stdout.contains(next), "{said:?}");
    assert!(!said.stdout.contains("rye new tool"), "{said:?}");
    for words in [&["trust", "project"][..], &[]] {
        world.rye(words).ok().shows(next);
    }
    world.rye(&["trust", "accept", &key]).ok();
    for words in [&["trust", "project"][..], &["init"], &[]] {
        let said = world.rye(words);
        assert!(said.status == 0 && !said.stdout.contains(next), "{words:?}: {said:?}");
    }
}

#[test]
fn what_is_advised_in_a_clone_leads_to_an_item_that_runs_even_if_nobody_proposes_its_key() {
    let (world, key) = clone_by(1);
    let proposal = trusted(&stranger(1));
    let document = world.read(&proposal);
    fs::remove_file(world.project().join(&proposal)).unwrap();
    let said = world.rye_at_a_terminal("y\n", &["init"]);
    let next = "`rye trust review` shows them, and how to let each key in";
    assert!(said.status == 0 && said.stdout.contains(next), "{said:?}");
    assert!(!said.stdout.contains("rye trust accept"), "nobody proposes the key: {said:?}");
    let told = "items here are signed by keys that you do not trust yet";
    let help = "see them, and how to let each key in, with `rye trust review`";
    world.rye(&["doctor"]).ok().shows(told).shows(help);
    world.rye(&["trust", "review"]).shows("is proposed by nobody here. Ask whoever signed");
    // What the review advises is done.
    world.write(&proposal, document);
    world.rye(&["trust", "review"]).shows(&format!("`rye trust accept {key}`"));
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["run", ITEM]).ok();
    let said = world.rye(&["doctor"]);
    assert!(said.status == 0 && !said.stdout.contains(told), "{said:?}");
}

#[test]
fn who_has_no_key_yet_is_told_so_by_the_review() {
    let (world, _) = clone_by(1);
    let told = "make a key of your own first, to accept with: `rye keys generate`";
    assert!(!world.rye(&["trust", "review"]).stdout.contains(told));
    fs::remove_dir_all(world.home().join(".ai/config/keys")).unwrap();
    world.rye(&["trust", "review"]).ok().shows(told);
}

#[test]
fn a_revoked_key_is_listed_with_what_a_revocation_means() {
    let world = World::new();
    let bert = stranger(1);
    trust(&world, &bert, &["--owner", "bert"]);
    let key = fingerprint(&bert);
    world.rye(&["trust", "revoke", &key]).ok();
    let nobody = fingerprint(&stranger(2));
    world.rye(&["trust", "revoke", &nobody]).ok();
    let said = world.rye(&["trust", "list"]);
    for key in [key, nobody] {
        let row = said.stdout.lines().find(|line| line.starts_with(&key)).unwrap();
        assert!(row.contains("revoked") && !row.contains("everything but"), "{row}");
        assert!(row.ends_with("nothing that it signed is admitted, whenever it was signed"));
    }
}

#[test]
fn your_own_key_is_you_where_the_signer_of_an_item_changed() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["sign", ITEM]).ok();
    put(&world, &stranger(1), FILE, MARKER_SH);
    let said = world.rye(&["trust", "review"]);
    let row = said.stdout.lines().find(|line| line.contains(ITEM)).unwrap();
    assert!(row.contains("signer changed: it was you"), "{said:?}");
}
