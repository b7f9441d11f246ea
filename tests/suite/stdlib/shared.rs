//! The modules that the shipped tools share: nothing stands twice, each tool lists what it runs,
//! and no module is an item.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::copy;
use crate::world::{End, World};
use serde_json::{Value, json};

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/tools/rye").join(path))
        .unwrap()
}

/// A function or class of a shipped tool: the file, its name and its lines without white space
/// around.
#[derive(Clone)]
struct Definition {
    file: String,
    name: String,
    lines: Vec<String>,
}

/// What a Python file defines at its top level.
fn definitions(file: &str, text: &str) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut inside = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let head = line.strip_prefix("def ").or(line.strip_prefix("class "));
        if let Some(head) = head {
            let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
            let name = head.chars().take_while(is_part).collect();
            found.push(Definition { file: file.to_owned(), name, lines: Vec::new() });
        }
        inside = head.is_some() || (inside && line.starts_with(' '));
        if let (true, Some(last)) = (inside && head.is_none(), found.last_mut()) {
            last.lines.push(line.trim().to_owned());
        }
    }
    found
}

/// Names that are defined twice, and four lines in a row that stand in two definitions.
fn repeats(all: &[Definition]) -> Vec<String> {
    const ROW: usize = 4;
    let mut found = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            let places = format!("{} and {}", one.file, other.file);
            if one.name == other.name && one.name != "run" {
                found.push(format!("{places} define `{}`", one.name));
            }
            let mut rows = one.lines.windows(ROW);
            if let Some(row) = rows.find(|row| other.lines.windows(ROW).any(|w| w == *row)) {
                found.push(format!("{places} repeat {row:?}"));
            }
        }
    }
    found
}

/// The Python files of the shipped tools and of what they share.
fn python_files() -> Vec<String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/tools/rye");
    let mut files = Vec::new();
    for folder in ["", "file-system/", "lib/"] {
        for entry in fs::read_dir(top.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|ext| ext == "py") {
                files.push(format!("{folder}{name}"));
            }
        }
    }
    files.sort();
    files
}

/// How many tools are written in Python.
const TOOLS: usize = 7;

#[test]
fn no_two_shipped_tools_repeat_a_function() {
    let files = python_files();
    let texts: Vec<_> = files.iter().map(|file| source(file)).collect();
    let all: Vec<_> =
        files.iter().zip(&texts).flat_map(|(file, text)| definitions(file, text)).collect();
    for name in ["main", "open_file", "replace_file", "Walk", "Pattern", "enter", "too_slow"] {
        assert_eq!(all.iter().filter(|d| d.name == name).count(), 1, "{name}");
    }
    assert_eq!(all.iter().filter(|d| d.name == "run").count(), TOOLS);
    assert_eq!(repeats(&all), [""; 0]);
    // A copy is noticed, under another name and in the middle of something else too.
    let copied = "def run(params):\n    pass\n\n\ndef other(path):\n    first = 1\n\
                  \x20   if os.path.isdir(path):\n        raise Refused(path)\n    return first\n";
    let again = copied.replace("other", "renamed").replace("    pass", "    return 1");
    let two = |text: &str| [definitions("a.py", copied), definitions("b.py", text)].concat();
    assert_eq!(repeats(&two(&again)).len(), 1);
    assert_eq!(repeats(&two(&again.replace("first", "second"))).len(), 0);
    let short = "def other():\n    pass\n";
    assert_eq!(repeats(&two(short)), ["a.py and b.py define `other`"]);
}

/// The modules that a file imports from `lib`.
fn imports(text: &str) -> Vec<String> {
    let modules = text.lines().filter_map(|line| line.strip_prefix("from lib."));
    modules.map(|rest| format!("lib/{}.py", rest.split(' ').next().unwrap())).collect()
}

#[test]
fn each_shipped_tool_lists_exactly_the_modules_that_it_runs() {
    for file in python_files().iter().filter(|file| !file.starts_with("lib/")) {
        let text = source(file);
        let mut needed = BTreeSet::from(["lib/__init__.py".to_owned()]);
        let mut open = imports(&text);
        assert!(!open.is_empty(), "{file}");
        while let Some(module) = open.pop() {
            open.extend(imports(&source(&module)));
            needed.insert(module);
        }
        let header = text.split("# ///\n").next().unwrap();
        let rows = header.lines().filter_map(|line| line.strip_prefix("# \"")?.split_once("\" = "));
        let listed: BTreeSet<_> = rows.map(|(path, _)| path.to_owned()).collect();
        assert_eq!(listed, needed, "{file}");
        assert!(!header.contains("= \"pattern\""), "{file} names its files");
    }
}

#[test]
fn the_modules_of_shipped_tools_are_no_items() {
    let world = World::empty();
    let root = world.outside().join("system");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai"), &root.join(".ai"));
    let outside = root.display().to_string();
    for env in [&[][..], &[("RYE_SYSTEM_SPACE", outside.as_str())]] {
        let json = |args: &[&str]| {
            let said = world.rye_env(&world.project(), &[args, &["--json"]].concat(), b"", env);
            (said.status, said.json())
        };
        for args in [&["list"][..], &["list", "--all"]] {
            let (status, got) = json(args);
            let items: Vec<_> = got["items"].as_array().unwrap().iter().collect();
            let is_shipped = |item: &&&Value| item["item_id"] == "tool:rye/bash";
            assert_eq!((status, items.iter().filter(is_shipped).count()), (0, 1), "{got}");
            let inside = |item: &&&Value| item["item_id"].as_str().unwrap().contains("/lib/");
            assert_eq!(items.iter().find(inside), None, "{args:?}");
        }
        let (status, got) = json(&["verify", "--all", "--ci"]);
        assert_eq!((status, &got["status"]), (0, &json!("success")), "{got}");
        for (verb, item) in [("show", "tool:rye/file-system/read"), ("why", "tool:rye/bash")] {
            let (status, got) = json(&[verb, item]);
            assert_eq!((status, &got["code"]), (0, &Value::Null), "{got}");
        }
        for module in ["rye/lib/params", "rye/lib/__init__"] {
            json(&["execute", &format!("tool:{module}")]).fails(4, "verify.unsigned");
        }
    }
}

#[test]
fn an_altered_module_of_a_shipped_tool_is_refused_even_in_dev_mode() {
    let world = World::new();
    let root = world.outside().join("system");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai"), &root.join(".ai"));
    let root = root.display().to_string();
    let env = [("RYE_SYSTEM_SPACE", root.as_str()), ("RYE_DEV_MODE", "1")];
    world.write("a.txt", "a");
    let args = ["execute", "tool:rye/file-system/edit", "-i", "path=a.txt", "-i", "new=b"];
    let run = |old: &str| {
        let old = format!("old={old}");
        let args = [&args[..], &["-i", &old, "--json"]].concat();
        world.rye_env(&world.project(), &args, b"", &env)
    };
    let said = run("a");
    assert_eq!((said.status, world.read("a.txt")), (0, b"b".to_vec()), "{said:?}");
    for module in ["__init__", "params", "paths", "replace"] {
        let file = Path::new(&root).join(".ai/tools/rye/lib").join(format!("{module}.py"));
        let good = fs::read(&file).unwrap();
        fs::write(&file, [&good[..], b"# more\n"].concat()).unwrap();
        run("b").fails(4, "verify.dependency");
        assert_eq!(world.read("a.txt"), b"b", "{module}");
        fs::write(&file, good).unwrap();
    }
    assert_eq!(run("b").status, 1, "the tool runs again, and says that nothing would change");
}
