//! What references and spaces promise (core 1.2, 2): who answers, who lost, and why.

use std::fs;
use std::os::unix::fs::symlink;

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use serde_json::{Value, json};

use crate::world::{End, GREET_MD, MARKER_SH, World, fingerprint, line, seconds_from_now};

const NOTE: &str = "knowledge:acme/note";
const PATH: &str = ".ai/knowledge/acme/note.md";

/// The same knowledge in the project and in the user space, each saying where it lies.
fn two_copies() -> World {
    World::new().with(PATH, "# Note\n\nproject\n").with_home(PATH, "# Note\n\nuser\n")
}

/// The last word of what answers.
#[track_caller]
fn answer(world: &World, item: &str) -> String {
    let said = world.json(&["execute", item]).ok();
    let content = said["data"]["content"].as_str().unwrap();
    content.split_whitespace().last().unwrap().to_owned()
}

#[track_caller]
fn fails(world: &World, args: &[&str], status: i32, code: &str) -> Value {
    world.json(args).fails(status, code)
}

#[test]
fn the_nearest_space_answers_and_a_qualified_ref_reaches_the_others() {
    let world = two_copies();
    assert_eq!(answer(&world, NOTE), "project");
    assert_eq!(answer(&world, "knowledge:acme/note@project"), "project");
    assert_eq!(answer(&world, "knowledge:acme/note@user"), "user");
    let said = fails(&world, &["execute", "knowledge:acme/note@system"], 3, "resolve.not_found");
    assert!(said["error"].as_str().unwrap().contains("system"), "{said}");
    fs::remove_file(world.project().join(PATH)).unwrap();
    assert_eq!(answer(&world, NOTE), "user");
    fails(&world, &["execute", "knowledge:acme/note@project"], 3, "resolve.not_found");
    for space in ["", "@system"] {
        world.rye(&["fetch", &format!("knowledge:rye/overview{space}")]).ok();
    }
    fails(&world, &["execute", "knowledge:rye/overview@project"], 3, "resolve.not_found");
}

#[test]
fn every_verb_takes_a_qualified_ref() {
    let world = two_copies();
    let item = "knowledge:acme/note@user";
    for verb in ["execute", "verify", "show", "fetch", "why"] {
        let said = world.rye(&[verb, item, "--json"]).ok();
        let other = said.stdout.contains("\"space\":\"project\",\"path\":\".ai/knowledge");
        assert!(verb == "why" || !other, "{verb} speaks of the other copy: {said:?}");
    }
    let near = world.read(PATH);
    let far = world.home().join(PATH);
    fs::write(&far, "# Note\n\nuser changed\n").unwrap();
    fails(&world, &["execute", item], 4, "verify.unsigned");
    assert_eq!(answer(&world, NOTE), "project");
    world.rye(&["sign", item]).ok();
    assert_eq!(answer(&world, item), "changed");
    assert_eq!(world.read(PATH), near, "the project's copy was not signed instead");
    for (item, code) in [
        ("knowledge:acme/note@mars", "id.malformed"),
        ("knowledge:acme/note@", "id.malformed"),
        ("knowledge:acme/note@user@user", "id.malformed"),
        ("knowledge:@user", "id.malformed"),
        ("config@user:acme/note", "id.unknown_kind"),
    ] {
        fails(&world, &["execute", item], 3, code);
    }
}

#[test]
fn copies_that_lost_are_listed() {
    let world = two_copies();
    let lost = json!([{"space": "user", "path": PATH}]);
    let (_, said) = world.json(&["show", NOTE]);
    assert_eq!((&said["space"], &said["shadowed"]), (&json!("project"), &lost));
    let (_, said) = world.json(&["show", "knowledge:acme/note@user"]);
    assert_eq!((&said["space"], &said["shadowed"]), (&json!("user"), &json!([])));
    let (_, said) = world.json(&["list", "--kind", "knowledge", "acme/"]);
    let rows: Vec<_> = said["items"].as_array().unwrap().iter().collect();
    let rows: Vec<_> = rows.iter().map(|row| (&row["space"], &row["shadowed"])).collect();
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(rows, [(&json!("project"), &no), (&json!("user"), &yes)]);
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.signed_home(".ai/tools/acme/mark.sh", MARKER_SH);
    let (_, said) = world.json(&["execute", "tool:acme/mark", "--trace"]);
    let trace = said["trace"].as_array().unwrap();
    let resolve = trace.iter().find(|event| event["step"] == "resolve").unwrap();
    assert_eq!(resolve["space"], "project");
    assert_eq!(resolve["shadowed"], json!(["user .ai/tools/acme/mark.sh"]));
}

#[test]
fn why_names_every_copy_who_signed_it_and_the_chain() {
    let world = World::new();
    let tool = "tool:acme/mark";
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    world.signed_home(".ai/tools/acme/mark.sh", MARKER_SH);
    let own = fingerprint(&world.own_key());
    let (status, said) = world.json(&["why", tool]);
    assert_eq!((status, &said["item_id"], &said["accepted"]), (0, &json!(tool), &json!(true)));
    let copies = said["copies"].as_array().unwrap();
    let rows: Vec<_> = copies
        .iter()
        .map(|c| json!([c["space"], c["answers"], c["admitted"], c["detail"]["signer"]]))
        .collect();
    assert_eq!(rows, [json!(["project", true, true, own]), json!(["user", false, true, own])]);
    let at = world.project().join(".ai/tools/acme/mark.sh").canonicalize().unwrap();
    assert_eq!(copies[0]["path"], json!(at));
    let chain: Vec<_> = said["chain"].as_array().unwrap().iter().collect();
    let chain: Vec<_> = chain.iter().map(|link| json!([link["item_id"], link["space"]])).collect();
    let runtime = json!(["tool:rye/core/runtimes/shell/script", "system"]);
    let primitive = json!(["tool:rye/core/primitives/execute", "system"]);
    assert_eq!(chain, [json!([tool, "project"]), runtime, primitive]);
    let text = world.rye(&["why", tool]).stdout;
    for part in ["project", "user", &own, "your own key", "rye/core/primitives/execute"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

#[test]
fn why_names_the_rule_that_refused_and_the_document_that_admits() {
    let world = two_copies();
    world.write(PATH, "# Note\n");
    let (status, said) = world.json(&["why", NOTE]);
    assert_eq!((status, &said["code"]), (4, &json!("verify.unsigned")));
    let copies = &said["copies"];
    assert_eq!(
        copies[0]["refused"]["code"], "verify.unsigned",
        "the nearest answers, and is refused"
    );
    assert_eq!(copies[1]["refused"], Value::Null);
    assert_eq!(world.rye(&["execute", NOTE]).status, 4, "the other copy does not take its place");
    let friend = SigningKey::from_bytes(&[6; 32]);
    let pem = friend.verifying_key().to_public_key_pem(LineEnding::LF).unwrap();
    let path = world.outside().join("friend.pem");
    fs::write(&path, pem).unwrap();
    let theirs = line(&friend, NOTE, "md", &seconds_from_now(0), b"# Note\n");
    world.write(PATH, format!("<!-- {theirs} -->\n# Note\n"));
    world.json(&["why", NOTE]).fails(4, "verify.untrusted");
    world.rye(&["trust", "add", path.to_str().unwrap(), "--owner", "friend"]).ok();
    let said = world.json(&["why", NOTE]).ok();
    let print = fingerprint(&friend);
    let want = json!({
        "path": format!(".ai/config/keys/trusted/{print}.toml"), "owner": "friend", "fingerprint": print,
    });
    assert_eq!(said["copies"][0]["trust_document"], want);
    let text = world.rye(&["why", NOTE]).stdout;
    assert!(text.contains(want["path"].as_str().unwrap()), "{text}");
    fails(&world, &["why", "knowledge:acme/nothing"], 3, "resolve.not_found");
}

#[test]
fn a_plain_id_is_a_tool_or_a_directive_and_never_both() {
    let world = World::new()
        .with(".ai/directives/acme/greet.md", GREET_MD)
        .with(".ai/tools/acme/mark.sh", MARKER_SH);
    for (plain, item) in [("acme/greet", "directive:acme/greet"), ("acme/mark", "tool:acme/mark")] {
        for args in [&["execute", plain][..], &["show", plain], &["why", plain]] {
            let said = world.json(args).ok();
            assert!(said.to_string().contains(item), "{args:?}: {said}");
        }
        world.rye(&["verify", plain]).ok();
        world.rye(&["sign", plain]).ok();
    }
    let both = ["tool:acme/greet", "directive:acme/greet"];
    let tool = MARKER_SH;
    for space in ["project", "user"] {
        let file = match space {
            "project" => world.signed(".ai/tools/acme/greet.sh", tool),
            _ => world.signed_home(".ai/tools/acme/greet.sh", tool),
        };
        for verb in ["execute", "show", "why", "sign", "fetch", "diff"] {
            let said = fails(&world, &[verb, "acme/greet"], 3, "resolve.ambiguous_kind");
            let error = said["error"].as_str().unwrap();
            let named = both.iter().all(|item| error.contains(item));
            assert!(named, "{verb}, {space}: {error}");
        }
        world.rye(&["execute", "directive:acme/greet"]).ok();
        fs::remove_file(file).unwrap();
    }
    // Knowledge and config are never what a plain id means.
    world.signed(".ai/knowledge/acme/only.md", "# Only\n");
    fails(&world, &["execute", "acme/only"], 3, "resolve.not_found");
    world.signed(".ai/knowledge/acme/mark.md", "# Mark\n");
    world.rye(&["execute", "acme/mark"]).ok();
}

#[test]
fn an_unknown_kind_is_answered_with_the_kinds() {
    let world = World::new();
    for kind in ["toll", "Tool", "tools", "runtime", ""] {
        let said = fails(&world, &["execute", &format!("{kind}:acme/mark")], 3, "id.unknown_kind");
        let help = format!("{}{}", said["error"], said["help"]);
        let listed = ["tool", "directive", "knowledge", "config"].iter().all(|k| help.contains(k));
        assert!(listed, "{help}");
    }
}

#[test]
fn the_project_is_the_nearest_folder_above_and_the_users_own_folder_is_none() {
    let Some(world) = two_copies().at_home() else { return };
    let deep = world.project().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let project = |folder: &std::path::Path, args: &[&str]| {
        let said = world.rye_in(folder, &[args, &["why", NOTE, "--json"]].concat(), b"").json();
        (said["project"].clone(), said["copies"][0]["space"].clone())
    };
    let real = json!(world.project().canonicalize().unwrap());
    assert_eq!(project(&deep, &[]), (real.clone(), json!("project")));
    let root = world.project();
    let named = ["--project", root.to_str().unwrap()];
    assert_eq!(project(world.outside(), &named), (real, json!("project")));
    let here = json!(world.outside().canonicalize().unwrap());
    assert_eq!(project(world.outside(), &[]), (here, json!("user")), "no `.ai` above");
    let inside = world.home().join("work");
    fs::create_dir(&inside).unwrap();
    let at = json!(inside.canonicalize().unwrap());
    assert_eq!(project(&inside, &[]), (at, json!("user")), "the user base is no project");
    // A tool of the user space then works in the working directory.
    world.signed_home(".ai/tools/acme/mark.sh", MARKER_SH);
    world.rye_in(&inside, &["execute", "tool:acme/mark"], b"").ok();
    assert!(inside.join("marker").exists());
    // By way of a link it is the same folder.
    let link = world.outside().join("link");
    symlink(world.home(), &link).unwrap();
    let said = world.rye_in(&link.join("work"), &["why", NOTE, "--json"], b"").json();
    assert_eq!(said["accepted"], Value::Null, "{said}");
}

#[test]
fn the_variables_that_name_roots_are_not_the_childs() {
    let world = World::new();
    let text = "echo \"{\\\"seen\\\": \\\"${USER_SPACE-none} ${RYE_SYSTEM_SPACE-none}\\\"}\"";
    world.signed(".ai/tools/acme/mark.sh", &MARKER_SH.replacen("echo '{\"ran\": true}'", text, 1));
    let home = world.home();
    let env = [("USER_SPACE", home.to_str().unwrap())];
    let args = ["execute", "tool:acme/mark", "--json"];
    let said = world.rye_env(&world.project(), &args, b"", &env).json();
    assert_eq!(said["data"], json!({"seen": "none none"}));
}

#[test]
fn a_copy_that_lost_cannot_break_the_one_that_answers() {
    let world = two_copies();
    let lost = world.home().join(PATH);
    let other = lost.with_extension("yaml");
    let to_link = || {
        fs::remove_file(&other).unwrap();
        fs::remove_file(&lost).unwrap();
        symlink("/dev/null", &lost).unwrap();
    };
    let rows: [(&str, &dyn Fn()); 3] = [
        ("altered", &|| fs::write(&lost, "# Other\n").unwrap()),
        ("two files", &|| fs::write(&other, "a: 1\n").unwrap()),
        ("a link", &to_link),
    ];
    for (what, plant) in rows {
        plant();
        assert_eq!(answer(&world, NOTE), "project", "{what}");
    }
}
