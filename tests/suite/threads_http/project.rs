//! A provider that lies in a project.

use std::fs;

use serde_json::{Value, json};

use super::{ALL, Checked, Spoken, block, hands_over, provider, reply, world};
use crate::threads::fork;
use crate::world::{End, World};

const FILE: &str = ".ai/tools/acme/script.yaml";

/// A world whose provider lies in the project.
fn project(spoken: Spoken, server: &Checked) -> World {
    let world = world(spoken, &server.server, &json!({}));
    fs::remove_file(world.home().join(FILE)).unwrap();
    write(&world, spoken, &server.server.url(""), &json!({}));
    world
}

fn write(world: &World, spoken: Spoken, url: &str, more: &Value) {
    world.signed(FILE, &provider(&block(spoken, url, more)));
}

fn allow(world: &World) -> Value {
    world.json(&["trust", "allow-provider", "acme/script", "--yes"]).ok()
}

#[track_caller]
fn refused(world: &World, why: &str) {
    let told = fork(world, &[]).fails(4, "thread.project_provider");
    assert!(told["error"].as_str().unwrap().contains(why), "{told}");
    assert_eq!(told["help"].as_str().unwrap().matches("rye trust allow-provider").count(), 1);
}

#[test]
fn a_provider_of_a_project_is_asked_only_once_it_was_let_in_and_as_it_was_then() {
    let spoken = ALL[1];
    let server = Checked::new(spoken, move |_, n| reply(spoken, &hands_over(), n));
    let world = project(spoken, &server);
    refused(&world, "lies in the project");
    assert_eq!(server.requests().len(), 0, "nothing was sent");
    let told = allow(&world);
    let url = server.server.url("/v1");
    let want = ("tool:acme/script", url.as_str(), "ACME_KEY");
    let got = (&told["item_id"], &told["base_url"], &told["credential_env"]);
    assert_eq!(got, (&json!(want.0), &json!(want.1), &json!(want.2)));
    assert_eq!(fork(&world, &[]).0, 0);
    assert_eq!(server.requests().len(), 1);

    // Another key, another address, another text, another place: each is asked for anew.
    let url = server.server.url("");
    for (more, why) in [
        (json!({"credential_env": "HOME"}), "it wants another key now"),
        (json!({"base_url": format!("{url}/v2")}), "it is at another address now"),
        (json!({"answer_tokens": 101}), "the file was changed since"),
    ] {
        write(&world, spoken, &url, &more);
        refused(&world, why);
        write(&world, spoken, &url, &json!({}));
        assert_eq!(fork(&world, &[]).0, 0, "as it was it is let in");
    }
    let asked = server.requests().len();
    let (from, to) =
        (world.project().join(FILE), world.project().join(".ai/tools/acme/other.yaml"));
    fs::rename(from, to).unwrap();
    world.rye(&["sign", "tool:acme/other", "--space", "project"]).ok();
    let text =
        crate::threads::directive("go", "turns=\"9\"", "").replace("acme/script", "acme/other");
    world.signed(".ai/directives/acme/go.md", &text);
    refused(&world, "lies in the project");
    assert_eq!(server.requests().len(), asked, "nothing was sent");
}

#[test]
fn it_is_listed_and_taken_back_like_an_interpreter_and_a_review_shows_where_the_key_would_go() {
    let spoken = ALL[2];
    let server = Checked::new(spoken, move |_, n| reply(spoken, &hands_over(), n));
    let world = project(spoken, &server);
    let review = world.rye(&["trust", "review"]).stdout;
    let url = server.server.url("/");
    assert!(
        review.contains("secrets ACME_KEY") && review.contains(&format!("calls {url}")),
        "{review}"
    );
    allow(&world);
    let listed = || world.json(&["trust", "list"]).1["allowed"].clone();
    let row = &listed()[0];
    assert_eq!((&row["what"], &row["used"]), (&json!("provider"), &json!(true)), "{row}");
    assert!(row["path"].as_str().unwrap().ends_with(FILE), "{row}");
    let records = world.json(&["trust", "list", "--records"]).1;
    assert_eq!(records["records"]["allowed"][0]["what"], "provider", "{records}");
    let doctor = world.rye(&["doctor"]).stdout;
    assert!(doctor.contains("provider  ") && doctor.contains(FILE), "{doctor}");
    write(&world, spoken, &server.server.url(""), &json!({"answer_tokens": 7}));
    assert_eq!(listed()[0]["why"], "the file was changed since");
    write(&world, spoken, &server.server.url(""), &json!({}));
    assert_eq!(fork(&world, &[]).0, 0);
    // The key is replaced, and the record counts on.
    world.rye(&["keys", "rotate", "--yes"]).ok();
    assert_eq!(listed()[0]["used"], true);
    world.json(&["trust", "disallow", FILE, "--yes"]).ok();
    assert_eq!(listed(), json!([]));
    refused(&world, "lies in the project");
}

#[test]
fn only_a_provider_that_is_admitted_is_let_in() {
    let spoken = ALL[0];
    let server = Checked::new(spoken, move |_, n| reply(spoken, &hands_over(), n));
    let world = project(spoken, &server);
    let code =
        |item: &str| world.json(&["trust", "allow-provider", item, "--yes"]).1["code"].clone();
    assert_eq!(code("acme/echo"), "thread.not_a_provider");
    assert_eq!(code("acme/nobody"), "resolve.not_found");
    let file = world.project().join(FILE);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("100", "101")).unwrap();
    assert_eq!(code("acme/script"), "verify.altered");
    // A record that somebody else wrote counts for nothing.
    fs::write(&file, text).unwrap();
    allow(&world);
    let folder = world.home().join(".ai/config/keys/providers");
    let record = fs::read_dir(&folder).unwrap().flatten().next().unwrap().path();
    let forged = fs::read_to_string(&record).unwrap().replace("ACME_KEY", "HOME");
    fs::write(&record, forged).unwrap();
    refused(&world, "its record cannot be used");
}
