//! Attack rows c01, c02, c04, c10, d02, d12, f12: between the check and the start, and around it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::files::{COUNT, counts, package};
use crate::world::items::native;
use crate::world::{Attempt, End, MARKER_SH, World, whole};
use rye::{Request, RyeBuilder};
use serde_json::json;

/// A shell tool that prints its own answer and that of a file beside it.
const PAIR_SH: &str = r#"#!/bin/sh
# /// rye
# version = "1.0.0"
# executor_id = "rye/core/runtimes/shell/script"
# description = "x"
# files = ["part.txt"]
# ///
read -r part < "${0%/*}/part.txt"
echo "{\"tool\": \"good\", \"part\": \"$part\"}"
"#;

/// How often the attacker replaces a file.
const SWAPS: usize = 1_500;

#[test]
fn c01_a_writer_that_races_with_the_check_never_gets_its_bytes_run() {
    let world = World::new();
    let part = world.write(".ai/tools/acme/part.txt", "good\n");
    let tool = world.signed(".ai/tools/acme/pair.sh", PAIR_SH);
    world.works("tool:acme/pair");
    let files = [tool, part].map(|path| {
        let good = fs::read(&path).unwrap();
        let evil = String::from_utf8(good.clone()).unwrap().replace("good", "EVIL").into_bytes();
        (path, good, evil)
    });
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let vars = [("HOME".into(), world.home().into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).build().unwrap();
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while swaps.load(Ordering::Relaxed) < SWAPS {
                race(&files, swaps.fetch_add(1, Ordering::Relaxed));
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let got = rye.run_json(&Request::new("tool:acme/pair"));
            match got["status"].as_str() {
                Some("success") => {
                    assert_eq!(got["data"], json!({"tool": "good", "part": "good"}), "{got}");
                    ran += 1;
                }
                _ => {
                    let code = got["code"].as_str().unwrap_or_default();
                    let known = ["verify.", "resolve.not_found", "parse."];
                    assert!(known.iter().any(|layer| code.starts_with(layer)), "{got}");
                    refused += 1;
                }
            }
        }
    });
    assert!(ran > 0 && refused > 0, "the race was none: {ran} ran, {refused} refused");
    world.works("tool:acme/pair");
}

/// One replacement and its undoing: by rename, or in place, of one file or the other.
fn race(files: &[(std::path::PathBuf, Vec<u8>, Vec<u8>)], round: usize) {
    let (path, good, evil) = &files[round % files.len()];
    let put = |bytes: &[u8]| {
        if round % 4 < 2 {
            let beside = path.with_extension("new");
            fs::write(&beside, bytes).unwrap();
            fs::rename(&beside, path).unwrap();
        } else {
            fs::write(path, bytes).unwrap();
        }
    };
    put(evil);
    // Long enough for runs to begin on either side of the swap.
    std::thread::sleep(std::time::Duration::from_micros(200));
    put(good);
    std::thread::sleep(std::time::Duration::from_micros(if round.is_multiple_of(8) {
        4_000
    } else {
        200
    }));
}

#[test]
fn c02_a_module_that_was_replaced_is_refused_and_one_that_was_planted_never_imported() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    counts(&world);
    let planted = "open('marker', 'w').close()\n";
    let folder = ".ai/tools/acme/words";
    for path in ["json.py", &format!("{folder}/json.py"), &format!("{folder}/pathlib/__init__.py")]
    {
        world.write(path, planted);
    }
    counts(&world);
    assert!(!world.project().join("marker").exists());
    let words = world.project().join(folder).join("lib/words.py");
    let good = fs::read(&words).unwrap();
    fs::write(&words, planted).unwrap();
    assert_eq!(world.attempt(COUNT), refused("verify.dependency"));
    fs::write(&words, good).unwrap();
    counts(&world);
}

fn refused(code: &str) -> Attempt {
    let status = if code.starts_with("plan.") { 6 } else { 4 };
    Attempt { code: code.into(), status, ran: false, changed: Vec::new() }
}

/// A shell tool that says which value it has for a name that it declares.
fn asks(field: &str, name: &str) -> String {
    let tool = MARKER_SH.replace("# version", &format!("# {field} = [\"{name}\"]\n# version"));
    tool.replace("echo '{\"ran\": true}'", &format!("echo \"\\\"${{{name}-unset}}\\\"\""))
}

#[test]
fn an_accepted_projects_env_file_gives_its_own_tools_what_they_declare() {
    let world = World::new()
        .with(".ai/tools/acme/ask.sh", &asks("env", "ACME_URL"))
        .with(".ai/tools/acme/secret.sh", &asks("secrets", "ACME_TOKEN"))
        .with(".ai/tools/acme/none.sh", &asks("x-env", "ACME_URL"));
    let data = |item: &str| world.json(&["execute", item]).1["data"].clone();
    assert_eq!(data("acme/ask"), "unset");
    world.refused("tool:acme/secret", "plan.missing_secret", 6);
    world.write(".env", "ACME_URL='$HOME/x'\nexport ACME_TOKEN=t\nOTHER=1\n");
    assert_eq!(data("acme/ask"), "$HOME/x", "literally");
    assert_eq!(data("acme/secret"), "t");
    assert_eq!(data("acme/none"), "unset", "only what is declared");
    let said =
        world.rye_env(&world.project(), &["execute", "acme/ask"], b"", &[("ACME_URL", "host")]);
    assert_eq!(said.stdout, "host\n", "the host's value comes first");
    let (_, got) = world.json(&["execute", "acme/ask", "--trace"]);
    let told = got["trace"].as_array().unwrap().iter().find(|e| e["contributed_by"] == ".env");
    assert_eq!(told.map(|event| &event["keys"]), Some(&json!(["ACME_URL"])), "{got}");
    assert!(!got["trace"].to_string().contains("$HOME/x"), "{got}");
    world.write(".env", "ACME_URL\n");
    world.rye(&["execute", "acme/ask"]).fails(6, "plan.bad_env_file").warns(".env:1");
    assert_eq!(data("acme/none"), "unset", "a file that nobody needs is not read");
}

#[test]
fn c04_loader_names_in_a_projects_env_file_are_refused_by_name() {
    let world = World::new();
    let names = [
        "LD_PRELOAD",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "RYE_PYTHON",
        "GIT_SSH_COMMAND",
        "PERL5LIB",
        "PERLLIB",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "OPENSSL_CONF",
        "CLASSPATH",
        "JAVA_TOOL_OPTIONS",
        "ZDOTDIR",
        "RUBYOPT",
        "LUA_PATH",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "GLIBC_TUNABLES",
        "IFS",
        "ENV",
    ];
    for name in names {
        let file = format!(".ai/tools/acme/{}.sh", name.to_lowercase());
        world.signed(&file, &asks("env", name));
        let item = format!("tool:acme/{}", name.to_lowercase());
        world.works(&item);
        world.write(".env", format!("{name}=/tmp/evil\n"));
        assert_eq!(world.attempt(&item), refused("plan.refused_variable"), "{name}");
        let said = world.rye(&["execute", &item]);
        assert!(said.stderr.contains(&format!("`{name}`")), "{name}: {said:?}");
        fs::remove_file(world.project().join(".env")).unwrap();
        world.works(&item);
    }
    // Of the fixed list the host has a value, and the project's counts for nothing.
    world.signed(".ai/tools/acme/path.sh", &asks("env", "PATH"));
    let before = world.json(&["execute", "acme/path"]).1["data"].clone();
    world.write(
        ".env",
        "PATH=/tmp/evil\nHOME=/tmp/evil\nLD_PRELOAD=/tmp/evil.so\nRYE_SYSTEM_SPACE=.\n",
    );
    assert_eq!(world.json(&["execute", "acme/path"]).1["data"], before);
}

#[test]
fn d12_a_projects_env_file_and_config_change_nothing_for_a_users_tool() {
    let world = World::new();
    world.signed_home(".ai/tools/acme/mine.sh", &asks("env", "API_BASE_URL"));
    world.write(".env", "API_BASE_URL=http://evil.example\n");
    assert_eq!(world.json(&["execute", "acme/mine"]).ok()["data"], "unset");
    let limit = |world: &World| {
        world.json(&["execute", "acme/mine", "--dry-run"]).1["plan"]["timeout_ms"].clone()
    };
    assert_eq!(limit(&world), 30_000);
    world.signed(".ai/config/execution/execution.yaml", "defaults: {timeout: 3000}\n");
    assert_eq!(limit(&world), 30_000, "a project raises no limit");
}

#[test]
fn d02_nothing_of_a_project_that_is_not_accepted_is_interpreted() {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    world.signed_home(".ai/tools/acme/mine.sh", &asks("env", "ACME_URL"));
    // A fixture that another person accepted and signed, cloned here.
    let other = World::new();
    other.signed(".ai/config/execution/execution.yaml", "defaults: {timeout: 1}\n");
    world.write(
        ".ai/config/execution/execution.yaml",
        other.read(".ai/config/execution/execution.yaml"),
    );
    world.write(".ai/config/rye/policy.yaml", "allow_shadow: [rye/bash]\n");
    world.write(".ai/config/rye/file-types.yaml", "sh: {comment: '%', header: block}\n");
    world.write(".env", "ACME_URL=evil\nnot a line\n");
    assert_eq!(world.json(&["execute", "acme/mine"]).ok()["data"], "unset");
    let (_, got) = world.json(&["execute", "acme/mine", "--dry-run"]);
    assert_eq!(got["plan"]["timeout_ms"], 30_000, "{got}");
    // Once it is accepted, its config counts, and must verify.
    world.rye(&["trust", "project"]).ok();
    world.rye(&["execute", "acme/mine", "--json"]).fails_with("verify.untrusted");
}

#[test]
fn c10_a_command_or_an_argument_that_no_signature_covers_is_refused() {
    let world = World::new();
    let native = |config: &str| native(&format!("config: {{{config}}}\n"));
    let script = "#!/bin/sh\n: > marker\n";
    for path in ["x", "x.py", ".ai/tools/acme/x.sh.txt"] {
        let file = world.write(path, script);
        fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let absolute = world.project().join("x").display().to_string();
    let link = world.outside().join("link.sh");
    std::os::unix::fs::symlink(&absolute, &link).unwrap();
    world.signed(".ai/tools/acme/run.yaml", &native("command: 'true'"));
    world.works("tool:acme/run");
    for config in [
        "command: ./x".to_owned(),
        format!("command: {absolute}"),
        "command: sh, args: [x.py]".into(),
        "command: sh, args: ['./x']".into(),
        "command: sh, args: [.ai/tools/acme/x.sh.txt]".into(),
        "command: sh, args: ['{project_path}/x']".into(),
        "command: sh, args: ['{item_dir}/x.sh.txt']".into(),
        format!("command: sh, args: ['{absolute}']"),
        format!("command: sh, args: ['{}']", link.display()),
    ] {
        world.signed(".ai/tools/acme/run.yaml", &native(&config));
        assert_eq!(world.attempt("tool:acme/run"), refused("plan.unverified_program"), "{config}");
    }
}

#[test]
fn f12_a_secret_never_reaches_an_argument_a_command_or_a_folder() {
    let world = World::new().env("CANARY", "canary-5f1d");
    let tool = |config: &str| native(&format!("secrets: [CANARY]\nconfig: {{{config}}}\n"));
    world.signed(".ai/tools/acme/run.yaml", &tool("command: cat, input_data: '${CANARY}'"));
    let (status, got) = world.json(&["execute", "acme/run"]);
    assert_eq!((status, &got["data"]["stdout"]), (0, &json!("canary-5f1d")), "{got}");
    for config in [
        "command: echo, args: ['${CANARY}']",
        "command: echo, args: ['a-${CANARY:-x}-b']",
        "command: '${CANARY}'",
        "command: echo, cwd: '/tmp/${CANARY}'",
    ] {
        world.signed(".ai/tools/acme/run.yaml", &tool(config));
        let said = world.rye(&["execute", "acme/run", "--json", "--trace", "-vv"]);
        assert_eq!((said.code().as_str(), said.status), ("plan.secret_in_argv", 6), "{config}");
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(!all.contains("canary-5f1d"), "{config}: {all}");
    }
    // Nor by way of a variable that is made of it.
    let tool =
        tool("command: echo, args: ['${MADE}']") + "env_config: {env: {MADE: 'x${CANARY}'}}\n";
    world.signed(".ai/tools/acme/run.yaml", &tool);
    assert_eq!(world.attempt("tool:acme/run"), refused("plan.secret_in_argv"));
}

#[test]
fn nothing_of_a_run_stays_in_the_folder_of_pinned_copies() {
    let world = World::new();
    package(&world);
    world.rye(&["sign", COUNT]);
    counts(&world);
    let left = |folder: &Path| fs::read_dir(folder).map(Iterator::count).unwrap_or_default();
    assert_eq!(left(&world.home().join(".ai/state/pin")), 0);
}

#[test]
fn c10_no_way_leads_out_of_the_folder_of_verified_files() {
    crate::world::NODE.needed();
    let world = World::new();
    let tool = |more: &str| native(&format!("{more}\n"));
    world.write("evil.sh", "#!/bin/sh\n: > marker\n");
    world.shell(
        "chmod +x evil.sh; mkdir -p '{tool_x}' '{runtime_lib}'
         cp evil.sh '{tool_x}/'; cp evil.sh '{runtime_lib}/'",
    );
    world.signed(".ai/tools/acme/run.yaml", &tool("config: {command: 'true'}"));
    world.works("tool:acme/run");
    for (config, code) in [
        ("config: {command: '{tool_dir}/../../../../../../project/evil.sh'}", "plan.bad_config"),
        ("config: {command: sh, args: ['{tool_dir}/../../x/evil.sh']}", "plan.bad_config"),
        ("config: {command: sh, args: ['../../evil.sh'], cwd: '{tool_dir}'}", "plan.bad_config"),
        (
            "env_config: {env: {A: '{tool_dir}/..'}}\nconfig: {command: sh, args: ['${A}/x']}",
            "plan.bad_config",
        ),
        (
            "env_config: {env: {A: '{tool_dir}'}}\nconfig: {command: sh, args: ['${A}/../x']}",
            "plan.bad_config",
        ),
        ("config: {command: '{tool_x}/evil.sh'}", "plan.unverified_program"),
        ("config: {command: '{runtime_lib}/evil.sh'}", "plan.bad_config"),
        (
            "config: {command: sh, args: ['evil.sh'], cwd: '{tool_dir}/../../../..'}",
            "plan.bad_config",
        ),
        (
            "config: {command: sh, args: ['${RYE_PIN}/../../evil.sh', '{tool_path}']}",
            "plan.bad_config",
        ),
        (
            "env_config: {env: {UP: '../../..'}}\nconfig: {command: '{tool_dir}/${UP}/evil.sh'}",
            "plan.bad_config",
        ),
        (
            "env_config: {env: {LIB: '{tool_dir}/..'}}\nconfig: {command: sh, args: [x]}",
            "plan.bad_config",
        ),
        ("config: {command: sh, args: ['--init-file=./evil.sh']}", "plan.unverified_program"),
        ("config: {command: node, args: ['-revil.sh']}", "plan.unverified_program"),
        ("config: {command: sed, args: [-nf./evil.sh]}", "plan.unverified_program"),
        ("config: {command: '{tool_dir}/nope'}", "plan.bad_config"),
        ("config: {command: '{tool_path}'}", "plan.bad_config"),
        ("config: {command: sh, args: [/proc/self/cwd/evil.sh]}", "plan.unverified_program"),
        (
            "anchor: {mode: always, env_paths: {A: {append: ['{tool_dir}/${HOME}']}}}\n\
             config: {command: 'true'}",
            "plan.bad_config",
        ),
    ] {
        world.signed(".ai/tools/acme/run.yaml", &tool(config));
        assert_eq!(world.attempt("tool:acme/run"), refused(code), "{config}");
    }
    // Also when rye is called from a folder below the project.
    world.signed(
        ".ai/tools/acme/run.yaml",
        &tool("config: {command: sh, args: [/proc/self/cwd/evil.sh]}"),
    );
    fs::create_dir_all(world.project().join("sub")).unwrap();
    world
        .rye_in(&world.project().join("sub"), &["execute", "tool:acme/run"], b"")
        .fails_with("plan.unverified_program");
}

#[test]
fn c01_a_listed_file_behind_a_short_option_is_its_copy() {
    let world = World::new();
    world.write(".ai/tools/acme/lib/x.sed", "1s/.*/good/p\n");
    world.signed(
        ".ai/tools/acme/sed.yaml",
        &native(
            "config: {command: sed, args: [-nf.ai/tools/acme/lib/x.sed]}\nfiles: [lib/x.sed]\n",
        ),
    );
    let (_, got) = world.json(&["execute", "tool:acme/sed"]);
    assert_eq!(got["data"]["stdout"], "good", "{got}");
    let (_, got) = world.json(&["execute", "tool:acme/sed", "--dry-run"]);
    let args = got["plan"]["args"].to_string();
    assert!(args.contains("-nf") && !args.contains("-nf.ai/"), "{got}");
    world.write(".ai/tools/acme/lib/x.sed", "1s/.*/EVIL/p\n");
    assert_eq!(world.run("tool:acme/sed"), (4, "verify.dependency".into()));
}

/// 100 runs here; the whole is 1,500.
#[test]
fn c01_a_listed_file_that_goes_and_comes_is_always_its_copy() {
    let world = World::new();
    let listed = world.write(".ai/tools/acme/lib/x.txt", "good\n");
    world.signed(
        ".ai/tools/acme/cat.yaml",
        &native("config: {command: cat, args: ['.ai/tools/acme/lib/x.txt']}\nfiles: [lib/x.txt]\n"),
    );
    let (_, got) = world.json(&["execute", "tool:acme/cat"]);
    assert_eq!(got["data"]["stdout"], "good\n", "{got}");
    let done = AtomicBool::new(false);
    let vars = [("HOME".into(), world.home().into()), ("PATH".into(), "/usr/bin:/bin".into())];
    let rye = RyeBuilder::new().vars(vars).cwd(world.project()).build().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                for (bytes, wait) in [(Some("good\n"), 60), (None, 30), (Some("EVIL\n"), 60)] {
                    match bytes {
                        Some(bytes) => {
                            let beside = listed.with_extension("new");
                            fs::write(&beside, bytes).unwrap();
                            fs::rename(&beside, &listed).unwrap();
                        }
                        None => fs::remove_file(&listed).unwrap(),
                    }
                    std::thread::sleep(std::time::Duration::from_micros(wait));
                }
            }
        });
        for _ in 0..if whole() { 1_500 } else { 100 } {
            let got = rye.run_json(&Request::new("tool:acme/cat"));
            let answer = got["data"]["stdout"].as_str();
            assert!(answer.is_none_or(|text| text == "good\n"), "{got}");
        }
        done.store(true, Ordering::Release);
    });
}

#[test]
fn what_the_env_file_gives_is_kept_out_of_folders_and_commands_whatever_its_name() {
    let world = World::new();
    let tool = |more: &str| native(&format!("env: [TMPDIR]\nconfig: {{command: pwd{more}}}\n"));
    world.signed(".ai/tools/acme/run.yaml", &tool(", cwd: '${TMPDIR:-/}'"));
    let (_, got) = world.json(&["execute", "acme/run"]);
    assert_eq!(got["data"]["stdout"], "/\n", "{got}");
    world.write(".env", "TMPDIR=/etc\n");
    assert_eq!(world.attempt("tool:acme/run"), refused("plan.secret_in_argv"));
}

#[test]
fn c10_a_file_that_is_named_like_a_place_stops_no_tool() {
    let world = World::new().with(".ai/tools/acme/sh.sh", &crate::tools::shell("echo ran"));
    let (_, fine) = world.json(&["execute", "tool:acme/sh"]);
    assert_eq!(fine["data"]["stdout"], "ran\n", "{fine}");
    for name in ["{tool_path}", "{private folder}"] {
        world.write(name, "x");
    }
    let (_, got) = world.json(&["execute", "tool:acme/sh"]);
    assert_eq!(got["data"]["stdout"], "ran\n", "{got}");
}

#[test]
fn c10_a_clone_without_an_ai_folder_decides_nothing_either() {
    let world = World::new();
    let clone = world.outside().join("clone");
    let script = "#!/bin/sh\n: > marker\n";
    fs::create_dir_all(clone.join("bin")).unwrap();
    for name in ["x.sh", "bin/mytool"] {
        fs::write(clone.join(name), script).unwrap();
    }
    world.shell(&format!("chmod +x {0}/x.sh {0}/bin/mytool", clone.display()));
    let tool = |config: &str| native(&format!("{config}\n"));
    let path = format!("{}/bin:/usr/bin:/bin", clone.display());
    for (config, code) in [
        ("config: {command: 'true'}", ""),
        ("config: {command: ./x.sh}", "plan.unverified_program"),
        ("config: {command: sh, args: [x.sh]}", "plan.unverified_program"),
        ("config: {command: mytool}", "plan.program_not_found"),
    ] {
        world.signed_home(".ai/tools/acme/run.yaml", &tool(config));
        let mut command = world.command(&["execute", "tool:acme/run", "--json"]);
        let output = command.current_dir(&clone).env("PATH", &path).output().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["code"].as_str().unwrap_or_default(), code, "{config}: {said}");
        assert!(!clone.join("marker").exists(), "{config}");
    }
}

#[test]
fn c10_a_link_of_the_project_on_the_way_decides_nothing() {
    let world = World::new();
    let outside = world.outside();
    fs::create_dir_all(outside.join("evil")).unwrap();
    fs::write(outside.join("evil/prog"), "#!/bin/sh\n: > marker\n").unwrap();
    let link = |from: &str, to: std::path::PathBuf| {
        std::os::unix::fs::symlink(to, outside.join(from)).unwrap();
    };
    let hop = world.project().join("hop");
    std::os::unix::fs::symlink(outside.join("evil"), &hop).unwrap();
    std::os::unix::fs::symlink(outside.join("evil/prog"), world.project().join("hopfile")).unwrap();
    link("straight", outside.join("evil/prog"));
    link("by-folder", hop);
    link("by-file", world.project().join("hopfile"));
    world.shell(&format!("chmod +x {}/evil/prog", outside.display()));
    let run = |command: &str| {
        let text = native(&format!("config: {{command: '{}/{command}'}}\n", outside.display()));
        world.signed(".ai/tools/acme/run.yaml", &text);
        world.attempt("tool:acme/run")
    };
    assert_ne!(run("straight"), refused("plan.unverified_program"));
    for command in ["by-folder/prog", "by-file"] {
        assert_eq!(run(command), refused("plan.unverified_program"), "{command}");
    }
}

#[test]
fn c09_a_script_that_asks_env_for_its_interpreter_gets_one_that_may_be_used() {
    let world = World::new().with_file(".ai/tools/acme/bin/prog", "#!/usr/bin/env hello\n");
    world.shell("mkdir -p venv/bin ../machine; chmod +x .ai/tools/acme/bin/prog");
    for (folder, text) in [("venv/bin", "project"), ("../machine", "machine")] {
        world.write(&format!("{folder}/hello"), format!("#!/bin/sh\necho {text} $*\n"));
    }
    world.shell("chmod +x venv/bin/hello ../machine/hello");
    world.signed(
        ".ai/tools/acme/run.yaml",
        &native("config: {command: '{tool_dir}/bin/prog', args: [more]}\nfiles: [bin/prog]\nexec_files: [bin/prog]\n"),
    );
    let project = world.project().display().to_string();
    let run = |path: &str| {
        let args = ["execute", "tool:acme/run", "--json"];
        world.rye_env(&world.project(), &args, b"", &[("PATH", path)])
    };
    let outside = world.outside().display();
    let said = run(&format!("{project}/venv/bin:{outside}/machine:/usr/bin:/bin"));
    let json = said.json();
    let told = json["data"]["stdout"].as_str().unwrap_or_default();
    assert!(told.starts_with("machine ") && told.ends_with("/tool/bin/prog more\n"), "{json}");
    run(&format!("{project}/venv/bin:/usr/bin:/bin")).fails_with("plan.program_not_found");
}
