//! A disk that is really full, and one that is really read-only: a small file system in a mount
//! namespace of one's own. Where none can be had, the injected faults stand alone, and it says so.

use std::process::{Command, Stdio};

use crate::sandbox::not_run;
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
    World::new().at_the_door().with_file(FILE, MARKER_SH)
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
        &format!("mount -o remount,bind,ro .ai/tools/acme; rye sign {ITEM}; echo status $?"),
    );
    assert!(got.contains("Read-only file system") && got.contains("error[sign.io]"), "{got}");
    assert!(got.contains("status 4\nmark.sh\nunchanged\n"), "{got}");
}

/// Runs each of the calls with the home and the project on file systems of their own, which `spoil`
/// made full or read-only; gives what each said, with its status and `same` where no file changed.
/// With `apart` the private folders of runs have room.
fn on_spoilt_disks(world: &World, spoil: &str, apart: bool, calls: &[&str]) -> Vec<String> {
    let calls: String = calls
        .iter()
        .map(|call| format!("echo \"=== {call}\"; {call} </dev/null; echo status $?; seen | cmp - ../before && echo same\n"))
        .collect();
    let runtime =
        if apart { "export XDG_RUNTIME_DIR=$(realpath ../run)" } else { "unset XDG_RUNTIME_DIR" };
    let script = format!(
        "set -u; mkdir -m 700 ../run; cp -a $HOME/. ../home.was; cp -a . ../project.was
         {runtime}
         seen() {{ find $HOME . -type f ! -name fill -exec sha256sum {{}} + | sort; }}
         fill() {{ cat /dev/zero >$1/fill 2>/dev/null; }}
         mount -t tmpfs -o size=512k,mode=0700 tmpfs $HOME && cp -a ../home.was/. $HOME
         mount -t tmpfs -o size=512k,mode=0755 tmpfs $PWD && cd $PWD && cp -a ../project.was/. .
         rye trust project --yes && rye sign --all --others && rye lock && rye run acme/mark
         echo >>.ai/tools/acme/more.sh
         seen >../before
         {spoil}
         {calls}"
    );
    std::fs::write(world.outside().join("script"), script).unwrap();
    let said = world.shell("unshare --mount bash ../script");
    let mut parts = said.split("=== ");
    let before = parts.next().unwrap();
    assert!(before.contains("signed  tool:acme/mark") && before.contains("written"), "{said}");
    parts.map(str::to_owned).collect()
}

#[test]
fn each_verb_says_which_file_a_full_or_a_read_only_disk_did_not_take_and_leaves_all_as_it_was() {
    let test = "each_verb_says_which_file_a_full_or_a_read_only_disk_did_not_take";
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return not_run(test, "every level", "no mounts of one's own");
    }
    // What is called, and with which code it ends and which path it names; the home and the
    // project are `HOME` and `PROJECT`. A full disk still takes folders.
    let rows = [
        ("rye run acme/mark", "execute.pin", "HOME/.ai/state/pin"),
        ("rye learn acme/mark", "execute.pin", "HOME/.ai/state/pin"),
        ("rye run acme/mark --receipt r.json", "receipt.io", "r.json"),
        ("rye plan acme/mark --out p.json", "cli.output", "p.json"),
        ("rye trust add ../other.pem --yes", "trust.io", "HOME/.ai/config/keys/trusted/"),
        ("rye keys rotate --yes", "", "HOME/.ai/state/rotation"),
        ("rye sign acme/more", "sign.io", ".ai/tools/acme/more.sh"),
        ("rye sign --all", "sign.io", ".ai/tools/acme/more.sh"),
        ("rye new tool acme/third", "author.io", ".ai/tools/acme/third.py"),
        ("rye mv acme/mark acme/mork --yes", "author.io", ".ai/tools/acme/mork.sh"),
        ("rye bundle pack b acme/mark --version 1.0.0 --out b.tar.zst", "bundle.io", "b.tar.zst"),
        ("rye store put .ai/tools/acme/more.sh", "store.io", "HOME/.ai/state/objects"),
        ("rm -f x; rye doctor", "", "HOME/.ai cannot be written: its file system is "),
    ];
    let calls = rows.map(|(call, ..)| call);
    for (spoil, says) in [
        ("fill $HOME; fill .", "no space left on device"),
        ("mount -o remount,ro $HOME; mount -o remount,ro $PWD", "read-only file"),
    ] {
        let world = world();
        world.write(".ai/tools/acme/more.sh", MARKER_SH);
        std::fs::write(
            world.outside().join("other.pem"),
            crate::keys::others::pem(&crate::keys::others::stranger(1)),
        )
        .unwrap();
        let said = on_spoilt_disks(&world, spoil, false, &calls);
        for ((call, code, path), said) in rows.into_iter().zip(&said) {
            let home = world.home().display().to_string();
            let path = path.replace("HOME", &home);
            let said_so = call.ends_with("doctor") || said.to_lowercase().contains(says);
            assert!(said_so && said.contains(&path), "{call}: {path}: {said}");
            assert!(said.contains(&format!("error[{code}")) || code.is_empty(), "{call}: {said}");
            assert!(said.contains("help: "), "{call}: {said}");
            assert!(!said.contains("status 0") && said.contains("same\n"), "{call}: {said}");
            assert!(!said.contains(".rye-") && !said.contains("at path"), "{call}: {said}");
        }
    }
}

#[test]
fn a_run_whose_home_is_full_or_read_only_goes_on_where_its_private_folder_has_room() {
    let test = "a_run_whose_home_is_full_or_read_only_goes_on_where_its_private_folder_has_room";
    let can = Command::new("unshare").args(["--mount", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return not_run(test, "every level", "no mounts of one's own");
    }
    let calls = [
        "rye run acme/mark",
        "rye run acme/mark --receipt ../r.json",
        "rye learn acme/mark",
        "rye run acme/mark --receipt $HOME/r.json",
    ];
    for (spoil, is_full) in [("fill $HOME", true), ("mount -o remount,ro $HOME", false)] {
        let world = world();
        world.write(".ai/tools/acme/more.sh", MARKER_SH);
        world.write(FILE, MARKER_SH.replace(": > marker", "true"));
        let said = on_spoilt_disks(&world, spoil, true, &calls);
        for said in &said[..3] {
            assert!(said.contains("status 0") && said.contains("same\n"), "{said}");
        }
        // What is only remembered is a remark, with its place.
        let home = world.home().display().to_string();
        assert!(
            said[2].contains(&format!("remembered below `{home}/.ai/state/learned`")),
            "{said:?}"
        );
        // A receipt that cannot begin stops the run; one that cannot be ended is told behind it.
        let told =
            if is_full { "ended with success, but its receipt" } else { "so nothing was run" };
        let receipt = said.last().unwrap();
        assert!(receipt.contains("error[receipt.io]") && receipt.contains(told), "{receipt}");
        assert!(receipt.contains("status 6") && receipt.contains("same\n"), "{receipt}");
    }
}
