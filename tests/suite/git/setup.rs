//! The hooks, the merge driver and the attribute: put in, taken out, looked at.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{DRIVER, TOOL, refused, well, world};
use crate::world::{End, MARKER_SH, Said, World};

#[test]
fn installing_twice_is_installing_once_and_uninstalling_leaves_no_trace() {
    let world = World::new();
    well(&world, "git init -q && git config core.x y");
    let before = (
        world.read(".git/config"),
        fs::read_dir(world.project().join(".git/hooks")).unwrap().count(),
    );
    let states = |args: &[&str]| {
        let got = world.json(&[&["git"], args].concat()).ok();
        let rows = got["places"].as_array().unwrap().iter();
        rows.map(|row| row["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(&["status"]), ["absent"; 5]);
    assert_eq!(states(&["install"]), ["added"; 5]);
    let hook = world.read(".git/hooks/pre-commit");
    assert_eq!(states(&["install"]), ["there"; 5]);
    assert_eq!(states(&["status"]), ["there"; 5]);
    assert_eq!(world.read(".git/hooks/pre-commit"), hook);
    let changed = String::from_utf8(hook).unwrap().replace("git check", "git chekc");
    world.write(".git/hooks/pre-commit", changed);
    well(&world, &format!("git config {DRIVER} other"));
    assert_eq!(states(&["status"]), ["outdated", "there", "outdated", "there", "there"]);
    assert_eq!(states(&["install"]), ["updated", "there", "updated", "there", "there"]);
    assert_eq!(states(&["uninstall"]), ["removed"; 4]);
    assert_eq!(states(&["uninstall"]), ["absent"; 4]);
    let after = (
        world.read(".git/config"),
        fs::read_dir(world.project().join(".git/hooks")).unwrap().count(),
    );
    assert_eq!(after, before);
    assert!(!world.project().join(".gitattributes").exists());
    assert_eq!(world.read(".gitignore"), b"/.env\n/.ai/state/\n", "secrets stay ignored");
}

#[test]
fn a_hook_of_the_person_is_kept_and_runs_after_the_check() {
    let world = World::new().with(TOOL, MARKER_SH);
    well(&world, "git init -q");
    let own = "#!/usr/bin/env bash\nset -euo pipefail\necho mine >> ran\nexec true\n";
    let path = world.write(".git/hooks/pre-commit", own);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    world.write(".gitattributes", "*.png binary");
    well(&world, "rye git install && git add .ai && git commit -qm first");
    assert_eq!(world.read("ran"), b"mine\n");
    world.write(".ai/tools/acme/new.sh", MARKER_SH);
    refused(&world, "git add .ai && git commit -qm x", "verify.unsigned");
    assert_eq!(world.read("ran"), b"mine\n", "the check comes first");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    well(&world, "rye git uninstall");
    assert_eq!(world.read(".git/hooks/pre-commit"), own.as_bytes());
    assert_eq!(world.read(".gitattributes"), b"*.png binary\n");
}

#[test]
fn line_ends_that_a_check_out_changed_are_put_back_and_nothing_else() {
    let world = World::new().with(TOOL, MARKER_SH);
    world.write(".ai/notes", "one\n");
    well(&world, "git init -q && git add -A && git commit -qm first");
    let check_out = format!("rm {TOOL} .ai/notes && git checkout -q -- .ai && git diff --quiet");
    well(&world, &format!("git config core.autocrlf true && {check_out}"));
    world.write(".ai/notes", "one\r\nmine\r\n");
    let refused = world.rye(&["verify", "acme/mark"]);
    assert_eq!(refused.code(), "verify.malformed");
    refused.warns("run `rye git install`, which puts them back");
    let review = world.rye(&["trust", "review"]);
    review.shows("none: its signature line is malformed: it holds a carriage return");
    review.shows("run `rye git install`");
    let got = world.json(&["git", "install"]).ok();
    let mut rows = got["places"].as_array().unwrap().iter();
    assert!(rows.any(|row| row["what"] == "line ends" && row["state"] == "updated"), "{got}");
    world.works("tool:acme/mark");
    assert_eq!(world.read(".ai/notes"), b"one\nmine\n", "what was not committed is there");
    well(&world, &format!("git diff --quiet {TOOL} && {check_out}"));
    world.works("tool:acme/mark");
}

#[test]
fn a_hook_that_is_not_ours_to_change_is_kept_and_named() {
    let world = World::new().with(TOOL, MARKER_SH);
    well(&world, "git init -q");
    let path = world.write(".git/hooks/pre-commit", "");
    let elsewhere = world.write("elsewhere", "#!/bin/sh\n");
    for (text, mode, why) in [
        (&b"#!/usr/bin/env python3\nprint()\n"[..], 0o755, "it is not a shell script"),
        (b"#!/bin/sh\nexit 0\n", 0o644, "it is not executable, so git passes it over"),
        (b"\x7fELF\xff\xff", 0o755, "it is not text"),
        (b"", 0o755, "it is not a shell script"),
        (b"link", 0, "it is not a regular file"),
    ] {
        fs::remove_file(&path).unwrap();
        if mode == 0 {
            symlink(&elsewhere, &path).unwrap();
        } else {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let said: Said = world.rye(&["git", "install"]);
        assert_eq!((said.code().as_str(), said.status), ("git.foreign_file", 4), "{why} {said:?}");
        assert!(said.stdout.contains(&format!("({why})")), "{said:?}");
        assert!(said.stderr.contains("rye git check"), "{said:?}");
        assert_eq!(fs::read(&path).unwrap(), before, "{why}");
        // The other places are set up all the same.
        let said = world.rye(&["git", "status"]);
        assert_eq!(said.stdout.matches("there ").count(), 4, "{said:?}");
        world.rye(&["git", "uninstall"]).ok();
        assert_eq!(fs::read(&path).unwrap(), before, "{why}");
    }
}

#[test]
fn worktrees_submodules_and_a_hooks_path_are_found() {
    let world = world();
    let outside = world.outside().display().to_string();
    let bad = "mkdir -p .ai/tools/acme && echo x > .ai/tools/acme/bad.sh && git add -A && git commit -qm x";
    well(&world, &format!("git worktree add -q '{outside}/tree' -b side"));
    refused(&world, &format!("cd '{outside}/tree' && {bad}"), "verify.unsigned");
    let sub = format!(
        "git init -q '{outside}/sub' && cd '{outside}/sub' && git commit -q --allow-empty -m x"
    );
    well(&world, &sub);
    well(
        &world,
        &format!("git -c protocol.file.allow=always submodule --quiet add '{outside}/sub' sub"),
    );
    well(&world, "cd sub && mkdir .ai && rye git install");
    refused(&world, &format!("cd sub && {bad}"), "verify.unsigned");
    well(&world, &format!("git -C '{outside}/sub' config {DRIVER} && exit 1 || true"));
    let other = format!(
        "git init -q '{outside}/other' && cd '{outside}/other' && git config core.hooksPath .hooks"
    );
    well(&world, &format!("{other} && mkdir .ai && rye git install && test -x .hooks/pre-commit"));
    refused(&world, &format!("cd '{outside}/other' && {bad}"), "verify.unsigned");
    refused(
        &world,
        &format!("cd '{outside}/other' && cd .ai && git commit -qm x"),
        "verify.unsigned",
    );
}

#[test]
fn what_another_project_of_the_repository_uses_is_not_taken_out() {
    let world = World::empty();
    for name in ["one", "deep/two"] {
        let folder = world.project().join(name);
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(world.rye_in(&folder, &["init"], b"").status, 0);
    }
    let install = "git init -q && (cd one && rye git install) && (cd deep/two && rye git install)";
    well(&world, &format!("{install} && git add -A && git commit -qm first"));
    let two = world.project().join("deep/two");
    let states = |folder: &std::path::Path| {
        let said = world.rye_in(folder, &["git", "uninstall", "--json"], b"").ok();
        let rows = said.json()["places"].as_array().unwrap().clone();
        rows.iter().map(|row| row["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states(&world.project().join("one")), ["there", "there", "there", "removed"]);
    world
        .rye_in(&world.project().join("one"), &["git", "uninstall"], b"")
        .shows("another project of this repository");
    world.write("deep/two/.ai/tools/acme/new.sh", MARKER_SH);
    refused(&world, "git add -A && git commit -qm x", "verify.unsigned");
    well(&world, "git rm -q --cached deep/two/.ai/tools/acme/new.sh");
    assert_eq!(states(&two), ["removed"; 4]);
    well(&world, &format!("! git config {DRIVER}"));
}

#[test]
fn hooks_that_all_repositories_share_are_not_ours_to_write() {
    let world = World::new().with(TOOL, MARKER_SH);
    let shared = world.outside().join("shared-hooks");
    let home = world.home().display().to_string();
    // Where git, run by rye, looks for what the person set for all their repositories.
    let everywhere = |value: &str| {
        let set = format!("git config --file '{home}/.gitconfig' core.hooksPath '{value}'");
        assert!(world.shell(&format!("{set}; echo $?")).ends_with("0\n"));
    };
    well(&world, "git init -q");
    everywhere(&shared.display().to_string());
    let (status, said) = world.json(&["git", "install"]);
    assert_eq!((status, &said["code"]), (4, &"git.foreign_file".into()), "{said}");
    world.rye(&["git", "install"]).shows("all your repositories");
    assert!(!shared.exists(), "nothing is written there");
    world.rye(&["git", "uninstall"]).ok();
    // What the person made there themselves stays.
    fs::create_dir_all(&shared).unwrap();
    fs::write(shared.join("pre-commit"), "#!/bin/sh\nrye git check || exit 1\n").unwrap();
    assert_eq!(world.rye(&["git", "install"]).status, 4);
    world.rye(&["git", "uninstall"]).ok();
    let kept = fs::read_to_string(shared.join("pre-commit")).unwrap();
    assert_eq!(kept, "#!/bin/sh\nrye git check || exit 1\n");
    // A path that leads into each repository is each repository's own.
    everywhere(".hooks");
    world.rye(&["git", "install"]).ok();
    assert!(world.project().join(".hooks/pre-commit").is_file());
}

#[test]
fn l05_attributes_that_lead_to_a_device_or_never_end_are_passed_over() {
    let world = World::new();
    world.shell(
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    );
    world.shell("mkdir sub other && ln -s /dev/zero sub/.gitattributes && git add sub");
    world.shell("truncate -s 20G other/.gitattributes");
    for verb in ["install", "uninstall"] {
        let (said, peak) = crate::bounds::measured(&world, &["git", verb]);
        assert_eq!(said.status, 0, "{verb}: {said:?}");
        assert!(peak < 256 << 10, "{verb}: {peak} KiB");
    }
}
