//! The tools that work in the workspace of a thread (threads 4.3, 4.4), each with its table.

use serde_json::{Value, json};

use super::{call, directive, forked, prepared, results};
use crate::hooks::hook;
use crate::sandbox::levels;
use crate::world::items::tool_sh;
use crate::world::{End, World};

const WORKSPACE: &str = "<execute><tool>rye.workspace.*</tool></execute>";

fn run(cmd: &str) -> Value {
    call("run_shell_command", &json!({"cmd": cmd}))
}

fn write(path: &str, content: &str) -> Value {
    call("write_workspace_file", &json!({"path": path, "content": content}))
}

fn read(path: &str) -> Value {
    call("read_workspace_file", &json!({"path": path}))
}

fn list(arguments: &Value) -> Value {
    call("list_workspace", arguments)
}

/// What a thread with these calls gave for each.
fn gave(world: &World, calls: &[Value]) -> Vec<Value> {
    prepared(world, calls, WORKSPACE);
    let gave = results(world, &forked(world));
    assert_eq!(gave.len(), calls.len());
    gave
}

#[test]
fn a_workspace_is_written_read_listed_and_worked_in_and_gone_afterwards() {
    if levels("a_workspace_is_written_read_listed_and_worked_in").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    let gave = gave(
        &world,
        &[
            write("a/b/note.txt", "é\n"),
            run("cat a/b/note.txt; pwd > where; echo no >&2; exit 3"),
            read("a/b/note.txt"),
            list(&json!({})),
            list(&json!({"path": "a"})),
            read("where"),
            write("a/b/note.txt", "other"),
            run("cat a/b/note.txt"),
        ],
    );
    assert_eq!(gave[0], json!({"bytes_written": 3}));
    assert_eq!(
        (&gave[1]["exit_code"], &gave[1]["stdout"], &gave[1]["stderr"]),
        (&json!(3), &json!("é\n"), &json!("no\n")),
        "{}",
        gave[1]
    );
    assert!(gave[1]["elapsed_ms"].is_u64());
    assert_eq!(gave[2], json!({"content": "é\n"}));
    let row =
        |name: &str, path: &str, is_dir| json!({"name": name, "path": path, "is_dir": is_dir});
    assert_eq!(gave[3], json!({"entries": [row("a", "a", true), row("where", "where", false)]}));
    assert_eq!(gave[4], json!({"entries": [row("b", "a/b", true)]}));
    let folder = gave[5]["content"].as_str().unwrap().trim_end().to_owned();
    assert!(folder.starts_with('/') && !std::path::Path::new(&folder).exists(), "{folder}");
    assert_eq!(gave[7]["stdout"], "other");
}

#[test]
fn a_command_is_one_line_of_at_most_2048_characters_and_otherwise_nothing_runs_table() {
    if levels("a_command_is_one_line_of_at_most_2048_characters").is_empty() {
        return;
    }
    let long = |n: usize| format!("echo >> ran; : {}", "é".repeat(n - 15));
    let bad = json!("tool_execution_exception");
    let rows = [
        (run(&long(2_048)), Value::Null),
        (run(&long(2_049)), bad.clone()),
        (run("echo >> ran\necho >> ran"), bad.clone()),
        (run("echo >> ran\r"), bad.clone()),
        (run("echo >> ran\u{0}"), bad),
        (call("run_shell_command", &json!({})), json!("invalid_tool_arguments")),
        (call("run_shell_command", &json!({"cmd": 1})), json!("invalid_tool_arguments")),
        (call("run_shell_command", &json!({"cmd": "x", "y": 1})), json!("invalid_tool_arguments")),
        (run("cat ran"), Value::Null),
    ];
    let world = World::new_on_disk();
    let gave = gave(&world, &rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>());
    for ((call, want), gave) in rows.iter().zip(&gave) {
        assert_eq!(&gave["error_kind"], want, "{call}: {gave}");
    }
    assert_eq!(gave.last().unwrap()["stdout"], "\n", "it ran once");
    assert_eq!(gave[6]["detail"][0]["pointer"], "/cmd", "{}", gave[6]);
}

#[test]
fn a_workspace_that_is_full_takes_nothing_more_until_files_are_removed() {
    if levels("a_workspace_that_is_full_takes_nothing_more").is_empty() {
        return;
    }
    let gave = gave(
        &World::new_on_disk(),
        &[
            run("mkdir many; seq 49990 | sed s,^,many/, | xargs touch; echo made"),
            write("kept", "x"),
            run("seq 20 | sed s,^,many/more, | xargs touch"),
            write("other", "x"),
            run("echo text > many/text"),
            run("cat kept; wc -c < many/text; rm -r many"),
            write("other", "x"),
            run("echo text > text; cat text other"),
        ],
    );
    assert_eq!(gave[0]["stdout"], "made\n", "{}", gave[0]);
    assert_eq!(gave[1], json!({"bytes_written": 1}));
    for told in &gave[2..5] {
        let said = told["message"].as_str().unwrap_or_default();
        assert!(said.contains("the workspace is full") && said.contains("50000"), "{told}");
        let kind = (&told["error_kind"], &told["detail"]["kind"]);
        assert_eq!(kind, (&json!("tool_execution_exception"), &json!("os_error")));
    }
    assert_eq!(
        (&gave[5]["exit_code"], &gave[5]["stdout"]),
        (&json!(0), &json!("x0\n")),
        "{}",
        gave[5]
    );
    assert_eq!(gave[6], json!({"bytes_written": 1}));
    assert_eq!(gave[7]["stdout"], "text\nx");
}

#[test]
fn no_path_leads_out_of_the_workspace_whatever_a_command_put_there_table() {
    if levels("no_path_leads_out_of_the_workspace").is_empty() {
        return;
    }
    let world = World::new_on_disk().with_file("secret", "canary");
    let secret = world.project().join("secret").display().to_string();
    let folder = world.project().display().to_string();
    let links = format!("ln -s {secret} file; ln -s {folder} folder; mkfifo pipe; mkdir sub");
    let denied = ("permission_denied", "permission_denied");
    let os = ("tool_execution_exception", "os_error");
    let missing = ("tool_execution_exception", "file_not_found");
    let rows = [
        (read("file"), denied),
        (read("folder/secret"), denied),
        (read("../secret"), denied),
        (read("sub/../../secret"), denied),
        (read(&secret), denied),
        (read("/etc/hostname"), denied),
        (read("pipe"), os),
        (read("sub"), os),
        (read("none"), missing),
        (write("folder/new", "x"), denied),
        (write("../new", "x"), denied),
        (write("/tmp/new", "x"), denied),
        (write("sub", "x"), os),
        (write("", "x"), os),
        (list(&json!({"path": "folder"})), denied),
        (list(&json!({"path": ".."})), denied),
        (list(&json!({"path": "none"})), missing),
    ];
    let calls = [run(&links)].into_iter().chain(rows.iter().map(|row| row.0.clone()));
    let calls: Vec<Value> = calls.chain([write("file", "new"), read("file")]).collect();
    let gave = gave(&world, &calls);
    assert_eq!(gave[0]["exit_code"], 0, "{}", gave[0]);
    for ((call, (kind, detail)), gave) in rows.iter().zip(&gave[1..]) {
        assert_eq!(
            (&gave["error_kind"], &gave["detail"]["kind"]),
            (&json!(kind), &json!(detail)),
            "{call}: {gave}"
        );
        assert!(!gave.to_string().contains("canary"));
    }
    // A link itself is replaced, and what it leads to stays.
    assert_eq!(gave.last().unwrap(), &json!({"content": "new"}));
    assert_eq!(world.read("secret"), b"canary");
    assert!(!world.project().join("new").exists());
}

#[test]
fn a_command_sees_no_project_no_home_no_network_and_is_known_to_be_below_a_run() {
    if levels("a_command_sees_no_project_no_home_no_network").is_empty() {
        return;
    }
    let world = World::new_on_disk().env("ACME_CANARY", "canary-7f3a");
    world.write("page.txt", "canary-page");
    let project = world.project().display().to_string();
    let home = world.home().display().to_string();
    let gave = gave(
        &world,
        &[
            run("env"),
            run(&format!("cat {project}/page.txt; ls {home}/.ai {project}; echo seen: $?")),
            run("python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"),
            run("cat /etc/shadow"),
        ],
    );
    let all = gave.iter().map(Value::to_string).collect::<String>();
    let variables = gave[0]["stdout"].as_str().unwrap();
    assert!(variables.contains("PATH="), "{variables}");
    // So whatever a rye that it starts asks of a person is asked of one.
    assert!(variables.contains("RYE_RUN_ID=run-"), "{variables}");
    assert!(!all.contains("canary-"), "{all}");
    assert_ne!(gave[1]["stdout"], "seen: 0\n");
    assert_ne!(gave[2]["exit_code"], 0);
    assert!(!gave[3]["stdout"].as_str().unwrap().contains("root:"), "{}", gave[3]);
}

#[test]
fn long_output_keeps_its_head_and_tail_and_its_whole_is_paged_and_bytes_are_escaped() {
    if levels("long_output_keeps_its_head_and_tail").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    let calls = [run("seq 1 20000"), run("printf 'a\\377b'; printf '\\303' >&2")];
    let permissions = format!("{WORKSPACE}<fetch><knowledge>rye.*</knowledge></fetch>");
    prepared(&world, &calls, &permissions);
    let gave = results(&world, &forked(&world));
    let shown = gave[0]["value"]["stdout"].as_str().unwrap();
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("\n19999\n20000\n"), "{shown}");
    assert!(shown.chars().count() <= 12_000);
    let escaped = (&gave[1]["stdout"], &gave[1]["stderr"], &gave[1]["escaped"]);
    assert_eq!(escaped, (&json!("a\\xffb"), &json!("\\xc3"), &json!(["stdout", "stderr"])));
    // Each thread pages what it was given itself, and nothing of another.
    let blob = gave[0]["truncated"]["blob"].as_str().unwrap().to_owned();
    let total = gave[0]["truncated"]["total"].as_u64().unwrap();
    let page = |offset: u64| call("rye_fetch", &json!({"blob": blob, "offset": offset}));
    prepared(&world, &[page(0)], &permissions);
    let gave = results(&world, &forked(&world));
    assert_eq!(gave[0]["error_kind"], "tool_execution_exception", "{}", gave[0]);
    assert!(total > 100_000, "{total}");
}

#[test]
fn a_blob_is_paged_to_its_end_by_the_thread_that_was_given_it() {
    let world = World::new().with(".ai/tools/acme/echo.sh", &tool_sh("", "cat\n"));
    let text = "é".repeat(30_000);
    let value = json!({"content": text});
    let digest = crate::world::sha256(value.to_string().as_bytes());
    let page = |offset: usize| call("rye_fetch", &json!({"blob": digest, "offset": offset}));
    let calls = [call("acme_echo", &value), page(0), page(12_000), page(24_000), page(99_000)];
    let permissions = "<execute><tool>acme.echo</tool></execute>\
        <fetch><knowledge>rye.*</knowledge></fetch>";
    prepared(&world, &calls, permissions);
    let gave = results(&world, &forked(&world));
    assert_eq!(gave[0]["truncated"]["blob"], json!(digest), "{}", gave[0]["truncated"]);
    let parts: String = gave[1..4].iter().map(|part| part["content"].as_str().unwrap()).collect();
    assert_eq!(parts, value.to_string());
    let next: Vec<&Value> = gave[1..].iter().map(|part| &part["next_offset"]).collect();
    assert_eq!(next, [&json!(12_000), &json!(24_000), &Value::Null, &Value::Null]);
    assert_eq!(gave[4]["content"], "");
}

#[test]
fn without_a_permission_there_is_no_tool_but_the_one_for_outputs_table() {
    let world = World::new();
    let tools = |permissions: &str| {
        prepared(&world, &[], permissions);
        let (_, told) = world.json(&["thread", "show", &forked(&world)]);
        told["data"]["events"][0]["tools"].clone()
    };
    let rows = [
        ("", json!(["directive_return"])),
        (
            "<execute><tool>rye.workspace.run_shell_command</tool></execute>",
            json!(["directive_return", "run_shell_command", "rye_execute"]),
        ),
        ("<fetch><knowledge>acme.*</knowledge></fetch>", json!(["directive_return", "rye_fetch"])),
        ("<sign><tool>acme.*</tool></sign>", json!(["directive_return", "rye_sign"])),
        (
            WORKSPACE,
            json!([
                "directive_return",
                "list_workspace",
                "read_workspace_file",
                "run_shell_command",
                "rye_execute",
                "write_workspace_file",
            ]),
        ),
    ];
    for (permissions, want) in rows {
        assert_eq!(tools(permissions), want, "{permissions}");
    }
    world.signed(".ai/tools/run_shell_command.sh", &tool_sh("", "cat\n"));
    let both = "<execute><tool>rye.workspace.*</tool><tool>run_shell_command</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive(both));
    world
        .json(&["execute", "directive:acme/go", "--thread", "fork"])
        .fails(4, "thread.tool_name_conflict");
    // Also where the tool of rye is not there.
    let alone = "<execute><tool>run_shell_command</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive(alone));
    let told = world
        .json(&["execute", "directive:acme/go", "--thread", "fork"])
        .fails(4, "thread.tool_name_conflict");
    assert!(told["error"].as_str().unwrap().contains("tool:run_shell_command"), "{told}");
}

#[test]
fn a_model_finds_what_it_may_read_and_signs_nothing() {
    let world =
        World::new().with(".ai/knowledge/acme/style.md", "# Style\n\nHow zebras are written.\n");
    world.write(".ai/tools/acme/mine.sh", "true\n");
    let calls = [
        call("rye_fetch", &json!({"query": "style"})),
        call("rye_fetch", &json!({"item_id": "knowledge:acme/style"})),
        call("rye_fetch", &json!({"item_id": "knowledge:rye/overview"})),
        call("rye_fetch", &json!({"item_id": "knowledge:acme/style", "query": "x"})),
        call("rye_sign", &json!({"item_id": "tool:acme/mine"})),
    ];
    let permissions =
        "<fetch><knowledge>acme.*</knowledge></fetch><sign><tool>acme.*</tool></sign>";
    prepared(&world, &calls, permissions);
    let gave = results(&world, &forked(&world));
    assert!(gave[0].to_string().contains("knowledge:acme/style"), "{}", gave[0]);
    assert!(gave[1]["content"].as_str().unwrap().contains("zebras"), "{}", gave[1]);
    assert!(!gave[1].to_string().contains("rye:signed"), "{}", gave[1]);
    let kinds: Vec<&Value> = gave[2..].iter().map(|gave| &gave["error_kind"]).collect();
    assert_eq!(
        kinds,
        [&json!("permission_denied"), &json!("invalid_tool_arguments"), &json!("pending")]
    );
    assert_eq!(world.read(".ai/tools/acme/mine.sh"), b"true\n", "nothing was signed");
}

#[test]
fn f07_hooks_judge_what_a_model_reads_and_wants_signed() {
    let world =
        World::new().with(".ai/knowledge/acme/style.md", "# Style\n\nHow zebras are written.\n");
    world.write(".ai/tools/acme/mine.sh", "true\n");
    let calls = [
        call("rye_fetch", &json!({"item_id": "knowledge:acme/style"})),
        call("rye_fetch", &json!({"query": "zebras"})),
        call("rye_fetch", &json!({"blob": "x"})),
        call("rye_fetch", &json!({"offset": -1})),
        call("rye_sign", &json!({"item_id": "tool:acme/mine"})),
    ];
    let permissions =
        "<fetch><knowledge>acme.*</knowledge></fetch><sign><tool>acme.*</tool></sign>";
    let kinds = |world: &World| {
        prepared(world, &calls, permissions);
        let gave = results(world, &forked(world)).into_iter();
        gave.map(|gave| gave["error_kind"].as_str().unwrap_or("none").to_owned())
            .collect::<Vec<_>>()
    };
    let (blocked, failed) = ("blocked_by_hook", "tool_execution_exception");
    let wrong = "invalid_tool_arguments";
    assert_eq!(kinds(&world), ["none", "none", failed, wrong, "pending"], "the fixture works");
    let denies = "echo '{\"allow\":false,\"reason\":\"no\"}'";
    for (name, want) in [
        ("fetch", [blocked, blocked, blocked, wrong, "pending"]),
        ("sign", ["none", "none", failed, wrong, blocked]),
        ("*", [blocked, blocked, blocked, wrong, blocked]),
    ] {
        let about = format!("phases: [before_execution]\nmatch: [\"tool:rye/{name}\"]\n");
        hook(&world, "guard", &about, denies);
        assert_eq!(kinds(&world), want, "{name}");
    }
    let about = "phases: [after_execution]\nreplaces: true\nmatch: [\"tool:rye/fetch\"]\n";
    let other = "echo '{\"allow\":true,\"replace\":{\"content\":{\"content\":\"hidden\"}}}'";
    hook(&world, "guard", about, other);
    prepared(&world, &calls, permissions);
    let gave = results(&world, &forked(&world));
    assert_eq!(gave[0], json!({"content": "hidden"}));
    assert!(!gave[1].to_string().contains("style"), "{}", gave[1]);
}

#[test]
fn f07_f10_hooks_judge_what_a_model_does_in_its_workspace_and_without_a_required_one_nothing_runs()
{
    if levels("f07_f10_hooks_judge_what_a_model_does_in_its_workspace").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    let calls = [write("a.txt", "one"), run("echo two >> a.txt; cat a.txt"), read("a.txt")];
    assert_eq!(gave(&world, &calls)[1]["stdout"], "onetwo\n", "the fixture works untouched");
    let about = "match: [\"tool:rye/workspace/run_shell_command\"]\n";
    let denies = "echo '{\"allow\":false,\"reason\":\"no shell\"}'";
    hook(&world, "guard", &format!("phases: [before_execution]\n{about}"), denies);
    let told = gave(&world, &calls);
    assert_eq!(told[1]["error_kind"], "blocked_by_hook", "{}", told[1]);
    assert!(told[1]["message"].as_str().unwrap().contains("no shell"), "{}", told[1]);
    assert_eq!(told[2]["content"], "one", "it did not run");
    let after = "phases: [after_execution]\nreplaces: true\n";
    let other = "echo '{\"allow\":true,\"replace\":{\"content\":{\"stdout\":\"hidden\"}}}'";
    hook(&world, "guard", &format!("{after}{about}"), other);
    assert_eq!(gave(&world, &calls)[1], json!({"stdout": "hidden"}));
    hook(&world, "guard", &format!("phases: [before_execution]\n{about}"), "exit 2");
    assert_eq!(gave(&world, &calls)[1]["error_kind"], "blocked_by_hook");
    world.write_home(".ai/config/rye/policy.yaml", "required_hooks: [hooks/gone]\n");
    world.rye(&["sign", "config:rye/policy", "--space", "user"]).ok();
    // Its model cannot be asked either, so nothing starts.
    prepared(&world, &calls, WORKSPACE);
    world.json(&["execute", "directive:acme/go", "--thread", "fork"]).fails(4, "hook.unusable");
}
