//! Threads from the outside while they run: in a process of their own, cancelled, killed, waited
//! for, and looked at.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::async_runs::{id_of, kill, start, state, tool};
use crate::sandbox::not_run;
use crate::threads::{
    ONLY_ECHO, call, directive, events, hand_over, provider, rows, transcript, world,
};
use crate::threads_http::{self, CANARY, Checked};
use crate::world::server::Reply;
use crate::world::wait::{lives, until};
use crate::world::{End, World};

const GO: &[&str] = &["directive:acme/go", "--thread", "fork"];

/// A tool that stays, does not let itself be asked, and has another process below it.
const STAYS: &str = "echo $$ > tool_pid; sh -c 'echo $$ > below_pid; exec sleep 300' & \
                     trap '' TERM; while :; do sleep 0.05; date >> ticks; done\n";

/// A thread whose child calls a tool that stays.
fn deep() -> World {
    let parent = json!([
        call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"})),
        hand_over(),
    ]);
    let all = "<execute><tool>*</tool><directive>*</directive></execute>";
    let world = world(&parent, "turns=\"9\"", all);
    world.signed(".ai/tools/acme/stays.sh", &tool(STAYS));
    let turns = json!([call("acme_stays", &json!({})), hand_over()]);
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&turns));
    let text = directive("child", "turns=\"5\"", "<execute><tool>acme.stays</tool></execute>");
    world.signed(".ai/directives/acme/child.md", &text.replace("acme/script", "acme/child_script"));
    world
}

fn number(world: &World, name: &str) -> Option<u64> {
    fs::read_to_string(world.project().join(name)).ok()?.trim().parse().ok()
}

/// The tool of a thread runs, and what it started too.
fn is_under_way(world: &World) -> bool {
    number(world, "tool_pid").is_some() && number(world, "below_pid").is_some()
}

/// A thread that runs in the process that was asked for it.
fn in_the_caller(world: &World) -> Child {
    let mut command = world.command(&[&["execute"], GO, &["--json"]].concat());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until("it is under way", || is_under_way(world));
    child
}

/// Nothing of it runs, now or later.
fn nothing_runs(world: &World) {
    for name in ["tool_pid", "below_pid"] {
        let pid = number(world, name).unwrap();
        until("it is gone", || !lives(pid));
    }
    // It takes no descriptor, of which many tests at once may have none left.
    let ticks = || fs::metadata(world.project().join("ticks")).map_or(0, |file| file.len());
    let before = ticks();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ticks(), before);
}

/// What the ledger still holds for threads.
pub fn held(world: &World) -> u64 {
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let sql = "SELECT sum(held_turns + held_tokens + held_spend) FROM thread";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_thread_in_a_process_of_its_own_answers_at_once_and_is_waited_for() {
    let world =
        world(&json!([call("acme_echo", &json!({"a": 1})), hand_over()]), "turns=\"3\"", ONLY_ECHO);
    let told = start(&world, GO);
    let (id, pid) = (id_of(&told), told["pid"].as_u64());
    assert!(id.starts_with("acme/go/go-") && pid.is_some(), "{told}");
    let want = json!({
        "status": "running", "async": true, "thread_id": id, "type": "directive",
        "item_id": "acme/go", "execution_mode": "fork", "state": "running", "pid": pid,
        "directive": "acme/go",
    });
    assert_eq!(told, want);
    let (status, waited) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &waited["outputs"]), (0, &json!({"n": 7})), "{waited}");
    let inline = world.json(&[&["execute"], GO].concat()).1;
    for key in ["status", "type", "item_id", "directive", "result", "outputs", "cost"] {
        assert_eq!(waited[key], inline[key], "{key}");
    }
    // The same of a thread that ran where it was asked for.
    assert_eq!(
        world.json(&["thread", "wait", inline["thread_id"].as_str().unwrap()]).ok()["outputs"],
        json!({"n": 7})
    );
    assert_eq!(world.json(&["thread", "verify", &id]).ok()["final"], true);
    assert_eq!(events(&world, &id, "tool_call_result").len(), 2);
    let all = rows(&world);
    assert_eq!((&all[0]["async"], &all[1]["async"]), (&json!(true), &json!(false)));
}

#[test]
fn limits_of_the_configuration_that_are_none_are_refused() {
    for text in [
        "defaults: {turns: -1}\n",
        "defaults: {tokens: .nan}\n",
        "defaults: {spend: .inf}\n",
        "most: {spend: 1e999}\n",
        "most: {tokens: 99999999999999999999}\n",
        "max_async: 0\n",
        "max_async: -1\n",
        "max_async: many\n",
        "max_async: 1e9\n",
    ] {
        let world = world(&json!([hand_over()]), "turns=\"3\"", ONLY_ECHO);
        let said = world.write_home(".ai/config/agent/limits.yaml", text);
        let signed = world.rye(&["sign", "config:agent/limits", "--space", "user"]);
        let args = [&["execute"], GO, &["--async"]].concat();
        let (status, told) = world.json(&args);
        assert_ne!(status, 0, "{text} {told}");
        if signed.status == 0 && !told["code"].as_str().unwrap().starts_with("parse.") {
            assert_eq!(told["code"], "thread.bad_limit", "{text} {told}");
        }
        assert_eq!(rows(&world), [Value::Null; 0], "{text}");
        drop(said);
    }
}

#[test]
fn another_process_cancels_a_thread_with_its_child_and_their_tool() {
    for detached in [false, true] {
        let world = deep();
        let (mut caller, id) = match detached {
            true => {
                let told = start(&world, GO);
                until("it is under way", || is_under_way(&world));
                (None, id_of(&told))
            }
            false => {
                let caller = in_the_caller(&world);
                (Some(caller), id_of(&rows(&world)[0]))
            }
        };
        let (status, told) = world.json(&["thread", "cancel", &id]);
        assert_eq!((status, &told["thread_status"]), (0, &json!("cancelled")), "{told}");
        nothing_runs(&world);
        if let Some(caller) = caller.take() {
            let output = caller.wait_with_output().unwrap();
            let told: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(6), "the process is not ended by it: {told}");
            assert_eq!(told["code"], "thread.cancelled", "{told}");
        }
        for row in rows(&world) {
            assert_eq!(row["thread_status"], "cancelled", "{row}");
            let (status, told) =
                world.json(&["thread", "verify", row["thread_id"].as_str().unwrap()]);
            assert_eq!((status, &told["final"]), (0, &json!(true)), "{told}");
        }
        assert_eq!(held(&world), 0);
        world.json(&["thread", "wait", &id]).fails(6, "thread.cancelled");
        world.json(&["thread", "cancel", &id]).fails(4, "thread.not_running");
    }
}

#[test]
fn a_child_alone_is_cancelled_and_its_parent_is_told_and_goes_on() {
    let world = deep();
    let caller = in_the_caller(&world);
    let child = id_of(&rows(&world)[1]);
    assert_eq!(world.json(&["thread", "cancel", &child]).ok()["thread_status"], "cancelled");
    let output = caller.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["status"], &told["outputs"]), (&json!("success"), &json!({"n": 7})));
    let all = rows(&world);
    assert_eq!(
        (&all[0]["thread_status"], &all[1]["thread_status"]),
        (&json!("completed"), &json!("cancelled"))
    );
    nothing_runs(&world);
    assert_eq!(held(&world), 0);
}

#[test]
fn a_child_is_not_killed_with_its_parent_but_by_a_word_and_a_cancelled_thread_has_one_code() {
    let world = deep();
    let told = start(&world, GO);
    let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
    until("it is under way", || is_under_way(&world));
    let child = id_of(&rows(&world)[1]);
    let told = world.json(&["thread", "kill", &child]).fails(4, "thread.not_alone");
    assert_eq!(told["data"]["top"], json!(id));
    for said in [format!("rye thread cancel {child}"), format!("rye thread kill {id}")] {
        assert!(told["help"].as_str().unwrap().contains(&said), "{told}");
    }
    let help = world.rye(&["thread", "kill", "--help"]).stdout;
    for told in ["`thread.not_alone`", "a thread in a server, is cancelled instead"] {
        assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{help}");
    }
    assert!(lives(pid) && is_under_way(&world), "nothing ended");
    assert_eq!(world.json(&["thread", "cancel", &id]).0, 0);
    for row in rows(&world) {
        let code = &row["thread_code"];
        assert_eq!(
            (&row["thread_status"], code),
            (&json!("cancelled"), &json!("thread.cancelled"))
        );
        let (began, ended) = (row["started_at"].as_str().unwrap(), row["ended_at"].as_str());
        assert!(ended.unwrap() >= began, "{row}");
        let ended = &events(&world, row["thread_id"].as_str().unwrap(), "thread_ended")[0];
        assert_eq!(ended["code"], "thread.cancelled");
    }
}

#[test]
fn what_has_no_record_is_told_as_what_it_is() {
    let world = deep();
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let run = id_of(&start(&world, &["tool:acme/stays"]));
    until("it is under way", || is_under_way(&world));
    let waits = start(&world, GO);
    assert_eq!(waits["state"], "created", "{waits}");
    let waits = id_of(&waits);
    for (id, said, help) in [
        (&run, "is a run of `tool:acme/stays` and not a thread", "rye thread show"),
        (&waits, "waits for a place", "rye thread wait"),
    ] {
        for verb in ["verify", "export", "resume"] {
            let told = world.json(&["thread", verb, id]).fails(3, "thread.no_record");
            assert!(told["error"].as_str().unwrap().contains(said), "{told}");
            assert!(told["help"].as_str().unwrap().contains(help), "{told}");
        }
    }
    for id in [&waits, &run] {
        assert_eq!(world.json(&["thread", "cancel", id]).0, 0);
        world.json(&["thread", "wait", id]).fails(6, "thread.cancelled");
    }
    let told = world.json(&["thread", "wait", &waits]).1;
    let why = "was cancelled while it waited for a place, and did not begin";
    assert!(told["error"].as_str().unwrap().ends_with(why), "{told}");
    let told = world.json(&["thread", "verify", &waits]).1;
    assert!(
        told["error"].as_str().unwrap().contains("it was cancelled, and did not begin"),
        "{told}"
    );
}

#[test]
fn what_is_killed_before_it_began_is_not_told_of_a_process_that_is_gone() {
    let world = deep();
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let run = id_of(&start(&world, &["tool:acme/stays"]));
    until("it is under way", || is_under_way(&world));
    for what in [GO, &["tool:acme/stays"]] {
        let id = id_of(&start(&world, what));
        assert_eq!(world.json(&["thread", "kill", &id]).0, 0);
        let told = world.json(&["thread", "wait", &id]).fails(6, "thread.killed");
        let why = format!("`{id}` was killed while it waited for a place, and did not begin");
        assert_eq!(told["error"], why, "{told}");
        assert_eq!(told["help"], "start it again with `rye execute`, if it is to run", "{told}");
        assert_eq!(told["data"]["thread_id"], id, "{told}");
    }
    assert_eq!(world.json(&["thread", "cancel", &run]).0, 0);
}

#[test]
fn a_thread_that_ctrl_c_stops_in_a_tool_says_how_it_goes_on() {
    let world = deep();
    let mut command = world.command(&["execute", "directive:acme/go", "--thread", "fork"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until("it is under way", || is_under_way(&world));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    let top = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    let help = format!("nothing of it is left running; go on with `rye thread resume {top}`\n");
    assert!(said.contains("error[execute.interrupted]: ") && said.contains(&help), "{said}");
    assert_eq!(said.matches("rye thread resume").count(), 1, "{said}");
}

#[test]
fn a_thread_that_waited_for_its_place_runs_what_was_verified_or_does_not_start_table() {
    for what in ["nothing", "directive", "provider"] {
        let world = deep();
        world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
        let run = id_of(&start(&world, &["tool:acme/stays"]));
        until("it is under way", || is_under_way(&world));
        world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"5\"", ONLY_ECHO));
        world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
        let waits = id_of(&start(&world, GO));
        match what {
            "directive" => {
                let text = directive("go", "turns=\"6\"", ONLY_ECHO);
                drop(world.signed(".ai/directives/acme/go.md", &text));
            }
            "provider" => {
                let turns = json!([call("acme_echo", &json!({})), hand_over()]);
                drop(world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns)));
            }
            _ => {}
        }
        assert_eq!(world.json(&["thread", "kill", &run]).0, 0);
        let (status, told) = world.json(&["thread", "wait", &waits]);
        if what == "nothing" {
            assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{told}");
            continue;
        }
        assert_eq!((status, &told["code"]), (4, &json!("thread.drifted")), "{what} {told}");
        assert!(
            told["error"].as_str().unwrap().contains(what.replace("directive", "acme/go").as_str())
        );
        assert_eq!(state(&world, &waits), "failed");
        assert!(!transcript(&world, &waits).exists(), "nothing of it began");
    }
}

#[test]
fn a_killed_thread_is_recorded_with_its_child_and_holds_nothing() {
    for by_verb in [true, false] {
        let world = deep();
        let told = start(&world, GO);
        let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
        until("it is under way", || is_under_way(&world));
        if by_verb {
            assert_eq!(world.json(&["thread", "kill", &id]).ok()["thread_status"], "killed");
            nothing_runs(&world);
        } else {
            kill(pid);
            until("it is recorded", || state(&world, &id) == "killed");
        }
        assert!(!lives(pid));
        let all = rows(&world);
        assert!(
            all.len() == 2 && all.iter().all(|row| row["thread_status"] == "killed"),
            "{all:?}"
        );
        assert_eq!(held(&world), 0);
        for row in all {
            let (status, told) =
                world.json(&["thread", "verify", row["thread_id"].as_str().unwrap()]);
            assert_eq!((status, &told["final"]), (0, &json!(false)), "{told}");
        }
        world.json(&["thread", "wait", &id]).fails(6, "thread.killed");
    }
}

#[test]
fn show_says_of_a_killed_thread_what_wait_says_and_of_one_below_that_it_does_not_go_on_alone() {
    let world = deep();
    let top = id_of(&start(&world, GO));
    until("it is under way", || is_under_way(&world));
    assert_eq!(world.json(&["thread", "kill", &top]).0, 0);
    nothing_runs(&world);
    let next = [
        format!("go on with `rye thread resume {top}`"),
        "it ran below another thread, so it does not go on alone".to_owned(),
    ];
    for (row, next) in rows(&world).iter().zip(next) {
        let id = row["thread_id"].as_str().unwrap();
        let waited = world.json(&["thread", "wait", id]).fails(6, "thread.killed");
        let help = format!("see how far it came with `rye thread show {id}`; {next}");
        assert_eq!(waited["help"], help, "{waited}");
        let (_, told) = world.json(&["thread", "show", id]);
        for key in ["code", "error", "help"] {
            assert_eq!(told["failure"][key], waited[key], "{key}: {told}");
        }
        assert_eq!(told["failure"]["data"]["thread_id"], id, "{told}");
        // Whoever looks at it already is not told to.
        let error = waited["error"].as_str().unwrap();
        let want = format!("\n\nerror[thread.killed]: {error}\n  help: {next}\n\nnext: ");
        let shown = world.rye(&["thread", "show", id]).stdout;
        assert!(shown.contains(&want), "{shown}");
    }
}

#[test]
fn words_that_no_record_names_are_said_now_as_long_as_their_thread_runs() {
    let world = deep();
    let id = id_of(&start(&world, GO));
    until("it is under way", || is_under_way(&world));
    fs::write(transcript(&world, &id).with_file_name("words"), "half an ans").unwrap();
    let verified = || world.rye(&["thread", "verify", &id]).stdout;
    let said = verified();
    assert!(said.contains("`words` (what the model is saying now)\n"), "{said}");
    assert_eq!(world.json(&["thread", "kill", &id]).0, 0);
    nothing_runs(&world);
    let said = verified();
    assert!(
        said.contains("`words` (what the model was saying when its process ended)\n"),
        "{said}"
    );
}

/// A tool started the child in a process of its own, so the thread above it lives.
#[test]
fn a_child_that_is_killed_in_a_call_of_its_model_holds_nothing_above_while_its_parent_goes_on() {
    let spoken = threads_http::ALL[0];
    let server = Checked::new(spoken, |_, _| Reply::Hold(Vec::new()));
    let turns = json!([call("acme_starts", &json!({})), hand_over()]);
    let may = "<execute><tool>acme.starts</tool><directive>acme.child</directive></execute>";
    let world = world(&turns, "turns=\"9\"", may);
    let block = threads_http::block(spoken, &server.server.url(""), &json!({}));
    world.signed_home(".ai/tools/acme/asks.yaml", &threads_http::provider(&block));
    let child = directive("child", "turns=\"5\"", "").replace("acme/script", "acme/asks");
    world.signed(".ai/directives/acme/child.md", &child);
    let starts = format!(
        "cd '{}'; env HOME='{}' ACME_KEY={CANARY} {} execute directive:acme/child --thread fork \
         >/dev/null 2>&1 &\necho $! > tool_pid; wait; while [ ! -e go ]; do sleep 0.1; done\n",
        world.project().display(),
        world.home().display(),
        crate::world::program(),
    );
    world.signed(".ai/tools/acme/starts.sh", &tool(&starts));
    let mut command = world.command(&[&["execute"], GO, &["--json"]].concat());
    let parent = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    server.server.wait_until_asked();
    assert_eq!(rows(&world)[1]["parent"], rows(&world)[0]["thread_id"]);
    assert!(held(&world) > 0, "the call is under way");
    kill(number(&world, "tool_pid").unwrap());
    until("it is recorded", || rows(&world)[1]["thread_status"] == "killed");
    let all = rows(&world);
    assert_eq!(all[0]["thread_status"], "running", "the parent lives");
    assert_eq!(held(&world), 0, "and holds nothing for what is gone");
    assert_eq!((&all[0]["used"]["turns"], &all[1]["used"]["turns"]), (&json!(2), &json!(1)));
    world.write("go", "");
    let told: Value = serde_json::from_slice(&parent.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&told["outputs"], &told["cost"]["turns"]), (&json!({"n": 7}), &json!(3)), "{told}");
    assert_eq!((held(&world), server.requests().len()), (0, 1));
}

#[test]
fn a_caller_that_is_killed_at_once_ends_no_detached_thread() {
    let world = deep();
    let told = start(&world, GO);
    // Whoever asked is gone already; its whole group is killed all the same.
    let id = id_of(&told);
    until("it is under way", || is_under_way(&world));
    assert_eq!(state(&world, &id), "running");
    let told = world.json(&["thread", "tree", &id]).ok();
    let tree = told["threads"].as_array().unwrap();
    let levels: Vec<_> = tree.iter().map(|row| row["level"].as_u64().unwrap()).collect();
    assert_eq!((levels, &tree[1]["parent"]), (vec![0, 1], &json!(id)));
    let text = world.rye(&["thread", "tree", &id]).stdout;
    assert!(text.contains(&format!("{id}\n")) && text.contains("\n  acme/child/child-"), "{text}");
    assert_eq!(world.json(&["thread", "cancel", &id]).0, 0);
    nothing_runs(&world);
}

#[test]
fn an_id_that_nothing_has_is_not_found_by_any_verb() {
    let world = world(&json!([hand_over()]), "turns=\"3\"", ONLY_ECHO);
    let (_, told) = world.json(&[&["execute"], GO].concat());
    let id = id_of(&told);
    let other = if id.ends_with('0') { '1' } else { '0' };
    let near = format!("{}{other}", &id[..id.len() - 1]);
    let uuid = &near[near.len() - 36..];
    for verb in ["wait", "cancel", "kill", "tree", "show"] {
        for bad in [near.as_str(), uuid, "acme/go", "../../x", ""] {
            world.json(&["thread", verb, bad]).fails(3, "thread.not_found");
        }
    }
    let (_, told) = world.json(&["thread", "wait", &near]);
    assert!(told["help"].as_str().unwrap().contains(&id), "{told}");
}

#[test]
fn a_thread_is_not_taken_for_dead_from_another_namespace_of_processes_and_is_cancelled_there() {
    let apart = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let world = deep();
    if world.shell(&format!("unshare {} echo works", apart.join(" "))) != "works\n" {
        let test = "a_thread_is_not_taken_for_dead_from_another_namespace_of_processes";
        not_run(test, "unshare", "it makes none here");
        return;
    }
    let there = |args: &[&str]| -> Value {
        let said = world.run_through("unshare", &apart, &[args, &["--json"]].concat());
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"))
    };
    let thread = id_of(&start(&world, GO));
    until("it is under way", || is_under_way(&world));
    let told = there(&["thread", "show", &thread]);
    assert_eq!(
        (&told["thread_status"], &told["elsewhere"]),
        (&json!("running"), &json!(true)),
        "{told}"
    );
    let rows = there(&["thread", "list"])["threads"].take();
    assert!(rows.as_array().unwrap().iter().all(|row| row["thread_status"] == "running"), "{rows}");
    assert_eq!(state(&world, &thread), "running", "nobody wrote otherwise");
    assert_eq!(world.json(&["thread", "show", &thread]).1["elsewhere"], false);
    let told = there(&["thread", "cancel", &thread]);
    assert_eq!(told["thread_status"], "cancelled", "{told}");
    nothing_runs(&world);
}
