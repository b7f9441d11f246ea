//! What an item declares, and what of it is in force.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{BWRAP, LANDLOCK, doer, does, levels, works};
use crate::world::items::tool_py;
use crate::world::{End, World};

#[test]
fn without_a_word_a_tool_reads_the_project_and_writes_a_private_folder_that_goes_with_the_run() {
    let world = World::new_on_disk().held();
    fs::write(world.home().join("secret"), "s").unwrap();
    fs::write(world.project().join("open"), "o").unwrap();
    doer(&world, "plain", "");
    let code = "def may(f):\n  try:\n    f(); return True\n  except OSError: return False\n\
        t = os.environ['TMPDIR'] + '/of-a-test-of-rye'\n\
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
        let missing = match level {
            LANDLOCK => {
                let new = format!("new files of {}", project.display());
                json!([new, "file modes", "command lines", "/dev/shm"])
            }
            _ => json!([]),
        };
        let want = json!({
            "level": level, "fs": {"read": [project], "write": []}, "net": "none", "limits": {},
            "missing": missing,
        });
        assert_eq!(said["metadata"]["sandbox"], want);
    }
}

#[test]
fn the_private_folder_is_in_memory_unless_the_shared_one_is_granted() {
    if !works("the_private_folder_is_in_memory_unless_the_shared_one_is_granted", BWRAP) {
        return;
    }
    let world = World::new_beside_tmp().held();
    doer(&world, "own", "");
    doer(&world, "shared", "[sandbox.fs]\nwrite = [\"/tmp\"]");
    let code = "t = os.environ['TMPDIR']\n\
        open(t + '/x', 'w').close()\n\
        kinds = {l.split()[1]: l.split()[2] for l in open('/proc/mounts')}\n\
        print(json.dumps({'at': t, 'kind': kinds.get(t), 'there': os.listdir('/tmp')}))";
    let (own, status) = does(&world, "own", BWRAP, code);
    assert_eq!(status, 0, "{own}");
    assert_eq!(own["data"], json!({"at": "/tmp", "kind": "tmpfs", "there": ["x"]}));
    let (shared, status) = does(&world, "shared", BWRAP, code);
    assert_eq!(status, 0, "{shared}");
    let at = shared["data"]["at"].as_str().unwrap();
    assert!(at != "/tmp" && !std::path::Path::new(at).exists(), "{shared}");
}

#[test]
fn the_level_in_force_stands_in_the_result_the_plan_the_trace_and_the_receipt() {
    let world = World::new_on_disk().held();
    doer(&world, "plain", "[sandbox]\nnet = \"any\"");
    for level in
        levels("the_level_in_force_stands_in_the_result_the_plan_the_trace_and_the_receipt")
    {
        let args = ["execute", "plain", "-i", "code=pass", "--sandbox", level, "--trace"];
        let receipt = world.outside().join("receipt.json");
        let path = receipt.display().to_string();
        let said = world.json(&[&args[..], &["--receipt", &path]].concat()).ok();
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
    let world = World::new_on_disk().held();
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
    let world = World::new_on_disk().held();
    doer(&world, "wide", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    doer(&world, "reads", "[sandbox.fs]\nread = [\"{user_space}\"]");
    if works(test, LANDLOCK) {
        for tool in ["wide", "reads"] {
            let (said, status) = does(&world, tool, LANDLOCK, "pass");
            assert_eq!(
                (said["code"].as_str(), status),
                (Some("sandbox.cannot_protect"), 6),
                "{said}"
            );
            assert!(said["help"].as_str().unwrap().contains("the level `bwrap` can"), "{said}");
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
fn a_grant_that_leads_out_or_into_what_is_kept_is_refused_and_a_folder_with_a_slash_is_made() {
    let world = World::new_on_disk().held();
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
    let world = World::new_on_disk();
    for (block, says) in [
        ("[sandbox]\nnet = \"all\"", "`/sandbox/net`"),
        ("[sandbox]\nnett = \"none\"", "did you mean `net`?"),
        ("[sandbox]\nitems = \"all\"", "`/sandbox/items`"),
        ("[sandbox]\ngit = \"commit\"", "`/sandbox/git`"),
        ("[sandbox.fs]\nwrite = \"x\"", "`/sandbox/fs/write`"),
        ("[sandbox.fs]\nwrite = [\"build\"]", "must be absolute"),
        ("[sandbox.fs]\nwrite = [\"{project_path}/../x\"]", "`..`"),
        ("[sandbox.fs]\nwrite = [\"{project_path}x\"]", "must go on with `/`"),
        ("[sandbox.fs]\nread = [\"{item_dir}/x\"]", "must be absolute"),
        ("[sandbox.fs]\nread = [\"/home/${USER}\"]", "plain path"),
        ("[sandbox.limits]\nfiles = 0", "`/sandbox/limits/files`"),
        ("[sandbox.limits]\nmemory = 1", "not known here"),
    ] {
        world.write(".ai/tools/wrong.py", tool_py(block, "print(1)\n"));
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
    let world = World::new_on_disk().held();
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
fn limits_bound_each_process_and_the_run_and_what_nothing_counts_is_said() {
    let world = World::new_on_disk().held();
    doer(
        &world,
        "bound",
        "[sandbox]\nnet = \"none\"\n[sandbox.limits]\nfiles = 20\nfile_size_mb = 1\ncpu_seconds = 1\nmemory_mb = 64\nprocesses = 9",
    );
    for level in levels("limits_bound_each_process_and_the_run_and_what_nothing_counts_is_said") {
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
        let lacks = ["limits.memory_mb", "limits.processes"].map(|name| missing.contains(name));
        if lacks == [true, true] {
            super::not_run("limits_that_count_a_whole_run", level, "no group can be made here");
            continue;
        }
        assert_eq!(lacks, [false, false], "they are counted by one group: {missing}");
        let (said, status) = bound("x = b'x' * (256 << 20); print('had')");
        assert!(status != 0 && !said.to_string().contains("had"), "{level}: {said}");
        let many = "p = [subprocess.Popen(['sleep', '9']) for _ in range(20)]; print('had')";
        let (said, status) = bound(many);
        assert!(status != 0 && !said.to_string().contains("had"), "{level}: {said}");
    }
}

#[test]
fn a_tool_that_lacks_something_is_told_of_rye_learn() {
    let world = World::new_on_disk().held();
    fs::create_dir_all(world.home().join("data")).unwrap();
    fs::write(world.home().join("data/x"), "x").unwrap();
    doer(&world, "lacks", "");
    let mine = world.write_home(".local/bin/mine", "#!/bin/sh\necho mine\n");
    fs::set_permissions(&mine, fs::Permissions::from_mode(0o755)).unwrap();
    let bin = mine.parent().unwrap().display();
    let world = world.env("PATH", &format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
    for level in levels("a_tool_that_lacks_something_is_told_of_rye_learn") {
        for code in [
            "open('new', 'w')",
            "os.makedirs(os.environ['HOME'] + '/.config/acme')",
            "open(os.environ['HOME'] + '/data/x')",
            "socket.create_connection(('127.0.0.1', 9))",
            "subprocess.run(['sh', '-c', 'mine || exit 3'], check=True)",
            "sys.exit('a word of its own')",
        ] {
            let (said, status) = does(&world, "lacks", level, code);
            let help = format!(
                "if its sandbox ({level}) is why, let `rye learn tool:lacks`, with the same \
                 inputs, propose what it needs"
            );
            let is_told = said["help"].as_str().unwrap().ends_with(&help);
            assert!(status == 1 && is_told, "{level} {code}: {said}");
        }
    }
}

#[test]
fn what_is_granted_nowhere_is_not_written_for_a_while_either() {
    if !works("what_is_granted_nowhere_is_not_written_for_a_while_either", BWRAP) {
        return;
    }
    let world = World::new_beside_tmp().held();
    doer(&world, "loses", "");
    let (said, status) = does(&world, "loses", BWRAP, "print(os.path.exists('../lost'))");
    assert_eq!(status, 0, "{said}");
    let (said, status) = does(&world, "loses", BWRAP, "open('../lost', 'w')");
    assert_eq!(status, 1, "what it wrote would be gone with the run: {said}");
    assert!(said.to_string().contains("Read-only file system"), "{said}");
}

#[test]
fn a_grant_of_a_whole_home_is_refused_and_narrower_folders_are_named() {
    let world = World::new_on_disk().held();
    let home = world.home().display().to_string();
    fs::create_dir_all(world.home().join(".config")).unwrap();
    fs::create_dir_all(world.home().join(".local")).unwrap();
    for (name, grant) in [
        ("home", "{user_space}"),
        ("by_path", home.as_str()),
        ("config", "{user_space}/.config"),
        ("local", "{user_space}/.local"),
        ("above", world.outside().to_str().unwrap()),
        ("all", "/"),
    ] {
        doer(&world, name, &format!("[sandbox.fs]\nwrite = [{grant:?}]\npartial = true"));
        for level in levels("a_grant_of_a_whole_home_is_refused_and_narrower_folders_are_named") {
            let (said, status) = does(&world, name, level, "pass");
            let got = (said["code"].as_str(), status);
            assert_eq!(got, (Some("sandbox.bad_grant"), 6), "{grant} at {level}: {said}");
            let help = said["help"].as_str().unwrap();
            assert!(help.contains("`{user_space}/.config/NAME/`"), "{help}");
        }
    }
    let narrow = "write = [\"{user_space}/.config/app/\", \"{user_space}/.local/share/app/\"]";
    doer(&world, "narrow", &format!("[sandbox.fs]\n{narrow}"));
    let code = "for at in ['.config/app', '.local/share/app']: open(os.environ['HOME'] + '/' + at + '/x', 'w')";
    for level in levels("a_narrower_folder_of_a_home_is_granted") {
        let (said, status) = does(&world, "narrow", level, code);
        assert_eq!(status, 0, "{level}: {said}");
        assert!(world.home().join(".config/app/x").exists());
    }
    // A folder right in the home may lie on another disk; no other link is followed.
    let disk = world.outside().join("disk");
    fs::create_dir_all(&disk).unwrap();
    std::os::unix::fs::symlink(&disk, world.home().join(".scratch")).unwrap();
    let write = |at: &str| format!("[sandbox.fs]\nwrite = [\"{{user_space}}/{at}/\"]");
    doer(&world, "linked", &write(".scratch/app"));
    let code = "open(os.environ['HOME'] + '/.scratch/app/x', 'w')";
    for level in levels("a_folder_of_a_home_on_another_disk_is_granted") {
        let (said, status) = does(&world, "linked", level, code);
        assert_eq!(status, 0, "{level}: {said}");
        assert!(disk.join("app/x").exists());
    }
    std::os::unix::fs::symlink(world.outside(), disk.join("out")).unwrap();
    doer(&world, "deeper", &write(".scratch/out/x"));
    for level in levels("a_link_that_leads_out_of_a_home_is_not_granted") {
        let (said, status) = does(&world, "deeper", level, "pass");
        assert_eq!((said["code"].as_str(), status), (Some("sandbox.bad_grant"), 6), "{said}");
    }
}

#[test]
fn where_a_start_up_folder_lies_in_a_grant_it_is_kept() {
    let test = "where_a_start_up_folder_lies_in_a_grant_it_is_kept";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    fs::create_dir_all(world.home().join(".local/share")).unwrap();
    doer(&world, "writes", "[sandbox.fs]\nwrite = [\"{user_space}/.local/share\"]");
    let at = "os.chdir(os.environ['HOME'] + '/.local/share'); ";
    let (said, status) = does(&world, "writes", BWRAP, &format!("{at}open('data', 'w')"));
    assert_eq!(status, 0, "{said}");
    for name in ["systemd/x.service", "applications/x.desktop", "dbus-1/x"] {
        let code = format!(
            "{at}os.makedirs(os.path.dirname('{name}'), exist_ok=True); open('{name}', 'w')"
        );
        let (said, status) = does(&world, "writes", BWRAP, &code);
        assert_eq!(status, 1, "{name}: {said}");
    }
    let mut left: Vec<_> = fs::read_dir(world.home().join(".local/share")).unwrap().collect();
    assert_eq!(left.pop().unwrap().unwrap().file_name(), "data");
    assert!(left.is_empty(), "what was made to be kept is gone: {left:?}");
}

#[test]
fn the_doctor_says_what_a_sandbox_does_not_take_from_root() {
    use std::os::unix::fs::MetadataExt;
    let said = World::new_on_disk().rye(&["doctor"]).stdout;
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    assert_eq!(said.contains("you are root"), is_root, "{said}");
}

#[test]
fn a_limit_above_what_the_machine_lets_is_what_it_lets() {
    let world = World::new_on_disk().held();
    doer(&world, "many", "[sandbox.limits]\nfiles = 2000000000");
    for level in levels("a_limit_above_what_the_machine_lets_is_what_it_lets") {
        let (said, status) = does(&world, "many", level, "pass");
        assert_eq!(status, 0, "{level}: {said}");
    }
}

#[test]
fn a_grant_of_the_shared_tmp_is_what_it_says() {
    let test = "a_grant_of_the_shared_tmp_is_what_it_says";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_beside_tmp().held();
    doer(&world, "shared", "[sandbox.fs]\nwrite = [\"/tmp\"]");
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let code = format!("open({:?}, 'w').write('x')", place.path().join("x"));
    let (said, status) = does(&world, "shared", BWRAP, &code);
    assert_eq!(status, 0, "{said}");
    assert!(place.path().join("x").exists(), "{said}");
}

#[test]
fn a_name_that_is_no_text_stands_in_the_result_as_it_can() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new_on_disk().held();
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff");
    fs::write(world.project().join(odd), "x").unwrap();
    doer(&world, "parts", "[sandbox.fs]\nwrite = [\"{project_path}\"]\npartial = true");
    for level in levels("a_name_that_is_no_text_stands_in_the_result_as_it_can") {
        let (said, status) = does(&world, "parts", level, "open(b'odd-\\xff', 'w')");
        assert_eq!(status, 0, "{level}: {said}");
    }
}

#[test]
fn a_plan_made_for_a_level_runs_at_that_level_and_at_no_other() {
    let world = World::new_on_disk().held();
    doer(&world, "plain", "");
    let file = world.outside().join("plan.json").display().to_string();
    let levels = levels("a_plan_made_for_a_level_runs_at_that_level_and_at_no_other");
    for level in &levels {
        let args = ["plan", "plain", "-i", "code=pass", "--sandbox", level, "--out", &file];
        assert_eq!(world.rye(&args).status, 0, "{level}");
        for at in &levels {
            let args = ["execute", "--plan", &file, "-i", "code=pass", "--sandbox", at];
            let (status, said) = world.json(&args);
            assert_eq!(status == 0, level == at, "{level} at {at}: {said}");
            if level != at {
                assert_eq!(said["code"], "plan.drifted");
            }
        }
    }
}

#[test]
fn a_grant_of_everything_is_at_the_level_landlock_none_of_terminals_and_disks() {
    let test = "a_grant_of_everything_is_at_the_level_landlock_none_of_terminals_and_disks";
    if !works(test, LANDLOCK) {
        return;
    }
    let world = World::new_on_disk();
    let code = "open('/dev/null', 'w').write('x'); os.close(os.open('/dev/ptmx', os.O_RDONLY)); print('had')";
    doer(&world, "all", "[sandbox.fs]\nread = [\"/\"]\npartial = true");
    doer(&world, "named", "[sandbox.fs]\nread = [\"/dev\"]");
    assert_eq!(does(&world, "all", "off", code).0["data"]["stdout"], "had\n", "untouched");
    for (tool, has) in [("all", false), ("named", true)] {
        let (said, status) = does(&world, tool, LANDLOCK, code);
        assert_eq!(status == 0, has, "{tool}: {said}");
    }
}
