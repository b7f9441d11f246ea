//! Sessions on record: what each side says, line by line.
//!
//! A line begins with `-->` for the editor's messages and `<--` for the server's, each one JSON
//! value. `$project` stands for the project's folder and `"[..]"` for any value.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::editor::Editor;
use crate::world::{MARKER_PY, World};

fn fits(said: &Value, wanted: &Value) -> bool {
    match (said, wanted) {
        (_, Value::String(any)) if any == "[..]" => true,
        (Value::Array(said), Value::Array(wanted)) => {
            said.len() == wanted.len() && said.iter().zip(wanted).all(|(s, w)| fits(s, w))
        }
        (Value::Object(said), Value::Object(wanted)) => {
            said.len() == wanted.len()
                && wanted.iter().all(|(key, w)| said.get(key).is_some_and(|s| fits(s, w)))
        }
        (said, wanted) => said == wanted,
    }
}

#[test]
fn a_session_is_what_the_record_says_line_by_line() {
    let world = World::new().with_file(".ai/tools/acme/x.py", MARKER_PY);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/lsp/session.txt");
    let record = fs::read_to_string(path).unwrap();
    let record = record.replace("$project", &world.project().display().to_string());
    let mut editor = Editor::start(&world);
    let mut lines = 0;
    for line in record.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (side, text) = line.split_at(3);
        let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {line}"));
        lines += 1;
        if side == "-->" {
            editor.send(&value);
            continue;
        }
        let said = editor.any().unwrap_or_else(|| panic!("nothing was said, wanted:\n{value}"));
        assert!(fits(&said, &value), "said:\n{said}\nwanted:\n{value}");
    }
    assert!(lines > 10, "the record was read");
    assert_eq!(editor.end().status, Some(0));
}
