//! Signing by an agent: only where a person let it, and only what was shown.

use std::fs;

use serde_json::json;

use super::client::Client;
use crate::world::{MARKER_SH, World};

#[test]
fn nothing_is_signed_that_was_not_shown_to_the_byte() {
    let world = World::new();
    world.signed_by_rye(".ai/tools/acme/mark.sh", MARKER_SH);
    let changed = MARKER_SH.replace("true", "1");
    let file = world.write(".ai/tools/acme/mark.sh", &changed);
    let asked = || json!({"item_id": "tool:acme/mark"});
    let confirmed = |digest: &str| json!({"item_id": "tool:acme/mark", "confirm_digest": digest});
    let unsigned = || fs::read_to_string(&file).unwrap() == changed;

    let mut client = Client::new(&world, &[]);
    assert_eq!(client.refused("rye_sign", asked()), "mcp.sign_refused");
    drop(client);

    let mut client = Client::new(&world, &["--allow-sign"]);
    assert_eq!(client.refused("rye_sign", confirmed(&"0".repeat(64))), "mcp.sign_refused");
    let (said, is_error) = client.call("rye_sign", asked());
    assert!(!is_error && said["status"] == "confirmation_required", "{said}");
    let diff = said["items"][0]["diff"].as_str().unwrap();
    assert!(
        diff.contains("-echo '{\"ran\": true}'") && diff.contains("+echo '{\"ran\": 1}'"),
        "{diff}"
    );
    let digest = said["confirm_digest"].as_str().unwrap().to_owned();
    assert!(unsigned(), "showing signs nothing");

    // Another file than the one that was shown.
    fs::write(&file, MARKER_SH.replace("true", "2")).unwrap();
    assert_eq!(client.refused("rye_sign", confirmed(&digest)), "mcp.sign_refused");
    fs::write(&file, &changed).unwrap();
    // Another item, another space, another session of the server.
    world.write(".ai/tools/acme/other.sh", &changed);
    let other = json!({"item_id": "tool:acme/other", "confirm_digest": digest});
    assert_eq!(client.refused("rye_sign", other), "mcp.sign_refused");
    let mut later = Client::new(&world, &["--allow-sign"]);
    assert_eq!(later.refused("rye_sign", confirmed(&digest)), "mcp.sign_refused");
    drop(later);
    assert!(unsigned());

    let (said, _) = client.call("rye_sign", asked());
    let digest = said["confirm_digest"].as_str().unwrap().to_owned();
    let (said, is_error) = client.call("rye_sign", confirmed(&digest));
    assert!(!is_error && said["status"] == "signed", "{said}");
    world.works("tool:acme/mark");
    // A yes is good once.
    fs::write(&file, &changed).unwrap();
    assert_eq!(client.refused("rye_sign", confirmed(&digest)), "mcp.sign_refused");
}

#[test]
fn a_glob_is_shown_whole_and_a_project_is_not_accepted_by_an_agent() {
    let world = World::new();
    for name in ["a", "b"] {
        world.write(&format!(".ai/tools/acme/{name}.sh"), MARKER_SH);
    }
    let mut client = Client::new(&world, &["--allow-sign"]);
    let (said, _) = client.call("rye_sign", json!({"item_id": "tool:acme/*"}));
    assert_eq!(said["items"].as_array().unwrap().len(), 2, "{said}");
    let asked = json!({"item_id": "tool:acme/*", "confirm_digest": said["confirm_digest"]});
    let (said, _) = client.call("rye_sign", asked);
    assert_eq!(said["items"][1]["status"], "signed", "{said}");
    world.works("tool:acme/b");
    assert_eq!(
        client.refused("rye_sign", json!({"item_id": "tool:rye/bash", "space": "system"})),
        "mcp.sign_refused"
    );
    fs::remove_dir_all(world.home().join(".ai/config/keys/projects")).unwrap();
    world.write(".ai/tools/acme/a.sh", MARKER_SH);
    let code = client.refused("rye_sign", json!({"item_id": "tool:acme/a"}));
    assert_eq!(code, "verify.project_not_accepted");
}

#[test]
fn a_server_that_rye_itself_runs_signs_nothing() {
    let world = World::new().env("RYE_RUN_ID", "run-1");
    world.write(".ai/tools/acme/mark.sh", MARKER_SH);
    let mut client = Client::new(&world, &["--allow-sign"]);
    let code = client.refused("rye_sign", json!({"item_id": "tool:acme/mark"}));
    assert_eq!(code, "mcp.sign_refused");
}

#[test]
fn l02_an_agent_signs_nothing_that_decides_about_the_operator() {
    let world = World::new();
    let hook =
        MARKER_SH.replace("# description", "# hook = {events = [\"before\"]}\n# description");
    world.write(".ai/tools/hooks/watch.sh", hook);
    world.write(".ai/tools/acme/mark.sh", MARKER_SH);
    world.write_home(".ai/tools/acme/mine.sh", MARKER_SH);
    world.write_home(".ai/config/rye/policy.yaml", "sandbox_off: [\"tool:**\"]\n");
    for of in [world.project(), world.home()] {
        let proposal = of.join(".ai/config/keys/trusted").join(format!("{}.toml", "0".repeat(32)));
        fs::create_dir_all(proposal.parent().unwrap()).unwrap();
        fs::write(proposal, "owner = \"mallory\"\n").unwrap();
    }
    let keys = format!("config:keys/trusted/{}", "0".repeat(32));
    let before = world.snapshot();
    let mut client = Client::new(&world, &["--allow-sign"]);
    for asked in [
        json!({"item_id": "config:rye/policy", "space": "user"}),
        json!({"item_id": "config:rye/policy"}),
        json!({"item_id": "config:rye/policy@user"}),
        json!({"item_id": "config:rye/*"}),
        json!({"item_id": "config:rye/*", "space": "user"}),
        json!({"item_id": keys}),
        json!({"item_id": keys, "space": "user"}),
        json!({"item_id": format!("{keys}@user")}),
        json!({"item_id": format!("{keys}@user"), "space": "project"}),
        json!({"item_id": "config:keys/**"}),
        json!({"item_id": "config:**"}),
        json!({"item_id": "config:**", "space": "user"}),
        json!({"item_id": "*:**"}),
        json!({"item_id": "tool:hooks/watch"}),
        json!({"item_id": "hooks/watch"}),
        json!({"item_id": "tool:hooks/*"}),
        json!({"item_id": "tool:**"}),
        json!({"item_id": "tool:acme/mine", "space": "user"}),
        json!({"item_id": "tool:acme/mine@user"}),
        json!({"item_id": "tool:acme/mine"}),
        json!({"item_id": "tool:acme/*", "space": "user"}),
        json!({"item_id": "tool:acme/mine", "space": "system"}),
    ] {
        let code = client.refused("rye_sign", asked.clone());
        let known = ["mcp.sign_refused", "mcp.arguments", "resolve.not_found", "resolve.proposal"];
        assert!(known.contains(&code.as_str()), "{asked}: {code}");
    }
    drop(client);
    assert!(world.snapshot() == before, "something was written");
    // What the schema says is what holds, and the items of the project are still signed.
    let mut client = Client::new(&world, &["--allow-sign"]);
    let (said, is_error) = client.call("rye_sign", json!({"item_id": "tool:acme/*"}));
    assert!(!is_error && said["status"] == "confirmation_required", "{said}");
    assert_eq!(said["items"].as_array().unwrap().len(), 1, "{said}");
}
