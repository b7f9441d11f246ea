//! What rye takes from the machine and the project's `.env`, and what it says of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::world::{World, python, python_folder};

const PATH_SH: &str = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
     # executor_id = \"rye/core/runtimes/shell/script\"\n# ///\nprintf %s \"$PATH\"\n";

#[test]
fn a_folder_on_path_that_is_no_utf_8_is_left_out_and_the_others_stay() {
    let world = World::new().with(".ai/tools/acme/path.sh", PATH_SH);
    world.works("tool:acme/path");
    let mut command = world.command(&["execute", "tool:acme/path", "--json"]);
    let path = OsString::from_vec(b"/opt/caf\xe9/bin:/usr/bin:/bin".to_vec());
    let output = command.env("PATH", path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let got: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(got["data"]["stdout"], "/usr/bin:/bin", "{got}");
}

const ENV_SH: &str = "#!/bin/bash\n# /// rye\n# version = \"1.0.0\"\n# description = \"x\"\n\
     # executor_id = \"rye/core/runtimes/shell/script\"\n# env = [\"ACME_URL\"]\n# ///\n\
     printf %s \"$ACME_URL\"\n";

#[test]
fn an_empty_value_of_an_env_file_is_an_empty_variable_and_no_secret() {
    let world = World::new();
    let asks = ENV_SH.replace("\"$ACME_URL\"", "\"${ACME_URL-unset}.\"");
    world.signed(".ai/tools/acme/ask.sh", &asks);
    for (file, want) in [("ACME_URL=\n", "."), ("OTHER=x\n", "unset.")] {
        world.write(".env", file);
        let (_, got) = world.json(&["execute", "acme/ask"]);
        assert_eq!(got["data"]["stdout"], want, "{file}: {got}");
    }
    world.signed(".ai/tools/acme/ask.sh", &asks.replace("# env =", "# secrets ="));
    world.write(".env", "ACME_URL=\n");
    assert_eq!(world.rye(&["execute", "acme/ask"]).code(), "plan.missing_secret");
}

#[test]
fn an_env_file_that_cannot_be_read_is_told_as_what_it_is() {
    let world = World::new().with(".ai/tools/acme/ask.sh", ENV_SH);
    world.write(".env", "A=1\nACME_URL=here\n");
    let (_, got) = world.json(&["execute", "acme/ask"]);
    assert_eq!(got["data"]["stdout"], "here", "{got}");
    let big = [b"# ".as_slice(), &vec![b'x'; 5 << 20]].concat();
    let rows: [(&str, &[u8], &str, &str, &str); 4] = [
        ("Latin 1", b"A=1\nACME_URL=caf\xe9\n", "plan.bad_env_file", "line 2", "not UTF-8"),
        ("UTF-16", b"\xff\xfeA\0=\x001\0", "plan.bad_env_file", "line 1", "not UTF-8"),
        ("a BOM", b"\xef\xbb\xbfACME_URL=x\n", "plan.bad_env_file", "begins with", "byte order"),
        ("large", &big, "space.too_large", "`.env`", "4 MiB"),
    ];
    for (what, bytes, code, one, two) in rows {
        world.write(".env", bytes);
        let said = world.rye(&["execute", "acme/ask"]);
        assert_eq!(said.code(), code, "{what}: {said:?}");
        assert!(said.stderr.contains(one) && said.stderr.contains(two), "{what}: {said:?}");
        let help = said.stderr.split("help: ").nth(1).unwrap_or_default();
        assert!(help.contains("`.env`") && !help.contains("item"), "{what}: {said:?}");
    }
    std::fs::remove_file(world.project().join(".env")).unwrap();
    world.write("elsewhere", "ACME_URL=there\n");
    symlink("elsewhere", world.project().join(".env")).unwrap();
    let said = world.rye(&["execute", "acme/ask"]).fails_with("space.symlink");
    let help = said.stderr.split("help: ").nth(1).unwrap_or_default();
    assert!(help.contains("`.env`") && !help.contains("item"), "{said:?}");
}

#[test]
fn doctor_names_the_program_that_a_run_would_use() {
    let world = World::new().with(".ai/tools/acme/which.sh", &PATH_SH.replace("$PATH", "$BASH"));
    let used = |path: &str| {
        let run = ["execute", "acme/which", "--json"];
        let said = world.rye_env(&world.project(), &run, b"", &[("PATH", path)]);
        let doctor = world.rye_env(&world.project(), &["doctor"], b"", &[("PATH", path)]);
        (said.json()["data"]["stdout"].as_str().unwrap_or_default().to_owned(), doctor.stdout)
    };
    let (run, doctor) = used("/usr/bin:/bin");
    assert!(run.ends_with("/bash") && doctor.contains(&format!("bash  {run}")), "{run} {doctor}");
    // A program in the project is the first on the path, and nobody allowed it.
    let planted = world.write("bin/bash", "#!/bin/sh\necho planted\n");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let planted = planted.canonicalize().unwrap();
    let bin = planted.parent().unwrap().display();
    let (again, doctor) = used(&format!("{bin}:/usr/bin:/bin"));
    assert_eq!(again, run);
    assert!(doctor.contains(&format!("bash  {run}")), "{doctor}");
    let passed = format!("{} is passed over", planted.display());
    assert!(doctor.contains(&passed) && doctor.contains("allow-interpreter"), "{doctor}");
    // The runtime's own search comes before the path.
    let python = python().canonicalize().unwrap();
    let venv = world.project().join(".venv/bin");
    std::fs::create_dir_all(&venv).unwrap();
    symlink(&python, venv.join("python3")).unwrap();
    let path = format!("{}:/usr/bin:/bin", python_folder().display());
    let before = used(&path).1;
    assert!(before.contains(".venv/bin/python3 is passed over"), "{before}");
    world.rye(&["trust", "allow-interpreter", ".venv/bin/python3"]).ok();
    let after = used(&path).1;
    assert!(after.contains("python3  ") && after.contains(".venv/bin/python3"), "{after}");
    assert!(!after.contains("is passed over"), "{after}");
}

#[test]
fn parameters_of_too_many_values_are_refused_before_they_are_built() {
    let world = World::new().with(".ai/tools/acme/path.sh", PATH_SH);
    let run = |values: usize| {
        world.write("params.json", format!("{{\"a\":[{}0]}}", "0,".repeat(values - 1)));
        world.rye(&["execute", "acme/path", "--params-file", "params.json"])
    };
    run(1_000).ok();
    run(8_000_000).fails(2, "cli.params_json").warns("more than 100000 values");
}
