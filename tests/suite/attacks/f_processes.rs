//! Rows f01 to f09 of the battery: what a tool can do as a process, from outside through the door.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::items::native;
use crate::world::{World, held, whole};

/// A tool that is this shell script.
fn tool(world: &World, name: &str, script: &str) {
    write_tool(world, name, script, "");
}

fn write_tool(world: &World, name: &str, script: &str, more: &str) {
    let script = serde_json::to_string(script).unwrap();
    let text = native(&format!(
        "{more}\
         config: {{command: /bin/sh, args: [-c, {script}], timeout_ms: 600000}}\n"
    ));
    world.signed(&format!(".ai/tools/{name}.yaml"), &text);
}

/// Whether a process of that number runs; it may take a moment to be gone.
fn runs(pid: &str) -> bool {
    assert!(pid.parse::<u32>().is_ok(), "no process id: {pid:?}");
    for _ in 0..200 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    true
}

/// One line without an end and errors here; the whole has lines and bytes that are no text, too.
#[test]
fn f01_a_flood_is_capped_and_memory_bounded() {
    let world = World::new();
    let rows = [
        ("lines", "yes | head -c 18000000", "y\ny\n"),
        ("line", "head -c 1200M /dev/zero", "\0\0\0"),
        ("binary", "head -c 18000000 /dev/zero | tr '\\0' '\\377'", "\u{fffd}\u{fffd}"),
        ("errors", "head -c 18000000 /dev/zero >&2", ""),
    ];
    for (name, script, start) in rows {
        if matches!(name, "lines" | "binary") && !whole() {
            continue;
        }
        tool(&world, name, &format!("{script}; echo ended >&2"));
        // Addresses, in KiB; without a bound the second row alone would ask for more.
        let args = ["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""];
        let said = world.run_through("bash", &args, &["execute", name, "--json"]);
        let json = said.json();
        assert_eq!((said.status, &json["metadata"]["truncated"]), (0, &true.into()), "{name}");
        let stdout = json["data"]["stdout"].as_str().unwrap();
        assert!(stdout.starts_with(start), "{name}");
        let kept = if start.is_empty() { 0 } else { 16 << 20 };
        assert_eq!(stdout.chars().count(), kept, "{name}");
        let stderr = json["data"]["stderr"].as_str().unwrap();
        let want = if name == "errors" { 16 << 20 } else { "ended\n".len() };
        assert_eq!(stderr.len(), want, "{name}");
    }
}

/// 2 MiB each way here; the whole is 15.
#[test]
fn f02_input_and_output_flow_at_once_and_a_child_that_does_not_read_is_no_deadlock() {
    let world = World::new();
    let value = "x".repeat(if whole() { 15 << 20 } else { 2 << 20 });
    let params = world.write("params.json", format!("{{\"value\":\"{value}\"}}"));
    let rows = [
        ("both", "tee /dev/stderr", 0, value.len()),
        ("never", "sleep 0.3; exit 3", 1, 0),
        ("early", "exec <&-; sleep 0.3; echo '{}'", 0, 0),
        ("some", "head -c 10 >/dev/null; echo '{}'", 0, 0),
    ];
    for (name, script, status, length) in rows {
        tool(&world, name, script);
        let file = params.display().to_string();
        let said = world.rye(&["execute", name, "--params-file", &file, "--json"]);
        let json = said.json();
        assert_eq!(said.status, status, "{name}: {}", said.stderr);
        let got = json["data"]["value"].as_str().map_or(0, str::len);
        assert_eq!(got, length, "{name}");
        if status == 1 {
            let told =
                (&json["code"], &json["metadata"]["exit_code"], &json["data"]["stderr_tail"]);
            assert_eq!(told, (&"execute.tool_failed".into(), &3.into(), &"".into()));
        }
    }
}

#[test]
fn f06_what_a_tool_leaves_behind_holds_nothing_and_is_ended() {
    let world = World::new().at_the_door();
    // The number of what would stay is in the file `left`.
    let rows = [
        ("grandchild", "sleep 600 & echo $! >left", false),
        ("ignores", "trap '' TERM; sleep 600 & echo $! >left; while :; do sleep 0.1; done", true),
        ("setsid", "setsid sleep 600 & echo $! >left; sleep 600", true),
        ("twice", "(setsid sh -c 'sleep 600 & echo $! >left' &); sleep 0.5", false),
        ("flood", "trap '' TERM; yes & echo $! >left; yes", true),
        ("closed", "exec >&- 2>&-; sleep 600 & echo $! >left; sleep 600", true),
        ("stopped", "sleep 600 & echo $! >left; kill -STOP $!; kill -STOP $$", true),
    ];
    for (name, script, times_out) in rows {
        tool(&world, name, script);
        let start = Instant::now();
        let said = world.rye(&["execute", name, "--timeout", "1", "--json"]);
        let code = if times_out { "execute.timeout" } else { "" };
        assert_eq!(said.code(), code, "{name}: {said:?}");
        // 1 s, 2 s to clean up, 0.1 s to read; the rest is for a machine that is busy.
        assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
        let left = fs::read_to_string(world.project().join("left")).unwrap();
        assert!(!runs(left.trim()), "{name}: it still runs");
        fs::remove_file(world.project().join("left")).unwrap();
    }
}

/// Starts a tool, sends rye a signal once the tool says that it is there, and gives the signal that
/// ended rye and what the tool wrote.
fn interrupted(world: &World, name: &str, signal: &str) -> (Option<i32>, String) {
    let (ready, heard) = (world.project().join("ready"), world.project().join("heard"));
    for file in [&ready, &heard] {
        drop(fs::remove_file(file));
    }
    let mut command = world.command(&["execute", name]);
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().unwrap();
    let start = Instant::now();
    while !ready.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "{name} did not start");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    let ended = child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{name} {signal}");
    let heard = fs::read_to_string(heard).unwrap_or_default();
    (std::os::unix::process::ExitStatusExt::signal(&ended), heard)
}

/// Tells in `heard` which signal it was sent, and cleans up.
const LISTENS: &str = "for s in INT TERM HUP QUIT; do trap \"echo $s >>heard; exit 0\" $s; done
sleep 600 & echo $! >left; : >ready; while :; do sleep 0.1; done";

#[test]
fn f06_ctrl_c_and_its_like_reach_the_tool_and_then_end_rye_and_nothing_is_left() {
    let world = World::new();
    tool(&world, "listens", LISTENS);
    tool(&world, "deaf", &LISTENS.replace("trap \"echo $s >>heard; exit 0\" $s", "trap '' $s"));
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)] {
        let got = interrupted(&world, "listens", &format!("-{signal}"));
        assert_eq!(got, (Some(number), format!("{signal}\n")));
        let left = fs::read_to_string(world.project().join("left")).unwrap();
        assert!(!runs(left.trim()), "{signal}");
    }
    assert_eq!(interrupted(&world, "deaf", "-INT"), (Some(2), String::new()));
    let left = fs::read_to_string(world.project().join("left")).unwrap();
    assert!(!runs(left.trim()), "a tool that does not listen is killed");
    let pins = fs::read_dir(world.home().join(".ai/state/pin")).into_iter().flatten().count();
    assert_eq!(pins, 0, "a private folder is left");
}

#[test]
fn f06_a_signal_that_rye_was_told_to_pass_over_ends_nothing() {
    let world = World::new();
    let script = ": >ready; while [ ! -e go ]; do sleep 0.1; done; echo done >heard";
    tool(&world, "works", script);
    let go = world.project().join("go");
    let ready = world.project().join("ready");
    // As `nohup` starts it.
    let deaf = ["-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut command = world.command_through("bash", &deaf, &["execute", "works"]);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !ready.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "it did not start");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    fs::write(go, "").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(world.project().join("heard")).unwrap(), "done\n");
}

#[test]
fn a_tool_ends_with_a_rye_that_is_killed() {
    let world = World::new();
    tool(&world, "stays", "trap '' HUP TERM INT PIPE; echo $$ >pid.new; mv pid.new pid; sleep 600");
    let mut rye = world.start(&["execute", "tool:stays"]);
    let pid = world.project().join("pid");
    let start = Instant::now();
    while !pid.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "it did not start");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let pid = fs::read_to_string(pid).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
    assert!(!stat.contains(") Z "), "it runs: {stat}");
    rye.kill().unwrap();
    rye.wait().unwrap();
    assert!(!runs(pid.trim()), "it outlived rye");
}

#[test]
fn whoever_starts_rye_cannot_make_it_lose_the_status_or_hand_down_descriptors() {
    let world = World::new();
    tool(&world, "seven", "ls /proc/self/fd; exit 7");
    let odd = "import os, signal, sys
for s in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1): signal.signal(s, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM})
fd = os.open('/etc/passwd', os.O_RDONLY); os.set_inheritable(fd, True); os.dup2(fd, 9)
os.execv(sys.argv[1], sys.argv[1:])";
    let args = ["-c", odd];
    let said = world.run_through("python3", &args, &["execute", "seven", "--json"]);
    let json = said.json();
    assert_eq!((said.status, &json["metadata"]["exit_code"]), (1, &7.into()), "{json}");
    // The last is the folder that `ls` looks into.
    assert_eq!(json["data"]["stdout"], "0\n1\n2\n3\n", "{json}");
}

/// Secrets of the host: one that nobody asks for, one that the tool asks for.
const CANARIES: [(&str, &str); 2] =
    [("ACME_IDLE", "canary-7c1e-idle"), ("ACME_TOKEN", "canary-91ab-declared")];

/// Every place at which one of the canaries stands: what was said, and files of both spaces.
fn sightings(world: &World, said: &[(String, String)], canary: &str) -> Vec<String> {
    let told = said.iter().filter(|(_, text)| text.contains(canary)).map(|(what, _)| what.clone());
    let mut found: Vec<_> = told.collect();
    for file in walkdir::WalkDir::new(world.outside()).into_iter().filter_map(Result::ok) {
        if file.file_type().is_file() {
            let text = String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
            if text.contains(canary) {
                found.push(file.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn f08_a_secret_of_the_host_reaches_the_child_that_asks_for_it_and_nothing_else() {
    let world = CANARIES.iter().fold(World::new(), |world, (name, value)| world.env(name, value));
    let asks = "secrets: [ACME_TOKEN]\nenv_config: {env: {ACME_AUTH: 'Bearer ${ACME_TOKEN}'}}\n";
    write_tool(&world, "silent", "env | sha256sum; exit 0", asks);
    let tell =
        "echo \"$ACME_TOKEN, $ACME_AUTH, $ACME_IDLE.\" >&2; echo \"{\\\"n\\\": ${#ACME_AUTH}}\"";
    write_tool(&world, "tells", &format!("{tell}; exit 0"), asks);
    write_tool(&world, "fails", &format!("{tell}; exit 3"), asks);
    let says =
        "echo \"{\\\"success\\\": false, \\\"error\\\": \\\"bad $ACME_TOKEN\\\"}\" >&2; exit 1";
    write_tool(&world, "says", says, asks);
    write_tool(&world, "late", &format!("{tell}; sleep 600"), asks);
    write_tool(&world, "argv", "echo ${ACME_TOKEN}", asks);
    let garbage = world.outside().join("garbage");
    fs::write(&garbage, [0_u8, 1]).unwrap();
    fs::set_permissions(&garbage, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let native = native(&format!(
        "{asks}\
         config: {{command: '{}'}}\n",
        garbage.display()
    ));
    world.signed(".ai/tools/garbage.yaml", &native);

    let mut said = Vec::new();
    let mut say = |args: &[&str]| {
        let got = world.rye(args);
        let text = format!("{}{}", got.stdout, got.stderr);
        said.push((args.join(" "), text));
        got
    };
    let forms: [&[&str]; 5] = [
        &[],
        &["--json"],
        &["--trace", "--json", "--chain-details", "-vv"],
        &["--dry-run", "--json"],
        &["--dry-run", "--trace", "-vvv"],
    ];
    for name in ["silent", "tells", "fails", "says", "late", "argv", "garbage"] {
        for form in forms {
            let got = say(&[&["execute", name, "--timeout", "1"], form].concat());
            assert!(got.status >= 0 && got.status != 70, "{name} {form:?}: {got:?}");
        }
    }
    for name in ["tells", "fails"] {
        let (plan, receipt) = (format!("../{name}.plan"), format!("../{name}.receipt"));
        assert_eq!(say(&["plan", name, "--out", &plan]).status, 0);
        say(&["execute", name, "--receipt", &receipt]);
        say(&["receipt", "verify", &receipt, "--json"]);
        for file in [plan, receipt] {
            assert!(world.project().join(&file).exists(), "{file}");
        }
    }
    for more in [&["why", "tells"][..], &["show", "tells"], &["list"], &["doctor"], &["verify"]] {
        say(more);
    }
    for (name, canary) in CANARIES {
        assert_eq!(sightings(&world, &said, canary), Vec::<String>::new(), "{name}");
    }
    // It did reach the child, and what was masked is shown as that.
    let fails = world.json(&["execute", "fails"]).1;
    let length = "Bearer ".len() + CANARIES[1].1.len();
    assert_eq!(fails["data"]["n"], length, "{fails}");
    assert_eq!(fails["data"]["stderr_tail"], "***, Bearer ***, .\n", "{fails}");
    let late = world.json(&["execute", "late", "--timeout", "1"]).1;
    assert_eq!(late["data"]["stderr_tail"], "***, Bearer ***, .\n", "{late}");
    assert_eq!(world.run("tool:argv").1, "plan.secret_in_argv");
    assert_eq!(world.run("tool:garbage").1, "execute.spawn");
}

#[test]
fn a_variable_that_no_process_can_be_given_is_said_before_anything_starts() {
    let value = "x".repeat(100 << 10);
    let world = World::new().env("ACME_LARGE", &value);
    let env = |template: &str| {
        format!("env: [ACME_LARGE]\nenv_config: {{env: {{ACME_X: {template}}}}}\n")
    };
    let script = ": >marker; echo ${#ACME_X}";
    write_tool(&world, "one", script, &env("'${ACME_LARGE}'"));
    let one = world.json(&["execute", "one"]).1;
    assert_eq!(one["data"], value.len(), "the fixture runs: {one}");
    write_tool(&world, "two", script, &env("'${ACME_LARGE}${ACME_LARGE}'"));
    world.refused("two", "plan.variable_too_large", 6);
    assert_eq!(world.rye(&["execute", "two", "--dry-run", "--json"]).status, 6);
    let said = world.rye(&["execute", "two"]);
    assert!(said.stderr.contains("`ACME_X`") && said.stderr.len() < 1000, "{said:?}");
}

/// 400 calls here; the whole is 10,000. In a process of its own, so that what it holds is told from
/// what other tests hold.
#[test]
fn f09_ten_thousand_calls_leak_no_process_descriptor_thread_or_folder() {
    const WORLD: &str = "RYE_F09_WORLD";
    if let Some(base) = std::env::var_os(WORLD) {
        many_calls(Path::new(&base));
        return;
    }
    let world = World::new();
    let quick = &native("");
    world.signed(".ai/tools/quick.yaml", &format!("{quick}config: {{command: /bin/true}}\n"));
    world.signed(".ai/tools/acme/mark.sh", crate::world::MARKER_SH);
    let name =
        "attacks::f_processes::f09_ten_thousand_calls_leak_no_process_descriptor_thread_or_folder";
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(WORLD, world.outside())
        .output()
        .unwrap();
    assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
    let told = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(told.contains("each of the calls was made"), "{told}");
}

fn many_calls(base: &Path) {
    let vars = [("HOME", base.join("home")), ("PATH", "/usr/bin:/bin".into())];
    let vars = vars.map(|(name, value)| (name.into(), value.into_os_string()));
    let project = base.join("project");
    let rye = rye::RyeBuilder::new().vars(vars).cwd(&project).project(&project).build().unwrap();
    let pins = || fs::read_dir(base.join("home/.ai/state/pin")).unwrap().count();
    let call = |item: &str| {
        let got = rye.run_json(&rye::Request::new(item));
        assert_eq!(got["status"], "success", "{got}");
    };
    // What is made once is there after the first.
    call("tool:acme/mark");
    call("tool:quick");
    let before = (held(), pins());
    let each = if whole() { 2_500 } else { 100 };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..each {
                    // One in ten makes a private folder too.
                    call(if number % 10 == 0 { "tool:acme/mark" } else { "tool:quick" });
                }
            });
        }
    });
    // A thread that was waited for may still be seen for a moment.
    for _ in 0..100 {
        if (held(), pins()) == before {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!((held(), pins()), before);
    eprintln!("each of the calls was made");
}
