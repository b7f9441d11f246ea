//! Failures that nothing else provokes, each by its code.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::world::{MARKER_SH, World};

const NATIVE: &str =
    "version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\ndescription: x\n";

#[test]
fn a_program_that_is_none_is_told_from_one_that_is_missing() {
    let world = World::new();
    let program = world.outside().join("garbage");
    fs::write(&program, [0_u8, 1, 2, 3]).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("config: {{command: '{}'}}\n", program.display());
    world.signed(".ai/tools/garbage.yaml", &format!("{NATIVE}{config}"));
    assert_eq!(world.run("tool:garbage"), (6, "execute.spawn".into()));
    fs::remove_file(&program).unwrap();
    assert_eq!(world.run("tool:garbage"), (6, "plan.program_not_found".into()));
}

#[test]
fn a_private_folder_that_is_open_to_others_is_not_used() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    world.works("tool:acme/mark");
    let pin = world.home().join(".ai/state/pin");
    fs::set_permissions(&pin, fs::Permissions::from_mode(0o755)).unwrap();
    world.refused("tool:acme/mark", "execute.pin", 6);
}

#[test]
fn rye_ends_by_the_signal_that_it_was_sent_and_says_so() {
    let world = World::new().at_the_door();
    // The tool's parent is rye.
    let script = MARKER_SH.replace(": > marker", "kill -TERM \"$PPID\"; sleep 60");
    world.signed(".ai/tools/acme/stop.sh", &script);
    let said = world.rye(&["execute", "acme/stop", "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("execute.interrupted", -1), "{said:?}");
}

#[test]
fn what_cannot_be_signed_in_place_is_said() {
    let world = World::new();
    assert_eq!(world.rye(&["sign", "rye/bash"]).code(), "sign.embedded");
    world.write(".ai/tools/acme/x.sh", "#!/bin/sh");
    assert_eq!(world.rye(&["sign", "acme/x"]).code(), "sign.shebang");
}

#[test]
fn what_is_no_program_and_no_folder_of_packages_cannot_be_let_in() {
    let world = World::new();
    world.write("plain.txt", "x");
    world.write("lib/x", "x");
    for (args, why) in [
        (["trust", "allow-interpreter", "none"], "it is not there"),
        (["trust", "allow-interpreter", "plain.txt"], ""),
        (["trust", "allow-interpreter", "lib"], "it is not a regular file"),
        (["trust", "allow-deps", "lib"], "it is not a folder named `node_modules`"),
        (["trust", "allow-deps", "none/node_modules"], "it is not there"),
        (["trust", "allow-deps", "plain.txt"], ""),
    ] {
        world.rye(&args).fails(4, "trust.unfit").warns(why);
    }
    world.rye(&["trust", "disallow", "plain.txt"]).fails(3, "trust.not_found");
}

#[test]
fn a_write_that_fails_loses_nothing_and_names_what_failed() {
    let world = World::new().with_file(".ai/tools/acme/mark.sh", MARKER_SH);
    // No file may grow: what a full disk does, without filling one.
    let got = world.shell("trap '' XFSZ; ulimit -f 0; rye sign acme/mark");
    assert!(got.contains("error[sign.io]"), "{got}");
    assert_eq!(world.read(".ai/tools/acme/mark.sh"), MARKER_SH.as_bytes());
    let left = fs::read_dir(world.project().join(".ai/tools/acme")).unwrap().count();
    assert_eq!(left, 1, "a temporary file is left");
    world.rye(&["-p", "no/such/folder", "list"]).fails(4, "space.io");
    let fp = "0123456789abcdef0123456789abcdef";
    world.write_home(".ai/config/keys/revoked", "no folder");
    assert_eq!(world.rye(&["trust", "revoke", fp]).code(), "trust.io");
    let other = World::empty();
    other.write_home(".ai/config/keys/signing", "no folder");
    assert_eq!(other.rye(&["keys", "generate"]).code(), "key.io");
}
