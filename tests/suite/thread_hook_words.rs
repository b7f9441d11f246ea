//! What a hook says of the answer of a tool, which it was shown.

use std::fs;

use crate::thread_hooks::{TELLS, put, ran, two_turns, verdicts};
use crate::threads::transcript;

/// Says all that it was sent, as JSON in JSON.
const PYTHON: &str = "import json, sys; saw = json.dumps(json.load(sys.stdin)); \
    print(saw, file=sys.stderr); \
    print(json.dumps({\"allow\": False, \"reason\": json.dumps(saw), \"metadata\": {\"was\": [saw]}}))";

#[test]
fn f08_whatever_a_hook_says_of_an_answer_holds_no_secret_of_the_tool_that_gave_it_table() {
    // What the hook saw, as it stands in what it was sent: a JSON string.
    let saw = r#"saw=$(sed 's/.*"content":\("\([^"\\]\|\\.\)*"\).*/\1/')"#;
    let denies = r#"printf '{"allow":false,"reason":%s,"metadata":{"was":%s}}' "$saw" "$saw""#;
    let allows = r#"printf '{"allow":true,"metadata":{"was":%s}}' "$saw""#;
    let aloud = |says: &str| format!("{saw}; printf '%s\\n' \"$saw\" >&2; {says}");
    let (plain, quoted, odd) = ("one-93b1e0-zq", "one\"93b1e0-zq", "\u{e9}n\"93b1e0-zq");
    for (secret, says, verdict, is_told) in [
        (plain, aloud(denies), "deny", true),
        // In what it was sent a quote has another spelling.
        (quoted, format!("{saw}; {denies}"), "deny", true),
        // Python spells letters in its own way, and this is JSON in a string of JSON.
        (odd, format!("python3 -c '{PYTHON}'"), "deny", false),
        (plain, aloud("printf 'no: %s' \"$saw\""), "deny", false),
        (plain, aloud(&format!("{denies}; exit 3")), "deny", false),
        (plain, aloud(allows), "allow", true),
    ] {
        let world = two_turns().env("ACME_SECRET", secret).env("RYE_LOG", "info");
        world.signed(".ai/tools/acme/echo.sh", TELLS);
        let after = "phases: [after_execution]\nmatch: [\"acme/echo\"]\n";
        put(&world, true, "guard", "tool", after, &says);
        let go = ["execute", "directive:acme/go", "--thread", "fork", "--json", "--trace"];
        let forked = world.rye(&go);
        assert_eq!((forked.status, ran(&world)), (0, true), "{forked:?}");
        let told = forked.json();
        let id = told["thread_id"].as_str().unwrap();
        assert_eq!(verdicts(&world, id), [("after_execution".into(), verdict.into())], "{says}");
        let record = fs::read_to_string(transcript(&world, id)).unwrap();
        let inline = world.rye(&["execute", "tool:acme/echo", "--json", "--trace"]);
        let of_hook = match verdict {
            "deny" => inline.stdout.clone(),
            // A pipe gets what the tool gave as it is.
            _ => inline.json()["hooks"].to_string(),
        };
        if is_told {
            let masked = "it is ***";
            assert!(record.contains(masked) && of_hook.contains(masked), "{says}: {of_hook}");
        }
        for (what, text) in [
            ("record", &record),
            ("answer of the thread", &forked.stdout),
            ("log of the thread", &forked.stderr),
            ("answer", &of_hook),
            ("log", &inline.stderr),
        ] {
            assert!(!text.contains("93b1e0-zq"), "{says}: {what}: {text}");
        }
    }
}
