//! Slips of the fingers: what was nearly typed is named wherever a word is not known (core 11).

use std::fs;

use serde_json::Value;

use crate::cli::world;
use crate::world::{GREET_MD, MARKER_SH, World};

/// A key that nobody has.
const KEY: &str = "0123456789abcdef0123456789abcdef";

const CHOICES: &str = "__version__ = \"1.0.0\"\n__tool_type__ = \"tool\"\n\
    __executor_id__ = \"rye/core/runtimes/python/function\"\n__category__ = \"acme\"\n\
    __tool_description__ = \"Takes choices\"\n\
    CONFIG_SCHEMA = {\"type\": \"object\", \"additionalProperties\": False, \"properties\": {\n\
        \"level\": {\"enum\": [\"info\", \"warning\"]}, \"loud\": {\"type\": \"boolean\"},\n\
        \"many\": {\"type\": \"array\", \"items\": {\"enum\": [\"red\", \"green\"]}}}}\n\n\n\
    def execute(params):\n    return params\n";

#[test]
fn every_word_that_is_nearly_known_is_answered_with_the_one_that_is() {
    let world = World::new()
        .with(".ai/tools/acme/choose.py", CHOICES)
        .with(".ai/directives/acme/greet.md", GREET_MD);
    world.works("acme/choose");
    let rows: &[(&[&str], i32, &str)] = &[
        (&["exeucte", "acme/choose"], 2, "did you mean `rye execute`?"),
        (&["trust", "reveiw"], 2, "'review'"),
        (&["list", "--lnog"], 2, "'--long'"),
        (&["list", "--kind", "toool"], 2, "'tool'"),
        (&["sign", "--all", "--space", "projct"], 2, "'project'"),
        (&["new", "tol", "x"], 2, "'tool'"),
        (&["new", "tool", "x", "--lang", "pyhton"], 2, "'python'"),
        (&["--color", "alwyas"], 2, "'always'"),
        (&["explain", "verify.alterd"], 2, "`verify.altered`"),
        (&["show", "acme/chose"], 3, "`tool:acme/choose`"),
        (&["graph", "acme/chose"], 3, "`tool:acme/choose`"),
        (&["fetch", "knowledge:rye/overveiw"], 3, "`knowledge:rye/overview`"),
        (&["execute", "toll:acme/choose"], 3, "did you mean `tool`?"),
        (&["execute", "acme/choose@projct"], 3, "did you mean `@project`?"),
        (&["execute", "acme/choose", "-i", "lvel=info"], 2, "`level`"),
        (&["execute", "acme/choose", "-i", "level=wraning"], 2, "`warning`"),
        (&["execute", "acme/choose", "-i", "loud=ture"], 2, "`true`"),
        (&["execute", "acme/choose", "-i", "many:=[\"rde\"]"], 2, "`red`"),
        (&["execute", "directive:acme/greet", "-i", "woh=x"], 2, "`who`"),
        (&["execute", "acme/choose", "--thread", "inlien"], 4, "`inline`"),
        (&["execute", "acme/choose", "--target", "locla"], 4, "`local`"),
        (&["verify", "tool:amce/*"], 2, "`acme/**`"),
        (&["sign", "tool:amce/**"], 2, "`acme/**`"),
        (&["verify", "toll:acme/**"], 2, "did you mean `tool:`?"),
    ];
    for (args, status, hint) in rows {
        let said = world.rye(args);
        assert_eq!(
            (said.status, said.stderr.contains(hint)),
            (*status, true),
            "{args:?}: {said:?}"
        );
    }
    for (args, hint) in [
        (["show", "nope"], None),
        (["sign", "a/readme"], None),
        (["show", "rye/tools"], Some("did you mean `knowledge:rye/tools`?\n")),
        (["show", "directive:acme/choose"], Some("did you mean `tool:acme/choose`?\n")),
    ] {
        let said = world.rye(&args);
        assert_eq!(said.stderr.contains("did you mean"), hint.is_some(), "{args:?}: {said:?}");
        assert!(said.stderr.ends_with(hint.unwrap_or_default()), "{args:?}: {said:?}");
    }
    let said = world.rye(&["list", "amce/"]);
    assert_eq!(said.stdout, "no id begins with `amce/`; did you mean `acme/`?\n");
    let said = world.rye(&["list", "zzz"]);
    assert_eq!(said.stdout, "no id begins with `zzz`\n");
}

#[test]
fn a_pattern_that_nothing_matches_does_not_pass_for_a_check_that_passed() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    world.rye(&["verify", "tool:acme/*", "--ci"]).ok();
    for verb in ["verify", "sign"] {
        world.rye(&[verb, "tool:other/*"]).fails(2, "cli.usage");
    }
}

#[test]
fn an_input_without_its_option_is_answered_with_the_option() {
    let world = world();
    let said = world.rye(&["run", "acme/echo", "--mode=one"]);
    assert_eq!(said.status, 2, "{said:?}");
    let tip = "tip: an input of an item is given as 'mode=VALUE'";
    assert!(said.stderr.contains(tip), "{said:?}");
    world.rye(&["execute", "acme/echo", "-i", "mode=one"]).ok();
    let said = world.rye(&["list", "--mode=one"]);
    assert!(!said.stderr.contains("mode=VALUE"), "{said:?}");
}

#[test]
fn whoever_names_the_folder_of_items_as_the_project_means_the_project() {
    let world = world();
    let project = world.project().display().to_string();
    for named in [".ai", "./.ai/", &format!("{project}/.ai")] {
        world.rye(&["-p", named, "execute", "acme/echo", "--json"]).ok();
    }
    world
        .rye(&["-p", "nowhere", "list"])
        .fails(4, "space.io")
        .warns("give `--project` a folder that is there");
}

#[test]
fn where_there_is_no_project_and_no_key_the_next_step_is_one_that_works() {
    let world = World::empty();
    let said = world.rye(&["execute", "acme/echo"]);
    assert!(said.stderr.contains("in none of the spaces looked into: user, system"), "{said:?}");
    for args in [
        &["new", "tool", "hello"][..],
        &["sign", "--all"],
        &["sign", "tool:**"],
        &["test"],
        &["lock"],
        &["lock", "--check"],
        &["lock", "--remove", "rye/bash"],
        &["dev"],
        &["dev", "acme/greet"],
        &["trust", "review"],
        &["trust", "propose"],
        &["trust", "project"],
        &["trust", "accept", KEY],
        &["trust", "add", KEY],
        &["new", "ci"],
        &["new", "ci", "github"],
        &["verify", "--ci"],
        &["verify", "--ci", "--trust", KEY],
        &["verify", "--locked"],
        &["bundle", "pack", "tools", "acme/**", "--version", "1.0.0"],
    ] {
        let said = world.rye(args);
        let found = (said.code(), said.status);
        assert_eq!(found, ("space.no_project".into(), 4), "{args:?}: {said:?}");
        assert!(said.stderr.contains("`rye init` makes this folder a project"), "{said:?}");
    }
    assert!(!world.project().join(".ai").exists() && !world.home().join(".ai").exists());
    let listed = world.rye(&[]).stdout;
    assert!(listed.contains("there is no project here: `rye init`"), "{listed}");
    let (status, made) = world.json(&["new", "tool", "hello", "--space", "user"]);
    assert_eq!((status, &made["space"]), (0, &"user".into()), "{made}");
    let next: Vec<&str> =
        made["next"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(next[0], "rye keys generate", "{made}");
    for command in next {
        let args: Vec<&str> = command.split(' ').skip(1).collect();
        let said = world.rye(&args);
        assert_eq!(said.status, 0, "{command}: {said:?}");
    }
}

#[test]
fn a_key_and_an_accepted_folder_make_no_project_of_a_folder_without_items() {
    let world = World::new();
    let empty = world.outside().join("empty");
    fs::create_dir(&empty).unwrap();
    let public = world.home().join(".ai/config/keys/signing/public_key.pem");
    let public = public.display().to_string();
    for args in [
        &["trust", "project"][..],
        &["trust", "propose"],
        &["new", "ci", "shell"],
        &["verify", "--ci"],
        &["verify", "--locked"],
        &["trust", "add", &public, "--in", "."],
        &["sign", "."],
    ] {
        let said = world.rye_in(&empty, args, b"");
        let found = (said.code(), said.status);
        assert_eq!(found, ("space.no_project".into(), 4), "{args:?}: {said:?}");
        assert!(said.stderr.contains("rye init"), "{said:?}");
    }
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    world.rye_in(&empty, &["doctor"], b"").shows("there is no project here");
    world.rye_in(&empty, &["why", "rye/bash"], b"").shows("no project space here");
}

#[test]
fn a_project_of_three_items_has_three_whatever_its_reader_keeps_about_keys() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    world.rye(&["verify"]).shows("verified 3 of 3 items and");
    let (status, all) = world.json(&["verify", "--ci"]);
    assert_eq!(status, 0, "{all}");
    let of = |list: &str| -> Vec<String> {
        let rows = all[list].as_array().unwrap().iter();
        rows.map(|row| row["item_id"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!of("items").iter().any(|item| item.starts_with("config:keys/")), "{all}");
    assert!(of("about_keys").iter().any(|item| item.starts_with("config:keys/projects/")));
    assert_eq!(all["verified"], of("items").len());
    let listed = world.rye(&["list", "--all", "--kind", "config"]).stdout;
    assert!(!listed.contains("keys/"), "{listed}");
    // A document that is damaged is told as before.
    let folder = world.home().join(".ai/config/keys/projects");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}# more\n")).unwrap();
    assert_ne!(world.rye(&["verify"]).status, 0);
}

#[test]
fn a_project_that_is_not_accepted_is_told_as_that_by_each_verb() {
    let world = World::new();
    let clone = world.outside().join("clone");
    fs::create_dir_all(clone.join(".ai/tools/acme")).unwrap();
    fs::write(clone.join(".ai/tools/acme/mark.sh"), MARKER_SH).unwrap();
    fs::write(clone.join(".ai/tools/acme/mark.test.yaml"), "cases: []").unwrap();
    for args in [
        &["lock"][..],
        &["lock", "--check"],
        &["lock", "rye/bash"],
        &["lock", "--remove", "rye/bash"],
        &["dev"],
        &["test"],
    ] {
        let said = world.rye_in(&clone, args, b"");
        let found = (said.code(), said.status);
        assert_eq!(found, ("verify.project_not_accepted".into(), 4), "{args:?}: {said:?}");
        assert!(said.stderr.contains("rye trust review"), "{said:?}");
    }
}

#[test]
fn lines_fit_the_terminal_and_no_command_is_broken() {
    let world = world();
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    for columns in [80, 120] {
        for args in [
            &[][..],
            &["--help"],
            &["doctor"],
            &["execute", "--help"],
            &["trust", "add", "--help"],
            &["import", "mcp", "-h"],
            &["execute", "acme/ehco"],
            &["execute", "acme/unsigned"],
            &["trust", "accept", "a139"],
            &["sign", "tool:amce/**"],
        ] {
            let said = world.rye_in_columns(columns, args);
            assert!(said.stdout.lines().count() > 1, "{args:?}: {said:?}");
            for line in said.stdout.lines() {
                let width = line.trim_end().chars().count();
                assert!(width <= usize::from(columns), "{args:?}: {width} columns: {line}");
                let whole = said.status == 0 || line.matches('`').count() % 2 == 0;
                assert!(whole, "{args:?}: a command is cut: {line}");
            }
        }
    }
    // Nobody folds what a program reads.
    let said = world.rye(&["trust", "accept", "a139"]);
    assert!(said.stderr.lines().any(|line| line.len() > 80), "{said:?}");
}

#[test]
fn a_slip_of_a_schemas_keyword_is_told_when_the_tool_is_signed() {
    let world = World::new();
    let shell = "#!/bin/sh\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
         # executor_id = \"rye/core/runtimes/shell/script\"\n# [config_schema]\n# type = \"object\"\n\
         # requierd = [\"city\"]\n# [config_schema.properties.city]\n# enumm = [1]\n# ///\ntrue\n";
    let yaml = "version: \"1.0.0\"\ndescription: x\ncategory: acme\ntool_type: tool\n\
         executor_id: rye/core/primitives/execute\nconfig: {command: 'true'}\n\
         config_schema: {requierd: [city], properties: {city: {enumm: [1]}}}\n";
    let python = CHOICES.replace("\"enum\": [\"info\"", "\"enumm\": [\"info\"");
    let python =
        python.replace("\"additionalProperties\"", "\"requierd\": [], \"additionalProperties\"");
    for (file, text, place) in
        [("a.sh", shell, "city"), ("b.yaml", yaml, "city"), ("c.py", python.as_str(), "level")]
    {
        world.write(&format!(".ai/tools/acme/{file}"), text);
        let item = format!("tool:acme/{}", &file[..1]);
        let said = world.rye(&["sign", &item]).ok();
        let slips = [("/requierd", "required"), (&format!("/properties/{place}/enumm"), "enum")];
        for (slip, meant) in slips {
            let told = format!(
                "the schema's `{slip}` is not a keyword of JSON Schema and checks nothing; did you \
                 mean `{meant}`?"
            );
            // A terminal's lines may be broken; here there is none.
            assert!(said.stderr.contains(&told), "{told}: {said:?}");
        }
        world.works(&item);
    }
}

#[test]
fn no_keyword_of_an_item_that_is_shipped_or_tried_here_is_taken_for_a_slip() {
    let world = World::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (at, from) in [".ai/tools/rye", "tests/specs/.ai/tools"].into_iter().enumerate() {
        let to = world.project().join(format!(".ai/tools/of{at}"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let mut copy = std::process::Command::new("cp");
        let copied = copy.arg("-r").arg(root.join(from)).arg(to).status();
        assert!(copied.unwrap().success(), "{from}");
    }
    let said = world.rye(&["sign", "--all", "--others", "--json"]);
    assert!(said.stdout.matches("tool:of").count() > 20, "{said:?}");
    assert!(!said.stdout.contains("is not a keyword"), "{said:?}");
}
