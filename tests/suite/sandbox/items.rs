//! `items: write`: a tool makes new items and changes none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::{BWRAP, doer, does, levels, works};
use crate::world::World;

const ADDS: &str = "[sandbox]\nitems = \"write\"";
/// As wide as a tool can be that a level may not hold as a whole.
const WIDE: &str =
    "[sandbox]\nitems = \"write\"\n[sandbox.fs]\nwrite = [\"{project_path}\"]\npartial = true";

/// Writes a text to a path below the folder of new items.
fn makes(path: &str) -> String {
    format!(
        "at = os.environ['RYE_NEW_ITEMS'] + '/{path}'\n\
         os.makedirs(os.path.dirname(at), exist_ok=True); open(at, 'w').write('x')"
    )
}

#[test]
fn a_tool_that_may_add_items_changes_none_and_moves_none() {
    for level in levels("a_tool_that_may_add_items_changes_none_and_moves_none") {
        for grants in [ADDS, WIDE] {
            let world = World::new().held();
            doer(&world, "acme/adds", grants);
            fs::create_dir(world.project().join("build")).unwrap();
            let adds = |code: &str| does(&world, "acme/adds", level, code);
            for path in ["tools/acme/new.py", "knowledge/far/deep.md", "directives/d.md"] {
                let (said, status) = adds(&makes(path));
                assert_eq!(status, 0, "{level}: {said}");
                assert_eq!(world.read(&format!(".ai/{path}")), b"x");
            }
            let item = fs::metadata(world.project().join(".ai/tools/acme/new.py")).unwrap();
            assert_eq!(item.permissions().mode() & 0o7777, 0o644);
            let before = world.read(".ai/tools/acme/adds.py");
            for code in [
                &makes("tools/acme/adds.py"),
                &makes("tools/acme/new.py"),
                "open('.ai/tools/acme/adds.py', 'w')",
                "open('.ai/tools/acme/other.py', 'w')",
                "os.remove('.ai/tools/acme/adds.py')",
                "os.rename('.ai/tools/acme', '.ai/tools/other')",
                "os.rename('.ai', 'gone')",
                "open('.ai/config/x', 'w')",
                "open('.ai/other', 'w')",
                "os.symlink('/etc/passwd', os.environ['RYE_NEW_ITEMS'] + '/tools/link.md')",
                "os.symlink('/etc', os.environ['RYE_NEW_ITEMS'] + '/tools/link')",
                "os.mkfifo(os.environ['RYE_NEW_ITEMS'] + '/tools/pipe.py')",
                "os.rmdir(os.environ['RYE_NEW_ITEMS'] + '/tools'); os.symlink(os.getcwd(), os.environ['RYE_NEW_ITEMS'] + '/tools')",
                "open(os.environ['RYE_NEW_ITEMS'] + '/tools/large.py', 'w').truncate(5 << 20)",
                // What is not done is not taken over.
                &(makes("tools/half.py") + "; sys.exit(1)"),
            ] {
                let (said, status) = adds(code);
                assert_eq!(status, 1, "{level} {code}: {said}");
                assert_eq!(said["code"], "execute.tool_failed", "{level} {code}: {said}");
            }
            assert_eq!(world.read(".ai/tools/acme/adds.py"), before);
            let mut tools: Vec<_> =
                fs::read_dir(world.project().join(".ai/tools")).unwrap().collect();
            assert_eq!(tools.pop().unwrap().unwrap().file_name(), "acme");
            assert!(tools.is_empty(), "{tools:?}");
            assert!(!world.project().join(".ai/tools/acme/half.py").exists());
            assert_eq!(world.rye(&["verify", "acme/adds"]).status, 0);
        }
    }
}

#[test]
fn no_link_of_the_project_leads_a_new_item_out_of_it() {
    let world = World::new().held();
    doer(&world, "adds", ADDS);
    fs::create_dir(world.outside().join("elsewhere")).unwrap();
    symlink(world.outside().join("elsewhere"), world.project().join(".ai/tools/out")).unwrap();
    symlink(world.outside().join("elsewhere/x.py"), world.project().join(".ai/tools/x.py"))
        .unwrap();
    for level in levels("no_link_of_the_project_leads_a_new_item_out_of_it") {
        for path in ["tools/out/new.py", "tools/x.py"] {
            let (said, status) = does(&world, "adds", level, &makes(path));
            assert_eq!(status, 1, "{level} {path}: {said}");
        }
        let mut there = fs::read_dir(world.outside().join("elsewhere")).unwrap();
        assert!(there.next().is_none(), "{level}");
    }
}

#[test]
fn a_thousand_items_take_no_mount_each() {
    if !works("a_thousand_items_take_no_mount_each", BWRAP) {
        return;
    }
    let world = World::new().held();
    doer(&world, "adds", WIDE);
    let mounts = "print(len(open('/proc/self/mountinfo').readlines()))";
    let count = || {
        let (said, status) = does(&world, "adds", BWRAP, mounts);
        assert_eq!(status, 0, "{said}");
        said["data"].as_u64().unwrap()
    };
    let few = count();
    assert!(few > 5, "it is held by mounts: {few}");
    for number in 0..1000 {
        world.write(&format!(".ai/knowledge/many/{}/{number}.md", number % 7), "x");
    }
    assert_eq!(count(), few);
    let (said, status) = does(&world, "adds", BWRAP, &makes("knowledge/many/new.md"));
    assert_eq!(status, 0, "{said}");
}

#[test]
fn a_server_that_serves_many_calls_makes_no_items_and_says_why() {
    let world = World::new().held();
    let server = "import json, sys\nfor line in sys.stdin:\n    said = json.loads(line)\n    \
                  print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': 1}), flush=True)\n";
    world.write(".ai/tools/serve.py", server);
    let item = |more: &str| {
        let text = format!(
            "version: \"1.0.0\"\nexecutor_id: rye/core/runtimes/exec/server\ndescription: x\n{more}\
             exec: {{runtime: server, command: python3, args: [serve.py], files: [serve.py]}}\n"
        );
        world.write(".ai/tools/server.yaml", text);
        assert_eq!(world.rye(&["sign", "server"]).status, 0);
    };
    for level in levels("a_server_that_serves_many_calls_makes_no_items_and_says_why") {
        item("");
        let (status, said) = world.json(&["execute", "server", "--sandbox", level]);
        assert_eq!((status, &said["data"]), (0, &json!(1)), "untouched: {said}");
        item("sandbox: {items: write}\n");
        let (status, said) = world.json(&["execute", "server", "--sandbox", level]);
        assert_eq!(status, 6, "{said}");
        assert!(said["error"].as_str().unwrap().contains("`items: write`"), "{said}");
    }
}
