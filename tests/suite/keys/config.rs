//! `config:rye/file-types` and `config:rye/policy`: what only the person's own space may say.

use std::fs;

use super::others::{put, put_home, refused_and_unchanged, stranger, trust};
use crate::world::{MARKER_SH, World};

const TYPES: &str = ".ai/config/rye/file-types.yaml";
const POLICY: &str = ".ai/config/rye/policy.yaml";
const TYPE: &str = "bash2: {comment: \"#\", header: block}\n";
const SHADOW: &str = "allow_shadow: [\"rye/mine\", \"rye/bash\"]\n";
const ITEM: &str = "tool:acme/mark";

/// A tool with an extension that only a registered file type makes one.
fn put_tool(world: &World) {
    put(world, &world.own_key(), ".ai/tools/acme/mark.bash2", MARKER_SH);
}

fn reserved() -> String {
    MARKER_SH.replace("category = \"acme\"", "category = \"rye\"")
}

#[test]
fn a_file_type_that_you_sign_in_your_space_makes_tools() {
    let world = World::new();
    world.signed_home(TYPES, TYPE);
    world.signed(".ai/tools/acme/mark.bash2", MARKER_SH);
    world.works(ITEM);
    // What is registered is verified like any other.
    let mut bytes = world.read(".ai/tools/acme/mark.bash2");
    bytes.extend(b"# more\n");
    world.write(".ai/tools/acme/mark.bash2", bytes);
    refused_and_unchanged(&world, ITEM, "verify.altered");
}

#[test]
fn a_file_type_that_was_changed_can_be_looked_at_and_signed_again() {
    let world = World::new();
    let own = world.own_key();
    put_home(&world, &own, TYPES, TYPE);
    put_tool(&world);
    world.works(ITEM);
    let file = world.home().join(TYPES);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "sql: {comment: \"--\", header: block}\n").unwrap();
    world.refused(ITEM, "verify.trust_unreadable", 4);
    let verbs: &[&[&str]] =
        &[&["keys", "list"], &["trust", "list"], &["explain", "verify.trust_unreadable"]];
    for verb in verbs {
        world.rye(verb).ok();
    }
    world.rye(&["sign", "config:rye/file-types", "--space", "user"]).ok();
    world.works(ITEM);
}

#[test]
fn file_types_count_from_your_own_signature_alone() {
    let friend = stranger(1);
    for how in ["nobody", "the project", "a friend", "no signature"] {
        let world = World::new();
        let own = world.own_key();
        put_tool(&world);
        trust(&world, &friend, &["--items", "*:**"]);
        match how {
            "nobody" => {}
            "the project" => drop(put(&world, &own, TYPES, TYPE)),
            "a friend" => drop(put_home(&world, &friend, TYPES, TYPE)),
            _ => drop(world.write_home(TYPES, TYPE)),
        }
        let in_user_space = matches!(how, "a friend" | "no signature");
        let marker = world.project().join("marker");
        let said = world.rye(&["execute", ITEM, "--json"]);
        let want = match in_user_space {
            // Said in your space, but not by you: nothing is judged by it or without it.
            true => ("verify.trust_unreadable".to_owned(), 4),
            false => ("resolve.not_found".to_owned(), 3),
        };
        assert_eq!((said.code(), said.status), want, "{how}: {said:?}");
        assert!(!marker.exists(), "{how}");
        drop(fs::remove_file(world.home().join(TYPES)));
        drop(fs::remove_file(world.project().join(TYPES)));
        put_home(&world, &own, TYPES, TYPE);
        world.works(ITEM);
    }
}

#[test]
fn a_file_type_cannot_give_a_built_in_extension_another_meaning() {
    let world = World::new().with(".ai/tools/acme/built_in.sh", MARKER_SH);
    world.works("tool:acme/built_in");
    let text = "sh: {comment: \"%\", header: block}\npy: {comment: \"%\", header: block}\n";
    put_home(&world, &world.own_key(), TYPES, &format!("{TYPE}{text}"));
    world.works("tool:acme/built_in");
    put_tool(&world);
    world.works(ITEM);
}

#[test]
fn file_types_that_make_no_sense_fail_closed() {
    let world = World::new();
    let own = world.own_key();
    put_tool(&world);
    put_home(&world, &own, TYPES, TYPE);
    world.works(ITEM);
    for bad in [
        "bash2: {comment: \"\", header: block}\n",
        "bash2: {comment: \"#\"}\n",
        "bash2: {comment: \"#\", header: python}\n",
        "bash2: {comment: \"#\", header: block, run: x}\n",
        "\"../x\": {comment: \"#\", header: block}\n",
        "\"\": {comment: \"#\", header: block}\n",
        "[bash2]\n",
        "bash2: [\n",
    ] {
        put_home(&world, &own, TYPES, bad);
        world.refused(ITEM, "verify.trust_unreadable", 4);
    }
}

#[test]
fn no_check_passes_while_file_types_cannot_be_read() {
    let world = World::new();
    put_tool(&world);
    put_home(&world, &world.own_key(), TYPES, TYPE);
    let verbs: &[&[&str]] =
        &[&["verify"], &["verify", "--ci"], &["verify", "tool:acme/*"], &["verify", ITEM]];
    for verb in verbs {
        world.rye(verb).ok();
    }
    // An altered tool of the registered type must not be overlooked because the type is gone.
    let bytes = world.read(".ai/tools/acme/mark.bash2");
    world.write(".ai/tools/acme/mark.bash2", [&bytes[..], b"# more\n"].concat());
    for verb in verbs {
        assert_eq!(world.rye(verb).status, 4, "{verb:?}");
    }
    world.write_home(TYPES, TYPE);
    for verb in verbs {
        assert_eq!(world.rye(verb).status, 4, "{verb:?}");
    }
}

#[test]
fn a_policy_lets_you_sign_what_it_lists_in_your_space_and_no_more() {
    let world = World::new();
    let text = reserved();
    world.write_home(".ai/tools/rye/mine.sh", &text);
    world.write_home(".ai/tools/rye/not_mine.sh", &text);
    world.write(".ai/tools/rye/mine.sh", &text);
    world.signed_home(POLICY, SHADOW);
    let (status, said) = world.json(&["sign", "tool:rye/mine", "--space", "user"]);
    assert_eq!(status, 0, "{said}");
    for (item, space) in [("tool:rye/not_mine", "user"), ("tool:rye/mine", "project")] {
        let (status, said) = world.json(&["sign", item, "--space", space]);
        assert_eq!((status, &said["items"][0]["code"]), (4, &"sign.reserved".into()), "{item}");
    }
    fs::remove_file(world.project().join(".ai/tools/rye/mine.sh")).unwrap();
    world.works("tool:rye/mine");
    // In a project your own key signs nothing under `rye/`, whatever the policy lists.
    put(&world, &world.own_key(), ".ai/tools/rye/mine.sh", &text);
    refused_and_unchanged(&world, "tool:rye/mine", "verify.out_of_scope");
}

#[test]
fn what_you_said_in_your_space_stays_said_when_you_rotate_your_key() {
    let world = World::new();
    let own = world.own_key();
    put_home(&world, &own, POLICY, SHADOW);
    put_home(&world, &own, ".ai/tools/rye/mine.sh", &reserved());
    world.works("tool:rye/mine");
    put_home(&world, &own, TYPES, TYPE);
    put_tool(&world);
    world.works(ITEM);
    world.rye(&["keys", "rotate"]).ok();
    world.works(ITEM);
    world.rye(&["sign", "tool:rye/mine", "--space", "user"]).ok();
    world.works("tool:rye/mine");
}
