//! The command line (core 11): statuses, inputs, output, and the verbs that look.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::world::{GREET_MD, MARKER_SH, Said, World};
use serde_json::{Value, json};

/// A shell tool that gives its parameters back, with two declared inputs.
fn echo() -> String {
    let schema = "# [input_schema.properties]\n# n = {type = \"integer\", description = \"A number\"}\n\
                  # fast = {type = \"boolean\"}\n# mode = {type = \"string\", enum = [\"one\", \"two\"]}\n# ///\ncat\n";
    MARKER_SH.replace("# ///\n: > marker\necho '{\"ran\": true}'\n", schema)
}

/// A world with that tool signed.
pub(crate) fn world() -> World {
    let world = World::new().with(".ai/tools/acme/echo.sh", &echo());
    world.works("tool:acme/echo");
    world
}

/// Exactly one object, ended by a line feed, is on standard output.
#[track_caller]
fn one_object(said: &Said) -> Value {
    let value = said.json();
    assert!(value.is_object() && said.stdout.ends_with('\n'), "{said:?}");
    assert_eq!(said.stdout.trim_end().lines().count(), 1, "{said:?}");
    value
}

#[test]
fn every_verb_gives_one_object_and_the_status_of_its_code() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.signed(".ai/tools/acme/fails.sh", &MARKER_SH.replace(": > marker", "exit 9"));
    world.signed(".ai/tools/acme/lost.sh", &MARKER_SH.replace("shell/script", "shell/none"));
    world.signed(
        ".ai/tools/acme/bare.yaml",
        "executor_id: rye/core/runtimes/native/program\ncategory: acme\n",
    );
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    world.write(".ai/tools/acme/two.sh", MARKER_SH);
    world.write(".ai/tools/acme/two.py", "x = 1\n");
    world.write(".ai/directives/acme/both.md", GREET_MD);
    world.write(".ai/tools/acme/both.sh", MARKER_SH);
    world.write(".ai/tools/rye/bash.sh", MARKER_SH);
    world.write(".ai/directives/acme/broken.md", "# none\n");
    let rows: &[(&[&str], i32, &str)] = &[
        (&["execute", "acme/echo"], 0, ""),
        (&["run", "acme/echo"], 0, ""),
        (&["execute", "acme/fails"], 1, "execute.tool_failed"),
        (&["execute"], 2, "cli.usage"),
        (&["nosuch"], 2, "cli.usage"),
        (&["execute", "acme/echo", "--nosuch"], 2, "cli.usage"),
        (&["execute", "acme/echo", "-i", "x"], 2, "cli.input_syntax"),
        (&["execute", "acme/echo", "-i", "x=@none"], 2, "cli.input_file"),
        (&["execute", "acme/echo", "--params", "[]"], 2, "cli.params_json"),
        (&["execute", "acme/echo", "-i", "n=x"], 2, "plan.invalid_parameters"),
        (&["execute", "acme/greet", "-i", "whom=x"], 2, "interpolate.unknown_input"),
        (&["explain", "no.code"], 2, "cli.unknown_code"),
        (&["execute", "acme//x"], 3, "id.malformed"),
        (&["execute", "thing:acme/x"], 3, "id.unknown_kind"),
        (&["execute", "acme/none"], 3, "resolve.not_found"),
        (&["execute", "acme/both"], 3, "resolve.ambiguous_kind"),
        (&["execute", "acme/two"], 3, "resolve.ambiguous_file"),
        (&["execute", "acme/lost"], 3, "chain.executor_not_found"),
        (&["execute", "acme/unsigned"], 4, "verify.unsigned"),
        (&["execute", "rye/bash@project"], 4, "resolve.reserved"),
        (&["execute", "acme/echo", "--thread", "fork"], 4, "matrix.tool_fork"),
        (&["execute", "acme/echo", "--target", "moon"], 4, "matrix.unknown_word"),
        (&["sign", "directive:acme/broken"], 5, "parse.no_directive_fence"),
        (&["execute", "acme/bare"], 6, "plan.no_command"),
        (&["fetch", "knowledge:rye/overview"], 0, ""),
        (&["fetch", "knowledge:rye/nowhere"], 3, "resolve.not_found"),
        (&["show", "tool:rye/file-system/read"], 0, ""),
        (&["show", "acme/unsigned"], 4, "verify.unsigned"),
        (&["why", "acme/echo"], 0, ""),
        (&["why", "acme/unsigned"], 4, "verify.unsigned"),
        (&["why", "acme/none"], 3, "resolve.not_found"),
        (&["diff", "acme/echo"], 0, ""),
        (&["diff", "acme/unsigned"], 0, ""),
        (&["diff", "acme/unsigned", "--to", "0"], 3, "diff.no_baseline"),
        (&["list"], 0, ""),
        (&["list", "--all", "--long"], 0, ""),
        (&[], 0, ""),
        (&["verify", "acme/echo"], 0, ""),
        (&["keys", "show"], 0, ""),
        (&["keys", "list"], 0, ""),
        (&["trust", "list"], 0, ""),
        (&["trust", "review"], 0, ""),
        (&["doctor"], 0, ""),
        (&["init"], 0, ""),
        (&["explain", "verify.altered"], 0, ""),
        (&["explain"], 0, ""),
        (&["sign", "acme/echo", "--check"], 0, ""),
    ];
    for (args, status, code) in rows {
        let said = world.rye(&[args, &["--json"][..]].concat());
        let got = one_object(&said);
        let row = got["items"].get(0).filter(|_| args.first() == Some(&"sign")).unwrap_or(&got);
        let said_code =
            row["code"].as_str().filter(|_| args.first() != Some(&"explain") || *status != 0);
        assert_eq!(
            (said.status, said_code.unwrap_or_default()),
            (*status, *code),
            "{args:?}: {said:?}"
        );
        if *status != 0 {
            let texts = (row["error"].as_str(), row["help"].as_str());
            assert!(
                matches!(texts, (Some(error), Some(help)) if !error.is_empty() && !help.is_empty()),
                "{args:?}: {got}"
            );
            let text = world.rye(args);
            // What `why` finds out is its answer, not its failure.
            let why = args.first() == Some(&"why") && text.stdout.contains(code);
            assert!(
                text.status == *status && (text.stdout.is_empty() || why),
                "{args:?}: {text:?}"
            );
            let shown =
                why || code.starts_with("cli.usage") || text.stderr.contains(&format!("[{code}]"));
            assert!(shown && !text.stderr.contains("panicked"), "{args:?}: {text:?}");
        }
    }
}

#[test]
fn inputs_come_by_name_by_file_as_json_and_whole() {
    let world = world();
    world.write("value.txt", "from a file\n");
    world.write("bytes.bin", b"\xff");
    world.write("params.json", r#"{"n": 7, "s": "x"}"#);
    let sub = world.project().join("sub");
    fs::create_dir(&sub).unwrap();
    fs::write(sub.join("here.txt"), "relative").unwrap();
    let give = |args: &[&str], stdin: &[u8], folder: &Path| {
        world.rye_in(folder, &[&["execute", "acme/echo", "--json"], args].concat(), stdin)
    };
    let root = world.project();
    let rows: &[(&[&str], &str, Value)] = &[
        (&["-i", "s=a=b"], "", json!({"s": "a=b"})),
        (&["-i", "s="], "", json!({"s": ""})),
        (&["--input", "s=x", "-it=y"], "", json!({"s": "x", "t": "y"})),
        (
            &["-i", "n=12", "-i", "fast=true", "-i", "free=12"],
            "",
            json!({"n": 12, "fast": true, "free": "12"}),
        ),
        (&["-i", "s=@value.txt"], "", json!({"s": "from a file\n"})),
        (&["-i", "s=@@value.txt"], "", json!({"s": "@value.txt"})),
        (
            &["-i", "s:=[1, null, {\"a\": 1.50}]"],
            "",
            json!({"s": [1, null, {"a": serde_json::from_str::<Value>("1.50").unwrap()}]}),
        ),
        (&["--params", r#"{"n": 1, "s": "@x"}"#], "", json!({"n": 1, "s": "@x"})),
        (&["--params-file", "params.json"], "", json!({"n": 7, "s": "x"})),
        (&["--params", "-"], r#"{"n": 9}"#, json!({"n": 9})),
        (&["--params", r#"{"n": 1, "s": "x"}"#, "-i", "n=2"], "", json!({"s": "x", "n": 2})),
        (&["-i", "s=x"], "not read", json!({"s": "x"})),
    ];
    for (args, stdin, want) in rows {
        let said = give(args, stdin.as_bytes(), &root);
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
        assert_eq!(one_object(&said)["data"], *want, "{args:?}");
    }
    let said = give(&["-i", "s=@here.txt"], b"", &sub);
    assert_eq!(
        one_object(&said)["data"],
        json!({"s": "relative"}),
        "files are relative to the working directory"
    );
    for (args, code) in [
        (&["-i", "noequals"][..], "cli.input_syntax"),
        (&["-i", "=x"], "cli.input_syntax"),
        (&["-i", ":=1"], "cli.input_syntax"),
        (&["-i", "s:=nul"], "cli.input_syntax"),
        (&["-i", "s=1", "-i", "s=2"], "cli.input_syntax"),
        (&["-i", "s=@"], "cli.input_file"),
        (&["-i", "s=@sub"], "cli.input_file"),
        (&["-i", "s=@bytes.bin"], "cli.input_file"),
        (&["--params-file", "none.json"], "cli.input_file"),
        (&["--params-file", "value.txt"], "cli.params_json"),
        (&["--params", "7"], "cli.params_json"),
        (&["--params", "-"], "cli.params_json"),
        (&["--params", "{}", "--params-file", "params.json"], "cli.usage"),
    ] {
        let said = give(args, b"", &root);
        assert_eq!((said.status, said.code().as_str()), (2, code), "{args:?}: {said:?}");
        one_object(&said);
    }
}

#[test]
fn colour_comes_only_where_it_is_wanted() {
    let world = world();
    world.write(".ai/tools/acme/unsigned.sh", MARKER_SH);
    let verbs: [&[&str]; 6] = [
        &["list"],
        &["show", "acme/echo"],
        &["why", "acme/unsigned"],
        &["execute", "acme/unsigned"],
        &["execute", "acme/echo", "--dry-run"],
        &["doctor"],
    ];
    for args in verbs {
        let painted = |more: &[&str], env: &[(&str, &str)]| {
            let said = world.rye_env(&world.project(), &[args, more].concat(), b"", env);
            (said.stdout + &said.stderr).contains('\u{1b}')
        };
        // No terminal here.
        assert!(!painted(&[], &[]), "{args:?}");
        assert!(!painted(&["--color", "never"], &[]), "{args:?}");
        assert!(painted(&["--color", "always"], &[]), "{args:?}");
        assert!(!painted(&["--color", "auto"], &[("NO_COLOR", "1")]), "{args:?}");
        assert!(!painted(&["--color", "always", "--json"], &[]), "{args:?}: JSON is plain");
    }
    assert_eq!(world.rye(&["list", "--color", "sometimes"]).status, 2);
}

#[test]
fn what_is_not_found_is_answered_with_near_names() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    for (args, near) in [
        (&["execute", "acme/ehco"][..], "acme/echo"),
        (&["execute", "directive:acme/gret"], "acme/greet"),
        (&["show", "tool:rye/bsh"], "rye/bash"),
        (&["fetch", "knowledge:rye/overveiw"], "rye/overview"),
        (&["why", "rye/file-system/raed"], "rye/file-system/read"),
        (&["explain", "verify.alterd"], "verify.altered"),
        (&["execute", "acme/greet", "-i", "woh=x"], "who"),
        (&["execute", "acme/echo", "--thread", "frok"], "fork"),
    ] {
        let (status, got) = world.json(args);
        assert_ne!(status, 0, "{args:?}");
        let help = got["help"].as_str().unwrap_or_default();
        assert!(help.contains("did you mean") && help.contains(near), "{args:?}: {got}");
    }
    let (_, got) = world.json(&["execute", "thing:x"]);
    for kind in ["tool", "directive", "knowledge", "config"] {
        assert!(got.to_string().contains(kind), "{kind}: {got}");
    }
    let said = world.rye(&["exeucte"]);
    assert_eq!((said.status, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("`rye execute`"), "{said:?}");
}

#[test]
fn every_code_has_a_page_with_title_cause_next_step_and_exit_status() {
    let world = World::empty();
    let (_, listed) = world.json(&["explain", "--list"]);
    let listed = listed["codes"].as_array().expect("a list");
    assert!(listed.len() > 200, "{}", listed.len());
    let lines = world.rye(&["explain", "--list"]).stdout;
    for row in listed {
        let code = row["code"].as_str().unwrap();
        let (status, got) = world.json(&["explain", code]);
        assert_eq!((status, &got["code"]), (0, &row["code"]));
        let page = got["page"].as_str().expect("a page");
        let (title, rest) = page.split_once("\n\n## Why\n\n").expect(code);
        let (cause, rest) = rest.split_once("\n\n## What to do\n\n").expect(code);
        let (step, exit) = rest.rsplit_once("\n\nExit status: ").expect(code);
        assert_eq!(title.replace('\n', " "), row["summary"], "{code}");
        assert!(title.ends_with('.') && cause.len() > 40 && step.len() > 10, "{code}: {page}");
        assert_eq!(exit, format!("{}\n", got["exit_status"]), "{code}");
        assert_eq!(got["exit_status"], row["exit_status"], "{code}");
        assert!(lines.contains(&format!("{}  {code}\n", row["exit_status"])), "{code}: {lines}");
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{code} is wider than 80 columns: {line}");
        }
    }
    let said = world.rye(&["explain", "verify.altered"]);
    assert!(said.stdout.starts_with("The file was changed after it was signed."), "{said:?}");
    let table = world.rye(&["explain"]).stdout;
    for status in ["0", "70"] {
        assert!(table.contains(&format!("| {status} |")), "{status}: {table}");
    }
    for (status, codes) in codes_by_status(listed) {
        let begins = format!("| {status} | ");
        let row = table.lines().find(|line| line.starts_with(&begins)).expect("a row");
        assert!(row.ends_with(&format!(" | {codes} |")), "{row}\nshould end with | {codes} |");
    }
}

#[test]
fn the_page_of_exit_statuses_and_the_manual_say_what_the_program_ends_with() {
    let world = World::empty();
    let page = world.rye(&["explain"]).stdout;
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows = rows.filter(|(status, _)| status.parse::<u8>().is_ok());
    let rows: Vec<_> = rows.map(|(s, rest)| (s, rest.split(" |").next().unwrap())).collect();
    let manual = world.rye(&["man"]).stdout;
    let statuses = manual.split(".SH \"EXIT STATUS\"\n").nth(1).expect("the section");
    let statuses = statuses.split(".SH").next().unwrap().split(".TP\n").skip(1);
    let statuses: Vec<_> = statuses.map(|row| row.trim_end().split_once('\n').unwrap()).collect();
    assert_eq!(rows, statuses);
    let numbers: Vec<u8> = rows.iter().map(|(status, _)| status.parse().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 70]);
}

/// What the page of exit statuses lists for each: a layer whose codes all have it by `layer.*`, the
/// most frequent status of a layer by "other `layer.*`", and every other code by its name.
fn codes_by_status(listed: &[Value]) -> BTreeMap<u64, String> {
    let mut layers: BTreeMap<&str, BTreeMap<u64, Vec<&str>>> = BTreeMap::new();
    for row in listed {
        let (code, status) = (row["code"].as_str().unwrap(), row["exit_status"].as_u64().unwrap());
        let (layer, _) = code.split_once('.').unwrap();
        layers.entry(layer).or_default().entry(status).or_default().push(code);
    }
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (layer, statuses) in layers {
        let most = statuses.values().map(Vec::len).max().unwrap();
        for (status, codes) in &statuses {
            let row = rows.entry(*status).or_default();
            match codes.len() {
                _ if statuses.len() == 1 => row.push(format!("`{layer}.*`")),
                many if many == most && many > 2 => row.push(format!("other `{layer}.*`")),
                _ => row.extend(codes.iter().map(|code| format!("`{code}`"))),
            }
        }
    }
    rows.into_iter().map(|(status, row)| (status, row.join(", "))).collect()
}

#[test]
fn a_page_of_a_code_is_no_item_and_who_asks_for_it_as_one_is_told_how_to_read_it() {
    let world = World::new();
    world
        .rye(&["fetch", "knowledge:rye/errors/verify.altered"])
        .fails(3, "resolve.not_found")
        .warns("`rye explain verify.altered`");
    let listed = world.rye(&["list", "--kind", "knowledge", "--all"]).stdout;
    assert!(listed.contains("knowledge:rye/errors") && !listed.contains("rye/errors/"), "{listed}");
    let (_, found) = world.json(&["search", "changed after it was signed", "--limit", "100"]);
    assert!(!found.to_string().contains("rye/errors/"), "{found}");
}

#[test]
fn a_project_is_set_up_checked_listed_and_explained() {
    let world = World::empty();
    world.rye(&["doctor"]).ok().shows("rye keys generate").shows("there is no project");
    let (status, got) = world.json(&["init"]);
    assert_eq!(
        (status, &got["made"]),
        (0, &json!([".ai/tools", ".ai/directives", ".ai/knowledge"]))
    );
    assert_eq!((&got["key_generated"], &got["accepted"]), (&json!(true), &json!(true)));
    let (status, again) = world.json(&["init"]);
    assert_eq!((status, &again["made"], &again["key_generated"]), (0, &json!([]), &json!(false)));
    assert_eq!(again["fingerprint"], got["fingerprint"]);
    world.signed_by_rye(".ai/tools/acme/echo.sh", &echo());
    world.write(".ai/tools/acme/mark.sh", MARKER_SH);
    let said = world.rye(&[]);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(lines[..2].join("|").split("  ").next(), Some("project|"), "{said:?}");
    assert!(
        lines[1].contains("tool:acme/echo") && lines[2].contains("refused: verify.unsigned"),
        "{said:?}"
    );
    assert!(said.stdout.contains("\nsystem\n") && !said.stdout.contains("runtimes"), "{said:?}");
    let (_, got) = world.json(&["list", "--space", "project"]);
    let want = json!([{"item_id": "tool:acme/echo", "space": "project", "shadowed": false},
        {"item_id": "tool:acme/mark", "space": "project", "shadowed": false}]);
    assert_eq!(got["items"], want);
    let said = world.rye(&["show", "acme/echo"]);
    for part in [
        "tool:acme/echo 1.0.0",
        "inputs",
        "integer: A number",
        "fast",
        "rye/core/runtimes/shell/script",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let said = world.rye(&["fetch", "acme/echo"]);
    assert_eq!((said.status, said.stdout), (0, echo()));
    // A change is shown, and the shown way leads back.
    let file = world.project().join(".ai/tools/acme/echo.sh");
    let signed = fs::read_to_string(&file).unwrap();
    fs::write(&file, signed.replace("\ncat\n", "\ncat; id\n")).unwrap();
    world.rye(&["diff", "acme/echo"]).shows("\n-cat\n+cat; id\n");
    let said = world.rye(&["why", "acme/echo"]);
    assert_eq!(said.status, 4, "{said:?}");
    for part in ["project", "answers, and is refused", "verify.altered", "rye diff tool:acme/echo"]
    {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let (_, got) = world.json(&["why", "acme/echo"]);
    let copy = &got["copies"][0];
    assert_eq!((&copy["answers"], &copy["admitted"]), (&json!(true), &json!(false)), "{got}");
    fs::write(&file, signed).unwrap();
    world.works("tool:acme/echo");
    let said = world.rye(&["--version"]);
    assert!(said.stdout.starts_with("rye 0.1.0 (") && said.stdout.len() > 20, "{said:?}");
}

#[test]
fn a_batch_signs_what_it_can_and_reports_each() {
    let world = World::new();
    for name in ["a", "b", "sub/c"] {
        let category = if name.starts_with("sub") { "acme/sub" } else { "acme" };
        world.write(
            &format!(".ai/tools/acme/{name}.sh"),
            MARKER_SH.replace("\"acme\"", &format!("\"{category}\"")),
        );
    }
    world.write(".ai/directives/acme/greet.md", GREET_MD);
    world.write(".ai/tools/acme/broken.py", "def (:\n");
    let sign = |args: &[&str]| {
        let (status, got) = world.json(&[&["sign"], args].concat());
        let rows: Vec<_> = got["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| {
                format!("{} {}", row["item_id"].as_str().unwrap(), row["status"].as_str().unwrap())
            })
            .collect();
        (status, rows)
    };
    let before = world.read(".ai/tools/acme/a.sh");
    let would = ["tool:acme/a would_sign", "tool:acme/b would_sign", "tool:acme/broken failed"];
    assert_eq!(sign(&["tool:acme/*", "--check"]), (5, would.map(str::to_owned).to_vec()));
    assert_eq!(world.read(".ai/tools/acme/a.sh"), before, "a check writes nothing");
    let want = [
        "tool:acme/a signed",
        "tool:acme/b signed",
        "tool:acme/broken failed",
        "tool:acme/sub/c signed",
    ];
    assert_eq!(sign(&["tool:acme/**"]), (5, want.map(str::to_owned).to_vec()));
    world.works("tool:acme/sub/c");
    fs::remove_file(world.project().join(".ai/tools/acme/broken.py")).unwrap();
    let (status, rows) = sign(&["--all"]);
    assert_eq!((status, rows.len()), (0, 4));
    assert!(rows.contains(&"directive:acme/greet signed".to_owned()), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.ends_with("up_to_date")).count(), 3, "{rows:?}");
    assert_eq!(sign(&["--all", "--check"]).0, 0);
    let said = world.rye(&["sign", "--all"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, "0 signed, 4 up to date, 0 failed\n"));
    assert_eq!(sign(&["tool:zzz/**"]).0, 2);
    assert_eq!(sign(&["tool:acme/zzz"]).0, 3);
}
