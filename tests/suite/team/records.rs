//! The records that an auditor asks for: what was accepted, when, and whence it came.

use std::fs;

use serde_json::{Value, json};

use super::{FILE, ITEM};
use crate::keys::others::{clone_world, document, put, stranger, trusted};
use crate::world::{End, MARKER_SH, World, fingerprint, sha256};

fn records(world: &World) -> Value {
    let said = world.json(&["trust", "list", "--records"]).ok();
    said["records"].clone()
}

#[test]
fn a_record_that_your_key_signed_says_what_was_there_when_you_accepted_a_project() {
    let world = clone_world();
    let key = stranger(1);
    world.write(&trusted(&key), document(&key, "Ann", ""));
    put(&world, &key, FILE, MARKER_SH);
    put(&world, &stranger(2), ".ai/tools/acme/other.sh", MARKER_SH);
    assert_eq!(records(&world)["projects"], json!([]), "nothing is accepted yet");
    world.rye(&["trust", "accept", &fingerprint(&key)]).ok();
    let project = records(&world)["projects"][0].clone();
    let path = world.project().canonicalize().unwrap().display().to_string();
    assert_eq!((&project["path"], &project["counts"]), (&json!(path), &json!(true)));
    let approval = &project["approval"];
    // What was let in, and not what another had signed.
    let row =
        json!({"item": ITEM, "sha256": sha256(MARKER_SH.as_bytes()), "key": fingerprint(&key)});
    assert_eq!((&approval["count"], &approval["items"]), (&json!(1), &json!([row])));
    let line = format!("{ITEM} {} {}\n", sha256(MARKER_SH.as_bytes()), fingerprint(&key));
    assert_eq!(approval["sha256"], sha256(line.as_bytes()));
    assert_eq!((&approval["at"], &approval["rye"]), (&approval["first_at"], &json!("0.1.0")));
    let keys = &records(&world)["keys"];
    assert_eq!((&keys[0]["owner"], keys[0]["signed_at"].is_string()), (&json!("Ann"), true));

    let said = world.rye_in_columns(80, &["trust", "list", "--records"]);
    for part in ["projects that you accepted", "1 items then", "keys that you trust", "`Ann`"] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    // The list without them is as calm as it was.
    let said = world.rye(&["trust", "list"]);
    assert!(!said.stdout.contains("items then"), "{said:?}");

    // Accepted anew, it is what was there then; the first time stays, also through a rotation.
    let more = MARKER_SH.replace("true", "false");
    put(&world, &key, FILE, &more);
    world.rye(&["trust", "project"]).ok();
    world.rye(&["keys", "rotate"]).ok();
    let after = records(&world)["projects"][0]["approval"].clone();
    assert_eq!(after["first_at"], approval["first_at"]);
    assert_eq!(after["items"][0]["sha256"], sha256(more.as_bytes()));
}

#[test]
fn a_record_of_an_approval_that_somebody_else_wrote_says_nothing_and_decides_nothing() {
    let world = World::new().with(FILE, MARKER_SH);
    world.rye(&["trust", "project"]).ok();
    let folder = world.home().join(".ai/config/keys/approvals");
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert_eq!(records(&world)["projects"][0]["approval"]["count"], 1);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("count = 1", "count = 9")).unwrap();
    assert_eq!(records(&world)["projects"][0]["approval"], Value::Null);
    world.works(ITEM);
    // One of an earlier rye, which recorded none.
    fs::remove_file(&file).unwrap();
    assert_eq!(records(&world)["projects"][0]["approval"], Value::Null);
    world.rye(&["trust", "list", "--records"]).shows("was not recorded");
    world.works(ITEM);
    // Another folder at the path is another project.
    fs::rename(world.project(), world.outside().join("moved")).unwrap();
    fs::create_dir_all(world.project().join(".ai")).unwrap();
    assert_eq!(records(&world)["projects"][0]["counts"], false);
}

#[test]
fn bundles_and_mcp_servers_are_recorded_with_whence_they_came_and_when() {
    let (publisher, world) = (World::new(), World::new());
    publisher.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let archive = world.outside().join("acme.tar.zst").display().to_string();
    let pack = ["bundle", "pack", "acme", "tool:acme/**", "--version", "1.2.0"];
    publisher.rye(&[&pack[..], &["--output", &archive]].concat()).ok();
    let key = publisher.rye(&["keys", "export"]).stdout;
    fs::write(world.outside().join("acme.pem"), key).unwrap();
    let trust = ["trust", "add", "../acme.pem", "--owner", "acme", "--items", "tool:acme/**"];
    world.rye(&trust).ok();
    world.rye(&["bundle", "install", "../acme.tar.zst"]).ok();
    let server = |name: &str| {
        format!(
            "version: 1.0.0\ntool_type: tool\nexecutor_id: rye/core/runtimes/mcp/tool\n\
             category: time\ndescription: Tells the time\nconfig: {{command: uvx, args: \
             ['mcp-server-time==2026.10.19'], mcp: {{tool: {name}}}}}\n"
        )
    };
    world.signed(".ai/tools/time/now.yaml", &server("now"));
    world.signed(".ai/tools/time/zone.yaml", &server("zone"));
    let records = records(&world);
    let bundle = &records["bundles"][0];
    assert_eq!((&bundle["name"], &bundle["version"]), (&json!("acme"), &json!("1.2.0")));
    assert!(bundle["installed_at"].is_string(), "{bundle}");
    let from = fs::canonicalize(&archive).unwrap().display().to_string();
    assert_eq!((&bundle["installed_from"], &bundle["owner"]), (&json!(from), &json!("acme")));
    let row = &records["mcp_servers"][0];
    assert_eq!(row["server"], "uvx mcp-server-time==2026.10.19");
    assert_eq!((&row["items"], &row["space"]), (&json!(2), &json!("project")));
    assert_eq!(row["signers"], json!([fingerprint(&world.own_key())]));
    world.rye(&["trust", "list", "--records"]).shows("2 tools in project, signed by");
}
