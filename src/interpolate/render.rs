//! Putting values into a template.

use serde_json::{Map, Value};

use super::placeholder::{Fallback, Token, tokens};

/// The template with each placeholder replaced once; inserted text is not looked at again.
///
/// Strings go in as they are, other values as compact JSON; null counts as missing.
pub(crate) fn render(template: &str, values: &Map<String, Value>) -> String {
    let mut out = String::with_capacity(template.len());
    for token in tokens(template) {
        match token {
            Token::Text(text) => out.push_str(text),
            Token::Input { raw, name, fallback } => match values.get(name) {
                Some(Value::String(text)) => out.push_str(text),
                None | Some(Value::Null) => out.push_str(match fallback {
                    Fallback::Keep => raw,
                    Fallback::Default(words) => words,
                }),
                Some(other) => out.push_str(&other.to_string()),
            },
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::render;
    use proptest::prelude::{Just, Strategy, prop_assert_eq, prop_assume, prop_oneof, proptest};
    use serde_json::{Map, Value, json};

    fn values() -> Map<String, Value> {
        let exact: Value = serde_json::from_str("1.50").unwrap();
        let Value::Object(map) = json!({
            "a": "A", "empty": "", "none": null, "n": exact, "t": true, "list": [1, "x"],
            "map": {"k": "{input:a}"}, "evil": "{input:a} ${HOME} {params_json}", "half": "{input:",
        }) else {
            panic!("the fixture is an object")
        };
        map
    }

    #[test]
    fn rendering_table() {
        let rows = [
            ("", ""),
            ("words {} {tool_path} ${HOME}", "words {} {tool_path} ${HOME}"),
            ("{input:a}", "A"),
            ("{input:a?}", "A"),
            ("{input:a:d}", "A"),
            ("{input:a|d}", "A"),
            ("{input:z}", "{input:z}"),
            ("{input:z?}", ""),
            ("{input:z:d e}", "d e"),
            ("{input:z|d:e}", "d:e"),
            ("{input:z:}", ""),
            ("{input:none}", "{input:none}"),
            ("{input:none?}", ""),
            ("{input:none:d}", "d"),
            ("{input:empty}", ""),
            ("{input:empty:d}", ""),
            ("{input:n} {input:t} {input:list}", "1.50 true [1,\"x\"]"),
            ("{input:map}", "{\"k\":\"{input:a}\"}"),
            ("{input:evil}", "{input:a} ${HOME} {params_json}"),
            ("{input:half}a}", "{input:a}"),
            ("{input:z:{input:a}", "{input:a"),
            ("{input:a }", "{input:a }"),
        ];
        for (template, want) in rows {
            assert_eq!(render(template, &values()), want, "{template:?}");
        }
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("{input:".to_owned()),
            Just("{input:a}".to_owned()),
            Just("{input:b?}".to_owned()),
            Just("{input:c:".to_owned()),
            "[ab}{:|?é \\n]{0,4}",
        ]
    }

    proptest! {
        #[test]
        fn inserted_text_is_never_expanded(value in piece(), before in "[^{]{0,8}", behind in "[^{]{0,8}") {
            let mut values = Map::new();
            values.insert("a".into(), value.clone().into());
            values.insert("b".into(), "B".into());
            let template = format!("{before}{{input:a}}{behind}");
            prop_assert_eq!(render(&template, &values), format!("{before}{value}{behind}"));
        }

        #[test]
        fn text_without_placeholders_is_unchanged(
            text in proptest::collection::vec("[a-z{}:|? é\\n]{0,6}", 0..8)
        ) {
            let text = text.concat();
            prop_assume!(!text.contains("{input:"));
            prop_assert_eq!(render(&text, &values()), text);
        }
    }
}
