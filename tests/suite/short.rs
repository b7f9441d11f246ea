//! Said short (core 11): inputs as words, paths for refs, and items in the place of a verb.

use std::fs;

use serde_json::json;

use crate::cli::world;
use crate::world::{End, GREET_MD, MARKER_SH, World};

#[test]
fn inputs_are_words_behind_the_item() {
    let world = world();
    world.write("note.txt", "from a file");
    let rows: &[(&[&str], serde_json::Value)] = &[
        (&["run", "acme/echo", "s=Ada"], json!({"s": "Ada"})),
        (
            &["execute", "acme/echo", "n=7", "s=a b", "-i", "t=x"],
            json!({"n": 7, "s": "a b", "t": "x"}),
        ),
        (&["run", "acme/echo", "s=@note.txt", "l:=[1]"], json!({"s": "from a file", "l": [1]})),
        (&["run", "--", "acme/echo", "-s=1"], json!({"-s": "1"})),
    ];
    for (args, want) in rows {
        let line = [&["--json"][..], args].concat();
        let said = world.rye(&line);
        assert_eq!((said.status, &said.json()["data"]), (0, want), "{args:?}: {said:?}");
    }
    for args in [&["run", "acme/echo", "Ada"][..], &["run", "acme/echo", "s=1", "s=2"]] {
        world.rye(args).fails(2, "cli.input_syntax");
    }
    // A plan names the item.
    world.rye(&["plan", "acme/echo", "s=Ada", "--out", "plan.json"]).ok();
    assert_eq!(
        world.json(&["run", "--plan", "plan.json", "s=Ada"]).ok()["data"],
        json!({"s": "Ada"})
    );
    world.rye(&["run", "acme/echo", "-i", "mod=x"]).ok();
}

#[test]
fn the_path_of_a_file_is_its_ref_for_every_verb() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    let path = ".ai/tools/acme/echo.sh";
    let rows: &[&[&str]] = &[
        &["run", path, "s=x"],
        &[path, "s=x"],
        &["plan", path, "s=x"],
        &["show", path],
        &["describe", path],
        &["fetch", path],
        &["why", path],
        &["diff", path],
        &["verify", path],
        &["sign", path],
        &["graph", path],
        &["lock", path],
        &["list", path],
    ];
    for args in rows {
        world.rye(&[args, &["--json"][..]].concat()).ok().shows("tool:acme/echo");
    }
    let inside = world.project().join(".ai/tools/acme");
    let whole = world.project().join(path);
    for (folder, path) in [
        (&inside, "./echo.sh"),
        (&inside, "../../directives/../tools/acme/echo.sh"),
        (&inside, whole.to_str().unwrap()),
    ] {
        let project = ["-p", world.project().to_str().unwrap()].map(str::to_owned);
        let args = [project[0].as_str(), project[1].as_str(), "run", path, "s=x"];
        let said = world.rye_in(folder, &args, b"");
        assert_eq!(said.status, 0, "{path}: {said:?}");
    }
    let other = World::new();
    let theirs = other.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world
        .rye(&["run", theirs.to_str().unwrap()])
        .fails(3, "cli.not_an_item")
        .warns("it belongs to another project: give `--project");
}

#[test]
fn a_path_names_exactly_that_file_and_no_file_turns_a_ref_into_another() {
    let world = world();
    world.write(".ai/tools/acme/echo.txt", "beside it");
    world.write(".ai/tools/acme/echo.test.yaml", "cases: []\n");
    world.write("acme/echo", "a file with the name of a ref");
    world.write("other.sh", MARKER_SH);
    let (status, got) = world.json(&["run", "acme/echo", "s=x"]);
    assert_eq!((status, &got["item_id"]), (0, &json!("tool:acme/echo")));
    for (path, why) in [
        (".ai/tools/acme/echo.txt", "no kind of item has such a file"),
        (".ai/tools/acme/echo.test.yaml", "`rye test` tries"),
        (".ai/tools/acme/none.sh", "cannot be read"),
        ("./other.sh", "it lies in no space"),
        (".ai/tools/acme", "it is a folder, and one item is asked for"),
        ("/etc/hostname", "it lies in no space"),
    ] {
        world.rye(&["run", path]).fails(3, "cli.not_an_item").warns(why);
    }
    // A link is the item of its own name, and is refused as such.
    let link = world.project().join(".ai/tools/acme/link.sh");
    std::os::unix::fs::symlink(world.project().join(".ai/tools/acme/echo.sh"), link).unwrap();
    world.rye(&["run", ".ai/tools/acme/link.sh"]).fails(4, "space.symlink");
    // Two files of one id are two, whichever is named.
    world.write(".ai/tools/acme/echo.py", "x = 1\n");
    world.refused(".ai/tools/acme/echo.sh", "resolve.ambiguous_file", 3);
}

#[test]
fn a_folder_is_every_item_below_it_and_never_takes_over_what_others_signed() {
    let other = World::new();
    let theirs = other.signed(".ai/tools/acme/theirs.sh", MARKER_SH);
    let theirs = fs::read(theirs).unwrap();
    let world = World::new();
    world.write(".ai/tools/acme/a.sh", MARKER_SH);
    world.write(".ai/tools/acme/theirs.sh", &theirs);
    world.write(".ai/directives/acme/greet.md", GREET_MD);
    let (status, got) = world.json(&["sign", ".", "--check"]);
    assert_eq!((status, got["items"].as_array().map(Vec::len)), (4, Some(3)), "{got}");
    let (status, got) = world.json(&["sign", ".ai/tools"]);
    assert_eq!((status, &got["changed"], &got["passed_over"]), (0, &json!(1), &json!(1)), "{got}");
    assert_eq!(world.read(".ai/tools/acme/theirs.sh"), theirs);
    world.works("tool:acme/a");
    world.refused("directive:acme/greet", "verify.unsigned", 4);
    let inside = world.project().join(".ai/directives/acme");
    world.rye_in(&inside, &["sign", "."], b"").ok().shows("directive:acme/greet");
    world.rye(&["verify", ".ai/directives/"]).ok().shows("1 of 1 items");
    fs::create_dir(world.project().join("src")).unwrap();
    world.rye(&["sign", "./src"]).fails(3, "cli.not_an_item");
}

#[test]
fn a_folder_that_a_clone_made_a_link_is_not_gone_through() {
    let world = World::new();
    let hook = world.write(".ai/tools/hooks/guard.sh", MARKER_SH);
    let home = world.write_home(".ai/tools/mine/draft.sh", MARKER_SH);
    let before = [&hook, &home].map(|file| fs::read(file).unwrap());
    let at = world.home().display().to_string();
    world.shell(&format!("mkdir -p sub; ln -s ../tools .ai/tools/acme; ln -s {at} docs"));
    let all = [".ai/tools/acme", ".ai/tools/acme/hooks", "./docs", "docs/.ai", "./docs/.ai/tools/"];
    for path in all {
        world.rye(&["sign", path]).fails(3, "cli.not_an_item").warns("is a link");
    }
    world.rye(&["run", "docs/.ai/tools/mine/draft.sh"]).fails(3, "cli.not_an_item");
    assert_eq!([&hook, &home].map(|file| fs::read(file).unwrap()), before, "nothing was signed");
    // A link of one's own, outside of the project, is a way like any other.
    let way = world.outside().join("way");
    std::os::unix::fs::symlink(world.project(), &way).unwrap();
    world
        .rye_in(&way, &["sign", "--check", "../way/.ai/tools/hooks"], b"")
        .shows("tool:hooks/guard");
}

#[test]
fn globs_need_no_kind_and_what_stands_beside_them_is_checked_too() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/b/unsigned.sh", MARKER_SH);
    let (status, got) = world.json(&["verify", "acme/**"]);
    assert_eq!((status, got["items"].as_array().map(Vec::len)), (0, Some(2)), "{got}");
    let said = world.rye(&["verify", "tool:b/unsigned", "acme/**"]);
    assert_eq!(said.status, 4, "a ref beside a glob counts: {said:?}");
    for word in ["tool:acme/echo", "tool:acme/e", "acme/*", "tool:acme/**", ".ai/tools/acme"] {
        let (_, got) = world.json(&["list", word]);
        let items: Vec<_> =
            got["items"].as_array().unwrap().iter().map(|i| &i["item_id"]).collect();
        let both = word == "acme/*";
        assert!(items.contains(&&json!("tool:acme/echo")), "{word}: {got}");
        assert_eq!(items.len(), if both { 2 } else { 1 }, "{word}: {got}");
    }
    let (_, got) = world.json(&["list", "knowledge:rye/over"]);
    assert_eq!(got["items"][0]["item_id"], "knowledge:rye/overview", "{got}");
}

#[test]
fn an_item_runs_by_its_name_alone_where_no_verb_has_it() {
    let world = world();
    world
        .signed(".ai/tools/greet.sh", &MARKER_SH.replace("category = \"acme\"", "category = \"\""));
    for args in [
        &["greet", "x=1"][..],
        &["tool:greet"],
        &["acme/echo", "s=Ada"],
        &["-p", ".", "--color", "never", "greet", "x=1"],
        &["--", "greet", "x=1"],
        &["-p", ".", "--json", "--", "greet", "x=1"],
        &["-p", ".", "greet", "--", "x=1"],
    ] {
        world.rye(args).ok();
    }
    let (status, got) = world.json(&["greet"]);
    assert_eq!((status, &got["item_id"]), (0, &json!("tool:greet")));
    for (args, hint) in [
        (&["nosuch"][..], "`nosuch` is neither a verb of rye nor a tool or directive here"),
        (&["gret"], "did you mean `rye run tool:greet`"),
        (&["lst", "--kind", "tool"], "did you mean `rye list`?"),
        // What other programs call it.
        (&["ls"], "did you mean `rye list`?"),
        (&["exec", "acme/echo"], "did you mean `rye execute`?"),
        (&["status"], "did you mean `rye doctor` or `rye run tool:rye/git/status`?"),
        (&["greet", "--loud"], "an input of an item is given as `name=value`"),
    ] {
        world.rye(args).fails(2, "cli.usage").warns(hint);
        let said = world.rye(&[args, &["--json"][..]].concat());
        assert_eq!(said.json()["code"], "cli.usage", "{args:?}");
    }
    world.rye(&["acme/none"]).fails(3, "resolve.not_found");
}

#[test]
fn no_item_takes_the_place_of_a_verb_or_of_a_slip_of_one() {
    let world = World::new();
    let tool = MARKER_SH.replace("category = \"acme\"", "category = \"\"");
    for name in ["list", "verify", "sgin", "verfy", "tests", "vetify", "Sign", "LOCK"] {
        world.signed(&format!(".ai/tools/{name}.sh"), &tool);
        world.works(&format!("tool:{name}"));
        drop(fs::remove_file(world.project().join("marker")));
    }
    let ran = || fs::remove_file(world.project().join("marker")).is_ok();
    for verb in ["list", "verify"] {
        let said = world.rye(&[verb]);
        assert_eq!((said.status, ran()), (0, false), "{said:?}");
        let note =
            format!("note: `{verb}` is a verb of rye; `tool:{verb}` runs with `rye run {verb}`");
        assert!(said.stderr.contains(&note), "{said:?}");
    }
    let slips = [("sgin", "sign"), ("verfy", "verify"), ("tests", "test"), ("vetify", "verify")];
    for (slip, verb) in slips.into_iter().chain([("Sign", "sign"), ("LOCK", "lock")]) {
        for args in [&[slip][..], &[slip, "--json"], &[slip, "--ci"], &["-p", ".", slip]] {
            let said = world.rye(args);
            assert_eq!((said.code().as_str(), said.status, ran()), ("cli.usage", 2, false));
            let said = said.stderr + &said.stdout;
            assert!(said.contains(&format!("did you mean `rye {verb}`?")), "{args:?}: {said}");
        }
        assert!(world.rye(&["run", slip]).status == 0 && ran());
        assert!(world.rye(&["--", slip]).status == 0 && ran());
    }
    for args in [&["--", "list"][..], &["-p", ".", "--", "list"], &["--json", "--", "verify"]] {
        assert!(world.rye(args).status == 0 && ran(), "{args:?}");
    }
    world.rye(&["--json", "--", "nosuch"]).fails(3, "resolve.not_found");
    let (_, made) = world.json(&["new", "tool", "show"]);
    assert!(made["remarks"].to_string().contains("`rye run show`"), "{made}");
}

#[test]
fn all_can_be_said_wherever_it_is_the_default() {
    let world = world();
    for verb in ["test", "lock", "verify"] {
        world.rye(&[verb, "--all"]).ok();
        assert_eq!(world.rye(&[verb, "--all", "acme/echo"]).status, 2, "{verb}");
    }
}

#[test]
fn a_new_item_is_named_as_its_file_would_be() {
    let world = World::new();
    for (name, item, path) in [
        ("acme/x.py", "tool:acme/x", ".ai/tools/acme/x.py"),
        (".ai/tools/acme/y.sh", "tool:acme/y", ".ai/tools/acme/y.sh"),
        ("acme/1.2", "tool:acme/1.2", ".ai/tools/acme/1.2.py"),
    ] {
        let (status, made) = world.json(&["new", "tool", name]);
        assert_eq!((status, &made["item_id"], &made["path"]), (0, &json!(item), &json!(path)));
    }
    world.rye(&["new", "tool", "acme/z.sh", "--lang", "python"]).fails(2, "cli.usage");
}
