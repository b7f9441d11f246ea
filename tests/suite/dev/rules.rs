//! When a person has to look first. Each row first shows that a plain edit is signed at once.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{
    Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, by_rename, edit, reword, reworded, says, world,
};
use crate::keys::others::{put, stranger, trust};
use crate::world::items::native;
use crate::world::{GREET_MD, World};

/// Plain edits so far: each is another text.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A session in which a plain edit was signed at once.
#[track_caller]
pub fn session(world: &World, args: &[&str]) -> Dev {
    let mut dev = Dev::start(world, args);
    let word = format!("plain edit {}", COUNT.fetch_add(1, Ordering::Relaxed));
    reword(world, OTHER_FILE, &word);
    dev.about("signed", OTHER);
    dev
}

/// The change waits for just these reasons, and the file is as it was saved.
#[track_caller]
pub fn waits(world: &World, dev: &mut Dev, path: &str, saved: &[u8], why: &[&str]) {
    let item = crate::world::item_of(path);
    let event = dev.about("waits", &item);
    assert_eq!(event["why"], json!(why), "{event}");
    // What is signed later shows that this was not.
    reword(world, OTHER_FILE, &format!("after {path} {}", dev.seen.len()));
    dev.about("signed", OTHER);
    assert!(world.read(path) == saved, "{item} was signed");
    // Nothing is run, since a session sees every run.
    assert_eq!(world.rye(&["verify", &item]).status, 4, "{item} is not admitted");
}

#[test]
fn what_a_header_asks_for_beyond_what_it_asked_waits() {
    let world = world();
    let more = |line: &str| format!("# description = \"Says a word\"\n# {line}");
    let description = "# description = \"Says a word\"";
    let executor = "executor_id = \"rye/core/runtimes/shell/script\"";
    let rows = [
        (executor, "executor_id = \"rye/core/runtimes/python/script\"".to_owned(), "executor_id"),
        (description, more("env = [\"EDITOR\"]"), "env"),
        (description, more("env_config = {env = {A = \"b\"}}"), "env"),
        (description, more("secrets = [\"TOKEN\"]"), "secrets"),
        (description, more("sandbox = {net = \"none\"}"), "sandbox"),
    ];
    for (from, to, field) in rows {
        let before = world.read(SAY_FILE);
        let mut dev = session(&world, &[]);
        let saved = edit(&world, SAY_FILE, from, &to);
        waits(&world, &mut dev, SAY_FILE, &saved, &[&format!("field:{field}")]);
        drop(dev);
        world.write(SAY_FILE, &before);
        world.works(SAY);
    }
}

#[test]
fn another_list_of_files_waits() {
    let world = world();
    world.write(".ai/tools/acme/a.txt", "a\n");
    let mut dev = session(&world, &[]);
    let from = "# description = \"Says a word\"";
    let saved = edit(&world, SAY_FILE, from, &format!("{from}\n# files = [\"a.txt\"]"));
    waits(&world, &mut dev, SAY_FILE, &saved, &["field:files"]);
}

#[test]
fn what_a_directive_may_call_waits_when_it_changes() {
    let world = world();
    let path = ".ai/directives/acme/greet.md";
    world.signed(path, GREET_MD);
    let mut dev = session(&world, &[]);
    edit(&world, path, "Say hello", "Say good day");
    dev.about("signed", "directive:acme/greet");
    let permissions = "<permissions><execute><tool>rye/bash</tool></execute></permissions>";
    let saved = edit(&world, path, "  </metadata>", &format!("    {permissions}\n  </metadata>"));
    waits(&world, &mut dev, path, &saved, &["field:permissions"]);
}

#[test]
fn a_directive_that_names_a_parent_whose_permissions_it_has_waits() {
    let world = world();
    let path = ".ai/directives/acme/greet.md";
    world.signed(path, GREET_MD);
    let mut dev = session(&world, &[]);
    let saved = edit(&world, path, "<directive ", "<directive extends=\"acme/base\" ");
    waits(&world, &mut dev, path, &saved, &["field:extends"]);
}

#[test]
fn a_reason_lasts_until_somebody_has_looked() {
    let world = world();
    let mut dev = session(&world, &[]);
    let from = "# description = \"Says a word\"";
    edit(&world, SAY_FILE, from, &format!("{from}\n# secrets = [\"TOKEN\"]"));
    dev.about("waits", SAY);
    let saved = reword(&world, SAY_FILE, "a plain edit of what waits");
    waits(&world, &mut dev, SAY_FILE, &saved, &["field:secrets"]);
    let fresh = ".ai/tools/acme/fresh.sh";
    world.write(fresh, says("new"));
    dev.about("waits", "tool:acme/fresh");
    let saved = reword(&world, fresh, "still new");
    waits(&world, &mut dev, fresh, &saved, &["new"]);
}

#[test]
fn more_than_five_files_at_once_wait() {
    let world = world();
    let path = |n: usize| format!(".ai/tools/acme/n{n}.sh");
    for n in 0..12 {
        world.write(&path(n), says("n"));
    }
    world.rye(&["sign", "tool:acme/*"]).ok();
    let mut dev = session(&world, &[]);
    // Prepared beside the project and moved in at once, as one burst.
    let burst = |numbers: std::ops::Range<usize>, word: &str| {
        let all: Vec<_> = numbers.map(|n| (path(n), reworded(&world, &path(n), word))).collect();
        for (path, bytes) in &all {
            by_rename(&world, path, bytes);
        }
        all
    };
    burst(0..5, "five");
    for n in 0..5 {
        dev.about("signed", &format!("tool:acme/n{n}"));
    }
    let all = burst(6..12, "six");
    for n in [10, 11, 6, 7, 8, 9] {
        let event = dev.about("waits", &format!("tool:acme/n{n}"));
        assert_eq!(event["why"], json!(["many_files"]), "{event}");
    }
    for (path, bytes) in all {
        assert!(world.read(&path) == bytes, "{path} was signed");
    }
}

#[test]
fn what_others_signed_and_what_was_not_signed_at_the_start_waits() {
    let world = world();
    let (theirs, bare) = (".ai/tools/acme/theirs.sh", ".ai/tools/acme/bare.sh");
    trust(&world, &stranger(1), &[]);
    put(&world, &stranger(1), theirs, &says("theirs"));
    world.works("tool:acme/theirs");
    let bytes = world.write(bare, says("bare"));
    let bytes = fs::read(bytes).unwrap();
    let mut dev = Dev::start(&world, &[]);
    assert_eq!(dev.seen[0]["unsigned"], 1);
    waits(&world, &mut dev, bare, &bytes, &["not_admitted"]);
    let saved = reword(&world, theirs, "mine");
    waits(&world, &mut dev, theirs, &saved, &["other_signer"]);
}

#[test]
fn a_line_of_another_key_or_none_waits() {
    let world = world();
    let mut dev = session(&world, &[]);
    put(&world, &stranger(1), SAY_FILE, &says("theirs"));
    let saved = world.read(SAY_FILE);
    waits(&world, &mut dev, SAY_FILE, &saved, &["signature_line"]);
    // Without a line it is a plain edit.
    let plain = world.read(OTHER_FILE);
    let text = String::from_utf8(plain).unwrap();
    let bare: String = text.split_inclusive('\n').filter(|l| !l.contains("rye:signed")).collect();
    let saved = world.write(OTHER_FILE, bare);
    let event = dev.about("waits", OTHER);
    assert_eq!(event["why"], json!(["line_gone"]), "{event}");
    let bytes = fs::read(saved).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("rye:signed"), "it was signed");
}

#[test]
fn what_changes_while_another_run_is_under_way_waits() {
    let world = world();
    let rewrite = format!(": > marker; printf '# rewritten\\n' >> {SAY_FILE}");
    world.signed(
        ".ai/tools/acme/rewrite.sh",
        &says("x").replace("echo ", &format!("{rewrite}\necho ")),
    );
    let mut dev = session(&world, &[]);
    world.works("tool:acme/rewrite");
    let saved = world.read(SAY_FILE);
    assert!(saved.ends_with(b"# rewritten\n"));
    let event = dev.about("waits", SAY);
    assert_eq!(event["why"], json!(["other_run"]), "{event}");
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn what_a_run_of_another_login_session_changes_waits() {
    let world = world();
    let rewrite = format!("printf '# rewritten\\n' >> {SAY_FILE}");
    world.signed(
        ".ai/tools/acme/rewrite.sh",
        &says("x").replace("echo ", &format!("{rewrite}\necho ")),
    );
    // The session has no folder of its own for private files; the run has one.
    let mut dev = session(&world, &[]);
    let runtime = world.outside().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    world.shell(&format!("chmod 700 {}", runtime.display()));
    let runtime = runtime.display().to_string();
    let args = ["execute", "tool:acme/rewrite"];
    world.rye_env(&world.project(), &args, b"", &[("XDG_RUNTIME_DIR", &runtime)]).ok();
    let saved = world.read(SAY_FILE);
    assert!(saved.ends_with(b"# rewritten\n"));
    assert_eq!(dev.about("waits", SAY)["why"], json!(["other_run"]));
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn what_changes_while_a_program_without_files_of_its_own_runs_waits() {
    let world = world();
    let args = "[.ai/tools/, -name, {data: say.sh}, -exec, sed, -i, s/first/rewritten/, '{}', ';']";
    let tool = native(&format!("config: {{command: /usr/bin/find, args: {args}}}\n"));
    world.signed(".ai/tools/acme/native.yaml", &tool);
    let mut dev = session(&world, &[]);
    world.works("tool:acme/native");
    let saved = world.read(SAY_FILE);
    assert!(String::from_utf8_lossy(&saved).contains("rewritten"));
    assert_eq!(dev.about("waits", SAY)["why"], json!(["other_run"]));
    assert!(world.read(SAY_FILE) == saved, "it was signed");
}

#[test]
fn a_project_that_is_not_accepted_is_not_watched() {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    world.write(SAY_FILE, says("x"));
    world.rye(&["dev", "--json"]).fails(4, "verify.project_not_accepted");
    let keyless = World::empty();
    keyless.write(SAY_FILE, says("x"));
    keyless.rye(&["dev", "--json"]).fails(4, "key.missing");
}

#[test]
fn a_watcher_that_cannot_be_made_is_said() {
    let world = world();
    // With fewer files than it needs; how many that is, is its own business.
    let found = (4..24).find(|files| {
        let limited = format!("ulimit -n {files}; exec \"$0\" dev --json < /dev/null");
        let said = world.run_through("timeout", &["10", "bash", "-c", &limited], &[]);
        said.code() == "dev.watch" && said.status == 6
    });
    assert!(found.is_some(), "no limit makes it say so");
}
