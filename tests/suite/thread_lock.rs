//! Threads that run only what the lock lists, and providers as items like others.

use serde_json::json;

use crate::threads::{ONLY_ECHO, call, fork, hand_over, provider, world};
use crate::world::End;

/// A provider of your own, and the one that is shipped for the example.
const PROVIDERS: [&str; 2] = ["tool:acme/script", "tool:rye/examples/research_script"];

#[test]
fn a_provider_is_sound_by_itself_wherever_an_item_is_looked_at_and_does_not_run() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    for item in PROVIDERS {
        for verb in ["verify", "why", "graph", "lock"] {
            let told = world.json(&[verb, item]).ok();
            assert!(!told.to_string().contains("chain."), "{verb} {item}: {told}");
        }
        world.json(&["run", item]).fails(5, "chain.not_a_tool");
        let said = world.rye(&["run", item]).stderr;
        let named = item.trim_start_matches("tool:");
        assert!(said.contains(&format!("<model provider=\"{named}\"/>")), "{said}");
    }
}

#[test]
fn a_locked_thread_asks_a_provider_only_as_the_lock_lists_it() {
    let turns = json!([call("acme_echo", &json!({})), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    assert_eq!(fork(&world, &[]).0, 0, "it works without a lock");
    let code = || fork(&world, &["--locked"]).1["code"].as_str().map(str::to_owned);
    for item in ["directive:acme/go", "tool:acme/echo"] {
        assert_eq!(world.json(&["lock", item]).0, 0);
        let (_, told) = fork(&world, &["--locked"]);
        assert_eq!(told["code"], "lock.not_listed", "{told}");
    }
    let said = world.rye(&["execute", "directive:acme/go", "--thread", "fork", "--locked"]).stderr;
    assert!(said.contains("`rye lock tool:acme/script`"), "{said}");
    assert_eq!(world.json(&["lock", "tool:acme/script"]).0, 0);
    assert_eq!(code(), None);
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
    assert!(code().is_some_and(|code| code.starts_with("lock.") || code == "verify.rolled_back"));
}

#[test]
fn a_provider_that_names_an_executor_is_refused_with_the_field() {
    let world = world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO);
    let text = provider(&json!([hand_over()]));
    let text = format!("executor_id: rye/core/runtimes/shell/script\n{text}");
    world.write_home(".ai/tools/acme/script.yaml", &text);
    let (_, told) = world.json(&["sign", "tool:acme/script", "--space", "user"]);
    assert_eq!(told["code"], "parse.metadata", "{told}");
    assert!(told.to_string().contains("/executor_id"), "{told}");
}
