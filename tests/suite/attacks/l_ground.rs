//! Row l01: what a clone puts on `PATH`, in `XDG_RUNTIME_DIR` or into a folder above the working
//! directory is no program of rye's and no place of its private copies (core 2.0, 7.5, 7.6, 7.9).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::c_interpreters::program;
use crate::world::{Said, World, python, python_folder, whole};

const SHELL: &str = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
     # executor_id = \"rye/core/runtimes/shell/script\"\n# ///\n";

fn folder(path: &Path) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    path.canonicalize().unwrap()
}

/// A program that leaves its name in `folder` and then does what the machine's does.
fn plant(at: &Path, name: &str, marks: &Path) {
    let mark = marks.join(name);
    let real = ["/usr/local/bin", "/usr/bin", "/bin"].map(|bin| Path::new(bin).join(name));
    let own = python_folder().join(name);
    let real = real.iter().find(|real| real.exists()).unwrap_or(&own);
    let text = format!("#!/bin/sh\n: > '{}'\nexec '{}' \"$@\"\n", mark.display(), real.display());
    program(&at.join(name), &text);
}

fn marks(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

fn with_path(world: &World, at: &Path, args: &[&str], first: &str) -> Said {
    let rest = format!("{}:/usr/local/bin:/usr/bin:/bin", python_folder().display());
    world.rye_env(at, args, b"", &[("PATH", &format!("{first}:{rest}"))])
}

/// A clone that nobody accepted, with programs of its own, and the ways to have them on `PATH`.
fn clone(world: &World, marks: &Path) -> (PathBuf, Vec<String>) {
    let clone = folder(&world.outside().join("clone"));
    folder(&clone.join(".git"));
    folder(&clone.join("src/deep"));
    let bin = folder(&clone.join("node_modules/.bin"));
    for name in ["bash", "python3", "git", "sh", "env"] {
        plant(&bin, name, marks);
    }
    symlink(&bin, world.outside().join("bin")).unwrap();
    // Outside, each program of it a link into the clone; and within, a folder that leads out.
    let links = folder(&world.outside().join("links"));
    for name in ["bash", "python3", "git"] {
        symlink(bin.join(name), links.join(name)).unwrap();
    }
    let ways = [
        bin.display().to_string(),
        format!("{}/", bin.display()),
        format!("{}/src/../node_modules/.bin", clone.display()),
        world.outside().join("bin").display().to_string(),
        links.display().to_string(),
        format!("/proc/self/root{}", bin.display()),
    ];
    (clone, ways.to_vec())
}

/// Each way from one folder here, a relative one from its own; the whole is each from each.
#[test]
fn l01_no_program_of_a_clone_is_started_by_path_from_any_folder_of_it() {
    let world = World::new();
    world.signed_home(".ai/tools/acme/py.py", super::c_interpreters::WHICH_PY);
    world.signed_home(".ai/tools/acme/sh.sh", &format!("{SHELL}echo '{{\"ran\": true}}'\n"));
    let seen = folder(&world.outside().join("marks"));
    let (clone, ways) = clone(&world, &seen);
    let bash = ["execute", "tool:rye/bash", "--json", "-i", "command=echo ran; bash -c true"];
    let calls: [&[&str]; 3] =
        [&bash, &["execute", "tool:acme/py", "--json"], &["execute", "tool:acme/sh", "--json"]];
    let places = [&clone, &clone.join("src"), &clone.join("src/deep")];
    for (place, at) in places.into_iter().enumerate() {
        let relative = ["node_modules/.bin", "../node_modules/.bin", "../../node_modules/.bin"];
        let more = ["", ".", "/proc/self/cwd/node_modules/.bin"];
        let relative = relative.iter().chain(&more).map(|&way| way.to_owned());
        for (number, way) in ways.iter().cloned().chain(relative).enumerate() {
            if number % 3 != place && !whole() {
                continue;
            }
            // What a tool itself finds behind the caller's own links, rye does not see.
            let is_seen = |call: &&&[&str]| !way.ends_with("/links") || *call != &&bash[..];
            for call in calls.iter().filter(is_seen) {
                let said = with_path(&world, at, call, &way);
                assert_eq!(said.status, 0, "{way} {call:?}: {said:?}");
                assert_eq!(marks(&seen), Vec::<String>::new(), "{way} in {}", at.display());
            }
        }
    }
    // From where the folder is nobody's clone, its programs are the machine's.
    let away = folder(&world.outside().join("away"));
    for call in calls {
        let said = with_path(&world, &away, call, &ways[0]);
        assert_eq!(said.status, 0, "{call:?}: {said:?}");
    }
    let mut ran = marks(&seen);
    ran.retain(|name| name != "sh" && name != "env");
    ran.sort();
    assert_eq!(ran, ["bash", "python3"], "the fixture itself is good");
}

#[test]
fn l01_the_path_of_a_child_holds_no_folder_of_the_project_but_one_that_was_let_in() {
    let world =
        World::new().with(".ai/tools/acme/path.sh", &format!("{SHELL}printf %s \"$PATH\"\n"));
    let project = world.project().canonicalize().unwrap();
    let python = python().canonicalize().unwrap();
    let venv = folder(&project.join(".venv/bin"));
    symlink(&python, venv.join("python3")).unwrap();
    let tools = folder(&project.join("tools"));
    let rest = format!("{}:/usr/local/bin:/usr/bin:/bin", python_folder().display());
    let path = |first: &str| {
        let said = with_path(&world, &project, &["execute", "acme/path", "--json"], first);
        said.json()["data"]["stdout"].as_str().unwrap_or_default().to_owned()
    };
    let both = format!("{}:{}", venv.display(), tools.display());
    assert_eq!(path("/opt"), format!("/opt:{rest}"), "the fixture itself is good");
    for first in [&both, "tools", ".", "", "./.venv/bin", "tools/../tools"] {
        assert_eq!(path(first), rest, "{first:?}");
    }
    world.rye(&["trust", "allow-interpreter", ".venv/bin/python3"]).ok();
    assert_eq!(path(&both), format!("{}:{rest}", venv.display()), "the record keeps its folder");
    assert_eq!(path(".venv/bin"), rest, "by its whole name alone");
    fs::write(venv.join("pyvenv.cfg"), "home = /nowhere\n").unwrap();
    assert_eq!(path(&both), rest, "it is not what was let in");
}

#[test]
fn l01_git_is_never_a_program_of_the_clone() {
    let world = World::new();
    let seen = folder(&world.outside().join("marks"));
    let (clone, ways) = clone(&world, &seen);
    fs::remove_dir(clone.join(".git")).unwrap();
    let made = std::process::Command::new("git").arg("init").arg("-q").arg(&clone).status();
    assert!(made.unwrap().success());
    folder(&clone.join(".ai"));
    for at in [&clone, &clone.join("src")] {
        for way in ways.iter().map(String::as_str).chain(["node_modules/.bin", "."]) {
            for args in [["git", "install"], ["git", "check"], ["git", "status"]] {
                let said = with_path(&world, at, &args, way);
                assert!(said.status != 6 && !said.stderr.contains("git.failed"), "{said:?}");
                assert_eq!(marks(&seen), Vec::<String>::new(), "{way} {args:?}: {said:?}");
            }
        }
    }
    let bin = folder(&world.outside().join("own"));
    plant(&bin, "git", &seen);
    let said = with_path(&world, &clone, &["git", "check"], bin.to_str().unwrap());
    assert_eq!(marks(&seen), ["git"], "one of the caller's own is: {said:?}");
}

#[test]
fn l01_the_private_copy_of_a_run_never_lies_in_the_project() {
    let world = World::new();
    let tool = format!("{SHELL}printf %s \"$0\"\n");
    world.signed(".ai/tools/acme/where.sh", &tool);
    world.signed_home(".ai/tools/own/where.sh", &tool);
    let private = |path: &Path| {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        path.display().to_string()
    };
    let lies = |at: &Path, item: &str, runtime: &str| {
        let args = ["execute", item, "--json"];
        let said = world.rye_env(at, &args, b"", &[("XDG_RUNTIME_DIR", runtime)]);
        assert_eq!(said.status, 0, "{runtime}: {said:?}");
        let data: Value = said.json()["data"].clone();
        PathBuf::from(data["stdout"].as_str().unwrap_or_else(|| panic!("{data}")))
    };
    let project = world.project();
    let session = private(&world.outside().join("session"));
    let at = lies(&project, "acme/where", &session);
    assert!(at.starts_with(&session), "a session's own folder is used: {}", at.display());
    let home = world.home().join(".ai/state/pin");
    let run = private(&project.join(".run"));
    symlink(&project, world.outside().join("link")).unwrap();
    let link = format!("{}/.run", world.outside().join("link").display());
    let up = format!("{}/sub/../.run", project.display());
    private(&project.join("sub"));
    for runtime in [&run, &format!("{run}/"), &link, &up, ".run", "/proc/self/cwd/.run"] {
        let at = lies(&project, "acme/where", runtime);
        assert!(at.starts_with(&home), "{runtime}: {}", at.display());
    }
    // Where the work tree around the project holds it; from a subfolder without `.ai`.
    let clone = folder(&world.outside().join("clone"));
    folder(&clone.join(".git"));
    let run = private(&clone.join(".run"));
    let at = lies(&folder(&clone.join("src")), "own/where", &run);
    assert!(at.starts_with(&home), "{}", at.display());
    assert!(!clone.join(".run/rye").exists() && !project.join(".run/rye").exists());
}

#[test]
fn doctor_tells_the_foreign_ground_and_what_was_passed_over() {
    let world = World::new();
    let project = world.project().canonicalize().unwrap();
    let bin = folder(&project.join("bin")).display().to_string();
    let run = folder(&project.join("run")).display().to_string();
    let said = with_path(&world, &project, &["doctor"], &format!("{bin}:."));
    let row = |said: &Said, name: &str, text: &str| {
        let mut lines = said.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|words| words.get(1) == Some(&name) && words.join(" ").contains(text))
    };
    assert_eq!(said.status, 0, "{said:?}");
    assert!(row(&said, "ground", &project.display().to_string()), "{said:?}");
    assert!(row(&said, "PATH", &format!("`{bin}` of PATH is passed over: it lies in")), "{said:?}");
    assert!(row(&said, "PATH", "`.` of PATH is passed over: it is not an absolute"), "{said:?}");
    assert!(!row(&said, "runtime", ""), "{said:?}");
    let env = [("XDG_RUNTIME_DIR", run.as_str())];
    let said = world.rye_env(&project, &["doctor"], b"", &env);
    assert!(row(&said, "runtime", &run) && !row(&said, "PATH", ""), "{said:?}");
}
