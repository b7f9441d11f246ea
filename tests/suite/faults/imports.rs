//! An import that is stopped in the middle: an item is there whole or not at all, it is signed or
//! it is not, and the same import over it ends well.

use std::fs;

use super::State::{New, Old};
use super::{Case, try_all};
use crate::world::World;

const SKILL_MD: &str = "---\nname: forms\ndescription: Fills in forms\n---\n\nFill in.\n";

#[test]
fn c06_an_import_that_is_stopped_leaves_whole_items_and_can_be_made_again() {
    let world = World::new().at_the_door();
    let skill = world.outside().join("forms");
    fs::create_dir(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), SKILL_MD).unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    try_all(&Case {
        args: words("import skill ../forms --yes"),
        states: |world| {
            let said = world.rye(&["verify", "directive:skills/forms", "--json"]);
            let code = said.json()["items"][0]["code"].as_str().map(str::to_owned);
            match code.as_deref() {
                None if said.status == 0 => vec![New],
                Some("resolve.not_found" | "verify.unsigned") => vec![Old],
                other => panic!("{other:?}: {said:?}"),
            }
        },
        next: words("import skill ../forms --yes --force"),
        next_may_say: &[],
        least: 12,
        world,
    });
}

#[test]
fn c06_an_older_item_that_is_signed_in_its_place_keeps_a_signature_at_every_moment() {
    let world = crate::import::older::in_place(World::new().at_the_door());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    try_all(&Case {
        args: words("import rye . --key ../old.pem --yes"),
        states: |world| {
            let text = String::from_utf8(world.read(".ai/tools/acme/mark.py")).unwrap();
            match text.contains("rye:signed:2026-04-10") {
                true => vec![Old],
                false => {
                    let said = world.rye(&["verify", "tool:acme/mark"]);
                    assert_eq!(said.status, 0, "neither signature: {said:?}");
                    vec![New]
                }
            }
        },
        next: words("import rye . --key ../old.pem --yes"),
        next_may_say: &["import.nothing"],
        least: 6,
        world,
    });
}
