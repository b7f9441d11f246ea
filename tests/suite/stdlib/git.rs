//! `rye/git/*`: what they tell and commit, and that a repository has nothing run by them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::{data, refusal, run};
use crate::mcp::client::Client;
use crate::sandbox::{BWRAP, levels};
use crate::world::{World, whole};

/// Git itself in the project, as somebody with a name and no settings; `more` are settings.
fn git_with(world: &World, more: &[&str], args: &[&str]) -> Output {
    let mut command = Command::new("git");
    let settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    command.args(settings).args(more).args(args).current_dir(world.project());
    command.env("HOME", world.outside().join("nobody")).env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().unwrap()
}

/// The same where it goes well; gives what it says.
#[track_caller]
fn git(world: &World, args: &[&str]) -> String {
    let said = git_with(world, &[], args);
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).into_owned()
}

/// A repository with two commits on `main`.
fn repository(world: &World) {
    git(world, &["init", "-q", "-b", "main"]);
    fs::write(world.project().join(".gitignore"), ".ai/\n").unwrap();
    world.write("src/a.txt", "one\ntwo\n");
    world.write("b.txt", "b\n");
    git(world, &["add", "."]);
    git(world, &["commit", "-q", "-m", "First\n\nWith a body"]);
    world.write("src/a.txt", "one\ntwo\nthree\n");
    git(world, &["commit", "-q", "-a", "-m", "Second"]);
}

const ADA: [(&str, &str); 2] = [("author_name", "Ada"), ("author_email", "ada@example.org")];

fn commit(message: &str, paths: &[&str]) -> Value {
    let mut params = json!({"message": message, "paths": paths});
    for (name, value) in ADA {
        params[name] = value.into();
    }
    params
}

#[test]
fn the_git_tools_tell_what_differs_and_commit_what_is_staged() {
    let world = World::new();
    repository(&world);
    let first = git(&world, &["rev-parse", "HEAD~1"]).trim().to_owned();
    let head = git(&world, &["rev-parse", "HEAD"]).trim().to_owned();
    let clean = json!({
        "branch": "main", "commit": head, "staged": [], "changed": [], "conflicts": [],
        "untracked": [], "unfinished": null, "truncated": false,
    });
    assert_eq!(data(&world, "git/status", &json!({})), clean);
    git(&world, &["mv", "b.txt", "c.txt"]);
    world.write("src/a.txt", "one\n2\nthree\n");
    world.write("new\nline -- .txt", "x");
    world.write("--output=x", "x");
    let status = data(&world, "git/status", &json!({}));
    let renamed = json!([{"path": "c.txt", "change": "renamed", "from": "b.txt"}]);
    assert_eq!(status["staged"], renamed);
    assert_eq!(status["changed"], json!([{"path": "src/a.txt", "change": "modified"}]));
    assert_eq!(status["untracked"], json!(["--output=x", "new\nline -- .txt"]));
    let some = data(&world, "git/status", &json!({"path": "src", "max_entries": 1}));
    assert_eq!((&some["staged"], &some["untracked"]), (&json!([]), &json!([])));
    let few = data(&world, "git/status", &json!({"max_entries": 1}));
    assert_eq!(few["truncated"], true);

    let diff = data(&world, "git/diff", &json!({}));
    assert_eq!(diff["files"], json!([{"path": "src/a.txt", "change": "modified"}]));
    let text = diff["diff"].as_str().unwrap();
    assert!(text.contains("--- a/src/a.txt") && text.contains("-two\n+2\n"), "{text}");
    assert_eq!(data(&world, "git/diff", &json!({"staged": true}))["files"], renamed);
    let between = json!({"from": "HEAD~1", "to": "main", "names_only": true});
    let want = json!({"files": diff["files"], "truncated": false});
    assert_eq!(data(&world, "git/diff", &between), want);
    let narrow = json!({"from": "HEAD~1", "path": "b.txt"});
    assert_eq!(data(&world, "git/diff", &narrow)["files"][0]["path"], "b.txt");
    refusal(&world, "git/diff", &json!({"to": "HEAD"}));
    refusal(&world, "git/diff", &json!({"from": "HEAD~1", "to": "HEAD", "staged": true}));

    let log = data(&world, "git/log", &json!({}));
    assert_eq!(log["commits"].as_array().map(Vec::len), Some(2), "{log}");
    let latest = &log["commits"][0];
    assert_eq!((&latest["commit"], &latest["subject"]), (&json!(head), &json!("Second")));
    assert_eq!((&latest["parents"], &latest["author"]), (&json!([first]), &json!("Ada")));
    assert_eq!(log["commits"][1]["body"], "With a body");
    let one = data(&world, "git/log", &json!({"max_count": 1}));
    assert_eq!(
        (one["commits"].as_array().map(Vec::len), &one["truncated"]),
        (Some(1), &json!(true))
    );
    let of_b = data(&world, "git/log", &json!({"path": "b.txt"}));
    assert_eq!(of_b["commits"][0]["commit"], json!(first));
    let since = data(&world, "git/log", &json!({"excluding": "HEAD~1"}));
    assert_eq!(since["commits"].as_array().map(Vec::len), Some(1));

    // What is staged alone.
    let before = fs::read(world.project().join(".git/index")).unwrap();
    let made = data(&world, "git/commit", &commit("Third\n\nWhy", &[]));
    assert_eq!((&made["files"], &made["parent"]), (&renamed, &json!(head)));
    assert_eq!(git(&world, &["log", "-1", "--format=%H %an <%ae>%n%B"]).trim(), {
        format!("{} Ada <ada@example.org>\nThird\n\nWhy", made["commit"].as_str().unwrap())
    });
    assert_eq!(fs::read(world.project().join(".git/index")).unwrap(), before, "not touched");
    // What is named, with what was deleted; the rest stays as it is.
    fs::remove_file(world.project().join("c.txt")).unwrap();
    let made = data(&world, "git/commit", &commit("Fourth", &["--output=x", "c.txt"]));
    let want = json!([
        {"path": "--output=x", "change": "added"}, {"path": "c.txt", "change": "deleted"},
    ]);
    assert_eq!(made["files"], want);
    let left = git(&world, &["status", "--porcelain", "-z"]);
    assert_eq!(left, " M src/a.txt\0?? new\nline -- .txt\0");
    git(&world, &["fsck", "--strict"]);
    assert!(git(&world, &["reflog"]).starts_with(&made["commit"].as_str().unwrap()[..7]));
}

#[test]
fn the_git_tools_work_at_each_level_and_over_mcp() {
    for level in levels("the_git_tools_work_at_each_level_and_over_mcp") {
        let world = World::new_on_disk().held();
        repository(&world);
        world.write_home(".gitconfig", "[user]\n\tname = Bob\n\temail = bob@example.org\n");
        world.write("new.txt", "x\n");
        let run = |tool: &str, params: Value| {
            let (tool, params) = (format!("tool:rye/git/{tool}"), params.to_string());
            let args = ["execute", &tool, "--sandbox", level, "--params", &params];
            let (status, said) = world.json(&args);
            assert_eq!(status, 0, "{tool} at {level}: {said}");
            assert_eq!(said["metadata"]["sandbox"]["level"], level);
            assert_eq!(said["metadata"]["sandbox"]["net"], "none");
            said["data"].clone()
        };
        assert_eq!(run("status", json!({}))["untracked"], json!(["new.txt"]));
        assert_eq!(run("diff", json!({"from": "HEAD~1"}))["files"][0]["path"], "src/a.txt");
        assert_eq!(run("log", json!({}))["commits"][0]["subject"], "Second");
        // Who commits is said by the person's own settings.
        let params = json!({"message": "Third", "paths": ["new.txt"]}).to_string();
        let args = ["execute", "rye/git/commit", "--sandbox", level, "--params", &params];
        let (status, said) = world.json(&args);
        match level {
            BWRAP => {
                assert_eq!((status, &said["metadata"]["sandbox"]["net"]), (0, &json!("none")));
                assert_eq!(said["data"]["author"], "Bob <bob@example.org>");
                assert_eq!(git(&world, &["status", "--porcelain"]), "");
            }
            // It cannot keep a part of `.git`, and says so.
            _ => assert_eq!(said["code"], "sandbox.cannot_protect", "{said}"),
        }
        git(&world, &["fsck", "--strict"]);
    }
    let world = World::new();
    repository(&world);
    world.write("new.txt", "x\n");
    let mut client = Client::new(&world, &[]);
    let asked = json!({"item_id": "tool:rye/git/status"});
    let (said, is_error) = client.call("rye_execute", asked);
    assert!(!is_error && said["data"]["untracked"] == json!(["new.txt"]), "{said}");
    let asked =
        json!({"item_id": "tool:rye/git/commit", "parameters": commit("Third", &["new.txt"])});
    let (said, is_error) = client.call("rye_execute", asked);
    assert!(!is_error && said["data"]["files"][0]["path"] == "new.txt", "{said}");
}

/// A program that leaves a mark, and settings of the repository that name it wherever git runs one.
fn hostile(world: &World) -> std::path::PathBuf {
    let mark = world.outside().join("mark");
    let evil = world.outside().join("evil");
    fs::write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\ncat\n", mark.display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.display().to_string();
    let more = world.outside().join("more");
    fs::write(&more, format!("[core]\n\tfsmonitor = {evil}\n")).unwrap();
    let hooks = world.outside().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let names = "pre-commit prepare-commit-msg commit-msg post-commit post-index-change \
                 reference-transaction fsmonitor-watchman post-rewrite";
    for name in names.split_whitespace() {
        for folder in [&hooks, &world.project().join(".git/hooks")] {
            fs::copy(world.outside().join("evil"), folder.join(name)).unwrap();
        }
    }
    let settings = format!(
        "[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\teditor = {evil}\n\thooksPath = {hooks}\n\
         \tsshCommand = {evil}\n\taskPass = {evil}\n\talternateRefsCommand = {evil}\n\
         \tworktree = /\n[pager]\n\tlog = {evil}\n\tstatus = {evil}\n\tdiff = {evil}\n\
         [diff]\n\texternal = {evil}\n\tsubmodule = log\n[diff \"evil\"]\n\tcommand = {evil}\n\
         \ttextconv = {evil}\n[filter \"evil\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\
         \trequired = true\n[filter \"other\"]\n\tprocess = {evil}\n[merge \"evil\"]\n\
         \tdriver = {evil}\n[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {evil}\n[commit]\n\
         \tgpgSign = true\n[alias]\n\tstatus = !{evil}\n\trev-parse = !{evil}\n[status]\n\
         \tsubmoduleSummary = true\n[credential]\n\thelper = !{evil}\n[include]\n\tpath = {more}\n\
         [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = ext::{evil}\n\
         \tpromisor = true\n\tuploadpack = {evil}\n[protocol]\n\tallow = always\n\
         [hook \"evil\"]\n\tcommand = {evil}\n\tevent = pre-commit\n",
        hooks = hooks.display(),
        more = more.display(),
    );
    let config = world.project().join(".git/config");
    let own = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{own}{settings}")).unwrap();
    world.write(".git/info/attributes", "src/* filter=evil diff=evil merge=evil\n");
    mark
}

#[test]
fn no_program_that_a_repository_names_is_run_by_the_git_tools() {
    // Nothing but the tools themselves stands between the repository and the machine here.
    let world = World::new();
    repository(&world);
    let mark = hostile(&world);
    world.write("src/a.txt", "changed\n");
    world.write("b.txt", "changed\n");
    // Git itself would run them.
    drop(git_with(&world, &["-c", "core.worktree=."], &["status"]));
    assert!(mark.exists(), "the settings work");
    fs::remove_file(&mark).unwrap();
    let status = data(&world, "git/status", &json!({}));
    assert_eq!(status["changed"].as_array().map(Vec::len), Some(2), "{status}");
    let diff = data(&world, "git/diff", &json!({}));
    assert!(diff["diff"].as_str().unwrap().contains("+changed"), "{diff}");
    data(&world, "git/diff", &json!({"from": "HEAD~1", "to": "HEAD"}));
    data(&world, "git/diff", &json!({"from": "HEAD~1", "staged": true}));
    let log = data(&world, "git/log", &json!({"path": "src"}));
    assert_eq!(log["commits"].as_array().map(Vec::len), Some(2), "{log}");
    // What a filter would change is not committed as it lies there.
    let said = refusal(&world, "git/commit", &commit("x", &["src/a.txt"]));
    assert!(said.contains("has the filter `evil`"), "{said}");
    data(&world, "git/commit", &commit("Third", &["b.txt"]));
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
    assert_eq!(data(&world, "git/log", &json!({}))["commits"][0]["subject"], "Third");
}

#[test]
fn what_is_missing_in_a_partial_clone_is_not_fetched_for_the_git_tools() {
    let world = World::new();
    repository(&world);
    let mark = hostile(&world);
    let blob = git_with(&world, &[], &["rev-parse", "HEAD~1:src/a.txt"]).stdout;
    let commit = git_with(&world, &[], &["rev-parse", "HEAD~1"]).stdout;
    for id in [blob, commit] {
        let id = String::from_utf8(id).unwrap();
        let (folder, name) = id.trim().split_at(2);
        fs::remove_file(world.project().join(".git/objects").join(folder).join(name)).unwrap();
    }
    drop(fs::remove_file(&mark));
    let of = |tool: &str, params: Value| run(&world, tool, &params).0;
    assert_eq!(of("git/log", json!({})), 1, "it is missing");
    assert_eq!(of("git/log", json!({"revision": "HEAD~1"})), 1);
    assert_eq!(of("git/diff", json!({"from": "HEAD~1"})), 1);
    assert_eq!(of("git/status", json!({})), 0);
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap_or_default());
}

/// Each name and path by one tool here, and the first by each; the whole is each by each.
#[test]
fn names_of_commits_and_paths_stay_values_for_the_git_tools() {
    let world = World::new();
    repository(&world);
    world.write("src/a.txt", "changed\n");
    for (row, name) in [
        "--output=stolen",
        "--all",
        "-O/etc/passwd",
        "--exec=touch stolen",
        "-",
        "--",
        "HEAD..main",
        "^HEAD",
        "HEAD main",
        "HEAD\n--all",
        "main --output=stolen",
        "@{upstream}",
        "*",
        "no/such",
        "--git-dir=/",
        "HEAD^{tree}",
        ":/",
    ]
    .into_iter()
    .enumerate()
    {
        let tools = [("git/diff", "from"), ("git/log", "revision"), ("git/log", "excluding")];
        for (at, (tool, key)) in tools.into_iter().enumerate() {
            if row > 0 && row % 3 != at && !whole() {
                continue;
            }
            let (status, got) = run(&world, tool, &json!({key: name}));
            assert_eq!((status, &got["code"]), (1, &json!("execute.tool_failed")), "{name}: {got}");
        }
    }
    let paths =
        ["../x", "/etc", ".git/config", ".git", "a\0b", ".ai/config/keys/signing", ".GIT/x"];
    for (row, path) in paths.into_iter().enumerate() {
        for (at, tool) in ["git/status", "git/diff", "git/log"].into_iter().enumerate() {
            if row == 0 || row % 3 == at || whole() {
                refusal(&world, tool, &json!({"path": path}));
            }
        }
        refusal(&world, "git/commit", &commit("x", &[path]));
    }
    // A path that reads as a pattern or an option is the file of that name, which is not there.
    for path in [":(exclude)src", "*", ":/", "--output=stolen"] {
        let status = data(&world, "git/status", &json!({"path": path}));
        assert_eq!(status["changed"], json!([]), "{path}");
    }
    assert!(!world.project().join("stolen").exists());
    assert_eq!(git(&world, &["rev-list", "--count", "HEAD"]).trim(), "2");
}

#[test]
fn a_commit_is_refused_where_it_would_not_be_what_was_meant() {
    let world = World::new();
    let said = refusal(&world, "git/status", &json!({}));
    assert!(said.contains("not the top of a git repository"), "{said}");
    repository(&world);
    let no = |params: &Value, part: &str| {
        let said = refusal(&world, "git/commit", params);
        assert!(said.contains(part), "{part}: {said}");
    };
    no(&commit("x", &[]), "nothing is staged");
    no(&commit(" \n", &[]), "must say something");
    no(&json!({"message": "x"}), "nobody says who commits");
    let mut forged = commit("x", &["b.txt"]);
    forged["author_name"] = json!("Ada\ncommitter Eve <e@v> 1 +0000");
    no(&forged, "nobody says who commits");
    assert_eq!(run(&world, "git/commit", &json!({"paths": ["b.txt"]})).0, 2, "no message");
    no(&commit("x", &["no/such"]), "did not match any file");
    git(&world, &["checkout", "-q", "--detach"]);
    world.write("b.txt", "detached\n");
    no(&commit("x", &["b.txt"]), "no branch is checked out");
    git(&world, &["checkout", "-q", "-b", "side"]);
    data(&world, "git/commit", &commit("On the side", &["b.txt"]));
    git(&world, &["checkout", "-q", "main"]);
    world.write("b.txt", "main\n");
    data(&world, "git/commit", &commit("On main", &["b.txt"]));
    assert!(!git_with(&world, &[], &["merge", "side"]).status.success(), "they conflict");
    let status = data(&world, "git/status", &json!({}));
    assert_eq!((&status["conflicts"], &status["unfinished"]), (&json!(["b.txt"]), &json!("merge")));
    no(&commit("x", &["b.txt"]), "a merge is not finished");
    // A repository that lies elsewhere is not followed.
    git(&world, &["merge", "--abort"]);
    fs::rename(world.project().join(".git"), world.outside().join("elsewhere")).unwrap();
    symlink(world.outside().join("elsewhere"), world.project().join(".git")).unwrap();
    assert!(refusal(&world, "git/status", &json!({})).contains("is not a folder"));
    fs::remove_file(world.project().join(".git")).unwrap();
    let to = world.outside().join("elsewhere");
    world.write(".git", format!("gitdir: {}\n", to.display()));
    assert!(refusal(&world, "git/log", &json!({})).contains("is not a folder"));
}

/// A repository below the project whose own settings name a program that leaves a mark.
fn repository_below(world: &World, path: &str) -> std::path::PathBuf {
    git(world, &["init", "-q", path]);
    git(world, &["-C", path, "commit", "-q", "--allow-empty", "-m", "Below"]);
    let mark = world.outside().join("mark");
    let evil = world.outside().join("evil");
    fs::write(&evil, format!("#!/bin/sh\necho ran >>'{}'\n", mark.display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    git(world, &["-C", path, "config", "core.fsmonitor", &evil.display().to_string()]);
    mark
}

#[test]
fn a_commit_neither_asks_nor_stages_a_repository_below_the_project() {
    let world = World::new();
    repository(&world);
    let mark = repository_below(&world, "sub");
    git(&world, &["add", "sub"]);
    git(&world, &["commit", "-q", "-m", "Third"]);
    drop(fs::remove_file(&mark));
    git(&world, &["status"]);
    assert!(mark.exists(), "git itself runs its program");
    fs::remove_file(&mark).unwrap();
    world.write("b.txt", "changed\n");
    data(&world, "git/status", &json!({}));
    let made = data(&world, "git/commit", &commit("Fourth", &["."]));
    assert_eq!(made["files"], json!([{"path": "b.txt", "change": "modified"}]));

    // New ones, and one that moved, are refused before anything is staged or committed.
    let at = git(&world, &["rev-parse", "HEAD"]);
    git(&world, &["-C", "sub", "commit", "-q", "--allow-empty", "-m", "Moved"]);
    repository_below(&world, "new");
    drop(fs::remove_file(&mark));
    world.write("b.txt", "more\n");
    let no = |paths: &[&str], name: &str| {
        let said = refusal(&world, "git/commit", &commit("x", paths));
        assert!(said.contains(&format!("`{name}` is a repository of its own")), "{said}");
        let staged = ["ls-files", "--stage", "b.txt", "new", "src"];
        let same = git(&world, &["ls-tree", "-r", "HEAD", "b.txt", "new", "src"]);
        assert_eq!(git(&world, &staged).lines().count(), same.lines().count(), "{paths:?}");
        let differs = git_with(&world, &[], &["diff-index", "--cached", "--quiet", "HEAD"]);
        assert!(differs.status.success(), "{paths:?}");
    };
    no(&["b.txt", "sub"], "sub");
    no(&["b.txt", "."], "sub");
    no(&["b.txt", "new"], "new");
    no(&["b.txt", "new/"], "new");
    fs::remove_file(world.project().join("src/a.txt")).unwrap();
    repository_below(&world, "src/a.txt");
    drop(fs::remove_file(&mark));
    no(&["b.txt", "src"], "src/a.txt");
    world.write("new/file.txt", "x");
    let said = refusal(&world, "git/commit", &commit("x", &["new/file.txt"]));
    assert!(said.contains("another repository"), "{said}");
    assert_eq!(git(&world, &["rev-parse", "HEAD"]), at);
    data(&world, "git/commit", &commit("Fifth", &["b.txt"]));
    assert!(!mark.exists(), "nothing of them was run");
}

#[test]
fn a_commit_stages_of_a_folder_what_git_has_and_new_files_that_are_named() {
    let world = World::new();
    repository(&world);
    for name in ["src/gone.txt", "old/one.txt", "file", "far/kept.txt"] {
        world.write(name, "x\n");
    }
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "Third"]);
    // What is not checked out is not deleted.
    git(&world, &["update-index", "--skip-worktree", "far/kept.txt"]);
    fs::remove_dir_all(world.project().join("far")).unwrap();
    fs::remove_file(world.project().join("src/gone.txt")).unwrap();
    world.write("src/a.txt", "changed\n");
    world.write("src/.env", "secret\n");
    world.write("src/new.txt", "new\n");
    // A folder that became a link, and a file that became a folder.
    fs::remove_dir_all(world.project().join("old")).unwrap();
    symlink("src", world.project().join("old")).unwrap();
    fs::remove_file(world.project().join("file")).unwrap();
    world.write("file/inner.txt", "y\n");
    let made =
        data(&world, "git/commit", &commit("x", &[".", "src/new.txt", "old", "file/inner.txt"]));
    let files = made["files"].as_array().unwrap().iter();
    let mut names: Vec<_> = files.map(|f| format!("{} {}", f["change"], f["path"])).collect();
    names.sort();
    assert_eq!(git(&world, &["status", "--porcelain", "-z"]), "?? src/.env\0", "{names:?}");
    assert_eq!(
        git(&world, &["ls-tree", "-r", "--name-only", "HEAD"]),
        ".gitignore\nb.txt\nfar/kept.txt\nfile/inner.txt\nold\nsrc/a.txt\nsrc/new.txt\n"
    );
    let said = refusal(&world, "git/commit", &commit("x", &["src"]));
    assert!(said.contains("each new one itself"), "{said}");
    world.write(".ai/note.txt", "x");
    let said = refusal(&world, "git/commit", &commit("x", &[".ai/note.txt"]));
    assert!(said.contains("the repository ignores it"), "{said}");
    git(&world, &["fsck", "--strict"]);
}

#[test]
fn a_locked_index_is_refused_before_the_branch_moves() {
    let world = World::new();
    repository(&world);
    let at = git(&world, &["rev-parse", "HEAD"]);
    world.write("b.txt", "changed\n");
    git(&world, &["add", "b.txt"]);
    world.write(".git/index.lock", "");
    for paths in [&[][..], &["b.txt"]] {
        let said = refusal(&world, "git/commit", &commit("x", paths));
        assert!(said.contains("index.lock"), "{said}");
        assert_eq!(git(&world, &["rev-parse", "HEAD"]), at);
    }
    fs::remove_file(world.project().join(".git/index.lock")).unwrap();
    // An index that is no file of its own is not read for an empty one, and a branch is a branch.
    let index = world.project().join(".git/index");
    fs::rename(&index, world.outside().join("index")).unwrap();
    symlink(world.outside().join("index"), &index).unwrap();
    for tool in ["git/status", "git/commit"] {
        let params = if tool == "git/status" { json!({}) } else { commit("x", &[]) };
        let said = refusal(&world, tool, &params);
        assert!(said.contains("index of the repository is not a regular file"), "{said}");
    }
    fs::remove_file(&index).unwrap();
    fs::rename(world.outside().join("index"), &index).unwrap();
    git(&world, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(&world, &["symbolic-ref", "HEAD", "refs/remotes/origin/main"]);
    assert_eq!(data(&world, "git/status", &json!({}))["branch"], Value::Null);
    let said = refusal(&world, "git/commit", &commit("x", &[]));
    assert!(said.contains("no branch is checked out"), "{said}");
    assert_eq!(git(&world, &["rev-parse", "refs/remotes/origin/main"]), at);
}

#[test]
fn an_author_that_git_cannot_read_is_told_as_such() {
    let world = World::new();
    repository(&world);
    git(
        &world,
        &["-c", "i18n.commitEncoding=UTF-16", "commit", "-q", "--allow-empty", "-m", "odd"],
    );
    let plain = git(&world, &["log", "-1", "--format=%aI"]);
    assert_eq!(plain.trim(), "%aI", "git gives back the sign");
    let log = data(&world, "git/log", &json!({}));
    let odd = &log["commits"][0];
    for name in ["author", "email", "time"] {
        assert_eq!(odd[name], Value::Null, "{log}");
    }
    assert_eq!(odd["note"], "the author of this commit cannot be read");
    assert_eq!(log["commits"][1]["author"], "Ada");
    assert!(log["commits"][1].get("note").is_none(), "{log}");
}

#[test]
fn what_the_git_tools_give_is_bounded() {
    let world = World::new();
    repository(&world);
    world.write("big.txt", "line\n".repeat(400_000));
    git(&world, &["add", "big.txt"]);
    let diff = data(&world, "git/diff", &json!({"staged": true}));
    assert_eq!(
        (diff["diff"].as_str().map(str::len), &diff["truncated"]),
        (Some(262_144), &json!(true))
    );
    for number in 0..600 {
        world.write(&format!("many/{number}.txt"), "x");
    }
    git(&world, &["add", "many"]);
    let status = data(&world, "git/status", &json!({}));
    assert_eq!(
        (status["staged"].as_array().map(Vec::len), &status["truncated"]),
        (Some(500), &json!(true))
    );
    // One commit of them all tells each.
    let made = data(&world, "git/commit", &commit("All", &[]));
    assert_eq!(
        (made["files"].as_array().map(Vec::len), &made["truncated"]),
        (Some(601), &json!(false))
    );
}
