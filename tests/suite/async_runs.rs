//! Runs that go on in a process of their own (remote 1): `rye execute … --async`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sandbox::not_run;
use crate::thread_record::odd_objects;
use crate::threads::{call, hand_over};
use crate::world::items::tool_sh;
use crate::world::wait::{lives, until};
use crate::world::{End, World, whole};

/// A shell tool with this body.
pub fn tool(body: &str) -> String {
    tool_sh("", body)
}

/// A world with a tool that says what it was given once the file `go` is there.
fn world() -> World {
    let world = World::new();
    let body = "cat > given; touch begun; while [ ! -e go ]; do sleep 0.1; done; cat given\n";
    world.signed(".ai/tools/acme/slow.sh", &tool(body));
    world
}

pub fn start(world: &World, args: &[&str]) -> Value {
    world.json(&[&["execute"], args, &["--async"]].concat()).ok()
}

pub fn id_of(told: &Value) -> String {
    told["thread_id"].as_str().unwrap().to_owned()
}

pub fn state(world: &World, id: &str) -> String {
    let told = world.json(&["thread", "show", id]).ok();
    told["thread_status"].as_str().unwrap().to_owned()
}

/// Kills the process and waits until it has ended: a busy machine takes its time for that.
pub fn kill(pid: u64) {
    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.unwrap().success());
    until("it has ended", || !lives(pid));
}

#[test]
fn a_tool_runs_on_in_a_session_of_its_own_and_is_waited_for_by_its_id() {
    let world = world();
    let told = start(&world, &["tool:acme/slow", "-i", "n:=1"]);
    let id = id_of(&told);
    let pid = told["pid"].as_u64().unwrap();
    let want = json!({
        "status": "success", "async": true, "thread_id": id, "type": "tool",
        "item_id": "tool:acme/slow", "execution_mode": "inline", "state": "running", "pid": pid,
    });
    assert_eq!(told, want);
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "a UUID of version 7: {id}");
    // It leads its own session, and has three descriptors of ours at the most.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!((fields[2], fields[3]), (&*pid.to_string(), &*pid.to_string()), "{stat}");
    until("it begins", || world.project().join("begun").exists());
    world.json(&["thread", "wait", &id, "--timeout", "50ms"]).fails(6, "thread.still_runs");
    world.write("go", "");
    let (status, waited) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &waited["status"]), (0, &json!("success")), "{waited}");
    assert_eq!(waited["data"], json!({"n": 1}), "what `rye execute` would have answered");
    assert_eq!(state(&world, &id), "completed");
    until("it ends", || !lives(pid));
    let inline = world.json(&["execute", "tool:acme/slow", "-i", "n:=1"]).1;
    for key in ["status", "type", "item_id", "data", "chain"] {
        assert_eq!(waited[key], inline[key], "{key}");
    }
    let text = world.rye(&["thread", "wait", &id]);
    assert_eq!((text.status, text.stdout.as_str()), (0, "{\n  \"n\": 1\n}\n"), "{text:?}");
}

#[test]
fn a_detached_tool_is_given_and_gives_what_one_that_is_waited_for_does_whatever_its_keys_are() {
    let world = World::new().with(".ai/tools/acme/cat.sh", &tool("cat\n"));
    for object in odd_objects() {
        let input = format!("x:={object}");
        let args = ["execute", "tool:acme/cat", "-i", &input, "--json"];
        // These tests read JSON with the library that has these keys, so the text is looked at.
        let wanted = format!("\"data\":{{\"x\":{object}}}");
        world.rye(&args).ok().shows(&wanted);
        let id = id_of(&world.json(&[&args[..4], &["--async"]].concat()).1);
        let waited = world.rye(&["thread", "wait", &id, "--json"]);
        assert!(waited.status == 0 && waited.stdout.contains(&wanted), "{wanted}: {waited:?}");
    }
}

/// Whoever shows it later, at a terminal or in a pipe, knows none of the values.
#[test]
fn f08_what_a_detached_tool_gives_is_kept_and_shown_without_its_secrets() {
    let world = World::new().env("ACME_KEY", "canary-31c7d0").env("NO_COLOR", "1");
    let body = "printf '{\"key\": \"%s\"}\\n' \"$ACME_KEY\"\n";
    let text = tool(body).replace("# ///\nprintf", "# secrets = [\"ACME_KEY\"]\n# ///\nprintf");
    world.signed(".ai/tools/acme/tells.sh", &text);
    assert_eq!(
        world.json(&["execute", "tool:acme/tells"]).ok()["data"],
        json!({"key": "canary-31c7d0"})
    );
    let id = id_of(&start(&world, &["tool:acme/tells"]));
    let (status, waited) = world.json(&["thread", "wait", &id]);
    assert_eq!((status, &waited["data"]), (0, &json!({"key": "***"})), "{waited}");
    for verb in ["wait", "show", "tail"] {
        let args = ["thread", verb, id.as_str()];
        let in_json = [&args[..], &["--json"]].concat();
        for said in [world.rye(&args), world.rye(&in_json), world.rye_at_a_terminal("", &args)] {
            assert_eq!(said.status, 0, "{verb}: {said:?}");
            assert!(said.stdout.contains("***"), "{verb}: {said:?}");
            assert!(!format!("{said:?}").contains("canary-31c7d0"), "{verb}: {said:?}");
        }
    }
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let kept = "SELECT report FROM run";
    let kept: String = db.query_row(kept, [], |row| row.get(0)).unwrap();
    assert!(kept.contains("***") && !kept.contains("canary-31c7d0"), "{kept}");
}

/// The report is written first, so whatever happens then the receipt can still be written.
#[test]
fn a_receipt_that_was_not_written_behind_the_report_is_told_and_written_by_whoever_asks_next() {
    let world = World::new();
    let out = world.project().join("out");
    for (body, status, code) in [
        ("rm -r out; echo '{\"ran\": true}'\n", 0, Value::Null),
        ("rm -r out; exit 3\n", 1, json!("execute.tool_failed")),
    ] {
        fs::create_dir(&out).unwrap();
        world.signed(".ai/tools/acme/loses.sh", &tool(body));
        let told = start(&world, &["tool:acme/loses", "--receipt", "out/r.json"]);
        let id = id_of(&told);
        for _ in 0..2 {
            let waited = world.json(&["thread", "wait", &id]).fails(6, "receipt.io");
            assert_eq!(waited["metadata"]["receipts"], Value::Null, "{waited}");
        }
        assert_eq!(state(&world, &id), if status == 0 { "completed" } else { "failed" });
        fs::create_dir(&out).unwrap();
        let waited = world.json(&["thread", "wait", &id]);
        assert_eq!((waited.0, &waited.1["code"]), (status, &code), "{}", waited.1);
        world.rye(&["receipt", "verify", "out/r.json"]).ok();
        // It is written once, and not again behind the back of whoever took it away.
        fs::remove_dir_all(&out).unwrap();
        assert_eq!(world.json(&["thread", "wait", &id]), waited);
        assert!(!out.exists());
    }
}

#[test]
fn what_is_refused_is_refused_at_once_and_leaves_nothing() {
    let world = world();
    let path = world.project().join(".ai/tools/acme/slow.sh");
    world.write("go", "");
    world.works("tool:acme/slow");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("touch begun", "touch other")).unwrap();
    world.json(&["execute", "tool:acme/slow", "--async"]).fails(4, "verify.altered");
    world.json(&["execute", "tool:acme/none", "--async"]).fails(3, "resolve.not_found");
    world
        .json(&["execute", "tool:acme/slow", "--async", "--dry-run"])
        .fails(4, "matrix.async_dry_run");
    let (_, told) = world.json(&["thread", "list"]);
    assert_eq!(told["threads"], json!([]));
}

/// What a tool sees is the same, but for the name of the run.
#[test]
fn a_detached_run_has_the_environment_of_an_inline_one() {
    let body = "env | sort; pwd; umask; ulimit -n; ulimit -s; ls /proc/self/fd | wc -l; \
                cat /proc/self/status | grep -E '^(SigBlk|SigIgn|NoNewPrivs)'\n";
    let header = tool("").replace("\n# ///\n", "\n# env = [\"CANARY\"]\n# ///\n");
    let world = World::new().env("CANARY", "a b\tc");
    world.signed(".ai/tools/acme/env.sh", &format!("{header}{body}"));
    let seen = |told: &Value| {
        let text = told["data"]["stdout"].as_str().or(told["data"].as_str()).unwrap().to_owned();
        let lines = text.lines().filter(|line| !line.contains("RUN_ID") && !line.contains("/pin/"));
        let lines = lines.filter(|line| !line.starts_with("TMPDIR=") && !line.contains("run-"));
        // The two signals of the C library itself are ignored or not by how a process was started.
        let own = |line: &str| {
            let bits =
                line.strip_prefix("SigIgn:\t").and_then(|hex| u64::from_str_radix(hex, 16).ok());
            bits.map_or_else(|| line.to_owned(), |bits| format!("{:x}", bits & !(0b11 << 31)))
        };
        lines.map(own).collect::<Vec<_>>()
    };
    let inline = world.json(&["execute", "tool:acme/env"]).ok();
    let id = id_of(&start(&world, &["tool:acme/env"]));
    let detached = world.json(&["thread", "wait", &id]).ok();
    assert_eq!(seen(&inline), seen(&detached));
    assert!(seen(&detached).len() > 5, "{detached}");
}

/// 4 at once and 36 that wait here; the whole is 200 and 2,000.
#[test]
fn runs_beyond_the_places_wait_never_more_run_at_once_and_none_is_lost() {
    let (waiting, places) = if whole() { (2_000, 200) } else { (36, 4) };
    let runs = waiting + places;
    let world = World::new();
    // Each says that it is there, and how many are there with it.
    let body = "mkdir -p in; me=in/$$; : > $me; ls in | wc -l >> counted; \
                while [ ! -e go ]; do sleep 0.2; done; \
                echo x >> ran; rm $me; cat\n";
    world.signed(".ai/tools/acme/count.sh", &tool_sh("config = {timeout = 600}", body));
    world.signed_home(".ai/config/agent/limits.yaml", &format!("max_async: {places}\n"));
    let told: Vec<Value> =
        (0..runs).map(|n| start(&world, &["tool:acme/count", "-i", &format!("n:={n}")])).collect();
    let states: Vec<_> = told.iter().map(|told| told["state"].as_str().unwrap()).collect();
    assert!(states[..places].iter().all(|state| *state == "running"), "so many run at once");
    assert!(states[places..].iter().all(|state| *state == "created"), "the others wait");
    let in_place = || fs::read_dir(world.project().join("in")).map_or(0, Iterator::count);
    until("all places are taken", || in_place() == places);
    world.write("go", "");
    for (n, told) in told.iter().enumerate() {
        assert_eq!(world.json(&["thread", "wait", &id_of(told)]).ok()["data"], json!({"n": n}));
    }
    let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
    let counted = read("counted");
    let counted: Vec<usize> = counted.lines().map(|n| n.trim().parse().unwrap()).collect();
    let most = counted.iter().max().unwrap();
    assert_eq!((counted.len(), *most), (runs, places), "each ran once, and never more at once");
    assert_eq!(read("ran").lines().count(), runs);
    let rows = world.json(&["thread", "list"]).1["threads"].as_array().unwrap().clone();
    assert_eq!(rows.len(), runs);
    assert!(rows.iter().all(|row| row["thread_status"] == "completed"));
    eprintln!("{places} ran at once and {waiting} waited: none lost");
}

#[test]
fn what_waits_starts_in_order_and_a_place_of_whoever_is_killed_is_free() {
    let world = world();
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let first = start(&world, &["tool:acme/slow", "-i", "n:=0"]);
    let waiting: Vec<Value> =
        (1..4).map(|n| start(&world, &["tool:acme/slow", "-i", &format!("n:={n}")])).collect();
    for told in &waiting {
        assert_eq!((&told["state"], &told["pid"]), (&json!("created"), &Value::Null));
    }
    until("it begins", || world.project().join("begun").exists());
    // One that waits is cancelled and never starts.
    assert_eq!(
        world.json(&["thread", "cancel", &id_of(&waiting[1])]).ok()["thread_status"],
        "cancelled"
    );
    kill(first["pid"].as_u64().unwrap());
    until("the next one starts", || state(&world, &id_of(&waiting[0])) == "running");
    assert_eq!(state(&world, &id_of(&first)), "killed");
    assert_eq!(state(&world, &id_of(&waiting[2])), "created");
    world.write("go", "");
    for (at, want) in [(0, 1), (2, 3)] {
        assert_eq!(
            world.json(&["thread", "wait", &id_of(&waiting[at])]).ok()["data"],
            json!({"n": want})
        );
    }
    world.json(&["thread", "wait", &id_of(&waiting[1])]).fails(6, "thread.cancelled");
    world.json(&["thread", "wait", &id_of(&first)]).fails(6, "thread.killed");
}

#[test]
fn the_end_of_a_terminal_and_of_the_caller_ends_none() {
    let world = world();
    // In a session whose leader is killed, so that its processes get SIGHUP.
    let program = crate::world::program();
    let script = format!(
        "{program} execute tool:acme/slow -i n:=1 --async --json > answer; kill -HUP 0; sleep 60"
    );
    let shell = world.command(&[]);
    let env: Vec<_> =
        shell.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
    let ended = std::process::Command::new("setsid")
        .args(["--wait", "sh", "-c", &script])
        .current_dir(world.project())
        .env_clear()
        .envs(env)
        .status()
        .unwrap();
    assert!(ended.signal().is_some() || !ended.success(), "the session was hung up: {ended:?}");
    let told: Value = serde_json::from_slice(&world.read("answer")).unwrap();
    let id = id_of(&told);
    assert_eq!(state(&world, &id), "running");
    world.write("go", "");
    assert_eq!(world.json(&["thread", "wait", &id]).ok()["data"], json!({"n": 1}));
}

#[test]
fn a_terminal_that_closes_ends_neither_a_tool_nor_a_thread_that_runs_detached() {
    let turns = json!([call("acme_slow", &json!({"n": 1})), hand_over()]);
    let may = "<execute><tool>acme.slow</tool></execute>";
    let world = crate::threads::world(&turns, "turns=\"3\"", may);
    let slow = "touch begun; while [ ! -e go ]; do sleep 0.1; done; cat\n";
    world.signed(".ai/tools/acme/slow.sh", &tool(slow));
    for (args, want) in [
        ("tool:acme/slow -i n:=1", json!({"data": {"n": 1}})),
        ("directive:acme/go --thread fork", json!({"outputs": {"n": 7}})),
    ] {
        for name in ["begun", "ready", "go"] {
            let _ = fs::remove_file(world.project().join(name));
        }
        let rye = crate::world::program();
        let status = world.shell_at_a_terminal_that_closes(&format!(
            "{rye} execute {args} --async --json > answer; \
             until [ -e begun ]; do sleep 0.1; done; : > ready; sleep 300; exit 7"
        ));
        assert_eq!(status, -rustix::process::Signal::HUP.as_raw(), "the shell was hung up");
        let told: Value = serde_json::from_slice(&world.read("answer")).unwrap();
        let id = id_of(&told);
        assert_eq!(state(&world, &id), "running", "{args}");
        world.write("go", "");
        let told = world.json(&["thread", "wait", &id]).ok();
        for (key, value) in want.as_object().unwrap() {
            assert_eq!(&told[key], value, "{args}: {told}");
        }
    }
}

#[test]
fn a_run_is_cancelled_and_killed_with_its_tool_and_nothing_of_it_runs_on() {
    for verb in ["cancel", "kill"] {
        let world = World::new();
        let body = "echo $$ > tool_pid; sh -c 'echo $$ > below_pid; exec sleep 300' & \
                    trap '' TERM; while :; do sleep 0.1; date >> ticks; done\n";
        world.signed(".ai/tools/acme/long.sh", &tool(body));
        let told = start(&world, &["tool:acme/long"]);
        let (id, pid) = (id_of(&told), told["pid"].as_u64().unwrap());
        let number = |name: &str| {
            let text = fs::read_to_string(world.project().join(name)).unwrap_or_default();
            text.trim().parse::<u64>().ok()
        };
        until("it begins", || number("tool_pid").is_some() && number("below_pid").is_some());
        let begin = Instant::now();
        let (status, told) = world.json(&["thread", verb, &id]);
        let took = begin.elapsed();
        let want = if verb == "cancel" { "cancelled" } else { "killed" };
        assert_eq!((status, &told["thread_status"]), (0, &json!(want)), "{told}");
        eprintln!("{verb}: {took:?}");
        for pid in [Some(pid), number("tool_pid"), number("below_pid")] {
            until("it is gone", || !lives(pid.unwrap()));
        }
        let ticks = fs::read(world.project().join("ticks")).unwrap_or_default().len();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fs::read(world.project().join("ticks")).unwrap_or_default().len(), ticks);
        let told = world.json(&["thread", verb, &id]).fails(4, "thread.not_running");
        assert_eq!(told["error"], format!("`{id}` is not running: it was {want}"));
    }
}

#[test]
fn a_run_inherits_no_descriptor_of_whoever_asked() {
    let world = World::new();
    let body = "echo >> runs; n=$(wc -l < runs); ls -l /proc/self/fd > seen; touch begun\n\
                while ! test -e go$n; do sleep 0.1; done\n";
    world.signed(".ai/tools/acme/looks.sh", &tool(body));
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let leaked = world.write("leaked-7f3a", "x");
    // One runs at once, and one waits first.
    let script =
        format!("exec 8<{0} 9>>{0}; ls -l /proc/self/fd >&2; exec \"$0\" \"$@\"", leaked.display());
    let ask = || {
        let args = ["execute", "tool:acme/looks", "--async", "--json"];
        let said = world.run_through("sh", &["-c", &script], &args);
        assert!(said.stderr.matches("leaked-7f3a").count() == 2, "rye itself has them: {said:?}");
        assert_eq!(said.status, 0, "{said:?}");
        id_of(&said.json())
    };
    let ids = [ask(), ask()];
    for (id, go) in ids.into_iter().zip(["go1", "go2"]) {
        until("it runs", || {
            state(&world, &id) == "running" && world.project().join("begun").exists()
        });
        let pid = world.json(&["thread", "show", &id]).1["pid"].as_u64().unwrap();
        let own = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(Result::ok);
        let own: Vec<_> = own.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
        assert!(!own.is_empty() && !own.contains(&leaked), "{own:?}");
        let seen = fs::read_to_string(world.project().join("seen")).unwrap();
        assert!(seen.contains(" 0 -> ") && !seen.contains("leaked-7f3a"), "{seen}");
        fs::remove_file(world.project().join("begun")).unwrap();
        world.write(go, "");
        assert_eq!(world.json(&["thread", "wait", &id]).0, 0);
    }
}

/// What runs in a container has numbers of processes that mean nothing outside of it.
#[test]
fn what_ran_in_a_namespace_of_processes_that_is_gone_was_killed_and_holds_no_place() {
    let world = world();
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c"];
    // The first process of a namespace takes all others with it.
    let script =
        "\"$0\" \"$@\"; \"$0\" \"$@\"; touch asked; while ! test -e leave; do sleep 0.1; done";
    let before = [&namespace[..], &[script]].concat();
    if world
        .run_through("unshare", &[&namespace[..], &["exec \"$0\" \"$@\""]].concat(), &["--version"])
        .status
        != 0
    {
        let test = "what_ran_in_a_namespace_of_processes_that_is_gone_was_killed";
        not_run(test, "unshare", "it makes none here");
        return;
    }
    let args = ["execute", "tool:acme/slow", "--async", "--json"];
    let mut command = world.command_through("unshare", &before, &args);
    let mut container = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until("both were asked for", || world.project().join("asked").exists());
    until("one runs", || world.project().join("begun").exists());
    let rows = || world.json(&["thread", "list"]).1["threads"].as_array().unwrap().clone();
    let states = || rows().iter().map(|row| row["thread_status"].clone()).collect::<Vec<_>>();
    for _ in 0..5 {
        let mut all = states();
        all.sort_by_key(ToString::to_string);
        assert_eq!(all, [json!("created"), json!("running")], "it lives: {:?}", rows());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(rows().iter().any(|row| row["elsewhere"] == true), "{:?}", rows());
    world.write("leave", "");
    container.wait().unwrap();
    until("both are known to be gone", || states() == [json!("killed"), json!("killed")]);
    assert_eq!(start(&world, &["tool:acme/slow"])["state"], "running", "the place is free");
    world.write("go", "");
}

#[test]
fn no_run_is_detached_from_inside_of_a_run() {
    let world = World::new().with(".ai/tools/acme/quick.sh", &tool("echo done\n"));
    world.works("tool:acme/quick");
    world
        .rye_env(
            &world.project(),
            &["execute", "tool:acme/quick", "--async", "--json"],
            b"",
            &[("RYE_RUN_ID", "run-x")],
        )
        .fails(4, "async.below_a_run");
}

#[test]
fn behind_a_thousand_runs_that_wait_no_other_one_waits_and_nothing_of_it_is_kept() {
    let world = World::new().with(".ai/tools/acme/quick.sh", &tool("echo done\n"));
    start(&world, &["tool:acme/quick"]);
    let registry = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    // So many that no place is left for another one.
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                INSERT INTO run (id, kind, item, base, state, asked_at, places) \
                SELECT 'waits-' || i, 'tool', 'tool:acme/quick', '/', 'created', 'x', 999 FROM n";
    registry.execute_batch(rows).unwrap();
    let count =
        || -> u64 { registry.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap() };
    assert_eq!(count(), 1_001);
    world.json(&["execute", "tool:acme/quick", "--async"]).fails(4, "async.full");
    assert_eq!(count(), 1_001);
    registry.execute("DELETE FROM run WHERE id = 'waits-1'", []).unwrap();
    let last = start(&world, &["tool:acme/quick"]);
    assert_eq!(last["state"], "created");
    registry.execute("DELETE FROM run WHERE id LIKE 'waits-%'", []).unwrap();
    world.rye(&["thread", "wait", last["thread_id"].as_str().unwrap()]).ok();
}

#[test]
fn no_value_of_the_environment_is_written_down_for_a_run_that_waits() {
    let world = world().env("API_TOKEN", "sk-canary-0123456789abcdef");
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    let first = start(&world, &["tool:acme/slow"]);
    let second = start(&world, &["tool:acme/slow"]);
    assert_eq!(second["state"], "created");
    let holds = |folder: &Path| {
        let canary = b"canary-0123456789";
        walkdir(folder).into_iter().any(|path| {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.windows(canary.len()).any(|window| window == canary)
        })
    };
    assert!(!holds(&world.home()) && !holds(&world.project()));
    world.write("go", "");
    for told in [first, second] {
        assert_eq!(world.json(&["thread", "wait", &id_of(&told)]).0, 0);
    }
    assert!(!holds(&world.home()) && !holds(&world.project()));
}

fn walkdir(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(walkdir(&path)),
            Ok(kind) if kind.is_file() => files.push(path),
            _ => {}
        }
    }
    files
}

#[test]
fn where_rye_cannot_be_started_once_more_that_is_said_and_nothing_is_left() {
    let world = world();
    let without_proc = ["--user", "--map-root-user", "--mount", "sh", "-c"];
    let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    let before = [&without_proc[..], &[script]].concat();
    let run = |args: &[&str]| world.run_through("unshare", &before, args);
    if run(&["--version"]).status != 0 {
        let test = "where_rye_cannot_be_started_once_more_that_is_said";
        not_run(test, "unshare", "it makes none here");
        return;
    }
    let said = run(&["execute", "tool:acme/slow", "--async", "--json"]);
    let told: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.status, &told["code"]), (6, &json!("async.cannot_start")), "{told}");
    assert_eq!(world.json(&["thread", "list"]).1["threads"], json!([]));
    assert!(!world.project().join("given").exists());
    assert_eq!(start(&world, &["tool:acme/slow"])["state"], "running", "elsewhere it starts");
    world.write("go", "");
}
