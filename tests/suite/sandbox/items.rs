//! `items: write`: a tool makes new items and changes none.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use super::{BWRAP, doer, does, levels, not_run, works};
use crate::world::items::tool_sh;
use crate::world::{GREET_MD, World};

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
            let world = World::new_on_disk().held();
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
            world.rye(&["verify", "acme/adds"]).ok();
        }
    }
}

#[test]
fn no_new_item_stops_or_tests_one_that_is_there() {
    let world = World::new_on_disk().held();
    doer(&world, "acme/adds", ADDS);
    doer(&world, "deps/main", "[verify_deps]\nextensions = [\".py\"]\n[sandbox]");
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    // Of a type that a person may have registered.
    world.write(".ai/tools/typed/all.bash2", tool_sh("files = [\"lib/**\"]", ""));
    for level in levels("no_new_item_stops_or_tests_one_that_is_there") {
        for (path, why) in [
            ("tools/acme/greet.sh", "would share its id"),
            ("directives/acme/adds.md", "would share its id"),
            ("tools/acme/adds.test.yaml", "would be a test spec"),
            ("tools/deps/far/new.py", "would be a module that `.ai/tools/deps/main.py`"),
            ("tools/typed/lib/new.py", "one of the files that `.ai/tools/typed/all.bash2`"),
        ] {
            let (said, status) = does(&world, "acme/adds", level, &makes(path));
            assert_eq!(status, 1, "{level} {path}: {said}");
            assert!(said.to_string().contains(why), "{level} {path}: {said}");
            assert!(!world.project().join(".ai").join(path).exists(), "{level} {path}");
        }
        let with_spec = format!("{}; {}", makes("tools/n/a.sh"), makes("tools/n/a.test.yaml"));
        let (said, status) = does(&world, "acme/adds", level, &with_spec);
        assert_eq!(status, 0, "{level}: {said}");
        fs::remove_dir_all(world.project().join(".ai/tools/n")).unwrap();
        let (said, status) = does(&world, "acme/adds", level, &makes("tools/deps/new.md"));
        assert_eq!(status, 0, "{level}: {said}");
        fs::remove_file(world.project().join(".ai/tools/deps/new.md")).unwrap();
    }
}

#[test]
fn no_link_of_the_project_leads_a_new_item_out_of_it() {
    let world = World::new_on_disk().held();
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

/// Everything below a folder, by path.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

#[test]
fn new_items_come_all_or_none_also_where_one_has_no_room() {
    for level in levels("new_items_come_all_or_none_also_where_one_has_no_room") {
        let world = World::new_on_disk().held();
        doer(&world, "adds", ADDS);
        doer(&world, "acme/other", "");
        let adds = |code: &str| does(&world, "adds", level, code);
        let (said, status) = adds(&[makes("tools/a/one.py"), makes("tools/z/two.py")].join("; "));
        assert_eq!(status, 0, "untouched: {said}");
        let before = tree(&world.project().join(".ai"));
        // A file stands where a folder would be; names on both sides of it come in any order.
        let code = ["b/c/n.py", "acme/other.py/z.py", "y/n.py", "0.py", "zz.py"]
            .map(|path| makes(&format!("tools/{path}")))
            .join("; ");
        let (said, status) = adds(&code);
        assert_eq!(status, 1, "{level}: {said}");
        assert!(said["error"].as_str().unwrap().contains("acme/other.py/z.py"), "{said}");
        assert_eq!(tree(&world.project().join(".ai")), before, "{level}");
    }
}

/// The same with a disk of its own for the project's knowledge, which holds 64 KiB.
fn does_on_a_small_disk(world: &World, level: &str, code: &str) -> Output {
    let script = "mount -t tmpfs -o size=64k tmpfs .ai/knowledge && exec \"$@\"";
    let code = format!("code={code}");
    let rye = world.command(&["execute", "adds", "--sandbox", level, "--json", "-i", &code]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(rye.get_program()).args(rye.get_args());
    command.current_dir(world.project());
    for (name, value) in rye.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.output().unwrap()
}

#[test]
fn what_was_placed_goes_again_where_a_later_place_fails() {
    let test = "what_was_placed_goes_again_where_a_later_place_fails";
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return not_run(test, "every level", "no mounts of one's own");
    }
    for level in levels(test) {
        let world = World::new_on_disk().held();
        doer(&world, "adds", ADDS);
        world.write(".ai/knowledge/there.md", "there");
        // What is hidden has to be there, and stays.
        std::fs::create_dir(world.project().join(".ai/state")).unwrap();
        let makes_both = |bytes: usize| {
            let large = format!("; open(at, 'w').write('x' * {bytes})");
            [makes("tools/a/b/one.py"), makes("knowledge/c/large.md")].join("; ") + &large
        };
        let before = tree(&world.project().join(".ai"));
        let said = does_on_a_small_disk(&world, level, &makes_both(1 << 20));
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(!said.status.success() && text.contains("large.md"), "{level}: {said:?}");
        assert_eq!(tree(&world.project().join(".ai")), before, "{level}");
        let said = does_on_a_small_disk(&world, level, &makes_both(10));
        assert!(said.status.success(), "with room: {level}: {said:?}");
        assert!(world.project().join(".ai/tools/a/b/one.py").is_file());
    }
}

#[test]
fn no_new_item_stops_one_that_is_there() {
    for level in levels("no_new_item_stops_one_that_is_there") {
        let world = World::new_on_disk().held();
        doer(&world, "adds", ADDS);
        doer(&world, "acme/other", "");
        let listing = "files = [\"lib/**\"]\n[sandbox.fs]\nread = [\"{project_path}\"]";
        world.write(".ai/tools/acme/lib/a.txt", "a");
        doer(&world, "acme/lists", listing);
        let adds = |code: &str| does(&world, "adds", level, code);
        let run = |name: &str| does(&world, name, level, "pass").1;
        let (said, status) = adds(&makes("tools/acme/new.py"));
        assert_eq!((status, run("acme/other"), run("acme/lists")), (0, 0, 0), "untouched: {said}");
        let mine =
            "# /// rye\n# executor_id = \"rye/core/runtimes/shell/script\"\n# ///\necho mine\n";
        world.signed_home(".ai/tools/me/mine.sh", &format!("#!/bin/sh\n{mine}"));
        let before = tree(&world.project().join(".ai"));
        for path in [
            "tools/hooks/h.py",
            "tools/acme/other.sh",
            "tools/acme/lib/b.txt",
            "tools/acme/lib/deep/b.py",
            // Of the person, and of what rye brings.
            "tools/me/mine.sh",
            "tools/rye/core/runtimes/shell/script.yaml",
            "tools/rye/new.py",
            "knowledge/rye/sandbox.md",
        ] {
            let (said, status) = adds(&makes(path));
            assert_eq!(status, 1, "{level} {path}: {said}");
            assert!(said["error"].as_str().unwrap().contains(path), "{said}");
        }
        let twice = [makes("tools/two.py"), makes("tools/two.sh")].join("; ");
        assert_eq!(adds(&twice).1, 1, "{level}: two new files of one id");
        assert_eq!(tree(&world.project().join(".ai")), before, "{level}");
        assert_eq!((run("acme/other"), run("acme/lists")), (0, 0), "{level}");
    }
}

#[test]
fn folders_and_hidden_names_count_among_new_items() {
    for level in levels("folders_and_hidden_names_count_among_new_items") {
        let world = World::new_on_disk().held();
        doer(&world, "adds", ADDS);
        let many = |count: usize, step: &str| {
            let code = format!(
                "at = os.environ['RYE_NEW_ITEMS'] + '/knowledge/'\n\
                 for n in range({count}): {step}"
            );
            let (said, status) = does(&world, "adds", level, &code);
            (status, said["error"].as_str().unwrap_or_default().contains("more items"))
        };
        for step in ["os.mkdir(at + str(n))", "open(at + f'.{n}', 'w')"] {
            assert_eq!(many(900, step), (0, false), "untouched: {step}");
            assert_eq!(many(1_001, step), (1, true), "{level}: {step}");
        }
    }
}

#[test]
fn a_thousand_items_take_no_mount_each() {
    if !works("a_thousand_items_take_no_mount_each", BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
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
    let world = World::new_on_disk().held();
    let server = "import json, sys\nfor line in sys.stdin:\n    said = json.loads(line)\n    \
                  print(json.dumps({'jsonrpc': '2.0', 'id': said['id'], 'result': 1}), flush=True)\n";
    world.write(".ai/tools/serve.py", server);
    let item = |more: &str| {
        let text = format!(
            "version: \"1.0.0\"\nexecutor_id: rye/core/runtimes/exec/server\ndescription: x\n{more}\
             exec: {{runtime: server, command: python3, args: [serve.py], files: [serve.py]}}\n"
        );
        world.write(".ai/tools/server.yaml", text);
        world.rye(&["sign", "server"]).ok();
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
