//! No sandboxed tool reads what rye keeps, the record of its own thread included.

use serde_json::json;

use super::{call, forked, prepared, results};
use crate::sandbox::{BWRAP, LANDLOCK, doer, does, levels};
use crate::world::World;

/// Says each way to the records by which something can be read, and whether the project can.
const LOOKS: &str = "\
import glob
found = []
for top in ['.', os.getcwd(), '/proc/self/root' + os.getcwd(), '/proc/self/cwd']:
    for path in glob.glob(top + '/.ai/state/**', recursive=True, include_hidden=True):
        try:
            if os.path.isfile(path): found.append([path, open(path).read(9)])
        except OSError: pass
print(json.dumps({'found': found, 'page': open('page.txt').read(), 'names': os.listdir('.')}))
";

#[test]
fn a_tool_that_reads_the_project_reads_no_record_of_a_thread_at_any_level() {
    for (folder, more) in [
        ("default", ""),
        ("declared", "[sandbox.fs]\nread = [\"{project_path}\"]\n"),
        ("user", "[sandbox.fs]\nread = [\"{project_path}\", \"{user_space}/.ai\"]\n"),
    ] {
        for level in levels("a_tool_that_reads_the_project_reads_no_record_of_a_thread") {
            let world = World::new_on_disk();
            prepared(&world, &[], "");
            let id = forked(&world);
            let record = world.project().join(".ai/state/threads").join(&id);
            assert!(record.join("transcript.jsonl").is_file());
            world.write("page.txt", "shown");
            doer(&world, "acme/looks", more);
            let (told, status) = does(&world, "acme/looks", level, LOOKS);
            if folder == "user" && level == LANDLOCK {
                // There a folder of keys cannot be taken out of a grant.
                assert_eq!(told["code"], "sandbox.cannot_protect", "{told}");
                continue;
            }
            assert_eq!(status, 0, "{folder} {level}: {told}");
            assert_eq!(told["data"]["page"], "shown", "{folder} {level}");
            assert_eq!(told["data"]["found"], json!([]), "{folder} {level}: {told}");
            assert!(told["data"]["names"].to_string().contains("page.txt"), "{told}");
        }
    }
}

#[test]
fn a_record_that_comes_to_be_while_a_tool_runs_is_hidden_as_well() {
    for level in levels("a_record_that_comes_to_be_while_a_tool_runs") {
        let world = World::new_on_disk();
        prepared(&world, &[], "");
        world.write("page.txt", "shown");
        doer(&world, "acme/looks", "[sandbox.fs]\nwrite = [\"{project_path}/out/\"]\n");
        let waits = format!(
            "open('out/ready', 'w').close()\nimport time\n\
             while not os.path.exists('out/go'): time.sleep(0.02)\n{LOOKS}"
        );
        let code = format!("code={waits}");
        let args = ["execute", "acme/looks", "--sandbox", level, "--json", "-i", &code];
        let child = world.start(&args);
        let begin = std::time::Instant::now();
        while !world.project().join("out/ready").exists() {
            assert!(begin.elapsed().as_secs() < 60, "it never started");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(!world.project().join(".ai/state/threads").exists());
        let id = forked(&world);
        let record = world.project().join(".ai/state/threads").join(id).join("transcript.jsonl");
        assert!(record.is_file(), "the first record comes to be while the tool runs");
        world.write("out/go", "");
        let ended = child.wait_with_output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(told["data"]["found"], json!([]), "{level}: {told}");
        assert_eq!(told["data"]["page"], "shown", "{level}: {told}");
    }
}

#[test]
fn a_tool_of_a_thread_reads_not_even_the_record_of_its_own_thread() {
    if levels("a_tool_of_a_thread_reads_not_even_the_record_of_its_own").is_empty() {
        return;
    }
    let world = World::new_on_disk().with_file("page.txt", "shown");
    doer(&world, "acme/looks", "");
    let calls = [call("acme_looks", &json!({"code": LOOKS}))];
    prepared(&world, &calls, "<execute><tool>acme.looks</tool></execute>");
    let world = world.held();
    let gave = results(&world, &forked(&world));
    assert_eq!((&gave[0]["page"], &gave[0]["found"]), (&json!("shown"), &json!([])), "{gave:?}");
}

#[test]
fn no_tool_is_granted_what_rye_keeps() {
    let Some(level) = levels("no_tool_is_granted_what_rye_keeps").first().copied() else { return };
    assert!([BWRAP, LANDLOCK].contains(&level));
    let world = World::new_on_disk();
    prepared(&world, &[], "");
    forked(&world);
    for place in ["{project_path}/.ai/state", "{project_path}/.ai/state/threads/acme"] {
        doer(&world, "acme/looks", &format!("[sandbox.fs]\nread = [\"{place}\"]\n"));
        let (told, status) = does(&world, "acme/looks", level, "print(1)");
        assert_eq!((status, told["code"].as_str()), (6, Some("sandbox.bad_grant")), "{told}");
    }
}
