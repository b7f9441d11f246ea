//! What of a server's files is copied and signed with its items.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{SERVER_PY, call, import, imported, world};

#[test]
fn a_hidden_file_of_the_command_line_is_not_copied_and_that_is_told() {
    let world = world();
    world.write("conf/.env", "TOKEN=1\n");
    world.write("conf/open.json", "{}\n");
    let said =
        import(&world, &["--dry-run", "python3", "server.py", "conf/.env", "conf/open.json"]);
    let got = said.json();
    let files: Vec<_> = got["items"][0]["files"].as_array().unwrap().iter().collect();
    let from: Vec<_> = files.iter().map(|file| file["from"].as_str().unwrap()).collect();
    assert_eq!(from, ["conf/open.json", "server.py"], "{said:?}");
    assert!(got["remarks"].to_string().contains("`conf/.env` is hidden"), "{said:?}");
}

#[test]
fn a_file_below_a_hidden_folder_is_hidden_too() {
    let world = world();
    world.write(".aws/credentials", "swordfish\n");
    world.write("conf/.private/key.json", "{}\n");
    world.write("conf/open.json", "{}\n");
    let here = world.project().join(".aws/credentials").display().to_string();
    let hidden = [".aws/credentials", "./.aws/credentials", "conf/.private/key.json", &here];
    let said = import(
        &world,
        &[&["--yes", "python3", "server.py", "conf/open.json"], &hidden[..]].concat(),
    );
    let got = said.json();
    assert_eq!(said.status, 0, "{said:?}");
    let files: Vec<_> = got["items"][0]["files"].as_array().unwrap().iter().collect();
    let from: Vec<_> = files.iter().map(|file| file["from"].as_str().unwrap()).collect();
    assert_eq!(from, ["conf/open.json", "server.py"], "{said:?}");
    for path in hidden {
        assert!(
            got["remarks"].to_string().contains(&format!("`{path}` is hidden")),
            "{path}: {said:?}"
        );
    }
    let copied = world.shell("grep -rl swordfish .ai || true");
    assert_eq!(copied, "", "{said:?}");
    // Named on its own it is told as well, and nothing is imported.
    let said = import(&world, &["--file", ".aws/credentials", "python3", "server.py"]);
    assert!(said.json()["error"].as_str().unwrap().contains("is hidden"), "{said:?}");
}

#[test]
fn a_server_of_several_files_starts_from_its_copies_or_says_what_is_missing() {
    let world = world();
    world.write("several.py", "from shop import words\nimport server\n");
    world.write("shop/words.py", "PRICE = 1\n");
    world.write("shop/.secret", "hush");
    world.write("shop/__pycache__/words.pyc", "made by a run");
    let command = ["python3", "several.py"];
    let alone =
        world.rye(&[&["import", "mcp", "--yes", "--category", "shop"], &command[..]].concat());
    assert_eq!(alone.status, 7, "{alone:?}");
    assert!(alone.stderr.contains("No module named 'shop'"), "{alone:?}");
    assert!(alone.stderr.contains("name what else it loads with `--file`"), "{alone:?}");
    assert!(!world.project().join(".ai/tools/shop").exists());
    world.write("noisy.py", "print('no JSON', flush=True)\ninput()\n");
    let noisy = import(&world, &["python3", "noisy.py"]).fails_with("mcp.server_failed");
    assert_eq!(noisy.json()["data"]["stderr_tail"], "no JSON\n", "{noisy:?}");
    let with = ["--yes", "--file", "shop", "--file", "./server.py"];
    import(&world, &[&with[..], &command[..]].concat()).ok();
    let beside = world.project().join(".ai/tools/shop/shop.files");
    let names = fs::read_dir(beside.join("shop")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["words.py"]);
    let said = call(&world, "add", &json!({"a": 1, "b": 2}));
    assert_eq!(said.json()["data"]["total"], json!(3), "{said:?}");
    fs::write(beside.join("shop/words.py"), "PRICE = 2\n").unwrap();
    call(&world, "add", &json!({"a": 1, "b": 2})).fails_with("verify.dependency");
    for (file, want) in [("none.py", "there is no `none.py` here"), ("../home", "`../home`")] {
        let said = import(&world, &["--file", file, "python3", "server.py"]);
        assert_eq!(said.status, 7, "{said:?}");
        assert!(said.json()["error"].as_str().unwrap().contains(want), "{said:?}");
    }
}

#[test]
fn a_script_that_stays_where_it_is_is_shown_to_its_sandbox_with_its_package() {
    let world = world();
    let elsewhere = world.outside().join("elsewhere");
    let package = elsewhere.join("package");
    fs::create_dir_all(package.join("bin")).unwrap();
    fs::write(package.join("bin/server.py"), SERVER_PY).unwrap();
    let script = package.join("bin/server.py").display().to_string();
    let reads = |script: &str| {
        let said = import(&world, &["--dry-run", "python3", script]).json();
        let text = said["items"][0]["text"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned();
        text.lines().find_map(|line| line.strip_prefix("    read: ")).map(str::to_owned)
    };
    let shown = |folder: &Path| Some(format!("[\"{{project_path}}\", \"{}\"]", folder.display()));
    assert_eq!(reads(&script), shown(&package.join("bin")));
    fs::write(package.join("pyproject.toml"), "").unwrap();
    assert_eq!(reads(&script), shown(&package));
    let modules = elsewhere.join("node_modules/deep/node_modules/x");
    fs::create_dir_all(&modules).unwrap();
    fs::copy(&script, modules.join("server.py")).unwrap();
    let script = modules.join("server.py").display().to_string();
    assert_eq!(reads(&script), shown(&elsewhere.join("node_modules")));
    // One of this folder is copied, however it is named.
    let own = world.project().join("server.py").display().to_string();
    let said = import(&world, &["--dry-run", "python3", &own]).json();
    let text = said["items"][0]["text"].as_str().unwrap();
    assert!(text.contains("integrity: pinned") && text.contains("{tool_dir}/shop.files/server.py"));
    assert_eq!(reads("server.py"), None);
}

#[test]
fn what_a_server_said_last_stands_before_why_it_failed() {
    let world = imported();
    let said = world.rye(&["execute", "shop/die"]);
    let (last, why) = (said.stderr.find("no more"), said.stderr.find("error[mcp.server_failed]"));
    assert!(last.is_some() && last < why, "{said:?}");
}

#[test]
fn a_file_below_a_folder_that_the_server_may_write_is_data_and_never_a_copy() {
    let world = world();
    world.write("data/f.txt", "one\n");
    world.write("other/g.txt", "one\n");
    let here = world.project().join("data/new.db").display().to_string();
    let words = ["python3", "server.py", "data/f.txt", "--db=data/x.db", &here, "other/g.txt"];
    let said = import(&world, &[&["--dry-run", "--write", "data"], &words[..]].concat());
    let got = said.json();
    let text = got["items"][0]["text"].as_str().unwrap_or_else(|| panic!("{said:?}"));
    for part in [
        "{\"data\":\"{project_path}/data/f.txt\"}",
        "{\"data\":\"--db={project_path}/data/x.db\"}",
        &format!("{{\"data\":\"{here}\"}}"),
        "\"{tool_dir}/shop.files/other/g.txt\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let files: Vec<_> = got["items"][0]["files"].as_array().unwrap().iter().collect();
    let from: Vec<_> = files.iter().map(|file| file["from"].as_str().unwrap()).collect();
    assert_eq!(from, ["other/g.txt", "server.py"], "the script is one wherever it lies: {said:?}");
    // What is copied is told.
    assert!(got["remarks"].to_string().contains("`other/g.txt` is copied and signed"), "{said:?}");
    assert!(!got["remarks"].to_string().contains("data/f.txt"), "{said:?}");
}

#[test]
fn a_server_reads_what_its_data_file_holds_at_each_call() {
    let world = world();
    let reads = "import server, sys\nserver.call = lambda name, arguments: {'content': \
                 [{'type': 'text', 'text': open(sys.argv[1]).read()}]}\n";
    let main = "for line in sys.stdin:\n    said = server.answer(__import__('json').loads(line))\n    \
                if said is not None:\n        server.say(said)\n";
    let text = SERVER_PY.replace("for line in sys.stdin:", "for line in []:");
    world.write("server.py", text);
    world.write("reads.py", format!("{reads}{main}"));
    world.write("data/f.txt", "one");
    let args =
        ["--yes", "--write", ".", "--file", "server.py", "python3", "reads.py", "data/f.txt"];
    import(&world, &args).ok();
    for now in ["one", "two"] {
        world.write("data/f.txt", now);
        let said = call(&world, "say", &json!({}));
        assert_eq!(said.json()["data"]["content"][0]["text"], now, "{said:?}");
    }
}

#[test]
fn the_last_words_of_a_server_name_the_file_that_the_author_has() {
    let world = world();
    let text = SERVER_PY.replace("sys.stderr.write(\"no more\\n\")", "sys.stderr.write(__file__)");
    assert_ne!(text, SERVER_PY);
    world.write("server.py", text);
    import(&world, &["--yes", "python3", "server.py"]).ok();
    let got = call(&world, "die", &json!({})).json();
    let tail = got["data"]["stderr_tail"].as_str().unwrap();
    assert!(tail.starts_with(".ai/tools/shop/") && tail.ends_with("/server.py"), "{got}");
    assert!(world.project().join(tail).is_file(), "{got}");
}
