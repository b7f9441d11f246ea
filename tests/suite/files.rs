//! Tools of several files (core 7.8, 7.9): one signature covers the tree, and the verified copies
//! run.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::world::items::native;
use crate::world::{End, World};
use serde_json::{Value, json};

/// A Python tool with a package beside it.
pub const PACKAGE_PY: &str = r#"# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/python/script"
# category = "acme/words"
# description = "Counts words"
# files = ["lib/**/*.py", "data/*.json"]
# ///
import json
import pathlib
import sys

from lib import words
from lib.deep.more import shout

params = json.load(sys.stdin)
here = pathlib.Path(__file__).parent
stop = json.loads((here / "data" / "stop.json").read_text())
print(json.dumps({"count": words.count(params["text"], stop), "loud": shout("x"), "name": __name__}))
"#;

/// The tool and the files that it lists, unsigned.
pub fn package(world: &World) {
    world.write(".ai/tools/acme/words/count.py", PACKAGE_PY);
    world.write(".ai/tools/acme/words/lib/__init__.py", "");
    let words =
        "def count(text, stop):\n    return len([w for w in text.split() if w not in stop])\n";
    world.write(".ai/tools/acme/words/lib/words.py", words);
    world.write(".ai/tools/acme/words/lib/deep/__init__.py", "");
    let more = "from ..words import count\n\ndef shout(text):\n    return text.upper() + str(count(text, []))\n";
    world.write(".ai/tools/acme/words/lib/deep/more.py", more);
    world.write(".ai/tools/acme/words/data/stop.json", "[\"the\"]\n");
}

pub const COUNT: &str = "tool:acme/words/count";

#[track_caller]
pub fn counts(world: &World) {
    let (status, got) = world.json(&["execute", COUNT, "-i", "text=the big world"]);
    let want = json!({"count": 2, "loud": "X1", "name": "__main__"});
    assert_eq!((status, &got["data"]), (0, &want), "{got}");
}

#[test]
fn a_python_package_is_signed_as_one_and_runs_from_its_verified_copies() {
    let world = World::new();
    package(&world);
    let said = world.rye(&["sign", "tool:acme/**"]).ok();
    assert_eq!(
        said.stdout.lines().filter(|line| line.starts_with("signed")).count(),
        1,
        "{said:?}"
    );
    let text = fs::read_to_string(world.project().join(".ai/tools/acme/words/count.py")).unwrap();
    assert!(text.contains("# \"lib/**/*.py\" = \"pattern\"\n"), "{text}");
    assert!(text.contains("# \"lib/deep/more.py\" = \""), "{text}");
    counts(&world);
    // Signed again nothing changes, and the files are no items of their own.
    let said = world.rye(&["sign", "--all"]);
    assert_eq!(said.stdout, "up to date  tool:acme/words/count\n", "{said:?}");
    let listed = world.rye(&["list"]).stdout;
    assert!(listed.contains("tool:acme/words/count") && !listed.contains("words/lib"), "{listed}");
    world.rye(&["verify", "--all", "--ci"]).ok();
    let (_, why) = world.json(&["why", COUNT]);
    assert_eq!(why["status"], "success", "{why}");
}

#[test]
fn a_changed_missing_extra_or_linked_file_is_refused_and_named() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    counts(&world);
    let lib = world.project().join(".ai/tools/acme/words/lib");
    let words = lib.join("words.py");
    let good = fs::read(&words).unwrap();
    let elsewhere = world.outside().join("elsewhere.py");
    fs::write(&elsewhere, &good).unwrap();
    let rows: [(&str, &dyn Fn(), &str); 6] = [
        ("one byte", &|| fs::write(&words, [&good[..], b"#"].concat()).unwrap(), "was changed"),
        ("gone", &|| fs::remove_file(&words).unwrap(), "`lib/words.py` is missing"),
        ("extra", &|| fs::write(lib.join("more.py"), "").unwrap(), "`lib/more.py` is not listed"),
        (
            "a link",
            &|| {
                fs::remove_file(&words).unwrap();
                symlink(&elsewhere, &words).unwrap();
            },
            "is a link",
        ),
        (
            "set-id",
            &|| fs::set_permissions(&words, fs::Permissions::from_mode(0o4755)).unwrap(),
            "set-id",
        ),
        (
            "a folder",
            &|| {
                fs::remove_file(&words).unwrap();
                fs::create_dir(&words).unwrap();
            },
            "`lib/words.py` is",
        ),
    ];
    for (what, attack, says) in rows {
        attack();
        let attempt = world.attempt(COUNT);
        assert_eq!((attempt.code.as_str(), attempt.status), ("verify.dependency", 4), "{what}");
        assert!(attempt.changed.is_empty() && !attempt.ran, "{what}: {attempt:?}");
        let said = world.rye(&["execute", COUNT]);
        assert!(said.stderr.contains(says), "{what}: {said:?}");
        assert!(said.stderr.contains("look at these files"), "{what}: {said:?}");
        // Every door that admits the tool says so, the dry run and dev mode too.
        for args in [&["execute", COUNT, "--dry-run"][..], &["verify", COUNT], &["show", COUNT]] {
            let said = world.rye_env(&world.project(), args, b"", &[("RYE_DEV_MODE", "1")]);
            assert_eq!(said.code(), "verify.dependency", "{what} {args:?}: {said:?}");
        }
        let said = world.rye(&["why", COUNT]);
        assert!(said.stdout.contains("verify.dependency"), "{what}: {said:?}");
        // Who looks at the change is told of the file too.
        let said = world.rye(&["diff", COUNT]);
        assert!(said.stdout.contains(says) && said.stdout.contains("are not:"), "{what}: {said:?}");
        // One finding, not one more for each file of the tool.
        let said = world.rye(&["verify", "--all"]);
        let codes: Vec<_> = said.stderr.lines().filter(|line| line.starts_with("error[")).collect();
        assert_eq!((codes.len(), said.status), (1, 4), "{what}: {said:?}");
        if words.is_dir() {
            fs::remove_dir(&words).unwrap();
        } else {
            drop(fs::remove_file(&words));
        }
        drop(fs::remove_file(lib.join("more.py")));
        fs::write(&words, &good).unwrap();
        counts(&world);
    }
}

#[test]
fn what_no_signature_covers_is_never_imported() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    let bad = "open('marker', 'w').close()\nraise SystemExit('planted')\n";
    for path in ["json.py", "words.py", "pathlib.py", ".ai/tools/acme/words/json.py"] {
        world.write(path, bad);
    }
    world.write(".ai/tools/acme/words/sitecustomize.py", bad);
    world.write(".ai/tools/acme/words/count/__init__.py", bad);
    // Byte code in the place where Python would look for it.
    let compile = "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[2], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    let cache = ".ai/tools/acme/words/lib/__pycache__";
    fs::create_dir_all(world.project().join(cache)).unwrap();
    let planted = world.shell(&format!(
        "printf \"open('marker', 'w').close()\\n\" > bad.py
         for tag in $(python3 -c 'import sys; print(sys.implementation.cache_tag)'); do
           python3 -c \"{compile}\" bad.py {cache}/words.$tag.pyc && ls {cache}
         done"
    ));
    assert!(planted.contains(".pyc"), "{planted}");
    counts(&world);
    assert!(!world.project().join("marker").exists(), "a planted module was imported");
    // Nor what an unsigned sibling offers under a name of its own.
    world.write(".ai/tools/acme/words/extra.py", "x = 1\n");
    let text = PACKAGE_PY.replace("from lib import words", "import extra\nfrom lib import words");
    world.write(".ai/tools/acme/words/count.py", text);
    world.rye(&["sign", COUNT]);
    let (status, got) = world.json(&["execute", COUNT, "-i", "text=x"]);
    assert_eq!(status, 1, "{got}");
    let told = got["data"]["stderr_tail"].as_str().unwrap_or_default();
    assert!(told.contains("No module named 'extra'"), "{got}");
}

#[test]
fn a_module_of_the_tool_comes_before_an_installed_one_of_its_name() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    counts(&world);
    // A Python of its own whose installed packages hold a `lib` and a `more` as well.
    let venv = world.outside().join("venv");
    let made = world.shell(&format!(
        "set -e; mkdir -p {venv}/bin
         real=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
         ln -s $real {venv}/bin/python3
         echo \"home = $(dirname $real)\" > {venv}/pyvenv.cfg
         site=$({venv}/bin/python3 -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')
         mkdir -p $site/lib && echo \"raise SystemExit('installed')\" > $site/lib/__init__.py
         echo 'name = \"installed\"' > $site/other.py
         {venv}/bin/python3 -I -c 'import other; print(other.name)'; {venv}/bin/python3 -I -c 'import lib'",
        venv = venv.display()
    ));
    assert_eq!(made, "installed\ninstalled\n", "the packages are installed there");
    let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
    let run = |item: &str| {
        let args = ["execute", item, "-i", "text=the big world", "--json"];
        let said = world.rye_env(&world.project(), &args, b"", &[("PATH", &path)]);
        (said.status, said.json())
    };
    let (status, got) = run(COUNT);
    assert_eq!((status, &got["data"]["loud"]), (0, &json!("X1")), "{got}");
    // What only is installed is found too, also by a tool that has its name.
    let text = PACKAGE_PY.replace("import json\n", "import json\nimport other\n");
    let text = text.replace("shout(\"x\")", "other.name");
    world.write(".ai/tools/acme/words/other.py", text);
    world.rye(&["sign", "tool:acme/words/other"]);
    let (status, got) = run("tool:acme/words/other");
    assert_eq!((status, &got["data"]["loud"]), (0, &json!("installed")), "{got}");
}

#[test]
fn signing_again_takes_in_new_files_and_drops_those_that_went() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    world.write(".ai/tools/acme/words/lib/new.py", "x = 1\n");
    fs::remove_file(world.project().join(".ai/tools/acme/words/data/stop.json")).unwrap();
    world.write(".ai/tools/acme/words/data/other.json", "[]");
    world.rye(&["sign", COUNT]).ok();
    let text = String::from_utf8(world.read(".ai/tools/acme/words/count.py")).unwrap();
    assert!(text.contains("lib/new.py") && text.contains("other.json"), "{text}");
    assert!(!text.contains("stop.json\" = "), "{text}");
}

#[test]
fn files_that_cannot_be_listed_are_not_signed() {
    let world = World::new();
    let tool = |files: &str| native(&format!("config: {{command: /bin/true}}\nfiles: {files}\n"));
    world.write(".ai/tools/acme/data.txt", "1");
    world.signed(".ai/tools/acme/x.yaml", &tool("[data.txt]"));
    world.works("tool:acme/x");
    world.write(".ai/tools/acme/seen.py", "x = '\u{202e}'\n");
    world.write(".ai/tools/acme/run.sh", "set -e\r\nfalse\r\n");
    symlink("data.txt", world.project().join(".ai/tools/acme/link.txt")).unwrap();
    for (files, says) in [
        ("[../x]", "has an empty segment, `.` or `..`"),
        ("[/etc/passwd]", "is absolute"),
        ("[none.txt]", "`none.txt` is missing"),
        ("[link.txt]", "is a link"),
        ("['*.txt']", "`link.txt` is a link"),
        ("[x.yaml]", "`x.yaml` is the tool itself"),
        ("[seen.py]", "`seen.py:1`: holds the invisible character U+202E"),
        ("[run.sh]", "`run.sh:1`: its lines end in a carriage return"),
        ("['*.txt', 'pages/*.md']", "`pages/*.md` matches no file"),
        ("[data.txt]\nexec_files: ['bin/*']", "`bin/*` matches no file"),
        ("['a**.txt']", "stands for whole folders"),
        ("{'{a,b}.txt': pattern}", "`{a,b}.txt` is no pattern"),
    ] {
        world.write(".ai/tools/acme/x.yaml", tool(files));
        let said = world.rye(&["sign", "tool:acme/x"]);
        assert_ne!(said.status, 0, "{files}: {said:?}");
        assert!(said.stderr.contains(says), "{files}: {said:?}");
    }
}

#[test]
fn a_name_in_brackets_is_a_name_and_what_an_editor_leaves_is_no_file() {
    let world = World::new();
    let listed = "config: {command: cat, args: ['{tool_dir}/pages/[slug].txt']}\n\
                  files: ['pages/[slug].txt', 'lib/**']\n";
    world.write(".ai/tools/acme/pages/[slug].txt", "slug");
    world.write(".ai/tools/acme/lib/a.py", "a");
    world.signed(".ai/tools/acme/x.yaml", &native(listed));
    assert_eq!(world.json(&["run", "acme/x"]).ok()["data"]["stdout"], "slug");
    let lib = world.project().join(".ai/tools/acme/lib");
    for name in [".a.py.swp", "a.py~", "#a.py#", ".DS_Store"] {
        fs::write(lib.join(name), "").unwrap();
    }
    symlink("ann@host.1234", lib.join(".#a.py")).unwrap();
    world.works("tool:acme/x");
    let said = world.json(&["sign", "acme/x"]).ok();
    assert_eq!(said["items"][0]["files"], json!([]), "{said}");
    fs::write(lib.join("b.py"), "").unwrap();
    world.refused("tool:acme/x", "verify.dependency", 4);
}

#[test]
fn a_program_among_the_files_runs_as_its_pinned_copy() {
    let world = World::new();
    let script = "#!/bin/sh\nprintf '{\"path\": \"%s\"}' \"$0\"\n";
    for (name, command) in [("dir", "{tool_dir}/bin/run"), ("path", ".ai/tools/acme/bin/run")] {
        let path = world.write(".ai/tools/acme/bin/run", script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let tool = |files: &str| native(&format!("config: {{command: '{command}'}}\n{files}"));
        let item = format!("tool:acme/{name}");
        let file = format!(".ai/tools/acme/{name}.yaml");
        world.signed(&file, &tool("files: [bin/run]\nexec_files: [bin/*]\n"));
        let got = world.json(&["execute", &item]).ok();
        let ran = got["data"]["path"].as_str().unwrap_or_default();
        assert!(
            ran.ends_with("tool/bin/run") && !ran.starts_with(&*world.project().to_string_lossy())
        );
        // Unlisted it is nobody's word.
        if name == "path" {
            world.signed(&file, &tool(""));
            assert_eq!(world.run(&item), (6, "plan.unverified_program".into()));
        }
    }
}

#[test]
fn an_argument_that_names_a_listed_file_gets_its_pinned_copy() {
    let world = World::new();
    world.write(".ai/tools/acme/say.sh.txt", "echo \"{\\\"from\\\": \\\"$0\\\"}\"\n");
    let tool = |files: &str| {
        native(&format!("config: {{command: sh, args: ['.ai/tools/acme/say.sh.txt']}}\n{files}"))
    };
    world.signed(".ai/tools/acme/say.yaml", &tool("files: [say.sh.txt]\n"));
    let got = world.json(&["execute", "tool:acme/say"]).ok();
    let from = got["data"]["from"].as_str().unwrap_or_default();
    assert!(from.ends_with("tool/say.sh.txt") && from.starts_with('/'), "{got}");
    world.signed(".ai/tools/acme/say.yaml", &tool(""));
    assert_eq!(world.run("tool:acme/say"), (6, "plan.unverified_program".into()));
}

#[test]
fn an_anchor_above_the_tool_makes_its_modules_importable() {
    let world = World::new();
    world.write(".ai/tools/acme/app/pyproject.toml", "");
    world.write(".ai/tools/acme/app/core/__init__.py", "name = 'core'\n");
    let tool = r#"# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/python/script"
# description = "x"
# files = ["core/**"]
# [anchor]
# root = "tool_parent"
# markers_any = ["pyproject.toml"]
# cwd = "{anchor_path}"
# ///
import json, os
from core import name
print(json.dumps({"name": name, "there": sorted(os.listdir("."))}))
"#;
    world.signed(".ai/tools/acme/app/cli/main.py", tool);
    assert_eq!(
        world.json(&["execute", "tool:acme/app/cli/main"]).ok()["data"],
        json!({"name": "core", "there": ["cli", "core"]})
    );
    // Without a marker an `auto` anchor does not count, and says so in the trace.
    fs::remove_file(world.project().join(".ai/tools/acme/app/pyproject.toml")).unwrap();
    let got = world
        .json(&["execute", "tool:acme/app/cli/main", "--trace"])
        .fails(1, "execute.tool_failed");
    let anchor = got["trace"].as_array().and_then(|t| t.iter().find(|e| e["step"] == "anchor"));
    assert_eq!(anchor.map(|e| &e["counts"]), Some(&Value::Bool(false)), "{got}");
}

#[test]
fn an_anchor_may_begin_at_the_project_but_only_for_its_own_tools() {
    let world = World::new();
    world.write("src/pack/__init__.py", "name = 'pack'\n");
    world.write("src/pack/secret.py", "x = 1\n");
    let tool = r#"# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/python/script"
# description = "x"
# files = ["src/pack/__init__.py"]
# [anchor]
# root = "project_path"
# mode = "always"
# [anchor.env_paths.PYTHONPATH]
# prepend = ["{anchor_path}/src"]
# ///
import json, importlib.util as util
from pack import name
print(json.dumps({"name": name, "secret": util.find_spec("pack.secret") is not None}))
"#;
    world.signed(".ai/tools/acme/own.py", tool);
    assert_eq!(
        world.json(&["execute", "tool:acme/own"]).ok()["data"],
        json!({"name": "pack", "secret": false})
    );
    // A folder that is not the run's own is no place for modules.
    let open = tool.replace("{anchor_path}/src", "{project_path}/src");
    world.signed(".ai/tools/acme/own.py", &open);
    assert_eq!(world.run("tool:acme/own"), (6, "plan.bad_config".into()));
    let open = tool.replace("{anchor_path}/src", "{anchor_path}/../..");
    world.signed(".ai/tools/acme/own.py", &open);
    assert_eq!(world.run("tool:acme/own"), (6, "plan.bad_config".into()));
    world.write_home(".ai/tools/acme/mine.py", tool);
    world
        .rye(&["sign", "tool:acme/mine", "--space", "user"])
        .warns("begins at a folder that it may not use");
}

#[test]
fn verify_deps_asks_that_every_module_in_scope_is_covered() {
    let world = World::new();
    package(&world);
    let deps =
        "# files = [\"lib/**/*.py\", \"data/*.json\"]\n# [verify_deps]\n# extensions = [\".py\"]\n";
    let text = PACKAGE_PY.replace("# files = [\"lib/**/*.py\", \"data/*.json\"]\n", deps);
    world.write(".ai/tools/acme/words/count.py", text);
    world.rye(&["sign", COUNT]);
    counts(&world);
    let world_trace = world.json(&["execute", COUNT, "-i", "text=x", "--trace"]).1;
    let event = world_trace["trace"].as_array().and_then(|t| {
        t.iter().find(|event| event["step"] == "verify_deps").map(|event| event["files"].clone())
    });
    assert_eq!(event, Some(json!(4)), "{world_trace}");
    // Neither listed nor signed: an unsigned item.
    world.write(".ai/tools/acme/words/loose.py", "x = 1\n");
    world.refused(COUNT, "verify.unsigned", 4);
    // With a line of its own it is covered, and importable.
    world.rye(&["sign", "tool:acme/words/loose"]);
    counts(&world);
    // What is no item can only be listed.
    world.write(".ai/tools/acme/words/bad name.py", "x = 1\n");
    world.refused(COUNT, "verify.dependency", 4);
    fs::remove_file(world.project().join(".ai/tools/acme/words/bad name.py")).unwrap();
    // What the block does not ask about stays as it is.
    world.write(".ai/tools/acme/words/notes.txt", "x");
    world.write(".ai/tools/acme/words/__pycache__/x.py", "x");
    counts(&world);
}

#[test]
fn a_header_hides_no_config() {
    let world = World::new();
    let config = ".ai/config/execution/execution.yaml";
    let tool = &native("config: {command: 'true'}\n");
    let listing = format!(
        "{tool}anchor: {{root: project_path, mode: always}}\nfiles: ['{config}', '.ai/tools/acme/p.sh']\n"
    );
    world.write(config, "defaults: {timeout: 5}\n");
    world.write(".ai/tools/acme/p.sh", "echo\n");
    world.signed(".ai/tools/acme/list.yaml", &listing);
    let said = world.rye(&["verify", "--all", "--ci", "--json"]);
    assert_eq!(said.status, 4, "{said:?}");
    assert!(said.stdout.contains("config:execution/execution"), "{said:?}");
    assert!(!said.stdout.contains("\"tool:acme/p\""), "a listed tool file is covered: {said:?}");
}

#[test]
fn signing_names_each_file_that_a_pattern_adds_and_what_changed_or_went() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    let files = |said: &Value| said["items"][0]["files"].clone();
    let (_, said) = world.json(&["sign", COUNT]);
    assert_eq!(files(&said), json!([]), "untouched: {said}");
    world.write(".ai/tools/acme/words/data/kept.json", "[]");
    world.rye(&["sign", COUNT]).ok();
    let lib = ".ai/tools/acme/words/lib";
    world.write(&format!("{lib}/planted.py"), "");
    world.write(&format!("{lib}/words.py"), "def count(text, stop):\n    return 2\n");
    fs::remove_file(world.project().join(".ai/tools/acme/words/data/stop.json")).unwrap();
    let (_, said) = world.json(&["sign", "--check", COUNT]);
    let want = json!([
        {"path": "lib/planted.py", "change": "added"},
        {"path": "lib/words.py", "change": "changed"},
        {"path": "data/stop.json", "change": "gone"},
    ]);
    assert_eq!(files(&said), want, "{said}");
    let said = world.rye(&["sign", COUNT]).stdout;
    for line in ["  added  lib/planted.py", "  changed  lib/words.py", "  gone  data/stop.json"] {
        assert!(said.lines().any(|said| said == line), "{said}");
    }
}

#[test]
fn a_pattern_looks_only_where_its_files_can_lie() {
    let world = World::new();
    // More than a walk may meet, beside the one folder that is meant.
    let many = world.project().join(".ai/tools/acme/target");
    fs::create_dir_all(&many).unwrap();
    for at in 0..20_100 {
        fs::write(many.join(format!("{at}")), "").unwrap();
    }
    world.write(".ai/tools/acme/lib/a.txt", "x");
    let tool =
        &native("config: {command: cat, args: ['{tool_dir}/lib/a.txt']}\nfiles: ['lib/**']\n");
    world.signed(".ai/tools/acme/x.yaml", tool);
    world.works("tool:acme/x");
}

#[test]
fn whoever_names_a_file_of_a_tool_is_told_of_the_tool() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]).ok();
    let (words, path) = ("tool:acme/words/lib/words", ".ai/tools/acme/words/lib/words.py");
    for verb in ["run", "verify", "why", "show", "lock"] {
        for named in [words, path] {
            let said = world.rye(&[verb, named]);
            let told = [said.stdout.as_str(), &said.stderr].concat();
            let is_file = format!("`{words}` is a file of `{COUNT}`, and not an item by itself");
            for want in [&is_file, "error[verify.unsigned]", "rye run tool:acme/words/count"] {
                assert!(told.contains(want), "{verb} {named}: {want}: {said:?}");
            }
            assert!(told.contains("`rye sign tool:acme/words/count`"), "{verb}: {said:?}");
            assert!(!told.contains("rye sign tool:acme/words/lib"), "{verb} {named}: {said:?}");
        }
    }
    let (_, got) = world.json(&["run", words]);
    assert_eq!(
        (&got["code"], &got["data"]["listed_by"]),
        (&json!("verify.unsigned"), &json!(COUNT))
    );
    // A file that can be no item has only a path.
    let data = ".ai/tools/acme/words/data/stop.json";
    let said = world.rye(&["run", data]).fails_with("cli.not_an_item");
    let is_file = format!("`{data}` is a file of `{COUNT}`, and not an item by itself");
    assert!(said.stderr.contains(&is_file), "{said:?}");
    assert!(said.stderr.contains("`rye sign tool:acme/words/count`"), "{said:?}");
    // What no tool lists is signed by itself, as ever.
    world.write(".ai/tools/acme/words/alone.py", "print(1)\n");
    world.rye(&["run", "acme/words/alone"]).warns("run `rye sign tool:acme/words/alone`");
    // Nobody reads the headers of a project that is not accepted.
    let other = World::new();
    let said = other
        .rye(&["--project", world.project().to_str().unwrap(), "run", words])
        .fails_with("verify.unsigned");
    assert!(!said.stderr.contains("is a file of"), "{said:?}");
}

/// A key may be let in for one tool; what lies beside that tool as its file needs no more.
#[test]
fn a_file_of_a_tool_is_covered_also_where_its_signer_may_sign_that_tool_alone() {
    let ann = World::new();
    let tool = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
                # executor_id = \"rye/core/runtimes/shell/script\"\n# files = [\"g.sh\"]\n# ///\necho 1\n";
    ann.write(".ai/tools/acme/g.sh", "echo g\n");
    let signed = ann.signed(".ai/tools/acme/with.sh", tool);
    let bert = World::new();
    bert.write_home(".ai/tools/acme/g.sh", "echo g\n");
    bert.write_home(".ai/tools/acme/with.sh", fs::read(signed).unwrap());
    fs::write(bert.outside().join("ann.pem"), ann.rye(&["keys", "export"]).stdout).unwrap();
    bert.rye(&["trust", "add", "../ann.pem", "--items", "tool:acme/with"]).ok();
    bert.works("acme/with");
    bert.rye(&["verify"]).ok();
    bert.rye(&["verify", "--all", "--ci"]).ok();
    // It is no more than that file: as an item it is refused, and changed it takes the tool with it.
    bert.write_home(".ai/tools/acme/g.sh", "echo other\n");
    bert.refused("acme/with", "verify.dependency", 4);
    assert_eq!(bert.rye(&["verify", "--all", "--ci"]).status, 4);
}
