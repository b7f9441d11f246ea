//! Risk classes of what a thread is permitted (threads 3).

use std::fs;

use serde_json::{Value, json};

use crate::threads::{ONLY_ECHO, call, directive, events, fork, hand_over, provider, rows, world};
use crate::world::{End, World};

/// What the directives of the other tests say.
const ACKNOWLEDGED: &str = "<acknowledge risk=\"unrestricted\">a test</acknowledge>";
const RISK: &str = ".ai/config/agent/risk.yaml";
const BASH: &str = "<execute><tool>rye.bash</tool></execute>";

fn acknowledged(risk: &str) -> String {
    format!("<acknowledge risk=\"{risk}\">it is meant</acknowledge>")
}

/// A directive that permits this, and acknowledges what these elements say.
fn said(name: &str, permissions: &str, acknowledges: &str) -> String {
    let text = directive(name, "turns=\"9\"", permissions);
    assert!(text.contains(ACKNOWLEDGED));
    text.replace(ACKNOWLEDGED, acknowledges)
}

fn put(world: &World, permissions: &str, acknowledges: &str) {
    world.signed(".ai/directives/acme/go.md", &said("go", permissions, acknowledges));
}

/// A world whose thread hands over at once.
fn quick() -> World {
    world(&json!([hand_over()]), "turns=\"9\"", ONLY_ECHO)
}

/// How it came out: `success`, or the code.
#[track_caller]
fn came(world: &World) -> String {
    let (status, told) = fork(world, &[]);
    let word = if status == 0 { &told["status"] } else { &told["code"] };
    word.as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
}

/// How many threads there are, in the registry and on the disk.
fn kept(world: &World) -> (usize, usize) {
    let folder = world.project().join(".ai/state/threads/acme/go");
    (rows(world).len(), fs::read_dir(folder).map_or(0, Iterator::count))
}

const REFUSED: &str = "thread.risk_not_acknowledged";

#[test]
fn what_is_grave_starts_only_where_it_is_acknowledged_and_leaves_nothing_otherwise_table() {
    let world = quick();
    let many = "<execute><tool>acme.echo</tool><tool>rye.*</tool></execute>";
    let rows = [
        ("", "", "safe"),
        ("<fetch>*</fetch>", "", "safe"),
        (ONLY_ECHO, "", "write"),
        ("<execute><tool>rye.file-system.*</tool><directive>*</directive></execute>", "", "write"),
        ("<execute><tool>rye.workspace.write_workspace_file</tool></execute>", "", "write"),
        (BASH, "", ""),
        (BASH, "safe", ""),
        (BASH, "elevated", "elevated"),
        (BASH, "unrestricted", "elevated"),
        ("<execute><tool>rye.workspace.*</tool></execute>", "", ""),
        ("<execute><tool>rye.workspace.*</tool></execute>", "elevated", "elevated"),
        (many, "write", ""),
        (many, "elevated", "elevated"),
        ("<sign><tool>acme.*</tool></sign>", "", ""),
        ("<execute><tool>*</tool></execute>", "elevated", ""),
        ("<execute><tool>*</tool></execute>", "unrestricted", "unrestricted"),
        ("<execute>*</execute>", "", ""),
        ("*", "elevated", ""),
        ("*", "unrestricted", "unrestricted"),
    ];
    for (permissions, risk, class) in rows {
        let acknowledges = if risk.is_empty() { String::new() } else { acknowledged(risk) };
        put(&world, permissions, &acknowledges);
        let before = kept(&world);
        let (status, told) = fork(&world, &[]);
        if class.is_empty() {
            let row = format!("{permissions} {risk}: {told}");
            assert_eq!((status, told["code"].as_str()), (4, Some(REFUSED)), "{row}");
            assert_eq!(kept(&world), before, "{row}");
        } else {
            assert_eq!(status, 0, "{permissions} {risk}: {told}");
            let id = told["thread_id"].as_str().unwrap();
            assert_eq!(events(&world, id, "thread_started")[0]["risk"], class, "{permissions}");
        }
    }
}

#[test]
fn the_line_that_is_named_is_the_one_that_lets_it_start() {
    let world = quick();
    put(&world, &format!("{ONLY_ECHO}{BASH}").replace("</execute><execute>", ""), "");
    let (_, told) = fork(&world, &[]);
    assert_eq!(told["code"], REFUSED, "{told}");
    assert_eq!(
        told["data"],
        json!({
            "directive": "directive:acme/go", "capability": "rye.execute.tool.rye.bash",
            "risk": "elevated",
        }),
        "{told}"
    );
    let help = told["help"].as_str().unwrap();
    let line = help.split('`').nth(1).unwrap();
    assert_eq!(line, "<acknowledge risk=\"elevated\">why</acknowledge>");
    assert!(help.contains("`directive:acme/go`"), "{help}");
    put(&world, BASH, line);
    assert_eq!(came(&world), "success");
    // Running on by itself is no way around it.
    put(&world, BASH, "");
    fork(&world, &["--async"]).fails(4, REFUSED);
}

#[test]
fn whoever_declares_the_permissions_acknowledges_them() {
    let world = quick();
    let leaf = |acknowledges: &str| {
        let text = said("go", "", acknowledges).replace("<permissions></permissions>", "");
        let text = text.replace("version=", "extends=\"acme/above\" version=");
        world.signed(".ai/directives/acme/go.md", &text);
    };
    world.signed(".ai/directives/acme/above.md", &said("above", BASH, &acknowledged("elevated")));
    leaf("");
    assert_eq!(came(&world), "success");
    world.signed(".ai/directives/acme/above.md", &said("above", BASH, ""));
    leaf(&acknowledged("elevated"));
    let (_, told) = fork(&world, &[]);
    assert_eq!(
        (&told["code"], &told["data"]["directive"]),
        (&json!(REFUSED), &json!("directive:acme/above"))
    );
}

#[test]
fn a_model_that_starts_a_thread_which_does_not_acknowledge_is_told_so() {
    let start = call("rye_execute", &json!({"item_id": "directive:acme/child", "thread": "fork"}));
    let permissions = "<execute><directive>acme.child</directive></execute>";
    let world = world(&json!([start, hand_over()]), "turns=\"9\"", permissions);
    world.signed(".ai/directives/acme/child.md", &said("child", BASH, ""));
    let told = fork(&world, &[]).ok();
    let gave = &events(&world, told["thread_id"].as_str().unwrap(), "tool_call_result")[0];
    let gave: Value = serde_json::from_str(gave["content"].as_str().unwrap()).unwrap();
    assert_eq!(gave["detail"]["code"], REFUSED, "{gave}");
    assert_eq!(rows(&world).len(), 1);
}

#[test]
fn the_person_says_what_is_grave_and_a_project_only_adds_to_it_table() {
    let classes = |rows: &str| format!("classes:\n  {rows}\n");
    let bash_is = |class: &str| classes(&format!("rye.execute.tool.rye.bash: {class}"));
    let echo_is = |class: &str| classes(&format!("rye.execute.tool.acme.*: {class}"));
    let rows = [
        (None, None, ONLY_ECHO, "success"),
        (Some(echo_is("elevated")), None, ONLY_ECHO, REFUSED),
        (None, Some(echo_is("elevated")), ONLY_ECHO, REFUSED),
        (Some(echo_is("elevated")), Some(echo_is("safe")), ONLY_ECHO, REFUSED),
        (Some(echo_is("safe")), Some(echo_is("write")), ONLY_ECHO, "success"),
        (None, None, BASH, REFUSED),
        (Some(bash_is("write")), None, BASH, "success"),
        (None, Some(bash_is("write")), BASH, REFUSED),
        (Some(bash_is("write")), Some(bash_is("elevated")), BASH, REFUSED),
        // Every tool stays every tool.
        (Some(classes("rye.execute.*: safe")), None, "<execute><tool>*</tool></execute>", REFUSED),
    ];
    for (user, project, permissions, want) in rows {
        let world = quick();
        put(&world, permissions, "");
        for (said, own) in [(&user, true), (&project, false)] {
            match (said, own) {
                (Some(text), true) => drop(world.signed_home(RISK, text)),
                (Some(text), false) => drop(world.signed(RISK, text)),
                (None, _) => {}
            }
        }
        assert_eq!(came(&world), want, "{user:?} {project:?} {permissions}");
    }
}

#[test]
fn a_configuration_of_risk_that_is_not_valid_lets_nothing_start_table() {
    let rows = [
        ("classes: {rye.execute.tool.acme.echo: safe}\n", "success", ""),
        ("version: 1.0.0\nclasses: {}\n", "success", ""),
        ("class: {}\n", "thread.bad_config", "did you mean `classes`"),
        ("classes: [x]\n", "thread.bad_config", "`classes`"),
        ("classes: {rye.execute.tool.x: elevate}\n", "thread.bad_config", "mean `elevated`"),
        ("classes: {rye.execute.tool.x: 1}\n", "thread.bad_config", "is not one of"),
        ("classes: {\"tool:acme/x\": elevated}\n", "thread.bad_config", "tool:acme/x"),
        ("classes: {rye.execute.tool.a//b: elevated}\n", "thread.bad_config", "capability"),
        ("classes: {rye.run.tool.x: elevated}\n", "thread.bad_config", "rye.run.tool.x"),
    ];
    let world = quick();
    for (text, want, named) in rows {
        world.signed_before(&world.home(), RISK, text);
        let before = kept(&world);
        let (status, told) = fork(&world, &[]);
        let word = if status == 0 { &told["status"] } else { &told["code"] };
        assert_eq!(word, want, "{text}: {told}");
        assert!(told["error"].as_str().unwrap_or_default().contains(named), "{text}: {told}");
        assert_eq!(status == 0, kept(&world) != before);
    }
    let many: String = (0..257).map(|n| format!("  rye.execute.tool.x{n}: safe\n")).collect();
    world.signed_before(&world.home(), RISK, &format!("classes:\n{many}"));
    assert_eq!(came(&world), "thread.bad_config");
    world.signed_home(RISK, "classes: {}\n");
    world.signed_home(".ai/tools/acme/script.yaml", &provider(&json!([hand_over()])));
    assert_eq!(came(&world), "success");
}
