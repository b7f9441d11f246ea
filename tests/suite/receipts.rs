//! Receipts of runs: what they say, also of runs that fail, and that no run starts without a place
//! and a key for one that is asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::world::items::native;
use crate::world::{End, MARKER_SH, World, sha256};

const ITEM: &str = "tool:acme/mark";

fn tool(world: &World, body: &str) {
    world.signed(
        ".ai/tools/acme/mark.sh",
        &MARKER_SH.replace(": > marker\necho '{\"ran\": true}'", body),
    );
}

/// The statement in a receipt, after rye itself verified it.
#[track_caller]
fn statement(world: &World, path: &Path) -> Value {
    world.rye(&["receipt", "verify", path.to_str().unwrap()]).ok();
    let envelope: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}

#[test]
fn a_receipt_says_what_ran_when_and_how_it_ended() {
    let world = World::new();
    tool(&world, "echo \"$RYE_RUN_ID\"; cat; echo oops >&2");
    let path = world.outside().join("receipt.json");
    let receipt = path.to_str().unwrap();
    let before = jiff::Timestamp::now();
    let got = world.json(&["execute", ITEM, "-i", "a=1", "--receipt", receipt]).ok();
    let statement = statement(&world, &path);
    let said = &statement["predicate"];
    let plan = world.rye(&["plan", ITEM, "-i", "a=1"]).json();
    assert_eq!(
        statement["subject"],
        json!([{"name": ITEM, "digest": {"sha256": plan["digests"][0]["sha256"]}}])
    );
    assert_eq!(said["plan"]["sha256"], plan["sha256"]);
    assert_eq!(said["params"]["sha256"], sha256(b"{\"a\":\"1\"}"));
    assert_eq!((&said["chain"], &said["interpreter"]), (&plan["digests"], &plan["interpreter"]));
    assert_eq!(said["sandbox"], plan["sandbox"]);
    assert_eq!(
        (&said["ended"], &said["exit_code"], &said["signal"]),
        (&json!("success"), &json!(0), &json!(null))
    );
    let stdout = got["data"]["stdout"].as_str().unwrap();
    let stream = |text: &str| json!({"sha256": sha256(text.as_bytes()), "bytes": text.len(), "truncated": false});
    assert_eq!((&said["stdout"], &said["stderr"]), (&stream(stdout), &stream("oops\n")));
    // The name of the run is the one that the tool was told and that the caller is told.
    let run = said["run_id"].as_str().unwrap();
    assert_eq!(stdout, format!("{run}\n{{\"a\":\"1\"}}"));
    assert_eq!(got["metadata"]["run_id"], run);
    assert_eq!(got["metadata"]["receipts"], json!([receipt]));
    let time = |key: &str| said[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let second = jiff::SignedDuration::from_secs(1);
    assert!(before - second < time("started_at") && time("started_at") <= time("ended_at"));
    assert!(time("ended_at") <= jiff::Timestamp::now() + second);
    assert_eq!(said["warnings"], json!([]));
    assert!(world.rye(&["--version"]).stdout.contains(said["rye"].as_str().unwrap()));
    // For people, too.
    let text = world.rye(&["receipt", "verify", receipt]).stdout;
    for part in ["receipt verified  signed by `you`", run, ITEM, "success (status 0)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_run_that_fails_leaves_a_receipt_too() {
    let world = World::new();
    let path = world.outside().join("receipt.json");
    let receipt = path.to_str().unwrap();
    let rows = [
        ("echo no >&2; exit 3", "execute.tool_failed", 1, json!(3), json!(null)),
        ("echo '{\"success\": false}'", "execute.tool_failed", 1, json!(0), json!(null)),
        ("kill -KILL $$", "execute.tool_failed", 1, json!(137), json!(9)),
        ("trap '' TERM; exec sleep 60", "execute.timeout", 6, json!(137), json!(9)),
        // rye hands the signal on, and only this tool's own end is to be seen.
        (
            "trap '' TERM; kill -TERM \"$PPID\"; kill -KILL $$",
            "execute.interrupted",
            -1,
            json!(137),
            json!(9),
        ),
    ];
    for (body, code, status, exit_code, signal) in rows {
        tool(&world, body);
        let said = world.rye(&["execute", ITEM, "--receipt", receipt, "--timeout", "1", "--json"]);
        assert_eq!((said.code().as_str(), said.status), (code, status), "{body}: {said:?}");
        let ran = statement(&world, &path)["predicate"].clone();
        assert_eq!(
            (&ran["ended"], &ran["exit_code"], &ran["signal"]),
            (&json!(code), &exit_code, &signal),
            "{body}: {ran}"
        );
        assert!(ran["stdout"]["sha256"].is_string(), "{ran}");
        fs::remove_file(&path).unwrap();
    }
    // What could not be started says so, and that nothing was heard of it.
    let program = world.outside().join("garbage");
    fs::write(&program, [0_u8, 1, 2, 3]).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let native = native(&format!("config: {{command: '{}'}}\n", program.display()));
    world.signed(".ai/tools/acme/garbage.yaml", &native);
    let said = world.rye(&["execute", "acme/garbage", "--receipt", receipt]);
    assert_eq!(said.code(), "execute.spawn");
    let ran = statement(&world, &path)["predicate"].clone();
    assert_eq!(
        (&ran["ended"], &ran["exit_code"], &ran["stdout"]),
        (&json!("execute.spawn"), &json!(null), &json!(null))
    );
}

#[test]
fn outputs_are_digested_to_the_last_byte_also_past_what_is_kept() {
    let world = World::new();
    tool(&world, "head -c 20000000 /dev/zero; head -c 3 /dev/zero >&2");
    let path = world.outside().join("receipt.json");
    let (status, got) = world.json(&["execute", ITEM, "--receipt", path.to_str().unwrap()]);
    assert_eq!((status, &got["metadata"]["truncated"]), (0, &json!(true)));
    let ran = statement(&world, &path)["predicate"].clone();
    let zeros = |bytes: usize| sha256(&vec![0; bytes]);
    assert_eq!(
        ran["stdout"],
        json!({"sha256": zeros(20_000_000), "bytes": 20_000_000, "truncated": true})
    );
    assert_eq!(ran["stderr"], json!({"sha256": zeros(3), "bytes": 3, "truncated": false}));
}

#[test]
fn f08_no_secret_and_no_content_stands_in_a_receipt() {
    let world = World::new().env("API_TOKEN", "canary-secret").env("OTHER", "canary-other");
    let head = "# description = \"Leaves a marker\"";
    let text = MARKER_SH
        .replace(head, &format!("{head}\n# secrets = [\"API_TOKEN\"]"))
        .replace(": > marker", "echo canary-stderr >&2; echo \"$API_TOKEN\" > marker");
    world.signed(".ai/tools/acme/mark.sh", &text);
    let path = world.outside().join("receipt.json");
    world
        .rye(&["execute", ITEM, "-i", "p=canary-parameter", "--receipt", path.to_str().unwrap()])
        .ok();
    assert_eq!(world.read("marker"), b"canary-secret\n", "the tool was given it");
    let statement = statement(&world, &path).to_string();
    assert!(!statement.contains("canary"), "{statement}");
}

#[test]
fn a_warning_of_dev_mode_stands_in_the_receipt() {
    let world = World::new().with_file(".ai/tools/acme/mark.sh", MARKER_SH);
    let path = world.outside().join("receipt.json");
    let args = ["execute", ITEM, "--receipt", path.to_str().unwrap()];
    world.rye_env(&world.project(), &args, b"", &[("RYE_DEV_MODE", "1")]).ok();
    let ran = statement(&world, &path)["predicate"].clone();
    assert_eq!(ran["warnings"], json!([{"item": ITEM, "code": "verify.unsigned"}]));
    assert_eq!(ran["chain"][0]["signer"], json!(null));
    let shown = world.rye(&["receipt", "verify", path.to_str().unwrap()]).stdout;
    assert!(shown.contains("DEV MODE  tool:acme/mark verify.unsigned"), "{shown}");
}

#[test]
fn nothing_runs_if_the_receipt_that_was_asked_for_cannot_be_made() {
    crate::sandbox::needed();
    let world = World::empty();
    let good = ["execute", "rye/bash", "-i", "command=: > marker", "--receipt", "r.json", "--json"];
    let marker = world.project().join("marker");
    world.rye(&good).fails(4, "key.missing");
    assert!(!marker.exists() && !world.project().join("r.json").exists());
    world.rye(&["keys", "generate"]).ok();
    fs::create_dir(world.project().join("folder")).unwrap();
    for place in ["no/such/folder/r.json", "folder", "/dev/null", "/proc/r.json"] {
        let args = good.map(|arg| if arg == "r.json" { place } else { arg });
        let said = world.rye(&args);
        assert_eq!((said.code().as_str(), said.status), ("receipt.io", 6), "{place}: {said:?}");
        assert!(!marker.exists(), "{place}: it ran");
    }
    let said = world.rye(&good);
    assert_eq!((said.status, marker.exists()), (0, true), "{said:?}");
    let names = fs::read_dir(world.project()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["folder", "marker", "r.json"], "nothing temporary is left");
    // A receipt of what is not run there is none.
    let said =
        world.rye(&["execute", "rye/bash", "-i", "command=true", "--dry-run", "--receipt", "x"]);
    assert_eq!((said.code().as_str(), said.status), ("", 2), "{said:?}");
    assert!(!world.project().join("x").exists());
}

#[test]
fn a_receipt_that_is_lost_after_the_run_is_said_and_the_answer_is_kept() {
    let world = World::new();
    fs::create_dir(world.project().join("out")).unwrap();
    tool(&world, "rm -r out; echo '{\"ran\": true}'");
    let said = world.rye(&["execute", ITEM, "--receipt", "out/r.json"]);
    assert_eq!(said.status, 6, "{said:?}");
    assert!(said.stdout.contains("\"ran\": true"), "{said:?}");
    assert!(said.stderr.contains("error[receipt.io]"), "{said:?}");
    assert!(said.stderr.contains("` ended with success"), "{said:?}");
    fs::create_dir(world.project().join("out")).unwrap();
    let (status, got) = world.json(&["execute", ITEM, "--receipt", "out/r.json"]);
    assert_eq!((status, &got["code"], &got["status"]), (6, &json!("receipt.io"), &json!("error")));
    assert_eq!(got["data"], json!({"ran": true}));
    // Also where the tool failed.
    fs::create_dir(world.project().join("out")).unwrap();
    tool(&world, "rm -r out; exec sleep 60");
    world
        .rye(&["execute", ITEM, "--receipt", "out/r.json", "--timeout", "1"])
        .fails(6, "receipt.io")
        .warns("ended with execute.timeout");
}

#[test]
fn a_receipt_replaces_a_file_and_follows_no_link() {
    let world = World::new();
    tool(&world, "echo 1");
    let (path, target) = (world.outside().join("r.json"), world.outside().join("target"));
    fs::write(&target, "kept").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    for _ in 0..2 {
        world.rye(&["execute", ITEM, "--receipt", path.to_str().unwrap()]).ok();
        statement(&world, &path);
    }
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(fs::read(&target).unwrap(), b"kept");
}

#[test]
fn a_policy_of_yours_asks_for_a_receipt_of_every_run() {
    let world = World::new();
    tool(&world, "echo \"$RYE_RUN_ID\"");
    let folder = world.home().join(".ai/state/receipts");
    world.rye(&["execute", ITEM]).ok();
    assert!(!folder.exists(), "none without being asked for");
    // The project's own word counts for nothing.
    world.write(".ai/config/rye/policy.yaml", "receipts: always\n");
    world.rye(&["execute", ITEM]).ok();
    assert!(!folder.exists());
    fs::remove_dir_all(world.project().join(".ai/config")).unwrap();
    let policy = |text: &str| {
        world.write_home(".ai/config/rye/policy.yaml", text);
        world.rye(&["sign", "config:rye/policy", "--space", "user"])
    };
    assert_eq!(policy("receipts: always\n").status, 0);
    let said = world.rye(&["execute", ITEM]);
    let run = said.stdout.trim().to_owned();
    let path = folder.join(format!("{run}.json"));
    assert_eq!(statement(&world, &path)["predicate"]["run_id"], run);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    // Beside one that is asked for; and a dry run has none.
    let (_, got) = world.json(&["execute", ITEM, "--receipt", "r.json"]);
    assert_eq!(got["metadata"]["receipts"].as_array().map(Vec::len), Some(2), "{got}");
    world.rye(&["execute", ITEM, "--dry-run"]).ok();
    world.rye(&["plan", ITEM]).ok();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    // A policy that cannot be read stops a run; one that says nothing known is not signed.
    assert_eq!(policy("receipts: sometimes\n").code(), "sign.invalid");
    let (status, code) = world.run(ITEM);
    assert_eq!((status, code.as_str()), (4, "verify.trust_unreadable"));
    assert_eq!(policy("receipts: on_request\n").status, 0);
    world.rye(&["execute", ITEM]).ok();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}
