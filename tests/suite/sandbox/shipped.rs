//! The shipped tools work in the sandbox, at each level.

use serde_json::json;

use super::{BWRAP, LANDLOCK, levels};
use crate::world::items::tool_sh;
use crate::world::{End, World};

#[test]
fn the_shipped_tools_work_at_each_level() {
    for level in levels("the_shipped_tools_work_at_each_level") {
        let world = World::new_on_disk().held().with_file("src/a.txt", "one\ntwo\n");
        let run = |item: &str, inputs: &[&str]| {
            let inputs: Vec<_> = inputs.iter().flat_map(|input| ["-i", input]).collect();
            let args = ["execute", item, "--sandbox", level];
            let (status, said) = world.json(&[&args[..], &inputs].concat());
            assert_eq!(status, 0, "{item} at {level}: {said}");
            assert_eq!(said["metadata"]["sandbox"]["level"], level);
            said["data"].clone()
        };
        assert_eq!(
            run("rye/bash", &["command=echo hello; echo x >src/b.txt"])["stdout"],
            "hello\n"
        );
        let at = "path=src/a.txt";
        assert_eq!(run("rye/file-system/read", &[at])["content"], "one\ntwo\n");
        run("rye/file-system/write", &["path=src/new.txt", "content=x"]);
        run("rye/file-system/edit", &[at, "old=one", "new=1"]);
        run("rye/file-system/list", &["path=src"]);
        run("rye/file-system/glob", &["pattern=**/*.txt"]);
        run("rye/file-system/grep", &["pattern=two"]);
        assert_eq!(world.read("src/a.txt"), b"1\ntwo\n");
        // Right in the project only where it can be told from what is kept there.
        let args =
            ["execute", "rye/file-system/write", "--sandbox", level, "-i", "path=output.txt"];
        let (status, said) = world.json(&[&args[..], &["-i", "content=hello world"]].concat());
        match level {
            BWRAP => {
                let want = json!({"path": "output.txt", "bytes_written": 11, "created": true});
                assert_eq!((status, &said["data"]), (0, &want));
            }
            LANDLOCK => {
                assert_eq!(status, 1, "{said}");
                let help = said["help"].as_str().unwrap();
                assert!(help.contains("the level `bwrap` can"), "{help}");
            }
            _ => unreachable!("{level}"),
        }
    }
}

#[test]
fn a_tool_in_each_language_and_a_server_of_the_exec_protocol_start_at_each_level() {
    let world = World::new_on_disk().held().with(".ai/tools/sh.sh",
        &tool_sh("", "grep Seccomp: /proc/self/status\n")).with(".ai/tools/js.js",
        "// /// rye\n// version = \"1.0.0\"\n// executor_id = \"rye/core/runtimes/node/node\"\n\
         // description = \"x\"\n// ///\nconsole.log(require('fs').readFileSync('/proc/self/status', 'utf8')\
         .match(/Seccomp:.*/)[0]);\n");
    let server = "import json, sys\nfor line in sys.stdin:\n    said = json.loads(line)\n    \
                  text = [l for l in open('/proc/self/status') if l.startswith('Seccomp:')][0]\n    \
                  print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': {'stdout': text}}), flush=True)\n";
    world.write(".ai/tools/serve.py", server);
    world.write(
        ".ai/tools/server.yaml",
        "version: \"1.0.0\"\nexecutor_id: rye/core/runtimes/exec/server\ndescription: x\n\
         exec: {runtime: server, command: python3, args: [serve.py], files: [serve.py]}\n",
    );
    let signed = world.rye(&["sign", "server"]);
    let mut items = vec!["sh", "js"];
    if signed.status == 0 {
        items.push("server");
    }
    assert_eq!(items.len(), 3, "{signed:?}");
    for level in levels("a_tool_in_each_language_and_a_server_start_at_each_level") {
        for item in &items {
            let (status, said) = world.json(&["execute", item, "--sandbox", level]);
            assert_eq!(status, 0, "{item} at {level}: {said}");
            let said = said["data"]["stdout"].as_str().unwrap();
            assert_eq!(said.split_whitespace().last(), Some("2"), "{item} at {level}: {said}");
        }
    }
}

#[test]
fn a_server_at_the_level_bwrap_is_asked_to_end_and_has_its_time() {
    let test = "a_server_at_the_level_bwrap_is_asked_to_end_and_has_its_time";
    if !super::works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    let server = "import json, signal, sys, time\ndef end(*_):\n    time.sleep(0.2)\n    \
                  open('build/ended', 'w').write('x')\n    sys.exit()\n\
                  signal.signal(signal.SIGTERM, end)\nfor line in sys.stdin:\n    \
                  said = json.loads(line)\n    \
                  print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': 1}), flush=True)\n\
                  while True: time.sleep(1)\n";
    world.write(".ai/tools/serve.py", server);
    world.write(
        ".ai/tools/server.yaml",
        "version: \"1.0.0\"\nexecutor_id: rye/core/runtimes/exec/server\ndescription: x\n\
         sandbox: {fs: {write: [\"{project_path}/build/\"]}}\n\
         exec: {runtime: server, command: python3, args: [serve.py], files: [serve.py]}\n",
    );
    world.rye(&["sign", "server"]).ok();
    world.json(&["execute", "server", "--sandbox", BWRAP]).ok();
    assert_eq!(world.read("build/ended"), b"x");
}
