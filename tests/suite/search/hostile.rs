//! Whoever writes items to be found first, twice or instead of another.

use std::fs;

use serde_json::Value;

use super::{found, refs, tool};
use crate::world::{GREET_MD, MARKER_SH, World, line};

#[test]
fn a_word_that_tags_or_parameters_repeat_counts_less_than_a_name() {
    let world = World::new()
        .with(".ai/tools/acme/deploy.yaml", &tool("Publishes the site", ""))
        .with(".ai/tools/zz/honest.yaml", &tool("Helps", "tags: [deploy]\n"));
    assert_eq!(
        found(&world, "deploy"),
        ["tool:acme/deploy", "tool:zz/honest"],
        "the fixture is good"
    );
    let tags = format!("tags: [{}]\n", "deploy, ".repeat(300));
    world.signed(".ai/tools/zz/tags.yaml", &tool("Helps", &tags));
    let names: String = (0..300).map(|number| format!("deploy-{number}: {{}}, ")).collect();
    let schema = format!("input_schema: {{properties: {{{names}}}}}\n");
    world.signed(".ai/tools/zz/takes.yaml", &tool("Helps", &schema));
    let found = found(&world, "deploy");
    assert_eq!((found.len(), found[0].as_str()), (4, "tool:acme/deploy"), "{found:?}");
}

#[test]
fn of_a_project_that_is_not_accepted_each_ref_is_found_once_as_what_answers_it() {
    let world = World::new().with_home(".ai/tools/acme/shop.yaml", &tool("A zebra", ""));
    let find = |world: &World, words: &str| world.json(&["search", words]).1;
    let page = find(&world, "zebra");
    assert_eq!((refs(&page).len(), &page["hits"][0]["space"]), (1, &Value::from("user")), "{page}");
    // A clone has an item of the same name.
    let clone = world.outside().join("clone");
    fs::create_dir_all(clone.join(".ai/tools/acme")).unwrap();
    fs::write(clone.join(".ai/tools/acme/shop.yaml"), tool("Bait", "")).unwrap();
    let find = |words: &str| world.rye_in(&clone, &["search", words, "--json"], b"").json();
    let page = find("shop");
    assert_eq!((refs(&page), &page["total"]), (vec!["tool:acme/shop".to_owned()], &Value::from(1)));
    assert_eq!(
        (&page["hits"][0]["space"], &page["hits"][0]["verified"]),
        (&"project".into(), &false.into())
    );
    // What the shadowed one says finds nothing.
    assert_eq!(find("zebra")["total"], 0);
}

#[test]
fn two_files_of_one_id_are_found_and_counted_once() {
    let world = World::new()
        .with(".ai/tools/acme/x.yaml", &tool("A zebra", ""))
        .with(".ai/tools/acme/x.w.yaml", &tool("A zebra that is another", ""));
    let (_, page) = world.json(&["search", "zebra"]);
    assert_eq!((refs(&page).len(), &page["total"]), (2, &Value::from(2)), "{page}");
    let other = MARKER_SH.replace("Leaves a marker", "zebra of many other words");
    world.write(".ai/tools/acme/x.sh", other);
    for words in ["zebra", "", "of many"] {
        let (_, page) = world.json(&["search", words, "--space", "project", "--kind", "tool"]);
        let mut refs = refs(&page);
        assert_eq!(refs.len(), page["total"], "{words}: {page}");
        refs.sort();
        refs.dedup();
        assert_eq!(refs.len(), page["total"], "{words}: {page}");
        let code =
            &page["hits"].as_array().unwrap().iter().find(|hit| hit["item_id"] == "tool:acme/x");
        assert_eq!(code.unwrap()["refused"]["code"], "resolve.ambiguous_file", "{words}: {page}");
    }
}

#[test]
fn a_file_that_a_tool_lists_hides_no_signed_item_of_its_id() {
    let world = World::new().with(".ai/tools/acme/parts/wombat.sh", MARKER_SH);
    assert_eq!(found(&world, "wombat"), ["tool:acme/parts/wombat"], "the fixture is good");
    world.write(".ai/tools/acme/parts/wombat.py", "print(1)\n");
    let listing = MARKER_SH.replace("# ///\n:", "# files = [\"parts/*.py\"]\n# ///\n:");
    world.write(".ai/tools/acme/lists.sh", listing);
    let (_, page) = world.json(&["search", "wombat", "--space", "project"]);
    assert_eq!(refs(&page), ["tool:acme/parts/wombat"], "{page}");
    assert_eq!(page["hits"][0]["refused"]["code"], "resolve.ambiguous_file", "{page}");
}

#[test]
fn a_heading_cannot_hold_by_an_entity_what_no_file_may_hold() {
    let world = World::new();
    let page = |heading: &str| format!("# A zebra {heading}\n\nWords.\n");
    world.signed(".ai/knowledge/acme/good.md", &page("&amp; &eacute;"));
    let (_, good) = world.json(&["describe", "knowledge:acme/good"]);
    assert_eq!(good["summary"], "A zebra & é", "the fixture is good");
    for (entity, code) in [
        ("&#x202e;", "parse.invisible_text"),
        ("&#xe0049;", "parse.invisible_text"),
        ("&shy;", "parse.invisible_text"),
        ("&#27;[31m", "parse.control_text"),
    ] {
        world.write(".ai/knowledge/acme/bad.md", page(entity));
        let said = world.rye(&["sign", "knowledge:acme/bad"]);
        assert_eq!((said.status, said.code().as_str()), (5, code), "{entity}: {said:?}");
        // Signed by other means it is refused as well.
        let rest = page(entity);
        let line = line(
            &world.own_key(),
            "knowledge:acme/bad",
            "md",
            "2026-01-01T00:00:00Z",
            rest.as_bytes(),
        );
        world.write(".ai/knowledge/acme/bad.md", format!("<!-- {line} -->\n{rest}"));
        let (_, found) = world.json(&["search", "zebra", "--space", "project"]);
        let refs = refs(&found);
        assert_eq!(refs.len(), 1, "its words are not read: {found}");
        let said = world.rye(&["describe", "knowledge:acme/bad"]);
        assert_eq!((said.status, said.code().as_str()), (5, code), "{entity}: {said:?}");
        world.write(
            ".ai/directives/acme/bad.md",
            GREET_MD.replace("# Greet", &format!("# {entity}")),
        );
        let said = world.rye(&["sign", "directive:acme/bad"]);
        assert_eq!((said.status, said.code().as_str()), (5, code), "{entity}: {said:?}");
    }
}
