//! What `rye list` and `rye sign --all` take for an item, and what for a file of one.

use std::fs;

use crate::world::items::tool_sh;
use crate::world::{End, World};

/// A tool in shell with more fields in its header.
fn tool(more: &str) -> String {
    tool_sh(more, "echo 1\n")
}

fn own_tools(world: &World) -> Vec<String> {
    let listed = world.json(&["list", "--space", "project"]).ok();
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|row| row["item_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_unsigned_tool_whose_own_pattern_means_it_is_listed_and_signed() {
    let world = World::new();
    world.write(".ai/tools/acme/all.sh", tool("# files = [\"**\"]\n"));
    world.write(".ai/tools/acme/part.sh", "echo part\n");
    assert_eq!(own_tools(&world), ["tool:acme/all"], "the other is a file of it");
    let said = world.rye(&["sign", "--all"]);
    assert!(said.stdout.contains("tool:acme/all") && said.status == 0, "{said:?}");
    world.works("tool:acme/all");
    assert_eq!(own_tools(&world), ["tool:acme/all"]);
}

#[test]
fn whoever_signs_a_file_of_a_tool_by_name_is_told_that_the_tool_has_to_be_signed_too() {
    let world = World::new();
    world.write(".ai/tools/acme/all.sh", tool("# files = [\"part.sh\"]\n"));
    world.write(".ai/tools/acme/part.sh", tool(""));
    world.rye(&["sign", "--all"]).ok();
    world.works("tool:acme/all");
    world.rye(&["sign", "acme/part"]).ok().warns("run `rye sign tool:acme/all` too");
    world.refused("tool:acme/all", "verify.dependency", 4);
    world.rye(&["sign", "acme/all"]).ok();
    world.works("tool:acme/all");
    // An item of its own is signed without a word.
    assert_eq!(world.rye(&["sign", "acme/part"]).stderr, "");
}

#[test]
fn two_unsigned_tools_that_mean_each_other_are_both_listed_and_both_globbed() {
    let world = World::new();
    for name in ["one", "two"] {
        world.write(&format!(".ai/tools/acme/{name}.sh"), tool("# files = [\"*.sh\"]\n"));
    }
    assert_eq!(own_tools(&world), ["tool:acme/one", "tool:acme/two"]);
    world.rye(&["sign", "tool:acme/*", "--check"]).shows("acme/one").shows("acme/two");
}

#[test]
fn a_header_that_begins_at_a_folder_it_has_not_hides_nothing() {
    let world = World::new();
    let above = "# files = [\"tools/*.sh\", \"**/p.sh\"]\n# [anchor]\n# root = \"tool_parent\"\n";
    // In a folder the same words mean its neighbours.
    world.write(".ai/tools/acme/list.sh", tool(&above.replace("tools/", "acme/")));
    world.write(".ai/tools/acme/p.sh", "echo part\n");
    assert_eq!(own_tools(&world), ["tool:acme/list"]);
    // Above a tool without a folder there is none that it may use.
    fs::remove_dir_all(world.project().join(".ai/tools/acme")).unwrap();
    world.write(".ai/tools/list.sh", tool(above));
    world.write(".ai/tools/p.sh", "echo part\n");
    assert_eq!(own_tools(&world), ["tool:list", "tool:p"]);
    let said = world.rye(&["sign", "tool:list"]);
    assert!(said.status != 0 && said.stderr.contains("may not use"), "{said:?}");
}

#[test]
fn of_a_project_that_is_not_accepted_no_header_is_read_to_list_it() {
    let world = World::new();
    world.write(".ai/tools/acme/all.sh", tool("# files = [\"part.sh\"]\n"));
    world.write(".ai/tools/acme/part.sh", "echo part\n");
    assert_eq!(own_tools(&world), ["tool:acme/all"], "here a header counts");
    let elsewhere = world.outside().join("clone");
    fs::rename(world.project(), &elsewhere).unwrap();
    let said = world.rye_in(&elsewhere, &["list", "--space", "project", "--json"], b"");
    let items = said.json()["items"].to_string();
    assert!(items.contains("tool:acme/all") && items.contains("tool:acme/part"), "{said:?}");
}
