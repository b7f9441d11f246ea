//! What review and accept say of a key that could be taken for another, and of another signer.

use serde_json::json;

use super::{FILE, ITEM};
use crate::keys::others::{clone_world, document, put, stranger, trust, trusted};
use crate::world::{MARKER_SH, World, fingerprint};

/// A clone whose tool one key signed, which the project proposes.
fn clone_by_ann() -> (World, String) {
    let (world, ann) = (clone_world(), stranger(1));
    put(&world, &ann, FILE, MARKER_SH);
    world.write(&trusted(&ann), document(&ann, "Ann", ""));
    (world, fingerprint(&ann))
}

#[test]
fn an_item_that_another_key_signed_since_it_was_accepted_is_marked() {
    let (world, ann) = clone_by_ann();
    world.rye(&["trust", "accept", &ann]).ok();
    let (_, got) = world.json(&["trust", "review"]);
    let signer_before = |got: &serde_json::Value| {
        let items = got["items"].as_array().unwrap().iter();
        items.clone().find(|it| it["item_id"] == ITEM).unwrap()["signer_before"].clone()
    };
    assert_eq!(signer_before(&got), json!(null), "{got}");
    put(&world, &stranger(2), FILE, MARKER_SH);
    let changed = |world: &World| {
        let (_, got) = world.json(&["trust", "review"]);
        assert_eq!(signer_before(&got), json!(ann), "{got}");
        world.rye(&["trust", "review"]).shows("signer changed: it was ");
    };
    changed(&world);
    // What you stop to believe is remembered all the same.
    world.rye(&["trust", "remove", &ann]).ok();
    changed(&world);
}

#[test]
fn a_proposed_key_with_the_name_of_a_trusted_one_is_marked() {
    let world = clone_world();
    let (ann, other) = (stranger(1), stranger(2));
    trust(&world, &ann, &[]);
    let owner = {
        let (_, got) = world.json(&["trust", "list"]);
        let keys = got["keys"].as_array().unwrap().iter();
        let is_ann = |key: &&serde_json::Value| key["fingerprint"] == json!(fingerprint(&ann));
        keys.clone().find(is_ann).unwrap()["owner"].as_str().unwrap().to_owned()
    };
    let wide: String = owner
        .chars()
        .map(|c| match c.is_ascii_graphic() {
            true => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
            false => c,
        })
        .collect();
    for (name, imitates) in [(owner.to_uppercase(), false), (wide, true)] {
        world.write(&trusted(&other), document(&other, &name, ""));
        let (_, got) = world.json(&["trust", "review"]);
        let proposal = &got["proposals"][0];
        assert_eq!(proposal["same_name"], json!([fingerprint(&ann)]), "{got}");
        assert_eq!(proposal["imitates_latin"], json!(imitates), "{got}");
        let said = world.rye(&["trust", "review"]);
        let told = format!("it is not the key {} of that name", fingerprint(&ann));
        assert!(said.stdout.contains(&told), "{said:?}");
        assert_eq!(said.stdout.contains("imitates Latin letters"), imitates, "{said:?}");
        // Whoever accepts it is told once more.
        world.rye(&["trust", "accept", &fingerprint(&other)]).warns(&told);
        world.rye(&["trust", "remove", &fingerprint(&other)]).ok();
    }
}

#[test]
fn no_key_is_called_as_rye_calls_you_in_letters_of_any_kind() {
    let world = clone_world();
    for name in ["ｙｏｕ", "уоu", "Ｒye", "You there"] {
        world.write(&trusted(&stranger(1)), document(&stranger(1), name, ""));
        let said = world.rye(&["trust", "accept", &fingerprint(&stranger(1))]);
        assert_eq!(said.code(), "trust.malformed", "{name}: {said:?}");
    }
    world.rye(&["trust", "review"]).shows("You there");
}

#[test]
fn a_plain_accept_after_a_narrow_one_says_that_it_stays_narrow_and_how_it_is_widened() {
    let (world, key) = clone_by_ann();
    let said = world.rye(&["trust", "accept", &key, "--only", ITEM]);
    assert!(said.status == 0 && !said.stdout.contains("stays so"), "{said:?}");
    let said = world.rye(&["trust", "accept", &key]);
    let widen = format!("rye trust accept {key} --default");
    assert!(said.stdout.contains("stays so") && said.stdout.contains(&widen), "{said:?}");
    let said = world.rye(&["trust", "accept", &key, "--items", "tool:**"]);
    assert!(said.status == 0 && !said.stdout.contains("stays so"), "{said:?}");
    put(&world, &stranger(1), ".ai/tools/acme/more.sh", MARKER_SH);
    world.works("tool:acme/more");
    // Knowledge is what a key may sign by default, and hooks are not; the time stays.
    put(&world, &stranger(1), ".ai/knowledge/acme/page.md", "# Page\n");
    put(&world, &stranger(1), ".ai/tools/hooks/guard.sh", MARKER_SH);
    let until = "2099-01-01T00:00:00Z";
    let only = &["trust", "accept", &key, "--only", "tool:**", "--not-after", until];
    world.rye(only).ok();
    world.refused("knowledge:acme/page", "verify.out_of_scope", 4);
    let (status, got) = world.json(&["trust", "accept", &key, "--default"]);
    assert_eq!((status, &got["items"], &got["also"]), (0, &json!(null), &json!([])), "{got}");
    assert_eq!(
        (&got["not_after"], &got["left_out"]),
        (&json!(until), &json!(["tool:hooks/guard"]))
    );
    world.rye(&["verify", "knowledge:acme/page"]).ok();
    let said = world.rye(&["trust", "accept", &key, "--default", "--items", "tool:**"]);
    assert_eq!(said.status, 2, "{said:?}");
}

#[test]
fn a_key_whose_time_is_over_in_this_project_is_listed_as_that() {
    let (world, key) = clone_by_ann();
    let state = |world: &World| {
        let (_, got) = world.json(&["trust", "list"]);
        let keys = got["keys"].as_array().unwrap().iter();
        let row = keys.clone().find(|row| row["fingerprint"] == json!(key)).unwrap().clone();
        row["state"].as_str().unwrap().to_owned()
    };
    world.rye(&["trust", "accept", &key, "--everywhere"]).ok();
    assert_eq!(state(&world), "trusted");
    let over = ["trust", "accept", &key, "--not-after", "2025-01-02T00:00:00Z"];
    world.rye(&over).ok();
    assert_eq!(state(&world), "expired here");
    world.refused(ITEM, "verify.expired", 4);
    // Elsewhere its time is over, and here it is not.
    world.rye(&[&over[..], &["--everywhere"]].concat()).ok();
    assert_eq!(state(&world), "expired");
    let here = ["trust", "accept", &key, "--not-after", "2099-01-01T00:00:00Z"];
    world.rye(&here).ok();
    assert_eq!(state(&world), "trusted");
    world.works(ITEM);
}
