//! Rows c03 and c09: interpreters inside a project, found by search, by `PATH` or by a name; and
//! what core 7.6 promises of the blocks that ask for them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{End, World, python, python_folder};

/// Tells which Python runs it.
pub(super) const WHICH_PY: &str = r#"import json
import os
import sys

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "acme"
__tool_description__ = "Tells which Python runs it"

print(json.dumps({"prefix": sys.prefix, "python": os.environ.get("RYE_PYTHON")}))
"#;
pub(super) const WHICH: &str = "tool:acme/which";

const NATIVE: &str =
    "version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\ndescription: x\n";

/// An executable file.
pub(super) fn program(path: &Path, text: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// A program that leaves `evil` in the project and then does what `real` does.
pub(super) fn evil(world: &World, real: &Path) -> String {
    let mark = world.project().join("evil");
    format!("#!/bin/sh\n: > '{}'\nexec '{}' \"$@\"\n", mark.display(), real.display())
}

/// Whether `evil` was left since the last look.
#[track_caller]
pub(super) fn was_evil(world: &World) -> bool {
    fs::remove_file(world.project().join("evil")).is_ok()
}

#[track_caller]
pub(super) fn data(world: &World, item: &str) -> Value {
    let said = world.json(&["execute", item]).ok();
    said["data"].clone()
}

#[track_caller]
pub(super) fn allow(world: &World, path: &Path) {
    world.rye(&["trust", "allow-interpreter", path.to_str().unwrap()]).ok();
}

/// What a dry run says of paths that it passed over.
pub(super) fn passed_over(world: &World, item: &str) -> Vec<(String, String, String)> {
    let (_, said) = world.json(&["execute", item, "--dry-run"]);
    let list = said.get("passed_over").or_else(|| said["data"].get("passed_over"));
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = list.and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(|p| (text(p, "path"), text(p, "why"), text(p, "help"))).collect()
}

/// A real virtual environment of the project.
pub(super) fn venv(world: &World) -> PathBuf {
    let folder = world.project().canonicalize().unwrap().join(".venv");
    let python = python();
    let args = ["-m", "venv", "--without-pip"];
    let made = Command::new(python).args(args).arg(&folder).status().unwrap();
    assert!(made.success());
    folder
}

fn which() -> World {
    World::new().with(".ai/tools/acme/which.py", WHICH_PY)
}

#[test]
fn c03_a_venv_of_the_project_is_used_by_permission_alone() {
    let world = which();
    let before = data(&world, WHICH);
    let venv = venv(&world);
    let python = venv.join("bin/python3");
    assert_eq!(data(&world, WHICH), before, "the venv was used without permission");
    let path = python.to_str().unwrap().to_owned();
    let why = "it lies in the project, and you have not allowed it".to_owned();
    let help = format!("rye trust allow-interpreter {path}");
    assert_eq!(passed_over(&world, WHICH), [(path.clone(), why, help.clone())]);
    for args in [&["execute", WHICH, "--dry-run"][..], &["why", WHICH]] {
        let text = world.rye(args).stdout;
        assert!(text.contains("passed over") && text.contains(&help), "{args:?}: {text}");
    }
    let trace = world.rye(&["execute", WHICH, "--trace"]).stderr;
    assert!(trace.contains(&format!("passed over {path}")), "{trace}");
    allow(&world, Path::new(".venv/bin/python3"));
    let want = json!({"prefix": venv, "python": path});
    assert_eq!(data(&world, WHICH), want, "the venv was allowed and not used");
    let listed = world.rye(&["trust", "list"]).stdout;
    assert!(listed.contains(&path) && listed.contains("allowed"), "{listed}");
    assert!(world.rye(&["doctor"]).stdout.contains(&path));
    world.rye(&["trust", "disallow", ".venv/bin/python3"]).ok();
    assert_eq!(data(&world, WHICH), before, "a permission that was taken back counts");
}

#[test]
fn c03_a_permission_fits_one_state_of_one_file() {
    let world = which();
    let before = data(&world, WHICH);
    let real = python();
    let python = world.project().join(".venv/bin/python3");
    let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", real.display());
    program(&python, &text);
    let cfg = world.project().join(".venv/pyvenv.cfg");
    fs::write(&cfg, "version = 3\n").unwrap();
    let inner = python.canonicalize().unwrap();
    let used = || data(&world, WHICH)["python"] == json!(inner);
    let allowed = || {
        allow(&world, &python);
        assert!(used(), "the fixture itself is good");
    };
    allowed();
    // Same size, other content: the time of the change tells.
    program(&python, &text.replace("exec", "EXEC").replace("EXEC", "exec"));
    assert!(!used(), "a file that was written anew is used");
    let said = passed_over(&world, WHICH);
    assert!(said[0].1.contains("you allowed it, but the file was changed"), "{said:?}");
    assert!(world.rye(&["why", WHICH]).stdout.contains("the file was changed"));
    allowed();
    program(&python, &evil(&world, &real));
    assert!(!used() && !was_evil(&world), "a changed file is used");
    program(&python, &text);
    allowed();
    fs::write(&cfg, "home = /elsewhere\n").unwrap();
    assert!(!used(), "another pyvenv.cfg is used");
    assert!(passed_over(&world, WHICH)[0].1.contains("pyvenv.cfg"));
    allowed();
    fs::rename(&python, world.project().join(".venv/bin/other")).unwrap();
    symlink("other", &python).unwrap();
    assert!(!used(), "a path that leads elsewhere is used");
    let listed = world.rye(&["trust", "list"]).stdout;
    assert!(listed.contains("not used: it leads to another file"), "{listed}");
    fs::remove_file(&python).unwrap();
    assert_eq!(data(&world, WHICH), before);
    assert!(world.rye(&["trust", "list"]).stdout.contains("not used: it is gone"));
}

#[test]
fn c03_a_record_that_is_not_yours_is_none() {
    let world = which();
    let before = data(&world, WHICH);
    let python = program(&world.project().join(".venv/bin/python3"), &evil(&world, &python()));
    allow(&world, &python);
    data(&world, WHICH);
    assert!(was_evil(&world), "the fixture itself is good");
    let folder = world.home().join(".ai/config/keys/interpreters");
    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let good = fs::read_to_string(&record).unwrap();
    let body = good.split_once('\n').unwrap().1;
    let other = World::new();
    let id = format!("config:keys/interpreters/{}", record.file_stem().unwrap().to_str().unwrap());
    let signed =
        crate::world::line(&other.own_key(), &id, "toml", "2026-01-01T00:00:00Z", body.as_bytes());
    for (what, text) in [
        ("unsigned", body.to_owned()),
        ("of another key", format!("# {signed}\n{body}")),
        ("changed", good.replace("size = ", "size = 1")),
        ("empty", String::new()),
    ] {
        fs::write(&record, text).unwrap();
        assert_eq!(data(&world, WHICH), before, "{what}");
        assert!(!was_evil(&world), "a record that is {what} counts");
        assert!(passed_over(&world, WHICH)[0].1.contains("its record cannot be used"), "{what}");
    }
    fs::write(&record, good).unwrap();
    data(&world, WHICH);
    assert!(was_evil(&world));
}

#[test]
fn c03_programs_of_node_modules_are_used_by_permission_alone() {
    let world = World::new();
    let tsx = "env_config:\n  interpreter: {type: node_modules, binary: tsx, var: TSX";
    let tool =
        |fallback: &str| format!("{NATIVE}{tsx}{fallback}}}\nconfig: {{command: '${{TSX}}'}}\n");
    world.signed(".ai/tools/tsx.yaml", &tool(""));
    world.signed(".ai/tools/back.yaml", &tool(", fallback: 'true'"));
    assert_eq!(world.run("tool:tsx"), (6, "plan.program_not_found".into()));
    let binary = world.project().join("node_modules/.bin/tsx");
    program(&binary, &evil(&world, Path::new("/bin/true")));
    world
        .rye(&["execute", "tool:tsx"])
        .fails(6, "plan.program_not_found")
        .warns("rye trust allow-interpreter");
    assert_eq!(world.rye(&["why", "tool:tsx", "--json"]).code(), "plan.program_not_found");
    world.works("tool:back");
    assert!(!was_evil(&world), "it ran without permission");
    allow(&world, &binary);
    for item in ["tool:tsx", "tool:back"] {
        world.works(item);
        assert!(was_evil(&world), "{item}: it was allowed and not used");
    }
}

#[test]
fn c09_a_program_on_path_inside_the_project_is_passed_over() {
    let world = which();
    world.signed(
        ".ai/tools/plain.yaml",
        &format!("{NATIVE}config: {{command: python3, args: [-V]}}\n"),
    );
    let before = data(&world, WHICH);
    let real = python();
    let project = world.project().canonicalize().unwrap();
    let inner = program(&project.join("bin/python3"), &evil(&world, &real));
    // Ways for the project's program to stand on PATH.
    let out = world.outside().join("out");
    fs::create_dir_all(out.join("link")).unwrap();
    symlink(project.join("bin"), out.join("folder")).unwrap();
    symlink(&inner, out.join("link/python3")).unwrap();
    fs::create_dir_all(out.join("venv/bin")).unwrap();
    program(&out.join("venv/bin/python3"), &evil(&world, &real));
    fs::write(out.join("venv/pyvenv.cfg"), format!("home = {}\n", project.join("bin").display()))
        .unwrap();
    // Through the project to a file outside: whoever can change the project can turn the link.
    fs::create_dir_all(out.join("through")).unwrap();
    program(&out.join("far"), &evil(&world, &real));
    symlink(out.join("far"), project.join("turn")).unwrap();
    symlink(project.join("turn"), out.join("through/python3")).unwrap();
    let rest =
        std::env::join_paths([python_folder(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let run = |item: &str, first: &Path| {
        let path = format!("{}:{}", first.display(), rest.to_str().unwrap());
        let said =
            world.rye_env(&world.project(), &["execute", item, "--json"], b"", &[("PATH", &path)]);
        assert_eq!(said.status, 0, "{said:?}");
        said.json()["data"].clone()
    };
    let ways = [
        project.join("bin"),
        out.join("folder"),
        out.join("link"),
        out.join("venv/bin"),
        out.join("through"),
    ];
    for way in &ways {
        assert_eq!(run(WHICH, way), before, "{}", way.display());
        run("tool:plain", way);
        assert!(!was_evil(&world), "{}", way.display());
    }
    for way in &ways {
        allow(&world, &way.join("python3"));
        run("tool:plain", way);
        assert!(was_evil(&world), "{}: it was allowed and not used", way.display());
    }
}

#[test]
fn c09_what_a_projects_venv_would_run_at_its_start_does_not_run() {
    let world = which();
    let before = data(&world, WHICH);
    let venv = venv(&world);
    let mut packages = fs::read_dir(venv.join("lib")).unwrap();
    let packages = packages.next().unwrap().unwrap().path().join("site-packages");
    let mark = world.project().join("evil");
    fs::write(packages.join("x.pth"), format!("import os; open('{}', 'w')\n", mark.display()))
        .unwrap();
    fs::write(packages.join("sitecustomize.py"), format!("open('{}', 'w')\n", mark.display()))
        .unwrap();
    let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
    let folder = python_folder().display();
    let path = format!("{path}:{folder}");
    let run = || {
        let env = [("PATH", path.as_str()), ("VIRTUAL_ENV", venv.to_str().unwrap())];
        let said = world.rye_env(&world.project(), &["execute", WHICH, "--json"], b"", &env).ok();
        said.json()["data"]["prefix"].clone()
    };
    assert_ne!(run(), json!(venv));
    assert!(!was_evil(&world), "the project's start-up files ran");
    allow(&world, &venv.join("bin/python3"));
    assert_eq!(run(), json!(venv));
    assert!(was_evil(&world), "the fixture itself is good");
    assert_ne!(before["prefix"], json!(venv));
}

#[test]
fn a_path_of_the_project_that_an_item_names_outright_is_refused_whatever_was_allowed() {
    let world = World::new();
    let inner = program(&world.project().join("run"), "#!/bin/sh\necho 1\n");
    for (name, command) in [("relative", "./run"), ("absolute", inner.to_str().unwrap())] {
        world.signed(
            &format!(".ai/tools/{name}.yaml"),
            &format!("{NATIVE}config: {{command: '{command}'}}\n"),
        );
        world.refused(&format!("tool:{name}"), "plan.unverified_program", 6);
        allow(&world, &inner);
        world.refused(&format!("tool:{name}"), "plan.unverified_program", 6);
    }
}

#[test]
fn nothing_sets_the_interpreters_variable_but_rye() {
    let world = which();
    let good = data(&world, WHICH)["python"].clone();
    assert_eq!(good, json!(python()));
    let own = WHICH_PY.replace(
        "__category__",
        "ENV = [\"RYE_PYTHON\"]\nENV_CONFIG = {\"env\": {\"RYE_PYTHON\": \"/bin/false\"}}\n__category__",
    );
    world.signed(".ai/tools/acme/own.py", &own);
    world.write(".env", "RYE_PYTHON=/bin/false\n");
    let args =
        ["execute", "tool:acme/own", "--json", "--params", r#"{"RYE_PYTHON": "/bin/false"}"#];
    let said = world.rye_env(&world.project(), &args, b"", &[("RYE_PYTHON", "/bin/false")]);
    assert_eq!(said.json()["data"]["python"], good, "{said:?}");
}

#[test]
fn a_command_that_tells_the_interpreter_is_for_user_and_system_items_only() {
    let world = World::new();
    let tell = program(
        &world.outside().join("tell"),
        "#!/bin/sh\npwd > \"$HOME/asked\"\n[ -n \"$RYE_RUN_ID\" ] || exit 1\n\
         echo /bin/echo\necho /bin/false\n",
    );
    let block = format!(
        "env_config:\n  interpreter: {{type: command, command: ['{}'], var: IT}}\n",
        tell.display()
    );
    let tool = format!("{NATIVE}{block}config: {{command: '${{IT}}', args: [hello]}}\n");
    world.signed_home(".ai/tools/mine.yaml", &tool);
    let (status, said) = world.json(&["execute", "tool:mine"]);
    assert_eq!((status, &said["data"]["stdout"]), (0, &json!("hello\n")), "{said}");
    let asked = world.home().join("asked");
    assert_eq!(fs::read_to_string(&asked).unwrap(), "/\n", "it was not asked from the top folder");
    fs::remove_file(&asked).unwrap();
    world.signed(".ai/tools/projects.yaml", &tool);
    world.refused("tool:projects", "plan.bad_config", 6);
    assert!(!asked.exists(), "a project's item had a program run");
    for (what, text) in [
        ("a name", "echo echo"),
        ("a relative path", "echo ./echo"),
        ("nothing", ":"),
        ("a failure", "echo /bin/echo; exit 1"),
    ] {
        program(&tell, &format!("#!/bin/sh\n{text}\n"));
        assert_eq!(world.run("tool:mine"), (6, "plan.program_not_found".into()), "{what}");
    }
}

#[test]
fn an_interpreter_block_is_read_strictly_and_the_nearest_link_wins() {
    let world = World::new();
    let bad = format!("{NATIVE}env_config: {{interpreter: {{type: venv_python, vnev: x}}}}\n");
    world.write(".ai/tools/bad.yaml", &bad);
    let said = world.rye(&["sign", "tool:bad"]);
    assert_ne!(said.status, 0);
    assert!(format!("{said:?}").contains("/env_config/interpreter/vnev"), "{said:?}");
    // The tool's own block looks elsewhere; the runtime's variable stays.
    let own = WHICH_PY.replace(
        "__category__",
        "ENV_CONFIG = {\"interpreter\": {\"type\": \"system_binary\", \"binary\": \"other-python\"}}\n__category__",
    );
    world.signed(".ai/tools/acme/which.py", &own);
    assert_eq!(world.run(WHICH), (6, "plan.program_not_found".into()));
    let other = world.outside().join("other");
    let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", python().display());
    let other = program(&other.join("other-python"), &text);
    let path = format!("{}:/usr/bin:/bin", other.parent().unwrap().display());
    let said =
        world.rye_env(&world.project(), &["execute", WHICH, "--json"], b"", &[("PATH", &path)]);
    assert_eq!(said.json()["data"]["python"], json!(other), "{said:?}");
}
