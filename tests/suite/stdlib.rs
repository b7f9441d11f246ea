//! The shipped items: their declarations, their examples and what they refuse.

mod git;
mod shared;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::world::{End, World, links};
use serde_json::{Map, Value, json};

/// Runs a shipped tool with these parameters.
fn run(world: &World, tool: &str, params: &Value) -> (i32, Value) {
    world.json(&["execute", &format!("tool:rye/{tool}"), "--params", &params.to_string()])
}

/// The data of a run that succeeds.
#[track_caller]
fn data(world: &World, tool: &str, params: &Value) -> Value {
    let (status, got) = run(world, tool, params);
    assert_eq!((status, &got["status"]), (0, &json!("success")), "{params:.200}: {got}");
    got["data"].clone()
}

/// The sentence of a run that the tool refuses.
#[track_caller]
fn refusal(world: &World, tool: &str, params: &Value) -> String {
    let (status, got) = run(world, tool, params);
    assert_eq!((status, &got["code"]), (1, &json!("execute.tool_failed")), "{params:.200}: {got}");
    assert_eq!(got["data"]["success"], false, "{got}");
    let error = got["error"].as_str().expect("a sentence");
    assert!(!error.is_empty() && !error.contains("Traceback"), "{error}");
    assert_eq!(got["data"]["stderr_tail"], "", "{got}");
    error.to_owned()
}

/// The shipped tools that are run, by their refs.
fn tools(world: &World) -> Vec<String> {
    let (_, got) = world.json(&["list", "--kind", "tool", "--space", "system"]);
    let items = got["items"].as_array().expect("items").iter();
    let ids = items.map(|item| item["item_id"].as_str().expect("a ref").to_owned());
    // A provider answers in a thread; it is not called.
    ids.filter(|id| world.json(&["show", id]).1["tool_type"] != "provider").collect()
}

/// Those whose sandbox lets them write nothing, and which reach no other program's network: an
/// agent's snippet calls them without asking anybody.
#[test]
fn the_shipped_tools_that_only_read_say_so_and_no_other_does() {
    let world = World::new().with_home(".ai/config/web/hosts.yaml", "hosts: [docs.example.org]\n");
    let writes = world.json(&["describe", "tool:rye/file-system/edit"]).1;
    assert_eq!(writes["reach"]["writes"], json!(["{project_path}"]), "{writes}");
    let mut says = Vec::new();
    for tool in tools(&world) {
        let told = world.json(&["describe", &tool]).ok();
        if told["effects"] == "read" {
            assert_eq!(told["reach"]["writes"], Value::Null, "{told}");
            says.push(tool);
        }
    }
    let want = [
        "file-system/glob",
        "file-system/grep",
        "file-system/list",
        "file-system/read",
        "git/diff",
        "git/log",
        "git/status",
        "web/fetch",
    ];
    assert_eq!(says, want.map(|id| format!("tool:rye/{id}")));
}

#[test]
fn every_tool_has_a_closed_schema_and_examples_that_validate() {
    let world = World::new().with_home(".ai/config/web/hosts.yaml", "hosts: [docs.example.org]\n");
    let tools = tools(&world);
    let want = [
        "bash",
        "core/remote/remote",
        "file-system/edit",
        "file-system/glob",
        "file-system/grep",
        "file-system/list",
        "file-system/read",
        "file-system/write",
        "git/commit",
        "git/diff",
        "git/log",
        "git/status",
        "web/fetch",
    ];
    assert_eq!(tools, want.map(|id| format!("tool:rye/{id}")));
    for tool in tools {
        let (status, shown) = world.json(&["show", &tool]);
        assert_eq!(status, 0, "{shown}");
        assert!(shown["description"].as_str().is_some_and(|d| d.len() > 20), "{tool}");
        let schema = &shown["schema"];
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{tool}"
        );
        let properties = schema["properties"].as_object().expect("properties");
        for (name, property) in properties {
            assert!(
                property["type"].is_string() && property["description"].is_string(),
                "{tool} {name}"
            );
        }
        let examples = shown["examples"].as_array().expect("examples");
        assert!(examples.len() >= 2, "{tool}");
        for example in examples {
            let params = example.to_string();
            let (status, got) = world.json(&["execute", &tool, "--dry-run", "--params", &params]);
            if tool == "tool:rye/core/remote/remote" {
                // What a node would do is not tried here.
                assert_eq!(got["code"], "matrix.dry_run_remote", "{params}: {got}");
                continue;
            }
            assert_eq!(
                (status, &got["status"]),
                (0, &json!("validation_passed")),
                "{tool} {params}: {got}"
            );
        }
        let mut strange: Map<String, Value> = examples[0].as_object().expect("an object").clone();
        strange.insert("surprise".into(), 1.into());
        let (status, got) =
            world.json(&["execute", &tool, "--params", &Value::Object(strange).to_string()]);
        assert_eq!((status, &got["code"]), (2, &json!("plan.invalid_parameters")), "{tool}");
    }
}

#[test]
fn every_shipped_item_verifies_and_the_runtimes_are_complete() {
    let world = World::empty();
    assert_eq!(world.json(&["verify", "--all"]).ok()["status"], "success");
    let (_, got) = world.json(&["list", "--all", "--space", "system"]);
    let all: Vec<_> =
        got["items"].as_array().unwrap().iter().map(|i| i["item_id"].as_str().unwrap()).collect();
    for item in [
        "tool:rye/core/primitives/execute",
        "tool:rye/core/runtimes/python/script",
        "tool:rye/core/runtimes/python/function",
        "tool:rye/core/runtimes/node/node",
        "tool:rye/core/runtimes/shell/script",
        "tool:rye/core/runtimes/native/own",
        "tool:rye/core/runtimes/native/program",
        "tool:rye/core/primitives/http_client",
        "tool:rye/core/runtimes/http/request",
        "directive:rye/core/init",
        "directive:rye/core/create_directive",
        "directive:rye/core/create_tool",
        "directive:rye/core/review_item",
        "knowledge:rye/overview",
        "knowledge:rye/glossary",
        "knowledge:rye/signature-format",
        "knowledge:rye/threat-model",
    ] {
        assert!(all.contains(&item), "{item} is missing");
    }
}

#[test]
fn every_signature_that_counts_is_computed_the_shipped_ones_too() {
    let world = World::new();
    let root = world.outside().join("system");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai"), &root.join(".ai"));
    let space = root.display().to_string();
    let verified = || {
        let args = ["verify", "--all", "--json"];
        let said = world.rye_env(&world.project(), &args, b"", &[("RYE_SYSTEM_SPACE", &space)]);
        let rows = said.json()["items"].as_array().expect("items").clone();
        (said.status, rows.into_iter().filter(|row| row["space"] == "system").collect::<Vec<_>>())
    };
    let (status, good) = verified();
    assert_eq!(status, 0, "the copy itself is good: {good:?}");
    assert!(good.len() > 50, "{} items are shipped", good.len());
    // One letter of each signature is another; nothing else changes.
    let files = walkdir::WalkDir::new(root.join(".ai")).into_iter().filter_map(Result::ok);
    for file in files.filter(|file| file.file_type().is_file()) {
        let Ok(text) = fs::read_to_string(file.path()) else { continue };
        let Some((before, sig)) = text.split_once(" sig=") else { continue };
        if !before.contains("rye:signed:v2 item=") || before.lines().count() > 2 {
            continue;
        }
        let other = if sig.starts_with('A') { 'B' } else { 'A' };
        fs::write(file.path(), format!("{before} sig={other}{}", &sig[1..])).unwrap();
    }
    let (status, mut rows) = verified();
    // The files that an item's signature covered belong to none now, and carry no line.
    rows.retain(|row| row["code"] != "verify.unsigned");
    assert_eq!((status, rows.len()), (4, good.len()));
    for row in rows {
        assert_eq!(row["code"], "verify.forged", "{row}");
    }
}

#[test]
fn an_altered_shipped_item_is_refused_even_in_dev_mode() {
    let world = World::new();
    let root = world.outside().join("system");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai"), &root.join(".ai"));
    let root = root.display().to_string();
    let env = [("RYE_SYSTEM_SPACE", root.as_str()), ("RYE_DEV_MODE", "1")];
    let args = ["execute", "tool:rye/bash", "-i", "command=touch marker", "--json"];
    let said = world.rye_env(&world.project(), &args, b"", &env);
    assert_eq!(said.status, 0, "the copy itself is good: {said:?}");
    fs::remove_file(world.project().join("marker")).expect("it ran");
    for path in ["bash.py", "core/runtimes/python/script.yaml", "core/primitives/execute.yaml"] {
        let file = Path::new(&root).join(".ai/tools/rye").join(path);
        let good = fs::read(&file).unwrap();
        fs::write(&file, [&good[..], b"# more\n"].concat()).unwrap();
        let said = world.rye_env(&world.project(), &args, b"", &env);
        assert_eq!((said.status, said.code().as_str()), (4, "verify.altered"), "{path}: {said:?}");
        assert!(!world.project().join("marker").exists(), "{path}");
        fs::write(&file, good).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn files_are_written_edited_read_listed_and_found() {
    crate::sandbox::needed();
    let world = World::empty();
    let args = [
        "execute",
        "tool:rye/file-system/write",
        "-i",
        "path=output.txt",
        "-i",
        "content=hello world",
    ];
    let (status, got) = world.json(&args);
    assert_eq!((status, &got["status"]), (0, &json!("success")));
    assert_eq!(
        (&got["item_id"], &got["type"]),
        (&json!("tool:rye/file-system/write"), &json!("tool"))
    );
    let chain = links(&[
        "rye/file-system/write",
        "rye/core/runtimes/python/script",
        "rye/core/primitives/execute",
    ]);
    assert_eq!(got["chain"], chain);
    assert!(got["metadata"]["duration_ms"].is_number(), "{got}");
    assert_eq!(got["data"], json!({"path": "output.txt", "bytes_written": 11, "created": true}));
    assert_eq!(world.read("output.txt"), b"hello world");
    let fs_ = |tool: &str, params: Value| data(&world, &format!("file-system/{tool}"), &params);
    let text = "eins é\nzwei\n\ndrei";
    assert_eq!(fs_("write", json!({"path": "a/b/c.txt", "content": text}))["created"], true);
    let file = world.project().join("a/b/c.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    let absolute = file.display().to_string();
    let wrote = fs_("write", json!({"path": absolute, "content": text, "create_dirs": false}));
    assert_eq!(wrote, json!({"path": "a/b/c.txt", "bytes_written": text.len(), "created": false}));
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
        0o750,
        "the mode is kept"
    );
    let read = fs_("read", json!({"path": "./a//b/c.txt"}));
    assert_eq!(read, json!({"path": "a/b/c.txt", "content": text, "lines": 4, "truncated": false}));
    let read = fs_("read", json!({"path": "a/b/c.txt", "offset": 2, "limit": 1}));
    assert_eq!(
        read,
        json!({"path": "a/b/c.txt", "content": "zwei\n", "lines": 1, "truncated": true})
    );
    let edited =
        fs_("edit", json!({"path": "a/b/c.txt", "old": "zwei\n", "new": "{input:x} $(id)\n"}));
    assert_eq!(edited, json!({"path": "a/b/c.txt", "replacements": 1}));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(
        fs_("edit", json!({"path": "a/b/c.txt", "old": "i", "new": "I", "replace_all": true}))["replacements"],
        4
    );
    assert_eq!(world.read("a/b/c.txt"), "eIns é\n{Input:x} $(Id)\n\ndreI".as_bytes());
    world.write(".git/x.txt", "hidden");
    world.write("a/z.rs", "fn main() {}\n");
    let listed = fs_("list", json!({"depth": 3}));
    let entry = |path: &str, is_dir: bool, size: u64| {
        let name = path.rsplit('/').next().unwrap();
        json!({"name": name, "path": path, "is_dir": is_dir, "size": size})
    };
    let want = json!([
        entry("a", true, 0),
        entry("a/b", true, 0),
        entry("a/b/c.txt", false, 29),
        entry("a/z.rs", false, 13),
        entry("output.txt", false, 11)
    ]);
    assert_eq!(listed, json!({"entries": want, "truncated": false}));
    assert_eq!(fs_("list", json!({"path": "a"}))["entries"].as_array().map(Vec::len), Some(2));
    let glob = |pattern: &str| fs_("glob", json!({"pattern": pattern}))["paths"].clone();
    assert_eq!(glob("**/*.txt"), json!(["a/b/c.txt", "output.txt"]));
    assert_eq!(glob("*.txt"), json!(["output.txt"]));
    assert_eq!(glob("a/**"), json!(["a/b/c.txt", "a/z.rs"]));
    let found = fs_("grep", json!({"pattern": "^FN m..n", "ignore_case": true, "glob": "*.rs"}));
    assert_eq!(
        found,
        json!({"matches": [{"path": "a/z.rs", "line": 1, "text": "fn main() {}"}], "truncated": false})
    );
    let found = fs_("grep", json!({"pattern": ".", "max_matches": 2}));
    assert_eq!(
        (found["matches"].as_array().map(Vec::len), &found["truncated"]),
        (Some(2), &json!(true))
    );
    for (old, count) in [("nowhere", 0), ("I", 4)] {
        let params = json!({"path": "a/b/c.txt", "old": old, "new": "x"});
        let (status, got) = run(&world, "file-system/edit", &params);
        assert_eq!((status, &got["data"]["count"]), (1, &json!(count)), "{got}");
    }
    let left = fs::read_dir(world.project().join("a/b")).unwrap().count();
    assert_eq!(left, 1, "no temporary file is left");
}

/// What each tool is asked with, for a path.
fn asks(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("file-system/read", json!({"path": path})),
        ("file-system/write", json!({"path": path, "content": "x"})),
        ("file-system/edit", json!({"path": path, "old": "secret", "new": "x"})),
        ("file-system/list", json!({"path": path})),
        ("file-system/grep", json!({"pattern": "secret", "path": path})),
    ]
}

#[test]
fn no_path_leads_out_of_the_project() {
    crate::sandbox::needed();
    let world = World::empty();
    let outside = world.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), "secret").unwrap();
    symlink(&outside, world.project().join("way")).unwrap();
    symlink(outside.join("secret.txt"), world.project().join("link.txt")).unwrap();
    symlink("link.txt", world.project().join("twice.txt")).unwrap();
    symlink(outside.join("new.txt"), world.project().join("dangling.txt")).unwrap();
    fs::hard_link(outside.join("secret.txt"), world.project().join("hard.txt")).unwrap();
    let target = outside.join("secret.txt").display().to_string();
    let sibling = format!("{}2/x", world.project().display());
    let paths = "../outside/secret.txt a/../../outside/secret.txt ./../x .. way/secret.txt way \
                 way/../outside/secret.txt link.txt twice.txt dangling.txt /etc/passwd \
                 /proc/self/environ a\0b no/such/../../../x";
    let paths = paths.split(' ').chain([target.as_str(), sibling.as_str()]);
    for (number, path) in paths.enumerate() {
        // Each path with the reader, each tool with the first of each sort: starting Python is
        // slow.
        let tools = if [0, 4, 7, 14].contains(&number) { 5 } else { 1 };
        for (tool, params) in asks(path).into_iter().take(tools) {
            let said = refusal(&world, tool, &params);
            assert!(!said.contains("secret\n"), "{tool} {path}: {said}");
        }
    }
    assert_eq!(fs::read(outside.join("secret.txt")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was written outside");
    // A link is neither entered nor read on the way.
    let found = data(&world, "file-system/grep", &json!({"pattern": "secret"}));
    assert_eq!(found["matches"], json!([{"path": "hard.txt", "line": 1, "text": "secret"}]));
    assert_eq!(
        data(&world, "file-system/glob", &json!({"pattern": "**"}))["paths"],
        json!(["hard.txt"])
    );
    assert!(refusal(&world, "file-system/glob", &json!({"pattern": "../*"})).contains(".."));
    // Replacing a hard link leaves the other name as it was.
    data(&world, "file-system/write", &json!({"path": "hard.txt", "content": "mine"}));
    assert_eq!(fs::read(outside.join("secret.txt")).unwrap(), b"secret");
}

#[test]
fn what_is_no_regular_file_or_too_large_never_blocks() {
    crate::sandbox::needed();
    let world = World::empty();
    let project = world.project();
    let fifo = std::process::Command::new("mkfifo").arg(project.join("pipe")).status().unwrap();
    assert!(fifo.success());
    let _socket = std::os::unix::net::UnixListener::bind(project.join("socket")).unwrap();
    fs::create_dir(project.join("folder")).unwrap();
    world.write("big.txt", "");
    fs::File::options()
        .write(true)
        .open(project.join("big.txt"))
        .unwrap()
        .set_len(10 << 30)
        .unwrap();
    world.write("latin.txt", b"caf\xe9");
    world.write("locked.txt", "x");
    fs::set_permissions(project.join("locked.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    let rows = [
        ("pipe", "not a regular file"),
        ("socket", "not a regular file"),
        ("folder", "is a folder"),
        ("none.txt", "does not exist"),
        ("big.txt", "larger than"),
        ("", ""),
    ];
    for (path, word) in rows {
        for tool in ["file-system/read", "file-system/edit"] {
            let params = asks(path).into_iter().find(|(name, _)| *name == tool).unwrap().1;
            if path.is_empty() {
                assert_eq!(run(&world, tool, &params).0, 2, "{tool}");
            } else {
                let said = refusal(&world, tool, &params);
                assert!(said.contains(word), "{tool} {path}: {said}");
            }
        }
    }
    assert!(refusal(&world, "file-system/read", &json!({"path": "latin.txt"})).contains("UTF-8"));
    assert!(
        refusal(&world, "file-system/read", &json!({"path": "locked.txt", "offset": 9}))
            .contains("1 lines")
    );
    for path in ["pipe", "socket", "folder", "folder/", ".", "locked.txt", "big.txt/x", "none/x"] {
        let params = json!({"path": path, "content": "x", "create_dirs": false});
        refusal(&world, "file-system/write", &params);
    }
    assert!(project.join("pipe").symlink_metadata().is_ok(), "the pipe is still there");
    // A search passes over what it cannot read.
    let found = data(&world, "file-system/grep", &json!({"pattern": "caf|x"}));
    let paths: Vec<_> =
        found["matches"].as_array().unwrap().iter().map(|m| m["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["latin.txt", "locked.txt"]);
    assert!(
        refusal(&world, "file-system/grep", &json!({"pattern": "("}))
            .contains("regular expression")
    );
    let large = json!({"path": "large.txt", "content": "x".repeat((16 << 20) - 60)}).to_string();
    let args = ["execute", "tool:rye/file-system/write", "--json", "--params", "-"];
    let said = world.rye_in(&project, &args, large.as_bytes());
    assert_eq!((said.status, said.json()["data"]["created"].clone()), (0, json!(true)));
}

#[test]
fn git_and_the_keys_of_a_project_are_not_written() {
    let world = World::new();
    world.write(".git/config", "secret");
    world.write("sub/.git/config", "secret");
    world.write(".ai/config/acme/c.yaml", "secret: 1\n");
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        "sub/.git/config",
        "new/.git/hooks/x",
        ".git",
        ".ai/config/acme/c.yaml",
        ".ai/config/keys/trusted/x.toml",
        ".AI/config/x",
        ".ai/CONFIG/x",
        ".ai/./config//x",
    ] {
        let tools = if path.ends_with("config") || path.ends_with("c.yaml") { 2 } else { 1 };
        for (tool, params) in asks(path).into_iter().skip(1).take(tools) {
            refusal(&world, tool, &params);
        }
    }
    assert_eq!(world.read(".git/config"), b"secret");
    assert_eq!(world.read(".ai/config/acme/c.yaml"), b"secret: 1\n");
    assert!(!world.project().join(".ai/config/keys").exists());
    data(&world, "file-system/write", &json!({"path": ".ai/tools/acme/x.sh", "content": "echo\n"}));
}

#[test]
fn the_shell_tool_runs_a_command_and_tells_how_it_ended() {
    crate::sandbox::needed();
    let world = World::empty();
    fs::create_dir(world.project().join("sub")).unwrap();
    symlink("sub", world.project().join("link")).unwrap();
    let bash = |params: Value| run(&world, "bash", &params);
    let said = world.rye(&["execute", "tool:rye/bash", "-i", "command=echo hello"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, "hello\n"));
    let said = world.rye(&["run", "rye/bash", "command=echo out; echo err >&2; exit 3"]);
    assert_eq!((said.status, said.stdout.as_str()), (1, "out\n"), "{said:?}");
    for part in ["err\n", "exit status 3", "its status: 3"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    let said = world.rye(&["run", "rye/bash", "command=echo out; echo err >&2"]);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"), "{said:?}");
    let (status, got) =
        bash(json!({"command": "echo out; echo err >&2; cat; pwd", "working_directory": "sub"}));
    let out = format!("out\n{}\n", world.project().join("sub").display());
    assert_eq!(
        (status, &got["data"]),
        (0, &json!({"stdout": out, "stderr": "err\n", "exit_code": 0}))
    );
    let (status, got) = bash(json!({"command": "echo out; exit 7"}));
    assert_eq!((status, &got["code"]), (1, &json!("execute.tool_failed")));
    let want = json!({"success": false, "error": "the command ended with exit status 7", "stdout": "out\n", "stderr": "", "exit_code": 7, "stderr_tail": ""});
    assert_eq!(got["data"], want);
    let (status, got) = bash(json!({"command": "kill -9 $$"}));
    assert_eq!((status, &got["data"]["exit_code"]), (1, &json!(137)));
    let (status, got) =
        bash(json!({"command": "touch started; sleep 60 & sleep 60", "timeout_seconds": 1}));
    assert_eq!((status, &got["data"]["success"]), (1, &json!(false)));
    assert!(got["error"].as_str().unwrap().contains("within 1 s"), "{got}");
    let (status, got) = bash(json!({"command": "yes | head -c 3000000"}));
    let length = got["data"]["stdout"].as_str().map_or(0, str::len);
    assert_eq!((status, &got["data"]["truncated"]), (0, &json!(true)));
    assert!((500_000..600_000).contains(&length), "{length}");
    for folder in ["..", "sub/../..", "/", "/tmp", "link", "nowhere", "a\0b"] {
        refusal(&world, "bash", &json!({"command": "touch marker", "working_directory": folder}));
    }
    for command in ["a\0b", &"x".repeat(97 << 10)] {
        refusal(&world, "bash", &json!({"command": command}));
    }
    for params in [
        json!({}),
        json!({"command": ""}),
        json!({"command": 7}),
        json!({"command": "x", "timeout_seconds": 0}),
        json!({"command": "x", "timeout_seconds": 1801}),
        json!({"command": "x", "working_directory": ""}),
    ] {
        assert_eq!(bash(params.clone()).0, 2, "{params}");
    }
    assert!(!world.project().join("marker").exists());
    // What looks like an option is still a command.
    let (status, got) = bash(json!({"command": "--version"}));
    assert_eq!((status, &got["data"]["exit_code"]), (1, &json!(127)), "{got}");
}
