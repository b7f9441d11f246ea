//! A session of `rye dev` that somebody else makes use of (core 5.2, row d09): nothing of theirs is
//! signed without a key press. Each session first signs a plain edit at once.

use std::fs;

use serde_json::json;

use crate::dev::rules::{session, waits};
use crate::dev::{Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, edit, reword, says, world};
use crate::world::World;

/// A repository whose branch `theirs` holds another text of the tool, under the old signature line.
fn repository() -> World {
    let world = world();
    let said = world.shell(&format!(
        "set -e
        export GIT_CONFIG_NOSYSTEM=1
        git init -q -b main .
        git config user.name a; git config user.email a@b.example; git config commit.gpgsign false
        git add -A; git commit -qm first
        git checkout -q -b theirs
        sed -i 's/first/theirs/' {SAY_FILE}
        git commit -qam theirs
        git checkout -q main
        echo done"
    ));
    assert_eq!(said.trim(), "done", "{said}");
    world
}

#[test]
fn d09_a_checkout_is_not_signed_without_a_key_press() {
    for git in [
        "git checkout -q theirs",
        "git reset -q --hard theirs",
        "git merge -q theirs",
        "git pack-refs --all; git switch -q theirs",
        "git pack-refs --all; git reset -q --hard theirs",
    ] {
        let world = repository();
        let mut dev = session(&world, &[]);
        let said = world.shell(git);
        assert_eq!(said, "", "{git}");
        let saved = world.read(SAY_FILE);
        assert!(String::from_utf8_lossy(&saved).contains("theirs"), "{git}");
        waits(&world, &mut dev, SAY_FILE, &saved, &["git_moved"]);
    }
}

#[test]
fn d09_a_checkout_in_a_worktree_is_not_signed_without_a_key_press() {
    let world = repository();
    let tree = world.outside().join("tree");
    let said = world.shell("git worktree add -q ../tree -b mine");
    assert_eq!(said, "");
    assert!(tree.join(".git").is_file());
    assert_eq!(world.rye_in(&tree, &["trust", "project"], b"").status, 0);
    let mut dev = Dev::start_in(&world, &tree, &[]);
    let other = tree.join(OTHER_FILE);
    let text = fs::read_to_string(&other).unwrap();
    fs::write(&other, text.replace("\"other\"", "\"a plain edit\"")).unwrap();
    dev.about("signed", OTHER);
    assert_eq!(world.shell("cd ../tree; git checkout -q theirs"), "");
    let saved = fs::read(tree.join(SAY_FILE)).unwrap();
    assert!(String::from_utf8_lossy(&saved).contains("theirs"));
    assert_eq!(dev.about("waits", SAY)["why"], json!(["git_moved"]));
    fs::write(&other, fs::read_to_string(&other).unwrap().replace("plain", "later")).unwrap();
    dev.about("signed", OTHER);
    assert!(fs::read(tree.join(SAY_FILE)).unwrap() == saved, "it was signed");
}

#[test]
fn d09_what_git_writes_without_another_commit_is_not_signed_without_a_key_press() {
    // A stopped merge, one file of another branch, and a file that comes after the commit was seen.
    for git in [
        "git merge -q --no-commit --no-ff theirs",
        "git checkout -q theirs -- .ai/tools/acme/say.sh",
        "git reset -q theirs; sleep 1.2; git checkout -q -- .ai/tools/acme/say.sh",
    ] {
        let world = repository();
        let mut dev = session(&world, &[]);
        // What the session signed is not what the branches differ in.
        world.shell(git);
        let saved = world.read(SAY_FILE);
        assert!(String::from_utf8_lossy(&saved).contains("theirs"), "{git}");
        let event = dev.about("waits", SAY);
        assert_eq!(event["why"], json!(["git_moved"]), "{git}: {event}");
        assert!(world.read(SAY_FILE) == saved, "{git}: it was signed");
    }
}

#[test]
fn d09_what_git_writes_beside_its_commit_and_its_index_is_not_signed_without_a_key_press() {
    let other = "export GIT_INDEX_FILE=$PWD/.git/other; git read-tree main";
    for git in [
        format!("git restore --source=theirs -- {SAY_FILE}"),
        format!("{other}; git checkout -q theirs -- {SAY_FILE}"),
        // Of an index that lies elsewhere only the commit is seen.
        "export GIT_INDEX_FILE=$PWD/../other; git read-tree main; git checkout -q theirs"
            .to_owned(),
        "git diff main theirs > ../patch; git apply --index ../patch".to_owned(),
    ] {
        let world = repository();
        let mut dev = session(&world, &[]);
        // What the session signed is not what the branches differ in.
        assert_eq!(world.shell(&git), "", "{git}");
        let saved = world.read(SAY_FILE);
        assert!(String::from_utf8_lossy(&saved).contains("theirs"), "{git}");
        let event = dev.about("waits", SAY);
        assert_eq!(event["why"], json!(["git_moved"]), "{git}: {event}");
        assert!(world.read(SAY_FILE) == saved, "{git}: it was signed");
    }
    let world = repository();
    let mut dev = session(&world, &[]);
    assert_eq!(world.shell(&format!("git restore --source=theirs -- {SAY_FILE}")), "");
    let saved = world.read(SAY_FILE);
    // The plain edit that comes after it is signed at once.
    waits(&world, &mut dev, SAY_FILE, &saved, &["git_moved"]);
}

#[test]
fn d09_a_commit_by_another_index_writes_no_item_and_the_next_plain_edit_waits() {
    let world = repository();
    let mut dev = session(&world, &[]);
    let before = world.read(SAY_FILE);
    let commit = "cp .git/index ../other; export GIT_INDEX_FILE=$PWD/../other\n\
        git rm -q --cached .ai/tools/acme/other.sh; git commit -qm x";
    assert_eq!(world.shell(commit), "");
    assert!(world.read(SAY_FILE) == before, "it wrote an item");
    let saved = reword(&world, SAY_FILE, "a plain edit");
    assert_eq!(dev.about("waits", SAY)["why"], json!(["git_moved"]));
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn d09_what_the_merge_driver_writes_is_not_signed_without_a_key_press() {
    let world = repository();
    let said = world.shell(&format!(
        "set -e; export GIT_CONFIG_NOSYSTEM=1
        sed -i 's/Says a word/Says one word/' {SAY_FILE}
        rye git install > /dev/null
        git add -A; git commit -qnm ours; echo done"
    ));
    assert_eq!(said.trim(), "done", "{said}");
    world.rye(&["sign", SAY]).ok();
    world.shell("git commit -qnam signed");
    world.works(SAY);
    let mut dev = session(&world, &[]);
    world.shell("git commit -qnam 'a plain edit'; git merge -q theirs 2>/dev/null");
    let saved = world.read(SAY_FILE);
    let text = String::from_utf8_lossy(&saved).into_owned();
    assert!(text.contains("theirs") && text.contains("one word"), "{text}");
    assert!(!text.contains("rye:signed") && !text.contains("<<<<"), "{text}");
    let event = dev.about("waits", SAY);
    assert_eq!(event["why"], json!(["line_gone", "git_moved"]), "{event}");
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn d09_a_file_with_conflict_marks_is_not_signed_without_a_key_press() {
    let stash = format!("sed -i 's/first/stashed/' {SAY_FILE}; git stash -q");
    for (before, git) in [("true", "git merge -q theirs"), (stash.as_str(), "git stash pop -q")] {
        let world = repository();
        let said = world.shell(&format!(
            "set -e; export GIT_CONFIG_NOSYSTEM=1
            {before}
            sed -i 's/first/ours/' {SAY_FILE}; rye sign {SAY} > /dev/null; git commit -qam ours
            echo done"
        ));
        assert_eq!(said.trim(), "done", "{said}");
        world.works(SAY);
        let mut dev = Dev::start(&world, &[]);
        world.shell(git);
        let marked = String::from_utf8(world.read(SAY_FILE)).unwrap();
        assert!(marked.contains("<<<<<<<") && marked.contains(">>>>>>>"), "{git}: {marked}");
        let refused = dev.about("refused", SAY);
        assert_eq!(refused["code"], "sign.invalid", "{git}: no key press signs it: {refused}");
        // Nor is what is made of it, until somebody has looked.
        let half = edit(&world, SAY_FILE, "=======\n", "");
        let why = dev.about("waits", SAY)["why"].to_string();
        assert!(why.contains("git_moved"), "{git}: {why}");
        assert!(world.read(SAY_FILE) == half, "{git}: it was signed");
    }
}

#[test]
fn d09_a_checkout_through_a_linked_git_folder_is_not_signed_without_a_key_press() {
    let world = repository();
    assert_eq!(world.shell("mv .git ../elsewhere.git; ln -s ../elsewhere.git .git"), "");
    let mut dev = session(&world, &[]);
    assert_eq!(world.shell("git checkout -q theirs"), "");
    let saved = world.read(SAY_FILE);
    waits(&world, &mut dev, SAY_FILE, &saved, &["git_moved"]);
}

#[test]
fn d09_where_git_cannot_be_understood_nothing_is_signed_without_a_key_press() {
    let world = world();
    let mut dev = session(&world, &[]);
    world.write(".git", "no repository\n");
    let saved = reword(&world, SAY_FILE, "a plain edit");
    let event = dev.about("waits", SAY);
    assert_eq!(event["why"], json!(["git_unclear"]), "{event}");
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn d09_a_new_file_is_not_signed_without_a_key_press() {
    let world = world();
    let mut dev = session(&world, &[]);
    let path = ".ai/tools/acme/planted.sh";
    world.write(path, says("planted"));
    let saved = world.read(path);
    waits(&world, &mut dev, path, &saved, &["new"]);
    // In the place of one that is known, with another extension, too.
    let python = ".ai/tools/acme/twin.py";
    world.signed(".ai/tools/acme/twin.sh", &says("twin"));
    dev.about("admitted", "tool:acme/twin");
    fs::remove_file(world.project().join(".ai/tools/acme/twin.sh")).unwrap();
    let text = "__version__ = \"1.0.0\"\n__executor_id__ = \"rye/core/runtimes/python/script\"\n";
    world.write(python, text);
    waits(&world, &mut dev, python, text.as_bytes(), &["new"]);
}

#[test]
fn d09_a_tool_that_rewrites_a_tool_is_not_signed_without_a_key_press() {
    let world = world();
    // In place, by rename, and from a process that it leaves behind.
    for rewrite in [
        format!("printf '# rewritten\\n' >> {SAY_FILE}"),
        format!("sed -i 's/first/rewritten/' {SAY_FILE}"),
        format!("(setsid bash -c \"printf '# rewritten\\n' >> {SAY_FILE}\" &) ; sleep 0.2"),
    ] {
        let runner = ".ai/tools/acme/runner.sh";
        let before = world.read(SAY_FILE);
        world.signed(runner, &says("ran").replace("echo ", &format!("{rewrite}\necho ")));
        let mut dev = Dev::start(&world, &["tool:acme/runner"]);
        assert_eq!(dev.ran(), "ran", "{rewrite}");
        let event = dev.about("waits", SAY);
        assert_eq!(event["why"], json!(["during_run"]), "{rewrite}: {event}");
        let saved = world.read(SAY_FILE);
        assert!(String::from_utf8_lossy(&saved).contains("rewritten"), "{rewrite}");
        assert_eq!(world.rye(&["verify", SAY]).code(), "verify.altered", "{rewrite}");
        drop(dev);
        world.write(SAY_FILE, before);
        world.works(SAY);
    }
}

#[test]
fn d09_a_tool_that_rewrites_itself_does_not_run_again() {
    let world = world();
    let tool = says("ran")
        .replace("echo ", &format!(": > marker; printf '# rewritten\\n' >> {SAY_FILE}\necho "));
    world.signed(SAY_FILE, &tool);
    let mut dev = Dev::start(&world, &[SAY]);
    assert_eq!(dev.ran(), "ran");
    assert_eq!(dev.about("waits", SAY)["why"], json!(["during_run"]));
    fs::remove_file(world.project().join("marker")).unwrap();
    reword(&world, OTHER_FILE, "a plain edit");
    dev.about("signed", OTHER);
    dev.about("not_run", SAY);
    assert!(!world.project().join("marker").exists());
}

#[test]
fn d09_another_secret_is_not_signed_without_a_key_press() {
    let world = world();
    let mut dev = session(&world, &[]);
    let from = "# description = \"Says a word\"";
    let saved = edit(&world, SAY_FILE, from, &format!("{from}\n# secrets = [\"TOKEN\"]"));
    waits(&world, &mut dev, SAY_FILE, &saved, &["field:secrets"]);
}
