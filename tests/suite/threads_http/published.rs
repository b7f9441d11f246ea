//! What a server expects of each request: the schema that its provider publishes, a stricter one of
//! ours, and what stands around the body.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{ALL, CANARY, Checked, Spoken, Words, calls, hands_over, says, world};
use crate::threads::fork;
use crate::world::server::Seen;

/// Where a schema lies below `tests/vectors/providers`.
const PLACES: [&str; 2] = ["published/", ""];

/// The published schema of a request, and ours.
fn schemas(spoken: Spoken) -> &'static [Validator; 2] {
    static SCHEMAS: OnceLock<[[Validator; 2]; 2]> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        ["chat_completion_request", "message_request"].map(|name| {
            PLACES.map(|place| {
                let root = env!("CARGO_MANIFEST_DIR");
                let path = format!("{root}/tests/vectors/providers/{place}{name}.json");
                let schema = std::fs::read_to_string(path).unwrap();
                jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
            })
        })
    });
    &schemas[usize::from(!spoken.is_openai)]
}

/// What stands around the body of each request.
#[derive(Debug, Clone)]
pub struct Expected {
    pub spoken: Spoken,
    pub path: String,
    pub has_key: bool,
}

impl Expected {
    pub fn of(spoken: Spoken) -> Self {
        let path = if spoken.is_openai { "/v1/chat/completions" } else { "/v1/messages" };
        Self { spoken, path: path.into(), has_key: true }
    }

    /// What is wrong with a request; nothing if it is of the published shape.
    pub fn wrong(&self, seen: &Seen) -> Vec<String> {
        let body = seen.json();
        let errors = schemas(self.spoken).iter().flat_map(|schema| schema.iter_errors(&body));
        let mut wrong: Vec<String> =
            errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
        let is_openai = self.spoken.is_openai;
        let (name, key) = match is_openai {
            true => ("authorization", format!("Bearer {CANARY}")),
            false => ("x-api-key", CANARY.to_owned()),
        };
        for (what, is_right) in [
            ("method", seen.method == "POST"),
            ("path", seen.target == self.path),
            ("type", seen.header("content-type") == Some("application/json")),
            ("key", seen.header(name) == self.has_key.then_some(key.as_str())),
            ("version", is_openai || seen.header("anthropic-version") == Some("2023-06-01")),
            ("header of its own", seen.header("x-team") == Some("red")),
            ("stream", body["stream"] == self.spoken.streams),
        ] {
            if !is_right {
                wrong.push(format!("{what}: {seen:?}"));
            }
        }
        wrong
    }
}

/// A request with a tool call, its result and what the model thought.
fn request(spoken: Spoken) -> Seen {
    let thinks = Words { thinks: true, ..says("I look.").and("acme_echo", "{\"a\": 1}") };
    let server = Checked::says(spoken, vec![thinks, hands_over()]);
    let world = world(spoken, &server.server, &json!({}));
    assert_eq!(fork(&world, &[]).0, 0);
    assert_eq!(server.requests().len(), 2);
    server.server.seen().pop().unwrap()
}

#[test]
fn a_request_that_was_broken_is_refused_by_the_published_schema_and_by_ours_table() {
    let both: [&[&str]; 2] = [&["published", "ours"]; 2];
    let ours: [&[&str]; 2] = [&["ours"], &["published", "ours"]];
    // A pointer into the body of each shape, what stands there instead, and who refuses it.
    let rows: [(&str, &str, Value, [&[&str]; 2]); 11] = [
        ("/model", "/model", json!(7), both),
        ("/messages", "/messages", json!([{"role": "nobody", "content": "x"}]), both),
        ("/messages/0/content", "/messages/0/content", json!(7), both),
        ("/messages/1/content", "/messages/1/content", json!({"text": "x"}), both),
        ("/messages/1/role", "/messages/1/role", json!("robot"), both),
        ("/messages/1/tool_calls/0/id", "/messages/1/content/3/id", json!(null), both),
        (
            "/messages/1/tool_calls/0/function/arguments",
            "/messages/1/content/3/input",
            json!([1]),
            both,
        ),
        ("/messages/2/tool_call_id", "/messages/2/content/0/tool_use_id", json!(null), both),
        ("/tools/0", "/tools/0", json!({"type": "function", "function": {}}), both),
        ("/max_completion_tokens", "/max_tokens", json!("many"), both),
        // The published schema of a chat completion is open: a word that it does not know passes.
        ("/tools/0/more", "/tools/0/more", json!(1), ours),
    ];
    for spoken in ALL {
        let seen = request(spoken);
        let at = usize::from(!spoken.is_openai);
        let refuses = |body: &Value| {
            let names = ["published", "ours"].into_iter().zip(schemas(spoken));
            let names = names.filter(|(_, schema)| !schema.is_valid(body)).map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(refuses(&seen.json()), [""; 0], "{spoken:?}: {}", seen.json());
        for (chat, messages, value, who) in &rows {
            let pointer = if spoken.is_openai { chat } else { messages };
            let mut broken = seen.json();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            match broken.pointer_mut(parent).expect(pointer) {
                Value::Array(all) => all[name.parse::<usize>().unwrap()] = value.clone(),
                parent => parent[name] = value.clone(),
            }
            assert_eq!(refuses(&broken), who[at], "{spoken:?} {pointer}");
            let body = broken.to_string().into_bytes();
            let wrong = Expected::of(spoken).wrong(&Seen { body, ..seen.clone() });
            assert!(!wrong.is_empty(), "{spoken:?} {pointer}");
        }
    }
}

#[test]
fn what_is_wrong_around_the_body_of_a_request_is_found_too() {
    let spoken = ALL[2];
    let server = Checked::says(spoken, vec![calls("acme_echo", "{}"), hands_over()]);
    let world = world(spoken, &server.server, &json!({}));
    assert_eq!(fork(&world, &[]).0, 0);
    let seen = server.server.seen().pop().unwrap();
    let expected = Expected::of(spoken);
    assert_eq!(expected.wrong(&seen), [""; 0]);
    let without = |name: &str| {
        let mut seen = seen.clone();
        seen.headers.retain(|(known, _)| known != name);
        seen
    };
    for (broken, what) in [
        (Seen { method: "GET".into(), ..seen.clone() }, "method"),
        (Seen { target: "/v2/messages".into(), ..seen.clone() }, "path"),
        (without("content-type"), "type"),
        (without("x-api-key"), "key"),
        (without("anthropic-version"), "version"),
        (without("x-team"), "header of its own"),
    ] {
        let wrong = expected.wrong(&broken);
        assert!(wrong.len() == 1 && wrong[0].starts_with(what), "{what}: {wrong:?}");
    }
    let streams = Expected::of(ALL[3]);
    assert_eq!(streams.wrong(&seen).len(), 1, "it was not asked for a stream");
    let open = Expected { has_key: false, ..expected };
    assert_eq!(open.wrong(&seen).len(), 1, "a key goes where none was wanted");
}
