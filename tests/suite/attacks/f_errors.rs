//! Attack row f08: what is told of a failure.

use serde_json::json;

use crate::world::World;
use crate::world::items::tool_sh;

const CANARY: &str = "canary-5f1d-value";

fn tool(asks: &str, script: &str) -> String {
    tool_sh(&format!("{asks} = [\"ACME_VALUE\"]"), &format!("{script}\n"))
}

#[test]
fn f08_what_an_item_named_of_the_host_stands_in_no_half_of_an_error() {
    let world = World::new().env("ACME_VALUE", CANARY);
    for asks in ["env", "secrets"] {
        world.signed(".ai/tools/acme/t.sh", &tool(asks, "echo \"\\\"$ACME_VALUE\\\"\""));
        let (status, got) = world.json(&["execute", "acme/t"]);
        assert_eq!(
            (status, &got["data"]),
            (0, &json!(CANARY)),
            "a result is the tool's own: {got}"
        );
        for script in [
            r#"printf '{"success": false, "error": "no %s", "why": ["%s"], "%s": 1}' "$ACME_VALUE" "$ACME_VALUE" "$ACME_VALUE""#,
            r#"echo "out $ACME_VALUE"; echo "err $ACME_VALUE" >&2; exit 3"#,
            r#"printf '{"said": "%s"}' "$ACME_VALUE"; exit 3"#,
        ] {
            world.signed(".ai/tools/acme/t.sh", &tool(asks, script));
            let said = world
                .rye(&["execute", "acme/t", "--json", "--trace"])
                .fails_with("execute.tool_failed");
            assert!(!said.stdout.contains(CANARY), "{asks} {script}: {said:?}");
            assert!(said.stdout.contains("***"), "{asks} {script}: {said:?}");
        }
        let slow = r#"echo "err $ACME_VALUE" >&2; sleep 20"#;
        world.signed(".ai/tools/acme/t.sh", &tool(asks, slow));
        let said = world
            .rye(&["execute", "acme/t", "--json", "--timeout", "1"])
            .fails_with("execute.timeout");
        assert!(!said.stdout.contains(CANARY) && said.stdout.contains("***"), "{said:?}");
    }
}
