//! Several calls of a snippet that ask a person at once: one request for each, made once, and each
//! approved call runs once, however the snippet came to run. The tool counts its calls.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::code_waits::{self, decide, state, waits};
use crate::mcp::client::Client;
use crate::saved_snippets::snippet;
use crate::thread_calls::{prepared, snippet_waits, turn};
use crate::world::{World, whole};

/// Asks a person, and notes each amount that it pays.
pub const PAYS: &str = r#"#!/bin/sh
read -r call
amount=${call#*'"amount":'}
amount=${amount%%[!0-9]*}
case "$call" in
*'"approval":'*) echo "$amount" >>paid; printf '{"result":%s}\n' "$amount" ;;
*) printf '{"pending":{"reason":"amount","message":"Pay %s?"}}\n' "$amount" ;;
esac
"#;

pub fn world() -> World {
    paying(PAYS)
}

fn paying(script: &str) -> World {
    let world = World::new();
    world.write(".ai/tools/acme/pay-it.sh", script);
    world.signed(
        ".ai/tools/acme/pay.yaml",
        "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
         category: acme\ndescription: Pays.\neffects: read\n\
         exec: {command: ./pay-it.sh, files: [pay-it.sh]}\n",
    );
    world
}

/// The amounts that were paid, in order.
pub fn paid(world: &World) -> Vec<usize> {
    let text = fs::read_to_string(world.project().join("paid")).unwrap_or_default();
    let mut paid: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    paid.sort_unstable();
    paid
}

/// So many calls at once; what came of each.
pub fn at_once(n: usize) -> String {
    let amounts: Vec<usize> = (1..=n).collect();
    format!(
        "__out = await Promise.all({amounts:?}.map(amount => \
         tools.acme.pay({{amount}}).catch(e => e.code)))"
    )
}

/// The answers to the calls where every third one is rejected.
fn mixed(n: usize) -> Value {
    (1..=n).map(|at| if at % 3 == 2 { json!("rejected") } else { json!(at) }).collect()
}

/// The requests that wait, in the order of the amounts.
fn waiting(world: &World) -> Vec<String> {
    let (_, told) = world.json(&["pending", "list"]);
    let mut rows = told["pending"].as_array().unwrap().clone();
    let amount = |row: &Value| {
        let message = row["message"].as_str().unwrap();
        let digits = message.rsplit_once("Pay ").unwrap().1.split('?').next().unwrap();
        digits.parse::<usize>().unwrap()
    };
    rows.sort_by_key(amount);
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Decides each request, the last one first, and rejects every third; what the last decision gave.
#[track_caller]
fn decide_all(world: &World, ids: &[String]) -> Value {
    let mut last = (0, Value::Null);
    for (at, id) in ids.iter().enumerate().rev() {
        assert_eq!(paid(world), [0; 0], "nothing runs before all is decided");
        let verb = if at % 3 == 1 { "reject" } else { "approve" };
        last = decide(world, verb, id);
        if at > 0 {
            assert_eq!((last.0, &last.1["status"]), (8, &json!("pending")), "{}", last.1);
            let (_, again) = decide(world, "approve", id);
            assert_eq!(again["code"], "pending.decided", "{again}");
        }
    }
    assert_eq!(last.0, 0, "{}", last.1);
    last.1
}

/// Each approved call ran once, and no question is left.
#[track_caller]
fn is_paid_once(world: &World, n: usize) {
    let approved: Vec<usize> = (1..=n).filter(|at| at % 3 != 2).collect();
    assert_eq!(paid(world), approved);
    let (_, all) = world.json(&["pending", "list", "--all"]);
    for row in all["pending"].as_array().unwrap() {
        let is_rejected = (1..=n).filter(|at| at % 3 == 2).any(|at| {
            row["message"].as_str().is_some_and(|message| message.contains(&format!("Pay {at}?")))
        });
        assert_eq!(row["state"], if is_rejected { "rejected" } else { "done" }, "{all}");
    }
}

const MANY: [usize; 3] = [2, 3, 10];

#[test]
fn each_call_of_a_snippet_that_asks_at_once_is_one_question_and_runs_once() {
    for n in MANY {
        let world = world();
        let (first, told) = waits(&world, &at_once(n), &[]);
        let ids = waiting(&world);
        let others = told["also_pending"].as_array().unwrap();
        let shown = others.iter().map(|row| row["id"].as_str().unwrap().to_owned());
        assert_eq!(ids, [first].into_iter().chain(shown).collect::<Vec<_>>(), "{told}");
        assert_eq!(ids.len(), n);
        assert_eq!(decide_all(&world, &ids)["value"], mixed(n));
        is_paid_once(&world, n);
        assert_eq!(
            (state(&world, &ids[0]), state(&world, &ids[1])),
            (json!("done"), json!("rejected"))
        );
    }
}

/// A rejection, or an approved call that fails, ends the snippet and no other approved call.
#[test]
fn a_snippet_that_ends_early_waits_for_each_approved_call_table() {
    let slow = "[ $amount = 0 ] && exit 1; sleep 1; echo $amount >>paid";
    let slow = PAYS.replace(r#"echo "$amount" >>paid"#, slow);
    for (second, verb, thrown) in
        [(2, "reject", "rejected"), (0, "approve", "the tool ended with status 1")]
    {
        let world = paying(&slow);
        let code = format!(
            "__out = await Promise.all([1, {second}, 3].map(amount => tools.acme.pay({{amount}})))"
        );
        let (first, told) = waits(&world, &code, &[]);
        let others = told["also_pending"].as_array().unwrap();
        let ids: Vec<_> = others.iter().map(|row| row["id"].as_str().unwrap()).collect();
        decide(&world, "approve", &first);
        decide(&world, verb, ids[0]);
        let (_, ended) = decide(&world, "approve", ids[1]);
        assert_eq!((paid(&world), &ended["status"]), (vec![1, 3], &json!("error")), "{ended}");
        let calls = ended["tool_calls"].as_array().unwrap();
        assert_eq!(calls[0]["structured"], json!(1), "{ended}");
        assert!(ended["error"]["message"].as_str().unwrap().contains(thrown), "{ended}");
    }
}

/// Of a snippet that failed nothing begins and nothing goes on but what a person approved.
#[test]
fn a_snippet_that_ends_early_goes_on_with_nothing_else() {
    let slow = PAYS.replace(r#"echo "$amount" >>paid"#, "sleep 2; echo $amount >>paid");
    let world = paying(&slow);
    let note = code_waits::reads("echo begun >>noted; sleep 1; echo ended >>noted; cat\n");
    world.signed(".ai/tools/acme/note.sh", &note);
    let code = "const all = [tools.acme.pay({amount: 1}), \
                  runChain([{tool_id: 'acme/pay', args: {amount: 3}}, {tool_id: 'acme/note'}]), \
                  tools.acme.pay({amount: 2}).catch(() => { \
                  for (let n = 0; n < 20; n++) tools.acme.note({n}); throw new Error('stop'); })]; \
                __out = await Promise.all(all)";
    let (first, told) = waits(&world, code, &[]);
    let others = told["also_pending"].as_array().unwrap();
    let ids: Vec<_> = others.iter().map(|row| row["id"].as_str().unwrap()).collect();
    decide(&world, "approve", &first);
    decide(&world, "approve", ids[0]);
    let (_, ended) = decide(&world, "reject", ids[1]);
    assert_eq!((paid(&world), &ended["code"]), (vec![1, 3], &json!("code.failed")), "{ended}");
    let noted = fs::read_to_string(world.project().join("noted")).unwrap_or_default();
    assert!(!noted.contains("ended"), "{noted}");
    let calls = ended["tool_calls"].as_array().unwrap();
    let late = calls.iter().filter(|call| call["tool_id"] == "acme/note");
    let codes: Vec<_> = late.map(|call| call["error"]["code"].as_str().unwrap()).collect();
    assert_eq!(codes.len(), 21, "{ended}");
    assert!(codes.iter().all(|code| *code == "code.cancelled"), "{ended}");
}

#[test]
fn each_call_of_a_saved_snippet_that_asks_at_once_is_one_question_and_runs_once() {
    for n in if whole() { &MANY[..] } else { &MANY[1..2] } {
        let world = world();
        world.signed(".ai/tools/acme/save.js", &snippet(&["tool:acme/*"], &at_once(*n)));
        let (status, told) = world.json(&["run", "acme/save"]);
        let ids = waiting(&world);
        assert_eq!((status, &told["pending"]["id"]), (8, &json!(ids[0])), "{told}");
        let message = told["pending"]["message"].as_str().unwrap();
        assert!(ids[1..].iter().all(|id| message.contains(id)), "{told}");
        assert_eq!(decide_all(&world, &ids)["data"], mixed(*n));
        is_paid_once(&world, *n);
    }
}

#[test]
fn a_thread_waits_until_each_call_of_its_snippet_is_decided() {
    for n in if whole() { &MANY[..] } else { &MANY[1..2] } {
        let world = world();
        let code = ("rye_code", json!({"code": at_once(*n)}));
        let (id, first) =
            snippet_waits::waits(&world, std::slice::from_ref(&code), snippet_waits::BOTH);
        let ids = waiting(&world);
        assert_eq!((ids.len(), &ids[0]), (*n, &first));
        let came = decide_all(&world, &ids);
        assert_eq!(came["outputs"], json!({"n": 7}), "{came}");
        assert_eq!(snippet_waits::told(&world, &id)[0]["value"], mixed(*n));
        is_paid_once(&world, *n);
        snippet_waits::verified(&world, &id);
        // Where all of it is rejected, the snippet does not go on.
        prepared(&world, &[turn(&[code])], snippet_waits::BOTH);
        let (_, told) = crate::threads::fork(&world, &[]);
        for id in waiting(&world) {
            decide(&world, "reject", &id);
        }
        let gave = &snippet_waits::told(&world, told["thread_id"].as_str().unwrap())[0];
        assert_eq!(gave["error_kind"], "permission_denied", "{gave}");
        assert_eq!(waiting(&world), [""; 0]);
    }
}

#[test]
fn a_person_at_a_client_is_asked_once_for_each_call() {
    for n in if whole() { &MANY[..] } else { &MANY[1..2] } {
        let world = world();
        let mut client = Client::start(&world, &["--approve-by-elicitation"]);
        client.hello_as(&json!({"elicitation": {}}));
        let arguments = json!({"code": at_once(*n), "project_path": world.project()});
        let call = json!({"name": "rye_code", "arguments": arguments});
        let id = client.begin("tools/call", &call);
        for at in 1..=*n {
            let question = client.next("elicitation/create");
            let message = question["params"]["message"].as_str().unwrap();
            assert!(message.contains(&format!("Pay {at}?")), "{message}");
            let action = if at % 3 == 2 { "decline" } else { "accept" };
            let result = json!({"action": action, "content": {}});
            client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        }
        let answer = client.answer(id)["result"]["structuredContent"].clone();
        assert_eq!(answer["value"], mixed(*n), "{answer}");
        is_paid_once(&world, *n);
    }
}

#[test]
fn a_snippet_that_calls_a_saved_one_asks_each_of_its_questions_once() {
    let world = world();
    let saved = snippet(&["tool:acme/*"], &at_once(3));
    let saved = saved.replacen("// calls", "// effects = \"read\"\n// calls", 1);
    world.signed(".ai/tools/acme/save.js", &saved);
    let code = "__out = await tools.acme.save()";
    let (mut id, _) = waits(&world, code, &[]);
    for verb in ["approve", "reject"] {
        assert_eq!(waiting(&world).len(), 1);
        let (status, told) = decide(&world, verb, &id);
        // Rejecting one question rejects the whole call.
        if verb == "reject" {
            assert_eq!((status, &told["error"]["code"]), (1, &json!("code.failed")), "{told}");
            break;
        }
        assert_eq!(status, 8, "{told}");
        told["pending"]["id"].as_str().unwrap().clone_into(&mut id);
    }
    assert_eq!((paid(&world), waiting(&world)), (vec![], vec![]));
    let (mut id, _) = waits(&world, code, &[]);
    let value = loop {
        let (status, told) = decide(&world, "approve", &id);
        if status == 0 {
            break told["value"].clone();
        }
        told["pending"]["id"].as_str().unwrap().clone_into(&mut id);
    };
    assert_eq!((value, paid(&world)), (json!([1, 2, 3]), vec![1, 2, 3]));
    assert_eq!(waiting(&world), [""; 0]);
}

#[test]
fn of_many_who_decide_at_once_each_question_is_decided_by_one() {
    let world = world();
    let (_, _) = waits(&world, &at_once(3), &[]);
    let ids = waiting(&world);
    let approve = |id: &String| {
        let mut command = world.command(&["pending", "approve", id, "--json"]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut all: Vec<_> = ids.iter().chain(&ids).map(approve).collect();
    let mut ends: Vec<_> = all.iter_mut().map(|child| child.wait().unwrap().code()).collect();
    ends.sort();
    let ended = [0, 4, 4, 4, 8, 8].map(Some);
    assert_eq!((ends, paid(&world)), (ended.to_vec(), vec![1, 2, 3]));
    assert_eq!(waiting(&world), [""; 0]);
}

#[test]
fn one_question_is_asked_for_all_calls_of_a_tool_where_a_yes_holds_for_all() {
    let world = code_waits::world();
    let code = "__out = await Promise.all([1, 2, 3].map(k => \
                tools.acme.write({k}).then(it => it.k, e => e.code)).concat(\
                tools.acme.other().then(() => 'o', e => e.code)))";
    let (id, told) = waits(&world, code, &[]);
    assert_eq!(told["pending"]["other_args"].as_array().unwrap().len(), 2, "{told}");
    let [other] = &told["also_pending"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!(other["item_id"], "tool:acme/other");
    decide(&world, "reject", &id);
    let (_, told) = decide(&world, "approve", other["id"].as_str().unwrap());
    assert_eq!(told["value"], json!(["rejected", "rejected", "rejected", "o"]), "{told}");
    assert_eq!(code_waits::lines(&world, "wrote"), 1);
    code_waits::asks(&world, "each");
    let (_, told) = waits(&world, code, &[]);
    let [two, three, other] = &told["also_pending"].as_array().unwrap()[..] else {
        panic!("{told}")
    };
    for asked in [other, &told["pending"], three] {
        assert_eq!(decide(&world, "approve", asked["id"].as_str().unwrap()).0, 8);
    }
    // The last word is a no, and what was approved runs.
    let (_, told) = decide(&world, "reject", two["id"].as_str().unwrap());
    assert_eq!(told["value"], json!([1, "rejected", 3, "o"]), "{told}");
    assert_eq!(code_waits::lines(&world, "wrote"), 4);
}
