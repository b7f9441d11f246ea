//! Repositories below the project: submodules, clones and work trees in it. Git follows the
//! settings of each, and asks submodules also when it is called outside of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{BWRAP, doer, does, levels, works};
use crate::world::{World, whole};

const WRITES: &str = "[sandbox.fs]\nwrite = [\"{project_path}\"]\npartial = true";

/// Git by the person.
fn try_git(world: &World, at: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.args(["-c", "protocol.file.allow=always"]).args(args).current_dir(at);
    command.env("HOME", world.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "x").env(format!("GIT_{role}_EMAIL"), "x@y");
    }
    command.output().unwrap()
}

fn git(world: &World, at: &Path, args: &[&str]) {
    let said = try_git(world, at, args);
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
}

fn repository(world: &World, at: &Path) {
    fs::create_dir_all(at).unwrap();
    git(world, at, &["init", "-q", "-b", "main"]);
    fs::write(at.join("file"), "x").unwrap();
    git(world, at, &["add", "file"]);
    git(world, at, &["commit", "-qm", "one"]);
}

/// A world whose project is a repository with the submodules `sub`, `deep/er/sub`, each with one in
/// it, `absent` and `gone/too`, of which the last two are not checked out.
fn with_submodules() -> World {
    let world = World::new_beside_tmp().held();
    let (inner, lib) = (world.outside().join("inner"), world.outside().join("lib"));
    repository(&world, &inner);
    repository(&world, &lib);
    let url = |of: &Path| of.display().to_string();
    git(&world, &lib, &["submodule", "--quiet", "add", &url(&inner), "in"]);
    git(&world, &lib, &["commit", "-qm", "two"]);
    let project = world.project();
    repository(&world, &project);
    for name in ["sub", "deep/er/sub", "absent", "gone/too"] {
        git(&world, &project, &["submodule", "--quiet", "add", &url(&lib), name]);
    }
    git(&world, &project, &["submodule", "--quiet", "update", "--init", "--recursive", "sub"]);
    git(&world, &project, &["commit", "-qam", "three"]);
    git(&world, &project, &["submodule", "--quiet", "deinit", "-f", "absent", "gone/too"]);
    fs::remove_dir_all(project.join("gone")).unwrap();
    fs::write(project.join("plain"), "").unwrap();
    doer(&world, "writes", WRITES);
    world
}

/// Another world with the same repositories: they are copied, since git takes its time to make them.
fn with_submodules_of(made: &World) -> World {
    let world = World::new_beside_tmp().held();
    let copy = "cp -a \"$0/inner\" \"$0/lib\" \"$1\" && cd \"$0/project\" && \
                ls -A | grep -vx .ai | xargs cp -a -t \"$1/project\"";
    let mut command = Command::new("sh");
    command.args(["-c", copy]).arg(made.outside()).arg(world.outside());
    assert!(command.status().unwrap().success());
    doer(&world, "writes", WRITES);
    world
}

/// Python that makes a repository at `at`, in the first way that goes, whose settings name a program;
/// it says which one went.
fn plants(at: &Path, mark: &Path) -> String {
    let (at, mark) = (at.display().to_string(), mark.display().to_string());
    format!(
        "import os, shutil, subprocess\n\
         at, mark = {at:?}, {mark:?}\n\
         evil = '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch ' + mark + '; false\\n'\n\
         def fresh(git):\n  \
         os.makedirs(git + '/objects'); os.makedirs(git + '/refs')\n  \
         open(git + '/HEAD', 'w').write('ref: refs/heads/main\\n'); open(git + '/config', 'w').write(evil)\n\
         def config(): open(at + '/.git/config', 'a').write(evil)\n\
         def led():\n  \
         to = os.path.join(at, open(at + '/.git').read().split()[1])\n  \
         common = os.path.join(to, 'commondir')\n  \
         if os.path.exists(common): to = os.path.join(to, open(common).read().strip())\n  \
         open(to + '/config', 'a').write(evil)\n\
         def other():\n  \
         fresh('elsewhere'); open(at + '/.git', 'w').write('gitdir: ' + os.getcwd() + '/elsewhere\\n')\n\
         def away(): os.rename(at + '/.git', at + '/was'); fresh(at + '/.git')\n\
         def anew(): os.makedirs(at, exist_ok=True); fresh(at + '/.git')\n\
         def folder(): os.rename(at, at + '-was'); os.makedirs(at); fresh(at + '/.git')\n\
         def above():\n  \
         up = os.path.dirname(at); os.rename(up, up + '-was'); os.makedirs(at); fresh(at + '/.git')\n\
         for way in (config, led, other, away, anew, folder, above):\n  \
         try: way(); print('planted', way.__name__); break\n  \
         except (OSError, IndexError): pass\n"
    )
}

/// Whether git by the person, at `at`, runs the program.
fn runs_it(world: &World, at: &Path, mark: &Path) -> bool {
    let _ = fs::remove_file(mark);
    try_git(world, at, &["status"]);
    mark.exists()
}

/// Every name below the folder but those of a repository, sorted.
fn all_names(folder: &Path) -> Vec<PathBuf> {
    let mut left = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.retain(|path| !path.to_string_lossy().contains("/.git/"));
    found.sort();
    found
}

#[test]
fn a_person_who_plants_settings_in_a_submodule_has_them_run_by_the_status_of_the_project() {
    let made = with_submodules();
    for name in ["sub", "sub/in", "deep/er/sub", "absent", "gone/too"] {
        let world = with_submodules_of(&made);
        let (at, mark) = (world.project().join(name), world.outside().join("mark"));
        assert!(!runs_it(&world, &world.project(), &mark), "untouched: {name}");
        let mut python = Command::new("python3");
        python.args(["-c", &plants(&at, &mark)]).current_dir(world.project());
        assert!(python.output().unwrap().status.success());
        assert!(runs_it(&world, &world.project(), &mark), "git follows it: {name}");
    }
}

#[test]
fn no_tool_plants_settings_in_a_submodule_whether_it_is_checked_out_or_not() {
    let made = with_submodules();
    for level in levels("no_tool_plants_settings_in_a_submodule") {
        for name in ["sub", "sub/in", "deep/er/sub", "absent", "gone/too"] {
            let world = with_submodules_of(&made);
            let project = world.project();
            let (at, mark) = (project.join(name), world.outside().join("mark"));
            let (said, status) = does(&world, "writes", level, "open('plain', 'w').write('x')");
            assert_eq!(status, 0, "it may write the project: {level} {said}");
            let before = all_names(&project);
            let (said, status) = does(&world, "writes", level, &plants(&at, &mark));
            assert_eq!(status, 0, "{level} {name}: {said}");
            assert!(!said["data"].to_string().contains("planted"), "{level} {name}: {said}");
            assert!(!runs_it(&world, &project, &mark), "{level} {name}: {said}");
            let mut after = all_names(&project);
            after.retain(|path| !path.starts_with(project.join("elsewhere")));
            assert_eq!(
                after, before,
                "{level} {name}: nothing is left of what was made to be kept"
            );
            git(&world, &project, &["status"]);
        }
    }
}

/// The project as a repository with a clone, a work tree of its own and a bare repository that
/// another work tree belongs to; each place with the folder in which git is called.
fn with_others() -> World {
    let world = World::new_beside_tmp().held();
    let project = world.project();
    repository(&world, &project);
    repository(&world, &project.join("some/clone"));
    repository(&world, &world.outside().join("far"));
    let tree = project.join("far-tree").display().to_string();
    git(&world, &world.outside().join("far"), &["worktree", "add", "-q", &tree]);
    git(&world, &project, &["clone", "-q", "--bare", ".", "near/.bare"]);
    git(&world, &project.join("near/.bare"), &["worktree", "add", "-q", "../tree"]);
    fs::write(project.join("near/.git"), "gitdir: ./.bare\n").unwrap();
    fs::write(project.join("plain"), "").unwrap();
    doer(&world, "writes", WRITES);
    world
}

#[test]
fn no_tool_plants_settings_in_a_clone_or_a_work_tree_below_the_project() {
    let places = ["some/clone", "far-tree", "near/tree"];
    for name in places {
        let world = with_others();
        let (at, mark) = (world.project().join(name), world.outside().join("mark"));
        assert!(!runs_it(&world, &at, &mark), "untouched: {name}");
        let mut python = Command::new("python3");
        python.args(["-c", &plants(&at, &mark)]).current_dir(world.project());
        assert!(python.output().unwrap().status.success());
        assert!(runs_it(&world, &at, &mark), "git follows it: {name}");
    }
    for level in levels("no_tool_plants_settings_in_a_clone_or_a_work_tree_below_the_project") {
        let world = with_others();
        let mark = world.outside().join("mark");
        for name in places {
            let at = world.project().join(name);
            let (said, status) = does(&world, "writes", level, &plants(&at, &mark));
            assert_eq!(status, 0, "{level} {name}: {said}");
            assert!(!said["data"].to_string().contains("planted"), "{level} {name}: {said}");
            assert!(!runs_it(&world, &at, &mark), "{level} {name}: {said}");
        }
        // The common folder of a work tree is found by what it says itself.
        let config = world.project().join("near/.bare/config").display().to_string();
        let (said, status) =
            does(&world, "writes", level, &format!("open({config:?}, 'a').write('x')"));
        assert_ne!(status, 0, "{level}: {said}");
        let file = world.project().join("some/clone/file").display().to_string();
        let (said, status) =
            does(&world, "writes", level, &format!("open({file:?}, 'a').write('y')"));
        assert_eq!(status, 0, "the files of a clone are open: {level} {said}");
    }
}

#[test]
fn a_clone_that_an_item_names_is_its_own_and_a_submodule_never() {
    if !works("a_clone_that_an_item_names_is_its_own_and_a_submodule_never", BWRAP) {
        return;
    }
    let world = with_others();
    let names = |at: &str| {
        format!("[sandbox.fs]\nwrite = [\"{{project_path}}\", \"{{project_path}}/{at}\"]")
    };
    doer(&world, "fetches", &names("some/clone/.git"));
    let fetch =
        "subprocess.run(['git', '-C', 'some/clone', 'config', 'user.name', 'x'], check=True)";
    let (said, status) = does(&world, "writes", BWRAP, fetch);
    assert_ne!(status, 0, "{said}");
    let (said, status) = does(&world, "fetches", BWRAP, fetch);
    assert_eq!(status, 0, "{said}");
    let world = with_submodules();
    doer(&world, "fetches", &names("sub/.git"));
    let (said, _) = does(&world, "fetches", BWRAP, "pass");
    assert_eq!(said["code"], "sandbox.bad_grant", "{said}");
}

#[test]
fn a_folder_that_is_made_for_a_tool_becomes_no_repository_of_a_submodule() {
    let made = with_submodules();
    for level in levels("a_folder_that_is_made_for_a_tool_becomes_no_repository_of_a_submodule") {
        let makes = |folder: &str| {
            let world = with_submodules_of(&made);
            let grant = format!("[sandbox.fs]\nwrite = [\"{{project_path}}/{folder}/\"]");
            doer(&world, "makes", &(grant + "\npartial = true"));
            let (at, mark) = (world.project().join("gone/too"), world.outside().join("mark"));
            let (said, _) = does(&world, "makes", level, &plants(&at, &mark));
            assert!(!runs_it(&world, &world.project(), &mark), "{level} {folder}: {said}");
            said
        };
        assert_eq!(makes("made")["status"], "success", "untouched: {level}");
        assert_eq!(makes("gone")["status"], "success", "{level}");
        assert_eq!(makes("gone/too")["code"], "sandbox.bad_grant", "{level}");
        assert_eq!(makes("gone/too/in")["status"], "success", "{level}");
    }
}

#[test]
fn submodules_of_a_repository_around_the_project_and_of_a_work_tree_are_kept_too() {
    for level in levels("submodules_of_a_repository_around_the_project") {
        for is_tree in [false, true] {
            let world = World::new_beside_tmp().held();
            let (lib, outer) = (world.outside().join("lib"), world.outside().join("outer"));
            let mark = world.outside().join("mark");
            repository(&world, &lib);
            repository(&world, &outer);
            let lib = lib.display().to_string();
            git(&world, &outer, &["submodule", "--quiet", "add", &lib, "below/it/sub"]);
            git(&world, &outer, &["commit", "-qm", "two"]);
            let top = if is_tree { world.outside().join("tree") } else { outer.clone() };
            if is_tree {
                git(&world, &outer, &["worktree", "add", "-q", &top.display().to_string()]);
            }
            let project = top.join("below/it");
            fs::create_dir_all(&project).unwrap();
            world.rye_in(&project, &["init", "--yes"], b"").ok();
            doer(&world, "writes", WRITES);
            let text = world.read(".ai/tools/writes.py");
            fs::create_dir_all(project.join(".ai/tools")).unwrap();
            fs::write(project.join(".ai/tools/writes.py"), text).unwrap();
            fs::write(project.join("plain"), "").unwrap();
            let runs = |code: &str| {
                let code = format!("code={code}");
                let args = ["execute", "writes", "--sandbox", level, "--json", "-i", &code];
                world.rye_in(&project, &args, b"").json()
            };
            let said = runs("open('plain', 'w').write('x')");
            assert_eq!(said["status"], "success", "untouched: {level} {said}");
            let at = project.join("sub");
            let said = runs(&plants(&at, &mark));
            assert_eq!(said["status"], "success", "{level} {said}");
            assert!(!said["data"].to_string().contains("planted"), "{level} {is_tree}: {said}");
            assert!(!runs_it(&world, &top, &mark), "{level} {is_tree}: {said}");
        }
    }
}

#[test]
fn a_repository_that_a_tool_makes_stays_and_is_told() {
    for level in levels("a_repository_that_a_tool_makes_stays_and_is_told") {
        let world = with_others();
        fs::create_dir_all(world.project().join("new/one")).unwrap();
        let (said, status) = does(&world, "writes", level, "open('plain', 'w').write('x')");
        assert_eq!(status, 0, "{level} {said}");
        assert_eq!(said["metadata"]["new_repositories"], serde_json::Value::Null, "{said}");
        let code = "code=subprocess.run(['git', 'init', '-q', 'new/one'], check=True)";
        let args = ["execute", "writes", "--sandbox", level, "-i", code];
        let shown = world.rye(&[&args[..], &["--json"]].concat());
        let at = world.project().join("new/one/.git");
        let made = serde_json::json!([at.canonicalize().unwrap().display().to_string()]);
        assert_eq!(shown.json()["metadata"]["new_repositories"], made, "{shown:?}");
        assert!(shown.stderr.contains("new/one/.git"), "{shown:?}");
        assert!(at.join("HEAD").exists(), "it stays");
        let again = world.rye(&["execute", "writes", "--sandbox", level, "-i", "code=pass"]).ok();
        assert!(!again.stderr.contains("new/one"), "it is known by now: {again:?}");
    }
}

#[test]
fn no_tool_writes_what_git_settings_name_in_the_project() {
    for level in levels("no_tool_writes_what_git_settings_name_in_the_project") {
        let world = with_others();
        let (project, mark) = (world.project(), world.outside().join("mark"));
        fs::create_dir_all(project.join(".githooks")).unwrap();
        for name in ["bin", "open"] {
            fs::create_dir_all(project.join(name)).unwrap();
        }
        for (name, text) in [("shared.gitconfig", ""), ("bin/watch", "#!/bin/sh\nexit 1\n")] {
            fs::write(project.join(name), text).unwrap();
        }
        git(&world, &project, &["config", "core.hooksPath", ".githooks"]);
        git(&world, &project, &["config", "include.path", "../shared.gitconfig"]);
        git(&world, &project, &["config", "diff.x.textconv", "bin/watch --fast"]);
        git(&world, &project, &["config", "--global", "include.path", "/nowhere"]);
        git(
            &world,
            &project.join("some/clone"),
            &["config", "core.hooksPath", "my hooks/not-there"],
        );
        let run = format!("#!/bin/sh\ntouch {}\n", mark.display());
        let writes = |name: &str| {
            format!(
                "os.makedirs(os.path.dirname({name:?}) or '.', exist_ok=True); \
                 open({name:?}, 'w').write({run:?}); os.chmod({name:?}, 0o755)"
            )
        };
        for name in [
            ".githooks/pre-commit",
            "shared.gitconfig",
            "bin/watch",
            "some/clone/my hooks/not-there/pre-commit",
        ] {
            let (said, status) = does(&world, "writes", level, &writes(name));
            assert_ne!(status, 0, "{level} {name}: {said}");
            let moved = name.split('/').next().unwrap();
            let moves = format!("os.rename({moved:?}, 'moved'); {}", writes(name));
            does(&world, "writes", level, &moves);
            let text = fs::read_to_string(project.join(name)).unwrap_or_default();
            assert!(!text.contains("touch"), "{level} {name}: moved away and made anew");
        }
        fs::write(project.join("new"), "x").unwrap();
        git(&world, &project, &["add", "new"]);
        git(&world, &project, &["commit", "-qm", "more"]);
        assert!(!mark.exists(), "{level}");
        // A program beside them is open, and an item that names one says what it is for.
        let (said, status) = does(&world, "writes", level, &writes("open/other"));
        assert_eq!(status, 0, "{level} {said}");
        let named = "[sandbox.fs]\nwrite = [\"{project_path}\", \"{project_path}/.githooks\"]";
        doer(&world, "hooks", &(named.to_owned() + "\npartial = true"));
        let (said, status) = does(&world, "hooks", level, &writes(".githooks/pre-commit"));
        assert_eq!(status, 0, "{level} {said}");
    }
}

/// Python that makes a bare repository at `at` or adds to the settings of the one there: git that is
/// called in it runs a program.
fn plants_bare(at: &Path, mark: &Path) -> String {
    format!(
        "import os\n\
         at = {:?}\n\
         evil = '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = /tmp\\n\\tbare = false\\n\\tfsmonitor = touch {}; false\\n'\n\
         try:\n  \
         for name in ('objects', 'refs'): os.makedirs(at + '/' + name, exist_ok=True)\n  \
         if not os.path.exists(at + '/HEAD'): open(at + '/HEAD', 'w').write('ref: refs/heads/main\\n')\n  \
         open(at + '/config', 'w').write(evil); print('planted')\n\
         except OSError: pass\n",
        at.display().to_string(),
        mark.display()
    )
}

#[test]
fn no_tool_plants_settings_in_a_bare_repository_and_one_that_it_makes_is_told() {
    let bare = || {
        let world = with_others();
        git(&world, &world.project(), &["clone", "-q", "--bare", ".", "mirrors/it.git"]);
        fs::create_dir_all(world.project().join("new")).unwrap();
        world
    };
    for name in ["mirrors/it.git", "new/one"] {
        let world = bare();
        let (at, mark) = (world.project().join(name), world.outside().join("mark"));
        fs::create_dir_all(&at).unwrap();
        assert!(!runs_it(&world, &at, &mark), "untouched: {name}");
        let mut python = Command::new("python3");
        assert!(python.args(["-c", &plants_bare(&at, &mark)]).output().unwrap().status.success());
        assert!(runs_it(&world, &at, &mark), "git follows it: {name}");
    }
    for level in
        levels("no_tool_plants_settings_in_a_bare_repository_and_one_that_it_makes_is_told")
    {
        let world = bare();
        let (at, mark) = (world.project().join("mirrors/it.git"), world.outside().join("mark"));
        let (said, status) = does(&world, "writes", level, &plants_bare(&at, &mark));
        assert_eq!(status, 0, "{level} {said}");
        assert!(!said["data"].to_string().contains("planted"), "{level} {said}");
        assert!(!runs_it(&world, &at, &mark), "{level} {said}");
        let hooks = format!("open({:?}, 'w')", at.join("hooks/post-receive").display().to_string());
        assert_ne!(does(&world, "writes", level, &hooks).1, 0, "{level}: its hooks are closed");
        // What an item names is its own.
        let named = "[sandbox.fs]\nwrite = [\"{project_path}\", \"{project_path}/mirrors/it.git\"]";
        doer(&world, "pushes", &(named.to_owned() + "\npartial = true"));
        assert_eq!(does(&world, "pushes", level, &hooks).1, 0, "{level}");

        let at = world.project().canonicalize().unwrap().join("new/one");
        let (said, status) = does(&world, "writes", level, &plants_bare(&at, &mark));
        assert_eq!(status, 0, "{level} {said}");
        let made = serde_json::json!([at.display().to_string()]);
        assert_eq!(said["metadata"]["new_repositories"], made, "{level} {said}");
    }
}

/// Behind 100,000 files at one level here; the whole is at each.
#[test]
fn a_repository_is_told_however_the_tool_ends_and_wherever_it_is_hidden() {
    let levels = levels("a_repository_is_told_however_the_tool_ends_and_wherever_it_is_hidden");
    for (at, level) in levels.into_iter().enumerate() {
        let world = with_others();
        for name in ["failed", "hung", "closed", "many"] {
            fs::create_dir_all(world.project().join(name)).unwrap();
        }
        // Long enough for `git init` on a busy machine.
        let shell = "[config]\ntimeout = \"15s\"\n".to_owned() + WRITES;
        doer(&world, "hangs", &shell);
        let made = |name: &str| {
            serde_json::json!([world
                .project()
                .canonicalize()
                .unwrap()
                .join(name)
                .join(".git")
                .display()
                .to_string()])
        };
        let init =
            |name: &str| format!("subprocess.run(['git', 'init', '-q', '{name}'], check=True)");
        let run = |item: &str, code: String| {
            let code = format!("code={code}");
            let args = ["execute", item, "--sandbox", level, "-i", &code];
            let shown = world.rye(&[&args[..], &["--json"]].concat());
            (shown.json(), shown.stderr)
        };
        let (said, stderr) = run("writes", init("failed") + "; sys.exit(3)");
        assert_eq!(said["code"], "execute.tool_failed", "{level} {said}");
        assert_eq!(said["metadata"]["new_repositories"], made("failed"), "{level} {said}");
        assert!(stderr.contains("failed/.git"), "{level} {stderr}");
        let (said, _) = run("hangs", init("hung") + "; import time; time.sleep(600)");
        assert_eq!(said["code"], "execute.timeout", "{level} {said}");
        assert_eq!(said["data"]["new_repositories"], made("hung"), "{level} {said}");
        assert!(said["help"].as_str().unwrap().contains("hung/.git"), "{level} {said}");

        let closed = init("closed/in") + "; os.chmod('closed', 0)";
        if !rustix::process::geteuid().is_root() {
            let (said, stderr) = run("writes", closed);
            assert_eq!(said["metadata"]["more_new_repositories"], true, "{level} {said}");
            assert!(stderr.contains("may be repositories that are not told"), "{stderr}");
            fs::set_permissions(world.project().join("closed"), Permissions::from_mode(0o755))
                .unwrap();
        }
        if at > 0 && !whole() {
            continue;
        }
        let many = "[open(f'many/plain-{n}', 'w').close() for n in range(100_001)]; ".to_owned()
            + &init("many/zz");
        let (said, stderr) = run("writes", many);
        assert_eq!(said["status"], "success", "{level} {said}");
        assert_eq!(said["metadata"]["more_new_repositories"], true, "{level} {said}");
        assert!(stderr.contains("may be repositories that are not told"), "{stderr}");
    }
}

#[test]
fn an_index_that_cannot_be_read_keeps_a_tool_from_the_project() {
    if !works("an_index_that_cannot_be_read_keeps_a_tool_from_the_project", BWRAP) {
        return;
    }
    let world = with_submodules();
    doer(&world, "reads", "");
    let index = world.project().join(".git/index");
    let before = fs::read(&index).unwrap();
    for (bytes, want) in [
        (&before[..], serde_json::Value::Null),
        (&before[..before.len() - 1], "sandbox.cannot_protect".into()),
    ] {
        fs::write(&index, bytes).unwrap();
        let (said, _) = does(&world, "writes", BWRAP, "pass");
        assert_eq!(said["code"], want, "{said}");
        let (said, status) = does(&world, "reads", BWRAP, "pass");
        assert_eq!(status, 0, "it writes nothing: {said}");
    }
}
