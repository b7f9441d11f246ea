//! JavaScript and TypeScript files in, headers or codes out.

use super::{extent, header};
use crate::base::{text::Position, whole_tests};
use oxc_allocator::Allocator;
use oxc_parser::config::TokensParserConfig;
use oxc_parser::{Kind, Parser};
use oxc_span::SourceType;
use proptest::collection::vec;
use proptest::prelude::proptest;
use proptest::sample::select;
use serde_json::{Value, json};

fn code(text: &str) -> &'static str {
    header(text, false).map_or_else(|fault| fault.code.name(), |_| "ok")
}

fn typed(text: &str) -> &'static str {
    header(text, true).map_or_else(|fault| fault.code.name(), |_| "ok")
}

/// The value that `CONFIG` is given by a literal.
fn value(literal: &str) -> Result<Value, &'static str> {
    let map = header(&format!("const CONFIG = {literal};\n"), false)
        .map_err(|fault| fault.code.name())?;
    Ok(map["config"].clone())
}

#[test]
fn a_whole_header() {
    let text = r#"#!/usr/bin/env node
// rye:signed:v2 item=tool:acme/x
'use strict';
import fs from "node:fs";

export const __version__ = "1.0.0", __category__ = 'acme';
const __tool_type__ = `javascript`;
const __executor_id__ = "rye/core/runtimes/node/node"
const CONFIG_SCHEMA = {
  type: "object", // a remark
  'properties': { name: { type: "string", default: null, minLength: 1 } },
  required: [],
};

export default async function main(params) {
  const CONFIG = { ...params };
  let ENV; ENV = process.env; ENV++;
  return [CONFIG, __version__, (FILES) => FILES, class FILES {}];
}
main({ __version__, x: CONFIG_SCHEMA.type });
"#;
    let want = json!({
        "version": "1.0.0",
        "category": "acme",
        "tool_type": "javascript",
        "executor_id": "rye/core/runtimes/node/node",
        "config_schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "default": null, "minLength": 1}},
            "required": [],
        },
    });
    assert_eq!(header(text, false).map(Value::Object), Ok(want.clone()));
    assert_eq!(header(text, true).map(Value::Object), Ok(want));
}

#[test]
fn a_documentation_comment() {
    let text = "#!/usr/bin/env node\n// rye:signed:v2 …\n/* licence */\n\n/**\n * Says hello.\n *\n \
        * @version 1.0.0\n * @author somebody\n *   else\n * @executor_id rye/x\r\n * @description says\n \
        *   hello   \n *\n */\nconst __category__ = 'acme'\n";
    let want = json!({
        "category": "acme",
        "version": "1.0.0",
        "executor_id": "rye/x",
        "description": "says hello",
    });
    assert_eq!(header(text, false).map(Value::Object), Ok(want));
    let rows = [
        ("/** @version 1 */", json!({"version": "1"})),
        ("/** @version */", json!({"version": ""})),
        ("/** @versions 1 */", json!({})),
        ("/* @version 1 */", json!({})),
        ("/**/ x; /** @version 1 */", json!({})),
        ("x; /** @version 1 */", json!({})),
        ("/** a */ /** @version 1 */", json!({})),
        ("/** mail@version 1 */", json!({})),
    ];
    for (text, want) in rows {
        assert_eq!(header(text, false).map(Value::Object), Ok(want), "{text:?}");
    }
    for text in [
        "/** @version 1\n * @version 2 */",
        "/** @version 1\n * @version 1 */",
        "/** @version 1 */\nconst __version__ = '1'",
        "/** @executor_id a */\nexport const __executor_id__ = 'b'",
    ] {
        assert_eq!(code(text), "parse.duplicate_metadata", "{text:?}");
    }
}

#[test]
fn literals_table() {
    let rows = [
        ("'a'", json!("a")),
        (r#""a\"b""#, json!("a\"b")),
        ("`a\nb`", json!("a\nb")),
        ("`a\r\nb`", json!("a\nb")),
        ("`$ {x} \\${x}`", json!("$ {x} ${x}")),
        (r"'\n\t\\\x41\u00e9\u{1F600}\ud83d\ude00\0\d'", json!("\n\t\\Aé😀😀\0d")),
        ("'a\\\nb'", json!("ab")),
        ("[true, false, null,]", json!([true, false, null])),
        ("[1, -2, 0xff, 0o17, 0b11, 1_000]", json!([1, -2, 255, 15, 3, 1000])),
        ("{a: {'b': [1]}, c: []}", json!({"a": {"b": [1]}, "c": []})),
        ("({a: 1})", json!({"a": 1})),
    ];
    for (text, want) in rows {
        assert_eq!(value(text), Ok(want), "{text:?}");
    }
    assert_eq!(value("[1.50, .5, 5.]").map(|v| v.to_string()).as_deref(), Ok("[1.50,0.5,5.0]"));
}

#[test]
fn what_is_no_literal() {
    for text in [
        "`a${b}`",
        "'a' + 'b'",
        "x",
        "undefined",
        "NaN",
        "-Infinity",
        "f()",
        "Object.freeze({})",
        "[...x]",
        "{...x}",
        "{x}",
        "{f() {}}",
        "{get x() { return 1 }}",
        "{[x]: 1}",
        "{1: 2}",
        "{__proto__: 1}",
        "[1, , 2]",
        "[,]",
        "1n",
        "010",
        "!0",
        "+1",
        "--x",
        "() => 1",
        "function () {}",
        "/a/",
        "a ? 1 : 2",
        "tag`a`",
        "new X()",
        r"'\ud800'",
        r"'\8'",
        "class {}",
        "JSON.parse('1')",
        "a.b",
    ] {
        assert_eq!(value(text), Err("parse.metadata"), "{text:?}");
    }
    assert_eq!(value("{a: 1, 'a': 1}"), Err("parse.duplicate_metadata"));
    let deep = |n: usize| value(&format!("{}{}", "[".repeat(n), "]".repeat(n))).map(|_| ());
    assert_eq!(deep(64), Ok(()));
    assert_eq!(deep(66), Err("parse.limit"));
    assert_eq!(deep(5_000), Err("parse.limit"));
}

#[test]
fn a_name_is_bound_once_and_plainly() {
    let forms = [
        "let __executor_id__ = 'b'",
        "var __executor_id__ = 'b'",
        "export let __executor_id__ = 'b'",
        "export var __executor_id__ = 'b'",
        "var x, __executor_id__",
        "if (x) { const __executor_id__ = 'b' }",
        "{ const __executor_id__ = 'b' }",
        "if (x) { var __executor_id__ = 'b' }",
        "for (const __executor_id__ of x) {}",
        "for (__executor_id__ in x) {}",
        "for (let __executor_id__ = 0;;) {}",
        "try { var __executor_id__ } catch {}",
        "function __executor_id__() {}",
        "function* __executor_id__() {}",
        "async function __executor_id__() {}",
        "export default function __executor_id__() {}",
        "class __executor_id__ {}",
        "import __executor_id__ from 'x'",
        "import {__executor_id__} from 'x'",
        "import {y as __executor_id__} from 'x'",
        "import * as __executor_id__ from 'x'",
        "export * as __executor_id__ from 'x'",
        "export {y as __executor_id__}",
        "const {__executor_id__} = x",
        "const {y: __executor_id__} = x",
        "const {y: [__executor_id__ = 1]} = x",
        "const {__executor_id__ = 1} = x",
        "const [a, ...__executor_id__] = x",
        "__executor_id__ = 'b'",
        "__executor_id__ += 'b'",
        "__executor_id__ ||= 'b'",
        "__executor_id__++",
        "(__executor_id__) = 'b'",
        "[__executor_id__] = x",
        "({__executor_id__} = x)",
        "({y: __executor_id__ = 2} = x)",
        "f(__executor_id__ = 'b')",
    ];
    for form in forms {
        assert_eq!(code(form), "parse.metadata", "alone: {form:?}");
        let plain = "const __executor_id__ = 'a';";
        assert_eq!(
            code(&format!("{plain}\n{form}\n")),
            "parse.duplicate_metadata",
            "behind: {form:?}"
        );
        assert_eq!(
            code(&format!("{form};\n{plain}\n")),
            "parse.duplicate_metadata",
            "before: {form:?}"
        );
        assert_eq!(
            typed(&format!("{plain}\n{form}\n")),
            "parse.duplicate_metadata",
            "typed: {form:?}"
        );
    }
    for form in [
        "enum __executor_id__ {}",
        "namespace __executor_id__ {}",
        "import __executor_id__ = a.b",
        "abstract class __executor_id__ {}",
        "declare const __executor_id__: string",
        "function __executor_id__(): void;",
    ] {
        let both = format!("const __executor_id__ = 'a';\n{form}\n");
        assert_eq!(typed(&both), "parse.duplicate_metadata", "{form:?}");
    }
    assert_eq!(code("const __version__ = '1', __version__ = '1'"), "parse.duplicate_metadata");
}

#[test]
fn other_uses_of_a_name_are_free() {
    for use_ in [
        "f(__version__)",
        "x.__version__ = '2'",
        "CONFIG.a = 1",
        "x = {__version__}",
        "x = {__version__: '2'}",
        "const {__version__: y} = x",
        "const {y = __version__} = x",
        "export {__version__}",
        "export {__version__ as y}",
        "import {__version__ as y} from 'x'",
        "function f(__version__) { __version__ = '2' }",
        "const f = (__version__) => __version__",
        "const f = () => { const __version__ = '2' }",
        "class C { f() { let __version__ } __version__ = 1 }",
        "x = function __version__() {}",
        "x = class __version__ {}",
        "// const __version__ = '2'",
        "'const __version__ = 2'",
        "module.exports = {__version__}",
    ] {
        assert_eq!(code(&format!("const __version__ = '1'\n{use_}\n")), "ok", "{use_:?}");
    }
}

#[test]
fn types_are_passed_over() {
    let text = "export const __version__: string = '1';\nconst CONFIG = {a: [1]} as const;\n\
        const ENV_CONFIG = {} satisfies X;\ninterface CONFIG_SCHEMA {}\n";
    let want = json!({"version": "1", "config": {"a": [1]}, "env_config": {}});
    assert_eq!(header(text, true).map(Value::Object), Ok(want));
    assert_eq!(code(text), "parse.syntax");
    assert_eq!(typed("const __version__ = 'a'!"), "parse.metadata");
    assert_eq!(typed("const __version__ = x as string"), "parse.metadata");
}

#[test]
fn what_does_not_parse() {
    for text in [
        "const __version__ =",
        "const __version__ = '1",
        "x = {",
        "x = }",
        "if (",
        "/* open",
        "`open",
    ] {
        assert_eq!(code(text), "parse.syntax", "{text:?}");
    }
    for text in [
        "function f() { x = = 1 }\nconst __version__ = '1'",
        "function f() { x = = 1; const CONFIG = 1 }",
        r"const CONFIG = '\u{110000}'",
    ] {
        assert_eq!(code(text), "parse.syntax", "{text:?}");
    }
    let fault = header("x = 1\nif (y) {\n  é = = 2\n}", false).unwrap_err();
    assert_eq!(fault.position, Some(Position { line: 3, column: 7 }));
    for text in [
        "const x = await f()",
        "import x from 'x'; await f()",
        "return 1",
        "with (x) { y }",
        "let await = 1",
    ] {
        assert_eq!(code(text), "ok", "{text:?}");
    }
}

/// Pieces that open and close strings, templates, comments and brackets in all ways.
const PIECES: &[&str] = &[
    "(", ")", "[", "]", "{", "}", "`", "${", "\"", "'", "/", "/*", "*/", "//", "\n", "a", "1", ".",
    "=", "=>", "++", "!", "<", ">", ",", ";", ":", "?", "\\", "if (x) ", "return ", "else ",
    "await ", "x.in ", "/[/(]/", "'('", "`(`", "/* ( */", "// (\n", "<!--", "-->", "#!", " ",
    "\u{2028}",
];

/// The most brackets that stand open by the parser's own tokens; `None` for a text that it refuses.
fn brackets(text: &str, form: SourceType) -> Option<usize> {
    let allocator = Allocator::default();
    // It does not tell the tokens of every text that it refuses.
    if !Parser::new(&allocator, text, form).parse().diagnostics.is_empty() {
        return None;
    }
    let parsed = Parser::new(&allocator, text, form).with_config(TokensParserConfig).parse();
    let (mut open, mut deepest) = (0_usize, 0);
    for token in &parsed.tokens {
        match token.kind() {
            Kind::LParen | Kind::LBrack | Kind::LCurly | Kind::TemplateHead => open += 1,
            Kind::RParen | Kind::RBrack | Kind::RCurly | Kind::TemplateTail => {
                open = open.saturating_sub(1);
            }
            _ => {}
        }
        deepest = deepest.max(open);
    }
    Some(deepest)
}

proptest! {
    #[test]
    fn a_text_nests_no_deeper_than_it_is_said_to(
        pieces in vec(select(PIECES), 1..24),
    ) {
        let text = pieces.concat();
        let forms = [
            (SourceType::unambiguous(), false),
            (SourceType::mjs(), false),
            (SourceType::cjs(), false),
            (SourceType::ts(), true),
        ];
        for (form, types) in forms {
            if let Some(most) = brackets(&text, form) {
                assert!(extent(&text, types).depth >= most, "{most} in {text:?}");
            }
        }
    }
}

/// 5,000 levels at most here; the whole is 50,000.
#[test]
fn whatever_nests_too_deep_is_refused_and_whatever_nests_less_is_read() {
    let rows: &[(&str, &str, &str)] = &[
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("{a: ", "", ""),
        ("x = {a: ", "1", "}"),
        ("f(", "", ")"),
        ("{", "", "}"),
        ("- ", "1", ""),
        ("!", "x", ""),
        ("typeof ", "x", ""),
        ("await ", "x", ""),
        ("new ", "x", ""),
        ("x => ", "x", ""),
        ("async x => ", "x", ""),
        ("x ? x : ", "x", ""),
        ("x ? ", "x", " : x"),
        ("x ** ", "x", ""),
        ("x + ", "x", ""),
        ("x = ", "x", ""),
        ("", "x", ".x"),
        ("", "x", "()"),
        ("", "x", "?.x"),
        ("", "x", "``"),
        ("`${", "x", "}`"),
        ("if (x) ", "x", ""),
        ("if (x) x; else ", "x", ""),
        ("if (x) {} else ", "x", ""),
        ("if (x) x, y\nelse ", "x", ""),
        ("for (;;) ", "x", ""),
        ("do ", "x", "\nwhile (x)"),
        ("a:", "x", ""),
        ("class extends ", "x", " {}"),
        ("x(class extends ", "x", " {})"),
        ("(function () {", "", "})"),
        ("/*)*/ (", "x", ")"),
        ("/[)]/ + (", "x", ")"),
        ("')' + (", "x", ")"),
        ("`)` + (", "x", ")"),
        ("if (x) /)/.y(", "x", ")"),
        ("x = y\n++(", "x", ")"),
        ("x // )\n + (", "x", ")"),
        ("x(class extends @y\n", "class {}", " {})"),
        ("class extends @y\n", "class {}", " {}"),
    ];
    let typed: &[(&str, &str, &str)] = &[
        ("type A = B<", "C", ">"),
        ("if (x) y > z; else ", "x", ""),
        ("x as ", "x", ""),
        ("", "x", "!"),
        ("let x: A extends B ? C : ", "D", ""),
        ("let x: () => ", "D", ""),
        ("let x: keyof ", "D", ""),
        ("let x: A<B, ", "D", ">"),
        ("<T>(x: T) => ", "x", ""),
        ("(x = (y: ", "z", ") => x) => x"),
        ("async <T>(", "x", ") => x"),
        ("x < ", "y", " > (z)"),
        ("namespace a.", "b", " {}"),
        ("(a, b = (", "c", ")): d => e"),
    ];
    let rows = rows.iter().map(|row| (row, false)).chain(typed.iter().map(|row| (row, true)));
    for ((before, inside, behind), types) in rows {
        for count in [20, 300, 1_300, 5_000, 50_000] {
            if count > 5_000 && !whole_tests() {
                continue;
            }
            let text = format!("{}{inside}{}\n", before.repeat(count), behind.repeat(count));
            let start = std::time::Instant::now();
            let found = header(&text, types).map_or_else(|fault| fault.code.name(), |_| "ok");
            let took = start.elapsed();
            assert!(took.as_secs() < 20, "{before:?} {count} {took:?}");
            let fits = ["ok", "parse.syntax"].contains(&found);
            assert!(
                found == "parse.limit" || (fits && count < 5_000),
                "{before:?} {count} {found}"
            );
            let many = if before.contains('<') { 20 } else { 300 };
            assert!(found != "parse.limit" || count > many, "{before:?} {count}");
        }
    }
}

#[test]
fn long_programs_that_do_not_nest_are_read() {
    let rows = [
        "function f() { return /[(]/.test(x) ? a.b(c) : {d: 1} }\n",
        "const x = a + b\nlet y = f(x)\n",
        "if (a) { b() } else if (c) { d() } else { e() }\n",
        "x = {a: 1, b: [c => d, -1], 'e': `f${g}`};",
        "class A extends B { m() { return this.x / 2 } static y = 1 }\n",
        "for (let i = 0; i < n; i++) x[i] = (y[i] - 1) / 2;\n",
        "// it's (\n/* ( */ a++ / 2;\n",
        "label: for (;;) break label\n",
        "switch (x) { case 1: a(); break; default: b() }\n",
    ];
    for row in rows {
        let text = row.repeat(2_000);
        assert!(extent(&text, false).depth < 100, "{row:?} {}", extent(&text, false).depth);
        assert_eq!(code(&text), "ok", "{row:?}");
    }
    let row = "interface A<T> { a: Map<string, T[]>; b?: T }\nconst x = y as B<C>;\n";
    assert_eq!(typed(&row.repeat(1_500)), "ok");
    for row in [
        "interface A { a: B<C[]>; b?: (d: E) => F }\n",
        "type A = B<C>;\n",
        "f<A<B>>(c);\n",
        "export abstract class A<B extends C = D> { readonly e = <F>(g: F) => h! / 2 }\n",
    ] {
        assert_eq!(typed(&row.repeat(1_500)), "ok", "{row:?}");
    }
    assert_eq!(typed(&format!("x = [{}]", "f<A<B>>(c),\n".repeat(1_500))), "ok");
    let row = "{a: 1, 'b': [2, 3], c: d.e(f)},\n";
    assert_eq!(code(&format!("x = [{}]", row.repeat(5_000))), "ok");
}

#[test]
fn many_names_behind_many_brackets_take_linear_time() {
    let (open, close, names) = ("[".repeat(1_000), "]".repeat(1_000), "CONFIG, ".repeat(30_000));
    assert_eq!(code(&format!("x = {open}{names}{close}")), "ok");
    assert_eq!(code(&format!("let {open}{names}{close} = x")), "parse.duplicate_metadata");
    assert_eq!(code(&format!("function f() {{ {open}{names}{close} = x }}")), "ok");
}
