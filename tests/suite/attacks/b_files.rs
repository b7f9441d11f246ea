//! Rows a12, b05, c05: files that are too large, that are no plain files, or that others can read
//! or write.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use super::b_spaces::{ITEM, is_root, shell};
use crate::world::{Attempt, MARKER_SH, World};

const NOTES: &str = "# Notes\n\nRead me.\n";

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a12_a_huge_file_is_refused_in_bounded_memory_and_time() {
    let (world, file) = shell();
    let text = fs::read_to_string(&file).unwrap();
    world.works(ITEM);
    let sparse = |head: &[u8], size: u64| {
        fs::write(&file, head).unwrap();
        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(size).unwrap();
    };
    let limited = ["bash", "-c", "ulimit -v 1000000; exec timeout 10 \"$@\"", "-"];
    let refused = |what: &str, code: &str, status: i32| {
        for verb in ["execute", "verify", "sign", "show"] {
            let said = world.rye_under(&limited, &[verb, ITEM]);
            assert_eq!((said.code().as_str(), said.status), (code, status), "{what}: {said:?}");
        }
        assert!(!world.project().join("marker").exists(), "{what}");
    };
    fs::remove_file(world.project().join("marker")).unwrap();
    sparse(b"# rye:signed:v2 ", 1 << 30);
    refused("a first line of 1 GiB", "space.too_large", 4);
    sparse(text.as_bytes(), 10 << 30);
    refused("a sparse file of 10 GiB", "space.too_large", 4);
    sparse(text.as_bytes(), (4 << 20) + 1);
    refused("4 MiB and one byte", "space.too_large", 4);
    sparse(text.as_bytes(), 4 << 20);
    refused("4 MiB of it NUL", "parse.control_text", 5);
    fs::write(&file, text).unwrap();
    world.works(ITEM);
}

#[test]
fn a12_the_largest_file_that_is_allowed_still_works() {
    let world = World::new();
    let padded = |size: usize| format!("{NOTES}{}", "x".repeat(size - NOTES.len()));
    let file = world.signed(".ai/knowledge/acme/large.md", &padded((4 << 20) - 400));
    world.works("knowledge:acme/large");
    let good = fs::read_to_string(&file).unwrap();
    let first = format!("<!-- rye:signed:v2 {}\n{NOTES}", "x".repeat(4_000_000));
    let marks = "rye:signed:".repeat(380_000);
    let rows = [
        ("grown", format!("{good}x").into_bytes(), "verify.altered"),
        ("a first line of 4 MB", first.into_bytes(), "verify.malformed"),
        ("marks without openers", format!("<!-- {marks}").into_bytes(), "verify.malformed"),
        ("over the limit", format!("{good}{}", "x".repeat(400)).into_bytes(), "space.too_large"),
    ];
    world.refuses_each("knowledge:acme/large", &file, &rows);
    let large = padded(4 << 20);
    let path: &Path = &world.write(".ai/knowledge/acme/full.md", &large);
    let said = world.rye(&["sign", "knowledge:acme/full"]);
    // With its line it would be over the limit, so it could be signed and never read.
    assert_ne!(said.status, 0, "{said:?}");
    assert_eq!(fs::read(path).unwrap(), large.into_bytes());
}

/// What standing in the place of a file is called, and how it is put there.
type Planting<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);

/// Puts each thing in the place of `file` and gives the code that `args` must end in.
#[track_caller]
fn each_in_place_of(world: &World, file: &Path, calls: &[&[&str]], rows: &[Planting<'_>]) {
    let away = world.outside().join("away");
    world.works(ITEM);
    for (what, plant, code) in rows {
        fs::rename(file, &away).unwrap();
        plant(file);
        for args in calls {
            assert_eq!(world.attempt_by(args), Attempt::refused(code), "{what}: {args:?}");
        }
        let said = world.rye_under(&["timeout", "10"], &["list", "--long"]);
        assert_ne!(said.status, 124, "{what}: {said:?}");
        match fs::symlink_metadata(file).unwrap().is_dir() {
            true => fs::remove_dir(file).unwrap(),
            false => fs::remove_file(file).unwrap(),
        }
        fs::rename(&away, file).unwrap();
    }
    world.works(ITEM);
}

#[test]
fn b05_what_is_no_file_is_refused_and_never_blocks() {
    let (world, file) = shell();
    let away = world.outside().join("away");
    let to_away = |at: &Path| symlink(&away, at).unwrap();
    let node = |kind: &'static str, minor: &'static str| {
        move |path: &Path| {
            let done = Command::new("mknod").arg(path).args([kind, "1", minor]).status().unwrap();
            assert!(done.success());
        }
    };
    let (null, zero) = (node("c", "3"), node("c", "5"));
    let mut rows: Vec<Planting<'_>> = vec![
        ("link to the signed file", &to_away, "space.symlink"),
        ("link to nothing", &|at| symlink("nowhere", at).unwrap(), "space.symlink"),
        ("link to itself", &|at| symlink(at, at).unwrap(), "space.symlink"),
        ("link to a device", &|at| symlink("/dev/zero", at).unwrap(), "space.symlink"),
        ("FIFO", &fifo, "space.not_a_file"),
        ("socket", &|at| drop(UnixListener::bind(at).unwrap()), "space.not_a_file"),
        ("folder", &|at| fs::create_dir(at).unwrap(), "space.not_a_file"),
    ];
    if is_root(&world) {
        rows.push(("the null device", &null, "space.not_a_file"));
        rows.push(("the zero device", &zero, "space.not_a_file"));
    }
    let calls: [&[&str]; 5] =
        [&["execute", ITEM], &["verify", ITEM], &["show", ITEM], &["sign", ITEM], &["diff", ITEM]];
    each_in_place_of(&world, &file, &calls, &rows);
    let folder = file.parent().unwrap();
    let rows: [Planting<'_>; 1] = [("folder behind a link", &to_away, "space.symlink")];
    each_in_place_of(&world, folder, &calls[..3], &rows);
    each_in_place_of(&world, folder.parent().unwrap(), &calls[..3], &rows);
    each_in_place_of(&world, &world.project().join(".ai"), &calls[..4], &rows);
    {
        let (world, _) = shell();
        let rows: [Planting<'_>; 1] = [("FIFO", &fifo, "space.not_a_file")];
        each_in_place_of(&world, &world.project().join(".ai"), &[&["execute", ITEM]], &rows);
    }
}

#[test]
fn b05_a_key_file_that_is_no_file_is_refused_and_never_blocks() {
    let (world, _) = shell();
    let away = world.outside().join("away");
    let to_away = |at: &Path| symlink(&away, at).unwrap();
    let key = world.home().join(".ai/config/keys/signing/private_key.pem");
    let rows: [Planting<'_>; 3] = [
        ("link", &to_away, "space.symlink"),
        ("FIFO", &fifo, "space.not_a_file"),
        ("folder", &|at| fs::create_dir(at).unwrap(), "space.not_a_file"),
    ];
    each_in_place_of(&world, &key, &[&["sign", ITEM]], &rows);
    let unreadable = rows.map(|(what, plant, _)| (what, plant, "verify.trust_unreadable"));
    each_in_place_of(&world, &key, &[&["execute", ITEM]], &unreadable);
    let records = world.home().join(".ai/config/keys/projects");
    let record = fs::read_dir(records).unwrap().next().unwrap().unwrap().path();
    each_in_place_of(&world, &record, &[&["execute", ITEM]], &unreadable);
}

#[test]
fn b05_a_remembered_version_that_is_a_fifo_never_blocks() {
    let (world, file) = shell();
    world.signed_by_rye(".ai/tools/acme/mark.sh", MARKER_SH);
    let items = world.home().join(".ai/state/items");
    let only = |folder: &Path| fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let (folder, good) = (only(&items), fs::read(&file).unwrap());
    world.works(ITEM);
    for in_place_of_the_folder in [false, true] {
        let known = only(&folder);
        match in_place_of_the_folder {
            false => fs::remove_file(&known).unwrap(),
            true => fs::remove_dir_all(&folder).unwrap(),
        }
        fifo(if in_place_of_the_folder { &folder } else { &known });
        fs::write(&file, MARKER_SH).unwrap();
        assert_eq!(world.attempt(ITEM), Attempt::refused("verify.unsigned"));
        let attempt = world.attempt_by(&["diff", ITEM, "--to", "0"]);
        assert_eq!(attempt.code, "diff.no_baseline");
        assert_eq!(world.attempt_by(&["diff", ITEM]).status, 0);
        fs::write(&file, &good).unwrap();
        assert_eq!(world.rye_under(&["timeout", "10"], &["execute", ITEM]).status, 0);
    }
}

#[test]
fn b05_a_hard_link_is_read_like_any_file_and_signing_leaves_the_other_name_alone() {
    let (world, file) = shell();
    let foreign = world.outside().join("foreign.md");
    fs::write(&foreign, "# Foreign\n").unwrap();
    let linked = world.project().join(".ai/knowledge/foreign.md");
    fs::hard_link(&foreign, &linked).unwrap();
    assert_eq!(world.attempt("knowledge:foreign"), Attempt::refused("verify.unsigned"));
    world.rye(&["sign", "knowledge:foreign"]).ok();
    assert_eq!(fs::read(&foreign).unwrap(), b"# Foreign\n");
    world.works("knowledge:foreign");
    fs::hard_link(&file, file.with_file_name("other.sh")).unwrap();
    assert_eq!(world.attempt("tool:acme/other"), Attempt::refused("verify.moved"));
    world.works(ITEM);
}

#[test]
fn b05_the_users_folder_may_be_a_link_of_their_own_but_of_nobody_else() {
    let (world, _) = shell();
    let (ai, away) = (world.home().join(".ai"), world.outside().join("elsewhere"));
    fs::rename(&ai, &away).unwrap();
    symlink(&away, &ai).unwrap();
    world.works(ITEM);
    if is_root(&world) {
        lchown(&ai, Some(1234), Some(1234)).unwrap();
        assert_eq!(world.attempt(ITEM), Attempt::refused("space.untrusted_root"));
    }
}

#[test]
fn c05_a_private_key_that_others_can_read_is_refused_with_the_mend() {
    let (world, _) = shell();
    let key = world.home().join(".ai/config/keys/signing/private_key.pem");
    let mend = format!("chmod 600 {}", key.display());
    world.works(ITEM);
    for mode in [0o644, 0o640, 0o604, 0o660, 0o620, 0o601] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        for args in [
            &["sign", ITEM][..],
            &["sign", "--all"],
            &["keys", "export"],
            &["keys", "show"],
            &["keys", "rotate"],
            &["init"],
        ] {
            let attempt = world.attempt_by(args);
            assert_eq!(attempt, Attempt::refused("key.permissions"), "{mode:o} {args:?}");
            let said = world.rye(args);
            assert!(said.stderr.contains(&mend), "{mode:o} {args:?}: {said:?}");
        }
        // Whose key it is cannot be known then, so nothing in the project is admitted.
        let attempt = world.attempt(ITEM);
        assert_eq!(attempt, Attempt::refused("verify.trust_unreadable"), "{mode:o}");
        let said = world.rye(&["execute", ITEM]);
        assert!(said.stderr.contains(&mend), "{mode:o}: {said:?}");
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    world.works(ITEM);
}

#[test]
fn c05_a_users_folder_that_others_can_write_is_not_believed_silently() {
    let (world, _) = shell();
    // Whoever writes here can put another key in the place of yours.
    for folder in [".ai", ".ai/config", ".ai/config/keys", ".ai/config/keys/signing"] {
        let folder = world.home().join(folder);
        let was = fs::metadata(&folder).unwrap().permissions();
        world.works(ITEM);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let said = world.rye(&["execute", ITEM]);
        let mends = ["o-w", "go-w", "700"].map(|how| format!("chmod {how} {}`", folder.display()));
        let refused = (said.status, said.code()) == (4, "space.untrusted_root".to_owned());
        let mended = mends.iter().any(|mend| said.stderr.contains(mend));
        assert!(refused || mended, "{folder:?}: {said:?}");
        let said = world.rye(&["doctor"]);
        let mended =
            said.stdout.contains("chmod") && said.stdout.contains(folder.to_str().unwrap());
        assert!(said.status == 4 && mended, "{folder:?}: {said:?}");
        fs::set_permissions(&folder, was).unwrap();
    }
    world.works(ITEM);
}

#[test]
fn b05_a_folder_that_can_be_entered_and_not_listed_is_shown_wherever_items_are() {
    let (world, _) = shell();
    world.signed(".ai/tools/hid/mark.sh", MARKER_SH);
    world.works("tool:hid/mark");
    fs::remove_file(world.project().join("marker")).unwrap();
    let folder = world.project().join(".ai/tools/hid");
    let is_root = is_root(&world);
    if is_root {
        let all = ["-R", "12345:12345", world.outside().to_str().unwrap()];
        assert!(Command::new("chown").args(all).status().unwrap().success());
    }
    let rye = |args: &[&str]| {
        let as_user = ["--reuid=12345", "--regid=12345", "--clear-groups"];
        let user: &[&str] = if is_root { &as_user } else { &[] };
        let through = if is_root { "setpriv" } else { "env" };
        world.run_through(through, user, args)
    };
    let odd = |args: &[&str]| {
        let said = rye(&[args, &["--json"]].concat());
        assert_eq!(said.status, 0, "{args:?}: {said:?}");
        let odd = said.json()["not_items"].as_array().cloned().unwrap_or_default();
        odd.iter().map(|o| o["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let verbs: [&[&str]; 3] = [&["trust", "review"], &["list"], &["verify", "--all"]];
    for verb in verbs {
        assert_eq!(odd(verb), [""; 0], "{verb:?}: the fixture itself is good");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o311)).unwrap();
    let said = rye(&["execute", "tool:hid/mark"]);
    assert_eq!(said.status, 0, "it runs by its name: {said:?}");
    for verb in verbs {
        assert_eq!(odd(verb), [".ai/tools/hid"], "{verb:?}");
        let said = rye(verb);
        assert!((said.stdout + &said.stderr).contains(".ai/tools/hid"), "{verb:?}");
    }
    assert_eq!(rye(&["verify", "--all", "--ci"]).status, 4);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}
