//! After a pull: what a colleague changed is marked, and shown.

use serde_json::json;

use super::{CONFIG, FILE, ITEM, clone_by};
use crate::keys::others::{put, stranger};
use crate::world::End;
use crate::world::MARKER_SH;

/// Another version of the tool.
fn edited() -> String {
    format!("{MARKER_SH}# edited\n")
}

#[test]
fn review_marks_what_changed_since_it_was_verified_and_diff_shows_all_of_it() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    let said = world.rye(&["trust", "review"]);
    assert!(!said.stdout.contains("changed since"), "{said:?}");
    for words in [&["diff"][..], &["diff", "."], &["diff", "acme/**", "config:**"]] {
        let said = world.rye(words);
        let nothing = "nothing changed since it was last verified\n";
        assert_eq!((said.status, said.stdout.as_str()), (0, nothing), "{words:?}");
    }
    // The colleague changes the body, and signs.
    put(&world, &stranger(1), FILE, &edited());
    put(&world, &stranger(1), ".ai/tools/acme/new.sh", MARKER_SH);
    let said = world.rye(&["trust", "review"]);
    let row = said.stdout.lines().find(|line| line.contains(ITEM)).unwrap();
    assert!(row.ends_with("changed since you last verified it"), "{said:?}");
    let other = said.stdout.lines().find(|line| line.contains(CONFIG)).unwrap();
    assert!(!other.contains("changed since"), "{said:?}");
    assert!(said.stdout.contains("`rye diff` shows what changed in 1 item"), "{said:?}");
    let (_, got) = world.json(&["trust", "review"]);
    let rows = got["items"].as_array().unwrap();
    let changed: Vec<_> = rows.iter().filter(|row| row["changed"] == true).collect();
    assert!(changed.len() == 1 && changed[0]["item_id"] == ITEM, "{got}");
    // Without a ref, by a folder, a glob, or several refs.
    for words in [&["diff"][..], &["diff", "."], &["diff", "acme/**"], &["diff", ITEM, CONFIG]] {
        let said = world.rye(words).ok();
        let head = format!("{ITEM}  .ai/tools/acme/mark.sh\n");
        assert!(said.stdout.contains(&head), "{words:?}: {said:?}");
        assert!(said.stdout.contains("\n+# edited\n"), "{words:?}: {said:?}");
    }
    world.rye(&["diff"]).shows("\nnew  tool:acme/new  ");
    let (status, got) = world.json(&["diff", "acme/mark", CONFIG]);
    assert_eq!((status, &got["status"]), (0, &json!("success")), "{got}");
    let rows = got["items"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["item_id"]), (1, &json!(ITEM)), "{got}");
    assert!(rows[0]["diff"].as_str().unwrap().contains("\n+# edited\n"), "{got}");
    // A slip is told, and so is what is about one item alone.
    for words in [&["diff", ITEM, "tool:acme/nothing"][..], &["diff", "--lock"]] {
        let (status, got) = world.json(words);
        assert!(status != 0 && got["help"].is_string(), "{words:?}: {got}");
    }
    // What is taken as read is the version to compare with from then on.
    world.rye(&["trust", "project"]).ok();
    let said = world.rye(&["diff"]);
    assert_eq!(said.stdout, "nothing changed since it was last verified\n");
}

#[test]
fn a_file_that_cannot_be_looked_at_hides_no_change_of_others() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["verify"]).ok();
    put(&world, &stranger(1), FILE, &edited());
    world.write(".ai/tools/acme/large.sh", vec![b'a'; 5_000_000]);
    world.rye(&["diff"]).fails(4, "space.too_large").shows("+# edited");
    let got = world.json(&["diff"]).fails(4, "space.too_large");
    assert_eq!(got["items"][0]["item_id"], ITEM);
}
