//! What foreign bytes may cost: memory of at most ten times their size and 32 MiB, a few words
//! where they are refused, and work that goes on with the threads that there are (attack row l05).

mod hooks;
mod threads;

use std::process::Command;

use crate::world::{Said, World, python, whole};

/// What any input may cost beside ten times its size, in KiB.
const ROOM: u64 = 32 << 10;

/// Runs a program and says on its last line of standard error how much memory it had at most.
const MEASURE: &str = r#"import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print("\n" + str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), file=sys.stderr)
sys.exit(done.returncode)
"#;

/// Runs rye in the project; what it said, and the most memory that it had, in KiB.
pub fn measured(world: &World, args: &[&str]) -> (Said, u64) {
    let rye = world.command(args);
    let mut command = Command::new(python());
    command.args(["-c", MEASURE]).arg(rye.get_program()).args(rye.get_args());
    command.current_dir(world.project()).env_clear();
    command.envs(rye.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = command.output().expect("python starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let stderr = text(said.stderr);
    let (stderr, peak) = stderr.trim_end().rsplit_once('\n').expect("a number");
    let status = said.status.code().unwrap_or(-1);
    let peak = peak.parse().expect("a number");
    (Said { status, stdout: text(said.stdout), stderr: stderr.trim_end().to_owned() }, peak)
}

/// The most memory that a process had since `forget_peak`, in KiB.
pub fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// From here on the peak of a process is what it has now and later.
pub fn forget_peak(pid: u32) {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

/// Whether an input of so many bytes cost no more than it may, beside what the program takes
/// anyway.
#[track_caller]
pub fn is_bounded(what: &str, peak: u64, usual: u64, bytes: usize) {
    let most = usual + ROOM + 10 * bytes as u64 / 1024;
    assert!(peak <= most, "{what}: {peak} KiB for {bytes} bytes, where {usual} KiB are usual");
}

#[test]
fn l05_near_names_are_looked_for_of_the_first_that_are_not_found() {
    let world = World::new().with_file(".ai/tools/acme/deployments.sh", "echo 1\n");
    let names: Vec<_> = (0..100).map(|at| format!("acme/deploymen{at}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let said = world.rye(&[&["verify"], &names[..]].concat());
    assert_eq!(said.status, 3, "{said:?}");
    let told = |what: &str| said.stderr.matches(what).count();
    assert_eq!(
        (told("resolve.not_found"), told("did you mean `tool:acme/deployments`")),
        (100, 16)
    );
}

/// Each value in one file and one in each here; the whole is each in each.
#[test]
fn l05_data_of_nothing_but_values_is_refused_before_they_are_made() {
    let world = World::new();
    let good = crate::tools::shell("echo 1\n");
    world.signed(".ai/tools/acme/t.sh", &good);
    let run = ["execute", "acme/t", "--dry-run", "--json"];
    let (said, usual) = measured(&world, &run);
    assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    let many = |unit: &str| unit.repeat(((4 << 20) - 8192) / unit.len());
    for unit in ["0,", "[],", "{},", "'',"] {
        let list = format!("x = [{}]\n", many(unit));
        for (file, text) in [
            (".ai/rye.lock", format!("version = 1\n{list}")),
            (".ai/tools/acme/x.toml", list.clone()),
            (".ai/tools/acme/x.yaml", list.replacen(" =", ":", 1)),
        ] {
            if !file.ends_with("yaml") && unit != "[]," && !whole() {
                continue;
            }
            let path = world.write(file, &text);
            let (code, args) = match file.ends_with("lock") {
                true => ("lock.malformed", run.to_vec()),
                false => ("parse.limit", vec!["sign", "--check", "tool:acme/x", "--json"]),
            };
            let (said, peak) = measured(&world, &args);
            std::fs::remove_file(path).unwrap();
            assert!(said.stdout.contains(code), "{file} {unit}: {said:?}");
            is_bounded(&format!("{file} {unit}"), peak, usual, text.len());
        }
    }
}

/// Lists so many things that are no tools.
const DENSE_PY: &str = r#"import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    head = '{"jsonrpc": "2.0", "id": %d, "result": ' % asked["id"]
    if asked["method"] == "initialize":
        info = {"name": "dense", "version": "1"}
        said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        print(head + json.dumps(said) + "}", flush=True)
    else:
        print(head + '{"tools": [' + "{}," * 5000000 + "{}]}}", flush=True)
"#;

#[test]
fn l05_a_dense_answer_of_a_server_or_a_program_is_refused_before_it_is_read() {
    let world = World::new().with_file("dense.py", DENSE_PY);
    let nothing = ["import", "mcp", "--category", "shop", "--json", "true"];
    let (_, usual) = measured(&world, &nothing);
    let (said, peak) =
        measured(&world, &["import", "mcp", "--category", "shop", "--json", "python3", "dense.py"]);
    assert_eq!(said.code(), "mcp.bad_answer", "{said:?}");
    assert!(said.stdout.contains("it holds more than 100000 values"), "{said:?}");
    is_bounded("a list of tools", peak, usual, 15_000_000);
    // A program of the exec protocol.
    world.write(".ai/tools/acme/dense.py", "print('{\"result\": [' + '0,' * 4_900_000 + '0]}')\n");
    let item = "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/oneshot\n\
                category: acme\ndescription: Much.\nexec:\n  command: python3\n  args: [./dense.py]\n  files: [dense.py]\n";
    world.signed(".ai/tools/acme/much.yaml", item);
    let (said, peak) = measured(&world, &["execute", "acme/much", "--json"]);
    assert_eq!(said.code(), "protocol.bad_response", "{said:?}");
    assert!(said.stdout.contains("it holds more than 100000 values"), "{said:?}");
    is_bounded("an answer", peak, usual, 9_800_000);
}
