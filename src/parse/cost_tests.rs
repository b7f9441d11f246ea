//! The cost of reading, by form and size. This command shows the table:
//!
//!     RYE_TEST=all cargo test --release --lib reading_cost -- --nocapture

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::data::json;
use super::item::parse;
use crate::base::whole_tests;
use crate::id::Kind;
use crate::space::HeaderStyle;

/// A time that counts as fast for every text, however small or busy the machine is.
const ANY: Duration = Duration::from_millis(100);

/// The sizes that are compared, in bytes.
fn sizes() -> [usize; 3] {
    [10_000, 100_000, if whole_tests() { 1_000_000 } else { 200_000 }]
}

/// Repeats `row` as often as it fits, with its number for `#`.
fn rows(row: &str, size: usize) -> String {
    let mut text = String::with_capacity(size + 2 * row.len());
    let mut number = 0;
    while text.len() < size {
        text.push_str(&row.replace('#', &number.to_string()));
        number += 1;
    }
    text
}

/// The opening half of as many brackets as fit, and nothing else.
fn opened(open: &str, size: usize) -> String {
    open.repeat(size / open.len())
}

/// Makes a text of about so many bytes.
type Make = fn(usize) -> String;

struct Text {
    name: &'static str,
    kind: Kind,
    style: HeaderStyle,
    make: Make,
}

fn texts() -> Vec<Text> {
    use HeaderStyle as H;
    let text = |name, kind, style, make| Text { name, kind, style, make };
    let shell = || H::Block { comment: "#".into() };
    vec![
        text("Python: comments", Kind::Tool, H::Python, |n| "# a remark\n".repeat(n / 11)),
        text("Python: functions", Kind::Tool, H::Python, |n| {
            rows("def f#(x):\n    return x + 1\n", n)
        }),
        text("Python: one expression", Kind::Tool, H::Python, |n| {
            format!("x = 0{}", rows(" + #", n))
        }),
        text("Python: brackets", Kind::Tool, H::Python, |n| opened("[", n)),
        text("Python: a list", Kind::Tool, H::Python, |n| {
            format!("x = [{}]", rows("-#, 'a', ", n))
        }),
        text("Python: line ends", Kind::Tool, H::Python, |n| {
            format!("x = 1{}\n", rows(" \\\n", n))
        }),
        text("shell: a header and comments", Kind::Tool, shell(), |n| {
            format!("# /// rye\n# version = '1'\n# ///\n{}", rows("# a remark\n", n))
        }),
        text("YAML: a mapping", Kind::Config, H::Yaml, |n| rows("key#: value\n", n)),
        text("YAML: a list", Kind::Config, H::Yaml, |n| rows("- value\n", n)),
        text("YAML: one line", Kind::Config, H::Yaml, |n| format!("[{}]", rows("a, ", n))),
        text("YAML: brackets", Kind::Config, H::Yaml, |n| opened("[", n)),
        text("YAML: a text", Kind::Config, H::Yaml, |n| format!("a: |\n{}", rows("  words\n", n))),
        text("YAML: comments", Kind::Config, H::Yaml, |n| rows("# a remark\n", n)),
        text("TOML: keys", Kind::Config, H::Toml, |n| rows("key# = 'value'\n", n)),
        text("TOML: tables", Kind::Config, H::Toml, |n| rows("[a.b#]\nc = 1\n", n)),
        text("TOML: a list", Kind::Config, H::Toml, |n| format!("a = [{}]", rows("1, ", n))),
        text("TOML: brackets", Kind::Config, H::Toml, |n| format!("a = {}", opened("[", n))),
        text("TOML: one key", Kind::Config, H::Toml, |n| format!("{}a = 1", opened("a.", n))),
        text("Markdown: words", Kind::Knowledge, H::Markdown, |n| rows("words, and more.\n\n", n)),
        text("Markdown: quotes", Kind::Knowledge, H::Markdown, |n| opened("> ", n)),
        text("Markdown: brackets", Kind::Knowledge, H::Markdown, |n| opened("[", n)),
        text("Markdown: stars", Kind::Knowledge, H::Markdown, |n| rows("*a **b ", n)),
        text("Markdown: lists", Kind::Knowledge, H::Markdown, |n| rows("- a\n  1. b\n", n)),
        text("Markdown: front matter", Kind::Knowledge, H::Markdown, |n| {
            format!("---\n{}---\n# T\n", rows("key#: value\n", n))
        }),
        text("directive: a body", Kind::Directive, H::Markdown, |n| {
            format!("# T\n```xml\n<directive name='x'/>\n```\n{}", rows("Do {input:a#}.\n", n))
        }),
        text("directive: elements", Kind::Directive, H::Markdown, |n| {
            let inputs = rows("<input name='a#'>b</input>", n);
            format!("```xml\n<directive name='x'><inputs>{inputs}</inputs></directive>\n```\n")
        }),
        text("directive: attributes", Kind::Directive, H::Markdown, |n| {
            format!("```xml\n<directive {}/>\n```\n", rows("a#='b' ", n))
        }),
    ]
}

/// Snippets, each with its name and whether it is TypeScript.
#[cfg(feature = "code")]
const SNIPPETS: [(&str, bool, Make); 7] = [
    ("JavaScript: comments", false, |n| "// a remark\n".repeat(n / 12)),
    ("JavaScript: functions", false, |n| rows("function f#(x) { return x / 2 }\n", n)),
    ("JavaScript: one expression", false, |n| format!("x = 0{}", rows(" + #", n))),
    ("JavaScript: brackets", false, |n| opened("{a: ", n)),
    ("JavaScript: arrows", false, |n| rows("f((a, b = (c)) => d);\n", n)),
    ("TypeScript: types", true, |n| rows("interface A# { a: B<C[]>; b?: (d: E) => F }\n", n)),
    ("TypeScript: comparisons", true, |n| opened("a < ", n)),
];

#[cfg(feature = "code")]
fn snippet(text: &str, types: bool) -> Result<(), &'static str> {
    use oxc_span::SourceType;
    let form = if types { SourceType::ts() } else { SourceType::mjs() };
    let parse = || {
        let allocator = oxc_allocator::Allocator::default();
        oxc_parser::Parser::new(&allocator, text, form).parse().diagnostics.is_empty()
    };
    match super::with_room_for_javascript(text, types, parse) {
        Ok(true) => Ok(()),
        Ok(false) => Err("refused"),
        Err(_) => Err("too deep"),
    }
}

/// How long reading took, and its result.
fn measured(read: impl Fn() -> Result<(), &'static str>) -> (Duration, &'static str) {
    let start = Instant::now();
    let code = read().map_or_else(|code| code, |()| "read");
    (start.elapsed(), code)
}

/// 200 KB at most here; the whole is 1 MB.
#[test]
#[expect(clippy::print_stdout, reason = "the table is what this is for")]
fn reading_cost_grows_no_faster_than_the_text_or_ends_at_a_limit() {
    let mut table =
        String::from("what is read | 10 KB | 100 KB | the most\n--- | --: | --: | --:\n");
    let mut slow = Vec::new();
    let mut row = |name: &str, read: &dyn Fn(usize) -> (Duration, &'static str)| {
        let times = sizes().map(read);
        let cell =
            |(time, code): &(Duration, &str)| format!("{:.1} ms {code}", time.as_secs_f64() * 1e3);
        let cells = times.iter().map(cell).collect::<Vec<_>>().join(" | ");
        let _ = writeln!(table, "{name} | {cells}");
        for pair in times.windows(2) {
            // Ten times the text: three times ten would be the promise, and a busy machine doubles
            // it.
            if pair[1].0 > pair[0].0.max(ANY) * 60 {
                slow.push(name.to_owned());
            }
        }
    };
    #[cfg(feature = "code")]
    for (name, types, make) in SNIPPETS {
        row(name, &|size| {
            let text = make(size);
            measured(|| snippet(&text, types))
        });
    }
    for Text { name, kind, style, make } in texts() {
        row(name, &|size| {
            let text = make(size);
            measured(|| {
                parse(kind, &style, &text, String::new).map(drop).map_err(|fault| fault.code.name())
            })
        });
    }
    for (name, make) in [
        ("JSON: a list", (|n| format!("[{}0]", rows("#, ", n))) as fn(usize) -> String),
        ("JSON: an object", |n| format!("{{{}\"a\": 0}}", rows("\"a#\": 1, ", n))),
        ("JSON: brackets", |n| opened("[", n)),
        ("JSON: a text", |n| format!("\"{}\"", "a\\n".repeat(n / 3))),
    ] {
        row(name, &|size| {
            let text = make(size);
            measured(|| json(&text).map(drop).map_err(|fault| fault.code.name()))
        });
    }
    println!("{table}");
    assert_eq!(slow, [""; 0], "{table}");
}
