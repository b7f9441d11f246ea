//! `rye import rye`: items of the older signature form are judged by their own rules, shown with
//! what those leave uncovered, and signed anew when a person says so.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::{Signer, SigningKey};
use serde_json::Value;

use crate::world::{End, MARKER_PY, World, sha256};

const DIRECTIVE: &str = "# Tell\n\n```xml\n<directive name=\"tell\" version=\"1.0.0\">\n  <metadata>\n    \
    <description>Tells</description>\n    <category>acme</category>\n    <author>a</author>\n  \
    </metadata>\n</directive>\n```\n\nTell it.\n";

fn vectors() -> Value {
    let text = include_str!("../../vectors/older/legacy-signatures.json");
    serde_json::from_str(text).expect("vectors")
}

fn decoded(row: &Value, field: &str) -> Vec<u8> {
    STANDARD.decode(row[field].as_str().expect(field)).expect("base64")
}

fn pem(key: &SigningKey) -> String {
    key.verifying_key().to_public_key_pem(LineEnding::LF).expect("a PEM")
}

/// A line of the older form over `covered`.
fn older_line(key: &SigningKey, covered: &str) -> String {
    let hash = sha256(covered.as_bytes());
    let sig = URL_SAFE_NO_PAD.encode(key.sign(hash.as_bytes()).to_bytes());
    let name = &sha256(pem(key).as_bytes())[..16];
    format!("rye:signed:2026-04-10T12:00:00Z:{hash}:{sig}:{name}")
}

/// A folder with a tool and a directive of the older form, and the key that signed them beside it.
fn old(world: &World) -> (SigningKey, PathBuf) {
    let key = SigningKey::from_bytes(&[7; 32]);
    let folder = world.outside().join("old");
    let tool = format!("# {}\n{MARKER_PY}", older_line(&key, MARKER_PY));
    put(&folder.join(".ai/tools/acme/mark.py"), &tool);
    let fence = DIRECTIVE.split("```xml\n").nth(1).unwrap().split("\n```").next().unwrap();
    let directive = format!("<!-- {} -->\n{DIRECTIVE}", older_line(&key, fence));
    put(&folder.join(".ai/directives/acme/tell.md"), &directive);
    fs::write(world.outside().join("old.pem"), pem(&key)).unwrap();
    (key, folder)
}

/// A project that holds one tool of the older form, and the key that signed it beside it.
pub fn in_place(world: World) -> World {
    let (_, folder) = old(&world);
    let tool = fs::read(folder.join(".ai/tools/acme/mark.py")).unwrap();
    put(&world.project().join(".ai/tools/acme/mark.py"), tool);
    world
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const KEY: [&str; 2] = ["--key", "../old.pem"];

#[test]
fn each_vector_of_the_older_form_is_told_as_its_implementation_has_it() {
    let (world, vectors) = (World::new(), vectors());
    let mut args = vec!["import".to_owned(), "rye".into(), "../one".into(), "--dry-run".into()];
    for (name, key) in vectors["keys"].as_object().unwrap() {
        let path = world.outside().join(format!("{name}.pem"));
        fs::write(&path, key["public_pem"].as_str().unwrap()).unwrap();
        if key["trusted"] == true {
            args.extend(["--key".to_owned(), path.display().to_string()]);
        }
    }
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let folder = world.outside().join("one");
    let rows = |name: &str| vectors[name].as_array().unwrap().clone();
    for row in [rows("signed"), rows("tampered")].concat() {
        let (bytes, want) = match row["expected"].as_str() {
            Some(want) => (decoded(&row, "content_b64"), Some(want)),
            None if !row["error"].is_null() => (decoded(&row, "original_b64"), None),
            None => (decoded(&row, "signed_b64"), row["verify"]["result"].as_str()),
        };
        drop(fs::remove_dir_all(&folder));
        put(&folder.join(row["path"].as_str().unwrap()), &bytes);
        let (status, said) = world.json(&args);
        assert_eq!(status, 0, "{}: {said}", row["id"]);
        let (items, left) = (&said["items"], &said["left_out"]);
        let told = items.get(0).or(left.get(0)).unwrap_or_else(|| panic!("{}: {said}", row["id"]));
        assert_eq!(told["older_signature"].as_str(), want, "{}: {said}", row["id"]);
        // rye has no tools in JSON; all else that is good may be imported.
        let is_item = want == Some("ok") && !row["id"].as_str().unwrap().starts_with("tool.json");
        assert_eq!(items.as_array().unwrap().len(), usize::from(is_item), "{}: {said}", row["id"]);
        assert!(!is_item || !items[0]["uncovered"].as_array().unwrap().is_empty(), "{said}");
    }
}

#[test]
fn older_items_are_shown_signed_anew_and_run() {
    let world = World::new();
    old(&world);
    let said = world.rye(&[&["import", "rye", "../old", "--yes"], &KEY[..]].concat()).ok();
    for told in [
        "older signature: good, by `",
        "does not cover: everything outside of `<directive>…</directive>`, so the whole prompt; kind, id",
        "  Tell it.",
        "  open(\"marker\", \"w\").close()",
    ] {
        assert!(said.stdout.contains(told), "{told}: {}", said.stdout);
    }
    world.works("tool:acme/mark");
    let said = world.rye(&["execute", "directive:acme/tell"]);
    assert_eq!((said.status, said.stdout.contains("Tell it.")), (0, true), "{said:?}");
    world.rye(&["verify", "tool:acme/**", "directive:acme/**", "--ci"]).ok();
    // What is there is not overwritten.
    world
        .rye(&[&["import", "rye", "../old", "--yes", "--json"], &KEY[..]].concat())
        .fails(4, "import.exists");
}

#[test]
fn a_tool_that_reads_an_argument_which_nothing_gives_it_here_is_named() {
    let world = World::new();
    let (key, folder) = old(&world);
    let args = [&["import", "rye", "../old", "--dry-run"], &KEY[..]].concat();
    let said = world.rye(&args);
    assert!(!said.stdout.contains("--project-path"), "the fixture itself: {said:?}");
    let tool = format!("{MARKER_PY}# usage: --params JSON --project-path DIR\n");
    let tool = format!("# {}\n{tool}", older_line(&key, &tool));
    put(&folder.join(".ai/tools/acme/mark.py"), tool);
    world.rye(&args).shows("which nothing gives it here");
}

#[test]
fn nobody_said_yes_so_nothing_is_signed_and_a_dry_run_writes_nothing() {
    let world = World::new();
    old(&world);
    let args = [&["import", "rye", "../old"], &KEY[..]].concat();
    let said = world.rye(&[&args[..], &["--dry-run"]].concat()).ok();
    assert!(said.stdout.ends_with("2 to import; nothing was written\n"), "{said:?}");
    assert!(!world.project().join(".ai/tools/acme").exists());
    world.rye(&args).ok().shows("  rye sign tool:acme/mark\n");
    world.refused("tool:acme/mark", "verify.unsigned", 4);
    let text = String::from_utf8(world.read(".ai/tools/acme/mark.py")).unwrap();
    assert_eq!(text, MARKER_PY, "the older line is gone");
}

#[test]
fn what_no_key_of_yours_vouches_for_is_left_out_also_with_a_key_in_the_folder() {
    let world = World::new();
    let (key, folder) = old(&world);
    put(&folder.join(".ai/config/keys/trusted/old.toml"), pem(&key));
    let said =
        world.rye(&["import", "rye", "../old", "--yes", "--json"]).fails(5, "import.nothing");
    let left = said.json()["data"]["left_out"].as_array().unwrap().clone();
    let words: Vec<_> = left.iter().map(|row| row["older_signature"].as_str()).collect();
    assert_eq!(words, [Some("untrusted_key"), Some("untrusted_key"), None], "{left:?}");

    // One of two was changed: the other is imported, and both are told.
    let path = folder.join(".ai/tools/acme/mark.py");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}print('evil')\n")).unwrap();
    let said = world.rye(&[&["import", "rye", "../old", "--yes"], &KEY[..]].concat()).ok();
    let told = "`.ai/tools/acme/mark.py` is left out: it was changed after it was signed";
    assert!(said.stderr.contains(told), "{said:?}");
    assert!(!world.project().join(".ai/tools/acme").exists(), "{said:?}");

    // Read by a person it may come in, and is not signed with the rest.
    let more = ["--unchecked", "--force"];
    let said =
        world.rye(&[&["import", "rye", "../old", "--yes"], &KEY[..], &more[..]].concat()).ok();
    assert!(said.stdout.contains("nobody vouches for this"), "{said:?}");
    assert!(said.stdout.contains("signed  directive:acme/tell"), "{said:?}");
    assert!(said.stdout.ends_with("  rye sign tool:acme/mark\n"), "{said:?}");
    world.refused("tool:acme/mark", "verify.unsigned", 4);

    world.rye(&["import", "rye", "nothing-here", "--json"]).fails(5, "import.nothing");
    world
        .rye(&["import", "rye", "../old", "--key", "../old/.ai/tools/acme/mark.py"])
        .fails(2, "cli.usage");
}

#[test]
fn a_project_of_the_older_form_is_signed_anew_where_it_is() {
    let world = World::new();
    let (_, folder) = old(&world);
    let path = |item: &str| world.project().join(".ai").join(item);
    for item in ["tools/acme/mark.py", "directives/acme/tell.md"] {
        put(&path(item), fs::read(folder.join(".ai").join(item)).unwrap());
    }
    let before = world.read(".ai/tools/acme/mark.py");
    let args = [&["import", "rye", "."], &KEY[..]].concat();
    world.rye(&args).ok();
    // Its older signature is all that it has, and is kept.
    assert_eq!(world.read(".ai/tools/acme/mark.py"), before);
    world.refused("tool:acme/mark", "verify.legacy", 4);
    world.rye(&[&args[..], &["--yes"]].concat()).ok();
    world.works("tool:acme/mark");
}

#[test]
fn what_cannot_be_signed_anew_where_it_is_keeps_its_older_signature() {
    let world = World::new();
    let (key, folder) = old(&world);
    for item in ["tools/acme/mark.py", "directives/acme/tell.md"] {
        let text = fs::read(folder.join(".ai").join(item)).unwrap();
        put(&world.project().join(".ai").join(item), text);
    }
    let text = MARKER_PY.replace("Leaves a marker", "Leaves \u{202e}a marker");
    let signed = format!("# {}\n{text}", older_line(&key, &text));
    put(&world.project().join(".ai/tools/acme/hidden.py"), &signed);
    world
        .rye(&[&["import", "rye", ".", "--yes"], &KEY[..]].concat())
        .fails(5, "parse.invisible_text");
    world.works("tool:acme/mark");
    assert_eq!(world.read(".ai/tools/acme/hidden.py"), signed.as_bytes());
}

#[test]
fn e07_what_a_reader_cannot_see_is_escaped_when_shown_and_not_signed() {
    let world = World::new();
    let (key, folder) = old(&world);
    let text = MARKER_PY.replace("Leaves a marker", "Leaves \u{202e}a\u{e0041} marker");
    let signed = format!("# {}\n{text}", older_line(&key, &text));
    put(&folder.join(".ai/tools/acme/mark.py"), signed);
    let said = world
        .rye(&[&["import", "rye", "../old", "--yes"], &KEY[..]].concat())
        .fails(5, "parse.invisible_text");
    assert!(!said.stdout.contains('\u{202e}') && !said.stdout.contains('\u{e0041}'), "{said:?}");
    assert!(said.stdout.contains("u{202e}"), "{said:?}");
    let (status, code) = world.run("tool:acme/mark");
    assert_eq!((status, code.as_str()), (5, "parse.invisible_text"));
}

#[test]
fn links_reserved_ids_and_documents_about_keys_stay_where_they_are() {
    let world = World::new();
    let (key, folder) = old(&world);
    let tool = format!("# {}\n{MARKER_PY}", older_line(&key, MARKER_PY));
    put(&folder.join(".ai/tools/rye/bash.py"), &tool);
    put(&folder.join(".ai/config/keys/trusted/x.toml"), "a = 1\n");
    std::os::unix::fs::symlink("/etc/passwd", folder.join(".ai/tools/acme/link.py")).unwrap();
    put(&folder.join(".ai/tools/acme/data.bin"), [0, 159, 146, 150]);
    let (status, said) =
        world.json(&[&["import", "rye", "../old", "--dry-run"], &KEY[..]].concat());
    assert_eq!(status, 0, "{said}");
    let items: Vec<_> = said["items"].as_array().unwrap().iter().map(|i| &i["item_id"]).collect();
    assert_eq!(items, ["tool:acme/mark", "directive:acme/tell"], "{said}");
    let left: Vec<_> = said["left_out"].as_array().unwrap().iter().map(|l| &l["path"]).collect();
    let want =
        [".ai/tools/acme/link.py", ".ai/tools/rye/bash.py", ".ai/config/keys/trusted/x.toml"];
    assert_eq!(left, want, "{said}");
    assert_eq!(said["remarks"].as_array().unwrap().len(), 1, "{said}");
}

#[test]
fn a_bundle_of_reserved_ids_is_taken_into_a_folder_with_its_metadata() {
    let world = World::new();
    let (key, folder) = old(&world);
    drop(fs::remove_dir_all(folder.join(".ai")));
    let tool = MARKER_PY.replace("acme", "rye/words");
    assert!(tool.contains("rye/words"), "the fixture says its category: {tool}");
    let tool = format!("# {}\n{tool}", older_line(&key, &tool));
    put(&folder.join(".ai/tools/rye/words/mark.py"), tool);
    let page = "# Behavior\n\n```yaml\ntitle: Agent Behavior Rules\ntags: [a, b]\nversion: 1.0.0\n```\n\nBe kind.\n";
    let line = older_line(&key, page);
    put(&folder.join(".ai/knowledge/rye/words/behavior.md"), format!("<!-- {line} -->\n{page}"));
    world
        .rye(&[&["import", "rye", "../old", "--yes"], &KEY[..]].concat())
        .fails_with("import.nothing")
        .warns("give `--category FOLDER`");
    let args = ["import", "rye", "../old", "--category", "old", "--yes"];
    world.rye(&[&args[..], &KEY[..]].concat()).ok();
    world.works("tool:old/rye/words/mark");
    world.json(&["fetch", "knowledge:old/rye/words/behavior"]).ok();
    let (_, got) = world.json(&["search", "Agent Behavior Rules", "--kind", "knowledge"]);
    assert!(got.to_string().contains("old/rye/words/behavior"), "{got}");
    let text = fs::read_to_string(world.project().join(".ai/knowledge/old/rye/words/behavior.md"));
    let text = text.unwrap();
    let want = "---\ntitle: Agent Behavior Rules\ntags: [a, b]\nversion: 1.0.0\n---\n\n# Behavior\n\nBe kind.\n";
    assert_eq!(text.split_once('\n').unwrap().1, want);
}
