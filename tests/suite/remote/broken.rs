//! A line that breaks loses nothing.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::line::{Cut, Line};
use super::node::{Pair, add};
use super::runs::{with_directive, with_thread};
use crate::async_runs::id_of;
use crate::thread_tail::watch;
use crate::threads::{call, hand_over};
use crate::threads_http::{self, ALL, CANARY, Checked, Words, body, head, says};
use crate::world::items::tool_sh;
use crate::world::server::Reply;
use crate::world::wait::until;
use crate::world::{End, World};

fn by_line(pair: &Pair) -> Line {
    let line = Line::to(&pair.node.at);
    add(&pair.caller, "gpu", &line.at, &pair.node.key);
    line
}

#[test]
fn a_line_that_breaks_in_a_push_or_an_answer_changes_nothing_of_the_run_table() {
    let pair = Pair::new();
    let line = by_line(&pair);
    let ran = pair.caller.outside().join("ran");
    let remote = "remote = { inputs = [\"data\"], outputs = [\"out\"] }";
    let body = format!(
        "echo x >>{}; wc -c <data >out; cat data >>out; echo '{{\"n\": 1}}'\n",
        ran.display()
    );
    pair.caller.signed(".ai/tools/acme/takes.sh", &tool_sh(remote, &body));
    for (n, (request, in_answer, after)) in [
        ("PUT /objects/", false, 90_000),
        ("PUT /objects/", false, 700),
        ("PUT /objects/", true, 10),
        ("POST /execute", false, 300),
        ("POST /execute", true, 0),
        ("POST /execute", true, 500),
        ("GET /objects/", true, 40_000),
        ("GET /objects/", true, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{n}").repeat(200_000);
        pair.caller.write("data", &text);
        drop(fs::remove_file(pair.caller.project().join("out")));
        drop(fs::remove_file(&ran));
        line.cut(Cut { request, in_answer, after, times: 1 });
        let name = format!("{request} {in_answer} {after}");
        let told = pair.run("tool:acme/takes", &[]).ok();
        assert_eq!((&told["data"], line.cuts_left()), (&json!({"n": 1}), 0), "{name}: {told}");
        assert_eq!(fs::read_to_string(&ran).unwrap(), "x\n", "{name}: it ran once");
        let came = String::from_utf8(pair.caller.read("out")).unwrap();
        assert_eq!(came, format!("200000\n{text}"), "{name}");
    }
}

#[test]
fn a_line_that_breaks_while_a_caller_waits_is_made_anew() {
    let pair = Pair::new();
    let line = by_line(&pair);
    pair.caller.signed(".ai/tools/acme/slow.sh", &tool_sh("", "sleep 0.3; echo '{\"n\": 1}'\n"));
    let id = id_of(&pair.run("tool:acme/slow", &["--async"]).ok());
    line.cut(Cut { request: "GET /threads/", in_answer: true, after: 20, times: 2 });
    assert_eq!(pair.caller.json(&["thread", "wait", &id]).ok()["data"], json!({"n": 1}));
    assert_eq!(line.cuts_left(), 0);
}

#[test]
fn each_event_is_told_once_however_often_the_line_of_them_breaks() {
    let turns: Vec<Value> =
        (0..6).map(|n| call("acme_echo", &json!({"n": n, "text": "x".repeat(300)}))).collect();
    let pair = with_thread(&json!([turns, vec![hand_over()]].concat()));
    let line = by_line(&pair);
    let id = id_of(&pair.fork(&["--async"]).ok());
    line.cut(Cut { request: "GET /threads/", in_answer: true, after: 2_500, times: 3 });
    let said = pair.caller.rye(&["thread", "tail", &id, "--json"]).ok();
    let mut told: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.pop().unwrap()["outputs"], json!({"n": 7}), "{said:?}");
    assert_eq!(line.cuts_left(), 0);
    told.retain(|event| event["event"] != "token_delta");
    let known = pair.operator.json(&["thread", "show", &id]).ok();
    assert_eq!(json!(told), known["data"]["events"]);
}

#[test]
fn each_byte_of_a_tools_output_is_told_once_however_often_the_line_breaks() {
    let pair = Pair::new();
    let line = by_line(&pair);
    let body = "for i in $(seq 60); do echo \"line $i of the tool's output\"; sleep 0.01; done\n";
    pair.caller.signed(".ai/tools/acme/tells.sh", &tool_sh("", body));
    let id = id_of(&pair.run("tool:acme/tells", &["--async"]).ok());
    line.cut(Cut { request: "GET /threads/", in_answer: true, after: 700, times: 3 });
    let said = pair.caller.rye(&["thread", "tail", &id]).ok();
    let want: String = (1..=60).map(|i| format!("line {i} of the tool's output\n")).collect();
    assert_eq!((said.stdout, line.cuts_left()), (want, 0));
}

#[test]
fn each_word_of_a_model_is_told_once_also_where_the_line_breaks_between_them() {
    let spoken = ALL[3];
    let words = Words { piece: 3, ..says("Said early. And more.") };
    let server = Checked::new(spoken, move |_, n| {
        let body = body(spoken, &words, n);
        let end = body.find("content_block_stop").unwrap();
        Reply::Hold((head(spoken) + &body[..end]).into_bytes())
    });
    let operator = World::new().env("ACME_KEY", CANARY);
    let block = threads_http::block(spoken, &server.server.url(""), &json!({}));
    operator.signed_home(".ai/tools/acme/script.yaml", &threads_http::provider(&block));
    let pair = Pair::of(with_directive(), operator);
    let line = by_line(&pair);
    let id = id_of(&pair.fork(&["--async"]).ok());
    let (mut child, mut lines) = watch(&pair.caller, &id, &["--json"]);
    let mut said = String::new();
    let mut hear = |said: &mut String| {
        let Some(line) = lines.next() else { return false };
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "token_delta" {
            *said += event["text"].as_str().unwrap();
        }
        true
    };
    while !said.contains("early.") {
        assert!(hear(&mut said), "{said}");
    }
    line.asked("");
    line.break_all();
    until("it asks again", || line.asked("GET /threads/") > 0);
    pair.caller.json(&["thread", "cancel", &id]).ok();
    while hear(&mut said) {}
    child.wait().unwrap();
    assert_eq!(said, "Said early. And more.");
}

#[test]
fn a_node_may_be_out_of_reach_for_its_time_after_each_break_and_not_once_in_all() {
    let pair = Pair::new();
    let line = Line::to(&pair.node.at);
    let url = format!("http://{}", line.at);
    let args = ["remote", "add", "gpu", &url, "--node", &pair.node.key, "--timeout", "1s"];
    pair.caller.json(&args).ok();
    let [begun, go] = ["begun", "go"].map(|name| pair.caller.outside().join(name));
    let body = format!(
        "touch {}; i=0; while [ ! -e {} ] && [ $((i+=1)) -lt 3000 ]; do sleep 0.1; done; cat\n",
        begun.display(),
        go.display()
    );
    pair.caller.signed(".ai/tools/acme/waits.sh", &tool_sh("", &body));
    let args = ["run", "tool:acme/waits", "--target", "remote:gpu", "-i", "n:=1", "--json"];
    let child = pair.caller.start(&args);
    until("it begins", || begun.exists());
    // The second break comes later after the first than the node may be out of reach.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(1_100));
        line.asked("");
        line.break_all();
        until("it asks again", || line.asked("") > 0);
    }
    fs::write(go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["data"], json!({"n": 1}), "{told}");
}
