//! Rows b: ids, files and folders that try to be what they are not; and what core 2 promises.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use serde_json::json;

use crate::keys::others::{put_home, stranger, trust};
use crate::world::{Attempt, MARKER_SH, World, line, seconds_from_now};

pub(super) const ITEM: &str = "tool:acme/mark";
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/.ai");
const RUNTIME: &str = "tools/rye/core/runtimes/shell/script.yaml";
const PRIMITIVE: &str = "tools/rye/core/primitives/execute.yaml";

/// A project with a signed shell tool.
pub(super) fn shell() -> (World, PathBuf) {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    (world, file)
}

fn shipped(path: &str) -> String {
    fs::read_to_string(Path::new(SHIPPED).join(path)).unwrap()
}

/// Whether files can be given to another user here; says so where a test does less.
pub(super) fn is_root(world: &World) -> bool {
    let root = fs::metadata(world.project()).unwrap().uid() == 0;
    if !root {
        eprintln!("not root: folders of another user are not tried");
    }
    root
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn b01_a_second_file_for_an_id_is_never_chosen() {
    let (world, _) = shell();
    world.works(ITEM);
    for name in ["mark.py", "mark.rb", "mark.js", "mark.toml", "mark.yaml"] {
        let planted = world.write(&format!(".ai/tools/acme/{name}"), "x");
        for args in [&["execute", ITEM][..], &["show", ITEM], &["sign", ITEM], &["verify", ITEM]] {
            let attempt = world.attempt_by(args);
            assert_eq!(attempt, Attempt::refused("resolve.ambiguous_file"), "{name} {args:?}");
        }
        let (_, said) = world.json(&["execute", ITEM]);
        let mut files: Vec<_> = said["data"]["files"].as_array().unwrap().iter().collect();
        files.sort_by_key(ToString::to_string);
        let mut want = [".ai/tools/acme/mark.sh".into(), format!(".ai/tools/acme/{name}")];
        want.sort();
        assert_eq!(json!(files), json!(want));
        fs::remove_file(planted).unwrap();
    }
    // A valid signature on the other one changes nothing.
    let text = "__version__ = \"1.0.0\"\n__category__ = \"acme\"\n";
    let line = line(&world.own_key(), ITEM, "py", &seconds_from_now(0), text.as_bytes());
    let planted = world.write(".ai/tools/acme/mark.py", format!("# {line}\n{text}"));
    assert_eq!(world.attempt(ITEM), Attempt::refused("resolve.ambiguous_file"));
    fs::remove_file(planted).unwrap();
    world.works(ITEM);
}

#[test]
fn b02_what_is_no_id_is_malformed() {
    let (world, _) = shell();
    world.works(ITEM);
    let (long, deep) = ("a".repeat(4096), ["a"; 17].join("/"));
    let ids = [
        "",
        ".",
        "..",
        "../mark",
        "acme/../mark",
        "acme/./mark",
        "acme//mark",
        "/acme/mark",
        "acme/mark/",
        "acme/..",
        "./acme/mark",
        "acme/%2e%2e/mark",
        "%2e%2e/mark",
        "acme%2fmark",
        "acme\\mark",
        "..\\mark",
        "~/mark",
        "acme/.hidden",
        "acme/-mark",
        "acme/mark.",
        "acme/mark ",
        " acme/mark",
        "acme/ mark",
        "acme/mark\n",
        "acme/mark\t",
        "acme/mark:x",
        "acme/mark*?",
        "con",
        "acme/NUL",
        "acme/aux.sh",
        "acme/com1",
        "acme/LPT9.x",
        "acme/mark\u{200b}",
        "acme/mark\u{7f}",
        "{project_path}",
        "$HOME/mark",
        &long,
        &deep,
    ];
    for id in ids {
        let item = format!("tool:{id}");
        assert_eq!(world.attempt(&item), Attempt::refused("id.malformed"), "{item:?}");
    }
    for verb in ["verify", "show", "fetch", "why", "sign", "diff"] {
        for id in ["../mark", "acme//mark", "acme\\mark", &long] {
            let attempt = world.attempt_by(&[verb, &format!("knowledge:{id}")]);
            assert_eq!(attempt, Attempt::refused("id.malformed"), "{verb} {id:?}");
        }
    }
    let (_, said) = world.json(&["execute", "tool:acme/../mark"]);
    let error = said["error"].as_str().unwrap();
    assert!(error.contains("segment `..`"), "the bad segment is marked: {error}");
}

#[test]
fn b02_an_executor_that_is_no_id_is_never_followed() {
    let world = World::new();
    for executor in ["../../x", "/bin/sh", "a//b", "a\\0b", "a/%2e%2e/b", "acme/run@user"] {
        let text = format!("version: \"1.0.0\"\nexecutor_id: \"{executor}\"\n");
        let line = line(&world.own_key(), ITEM, "yaml", &seconds_from_now(0), text.as_bytes());
        world.write(".ai/tools/acme/mark.yaml", format!("# {line}\n{text}"));
        assert_eq!(world.attempt(ITEM), Attempt::refused("id.malformed"), "{executor}");
    }
}

#[test]
fn b03_names_that_look_alike_are_never_chosen_for_each_other() {
    let (world, _) = shell();
    world.works(ITEM);
    for id in ["acme/Mark", "ACME/mark", "Acme/mark"] {
        let attempt = world.attempt(&format!("tool:{id}"));
        assert_eq!(attempt, Attempt::refused("resolve.not_found"), "{id}");
    }
    // Cyrillic, full width, a ligature, the Kelvin sign; composed and decomposed.
    for id in [
        "аcme/mark",
        "acme/ｍark",
        "acme/ﬁx",
        "acme/mar\u{212a}",
        "acme/caf\u{e9}",
        "acme/cafe\u{301}",
    ] {
        world.write(&format!(".ai/tools/{id}.sh"), MARKER_SH);
        let attempt = world.attempt(&format!("tool:{id}"));
        assert_eq!(attempt, Attempt::refused("id.malformed"), "{id}");
    }
    let said = world.rye(&["verify", "--ci", "--json"]).fails(4, "space.odd_file");
    assert_eq!(said.json()["not_items"].as_array().unwrap().len(), 6, "each is reported");
    world.works(ITEM);
}

#[test]
fn b03_ids_that_differ_in_case_alone_are_reported() {
    let (world, _) = shell();
    world.signed(".ai/tools/acme/Mark.sh", MARKER_SH);
    world.works(ITEM);
    world.works("tool:acme/Mark");
    let said = world.rye(&["verify"]);
    let both = ["acme/mark", "acme/Mark"].iter().all(|id| said.stderr.contains(id));
    assert!(both, "a clash that other file systems make is reported: {said:?}");
}

#[test]
fn b04_a_copy_of_a_reserved_item_is_refused_unless_it_is_the_same() {
    let (world, _) = shell();
    let text = shipped(RUNTIME);
    for space in ["project", "user"] {
        let write = |text: &str, name: &str| match space {
            "project" => world.write(name, text),
            _ => world.write_home(name, text),
        };
        let path = format!(".ai/{RUNTIME}");
        let copy = write(&text, &path);
        world.works(ITEM);
        for (what, text) in [
            ("altered", text.replacen("command: bash", "command: sh", 1)),
            ("unsigned", text.split_once('\n').unwrap().1.to_owned()),
            ("a byte more", format!("{text}\n")),
            ("empty", String::new()),
        ] {
            fs::write(&copy, text).unwrap();
            let attempt = world.attempt(ITEM);
            assert_eq!(attempt, Attempt::refused("resolve.reserved"), "{space}, {what}");
        }
        fs::remove_file(copy).unwrap();
        let other = write("x", &path.replace(".yaml", ".py"));
        assert_eq!(world.attempt(ITEM), Attempt::refused("resolve.reserved"), "{space}, .py");
        fs::remove_file(other).unwrap();
        let own = write("version: \"1.0.0\"\n", ".ai/tools/rye/own.yaml");
        assert_eq!(world.attempt("tool:rye/own"), Attempt::refused("resolve.reserved"), "{space}");
        let sign = world.attempt_by(&["sign", "tool:rye/own", "--space", space]);
        assert_eq!(sign, Attempt::refused("sign.reserved"), "{space}");
        let mine = line(
            &world.own_key(),
            "tool:rye/own",
            "yaml",
            crate::world::AT,
            b"version: \"1.0.0\"\n",
        );
        fs::write(&own, format!("# {mine}\nversion: \"1.0.0\"\n")).unwrap();
        assert_eq!(world.attempt("tool:rye/own"), Attempt::refused("resolve.reserved"), "{space}");
        fs::remove_file(own).unwrap();
        world.works(ITEM);
    }
}

#[test]
fn b04_only_the_users_own_policy_lets_a_copy_in_and_only_the_users_copy() {
    let world = World::new();
    let policy = "allow_shadow:\n- rye/overview\n";
    let item = "knowledge:rye/overview";
    world.works(item);
    let copy = world.write_home(".ai/knowledge/rye/overview.md", "# Mine\n");
    let refused = Attempt::refused("resolve.reserved");
    assert_eq!(world.attempt(item), refused, "no policy");
    let theirs = world.write(".ai/config/rye/policy.yaml", policy);
    assert_eq!(world.attempt(item), refused, "a project's policy");
    let own = world.write_home(".ai/config/rye/policy.yaml", policy);
    assert_eq!(world.attempt(item), refused, "an unsigned policy");
    fs::remove_file(theirs).unwrap();
    let friend = stranger(1);
    trust(&world, &friend, &["--items", "*:**"]);
    let path = ".ai/config/rye/policy.yaml";
    put_home(&world, &friend, path, policy);
    assert_eq!(world.attempt(item), refused, "a friend's policy");
    for other in ["allow_shadow: [\"rye/over\", \"rye/*\"]\n", "allow_shadow: rye/overview\n"] {
        put_home(&world, &world.own_key(), path, other);
        assert_eq!(world.attempt(item), refused, "{other}");
    }
    world.write_home(path, policy);
    world.rye(&["sign", "config:rye/policy", "--space", "user"]).ok();
    assert_eq!(world.attempt(item), Attempt::refused("verify.unsigned"), "it must be signed");
    world.rye(&["sign", item, "--space", "user"]).ok();
    let (_, said) = world.json(&["execute", item]);
    assert_eq!(said["data"]["content"], "# Mine\n");
    let project = world.write(".ai/knowledge/rye/overview.md", fs::read(&copy).unwrap());
    assert_eq!(world.attempt(item), Attempt::refused("verify.out_of_scope"), "a project's copy");
    fs::remove_file(project).unwrap();
    fs::remove_file(own).unwrap();
    assert_eq!(world.attempt(item), refused, "no policy again");
    fs::remove_file(copy).unwrap();
    world.works(item);
}

/// A runtime that starts `program` on the tool.
fn runtime(program: &str) -> String {
    format!(
        "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\n\
         category: acme\ndescription: Runs it\nconfig:\n  command: {program}\n  args: [\"{{tool_path}}\"]\n"
    )
}

#[test]
fn b06_a_users_tool_never_picks_up_a_projects_runtime() {
    let world = World::new();
    let tool = MARKER_SH.replacen("rye/core/runtimes/shell/script", "acme/run", 1);
    world.signed(".ai/tools/acme/run.yaml", &runtime("bash"));
    let near = world.signed(".ai/tools/acme/mark.sh", &tool);
    world.works(ITEM);
    fs::remove_file(near).unwrap();
    world.signed_home(".ai/tools/acme/mark.sh", &tool);
    let dry = world.attempt_by(&["execute", ITEM, "--dry-run", "--json"]);
    assert_eq!(dry, Attempt::refused("validate.space_order"));
    assert_eq!(world.attempt(ITEM), Attempt::refused("validate.space_order"));
    let (_, said) = world.json(&["execute", ITEM]);
    let error = said["error"].as_str().unwrap();
    assert!(error.contains("Chain validation failed: incompatible spaces"), "{error}");
    assert_eq!(said["chain"], json!(["acme/mark"]));
    world.signed_home(".ai/tools/acme/run.yaml", &runtime("bash"));
    world.works(ITEM);
    // From the project downwards is the right way.
    let copy = world.signed(".ai/tools/acme/mark.sh", &tool);
    fs::rename(world.project().join(".ai/tools/acme/run.yaml"), world.outside().join("run"))
        .unwrap();
    world.works(ITEM);
    fs::rename(world.outside().join("run"), world.project().join(".ai/tools/acme/run.yaml"))
        .unwrap();
    fs::remove_file(copy).unwrap();
    let (_, said) = world.json(&["verify", ITEM]);
    let spaces: Vec<_> = said["items"][0]["chain_details"].as_array().unwrap().iter().collect();
    let spaces: Vec<_> = spaces.iter().map(|link| link["space"].as_str().unwrap()).collect();
    assert_eq!(spaces, ["user", "user", "system"]);
    for space in [world.project(), world.home()] {
        fs::remove_file(space.join(".ai/tools/acme/run.yaml")).unwrap();
    }
    assert_eq!(world.attempt(ITEM), Attempt::refused("chain.executor_not_found"));
}

#[test]
fn b07_a_publishers_signature_does_not_let_another_copy_of_a_reserved_item_in() {
    let world = World::new();
    let item = "tool:rye/bash";
    world.rye(&["verify", item]).ok();
    let bash = shipped("tools/rye/bash.py");
    for (what, text) in [
        ("another item of the publisher's", shipped("tools/rye/file-system/read.py")),
        ("its line above another body", format!("{}\nimport os\n", bash.lines().next().unwrap())),
        ("another version", bash.replacen("__version__", "__version__ ", 1)),
    ] {
        for base in [world.project(), world.home()] {
            let copy = base.join(".ai/tools/rye/bash.py");
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(&copy, &text).unwrap();
            let attempt = world.attempt(item);
            assert_eq!(attempt, Attempt::refused("resolve.reserved"), "{what}");
            fs::remove_file(copy).unwrap();
        }
    }
    world.rye(&["verify", item]).ok();
}

#[test]
fn b07_config_that_is_the_systems_to_the_byte_is_passed_over_and_another_one_is_not() {
    let (world, _) = shell();
    let config = "config/execution/execution.yaml";
    let good = shipped(config);
    let own = Path::new(".ai").join(config);
    let project = world.project().display().to_string();
    for env in [&[][..], &[("RYE_SYSTEM_SPACE", project.as_str())]] {
        let said = |args: &[&str]| {
            let said = world.rye_env(&world.project(), args, b"", env);
            (said.status, said.code(), said.stdout + &said.stderr)
        };
        // As rye's own repository has them.
        for path in [config, RUNTIME, PRIMITIVE] {
            world.write(&format!(".ai/{path}"), shipped(path));
        }
        for args in [&["execute", ITEM][..], &["verify", ITEM], &["verify", "config:**"]] {
            let got = said(args);
            assert_eq!(got.0, 0, "{env:?} {args:?}: {}", got.2);
        }
        // Another text of it is the project's own, which the publisher never signs.
        fs::write(world.project().join(&own), format!("{good}# more\n")).unwrap();
        assert_eq!(said(&["execute", ITEM]).1, "verify.altered", "{env:?}");
    }
    let bash = shipped("tools/rye/bash.py");
    world.write(".ai/tools/acme/bash.py", &bash);
    assert_eq!(world.run("tool:acme/bash").1, "verify.moved");
}

/// A trust document for `key` over everything in `items`, signed by `signer`.
fn document(key: &SigningKey, items: &str, signer: &SigningKey) -> (String, String) {
    let print = crate::world::fingerprint(key);
    let pem = key.verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    let body = format!(
        "fingerprint = \"{print}\"\nowner = \"acme\"\nitems = [\"{items}\"]\n\
         [public_key]\npem = \"\"\"{pem}\"\"\"\n"
    );
    let item = format!("config:keys/trusted/{print}");
    let line = line(signer, &item, "toml", &seconds_from_now(0), body.as_bytes());
    (format!(".ai/config/keys/trusted/{print}.toml"), format!("# {line}\n{body}"))
}

#[test]
fn b07_an_external_system_space_brings_items_and_nothing_else() {
    let (world, _) = shell();
    let system = world.outside().join("system");
    let put = |path: &str, text: &str| {
        let path = system.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(&format!(".ai/{RUNTIME}"), &shipped(RUNTIME));
    put(&format!(".ai/{PRIMITIVE}"), &shipped(PRIMITIVE));
    let at = [("RYE_SYSTEM_SPACE", system.to_str().unwrap())];
    let run = |item: &str| {
        let said = world.rye_env(&world.project(), &["execute", item, "--json"], b"", &at);
        (said.status, said.code())
    };
    assert_eq!(run(ITEM), (0, String::new()), "the publisher's items verify there too");
    put(&format!(".ai/{RUNTIME}"), &shipped(RUNTIME).replacen("bash", "sh", 1));
    assert_eq!(run(ITEM), (4, "verify.altered".into()));
    put(&format!(".ai/{RUNTIME}"), &shipped(RUNTIME));
    let (own, stranger) = (world.own_key(), SigningKey::from_bytes(&[5; 32]));
    let item = "knowledge:acme/news";
    let news = |key: &SigningKey| {
        let line = line(key, item, "md", &seconds_from_now(0), b"# News\n");
        put(".ai/knowledge/acme/news.md", &format!("<!-- {line} -->\n# News\n"));
    };
    news(&own);
    assert_eq!(run(item), (4, "verify.out_of_scope".into()), "not even your own key");
    news(&stranger);
    let (path, text) = document(&stranger, "knowledge:acme/**", &stranger);
    put(&path, &text);
    assert_eq!(run(item), (4, "verify.untrusted".into()), "its own document");
    let (path, text) = document(&stranger, "knowledge:acme/**", &own);
    put(&path, &text);
    assert_eq!(run(item), (4, "verify.untrusted".into()), "one that you signed, in that place");
    world.write_home(&path, text);
    assert_eq!(run(item), (0, String::new()), "a document of yours that says so");
    put(".ai/config/rye/policy.yaml", "allow_shadow:\n- rye/core/runtimes/shell/script\n");
    let copy = world.write(&format!(".ai/{RUNTIME}"), runtime("sh"));
    assert_eq!(run(ITEM), (4, "resolve.reserved".into()), "its policy");
    fs::remove_file(copy).unwrap();
    assert_eq!(run(ITEM), (0, String::new()));
}

/// What a call in `folder` with these variables ends in.
fn called(world: &World, folder: &Path, env: &[(&str, &str)]) -> (i32, String) {
    let said = world.rye_env(folder, &["execute", ITEM, "--json"], b"", env);
    (said.status, said.code())
}

/// The folder is made bad, refused from inside and below, let in by name, and made good again.
#[track_caller]
fn refused_until_allowed(world: &World, what: &str, spoil: &dyn Fn(), mend: &dyn Fn()) {
    let deep = world.project().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let refused = (4, "space.foreign_owner".to_owned());
    world.works(ITEM);
    spoil();
    for folder in [world.project(), deep.clone()] {
        assert_eq!(called(world, &folder, &[]), refused, "{what}: {}", folder.display());
    }
    for args in [&["list"][..], &["verify"], &["sign", ITEM], &["init"], &["trust", "review"]] {
        let attempt = world.attempt_by(args);
        assert_eq!(attempt, Attempt::refused("space.foreign_owner"), "{what}: {args:?}");
    }
    let said = world.rye(&["execute", ITEM]);
    assert!(said.stderr.contains("rye trust allow-root"), "{what}: {said:?}");
    let allow = world.rye(&["trust", "allow-root", world.project().to_str().unwrap()]);
    assert_eq!(allow.status, 0, "{what}: {allow:?}");
    assert_eq!(called(world, &deep, &[]), (0, String::new()), "{what}: allowed");
    fs::remove_dir_all(world.home().join(".ai/config/keys/roots")).unwrap();
    assert_eq!(called(world, &deep, &[]), refused, "{what}: not allowed any more");
    mend();
    world.works(ITEM);
}

#[test]
fn b08_a_project_that_others_own_or_can_write_is_not_used_until_allowed() {
    let (world, _) = shell();
    let (project, ai) = (world.project(), world.project().join(".ai"));
    for folder in [&project, &ai] {
        for open in [0o777, 0o757, 0o1777, 0o702] {
            let (spoil, mend) = (|| mode(folder, open), || mode(folder, 0o755));
            refused_until_allowed(&world, &format!("{folder:?} {open:o}"), &spoil, &mend);
        }
        if is_root(&world) {
            let give = |uid| chown(folder, Some(uid), Some(uid)).unwrap();
            let what = format!("{folder:?} of another user");
            refused_until_allowed(&world, &what, &|| give(1234), &|| give(0));
        }
    }
    // It is said of a folder, not of its name.
    mode(&project, 0o777);
    world.rye(&["trust", "allow-root", "."]).ok();
    world.works(ITEM);
    let (old, path) = (world.outside().join("formerly"), ".ai/tools/acme/mark.sh");
    fs::rename(&project, &old).unwrap();
    world.write(path, fs::read(old.join(path)).unwrap());
    mode(&project, 0o777);
    assert_eq!(called(&world, &project, &[]), (4, "space.foreign_owner".into()));
}

#[test]
fn b08_the_help_lines_of_a_refused_project_lead_out_for_somebody_without_a_key() {
    let world = World::empty();
    world.write(".ai/tools/acme/mark.sh", MARKER_SH);
    mode(&world.project(), 0o777);
    let helps = |args: &[&str]| {
        let said = world.rye(args);
        let line = said.stderr.split("`rye ").last().and_then(|rest| rest.split('`').next());
        (said.code(), line.unwrap_or_default().split(' ').map(str::to_owned).collect::<Vec<_>>())
    };
    let (code, allow) = helps(&["init"]);
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    assert_eq!((code.as_str(), allow[1]), ("space.foreign_owner", "allow-root"));
    let (code, make) = helps(&allow);
    let make: Vec<&str> = make.iter().map(String::as_str).collect();
    assert_eq!((code.as_str(), make.as_slice()), ("key.missing", &["keys", "generate"][..]));
    world.rye(&make).ok();
    for args in [&["keys", "show"][..], &["keys", "list"], &["keys", "export"]] {
        world.rye(args).ok();
    }
    let doctor = world.rye(&["doctor"]);
    for part in ["bad   spaces ", "rye trust allow-root", "ok    key ", "ok    system "] {
        assert!(doctor.status == 4 && doctor.stdout.contains(part), "{part}: {doctor:?}");
    }
    world.rye(&allow).ok();
    world.rye(&["list"]).ok();
}

#[test]
fn b08_a_root_named_by_a_variable_is_never_inside_the_project() {
    let (world, _) = shell();
    world.works(ITEM);
    let (project, outside) = (world.project(), world.outside().to_owned());
    fs::create_dir_all(project.join("sub/.ai")).unwrap();
    fs::create_dir(outside.join("other")).unwrap();
    symlink(&project, outside.join("link")).unwrap();
    let there = [
        project.join("sub"),
        outside.join("link/sub"),
        outside.join("other/../project/sub"),
        PathBuf::from("sub"),
        PathBuf::from("./sub/../sub"),
        project.join(".ai"),
    ];
    let not_yet = [
        project.join("new"),
        PathBuf::from("new"),
        outside.join("link/new"),
        outside.join("other/../project/new"),
        project.join("sub/new/newer"),
    ];
    let refused = (4, "space.untrusted_root".to_owned());
    for path in there.iter().chain(&not_yet) {
        let env = [("USER_SPACE", path.to_str().unwrap())];
        assert_eq!(called(&world, &project, &env), refused, "{env:?}");
        let said = world.rye_env(&project, &["keys", "generate", "--json"], b"", &env);
        assert_eq!((said.status, said.code()), refused, "{env:?}");
    }
    assert!(!project.join("new").exists());
    for path in &there {
        let env = [("RYE_SYSTEM_SPACE", path.to_str().unwrap())];
        assert_eq!(called(&world, &project, &env), refused, "{env:?}");
    }
    world.works(ITEM);
}

#[test]
fn b08_a_root_of_another_user_is_not_used() {
    let (world, _) = shell();
    world.works(ITEM);
    if !is_root(&world) {
        return;
    }
    let theirs = world.outside().join("theirs");
    let refused = (4, "space.untrusted_root".to_owned());
    for folder in [theirs.clone(), theirs.join(".ai")] {
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(theirs.join(".ai")).unwrap();
        chown(&folder, Some(1234), Some(1234)).unwrap();
        for name in ["USER_SPACE", "RYE_SYSTEM_SPACE"] {
            let env = [(name, theirs.to_str().unwrap())];
            assert_eq!(called(&world, &world.project(), &env), refused, "{name}");
        }
        fs::remove_dir_all(&theirs).unwrap();
    }
    let ai = world.home().join(".ai");
    chown(&ai, Some(1234), Some(1234)).unwrap();
    assert_eq!(world.attempt(ITEM), Attempt::refused("space.untrusted_root"), "below HOME");
    let said = world.rye(&["execute", ITEM]);
    let why = format!("`{}`, which belongs to user id 1234, and you are `root`", ai.display());
    assert!(said.stderr.contains(&why), "whose it is, and who asks: {said:?}");
    chown(&ai, Some(0), Some(0)).unwrap();
    world.works(ITEM);
    fs::set_permissions(&ai, fs::Permissions::from_mode(0o1757)).unwrap();
    let said = world.rye(&["execute", ITEM]);
    let why = format!("`{}`, which is writable by others (its mode is 1757)", ai.display());
    assert!(said.stderr.contains(&why), "{said:?}");
}
