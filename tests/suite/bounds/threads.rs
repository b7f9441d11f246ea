//! Where the machine gives no other thread.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::world::items::tool_sh;
use crate::world::{Said, World, program};

/// Nobody else's on this machine.
const UID: u32 = 47_123;

/// The name of rye in it.
const PROGRAM: &str = "rye-of-the-user";

/// A world of an ordinary user, whose processes have one thread each; `None` where this is not
/// root's test.
fn world() -> Option<World> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let world = World::new();
    for at in 0..20 {
        let text = tool_sh(&format!("description = \"number {at}\""), "echo 1\n");
        world.signed(&format!(".ai/tools/acme/t{at}.sh"), &text);
    }
    // The one that was built may lie where only root comes.
    fs::copy(program(), world.outside().join(PROGRAM)).unwrap();
    given(world.outside());
    Some(world)
}

fn given(path: &Path) {
    chown(path, Some(UID), Some(UID)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            given(&entry.unwrap().path());
        }
    }
}

fn limited(world: &World, processes: &str, args: &[&str]) -> Command {
    let rye = world.command(args);
    let mut command = Command::new("setpriv");
    let user = format!("--reuid={UID}");
    command.args([&user, "--clear-groups", "prlimit", processes]);
    command.arg(world.outside().join(PROGRAM)).args(rye.get_args());
    command.current_dir(world.project()).env_clear();
    command.envs(rye.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null());
    command
}

fn said(world: &World, processes: &str, args: &[&str]) -> Said {
    let out = limited(world, processes, args).output().unwrap();
    Said {
        status: out.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

#[test]
fn l05_where_no_other_thread_can_be_had_the_work_is_done_by_the_one_there_is() {
    let Some(world) = world() else { return };
    let verbs: [&[&str]; 5] = [
        &["verify", "--all", "--json"],
        &["sign", "--all", "--json"],
        &["search", "number", "--json"],
        &["list", "--json"],
        &["doctor", "--json"],
    ];
    for args in verbs {
        let free = said(&world, "--nproc=1000", args);
        let alone = said(&world, "--nproc=1", args);
        assert_eq!(alone.status, free.status, "{args:?}: {alone:?}");
        assert!(!alone.stderr.contains("panicked"), "{args:?}: {alone:?}");
        assert_eq!(alone.json()["status"], free.json()["status"], "{args:?}: {alone:?}");
    }
    let verified = said(&world, "--nproc=1", &["verify", "--all", "--json"]).json();
    assert_eq!(verified["verified"].as_u64().map(|many| many >= 20), Some(true), "{verified}");
}

#[test]
fn l05_a_server_that_gets_no_thread_says_so_and_ends() {
    let Some(world) = world() else { return };
    let free = said(&world, "--nproc=1000", &["mcp"]);
    assert_eq!(free.status, 0, "the fixture itself is good: {free:?}");
    for args in [&["mcp"][..], &["mcp", "--http", "127.0.0.1:0"], &["lsp"]] {
        let alone = said(&world, "--nproc=1", args);
        assert!(alone.stderr.contains("error["), "{args:?}: {alone:?}");
        assert!(matches!(alone.status, 6 | 7), "{args:?}: {alone:?}");
    }
    // Too few of them are no better.
    for few in ["--nproc=2", "--nproc=3", "--nproc=4"] {
        let said = said(&world, few, &["mcp"]);
        assert!(matches!(said.status, 0 | 7), "{few}: {said:?}");
        assert!(!said.stderr.contains("panicked"), "{few}: {said:?}");
    }
}
