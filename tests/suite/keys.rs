//! Keys and trust (core 4), verb by verb: `rye keys` here, the rest in the files below.

mod config;
mod confirm;
pub mod others;
mod private;
mod project;
mod trust;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePublicKey, EncodePrivateKey, KeypairBytes};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};

use crate::world::{End, MARKER_SH, World, fingerprint};
use others::{files, pem, put_home, stranger, trust};

const ITEM: &str = "tool:acme/mark";
const FILE: &str = ".ai/tools/acme/mark.sh";

fn folder(world: &World) -> PathBuf {
    world.home().join(".ai/config/keys/signing")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn private_pem(key: &SigningKey) -> String {
    let pair = KeypairBytes { secret_key: key.to_bytes(), public_key: None };
    pair.to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}

#[test]
fn generate_makes_a_pair_that_only_you_can_read() {
    let world = World::empty();
    let said = world.json(&["keys", "generate"]).ok();
    let folder = folder(&world);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("private_key.pem")), 0o600);
    let private = fs::read_to_string(folder.join("private_key.pem")).unwrap();
    // Version 1 of PKCS#8, which every OpenSSL reads.
    assert!(private.starts_with("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI"));
    let own = world.own_key();
    assert_eq!(said["fingerprint"], *fingerprint(&own));
    assert_eq!(fs::read_to_string(folder.join("public_key.pem")).unwrap(), pem(&own));
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_pair_is_never_made_over_another() {
    let world = World::new();
    let mine = private_pem(&stranger(7));
    let before = files(&world);
    for args in [&["keys", "generate", "--json"][..], &["keys", "import", "-", "--json"]] {
        let said = world.rye_in(&world.project(), args, mine.as_bytes());
        assert_eq!((said.code().as_str(), said.status), ("key.exists", 4), "{args:?}");
    }
    assert_eq!(files(&world), before);
}

#[test]
fn keys_are_never_made_silently() {
    let world = World::empty();
    world.write(FILE, MARKER_SH);
    let before = files(&world);
    let verbs: &[(&[&str], &str)] = &[
        (&["sign", ITEM], "key.missing"),
        (&["trust", "project"], "key.missing"),
        (&["keys", "rotate"], "key.missing"),
        (&["keys", "export"], "key.missing"),
        (&["keys", "show"], "key.missing"),
        (&["keys", "list"], ""),
        (&["list"], ""),
        (&["verify"], "verify.unsigned"),
        (&["execute", ITEM], "verify.unsigned"),
        (&["execute", "tool:rye/bash", "--dry-run", "-i", "command=true"], ""),
    ];
    for (verb, code) in verbs {
        let said = world.rye(&[verb, &["--json"][..]].concat());
        let code_said = said.code();
        match verb[0] {
            "verify" => assert_eq!(said.json()["items"][0]["code"], *code, "{verb:?}"),
            _ => assert_eq!(code_said, *code, "{verb:?}: {said:?}"),
        }
        assert_eq!(said.status, if code.is_empty() { 0 } else { 4 }, "{verb:?}");
    }
    assert_eq!(files(&world), before);
}

#[test]
fn export_prints_the_public_half_and_a_document_that_others_can_add() {
    let world = World::new();
    let own = world.own_key();
    let said = world.rye(&["keys", "export"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, pem(&own).as_str()));
    let document = world.rye(&["keys", "export", "--document", "acme build"]).ok();
    let parsed: toml::Table = toml::from_str(&document.stdout).unwrap();
    assert_eq!(parsed["fingerprint"].as_str(), Some(fingerprint(&own).as_str()));
    assert_eq!(parsed["owner"].as_str(), Some("acme build"));
    assert_eq!(parsed["public_key"]["pem"].as_str(), Some(pem(&own).as_str()));
    assert_eq!(parsed.len(), 3, "{parsed}");

    let theirs = World::new();
    let file = theirs.outside().join("acme.toml");
    fs::write(&file, document.stdout).unwrap();
    theirs.rye(&["trust", "add", &file.display().to_string()]).ok();
    put_home(&theirs, &own, FILE, MARKER_SH);
    theirs.works(ITEM);
    for owner in ["a\nb", "a\u{1b}[2J"] {
        world.rye(&["keys", "export", "--document", owner, "--json"]).fails(2, "cli.usage");
    }
}

#[test]
fn import_takes_a_file_standard_input_or_the_environment() {
    let key = stranger(7);
    let v1 = private_pem(&key);
    let v2 = key.to_pkcs8_pem(LineEnding::LF).unwrap().to_string();
    assert_ne!(v1, v2);
    let windows = v1.replace('\n', "\r\n");
    let explained = format!("a key for the build\n{v1}");
    for text in [v1, v2, windows, explained] {
        for way in ["file", "stdin", "environment"] {
            let world = World::empty();
            let file = world.outside().join("key.pem");
            fs::write(&file, &text).unwrap();
            let (path, folder) = (file.display().to_string(), world.project());
            let said = match way {
                "file" => world.rye(&["keys", "import", &path]),
                "stdin" => world.rye_in(&folder, &["keys", "import", "-"], text.as_bytes()),
                _ => {
                    let env = [("RYE_SIGNING_KEY", text.as_str())];
                    world.rye_env(&folder, &["keys", "import"], b"", &env)
                }
            };
            assert_eq!(said.status, 0, "{way} {said:?}");
            assert_eq!(world.own_key().to_bytes(), key.to_bytes(), "{way}");
            assert_eq!(mode(&self::folder(&world).join("private_key.pem")), 0o600, "{way}");
            assert_eq!(mode(&self::folder(&world)), 0o700, "{way}");
            world.rye(&["init"]).ok();
            world.signed(FILE, MARKER_SH);
            world.works(ITEM);
        }
    }
}

#[test]
fn import_refuses_what_is_no_private_key() {
    let good = private_pem(&stranger(7));
    // The right frame around X25519, and around a key of 31 bytes.
    let other_curve = good.replace("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vu");
    let truncated = good.replace("MC4CAQAwBQYDK2VwBCIEI", "MC4CAQAwBQYDK2VwBCIEH");
    let world = World::empty();
    let before = files(&world);
    for bad in ["", "hello", &good[..60], &pem(&stranger(7)), &other_curve, &truncated] {
        let said =
            world.rye_in(&world.project(), &["keys", "import", "-", "--json"], bad.as_bytes());
        assert_eq!((said.code().as_str(), said.status), ("key.malformed", 4), "{bad:?} {said:?}");
    }
    world.rye(&["keys", "import", "--json"]).fails(2, "cli.usage");
    world.rye(&["keys", "import", "nowhere.pem", "--json"]).fails(2, "cli.input_file");
    assert_eq!(files(&world), before);
}

#[test]
fn list_and_show_say_what_is_there() {
    let world = World::empty();
    let (status, said) = world.json(&["keys", "list"]);
    assert_eq!((status, &said["fingerprint"], &said["kept"]), (0, &().into(), &vec![0; 0].into()));
    world.rye(&["keys", "generate"]);
    let own = fingerprint(&world.own_key());
    let (_, said) = world.json(&["keys", "list"]);
    assert_eq!(said["fingerprint"], *own);
    let (_, said) = world.json(&["keys", "show"]);
    assert_eq!((&said["fingerprint"], &said["can_sign"]), (&own.clone().into(), &true.into()));
    fs::remove_file(folder(&world).join("private_key.pem")).unwrap();
    let (_, said) = world.json(&["keys", "show"]);
    assert_eq!((&said["fingerprint"], &said["can_sign"]), (&own.into(), &false.into()));
}

#[test]
fn a_machine_with_the_public_half_alone_verifies_and_cannot_sign() {
    let world = World::new().with(FILE, MARKER_SH);
    fs::remove_file(folder(&world).join("private_key.pem")).unwrap();
    world.works(ITEM);
    for verb in [&["sign", ITEM][..], &["keys", "rotate"], &["trust", "project"]] {
        world.rye(&[verb, &["--json"][..]].concat()).fails(4, "key.missing");
    }
    world.works(ITEM);
}

#[test]
fn your_key_is_the_private_one_whatever_the_public_file_says() {
    let world = World::new().with(FILE, MARKER_SH);
    let thief = stranger(1);
    fs::write(folder(&world).join("public_key.pem"), pem(&thief)).unwrap();
    world.works(ITEM);
    let theirs = put_home(&world, &thief, ".ai/tools/acme/theirs.sh", MARKER_SH);
    world.refused("tool:acme/theirs", "verify.untrusted", 4);
    fs::remove_file(theirs).unwrap();
    fs::write(folder(&world).join("public_key.pem"), "no key").unwrap();
    world.works(ITEM);
    fs::write(folder(&world).join("private_key.pem"), "no key").unwrap();
    world.rye(&["sign", ITEM, "--json"]).fails(4, "key.malformed");
}

#[test]
fn rotate_keeps_what_you_signed_and_what_you_believe() {
    let world = World::new();
    let friend = stranger(1);
    world.signed(FILE, MARKER_SH);
    trust(&world, &friend, &["--items", "tool:friend/*"]);
    put_home(&world, &friend, ".ai/tools/friend/theirs.sh", &MARKER_SH.replace("acme", "friend"));
    let gone = fingerprint(&stranger(9));
    world.rye(&["trust", "revoke", &gone]).ok();
    let old = world.own_key();
    let old_pem = fs::read(folder(&world).join("private_key.pem")).unwrap();
    let said = world.json(&["keys", "rotate"]).ok();
    let new = world.own_key();
    let (old_fp, fp) = (fingerprint(&old), fingerprint(&new));
    assert_ne!(old_fp, fp);
    assert_eq!((&said["old"], &said["fingerprint"]), (&old_fp.clone().into(), &fp.clone().into()));

    world.works(ITEM);
    world.works("tool:friend/theirs");
    let (_, list) = world.json(&["trust", "list"]);
    assert_eq!(list["revoked"], serde_json::json!([gone]));
    let kept = folder(&world).join(format!("private_key.{old_fp}.pem"));
    assert_eq!(mode(&kept), 0o600);
    assert_eq!(fs::read(&kept).unwrap(), old_pem);
    let (_, list) = world.json(&["keys", "list"]);
    assert_eq!(list["kept"], serde_json::json!([old_fp]));
    world.signed(".ai/tools/acme/fresh.sh", MARKER_SH);
    world.works("tool:acme/fresh");

    // The old key believes nobody any more: what it says of others is a proposal.
    let other = stranger(2);
    let text = others::document(&other, "thief", "");
    put_home(&world, &old, &others::trusted(&other), &text);
    put_home(&world, &other, ".ai/tools/acme/evil.sh", MARKER_SH);
    world.refused("tool:acme/evil", "verify.trust_unreadable", 4);
    // And it can be revoked without touching what the new key signed.
    world.rye(&["trust", "revoke", &old_fp]).ok();
    world.refused(ITEM, "verify.revoked", 4);
    world.works("tool:acme/fresh");
}

#[test]
fn what_was_signed_two_rotations_ago_still_runs() {
    let world = World::new().with(FILE, MARKER_SH);
    let first = fingerprint(&world.own_key());
    for _ in 0..2 {
        world.rye(&["keys", "rotate"]).ok();
        world.works(ITEM);
    }
    let (_, list) = world.json(&["keys", "list"]);
    assert_eq!(list["kept"].as_array().unwrap().len(), 2, "{list}");
    assert!(list["kept"].to_string().contains(&first), "{list}");
}

#[test]
fn rotate_stops_before_it_writes_when_a_document_is_broken() {
    let world = World::new();
    let text = others::document(&stranger(1), "x", "");
    let file = world.write_home(&others::trusted(&stranger(1)), text);
    let before = files(&world);
    world.rye(&["keys", "rotate", "--json"]).fails(4, "verify.trust_unreadable");
    assert_eq!(files(&world), before);
    fs::remove_file(file).unwrap();
    world.rye(&["keys", "rotate"]).ok();
}

#[test]
fn the_rotation_is_stated_and_signed_by_both_keys() {
    let world = World::new();
    let old = world.own_key();
    world.rye(&["keys", "rotate"]).ok();
    let new = world.own_key();
    let path = format!(".ai/config/keys/rotated/{}.toml", fingerprint(&old));
    let text = fs::read_to_string(world.home().join(path)).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let field = |name: &str| table[name].as_str().unwrap().to_owned();
    let statement = field("statement");
    let words: Vec<_> = statement.split(' ').collect();
    assert_eq!(words[0], "rye:rotated:v1");
    assert_eq!(words[1], format!("from={}", fingerprint(&old)));
    assert_eq!(words[2], format!("to={}", fingerprint(&new)));
    for (key, name) in [(&old, "old_signature"), (&new, "signature")] {
        let bytes: [u8; 64] = hex::decode(field(name)).unwrap().try_into().unwrap();
        let public: VerifyingKey = VerifyingKey::from_public_key_pem(&pem(key)).unwrap();
        let signature = Signature::from_bytes(&bytes);
        public.verify_strict(statement.as_bytes(), &signature).expect(name);
    }
}

#[test]
fn no_verb_shows_private_key_material() {
    let world = World::new().with(FILE, MARKER_SH);
    let private = fs::read_to_string(folder(&world).join("private_key.pem")).unwrap();
    let secret = private.lines().nth(1).unwrap().to_owned();
    let raw = hex::encode(world.own_key().to_bytes());
    let verbs: &[&[&str]] = &[
        &["keys", "list"],
        &["keys", "show"],
        &["keys", "export"],
        &["keys", "export", "--document", "me"],
        &["keys", "generate"],
        &["keys", "rotate"],
        &["trust", "list"],
        &["doctor"],
        &["sign", ITEM, "-vv"],
        &["why", ITEM, "-vv"],
        &["execute", ITEM, "--trace", "-vv"],
        &["fetch", "config:keys/signing/private_key"],
    ];
    for verb in verbs {
        for more in [&[][..], &["--json"]] {
            let said = world.rye(&[verb, more].concat());
            let all = format!("{}{}", said.stdout, said.stderr);
            assert!(!all.contains(&secret) && !all.contains(&raw), "{verb:?}");
            assert!(!all.contains("PRIVATE KEY"), "{verb:?}");
        }
    }
}

/// A world whose rotation was killed right behind its one decisive step.
fn rotated_halfway(world: &World) {
    let signing = world.home().join(".ai/config/keys/signing");
    let old_home = world.outside().join("before");
    let copied = Command::new("cp").arg("-a").arg(world.home()).arg(&old_home).status();
    assert!(copied.unwrap().success());
    world.rye(&["keys", "rotate"]).ok();
    let new = fingerprint(&world.own_key());
    // The documents as the old key signed them are in their places, those of the current one wait.
    let config = world.home().join(".ai/config");
    let waiting = world.home().join(".ai/state/rotation").join(&new).join(".ai/config");
    fs::create_dir_all(waiting.join("keys")).unwrap();
    for folder in ["keys/trusted", "keys/projects", "keys/rotated", "rye"] {
        fs::rename(config.join(folder), waiting.join(folder)).unwrap();
        let before = old_home.join(".ai/config").join(folder);
        if before.exists() {
            let copied = Command::new("cp").arg("-a").arg(before).arg(config.join(folder)).status();
            assert!(copied.unwrap().success());
        }
    }
    assert!(signing.join("private_key.pem").exists());
}

#[test]
fn what_waits_of_a_rotation_is_read_and_finished_by_doctor_or_the_next_decision() {
    let finishers: [(&[&str], bool); 3] =
        [(&["doctor"], true), (&["trust", "remove", "THEIRS"], false), (&["keys", "rotate"], true)];
    for (finisher, still_trusts) in finishers {
        let world = World::new().with(".ai/tools/acme/mine.sh", MARKER_SH);
        others::put(&world, &others::stranger(1), ".ai/tools/acme/theirs.sh", MARKER_SH);
        others::trust(&world, &others::stranger(1), &[]);
        rotated_halfway(&world);
        let before = others::files(&world);
        for item in ["tool:acme/mine", "tool:acme/theirs"] {
            world.works(item);
        }
        for args in [&["verify", "--all"][..], &["trust", "list"], &["trust", "review"]] {
            world.rye(args).ok();
        }
        assert_eq!(others::files(&world), before, "looking wrote something");
        let state = world.home().join(".ai/state/rotation");
        let waits = || fs::read_dir(&state).unwrap().count();
        assert_eq!(waits(), 1, "looking finished it");
        let theirs = fingerprint(&others::stranger(1));
        let args: Vec<&str> = finisher
            .iter()
            .map(|word| if *word == "THEIRS" { theirs.as_str() } else { word })
            .collect();
        world.rye(&args).ok();
        assert_eq!(waits(), 0, "{args:?}");
        world.works("tool:acme/mine");
        match still_trusts {
            true => world.works("tool:acme/theirs"),
            false => world.refused("tool:acme/theirs", "verify.untrusted", 4),
        }
    }
}
