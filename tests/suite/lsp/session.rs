//! How a session begins and ends, and what becomes of what is no message.

use std::fs;

use serde_json::{Value, json};

use super::editor::{Editor, codes, uri};
use crate::world::{MARKER_PY, World};

fn error(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn a_session_has_an_order() {
    let world = World::new();
    let mut editor = Editor::start(&world);
    assert_eq!(error(&editor.ask("textDocument/hover", &json!({}))), -32002, "before `initialize`");
    // Notifications before it are dropped.
    editor.tell("textDocument/didSave", &json!({}));
    let greeting = editor.hello(&json!({}));
    assert_eq!(greeting["serverInfo"]["name"], "rye");
    assert_eq!(greeting["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(error(&editor.ask("initialize", &json!({}))), -32600, "twice");
    assert_eq!(error(&editor.ask("textDocument/rename", &json!({}))), -32601);
    assert_eq!(error(&editor.ask("textDocument/hover", &json!({"position": 7}))), -32602);
    assert_eq!(error(&editor.ask("workspace/executeCommand", &json!({"command": "rm"}))), -32602);
    editor.tell("$/setTrace", &json!({"value": "off"}));
    editor.tell("textDocument/didChange", &json!({"nonsense": true}));
    assert_eq!(editor.ask("shutdown", &Value::Null)["result"], Value::Null);
    assert_eq!(error(&editor.ask("textDocument/hover", &json!({}))), -32600, "after `shutdown`");
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(editor.end().status, Some(0));
}

#[test]
fn an_exit_without_a_shutdown_is_status_1_and_an_editor_that_dies_ends_it_quietly() {
    let world = World::new();
    let mut editor = Editor::new(&world, &json!({}));
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(editor.end().status, Some(1));
    for rest in ["", "Content-Length: 100\r\n\r\n{\"half", "Content-Le"] {
        let mut editor = Editor::new(&world, &json!({}));
        editor.send_bytes(rest.as_bytes());
        let end = editor.end();
        assert_eq!((end.status, end.stderr.as_str()), (Some(0), ""), "{rest:?}");
    }
    let end = Editor::start(&world).end();
    assert_eq!((end.status, end.stderr.as_str()), (Some(0), ""), "not a word");
}

#[test]
fn what_is_no_message_is_answered_and_the_session_goes_on() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    let nameless = |editor: &mut Editor| editor.wait(|m| m.get("id") == Some(&Value::Null));
    editor.send_bytes(b"Content-Length: 4\r\n\r\n{\"x\"");
    assert_eq!(error(&nameless(&mut editor)), -32700);
    let deep = "[".repeat(90_000);
    editor.send_bytes(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    assert_eq!(error(&nameless(&mut editor)), -32700);
    for odd in
        [json!([]), json!(7), json!({"id": 1}), json!({"jsonrpc": "1.0", "id": 1, "method": "x"})]
    {
        editor.send(&odd);
        assert_eq!(error(&nameless(&mut editor)), -32600, "{odd}");
    }
    assert_eq!(codes(&editor.open(&path)), [("verify.unsigned".to_owned(), 1)]);
    assert_eq!(editor.bye().status, Some(0));
}

#[test]
fn what_is_no_stream_of_messages_ends_with_a_code() {
    let world = World::new();
    for garbage in ["GET / HTTP/1.1\r\n\r\n", "{}\n", "Content-Length: x\r\n\r\n"] {
        let mut editor = Editor::new(&world, &json!({}));
        editor.send_bytes(garbage.as_bytes());
        let end = editor.end();
        assert_eq!(end.status, Some(7), "{garbage:?}: {end:?}");
        assert!(end.stderr.starts_with("error[lsp.malformed]: "), "{end:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_ends_with_a_code() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let world = World::new();
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}";
    let input = world.write("in", format!("Content-Length: {}\r\n\r\n{request}", request.len()));
    let output = world
        .command(&["lsp"])
        .stdin(fs::File::open(input).unwrap())
        .stdout(full)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.starts_with("error[lsp.io]: "), "{stderr}");
}

#[test]
fn a_text_or_a_message_that_is_too_large_is_not_kept() {
    let world = World::new();
    let path = world.write(".ai/tools/acme/x.py", MARKER_PY);
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(codes(&editor.open(&path)), [("verify.unsigned".to_owned(), 1)]);
    let large = format!("{MARKER_PY}{}", "#".repeat(4 << 20));
    assert_eq!(codes(&editor.change(&path, &large)), [("space.too_large".to_owned(), 1)]);
    assert_eq!(editor.at("textDocument/hover", &path, 0, 0), Value::Null);
    assert_eq!(codes(&editor.change(&path, MARKER_PY)), [("verify.unsigned".to_owned(), 1)]);
    // What a message that was passed over changed, nobody knows.
    let head = format!("Content-Length: {}\r\n\r\n", 26 << 20);
    editor.send_bytes(head.as_bytes());
    editor.send_bytes(&vec![b' '; 26 << 20]);
    assert_eq!(error(&editor.wait(|m| m.get("id") == Some(&Value::Null))), -32600);
    assert_eq!(codes(&editor.said(&path)), [("space.too_large".to_owned(), 1)]);
    assert_eq!(codes(&editor.change(&path, MARKER_PY)), [("verify.unsigned".to_owned(), 1)]);
    assert_eq!(editor.bye().status, Some(0));
}

#[test]
fn all_open_texts_together_are_bounded() {
    let world = World::new();
    let large = "x".repeat(4 << 20);
    let mut editor = Editor::new(&world, &json!({}));
    let path = |n: usize| world.project().join(format!(".ai/knowledge/acme/x{n}.md"));
    for n in 0..8 {
        assert_eq!(codes(&editor.open_as(&path(n), &large))[0].0, "verify.unsigned", "{n}");
    }
    assert_eq!(codes(&editor.open_as(&path(8), MARKER_PY))[0].0, "space.too_large");
    editor.tell("textDocument/didClose", &json!({"textDocument": {"uri": uri(&path(0))}}));
    editor.said(&path(0));
    assert_eq!(codes(&editor.change(&path(8), MARKER_PY))[0].0, "verify.unsigned");
    assert_eq!(editor.bye().status, Some(0));
}

#[test]
fn nothing_runs_nothing_is_written_and_no_text_is_logged() {
    let world = World::new().env("RYE_LOG", "trace");
    let path = world.signed(".ai/tools/acme/x.py", MARKER_PY);
    let before = files(&world);
    let mut editor = Editor::new(&world, &json!({}));
    editor.open(&path);
    let canary = format!("{}token = \"canary-7c1\"\n", fs::read_to_string(&path).unwrap());
    editor.change(&path, &canary);
    for line in 0..14 {
        for method in ["textDocument/hover", "textDocument/completion"] {
            editor.at(method, &path, line, 4);
        }
        editor.actions(&path, line, 0);
    }
    editor.tell("textDocument/didClose", &json!({"textDocument": {"uri": uri(&path)}}));
    let end = editor.bye();
    assert!(end.stderr.contains("textDocument/didChange"), "it does log: {}", end.stderr);
    assert!(!end.stderr.contains("canary-7c1"), "{}", end.stderr);
    assert_eq!(files(&world), before, "no file is new, gone or different");
}

/// Every file below both spaces, with its bytes.
fn files(world: &World) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![world.outside().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
