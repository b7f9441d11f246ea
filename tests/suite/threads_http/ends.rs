//! A thread that ends while its child waits for a server that has fallen silent.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{ALL, CANARY, Checked, body, hands_over, head, world};
use crate::async_runs::tool;
use crate::threads::{call, directive, hand_over, provider, rows};
use crate::world::End;
use crate::world::program;
use crate::world::server::Reply;
use crate::world::wait::{lives, until};

#[test]
fn a_cancel_from_another_process_ends_a_child_thread_a_tool_and_a_stalled_stream_under_way() {
    for spoken in [ALL[1], ALL[3]] {
        let server = Checked::new(spoken, move |_, _| {
            let body = body(spoken, &hands_over(), 0);
            Reply::Hold((head(spoken) + &body[..body.len() / 2]).into_bytes())
        });
        let world = world(spoken, &server.server, &json!({}));
        // The tool stays, does not let itself be asked, and the child thread runs below it.
        let script = format!(
            "env HOME={} ACME_KEY={CANARY} {} execute directive:acme/go --thread fork \
             > /dev/null 2>&1 &\necho $! > rye_pid; trap '' TERM; echo $$ > tool_pid\n\
             (setsid sh -c 'echo $$ > left_pid; exec sleep 300' < /dev/null > /dev/null 2>&1 &)\n\
             while :; do sleep 0.1; done\n",
            world.home().display(),
            program()
        );
        world.signed(".ai/tools/acme/stays.sh", &tool(&script));
        let turns = json!([call("acme_stays", &json!({})), hand_over()]);
        world.signed_home(".ai/tools/acme/parent_script.yaml", &provider(&turns));
        let may = "<execute><tool>acme.*</tool><directive>acme.go</directive></execute>";
        let text = directive("parent", "turns=\"9\"", may);
        let text = text.replace("acme/script", "acme/parent_script");
        world.signed(".ai/directives/acme/parent.md", &text);

        let args = ["execute", "directive:acme/parent", "--thread", "fork", "--json"];
        let mut command = world.command(&args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        server.server.wait_until_asked();
        let number = |name: &str| -> Option<u64> {
            std::fs::read_to_string(world.project().join(name)).ok()?.trim().parse().ok()
        };
        let names = ["rye_pid", "tool_pid", "left_pid"];
        until("all are under way", || names.iter().all(|name| number(name).is_some()));
        let all = rows(&world);
        assert_eq!(all[1]["parent"], all[0]["thread_id"], "{all:?}");

        let id = all[0]["thread_id"].as_str().unwrap();
        assert_eq!(world.json(&["thread", "cancel", id]).ok()["thread_status"], "cancelled");
        let output = child.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["code"], "thread.cancelled", "{told}");
        server.server.wait_until_left();
        for name in names {
            until(name, || !lives(number(name).unwrap()));
        }
        for row in rows(&world) {
            assert_eq!(row["thread_status"], "cancelled", "{row}");
        }
    }
}
