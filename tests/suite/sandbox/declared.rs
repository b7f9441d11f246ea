//! What an item declares, and what of it is in force.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{BWRAP, LANDLOCK, doer, does, levels, works};
use crate::world::World;

#[test]
fn without_a_word_a_tool_reads_the_project_and_writes_a_private_folder_that_goes_with_the_run() {
    let world = World::new().held();
    fs::write(world.home().join("secret"), "s").unwrap();
    fs::write(world.project().join("open"), "o").unwrap();
    doer(&world, "plain", "");
    let code = "def may(f):\n  try:\n    f(); return True\n  except OSError: return False\n\
        t = os.environ['TMPDIR'] + '/x'\n\
        print(json.dumps({'reads': may(lambda: open('open')), 'home': may(lambda: open(os.environ['HOME'] + '/secret')),\n\
        'writes': may(lambda: open('new', 'w')), 'tmp': may(lambda: open(t, 'w')), 'at': t}))";
    for level in levels("without_a_word_a_tool_reads_the_project") {
        let (said, status) = does(&world, "plain", level, code);
        assert_eq!(status, 0, "{said}");
        let data = &said["data"];
        let got = ["reads", "home", "writes", "tmp"].map(|key| data[key].as_bool().unwrap());
        assert_eq!(got, [true, false, false, true], "{level}: {data}");
        assert!(!std::path::Path::new(data["at"].as_str().unwrap()).exists());
        let project = world.project().canonicalize().unwrap();
        let missing = if level == LANDLOCK { json!(["file modes"]) } else { json!([]) };
        let want = json!({
            "level": level, "fs": {"read": [project], "write": []}, "net": "none", "limits": {},
            "missing": missing,
        });
        assert_eq!(said["metadata"]["sandbox"], want);
    }
}

#[test]
fn the_level_in_force_stands_in_the_result_the_plan_the_trace_and_the_receipt() {
    let world = World::new().held();
    doer(&world, "plain", "[sandbox]\nnet = \"any\"");
    for level in
        levels("the_level_in_force_stands_in_the_result_the_plan_the_trace_and_the_receipt")
    {
        let args = ["execute", "plain", "-i", "code=pass", "--sandbox", level, "--trace"];
        let receipt = world.outside().join("receipt.json");
        let path = receipt.display().to_string();
        let (status, said) = world.json(&[&args[..], &["--receipt", &path]].concat());
        assert_eq!(status, 0, "{said}");
        let in_force = &said["metadata"]["sandbox"];
        assert_eq!(
            (in_force["level"].as_str(), in_force["net"].as_str()),
            (Some(level), Some("any"))
        );
        let trace = said["trace"].as_array().unwrap();
        let told = trace.iter().find(|event| event["step"] == "sandbox").unwrap();
        assert_eq!(&told["in_force"], in_force);
        let (_, dry) = world.json(&[&args[..], &["--dry-run"]].concat());
        assert_eq!(&dry["plan"]["sandbox"], in_force);
        let shown = world.rye(&["receipt", "verify", &path, "--json"]).json();
        assert!(shown.to_string().contains(&format!("\"level\":\"{level}\"")), "{shown}");
        let text =
            world.rye(&["execute", "plain", "-i", "code=pass", "--dry-run", "--sandbox", level]);
        assert!(text.stdout.contains(&format!("sandbox {level}, reads ")), "{}", text.stdout);
    }
}

#[test]
fn only_the_operators_own_policy_lets_a_tool_out() {
    let world = World::new().held();
    doer(&world, "plain", "");
    let out = |world: &World, level: &str| does(world, "plain", level, "open('out', 'w')");
    let (said, status) = out(&world, "off");
    assert_eq!((said["code"].as_str(), status), (Some("sandbox.not_allowed"), 6), "{said}");
    world.write(".ai/config/rye/policy.yaml", "sandbox_off: [\"tool:**\"]\n");
    world.rye(&["sign", "config:rye/policy", "--space", "project"]);
    assert_eq!(out(&world, "off").0["code"], "sandbox.not_allowed", "a project lets nothing out");
    fs::remove_file(world.project().join(".ai/config/rye/policy.yaml")).unwrap();
    for (listed, is_out) in [("tool:other", false), ("tool:pl*", true)] {
        world.signed_home(".ai/config/rye/policy.yaml", &format!("sandbox_off: [\"{listed}\"]\n"));
        let (said, status) = out(&world, "off");
        assert_eq!(status == 0, is_out, "{said}");
        if is_out {
            assert_eq!(said["metadata"]["sandbox"], json!({"level": "off"}));
            // Who asks for a level gets it.
            for level in levels("only_the_operators_own_policy_lets_a_tool_out") {
                assert_ne!(out(&world, level).1, 0);
            }
        }
    }
}

#[test]
fn a_grant_above_what_is_kept_is_refused_by_landlock_and_held_by_bwrap() {
    let test = "a_grant_above_what_is_kept_is_refused_by_landlock_and_held_by_bwrap";
    let world = World::new().held();
    doer(&world, "wide", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    doer(&world, "reads", "[sandbox.fs]\nread = [\"{user_space}\"]");
    doer(&world, "adds", "[sandbox]\nitems = \"write\"");
    if works(test, LANDLOCK) {
        for tool in ["wide", "reads", "adds"] {
            let (said, status) = does(&world, tool, LANDLOCK, "pass");
            assert_eq!(
                (said["code"].as_str(), status),
                (Some("sandbox.cannot_protect"), 6),
                "{said}"
            );
            assert!(said["help"].as_str().unwrap().contains("bubblewrap"), "{said}");
        }
    }
    if works(test, BWRAP) {
        let (said, status) = does(&world, "wide", BWRAP, "open('new', 'w')");
        assert_eq!(status, 0, "{said}");
        assert!(world.project().join("new").exists());
        let code = "print(os.listdir(os.environ['HOME'] + '/.ai/config/keys'))";
        let (said, _) = does(&world, "reads", BWRAP, code);
        assert_eq!(said["data"], json!([]), "{said}");
    }
}

#[test]
fn a_tool_that_may_add_items_changes_none_and_moves_none() {
    let test = "a_tool_that_may_add_items_changes_none_and_moves_none";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new().held();
    doer(&world, "acme/adds", "[sandbox]\nitems = \"write\"");
    let adds = |code: &str| does(&world, "acme/adds", BWRAP, code);
    let (said, status) =
        adds("open('.ai/tools/acme/new.py', 'w').write('x'); os.makedirs('.ai/knowledge/deep')");
    assert_eq!(status, 0, "{said}");
    assert_eq!(world.read(".ai/tools/acme/new.py"), b"x");
    for code in [
        "open('.ai/tools/acme/adds.py', 'w')",
        "os.remove('.ai/tools/acme/adds.py')",
        "os.rename('.ai/tools/acme', '.ai/tools/other')",
        "os.replace('.ai/tools/acme/new.py', '.ai/tools/acme/adds.py')",
        "open('.ai/config/x', 'w')",
        "open('.ai/other', 'w')",
    ] {
        let (said, status) = adds(code);
        assert_eq!(status, 1, "{code}: {said}");
    }
    let said = world.rye(&["verify", "acme/adds"]);
    assert_eq!(said.status, 0, "{said:?}");
}

#[test]
fn a_grant_that_leads_out_or_into_what_is_kept_is_refused_and_a_folder_with_a_slash_is_made() {
    let world = World::new().held();
    symlink(world.home(), world.project().join("out")).unwrap();
    fs::create_dir(world.project().join("deep")).unwrap();
    symlink(world.home(), world.project().join("deep/out")).unwrap();
    for (name, grant) in [
        ("a", "write = [\"{project_path}/out\"]"),
        ("b", "read = [\"{project_path}/out\"]"),
        ("c", "write = [\"{project_path}/deep/out/new/\"]"),
        ("d", "write = [\"{project_path}/.ai/tools\"]"),
        ("e", "write = [\"{user_space}/.ssh/\"]"),
        ("f", "read = [\"{user_space}/.ai/config/keys/signing\"]"),
        ("g", "write = [\"{project_path}/missing\"]"),
    ] {
        doer(&world, name, &format!("[sandbox.fs]\n{grant}"));
        let (said, status) = does(&world, name, "auto", "pass");
        assert_eq!(
            (said["code"].as_str(), status),
            (Some("sandbox.bad_grant"), 6),
            "{grant}: {said}"
        );
    }
    doer(&world, "made", "[sandbox.fs]\nwrite = [\"{project_path}/new/folder/\"]");
    for level in levels("a_folder_with_a_slash_is_made") {
        let (said, status) = does(&world, "made", level, "open('new/folder/x', 'w').write('x')");
        assert_eq!(status, 0, "{said}");
        assert_eq!(world.read("new/folder/x"), b"x");
        fs::remove_dir_all(world.project().join("new")).unwrap();
    }
}

#[test]
fn a_wrong_word_in_the_block_is_a_fault_when_the_item_is_signed() {
    let world = World::new();
    for (block, says) in [
        ("[sandbox]\nnet = \"all\"", "`/sandbox/net`"),
        ("[sandbox]\nnett = \"none\"", "did you mean `net`?"),
        ("[sandbox]\nitems = \"all\"", "`/sandbox/items`"),
        ("[sandbox.fs]\nwrite = \"x\"", "`/sandbox/fs/write`"),
        ("[sandbox.fs]\nwrite = [\"build\"]", "must be absolute"),
        ("[sandbox.fs]\nwrite = [\"{project_path}/../x\"]", "`..`"),
        ("[sandbox.fs]\nwrite = [\"{project_path}x\"]", "must go on with `/`"),
        ("[sandbox.fs]\nread = [\"{item_dir}/x\"]", "must be absolute"),
        ("[sandbox.fs]\nread = [\"/home/${USER}\"]", "plain path"),
        ("[sandbox.limits]\nfiles = 0", "`/sandbox/limits/files`"),
        ("[sandbox.limits]\nmemory = 1", "not known here"),
    ] {
        let lines: String = block.lines().map(|line| format!("# {line}\n")).collect();
        let text = format!(
            "# /// rye\n# version = \"1.0.0\"\n# executor_id = \"rye/core/runtimes/python/script\"\n\
             # description = \"x\"\n{lines}# ///\nprint(1)\n"
        );
        world.write(".ai/tools/wrong.py", text);
        let said = world.rye(&["sign", "wrong"]);
        assert_eq!(said.code(), "parse.metadata", "{block}: {said:?}");
        assert!(said.stderr.contains(says), "{block}: {}", said.stderr);
    }
}

#[test]
fn a_sandbox_that_cannot_be_made_is_said_and_the_tool_is_not_started() {
    if !works("a_sandbox_that_cannot_be_made_is_said_and_the_tool_is_not_started", BWRAP) {
        return;
    }
    let world = World::new().held();
    // A process of this machine has no place among those that the tool sees.
    let grant = format!("[sandbox.fs]\nread = [\"/proc/{}\"]", std::process::id());
    doer(&world, "odd", &grant);
    let (said, status) = does(&world, "odd", BWRAP, "print('it ran')");
    assert_eq!((said["code"].as_str(), status), (Some("sandbox.failed"), 6), "{said}");
    assert!(!said.to_string().contains("it ran"));
    doer(&world, "blind", "[sandbox.fs]\nread = []");
    for level in levels("a_tool_that_may_read_nothing_runs") {
        let (said, status) = does(&world, "blind", level, "pass");
        assert_eq!(status, 0, "{level}: {said}");
    }
}

#[test]
fn limits_bound_each_process_and_what_nothing_counts_is_said() {
    let world = World::new().held();
    doer(
        &world,
        "bound",
        "[sandbox]\nnet = \"none\"\n[sandbox.limits]\nfiles = 20\nfile_size_mb = 1\ncpu_seconds = 1\nmemory_mb = 64\nprocesses = 9",
    );
    for level in levels("limits_bound_each_process_and_what_nothing_counts_is_said") {
        let bound = |code: &str| does(&world, "bound", level, code);
        let (said, _) = bound("l = [open('/dev/null') for _ in range(40)]");
        assert!(said.to_string().contains("Too many open files"), "{level}: {said}");
        let (said, status) =
            bound("open(os.environ['TMPDIR'] + '/x', 'wb').write(b'x' * (2 << 20))");
        assert_eq!(status, 1, "{level}: {said}");
        let (said, status) = bound("while True: pass");
        assert_eq!((said["code"].as_str(), status), (Some("execute.tool_failed"), 1), "{said}");
        let (said, _) = bound("pass");
        let missing = said["metadata"]["sandbox"]["missing"].to_string();
        assert!(
            missing.contains("limits.memory_mb") && missing.contains("limits.processes"),
            "{missing}"
        );
    }
}

#[test]
fn a_tool_that_lacks_something_is_told_the_line_to_add() {
    let world = World::new().held();
    fs::create_dir_all(world.home().join("data")).unwrap();
    fs::write(world.home().join("data/x"), "x").unwrap();
    doer(&world, "lacks", "");
    let home = world.home().display().to_string();
    for level in levels("a_tool_that_lacks_something_is_told_the_line_to_add") {
        for (code, line) in [
            ("open(os.getcwd() + '/new', 'w')".to_owned(), "{fs: {write: [\"{project_path}\"]}}"),
            (format!("open('{home}/data/x')"), "{fs: {read: [\"{user_space}/data/x\"]}}"),
            ("socket.create_connection(('127.0.0.1', 9))".to_owned(), "{net: any}"),
        ] {
            let (said, _) = does(&world, "lacks", level, &code);
            let help = said["help"].as_str().unwrap_or_default();
            assert!(help.contains(&format!("add `sandbox: {line}`")), "{level} {code}: {said}");
        }
        let (said, _) = does(&world, "lacks", level, "sys.exit('a word of its own')");
        assert!(!said["help"].as_str().unwrap().contains("sandbox"), "{said}");
    }
}
