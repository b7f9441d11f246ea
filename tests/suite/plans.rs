//! `rye plan`, and `rye execute --plan`: what was approved is what runs, or nothing does.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::world::items::native;
use crate::world::{GREET_MD, MARKER_SH, Said, World, fingerprint, sha256};

const ITEM: &str = "tool:acme/mark";

/// A tool that leaves its parameters in a marker, run by a runtime of the project, which runs a
/// program outside of it.
fn world() -> World {
    let world = World::new();
    program(&world, "#!/bin/sh\nexec /bin/bash \"$@\"\n");
    runtime(&world, "");
    tool(&world, "");
    world
}

fn program(world: &World, text: &str) {
    let file = world.outside().join("runner");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn runtime(world: &World, more: &str) {
    let command = world.outside().join("runner").display().to_string();
    let text = format!(
        "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\ndescription: x\n\
         config: {{command: '{command}', args: ['{{tool_path}}']}}\n{more}"
    );
    world.signed(".ai/tools/acme/run.yaml", &text);
}

fn tool(world: &World, more: &str) {
    let text = MARKER_SH
        .replace("rye/core/runtimes/shell/script", "acme/run")
        .replace(": > marker", "cat > marker");
    world.signed(".ai/tools/acme/mark.sh", &format!("{text}{more}"));
}

/// Plans into a file beside the project and gives its path.
fn plan(world: &World, more: &[&str]) -> String {
    let path = world.outside().join("plan.json").display().to_string();
    world.rye(&[&["plan", ITEM, "--out", &path], more].concat()).ok();
    path
}

fn marker(world: &World) -> PathBuf {
    world.project().join("marker")
}

/// Runs by the plan; gives the answer and what the tool was given, if it ran.
fn run(world: &World, plan: &str, more: &[&str]) -> (Said, Option<Value>) {
    drop(fs::remove_file(marker(world)));
    let said = world.rye(&[&["execute", "--plan", plan, "--json"], more].concat());
    let ran = fs::read_to_string(marker(world)).ok();
    (said, ran.map(|text| serde_json::from_str(&text).unwrap_or(Value::Null)))
}

#[track_caller]
fn works(world: &World, plan: &str, more: &[&str]) {
    let (said, ran) = run(world, plan, more);
    assert_eq!((said.status, ran.is_some()), (0, true), "the fixture itself is good: {said:?}");
}

/// What `plan.drifted` says differs.
#[track_caller]
fn drifted(world: &World, plan: &str, more: &[&str]) -> Vec<Value> {
    let (said, ran) = run(world, plan, more);
    assert_eq!((said.code().as_str(), said.status), ("plan.drifted", 4), "{said:?}");
    assert_eq!(ran, None, "it ran although it is not what was planned");
    said.json()["data"]["differences"].as_array().cloned().unwrap_or_default()
}

fn paths(differences: &[Value]) -> Vec<&str> {
    differences.iter().map(|row| row["path"].as_str().unwrap()).collect()
}

#[test]
fn a_plan_is_the_same_to_the_byte_each_time_and_says_its_own_digest() {
    let world = world();
    let first = world.rye(&["plan", ITEM, "-i", "a=1"]).ok();
    assert_eq!(first.stdout, world.rye(&["plan", "acme/mark", "-i", "a=1"]).stdout);
    let mut document = first.json();
    assert_eq!(world.json(&["plan", ITEM, "a=1"]).1["plan"], document);
    // Canonical, by another implementation; and the digest over everything else.
    assert_eq!(serde_jcs::to_string(&document).unwrap() + "\n", first.stdout);
    let digest = document.as_object_mut().unwrap().remove("sha256").unwrap();
    assert_eq!(digest, sha256(serde_jcs::to_string(&document).unwrap().as_bytes()));
    // A file holds the same.
    let path = plan(&world, &["-i", "a=1"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), first.stdout);
    let (status, said) = world.json(&["plan", ITEM, "-i", "a=1", "--out", &path]);
    assert_eq!((status, &said["sha256"], &said["path"]), (0, &digest, &json!(path)));
}

#[test]
fn a_plan_names_every_link_the_program_and_what_it_is_given() {
    let world = world();
    let plan = world.rye(&["plan", ITEM, "-i", "a=1"]).json();
    let own = fingerprint(&world.own_key());
    let links = plan["digests"].as_array().unwrap();
    let items: Vec<_> = links.iter().map(|link| &link["item"]).collect();
    assert_eq!(items, [ITEM, "tool:acme/run", "tool:rye/core/primitives/execute"]);
    for (link, file) in links.iter().zip([".ai/tools/acme/mark.sh", ".ai/tools/acme/run.yaml"]) {
        let text = String::from_utf8(world.read(file)).unwrap();
        let (line, rest): (Vec<_>, Vec<_>) =
            text.split_inclusive('\n').partition(|line| line.contains("rye:signed:"));
        assert_eq!(link["sha256"], sha256(rest.concat().as_bytes()));
        assert_eq!((&link["signer"], &link["space"]), (&json!(own), &json!("project")));
        assert!(line[0].contains(&format!("at={}", link["signed_at"].as_str().unwrap())));
        assert_eq!(link["version"], "1.0.0");
    }
    assert_eq!(links[2]["space"], "system");
    let runner = world.outside().join("runner").canonicalize().unwrap();
    let content = sha256(&fs::read(&runner).unwrap());
    let program = json!({"var": null, "path": world.outside().join("runner"), "real": runner,
        "permitted": false, "sha256": content});
    assert_eq!((&plan["interpreter"], &plan["command_sha256"]), (&program, &json!(null)));
    assert_eq!(plan["args"], json!(["{tool_path}"]));
    assert_eq!(plan["cwd"], json!(world.project()));
    assert_eq!(plan["params_sha256"], sha256(b"{\"a\":\"1\"}"));
    assert_eq!((&plan["timeout_ms"], &plan["output_bytes"]), (&json!(30_000), &json!(16 << 20)));
    assert_eq!(plan["sandbox"], json!({"level": "off"}));
}

#[test]
fn a_plan_holds_no_secret_no_value_of_the_environment_no_run_and_no_time() {
    let world = World::new().env("API_TOKEN", "canary-secret").env("TZ", "canary-zone");
    let tool = &native(
        "secrets: [API_TOKEN]\nenv_config: {env: {AUTH: 'Bearer ${API_TOKEN}'}}\n\
        config: {command: /bin/echo, args: ['${TZ}', '{params_json}', '${NONE:-x}', '${RYE_RUN_ID}'], \
        input_data: {token: '${API_TOKEN}', n: 0.10}}\n",
    );
    world.signed(".ai/tools/acme/hi.yaml", tool);
    let (_, ran) = world.json(&["execute", "acme/hi", "-i", "p=canary-parameter"]);
    assert!(ran["data"]["stdout"].as_str().unwrap().starts_with("canary-zone {\"p\""), "{ran}");
    let said = world.rye(&["plan", "acme/hi", "-i", "p=canary-parameter"]).ok();
    for text in [&said.stdout, &said.stderr] {
        assert!(!text.contains("canary") && !text.contains("run-"), "{text}");
    }
    let plan = said.json();
    // Names and templates stand there, and the digest of what reaches the command line.
    assert_eq!(plan["args"], json!(["${TZ}", "{params_json}", "${NONE:-x}", "${RYE_RUN_ID}"]));
    assert_eq!(plan["argv_env"], json!({"TZ": sha256(b"canary-zone"), "NONE": null}));
    assert_eq!(plan["env_set"], json!(["AUTH=Bearer ${API_TOKEN}"]));
    assert_eq!(plan["stdin"], json!({"json": "{\"n\":0.10,\"token\":\"${API_TOKEN}\"}"}));
    assert!(plan["env"].as_array().unwrap().contains(&json!("API_TOKEN")));
    // With the parameters stored, they are all that is added.
    let mut with =
        world.rye(&["plan", "acme/hi", "-i", "p=canary-parameter", "--with-params"]).json();
    assert_eq!(
        with.as_object_mut().unwrap().remove("params"),
        Some(json!("{\"p\":\"canary-parameter\"}"))
    );
    assert_eq!(with, plan);
}

#[test]
fn what_was_planned_runs_with_parameters_given_again_or_from_the_file() {
    let world = world();
    let path = plan(&world, &["-i", "a=1", "-i", "b:=0.10"]);
    let again = ["-i", "b:=0.10", "-i", "a=1"];
    works(&world, &path, &again);
    works(&world, &path, &[&["acme/mark"], again.as_slice()].concat());
    assert_eq!(paths(&drifted(&world, &path, &["-i", "a=1"])), ["/params_sha256"]);
    assert_eq!(paths(&drifted(&world, &path, &[])), ["/params_sha256"]);
    let path = plan(&world, &["-i", "a=1", "-i", "b:=0.10", "--with-params"]);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "stored parameters are for your eyes");
    works(&world, &path, &[]);
    assert_eq!(fs::read_to_string(marker(&world)).unwrap(), "{\"a\":\"1\",\"b\":0.10}");
    works(&world, &path, &again);
    assert_eq!(paths(&drifted(&world, &path, &["-i", "a=1"])), ["/params_sha256"]);
    // Another tool than the planned one is not run by this plan.
    world.signed(".ai/tools/acme/other.sh", MARKER_SH);
    assert!(paths(&drifted(&world, &path, &["acme/other"])).contains(&"/item"));
}

#[test]
fn a_dry_run_by_a_plan_compares_and_starts_nothing() {
    let world = world();
    let path = plan(&world, &[]);
    let (said, ran) = run(&world, &path, &["--dry-run"]);
    let got = said.json();
    assert_eq!((said.status, &got["status"], ran), (0, &json!("validation_passed"), None));
    // The trace says the digest of the very plan that was approved.
    let mut trace = got["trace"].as_array().unwrap().iter();
    let event = trace.find(|event| event["step"] == "plan").unwrap();
    let file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(event["digest"], file["sha256"]);
    tool(&world, "# more\n");
    assert_eq!(paths(&drifted(&world, &path, &["--dry-run"]))[0], "/digests/0/sha256");
}

#[test]
fn one_byte_of_the_runtime_changed_and_the_plan_refuses_and_says_what() {
    let world = world();
    let path = plan(&world, &[]);
    works(&world, &path, &[]);
    let file = world.project().join(".ai/tools/acme/run.yaml");
    let good = fs::read_to_string(&file).unwrap();
    let was = world.rye(&["plan", ITEM]).json()["digests"][1]["sha256"].clone();
    // Changed by somebody who cannot sign, it is refused before any plan is looked at.
    fs::write(&file, good.replace("description: x", "description: y")).unwrap();
    let (said, ran) = run(&world, &path, &[]);
    assert_eq!((said.code().as_str(), said.status, ran), ("verify.altered", 4, None), "{said:?}");
    // Changed and signed, it verifies, and is not what was planned.
    world.rye(&["sign", "acme/run"]).ok();
    world.works(ITEM);
    let differences = drifted(&world, &path, &[]);
    let is = world.rye(&["plan", ITEM]).json()["digests"][1]["sha256"].clone();
    let row = json!({"path": "/digests/1/sha256", "item": "tool:acme/run", "was": was, "is": is});
    assert_eq!(differences[0], row);
    let said = world.rye(&["execute", "--plan", &path]);
    let text = format!(
        "/digests/1/sha256 (tool:acme/run): was `{}`, is `{}`",
        was.as_str().unwrap(),
        is.as_str().unwrap()
    );
    assert!(said.stderr.contains(&text), "{said:?}");
    // Put back with its old signature, it is again what was planned.
    fs::write(&file, good).unwrap();
    works(&world, &path, &[]);
}

#[test]
fn one_byte_of_the_interpreter_changed_and_the_plan_refuses() {
    let world = world();
    let path = plan(&world, &[]);
    works(&world, &path, &[]);
    program(&world, "#!/bin/sh\nexec /bin/bash \"$@\" \n");
    assert_eq!(paths(&drifted(&world, &path, &[])), ["/interpreter/sha256"]);
    world.works(ITEM);
    // Another program behind the same name.
    let other = world.outside().join("other");
    fs::rename(world.outside().join("runner"), &other).unwrap();
    std::os::unix::fs::symlink(&other, world.outside().join("runner")).unwrap();
    program(&world, "#!/bin/sh\nexec /bin/bash \"$@\"\n");
    assert_eq!(paths(&drifted(&world, &path, &[])), ["/interpreter/real"]);
}

#[test]
fn whatever_decides_what_runs_is_compared() {
    let world = world();
    let path = plan(&world, &[]);
    works(&world, &path, &[]);
    let changes: [Change<'_>; 6] = [
        ("the tool", &|| tool(&world, "# more\n"), &["/digests/0/sha256"]),
        (
            "a variable",
            &|| runtime(&world, "env_config: {env: {MORE: x}}\n"),
            &["/env/MORE", "/env_set"],
        ),
        ("the time limit", &|| runtime_with(&world, "timeout_ms: 5000"), &["/timeout_ms"]),
        ("the folder", &|| runtime_with(&world, "cwd: '{item_dir}'"), &["/cwd"]),
        ("the input", &|| runtime_with(&world, "input_data: none"), &["/stdin/text"]),
        ("an argument", &|| runtime_with(&world, "args: ['{tool_path}', more]"), &["/args"]),
    ];
    for (what, change, want) in changes {
        change();
        let differences = drifted(&world, &path, &[]);
        for place in want {
            assert!(paths(&differences).contains(place), "{what}: {differences:?}");
        }
        runtime(&world, "");
        tool(&world, "");
    }
    let path = plan(&world, &[]);
    works(&world, &path, &[]);
    assert_eq!(paths(&drifted(&world, &path, &["--timeout", "7"])), ["/timeout_ms"]);
    // A nearer copy, with the same bytes and another signature line, is another plan.
    let user = fs::read_to_string(world.project().join(".ai/tools/acme/mark.sh")).unwrap();
    let user = user.lines().filter(|line| !line.contains("rye:signed:"));
    let user = user.fold(String::new(), |text, line| text + line + "\n");
    world.signed_home(
        ".ai/tools/acme/lone.sh",
        &user.replace("acme/run", "rye/core/runtimes/shell/script"),
    );
    let lone = world.outside().join("lone.json").display().to_string();
    world.rye(&["plan", "acme/lone", "--out", &lone]).ok();
    works(&world, &lone, &[]);
    world.signed(
        ".ai/tools/acme/lone.sh",
        &user.replace("acme/run", "rye/core/runtimes/shell/script"),
    );
    assert!(paths(&drifted(&world, &lone, &[])).contains(&"/digests/0/space"));
    // Another signer.
    world.rye(&["keys", "rotate"]).ok();
    world.rye(&["sign", "tool:acme/*"]).ok();
    assert!(paths(&drifted(&world, &path, &[])).contains(&"/digests/0/signer"));
}

/// What is changed, how, and the places that then differ.
type Change<'a> = (&'a str, &'a dyn Fn(), &'a [&'a str]);

/// The runtime with one more key in its config.
fn runtime_with(world: &World, more: &str) {
    let file = world.project().join(".ai/tools/acme/run.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text =
        text.replace("args: ['{tool_path}']}", &format!("args: ['{{tool_path}}'], {more}}}"));
    let text = match more.starts_with("args") {
        true => text.replacen("args: ['{tool_path}'], ", "", 1),
        false => text,
    };
    fs::write(&file, text).unwrap();
    world.rye(&["sign", "acme/run"]).ok();
}

#[test]
fn a_time_limit_that_was_planned_holds_when_it_runs() {
    let world = world();
    let path = plan(&world, &["--timeout", "9"]);
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["timeout_ms"], 9000);
    works(&world, &path, &[]);
    works(&world, &path, &["--timeout", "9"]);
    assert_eq!(paths(&drifted(&world, &path, &["--timeout", "8"])), ["/timeout_ms"]);
}

#[test]
fn a_value_of_the_environment_in_an_argument_is_compared_by_its_digest() {
    let world = World::new();
    let tool = &native("config: {command: /bin/echo, args: ['${TZ}']}\n");
    world.signed(".ai/tools/acme/hi.yaml", tool);
    let zone =
        |zone: &str, args: &[&str]| world.rye_env(&world.project(), args, b"", &[("TZ", zone)]);
    let path = world.outside().join("plan.json").display().to_string();
    assert_eq!(zone("UTC", &["plan", "acme/hi", "--out", &path]).status, 0);
    let run = ["execute", "--plan", path.as_str(), "--json"];
    assert_eq!(zone("UTC", &run).status, 0);
    let said = zone("CET", &run).fails(4, "plan.drifted");
    assert_eq!(paths(said.json()["data"]["differences"].as_array().unwrap()), ["/argv_env/TZ"]);
    assert!(!said.stdout.contains("CET"), "{said:?}");
    // And one that is gone.
    let differences = world.rye(&run).json()["data"]["differences"].clone();
    let found = paths(differences.as_array().unwrap()).concat();
    assert!(found.contains("/argv_env/TZ") && found.contains("/env/TZ"), "{found}");
}

#[test]
fn two_numbers_that_a_double_cannot_tell_apart_are_two_plans() {
    let world = world();
    let digest = |params: &str| {
        let said = world.rye(&["plan", ITEM, "--params", params]).ok();
        said.json()["sha256"].as_str().unwrap().to_owned()
    };
    for (one, other) in [
        ("{\"n\":9007199254740992}", "{\"n\":9007199254740993}"),
        ("{\"n\":0.1}", "{\"n\":0.10}"),
        ("{\"n\":1e999}", "{\"n\":1e998}"),
        ("{\"n\":1}", "{\"n\":1.0}"),
        ("{\"n\":1}", "{\"n\":\"1\"}"),
        ("{\"n\":0}", "{\"n\":-0}"),
    ] {
        assert_eq!(digest(one), digest(one));
        assert_ne!(digest(one), digest(other), "{one} {other}");
    }
    assert_eq!(
        digest("{\"a\":1,\"b\":[{\"d\":1,\"c\":2}]}"),
        digest("{\"b\":[{\"c\":2,\"d\":1}],\"a\":1}")
    );
    // Stored, they come back digit for digit.
    let params = "{\"a\":12345678901234567890123,\"b\":0.10,\"c\":[-0]}";
    let path = plan(&world, &["--params", params, "--with-params"]);
    works(&world, &path, &[]);
    assert_eq!(fs::read_to_string(marker(&world)).unwrap(), params);
}

#[test]
fn h06_a_plan_that_was_changed_by_hand_is_refused() {
    let world = world();
    let path = plan(&world, &["-i", "a=1", "--with-params"]);
    works(&world, &path, &[]);
    let good = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in 0..good.len() {
        // All of them are flipped beside the code; here, those that the door sees.
        if at % 23 != 0 && at + 1 != good.len() {
            continue;
        }
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (said, ran) = run(&world, &path, &[]);
        assert_eq!(
            (said.code().as_str(), said.status),
            ("plan.malformed", 4),
            "byte {at}: {said:?}"
        );
        assert_eq!(ran, None, "byte {at}");
        refused += 1;
    }
    assert!(refused > 40, "{refused}");
    // A forger who fits the digest to the change has another plan, and that is not what would run.
    let forged = |change: &dyn Fn(&mut Value)| {
        let mut document: Value = serde_json::from_slice(&good).unwrap();
        let map = document.as_object_mut().unwrap();
        map.remove("sha256");
        let params = map.remove("params").unwrap();
        change(&mut document);
        let digest = sha256(&serde_jcs::to_vec(&document).unwrap());
        document["sha256"] = digest.into();
        document["params"] = params;
        fs::write(&path, serde_jcs::to_vec(&document).unwrap()).unwrap();
    };
    forged(&|_| {});
    works(&world, &path, &[]);
    let document: Value = serde_json::from_slice(&good).unwrap();
    for (key, value) in document.as_object().unwrap() {
        let change: Value = match value {
            Value::String(text) => format!("{text}x").into(),
            Value::Number(number) => (number.as_u64().unwrap() + 1).into(),
            _ => json!({"other": true}),
        };
        if key == "sha256" || key == "params" {
            continue;
        }
        forged(&|document| document[key.as_str()] = change.clone());
        let (said, ran) = run(&world, &path, &[]);
        let code = said.code();
        let refused =
            ["plan.malformed", "plan.drifted", "resolve.not_found"].contains(&code.as_str());
        assert!(refused && said.status != 0 && ran.is_none(), "{key}: {said:?}");
    }
    forged(&|document| document["more"] = json!("x"));
    assert_eq!(paths(&drifted(&world, &path, &[])), ["/more"]);
    // The true plan inside a forged one counts for nothing.
    forged(&|document| {
        *document = json!({"format": "rye/plan/v1", "item": ITEM, "timeout_ms": 30_000,
        "params_sha256": document["params_sha256"], "plan": document.clone()});
    });
    assert!(!drifted(&world, &path, &[]).is_empty());
}

#[test]
fn a_file_that_is_no_plan_is_told_apart_from_one_that_is_not_there() {
    let world = world();
    let path = plan(&world, &[]);
    works(&world, &path, &[]);
    let good = fs::read_to_string(&path).unwrap();
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(&good).unwrap()).unwrap();
    let rows = [
        ("nothing", String::new(), "it is not JSON"),
        ("a list", "[]\n".into(), "another JSON value"),
        (
            "another format",
            good.replace("rye/plan/v1", "rye/plan/v9"),
            "its format is `rye/plan/v9`",
        ),
        ("written otherwise", pretty, "not written canonically"),
        ("a key twice", good.replacen('{', "{\"args\":[],", 1), "the key `args` occurs twice"),
        ("two plans", good.repeat(2), "it is not JSON"),
    ];
    for (what, text, want) in rows {
        fs::write(&path, &text).unwrap();
        let (said, ran) = run(&world, &path, &[]);
        assert_eq!(
            (said.code().as_str(), said.status, ran),
            ("plan.malformed", 4, None),
            "{what}: {said:?}"
        );
        assert!(said.stdout.contains(want), "{what}: {said:?}");
    }
    let huge = fs::File::create(&path).unwrap();
    huge.set_len(10 << 30).unwrap();
    assert_eq!(run(&world, &path, &[]).0.code(), "plan.malformed");
    fs::remove_file(&path).unwrap();
    let (said, _) = run(&world, &path, &[]);
    assert_eq!((said.code().as_str(), said.status), ("cli.input_file", 2), "{said:?}");
    // A plan comes through a pipe as well.
    let got =
        world.shell("rye execute acme/mark --plan <(rye plan acme/mark) > /dev/null; echo $?");
    assert_eq!(got, "0\n");
}

#[test]
fn only_a_tool_has_a_plan_and_a_receipt() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.works("directive:acme/greet");
    for args in
        [["plan", "acme/greet"].as_slice(), &["execute", "acme/greet", "--receipt", "r.json"]]
    {
        world.rye(args).fails(2, "plan.not_a_tool");
    }
    assert!(!world.project().join("r.json").exists());
    assert_eq!(
        world.rye(&["plan", "rye/overview"]).status,
        3,
        "and what is not there is not there"
    );
}

#[test]
fn a_plan_of_a_tool_of_several_files_names_each_and_the_config_that_it_is_given() {
    let world = World::new();
    crate::files::package(&world);
    world.rye(&["sign", "tool:acme/**"]).ok();
    let said = world.rye(&["plan", crate::files::COUNT, "-i", "text=x"]).ok();
    let plan = said.json();
    let words = world.read(".ai/tools/acme/words/lib/words.py");
    let found: Vec<_> = plan["files"].as_object().unwrap().iter().collect();
    let (path, digest) = found.iter().find(|(path, _)| path.ends_with("lib/words.py")).unwrap();
    assert_eq!((path.starts_with('/'), *digest), (false, &json!(sha256(&words))));
    // Config that decides is a dependency with its signer, and what the tool gets has a digest.
    world.signed(".ai/config/acme/api.yaml", "url: here\nrate: 0.10\n");
    let tool = &native("config: {command: cat}\nconfig_resolve: {path: acme/api}\n");
    world.signed(".ai/tools/acme/get.yaml", tool);
    let path = world.outside().join("get.json").display().to_string();
    world.rye(&["plan", "acme/get", "-i", "a=1", "--with-params", "--out", &path]).ok();
    let plan: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let config = plan["dependencies"].as_array().unwrap();
    let config = config.iter().find(|row| row["item"] == "config:acme/api").unwrap();
    assert_eq!(config["signer"], fingerprint(&world.own_key()));
    assert_eq!(plan["config_sha256"], sha256(b"{\"rate\":0.10,\"url\":\"here\"}"));
    assert_eq!(
        (&plan["params"], &plan["params_sha256"]),
        (&json!("{\"a\":\"1\"}"), &json!(sha256(b"{\"a\":\"1\"}")))
    );
    let (status, got) = world.json(&["execute", "--plan", &path, "--receipt", "r.json"]);
    assert_eq!((status, &got["data"]["resolved_config"]["url"]), (0, &json!("here")), "{got}");
    let receipt = world.rye(&["receipt", "verify", "r.json", "--json"]).json();
    assert_eq!(receipt["receipt"]["predicate"]["dependencies"], plan["dependencies"]);
    world.signed(".ai/config/acme/api.yaml", "url: there\nrate: 0.10\n");
    let found = drifted(&world, &path, &[]);
    let found = paths(&found).join(" ");
    assert!(found.contains("/config_sha256") && found.contains("/dependencies/"), "{found}");
}

#[test]
fn the_trace_of_an_ordinary_run_says_the_digest_of_the_plan_without_what_it_did_not_read() {
    let world = world();
    let plan = world.rye(&["plan", ITEM]).json();
    let (_, got) = world.json(&["execute", ITEM, "--trace"]);
    let event =
        got["trace"].as_array().unwrap().iter().find(|event| event["step"] == "plan").unwrap();
    let mut ordinary = plan.clone();
    let map = ordinary.as_object_mut().unwrap();
    map.remove("sha256");
    // What the file system says of the program stands in the place of its content.
    let (_, dry) = world.json(&["execute", ITEM, "--dry-run"]);
    let runner = fs::metadata(world.outside().join("runner")).unwrap();
    let said = &dry["plan"]["interpreter"];
    assert_eq!(
        (&said["inode"], &said["device"]),
        (&json!(runner.ino().to_string()), &json!(runner.dev().to_string()))
    );
    let ctime = runner.ctime() * 1_000_000_000 + runner.ctime_nsec();
    assert_eq!(
        (&said["size"], &said["ctime_ns"]),
        (&json!(runner.size()), &json!(ctime.to_string()))
    );
    map["interpreter"] = said.clone();
    map["files"].as_object_mut().unwrap().values_mut().for_each(|digest| *digest = Value::Null);
    assert_eq!(event["digest"], sha256(&serde_jcs::to_vec(&ordinary).unwrap()));
    assert_eq!(dry["plan"], ordinary, "and a dry run shows that plan");
}

#[test]
fn a_program_beside_the_interpreter_that_a_link_names_is_compared_too() {
    let world = world();
    runtime(
        &world,
        "env_config: {interpreter: {type: system_binary, var: RYE_SHELL, candidates: [sh]}}\n",
    );
    let path = plan(&world, &[]);
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["interpreter"]["var"], "RYE_SHELL", "{document}");
    let runner = fs::read(world.outside().join("runner")).unwrap();
    assert_eq!(document["command_sha256"], sha256(&runner));
    works(&world, &path, &[]);
    program(&world, "#!/bin/sh\nexec /bin/bash \"$@\" \n");
    assert_eq!(paths(&drifted(&world, &path, &[])), ["/command_sha256"]);
}
