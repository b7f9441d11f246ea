//! Receipts as texts: what is read, and what is not.

use super::Receipt;
use crate::base::{Digest, canon};
use serde_json::{Value, json};

fn good() -> Value {
    let sha256 = Digest::of(b"x");
    let link = json!({"item": "tool:a/b", "sha256": sha256, "signer": null, "signed_at": null,
        "version": "1.0.0", "space": "project"});
    json!({
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:rye:receipt:v1",
        "subject": [{"name": "tool:a/b", "digest": {"sha256": sha256}}],
        "predicate": {
            "run_id": "run-1", "rye": "0", "plan": {"sha256": sha256}, "params": {"sha256": sha256},
            "chain": [link], "dependencies": [], "interpreter": {"path": "/bin/sh", "sha256": sha256},
            "started_at": "2026-11-21T10:00:00.000Z", "ended_at": "2026-11-21T10:00:00.120Z",
            "ended": "success", "exit_code": 0, "signal": null,
            "stdout": {"sha256": sha256, "bytes": 3, "truncated": false}, "stderr": null, "response": null,
            "warnings": [], "sandbox": {"level": "off"},
        },
    })
}

fn read(document: &Value) -> Result<Receipt, String> {
    Receipt::read(&canon::write(document).unwrap()).map_err(|e| e.to_string())
}

#[test]
fn a_receipt_is_read_from_its_one_text() {
    let payload = canon::write(&good()).unwrap();
    let receipt = Receipt::read(&payload).unwrap();
    assert_eq!(receipt.to_payload().unwrap(), payload);
    assert_eq!(receipt.item(), "tool:a/b");
    let pretty = serde_json::to_vec_pretty(&good()).unwrap();
    assert!(Receipt::read(&pretty).is_err());
}

#[test]
fn a_receipt_of_another_shape_is_refused() {
    let sets = [
        ("/_type", json!("https://in-toto.io/Statement/v0.1")),
        ("/predicateType", json!("urn:rye:receipt:v2")),
        ("/subject", json!([])),
        ("/subject", json!([{"name": "tool:a/b"}])),
        ("/subject/0/name", json!("tool:a/c")),
        ("/subject/0/digest/sha256", json!(Digest::of(b"y"))),
        ("/subject/0/digest/sha256", json!("00")),
        ("/predicate/chain", json!([])),
        ("/predicate/chain/0/item", json!("a/b")),
        ("/predicate/started_at", json!("2026-11-21T10:00:00Z")),
        ("/predicate/started_at", json!("2026-11-21T10:00:01.000Z")),
        ("/predicate/exit_code", json!("0")),
        ("/predicate/stdout/bytes", json!(-1)),
        ("/predicate", good()),
    ];
    for (pointer, value) in sets {
        let mut document = good();
        *document.pointer_mut(pointer).unwrap() = value;
        assert!(read(&document).is_err(), "{pointer}: {document}");
    }
    for (pointer, key) in [
        ("", "more"),
        ("/subject/0", "uri"),
        ("/predicate", "note"),
        ("/predicate/chain/0", "by"),
        ("/predicate/plan", "sha512"),
    ] {
        let mut document = good();
        document.pointer_mut(pointer).unwrap()[key] = json!("x");
        assert!(read(&document).is_err(), "{pointer}/{key} more");
    }
    for (pointer, key) in
        [("/predicate", "signal"), ("/predicate", "stderr"), ("/predicate/chain/0", "signer")]
    {
        let mut document = good();
        document.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key);
        assert!(read(&document).is_err(), "{pointer}/{key} missing");
    }
}
