//! What a model is given at each cap, one below it and one beyond it (threads 4.3), and what it is
//! told of a call that is not carried out, as whole values.

use serde_json::{Value, json};

use super::{call, forked, prepared, results};
use crate::async_runs::tool;
use crate::hooks::hook;
use crate::sandbox::levels;
use crate::world::{World, sha256};

const WORKSPACE: &str = "<execute><tool>rye.workspace.*</tool></execute>";
const ECHO: &str = "<execute><tool>acme.echo</tool></execute>";

fn chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// A value whose JSON has so many characters, and none of whose texts is at its own cap.
fn of_length(length: usize) -> Value {
    let with = |last: usize| {
        let mut texts = vec!["é".repeat(11_000); 4];
        texts.push("x".repeat(last));
        json!({"a": texts})
    };
    let value = with(length - chars(&with(0)));
    assert_eq!(chars(&value), length);
    value
}

#[test]
fn a_result_of_exactly_48000_characters_is_whole_and_one_of_one_more_is_cut() {
    let world = World::new().with(".ai/tools/acme/echo.sh", &tool("cat\n"));
    let values = [47_999, 48_000, 48_001].map(of_length);
    let calls = values.each_ref().map(|value| call("acme_echo", value));
    prepared(&world, &calls, ECHO);
    let gave = results(&world, &forked(&world));
    assert_eq!(gave[..2], values[..2], "whole");
    let cut = &gave[2];
    assert!(chars(cut) <= 48_000, "{}", chars(cut));
    let truncated = &cut["truncated"];
    let (blob, total) = (sha256(values[2].to_string().as_bytes()), 48_001);
    assert_eq!((&truncated["blob"], &truncated["total"]), (&json!(blob), &json!(total)));
    let shown = cut["value"].as_str().unwrap();
    assert!(values[2].to_string().starts_with(shown), "its beginning");
    assert_eq!(truncated["shown"], shown.chars().count());
}

#[test]
fn a_file_of_12000_characters_and_a_folder_of_500_entries_are_whole_and_one_more_is_cut() {
    if levels("a_file_of_12000_characters_and_a_folder_of_500_entries").is_empty() {
        return;
    }
    let files = [11_999, 12_000, 12_001].map(|length| "é".repeat(length));
    let folders = [499, 500, 501];
    let write = files.iter().enumerate().map(|(n, text)| {
        call("write_workspace_file", &json!({"path": format!("file{n}"), "content": text}))
    });
    let make = folders.iter().map(|n| {
        let cmd = format!("mkdir of{n}; cd of{n}; seq -w {n} | xargs touch");
        call("run_shell_command", &json!({"cmd": cmd}))
    });
    let read = (0..3).map(|n| call("read_workspace_file", &json!({"path": format!("file{n}")})));
    let list = folders.iter().map(|n| call("list_workspace", &json!({"path": format!("of{n}")})));
    let calls: Vec<Value> = write.chain(make).chain(read).chain(list).collect();
    let world = World::new_on_disk();
    prepared(&world, &calls, WORKSPACE);
    let gave = results(&world, &forked(&world));
    let (read, listed) = gave[6..].split_at(3);
    for (text, told) in files.iter().zip(&read[..2]) {
        assert_eq!(told, &json!({"content": text}), "whole");
    }
    let whole = json!({"content": files[2]});
    let shown = read[2]["value"]["content"].as_str().unwrap();
    assert!(shown.chars().count() <= 12_000 && shown.starts_with('é') && shown.ends_with('é'));
    let truncated = &read[2]["truncated"];
    assert_eq!(truncated["total"], chars(&whole));
    assert_eq!(truncated["blob"], sha256(whole.to_string().as_bytes()));
    let entries = |folder: usize| {
        let one = |n: usize| {
            let name = format!("{n:03}");
            json!({"name": name, "path": format!("of{folder}/{name}"), "is_dir": false})
        };
        (1..=folder).map(one).collect::<Vec<_>>()
    };
    for (folder, told) in folders.iter().zip(&listed[..2]) {
        assert_eq!(told, &json!({"entries": entries(*folder)}), "whole");
    }
    assert_eq!(listed[2]["value"], json!({"entries": entries(501)[..500]}));
    let whole = json!({"entries": entries(501)});
    assert_eq!(listed[2]["truncated"]["total"], chars(&whole));
    assert_eq!(listed[2]["truncated"]["blob"], sha256(whole.to_string().as_bytes()));
}

#[test]
fn a_call_that_is_denied_by_a_permission_or_a_hook_is_told_as_one_whole_value() {
    let world = World::new();
    for name in ["echo", "other", "third"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool("echo x >> ran\ncat\n"));
    }
    let execute = |item: &str| call("rye_execute", &json!({"item_id": item}));
    let calls =
        [execute("tool:acme/other"), call("acme_echo", &json!({})), execute("tool:acme/third")];
    let may = "<execute><tool>acme.echo</tool><tool>acme.third</tool></execute>";
    prepared(&world, &calls, may);
    let before = "phases: [before_execution]\nmatch: [\"acme/echo\", \"acme/third\"]\n";
    hook(&world, "guard", before, "echo '{\"allow\":false,\"reason\":\"no echo today\"}'");
    let gave = results(&world, &forked(&world));
    let granted = json!([["tool:acme/echo", "tool:acme/third"]]);
    let want = json!({
        "ok": false, "error_kind": "permission_denied",
        "message": "`tool:acme/other` is not among what this caller may reach",
        "detail": {"code": "grant.denied", "data": {"granted": granted}, "item_id": "tool:acme/other"},
    });
    assert_eq!(gave[0], want);
    for (item, told) in ["tool:acme/echo", "tool:acme/third"].into_iter().zip(&gave[1..]) {
        let want = json!({
            "ok": false, "error_kind": "blocked_by_hook",
            "message": format!(
                "`{item}` was denied by the hook `tool:hooks/guard` (user, before_execution): \
                 no echo today"
            ),
            "detail": {"code": "hook.denied", "data": {
                "hook": "tool:hooks/guard", "phase": "before_execution",
                "reason": "no echo today", "enforced": false, "metadata": {},
            }},
        });
        assert_eq!(told, &want);
    }
    assert!(!world.project().join("ran").exists(), "none ran");
}
