//! A time is written with its unit wherever one is given, in one way.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sandbox::levels;
use crate::tools::shell;
use crate::world::items::tool_sh;
use crate::world::wait::{number, until};
use crate::world::{End, GREET_MD, World, whole};

/// Each way to write a time, and the time in milliseconds.
const FORMS: [(&str, u64); 6] = [
    ("10", 10_000),
    ("1.5", 1_500),
    ("500ms", 500),
    ("10s", 10_000),
    ("2m", 120_000),
    ("1m30s", 90_000),
];

/// What is not a time, as YAML writes it.
const WRONG: [&str; 11] =
    ["5 seconds", "-1", "1e999", "NaN", ".nan", "''", "5S", "0", "'5'", "-5s", "[5]"];

/// Whether the reader of YAML itself refuses it, with its line.
fn is_beyond_yaml(text: &str) -> bool {
    text == ".nan"
}

/// A place in a signed file that a time stands in.
struct Spot {
    file: &'static str,
    item: &'static str,
    /// The text of the file; `TIME` stands for the time.
    text: String,
    /// How an error names the place.
    named: &'static str,
    /// Where a dry run tells the time, and how many milliseconds its unit has.
    told: (&'static str, u64),
    most_ms: u64,
}

impl Spot {
    fn is_directive(&self) -> bool {
        self.item.starts_with("directive:")
    }
}

fn tool(executor: &str, rest: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: tool\nexecutor_id: rye/core/{executor}\ncategory: acme\n\
         description: x\n{rest}\n"
    )
}

fn spot(text: String, named: &'static str, told: (&'static str, u64)) -> Spot {
    let (file, item) = (".ai/tools/acme/x.yaml", "tool:acme/x");
    Spot { file, item, text, named, told, most_ms: 86_400_000 }
}

fn spots() -> Vec<Spot> {
    let http = |keys: &str| {
        let config = format!("config: {{url: 'http://127.0.0.1:9/', {keys}}}");
        tool("runtimes/http/request", &config)
    };
    let process = |rest: &str| tool("primitives/execute", rest);
    let exec = |mode: &str, keys: &str| {
        let block = format!("exec: {{command: sh, {keys}}}");
        tool(&format!("runtimes/exec/{mode}"), &block)
    };
    let own = "config: {command: 'true', timeout: TIME}";
    let cpu = "config: {command: 'true'}\nsandbox: {limits: {cpu: TIME}}";
    let directive = GREET_MD.replace("<metadata>", "<metadata><limits duration=\"TIME\"/>");
    vec![
        spot(process(own), "/config/timeout", ("/plan/timeout_ms", 1)),
        spot(http("timeout: TIME"), "/config/timeout", ("/plan/timeout_ms", 1)),
        spot(
            http("connect_timeout: TIME"),
            "/config/connect_timeout",
            ("/plan/connect_timeout_ms", 1),
        ),
        Spot {
            most_ms: 30_000,
            ..spot(
                http("retry: {backoff: TIME}"),
                "/config/retry/backoff",
                ("/plan/retry/backoff_ms", 1),
            )
        },
        spot(exec("oneshot", "timeout: TIME"), "/exec/timeout", ("/plan/timeout_ms", 1)),
        spot(
            exec("server", "runtime: server, idle_timeout: TIME"),
            "/exec/idle_timeout",
            ("/plan/exec/idle_timeout_ms", 1),
        ),
        spot(process(cpu), "/sandbox/limits/cpu", ("/plan/sandbox/limits/cpu_seconds", 1_000)),
        Spot {
            file: ".ai/directives/acme/greet.md",
            item: "directive:acme/greet",
            ..spot(directive, "`duration`", ("/data/limits/duration_seconds", 1_000))
        },
    ]
}

/// What a dry run of the item answers, once its text is signed.
fn answer(world: &World, spot: &Spot, time: &str) -> Value {
    world.write(spot.file, spot.text.replace("TIME", time));
    let said = world.rye(&["sign", spot.item, "--json"]);
    if said.status != 0 {
        return said.json();
    }
    world.json(&["execute", spot.item, "--dry-run"]).1
}

/// Each time at the first place and one in four at each other one here; the whole is each at each.
#[test]
fn each_time_of_a_signed_file_is_read_in_each_form_and_a_wrong_one_is_told_with_its_place() {
    let test = "each_time_of_a_signed_file_is_read_in_each_form";
    let world = World::new_on_disk().held();
    for (place, spot) in spots().into_iter().enumerate() {
        let is_tried = |at: usize| place == 0 || (place + at).is_multiple_of(4) || whole();
        let named = spot.named;
        // A limit of the sandbox is told where there is one.
        if named.starts_with("/sandbox") && levels(test).is_empty() {
            continue;
        }
        let forms = FORMS.into_iter().enumerate().filter(|(at, _)| is_tried(*at));
        for (_, (form, ms)) in forms {
            let got = answer(&world, &spot, form);
            let (pointer, unit) = spot.told;
            if ms <= spot.most_ms {
                let want = ms.div_ceil(unit);
                assert_eq!(got.pointer(pointer), Some(&want.into()), "{named} {form}: {got}");
            } else {
                assert!(got.to_string().contains("is not a time up to 30 s"), "{named}: {got}");
            }
        }
        let wrongs = WRONG.into_iter().enumerate().filter(|(at, _)| is_tried(*at));
        for (_, wrong) in wrongs {
            // All is text in a directive, and so is a number that stands in quotes.
            let wrong = match spot.is_directive() {
                true if wrong == "'5'" => continue,
                true => wrong.trim_matches('\''),
                false => wrong,
            };
            let got = answer(&world, &spot, wrong).to_string();
            if is_beyond_yaml(wrong) && !spot.is_directive() {
                assert!(got.contains("parse.yaml") && got.contains("\"line\":"), "{wrong}: {got}");
                continue;
            }
            assert!(got.contains(named), "{named} {wrong:?}: {got}");
            assert!(got.contains("a number of seconds, or such as `500ms`"), "{wrong:?}: {got}");
        }
    }
}

#[test]
fn a_time_that_is_written_in_both_ways_is_refused() {
    let world = World::new();
    for spot in spots() {
        let key = spot.named.rsplit('/').next().unwrap().trim_matches('`');
        let bare = if spot.told.1 == 1 { "_ms" } else { "_seconds" };
        let (from, to) = match spot.is_directive() {
            true => ("duration=\"TIME\"".into(), "duration=\"5s\" duration_seconds=\"5\"".into()),
            false => (format!("{key}: TIME"), format!("{key}: 5s, {key}{bare}: 5")),
        };
        let spot = Spot { text: spot.text.replace(&from, &to), ..spot };
        let got = answer(&world, &spot, "").to_string();
        assert!(got.contains(&format!("stands beside `{key}{bare}`")), "{key}: {got}");
    }
}

#[test]
fn the_nearer_links_time_counts_however_it_is_written() {
    let world = World::new();
    let runtime = "tool_type: runtime\nversion: \"1.0.0\"\ncategory: acme\ndescription: x\n\
         executor_id: rye/core/primitives/http_client\n";
    for (far, near, ms) in [
        ("connect_timeout_ms: 7000", "connect_timeout: 2s", 2_000),
        ("connect_timeout: 7s", "connect_timeout_ms: 2000", 2_000),
        ("connect_timeout: 7s", "max_redirects: 1", 7_000),
    ] {
        world.signed(".ai/tools/acme/rt.yaml", &format!("{runtime}config: {{{far}}}\n"));
        let own = tool("x", &format!("config: {{url: 'http://127.0.0.1:9/', {near}}}"));
        world.signed(".ai/tools/acme/x.yaml", &own.replace("rye/core/x", "acme/rt"));
        let (_, got) = world.json(&["execute", "acme/x", "--dry-run"]);
        assert_eq!(got["plan"]["connect_timeout_ms"], ms, "{far} {near}: {got}");
    }
}

#[test]
fn a_test_spec_takes_a_time_with_its_unit_for_all_cases_and_for_one() {
    let world = World::new().with(".ai/tools/acme/slow.sh", &tool_sh("", "sleep 60\n"));
    let spec = ".ai/tools/acme/slow.test.yaml";
    for (of_all, own) in [("timeout: 500ms\n", ""), ("timeout: 2m\n", ", timeout: 0.5")] {
        let case = "expect: {code: execute.timeout, error_includes: 'within 500 ms'}";
        world.write(spec, format!("{of_all}cases:\n  - {{{case}{own}}}\n"));
        world.json(&["test"]).ok();
    }
    for (form, _) in FORMS {
        world.write(
            spec,
            format!("timeout: {form}\ncases:\n  - {{dry_run: true, timeout: {form}}}\n"),
        );
        let (status, got) = world.json(&["test"]);
        assert_eq!(status, 0, "{form}: {got}");
    }
    for wrong in WRONG {
        for (text, named) in [
            (format!("timeout: {wrong}\ncases:\n  - {{dry_run: true}}\n"), "`timeout`"),
            (format!("cases:\n  - dry_run: true\n    timeout: {wrong}\n"), "`cases[0].timeout`"),
        ] {
            world.write(spec, &text);
            let said = world.rye(&["test"]).fails(5, "test.malformed");
            let named = if is_beyond_yaml(wrong) { "slow.test.yaml:" } else { named };
            let told = said.stderr.contains(named)
                && (is_beyond_yaml(wrong) || said.stderr.contains("a number of seconds"));
            assert!(told, "{text}: {said:?}");
        }
    }
    world.write(spec, "timeout: 5s\ntimeout_ms: 5\ncases:\n  - {dry_run: true}\n");
    world.rye(&["test"]).warns("stands beside `timeout_ms`");
}

#[test]
fn each_option_that_takes_a_time_takes_it_in_each_form() {
    let world = World::new().with(
        ".ai/tools/acme/x.yaml",
        &tool("primitives/execute", "config: {command: 'true', timeout: 5m}"),
    );
    for (form, ms) in FORMS {
        for verb in [&["execute", "--dry-run"][..], &["plan"]] {
            let got = world.json(&[verb, &["acme/x", "--timeout", form]].concat()).ok();
            let told = [got.pointer("/plan/timeout_ms"), got.get("timeout_ms")];
            assert!(told.contains(&Some(&ms.into())), "{verb:?} {form}: {got}");
        }
    }
    for wrong in ["5 seconds", "-1", "1e999", "NaN", "", "5S", "0", "PT5S"] {
        for verb in ["execute", "plan", "learn"] {
            let said = world.rye(&[verb, "acme/x", &format!("--timeout={wrong}")]);
            assert_eq!(said.status, 2, "{verb} {wrong:?}: {said:?}");
            let told = said.stderr.contains("--timeout") && said.stderr.contains("`500ms`");
            assert!(told, "{verb} {wrong:?}: {said:?}");
        }
    }
}

/// The letter of a process's state.
fn state(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest).chars().take(1).collect()
}

#[test]
fn whoever_stops_rye_stops_its_tool_too_and_both_go_on() {
    let world = World::new();
    // A process in a session of its own, as below `rye/bash`, gets no signal of the terminal.
    let tool =
        "setsid -w bash -c 'echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done'\necho on\n";
    world.signed(".ai/tools/acme/waits.sh", &shell(tool));
    let mut command = world.command(&["run", "acme/waits"]);
    let mut rye = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let own = rye.id().to_string();
    let tool = number(&world.project().join("pid"));
    let send = |signal: &str| {
        assert!(Command::new("kill").args([signal, &own]).status().unwrap().success());
    };
    send("-TSTP");
    until("both are stopped", || state(&own) == "T" && state(&tool) == "T");
    send("-CONT");
    until("both go on", || state(&own) != "T" && state(&tool) != "T");
    world.write("go", "");
    let mut out = String::new();
    rye.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(rye.wait().unwrap().success() && out == "on\n", "{out}");
}
