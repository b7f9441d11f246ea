//! `rye dev` and whoever else writes the files (row l04): nothing of theirs is signed without a key
//! press.

use serde_json::json;

use crate::dev::rules::{session, waits};
use crate::dev::{Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, reword, world};
use crate::world::World;

/// What each of these repositories begins with: a branch `theirs` that holds another text of the
/// tool.
const BRANCHES: &str = "export GIT_CONFIG_NOSYSTEM=1
git() { command git -c user.name=a -c user.email=a@b.example -c commit.gpgsign=false \
    -c protocol.file.allow=always \"$@\"; }
branches() {
    git add -A .; git commit -qm first
    git checkout -q -b theirs
    sed -i 's/first/theirs/' \"$1\"; git commit -qam theirs
    git checkout -q -
}
";

/// Sets repositories up by a script, and gives the world.
#[track_caller]
fn repository(script: &str) -> World {
    let world = world();
    let said = world.shell(&format!("set -e\n{BRANCHES}{script}\necho done"));
    assert_eq!(said.trim(), "done", "{script}: {said}");
    world
}

/// Where git lies, and how it writes what is theirs.
const LAYOUTS: [(&str, &str); 7] = [
    // The folder of items is a repository of its own, also one with its git folder elsewhere.
    ("cd .ai; git init -q .; branches tools/acme/say.sh", "cd .ai; git checkout -q theirs"),
    (
        "git init -q --separate-git-dir ../elsewhere.git .ai; cd .ai; branches tools/acme/say.sh",
        "cd .ai; git checkout -q theirs",
    ),
    // A folder in it.
    ("cd .ai/tools/acme; git init -q .; branches say.sh", "git -C .ai/tools/acme checkout -q theirs"),
    // A submodule.
    (
        "git init -q .ai/tools/acme; (cd .ai/tools/acme; branches say.sh)
        mv .ai/tools/acme ../acme; git init -q .
        git submodule --quiet add ../acme .ai/tools/acme; git commit -qm module
        git -C .ai/tools/acme branch -q theirs origin/theirs",
        "git -C .ai/tools/acme checkout -q theirs",
    ),
    // A worktree of another repository.
    (
        "git init -q ../main; (cd ../main; cp -r ../project/.ai .; branches .ai/tools/acme/say.sh)
        rm -rf .ai; git -C ../main worktree add -q ../tree -b mine; mv ../tree/.ai ../tree/.git .
        git -C ../main worktree repair . 2>/dev/null >&2; git status --short",
        "git checkout -q theirs",
    ),
    // A bare repository with its work tree here, beside the project and in it.
    (
        "git init -q --bare ../dot.git; export GIT_DIR=$PWD/../dot.git GIT_WORK_TREE=$PWD
        branches .ai/tools/acme/say.sh",
        "git --git-dir=../dot.git --work-tree=. checkout -q theirs",
    ),
    (
        "git init -q --bare .dot; echo .dot > .gitignore; export GIT_DIR=$PWD/.dot GIT_WORK_TREE=$PWD
        branches .ai/tools/acme/say.sh",
        "git --git-dir=.dot --work-tree=. checkout -q theirs",
    ),
];

#[test]
fn l04_a_checkout_in_any_repository_that_holds_an_item_is_not_signed_without_a_key_press() {
    for (script, checkout) in LAYOUTS {
        let world = repository(script);
        // A plain edit is signed at once.
        let mut dev = session(&world, &[]);
        assert_eq!(world.shell(checkout), "", "{script}");
        let saved = world.read(SAY_FILE);
        assert!(String::from_utf8_lossy(&saved).contains("theirs"), "{script}");
        waits(&world, &mut dev, SAY_FILE, &saved, &["git_moved"]);
    }
}

#[test]
fn l04_a_repository_that_git_dir_names_is_watched() {
    let world = repository(
        "git init -q --bare ../far/away/dot.git; export GIT_DIR=$PWD/../far/away/dot.git GIT_WORK_TREE=$PWD
        branches .ai/tools/acme/say.sh",
    );
    let far = world.outside().join("far/away/dot.git").display().to_string();
    let world = world.env("GIT_DIR", &far);
    let mut dev = session(&world, &[]);
    assert_eq!(world.shell("git --work-tree=. checkout -q theirs"), "");
    let saved = world.read(SAY_FILE);
    waits(&world, &mut dev, SAY_FILE, &saved, &["git_moved"]);
}

#[test]
fn l04_without_a_terminal_nothing_is_signed_unless_that_was_asked_for() {
    let world = world();
    drop(session(&world, &[]));
    let mut dev = Dev::start_as_it_is(&world, &[]);
    assert_eq!((&dev.seen[0]["asks"], &dev.seen[0]["signs"]), (&json!(false), &json!(false)));
    let saved = reword(&world, SAY_FILE, "a plain edit");
    assert_eq!(dev.about("waits", SAY)["why"], json!(["no_terminal"]));
    let other = reword(&world, OTHER_FILE, "another");
    assert_eq!(dev.about("waits", OTHER)["why"], json!(["no_terminal"]));
    assert!(dev.all("signed").is_empty(), "{:#?}", dev.seen);
    assert!(world.read(SAY_FILE) == saved && world.read(OTHER_FILE) == other, "one was signed");
    // Nor does it sign again what a dev key of an earlier day signed: the files are as they were.
    drop(dev);
    let dev = Dev::start_as_it_is(&world, &[]);
    assert!(dev.all("renewed").is_empty(), "{:#?}", dev.seen);
}
