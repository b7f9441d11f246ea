//! Python files in, headers or codes out.

use super::{extent, header};
use crate::base::{text::Position, whole_tests};
use crate::parse::tool::names::NAMES;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn code(text: &str) -> &'static str {
    header(text).map_or_else(|fault| fault.code.name(), |_| "ok")
}

/// The value that `CONFIG` is given by a literal.
fn value(literal: &str) -> Result<Value, &'static str> {
    let map = header(&format!("CONFIG = {literal}\n")).map_err(|fault| fault.code.name())?;
    Ok(map["config"].clone())
}

#[test]
fn a_whole_header() {
    let text = r#"#!/usr/bin/env python3
# rye:signed:v2 item=tool:acme/x
"""Says hello."""
import sys

__version__ = "1.0.0"
__tool_type__: str = 'python'
__executor_id__ = ("rye/core/runtimes/python/script")
__category__ = """acme"""
__tool_description__ = 'hello'; print(__version__)
CONFIG_SCHEMA = {
    "type": "object",  # a remark
    "properties": {"name": {"type": "string", "default": None}},
    "required": [],
}
ENV_CONFIG = {"env": {"A": "1"}}
CONFIG_RESOLVE = None

def execute(params, CONFIG=None):
    CONFIG = dict(params)
    for ENV in CONFIG: pass
    return [ENV for ENV in CONFIG] + [__version__]

class Settings:
    FILES = list("abc")

if __name__ == "__main__":
    print(execute({"version": __version__, "x": CONFIG_SCHEMA["type"]}))
    sys.exit(ENV_CONFIG.get("x"))
"#;
    let want = json!({
        "version": "1.0.0",
        "tool_type": "python",
        "executor_id": "rye/core/runtimes/python/script",
        "category": "acme",
        "description": "hello",
        "config_schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "default": null}},
            "required": [],
        },
        "env_config": {"env": {"A": "1"}},
        "config_resolve": null,
    });
    assert_eq!(header(text).map(Value::Object), Ok(want));
    assert_eq!(header("").map(Value::Object), Ok(json!({})));
}

#[test]
fn literals_table() {
    let rows = [
        ("'a'", json!("a")),
        ("\"a\"", json!("a")),
        ("'''a\nb'''", json!("a\nb")),
        ("\"\"\"a\"b\"\"\"", json!("a\"b")),
        ("'''a\r\nb'''", json!("a\nb")),
        ("''", json!("")),
        ("u'é'", json!("é")),
        (r"r'\n\d'", json!(r"\n\d")),
        (r"R'\''", json!(r"\'")),
        (r"'\n\t\\\'\x41\u00e9\U0001F600\101\0\7f'", json!("\n\t\\'Aé😀A\0\u{7}f")),
        (r"'\d\é'", json!(r"\d\é")),
        ("'a\\\nb'", json!("ab")),
        (r"'\400'", json!("\u{100}")),
        (r"'\N{BULLET}'", json!("•")),
        (r"'\ufffd'", json!("\u{fffd}")),
        ("[True, False, None]", json!([true, false, null])),
        ("(1, -2, +0)", json!("refused")),
        ("(1, -2,)", json!([1, -2])),
        ("()", json!([])),
        ("(1)", json!(1)),
        ("[0xFF, 0o17, 0b1_1, 1_000, 00]", json!([255, 15, 3, 1000, 0])),
        ("{'a': {'b': [1]}, 'c': ()}", json!({"a": {"b": [1]}, "c": []})),
        ("[1, # x\n 2]", json!([1, 2])),
    ];
    for (text, want) in rows {
        let got = value(text).unwrap_or_else(|_| json!("refused"));
        assert_eq!(got, want, "{text:?}");
    }
    for (text, want) in [
        ("1.50", "1.50"),
        ("-.5", "-0.5"),
        ("1_0.5e-3", "10.5e-3"),
        ("5.", "5.0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0xffffffffffffffffff", "-4722366482869645213695"),
    ] {
        assert_eq!(value(text).map(|v| v.to_string()).as_deref(), Ok(want), "{text:?}");
    }
}

#[test]
fn what_is_no_literal() {
    for text in [
        "f'a'",
        "f'{x}'",
        "b'a'",
        "rb'a'",
        "t'a'",
        "'a' 'b'",
        "('a'\n 'b')",
        "'a' + 'b'",
        "'a' * 3",
        "x",
        "dict()",
        "str('a')",
        "{1, 2}",
        "[*x]",
        "{**x}",
        "{'a': x}",
        "{1: 2}",
        "{None: 1}",
        "[i for i in x]",
        "lambda: 1",
        "1j",
        "1 if x else 2",
        "not True",
        "~1",
        "--1",
        "-True",
        "...",
        r"'\ud800'",
        r"'\ufffd\ud800'",
        "x[0]",
        "x.y",
        "(y := 1)",
        "await x",
        "yield",
        "1 < 2",
        "{f'a': 1}",
    ] {
        assert_eq!(value(text), Err("parse.metadata"), "{text:?}");
    }
    assert_eq!(value("{'a': 1, 'a': 1}"), Err("parse.duplicate_metadata"));
    assert_eq!(value("{'a': 1, '\\x61': 1}"), Err("parse.duplicate_metadata"));
}

#[test]
fn a_name_is_bound_once_and_plainly() {
    let forms = [
        "if x:\n    __executor_id__ = 'b'",
        "if x: pass\nelse:\n    __executor_id__ = 'b'",
        "try:\n    __executor_id__ = 'b'\nexcept E: pass",
        "for x in y:\n    __executor_id__ = 'b'",
        "while x:\n    __executor_id__ = 'b'",
        "with x:\n    __executor_id__ = 'b'",
        "for __executor_id__ in y: pass",
        "for a, (__executor_id__, b) in y: pass",
        "with x as __executor_id__: pass",
        "with x as (a, __executor_id__): pass",
        "try: pass\nexcept E as __executor_id__: pass",
        "def __executor_id__(): pass",
        "async def __executor_id__(): pass",
        "@d\ndef __executor_id__(): pass",
        "class __executor_id__: pass",
        "__executor_id__ += 'b'",
        "__executor_id__, x = 'b', 'c'",
        "(__executor_id__) = 'b'",
        "[__executor_id__] = 'b'",
        "*__executor_id__, x = 'bc'",
        "x = __executor_id__ = 'b'",
        "__executor_id__ = x = 'b'",
        "(__executor_id__ := 'b')",
        "print(__executor_id__ := 'b')",
        "[(__executor_id__ := i) for i in x]",
        "def f(x=(__executor_id__ := 'b')): pass",
        "import __executor_id__",
        "import __executor_id__.x",
        "import x as __executor_id__",
        "from x import __executor_id__",
        "from x import y as __executor_id__",
        "del __executor_id__",
        "del x, (__executor_id__)",
        "def f():\n    global __executor_id__\n    __executor_id__ = 'b'",
        "class C:\n    def f(self):\n        global x, __executor_id__",
        "match x:\n    case __executor_id__: pass",
        "match x:\n    case [a, *__executor_id__]: pass",
        "match x:\n    case C(a=__executor_id__): pass",
        "match x:\n    case C() as __executor_id__: pass",
        "match x:\n    case {**__executor_id__}: pass",
        "type __executor_id__ = int",
        "__executor_id__: str",
    ];
    for form in forms {
        assert_eq!(code(form), "parse.metadata", "alone: {form:?}");
        let plain = "__executor_id__ = 'a'";
        assert_eq!(
            code(&format!("{plain}\n{form}\n")),
            "parse.duplicate_metadata",
            "behind: {form:?}"
        );
        assert_eq!(
            code(&format!("{form}\n{plain}\n")),
            "parse.duplicate_metadata",
            "before: {form:?}"
        );
    }
    assert_eq!(code("__version__ = '1'\n__version__ = '1'"), "parse.duplicate_metadata");
    assert_eq!(code("__version__ = '1'; __version__ = '1'"), "parse.duplicate_metadata");
}

#[test]
fn other_uses_of_a_name_are_free() {
    for use_ in [
        "print(__version__)",
        "x = __version__",
        "x.__version__ = '2'",
        "CONFIG['a'] = 1",
        "f(__version__='2')",
        "def f(__version__): pass",
        "def f(__version__='2'): pass",
        "def f(*__version__): pass",
        "def f():\n    __version__ = '2'\n    del __version__",
        "class C:\n    __version__ = '2'",
        "lambda __version__: __version__",
        "x = [y for __version__ in y]",
        "'__version__ = 2'",
        "# __version__ = '2'",
        "import x.__version__",
        "from __version__ import x",
        "assert __version__, 'x'",
        "__all__ = ['__version__']",
        "x: __version__ = 1",
    ] {
        assert_eq!(code(&format!("__version__ = '1'\n{use_}\n")), "ok", "{use_:?}");
    }
}

#[test]
fn what_does_not_parse() {
    for text in [
        "__version__ = ",
        "__version__ = '1",
        "def f(:\n    pass",
        "x = (1",
        "x = 1)",
        "if x\n    pass",
        "'''open",
        "class C:\n    x = = 1\n    CONFIG = 2",
        "if x:\n    y = = 1\n__version__ = '1'",
        "def f():\n    x = (\n__version__ = '1'\n",
        "def f():\n    return = 1\n    CONFIG = 2\n",
        "def f():\n    x = $ 1\n\n__version__ = '1'\n",
        r"CONFIG = '\x4'",
        r"CONFIG = '\u12'",
        r"CONFIG = '\U00110000'",
        r"CONFIG = '\N{NO SUCH SIGN}'",
        "CONFIG = 010",
    ] {
        assert_eq!(code(text), "parse.syntax", "{text:?}");
    }
    let fault = header("x = 1\nif y:\n  é = = 2\n").unwrap_err();
    assert_eq!(fault.position, Some(Position { line: 3, column: 7 }));
}

#[test]
fn a_coding_line_must_be_utf_8() {
    for (text, want) in [
        ("# -*- coding: utf-8 -*-\n", "ok"),
        ("# coding=UTF8\n", "ok"),
        ("# vim: set fileencoding=utf_8 :\n", "ok"),
        ("# -*- coding: utf-7 -*-\n", "parse.encoding"),
        ("#!/usr/bin/python\n# coding: latin-1\n", "parse.encoding"),
        ("#!/usr/bin/python\n# rye:signed:v2\n\t# coding:cp037\n", "parse.encoding"),
        ("# encoding: encoding=utf-16\n", "parse.encoding"),
        ("\n\n\n# coding: latin-1\n", "ok"),
        ("x = 'coding: latin-1'\n", "ok"),
        ("# coding is fun\n", "ok"),
    ] {
        assert_eq!(code(text), want, "{text:?}");
    }
}

#[test]
fn hostile_files_are_refused_in_time() {
    let deep = |n: usize| format!("CONFIG = {}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(code(&deep(64)), "ok");
    assert_eq!(code(&deep(66)), "parse.limit");
    assert_eq!(code(&deep(10_000)), "parse.limit");
    assert_eq!(
        code(&format!("CONFIG = {}1{}", "(".repeat(9_000), ")".repeat(9_000))),
        "parse.limit"
    );
    assert_eq!(code(&"(".repeat(100_000)), "parse.limit");
    assert_eq!(code(&format!("CONFIG = {}1", "-".repeat(1_000))), "parse.metadata");
    let mut many = String::new();
    for i in 0..20_000 {
        let _ = writeln!(many, "print(__version__, {i})");
    }
    assert_eq!(code(&many), "ok");
    assert_eq!(code(&format!("x = 1{}\n", " \\\n".repeat(100_000))), "ok");
    assert_eq!(code(&"#\n".repeat(100_000)), "ok");
    // Many names behind many brackets: what holds a name is found without a walk for each.
    let (open, close, names) = ("[".repeat(1_000), "]".repeat(1_000), "CONFIG, ".repeat(30_000));
    assert_eq!(code(&format!("x = {open}{names}{close}")), "ok");
    assert_eq!(code(&format!("{open}{names}{close} = x")), "parse.duplicate_metadata");
    assert_eq!(
        code(&format!("match x:\n case {open}{names}{close}: pass\n")),
        "parse.duplicate_metadata"
    );
    let mut seed = 1_u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b"()[]{}:,=+ab1\"'\n "[usize::try_from(seed >> 40).unwrap() % 17])
    });
    let found = code(&noise.take(1 << 18).collect::<String>());
    assert!(["parse.limit", "parse.syntax"].contains(&found), "{found}");
    assert_eq!(code(&"a\n".repeat(300_000)), "parse.limit");
}

/// 5,000 levels at most here; the whole is 50,000.
#[test]
fn whatever_nests_too_deep_is_refused_and_whatever_nests_less_is_read() {
    let rows: &[(&str, &str, &str)] = &[
        ("(", "", ")"),
        ("[", "", "]"),
        ("{1:", "2", "}"),
        ("f(", "", ")"),
        ("x[", "0", "]"),
        ("-", "1", ""),
        ("not ", "x", ""),
        ("await ", "x", ""),
        ("lambda: ", "x", ""),
        ("x if y else ", "x", ""),
        ("x ** ", "x", ""),
        ("x + ", "x", ""),
        ("x and ", "x", ""),
        ("x < ", "x", ""),
        ("x.", "x", ""),
        ("", "x", ".x"),
        ("", "x", "()"),
        ("", "x", "[0]"),
        ("[i for i in ", "x", "]"),
        ("x = ", "x", ""),
        ("f'{", "x", "}'"),
        ("(yield ", "x", ")"),
        ("(x := ", "x", ")"),
    ];
    for (before, inside, behind) in rows {
        for count in [50, 900, 5_000, 50_000] {
            if count > 5_000 && !whole_tests() {
                continue;
            }
            let text = format!("{}{inside}{}\n", before.repeat(count), behind.repeat(count));
            let (found, told) = (code(&text), extent(&text).depth);
            let fits = ["ok", "parse.syntax"].contains(&found);
            assert!(
                found == "parse.limit" || (fits && count < 5_000),
                "{before:?} {count} {found}"
            );
            assert!(found != "parse.limit" || count > 1_000, "{before:?} {count} {told}");
        }
    }
    for count in [90, 900] {
        let mut blocks = String::new();
        (0..count).for_each(|at| writeln!(blocks, "{}if x:", " ".repeat(at)).unwrap());
        let text = format!("{blocks}{}pass\n", " ".repeat(count));
        assert_eq!(code(&text), "ok", "{count}");
    }
    let chain = format!("if x:\n  pass\n{}", "elif x:\n  pass\n".repeat(20_000));
    assert_eq!(code(&chain), "ok");
    assert_eq!(code(&"@d\n".repeat(20_000)), "parse.syntax");
    let list = format!("x = [{}]\n", "'a' 'b', -1, f(x).y,\n".repeat(10_000));
    assert_eq!(code(&list), "ok");
}

/// Asks Python what the names at top level are, one JSON mapping a line; null for what it refuses.
const ORACLE: &str = r"
import ast, json, sys, warnings
warnings.simplefilter('ignore')
names = sys.argv[1].split()
for path in sys.argv[2:]:
    try:
        tree = ast.parse(open(path, 'rb').read())
    except Exception:
        print('null')
        continue
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name) and target.id in names:
            try:
                found[target.id] = ast.literal_eval(node.value)
            except Exception:
                pass
    print(json.dumps(found, default=str))
";

/// Numbers as Python's `float` sees them.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), rounded(item))).collect(),
        other => other.clone(),
    }
}

#[test]
fn what_python_itself_reads_is_what_is_read_here() {
    let (folder, inputs) = (tempfile::tempdir().unwrap(), crate::fuzz::inputs("python"));
    let path = |(name, bytes): &(String, Vec<u8>)| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let paths: Vec<_> = inputs.iter().map(path).collect();
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    let asked = std::process::Command::new("python3")
        .args(["-I", "-c", ORACLE, &names.join(" ")])
        .args(&paths)
        .output()
        .unwrap();
    let said = String::from_utf8(asked.stdout).unwrap();
    assert_eq!(said.lines().count(), paths.len(), "{}", String::from_utf8_lossy(&asked.stderr));
    let mut compared = 0;
    for ((name, bytes), said) in inputs.into_iter().zip(said.lines()) {
        let text = String::from_utf8(bytes).unwrap_or_default();
        // A lone surrogate is no JSON, and no literal here.
        let theirs: Value = serde_json::from_str(said).unwrap_or_default();
        let (Ok(ours), Value::Object(theirs)) = (header(&text), theirs) else { continue };
        let theirs = theirs.iter().map(|(name, value)| {
            let (_, key) = NAMES.iter().find(|(known, _)| known == name).unwrap();
            ((*key).to_owned(), rounded(value))
        });
        compared += usize::from(!ours.is_empty());
        let theirs: Value = theirs.collect();
        assert_eq!(rounded(&Value::Object(ours)), theirs, "{name}");
    }
    assert!(compared >= 10, "only {compared} inputs have a header");
}

#[test]
fn strings_side_by_side_are_one_in_texts_and_not_in_what_runs() {
    let head = "__executor_id__ = \"a/b\"\n";
    let text = format!(
        "{head}__tool_description__ = (\"Joins \"  # first\n    'two' r\"\\n\")\n\
         CONFIG_SCHEMA = {{\"a\" \"b\": [\"x\" \"y\", \"\"\"z\r\n\"\"\" \"!\"]}}\n"
    );
    let got = header(&text).map_err(|fault| fault.why).unwrap();
    assert_eq!(got["description"], json!("Joins two\\n"));
    assert_eq!(got["config_schema"], json!({"ab": ["xy", "z\n!"]}));
    for (bad, want) in [
        ("__executor_id__ = \"a\" \"/b\"\n", "parse.metadata"),
        ("__tool_type__ = \"to\" \"ol\"\n", "parse.metadata"),
        ("__tool_description__ = \"a\" f\"b\"\n", "parse.metadata"),
        ("__tool_description__ = \"a\" b\"b\"\n", "parse.syntax"),
        ("__tool_description__ = \"a\" \"\\ud800\"\n", "parse.metadata"),
        ("__tool_description__ = \"a\" + \"b\"\n", "parse.metadata"),
    ] {
        assert_eq!(code(bad), want, "{bad}");
    }
}
