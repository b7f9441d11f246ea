//! What whoever starts a thread is warned of, in each answer about one that ended: calls that were
//! denied, with what would permit them, and tools that are not there.

use serde_json::{Value, json};

use crate::async_runs::{id_of, start};
use crate::threads::{ONLY_ECHO, call, directive, events, fork, hand_over, world};
use crate::world::{End, World};

/// What whoever starts [`warned`] is told of it.
pub const WARNINGS: [&str; 2] = [
    "not offered to the model, as no space has them: `tool:acme/Echo` (did you mean \
     `tool:acme/echo`?)",
    "1 call was denied: `tool:acme/other`; `<permissions>` of `directive:acme/go` would need \
     `<execute><tool>acme.other</tool></execute>`",
];

/// A thread that permits a tool which is not there, and whose model calls another one in its first
/// turn.
pub fn warned() -> World {
    let turns = json!([call("rye_execute", &json!({"item_id": "tool:acme/other"})), hand_over()]);
    world(&turns, "turns=\"9\"", "<execute><tool>acme.Echo</tool></execute>")
}

/// The sentences of the warnings in an answer.
pub fn warnings(told: &Value) -> Vec<&str> {
    let all = told["warnings"].as_array().into_iter().flatten();
    all.map(|warning| warning["message"].as_str().unwrap()).collect()
}

#[test]
fn what_whoever_starts_a_thread_is_warned_of_stands_in_its_answer_and_in_that_of_wait_table() {
    let world = warned();
    let ways: [(&[&str], i32); 2] = [(&[], 0), (&["--limit", "turns=1"], 4)];
    for (limit, want) in ways {
        let (status, told) = fork(&world, limit);
        assert_eq!(status, want, "{told}");
        assert_eq!(warnings(&told), WARNINGS, "{told}");
        assert_eq!(told["warnings"][0]["item_id"], "directive:acme/go", "{told}");
        let go: &[&str] = &["directive:acme/go", "--thread", "fork"];
        let id = id_of(&start(&world, &[go, limit].concat()));
        let (status, told) = world.json(&["thread", "wait", &id]);
        assert_eq!(status, want, "{told}");
        assert_eq!(warnings(&told), WARNINGS, "{told}");
        let said = world.rye(&["thread", "wait", &id]);
        assert_eq!(said.status, want, "{said:?}");
        let lines = format!("{}\n{}\n", WARNINGS[0], WARNINGS[1]);
        assert!(said.stderr.starts_with(&lines), "{said:?}");
        assert_eq!(said.stdout, if want == 0 { "{\"n\":7}\n" } else { "" }, "{said:?}");
    }
    let needed = "<execute><tool>acme.other</tool></execute>";
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", needed));
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["warnings"]), (0, &Value::Null), "{told}");
}

#[test]
fn a_call_by_the_name_of_a_tool_that_is_not_permitted_is_told_as_denied_and_not_to_the_model() {
    let turns = json!([
        call("acme_echo", &json!({})),
        call("rye_execute", &json!({"item_id": "acme/other"})),
        call("rye_fetch", &json!({"item_id": "knowledge:rye/overview"})),
        call("run_shell_command", &json!({"cmd": "ls"})),
        // There is no such tool, and a provider is none for a model.
        call("acme_nothing", &json!({})),
        call("acme_script", &json!({})),
        hand_over(),
    ]);
    let world = world(&turns, "turns=\"9\"", "");
    let text = directive("go", "turns=\"9\"", "");
    let without = text.replace("<permissions></permissions>", "");
    assert_ne!(without, text);
    world.signed(".ai/directives/acme/go.md", &without);
    let told = fork(&world, &[]).ok();
    let denied = "4 calls were denied: `knowledge:rye/overview`, `tool:acme/echo`, \
                  `tool:acme/other`, `tool:rye/workspace/run_shell_command`; `<permissions>` of \
                  `directive:acme/go` would need `<execute><tool>acme.echo</tool></execute>`, \
                  `<execute><tool>acme.other</tool></execute>`, \
                  `<execute><tool>rye.workspace.run_shell_command</tool></execute>`, \
                  `<fetch><knowledge>rye.overview</knowledge></fetch>`";
    assert_eq!(warnings(&told), [denied], "{told}");
    let gave = events(&world, told["thread_id"].as_str().unwrap(), "tool_call_result");
    let unknown = gave.iter().filter(|gave| gave["content"].to_string().contains("unknown_tool"));
    assert_eq!(unknown.count(), 6, "{gave:?}");
}

#[test]
fn a_denied_call_whose_permission_has_to_be_acknowledged_is_told_with_that_line() {
    let bash = json!({"item_id": "tool:rye/bash"});
    let turns = json!([call("rye_execute", &bash), hand_over()]);
    let world = world(&turns, "turns=\"9\"", ONLY_ECHO);
    let put = |permissions: &str, acknowledges: &str| {
        let text = directive("go", "turns=\"9\"", permissions);
        let own = "<acknowledge risk=\"unrestricted\">a test</acknowledge>";
        assert!(text.contains(own));
        world.signed(".ai/directives/acme/go.md", &text.replace(own, acknowledges));
    };
    let line = "<acknowledge risk=\"elevated\">why</acknowledge>";
    let denied = "1 call was denied: `tool:rye/bash`; `<permissions>` of `directive:acme/go` would \
                  need `<execute><tool>rye.bash</tool></execute>`";
    put(ONLY_ECHO, "");
    let (_, told) = fork(&world, &[]);
    assert_eq!(warnings(&told), [format!("{denied}, and beside them `{line}`")], "{told}");
    // What is said is what is needed.
    let permitted = ONLY_ECHO.replace("</execute>", "<tool>rye.bash</tool></execute>");
    put(&permitted, "");
    assert_eq!(fork(&world, &[]).1["code"], "thread.risk_not_acknowledged");
    put(&permitted, line);
    let (status, told) = fork(&world, &[]);
    assert_eq!((status, &told["warnings"]), (0, &Value::Null), "{told}");
    // What is acknowledged already, or grave to nobody, is not named.
    put(ONLY_ECHO, line);
    assert_eq!(warnings(&fork(&world, &[]).1), [denied]);
    put(ONLY_ECHO, "");
    let classes = "classes:\n  rye.execute.tool.rye.bash: write\n";
    world.signed_home(".ai/config/agent/risk.yaml", classes);
    assert_eq!(warnings(&fork(&world, &[]).1), [denied]);
}
