//! The shipped example of a thread, with a provider over HTTP for it and for its child.

use std::fs;

use serde_json::{Value, json};

use super::{ALL, Checked, Words, calls, reply, world};
use crate::threads::{events, rows};
use crate::world::World;
use crate::world::server::answer;

/// A file that is shipped, as if it were the project's.
fn shipped(path: &str) -> String {
    let text = fs::read_to_string(format!("{}/.ai/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    // The line of its signature is another one there.
    let text = text.split_once('\n').unwrap().1;
    text.replace("rye/examples", "acme").replace("rye.examples", "acme")
}

/// The directives of the example, whose model is now the one at the server.
fn with_directives(world: &World) {
    for name in ["research", "summary"] {
        let text = shipped(&format!("directives/rye/examples/{name}.md"));
        let text = text.replace(&format!("acme/{name}_script"), "acme/script");
        world.signed(&format!(".ai/directives/acme/{name}.md"), &text);
    }
}

/// What the script of the example says, turn by turn.
fn script() -> Vec<Words> {
    let text = shipped("tools/rye/examples/research_script.yaml");
    let provider: Value = serde_yaml::from_str(&text).unwrap();
    let turns = provider["provider"]["turns"].as_array().unwrap();
    let words = |turn: &Value| {
        let text = turn["text"].as_str().unwrap().to_owned();
        let called = turn["calls"].as_array().unwrap().iter();
        let called = called
            .map(|call| (call["name"].as_str().unwrap().to_owned(), call["arguments"].to_string()));
        Words { text, calls: called.collect(), piece: 7, ..Words::default() }
    };
    turns.iter().map(words).collect()
}

fn id(row: &Value) -> &str {
    row["thread_id"].as_str().unwrap()
}

#[test]
fn the_research_example_runs_over_http_in_both_shapes_and_ways_where_its_server_is_busy() {
    let script = script();
    assert_eq!(script.len(), 4, "the example is what this test takes it for");
    for spoken in ALL {
        let said = script.clone();
        let server = Checked::new(spoken, move |_, n| match n {
            0 => answer(429, "Retry-After: 1\r\n", "{\"error\":{\"message\":\"slower\"}}"),
            1 => reply(spoken, &said[0], 0),
            2 => answer(500, "", "oops"),
            3 => reply(spoken, &said[1], 1),
            4 => reply(spoken, &said[2], 2),
            // The child asks the same server.
            5 => answer(529, "", "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}"),
            6 => reply(spoken, &calls("directive_return", "{\"sentence\": \"It signs.\"}"), 0),
            _ => reply(spoken, &said[3], 3),
        });
        let world = world(spoken, &server.server, &json!({}));
        world.write("note.md", "About rye.\n");
        with_directives(&world);
        let go = &["execute", "directive:acme/research", "--thread", "fork", "-i", "topic=rye"];
        let (status, told) = world.json(go);
        assert_eq!(status, 0, "{spoken:?} {told}");
        assert_eq!(server.requests().len(), 8, "{spoken:?}");
        assert_eq!(told["result"], "I hand it over.");
        assert_eq!(told["outputs"]["sources"], json!(["knowledge:rye/overview"]));
        // Five turns of 30 tokens in, 20 of them from a cache, and 5 out; what was refused is free.
        let cost = &told["cost"];
        let spent = (&cost["turns"], &cost["spawns"], &cost["tokens"], &cost["spend_micros"]);
        assert_eq!(spent, (&json!(5), &json!(1), &json!(5 * 35), &json!(5 * 30)), "{spoken:?}");

        let all = rows(&world);
        assert_eq!((all.len(), &all[1]["parent"]), (2, &all[0]["thread_id"]));
        let failures = |at: usize| {
            let failed = events(&world, id(&all[at]), "provider_failed").into_iter();
            failed.map(|failed| (failed["code"].clone(), failed["wait_ms"].clone()))
        };
        let failed: Vec<(Value, Value)> = failures(0).collect();
        assert_eq!((failed.len(), &failed[0].1), (2, &json!(1000)), "{failed:?}");
        assert_eq!(failures(1).count(), 1);
        assert!(failures(0).chain(failures(1)).all(|(code, _)| code == "provider.overloaded"));
        for row in &all {
            assert_eq!(row["thread_status"], "completed", "{row}");
            world.rye(&["thread", "verify", id(row)]).ok();
        }

        let gave: Vec<Value> = events(&world, id(&all[0]), "tool_call_result")
            .iter()
            .map(|gave| serde_json::from_str(gave["content"].as_str().unwrap()).unwrap())
            .collect();
        assert_eq!(gave.len(), 7);
        assert!(gave[0]["entries"].is_array(), "{}", gave[0]);
        let pages = gave[1]["paths"].as_array().unwrap();
        assert!(pages.contains(&json!("note.md")), "{}", gave[1]);
        assert_eq!(gave[2]["matches"].as_array().map(Vec::len), Some(3), "{}", gave[2]);
        assert!(gave[3]["content"].as_str().unwrap().contains("# "), "{}", gave[3]);
        if cfg!(feature = "code") {
            assert_eq!(gave[4]["value"]["**/*.md"], pages.len(), "{}", gave[4]);
        }
        assert_eq!(gave[5]["outputs"]["sentence"], "It signs.", "{}", gave[5]);
    }
}
