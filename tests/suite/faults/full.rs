//! A disk that is really full, and one that is really read-only: a small file system in a mount
//! namespace of one's own. Where none can be had, the injected faults stand alone, and it says so.

use std::process::{Command, Stdio};

use crate::world::{MARKER_SH, World};

const ITEM: &str = "tool:acme/mark";
const FILE: &str = ".ai/tools/acme/mark.sh";

/// Whether an unprivileged mount namespace can be made here.
fn can_mount() -> bool {
    let mut try_it = Command::new("unshare");
    try_it.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
    let quiet = try_it.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let can = quiet.status().is_ok_and(|status| status.success());
    if !can {
        eprintln!("no mount namespace here: full and read-only disks are tried by injection alone");
    }
    can
}

/// Runs a script as its own root, with `.ai/tools/acme` as a small file system that holds the tool.
fn on_a_small_disk(world: &World, script: &str) -> String {
    world.shell(&format!(
        "cp {FILE} tool.sh
         unshare -rm bash -c '
             mount -t tmpfs -o size=32k,mode=0755 tmpfs .ai/tools/acme
             cp tool.sh {FILE}
             {script}
             ls -A .ai/tools/acme
             cmp tool.sh {FILE} && echo unchanged
             head -2 {FILE} | tail -1 | cut -c1-16
         '"
    ))
}

fn world() -> World {
    let world = World::new();
    world.write(FILE, MARKER_SH);
    world
}

#[test]
fn c06_a_disk_that_is_really_full_leaves_the_old_file_and_nothing_else() {
    if !can_mount() {
        return;
    }
    let world = world();
    let good = on_a_small_disk(&world, &format!("rye sign {ITEM} && echo status $?"));
    assert!(good.contains("status 0") && good.contains("# rye:signed:v2"), "{good}");
    let full = format!("cat /dev/zero >.ai/tools/acme/fill; rye sign {ITEM}; echo status $?");
    let got = on_a_small_disk(&world, &full);
    assert!(got.contains("No space left on device") && got.contains("error[sign.io]"), "{got}");
    assert!(got.contains("status 4\nfill\nmark.sh\nunchanged\n"), "{got}");
    let again =
        on_a_small_disk(&world, &format!("{full}; rm .ai/tools/acme/fill; rye sign {ITEM}"));
    assert!(
        again.contains("error[sign.io]") && again.trim_end().ends_with("\n# rye:signed:v2"),
        "{again}"
    );
}

#[test]
fn c06_a_disk_that_is_really_read_only_is_said_and_nothing_is_lost() {
    if !can_mount() {
        return;
    }
    let world = world();
    let got = on_a_small_disk(
        &world,
        &format!("mount -o remount,ro .ai/tools/acme; rye sign {ITEM}; echo status $?"),
    );
    assert!(got.contains("Read-only file system") && got.contains("error[sign.io]"), "{got}");
    assert!(got.contains("status 4\nmark.sh\nunchanged\n"), "{got}");
}
