//! What a model is given of a call: JSON text that is never longer than it may be (threads 4.3).

use serde_json::{Map, Value, json};

use crate::base::limits::{THREAD_ENTRIES, THREAD_RESULT_CHARS, THREAD_TEXT_CHARS};

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
        other => other.clone(),
    };
    let whole = value.to_string();
    let mut is_cut = false;
    let shorter = shortened(value, &mut is_cut);
    let text = shorter.to_string();
    let length = chars(&text);
    if !is_cut && length <= THREAD_RESULT_CHARS {
        return Serialised { text, is_cut: false };
    }
    let (total, blob) = (chars(&whole), keep(&whole));
    let told = |value: Value, shown: usize| json!({"value": value, "truncated": {"shown": shown, "total": total, "blob": blob}});
    let text = told(shorter, length).to_string();
    if chars(&text) <= THREAD_RESULT_CHARS {
        return Serialised { text, is_cut: true };
    }
    // As a text a character may take six, so the longest beginning that fits is looked for.
    let all: Vec<char> = whole.chars().collect();
    let at = |shown: usize| told(all[..shown].iter().collect::<String>().into(), shown).to_string();
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

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn shortened(value: Value, is_cut: &mut bool) -> Value {
    match value {
        Value::String(text) => short_text(text, is_cut).into(),
        Value::Array(list) => list.into_iter().map(|item| shortened(item, is_cut)).collect(),
        Value::Object(map) => {
            let pairs = map.into_iter().map(|(key, mut value)| {
                if let (true, Some(list)) = (key == "entries", value.as_array_mut()) {
                    *is_cut |= list.len() > THREAD_ENTRIES;
                    list.truncate(THREAD_ENTRIES);
                }
                (key, shortened(value, is_cut))
            });
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        other => other,
    }
}

/// Head and tail of a text that is too long.
fn short_text(text: String, is_cut: &mut bool) -> String {
    // No text has more characters than bytes.
    let length = if text.len() <= THREAD_TEXT_CHARS { 0 } else { chars(&text) };
    if length <= THREAD_TEXT_CHARS {
        return text;
    }
    *is_cut = true;
    let gap = format!("\n… {} characters …\n", length - THREAD_TEXT_CHARS);
    let room = THREAD_TEXT_CHARS - chars(&gap);
    let (head, tail) = (room - room / 3, room / 3);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{begin}{gap}{end}")
}

#[cfg(test)]
mod tests {
    use super::{chars, serialised};
    use crate::base::limits::{THREAD_ENTRIES, THREAD_RESULT_CHARS, THREAD_TEXT_CHARS};
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
}
