//! `rye git`, in real repositories.

mod secrets;
mod setup;
mod two_people;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::world::{End, GREET_MD, MARKER_SH, World};

const WHO: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 \
    GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
    GIT_MERGE_AUTOEDIT=no\ngit() { command git -c advice.detachedHead=false \"$@\"; }\n";
const TOOL: &str = ".ai/tools/acme/mark.sh";
const DRIVER: &str = "merge.rye.driver";

/// Runs a script in the project, as somebody who has a name in git and no configuration.
fn git(world: &World, script: &str) -> String {
    world.shell(&format!("{WHO}{script}\necho \"status $?\""))
}

/// The same, which must go well.
#[track_caller]
fn well(world: &World, script: &str) -> String {
    let got = git(world, script);
    assert!(got.ends_with("status 0\n"), "{script}\n{got}");
    got
}

/// The same, which must be refused with this in what it says.
#[track_caller]
fn refused(world: &World, script: &str, part: &str) {
    let got = git(world, script);
    assert!(!got.ends_with("status 0\n") && got.contains(part), "{script}\n{got}");
}

/// A repository with one signed tool committed and everything installed.
fn world() -> World {
    let world = World::new().with(TOOL, MARKER_SH);
    well(&world, "git init -q -b main && rye git install && git add -A && git commit -qm first");
    world
}

fn check(world: &World) -> (i32, serde_json::Value) {
    world.json(&["git", "check"])
}

/// The codes of the findings of a check, and whether each one refuses.
#[track_caller]
fn found(world: &World) -> Vec<(String, bool)> {
    let (status, got) = check(world);
    let rows = got["findings"].as_array().unwrap_or_else(|| panic!("{got}")).iter();
    let rows: Vec<_> = rows
        .map(|row| (row["code"].as_str().unwrap().to_owned(), row["refused"].as_bool().unwrap()))
        .collect();
    assert_eq!(status, if rows.iter().any(|row| row.1) { 4 } else { 0 }, "{got}");
    rows
}

fn one(code: &str) -> Vec<(String, bool)> {
    vec![(code.to_owned(), true)]
}

#[test]
fn what_is_not_signed_as_it_is_staged_cannot_be_committed() {
    let world = world();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    well(&world, "git add -A && git commit -qm 'signed ones can'");
    let signed = String::from_utf8(world.read(TOOL)).unwrap();
    let (head, rest) = signed.split_once('\n').unwrap();
    let (line, rest) = rest.split_once('\n').unwrap();
    let unsigned = format!("{head}\n{rest}");
    for (what, path, text, code) in [
        ("unsigned", TOOL, unsigned.clone(), "verify.unsigned"),
        ("altered", TOOL, format!("{signed}# more\n"), "verify.altered"),
        ("moved", ".ai/tools/acme/other.sh", signed.clone(), "verify.moved"),
        ("stray", TOOL, format!("{signed}{line}\n"), "verify.stray_signature_line"),
        ("bidi", TOOL, format!("{signed}# \u{202e}x\n"), "parse.invisible_text"),
        ("escape", TOOL, format!("{signed}# \u{1b}[8m\n"), "parse.control_text"),
        ("twin", ".ai/tools/acme/mark.py", "x = 1\n".into(), "resolve.ambiguous_file"),
        ("odd", ".ai/tools/acme/a b.sh", signed.clone(), "space.odd_file"),
    ] {
        world.write(path, text);
        well(&world, "git add -A");
        assert!(found(&world).contains(&(code.to_owned(), true)), "{what}: {:?}", found(&world));
        refused(&world, "git commit -qm x", &format!("error[{code}]"));
        refused(&world, "git commit -qm x", "cannot be committed");
        well(&world, "git reset -q --hard && git clean -qfd");
    }
    symlink("mark.sh", world.project().join(".ai/tools/acme/link.sh")).unwrap();
    well(&world, "git add -A");
    assert_eq!(found(&world), one("space.odd_file"));
}

#[test]
fn the_staged_bytes_are_judged_and_not_the_files_in_the_folder() {
    let world = world();
    let signed = world.read(TOOL);
    let altered = [&signed[..], b"# more\n"].concat();
    // Good bytes are staged, bad ones lie in the folder.
    world.signed(TOOL, &format!("{MARKER_SH}# mine\n"));
    let mine = world.read(TOOL);
    well(&world, "git add -A");
    world.write(TOOL, &altered);
    assert_eq!(world.run("tool:acme/mark").1, "verify.altered");
    assert_eq!(found(&world), []);
    well(&world, "git commit -qm good");
    // And the other way round.
    well(&world, "git add -A");
    world.write(TOOL, &mine);
    world.works("tool:acme/mark");
    assert_eq!(found(&world), one("verify.altered"));
    refused(&world, "git commit -qm bad", "error[verify.altered]");
    // What `-a` or a path would commit is what counts then.
    well(&world, "git reset -q");
    world.write(TOOL, &altered);
    refused(&world, "git commit -qam bad", "error[verify.altered]");
    refused(&world, &format!("git commit -qm bad {TOOL}"), "error[verify.altered]");
    world.write("other.txt", "x");
    well(&world, "git add other.txt && git commit -qm 'what is not staged is not asked' other.txt");
}

#[test]
fn what_was_committed_before_stands_in_nobodys_way() {
    let world = world();
    world.write(".ai/tools/acme/old.sh", MARKER_SH);
    well(&world, "git add -A && git commit -qnm 'without the check'");
    world.signed(".ai/tools/acme/new.sh", MARKER_SH);
    well(&world, "git add -A && git commit -qm fine");
    well(&world, &format!("git rm -q {TOOL} && git commit -qm gone"));
    assert_eq!(found(&world), []);
}

#[test]
fn a_lock_that_lists_other_bytes_is_drift() {
    let world = world();
    signed_at(&world, MARKER_SH, -20);
    well(&world, "rye lock >/dev/null && git add -A && git commit -qm lock");
    let old = world.read(TOOL);
    world.signed(TOOL, &format!("{MARKER_SH}# newer\n"));
    well(&world, "git add -A");
    assert_eq!(found(&world), one("lock.differs"));
    refused(&world, "git commit -qm x", "error[lock.differs]");
    // The lock that is staged counts, not the one in the folder.
    well(&world, "rye lock --update >/dev/null");
    refused(&world, "git commit -qm x", "error[lock.differs]");
    well(&world, "git add -A && git commit -qm 'with its lock'");
    // An older version put back is a lock's business as well.
    world.write(TOOL, old);
    well(&world, "git add -A");
    assert_eq!(found(&world), one("verify.rolled_back"));
    well(&world, "git reset -q --hard");
    // So is a lock that is put back by itself, or is none.
    well(&world, "git checkout -q HEAD~1 .ai/rye.lock");
    assert_eq!(found(&world), one("lock.differs"));
    world.signed(".ai/tools/acme/second.sh", MARKER_SH);
    world.write(".ai/rye.lock", "<<<<<<< ours\n");
    well(&world, "git add -A");
    assert_eq!(found(&world), one("lock.malformed"));
    // A tool that is taken out leaves a row.
    well(&world, "git reset -q --hard HEAD && git clean -qfd .ai");
    well(&world, "git rm -q .ai/tools/acme/mark.sh");
    assert_eq!(found(&world), one("lock.gone"));
    refused(&world, "git commit -qm x", "rye lock --remove tool:acme/mark");
    well(&world, "rye lock --remove tool:acme/mark >/dev/null && git add -A && git commit -qm out");
}

#[test]
fn files_beside_a_tool_are_judged_as_they_are_staged() {
    let world = world();
    world.write(".ai/tools/acme/lib/x.txt", "one\n");
    let tool = MARKER_SH.replace("# description", "# files = [\"lib/*.txt\"]\n# description");
    world.signed(".ai/tools/acme/parts.sh", &tool);
    well(&world, "git add -A && git commit -qm parts");
    world.write(".ai/tools/acme/lib/x.txt", "two\n");
    well(&world, "git add -A");
    world.write(".ai/tools/acme/lib/x.txt", "one\n");
    world.works("tool:acme/parts");
    assert_eq!(found(&world), one("verify.dependency"));
    refused(&world, "git commit -qm x", "error[verify.dependency]");
}

#[test]
fn files_outside_of_ai_are_judged_as_they_are_staged() {
    let world = world();
    world.write("src/x.txt", "one\n");
    world.write("src/other.txt", "one\n");
    let more = "# files = [\"src/x.*\"]\n# anchor = {root = \"project_path\"}\n# description";
    world.signed(".ai/tools/acme/parts.sh", &MARKER_SH.replace("# description", more));
    world.works("tool:acme/parts");
    well(&world, "git add -A");
    assert_eq!(found(&world), []);
    well(&world, "git commit -qm parts");
    // Good bytes lie in the folder, bad ones are staged; nothing below `.ai` is.
    world.write("src/x.txt", "two\n");
    well(&world, "git add -A");
    world.write("src/x.txt", "one\n");
    world.works("tool:acme/parts");
    assert_eq!(found(&world), one("verify.dependency"));
    refused(&world, "git commit -qm x", "error[verify.dependency]");
    // And the other way round.
    well(&world, "git reset -q");
    world.write("src/x.txt", "two\n");
    assert_eq!(world.run("tool:acme/parts").1, "verify.dependency");
    world.write("src/other.txt", "two\n");
    world.signed(TOOL, &format!("{MARKER_SH}# more\n"));
    well(&world, "git add .ai src/other.txt");
    assert_eq!(found(&world), []);
    well(&world, "git commit -qm 'what nobody lists is nobody here to judge'");
    // One that is gone, and one whose text hides something.
    well(&world, "git checkout -q src/x.txt && git rm -q src/x.txt");
    assert_eq!(found(&world), one("verify.dependency"));
    well(&world, "git reset -q --hard");
    world.write("src/x.txt", "one \u{202e}\n");
    well(&world, "git add -A");
    let codes: Vec<_> = found(&world).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["verify.dependency", "parse.invisible_text"]);
}

#[test]
fn an_ai_folder_that_is_staged_as_a_link_is_said() {
    let world = world();
    well(&world, "git mv .ai elsewhere && ln -s elsewhere .ai && git add -A");
    assert_eq!(found(&world), one("space.symlink"));
    refused(&world, "git commit -qm x", "error[space.symlink]");
    // In a folder of the repository, for whoever stands in it.
    well(&world, "git reset -q --hard && mkdir -p sub && ln -s ../.ai sub/.ai && git add -A");
    let said = world.rye_in(&world.project().join("sub"), &["git", "check", "--json"], b"");
    assert_eq!(
        (said.status, said.json()["findings"][0]["code"].clone()),
        (4, "space.symlink".into())
    );
}

#[test]
fn another_persons_signature_is_a_warning_and_dev_mode_changes_nothing() {
    let world = world();
    let other = World::new();
    other.signed(".ai/tools/acme/theirs.sh", MARKER_SH);
    world.write(".ai/tools/acme/theirs.sh", other.read(".ai/tools/acme/theirs.sh"));
    well(&world, "git add -A");
    assert_eq!(found(&world), [("verify.untrusted".to_owned(), false)]);
    let got = well(&world, "git commit -qm theirs");
    assert!(got.contains("warning: ") && got.contains("verify.untrusted"), "{got}");
    world.write(TOOL, MARKER_SH);
    well(&world, "git add -A");
    let project = world.project();
    let said = world.rye_env(&project, &["git", "check"], b"", &[("RYE_DEV_MODE", "1")]);
    assert!(said.stderr.contains("error[verify.unsigned]"), "{said:?}");
    assert_eq!(said.status, 4);
}

#[test]
fn a_clone_that_is_not_accepted_is_judged_by_its_bytes() {
    let world = world();
    let clone = world.outside().join("clone");
    let path = clone.display();
    well(&world, &format!("git clone -q . '{path}'"));
    world.rye_in(&clone, &["git", "install"], b"").ok();
    fs::write(clone.join(".ai/tools/acme/new.sh"), MARKER_SH).unwrap();
    refused(&world, &format!("cd '{path}' && git add -A && git commit -qm x"), "verify.unsigned");
}

#[test]
fn projects_in_folders_of_the_repository_are_each_judged_by_themselves() {
    let world = World::empty();
    for name in ["one", "deep/two"] {
        let folder = world.project().join(name);
        fs::create_dir_all(&folder).unwrap();
        world.rye_in(&folder, &["init"], b"").ok();
        world.write(&format!("{name}/{TOOL}"), MARKER_SH);
        assert_eq!(world.rye_in(&folder, &["sign", "acme/mark"], b"").status, 0);
    }
    let install = "git init -q && (cd one && rye git install) && (cd deep/two && rye git install)";
    well(&world, &format!("{install} && git add -A && git commit -qm first"));
    world.write("deep/two/.ai/tools/acme/new.sh", MARKER_SH);
    refused(&world, "git add -A && git commit -qm x", ".ai/tools/acme/new.sh");
    refused(&world, "cd one && git commit -qm x", "verify.unsigned");
    for name in ["one", "deep/two"] {
        let attributes = String::from_utf8(world.read(&format!("{name}/.gitattributes"))).unwrap();
        assert_eq!(attributes, "/.ai/** -text merge=rye\n");
    }
}

#[test]
fn an_ai_folder_that_nobody_installed_is_passed_over_and_named() {
    let world = world();
    let path = "tests/data/.ai/tools/x.sh";
    world.write(path, "x");
    let got = well(&world, "git add -A && git commit -qm fixture");
    assert!(got.contains("not checked: `tests/data/.ai`"), "{got}");
    world.write(path, "y");
    well(&world, "git add -A");
    let (status, got) = check(&world);
    assert_eq!((status, &got["not_checked"]), (0, &json!(["tests/data/"])), "{got}");
    // It is judged for whoever stands in it, and once its attribute is there.
    let folder = world.project().join("tests/data");
    assert_eq!(world.rye_in(&folder, &["git", "check"], b"").status, 4);
    world.write("tests/data/.gitattributes", "/.ai/** merge=rye\n");
    assert_eq!(check(&world).0, 4);
}

#[test]
fn hidden_text_beside_an_item_is_found_and_proposals_need_no_signature() {
    let world = world();
    let fp = "0123456789abcdef0123456789abcdef";
    world.write(&format!(".ai/config/keys/trusted/{fp}.toml"), "owner = \"x\"\n");
    world.write(".ai/tools/acme/lib/data.bin", [0_u8, 0xE2, 0x80, 0xAE, 0xFF]);
    world.write(".ai/tools/acme/mark.test.yaml", "cases:\n  - {name: plain}\n");
    well(&world, "git add -A");
    assert_eq!(found(&world), []);
    for path in [".ai/tools/acme/mark.test.yaml", ".ai/tools/acme/lib/x.txt", ".ai/README"] {
        world.write(path, "one\ntwo \u{202e}three\n");
        well(&world, "git add -A");
        assert_eq!(found(&world), one("parse.invisible_text"), "{path}");
        world.rye(&["git", "check"]).warns(&format!("{path}:2:5"));
        well(&world, &format!("git rm -q --cached {path} && rm {path}"));
    }
    // A character that shows does not cover for one that hides behind it.
    world.write(".ai/README", "one \u{c} two \u{202e}three\n");
    well(&world, "git add -A");
    assert_eq!(found(&world), one("parse.invisible_text"));
}

#[test]
fn a_path_that_no_item_can_have_does_not_slip_through() {
    let world = world();
    for name in ["a\tb.sh", "a\\b.sh", "a\nb.sh"] {
        world.write(&format!(".ai/tools/{name}"), MARKER_SH);
        well(&world, "git add -A");
        assert_eq!(found(&world), one("space.odd_file"), "{name:?}");
        well(&world, "git reset -q --hard");
    }
}

#[test]
fn no_filter_and_no_program_of_the_repository_is_run() {
    let world = world();
    let marker = world.outside().join("ran");
    let touch = format!("touch {}", marker.display());
    world.write(".gitattributes", "* filter=evil diff=evil\n/.ai/** merge=rye\n");
    well(
        &world,
        &format!(
            "git config filter.evil.smudge '{touch}; cat' && git config diff.evil.textconv '{touch}; cat' \
             && git config diff.evil.command '{touch}' && git config core.fsmonitor '{touch}'"
        ),
    );
    world.write(TOOL, MARKER_SH);
    well(&world, "git -c core.fsmonitor= add -A");
    drop(fs::remove_file(&marker));
    assert_eq!(found(&world), one("verify.unsigned"));
    assert!(!marker.exists());
    well(
        &world,
        &format!("git config core.fsmonitor false; rm {TOOL} && git checkout-index -f {TOOL}"),
    );
    assert!(marker.exists(), "the fixture itself works");
}

/// Two branches, each with its own version of the tool, signed; on `main` is what `ours` says.
fn branches(path: &str, base: &str, ours: &str, theirs: &str) -> World {
    let world = World::new();
    let item = crate::world::item_of(path);
    world.signed(path, base);
    well(
        &world,
        "git init -q -b main && rye git install && git add -A && git commit -qm base && git branch side",
    );
    for (branch, text) in [("side", theirs), ("main", ours)] {
        well(&world, &format!("git checkout -q {branch}"));
        if text != base {
            world.signed(path, text);
        }
        well(
            &world,
            &format!(
                "rye sign {item} >/dev/null; git add -A; git commit -q --allow-empty -m {branch}"
            ),
        );
    }
    world
}

fn with(text: &str, more: &str) -> String {
    format!("{text}{more}")
}

#[test]
fn a_merge_that_gives_a_text_nobody_signed_stops_and_asks_for_a_signature() {
    let base = with(MARKER_SH, "# one\n# two\n# three\n# four\n# five\n");
    for (path, base, first, last) in [
        (TOOL, base, ("# description = \"Leaves", "# description = \"Always leaves"), "# last\n"),
        (
            ".ai/directives/acme/greet.md",
            GREET_MD.to_owned(),
            ("Words before.", "Other words."),
            "\nAnd go.\n",
        ),
    ] {
        let ours = base.replace(first.0, first.1);
        let theirs = with(&base, last);
        let want = with(&ours, last);
        let world = branches(path, &base, &ours, &theirs);
        let item = crate::world::item_of(path);
        let got = git(&world, "git merge -q side");
        assert!(got.contains(&format!("look at it, then run `rye sign {item}`")), "{got}");
        assert!(!got.ends_with("status 0\n"), "{got}");
        assert_eq!(String::from_utf8(world.read(path)).unwrap(), want, "no line and no marker");
        refused(&world, "git add -A && git commit -qm merged", "verify.unsigned");
        well(&world, &format!("rye sign {item} && git add -A && git commit -qm merged"));
        world.works(&item);
    }
}

#[test]
fn a_conflict_is_about_the_text_and_never_about_the_signature_line() {
    let base = with(MARKER_SH, "# which\n");
    let (ours, theirs) = (base.replace("# which", "# ours"), base.replace("# which", "# theirs"));
    let world = branches(TOOL, &base, &ours, &theirs);
    let got = git(&world, "git merge -q side");
    assert!(got.contains("resolve the conflict, then run `rye sign tool:acme/mark`"), "{got}");
    let text = String::from_utf8(world.read(TOOL)).unwrap();
    assert!(text.starts_with("#!/bin/bash\n# /// rye\n"), "{text}");
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    assert!(!text.contains("rye:signed"), "{text}");
}

#[test]
fn a_text_that_one_side_signed_keeps_that_signature() {
    let base = MARKER_SH.to_owned();
    let changed = with(MARKER_SH, "# changed\n");
    // A row: ours, theirs, and whose bytes are there behind the merge.
    for (ours, theirs, kept) in [(&base, &changed, "side"), (&changed, &base, "main")] {
        let world = branches(TOOL, &base, ours, theirs);
        // Both lines differ from the base's, so that git has to ask the driver.
        for (branch, text, seconds) in [("side", theirs, -10), ("main", ours, -20)] {
            well(&world, &format!("git checkout -q {branch}"));
            signed_at(&world, text, seconds);
            well(&world, &format!("git add -A && git commit -qm {branch}-again"));
        }
        let want = well(&world, &format!("git show {kept}:{TOOL}"));
        well(&world, "git merge -q side -m merged");
        assert_eq!(well(&world, &format!("cat {TOOL}")), want);
        world.works("tool:acme/mark");
    }
}

/// Writes the tool with a signature that was made so many seconds from now.
fn signed_at(world: &World, text: &str, seconds: i64) {
    let at = crate::world::seconds_from_now(seconds);
    let line = crate::world::line(&world.own_key(), "tool:acme/mark", "sh", &at, text.as_bytes());
    let (first, rest) = text.split_once('\n').unwrap();
    world.write(TOOL, format!("{first}\n# {line}\n{rest}"));
}

#[test]
fn a_merge_without_conflicts_is_checked_before_it_is_committed() {
    let world = world();
    well(&world, "git checkout -q -b side");
    world.write(".ai/tools/acme/bad.sh", MARKER_SH);
    well(&world, "git add -A && git commit -qnm 'without the check' && git checkout -q main");
    world.write("other.txt", "x");
    well(&world, "git add -A && git commit -qm other");
    refused(&world, "git merge -q side", "verify.unsigned");
    world.signed(".ai/tools/acme/bad.sh", MARKER_SH);
    well(&world, "git add -A && git commit -qm merged");
}

#[test]
fn a_lock_that_both_sides_changed_is_merged_row_by_row() {
    let world = world();
    world.signed(".ai/tools/acme/b.sh", MARKER_SH);
    well(&world, "rye lock && git add -A && git commit -qm lock && git branch side");
    // The two branches sign the same item again: a conflict for anything that merges lines.
    for (branch, text, seconds) in [("main", "# ours\n", -20), ("side", "# theirs\n", -10)] {
        well(&world, &format!("git checkout -q {branch}"));
        signed_at(&world, &with(MARKER_SH, text), seconds);
        well(&world, "rye lock --update acme/mark && git add -A && git commit -qm signed");
    }
    let got = git(&world, "git merge -q main");
    assert!(got.contains("both sides signed `tool:acme/mark` again"), "{got}");
    let lock = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    assert!(!lock.contains("<<<<<<<") && lock.contains("[\"tool:acme/b\"]"), "{lock}");
    let side = well(&world, "git show side:.ai/rye.lock");
    assert_eq!(format!("{lock}status 0\n"), side, "the later signature is kept");
}

#[test]
fn a_lock_that_one_side_emptied_is_a_conflict_and_rows_that_it_took_out_are_told() {
    let world = world();
    world.signed(".ai/tools/acme/b.sh", MARKER_SH);
    well(&world, "rye lock && git add -A && git commit -qm lock");
    well(&world, "git checkout -q -b empty && : > .ai/rye.lock && git commit -qnam empty");
    well(&world, "git checkout -q -b fewer main && rm .ai/tools/acme/b.sh");
    well(&world, "rye lock --remove tool:acme/b");
    well(&world, "git add -A && git commit -qnm fewer && git checkout -q main");
    world.signed(".ai/tools/acme/z.sh", MARKER_SH);
    well(&world, "rye lock acme/z && git add -A && git commit -qm z");
    let got = git(&world, "git merge -q empty; git diff --name-only --diff-filter=U");
    assert!(got.contains("\n.ai/rye.lock\n"), "{got}");
    well(&world, "git merge --abort");
    let got = git(&world, "git merge -q fewer");
    let told = "one side took `tool:acme/b` out of the lock";
    assert!(got.contains(told) && got.ends_with("status 0\n"), "{got}");
}

#[test]
fn a_lock_with_conflict_marks_is_named_as_one() {
    let world = world();
    well(&world, "rye lock");
    let lock = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("sha256")).unwrap();
    let torn = format!("<<<<<<< ours\n{line}\n=======\n{line}\n>>>>>>> theirs");
    world.write(".ai/rye.lock", lock.replacen(line, &torn, 1));
    for verb in [&["lock"][..], &["lock", "--update"], &["execute", "tool:acme/mark"]] {
        let got = world.json(verb).fails(4, "lock.malformed");
        assert!(got["error"].as_str().unwrap().contains("marks of a merge"), "{got}");
        assert!(got["help"].as_str().unwrap().contains("git checkout --ours"), "{got}");
    }
}

#[test]
fn what_is_no_item_is_merged_like_any_file() {
    let world = world();
    world.signed(".ai/tools/acme/b.sh", MARKER_SH);
    world.signed(".ai/tools/acme/z.sh", MARKER_SH);
    well(&world, "rye lock acme/mark && git add -A && git commit -qm lock && git branch side");
    well(&world, "rye lock acme/b && git add -A && git commit -qm b");
    well(&world, "git checkout -q side && rye lock acme/z && git add -A && git commit -qm z");
    well(&world, "git merge -q main -m merged && rye lock --check");
    let lock = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    for name in ["acme/b", "acme/mark", "acme/z"] {
        assert!(lock.contains(&format!("tool:{name}\"")), "{lock}");
    }
}

#[test]
fn a_file_that_nobody_signs_is_merged_like_any_file() {
    let world = world();
    let module = ".ai/tools/acme/lib/h.py";
    let text = |top: &str, end: &str| format!("{top} = 1\n\n\n\n\n\n\n{end} = 2\n");
    world.write(module, text("a", "b"));
    well(&world, "git add -A && git commit -qnm module && git branch side");
    world.write(module, text("ours", "b"));
    well(&world, "git add -A && git commit -qnm ours && git checkout -q side");
    world.write(module, text("a", "theirs"));
    well(&world, "git add -A && git commit -qnm theirs && git checkout -q main");
    git(&world, "git merge --no-commit side");
    assert_eq!(world.read(module), text("ours", "theirs").as_bytes());
    assert_eq!(well(&world, "git diff --name-only --diff-filter=U"), "status 0\n");
}

#[test]
fn of_one_text_the_side_that_signed_it_is_kept() {
    let changed = with(MARKER_SH, "# changed\n");
    let world = branches(TOOL, MARKER_SH, MARKER_SH, &changed);
    world.write(TOOL, &changed);
    well(&world, "git add -A && git commit -qnm unsigned");
    let want = well(&world, &format!("git show side:{TOOL}"));
    git(&world, "git merge --no-commit side");
    assert_eq!(well(&world, &format!("cat {TOOL}")), want);
}

#[test]
fn without_a_repository_or_without_git_it_is_said() {
    let world = World::new();
    for verb in ["install", "uninstall", "status", "check"] {
        world.rye(&["git", verb]).fails(3, "git.no_repository");
    }
    well(&world, "git init -q");
    // A refusal by git itself, as for a repository of another user, is told in git's words.
    let owned = [("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")];
    let said = world.rye_env(&world.project(), &["git", "status"], b"", &owned);
    said.fails(6, "git.failed").warns("dubious ownership");
    assert_eq!(
        check(&world),
        (
            0,
            json!({"status": "success", "files": 0, "refused": 0, "findings": [], "not_checked": []})
        )
    );
    let project = world.project();
    world.rye_env(&project, &["git", "check"], b"", &[("PATH", "/nowhere")]).fails(6, "git.failed");
    fs::write(world.project().join(".git/hooks-file"), "").unwrap();
    well(&world, "git config core.hooksPath .git/hooks-file/below");
    world.rye(&["git", "install"]).fails(6, "git.io");
}
