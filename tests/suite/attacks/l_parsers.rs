//! Row l05, where a program's header is read: texts that make a parser recurse or wait.

use std::time::{Duration, Instant};

use serde_json::json;

use super::e_parsers::bad;
use crate::lsp::editor::{Editor, codes};
use crate::world::{MARKER_PY, World, item_of, whole};

/// A saved snippet; whatever nests stands behind it.
const SNIPPET_JS: &str = "// /// rye\n// version = '1.0.0'\n// tool_type = 'tool'\n\
    // executor_id = 'rye/core/runtimes/code/snippet'\n// category = 'acme'\n// calls = []\n\
    // ///\nlet x = 1;\n";

/// What nests, opened so often that a parser which recurses has no stack left.
const JAVASCRIPT: &[(&str, usize)] = &[
    ("{a: ", 100_000),
    ("(", 100_000),
    ("[", 100_000),
    ("!", 100_000),
    ("a => ", 50_000),
    ("a ? b : ", 50_000),
    ("`${", 100_000),
    ("if (a) ", 50_000),
    ("new ", 100_000),
    // What a scan for brackets would pair.
    ("( /*)*/ ", 50_000),
    ("( /[)]/ + ", 40_000),
    ("( `)` + ", 50_000),
];
const PYTHON: &[(&str, usize)] = &[
    ("(", 100_000),
    ("[", 100_000),
    ("{1: ", 100_000),
    ("-", 100_000),
    ("not ", 100_000),
    ("lambda: ", 50_000),
    ("f'{", 50_000),
    ("( ')' + ", 50_000),
];

/// A quarter as deep here as the rows say; the whole is as they say.
#[test]
fn l05_a_program_that_nests_without_end_is_refused_and_ends_no_process() {
    let world = World::new().with(".ai/tools/acme/snake.py", MARKER_PY);
    world.works("tool:acme/snake");
    std::fs::remove_file(world.project().join("marker")).expect("it ran");
    world.signed(".ai/tools/acme/node.js", SNIPPET_JS);
    assert_eq!(world.run("tool:acme/node").0, 0);
    let of = if whole() { 1 } else { 4 };
    for (open, count) in PYTHON {
        let text = format!("{MARKER_PY}{}", open.repeat(count / of));
        bad(&world, ".ai/tools/acme/snake.py", text, "parse.limit");
    }
    for (open, count) in JAVASCRIPT {
        let text = format!("{SNIPPET_JS}x = {}", open.repeat(count / of));
        for file in ["node.js", "typed.ts"] {
            let path = format!(".ai/tools/acme/{file}");
            world.write(&path, &text);
            let (status, got) = world.json(&["sign", &item_of(&path)]);
            let why = got["error"].as_str().unwrap_or_default();
            assert!(status == 4 && why.contains("nest deeper than"), "{status} {open}: {got}");
        }
    }
}

#[test]
fn l05_an_editor_that_opens_such_a_file_keeps_its_server() {
    let world = World::new();
    let good = world.write(".ai/tools/acme/x.py", MARKER_PY);
    let bomb = world.write(".ai/tools/acme/bomb.py", "{1: ".repeat(100_000));
    let mut editor = Editor::new(&world, &json!({}));
    assert_eq!(codes(&editor.open(&good)), [("verify.unsigned".to_owned(), 1)]);
    let said = codes(&editor.open(&bomb));
    assert!(said.iter().any(|(code, _)| code == "parse.limit"), "{said:?}");
    assert_eq!(editor.bye().status, Some(0));
}

/// How long `rye sign` takes with so many rows behind a good header.
fn signing(world: &World, path: &str, text: &str, row: &str, count: usize) -> Duration {
    world.write(path, format!("{text}{}", row.repeat(count)));
    let start = Instant::now();
    let (status, got) = world.json(&["sign", &crate::world::item_of(path)]);
    assert_eq!(status, 0, "{row:?}: {got}");
    start.elapsed()
}

#[test]
fn l05_ten_times_the_lines_take_about_ten_times_the_time() {
    let world = World::new().with(".ai/tools/acme/snake.py", MARKER_PY);
    world.works("tool:acme/snake");
    let rows = [
        (".ai/tools/acme/snake.py", MARKER_PY, "# a remark\n"),
        (".ai/tools/acme/snake.py", MARKER_PY, "def f(x): return x\n"),
        (".ai/tools/acme/node.js", SNIPPET_JS, "// a remark\n"),
        (".ai/tools/acme/node.js", SNIPPET_JS, "function f(x) { return x }\n"),
    ];
    for (path, text, row) in rows {
        let few = signing(&world, path, text, row, 1_500);
        let many = signing(&world, path, text, row, 15_000);
        // What grows with the square takes a hundred times as long.
        let most = few.max(Duration::from_millis(100)) * 40;
        assert!(many < most, "{row:?}: {few:?}, then {many:?}");
    }
}
