//! The sandbox of a thread, as a tool of a program that embeds rye uses it: its streams, and how
//! long it is there.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rye::{
    BackendFault, BackendFaultKind as Kind, FileEncoding, Payload, PayloadResult, Request,
    RyeBuilder, ThreadSession, ThreadTool, ToolCallFault,
};
use serde_json::{Map, Value, json};

use super::{call, prepared};
use crate::sandbox::levels;
use crate::world::World;

const MAY: &str = "<execute><tool>work</tool></execute>";

/// A tool that does what the test says.
struct Work<F>(F);

impl<F> ThreadTool for Work<F>
where
    F: Fn(&ThreadSession<'_>, &str) -> Result<Value, BackendFault> + Send + Sync,
{
    fn name(&self) -> &'static str {
        "work"
    }

    fn description(&self) -> &'static str {
        "Works in the sandbox of the thread."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"part": {"type": "string"}}})
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        let part = args.get("part").and_then(Value::as_str).unwrap_or_default();
        (self.0)(session, part).map_err(|fault| ToolCallFault::new(fault.message))
    }
}

fn part(name: &str) -> Value {
    call("work", &json!({"part": name}))
}

fn sh(cmd: &str) -> Payload {
    Payload::command(cmd, Duration::from_secs(100))
}

fn text(came: PayloadResult) -> String {
    match came {
        PayloadResult::Command { stdout, .. } => String::from_utf8(stdout).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Runs the directive in this process, with that tool and a folder for what is there while it runs.
fn forked(
    world: &World,
    work: impl Fn(&ThreadSession<'_>, &str) -> Result<Value, BackendFault> + Send + Sync + 'static,
) -> Value {
    let runtime = runtime(world);
    DirBuilder::new().recursive(true).mode(0o700).create(&runtime).unwrap();
    let vars = [
        ("HOME".into(), world.home().into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("XDG_RUNTIME_DIR".into(), runtime.into()),
    ];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).thread_tool(Arc::new(Work(work)));
    rye.build().unwrap().run_json(&Request::new("directive:acme/go").fork())
}

fn runtime(world: &World) -> PathBuf {
    world.home().join("runtime")
}

/// How many folders of runs there are.
fn folders(runtime: &Path) -> usize {
    std::fs::read_dir(runtime.join("rye")).map_or(0, Iterator::count)
}

#[test]
fn commands_in_two_streams_run_at_once_in_order_and_a_dropped_one_is_killed_with_what_it_started() {
    if levels("commands_in_two_streams_run_at_once").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    prepared(&world, &[part("")], MAY);
    let said = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&said);
    let told = forked(&world, move |session, _| {
        let came = session.backend().with_streams(|backend| {
            let (one, other) = (backend.stream()?, backend.stream()?);
            // Each waits for the other, so neither ends alone.
            let meets = |mine: &str, theirs: &str| {
                sh(&format!("touch {mine}; until test -e {theirs}; do sleep 0.1; done; echo met"))
            };
            let met = [one.submit(meets("a", "b"))?, other.submit(meets("b", "a"))?];
            let met = met.map(|future| future.wait().map(text));
            one.submit(sh("sleep 0.2; echo 1 >> order"))?;
            one.submit(sh("echo 2 >> order"))?;
            other.wait_event(&one.record_event())?;
            let order = other.submit(sh("echo 3 >> order; cat order"))?.wait().map(text)?;
            // What a command started in the background goes with it.
            let late = one.submit(sh("(sleep 3; echo x > late) & sleep 300"))?;
            let behind = one.submit(sh("echo x > late"))?;
            other.submit(sh("sleep 0.3"))?.wait()?;
            let begin = Instant::now();
            drop(one);
            let ended = [late.wait(), behind.wait()].map(|came| came.unwrap_err().kind);
            let took = begin.elapsed();
            other.submit(sh("sleep 4"))?.wait()?;
            let late = other.submit(Payload::FilesExists { path: "late".into() })?.wait()?;
            hears.lock().unwrap().push((met, order, ended, took, late));
            Ok(json!(true))
        });
        came.and_then(|came| came)
    });
    assert_eq!(told["status"], "success", "{told}");
    let said = std::mem::take(&mut *said.lock().unwrap());
    let [(met, order, ended, took, late)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(met, &[Ok("met\n".to_owned()), Ok("met\n".to_owned())]);
    assert_eq!(order, "1\n2\n3\n");
    assert_eq!(ended, &[Kind::SandboxClosed; 2]);
    assert!(*took < Duration::from_mins(1), "{took:?}");
    assert_eq!(late, &PayloadResult::Exists(false));
    assert_eq!(folders(&runtime(&world)), 0);
}

#[test]
fn whoever_cancels_a_thread_ends_what_runs_in_its_streams() {
    if levels("whoever_cancels_a_thread_ends_what_runs_in_its_streams").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    prepared(&world, &[part("")], MAY);
    let (say, said) = std::sync::mpsc::channel();
    let told = std::thread::scope(|scope| {
        let world = &world;
        let runs = scope.spawn(move || {
            forked(world, move |session, _| {
                let came = session.backend().with_streams(|backend| {
                    let (one, other) = (backend.stream()?, backend.stream()?);
                    let slow = one.submit(sh("sleep 300"))?;
                    other.wait_event(&one.record_event())?;
                    let behind = other.submit(sh("true"))?;
                    say.send(session.thread_id().to_owned()).unwrap();
                    behind.wait().and(slow.wait()).map(|_| json!(true))
                });
                came.and_then(|came| came)
            })
        });
        let id = said.recv_timeout(Duration::from_secs(100)).unwrap();
        // By a process that is not below this one, which runs the thread itself.
        let said = world.project().join("cancelled").display().to_string();
        let (home, rye) = (world.home().display().to_string(), crate::world::program());
        let cancel = format!("env HOME='{home}' {rye} thread cancel '{id}' --json");
        // It waits until its shell is gone, or it would still be below this process.
        let waits = "while [ ! -e go ]; do sleep 0.1; done";
        let line = format!("({waits}; {cancel} > '{said}.part' 2>&1; mv '{said}.part' '{said}') &");
        let mut shell = std::process::Command::new("/bin/sh");
        assert!(shell.args(["-c", &line]).current_dir(world.project()).status().unwrap().success());
        world.write("go", "");
        crate::world::wait::until("it is cancelled", || Path::new(&said).exists());
        let told: Value = serde_json::from_slice(&std::fs::read(said).unwrap()).unwrap();
        assert_eq!(told["status"], "success", "{told}");
        runs.join().unwrap()
    });
    assert_eq!(told["code"], "thread.cancelled", "{told}");
    assert_eq!(folders(&runtime(&world)), 0);
}

#[test]
fn a_sandbox_is_opened_by_the_first_payload_and_closed_however_the_thread_ends_table() {
    if levels("a_sandbox_is_opened_by_the_first_payload").is_empty() {
        return;
    }
    let rows: [(&[&str], &str); 4] = [
        (&["none", "makes", "finds"], "success"),
        (&["makes", "panics", "finds"], "success"),
        // More turns than are allowed.
        (&["makes"; 61], "thread.limit_exceeded"),
        (&["makes", "gone"], "provider.script_ended"),
    ];
    for (parts, want) in rows {
        let world = World::new_on_disk();
        let turns: Vec<Value> = parts.iter().map(|name| part(name)).collect();
        prepared(&world, &turns, MAY);
        if want == "provider.script_ended" {
            world.signed_home(".ai/tools/acme/script.yaml", &super::provider(&turns));
        }
        let (folder, most) = (runtime(&world), Arc::new(Mutex::new(Vec::new())));
        let counts = Arc::clone(&most);
        let told = forked(&world, move |session, part| {
            let before = folders(&folder);
            let backend = session.backend();
            let came = match part {
                "none" => Ok(json!(true)),
                "panics" => std::panic::resume_unwind(Box::new("a bug of the tool")),
                "finds" => match backend.dispatch(Payload::FilesExists { path: "a".into() })? {
                    PayloadResult::Exists(true) => Ok(json!(true)),
                    other => panic!("another workspace: {other:?}"),
                },
                _ => backend
                    .dispatch(Payload::FilesWrite {
                        path: "a".into(),
                        data: b"x\xff".into(),
                        mode: 0o600,
                    })
                    .map(|_| json!(true)),
            };
            counts.lock().unwrap().push((part.to_owned(), before, folders(&folder)));
            came
        });
        let got = told["code"].as_str().or(told["status"].as_str());
        assert_eq!(got, Some(want), "{told}");
        let counts = most.lock().unwrap();
        let first = counts.iter().position(|(part, ..)| part == "makes").unwrap();
        assert!(counts[..first].iter().all(|(_, _, after)| *after == 0), "{counts:?}");
        let open = counts[first].2;
        assert!(counts[first].1 == 0 && open > 0, "{counts:?}");
        assert!(counts[first + 1..].iter().all(|(_, _, after)| *after == open), "{counts:?}");
        assert_eq!(folders(&runtime(&world)), 0, "{want}");
    }
}

#[test]
fn each_payload_gives_what_it_promises_or_a_fault_of_its_kind_table() {
    if levels("each_payload_gives_what_it_promises").is_empty() {
        return;
    }
    let world = World::new_on_disk();
    prepared(&world, &[part("")], MAY);
    let write = |path: &str, data: &[u8]| Payload::FilesWrite {
        path: path.into(),
        data: data.into(),
        mode: 0o640,
    };
    let read = |path: &str, encoding| Payload::FilesRead { path: path.into(), encoding };
    let exists = |path: &str| Payload::FilesExists { path: path.into() };
    let (bytes, utf8) = (FileEncoding::Bytes, FileEncoding::Utf8);
    let code = Payload::CodeRun {
        code: "1".into(),
        language: "cobol".into(),
        timeout: Duration::from_secs(9),
    };
    let with = Payload::CommandRun {
        cmd: "echo $A $(basename $PWD); cat; stat -c %a bin; exit 3".into(),
        env: [("A".to_owned(), "b".to_owned())].into(),
        cwd: Some("sub".into()),
        stdin: b"in\n".to_vec(),
        timeout: Duration::from_secs(99),
    };
    let rows = vec![
        (write("sub/text", "é".as_bytes()), Ok(PayloadResult::Written(2))),
        (write("sub/bin", b"\xff\0"), Ok(PayloadResult::Written(2))),
        (read("sub/text", utf8), Ok(PayloadResult::Text("é".into()))),
        (read("sub/text", bytes), Ok(PayloadResult::Bytes("é".into()))),
        (read("sub/bin", bytes), Ok(PayloadResult::Bytes(b"\xff\0".into()))),
        (read("sub/bin", utf8), Err(Kind::OsError)),
        (exists("sub/text"), Ok(PayloadResult::Exists(true))),
        (exists("sub"), Ok(PayloadResult::Exists(true))),
        (exists("."), Ok(PayloadResult::Exists(true))),
        (exists("sub/none"), Ok(PayloadResult::Exists(false))),
        (exists("../x"), Err(Kind::PermissionDenied)),
        (read("none", utf8), Err(Kind::FileNotFound)),
        (read("sub", bytes), Err(Kind::OsError)),
        (read("/etc/hostname", bytes), Err(Kind::PermissionDenied)),
        (Payload::FilesList { path: "none".into() }, Err(Kind::FileNotFound)),
        (Payload::command("sleep 300", Duration::from_millis(300)), Err(Kind::Timeout)),
        (code, Err(Kind::UnsupportedPayload)),
    ];
    let seen = Arc::new(Mutex::new(false));
    let done = Arc::clone(&seen);
    let told = forked(&world, move |session, _| {
        for (payload, want) in &rows {
            let came = session.backend().dispatch(payload.clone());
            assert_eq!(&came.map_err(|fault| fault.kind), want, "{payload:?}");
        }
        match session.backend().dispatch(with.clone())? {
            PayloadResult::Command { exit_code, stdout, stdout_total, stderr, .. } => {
                let stdout = String::from_utf8(stdout).unwrap();
                assert_eq!((exit_code, stdout.as_str(), stdout_total), (3, "b sub\nin\n640\n", 13));
                assert!(stderr.is_empty());
            }
            other => panic!("{other:?}"),
        }
        *done.lock().unwrap() = true;
        Ok(json!(true))
    });
    assert!(*seen.lock().unwrap(), "{told}");
}
