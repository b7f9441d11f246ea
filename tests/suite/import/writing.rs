//! What is copied, overwritten and signed, and what is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::{DB_QUERY_JS, SPEC, config, import, put, world, written};
use crate::world::{End, MARKER_SH, World};

#[test]
fn nothing_is_overwritten_unless_it_is_asked_for() {
    crate::world::NODE.needed();
    let world = world();
    let (status, _) = import(&world, "bare.yaml", &["--yes"]);
    assert_eq!(status, 0, "the fixture itself is good");
    let before = world.shell("find .ai -type f -exec sha256sum {} + | sort");
    let (status, said) = import(&world, "bare.yaml", &["--yes"]);
    assert_eq!((status, said["code"].as_str()), (4, Some("import.exists")), "{said}");
    assert_eq!(world.shell("find .ai -type f -exec sha256sum {} + | sort"), before);
    // A file in the place of a copy counts as well, before anything is written.
    let path = ".ai/tools/shop/db_query.files/tools/db-query";
    world.write(path, "mine");
    let (status, said) = import(&world, "bare.yaml", &["--yes", "--category", "shop"]);
    assert_eq!((status, said["place"]["path"].as_str()), (4, Some(path)), "{said}");
    assert!(!world.project().join(".ai/tools/shop/sentiment_check.yaml").exists());

    put(&world, "tools/db-query", &DB_QUERY_JS.replace(">= least", "< least"));
    fs::rename(config(&world, "evals/tone.sh"), config(&world, "evals/tune.sh")).unwrap();
    put(&world, "bare.yaml", &SPEC.replace("tone.sh", "tune.sh"));
    let said = import(&world, "bare.yaml", &["--yes", "--force"]).ok();
    let left = ".ai/tools/imported/evals/tone.files/evals/tone.sh";
    assert_eq!(said["left_over"], json!([left]), "what belongs to nothing now is named");
    let (status, said) = world.json(&["execute", "imported/db_query", "-i", "least=20"]);
    assert_eq!((status, &said["data"]["orders"]), (0, &json!([1])), "{said}");

    // An item in another language is never replaced, nor is a link.
    world.write(".ai/tools/mine/db_query.sh", MARKER_SH);
    let (_, said) = import(&world, "bare.yaml", &["--yes", "--force", "--category", "mine"]);
    assert_eq!(said["place"]["path"], ".ai/tools/mine/db_query.sh", "{said}");
    fs::create_dir_all(world.project().join(".ai/tools/tied/evals")).unwrap();
    let link = world.project().join(".ai/tools/tied/evals/tone.files");
    symlink(world.outside(), link).unwrap();
    let (status, said) = import(&world, "bare.yaml", &["--yes", "--force", "--category", "tied"]);
    assert_eq!((status, said["code"].as_str()), (4, Some("space.symlink")), "{said}");
    assert!(!world.outside().join("evals").exists());
}

#[test]
fn what_lies_outside_of_the_configuration_s_folder_is_not_copied_and_that_is_said() {
    let world = world();
    let outside = world.outside().join("secret.txt");
    fs::write(&outside, "secret").unwrap();
    symlink("../secret.txt", config(&world, "link.txt")).unwrap();
    symlink("..", config(&world, "up")).unwrap();
    let args =
        ["../secret.txt", &outside.display().to_string(), "link.txt", "./up/secret.txt", "tools"];
    let args = args.map(|arg| format!("'{arg}'")).join(", ");
    // What names nothing is an argument like any other.
    let text = format!(
        "spec: {{evals: {{a: {{command: /bin/cat, args: [{args}, https://x.invalid/y, '']}}}}}}"
    );
    put(&world, "out.yaml", &text);
    let said = import(&world, "out.yaml", &["--yes"]).ok();
    let remarks: Vec<&str> =
        said["remarks"].as_array().unwrap().iter().map(|remark| remark.as_str().unwrap()).collect();
    let want = [
        "`/bin/cat` is absolute and not copied",
        "`spec.evals.a.args[0]` names `../secret.txt`, which has an empty segment, `.` or `..`",
        "which is absolute: it is not copied",
        "`spec.evals.a.args[2]` names `link.txt`, which is a link",
        "`spec.evals.a.args[3]` names `./up/secret.txt`, which lies behind a link",
        "`spec.evals.a.args[4]` names `tools`, which is a folder",
    ];
    assert_eq!(remarks.len(), want.len(), "{remarks:?}");
    for (remark, want) in remarks.iter().zip(want) {
        assert!(remark.contains(want), "{remark}");
    }
    assert_eq!(written(&world), [".ai/tools/imported/evals/a.yaml"]);
    assert_eq!(said["items"][0]["files"], json!([]));
}

#[test]
fn files_behind_an_option_are_copied_and_what_was_copied_is_pinned() {
    let world = world();
    put(&world, "data/words.txt", "glad");
    let text =
        "spec: {evals: {a: {command: ./show, args: [--words=data/words.txt, '--n=1', words]}}}";
    put(&world, "opt.yaml", text);
    put(
        &world,
        "show",
        "#!/bin/sh\ncat > /dev/null\nw=$(cat \"${1#*=}\")\necho \"{\\\"result\\\": \\\"$w $2\\\"}\"\n",
    );
    fs::set_permissions(config(&world, "show"), fs::Permissions::from_mode(0o755)).unwrap();
    import(&world, "opt.yaml", &["--yes"]).ok();
    assert_eq!(world.json(&["execute", "imported/evals/a"]).ok()["data"], "glad --n=1");
    // The configuration's folder is no longer needed, and the copies are what was signed.
    fs::remove_dir_all(world.outside().join("config")).unwrap();
    world.works("tool:imported/evals/a");
    world.write(".ai/tools/imported/evals/a.files/data/words.txt", "sad");
    world.refused("tool:imported/evals/a", "verify.dependency", 4);
}

#[test]
fn what_is_copied_is_shown_whole_before_anybody_is_asked() {
    let world = world();
    let hidden =
        format!("{}# \u{202e}evil\n", fs::read_to_string(config(&world, "evals/tone.sh")).unwrap());
    put(&world, "evals/tone.sh", &hidden);
    fs::write(config(&world, "hooks/guard"), b"#!/bin/sh\n# \xff\n").unwrap();
    let args = ["import", "runtimeconfig", "../config/bare.yaml", "--color", "never"];
    let said = world.rye_at_a_terminal("n\n", &args);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    let shown: Vec<&str> = said.stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
    for path in ["tools/sentiment.py", "tools/db-query", "evals/tone.sh"] {
        for line in fs::read_to_string(config(&world, path)).unwrap().lines() {
            let line = format!("  {}", line.replace('\u{202e}', "\\u{202e}"));
            assert!(shown.contains(&line.as_str()), "{path}: {line}\n{}", said.stdout);
        }
    }
    assert!(shown.iter().any(|line| line.starts_with("  it is not text: sha256 ")), "{shown:#?}");
}

#[test]
fn nothing_is_signed_unless_somebody_says_yes() {
    let world = world();
    put(&world, "one.yaml", "spec: {evals: {a: {command: ./hooks/guard}}}");
    let args = ["import", "runtimeconfig", "../config/one.yaml", "--category"];
    let said = world.rye(&[&args[..], &["none"]].concat()).ok();
    assert!(
        said.stdout.contains("\n  command: ") || said.stdout.contains("    command: "),
        "shown"
    );
    assert!(said.stderr.contains("nothing is signed"), "{said:?}");
    assert!(said.stdout.ends_with("  rye sign tool:none/evals/a\n"), "{said:?}");
    assert_eq!(world.run("tool:none/evals/a"), (4, "verify.unsigned".into()));
    world.rye(&["sign", "tool:none/evals/a"]).ok();
    world.works("tool:none/evals/a");

    // A person at a terminal; the second question is that of every signature below a run.
    let said = world.rye_below_a_run_at_a_terminal("n\n", &[&args[..], &["no"]].concat());
    assert_eq!(said.status, 2, "{said:?}");
    assert!(said.stdout.contains("Write and sign this item?"), "{said:?}");
    assert!(!world.project().join(".ai/tools/no").exists(), "{said:?}");
    world.rye_below_a_run_at_a_terminal("y\ny\n", &[&args[..], &["yes"]].concat()).ok();
    world.works("tool:yes/evals/a");

    // Without a key of one's own nothing is written either.
    let keyless = World::empty();
    fs::create_dir(keyless.outside().join("config")).unwrap();
    put(&keyless, "one.yaml", "spec: {evals: {a: {command: cat}}}");
    let (status, said) = import(&keyless, "one.yaml", &["--yes"]);
    assert_ne!(status, 0, "{said}");
    assert!(!keyless.project().join(".ai").exists() && !keyless.home().join(".ai/tools").exists());
}

#[test]
fn a_place_that_cannot_be_written_and_a_file_that_cannot_be_read_are_said() {
    let world = world();
    world.write(".ai/tools/full", "a file where a folder should be");
    let (status, said) = import(&world, "bare.yaml", &["--yes", "--category", "full"]);
    assert_eq!((status, said["code"].as_str()), (6, Some("import.io")), "{said}");
    let rows: [(&str, &[&str], &str); 4] = [
        ("none.yaml", &[], "cli.input_file"),
        ("bare.yaml", &["--pack", "none.json"], "cli.input_file"),
        ("bare.yaml", &["--category", "../x"], "id.malformed"),
        ("bare.yaml", &["--category", "rye/x"], "sign.reserved"),
    ];
    for (name, more, code) in rows {
        let (_, said) = import(&world, name, &[more, &["--yes"]].concat());
        assert_eq!(said["code"], code, "{said}");
    }
    assert_eq!(written(&world), [".ai/tools/full"]);
}
