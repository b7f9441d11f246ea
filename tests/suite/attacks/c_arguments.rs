//! Attack rows c01, c02, c10, e01: what an argument of a signed item names, and which modules its
//! interpreters load.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::{Attempt, World};
use rye::{Request, RyeBuilder};
use serde_json::json;

const NATIVE: &str =
    "version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\ndescription: x\n";

/// Writes and signs `tool:acme/run` with this `config`.
#[track_caller]
fn native(world: &World, config: &str, more: &str) {
    world.signed(".ai/tools/acme/run.yaml", &format!("{NATIVE}config: {{{config}}}\n{more}"));
}

fn refused() -> Attempt {
    Attempt { code: "plan.unverified_program".into(), status: 6, ran: false, changed: Vec::new() }
}

#[test]
fn c10_what_reads_as_a_file_of_the_project_is_refused_whether_it_is_there_or_not() {
    let world = World::new().with_file(".ai/tools/acme/ok.sh", ": > marker\n");
    native(&world, "command: sh, args: ['{tool_dir}/ok.sh']", "files: [ok.sh]\n");
    world.works("tool:acme/run");
    assert!(world.project().join("marker").exists(), "the fixture itself runs");
    let project = world.project().display().to_string();
    for argument in [
        "x.sh",
        "./x",
        "sub/x",
        "../project/x.sh",
        "{project_path}/x",
        "{project_path}/./sub/../x",
        "{item_dir}/x.sh",
        "{user_space}/.ai/x",
        "--init-file=x.sh",
        "--init-file=./x",
        "-fx.sh",
        "-nf./x",
        "-Isub/lib",
        "@x.args",
        "if=sub/x",
        "a.jar:b.jar",
        "one,sub/x",
        "file:x.mjs",
        &format!("file://{project}/x.mjs"),
        &format!("--import=file://{project}/%78.mjs"),
        &format!("FILE://localhost{project}/x?y"),
        "/proc/self/cwd/x",
        "/proc/self/task/1/cwd/x",
        &format!("/proc/self/root{project}/x"),
        "{project_path}/x y.sh",
        "./x && true",
        "{tool_dir}/ok.sh:sub/x",
    ] {
        native(&world, &format!("command: sh, args: [\"{argument}\"]"), "files: [ok.sh]\n");
        assert_eq!(world.attempt("tool:acme/run"), refused(), "{argument}");
    }
}

#[test]
fn c10_what_reads_as_something_else_is_an_argument_and_so_is_what_the_signer_calls_data() {
    let world = World::new();
    fs::create_dir_all(world.project().join("sub")).unwrap();
    let project = world.project().display().to_string();
    let home = world.home().display().to_string();
    for (argument, got) in [
        ("words", "words"),
        ("--readonly", "--readonly"),
        ("0.5", "0.5"),
        ("v1.2.3", "v1.2.3"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("https://example.com/x.sh", "https://example.com/x.sh"),
        ("--to=https://example.com/x", "--to=https://example.com/x"),
        (".items[].name", ".items[].name"),
        ("+%Y/%m/%d", "+%Y/%m/%d"),
        ("cat sub/x.txt | wc -l", "cat sub/x.txt | wc -l"),
        ("/etc/hostname", "/etc/hostname"),
        (".", "."),
        ("sub/", "sub/"),
        ("out/", "out/"),
        ("{project_path}", project.as_str()),
        ("--root={project_path}", &format!("--root={project}")),
        ("{project_path}/sub/", &format!("{project}/sub/")),
        ("{user_space}", home.as_str()),
    ] {
        native(&world, &format!("command: echo, args: [is, \"{argument}\"]"), "");
        let (status, said) = world.json(&["execute", "tool:acme/run"]);
        let want = json!(format!("is {got}\n"));
        assert_eq!((status, &said["data"]["stdout"]), (0, &want), "{said}");
    }
    // A data file, an output that is not there yet, a name with a slash: the signer says so.
    world.write("config/app.toml", "x = 1\n");
    for argument in ["config/app.toml", "dist/out.tar", "origin/main", "example.com", ".a.b"] {
        native(&world, &format!("command: echo, args: [{argument}]"), "");
        assert_eq!(world.attempt("tool:acme/run"), refused(), "{argument}");
        native(&world, &format!("command: echo, args: [{{data: {argument}}}]"), "");
        let (status, said) = world.json(&["execute", "tool:acme/run"]);
        let want = json!(format!("{argument}\n"));
        assert_eq!((status, &said["data"]["stdout"]), (0, &want), "{said}");
    }
    for argument in ["{data: 7}", "{data: x, more: y}", "{text: x}", "[x]"] {
        native(&world, &format!("command: echo, args: [{argument}]"), "");
        assert_eq!(world.run("tool:acme/run"), (6, "plan.bad_config".into()), "{argument}");
    }
}

#[test]
fn c01_a_file_that_comes_behind_the_check_of_arguments_never_runs() {
    let world = World::new().with_file(".ai/tools/acme/ok.sh", "echo good\n");
    native(&world, "command: bash, args: ['{tool_dir}/ok.sh']", "files: [ok.sh]\n");
    world.works("tool:acme/run");
    native(&world, "command: bash, args: [x.sh]", "");
    let script = world.project().join("x.sh");
    let done = AtomicBool::new(false);
    let vars = [("HOME".into(), world.home().into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).build().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                fs::write(&script, ": > marker\n").unwrap();
                std::thread::sleep(std::time::Duration::from_millis(2));
                fs::remove_file(&script).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        for _ in 0..120 {
            let got = rye.run_json(&Request::new("tool:acme/run"));
            assert_eq!(got["code"], "plan.unverified_program", "{got}");
        }
        done.store(true, Ordering::Release);
    });
    assert!(!world.project().join("marker").exists());
}

#[test]
fn c10_a_folder_that_is_named_like_the_private_one_changes_no_check() {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    for name in ["{private folder}", "{tool_dir}"] {
        let folder = world.outside().join(name);
        fs::create_dir_all(folder.join("scripts")).unwrap();
        let run = |args: &[&str]| world.rye_in(&folder, args, b"");
        assert_eq!(run(&["init"]).status, 0);
        world.let_out();
        let item = |config: &str| {
            fs::create_dir_all(folder.join(".ai/tools/acme")).unwrap();
            let text = format!("{NATIVE}config: {{{config}}}\n");
            fs::write(folder.join(".ai/tools/acme/run.yaml"), text).unwrap();
            assert_eq!(run(&["sign", "tool:acme/run"]).status, 0);
            run(&["execute", "tool:acme/run", "--json"])
        };
        let said = item("command: echo, args: ['{project_path}']");
        assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
        fs::write(folder.join("scripts/x.sh"), ": > marker\n").unwrap();
        let said = item("command: bash, args: ['{project_path}/scripts/x.sh']");
        assert_eq!(said.code(), "plan.unverified_program", "{name}: {said:?}");
        assert!(!folder.join("marker").exists(), "{name}");
    }
}

#[test]
fn e01_a_value_that_looks_like_the_private_folder_is_text() {
    let world = World::new();
    native(&world, "command: echo, args: ['{params_json}', '--p={params_json}']", "");
    for value in ["x", "/{private folder}/../x", "{tool_dir}/../x", "../x.sh", "a/b.sh", "\\u0000"]
    {
        let given = json!({"v": value}).to_string();
        let (status, said) = world.json(&["execute", "tool:acme/run", "--params", &given]);
        let want = format!("{given} --p={given}\n");
        assert_eq!((status, &said["data"]["stdout"]), (0, &json!(want)), "{said}");
    }
}

/// Which programs there are to be tried with.
fn has(program: &str) -> bool {
    let paths = ["/usr/bin", "/usr/local/bin", "/bin"];
    paths.iter().any(|folder| Path::new(folder).join(program).exists())
}

/// What a clone would have loaded: modules of every name and language that the forms below ask for.
const PLANTED: [(&str, &str); 9] = [
    ("json.py", "open('marker', 'w').close()\n"),
    ("json/__init__.py", "open('marker', 'w').close()\n"),
    ("json/tool.py", "open('marker', 'w').close()\n"),
    ("http/server.py", "open('marker', 'w').close()\n"),
    ("sitecustomize.py", "open('marker', 'w').close()\n"),
    ("Foo.pm", "open(my $f, '>', 'marker'); 1;\n"),
    ("set.rb", "File.write('marker', '')\n"),
    ("evil.sh", ": > marker\n"),
    ("evil.mjs", "require('fs').writeFileSync('marker', '')\n"),
];

#[test]
fn c02_no_way_of_starting_an_interpreter_loads_what_lies_in_the_working_directory() {
    let world = World::new();
    let forms = [
        // Harmless: the interpreter's own module is loaded.
        ("command: python3, args: [-m, json.tool]", "ran"),
        ("command: python3, args: [-c, 'import json; print(json.dumps(1))']", "ran"),
        ("command: python3, args: [-B, -c, 'import json, http.client']", "ran"),
        ("command: python3, args: ['-']", "ran"),
        ("command: bash, args: [-c, 'python3 -c \"import json\"']", "ran"),
        ("command: bash, args: [-c, 'echo {} | python3 -m json.tool']", "ran"),
        ("command: env, args: [python3, -c, 'import json']", "ran"),
        ("command: env, args: [-S, 'python3 -m json.tool']", "ran"),
        ("command: bash, args: [-c, 'cd . && python3 -c \"import json\"']", "ran"),
        ("command: perl, args: [-e, 'eval { require Foo }; print 1']", "ran"),
        ("command: ruby, args: [-e, 'require \"set\"; print 1']", "ran"),
        ("command: node, args: [-e, 'require(\"fs\")']", "ran"),
        // Refused by how they read.
        ("command: python3, args: [json.py]", "refused"),
        ("command: python3, args: [./json.py]", "refused"),
        ("command: python3, args: ['{project_path}/json.py']", "refused"),
        ("command: python3, args: [json/tool.py]", "refused"),
        ("command: bash, args: [evil.sh]", "refused"),
        ("command: bash, args: [--rcfile, evil.sh, -i]", "refused"),
        ("command: bash, args: [--init-file=evil.sh, -i]", "refused"),
        ("command: sh, args: [./evil.sh]", "refused"),
        ("command: sh, args: ['{project_path}/evil.sh']", "refused"),
        ("command: sh, args: [/proc/self/cwd/evil.sh]", "refused"),
        ("command: env, args: [bash, evil.sh]", "refused"),
        ("command: node, args: [evil.mjs]", "refused"),
        ("command: node, args: [-r, ./evil.mjs, -e, '1']", "refused"),
        ("command: node, args: [-r./evil.mjs, -e, '1']", "refused"),
        ("command: node, args: [--require=./evil.mjs, -e, '1']", "refused"),
        ("command: node, args: ['--import=file:{project_path}/evil.mjs', -e, '1']", "refused"),
        ("command: node, args: ['--import=file://{project_path}/evil.mjs', -e, '1']", "refused"),
        ("command: node, args: [--import, 'file://{project_path}/evil.mjs', -e, '1']", "refused"),
        ("command: perl, args: [Foo.pm]", "refused"),
        ("command: perl, args: ['-I{project_path}/x', -MFoo, -e, '1']", "refused"),
        ("command: ruby, args: [set.rb]", "refused"),
        ("command: ruby, args: [-r./set.rb, -e, '1']", "refused"),
        ("command: make, args: [-f, evil.mk]", "refused"),
        ("command: make, args: [-fevil.mk]", "refused"),
        ("command: sed, args: [-f, evil.sh]", "refused"),
        ("command: awk, args: [-f, evil.sh]", "refused"),
        ("command: find, args: [., -exec, ./evil.sh, ';']", "refused"),
        ("command: xargs, args: [./evil.sh]", "refused"),
        ("command: nice, args: [./evil.sh]", "refused"),
        ("command: timeout, args: ['5', ./evil.sh]", "refused"),
        ("command: git, args: [-c, core.pager=./evil.sh, log]", "refused"),
    ];
    for (path, text) in PLANTED {
        if !path.starts_with("json/") {
            world.write(path, text);
        }
    }
    for (config, want) in forms {
        let program = config.split([' ', ',']).nth(1).unwrap();
        if !has(program) && program != "python3" {
            continue;
        }
        native(&world, config, "");
        let said = world.rye(&["execute", "tool:acme/run", "--json"]);
        match want {
            "refused" => assert_eq!(said.code(), "plan.unverified_program", "{config}: {said:?}"),
            _ => assert_eq!(said.status, 0, "{config}: {said:?}"),
        }
        assert!(!world.project().join("marker").exists(), "{config}");
    }
    // The attack would work: with the same files, by a tool that says so itself.
    let more = "env_config: {env: {PYTHONSAFEPATH: ''}}\n";
    native(&world, "command: python3, args: [-c, 'import json']", more);
    world.works("tool:acme/run");
    assert!(world.project().join("marker").exists(), "an item may ask for its folder");
}

#[test]
fn c02_a_tool_that_is_no_python_runtime_still_loads_its_own_modules() {
    let world = World::new();
    world.write(".ai/tools/acme/bin/main.py", "import words\nprint(words.said)\n");
    world.write(".ai/tools/acme/bin/words.py", "said = 'good'\n");
    world.write(
        ".ai/tools/acme/bin/prog",
        "#!/usr/bin/env python3\nimport words\nprint(words.said)\n",
    );
    world.write("words.py", "said = 'EVIL'\n");
    let files = "files: ['bin/**']\nexec_files: [bin/prog]\n";
    for config in [
        "command: python3, args: ['{tool_dir}/bin/main.py']",
        "command: python3, args: [.ai/tools/acme/bin/main.py]",
        "command: python3, args: [-m, main], cwd: '{tool_dir}/bin'",
        "command: python3, args: [-c, 'import words; print(words.said)'], cwd: '{tool_dir}/bin'",
        "command: '{tool_dir}/bin/prog'",
    ] {
        native(&world, config, files);
        let (status, got) = world.json(&["execute", "tool:acme/run"]);
        assert_eq!((status, &got["data"]["stdout"]), (0, &json!("good\n")), "{config}: {got}");
    }
}

#[test]
fn l01_what_a_spec_sets_up_is_neither_a_program_nor_a_module() {
    let world = World::new();
    let marker = world.outside().join("marker");
    let spec = |setup: &str, expect: &str| {
        world.write(
            ".ai/tools/acme/run.test.yaml",
            format!("cases:\n  - {{name: a, setup: {setup}, expect: {expect}}}\n"),
        );
        world.rye(&["test"])
    };
    let evil = format!(
        "{{json.py: \"open('{0}', 'w').close()\", evil.sh: 'touch {0}'}}",
        marker.display()
    );
    for (config, expect) in [
        ("command: python3, args: [-m, json.tool]", "{}"),
        ("command: python3, args: [-c, 'import json']", "{}"),
        ("command: bash, args: [-c, 'python3 -c \"import json\"']", "{}"),
        ("command: bash, args: [evil.sh]", "{code: plan.unverified_program}"),
        ("command: bash, args: ['{project_path}/evil.sh']", "{code: plan.unverified_program}"),
        ("command: python3, args: [json.py]", "{code: plan.unverified_program}"),
    ] {
        native(&world, config, "");
        let said = spec("{data.txt: x}", expect);
        assert_eq!(said.status, 0, "the fixture itself is good: {config}: {said:?}");
        let said = spec(&evil, expect);
        assert_eq!(said.status, 0, "{config}: {said:?}");
        assert!(!marker.exists(), "{config}");
    }
}
