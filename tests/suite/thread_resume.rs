//! Threads that go on after they stopped: killed at each of their events, ended, raced for.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::async_runs::{id_of, kill, start, state};
use crate::faults::kill_steps;
use crate::faults::tracer::{Fault, trace, trace_killed};
use crate::thread_life::held;
use crate::threads::{
    ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, transcript, world,
};
use crate::world::items::tool_sh;
use crate::world::wait::{lives, until};
use crate::world::{End, World, whole};

/// A thread of three calls, two of them in one turn.
fn counting() -> World {
    let one = |n: u64| json!({"name": "acme_echo", "arguments": {"n": n}});
    let two = json!({"calls": [one(1), one(2)], "usage": {"input": 10, "output": 5}});
    let three = call("acme_echo", &json!({"n": 3}));
    let turns = json!([two, three, hand_over(), hand_over(), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    world.signed(".ai/tools/acme/echo.sh", &tool_sh("", "tee -a calls\necho >> calls\n"));
    world
}

/// How often each of the three calls was carried out.
fn counted(world: &World) -> [usize; 3] {
    let text = fs::read_to_string(world.project().join("calls")).unwrap_or_default();
    [1, 2, 3].map(|n| text.matches(&json!({"n": n}).to_string()).count())
}

fn last(world: &World) -> String {
    rows(world).last().unwrap()["thread_id"].as_str().unwrap().to_owned()
}

fn verified(world: &World, id: &str) -> Value {
    world.json(&["thread", "verify", id]).ok()
}

/// One step in seven here, others each day; the whole is each step.
#[test]
fn killed_before_and_after_each_write_of_its_record_a_thread_goes_on_and_repeats_no_call() {
    let world = counting();
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    assert_eq!(counted(&world), [1, 1, 1]);
    let records = world.project().join(".ai/state/threads");
    let (mut resumed, mut started_over, mut interrupted) = (0, 0, 0);
    let mut steps = kill_steps(7);
    let last = loop {
        let step = steps.next().unwrap();
        let _ = fs::remove_file(world.project().join("calls"));
        let mut command =
            world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
        let traced = trace_killed(&mut command, &records, step);
        let Some(hit) = traced.hit.clone() else {
            assert_eq!(traced.status, Some(0), "{traced:?}");
            break step;
        };
        assert_eq!(traced.status, None, "{hit:?}");
        let row = rows(&world).pop().unwrap();
        let id = row["thread_id"].as_str().unwrap();
        assert_eq!(row["thread_status"], "killed", "{hit:?}: {row}");
        assert_eq!(held(&world), 0, "{hit:?}");
        let before = counted(&world);
        let (status, told) = world.json(&["thread", "verify", id]);
        if status != 0 {
            // Nothing of it was signed yet, so nothing of it was carried out.
            assert_eq!((before, resumed), ([0; 3], started_over), "{hit:?}: {told}");
            started_over += 1;
            let kept = transcript(&world, id).exists();
            assert!(!kept || told["help"].as_str().unwrap().contains("thread resume"), "{told}");
        }
        let (status, told) = world.json(&["thread", "resume", id]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{hit:?}: {told}");
        resumed += 1;
        let after = counted(&world);
        assert!(after.iter().all(|times| *times <= 1), "{hit:?}: {after:?}");
        assert!(before.iter().zip(after).all(|(before, after)| *before <= after));
        let told = verified(&world, id);
        assert_eq!((&told["final"], &told["unproven_bytes"]), (&json!(true), &json!(0)));
        // Whoever was not carried out, or is not known to have been, is told as that.
        let gave = events(&world, id, "tool_call_result");
        let lost = gave.iter().filter(|gave| gave["content"].to_string().contains("interrupted"));
        let lost = lost.count();
        interrupted += lost;
        assert!(after.iter().sum::<usize>() + lost >= 3, "{hit:?}: {after:?}, {lost}");
        let row = rows(&world).pop().unwrap();
        assert_eq!(
            (&row["thread_status"], &row["thread_code"]),
            (&json!("completed"), &Value::Null)
        );
        assert!(row["used"]["turns"].as_u64().unwrap() <= 4, "{row}");
        assert_eq!(held(&world), 0, "{hit:?}");
    };
    assert!(last >= 30 && resumed >= last / 7, "{last} {resumed}");
    assert!(!whole() || (interrupted > 0 && started_over > 0), "{interrupted} {started_over}");
}

/// A project whose thread stays in its first tool, and what its second one does.
fn staying(slow: &str) -> World {
    let turns = json!([call("acme_slow", &json!({})), call("acme_echo", &json!({})), hand_over()]);
    let both = "<execute><tool>acme.echo</tool><tool>acme.slow</tool></execute>";
    let world = world(&turns, "turns=\"9\"", both);
    let tool = tool_sh("", "touch slow\nsleep 300\n");
    world.signed(".ai/tools/acme/slow.sh", &tool);
    let tool = tool_sh("", slow);
    world.signed(".ai/tools/acme/echo.sh", &tool);
    world
}

/// A thread that was killed while its first tool ran.
fn killed(slow: &str) -> (World, String) {
    let world = staying(slow);
    let mut child = world.start(&["execute", "directive:acme/go", "--thread", "fork"]);
    until("it runs", || world.project().join("slow").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let id = last(&world);
    (world, id)
}

#[test]
fn a_thread_in_a_process_of_its_own_goes_on_whether_that_was_killed_or_ended_by_a_verb() {
    for by_verb in [false, true] {
        let world = staying("echo x >> ran\n");
        let told = start(&world, &["directive:acme/go", "--thread", "fork"]);
        let id = id_of(&told);
        until("it runs", || world.project().join("slow").exists());
        match by_verb {
            true => assert_eq!(world.rye(&["thread", "kill", &id]).status, 0),
            false => kill(told["pid"].as_u64().unwrap()),
        }
        until("it is known to be killed", || state(&world, &id) == "killed");
        let (status, told) = world.json(&["thread", "resume", &id]);
        assert_eq!((status, &told["outputs"]), (0, &json!({"n": 7})), "{by_verb}: {told}");
        assert_eq!(fs::read_to_string(world.project().join("ran")).unwrap(), "x\n");
        verified(&world, &id);
    }
}

#[test]
fn a_thread_that_was_taken_for_dead_and_lives_is_not_gone_on_with_beside_itself() {
    let world = staying("echo x >> ran\n");
    let told = start(&world, &["directive:acme/go", "--thread", "fork"]);
    let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
    until("it runs", || world.project().join("slow").exists());
    let stop = std::process::Command::new("kill").args(["-STOP", &pid.to_string()]).status();
    assert!(stop.unwrap().success());
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let dead = "UPDATE run SET state = 'killed', pid = NULL";
    assert_eq!(db.execute(dead, []).unwrap(), 1);
    let record = fs::read(transcript(&world, &id)).unwrap();
    world.json(&["thread", "resume", &id]).fails(6, "thread.still_runs");
    assert_eq!(fs::read(transcript(&world, &id)).unwrap(), record);
    assert_eq!(state(&world, &id), "killed");
    kill(pid);
    until("it is gone", || !lives(pid));
    assert_eq!(world.json(&["thread", "resume", &id]).ok()["outputs"], json!({"n": 7}));
    verified(&world, &id);
}

#[test]
fn h03_of_two_that_resume_a_thread_at_once_one_gets_it() {
    let (world, id) = killed("echo x >> ran\nsleep 2\n");
    let start = || {
        let mut command = world.command(&["thread", "resume", &id, "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let racers = [start(), start(), start()];
    let ended = racers.map(|racer| racer.wait_with_output().unwrap());
    let won = ended.iter().filter(|ended| ended.status.success()).count();
    assert_eq!(won, 1, "{ended:?}");
    for lost in ended.iter().filter(|ended| !ended.status.success()) {
        let told: Value = serde_json::from_slice(&lost.stdout).unwrap();
        // Whoever comes when all is done finds it completed.
        let codes = ["thread.still_runs", "thread.not_resumable"];
        assert!(codes.contains(&told["code"].as_str().unwrap()), "{told}");
    }
    assert_eq!(fs::read_to_string(world.project().join("ran")).unwrap(), "x\n");
    assert_eq!(events(&world, &id, "thread_resumed").len(), 1);
    verified(&world, &id);
}

#[test]
fn what_was_not_proven_when_a_thread_was_killed_is_kept_beside_its_record() {
    let (world, id) = killed("echo {}\n");
    let unproven = verified(&world, &id)["unproven_bytes"].as_u64().unwrap();
    assert!(unproven > 0);
    assert_eq!(world.json(&["thread", "resume", &id]).0, 0);
    let event = &events(&world, &id, "thread_resumed")[0];
    assert_eq!((&event["from"], &event["unproven_bytes"]), (&json!("killed"), &json!(unproven)));
    let blob =
        transcript(&world, &id).with_file_name("blobs").join(event["blob"].as_str().unwrap());
    let kept = fs::read(blob).unwrap();
    assert_eq!(kept.len() as u64, unproven);
    assert!(String::from_utf8(kept).unwrap().contains("tool_call_start"));
    let gave = events(&world, &id, "tool_call_result");
    let told: Value = serde_json::from_str(gave[0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(told["error_kind"], "tool_execution_exception", "{told}");
}

#[test]
fn a_completed_thread_goes_on_with_a_message_and_its_limits_go_on() {
    let world = counting();
    let told = fork(&world, &["--limit", "turns=4"]).ok();
    let id = told["thread_id"].as_str().unwrap();
    world.json(&["thread", "resume", id]).fails(4, "thread.not_resumable");
    assert_eq!(world.json(&["thread", "resume", id, "once more"]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(events(&world, id, "cognition_in")[1]["user"], "once more");
    assert_eq!(verified(&world, id)["final"], true);
    let (status, told) = world.json(&["thread", "resume", id, "and again"]);
    assert_eq!((status, &told["data"]["limit"]), (4, &json!("turns")), "{told}");
    assert_eq!(rows(&world)[0]["used"]["turns"], 4);
    verified(&world, id);
    // Cut to where it was final before, it is not what the registry knows.
    let path = transcript(&world, id);
    let text = fs::read_to_string(&path).unwrap();
    let first = text.split("\"event\":\"thread_resumed\"").next().unwrap();
    let cut = first.rfind('\n').unwrap();
    fs::write(&path, &text[..=cut]).unwrap();
    world.json(&["thread", "verify", id]).fails(4, "thread.record_invalid");
}

#[test]
fn the_record_of_a_thread_names_the_provider_that_was_signed_anew_before_it_went_on() {
    let world = world(&json!([hand_over(), hand_over(), hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let told = fork(&world, &[]).ok();
    let id = told["thread_id"].as_str().unwrap();
    let went_on = |message: &str| {
        world.json(&["thread", "resume", id, message]).ok();
        events(&world, id, "thread_resumed").pop().unwrap()
    };
    assert_eq!(went_on("once more")["provider_sha256"], Value::Null);
    let other = format!("{}\n# other\n", provider(&json!([hand_over(), hand_over(), hand_over()])));
    world.signed_home(".ai/tools/acme/script.yaml", &other);
    let resumed = went_on("and again");
    let named = resumed["provider_sha256"].as_str().unwrap_or_default();
    let began = &events(&world, id, "thread_started")[0]["provider_sha256"];
    assert!(named.len() == 64 && began != named, "{resumed}");
    verified(&world, id);
}

type Breaks = fn(&World, &str);

#[test]
fn a_thread_that_is_not_as_it_began_does_not_go_on_table() {
    let rows: [(&str, Breaks); 5] = [
        ("thread.drifted", |world, _| {
            let both = "<execute><tool>acme.echo</tool><tool>acme.slow</tool></execute>";
            world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"8\"", both));
        }),
        ("thread.record_invalid", |world, id| {
            let path = transcript(world, id);
            let text = fs::read_to_string(&path).unwrap().replacen("Do it.", "Do so.", 1);
            fs::write(path, text).unwrap();
        }),
        ("thread.record_io", |world, id| {
            let path = transcript(world, id);
            fs::rename(&path, path.with_extension("old")).unwrap();
            std::os::unix::fs::symlink(path.with_extension("old"), path).unwrap();
        }),
        ("thread.record_io", |world, id| {
            let path = transcript(world, id);
            fs::remove_file(&path).unwrap();
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success());
        }),
        ("verify.unsigned", |world, _| {
            world.write(".ai/directives/acme/go.md", directive("go", "", ONLY_ECHO));
        }),
    ];
    let ran = |world: &World| world.project().join("ran").exists();
    for (code, breaks) in rows {
        let (world, id) = killed("echo x >> ran\n");
        breaks(&world, &id);
        let (status, told) = world.json(&["thread", "resume", &id]);
        assert!(status != 0 && told["code"] == code, "{code}: {told}");
        assert!(!ran(&world), "{code}");
        assert_eq!(self::rows(&world)[0]["thread_status"], "killed", "{code}");
    }
    let (world, id) = killed("echo x >> ran\n");
    let said = world.rye_below_a_run(&["thread", "resume", &id]);
    assert!(said.status == 4 && said.stderr.contains("thread.outside"), "{said:?}");
    assert_eq!(world.json(&["thread", "resume", &id]).0, 0, "the untouched one goes on");
    assert!(ran(&world));
}

#[test]
fn a_thread_below_another_goes_on_with_that_one_alone() {
    let parent = json!([
        call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"})),
        hand_over(),
    ]);
    let all = "<execute><tool>*</tool><directive>*</directive></execute>";
    let world = world(&parent, "turns=\"9\"", all);
    world.signed_home(".ai/tools/acme/child_script.yaml", &provider(&json!([hand_over()])));
    let text = directive("child", "turns=\"5\"", all).replace("acme/script", "acme/child_script");
    world.signed(".ai/directives/acme/child.md", &text);
    assert_eq!(fork(&world, &[]).0, 0);
    world.json(&["thread", "resume", &last(&world), "again"]).fails(4, "thread.not_resumable");
}

#[test]
fn what_was_not_signed_when_a_thread_was_killed_says_nothing_of_how_it_starts_over() {
    let world = counting();
    assert_eq!(fork(&world, &[]).0, 0, "the fixture works untouched");
    fs::remove_file(world.project().join("calls")).unwrap();
    let records = world.project().join(".ai/state/threads");
    let mut command =
        world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
    // Killed before its first checkpoint, behind what it began with and was told.
    let mut at = 0;
    let id = loop {
        let traced = trace(&mut command, &records, Some((at, Fault::KilledBefore)));
        assert!(traced.hit.is_some(), "{traced:?}");
        let id = last(&world);
        let kept = fs::read_to_string(transcript(&world, &id)).unwrap_or_default();
        if kept.lines().count() == 2 {
            break id;
        }
        at += 1;
        command = world.command(&["execute", "directive:acme/go", "--thread", "fork", "--json"]);
    };
    // Whoever writes there has no say.
    let path = transcript(&world, &id);
    let kept = fs::read_to_string(&path).unwrap();
    let forged = kept.replace("Do it.", "Do that.").replace("\"locked\":false", "\"locked\":true");
    assert_ne!(forged, kept);
    fs::write(&path, &forged).unwrap();
    assert_eq!(world.json(&["thread", "resume", &id]).ok()["outputs"], json!({"n": 7}));
    assert_eq!(counted(&world), [1, 1, 1]);
    let now = fs::read_to_string(&path).unwrap();
    assert!(now.contains("Do it.") && !now.contains("Do that."), "{now}");
    let names: Vec<Value> = now
        .lines()
        .take(2)
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take())
        .collect();
    assert_eq!(names, [json!("thread_started"), json!("thread_resumed")]);
    let event = &events(&world, &id, "thread_resumed")[0];
    assert_eq!(event["unproven_bytes"], json!(forged.len()), "kept beside it: {event}");
    assert_eq!(verified(&world, &id)["blobs"], 1);
}

#[test]
fn a_thread_that_stopped_at_a_limit_goes_on_with_more_and_never_with_more_than_the_most() {
    let world = counting();
    let (_, told) = fork(&world, &["--limit", "turns=1", "--limit", "spend=0.5"]);
    assert_eq!((&told["code"], &told["data"]["max"]), (&json!("thread.limit_exceeded"), &json!(1)));
    let id = last(&world);
    let resume = |more: &[&str]| world.json(&[&["thread", "resume", &id], more].concat());
    // What is not valid changes nothing.
    for (bad, code) in [
        (&["--limit", "turn=9"][..], (4, "thread.bad_limit")),
        (&["--limit", "turns=-1"], (4, "thread.bad_limit")),
        (&["--limit", "turns=3", "--limit", "turns=4"], (2, "cli.usage")),
    ] {
        let (status, told) = resume(bad);
        assert_eq!((status, told["code"].as_str().unwrap()), code, "{told}");
    }
    assert_eq!(rows(&world)[0]["thread_status"], "failed");
    assert_eq!(rows(&world)[0]["limits"]["turns"], 1);
    let (_, told) = resume(&[]);
    assert_eq!(told["data"]["max"], 1, "as before: {told}");
    let most = "version: \"1.0.0\"\ncategory: agent\ndescription: d\nmost: {turns: 2}\n";
    world.signed_home(".ai/config/agent/limits.yaml", most);
    let (_, told) = resume(&["--limit", "turns=50"]);
    assert_eq!(
        (&told["data"]["limit"], &told["data"]["max"]),
        (&json!("turns"), &json!(2)),
        "{told}"
    );
    // It goes for what a thread had before, too.
    let most = most.replace("turns: 2", "spend: 0.000001");
    world.signed_home(".ai/config/agent/limits.yaml", &most);
    let (_, told) = resume(&["--limit", "turns=4"]);
    assert_eq!(
        (&told["data"]["limit"], &told["data"]["max"]),
        (&json!("spend"), &json!(1)),
        "{told}"
    );
    fs::remove_file(world.home().join(".ai/config/agent/limits.yaml")).unwrap();
    let (_, told) = resume(&[]);
    assert_eq!(told["data"]["max"], 1, "what was lowered stays: {told}");
    assert_eq!(
        resume(&["--limit", "turns=4", "--limit", "spend=0.5"]).ok()["outputs"],
        json!({"n": 7})
    );
    assert_eq!(counted(&world), [1, 1, 1], "nothing is carried out twice");
    let row = &rows(&world)[0];
    assert_eq!((&row["limits"]["turns"], &row["used"]["turns"]), (&json!(4), &json!(3)), "{row}");
    assert_eq!(row["limits"]["spend_micros"], 500_000, "what is not named stays");
    let told: Vec<Value> = events(&world, &id, "thread_resumed")
        .iter()
        .map(|event| event["limits"]["turns"].clone())
        .collect();
    let want = json!([null, 2, 4, null, 4]);
    assert_eq!(json!(told), want, "the record says so");
    verified(&world, &id);
}
