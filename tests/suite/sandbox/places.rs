//! Places that are kept although they are not there: made for a run, and gone afterwards.

use std::fs;
use std::time::{Duration, Instant};

use super::{BWRAP, doer, does, levels, works};
use crate::world::World;

const WRITES: &str = "[sandbox.fs]\nwrite = [\"{project_path}\", \"{user_space}/.local/share\"]";

/// What lies right in the folder, sorted.
fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_made_to_be_kept_is_gone_after_the_run_and_what_a_tool_made_stays() {
    if !works("what_was_made_to_be_kept_is_gone_after_the_run", BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    fs::create_dir_all(world.home().join(".local/share")).unwrap();
    doer(&world, "writes", WRITES);
    let (project, home) = (names(&world.project()), names(&world.home()));
    let (said, status) =
        does(&world, "writes", BWRAP, "open('mine', 'w').write(str(sorted(os.listdir('.'))))");
    assert_eq!(status, 0, "{said}");
    let during = String::from_utf8(world.read("mine")).unwrap();
    assert!(during.contains("'.git'"), "it was there to be kept: {during}");
    let mut wanted = project.clone();
    wanted.push("mine".into());
    wanted.sort();
    assert_eq!((names(&world.project()), names(&world.home())), (wanted, home));
}

#[test]
fn an_empty_place_of_yours_is_kept_and_stays() {
    if !works("an_empty_place_of_yours_is_kept_and_stays", BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    fs::create_dir_all(world.home().join(".local/share")).unwrap();
    doer(&world, "writes", WRITES);
    fs::create_dir_all(world.project().join(".git/hooks")).unwrap();
    let units = world.home().join(".local/share/systemd");
    fs::create_dir_all(&units).unwrap();
    let code = "open(os.environ['HOME'] + '/.local/share/systemd/x', 'w')";
    let (said, status) = does(&world, "writes", BWRAP, code);
    assert_eq!(status, 1, "{said}");
    assert!(world.project().join(".git/hooks").is_dir());
    assert!(units.is_dir());
}

#[test]
fn a_place_that_several_runs_keep_goes_with_the_last_and_what_a_killed_one_left_with_the_next() {
    let test = "a_place_that_several_runs_keep_goes_with_the_last";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    fs::create_dir_all(world.home().join(".local/share")).unwrap();
    doer(&world, "waits", WRITES);
    let wait = |name: &str| {
        format!(
            "code=open('{name}', 'w')\nimport time\nwhile not os.path.exists('go-{name}'): time.sleep(0.01)"
        )
    };
    let there = |name: &str| {
        let start = Instant::now();
        while !world.project().join(name).exists() {
            assert!(start.elapsed() < Duration::from_secs(30), "{name} did not start");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    };
    let start = |name: &str| {
        let child = world.start(&["execute", "waits", "--sandbox", "bwrap", "-i", &wait(name)]);
        there(name);
        child
    };
    let go = |name: &str, mut child: std::process::Child| {
        fs::write(world.project().join(format!("go-{name}")), "").unwrap();
        assert!(child.wait().unwrap().success(), "{name}");
    };
    let hooks = world.project().join(".git");
    let (first, second) = (start("first"), start("second"));
    assert!(hooks.exists());
    go("first", first);
    assert!(hooks.exists(), "the second run keeps it");
    go("second", second);
    assert!(!world.project().join(".git").exists(), "nobody keeps it");

    let mut killed = start("killed");
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(hooks.exists(), "nobody was there to take it away");
    go("next", start("next"));
    assert!(!world.project().join(".git").exists());
}

#[test]
fn items_and_the_repository_of_a_granted_folder_are_kept_and_those_around_the_project_too() {
    for level in levels("items_and_the_repository_of_a_granted_folder_are_kept") {
        let world = World::new_beside_tmp().held();
        let out = world.outside().canonicalize().unwrap();
        let other = out.join("other");
        let nested = other.join("mod");
        for folder in [".git/hooks", ".ai/tools", "mod/.ai/tools"] {
            fs::create_dir_all(other.join(folder)).unwrap();
        }
        fs::write(other.join(".git/config"), "").unwrap();
        let grant = format!("[sandbox.fs]\nwrite = [\"{}\"]\npartial = true", other.display());
        doer(&world, "far", &grant);
        world.rye_in(&nested, &["init", "--yes"], b"").ok();
        fs::copy(world.project().join(".ai/tools/far.py"), nested.join(".ai/tools/far.py"))
            .unwrap();
        for at in [world.project(), nested] {
            let tries = |path: &str, code: &str| {
                let code =
                    format!("code={}", code.replace('@', &other.join(path).display().to_string()));
                let said = world.rye_in(
                    &at,
                    &["execute", "far", "--sandbox", level, "--json", "-i", &code],
                    b"",
                );
                (said.status, said.stdout)
            };
            // At the lower level only what is there is granted, since the folder itself is not.
            fs::write(other.join("free"), "").unwrap();
            assert_eq!(tries("free", "open('@', 'w')").0, 0, "untouched: {level}");
            for path in [".git/config", ".git/hooks/post-checkout", ".ai/tools/x.sh"] {
                let (status, text) = tries(path, "open('@', 'w')");
                assert_ne!(status, 0, "{level} {path}: {text}");
            }
            assert_ne!(tries(".git", "os.rename('@', '@2')").0, 0, "{level}");
            assert!(other.join(".git/config").exists() && !other.join(".ai/tools/x.sh").exists());
        }
    }
}
