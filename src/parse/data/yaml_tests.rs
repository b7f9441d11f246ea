//! The meaning of each piece of YAML here, and the pieces that are refused.

use super::yaml;
use crate::base::text::Position;
use std::time::{Duration, Instant};

#[test]
fn values_table() {
    let rows = [
        ("", "null"),
        ("# only a remark\n", "null"),
        ("---\n", "null"),
        ("a: 1", r#"{"a":1}"#),
        ("--- {a: 1}", r#"{"a":1}"#),
        ("# remark\n---\na: 1\n...\n", r#"{"a":1}"#),
        ("b: 1\na: [x, 'y', \"z\\n\"]", r#"{"b":1,"a":["x","y","z\n"]}"#),
        ("[no, yes, on, off, NO, n]", r#"["no","yes","on","off","NO","n"]"#),
        ("[true, True, TRUE, false]", "[true,true,true,false]"),
        ("[~, null, Null, ]", "[null,null,null]"),
        ("[0o7, 0x1F, 0b11]", "[7,31,3]"),
        ("[-0, +7, 0x1F]", "[0,7,31]"),
        // A neighbour's digits change nothing.
        ("[-0, +7, 0x1F, 1.50]", "[0,7,31,1.50]"),
        ("[1_000, 0755, 1:30, 2026-11-20]", r#"["1_000","0755","1:30","2026-11-20"]"#),
        ("[1.50, .5, 5., +1.0, 1e3, -0.0]", "[1.50,0.5,5.0,1.0,1e+3,-0.0]"),
        ("[0.1000000000000000055511151231257827]", "[0.1000000000000000055511151231257827]"),
        (
            "[18446744073709551617, -9223372036854775809]",
            "[18446744073709551617,-9223372036854775809]",
        ),
        (
            "[1234567890123456789012345678901234567890123]",
            "[1234567890123456789012345678901234567890123]",
        ),
        ("['1e999', '1.50', \"7\"]", r#"["1e999","1.50","7"]"#),
        ("[!!str 12, !!str 1.50, !!int 5, !!float 1.50, !!null ~]", r#"["12","1.50",5,1.50,null]"#),
        ("a: !!map {b: !!seq [1]}", r#"{"a":{"b":[1]}}"#),
        ("a: &x [1.10]\nb: *x", r#"{"a":[1.10],"b":[1.10]}"#),
        ("a: &x k\n*x : 1", r#"{"a":"k","k":1}"#),
        ("a: |\n  !not a tag\n  <<: x\n", r#"{"a":"!not a tag\n<<: x\n"}"#),
        ("a: >-\n  x\n  y\n", r#"{"a":"x y"}"#),
        ("$serde_json::private::Number: '1'", r#"{"$serde_json::private::Number":"1"}"#),
    ];
    for (text, want) in rows {
        let got = yaml(text).map(|v| v.to_string());
        assert_eq!(got.as_deref(), Ok(want), "{text:?}");
    }
    assert_eq!(yaml("1e999").unwrap().to_string(), "1e+999");
}

#[test]
fn what_is_refused() {
    let rows = [
        ("a: 1\na: 2", "parse.yaml"),
        ("{a: 1, 'a': 2}", "parse.yaml"),
        ("x: {y: {a: 1, a: 1}}", "parse.yaml"),
        ("a: 1\n---\nb: 2", "parse.yaml"),
        ("---\na: 1\n---\n", "parse.yaml"),
        ("%YAML 1.1\n---\na: 1", "parse.yaml"),
        ("# r\n%TAG ! !x\n---\na: 1", "parse.yaml"),
        ("a: !custom 1", "parse.yaml"),
        ("a: ! 1", "parse.yaml"),
        ("a: !!python/object:os.system {}", "parse.yaml"),
        ("a: !!binary aGk=", "parse.yaml"),
        ("a: !!set {x}", "parse.yaml"),
        ("a: !!int x", "parse.yaml"),
        ("!!str a: !x b", "parse.yaml"),
        ("a: &x {b: 1}\nc:\n  <<: *x", "parse.yaml"),
        ("a: .nan", "parse.yaml"),
        ("a: -.inf", "parse.yaml"),
        ("a: .INF", "parse.yaml"),
        ("1: a", "parse.yaml"),
        ("true: a", "parse.yaml"),
        ("~: a", "parse.yaml"),
        ("? [a]\n: b", "parse.yaml"),
        ("{a: 1}: b", "parse.yaml"),
        ("a: *nowhere", "parse.yaml"),
        ("a: [1", "parse.yaml"),
        ("a: 'open", "parse.yaml"),
        ("a:\n\t- b", "parse.yaml"),
        ("a: b: c", "parse.yaml"),
        ("a: @x", "parse.yaml"),
        ("a: &a [*a]", "parse.limit"),
        ("&a [x, *a]", "parse.limit"),
    ];
    for (text, code) in rows {
        assert_eq!(yaml(text).map_err(|f| f.code.name()), Err(code), "{text:?}");
    }
}

#[test]
fn depth_is_bounded() {
    let flow = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let block = |n: usize| (0..n).fold(String::new(), |text, i| text + &" ".repeat(i) + "a:\n");
    assert!(yaml(&flow(64)).is_ok());
    assert!(yaml(&block(64)).is_ok());
    for text in [
        flow(65),
        flow(10_000),
        block(65),
        block(1_000),
        "- ".repeat(10_000),
        "{a: ".repeat(10_000),
    ] {
        assert_eq!(yaml(&text).map_err(|f| f.code.name()), Err("parse.limit"), "{text:.40}");
    }
}

#[test]
fn a_bomb_takes_neither_time_nor_memory() {
    let list = |n: usize| format!("[{}]", vec!["*x"; n].join(", "));
    let laughs = (0..40).fold("a: &a0 [lol]\n".to_owned(), |text, i| {
        let refs = vec![format!("*a{i}"); 9].join(", ");
        text + &format!("k{i}: &a{} [{refs}]\n", i + 1)
    });
    let long = format!("a: &x {}\nb: {}", "y".repeat(1 << 20), list(5_000));
    let keys =
        format!("k: &x {}\nb: [{}]", "y".repeat(1 << 20), vec!["{*x : 1}"; 3_000].join(", "));
    let wide = format!("[{}]", "a, ".repeat(1 << 20));
    let open = "[".repeat(4 << 20);
    let nested = "[".repeat(250) + &"]".repeat(250);
    let often = format!("[{}]", vec![nested.as_str(); 4_000].join(","));
    let dashes = "- ".repeat(2 << 20);
    let anchors = (0..100_000).fold(String::new(), |text, i| text + &format!("- &a{i} x\n"));
    let start = Instant::now();
    for text in [&laughs, &long, &keys, &wide, &open, &often, &dashes, &anchors] {
        assert_eq!(yaml(text).map_err(|f| f.code.name()), Err("parse.limit"), "{text:.40}");
    }
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn a_fault_has_its_place_in_the_text() {
    let rows = [
        ("a: 1\nb: {c: 1,\n c: 2}", Position { line: 3, column: 2 }),
        ("---\na: !x 1", Position { line: 2, column: 4 }),
        ("a: 1\nb: [", Position { line: 2, column: 5 }),
        ("a: 1\nb: [\n", Position { line: 3, column: 1 }),
        ("é: 1\nb: .nan", Position { line: 2, column: 4 }),
        // Behind remarks that the reader never sees, and those that it must.
        ("# r\n#\ta: 1\nb: .nan", Position { line: 3, column: 4 }),
        ("# r\n---\nb: .nan", Position { line: 3, column: 4 }),
        ("# é\n# r\nb: .nan", Position { line: 3, column: 4 }),
        ("# r\n\n# r\nb: [\n", Position { line: 5, column: 1 }),
        ("# r\rb: .nan\n", Position { line: 2, column: 4 }),
    ];
    for (text, want) in rows {
        assert_eq!(yaml(text).unwrap_err().position, Some(want), "{text:?}");
    }
}
