//! What a thread below another one may reach (threads 3), by the row h02 of the attacks.

use serde_json::{Value, json};

use crate::threads::{ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, world};
use crate::world::{End, World};

const ALL: &str = "<execute>*</execute><fetch>*</fetch>";

/// What the calls of a thread gave, as JSON, without the one that handed over.
fn results(world: &World, id: &str) -> Vec<Value> {
    let mut results: Vec<Value> = events(world, id, "tool_call_result")
        .iter()
        .map(|event| serde_json::from_str(event["content"].as_str().unwrap()).unwrap())
        .collect();
    results.pop();
    results
}

/// A directive that a parent may start, with a provider of its own.
fn below(world: &World, name: &str, permissions: &str, turns: &[Value]) {
    let script = format!("{name}_script");
    let turns: Vec<Value> = turns.iter().cloned().chain([hand_over()]).collect();
    world.signed_home(&format!(".ai/tools/acme/{script}.yaml"), &provider(&json!(turns)));
    let text = directive(name, "turns=\"9\"", permissions);
    let text = text.replace("acme/script", &format!("acme/{script}"));
    world.signed(&format!(".ai/directives/acme/{name}.md"), &text);
}

fn start(name: &str) -> Value {
    let item = format!("directive:acme/{name}");
    call("rye_execute", &json!({"item_id": item, "thread": "fork"}))
}

fn run(item: &str) -> Value {
    call("rye_execute", &json!({"item_id": item}))
}

fn read(item: &str) -> Value {
    call("rye_fetch", &json!({"item_id": item}))
}

fn id_of(world: &World, at: usize) -> String {
    rows(world)[at]["thread_id"].as_str().unwrap().to_owned()
}

fn has_run(world: &World) -> bool {
    world.project().join("ran").exists()
}

#[test]
fn h02_a_thread_without_permissions_starts_and_runs_and_reads_nothing() {
    let turns =
        json!([start("child"), run("tool:acme/echo"), read("knowledge:rye/overview"), hand_over()]);
    let world = world(&turns, "turns=\"9\"", "");
    below(&world, "child", ALL, &[run("tool:acme/echo")]);
    assert_eq!(fork(&world, &[]).ok()["outputs"], json!({"n": 7}));
    let gave = results(&world, &id_of(&world, 0));
    for gave in &gave {
        assert_eq!(gave["error_kind"], "unknown_tool", "{gave}");
    }
    assert_eq!((gave.len(), rows(&world).len(), has_run(&world)), (3, 1, false));
}

#[test]
fn h02_a_child_that_declares_more_reaches_what_its_parent_reaches_in_every_generation_table() {
    let calls = || [run("tool:acme/other"), read("knowledge:rye/overview"), read("tool:acme/echo")];
    let denied = json!("permission_denied");
    let child = "<directive>acme.child</directive><directive>acme.grandchild</directive>";
    let execute = |more: &str| format!("<execute>{child}{more}</execute>");
    let tool = "<tool>acme.*</tool>";
    let fetch = "<fetch><knowledge>rye.*</knowledge></fetch>";
    let rows: [(String, String, [Value; 3]); 4] = [
        (format!("{}<fetch>*</fetch>", execute(tool)), ALL.into(), Default::default()),
        (execute(""), ALL.into(), [denied.clone(), denied.clone(), denied.clone()]),
        (
            format!("{}{fetch}", execute(tool)),
            ALL.into(),
            [Value::Null, Value::Null, denied.clone()],
        ),
        // What the middle one leaves out, the last one has no more.
        (ALL.into(), format!("{}{fetch}", execute("")), [denied.clone(), Value::Null, denied]),
    ];
    for (of_parent, of_child, want) in rows {
        let world = world(&json!([start("child"), hand_over()]), "turns=\"9\"", &of_parent);
        below(&world, "child", &of_child, &[start("grandchild")]);
        below(&world, "grandchild", ALL, &calls());
        fork(&world, &[]).ok();
        let gave = results(&world, &id_of(&world, 2));
        let kinds: Vec<&Value> = gave.iter().map(|gave| &gave["error_kind"]).collect();
        assert_eq!(kinds, want.iter().collect::<Vec<_>>(), "{of_parent} {of_child}: {gave:?}");
        assert_eq!(has_run(&world), want[0].is_null());
    }
}

#[test]
fn h02_a_child_without_permissions_reaches_nothing_below_a_parent_that_reaches_all() {
    let world = world(&json!([start("child"), hand_over()]), "turns=\"9\"", ALL);
    below(&world, "child", "", &[run("tool:acme/echo"), call("acme_echo", &json!({}))]);
    fork(&world, &[]).ok();
    for gave in results(&world, &id_of(&world, 1)) {
        assert_eq!(gave["error_kind"], "unknown_tool", "{gave}");
    }
    assert!(!has_run(&world));
    // The same tool runs where it is permitted.
    below(&world, "child", ONLY_ECHO, &[run("tool:acme/echo")]);
    assert_eq!(fork(&world, &[]).0, 0);
    assert!(has_run(&world));
}

#[test]
fn what_a_directive_declares_counts_whole_even_where_it_is_nothing_table() {
    let calls = json!([call("acme_echo", &json!({})), hand_over()]);
    let turns = |row: &Value| row["limits"]["turns"].as_u64().unwrap();
    for (own, runs, most) in [
        ("", true, 9),
        ("<permissions/>", false, 9),
        ("<permissions></permissions><limits/>", false, 25),
        ("<permissions><execute/></permissions><limits spawns=\"1\"/>", false, 25),
        (&format!("<permissions>{ONLY_ECHO}</permissions><limits turns=\"12\"/>"), true, 12),
    ] {
        let world = world(&calls, "turns=\"9\"", "<execute><tool>acme.*</tool></execute>");
        world.signed(
            ".ai/directives/acme/leaf.md",
            &format!(
                "# A leaf\n\n```xml\n<directive name=\"leaf\" version=\"1.0.0\" extends=\"acme/go\">\n\
                 <metadata><description>d</description><category>acme</category>\
                 <author>a</author>{own}</metadata>\n<outputs><output name=\"n\" type=\"integer\"/>\
                 </outputs>\n</directive>\n```\n\nDo it.\n"
            ),
        );
        let (status, told) = world.json(&["execute", "directive:acme/leaf", "--thread", "fork"]);
        assert_eq!(status, 0, "{own}: {told}");
        let gave = &results(&world, &id_of(&world, 0))[0];
        let want = if runs { Value::Null } else { json!("unknown_tool") };
        assert_eq!((&gave["error_kind"], has_run(&world)), (&want, runs), "{own}: {gave}");
        assert_eq!(turns(&rows(&world)[0]), most, "{own}");
        // Whoever reviews it is shown whose permissions it has.
        let (_, shown) = world.json(&["describe", "directive:acme/leaf"]);
        let of_parent = if own.is_empty() { json!("acme/go") } else { Value::Null };
        assert_eq!(shown["reach"]["permissions_of"], of_parent, "{own}");
        let review = world.rye(&["trust", "review"]).stdout;
        assert_eq!(review.contains("may what acme/go may"), own.is_empty(), "{own}: {review}");
    }
}

#[test]
fn h01_a_child_is_given_no_more_than_its_parent_has_left_and_the_registry_and_its_record_say_so() {
    let both = "<execute><directive>acme.*</directive></execute>";
    let world = world(&json!([start("child"), start("child"), hand_over()]), "turns=\"9\"", both);
    below(&world, "child", both, &[start("grandchild")]);
    below(&world, "grandchild", "", &[]);
    let limits = ["turns=12", "tokens=90000", "spend=0.9", "spawns=4", "depth=2"];
    let limits: Vec<&str> = limits.iter().flat_map(|limit| ["--limit", limit]).collect();
    fork(&world, &limits).ok();
    // One turn of each thread takes 15 tokens and 20 micro-dollars.
    for (at, turns, used, spawns, depth) in
        [(0, 12, 0, 4, 2), (1, 9, 1, 3, 1), (2, 8, 2, 2, 0), (3, 7, 5, 1, 1), (4, 6, 6, 0, 0)]
    {
        let row = &rows(&world)[at];
        let want = json!({
            "turns": turns, "tokens": 90_000 - 15 * used, "spend_micros": 900_000 - 20 * used,
            "spawns": spawns, "depth": depth,
        });
        assert_eq!(row["limits"], want, "{at}");
        let began = &events(&world, row["thread_id"].as_str().unwrap(), "thread_started")[0];
        for key in ["turns", "tokens", "spend_micros", "spawns"] {
            assert_eq!(began["limits"][key], want[key], "{at} {key}");
        }
        assert_eq!(began["limits"]["depth"], depth, "{at}");
    }
}

#[test]
fn calls_that_were_denied_are_told_to_the_person_with_the_permission_that_they_lack() {
    let other = || run("tool:acme/other.one");
    let page = || read("knowledge:rye/overview");
    let turns = json!([other(), other(), page(), run("tool:acme/echo"), hand_over()]);
    let may = "<execute><tool>acme.echo</tool></execute><fetch><tool>acme.*</tool></fetch>";
    let world = world(&turns, "turns=\"9\"", may);
    world.signed(".ai/tools/acme/other.one.sh", crate::threads::ECHO);
    let told = |more: &[&str]| {
        let go = ["execute", "directive:acme/go", "--thread", "fork"];
        world.rye(&[&go, more].concat()).ok()
    };
    let said = told(&[]);
    let line = "3 calls were denied: `knowledge:rye/overview`, `tool:acme/other.one`; \
        `<permissions>` of `directive:acme/go` would need \
        `<execute><tool>acme.other%2Eone</tool></execute>`, \
        `<fetch><knowledge>rye.overview</knowledge></fetch>`\n";
    assert!(said.stderr.contains(line), "{said:?}");
    for more in ["--quiet", "--json"] {
        assert!(!told(&[more]).stderr.contains("denied"), "{more}");
    }
    assert!(told(&["--json", "--trace"]).stdout.contains("\"call_denied\""));
    // What is said is what is needed.
    let needed = may.replace("</execute>", "<tool>acme.other%2Eone</tool></execute>");
    let needed = needed.replace("</fetch>", "<knowledge>rye.overview</knowledge></fetch>");
    world.signed(".ai/directives/acme/go.md", &directive("go", "turns=\"9\"", &needed));
    assert!(!told(&[]).stderr.contains("denied"));
}
