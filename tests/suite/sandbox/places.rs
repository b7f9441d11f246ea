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
    let is_file = |name: &str| during.contains(&format!("'{name}'"));
    assert!(!is_file("HEAD") && is_file("refs"), "git is shown no file: {during}");
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

/// Git in the folder, which must do well, and what it says.
fn git(at: &std::path::Path, args: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    let git = git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"]).arg(at).args(args);
    let git = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_ALLOW_PROTOCOL", "file");
    let said = git.output().unwrap();
    let told = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success(), "{args:?}: {told}");
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn git_notices_nothing_of_a_run_in_the_tool_beside_it_and_after_a_kill() {
    let test = "git_notices_nothing_of_a_run";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    let project = world.project();
    git(&project, &["init", "-q"]);
    doer(&world, "writes", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    let commits = "[sandbox]\ngit = \"write\"\n[sandbox.fs]\nwrite = [\"{project_path}\"]";
    doer(&world, "commits", commits);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "x"]);
    let before = names(&project);
    for tool in ["writes", "commits"] {
        let looks = "said = [subprocess.run(['git', *args], capture_output=True, text=True) for args in \
                     (['status', '--short'], ['diff', 'HEAD'], ['stash', 'list', 'HEAD'])]\n\
                     print([s.stdout + s.stderr for s in said])";
        let (said, _) = does(&world, tool, BWRAP, looks);
        assert_eq!(said["data"]["stdout"], "['', '', '']\n", "{tool}: {said}");
        let code = "code=print('runs', file=open('build', 'w'))\n\
                    import time; time.sleep(1000)";
        fs::write(project.join(".git/info/exclude"), "build\n").unwrap();
        let mut child = world.start(&["execute", tool, "--sandbox", "bwrap", "-i", code]);
        crate::world::wait::until("it runs", || project.join("build").exists());
        assert_eq!(git(&project, &["status", "--short"]), "", "{tool}");
        git(&project, &["diff", "HEAD"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(git(&project, &["status", "--short"]), "", "{tool}");
        fs::remove_file(project.join("build")).unwrap();
        if tool == "writes" {
            assert_eq!(names(&project), before, "nothing was made");
        }
    }
}

#[test]
fn a_tool_reads_the_repository_that_its_project_is_part_of_and_no_other_that_a_file_names() {
    let world = World::new_on_disk().held();
    let out = world.outside().canonicalize().unwrap();
    let project = world.project();
    doer(&world, "looks", "");
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "x"]);
    let made = |name: &str| out.join(name);
    git(&project, &["worktree", "add", "-q", made("tree").to_str().unwrap()]);
    git(&out, &["init", "-q", "super"]);
    let source = project.to_str().unwrap();
    git(
        &made("super"),
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "sub"],
    );
    git(&out, &["init", "-q", "mono"]);
    fs::create_dir_all(made("mono/other")).unwrap();
    fs::write(made("mono/other/x"), "x").unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(project.join(".ai"))
        .arg(made("mono/pkg"))
        .output();
    assert!(copied.unwrap().status.success());
    fs::create_dir(made("mono/package")).unwrap();
    fs::rename(made("mono/pkg"), made("mono/package/.ai")).unwrap();
    git(&made("mono"), &["add", "-A"]);
    git(&made("mono"), &["commit", "-q", "-m", "x"]);
    git(&made("mono"), &["worktree", "add", "-q", made("mono_tree").to_str().unwrap()]);
    // Of a home that is not shown git reads no settings, also where a file would be refused.
    world.write_home(".gitconfig", "[user]\nname = a\n");
    // A file names these, and they do not name it in turn.
    fs::create_dir_all(made("secret/worktrees/x")).unwrap();
    fs::write(made("secret/key"), "secret").unwrap();
    let cp =
        std::process::Command::new("cp").arg("-r").arg(made("tree")).arg(made("lies")).output();
    assert!(cp.unwrap().status.success());
    let looks = "said = subprocess.run(['git', 'status', '--porcelain'], capture_output=True, text=True)\n\
                 print([said.returncode, said.stdout])";
    for level in levels("a_tool_reads_the_repository_that_its_project_is_part_of") {
        let code = |code: &str| format!("code={code}");
        let run = |at: &str, does: &str| {
            let args = ["execute", "looks", "--sandbox", level, "--json", "-i", &code(does)];
            world.rye_in(&made(at), &["trust", "project"], b"");
            world.rye_in(&made(at), &args, b"").json()
        };
        for at in ["tree", "super/sub", "mono/package", "mono_tree/package"] {
            let said = run(at, looks);
            assert_eq!(said["data"]["stdout"], "[0, '']\n", "{level} {at}: {said}");
        }
        let reads = format!("print(open({:?}).read())", made("secret/key"));
        for named in ["secret", "secret/worktrees/x"] {
            fs::write(made("lies/.git"), format!("gitdir: {}\n", made(named).display())).unwrap();
            let said = run("lies", &reads);
            assert!(said["code"] == "execute.tool_failed", "{level} {named}: {said}");
        }
    }
}

#[test]
fn a_home_and_a_project_behind_links_have_the_names_by_which_the_tool_knows_them() {
    let world = World::new_on_disk().held();
    let out = world.outside().canonicalize().unwrap();
    std::os::unix::fs::symlink(&out, out.join("way")).unwrap();
    std::os::unix::fs::symlink("way", out.join("second")).unwrap();
    let (home, project) = (world.home(), world.project());
    let by = |path: &std::path::Path| {
        let canonical = path.canonicalize().unwrap();
        out.join("second").join(canonical.strip_prefix(&out).unwrap())
    };
    let (home, project) = (by(&home), by(&project));
    fs::create_dir_all(home.join("cache")).unwrap();
    let mine = world.write_home(".local/bin/mine", "#!/bin/sh\necho mine\n");
    fs::set_permissions(&mine, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    doer(
        &world,
        "writes",
        "[sandbox.fs]\nwrite = [\"{user_space}/cache\"]\nread = [\"{project_path}\"]",
    );
    world.signed(".ai/tools/mine.yaml", &crate::world::items::native("config: {command: mine}\n"));
    let bin = home.join(".local/bin");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let vars =
        [("HOME", home.to_str().unwrap()), ("USER_SPACE", home.to_str().unwrap()), ("PATH", &path)];
    let world = vars.iter().fold(world, |world, (name, value)| world.env(name, value));
    for level in levels("a_home_and_a_project_behind_links") {
        let code =
            format!("code=open(os.environ['HOME'] + '/cache/x', 'w'); os.listdir({project:?})");
        let said =
            world.rye_in(&project, &["execute", "writes", "--sandbox", level, "-i", &code], b"");
        assert_eq!(said.status, 0, "{level}: {}", said.stderr);
        let said = world.rye_in(&project, &["run", "mine", "--sandbox", level], b"");
        assert_eq!(said.stdout, "mine\n", "{level}");
    }
}
