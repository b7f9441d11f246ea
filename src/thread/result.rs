//! The result of a call for a model: JSON text that is never longer than it may be (threads 4.3).
//!
//! No result holds a signature line, whichever tool prints one: the whole that is kept of a long
//! result holds none either. Secrets were masked before. Paths that a tool prints stay, as the
//! model asked for what lies there; rye's own words name none outside the workspace.

use serde_json::{Map, Value, json};

use crate::base::limits::{THREAD_DETAIL_CHARS, THREAD_TEXT_CHARS, THREAD_TOOL_NAME};
use crate::signature::without_signatures;

/// Most entries of a folder in one (threads 4.3).
const THREAD_ENTRIES: usize = 500;

/// Longest tool result that a model is given, in characters of its JSON (threads 4.3).
const THREAD_RESULT_CHARS: usize = 48_000;

/// A value as it is given to a model, and whether something of it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Serialised {
    /// JSON of at most 48,000 characters.
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// The JSON text of a value. Texts are cut in their middle and long lists of entries at their end;
/// what is left out is told as `truncated`, with the digest under which the whole is kept. `keep`
/// keeps it, and is called only where something is left out.
pub(crate) fn serialised(value: &Value, keep: impl FnOnce(&str) -> String) -> Serialised {
    let value = match value {
        Value::Bool(truth) => json!({"ok": truth}),
        other => unsigned(other),
    };
    let whole = value.to_string();
    let failure = FailedCall::of(&value);
    let mut left_out = 0;
    let mut shorter = shortened(value.clone(), false, &mut left_out);
    let mut text = shorter.to_string();
    if chars(&text) > THREAD_RESULT_CHARS {
        left_out = 0;
        shorter = shortened(value, true, &mut left_out);
        text = shorter.to_string();
    }
    if left_out == 0 && chars(&text) <= THREAD_RESULT_CHARS {
        return Serialised { text, is_cut: false };
    }
    let (total, blob) = (chars(&whole), keep(&whole));
    let told = |value: Value, shown: usize| {
        let truncated = json!({"shown": shown, "total": total, "blob": blob});
        match value {
            Value::Object(mut failed) if failure.is_some() => {
                failed.insert("truncated".into(), truncated);
                failed.into()
            }
            value => json!({"value": value, "truncated": truncated}),
        }
    };
    let text = told(shorter, total.saturating_sub(left_out)).to_string();
    if chars(&text) <= THREAD_RESULT_CHARS {
        return Serialised { text, is_cut: true };
    }
    // As a text a character may take six, so the longest beginning that fits is looked for.
    let cut = failure.as_ref().map_or(&whole, |failed| &failed.detail);
    let all: Vec<char> = cut.chars().collect();
    let at = |shown: usize| {
        let begin = Value::from(all[..shown].iter().collect::<String>());
        let value = failure.as_ref().map(|failed| failed.with(&begin)).unwrap_or(begin);
        told(value, shown).to_string()
    };
    let (mut fits, mut too_long) = (0, all.len().min(THREAD_RESULT_CHARS));
    while fits + 1 < too_long {
        let middle = usize::midpoint(fits, too_long);
        match chars(&at(middle)) <= THREAD_RESULT_CHARS {
            true => fits = middle,
            false => too_long = middle,
        }
    }
    Serialised { text: at(fits), is_cut: true }
}

/// The value without signature lines, in its texts and in its names.
fn unsigned(value: &Value) -> Value {
    let shown = |text: &String| without_signatures(text).unwrap_or_else(|| text.clone());
    match value {
        Value::String(text) => shown(text).into(),
        Value::Array(list) => list.iter().map(unsigned).collect(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(name, value)| (shown(name), unsigned(value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A call that failed, as a model is told it; its fields stand where they always do.
struct FailedCall {
    kind: String,
    message: String,
    /// As text.
    detail: String,
}

impl FailedCall {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let kind = text("error_kind").filter(|kind| kind.len() <= THREAD_TOOL_NAME)?;
        let is_failed = value["ok"] == false && value.as_object()?.len() == 4;
        let message = text("message").filter(|_| is_failed)?;
        let detail = value.get("detail")?;
        let detail = detail.as_str().map_or_else(|| detail.to_string(), str::to_owned);
        Some(Self { kind, message, detail })
    }

    /// With the beginning of its detail, and of a message that may be as long.
    fn with(&self, detail: &Value) -> Value {
        let message: String = self.message.chars().take(THREAD_DETAIL_CHARS).collect();
        json!({"ok": false, "error_kind": self.kind, "message": message, "detail": detail})
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Members that hold the text of one file or stream.
const STREAMS: [&str; 3] = ["content", "stderr", "stdout"];

/// The value with the texts of files and streams cut, or with `every` text; counts the characters
/// of JSON that are left out.
fn shortened(value: Value, every: bool, left_out: &mut usize) -> Value {
    match value {
        Value::String(text) if every => short_text(text, left_out).into(),
        Value::Array(list) => {
            list.into_iter().map(|item| shortened(item, every, left_out)).collect()
        }
        Value::Object(map) => {
            let pairs = map.into_iter().map(|(key, mut value)| {
                if let (true, Some(list)) = (key == "entries", value.as_array_mut()) {
                    let beyond = list.iter().skip(THREAD_ENTRIES);
                    // Each with the comma before it.
                    *left_out += beyond.map(|entry| chars(&entry.to_string()) + 1).sum::<usize>();
                    list.truncate(THREAD_ENTRIES);
                }
                let every = every || STREAMS.contains(&key.as_str()) && value.is_string();
                (key, shortened(value, every, left_out))
            });
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Head and tail of a text that is too long.
fn short_text(text: String, left_out: &mut usize) -> String {
    // No text has more characters than bytes.
    let length = if text.len() <= THREAD_TEXT_CHARS { 0 } else { chars(&text) };
    if length <= THREAD_TEXT_CHARS {
        return text;
    }
    let gap = format!("\n… {} characters …\n", length - THREAD_TEXT_CHARS);
    let room = THREAD_TEXT_CHARS - chars(&gap);
    let (head, tail) = (room - room / 3, room / 3);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    let middle: String = text.chars().skip(head).take(length - head - tail).collect();
    *left_out += chars(&Value::from(middle).to_string()).saturating_sub(2);
    format!("{begin}{gap}{end}")
}

#[cfg(test)]
mod tests {
    use super::{THREAD_ENTRIES, THREAD_RESULT_CHARS};
    use super::{chars, serialised};
    use crate::base::limits::THREAD_TEXT_CHARS;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_result_is_whole_up_to_each_cap_and_valid_json_within_it_beyond_table() {
        let texts = |n: usize, sign: &str| json!({"stdout": sign.repeat(n)});
        let entries = |n: usize| json!({"entries": vec![1; n]});
        let many = |n: usize| json!(vec!["x".repeat(98); n]);
        // A list of so many texts is `[`, 101 characters for each, and one comma less than that.
        let fits = THREAD_RESULT_CHARS / 101;
        let rows = [
            (json!(true), false),
            (json!(null), false),
            (json!({"a": [1, "x"]}), false),
            (json!({"report": "x".repeat(THREAD_TEXT_CHARS + 1)}), false),
            (json!("x".repeat(THREAD_RESULT_CHARS - 2)), false),
            (texts(THREAD_TEXT_CHARS, "x"), false),
            (texts(THREAD_TEXT_CHARS + 1, "x"), true),
            (texts(THREAD_TEXT_CHARS, "🦀"), false),
            (texts(THREAD_TEXT_CHARS + 1, "🦀"), true),
            (entries(THREAD_ENTRIES), false),
            (entries(THREAD_ENTRIES + 1), true),
            (many(fits), false),
            (many(fits + 1), true),
            (json!("x".repeat(THREAD_RESULT_CHARS * 3)), true),
            (json!(vec!["\u{1}\u{1}é\"".repeat(900); 90]), true),
        ];
        for (value, is_cut) in rows {
            let mut kept = None;
            let got = serialised(&value, |whole| {
                kept = Some(whole.to_owned());
                "digest".into()
            });
            let said: String = value.to_string().chars().take(60).collect();
            let length = chars(&got.text);
            assert!(length <= THREAD_RESULT_CHARS, "{said}: {length}");
            let read: Value = serde_json::from_str(&got.text).unwrap();
            assert_eq!(got.is_cut, is_cut, "{said}");
            assert_eq!(kept, is_cut.then(|| value.to_string()), "{said}");
            let told = &read["truncated"];
            if is_cut {
                assert_eq!(
                    (&told["blob"], &told["total"]),
                    (&json!("digest"), &json!(chars(&value.to_string())))
                );
            } else {
                assert!(told.is_null());
            }
        }
        assert_eq!(serialised(&json!(false), |_| String::new()).text, "{\"ok\":false}");
    }

    /// A line as `rye sign` writes it, without its comment.
    fn line() -> String {
        let (digest, key) = ("ab".repeat(32), "cd".repeat(16));
        let signature = "aZ-_".repeat(21) + "aQ";
        format!(
            "rye:signed:v2 item=tool:acme/x ext=py at=2026-11-20T01:02:03Z sha256={digest} \
             key={key} sig={signature}"
        )
    }

    #[test]
    fn no_signature_line_reaches_a_model_wherever_a_tool_prints_it_table() {
        let line = line();
        let older =
            format!("rye:signed:2026-02-01T00:00:00Z:{}:abc_-==:0123456789abcdef", "ab".repeat(32));
        let note = "[signature line]";
        let rows = [
            (format!("# {line}\nprint(1)\n"), format!("# {note}\nprint(1)\n")),
            (format!("<!-- {line} -->\nx"), format!("<!-- {note} -->\nx")),
            (format!("a.py:1:# {line}\r\nb.py"), format!("a.py:1:# {note}\r\nb.py")),
            (format!("{{\"text\":\"# {line}\\nx\"}}"), format!("{{\"text\":\"# {note}\\nx\"}}")),
            (format!("{line}\n{line}"), format!("{note}\n{note}")),
            (format!("# {}\nx", &line[..60]), format!("# {note}\nx")),
            (format!("# {}", &line[..line.len() - 40]), format!("# {note}")),
            (format!("# {older}\nx"), format!("# {note}\nx")),
            (format!("\"{older}\" x"), format!("\"{note}\" x")),
            (
                "a line begins with `rye:signed:v2 `".into(),
                "a line begins with `rye:signed:v2 `".into(),
            ),
            ("rye:signed:".into(), "rye:signed:".into()),
        ];
        for (text, want) in rows {
            let deep = |text: &str| json!({"a": [text, {"stdout": text}], "detail": text});
            let got = serialised(&deep(&text), |_| String::new());
            assert_eq!(serde_json::from_str::<Value>(&got.text).unwrap(), deep(&want), "{text}");
        }
    }

    #[test]
    fn a_long_result_is_kept_without_signature_lines_too() {
        let text = format!("# {}\n", line()).repeat(3_000);
        let mut kept = String::new();
        let got = serialised(&json!({"stdout": text}), |whole| {
            kept = whole.to_owned();
            "digest".into()
        });
        let value: Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(value["stdout"], "# [signature line]\n".repeat(3_000));
        assert!(got.is_cut && !got.text.contains("sig="));
    }

    #[test]
    fn a_failure_keeps_its_shape_at_each_cap_and_beyond_table() {
        let failed = |message: Value, detail: Value| {
            json!({"ok": false, "error_kind": "tool_execution_exception", "message": message,
                "detail": detail})
        };
        let around = |cap: usize| [cap - 1, cap, cap + 1];
        let mut rows = vec![failed("m".into(), Value::Null)];
        for sign in ["x", "🦀", "\u{1}", "\""] {
            for length in around(THREAD_TEXT_CHARS).into_iter().chain(around(THREAD_RESULT_CHARS)) {
                rows.push(failed("m".into(), sign.repeat(length).into()));
                rows.push(failed(sign.repeat(length).into(), json!({"code": "x"})));
                rows.push(failed(sign.repeat(length).into(), sign.repeat(length).into()));
                rows.push(failed("m".into(), json!(vec![sign.repeat(9); length / 9])));
            }
        }
        // The whole is as long as it may be, or one less, or one more.
        for (length, is_cut) in around(THREAD_RESULT_CHARS).into_iter().zip([false, false, true]) {
            let with = |last: usize| {
                let texts = [9_000, 9_000, 9_000, 9_000, last].map(|length| "é".repeat(length));
                failed("m".into(), json!(texts))
            };
            let value = with(length - chars(&with(0).to_string()));
            assert_eq!(chars(&value.to_string()), length);
            assert_eq!(serialised(&value, str::to_owned).is_cut, is_cut, "{length}");
            rows.push(value);
        }
        for value in rows {
            let mut kept = None;
            let got = serialised(&value, |whole| {
                kept = Some(whole.to_owned());
                "digest".into()
            });
            assert!(chars(&got.text) <= THREAD_RESULT_CHARS, "{}", chars(&got.text));
            let read: Value = serde_json::from_str(&got.text).unwrap();
            assert_eq!((&read["ok"], &read["error_kind"]), (&json!(false), &value["error_kind"]));
            let (told, said) =
                (read["message"].as_str().unwrap(), value["message"].as_str().unwrap());
            assert_eq!(told.chars().next(), said.chars().next());
            assert!(read.get("detail").is_some() && read.get("value").is_none());
            assert_eq!((kept.is_some(), read.get("truncated").is_some()), (got.is_cut, got.is_cut));
            match kept {
                None => assert_eq!(read, value),
                Some(whole) => {
                    assert_eq!(whole, value.to_string());
                    let (shown, total) = (&read["truncated"]["shown"], &read["truncated"]["total"]);
                    assert!(shown.as_u64() < total.as_u64(), "{shown} {total}");
                }
            }
        }
    }

    #[test]
    fn no_signature_line_is_told_on_either_side_of_a_cap_in_a_name_or_in_a_failure() {
        let line = line();
        let failed = json!({"ok": false, "error_kind": "tool_execution_exception",
            "message": format!("x:1:# {line}"), "detail": {"stderr": [format!("<!-- {line} -->")]}});
        let mut rows = vec![
            json!(format!("# {line}\n")),
            json!({"matches": [{"path": "x", "text": [format!("# {line}")]}]}),
            json!({"stdout": "", "stderr": format!("x:1:# {line}\nno\n")}),
            json!({format!("# {line}"): 1}),
            failed,
        ];
        // So that the line lies on each side of, and across, what is left out.
        for before in [7_700, 7_900, 7_980, 8_100, 11_800, 12_000, 47_800, 48_000] {
            let text = format!("{}\n# {line}\n{}", "x".repeat(before), "y".repeat(50_000));
            let tail = format!("{}\n# {line}\n{}", "x".repeat(50_000), "y".repeat(before / 2));
            rows.push(json!({"stdout": text, "stderr": tail}));
            rows.push(json!(vec![json!(["x".repeat(before / 9), line.clone()]); 9]));
        }
        // A text whose signature is what would have been too much is whole.
        let fits = "x".repeat(THREAD_TEXT_CHARS - "# [signature line]\n".len());
        let got = serialised(&json!(format!("# {line}\n{fits}")), str::to_owned);
        let want = json!(format!("# [signature line]\n{fits}")).to_string();
        assert_eq!((got.is_cut, got.text), (false, want));
        for value in rows {
            let mut kept = String::new();
            let got = serialised(&value, |whole| {
                kept = whole.to_owned();
                "digest".into()
            });
            assert!(serde_json::from_str::<Value>(&got.text).is_ok(), "{}", got.text);
            assert!(chars(&got.text) <= THREAD_RESULT_CHARS);
            for text in [&got.text, &kept] {
                let found =
                    ["rye:signed", "aZ-_", "abab", "cdcd"].iter().find(|it| text.contains(**it));
                assert_eq!(found, None, "{}", got.text);
            }
            let whole = if got.is_cut { &kept } else { &got.text };
            assert!(whole.contains("[signature line]"), "{whole}");
        }
    }

    /// As long as a cap, one more or one less.
    fn around(cap: usize) -> impl Strategy<Value = usize> {
        (0..3_usize).prop_map(move |more| cap + more - 1)
    }

    /// Values of which each has something at a cap.
    fn values() -> impl Strategy<Value = Value> {
        let sign = prop_oneof![
            Just('x'),
            Just('é'),
            Just('\u{1F980}'),
            Just('"'),
            Just('\\'),
            Just('\n'),
            Just('\u{1}'),
            Just('\u{2028}'),
        ];
        let text = |cap: usize| {
            let signs = prop::collection::vec(sign.clone(), 1..4);
            (signs, around(cap)).prop_map(|(signs, length)| {
                json!(signs.into_iter().cycle().take(length).collect::<String>())
            })
        };
        let small = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,9}".prop_map(Value::from),
            Just(Value::Null),
        ];
        let entries = (small.clone(), around(THREAD_ENTRIES))
            .prop_map(|(one, length)| json!({"entries": vec![one; length]}));
        // Of a length that brings the whole to about the cap.
        let list = (small.clone(), around(THREAD_RESULT_CHARS)).prop_map(|(one, length)| {
            let each = chars(&one.to_string()) + 1;
            json!(vec![one; length / each])
        });
        let leaf =
            prop_oneof![small, text(THREAD_TEXT_CHARS), text(THREAD_RESULT_CHARS), entries, list];
        leaf.prop_recursive(3, 9, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((".{0,3}", inner), 0..3)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// The longest text, and the longest list of entries, of what a model is given.
    fn longest(value: &Value) -> (usize, usize) {
        let of_many = |many: Vec<&Value>| {
            many.into_iter()
                .map(longest)
                .fold((0, 0), |(text, list), (other, another)| (text.max(other), list.max(another)))
        };
        match value {
            Value::String(text) => (chars(text), 0),
            Value::Array(list) => of_many(list.iter().collect()),
            Value::Object(map) => {
                let (text, list) = of_many(map.values().collect());
                let own = map.get("entries").and_then(Value::as_array).map_or(0, Vec::len);
                (text, list.max(own))
            }
            _ => (0, 0),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_tool_gives_a_model_reads_valid_json_within_the_caps_and_the_whole_is_kept(
            value in values(),
        ) {
            let mut kept = None;
            let got = serialised(&value, |whole| {
                kept = Some(whole.to_owned());
                "digest".into()
            });
            prop_assert!(chars(&got.text) <= THREAD_RESULT_CHARS);
            let read: Value = serde_json::from_str(&got.text).unwrap();
            prop_assert_eq!(got.is_cut, kept.is_some());
            let Some(kept) = kept else {
                let told = value.as_bool().map_or(value.clone(), |truth| json!({"ok": truth}));
                prop_assert_eq!(&read, &told);
                return Ok(());
            };
            let told = value.as_bool().map_or(value.clone(), |truth| json!({"ok": truth}));
            prop_assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), told);
            let truncated = &read["truncated"];
            prop_assert_eq!(&truncated["blob"], "digest");
            prop_assert_eq!(&truncated["total"], &json!(chars(&kept)));
            let shown = usize::try_from(truncated["shown"].as_u64().unwrap()).unwrap();
            prop_assert!(shown < chars(&kept));
            match &read["value"] {
                // The whole as text, as far as it fits: nothing but its beginning.
                Value::String(text) if kept.starts_with(text.as_str()) => {
                    prop_assert_eq!(shown, chars(text));
                }
                other => {
                    let (text, entries) = longest(other);
                    prop_assert!(text <= THREAD_RESULT_CHARS && entries <= THREAD_ENTRIES);
                }
            }
        }
    }
}
