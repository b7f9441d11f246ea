//! `rye test`: specs beside items.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::items::native;
use crate::world::{End, GREET_MD, MARKER_SH, World};

/// A tool that says what it was given and where it is, and copies `in.txt` to `out.txt`.
const ECHO_SH: &str = r#"#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Says what it was given"
# ///
given=$(cat)
[ -e in.txt ] && cp in.txt out.txt
[ "$given" = '{"fail":true}' ] && { echo '{"success": false, "error": "as you wish"}'; exit 3; }
echo "{\"given\": $given, \"more\": [1, 2.50], \"project\": \"$RYE_PROJECT\", \"in\": \"$PWD\"}"
"#;

/// A world with the tool and this spec beside it.
fn world(spec: &str) -> World {
    let world = World::new().with(".ai/tools/acme/echo.sh", ECHO_SH);
    world.write(".ai/tools/acme/echo.test.yaml", spec);
    world
}

/// The status of a whole spec and, of each case, its status and what its findings are about.
fn tried(world: &World) -> (i32, Vec<(String, Vec<String>)>) {
    let (status, got) = world.json(&["test"]);
    let cases = got["cases"].as_array().unwrap_or_else(|| panic!("no cases: {got}"));
    let row = |case: &Value| {
        let findings = case["findings"].as_array().unwrap();
        let about = findings.iter().map(|f| f["what"].as_str().unwrap().to_owned()).collect();
        (case["status"].as_str().unwrap().to_owned(), about)
    };
    (status, cases.iter().map(row).collect())
}

/// One case, and what of it must fail; nothing if it must pass.
#[track_caller]
fn case(case: &str, about: &[&str]) {
    let world = world(&format!("cases:\n  - {case}\n"));
    let (status, rows) = tried(&world);
    let want = if about.is_empty() { "passed" } else { "failed" };
    let about: Vec<String> = about.iter().map(|&a| a.to_owned()).collect();
    assert_eq!(rows, [(want.to_owned(), about)], "{case}");
    assert_eq!(status, i32::from(want == "failed"), "{case}");
}

#[test]
fn each_expectation_holds_where_it_is_met_and_is_found_where_it_is_not() {
    // A row: what is met, the same not met, and what the finding is about.
    let rows = [
        ("{inputs: {a: 1}}", "{inputs: {fail: true}}", "it"),
        (
            "{inputs: {fail: true}, expect: {code: execute.tool_failed}}",
            "{expect: {code: execute.tool_failed}}",
            "code",
        ),
        (
            "{inputs: {fail: true}, expect: {exit_code: 3}}",
            "{inputs: {fail: true}, expect: {exit_code: 4}}",
            "exit_code",
        ),
        ("{expect: {exit_code: 0}}", "{expect: {exit_code: 1}}", "exit_code"),
        (
            "{inputs: {fail: true}, expect: {error_includes: [as you, wish]}}",
            "{inputs: {fail: true}, expect: {error_includes: please}}",
            "error_includes",
        ),
        (
            "{inputs: {a: 1}, expect: {result_includes: {given: {a: 1.0}, more: [1, 2.5]}}}",
            "{inputs: {a: 1}, expect: {result_includes: {given: {a: 2}}}}",
            "result_includes",
        ),
        (
            "{dry_run: true, expect: {result_includes: {timeout_ms: 30000}}}",
            "{dry_run: true, expect: {result_includes: {timeout_ms: 1}}}",
            "result_includes",
        ),
        (
            "{setup: {in.txt: x}, expect: {files: {out.txt: {content: x}}}}",
            "{setup: {in.txt: x}, expect: {files: {out.txt: {content: y}}}}",
            "files.out.txt",
        ),
        (
            "{setup: {in.txt: a b}, expect: {files: {out.txt: {includes: [a, b]}}}}",
            "{setup: {in.txt: a b}, expect: {files: {out.txt: {includes: [a, c]}}}}",
            "files.out.txt",
        ),
        (
            "{expect: {files: {out.txt: {absent: true}}}}",
            "{setup: {in.txt: x}, expect: {files: {out.txt: {absent: true}}}}",
            "files.out.txt",
        ),
        (
            "{setup: {a/in.txt: x}, expect: {files: {a/in.txt: {content: x}}}}",
            "{expect: {files: {a/in.txt: {content: x}}}}",
            "files.a/in.txt",
        ),
        (
            "{inputs: {a: 1}, expect: {text_includes: '\"a\":1'}}",
            "{inputs: {a: 1}, expect: {text_includes: '\"a\":2'}}",
            "text_includes",
        ),
    ];
    for (met, unmet, about) in rows {
        case(met, &[]);
        case(unmet, &[about]);
    }
}

#[test]
fn a_result_is_compared_whole_and_the_difference_is_shown() {
    let world = World::new().with(".ai/tools/acme/two.sh", &MARKER_SH.replace(": > marker\n", ""));
    let spec = |value: &str| format!("cases:\n  - expect: {{result: {value}}}\n");
    world.write(".ai/tools/acme/two.test.yaml", spec("{ran: true}"));
    let said = world.rye(&["test"]).ok();
    assert!(said.stdout.starts_with("ok      tool:acme/two  case 1  "), "{said:?}");
    world.write(".ai/tools/acme/two.test.yaml", spec("{ran: true, more: 1}"));
    let said = world.rye(&["test"]).fails(1, "test.failed");
    assert!(said.stdout.contains("        -   \"more\": 1,\n"), "{}", said.stdout);
    assert!(said.stdout.contains("0 passed, 1 failed, in "), "{}", said.stdout);
}

#[test]
fn a_case_works_in_a_folder_of_its_own_that_is_gone_behind_it() {
    let world = world("cases:\n  - {name: a, setup: {in.txt: x}, expect: {result: {}}}\n");
    let (_, got) = world.json(&["test"]);
    let shown = got["cases"][0]["findings"][0]["got"].as_str().expect("what came");
    let came: Value = serde_json::from_str(shown).unwrap();
    let folder = came["project"].as_str().expect("a folder");
    assert_eq!(came["in"], folder);
    assert!(folder.contains("rye-test-") && !Path::new(folder).exists(), "{folder}");
    assert!(!world.project().join("out.txt").exists());
}

#[test]
fn a_case_is_held_by_the_sandbox_without_a_word() {
    let world = World::new_on_disk().held();
    let there = world.outside().join("left-behind");
    let tool = MARKER_SH.replace(": > marker", &format!(": > {} && echo out", there.display()));
    world.signed(".ai/tools/acme/leave.sh", &tool);
    world.write(".ai/tools/acme/leave.test.yaml", "cases:\n  - {name: a}\n");
    tried(&world);
    assert!(!there.exists(), "a case wrote outside of its folder");
    // The tool itself is good: where your own policy lets it out, it leaves its file.
    world.let_out();
    tried(&world);
    assert!(there.exists());
}

#[test]
fn what_a_spec_sets_up_is_no_program() {
    let native = |args: &str| native(&format!("config: {{command: bash, args: {args}}}\n"));
    let world = World::new().with(".ai/tools/acme/run.yaml", &native("[--version]"));
    let spec = |setup: &str| format!("cases:\n  - {{name: a{setup}}}\n");
    world.write(".ai/tools/acme/run.test.yaml", spec(""));
    assert_eq!(tried(&world), (0, vec![("passed".into(), vec![])]), "the fixture itself is good");
    world.signed(".ai/tools/acme/run.yaml", &native("[x.sh]"));
    let setup = ", setup: {x.sh: 'touch ran'}, expect: {code: plan.unverified_program, files: {ran: {absent: true}}}";
    world.write(".ai/tools/acme/run.test.yaml", spec(setup));
    assert_eq!(tried(&world), (0, vec![("passed".into(), vec![])]));
}

#[test]
fn what_a_tool_leaves_behind_is_looked_at_without_following_it() {
    let world = World::new();
    let secret = world.outside().join("secret");
    fs::write(&secret, "secret").unwrap();
    let script = MARKER_SH.replace(": > marker", &format!("ln -s {} link", secret.display()));
    world.signed(".ai/tools/acme/link.sh", &script);
    let spec = "cases:\n  - {expect: {files: {link: {content: secret}}}}\n";
    world.write(".ai/tools/acme/link.test.yaml", spec);
    assert_eq!(tried(&world), (1, vec![("failed".into(), vec!["files.link".into()])]));
    world.rye(&["test"]).shows("files.link cannot be read: space.symlink");
}

#[test]
fn only_verified_bytes_run() {
    let world = world("cases:\n  - {name: a}\n");
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let file = world.project().join(".ai/tools/acme/echo.sh");
    assert_eq!(tried(&world).0, 0, "the fixture itself is good");
    let marker = world.outside().join("marker");
    fs::write(&file, ECHO_SH.replace("given=$(cat)", &format!("touch {}", marker.display())))
        .unwrap();
    world.rye(&["test"]).shows("it was to succeed, but verify.unsigned");
    // The refusal can be what is expected.
    world.write(".ai/tools/acme/echo.test.yaml", "cases:\n  - {expect: {code: verify.unsigned}}\n");
    assert_eq!(tried(&world).0, 0);
    assert!(!marker.exists());
}

#[test]
fn what_dev_mode_lets_through_is_said_loudly() {
    let world = world("cases:\n  - {name: a}\n").env("RYE_DEV_MODE", "1");
    assert!(!world.rye(&["test"]).stderr.contains("DEV MODE"));
    world.write(".ai/tools/acme/echo.sh", ECHO_SH);
    world.rye(&["test"]).ok().warns("[DEV MODE] verify.unsigned");
    let (_, got) = world.json(&["test"]);
    assert_eq!(got["cases"][0]["warnings"][0]["code"], "verify.unsigned", "{got}");
}

#[test]
fn a_project_that_is_not_accepted_has_none_of_its_specs_read() {
    let world = world("cases:\n  - {name: a}\n");
    assert_eq!(tried(&world).0, 0, "the fixture itself is good");
    let clone = world.outside().join("clone");
    assert!(
        Command::new("cp")
            .arg("-r")
            .args([world.project(), clone.clone()])
            .status()
            .unwrap()
            .success()
    );
    // Not even to find out that it is broken.
    fs::write(clone.join(".ai/tools/acme/echo.test.yaml"), "{").unwrap();
    world.rye_in(&clone, &["test"], b"").fails(4, "verify.project_not_accepted");
    world
        .rye_env(&clone, &["test"], b"", &[("RYE_DEV_MODE", "1")])
        .fails_with("verify.project_not_accepted");
}

#[test]
fn a_spec_speaks_for_the_item_beside_it_and_for_no_other() {
    let world = World::new().with(".ai/tools/acme/echo.sh", ECHO_SH);
    let spec = "cases:\n  - {inputs: {command: touch marker}}\n";
    // The shipped tool of this name lies in another space.
    world.write(".ai/tools/rye/bash.test.yaml", spec);
    let (status, got) = world.json(&["test"]);
    assert_eq!((status, &got["cases"][0]["code"]), (3, &json!("test.no_item")), "{got}");
    assert_eq!(got["code"], "test.no_item", "{got}");
}

#[test]
fn a_spec_is_no_item_for_any_verb() {
    let world = world("cases:\n  - {name: a}\n");
    let (_, listed) = world.json(&["list", "--all", "--space", "project"]);
    let ids: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|item| item["item_id"].clone()).collect();
    assert_eq!(ids, ["tool:acme/echo"]);
    assert_eq!(world.run("tool:acme/echo.test"), (3, "resolve.not_found".into()));
    assert_eq!(world.rye(&["sign", "tool:acme/echo.test"]).code(), "resolve.not_found");
    // Another extension makes an item of such a name.
    world.signed(".ai/tools/acme/mark.test.sh", MARKER_SH);
    world.works("tool:acme/mark.test");
    let spec = world.read(".ai/tools/acme/echo.test.yaml");
    world.rye(&["sign", "--all"]).ok();
    assert_eq!(world.read(".ai/tools/acme/echo.test.yaml"), spec, "it was signed");
    assert_eq!(world.json(&["verify", "--all", "--ci"]).ok()["not_items"], json!([]));
}

#[test]
fn a_tool_may_list_its_spec_and_may_ask_that_all_beside_it_is_signed() {
    let world = World::new();
    let spec = ".ai/tools/acme/count.test.yaml";
    world.write(spec, "cases:\n  - {name: a}\n");
    let tool = |more: &str| MARKER_SH.replace("# description", &format!("{more}# description"));
    let listing = tool("# files = [\"*.yaml\"]\n");
    world.signed(".ai/tools/acme/count.sh", &listing);
    assert_eq!(tried(&world).0, 0);
    world.write(spec, "cases:\n  - {name: b}\n");
    let said = world.rye(&["test"]);
    assert!(said.stdout.contains("verify.dependency"), "it is covered by the signature: {said:?}");
    let asking = MARKER_SH
        .replace("# ///\n:", "# [verify_deps]\n# enabled = true\n# scope = \"tool_dir\"\n# ///\n:");
    world.signed(".ai/tools/acme/count.sh", &asking);
    assert_eq!(tried(&world).0, 0, "a spec is nothing that a tool loads");
    world.write(".ai/tools/acme/other.txt", "x");
    world.rye(&["test"]).shows("verify.dependency");
}

#[test]
fn a_directive_is_tried_by_its_text_and_its_inputs() {
    let world = World::new().with(".ai/directives/acme/greet.md", GREET_MD);
    let spec = "cases:\n  - {expect: {text: 'Say hello to world.', result: {who: world}}}\n  \
                - {inputs: {who: Ada}, dry_run: true, expect: {result: {who: Ada}}}\n  \
                - {inputs: {hwo: Ada}, expect: {code: interpolate.unknown_input}}\n  \
                - {inputs: {who: Ada}, expect: {text_includes: Eve}}\n";
    world.write(".ai/directives/acme/greet.test.yaml", spec);
    let (status, rows) = tried(&world);
    let passed = || ("passed".to_owned(), vec![]);
    let failed = ("failed".to_owned(), vec!["text_includes".to_owned()]);
    assert_eq!((status, rows), (1, vec![passed(), passed(), passed(), failed]));
}

#[test]
fn a_malformed_spec_is_refused_with_the_key_and_near_names() {
    for (spec, code, part) in [
        ("", "test.malformed", "cannot be used: it is not a mapping"),
        ("cases: []\n", "test.malformed", "`cases` is not a list of at least one case"),
        ("cases:\n  - {nmae: a}\n", "test.unknown_key", "did you mean `name`?"),
        ("case:\n  - {name: a}\n", "test.unknown_key", "did you mean `cases`?"),
        ("cases:\n  - {expect: {resutl: 1}}\n", "test.unknown_key", "did you mean `result`?"),
        (
            "cases:\n  - {expect: {files: {a: {is: 1}}}}\n",
            "test.unknown_key",
            "cases[0].expect.files.a",
        ),
        ("cases:\n  - {name: a}\n  - {name: a}\n", "test.malformed", "the name of another case"),
        ("cases:\n  - {timeout_ms: 0}\n", "test.malformed", "timeout_ms"),
        ("cases:\n  - {setup: {../x: y}}\n", "test.malformed", "`.` or `..`"),
        ("cases:\n  - {setup: {/x: y}}\n", "test.malformed", "is absolute"),
        ("cases:\n  - {expect: {files: {../x: {absent: true}}}}\n", "test.malformed", "`..`"),
        ("cases:\n  - {inputs: [1]}\n", "test.malformed", "cases[0].inputs"),
        ("cases:\n  - {name: a}\n  - {name: b\n", "test.malformed", "echo.test.yaml:"),
        ("cases:\n  - {name: a, name: b}\n", "test.malformed", "echo.test.yaml:"),
        ("cases:\n  - {name: \"a\u{200b}\"}\n", "test.malformed", "U+200B"),
    ] {
        let world = world("cases:\n  - {name: a}\n");
        assert_eq!(tried(&world).0, 0, "the fixture itself is good");
        world.write(".ai/tools/acme/echo.test.yaml", spec);
        let said = world.rye(&["test"]);
        assert_eq!((said.code().as_str(), said.status), (code, 5), "{spec:?} {said:?}");
        assert!(said.stderr.contains(part), "{spec:?} {}", said.stderr);
        assert!(said.stdout.contains(", 1 spec cannot be used, "), "{}", said.stdout);
        let said = world.rye(&["test", "--list"]);
        assert_eq!((said.code().as_str(), said.status), (code, 5), "{spec:?} {said:?}");
    }
    let world = world("cases:\n  - {name: a}\n");
    world.write(".ai/tools/acme/echo.test.yml", "cases:\n  - {name: a}\n");
    assert_eq!(world.rye(&["test"]).code(), "test.malformed");
}

#[test]
fn items_are_chosen_by_ref_and_pattern_and_near_names_are_offered() {
    let world = world("cases:\n  - {name: a}\n");
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/directives/acme/greet.test.yaml", "cases:\n  - {name: b}\n");
    let names = |args: &[&str]| {
        let said = world.rye(&[&["test", "--list"], args].concat());
        said.stdout
            .lines()
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect::<String>()
    };
    assert_eq!(names(&[]), "ab");
    assert_eq!(names(&["acme/echo"]), "a");
    assert_eq!(names(&["directive:**"]), "b");
    assert_eq!(names(&["tool:acme/*", "directive:acme/greet"]), "ab");
    assert_eq!(names(&["acme/echo@project"]), "a");
    assert_eq!(world.rye(&["test", "acme/echo@user"]).code(), "test.no_spec");
    for (asked, near) in [("acme/ecoh", "tool:acme/echo"), ("tool:acme/mark", "`rye test --list`")]
    {
        world.rye(&["test", asked]).fails(3, "test.no_spec").warns(near);
    }
    assert_eq!(world.rye(&["test", "tool:none/**"]).code(), "test.no_spec");
}

#[test]
fn the_answer_has_one_order_however_many_run_at_once() {
    let cases: String = (0..12)
        .map(|n| format!("  - {{name: case-{n:02}, inputs: {{n: {n}}}, expect: {{result_includes: {{given: {{n: {n}}}}}}}}}\n"))
        .collect();
    let world = world(&format!("cases:\n{cases}"));
    let names = |jobs: &str| {
        let got = world.json(&["test", "--jobs", jobs]).ok();
        let cases = got["cases"].as_array().unwrap().iter();
        cases.map(|case| case["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let want: Vec<String> = (0..12).map(|n| format!("case-{n:02}")).collect();
    assert_eq!(names("1"), want);
    assert_eq!(names("8"), want);
}

#[test]
fn a_case_has_the_time_that_its_spec_gives() {
    let world =
        World::new().with(".ai/tools/acme/slow.sh", &MARKER_SH.replace(": > marker", "sleep 60"));
    let spec =
        "timeout_ms: 60000\ncases:\n  - {timeout_ms: 200, expect: {code: execute.timeout}}\n";
    world.write(".ai/tools/acme/slow.test.yaml", spec);
    assert_eq!(tried(&world), (0, vec![("passed".into(), vec![])]));
}

#[test]
fn junit_is_well_formed_whatever_the_names_and_the_output_hold() {
    let spec = "cases:\n  - {name: \"good <&> \\\"x\\\"\"}\n  \
                - {name: bad, inputs: {a: \"]]><b>\\e[1m&\"}, expect: {result: {}}}\n";
    let world = world(spec);
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.write(".ai/tools/acme/mark.test.yaml", "cases: 1\n");
    let said = world.rye(&["test", "--junit", "junit.xml"]);
    assert_eq!(said.status, 5, "{said:?}");
    let text = String::from_utf8(world.read("junit.xml")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let root = document.root_element();
    let counts = |node: roxmltree::Node<'_, '_>| {
        ["tests", "failures", "errors"].map(|name| node.attribute(name).unwrap().to_owned())
    };
    assert_eq!(
        (root.tag_name().name(), counts(root)),
        ("testsuites", ["3", "1", "1"].map(str::to_owned))
    );
    let cases: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testcase")).collect();
    let names: Vec<_> = cases.iter().map(|case| case.attribute("name").unwrap()).collect();
    assert_eq!(names, ["good <&> \"x\"", "bad", "spec"]);
    assert!(cases.iter().all(|case| case.attribute("time").unwrap().parse::<f64>().is_ok()));
    assert_eq!(cases[0].children().filter(roxmltree::Node::is_element).count(), 0);
    let failure = cases[1].descendants().find(|n| n.has_tag_name("failure")).unwrap();
    assert!(failure.text().unwrap().contains("]]><b>"), "{text}");
    let error = cases[2].descendants().find(|n| n.has_tag_name("error")).unwrap();
    assert_eq!(error.attribute("type"), Some("test.malformed"));
    let said = world.rye(&["test", "--junit", "none/junit.xml"]);
    assert!(said.status == 6 && said.stderr.contains("error[test.io]"), "{said:?}");
}

#[test]
fn an_interrupt_ends_every_case_that_runs_and_rye_by_the_signal() {
    let world = World::new();
    let script = MARKER_SH.replace(": > marker", "touch \"$HOME/started-$$\"; sleep 60");
    world.signed(".ai/tools/acme/slow.sh", &script);
    let spec = "timeout_ms: 50000\ncases:\n  - {name: a}\n  - {name: b}\n  - {name: c}\n";
    world.write(".ai/tools/acme/slow.test.yaml", spec);
    let mut rye = world.start(&["test", "--jobs", "2"]);
    let started = || {
        let names = fs::read_dir(world.home()).unwrap().filter_map(Result::ok);
        names.filter(|entry| entry.file_name().to_string_lossy().starts_with("started-")).count()
    };
    while started() < 2 {
        assert!(rye.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &rye.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = rye.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(2), "{status:?}");
    assert_eq!(started(), 2, "another case was started");
}

#[test]
fn specs_of_the_user_space_are_tried_when_asked_for() {
    let world = World::new().with_home(".ai/tools/acme/mine.sh", MARKER_SH);
    world.write_home(".ai/tools/acme/mine.test.yaml", "cases:\n  - {name: a}\n");
    assert_eq!(tried(&world).1, []);
    let said = world.rye(&["test", "--space", "user"]);
    assert!(said.status == 0 && said.stdout.starts_with("ok "), "{said:?}");
    symlink("mine.sh", world.home().join(".ai/tools/acme/link.test.yaml")).unwrap();
    world.signed_home(".ai/tools/acme/link.sh", MARKER_SH);
    assert_eq!(world.rye(&["test", "--space", "user"]).code(), "space.symlink");
}

/// Copies a folder of the repository into a world.
fn copied(world: &World, from: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(from);
    fs::create_dir_all(to).unwrap();
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
    assert!(to.starts_with(world.outside()));
}

#[test]
fn the_specs_of_every_shipped_tool_and_directive_pass() {
    crate::sandbox::needed();
    let world = World::empty();
    let system = world.outside().join("system");
    copied(&world, ".ai", &system);
    let env = [("RYE_SYSTEM_SPACE", system.to_str().unwrap())];
    let args = ["test", "--space", "system", "--json"];
    let said = world.rye_env(&world.project(), &args, b"", &env);
    let got = said.json();
    assert_eq!(said.status, 0, "{got:#}");
    let tried: std::collections::BTreeSet<_> = got["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["item_id"].as_str().unwrap())
        .collect();
    let (_, listed) = world.json(&["list", "--space", "system"]);
    for item in listed["items"].as_array().unwrap() {
        let id = item["item_id"].as_str().unwrap();
        // A provider is not run: the threads of the examples ask it.
        let is_run = world.json(&["show", id]).1["tool_type"] != "provider";
        assert!(!is_run || tried.contains(id), "no spec: {item}");
    }
    assert!(tried.len() >= 11, "{tried:?}");
}

#[test]
fn each_shipped_runtime_runs_a_tool_as_a_spec_says() {
    crate::world::NODE.needed();
    let world = World::new();
    copied(&world, "tests/specs/.ai", &world.project());
    world.rye(&["sign", "--all"]).ok();
    let got = world.json(&["test"]).ok();
    let (_, listed) = world.json(&["list", "--space", "system", "--all", "--kind", "tool"]);
    let runtimes = listed["items"].as_array().unwrap().iter();
    let runtimes = runtimes.filter_map(|item| item["item_id"].as_str()?.strip_prefix("tool:"));
    let mut used = std::collections::BTreeSet::new();
    for case in got["cases"].as_array().unwrap() {
        let shown = world.json(&["show", case["item_id"].as_str().unwrap()]).1;
        used.insert(shown["executor_id"].as_str().unwrap().to_owned());
    }
    // What starts rye itself is for shipped items alone: `sandbox::web` runs it.
    let own = "rye/core/runtimes/native/own";
    let of_all = runtimes.filter(|id| id.starts_with("rye/core/runtimes/") && *id != own);
    for runtime in of_all {
        assert!(used.contains(runtime), "no spec runs `{runtime}`");
    }
}

#[test]
fn where_there_are_no_specs_it_is_said_what_one_is() {
    let world = World::new();
    let said = world.rye(&["test"]).ok();
    assert!(said.stdout.starts_with("no test specs here: write `<item>.test.yaml`"), "{said:?}");
    world.write(".ai/tools/acme/mark.test.yaml", "cases: []\n");
    let said = world.rye(&["test", "--list"]);
    assert!(!said.stdout.contains("no test specs"), "{said:?}");
}

#[test]
fn the_end_names_each_item_that_failed_and_each_case_says_what_its_sandbox_lacked() {
    let world = World::new_beside_tmp().held();
    let tool = MARKER_SH.replace(": > marker", "echo x > \"$RYE_PROJECT/out.txt\" || exit 1");
    for name in ["one", "two"] {
        world.signed(&format!(".ai/tools/acme/{name}.sh"), &tool);
        let spec = "cases:\n  - {name: a}\n  - {name: b}\n";
        world.write(&format!(".ai/tools/acme/{name}.test.yaml"), spec);
    }
    let said = world.rye(&["test"]).fails_with("test.failed");
    for part in [
        "4 of 4 cases failed: `tool:acme/one`, `tool:acme/two`",
        "rye test tool:acme/one tool:acme/two`",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    let hint = "help: if its sandbox";
    assert_eq!(said.stdout.matches(hint).count(), 4, "{said:?}");
    assert!(
        said.stdout.contains("`rye learn tool:acme/two`, with the same inputs, propose"),
        "{said:?}"
    );
}

/// A spec of somebody else's can be written so that its case always fails.
#[test]
fn f08_what_a_case_got_is_told_without_the_values_that_its_tool_named() {
    let world = World::new().env("TOKEN", "hush-hush-hush-1").env("PLACE", "place-of-acme");
    let tool = MARKER_SH.replace(
        ": > marker",
        "echo \"$TOKEN\" > out.txt; echo \"{\\\"v\\\": \\\"$TOKEN $PLACE\\\"}\"",
    );
    let head = "# secrets = [\"TOKEN\"]\n# env = [\"PLACE\"]\n# ///\n";
    let end = tool.rfind("# ///\n").unwrap();
    let tool = format!("{}{head}{}", &tool[..end], &tool[end + "# ///\n".len()..]);
    world.signed(".ai/tools/acme/leak.sh", &tool);
    let spec = "cases:\n  - {name: a, expect: {result: {v: other}}}\n  \
                - {name: b, expect: {text: other}}\n  - {name: c, expect: {text_includes: [z]}}\n  \
                - {name: d, expect: {files: {out.txt: {content: other}}}}\n";
    world.write(".ai/tools/acme/leak.test.yaml", spec);
    for args in [&["test"][..], &["test", "--json"], &["test", "--junit", "junit.xml"]] {
        let said = world.rye(args);
        assert_eq!(said.status, 1, "{said:?}");
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains("***") || args.len() == 3, "{args:?}: {all}");
        assert!(!all.contains("hush-hush") && !all.contains("place-of"), "{args:?}: {all}");
    }
    let junit = String::from_utf8(world.read("junit.xml")).unwrap();
    assert!(junit.contains("***") && !junit.contains("hush-hush"), "{junit}");
}
