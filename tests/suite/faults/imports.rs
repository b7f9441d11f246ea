//! An import that is stopped in the middle: each file is whole or not there, no item is signed whose files
//! are not all there, and the same import over it ends well.

use std::fs;

use super::State::{New, Old};
use super::{Case, State, try_all};
use crate::world::World;

const SKILL_MD: &str = "---\nname: forms\ndescription: Fills in forms\n---\n\nFill in.\n";
const FILES: [(&str, &str); 1] = [("more/b.md", "# B\n")];

/// An item is signed and all that its signature covers is there; or it is not signed, or not there.
fn item(world: &World, item: &str) -> State {
    let said = world.rye(&["verify", item, "--json"]);
    match said.json()["items"][0]["code"].as_str().unwrap_or_default() {
        "" if said.status == 0 => New,
        "resolve.not_found" | "verify.unsigned" => Old,
        other => panic!("{other}: {said:?}"),
    }
}

#[test]
fn c06_an_import_that_is_stopped_leaves_whole_files_and_can_be_made_again() {
    let world = World::new_in_memory();
    let skill = world.outside().join("forms");
    for (path, text) in [("SKILL.md", SKILL_MD)].into_iter().chain(FILES) {
        let path = skill.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    try_all(&Case {
        args: words("import skill ../forms --yes"),
        states: |world| {
            let below = world.project().join(".ai/tools/skills/forms.files");
            for (path, text) in FILES {
                let there = fs::read_to_string(below.join(path));
                assert!(there.is_err() || there.is_ok_and(|there| there == text), "{path}");
            }
            vec![item(world, "tool:skills/forms"), item(world, "directive:skills/forms")]
        },
        next: words("import skill ../forms --yes --force"),
        next_may_say: &[],
        least: 20,
        world,
    });
}
