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
    // An unsigned header hides nothing: the other is told as a file of it, and signed with it.
    assert_eq!(own_tools(&world), ["tool:acme/all", "tool:acme/part"]);
    world.rye(&["list"]).shows("tool:acme/part  (a file of tool:acme/all)");
    let said = world.rye(&["sign", "--all"]);
    assert!(said.stdout.contains("tool:acme/all") && said.status == 0, "{said:?}");
    assert!(!said.stdout.contains("tool:acme/part"), "{said:?}");
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
    world.rye(&["list"]).shows("tool:acme/p  (a file of tool:acme/list)");
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
    world.rye(&["list"]).shows("a file of tool:acme/all");
    let elsewhere = world.outside().join("clone");
    fs::rename(world.project(), &elsewhere).unwrap();
    let said = world.rye_in(&elsewhere, &["list", "--space", "project", "--json"], b"");
    let items = said.json()["items"].to_string();
    assert!(items.contains("tool:acme/all") && items.contains("tool:acme/part"), "{said:?}");
}

/// Each lists the next, and the last of them `back`.
fn ring(world: &World, count: usize, back: &str) -> Vec<String> {
    for at in 0..count {
        let next = if at + 1 < count { format!("r{}.sh", at + 1) } else { back.to_owned() };
        world
            .write(&format!(".ai/tools/acme/r{at}.sh"), tool(&format!("# files = [\"{next}\"]\n")));
    }
    (0..count).map(|at| format!("tool:acme/r{at}")).collect()
}

fn items(said: &serde_json::Value) -> Vec<String> {
    let items = said["items"].as_array().unwrap().iter();
    items.map(|row| row["item_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn unsigned_tools_that_list_each_other_hide_nothing_from_any_door() {
    for (count, back) in [(2, 0), (3, 0), (5, 0), (4, 2), (5, 4)] {
        let world = World::new();
        let ring = ring(&world, count, &format!("r{back}.sh"));
        assert_eq!(own_tools(&world), ring, "{count} {back}");
        let said = world.json(&["verify", "--all", "--ci"]).fails(4, "verify.unsigned");
        assert_eq!(said["failed"], count, "{said}");
        assert_eq!(items(&world.json(&["trust", "review"]).ok()), ring, "{count} {back}");
        let said = world.rye(&["sign", "--all", "--check"]);
        let told = [said.stdout, said.stderr].concat();
        assert!(ring.iter().all(|item| told.contains(item)), "{count} {back}: {told}");
    }
    // A newcomer is asked before the project is accepted.
    let stranger = World::empty();
    let ring = ring(&stranger, 3, "r0.sh");
    stranger.json(&["init"]).fails(4, "verify.project_not_accepted");
    assert_eq!(items(&stranger.json(&["trust", "review"]).ok()), ring);
}

#[test]
fn an_unsigned_header_hides_no_tool_and_no_directive_from_a_review() {
    let world = World::new();
    let header = "# files = [\"*.sh\", \"lib.py\"]\n# [anchor]\n# root = \"tool_dir\"\n";
    world.write(".ai/tools/acme/top.sh", tool(header));
    world.write(".ai/tools/acme/other.sh", tool(""));
    world.write(".ai/tools/acme/lib.py", "x = 1\n");
    let above = "# files = [\".ai/directives/**\"]\n# [anchor]\n# root = \"project_path\"\n";
    world.write(".ai/tools/base.sh", tool(above));
    world.write(".ai/directives/acme/greet.md", crate::world::GREET_MD);
    let review = world.json(&["trust", "review"]).ok();
    let mut seen = items(&review);
    seen.sort();
    let want = ["directive:acme/greet", "tool:acme/lib", "tool:acme/other", "tool:acme/top"];
    assert_eq!(seen[..4], want, "{review}");
    let said = world.rye(&["trust", "review"]);
    said.shows("tool:acme/other       none: not signed").shows("a file of tool:acme/top");
    let said = world.rye(&["verify"]);
    said.warns("`tool:acme/lib` is a file of `tool:acme/top`")
        .warns("1 more item here: tool:acme/other");
    world.json(&["verify"]).fails(4, "verify.unsigned");
    world.rye(&["sign", "directive:acme/greet"]).ok();
    world.rye(&["sign", "--all"]).ok();
    let seen = items(&world.json(&["trust", "review"]).ok());
    assert_eq!(seen, ["tool:acme/top", "tool:base", "directive:acme/greet"], "covered by now");
}

#[test]
fn f10_no_unsigned_header_takes_a_hook_out_of_force() {
    let guard = ".ai/tools/hooks/guard.yaml";
    let text = "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: hooks\ndescription: A hook.\nhook: tool\nphases: [before_execution]\n\
                exec:\n  command: ./it.sh\n  files: [it.sh]\n";
    let world = World::new().with(".ai/tools/acme/mark.sh", crate::world::MARKER_SH);
    world.works("tool:acme/mark");
    world.write(".ai/tools/hooks/it.sh", "#!/bin/sh\necho '{\"allow\":false}'\n");
    world.signed(guard, text);
    world.refused("tool:acme/mark", "hook.denied", 4);
    // By a header of another file, and in a ring with it.
    for listed in ["[it.sh]", "[it.sh, c.sh]"] {
        world.write(guard, text.replace("[it.sh]", listed));
        world.write(".ai/tools/hooks/b.sh", tool("# files = [\"guard.yaml\"]\n"));
        world.write(".ai/tools/hooks/c.sh", tool("# files = [\"b.sh\"]\n"));
        world.refused("tool:acme/mark", "hook.unusable", 4);
        let said = world.json(&["verify", "--ci"]).fails(4, "verify.unsigned");
        assert!(said.to_string().contains("tool:hooks/guard"), "{said}");
    }
}
