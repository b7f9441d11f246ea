//! What an item may touch, wherever a person decides about it.

use std::fs;

use serde_json::{Value, json};

use super::{FILE, ITEM};
use crate::keys::others::{clone_world, document, put, stranger, trust, trusted};
use crate::world::{MARKER_SH, World, fingerprint, line, sha256};

/// The marker tool with these lines in its header.
fn with(lines: &str) -> String {
    MARKER_SH.replace("# ///\n:", &format!("{lines}# ///\n:"))
}

const REACH: &str = "# secrets = [\"TOKEN\"]\n# [sandbox]\n# net = \"any\"\n# [sandbox.fs]\n\
                     # write = [\"{project_path}/build\"]\n";

#[test]
fn review_and_each_verb_that_describes_an_item_show_what_it_may_touch() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "Ann", ""));
    put(&world, &key, FILE, &with(REACH));
    put(
        &world,
        &key,
        ".ai/tools/acme/ask.yaml",
        "version: 1.0.0\ntool_type: tool\nexecutor_id: rye/core/runtimes/http/request\n\
         description: Asks\nconfig: {url: 'https://a.example/x'}\n",
    );
    let words = ["secrets TOKEN", "net any", "writes {project_path}/build"];
    let said = world.rye(&["trust", "review"]);
    for word in words.iter().chain(&["calls https://a.example/x", "through rye/core/runtimes"]) {
        assert!(said.stdout.contains(word), "{word}: {said:?}");
    }
    let want = json!({
        "runtime": "rye/core/runtimes/shell/script", "net": "any", "secrets": ["TOKEN"],
        "writes": ["{project_path}/build"],
    });
    let (_, review) = world.json(&["trust", "review"]);
    let of = |review: &serde_json::Value| {
        let items = review["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["item_id"] == ITEM).unwrap()
    };
    assert_eq!(of(&review)["reach"], want);
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    for verb in [&["show", ITEM][..], &["describe", ITEM, "--level", "full"]] {
        let (status, got) = world.json(verb);
        assert_eq!((status, &got["reach"]), (0, &want), "{verb:?}");
        world.rye(verb).shows("TOKEN").shows("any");
    }
    let (status, graph) = world.json(&["graph", ITEM]);
    assert_eq!((status, &graph["nodes"][0]["reach"]), (0, &want), "{graph}");
    world.rye(&["graph", ITEM]).shows("secrets TOKEN · net any");
}

#[test]
fn what_a_pull_asks_for_beyond_what_was_accepted_is_told_apart() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "Ann", ""));
    put(&world, &key, FILE, MARKER_SH);
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    let more = |world: &World| {
        let (_, review) = world.json(&["trust", "review"]);
        let items = review["items"].as_array().unwrap().clone();
        items.into_iter().find(|item| item["item_id"] == ITEM).unwrap()["asks_for_more"].clone()
    };
    assert_eq!(more(&world), json!([]));
    // The pull: a later signature by the same key.
    let text = with(REACH);
    let (first, rest) = text.split_once('\n').unwrap();
    let line = line(&key, ITEM, "sh", "2026-02-01T00:00:00Z", text.as_bytes());
    world.write(FILE, format!("{first}\n# {line}\n{rest}"));
    let want = json!(["secrets TOKEN", "net any", "writes {project_path}/build"]);
    assert_eq!(more(&world), want);
    world
        .rye(&["trust", "review"])
        .shows("asks for more than before: secrets TOKEN")
        .shows("1 of them asks for more");
    // Accepted anew, it is what there was before the next pull.
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    assert_eq!(more(&world), json!([]));
}

#[test]
fn an_item_that_came_after_the_project_was_accepted_asks_for_all_that_it_may_touch() {
    let world = clone_world();
    let (ann, bob) = (stranger(1), stranger(2));
    world.write(&trusted(&ann), document(&ann, "Ann", ""));
    put(&world, &ann, FILE, &with("# secrets = [\"OLD\"]\n"));
    put(&world, &bob, ".ai/tools/acme/bobs.sh", &with(REACH));
    let news = |world: &World| {
        let (_, review) = world.json(&["trust", "review"]);
        let items = review["items"].as_array().unwrap().clone();
        let rows = items.into_iter().filter(|row| row["asks_for_more"] != json!([]));
        rows.map(|row| {
            (row["item_id"].clone(), row["asks_for_more"].clone(), row["is_new"].clone())
        })
        .collect::<Vec<_>>()
    };
    // Before the project is accepted, and what was there when it was, nothing is new.
    assert_eq!(news(&world), []);
    world.rye(&["trust", "accept", &fingerprint(&ann)]).ok();
    assert_eq!(news(&world), [], "never run, but seen; and what is refused runs for nobody");
    // The pull: two items that nobody here has seen, one of which touches nothing.
    put(&world, &ann, ".ai/tools/acme/evil.sh", &with(REACH));
    put(&world, &ann, ".ai/knowledge/acme/page.md", "# Page\n");
    let words = ["secrets TOKEN", "net any", "writes {project_path}/build"];
    let all = json!([words[0], words[1], words[2], "through rye/core/runtimes/shell/script"]);
    assert_eq!(news(&world), [(json!("tool:acme/evil"), all, json!(true))]);
    world
        .rye(&["trust", "review"])
        .shows("new since you accepted: secrets TOKEN · net any")
        .shows("1 of them asks for more");
    // Accepted anew, with either command, it is what was there.
    world.rye(&["trust", "project"]).ok();
    assert_eq!(news(&world), []);
    // Your own first signature accepts a project as well.
    let mine = World::new();
    mine.write(FILE, with(REACH));
    mine.rye(&["sign", ITEM]).ok();
    assert_eq!(news(&mine), []);
}

#[test]
fn a_file_that_a_tool_covers_is_not_reviewed_as_an_item_without_a_signature() {
    let world = World::new();
    world.write(".ai/tools/acme/lib/stats.py", "X = 1\n");
    world.signed(
        ".ai/tools/acme/sum.py",
        "# /// rye\n# files = [\"lib/**\"]\n# ///\n__version__ = \"1.0.0\"\n\
         __executor_id__ = \"rye/core/runtimes/python/script\"\n__tool_description__ = \"d\"\n",
    );
    let items = |world: &World| {
        let (_, review) = world.json(&["trust", "review"]);
        let items = review["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["item_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(items(&world), ["tool:acme/sum"]);
    // A file with a signature line stays an item, whoever lists it.
    put(&world, &stranger(1), ".ai/tools/acme/lib/stats.py", "X = 1\n");
    assert_eq!(items(&world), ["tool:acme/lib/stats", "tool:acme/sum"]);
    // And so does one that no tool lists.
    fs::remove_file(world.project().join(".ai/tools/acme/sum.py")).unwrap();
    world.write(".ai/tools/acme/lib/stats.py", "X = 1\n");
    assert_eq!(items(&world), ["tool:acme/lib/stats"]);
}

#[test]
fn a_file_of_a_tool_that_is_refused_is_told_as_that_and_not_as_one_to_sign() {
    let world = clone_world();
    let file = ".ai/tools/acme/lib/stats.py";
    world.write(file, "X = 1\n");
    let digest = sha256(b"X = 1\n");
    let tool = format!(
        "# /// rye\n# [files]\n# \"lib/**\" = \"pattern\"\n# \"lib/stats.py\" = \"{digest}\"\n# ///\n\
         __version__ = \"1.0.0\"\n__executor_id__ = \"rye/core/runtimes/python/script\"\n\
         __tool_description__ = \"d\"\n"
    );
    put(&world, &stranger(1), ".ai/tools/acme/sum.py", &tool);
    let refused = |args: &[&str]| {
        let (status, got) = world.json(args);
        let items = got["items"].as_array().unwrap().clone();
        let rows = items.iter().filter(|row| row["space"] == "project");
        let told = |row: &Value| {
            let code = row["code"].as_str().or(row["refused"]["code"].as_str());
            (row["item_id"].as_str().unwrap().to_owned(), code.unwrap().to_owned())
        };
        (status, rows.map(told).collect::<Vec<_>>())
    };
    let row = |item: &str, code: &str| (item.to_owned(), code.to_owned());
    let sum = "tool:acme/sum";
    let stats = row("tool:acme/lib/stats", "verify.unsigned");
    for (status, args) in [(4, &["verify"][..]), (4, &["verify", "--ci"]), (0, &[])] {
        let want = vec![stats.clone(), row(sum, "verify.project_not_accepted")];
        assert_eq!(refused(args), (status, want), "{args:?}");
    }
    world.rye(&["verify"]).warns("`tool:acme/lib/stats` is a file of `tool:acme/sum`");
    world.rye(&["trust", "project"]).ok();
    assert_eq!(refused(&["verify"]), (4, vec![stats.clone(), row(sum, "verify.untrusted")]));
    let said = world.rye(&["verify"]);
    assert!(!said.stderr.contains("rye sign tool:acme/lib"), "{said:?}");
    // One that no tool lists is an item.
    world.write(".ai/tools/acme/other.py", "X = 1\n");
    let other = row("tool:acme/other", "verify.unsigned");
    assert_eq!(refused(&["verify"]), (4, vec![stats, other, row(sum, "verify.untrusted")]));
    // A tool that is let in answers for its files itself.
    trust(&world, &stranger(1), &[]);
    world.write(file, "X = 2\n");
    let (status, rows) = refused(&["verify"]);
    let want = [row("tool:acme/other", "verify.unsigned"), row(sum, "verify.dependency")];
    assert_eq!((status, rows), (4, want.to_vec()));
}

#[test]
fn an_unknown_field_of_a_tool_is_refused_with_the_nearest_name() {
    let world = World::new();
    let shell = |field: &str| (".ai/tools/acme/odd.sh", with(field));
    let yaml = |field: &str| {
        let text = "version: 1.0.0\nexecutor_id: rye/core/runtimes/shell/script\n";
        (".ai/tools/acme/odd.yaml", format!("{text}{field}\n"))
    };
    let python = |field: &str| {
        let text =
            "__version__ = \"1.0.0\"\n__executor_id__ = \"rye/core/runtimes/python/script\"\n";
        (".ai/tools/acme/odd.py", format!("{text}{field}\n"))
    };
    let node = |text: &str| (".ai/tools/acme/odd.js", format!("{text}\n"));
    for ((path, text), meant) in [
        (shell("# secret = [\"TOKEN\"]\n"), "secrets"),
        (shell("# [config_shema]\n# required = [\"x\"]\n"), "config_schema"),
        (shell("# [sandbx]\n# net = \"any\"\n"), "sandbox"),
        (yaml("configg: {}"), "config"),
        (yaml("timeout: 3"), "is not known here"),
        (shell("# config = {timeuot = 3}\n"), "`timeout`"),
        (shell("# [env_config.evn]\n# A = \"1\"\n"), "`env`"),
        (shell("# [child_constraints]\n# min_verison = \"1.0.0\"\n"), "`min_version`"),
        (shell("# inputs = [{name = \"a\", requird = false}]\n"), "`required`"),
        (yaml("config: {comand: ls}"), "`command`"),
        (yaml("env_config: {interpreter: {type: system_binary, binary: sh, vra: X}}"), "`var`"),
        (python("CONFIG = {\"timeuot\": 3}"), "`timeout`"),
        (python("CONFGI = {\"timeout\": 3}"), "`CONFIG`"),
        (python("SECRET = [\"TOKEN\"]"), "`SECRETS`"),
        (python("__secrets__ = [\"TOKEN\"]"), "`SECRETS`"),
        (python("INPUT_SCHEMA = {\"required\": [\"x\"]}"), "`CONFIG_SCHEMA`"),
        (python("SANDBOX = {\"net\": \"none\"}"), "header block"),
        (node("// /// rye\n// secret = ['TOKEN']\n// ///"), "`secrets`"),
        (python("CONFIG_SCHEME = {}"), "CONFIG_SCHEMA"),
        (python("__tool_descripton__ = \"d\""), "__tool_description__"),
        (node("const __executorid__ = 'a/b'"), "header block"),
    ] {
        let file = world.write(path, &text);
        let said = world.rye(&["sign", "tool:acme/odd", "--json"]);
        assert_eq!(said.status, 5, "{text}: {said:?}");
        assert!(said.stdout.contains("parse.metadata") && said.stdout.contains(meant), "{said:?}");
        // Signed past the door, or by an older program, it is refused where it is read.
        put(&world, &world.own_key(), path, &text);
        world.refused("tool:acme/odd", "parse.metadata", 5);
        let said = world.rye(&["verify", "--ci", "--json"]);
        assert!(said.status == 5 && said.stdout.contains(meant), "{said:?}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_field_for_others_and_a_name_of_the_programs_own_are_free() {
    let world = World::new().with(FILE, &with("# x-team = \"acme\"\n# [x-more]\n# a = 1\n"));
    world.works(ITEM);
    world.signed(
        ".ai/tools/acme/own.py",
        "__author__ = \"Ann\"\n__all__ = []\nCONFIGS = {}\nSECRET = \"s\"\nENVS = []\nFILE = 1\n\
         SANDBOX = [1, 2]\nPARAMETERS = {\"depth\": 3}\n\
         CONFIG = {\"endpoint\": \"e\", \"timeouts\": 3, \"timeout_s\": 3, \"Timeout\": {}}\n\
         __version__ = \"1.0.0\"\n__executor_id__ = \"rye/core/runtimes/python/script\"\n\
         __tool_description__ = \"d\"\nprint(1)\n",
    );
    world.works("tool:acme/own");
    // A runtime of your own may read what the tool's file says, and so may `x-…`.
    world.signed(
        ".ai/tools/acme/mine.yaml",
        "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
         description: d\nconfig: {command: cat, x-more: 1}\n",
    );
    world.signed(
        ".ai/tools/acme/data.yaml",
        "version: 1.0.0\nexecutor_id: acme/mine\ndescription: d\n\
         config: {rows: 3, comand: x}\n",
    );
    world.works("tool:acme/data");
}
