//! Config items in several spaces (core 7.10): what a tool gets, and how long it may run.

use crate::keys::others::{put, put_home};
use crate::world::items::{native, tool_sh};
use crate::world::{End, World};
use serde_json::{Value, json};

const LIMITS: &str = ".ai/config/execution/execution.yaml";

/// A tool that gives back the parameters that it was given.
fn echo(fields: &str) -> String {
    native(&format!("config: {{command: cat}}\n{fields}"))
}

#[track_caller]
fn resolved(world: &World, item: &str) -> Value {
    let (status, got) = world.json(&["execute", item, "-i", "own=1"]);
    assert_eq!((status, &got["data"]["own"]), (0, &json!("1")), "{got}");
    got["data"]["resolved_config"].clone()
}

#[test]
fn copies_of_all_spaces_merge_for_a_project_tool() {
    let world = World::new();
    let config = "path: .ai/config/acme/api.yaml";
    world.signed_home(
        ".ai/config/acme/api.yaml",
        "url: user\nretry: {times: 1, wait: 2}\nlist: [1, 2]\n",
    );
    world.signed(".ai/config/acme/api.toml", "url = 'project'\nlist = [3]\n[retry]\ntimes = 5\n");
    let field =
        |mode: &str| echo(&format!("config_resolve: {{path: acme/api.yaml, mode: {mode}}}\n"));
    world.signed(".ai/tools/acme/deep.yaml", &field("deep_merge"));
    let want = json!({"url": "project", "retry": {"times": 5, "wait": 2}, "list": [3]});
    assert_eq!(resolved(&world, "tool:acme/deep"), want, "{config}");
    world.signed(".ai/tools/acme/first.yaml", &field("first_match"));
    let want = json!({"url": "project", "retry": {"times": 5}, "list": [3]});
    assert_eq!(resolved(&world, "tool:acme/first"), want);
    let list = echo("config_resolve: [acme/api, {path: acme/none}]\n");
    world.signed(".ai/tools/acme/list.yaml", &list);
    let got = resolved(&world, "tool:acme/list");
    assert_eq!((&got["acme/api"]["url"], &got["acme/none"]), (&json!("project"), &json!({})));
}

#[test]
fn a_nearer_space_changes_what_the_tool_lists_and_time_limits_downwards_only() {
    let world = World::new();
    let tool = echo("config_resolve: {path: acme/api}\noverridable: [retry.times, timeout]\n");
    world.signed_home(".ai/tools/acme/mine.yaml", &tool);
    world.signed_home(
        ".ai/config/acme/api.yaml",
        "url: user\ntimeout: 10\nretry: {times: 1, wait: 2}\n",
    );
    let start = json!({"url": "user", "timeout": 10, "retry": {"times": 1, "wait": 2}});
    assert_eq!(resolved(&world, "tool:acme/mine"), start);
    world
        .signed(".ai/config/acme/api.yaml", "url: evil\ntimeout: 99\nretry: {times: 7, wait: 0}\n");
    let want = json!({"url": "user", "timeout": 10, "retry": {"times": 7, "wait": 2}});
    assert_eq!(resolved(&world, "tool:acme/mine"), want);
    world.signed(".ai/config/acme/api.yaml", "timeout: 3\n");
    assert_eq!(resolved(&world, "tool:acme/mine")["timeout"], 3);
    // A number counts in the unit of its name, and no limit is taken away with what holds it.
    let tool = echo("config_resolve: {path: acme/api}\noverridable: [api]\n");
    world.signed_home(".ai/tools/acme/mine.yaml", &tool);
    world.signed_home(".ai/config/acme/api.yaml", "api: {timeout_ms: 5000, timeout: 2}\n");
    for (project, ms, seconds) in [
        ("api: {timeout_ms: 100s, timeout: 3000ms}", json!(5000), json!(2)),
        ("api: {timeout_ms: 4s, timeout: 1900ms}", json!("4s"), json!("1900ms")),
        ("api: x", json!(5000), json!(2)),
        ("api: []", json!(5000), json!(2)),
    ] {
        world.signed(".ai/config/acme/api.yaml", &format!("{project}\n"));
        let got = resolved(&world, "tool:acme/mine");
        assert_eq!(got["api"], json!({"timeout_ms": ms, "timeout": seconds}), "{project}");
    }
}

#[test]
fn config_must_verify_and_the_caller_cannot_give_it() {
    let world = World::new()
        .with(".ai/config/acme/api.yaml", "a: 1\n")
        .with(".ai/tools/acme/x.yaml", &echo("config_resolve: {path: acme/api}\n"));
    let (_, got) = world.json(&["execute", "tool:acme/x", "-i", "resolved_config=mine"]);
    assert_eq!(got["data"]["resolved_config"], json!({"a": 1}), "{got}");
    let text = String::from_utf8(world.read(".ai/config/acme/api.yaml")).unwrap();
    world.write(".ai/config/acme/api.yaml", text.replace("a: 1", "a: 2"));
    world.refused("tool:acme/x", "verify.altered", 4);
    world.write(".ai/config/acme/api.yaml", "a: 1\n");
    // Dev mode never covers config.
    world
        .rye_env(
            &world.project(),
            &["execute", "tool:acme/x", "--json"],
            b"",
            &[("RYE_DEV_MODE", "1")],
        )
        .fails_with("verify.unsigned");
}

/// The time limit that a dry run shows, in milliseconds.
#[track_caller]
fn limit(world: &World, item: &str, more: &[&str]) -> u64 {
    let got = world.json(&[&["execute", item, "--dry-run"], more].concat()).ok();
    got["plan"]["timeout_ms"].as_u64().expect("a number")
}

#[test]
fn the_time_limit_comes_from_config_then_the_links_then_the_operator_and_only_falls_from_there() {
    let world = World::new().with(".ai/tools/acme/plain.yaml", &echo(""));
    let own = echo("").replace("command: cat", "command: cat, timeout: 20");
    world.signed(".ai/tools/acme/own.yaml", &own);
    let both = |world: &World| (limit(world, "acme/plain", &[]), limit(world, "acme/own", &[]));
    assert_eq!(both(&world), (30_000, 20_000), "the shipped default, the tool's own");
    let execution = ".ai/config/execution/execution.yaml";
    world.signed_home(execution, "defaults: {timeout: 60}\n");
    assert_eq!(both(&world), (60_000, 20_000), "the user's default");
    world.signed_home(execution, "tools: {acme/own: {timeout: 90.5}, acme/plain: {timeout: 7}}\n");
    assert_eq!(both(&world), (7_000, 90_500), "the operator's word for one tool");
    world.signed(execution, "defaults: {timeout: 50}\ntools: {acme/plain: {timeout: 100}}\n");
    assert_eq!(both(&world), (7_000, 50_000), "a project shortens and never lengthens");
    assert_eq!(limit(&world, "acme/own", &["--timeout", "1"]), 1_000, "a caller shortens");
    assert_eq!(limit(&world, "acme/own", &["--timeout", "500"]), 50_000, "and never lengthens");
    for bad in [
        "defaults: {timeout: 0}",
        "defaults: {timeout: x}",
        "defaults: 1",
        "defaults: {timeout: 1e9}",
    ] {
        world.signed(execution, &format!("{bad}\n"));
        assert_eq!(world.run("tool:acme/plain"), (6, "plan.bad_config".into()), "{bad}");
    }
}

/// A shell tool that takes its time.
fn slow(config: &str) -> String {
    tool_sh(config, "sleep 60\n")
}

#[test]
fn a_limit_that_ends_a_run_says_which_file_and_key_set_it() {
    let world = World::new();
    let tool = ".ai/tools/acme/slow.sh";
    let execution = ".ai/config/execution/execution.yaml";
    let own = slow("# [config]\n# timeout_ms = 300\n");
    world.signed(tool, &own);
    let stopped = |more: &[&str]| {
        let said =
            world.rye(&[&["execute", "acme/slow"], more].concat()).fails(6, "execute.timeout");
        said.stderr
    };
    let limit = |more: &[&str]| {
        let (_, got) = world.json(&[&["execute", "acme/slow"], more].concat());
        got["data"]["limit"].clone()
    };
    let text = stopped(&[]);
    assert!(text.contains("`config.timeout_ms` in .ai/tools/acme/slow.sh;"), "{text}");
    assert!(text.contains("within 300 ms") && text.contains("`rye sign tool:acme/slow`"), "{text}");
    // What the finding showed: the tool says more, a project less, and the caller asks in vain.
    world.signed(tool, &slow("# [config]\n# timeout_ms = 9000\n"));
    world.signed(execution, "defaults: {timeout: 500ms}\n");
    let text = stopped(&["--timeout", "20s"]);
    for part in [
        "within 500 ms",
        "`defaults.timeout` in .ai/config/execution/execution.yaml of the project",
        "`rye sign config:execution/execution`",
        "`--timeout` can only shorten it, so 20 s changes nothing",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let want = json!({
        "timeout_ms": 500, "set_by": "item", "item_id": "config:execution/execution",
        "space": "project", "path": execution, "key": "defaults.timeout",
    });
    assert_eq!(limit(&[]), want);
    // The same in a dry run and in a trace, as text and as data.
    let said = world.rye(&["execute", "acme/slow", "--dry-run", "--trace"]);
    let row = "500 ms, set by `defaults.timeout` in .ai/config/execution/execution.yaml (project)";
    assert!(said.stdout.contains(&format!("time limit {row}\n")), "{said:?}");
    assert!(said.stderr.contains("limit 500 ms by `defaults.timeout` in .ai/config"), "{said:?}");
    let (_, got) = world.json(&["execute", "acme/slow", "--dry-run"]);
    let traced = got["trace"].as_array().unwrap().iter().find(|e| e["step"] == "time_limit");
    assert_eq!((&got["limit"], &traced.expect("an event")["limit"]), (&want, &want), "{got}");
    assert!(stopped(&["--timeout", "0.2"]).contains("the call's own, `--timeout`"));
    assert_eq!(limit(&["--timeout", "200ms"]), json!({"timeout_ms": 200, "set_by": "caller"}));
    std::fs::remove_file(world.project().join(execution)).unwrap();
    world.signed_home(execution, "tools: {acme/slow: {timeout: 0.25}}\n");
    let text = stopped(&[]);
    assert!(text.contains("`tools.acme/slow.timeout` in") && text.contains("user space"), "{text}");
    assert!(text.contains("`rye sign config:execution/execution --space user`"), "{text}");
}

#[test]
fn a_time_is_written_with_its_unit_wherever_one_is_given() {
    let world = World::new();
    let own = echo("").replace("command: cat", "command: cat, timeout: 90s");
    world.signed(".ai/tools/acme/own.yaml", &own);
    assert_eq!(limit(&world, "acme/own", &[]), 90_000);
    let execution = ".ai/config/execution/execution.yaml";
    world.signed_home(execution, "tools: {acme/own: {timeout: 10m}}\n");
    assert_eq!(limit(&world, "acme/own", &[]), 600_000);
    world.signed(execution, "tools: {acme/own: {timeout: 9m}}\n");
    assert_eq!(limit(&world, "acme/own", &[]), 540_000);
    let said = world.rye(&["execute", "acme/own", "--dry-run"]);
    assert!(said.stdout.contains("time limit 9 min, set by"), "{said:?}");
    for bad in ["5", "soon", "-1s", "2d"] {
        world.signed(execution, &format!("defaults: {{timeout: \"{bad}\"}}\n"));
        assert_eq!(world.run("tool:acme/own"), (6, "plan.bad_config".into()), "{bad}");
        let said = world.rye(&["execute", "acme/own", &format!("--timeout={bad}")]);
        assert_eq!(said.status, if bad == "5" { 6 } else { 2 }, "{bad}: {said:?}");
    }
}

#[test]
fn a_misspelt_limit_of_runs_is_refused_with_the_nearest_name_and_shown_in_the_list() {
    for (text, meant) in [
        ("defaults: {timeuot: 3}\n", "`timeout`"),
        ("default: {timeout: 3}\n", "`defaults`"),
        ("tools: {acme/own: {timout: 3}}\n", "`timeout`"),
        ("tools: {'tool:acme/own': {timeout: 3}}\n", "must be an id"),
    ] {
        let world = World::new().with(".ai/tools/acme/own.yaml", &echo(""));
        world.works("tool:acme/own");
        world.write(LIMITS, text);
        let said = world.rye(&["sign", "config:execution/execution"]);
        assert_eq!((said.status, said.code().as_str()), (5, "parse.metadata"), "{text}: {said:?}");
        assert!(said.stderr.contains(meant), "{text}: {said:?}");
        // Signed by an older program, it stops the runs that it was meant to limit.
        put(&world, &world.own_key(), LIMITS, text);
        world.refused("tool:acme/own", "parse.metadata", 5);
        let said = world.rye(&[]);
        let row = "cannot run: config:execution/execution: parse.metadata";
        assert!(said.stdout.contains(row), "{said:?}");
        let (_, got) = world.json(&["list", "--long"]);
        let own =
            got["items"].as_array().unwrap().iter().find(|it| it["item_id"] == "tool:acme/own");
        assert_eq!(own.unwrap()["cannot_run"]["code"], "parse.metadata", "{got}");
    }
}

#[test]
fn a_tool_whose_own_config_is_refused_is_not_listed_as_fine() {
    let world = World::new()
        .with(".ai/tools/acme/own.yaml", &echo("").replace("cat", "cat, timeout: never"));
    world.refused("tool:acme/own", "plan.bad_config", 6);
    world.rye(&[]).shows("cannot run: its config: plan.bad_config");
}

#[test]
fn a_longer_limit_of_a_project_is_told_as_passed_over() {
    let world = World::new()
        .with(".ai/tools/acme/own.yaml", &echo(""))
        .with(LIMITS, "defaults: {timeout: 600}\n");
    let told = "; `defaults.timeout` in .ai/config/execution/execution.yaml says 10 min, and a \
                project can only shorten";
    let verbs = [&["execute", "acme/own", "--dry-run"][..], &["why", "acme/own"]];
    for args in verbs.into_iter().chain([&["show", "acme/own"][..]]) {
        world.rye(args).shows(told);
        let (_, got) = world.json(args);
        let passed_over = &got["limit"]["passed_over"];
        assert_eq!(passed_over["timeout_ms"], 600_000, "{args:?}: {got}");
        assert_eq!(passed_over["item_id"], "config:execution/execution", "{args:?}: {got}");
    }
    let said = world.rye(&["execute", "acme/own", "--trace"]);
    let told = "; passed over as longer: 10 min by `defaults.timeout` in .ai/config/execution/";
    assert!(said.stderr.contains(told) || said.stdout.contains(told), "{said:?}");
    world.signed(LIMITS, "defaults: {timeout: 3}\n");
    let said = world.rye(&["why", "acme/own"]);
    assert!(!said.stdout.contains("can only shorten"), "{said:?}");
    assert!(said.stdout.contains("3 s, set by `defaults.timeout`"), "{said:?}");
}

#[test]
fn what_nobody_but_rye_may_sign_in_a_project_is_to_be_removed_and_not_signed() {
    let world = World::new();
    let files = [".ai/config/rye/policy.yaml", ".ai/tools/rye/odd.yaml"];
    for file in files {
        world.write(file, "receipts: always\n");
    }
    let said = world.rye(&["verify"]);
    assert_eq!((said.status, said.stderr.matches("verify.unsigned").count()), (4, 2), "{said:?}");
    assert_eq!(said.stderr.matches("help: remove the file").count(), 2, "{said:?}");
    assert!(!said.stderr.contains("run `rye sign"), "{said:?}");
    for file in files {
        std::fs::remove_file(world.project().join(file)).unwrap();
    }
    world.rye(&["verify"]).ok();
}

#[test]
fn a_misspelt_line_of_your_policy_is_refused_with_the_nearest_name() {
    let world = World::new().with(".ai/tools/acme/own.yaml", &echo(""));
    let path = ".ai/config/rye/policy.yaml";
    world.write_home(path, "sandbox_of: []\n");
    let said = world.rye(&["sign", "config:rye/policy", "--space", "user"]);
    assert!(!said.stdout.contains("signed") && said.status != 0, "{said:?}");
    assert!(said.stderr.contains("did you mean `sandbox_off`?"), "{said:?}");
    put_home(&world, &world.own_key(), path, "sandbox_of: []\n");
    world
        .rye(&["execute", "acme/own", "--sandbox", "off"])
        .fails(4, "verify.trust_unreadable")
        .warns("did you mean `sandbox_off`?");
}

#[test]
fn a_url_that_names_a_parameter_is_refused_by_that_name_given_or_not() {
    let world = World::new();
    let file = ".ai/tools/acme/ask.yaml";
    let text = "version: 1.0.0\nexecutor_id: rye/core/runtimes/http/request\ndescription: d\n\
                parameters: [{name: q, type: string}]\n\
                config: {url: 'https://host.example/?q={q}'}\n";
    world.write(file, text);
    world.rye(&["sign", "tool:acme/ask"]).warns("`/config/url` names `{q}`");
    for more in [&[][..], &["-i", "q=1"]] {
        world
            .rye(&[&["execute", "acme/ask", "--dry-run"], more].concat())
            .fails(6, "plan.bad_config")
            .warns("names `{q}`: a parameter goes into `body`");
    }
}
