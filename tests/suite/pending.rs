//! A tool asks a person: kept, shown, decided once, run as it was asked for (exec-protocol 4).

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::wait::until;
use crate::world::{End, World, whole};

pub const PAY: &str = "tool:acme/pay";
pub const ITEM: &str = ".ai/tools/acme/pay.yaml";
const PROGRAM: &str = ".ai/tools/acme/pay-it.sh";

/// Asks for a person above 1,000, and leaves a mark when it pays.
const PAYS: &str = r#"#!/bin/sh
read -r call
case "$call" in
*'"again":'*) printf '{"pending":{"reason":"again","message":"Really?"}}\n' ;;
*'"slow":'*'"approval":'*|*'"approval":'*'"slow":'*) echo paid >>paid; sleep 1; echo '{"result":"slow"}' ;;
*'"forever":'*'"approval":'*|*'"approval":'*'"forever":'*) echo paid >>paid; exec sleep 30 ;;
*'"approval":'*) echo paid >>paid; printf '{"result":%s}\n' "$call" ;;
*) printf '{"pending":{"reason":"amount","message":"Pay?"}}\n' ;;
esac
"#;

pub fn world() -> World {
    world_with("")
}

/// The same with a tool that asks for variables.
pub fn world_where_it_asks_for(names: &str) -> World {
    world_with(&format!("  env: [{names}]\n"))
}

fn world_with(more: &str) -> World {
    let world = World::new();
    world.write(PROGRAM, PAYS);
    world.signed(
        ITEM,
        &format!(
            "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
             category: acme\ndescription: Pays.\n\
             exec:\n  command: ./pay-it.sh\n  files: [pay-it.sh]\n{more}"
        ),
    );
    world
}

/// Runs the tool, which asks; the id of the request.
fn asked(world: &World, amount: &str) -> String {
    let (status, got) = world.json(&["execute", PAY, "-i", amount]);
    assert_eq!((status, &got["status"]), (8, &json!("pending")), "{got}");
    got["pending"]["id"].as_str().unwrap().to_owned()
}

fn waiting(world: &World) -> Vec<Value> {
    let got = world.json(&["pending", "list"]).ok();
    got["pending"].as_array().unwrap().clone()
}

/// A hook of the person that sees every call of the tool before it is made.
fn hook(world: &World, name: &str, more: &str, script: &str) {
    let file = format!("{name}-it.sh");
    world.write_home(&format!(".ai/tools/hooks/{file}"), format!("#!/bin/sh\n{script}\n"));
    world.signed_home(
        &format!(".ai/tools/hooks/{name}.yaml"),
        &format!(
            "version: \"1.0.0\"\ntool_type: hook\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
             category: hooks\ndescription: A hook.\nhook: tool\nphases: [before_execution]\n{more}\
             exec:\n  command: ./{file}\n  files: [{file}]\n"
        ),
    );
}

pub fn paid(world: &World) -> usize {
    let text = std::fs::read_to_string(world.project().join("paid")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn what_a_tool_asks_waits_and_runs_once_when_it_is_approved() {
    let world = world();
    let id = asked(&world, "amount=5000");
    assert_eq!(paid(&world), 0);
    let row = &waiting(&world)[0];
    assert_eq!(row["id"], json!(id));
    assert_eq!((&row["item_id"], &row["reason"]), (&json!(PAY), &json!("amount")));
    assert_eq!(row["message"], "Pay?");
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!(shown["params"], json!({"amount": "5000"}));
    // From anywhere: it runs where it was asked for.
    let anywhere = world.outside().join("anywhere");
    std::fs::create_dir(&anywhere).unwrap();
    let said = world.rye_in(&anywhere, &["pending", "approve", &id, "--json"], b"");
    let got = said.json();
    assert_eq!((said.status, &got["status"]), (0, &json!("success")), "{said:?}");
    assert_eq!(got["data"]["args"], json!({"amount": "5000"}));
    let approval = &got["data"]["approval"];
    assert_eq!(approval["id"], json!(id));
    assert!(approval["by"].as_str().unwrap().len() == 32, "{approval}");
    assert_eq!(paid(&world), 1);
    assert!(waiting(&world).is_empty());
    for verb in ["approve", "reject"] {
        world.json(&["pending", verb, &id]).fails(4, "pending.decided");
    }
    assert_eq!(paid(&world), 1);
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!((&shown["state"], &shown["result"]["status"]), (&json!("done"), &json!("success")));
}

#[test]
fn who_chains_a_command_behind_one_that_waits_for_a_person_does_not_go_on() {
    let world = world();
    let run = "rye execute acme/pay -i amount=5000";
    for flags in ["", " --json", " --trace", " --receipt r.json"] {
        let went = world.shell(&format!("{run}{flags} >/dev/null 2>&1 && echo shipped; echo $?"));
        assert_eq!(went, "8\n", "{flags}");
    }
    let said = world.rye(&["run", PAY, "-i", "amount=5000"]);
    assert_eq!(said.status, 8, "{said:?}");
    assert!(said.stdout.contains("waits for a person"), "{said:?}");
    // A terminal shows its colours, and no codes.
    let said = world.rye_at_a_terminal("", &["run", PAY, "-i", "amount=5000"]);
    assert!(
        said.stdout.contains("waits for a person") && !said.stdout.contains("u{1b}"),
        "{said:?}"
    );
    assert_eq!(paid(&world), 0);
    // What only says what would be done is done.
    world.rye(&["run", PAY, "-i", "amount=5000", "--dry-run"]).ok();
    let id = asked(&world, "amount=5000");
    world.rye(&["pending", "approve", &id]).ok();
    assert_eq!(paid(&world), 1);
}

#[test]
fn what_a_tool_does_behind_a_question_was_not_learned() {
    crate::sandbox::needed();
    let world = world();
    let before = world.read(ITEM);
    let (status, got) = world.json(&["learn", PAY, "-i", "amount=5000", "--write"]);
    assert_eq!((status, &got["status"]), (8, &json!("pending")), "{got}");
    assert_eq!((&got["written"], world.read(ITEM)), (&json!(false), before), "{got}");
    let said = world.rye(&["learn", PAY, "-i", "amount=5000"]);
    assert!(said.status == 8 && said.stderr.contains("waits for a person"), "{said:?}");
}

/// Asks so many times at once for `PAY`, and gives the answers that are not requests.
fn asked_at_once(world: &World, many: usize) -> Vec<String> {
    let ask = || {
        let mut command = world.command(&["execute", PAY, "-i", "amount=5000", "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let all: Vec<_> = (0..many).map(|_| ask()).collect();
    let said = all.into_iter().map(|child| child.wait_with_output().unwrap().stdout);
    let said = said.map(|text| String::from_utf8_lossy(&text).into_owned());
    said.filter(|text| !text.contains("\"status\":\"pending\"")).collect()
}

/// 40 here; the whole is 200.
#[test]
fn of_many_who_ask_at_once_for_the_first_time_none_is_lost() {
    let world = world();
    assert!(!world.home().join(".ai/state/registry.db").exists(), "nobody has asked before");
    let many = if whole() { 200 } else { 40 };
    assert_eq!(asked_at_once(&world, many), Vec::<String>::new());
    assert_eq!(waiting(&world).len(), many);
    // Nothing lies beside the registry, and it is for its owner alone.
    let folder = world.home().join(".ai/state");
    let found = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let found = found.filter(|entry| entry.file_type().unwrap().is_file());
    let names: Vec<_> = found.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.starts_with(".rye-")), "{names:?}");
    let mode = std::fs::metadata(folder.join("registry.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn of_two_who_approve_at_once_one_runs_it() {
    let world = world();
    let id = asked(&world, "slow=yes");
    // Both have seen that it waits before one of them claims it.
    let meet = "cd \"$RYE_PROJECT\"; mktemp come.XXXXXX >/dev/null; n=0\n\
        while [ \"$(ls come.* | wc -l)\" -lt 2 ] && [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done\n\
        echo '{\"allow\":true}'";
    hook(&world, "meet", "", meet);
    let approve = || {
        let mut command = world.command(&["pending", "approve", &id, "--json"]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut both = [approve(), approve()];
    let mut ends: Vec<_> = both.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    ends.sort();
    assert_eq!(ends, [Some(0), Some(4)]);
    assert_eq!(paid(&world), 1);
    // What is kept is what came of the run, not that the other one was too late.
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!(
        (&shown["state"], &shown["result"]["data"]),
        (&json!("done"), &json!("slow")),
        "{shown}"
    );
}

#[test]
fn f11_what_changed_since_it_was_asked_is_not_approved() {
    let world = world();
    let id = asked(&world, "amount=5000");
    let approve = || {
        let (status, got) = world.json(&["pending", "approve", &id]);
        (status, got["code"].as_str().unwrap_or_default().to_owned())
    };
    // The program, not signed again; then signed again.
    world.write(PROGRAM, format!("{PAYS}# more\n"));
    assert_eq!(approve(), (4, "verify.dependency".into()));
    world.rye(&["sign", PAY]).ok();
    assert_eq!(approve(), (4, "pending.drifted".into()));
    assert_eq!(paid(&world), 0);
    // It still waits: nothing was decided.
    assert_eq!(waiting(&world).len(), 1);
    world.write(PROGRAM, PAYS);
    let asked_again = asked_after_signing(&world);
    assert_eq!(world.json(&["pending", "approve", &asked_again]).ok()["status"], "success");
}

/// What `rye pending approve` says: the status, and the code and the message of a failure.
fn approved(world: &World, id: &str) -> (i32, String, String) {
    let (status, got) = world.json(&["pending", "approve", id]);
    let text = |key: &str| got[key].as_str().unwrap_or_default().to_owned();
    (status, text("code"), text("error"))
}

#[test]
fn what_the_projects_env_file_says_otherwise_since_it_was_asked_is_not_approved() {
    let world = world_where_it_asks_for("ACCOUNT, RATE, LIMIT");
    let before = "ACCOUNT=DE-hush-1\nRATE=hush-2\nOTHER=hush-3\n";
    world.write(".env", before);
    let id = asked(&world, "amount=5000");
    // Another value, one less, one more: each is named, and no value is told.
    for (text, names) in [
        ("ACCOUNT=XX-hush-1\nRATE=hush-2\n", "of `ACCOUNT` now"),
        ("ACCOUNT=XX-hush-1\nRATE=\n", "of `ACCOUNT`, `RATE` now"),
        ("RATE=hush-2\n", "was `ACCOUNT`, is not there"),
        ("ACCOUNT=DE-hush-1\nRATE=hush-2\nLIMIT=hush-4\n", "was not there, is `LIMIT`"),
        ("ACCOUNT=hush-2\nRATE=DE-hush-1\n", "of `ACCOUNT`, `RATE` now"),
    ] {
        world.write(".env", text);
        let (status, code, error) = approved(&world, &id);
        assert_eq!((status, code.as_str()), (4, "pending.drifted"), "{text:?}: {error}");
        assert!(error.contains(names) && !error.contains("hush"), "{text:?}: {error}");
    }
    std::fs::remove_file(world.project().join(".env")).unwrap();
    assert_eq!(approved(&world, &id).1, "pending.drifted");
    assert_eq!((paid(&world), waiting(&world).len()), (0, 1), "nothing was decided");
    // What no tool asks for may change, and so may everything but the values.
    world.write(".env", "# tidy\nexport RATE='hush-2'\n\nACCOUNT=DE-hush-1\nOTHER=new\n");
    assert_eq!(approved(&world, &id), (0, String::new(), String::new()));
    assert_eq!(paid(&world), 1);
    // The registry holds no value, nor what each value's own digest is.
    for file in std::fs::read_dir(world.home().join(".ai/state")).unwrap() {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        for text in ["DE-hush-1", "hush-2", &crate::world::sha256(b"hush-2")] {
            let at = bytes.windows(text.len()).position(|part| part == text.as_bytes());
            assert_eq!(at, None, "{text} in {}", path.display());
        }
    }
}

#[test]
fn a_person_may_change_their_own_environment_before_they_approve() {
    let world = world_where_it_asks_for("ACCOUNT, RATE");
    world.write(".env", "RATE=1\n");
    let own = |value: &str, args: &[&str]| {
        let said = world.rye_env(&world.project(), args, b"", &[("ACCOUNT", value)]);
        (said.status, said.json())
    };
    let ask = |value: &str| {
        let (status, got) = own(value, &["execute", PAY, "-i", "amount=1", "--json"]);
        assert_eq!(status, 8, "{got}");
        got["pending"]["id"].as_str().unwrap().to_owned()
    };
    // Another value of their own.
    let id = ask("one");
    assert_eq!(own("two", &["pending", "approve", &id, "--json"]).0, 0);
    // The project does not fill in what was theirs.
    let id = ask("one");
    world.write(".env", "RATE=1\nACCOUNT=planted\n");
    let (status, code, error) = approved(&world, &id);
    assert_eq!((status, code.as_str()), (4, "pending.drifted"), "{error}");
    assert!(error.contains("of `ACCOUNT` now"), "{error}");
    assert_eq!(own("three", &["pending", "approve", &id, "--json"]).0, 0);
    // They fill in what was the project's.
    let id = asked(&world, "amount=1");
    assert_eq!(own("two", &["pending", "approve", &id, "--json"]).0, 0);
    assert_eq!(paid(&world), 3);
}

#[test]
fn a_registry_of_an_earlier_rye_is_moved_aside_and_said() {
    let world = world();
    asked(&world, "amount=1");
    let registry = world.home().join(".ai/state/registry.db");
    let older = rusqlite::Connection::open(&registry).unwrap();
    older.pragma_update(None, "user_version", 13).unwrap();
    drop(older);
    let mut list = world.command(&["pending", "list"]);
    let said = list.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && stderr.contains("registry.db.v13"), "{said:?}");
    assert!(registry.with_file_name("registry.db.v13").is_file());
    asked(&world, "amount=2");
    assert_eq!(waiting(&world).len(), 1, "what is asked from here on is kept anew");
}

fn asked_after_signing(world: &World) -> String {
    world.rye(&["sign", PAY]).ok();
    asked(world, "amount=5000")
}

#[test]
fn f11_a_child_of_rye_cannot_approve_by_itself() {
    let world = world();
    let id = asked(&world, "amount=5000");
    world.rye_below_a_run(&["pending", "approve", &id, "--json"]).fails(2, "cli.not_confirmed");
    world.rye_below_a_run(&["pending", "reject", &id, "--json"]).fails(2, "cli.not_confirmed");
    assert_eq!((paid(&world), waiting(&world).len()), (0, 1));
    world.rye_below_a_run_at_a_terminal("y\n", &["pending", "approve", &id]).ok().shows("Pay?");
    assert_eq!(paid(&world), 1);
}

#[test]
fn whoever_waits_is_told_what_came_of_it() {
    let world = world();
    let wait = |decide: &dyn Fn(&str)| {
        let mut command = world.command(&["execute", PAY, "-i", "amount=1", "--wait", "--json"]);
        let child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let late = std::time::Instant::now() + std::time::Duration::from_mins(1);
        let id = loop {
            if let Some(row) = waiting(&world).first() {
                break row["id"].as_str().unwrap().to_owned();
            }
            assert!(std::time::Instant::now() < late, "it never asked");
        };
        decide(&id);
        let output = child.wait_with_output().unwrap();
        let got: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), got)
    };
    let (status, got) = wait(&|id| assert_eq!(world.rye(&["pending", "approve", id]).status, 0));
    assert_eq!((status, &got["status"]), (Some(0), &json!("success")), "{got}");
    assert_eq!(got["data"]["args"], json!({"amount": "1"}));
    let (status, got) = wait(&|id| {
        world.rye(&["pending", "reject", id, "--reason", "too much"]).ok();
    });
    assert_eq!((status, &got["code"]), (Some(4), &json!("pending.rejected")));
    assert_eq!(got["error"], "rejected: too much");
    assert_eq!(paid(&world), 1);
}

#[test]
fn an_approved_run_that_asks_again_fails_and_asks_nobody() {
    let world = world();
    let id = asked(&world, "again=yes");
    world.json(&["pending", "approve", &id]).fails(7, "protocol.pending_again");
    assert_eq!(paid(&world), 0);
    let (_, got) = world.json(&["pending", "list", "--all"]);
    assert_eq!(got["pending"].as_array().unwrap().len(), 1, "{got}");
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!(shown["result"]["code"], "protocol.pending_again");
}

#[test]
fn the_registry_is_closed_to_others_and_what_cannot_be_kept_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let world = world();
    asked(&world, "amount=5000");
    let file = world.home().join(".ai/state/registry.db");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, "no database").unwrap();
    world.json(&["execute", PAY, "-i", "amount=5000"]).fails(6, "registry.io");
    assert_eq!(paid(&world), 0);
    let got = world.json(&["pending", "list"]).fails(6, "registry.io");
    let help = got["help"].as_str().unwrap();
    assert!(help.contains("not as rye wrote it") && !help.contains("disk"), "{help}");
}

#[test]
fn an_unknown_request_is_told_with_what_to_do() {
    let world = world();
    let (status, got) = world.json(&["pending", "show", "p-1"]);
    assert_eq!((status, &got["code"]), (3, &json!("pending.not_found")), "{got}");
    assert!(got["help"].as_str().unwrap().contains("rye pending list"), "{got}");
    let said = world.rye(&["pending", "list"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, "nothing waits for a person\n"));
}

#[test]
fn what_was_asked_for_the_record_can_be_approved() {
    let world = world();
    let file = world.outside().join("receipt.json").display().to_string();
    let plan = world.outside().join("plan.json").display().to_string();
    world.rye(&["plan", PAY, "-i", "amount=5000", "--out", &plan]).ok();
    for flags in [["--receipt", &file], ["--plan", &plan]] {
        let (status, got) = world.json(&["execute", PAY, "-i", "amount=5000", flags[0], flags[1]]);
        assert_eq!((status, &got["status"]), (8, &json!("pending")), "{got}");
        let id = got["pending"]["id"].as_str().unwrap();
        let (status, got) = world.json(&["pending", "approve", id]);
        assert_eq!((status, &got["status"]), (0, &json!("success")), "{flags:?}: {got}");
    }
    assert_eq!(paid(&world), 2);
}

#[test]
fn that_a_policy_asks_for_receipts_since_then_is_no_drift() {
    let world = world();
    let kept = asked(&world, "amount=5000");
    let changed = asked(&world, "amount=5001");
    world.signed_home(
        ".ai/config/rye/policy.yaml",
        "receipts: always\nsandbox_off: [\"tool:**\"]\n",
    );
    let (status, got) = world.json(&["pending", "approve", &kept]);
    assert_eq!((status, &got["status"]), (0, &json!("success")), "{got}");
    assert_eq!(got["metadata"]["receipts"].as_array().map(Vec::len), Some(1), "{got}");
    // What runs must still be what was asked for.
    world.write(PROGRAM, format!("{PAYS}# more\n"));
    world.rye(&["sign", PAY]).ok();
    world.json(&["pending", "approve", &changed]).fails(4, "pending.drifted");
    assert_eq!(paid(&world), 1);
}

#[test]
fn a_hook_replaces_before_it_is_asked_and_not_what_was_approved() {
    let world = world();
    // What it wants stands in a file.
    let more = "echo '{\"allow\":true,\"replace\":{\"args\":{\"amount\":\"'\"$(cat \"$RYE_PROJECT/next\")\"'\"}}}'";
    hook(&world, "more", "replaces: true\n", more);
    world.write("next", "50");
    let id = asked(&world, "amount=5");
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!(shown["params"], json!({"amount": "50"}));
    world.write("next", "500");
    let got = world.json(&["pending", "approve", &id]).fails(4, "pending.drifted");
    let error = got["error"].as_str().unwrap();
    assert!(error.contains("a hook wants other arguments than those that were approved"), "{got}");
    assert_eq!((paid(&world), waiting(&world).len()), (0, 1));
    // One that wants nothing else stands in nobody's way.
    world.write("next", "50");
    let (status, got) = world.json(&["pending", "approve", &id]);
    assert_eq!((status, &got["data"]["args"]), (0, &json!({"amount": "50"})), "{got}");
}

#[test]
fn a_case_of_a_spec_asks_nobody() {
    let world = world();
    let spec = |case: &str| {
        world.write(".ai/tools/acme/pay.test.yaml", format!("cases:\n  - {case}\n"));
        let (status, got) = world.json(&["test"]);
        (status, got["cases"][0]["findings"].clone())
    };
    let (status, findings) = spec("{inputs: {amount: 5}}");
    assert_eq!((status, &findings[0]["what"]), (1, &json!("pending")), "{findings}");
    assert!(findings[0]["why"].as_str().unwrap().contains("Pay?"), "{findings}");
    assert!(waiting(&world).is_empty());
    assert_eq!(spec("{inputs: {amount: 5}, expect: {pending: true}}"), (0, json!([])));
    let (status, findings) = spec("{inputs: {amount: 5}, expect: {pending: false}}");
    assert_eq!((status, &findings[0]["what"]), (1, &json!("pending")), "{findings}");
    let (status, findings) = spec("{inputs: {approval: 5}, expect: {pending: true}}");
    assert_eq!((status, &findings[0]["what"]), (1, &json!("pending")), "{findings}");
    assert!(waiting(&world).is_empty());
}

#[test]
fn of_an_approver_that_died_nobody_waits_for_the_end() {
    let world = world();
    let wait = || {
        let mut wait = world.command(&["execute", PAY, "-i", "forever=1", "--wait", "--json"]);
        wait.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let waits = wait();
    until("it never asked", || !waiting(&world).is_empty());
    let id = waiting(&world)[0]["id"].as_str().unwrap().to_owned();
    let mut command = world.command(&["pending", "approve", &id, "--json"]);
    let mut approver = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    until("it never started", || paid(&world) == 1);
    let (_, shown) = world.json(&["pending", "show", &id]);
    assert_eq!(shown["state"], "approved", "{shown}");
    approver.kill().unwrap();
    approver.wait().unwrap();
    let output = ended(waits);
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &got["code"]), (Some(4), &json!("pending.lost")), "{got}");
    assert_eq!(world.json(&["pending", "show", &id]).ok()["state"], "lost");
    world.rye(&["pending", "show", &id]).shows("approved, but how it ended is not known");
    world.json(&["pending", "approve", &id]).fails(4, "pending.decided");
}

/// What it said; it is ended if that takes too long.
fn ended(mut child: std::process::Child) -> std::process::Output {
    let late = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if std::time::Instant::now() > late {
            child.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn the_receipt_of_a_run_that_asks_says_that_it_is_pending() {
    let world = world();
    let file = world.outside().join("receipt.json").display().to_string();
    let (status, got) = world.json(&["execute", PAY, "-i", "amount=1", "--receipt", &file]);
    assert_eq!((status, &got["status"]), (8, &json!("pending")), "{got}");
    let (status, got) = world.json(&["receipt", "verify", &file]);
    assert_eq!((status, &got["receipt"]["predicate"]["ended"]), (0, &json!("pending")), "{got}");
}
