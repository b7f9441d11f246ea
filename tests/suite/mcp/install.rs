//! `rye mcp install`: the entry for rye in the configuration of other programs.

use std::fs;

use serde_json::{Value, json};

use crate::world::{End, World};

fn install(world: &World, client: &str, more: &[&str]) -> (i32, Value) {
    world.json(&[&["mcp", "install", client], more].concat())
}

#[test]
fn an_entry_is_shown_first_and_written_beside_what_is_there() {
    let world = World::new();
    let file = world.home().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "{\"theme\": 1, \"mcpServers\": {\"other\": {\"command\": \"x\"}}}";
    fs::write(&file, before).unwrap();
    let doctor = || world.rye(&["doctor"]).stdout;
    assert!(doctor().contains("`rye mcp install cursor`"), "{}", doctor());
    let project = world.project().display().to_string();
    let (status, said) = install(&world, "cursor", &["--dry-run"]);
    assert_eq!((status, &said["written"]), (0, &json!(false)), "{said}");
    assert_eq!(said["entry"]["args"], json!(["mcp", "--root", project]), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "it was only shown");
    // Nobody is there who could say yes.
    let (status, said) = install(&world, "cursor", &[]);
    assert_eq!((status, said["code"].as_str()), (2, Some("cli.not_confirmed")), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "nobody said yes");
    world.rye(&["mcp", "install", "cursor", "--yes"]).ok().shows("mcpServers.rye: {\"command\":");
    let got: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&got["theme"], &got["mcpServers"]["other"]["command"]), (&json!(1), &json!("x")));
    assert_eq!(got["mcpServers"]["rye"]["args"][0], "mcp", "{got}");
    assert!(doctor().contains("cursor has an entry for rye"), "{}", doctor());
    let again = fs::read(&file).unwrap();
    let (status, said) = install(&world, "cursor", &[]);
    assert_eq!((status, &said["written"]), (0, &json!(false)), "it is there already: {said}");
    assert_eq!(fs::read(&file).unwrap(), again);
    // What it starts is a server.
    let command = got["mcpServers"]["rye"]["command"].as_str().unwrap();
    assert_eq!(
        world.shell(&format!("{command} mcp --root '{project}' < /dev/null; echo $?")),
        "0\n"
    );
}

#[test]
fn each_client_gets_the_form_that_it_reads() {
    let world = World::new();
    for (client, path, part) in [
        ("claude-code", "project/.mcp.json", "\"mcpServers\": {\n    \"rye\": {"),
        (
            "vscode",
            "project/.vscode/mcp.json",
            "\"servers\": {\n    \"rye\": {\n      \"type\": \"stdio\"",
        ),
        ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", "\"mcpServers\""),
        ("gemini", "home/.gemini/settings.json", "\"mcpServers\""),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", "\"mcpServers\""),
        ("codex", "home/.codex/config.toml", "[mcp_servers.rye]\ncommand = "),
    ] {
        let (status, said) = install(&world, client, &["--yes"]);
        assert_eq!((status, &said["written"]), (0, &json!(true)), "{client}: {said}");
        let (base, below) = path.split_once('/').unwrap();
        let base = if base == "home" { world.home() } else { world.project() };
        let text = fs::read_to_string(base.join(below)).unwrap();
        assert!(text.contains(part), "{client}: {text}");
        // A file of the project goes to other machines.
        let here = world.project().display().to_string();
        assert_eq!(text.contains(&here), path.starts_with("home"), "{client}: {text}");
    }
    // Comments and other servers of a TOML file stay as they are.
    let file = world.home().join(".codex/config.toml");
    let before = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    fs::write(&file, before).unwrap();
    assert_eq!(install(&world, "codex", &["--yes"]).0, 0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(before) && text.contains("[mcp_servers.rye]"), "{text}");
}

#[test]
fn who_decides_at_the_client_is_switched_on_for_yourself_and_never_for_who_clones() {
    let world = World::new();
    let said = install(&world, "cursor", &["--yes", "--approve-by-elicitation"]).ok();
    let args = said["entry"]["args"].as_array().unwrap();
    assert_eq!(args.last(), Some(&json!("--approve-by-elicitation")), "{said}");
    let (status, said) = install(&world, "cursor", &["--dry-run"]);
    assert_eq!((status, said["entry"]["args"].as_array().unwrap().len()), (0, 3), "{said}");
    for client in ["claude-code", "vscode"] {
        let (status, said) = install(&world, client, &["--yes", "--approve-by-elicitation"]);
        assert_eq!((status, said["code"].as_str()), (2, Some("cli.usage")), "{client}: {said}");
        assert!(said["error"].as_str().unwrap().contains("for everybody"), "{said}");
    }
    assert!(!world.project().join(".mcp.json").exists());
}

#[test]
fn a_file_that_is_not_understood_is_left_as_it_is() {
    let world = World::new();
    let file = world.home().join(".gemini/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in [
        "{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {}}",
        "// a comment\n{}",
        "[]",
        "{\"mcpServers\": []}",
        "{",
    ] {
        fs::write(&file, text).unwrap();
        let (status, said) = install(&world, "gemini", &["--yes"]);
        assert_eq!((status, said["code"].as_str()), (2, Some("cli.usage")), "{text}: {said}");
        assert!(said["help"].as_str().unwrap().contains("by hand"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let said = world.rye(&["mcp", "install", "nobody"]);
    assert_eq!(said.status, 2, "{said:?}");
    assert!(said.stderr.contains("claude-code, claude-desktop, codex"), "{said:?}");
}

#[test]
fn a_pipe_or_a_link_in_the_place_of_the_file_or_its_folder_is_refused_and_nothing_waits_for_it() {
    let world = World::new();
    let (status, said) = install(&world, "claude-code", &["--dry-run"]);
    assert_eq!(status, 0, "the fixture itself is good: {said}");
    for plant in ["mkfifo .mcp.json", "ln -s /dev/zero .mcp.json"] {
        world.shell(&format!("rm -f .mcp.json; {plant}"));
        let said =
            world.rye_under(&["timeout", "10"], &["mcp", "install", "claude-code", "--json"]);
        assert_eq!((said.code().as_str(), said.status), ("cli.usage", 2), "{plant}: {said:?}");
    }
    {
        let world = World::new();
        world.shell("mkdir ../out; ln -s ../out .vscode");
        for more in ["--dry-run", "--yes"] {
            let (status, said) = install(&world, "vscode", &[more]);
            assert_eq!((status, said["code"].as_str()), (2, Some("cli.usage")), "{said}");
            assert!(said["error"].as_str().unwrap().contains("`.vscode` is a link"), "{said}");
        }
        assert_eq!(fs::read_dir(world.outside().join("out")).unwrap().count(), 0);
    }
}
