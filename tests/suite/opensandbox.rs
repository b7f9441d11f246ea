//! Threads whose sandboxes are on a server of OpenSandbox: the same results as on this machine, and
//! whatever that server does costs a call and not the thread.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rye::{
    BackendFault, BackendFaultKind as Kind, FileEncoding, Payload, PayloadResult, Request,
    RyeBuilder, SandboxBackend, ThreadSession, ThreadTool, ToolCallFault,
};
use serde_json::{Map, Value, json};

use crate::sandbox::levels;
use crate::thread_table::{call, forked, prepared, results};
use crate::threads::{events, rows, transcript};
use crate::world::boxes::{Boxes, KEY, config};
use crate::world::server::{Reply, answer};
use crate::world::{End, World};

const CONFIG: &str = ".ai/config/agent/sandbox.yaml";
const PATIENCE: Duration = Duration::from_mins(1);
const MAY: &str = "<execute><tool>work</tool></execute>";
const MAY_ALL: &str = "<execute><tool>rye.workspace.*</tool></execute>";

/// A tool that does what the test says with the sandbox.
struct Work<F>(F);

impl<F: Fn(&dyn SandboxBackend) + Send + Sync> ThreadTool for Work<F> {
    fn name(&self) -> &'static str {
        "work"
    }

    fn description(&self) -> &'static str {
        "Works in the sandbox of the thread."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object"})
    }

    fn call(
        &self,
        session: &ThreadSession<'_>,
        _args: Map<String, Value>,
    ) -> Result<Value, ToolCallFault> {
        (self.0)(session.backend());
        Ok(json!(true))
    }
}

/// A thread in this process that works once in its sandbox; gives what it handed over.
fn works(world: &World, work: impl Fn(&dyn SandboxBackend) + Send + Sync + 'static) -> Value {
    prepared(world, &[call("work", &json!({}))], MAY);
    let vars = [
        ("HOME".into(), world.home().into()),
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("BOX_KEY".into(), KEY.into()),
    ];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).thread_tool(Arc::new(Work(work)));
    rye.build().unwrap().run_json(&Request::new("directive:acme/go").fork())
}

/// A world whose threads have their sandboxes there.
fn boxed(url: &str) -> World {
    let world = World::new_on_disk().env("BOX_KEY", KEY);
    world.signed_home(CONFIG, &config(url));
    world.json(&["trust", "allow-backend", url, "--yes"]).ok();
    world
}

fn sh(cmd: &str) -> Payload {
    Payload::command(cmd, PATIENCE)
}

fn write(path: &str, data: &[u8], mode: u32) -> Payload {
    Payload::FilesWrite { path: path.into(), data: data.into(), mode }
}

fn read(path: &str, encoding: FileEncoding) -> Payload {
    Payload::FilesRead { path: path.into(), encoding }
}

fn list(path: &str) -> Payload {
    Payload::FilesList { path: path.into() }
}

fn exists(path: &str) -> Payload {
    Payload::FilesExists { path: path.into() }
}

fn code(language: &str, code: &str) -> Payload {
    let (code, language) = (code.into(), language.into());
    Payload::CodeRun { code, language, timeout: PATIENCE }
}

/// One result of the battery, without what differs between two runs of one command.
fn shown(came: &Result<PayloadResult, BackendFault>) -> String {
    match came {
        Ok(PayloadResult::Command {
            exit_code,
            stdout,
            stderr,
            stdout_total,
            stderr_total,
            ..
        }) => {
            let text = |bytes: &[u8]| match bytes.len() {
                0..200 => bytes.escape_ascii().to_string(),
                length => {
                    format!("{length} bytes ending in {}", bytes[length - 9..].escape_ascii())
                }
            };
            let (out, err) = (text(stdout), text(stderr));
            format!("{exit_code} `{out}` of {stdout_total}, `{err}` of {stderr_total}")
        }
        Ok(other) => format!("{other:?}"),
        Err(BackendFault { kind, message, signal, .. }) => format!("{kind:?} {message} {signal:?}"),
    }
}

/// The payloads of the battery, in order.
fn battery() -> Vec<Payload> {
    let (bytes, utf8) = (FileEncoding::Bytes, FileEncoding::Utf8);
    let with = |cmd: &str, cwd: Option<&str>, stdin: &[u8]| Payload::CommandRun {
        cmd: cmd.into(),
        env: [("A".to_owned(), "it's \"b\"\n$(c)".to_owned())].into(),
        cwd: cwd.map(str::to_owned),
        stdin: stdin.into(),
        timeout: PATIENCE,
    };
    vec![
        list("."),
        write("sub/text", "é\n".as_bytes(), 0o640),
        write("sub/bin", b"\xff\0\r\n\n", 0o755),
        write("sub/empty", b"", 0o600),
        write("a $HOME '\"*~/-n", b"odd name", 0o644),
        read("sub/text", utf8),
        read("./sub//text", bytes),
        read("sub/bin", bytes),
        read("sub/bin", utf8),
        read("sub/empty", bytes),
        read("a $HOME '\"*~/-n", utf8),
        exists("sub/text"),
        exists("sub"),
        exists("."),
        exists("sub/none"),
        exists("none/none"),
        exists("sub/text/x"),
        exists("../x"),
        exists("/etc/hostname"),
        read("none", utf8),
        read("sub", bytes),
        read(".", bytes),
        read("sub/text/x", bytes),
        read("/etc/hostname", bytes),
        read("sub/../../x", bytes),
        write(".", b"", 0o644),
        write("sub", b"", 0o644),
        write("sub/text/x", b"", 0o644),
        write("../x", b"", 0o644),
        write("sub/text", b"longer than it was before", 0o640),
        read("sub/text", utf8),
        list("none"),
        list("sub/text"),
        list("sub"),
        sh("stat -c '%a %n' sub/text sub/bin sub/empty"),
        // What a command leaves: links, a name that is no text, a hidden one, and no regular file.
        sh("ln -s sub/text link; ln -s sub up; ln -s /etc out; mkfifo fifo; mkdir -p .h; \
            touch \"$(printf 'n\\377')\" '..x' '*'"),
        list("."),
        read("link", bytes),
        read("up/text", bytes),
        read("out/hostname", bytes),
        read("fifo", bytes),
        exists("link"),
        exists("up/text"),
        list("up"),
        write("up/new", b"", 0o644),
        write("link", b"no link now", 0o644),
        sh("cat link sub/text; test -L link; echo $?"),
        with("echo \"$A\"; basename \"$PWD\"; cat; echo err >&2; exit 3", Some("sub"), b"in\0\xff"),
        with("test \"$HOME\" = \"$PWD\" && echo \"$LANG\"; wc -c", None, b""),
        with("true", Some("none"), b""),
        with("true", Some("link"), b""),
        with("true", Some("up"), b""),
        with("true", Some("../"), b""),
        sh("printf 'a\\r\\nb\\n\\n\\n'; printf '\\377\\n' >&2; printf 'no end'"),
        sh("head -c 3000000 /dev/zero | tr '\\0' x"),
        sh("kill -TERM $$"),
        sh("exit 77"),
        sh("no-such-command 2>/dev/null"),
        sh("echo rye end 0 0 0; echo rye none; exit 5"),
        // What it started goes with it.
        sh("(sleep 0.3; echo late >> late) > /dev/null 2>&1 & echo gone"),
        Payload::command("sleep 300", Duration::from_millis(300)),
        sh("sleep 0.5"),
        exists("late"),
        code("sh", "echo from sh; exit 4\n"),
        code("python", "import sys\nprint(6 * 7)\nsys.exit(9)\n"),
        code("cobol", "STOP RUN."),
        sh("echo 123456789 > big; for i in $(seq 20); do cat big big > b; mv b big; done"),
        read("big", bytes),
        sh("rm big; ls -A | wc -l"),
    ]
}

/// The results of the battery of payloads in the sandbox of a thread.
fn results_of_battery(world: &World) -> Vec<String> {
    let came = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&came);
    let told = works(world, move |backend| {
        let all = battery().into_iter();
        *theirs.lock().unwrap() = all.map(|it| shown(&backend.dispatch(it))).collect();
        assert_eq!(backend.capabilities().len(), 4);
    });
    assert_eq!(told["status"], "success", "{told}");
    std::mem::take(&mut *came.lock().unwrap())
}

#[test]
fn each_payload_gives_on_a_server_what_it_gives_on_this_machine() {
    if levels("each_payload_gives_on_a_server").is_empty() {
        return;
    }
    // Real daemons take the better shell of an image.
    let all = ["sh", "bash"].map(Boxes::of_shell);
    let mut urls: Vec<String> = all.iter().map(Boxes::url).collect();
    // A real one, whose key is that of the others.
    urls.extend(std::env::var("RYE_TEST_OPENSANDBOX"));
    let worlds = [World::new_on_disk()].into_iter().chain(urls.iter().map(|url| boxed(url)));
    let worlds: Vec<World> = worlds.collect();
    let came: Vec<Vec<String>> = std::thread::scope(|scope| {
        let runs = worlds.iter().map(|world| scope.spawn(|| results_of_battery(world)));
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let (here, payloads) = (&came[0], battery());
    for there in &came {
        assert_eq!(there.len(), payloads.len());
        for ((payload, here), there) in payloads.iter().zip(here).zip(there) {
            assert_eq!(there, here, "{payload:?}");
        }
    }
    // And not because both give nothing.
    for want in ["9 `42\\n` of 3", "4 `from sh\\n`", "1048576 bytes", "3000000", "n\\\\xff"] {
        assert!(here.iter().any(|came| came.contains(want)), "{want}: {here:#?}");
    }
    for boxes in &all {
        assert_eq!(boxes.made_and_ended(), (1, 0, vec!["box-0".to_owned()]));
    }
}

/// A row of faults: what is bent and how, the payload that meets it, and what is told of it.
type Row = (&'static str, Arc<dyn Fn() -> Reply + Send + Sync>, Payload, Kind, &'static str);

fn stream(body: &'static str) -> Reply {
    answer(200, "Content-Type: text/event-stream\r\n", body)
}

/// Faults of the server while it makes a sandbox, and of the sandbox once there is one.
fn faults() -> [Vec<Row>; 2] {
    fn row(
        at: &'static str,
        reply: impl Fn() -> Reply + Send + Sync + 'static,
        payload: Payload,
        kind: Kind,
        told: &'static str,
    ) -> Row {
        (at, Arc::new(reply), payload, kind, told)
    }
    let create = |reply: fn() -> Reply, told| {
        row("POST /v1/sandboxes", reply, list("."), Kind::OsError, told)
    };
    let run = |reply: fn() -> Reply, told| row("/command", reply, sh("true"), Kind::OsError, told);
    let short = Payload::command("true", Duration::from_millis(300));
    let first = vec![
        create(
            || answer(401, "", format!("{{\"code\": \"x\", \"message\": \"bad key {KEY}\"}}")),
            "does not let the key in `BOX_KEY` in: status 401, `bad key ***`",
        ),
        create(|| answer(404, "", "404 page not found"), "status 404, `404 page not found`"),
        create(|| answer(429, "", "{\"detail\": \"slowly\"}"), "status 429, `slowly`"),
        create(|| answer(500, "", ""), "does not do what it was asked: status 500"),
        create(
            || answer(503, "Retry-After: 7\r\n", ""),
            "status 503; it may be asked again in 7 s",
        ),
        create(|| answer(202, "", "{\"id\": \"x\""), "gave an answer that is not JSON"),
        create(|| answer(202, "", vec![b' '; 300 << 10]), "gave too large an answer"),
        create(
            || answer(302, "Location: http://127.0.0.1:9/\r\n", ""),
            "leads to another address, which is not followed",
        ),
        create(|| answer(202, "", "{\"id\": \"../x\"}"), "made a sandbox without an id"),
        row(
            "/endpoints/",
            || answer(200, "", "{\"endpoint\": \"10.0.0.7:44772\"}"),
            list("."),
            Kind::OsError,
            "leads to a sandbox by `10.0.0.7:44772`, which is not its own address",
        ),
    ];
    let then = vec![
        row(
            "/command",
            || Reply::Hold(Vec::new()),
            short,
            Kind::Timeout,
            "the command took longer",
        ),
        run(|| Reply::Bytes(Vec::new()), "closed the connection"),
        run(
            || {
                let head =
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99";
                Reply::Bytes(format!("{head}\r\n\r\n{{\"type\": \"init\"").into_bytes())
            },
            "closed the connection",
        ),
        run(
            || stream("{\"type\": \"init\", \"text\": \"a\"}\n\n{nonsense\n\n"),
            "an event is not JSON",
        ),
        run(|| answer(200, "Content-Type: text/html\r\n", "<p>"), "is not a stream of events"),
        run(
            || stream("data: {\"type\": \"execution_complete\"}\n\n"),
            "it does not say how it ended",
        ),
        run(
            || stream("{\"type\": \"stdout\", \"text\": \"rye end 0\"}\n\n"),
            "a result that makes no sense",
        ),
        run(
            || stream("{\"type\": \"error\", \"error\": {\"evalue\": \"fork failed\"}}\n\n"),
            "it says `fork failed`",
        ),
        row(
            "/files/download",
            || answer(200, "", "par"),
            sh("echo partly"),
            Kind::OsError,
            "gave 3 bytes of a file in place of 7",
        ),
        row(
            "/files/upload",
            || answer(200, "", ""),
            write("kept", b"before", 0o644),
            Kind::OsError,
            "`kept` cannot be written",
        ),
    ];
    [first, then]
}

#[test]
fn whatever_a_server_does_costs_the_call_and_not_the_thread_table() {
    let boxes = Arc::new(Boxes::new());
    let world = boxed(&boxes.url());
    let server = Arc::clone(&boxes);
    let done = Arc::new(Mutex::new(0));
    let counts = Arc::clone(&done);
    let told = works(&world, move |backend| {
        let [first, then] = faults();
        let fails = |(at, reply, payload, kind, told): Row| {
            server.bend(Some((at, reply)));
            let fault = backend.dispatch(payload).unwrap_err();
            server.bend(None);
            assert_eq!((fault.kind, fault.signal), (kind, None), "{told}: {fault:?}");
            assert!(fault.message.contains(told), "{told}: {fault:?}");
            assert!(!fault.message.contains(KEY), "{fault:?}");
            *counts.lock().unwrap() += 1;
        };
        first.into_iter().for_each(fails);
        backend.dispatch(write("x", b"1", 0o644)).unwrap();
        then.into_iter().for_each(fails);
        assert_eq!(backend.dispatch(exists("x")), Ok(PayloadResult::Exists(true)));
        // It dies with what runs in it, and the next one is empty.
        let died = std::thread::scope(|scope| {
            let slow = scope.spawn(|| backend.dispatch(sh("sleep 300")));
            server.wait_for_command("sleep 300");
            server.die();
            slow.join().unwrap()
        });
        let died = died.unwrap_err();
        assert_eq!(died.kind, Kind::SandboxClosed, "{died:?}");
        assert!(died.message.contains("Failed, runtime_error"), "{died:?}");
        assert_eq!(backend.dispatch(exists("x")), Ok(PayloadResult::Exists(false)));
        *counts.lock().unwrap() += 1;
    });
    assert_eq!((&told["status"], *done.lock().unwrap()), (&json!("success"), 21), "{told}");
    let (_, left, ended) = boxes.made_and_ended();
    assert_eq!((left, ended), (0, ["box-0", "box-1", "box-2"].map(str::to_owned).to_vec()));
}

#[test]
fn the_tools_of_a_thread_work_in_the_sandbox_and_no_text_shows_its_key() {
    let boxes = Boxes::new();
    let world = boxed(&boxes.url()).env("STRAY", "stray-canary-77aa01");
    let turns = [
        call("write_workspace_file", &json!({"path": "a/b.txt", "content": "one\ntwo\n"})),
        call(
            "run_shell_command",
            &json!({"cmd": "wc -l < a/b.txt; env > e; ls; echo no >&2; exit 3"}),
        ),
        call("list_workspace", &json!({"path": "a"})),
        call("read_workspace_file", &json!({"path": "a/b.txt"})),
        call("read_workspace_file", &json!({"path": "e"})),
        call("read_workspace_file", &json!({"path": "none"})),
    ];
    prepared(&world, &turns, MAY_ALL);
    let id = forked(&world);
    let gave = results(&world, &id);
    assert_eq!(gave[0], json!({"bytes_written": 8}));
    assert_eq!(
        (&gave[1]["exit_code"], &gave[1]["stdout"], &gave[1]["stderr"]),
        (&json!(3), &json!("2\na\ne\n"), &json!("no\n"))
    );
    let entry = json!({"name": "b.txt", "path": "a/b.txt", "is_dir": false});
    assert_eq!(gave[2], json!({"entries": [entry]}));
    assert_eq!(gave[3], json!({"content": "one\ntwo\n"}));
    assert_eq!(gave[5]["detail"], json!({"kind": "file_not_found"}), "{}", gave[5]);
    let began = &events(&world, &id, "thread_started")[0];
    assert_eq!(began["sandbox_server"], json!(boxes.url()));
    let env = gave[4]["content"].as_str().unwrap();
    assert!(env.contains("RYE_THREAD="), "a rye there is below the thread: {env}");
    assert_eq!(boxes.made_and_ended(), (1, 0, vec!["box-0".to_owned()]));
    // A server that shows its key to the sandbox, and everything that tells of that.
    let leak = move || {
        let line = format!("{{\"type\": \"error\", \"error\": {{\"evalue\": \"{KEY}\"}}}}\n\n");
        answer(200, "Content-Type: text/event-stream\r\n", line)
    };
    boxes.bend(Some(("/command", Arc::new(leak))));
    let args = ["execute", "directive:acme/go", "--thread", "fork", "--trace", "-vvv"];
    let mut all = format!("{:?}", world.rye(&args));
    for row in rows(&world) {
        let id = row["thread_id"].as_str().unwrap();
        all += &std::fs::read_to_string(transcript(&world, id)).unwrap();
    }
    assert!(all.contains("***"), "{all}");
    for canary in [KEY, "stray-canary-77aa01", "box-token-canary"] {
        assert!(!all.contains(canary), "{canary}: {all}");
        assert!(
            !boxes
                .seen()
                .iter()
                .any(|seen| { String::from_utf8_lossy(&seen.body).contains(canary) })
        );
    }
}

#[test]
fn only_a_server_that_the_operator_allowed_is_used_and_a_project_chooses_none() {
    let boxes = Boxes::new();
    let world = World::new();
    prepared(&world, &[call("list_workspace", &json!({}))], MAY_ALL);
    let go = ["execute", "directive:acme/go", "--thread", "fork"];
    world.signed_home(CONFIG, &boxes.config());
    let told = world.json(&go).fails(4, "thread.backend_not_allowed");
    let help = told["help"].as_str().unwrap();
    assert!(help.contains(&format!("rye trust allow-backend {}", boxes.url())), "{help}");
    for bad in ["http://box.example:8080", "box.example", "https://u:p@box.example"] {
        world.json(&["trust", "allow-backend", bad, "--yes"]).fails(4, "trust.unfit");
    }
    // With and without what the address of every server ends in.
    let url = format!("{}/v1/", boxes.url());
    let told = world.json(&["trust", "allow-backend", &url, "--yes"]).ok();
    assert_eq!(told["url"], json!(boxes.url()));
    let told = world.json(&["trust", "list"]).ok();
    let row = &told["allowed"][0];
    assert_eq!((&row["what"], &row["path"]), (&json!("sandboxes"), &json!(boxes.url())));
    let told = world.json(&go).fails(7, "provider.missing_credential");
    assert!(told["help"].as_str().unwrap().contains("export BOX_KEY="), "{told}");
    let world = world.env("BOX_KEY", KEY);
    assert_eq!(world.json(&go).0, 0);
    assert_eq!(boxes.made_and_ended().0, 1);
    // A project may have its sandboxes here, and no server.
    world.signed(CONFIG, &boxes.config());
    let told = world.json(&go).fails(4, "thread.bad_config");
    assert_eq!(told["data"]["field"], "backend", "{told}");
    world.signed(CONFIG, "backend: local\n");
    world.json(&["trust", "disallow", &boxes.url(), "--yes"]).ok();
    let here = world.json(&go);
    assert_eq!((here.0, boxes.made_and_ended().0), (0, 1), "{here:?}");
    std::fs::remove_file(world.project().join(CONFIG)).unwrap();
    world.json(&go).fails(4, "thread.backend_not_allowed");
    let good = boxes.config();
    for (from, to, field) in [
        ("backend: opensandbox", "backend: moon", "backend"),
        ("backend: opensandbox\n", "", "backend"),
        ("\nopensandbox:", "\nopensandbx:", "opensandbx"),
        ("python:3.12", "", "opensandbox/image"),
        ("3600", "59", "opensandbox/timeout"),
        ("BOX_KEY", "RYE_KEY", "opensandbox/api_key_env"),
        ("http://127.0.0.1", "http://10.0.0.7", "opensandbox/url"),
        ("timeout", "timeuot", "opensandbox/timeuot"),
    ] {
        world.signed_home(CONFIG, &good.replace(from, to));
        let told = world.json(&go).fails(4, "thread.bad_config");
        assert_eq!(told["data"]["field"], field, "{told}");
    }
}

#[test]
fn a_thread_that_is_cancelled_ends_its_command_and_its_sandbox() {
    let boxes = Boxes::new();
    let world = boxed(&boxes.url());
    let cmd = "echo $$ > pid; sleep 300 & sleep 300";
    prepared(&world, &[call("run_shell_command", &json!({"cmd": cmd}))], MAY_ALL);
    let mut child = world.start(&["execute", "directive:acme/go", "--thread", "fork"]);
    boxes.wait_for_command(cmd);
    let id = rows(&world)[0]["thread_id"].as_str().unwrap().to_owned();
    let told = world.json(&["thread", "cancel", &id]).ok();
    assert_eq!(told["thread_status"], "cancelled", "{told}");
    assert_eq!(child.wait().unwrap().code(), Some(6));
    let asked = boxes.seen();
    let ended = |seen: &&crate::world::server::Seen| {
        seen.method == "DELETE" && seen.target.contains("/command?id=cmd-")
    };
    assert_eq!(asked.iter().filter(ended).count(), 1);
    assert_eq!(boxes.made_and_ended(), (1, 0, vec!["box-0".to_owned()]));
}
