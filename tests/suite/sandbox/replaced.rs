//! What its owner replaces while a tool runs, and a repository that a tool may write.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{BWRAP, LANDLOCK, doer, does, works};
use crate::world::{End, World};

/// Git by the person, in the project.
fn git(world: &World, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(args).current_dir(world.project()).env("HOME", world.home());
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "x").env(format!("GIT_{role}_EMAIL"), "x@y");
    }
    let said = command.output().unwrap();
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
}

/// A tool that says that it runs, waits for a word, and does something then.
fn waits(world: &World, tool: &str, then: &str) -> Child {
    let code = format!(
        "code=import time\nopen(os.environ['BUILD'] + '/runs', 'w').close()\n\
         while not os.path.exists(os.environ['BUILD'] + '/go'): time.sleep(0.01)\n{then}"
    );
    let build = world.project().join("build").display().to_string();
    let code = code.replace("os.environ['BUILD']", &format!("{build:?}"));
    let child = world.start(&["execute", tool, "--sandbox", BWRAP, "--json", "-i", &code]);
    let start = Instant::now();
    while !Path::new(&build).join("runs").exists() {
        assert!(start.elapsed() < Duration::from_mins(1), "it did not start");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    child
}

/// What it said in the end.
fn goes(world: &World, child: Child) -> serde_json::Value {
    fs::write(world.project().join("build/go"), "").unwrap();
    let said = child.wait_with_output().unwrap();
    serde_json::from_slice(&said.stdout).unwrap()
}

#[test]
fn what_its_owner_replaces_in_a_kept_folder_while_a_tool_runs_stays_closed() {
    if !works("what_its_owner_replaces_in_a_kept_folder_while_a_tool_runs_stays_closed", BWRAP) {
        return;
    }
    for is_there in [true, false] {
        let world = World::new_on_disk().held();
        fs::create_dir(world.project().join("build")).unwrap();
        doer(&world, "waits", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
        if is_there {
            git(&world, &["init", "-q"]);
        }
        let then = "open('mine', 'w').write('x')\n\
                    open('.git/config', 'a').write('[core]\\n\\tfsmonitor = ./mine\\n')";
        let child = waits(&world, "waits", then);
        // Git writes another file and puts it in the place of this one.
        match is_there {
            true => git(&world, &["config", "user.name", "x"]),
            false => git(&world, &["init", "-q"]),
        }
        let said = goes(&world, child);
        assert_eq!(said["code"], "execute.tool_failed", "{said}");
        assert!(said.to_string().contains("Read-only file system"), "{said}");
        assert!(world.project().join("mine").exists(), "it may write the project: {said}");
        let config = String::from_utf8(world.read(".git/config")).unwrap();
        assert!(!config.contains("fsmonitor"), "{config}");
        git(&world, &["status"]);
    }
}

#[test]
fn keys_stay_hidden_where_their_folder_is_replaced_while_a_tool_runs() {
    if !works("keys_stay_hidden_where_their_folder_is_replaced_while_a_tool_runs", BWRAP) {
        return;
    }
    // In memory is below `/dev`, of which a tool has one of its own.
    for world in [World::new_on_disk(), World::new()] {
        keys_stay_hidden(&world.held());
    }
}

fn keys_stay_hidden(world: &World) {
    fs::create_dir(world.project().join("build")).unwrap();
    fs::write(world.home().join("open"), "o").unwrap();
    doer(
        world,
        "waits",
        "[sandbox.fs]\nread = [\"{project_path}\", \"{user_space}\"]\nwrite = [\"{project_path}/build\"]",
    );
    let keys = world.home().join(".ai/config/keys");
    let then = format!(
        "print('may', open('{}').read())\nprint('had', open('{}').read())",
        world.home().join("open").display(),
        keys.join("private").display()
    );
    let child = waits(world, "waits", &then);
    fs::rename(&keys, world.home().join(".ai/config/before")).unwrap();
    fs::create_dir(&keys).unwrap();
    fs::write(keys.join("private"), "secret").unwrap();
    let said = goes(world, child);
    assert_eq!(said["data"]["stdout"], "may o\n", "{said}");
}

#[test]
fn a_tool_that_may_write_git_commits_and_decides_nothing_that_git_runs() {
    let test = "a_tool_that_may_write_git_commits_and_decides_nothing_that_git_runs";
    let world = World::new_on_disk().held();
    git(&world, &["init", "-q"]);
    // The person's own settings, which no tool sees.
    git(&world, &["config", "--global", "user.name", "Ada L"]);
    git(&world, &["config", "--global", "user.email", "ada@y"]);
    fs::write(world.project().join("a"), "a").unwrap();
    doer(&world, "commits", "[sandbox]\ngit = \"write\"");
    doer(&world, "plain", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    let commit = "for a in (['add', 'a'], ['commit', '-qm', 'one'], ['status'], ['log', '--oneline']):\n  \
                  subprocess.run(['git', *a], check=True)";
    if works(test, LANDLOCK) {
        let (said, status) = does(&world, "commits", LANDLOCK, commit);
        assert_eq!((said["code"].as_str(), status), (Some("sandbox.cannot_protect"), 6), "{said}");
    }
    if !works(test, BWRAP) {
        return;
    }
    assert_eq!(does(&world, "plain", BWRAP, commit).1, 1, "without a word it is closed");
    let (said, status) = does(&world, "commits", BWRAP, commit);
    assert_eq!(status, 0, "{said}");
    let who = "print(subprocess.run(['git', 'log', '-1', '--format=%an %ae %cn'], \
               capture_output=True, text=True).stdout, os.path.exists(os.environ['HOME'] + '/.gitconfig'))";
    let (said, _) = does(&world, "commits", BWRAP, who);
    assert_eq!(said["data"]["stdout"], "Ada L ada@y Ada L\n False\n", "{said}");
    git(&world, &["fsck"]);
    for name in [
        "hooks/post-commit",
        "config",
        "config.worktree",
        "index",
        "commondir",
        "info/attributes",
        "modules/lib/config",
        "modules/lib/hooks/post-checkout",
        "worktrees/w/config.worktree",
        "rebase-merge/git-rebase-todo",
        "rebase-apply/x",
        "sequencer/todo",
        "remotes/origin",
    ] {
        let code = format!(
            "os.makedirs(os.path.dirname('.git/{name}'), exist_ok=True); open('.git/{name}', 'a').write('x')"
        );
        let (said, status) = does(&world, "commits", BWRAP, &code);
        assert_eq!(status, 1, "{name}: {said}");
    }
    // A link at an open name would lead git where it writes next; and beside a spoilt `.git` the
    // project would be the repository.
    doer(&world, "both", "[sandbox]\ngit = \"write\"\n[sandbox.fs]\nwrite = [\"{project_path}\"]");
    let (said, status) = does(&world, "both", BWRAP, "os.mkdir('other')");
    assert_eq!(status, 0, "{said}");
    for code in [
        "os.symlink('config', '.git/COMMIT_EDITMSG')",
        "os.symlink('x', 'link'); os.rename('link', '.git/COMMIT_EDITMSG')",
        "os.mkdir('refs')",
    ] {
        let (said, status) = does(&world, "both", BWRAP, code);
        assert_eq!(status, 1, "{code}: {said}");
    }
    assert!(!world.project().join("refs").exists(), "refs is left");
    let (said, _) = does(&world, "commits", BWRAP, "os.rename('.git', 'gone')");
    assert_eq!(said["code"], "execute.tool_failed", "{said}");
    for name in ["modules", "rebase-merge", "rebase-apply", "sequencer", "commondir"] {
        assert!(!world.project().join(".git").join(name).exists(), "{name} is left");
    }
    let (said, _) = does(&world, "commits", BWRAP, "pass");
    let missing = &said["metadata"]["sandbox"]["missing"];
    assert_eq!(missing, &serde_json::json!(["replaced places"]), "what is not held is said");
}

#[test]
fn where_git_keeps_a_work_tree_elsewhere_no_tool_commits_and_the_help_says_so() {
    let world = World::new_on_disk().held();
    git(&world, &["init", "-q", "--separate-git-dir", "../apart"]);
    let repository = world.outside().canonicalize().unwrap().join("apart");
    let named = format!(
        "[sandbox]\ngit = \"write\"\n[sandbox.fs]\nwrite = [\"{}/\"]",
        repository.display()
    );
    doer(&world, "commits", &named);
    let said = world.rye(&["execute", "commits", "-i", "code=1"]).fails_with("sandbox.bad_grant");
    said.warns("no sandbox lets a tool commit there: run it in a clone of its own");
}

#[test]
fn no_tool_gives_git_an_index_that_names_a_repository_of_the_tool() {
    let test = "no_tool_gives_git_an_index_that_names_a_repository_of_the_tool";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    doer(&world, "commits", "[sandbox]\ngit = \"write\"");
    fs::write(world.project().join("a"), "a").unwrap();
    git(&world, &["init", "-q"]);
    let index = world.project().join(".git/index");
    let plants = |link: &str, at: &str| {
        format!(
            "import hashlib
index = os.environ.get('GIT_INDEX_FILE', '.git/index')
def g(*a): return subprocess.run(['git', *a], check=True, capture_output=True, text=True).stdout.strip()
m = os.getcwd() + '/.git/mine'
if not os.path.exists(m):
  env = {{k: v for k, v in os.environ.items() if k != 'GIT_INDEX_FILE'}}
  def n(*a): subprocess.run(['git', *a], check=True, env=env)
  n('init', '-q', m)
  n('-C', m, '-c', 'user.name=a', '-c', 'user.email=a', 'commit', '-q', '--allow-empty', '-m', 'x')
  open(m + '/evil.sh', 'w').write('#!/bin/sh\\ntouch {ran}\\n')
  os.chmod(m + '/evil.sh', 0o755)
  open(m + '/.git/config', 'a').write('[core]\\n\\tfsmonitor = ' + m + '/evil.sh\\n')
h = open(m + '/.git/refs/heads/' + os.listdir(m + '/.git/refs/heads')[0]).read().strip()
g('update-index', '--add', '--cacheinfo', '160000,' + h + ',{link}')
b = open(index, 'rb').read()[:-20].replace(b'{link}', b'{at}')
open(index, 'wb').write(b + hashlib.sha1(b).digest())
",
            ran = world.project().join("ran").display()
        )
    };
    // By a person it works, and git follows it.
    let at = world.project();
    let code = format!("import os, subprocess\n{}", plants("0git/mine", ".git/mine"));
    let made =
        Command::new("python3").args(["-c", &code]).current_dir(&at).env("HOME", "/").status();
    assert!(made.unwrap().success() && status_runs_it(&world), "git runs it");
    for has_index in [false, true] {
        fs::remove_dir_all(at.join(".git")).unwrap();
        git(&world, &["init", "-q"]);
        if has_index {
            git(&world, &["add", "a"]);
        }
        let before = fs::read(&index).ok();
        for (link, at) in [("0git/mine", ".git/mine"), ("0git/mine", ".GIT/mine"), ("sub", "sub")] {
            let (said, _) = does(&world, "commits", BWRAP, &plants(link, at));
            assert_eq!(said["code"], "execute.tool_failed", "{at}: {said}");
            assert!(said.to_string().contains("it names "), "{at}: {said}");
            assert!(world.project().join(".git/mine/evil.sh").exists(), "it was planted");
            assert_eq!(fs::read(&index).ok(), before, "the index is as it was");
            assert!(!status_runs_it(&world), "{at}");
            fs::remove_file(&index).ok();
            if let Some(before) = &before {
                fs::write(&index, before).unwrap();
            }
        }
    }
    let add = "subprocess.run(['git', 'add', 'a'], check=True)";
    fs::write(at.join("a"), "other").unwrap();
    fs::write(at.join(".git/index.lock"), "").unwrap();
    let (said, _) = does(&world, "commits", BWRAP, add);
    assert_eq!(said["code"], "execute.tool_failed", "another has the lock: {said}");
    fs::remove_file(at.join(".git/index.lock")).unwrap();
    let (said, status) = does(&world, "commits", BWRAP, add);
    assert_eq!(status, 0, "{said}");
    git(&world, &["diff", "--quiet", "a"]);
}

/// Makes a repository of the working directory, whose settings name a program.
const BARE: &str = "import os
open('evil.sh', 'w').write('#!/bin/sh\\ntouch ' + os.getcwd() + '/ran\\n')
os.chmod('evil.sh', 0o755)
open('config', 'w').write('[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = .\\n'
    + '\\tfsmonitor = ' + os.getcwd() + '/evil.sh\\n')
try: os.rename('.git/HEAD', '.git/gone')
except OSError: pass
open('HEAD', 'w').write('ref: refs/heads/main\\n')
for folder in ('objects', 'refs/heads'): os.makedirs(folder, exist_ok=True)
";

/// Whether `git status` of a person runs what was planted.
fn status_runs_it(world: &World) -> bool {
    let mut status = Command::new("git");
    status.arg("status").current_dir(world.project()).env("HOME", world.home());
    status.output().unwrap();
    fs::remove_file(world.project().join("ran")).is_ok()
}

#[test]
fn no_tool_makes_a_repository_of_the_project_itself() {
    let test = "no_tool_makes_a_repository_of_the_project_itself";
    if !works(test, BWRAP) {
        return;
    }
    for (has_git, header) in [(false, ""), (true, ""), (true, "[sandbox]\ngit = \"write\"\n")] {
        let world = World::new_on_disk().held();
        doer(&world, "makes", &format!("{header}[sandbox.fs]\nwrite = [\"{{project_path}}\"]"));
        let plain = World::new_on_disk();
        let made = Command::new("python3").args(["-c", BARE]).current_dir(plain.project()).status();
        assert!(made.unwrap().success() && status_runs_it(&plain), "git runs it");
        if has_git {
            git(&world, &["init", "-q"]);
        }
        let (said, status) = does(&world, "makes", BWRAP, BARE);
        // A `.git` that the tool cannot spoil goes before.
        assert_eq!(status, i32::from(!has_git || !header.is_empty()), "{said}");
        let ran = status_runs_it(&world);
        assert!(!ran && world.project().join("evil.sh").exists(), "{has_git} {header}: {said}");
        assert!(status == 0 || !world.project().join("refs").exists(), "refs is left");
    }
}

#[test]
fn a_repository_that_lies_elsewhere_is_not_written_by_the_word_of_a_file() {
    let world = World::new_on_disk().held();
    fs::create_dir(world.home().join("elsewhere")).unwrap();
    let named = format!("gitdir: {}\n", world.home().join("elsewhere").display());
    fs::write(world.project().join(".git"), named).unwrap();
    doer(&world, "commits", "[sandbox]\ngit = \"write\"");
    let (said, status) = does(&world, "commits", "auto", "pass");
    assert_eq!((said["code"].as_str(), status), (Some("sandbox.bad_grant"), 6), "{said}");
}

#[test]
fn settings_that_lead_into_a_repository_keep_a_tool_from_writing_it() {
    let test = "settings_that_lead_into_a_repository_keep_a_tool_from_writing_it";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    git(&world, &["init", "-q"]);
    doer(&world, "commits", "[sandbox]\ngit = \"write\"");
    let plant = "code=os.makedirs('.git/mine', exist_ok=True)\n\
        for at in ['mine/post-commit', 'mine.sh']:\n  open('.git/' + at, 'w').write('#!/bin/sh\\ntouch ran\\n')\n  os.chmod('.git/' + at, 0o755)\n\
        open('.git/more', 'w').write('[core]\\n\\tfsmonitor = touch ran; false\\n')";
    let run = || world.json(&["execute", "commits", "--sandbox", BWRAP, "-i", plant]);
    assert_eq!(run().0, 0, "it may write there untouched");
    let config = world.project().join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    let home = world.home().join(".gitconfig");
    let included = world.outside().join("included");
    let more = format!("[includeIf \"onbranch:never\"]\n\tpath = {}\n", included.display());
    let into = format!("[include]\n\tpath = {}/.git/more\n", world.project().display());
    fs::write(&included, &into).unwrap();
    let of_user =
        format!("[core]\n\thooksPath = ~root/..{}/.git/mine\n", world.project().display());
    let behind = format!("#{}\n[core]\n\thooksPath = .git/mine\n", "x".repeat(2 << 20));
    for (file, text) in [
        (&config, "[include]\n\tpath = more\n"),
        (&config, "[Include] path = \"./more\"\n"),
        (&config, "[includeIf \"gitdir:**\"]\n\tpath = ../.git/more\n"),
        (&config, more.as_str()),
        (&config, "[core]\n\thooksPath = .git/mine\n"),
        (&config, "[core]\n\tHOOKSPATH = \\\n.git/mine\n"),
        (&config, "[core]\n\tfsmonitor = .git/mine.sh\n"),
        (&config, "[alias]\n\td = !.git/mine.sh\n"),
        (&config, "[core]\n\thooksPath = .git/mine#comment\n"),
        (&config, "[core]\n\thooksPath = .g\"it/mi\"ne\n"),
        (&config, "[core]\n\thooksPath = .git/mi\\\r\nne\n"),
        (&config, of_user.as_str()),
        (&config, behind.as_str()),
        (&home, "\u{feff}[core] hooksPath = .git/mine\n"),
        (&home, "[core]\n\thooksPath = .git/mine\n"),
        (&home, &into),
    ] {
        let was = if file == &config { before.as_str() } else { "" };
        fs::write(file, format!("{was}{text}")).unwrap();
        git(&world, &["config", "--list"]);
        let (status, said) = run();
        assert_eq!(
            (said["code"].as_str(), status),
            (Some("sandbox.bad_grant"), 6),
            "{text}: {said}"
        );
        assert!(said["error"].as_str().unwrap().contains("names `"), "{said}");
        fs::write(file, was).unwrap();
    }
    let elsewhere = world.outside().join("settings");
    fs::write(&elsewhere, "[core]\n\thooksPath = .git/mine\n").unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    for vars in [
        &[("GIT_CONFIG_GLOBAL", elsewhere)][..],
        &[("GIT_CONFIG_SYSTEM", elsewhere)],
        &[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", ".git/mine"),
        ],
    ] {
        let args = ["execute", "commits", "--sandbox", BWRAP, "--json", "-i", plant];
        let said = world.rye_env(&world.project(), &args, b"", vars);
        assert_eq!(said.json()["code"], "sandbox.bad_grant", "{vars:?}");
    }
    // Of what git itself refuses to read nothing is known.
    fs::write(&config, format!("{before}[core\n")).unwrap();
    assert_eq!(run().1["code"], "sandbox.bad_grant");
    // What is kept anyway, what lies elsewhere and what only sounds like it are no reason.
    let fine = "[core]\n\thooksPath = .git/hooks\n\tworktree = ..\n\
                [include]\n\tpath = ../.gitconfig\n[difftool \"x\"]\n\tpath = more\n# .git/mine\n\
                [remote \"origin\"]\n\turl = ../other/.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n";
    fs::write(&config, before.clone() + fine).unwrap();
    run().ok();
}

#[test]
fn what_a_killed_run_left_in_a_repository_goes_with_any_run_in_that_project() {
    let test = "what_a_killed_run_left_in_a_repository_goes_with_any_run_in_that_project";
    if !works(test, BWRAP) {
        return;
    }
    let world = World::new_on_disk().held();
    git(&world, &["init", "-q"]);
    fs::create_dir(world.project().join("build")).unwrap();
    doer(
        &world,
        "commits",
        "[sandbox]\ngit = \"write\"\n[sandbox.fs]\nwrite = [\"{project_path}/build\"]",
    );
    doer(&world, "plain", "");
    let left = || world.project().join(".git/rebase-merge").exists();
    for level in super::levels(test) {
        let mut child = waits(&world, "commits", "pass");
        assert!(left(), "it is there to be kept");
        assert_eq!(does(&world, "plain", level, "pass").1, 0);
        assert!(left(), "a run that goes on keeps it");
        child.kill().unwrap();
        child.wait().unwrap();
        let start = Instant::now();
        while left() && start.elapsed() < Duration::from_secs(30) {
            assert_eq!(does(&world, "plain", level, "pass").1, 0);
        }
        for name in ["rebase-merge", "rebase-apply", "sequencer", "modules", "commondir"] {
            assert!(!world.project().join(".git").join(name).exists(), "{name} is left at {level}");
        }
        assert!(!world.project().join("refs").exists());
        fs::remove_file(world.project().join("build/runs")).unwrap();
        git(&world, &["status"]);
    }
    // A rebase of the person's own stays.
    fs::create_dir(world.project().join(".git/rebase-merge")).unwrap();
    assert_eq!(does(&world, "plain", BWRAP, "pass").1, 0);
    assert!(left());
}
