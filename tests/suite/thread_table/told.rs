//! What a model is told of its calls, value by value (threads 4.2, 4.3).

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::{call, forked, prepared, results};
use crate::world::World;
use crate::world::items::tool_sh;

#[test]
fn what_is_not_understood_is_told_by_its_first_2000_characters_and_near_names_table() {
    let world = World::new().with(".ai/tools/acme/echo.sh", &tool_sh("", "cat\n"));
    let text = |n: usize| json!(format!("[{}]", "é".repeat(n - 2)));
    let rows = [
        ("acme_echo", text(1_999), 1_999),
        ("acme_echo", text(2_000), 2_000),
        ("acme_echo", text(2_001), 2_000),
        ("acme_echo", text(99_000), 2_000),
    ];
    let unknown = ["acme_ech", "acme_echo2", "other", "rye_execut", "acme/echo", ""];
    let calls = rows.iter().map(|(name, args, _)| call(name, args));
    let names = unknown.iter().filter(|name| !name.is_empty());
    let calls: Vec<Value> = calls.chain(names.map(|name| call(name, &json!({})))).collect();
    prepared(&world, &calls, "<execute><tool>acme.*</tool></execute>");
    let gave = results(&world, &forked(&world));
    for ((_, args, shown), told) in rows.iter().zip(&gave) {
        let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["ok", "error_kind", "message", "detail"], "{told}");
        assert_eq!(
            (&told["ok"], &told["error_kind"]),
            (&json!(false), &json!("invalid_tool_arguments"))
        );
        let detail = told["detail"].as_str().unwrap();
        assert_eq!(detail.chars().count(), *shown);
        assert!(args.as_str().unwrap().starts_with(detail));
    }
    let near = |at: usize| gave[rows.len() + at].clone();
    for (at, (name, want)) in [
        ("acme_ech", json!(["acme_echo"])),
        ("acme_echo2", json!(["acme_echo"])),
        ("other", json!([])),
        ("rye_execut", json!(["rye_execute"])),
        ("acme/echo", json!(["acme_echo"])),
    ]
    .into_iter()
    .enumerate()
    {
        let want = json!({
            "ok": false, "error_kind": "unknown_tool",
            "message": format!("unknown tool '{name}'"), "detail": want,
        });
        assert_eq!(near(at), want);
    }
}

#[test]
fn no_result_names_a_place_outside_of_the_workspace_a_value_of_the_environment_or_a_signature_table()
 {
    let world = World::new_on_disk().env("ACME_TOKEN", "canary-4c1d");
    // A program that lies in the project is passed over, and told where it lies.
    let program = world.write("bin/no-such-program", "#!/bin/sh\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.project().join("bin").display());
    let runtime = world.outside().join("runtime-77e1");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, PermissionsExt::from_mode(0o700)).unwrap();
    let world = world.env("PATH", &path).env("XDG_RUNTIME_DIR", runtime.to_str().unwrap());
    world.signed(".ai/tools/acme/fails.sh", &tool_sh("", "echo no >&2; exit 3\n"));
    world.signed(".ai/tools/acme/altered.sh", &tool_sh("", "cat\n"));
    let path = world.project().join(".ai/tools/acme/altered.sh");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "echo more\n").unwrap();
    world.write(".ai/tools/acme/unsigned.sh", tool_sh("", "cat\n"));
    world.signed(".ai/tools/acme/twice.sh", &tool_sh("", "cat\n"));
    world.write(".ai/tools/acme/twice.py", "print(1)\n");
    let odd = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
        category: acme\ndescription: d\nexec:\n  command: no-such-program\n";
    world.signed(".ai/tools/acme/odd.yaml", odd);
    let secret = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
        category: acme\ndescription: d\nexec:\n  command: printenv\n  args: [ACME_TOKEN]\n  \
        env: [ACME_TOKEN]\n";
    world.signed(".ai/tools/acme/secret.yaml", secret);
    world.signed(".ai/knowledge/acme/page.md", "# A page\n\nText.\n");
    let run = |id: &str| call("rye_execute", &json!({"item_id": id}));
    let ids = ["fails", "altered", "unsigned", "twice", "odd", "secret", "none"];
    let mut calls: Vec<Value> = ids.iter().map(|id| run(&format!("tool:acme/{id}"))).collect();
    let fetches = ["tool:acme/fails", "tool:acme/altered", "tool:acme/unsigned", "tool:acme/twice"];
    let more = |name: &str, key: &str, value: &str| call(name, &json!({key: value}));
    calls.extend(fetches.map(|id| more("rye_fetch", "item_id", id)));
    calls.extend(fetches.map(|id| more("rye_describe", "item_id", id)));
    calls.push(more("rye_fetch", "item_id", "knowledge:acme/page"));
    calls.push(more("rye_fetch", "query", "page"));
    calls.push(more("rye_search", "query", "d"));
    calls.push(more("rye_fetch", "blob", "x"));
    calls.push(more("rye_sign", "item_id", "tool:acme/altered"));
    calls.push(more("rye_sign", "item_id", "tool:acme/twice"));
    calls.push(run("knowledge:acme/page"));
    calls.push(run("config:acme/none"));
    calls.push(more("rye_search", "query", "page"));
    calls.push(more("rye_describe", "item_id", "knowledge:acme/page"));
    for code in ["return 1", "throw new Error(\"no\")", "return await runTool('acme/odd', {})", "("]
    {
        calls.push(more("rye_code", "code", code));
    }
    calls.push(more("run_shell_command", "cmd", "exit 3"));
    calls.push(more("run_shell_command", "cmd", "no-such-program"));
    calls.push(call("write_workspace_file", &json!({"path": "a", "content": "x"})));
    calls.push(call("write_workspace_file", &json!({"path": "a/b", "content": "x"})));
    calls.push(call("write_workspace_file", &json!({"path": "../b", "content": "x"})));
    for path in ["a", "none", "../a", "/etc/hostname"] {
        calls.push(more("read_workspace_file", "path", path));
        calls.push(more("list_workspace", "path", path));
    }
    calls.push(run("directive:acme/go"));
    calls.push(call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"})));
    let permissions = "<execute><tool>acme.*</tool><tool>rye.search</tool>\
        <tool>rye.describe</tool><tool>rye.code</tool><tool>rye.workspace.*</tool><directive>acme.*</directive></execute>\
        <fetch><tool>acme.*</tool><knowledge>acme.*</knowledge></fetch>\
        <sign><tool>acme.*</tool></sign>";
    prepared(&world, &calls, permissions);
    let gave = results(&world, &forked(&world));
    assert_eq!(gave.len(), calls.len());
    let places = [world.project().display().to_string(), world.home().display().to_string()];
    let mut wrong = Vec::new();
    for (call, told) in calls.iter().zip(&gave) {
        let text = told.to_string();
        let mut bad: Vec<&str> = places.iter().map(String::as_str).collect();
        bad.extend(["canary-4c1d", "rye:signed", "runtime-77e1"]);
        if bad.iter().any(|bad| text.contains(bad)) {
            wrong.push(format!("{}: {text}", call["calls"][0]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(gave[1]["detail"]["code"], "verify.altered", "{}", gave[1]);
    assert!(gave[4].to_string().contains("{project_path}/bin"), "{}", gave[4]);
    assert!(gave[5]["message"].as_str().unwrap().contains("***"), "{}", gave[5]);
    // The person is told the place.
    let (_, told) = world.json(&["execute", "tool:acme/odd"]);
    assert!(told.to_string().contains(&places[0]), "{told}");
}

#[test]
fn no_signature_line_is_told_whether_a_tool_of_rye_a_command_or_a_page_shows_it() {
    let world = World::new();
    let files: String = (0..300).map(|n| format!("echo {n} # {}\n", "x".repeat(60))).collect();
    world.signed(".ai/tools/acme/long.sh", &tool_sh("", &files));
    world.signed(".ai/tools/acme/show.sh", &tool_sh("", "cat .ai/tools/acme/*.sh\n"));
    let text = std::fs::read_to_string(world.project().join(".ai/tools/acme/show.sh")).unwrap();
    assert!(text.contains("rye:signed:v2 item=") && text.contains(" sig="), "{text}");
    // The script of the model is signed, so no line of it may be one.
    let marked = text.replace("rye:signed", "rye;signed");
    let calls = [
        call("rye_file_system_grep", &json!({"pattern": "signed", "path": ".ai/tools/acme"})),
        call("acme_show", &json!({})),
        call("write_workspace_file", &json!({"path": "copy.txt", "content": marked})),
        call("run_shell_command", &json!({"cmd": "sed 's/rye;/rye:/' copy.txt | tee copy.sh"})),
        call("read_workspace_file", &json!({"path": "copy.sh"})),
        call("rye_fetch", &json!({"id": "tool:acme/show"})),
    ];
    let allowed = "<execute><tool>acme.*</tool><tool>rye.file-system.*</tool>\
                   <tool>rye.workspace.*</tool></execute>\
                   <fetch><tool>acme.*</tool></fetch>";
    prepared(&world, &calls, allowed);
    let id = forked(&world);
    let gave = results(&world, &id);
    for (told, call) in gave.iter().zip(&calls) {
        let said = told.to_string();
        assert!(!said.contains("rye:signed:v2 item=") && !said.contains(" sig="), "{call}: {said}");
    }
    for shows in [0, 1, 3, 4] {
        let said = gave[shows].to_string();
        assert!(said.contains("[signature line]"), "{}: {said}", calls[shows]);
    }
    let kept = &gave[1]["truncated"]["blob"];
    let blob =
        world.project().join(format!(".ai/state/threads/{id}/blobs")).join(kept.as_str().unwrap());
    let blob = std::fs::read_to_string(blob).unwrap();
    assert!(blob.contains("[signature line]") && !blob.contains(" sig="));
}

#[test]
fn a_tool_that_would_be_refused_is_not_offered_and_whoever_started_the_thread_is_told() {
    let world = World::new();
    for name in ["echo", "altered"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool_sh("", "cat\n"));
    }
    prepared(&world, &[call("acme_altered", &json!({}))], "<execute><tool>acme.*</tool></execute>");
    let go = ["execute", "directive:acme/go", "--thread", "fork"];
    let dry = [&go[..], &["--dry-run"]].concat();
    let said = world.rye(&go);
    assert!(said.status == 0 && !said.stderr.contains("offered"), "it works untouched: {said:?}");
    world.write(".ai/tools/acme/altered.sh", tool_sh("", "cat; cat /etc/passwd\n"));
    let said = world.rye(&go).ok();
    let told = "not offered to the model, as they would be refused: `tool:acme/altered`; see \
                `rye why tool:acme/altered`";
    assert!(said.stderr.contains(told), "{said:?}");
    assert!(world.rye(&dry).stdout.contains(told), "whoever only tries it is told too");
    let (_, rows) = world.json(&["thread", "list"]);
    let id = rows["threads"].as_array().unwrap().last().unwrap()["thread_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(results(&world, &id)[0]["error_kind"], "unknown_tool");
    let (_, shown) = world.json(&["thread", "show", &id]);
    let refused = |shown: &Value| {
        let events = shown["data"]["events"].as_array().unwrap().clone();
        events.iter().find_map(|event| event.get("tools_refused").cloned()).unwrap()
    };
    assert_eq!(refused(&shown), json!(["tool:acme/altered"]));
}

#[test]
fn a_tool_that_is_permitted_by_its_name_and_that_no_space_has_is_told_to_whoever_starts_the_thread()
{
    let world = World::new().with(".ai/tools/acme/echo.sh", &tool_sh("", "cat\n"));
    let good = "<execute><tool>acme.echo</tool><tool>acme.no*</tool><tool>rye.code</tool>\
                <tool>rye.workspace.*</tool></execute>";
    prepared(&world, &[], good);
    let go = ["execute", "directive:acme/go", "--thread", "fork"];
    let dry = [&go[..], &["--dry-run"]].concat();
    let said = world.rye(&go);
    assert!(said.status == 0 && !said.stderr.contains("offered"), "it works untouched: {said:?}");
    let missing = "<tool>acme.Echo</tool><tool>zzz.nothere</tool>";
    prepared(&world, &[], &good.replace("</execute>", &format!("{missing}</execute>")));
    let told = "not offered to the model, as no space has them: `tool:acme/Echo` (did you mean \
                `tool:acme/echo`?), `tool:zzz/nothere`";
    for args in [&go[..], &dry] {
        let said = world.rye(args);
        let shown = if args == go { &said.stderr } else { &said.stdout };
        assert!(said.status == 0 && shown.contains(told), "{args:?}: {said:?}");
    }
    let want = json!([
        {"item_id": "tool:acme/Echo", "near": "tool:acme/echo"}, {"item_id": "tool:zzz/nothere"},
    ]);
    let (_, checked) = world.json(&dry);
    assert_eq!(checked["thread"]["tools_missing"], want, "{checked}");
    assert_eq!(checked["thread"]["tools_refused"], json!([]), "{checked}");
    let (_, shown) = world.json(&["thread", "show", &forked(&world)]);
    let begun = shown["data"]["events"][0].clone();
    assert_eq!(begun["tools_missing"], want, "{begun}");
}
