//! What something in a thread may do by starting rye again.

use std::fs;

use serde_json::{Value, json};

use crate::hooks::hook;
use crate::sandbox::not_run;
use crate::threads::{ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, world};
use crate::world::items::tool_sh;
use crate::world::{End, World, program};

/// The thread may call the tool that starts rye, and one other.
const PERMITTED: &str = "<execute><tool>acme.starts</tool><tool>acme.echo</tool></execute>";

/// A shell script in the project, in which `$rye` is rye with the world's home.
fn starting(world: &World, script: &str) -> String {
    let rye = format!("env HOME={} {}", world.home().display(), program());
    format!("cd \"{}\"; rye='{rye}'; {script}", world.project().display())
}

/// Tries a tool that the thread may run, and one that it may not.
const TRY_BOTH: &str = "$rye execute tool:acme/echo --json > permitted 2>&1; \
                        $rye execute tool:acme/other --json > other 2>&1; true";

fn tool(world: &World, name: &str, script: &str) {
    world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool_sh("", &format!("{script}\n")));
}

fn said(world: &World, file: &str) -> Value {
    let bytes = world.read(file);
    serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())
}

/// A world whose thread calls the tool `acme/starts` once, which is this script.
fn starts(script: &str, permissions: &str) -> World {
    let turns = json!([call("acme_starts", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", permissions);
    tool(&world, "starts", &starting(&world, script));
    world
}

#[track_caller]
fn is_denied(world: &World, file: &str) {
    let told = said(world, file);
    assert_eq!(told["code"], "grant.denied", "{file}: {told}");
}

#[test]
fn a_tool_that_starts_rye_reaches_what_its_thread_reaches_and_more_when_it_is_called_by_itself() {
    let world = starts(TRY_BOTH, PERMITTED);
    world.rye(&["execute", "tool:acme/starts"]).ok();
    assert_eq!(said(&world, "permitted")["status"], "success", "the fixture works untouched");
    assert_eq!(said(&world, "other")["status"], "success", "the fixture works untouched");
    assert_eq!(fork(&world, &[]).0, 0);
    assert_eq!(said(&world, "permitted")["status"], "success");
    is_denied(&world, "other");
}

#[test]
fn what_a_tool_does_to_its_environment_gives_it_no_more() {
    // Each way of starting rye, from inside of a thread.
    for way in [
        "exec env -i HOME=$h $p execute tool:acme/other --json",
        "env -u RYE_RUN_ID -u RYE_THREAD $rye execute tool:acme/other --json",
        "RYE_RUN_ID= RYE_THREAD= $rye execute tool:acme/other --json",
        "RYE_THREAD=acme/go/go-01234567-89ab-7def-8000-000000000000 \
         $rye execute tool:acme/other --json",
        "(setsid -w $rye execute tool:acme/other --json)",
        "echo '[ $1 -eq 0 ] || { env -i sh deep $(($1 - 1)) $2 $3; exit; }
         exec env -i HOME=$2 $3 execute tool:acme/other --json' > deep; env -i sh deep 70 $h $p",
    ] {
        let world = starts("true", PERMITTED);
        let (home, rye) = (world.home(), program());
        let vars = format!("h='{}'; p='{rye}'; exec > other 2>&1; {way}", home.display());
        tool(&world, "starts", &starting(&world, &vars));
        let _ = fork(&world, &[]);
        let told = said(&world, "other");
        let refused = [json!("grant.denied"), json!("thread.outside")];
        assert!(refused.contains(&told["code"]), "{way}: {told}");
        assert!(!world.project().join("ran").exists(), "{way}");
    }
}

#[test]
fn a_namespace_of_its_own_gives_a_tool_no_more() {
    let apart = "unshare --user --map-root-user --pid --fork --mount-proc";
    let world = starts("true", PERMITTED);
    if world.shell(&format!("{apart} echo works")) != "works\n" {
        not_run("a_namespace_of_its_own_gives_a_tool_no_more", "unshare", "it makes none here");
        return;
    }
    let way = format!("exec > other 2>&1; {apart} $rye execute tool:acme/other --json");
    tool(&world, "starts", &starting(&world, &way));
    world.rye(&["execute", "tool:acme/starts"]).ok();
    assert_eq!(said(&world, "other")["status"], "success", "the fixture works untouched");
    assert_eq!(fork(&world, &[]).0, 0);
    let told = said(&world, "other");
    let refused = [json!("grant.denied"), json!("thread.outside")];
    assert!(refused.contains(&told["code"]), "{told}");
}

#[test]
fn nobody_says_yes_for_a_person_within_a_thread() {
    let script = "setsid -w $rye --yes sign tool:acme/mine --json > signs 2>&1; \
                  setsid -w $rye --yes keys rotate --json > rotates 2>&1; true";
    let world = starts(script, PERMITTED);
    let mine = world.write(".ai/tools/acme/mine.sh", "echo mine\n");
    let key = world.own_key().to_bytes();
    assert_eq!(fork(&world, &[]).0, 0);
    for file in ["signs", "rotates"] {
        assert_eq!(said(&world, file)["code"], "cli.not_confirmed", "{}", said(&world, file));
    }
    assert_eq!(fs::read(mine).unwrap(), b"echo mine\n");
    assert_eq!(world.own_key().to_bytes(), key);
}

#[test]
fn what_hides_its_environment_is_below_its_thread_for_what_a_person_decides() {
    for (does, code) in [
        ("--yes sign tool:acme/mine", "cli.not_confirmed"),
        ("--yes trust propose --owner Ada", "cli.not_confirmed"),
        ("thread resume acme/go/go-01234567-89ab-7def-8000-000000000000", "thread.outside"),
    ] {
        let world = starts("true", PERMITTED);
        world.write(".ai/tools/acme/mine.sh", "echo mine\n");
        let (home, rye) = (world.home(), program());
        let start = format!("exec env -i HOME='{}' setsid -w {rye} {does} --json", home.display());
        tool(&world, "starts", &starting(&world, &format!("exec > hidden 2>&1; {start}")));
        let _ = fork(&world, &[]);
        assert_eq!(said(&world, "hidden")["code"], code, "{does}: {}", said(&world, "hidden"));
    }
}

#[test]
fn other_doors_of_a_rye_below_a_thread_are_held_too() {
    let script = "echo '({}); await runTool(\"tool:acme/other\", {})' > s.js; \
                  $rye code run s.js --json > snippet 2>&1; \
                  $rye execute tool:acme/other --dry-run --json > dry 2>&1; \
                  $rye execute tool:acme/starts --async --json > async 2>&1; \
                  $rye pending list --json > pending 2>&1; \
                  $rye code stubs --json > stubs 2>&1; \
                  $rye execute directive:acme/child --json > directive 2>&1; true";
    let world = starts(script, PERMITTED);
    world.signed(".ai/directives/acme/child.md", &directive("child", "turns=\"2\"", ONLY_ECHO));
    fork(&world, &[]).ok();
    // Neither what others asked a person is shown, nor what it may not read.
    assert_eq!(said(&world, "pending")["code"], "thread.outside");
    if cfg!(feature = "code") {
        assert!(!said(&world, "stubs")["declaration"].as_str().unwrap().contains("acme"));
        assert!(said(&world, "snippet").to_string().contains("grant.denied"));
    }
    is_denied(&world, "dry");
    is_denied(&world, "directive");
    assert_eq!(said(&world, "async")["code"], "async.below_a_run");
}

#[test]
fn a_rye_below_a_thread_reads_and_finds_what_the_thread_may_fetch_and_no_more() {
    let reads = ["fetch", "show", "describe"];
    let all: Vec<String> = reads
        .iter()
        .flat_map(|verb| ["echo", "other"].map(|name| (verb, name)))
        .map(|(verb, name)| format!("$rye {verb} tool:acme/{name} --json > {verb}-{name} 2>&1; "))
        .collect();
    let finds = "$rye search echoes --json > found 2>&1; $rye fetch tool:acme/othr --json > near 2>&1; true";
    let may = format!("{PERMITTED}<fetch><tool>acme.echo</tool></fetch>");
    let world = starts(&format!("{}{finds}", all.concat()), &may);
    world.rye(&["execute", "tool:acme/starts"]).ok();
    for verb in reads {
        let other = said(&world, &format!("{verb}-other"));
        assert_eq!(other["status"], "success", "the fixture works untouched: {other}");
    }
    let found = |world: &World| {
        let all = said(world, "found")["hits"].as_array().unwrap().clone();
        all.iter().map(|hit| hit["item_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&world).len(), 2, "the fixture works untouched");
    assert!(said(&world, "near").to_string().contains("acme/other"));
    fork(&world, &[]).ok();
    for verb in reads {
        let echo = said(&world, &format!("{verb}-echo"));
        assert_eq!(echo["status"], "success", "{echo}");
        is_denied(&world, &format!("{verb}-other"));
    }
    assert_eq!(found(&world), ["tool:acme/echo"]);
    assert!(!said(&world, "near").to_string().contains("acme/other\""));
}

#[test]
fn a_thread_that_a_tool_starts_is_below_the_thread_of_the_tool_and_counts_for_it() {
    let script = "$rye execute directive:acme/child --thread fork --json > first 2>&1; \
                  $rye execute directive:acme/child --thread fork --json > second 2>&1; true";
    let permissions =
        "<execute><tool>acme.starts</tool><directive>acme.child</directive></execute>";
    let world = starts(script, permissions);
    // The child asks for more than the thread above has.
    let child = "<execute><tool>acme.*</tool></execute>";
    let child = directive("child", "turns=\"4\"", child).replace("acme/script", "acme/childs");
    world.signed(".ai/directives/acme/child.md", &child);
    let turns = json!([call("rye_execute", &json!({"item_id": "tool:acme/other"})), hand_over()]);
    world.signed_home(".ai/tools/acme/childs.yaml", &provider(&turns));
    let told = fork(&world, &["--limit", "spawns=1"]).ok();
    let first = said(&world, "first");
    assert_eq!(first["outputs"], json!({"n": 7}), "{first}");
    let denied = events(&world, first["thread_id"].as_str().unwrap(), "tool_call_result");
    let denied: Value = serde_json::from_str(denied[0]["content"].as_str().unwrap()).unwrap();
    assert_eq!(denied["error_kind"], "permission_denied", "{denied}");
    let second = said(&world, "second");
    assert_eq!(second["code"], "thread.limit_exceeded", "{second}");
    let all = rows(&world);
    assert_eq!(all.len(), 2);
    assert_eq!(all[1]["parent"], all[0]["thread_id"]);
    let (_, shown) = world.json(&["thread", "show", all[0]["thread_id"].as_str().unwrap()]);
    // Two turns of the thread itself, and two of the one below.
    assert_eq!(told["cost"]["turns"], 4, "{shown}");
    assert_eq!(told["cost"]["spawns"], 1, "{shown}");
}

#[test]
fn a_tool_of_a_child_reaches_what_both_threads_reach() {
    let narrow = "<execute><tool>acme.echo</tool><tool>acme.starts</tool>\
                  <directive>acme.child</directive></execute>";
    let turns = json!([
        call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"})),
        hand_over()
    ]);
    let world = world(&turns, "turns=\"9\"", narrow);
    tool(&world, "starts", &starting(&world, TRY_BOTH));
    let wide = "<execute><tool>acme.*</tool></execute>";
    let child = directive("child", "turns=\"4\"", wide).replace("acme/script", "acme/childs");
    world.signed(".ai/directives/acme/child.md", &child);
    let turns = json!([call("acme_starts", &json!({})), hand_over()]);
    world.signed_home(".ai/tools/acme/childs.yaml", &provider(&turns));
    fork(&world, &[]).ok();
    assert_eq!(said(&world, "permitted")["status"], "success");
    is_denied(&world, "other");
}

#[test]
fn a_hook_that_starts_rye_in_a_thread_reaches_what_the_thread_reaches() {
    let turns = json!([call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let script = "[ -e once ] && { echo '{\"allow\":true}'; exit; }; : > once; ".to_owned();
    let script = script + TRY_BOTH + "; echo '{\"allow\":true}'";
    hook(&world, "guard", "phases: [before_execution]\n", &starting(&world, &script));
    fork(&world, &[]).ok();
    assert_eq!(said(&world, "permitted")["status"], "success");
    is_denied(&world, "other");
}

#[test]
fn a_server_that_lives_on_reaches_what_the_thread_reaches_that_it_serves() {
    let permissions = "<execute><tool>acme.server</tool><tool>acme.echo</tool></execute>";
    let turns =
        json!([call("acme_server", &json!({})), call("acme_server", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", permissions);
    let script = starting(&world, TRY_BOTH);
    let server = format!(
        "#!/bin/sh\nwhile read -r line; do\nid=${{line#*'\"id\":'}}; id=${{id%%,*}}\n\
         n=$((n + 1)); ({script}) </dev/null\n\
         echo \"{{\\\"id\\\":$id,\\\"result\\\":\\\"$n\\\"}}\"\ndone\n"
    );
    world.signed_exec("server", "server", "", &server);
    fork(&world, &[]).ok();
    assert_eq!(said(&world, "permitted")["status"], "success");
    is_denied(&world, "other");
}

#[test]
fn what_outlives_its_thread_runs_nothing() {
    // The lock is held for as long as there is anybody who could start it.
    let script = "setsid sh -c 'exec 9>held; flock 9; : > ready; \
                  while [ ! -e over ]; do sleep 0.1; done; \
                  env HOME=$1 $2 execute tool:acme/echo --json > late.part 2>&1; mv late.part late' \
                  x $h $p > /dev/null 2>&1 & while [ ! -e ready ]; do sleep 0.1; done";
    let world = starts("true", PERMITTED);
    let script = format!("h='{}'; p='{}'; {script}", world.home().display(), program());
    tool(&world, "starts", &starting(&world, &script));
    fork(&world, &[]).ok();
    let held = fs::File::open(world.project().join("held")).unwrap();
    world.write("over", "");
    held.lock().unwrap();
    // Whoever was killed with the tool says nothing.
    if world.project().join("late").exists() {
        assert_eq!(said(&world, "late")["code"], "thread.outside", "{}", said(&world, "late"));
    }
    assert!(!world.project().join("ran").exists());
}

#[test]
fn where_the_registry_is_out_of_reach_a_rye_within_a_thread_runs_and_signs_nothing() {
    crate::sandbox::needed();
    let turns = json!([call("acme_starts", &json!({})), hand_over()]);
    let world = World::new_beside_tmp()
        .with(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", PERMITTED));
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&turns));
    tool(&world, "echo", "echo x; touch ran");
    let rye = format!("env HOME={} {}", world.home().display(), program());
    let header = "# /// rye\n# version = \"1.0.0\"\n# tool_type = \"tool\"\n\
                  # executor_id = \"rye/core/runtimes/shell/script\"\n# category = \"acme\"\n\
                  # description = \"Starts rye.\"\n";
    let sees = format!("# sandbox = {{ fs = {{ read = [\"{}\"] }} }}\n# ///\n", program());
    let world = world.held();
    for does in ["execute tool:acme/echo", "sign tool:acme/echo"] {
        let script = format!("{rye} {does} --json; true\n");
        world.signed(".ai/tools/acme/starts.sh", &format!("{header}{sees}{script}"));
        let told = world.json(&["execute", "tool:acme/starts"]).ok();
        let code = &told["data"]["code"];
        assert_ne!(code, "thread.outside", "outside of a thread it is another matter");
        let told = fork(&world, &[]).ok();
        let result = &events(&world, told["thread_id"].as_str().unwrap(), "tool_call_result")[0];
        assert!(result["content"].as_str().unwrap().contains("thread.outside"), "{result}");
    }
}

#[test]
fn a_variable_of_a_thread_that_nobody_knows_makes_only_stricter() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    world.works("tool:acme/echo");
    let world = world.env("RYE_THREAD", "acme/go/go-01234567-89ab-7def-8000-000000000000");
    world.json(&["execute", "tool:acme/echo"]).fails(4, "thread.outside");
    // What only looks is not held back.
    world.rye(&["list"]).ok();
}

/// Asks a person, and leaves a trace once one approved.
const ASKS: &str = r#"#!/bin/sh
read -r call
case "$call" in
*'"approval":'*) echo paid >>paid; echo '{"result":{"paid":true}}' ;;
*) printf '{"pending":{"reason":"amount","message":"Pay?"}}\n' ;;
esac
"#;

#[test]
fn a_thread_that_a_tool_starts_cannot_wait_for_a_person_and_leaves_no_request_behind() {
    let script = "$rye execute directive:acme/child --thread fork --json > child 2>&1; true";
    let world = starts(
        script,
        "<execute><tool>acme.*</tool><tool>rye.code</tool><directive>acme.*</directive></execute>",
    );
    world.write(".ai/tools/acme/pay-it.sh", ASKS);
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Pays.\nexec:\n  command: ./pay-it.sh\n  \
                files: [pay-it.sh]\n";
    world.signed(".ai/tools/acme/pay.yaml", item);
    let all = "<execute><tool>*</tool></execute>";
    let child = directive("child", "turns=\"4\"", all).replace("acme/script", "acme/childs");
    world.signed(".ai/directives/acme/child.md", &child);
    let snippet = json!({"code": "await runTool('acme/pay', {})"});
    let mut calls = vec![
        call("acme_pay", &json!({})),
        call(
            "rye_execute",
            &json!({
                "item_id": "tool:acme/pay",
            }),
        ),
    ];
    if cfg!(feature = "code") {
        calls.push(call("rye_code", &snippet));
    }
    let many = calls.len();
    calls.push(hand_over());
    world.signed_home(".ai/tools/acme/childs.yaml", &provider(&json!(calls)));
    // The fixture works: a child that a model starts waits, and its parent with it.
    let asked = world.json(&["execute", "directive:acme/child", "--thread", "fork"]);
    assert_eq!((asked.0, &asked.1["status"]), (8, &json!("pending")), "{}", asked.1);
    let own = asked.1["pending"]["id"].as_str().unwrap().to_owned();
    assert_eq!(fork(&world, &[]).0, 0);
    let child = said(&world, "child");
    assert_eq!(child["outputs"], json!({"n": 7}), "{child}");
    let gave = events(&world, child["thread_id"].as_str().unwrap(), "tool_call_result");
    for gave in &gave[..many] {
        let told: Value = serde_json::from_str(gave["content"].as_str().unwrap()).unwrap();
        assert_eq!(told["detail"]["code"], "thread.cannot_wait", "{told}");
        assert!(told["message"].as_str().unwrap().contains("cannot wait"), "{told}");
    }
    let (_, listed) = world.json(&["pending", "list"]);
    let waiting =
        listed["pending"].as_array().unwrap().iter().filter(|it| it["state"] == "waiting");
    let waiting: Vec<&Value> = waiting.map(|it| &it["id"]).collect();
    assert_eq!(waiting, [&json!(own)], "{listed}");
    assert!(!world.project().join("paid").exists());
}
