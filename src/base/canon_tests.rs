//! Canonical JSON against the standard's own examples and a second implementation.

use super::{NotCanonical, exact, read, write};
use serde_json::{Value, json};

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// RFC 8785, 3.2.2 and 3.2.3, and appendix B's numbers; each side is one line.
const EXAMPLES: [(&str, &str); 3] = [
    (
        r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
    ),
    (
        r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"}"#,
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    ),
    (
        "[5e-324, 1.7976931348623157e308, 9007199254740992, 295147905179352830000, 1e21, 1e-7, 1e-6, 0.1]",
        "[5e-324,1.7976931348623157e+308,9007199254740992,295147905179352830000,1e+21,1e-7,0.000001,0.1]",
    ),
];

#[test]
fn two_implementations_agree_with_the_examples_of_the_standard() {
    for (text, want) in EXAMPLES {
        assert_eq!(serde_json_canonicalizer::to_string(&value(text)).unwrap(), want);
        assert_eq!(serde_jcs::to_string(&value(text)).unwrap(), want);
    }
    let (text, want) = EXAMPLES[1];
    assert_eq!(write(&value(text)).unwrap(), want.as_bytes());
}

#[test]
fn two_implementations_agree_on_keys_and_strings() {
    use proptest::prelude::{Strategy, any, proptest};
    let leaf = proptest::prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(4, 32, 4, |inner| {
        let map = proptest::collection::btree_map(any::<String>(), inner.clone(), 0..4);
        proptest::prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            map.prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    });
    proptest!(|(document in tree)| {
        let text = write(&document).unwrap();
        assert_eq!(text, serde_jcs::to_vec(&document).unwrap());
        assert_eq!(read(&text), Ok(document));
    });
}

#[test]
fn a_number_that_the_standard_would_round_is_refused() {
    // Both implementations give one text for two numbers here; that is what the refusal is for.
    let one = serde_json_canonicalizer::to_string(&value("9007199254740992")).unwrap();
    let other = serde_json_canonicalizer::to_string(&value("9007199254740993")).unwrap();
    assert_eq!(one, other);
    for good in ["0", "-1", "9007199254740991", "-9007199254740991"] {
        assert_eq!(write(&value(good)).unwrap(), good.as_bytes());
    }
    let bad = ["9007199254740992", "-9007199254740992", "1e999", "0.10", "0.1", "1.0", "-0", "1e2"];
    for bad in
        bad.into_iter().chain(["123456789012345678901234567890", "-0.0", "18446744073709551616"])
    {
        let error = write(&value(&format!("{{\"a/b\":[0,{bad}]}}"))).unwrap_err();
        assert_eq!(error.pointer, "/a~1b/1", "{bad}");
    }
}

#[test]
fn a_document_has_one_text() {
    assert_eq!(read(b"{\"a\":1,\"b\":[]}\n"), Ok(json!({"a": 1, "b": []})));
    for other in [
        "{\"b\":[],\"a\":1}",
        "{\"a\":1,\"a\":1,\"b\":[]}",
        "{\"a\":1, \"b\":[]}",
        "{\"\\u0061\":1,\"b\":[]}",
        "{\"a\":1,\"b\":[]}\n\n",
        "{\"a\":1,\"b\":[]}\r\n",
        "\u{feff}{\"a\":1,\"b\":[]}",
        "{\"a\":1.0,\"b\":[]}",
        "{\"a\":1,\"b\":[]}x",
        "{\"a\":1,\"b\":[]",
        "",
    ] {
        assert!(read(other.as_bytes()).is_err(), "{other:?}");
    }
    assert_eq!(read(b"{\"b\":1,\"a\":1}"), Err(NotCanonical::Spelling));
    assert!(read(&[b'[', 0xff, b']']).is_err());
    assert!(read("[".repeat(100_000).as_bytes()).is_err(), "and depth is bounded");
}

#[test]
fn exact_text_sorts_keys_and_keeps_digits() {
    let text = r#"{"b": {"z": 0.10, "y": 12345678901234567890123}, "a": [1.0, {"d": 1, "c": 2}]}"#;
    let want = r#"{"a":[1.0,{"c":2,"d":1}],"b":{"y":12345678901234567890123,"z":0.10}}"#;
    assert_eq!(exact(&value(text)), want);
    assert_eq!(exact(&value(want)), want);
}
