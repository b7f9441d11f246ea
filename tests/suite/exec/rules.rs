//! What an `exec` block may say, key by key (exec-protocol 1.1 to 1.3).

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::world;
use crate::world::items::native;
use crate::world::{End, World};

const ITEM: &str = ".ai/tools/acme/x.yaml";

/// A program that answers with its arguments, its folder and what it was sent, in either mode.
const TELLS: &str = "#!/bin/sh
read -r line
id=${line#*'\"id\":'}; id=${id%%,*}
printf '{\"id\":%s,\"result\":[\"%s\",\"%s\",\"%s\"]}\\n' \"${id:-0}\" \"$*\" \"$(pwd)\" \"${0##*/}\"
cat >/dev/null
";

fn put(world: &World, path: &str, text: &str) {
    let path = world.write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn item(mode: &str, block: &str) -> String {
    let lines: String = block.lines().map(|line| format!("  {}\n", line.trim())).collect();
    format!(
        "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/{mode}\n\
         category: acme\ndescription: x\nexec:\n{lines}"
    )
}

/// What came of signing and running an item: the data, or the code and the message.
fn outcome(world: &World, text: &str) -> Result<Value, (String, String)> {
    world.write(ITEM, text);
    let signed = world.rye(&["sign", "acme/x", "--json"]);
    let told = |json: &Value| {
        let first = json["failed"].get(0).or(json["items"].get(0)).unwrap_or(json);
        let of =
            |key: &str| [first, json].iter().find_map(|json| json[key].as_str()).map(str::to_owned);
        (of("code").unwrap_or_default(), format!("{json}"))
    };
    if signed.status != 0 {
        return Err(told(&signed.json()));
    }
    let (status, json) = world.json(&["execute", "acme/x"]);
    if status == 0 { Ok(json["data"].clone()) } else { Err(told(&json)) }
}

/// A world with programs beside the item and files in the project.
fn fixture() -> World {
    let world = world();
    put(&world, ".ai/tools/acme/run", TELLS);
    put(&world, ".ai/tools/acme/lib/run", TELLS);
    put(&world, ".ai/tools/acme/words.txt", "one\n");
    put(&world, "table.csv", "1\n");
    fs::create_dir(world.project().join("folder")).unwrap();
    world
}

const PLAIN: &str = "command: ./run\nfiles: [run]";

#[test]
fn each_key_of_an_exec_block_does_what_it_says() {
    let world = fixture();
    let project = world.project().display().to_string();
    let told = |args: &str, name: &str| Ok(json!([args, project, name]));
    let rows = [
        ("plain", "oneshot", PLAIN, told("", "run")),
        ("runtime", "oneshot", "command: ./run\nfiles: [run]\nruntime: exec", told("", "run")),
        ("server", "server", "command: ./run\nfiles: [run]\nruntime: server", told("", "run")),
        (
            "args",
            "oneshot",
            "command: ./run\nfiles: [run]\nargs: [--readonly, a b, '']",
            told("--readonly a b ", "run"),
        ),
        ("below", "oneshot", "command: lib/run\nfiles: [./lib/run]", told("", "run")),
        ("patterns", "oneshot", "command: ./lib/run\nfiles: ['lib/*']", told("", "run")),
        (
            "on the path",
            "oneshot",
            "command: sh\nargs: [run, --x]\nfiles: [run]",
            told("--x", "run"),
        ),
        ("absolute", "oneshot", "command: /bin/sh\nargs: [./run]\nfiles: [run]", told("", "run")),
        (
            "limits",
            "oneshot",
            "command: ./run\nfiles: [run]\ntimeout_ms: 20000\nmax_output_bytes: 4096",
            told("", "run"),
        ),
        (
            "environment",
            "oneshot",
            "command: ./run\nfiles: [run]\nenv: [DATABASE_URL]\nenv_base: none",
            told("", "run"),
        ),
        (
            "for a server",
            "server",
            "command: ./run\nfiles: [run]\nruntime: server\nmax_in_flight: 8\nidempotent: true\nidle_timeout_ms: 1000",
            told("", "run"),
        ),
    ];
    let told = |args: &str, name: &str| Ok::<Value, (String, String)>(json!([args, project, name]));
    for (what, mode, block, want) in rows {
        let got = outcome(&world, &item(mode, block));
        // An absolute program keeps its argument's own place.
        assert_eq!(got, want, "{what}");
    }
    // The pinned copy of an argument stands where the argument stood, also behind an option.
    let copied = "command: ./run\nfiles: [run, words.txt]\nargs: [words.txt, --in=./words.txt]";
    let got = outcome(&world, &item("oneshot", copied)).unwrap();
    let args: Vec<&str> = got[0].as_str().unwrap().split(' ').collect();
    let pinned = args[0];
    assert!(pinned.contains("/state/pin/") && pinned.ends_with("/words.txt"), "{got}");
    assert_eq!(args[1], format!("--in={pinned}"), "{got}");
    // The same as TOML.
    fs::remove_file(world.project().join(ITEM)).unwrap();
    let toml = "version = \"1.0.0\"\ntool_type = \"exec\"\n\
         executor_id = \"rye/core/runtimes/exec/oneshot\"\ncategory = \"acme\"\ndescription = \"x\"\n\n\
         [exec]\ncommand = \"./run\"\nargs = [\"--toml\"]\nfiles = [\"run\"]\n";
    world.signed(".ai/tools/acme/t.toml", toml);
    assert_eq!(world.json(&["execute", "acme/t"]).1["data"], told("--toml", "run").unwrap());
}

#[test]
fn a_script_without_a_first_line_and_a_program_that_is_not_listed_say_how_to_mend_it() {
    let world = fixture();
    assert!(outcome(&world, &item("oneshot", PLAIN)).is_ok(), "the fixture itself is good");
    for command in ["./other", "../run", "./x/../run", "~/run"] {
        world.signed(ITEM, &item("oneshot", &format!("command: {command}\nfiles: [run]")));
        let got = world.json(&["execute", "acme/x"]).fails(6, "plan.bad_config");
        let why = got["error"].as_str().unwrap();
        assert!(why.contains(&format!("`/exec/command` is `{command}`")), "{why}");
    }
    put(&world, ".ai/tools/acme/run", "echo '{\"result\": 1}'\n");
    world.signed(ITEM, &item("oneshot", PLAIN));
    let got = world.json(&["execute", "acme/x"]).fails(6, "execute.spawn");
    assert!(got["help"].as_str().unwrap().contains("#!/bin/sh"), "{got}");
}

#[test]
fn each_refusal_of_an_exec_block_has_its_code_and_says_where() {
    let world = fixture();
    assert!(outcome(&world, &item("oneshot", PLAIN)).is_ok(), "the fixture itself is good");
    let with = |more: &str| format!("{PLAIN}\n{more}");
    let rows = [
        ("oneshot", with("comand: x"), "parse.metadata", "did you mean `command`"),
        ("oneshot", "files: [run]".into(), "parse.metadata", "`/exec/command` is missing"),
        ("oneshot", "command: ''\nfiles: [run]".into(), "parse.metadata", "`/exec/command`"),
        ("oneshot", "command: [run]\nfiles: [run]".into(), "parse.metadata", "`/exec/command`"),
        ("oneshot", "command: null\nfiles: [run]".into(), "parse.metadata", "`/exec/command`"),
        ("oneshot", with("args: x"), "parse.metadata", "`/exec/args`"),
        ("oneshot", with("args: [1]"), "parse.metadata", "`/exec/args/0`"),
        ("oneshot", with("args: [null]"), "parse.metadata", "`/exec/args/0`"),
        ("oneshot", with("runtime: sever"), "parse.metadata", "did you mean `server`"),
        ("oneshot", with("runtime: server"), "plan.bad_config", "`/exec/runtime`"),
        ("server", PLAIN.into(), "plan.bad_config", "`/exec/runtime`"),
        ("oneshot", with("timeout_ms: 0"), "parse.metadata", "`/exec/timeout_ms`"),
        ("oneshot", with("timeout_ms: -1"), "parse.metadata", "`/exec/timeout_ms`"),
        ("oneshot", with("timeout_ms: 1.5"), "parse.metadata", "`/exec/timeout_ms`"),
        ("oneshot", with("timeout_ms: '5'"), "parse.metadata", "`/exec/timeout_ms`"),
        ("oneshot", with("timeout_ms: 99999999999"), "parse.metadata", "`/exec/timeout_ms`"),
        ("oneshot", with("max_output_bytes: 0"), "parse.metadata", "`/exec/max_output_bytes`"),
        (
            "oneshot",
            with("max_output_bytes: 16777217"),
            "parse.metadata",
            "`/exec/max_output_bytes`",
        ),
        ("oneshot", with("env: [KEY=value]"), "parse.metadata", "`/exec/env/0`"),
        ("oneshot", with("env: {KEY: value}"), "parse.metadata", "`/exec/env`"),
        ("oneshot", with("env: ['']"), "parse.metadata", "`/exec/env/0`"),
        ("oneshot", with("env_base: inherit"), "plan.bad_config", "`/exec/env_base`"),
        ("oneshot", with("env_base: all"), "parse.metadata", "`/exec/env_base`"),
        ("oneshot", with("max_in_flight: 2"), "parse.metadata", "`/exec/max_in_flight`"),
        ("oneshot", with("idempotent: true"), "parse.metadata", "`/exec/idempotent`"),
        ("oneshot", with("idle_timeout_ms: 5"), "parse.metadata", "`/exec/idle_timeout_ms`"),
        (
            "server",
            with("runtime: server\nmax_in_flight: 0"),
            "parse.metadata",
            "`/exec/max_in_flight`",
        ),
        ("server", with("runtime: server\nidempotent: 1"), "parse.metadata", "`/exec/idempotent`"),
        ("oneshot", "command: ./run".into(), "plan.", "run"),
        ("oneshot", "command: ../acme/run\nfiles: [run]".into(), "plan.", ""),
        ("oneshot", "command: sh\nargs: [run]".into(), "plan.unverified_program", "run"),
        ("oneshot", with("args: [words.txt]"), "plan.unverified_program", "words.txt"),
        ("oneshot", with("args: [--in=words.txt]"), "plan.unverified_program", "words.txt"),
        ("oneshot", with("args: [table.csv]"), "plan.unverified_program", "table.csv"),
        ("oneshot", with("args: [--in=./table.csv]"), "plan.unverified_program", "table.csv"),
        ("oneshot", with("args: [../../../table.csv]"), "plan.unverified_program", "table.csv"),
        (
            "oneshot",
            "command: ./run\nfiles: [../../../table.csv]".into(),
            "parse.metadata",
            "`/exec/files/0`",
        ),
        ("oneshot", "command: ./run\nfiles: [/bin/sh]".into(), "parse.metadata", "`/exec/files/0`"),
        ("oneshot", "command: ./run\nfiles: [1]".into(), "parse.metadata", "`/exec/files/0`"),
        ("oneshot", "command: ./run\nfiles: [run, gone]".into(), "sign.", "gone"),
    ];
    for (mode, block, code, says) in rows {
        let text = item(mode, &block);
        match outcome(&world, &text) {
            Ok(data) => panic!("{block:?} was run: {data}"),
            Err((got, told)) => {
                assert!(got.starts_with(code), "{block:?}: {got} is not {code}: {told}");
                assert!(told.contains(says), "{block:?}: says nothing of {says}: {told}");
            }
        }
    }
    let beside = |key: &str| item("oneshot", PLAIN) + key + "\n";
    for (more, pointer) in [
        ("files: [run]", "`/files`"),
        ("exec_files: [run]", "`/exec_files`"),
        ("config: {command: /bin/true}", "`/config`"),
        ("env_config: {env: {A: b}}", "`/env_config`"),
    ] {
        let (code, told) = outcome(&world, &beside(more)).unwrap_err();
        assert!(code == "parse.metadata" && told.contains(pointer), "{more}: {code} {told}");
    }
    assert!(outcome(&world, &item("oneshot", PLAIN)).is_ok(), "what was refused changed nothing");
}

#[test]
fn an_argument_that_names_no_file_of_the_item_or_the_project_is_an_argument() {
    let world = fixture();
    fs::create_dir(world.outside().join("other")).unwrap();
    let other = world.outside().join("other/data.txt");
    fs::write(&other, "x").unwrap();
    let other = other.display().to_string();
    for argument in ["/etc/hostname", "folder", "folder/", "0.5", "-", ".", "--in=", &other] {
        let block = format!("{PLAIN}\nargs: ['{argument}']");
        let got = outcome(&world, &item("oneshot", &block));
        assert_eq!(got.as_ref().map(|data| &data[0]), Ok(&argument.into()), "{argument}: {got:?}");
    }
}

#[test]
fn env_base_inherit_is_for_items_of_the_user_and_brings_nothing_that_decides_about_trust() {
    let world = world().env("RYE_DEV_MODE", "0").env("USER_SPACE_X", "1");
    let program = world.write_home(
        ".ai/tools/acme/all.files/run.sh",
        "#!/bin/sh
read -r line; cat >/dev/null
printf '{\"result\":\"%s\"}' \"$(env | cut -d= -f1 | sort | tr '\\n' ' ')\"\n",
    );
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let block = "command: ./all.files/run.sh\nfiles: [all.files/run.sh]\nenv_base: inherit";
    world.signed_home(".ai/tools/acme/all.yaml", &item("oneshot", block));
    let json = world.json(&["execute", "acme/all"]).ok();
    let names: Vec<&str> = json["data"].as_str().unwrap().split(' ').collect();
    assert!(names.contains(&"ACME_IDLE") && names.contains(&"USER_SPACE_X"), "{names:?}");
    assert!(!names.contains(&"RYE_DEV_MODE"), "{names:?}");
}

#[test]
fn signing_fills_the_digests_of_the_files_and_takes_out_what_is_gone() {
    let world = fixture();
    world.write(".ai/tools/acme/lib/a.txt", "a\n");
    world.write(".ai/tools/acme/lib/b.txt", "b\n");
    let block = "command: ./run\nfiles: [run, 'lib/*']";
    assert!(outcome(&world, &item("oneshot", block)).is_ok());
    let listed = || {
        let text = String::from_utf8(world.read(ITEM)).unwrap();
        let lines = text.split("files_sha256:").nth(1).unwrap_or_default().lines();
        let names = lines.filter_map(|line| line.trim().split(':').next().map(str::to_owned));
        let names = names.map(|name| name.trim_matches('"').to_owned());
        let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        names.sort();
        names
    };
    assert_eq!(listed(), ["lib/a.txt", "lib/b.txt", "lib/run", "run"]);
    let refused = |path: &str, act: &dyn Fn()| {
        let full = world.project().join(path);
        let before = fs::read(&full).ok();
        act();
        assert_eq!(world.run("tool:acme/x"), (4, "verify.dependency".into()), "{path}");
        match before {
            Some(bytes) => fs::write(&full, bytes).unwrap(),
            None => fs::remove_file(&full).unwrap(),
        }
        world.works("tool:acme/x");
    };
    let (a, c) = (".ai/tools/acme/lib/a.txt", ".ai/tools/acme/lib/c.txt");
    refused(a, &|| drop(world.write(a, "other\n")));
    refused(a, &|| fs::remove_file(world.project().join(a)).unwrap());
    refused(c, &|| drop(world.write(c, "new\n")));
    refused(".ai/tools/acme/run", &|| drop(world.write(".ai/tools/acme/run", "#!/bin/sh\n")));
    // The program's own bytes are put back, with the right to be run.
    fs::remove_file(world.project().join(a)).unwrap();
    world.rye(&["sign", "acme/x"]).ok();
    assert_eq!(listed(), ["lib/b.txt", "lib/run", "run"]);
    world.works("tool:acme/x");
    fs::remove_file(world.project().join(".ai/tools/acme/run")).unwrap();
    let said = world.rye(&["sign", "acme/x"]);
    assert_ne!(said.status, 0, "a file that is named and gone: {said:?}");
    // Digests without a block, and what is no digest.
    let digests = "files_sha256: {run: 'x'}\n";
    let odd = item("oneshot", PLAIN) + digests;
    put(&world, ".ai/tools/acme/run", TELLS);
    let (code, _) = outcome(&world, &odd).unwrap_err();
    assert_eq!(code, "parse.metadata");
    let alone = &native("config: {command: /bin/true}\nfiles_sha256: {}\n");
    let (code, told) = outcome(&world, alone).unwrap_err();
    assert!(code == "parse.metadata" && told.contains("files_sha256"), "{told}");
}

#[test]
fn c10_files_of_an_exec_block_are_plain_files_of_the_folder() {
    let world = fixture();
    let there = world.project().join(".ai/tools/acme/link");
    let with = |name: &str| item("oneshot", &format!("command: ./run\nfiles: [run, {name}]"));
    std::os::unix::fs::symlink("/etc/hostname", &there).unwrap();
    let got = outcome(&world, &with("link"));
    assert!(got.is_err(), "{got:?}");
    fs::remove_file(&there).unwrap();
    fs::create_dir(&there).unwrap();
    let got = outcome(&world, &with("link"));
    assert!(got.is_err(), "{got:?}");
    fs::remove_dir(&there).unwrap();
    // A set-id bit is not handed down to the copy.
    put(&world, ".ai/tools/acme/run", &TELLS.replace("$(pwd)", "$(stat -c %a \"$0\")"));
    let run = world.project().join(".ai/tools/acme/run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o4755)).unwrap();
    if let Ok(data) = outcome(&world, &item("oneshot", PLAIN)) {
        assert_eq!(data[1], "500", "{data}");
    }
}
