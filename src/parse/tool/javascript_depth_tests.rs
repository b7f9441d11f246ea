//! JavaScript and TypeScript texts in, how deep they nest out.

use super::{extent, with_room_for_javascript};
use crate::base::whole_tests;
use oxc_allocator::Allocator;
use oxc_parser::config::TokensParserConfig;
use oxc_parser::{Kind, Parser};
use oxc_span::SourceType;
use proptest::collection::vec;
use proptest::prelude::proptest;
use proptest::sample::select;

/// The verdict of a parser with room for the text.
fn code(text: &str, types: bool) -> &'static str {
    let form = if types { SourceType::ts() } else { SourceType::unambiguous() };
    let parsed = with_room_for_javascript(text, types, || {
        Parser::new(&Allocator::default(), text, form).parse().diagnostics.is_empty()
    });
    parsed.map_or("too deep", |is_good| if is_good { "ok" } else { "refused" })
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
            let found = code(&text, types);
            let took = start.elapsed();
            assert!(took.as_secs() < 20, "{before:?} {count} {took:?}");
            assert!(found == "too deep" || count < 5_000, "{before:?} {count} {found}");
            let many = if before.contains('<') { 20 } else { 300 };
            assert!(found != "too deep" || count > many, "{before:?} {count}");
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
        assert_eq!(code(&text, false), "ok", "{row:?}");
    }
    let row = "interface A<T> { a: Map<string, T[]>; b?: T }\nconst x = y as B<C>;\n";
    assert_eq!(code(&row.repeat(1_500), true), "ok");
    for row in [
        "interface A { a: B<C[]>; b?: (d: E) => F }\n",
        "type A = B<C>;\n",
        "f<A<B>>(c);\n",
        "export abstract class A<B extends C = D> { readonly e = <F>(g: F) => h! / 2 }\n",
    ] {
        assert_eq!(code(&row.repeat(1_500), true), "ok", "{row:?}");
    }
    assert_eq!(code(&format!("x = [{}]", "f<A<B>>(c),\n".repeat(1_500)), true), "ok");
    let row = "{a: 1, 'b': [2, 3], c: d.e(f)},\n";
    assert_eq!(code(&format!("x = [{}]", row.repeat(5_000)), false), "ok");
}
