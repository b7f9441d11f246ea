//! The dev key: what it may sign, where, and for how long.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ed25519_dalek::SigningKey;

use super::{Dev, OTHER, OTHER_FILE, SAY, SAY_FILE, admitted, edit, reword, says, signer, world};
use crate::keys::others::{AT, pem, put, put_home, signed_text, stranger};
use crate::world::{World, fingerprint, line, seconds_from_now};

/// The record that lets `key` sign in a folder, as the format says it, signed by `by`.
fn record(world: &World, key: &SigningKey, folder: &Path, not_after: &str, by: &SigningKey) {
    let real = folder.canonicalize().unwrap();
    let stat = fs::metadata(&real).unwrap();
    let text = format!(
        "fingerprint = \"{}\"\nnot_after = \"{not_after}\"\npublic_key = \"\"\"\n{}\"\"\"\n\n\
         [project]\npath = \"{}\"\ndevice = \"{}\"\ninode = \"{}\"\n",
        fingerprint(key),
        pem(key),
        real.display(),
        stat.dev(),
        stat.ino()
    );
    put_home(world, by, &format!(".ai/config/keys/dev/{}.toml", fingerprint(key)), &text);
}

/// A project item that a dev key of ours signed.
fn dev_signed(world: &World, key: &SigningKey) {
    record(world, key, &world.project(), &seconds_from_now(600), &world.own_key());
    put(world, key, SAY_FILE, &says("first"));
    world.works(SAY);
}

fn files_in(world: &World, extension: &str) -> Vec<fs::DirEntry> {
    let entries = fs::read_dir(world.home().join(".ai/config/keys/dev")).unwrap();
    let entries = entries.map(Result::unwrap);
    entries.filter(|e| e.path().extension().is_some_and(|x| x == extension)).collect()
}

#[test]
fn there_is_one_dev_key_a_project_and_it_is_private_and_lives_twelve_hours() {
    let world = world();
    let begun = |world: &World| Dev::start(world, &[]).seen[0].clone();
    let first = begun(&world);
    let ends: jiff::Timestamp = first["not_after"].as_str().unwrap().parse().unwrap();
    let left = ends.as_second() - jiff::Timestamp::now().as_second();
    assert!((11 * 3600..=12 * 3600).contains(&left), "{left} seconds");
    let keys = files_in(&world, "pem");
    assert_eq!(keys.len(), 1);
    assert_eq!(keys[0].metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(begun(&world)["dev_key"], first["dev_key"], "it is used again");
    // Another project has another.
    let other = world.outside().join("elsewhere");
    fs::create_dir(&other).unwrap();
    assert_eq!(world.rye_in(&other, &["init"], b"").status, 0);
    let elsewhere = Dev::start_in(&world, &other, &[]).seen[0].clone();
    assert_ne!(elsewhere["dev_key"], first["dev_key"]);
    assert_eq!(files_in(&world, "pem").len(), 2);
    // One that others can read is not used.
    let path = keys[0].path();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    world.rye(&["dev", "--json"]).fails(4, "key.permissions");
}

#[test]
fn what_a_dev_key_signed_counts_here_and_not_for_machines() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    world.works(SAY);
    for args in [&["verify", SAY][..], &["verify", "--all"], &["verify", "tool:acme/*"]] {
        world.rye(args).ok();
        world
            .rye(&[args, &["--ci"]].concat())
            .fails(4, "verify.dev_signature")
            .warns("run `rye sign tool:acme/say`");
    }
    world.rye(&["lock", SAY]).fails(4, "verify.dev_signature");
    let picture = world.rye(&["graph", SAY]).stdout;
    assert!(
        picture.starts_with("tool:acme/say") && picture.contains("~ signed with the dev key"),
        "{picture}"
    );
    world.shell("git init -q -b main && git add -A");
    let (status, staged) = world.json(&["git", "check"]);
    let found = (status, &staged["findings"][0]["code"], &staged["findings"][0]["refused"]);
    assert_eq!(found, (4, &"verify.dev_signature".into(), &true.into()), "{staged}");
    // The work is done: your own key takes over.
    world.rye(&["sign", "--all"]).ok();
    assert_eq!(signer(&world, SAY_FILE), fingerprint(&world.own_key()));
    world.rye(&["verify", "--ci"]).ok();
}

#[test]
fn a_dev_key_whose_time_is_over_is_refused() {
    let world = World::new();
    let key = stranger(9);
    dev_signed(&world, &key);
    record(&world, &key, &world.project(), &seconds_from_now(-1), &world.own_key());
    let said = world.rye(&["execute", SAY, "--json"]).fails(4, "verify.expired");
    let help = said.json()["help"].as_str().unwrap().to_owned();
    assert!(help.contains("`rye dev`") && help.contains("`rye sign tool:acme/say`"), "{help}");
    // For machines and for a commit it is what it always was, a dev key's.
    world.rye(&["verify", SAY, "--ci"]).fails(4, "verify.dev_signature");
    world.shell("git init -q -b main && git add -A");
    let (status, staged) = world.json(&["git", "check"]);
    assert_eq!((status, &staged["findings"][0]["refused"]), (4, &true.into()), "{staged}");
    drop(fs::remove_dir_all(world.project().join(".git")));
    // The next session has a key of its own, and asks about what the old one signed.
    let mut dev = Dev::start(&world, &[]);
    assert_ne!(dev.seen[0]["dev_key"], fingerprint(&key));
    assert_eq!(dev.about("waits", SAY)["why"], serde_json::json!(["not_admitted"]));
}

/// The one dev key that was made, which another takes the place of in so many seconds.
fn nearly_over(world: &World, seconds: i64) -> SigningKey {
    use ed25519_dalek::pkcs8::DecodePrivateKey;
    let pem = fs::read_to_string(files_in(world, "pem")[0].path()).unwrap();
    let key = SigningKey::from_pkcs8_pem(&pem).unwrap();
    // A quarter of an hour before its end.
    let not_after = seconds_from_now(15 * 60 + seconds);
    record(world, &key, &world.project(), &not_after, &world.own_key());
    key
}

#[test]
fn what_an_earlier_dev_key_signed_is_signed_by_the_next_one_before_its_time_is_over() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    let first = dev.seen[0]["dev_key"].as_str().unwrap().to_owned();
    drop(dev);
    assert_eq!(fingerprint(&nearly_over(&world, 3)), first);
    // While a session watches: what it signed, and what an earlier session did.
    let mut dev = Dev::start(&world, &[]);
    assert_eq!((&dev.seen[0]["dev_key"], dev.seen.len()), (&first.clone().into(), 1));
    reword(&world, OTHER_FILE, "third");
    dev.about("signed", OTHER);
    let renewed = dev.until("renewed");
    assert_eq!(renewed["signed_again"], 2, "{renewed}");
    let second = renewed["dev_key"].as_str().unwrap().to_owned();
    assert_ne!(second, first);
    for (item, path) in [(SAY, SAY_FILE), (OTHER, OTHER_FILE)] {
        assert_eq!(signer(&world, path), second, "{path}");
        admitted(&world, item);
    }
    // And it goes on as before.
    reword(&world, SAY_FILE, "fourth");
    assert_eq!(dev.about("signed", SAY)["asked"], false);
    assert!(dev.all("waits").is_empty(), "{:#?}", dev.seen);
    drop(dev);
    // When a session begins with another key because of that.
    assert_eq!(fingerprint(&nearly_over(&world, -1)), second);
    world.works(SAY);
    let mut dev = Dev::start(&world, &[]);
    let third = dev.seen[0]["dev_key"].as_str().unwrap().to_owned();
    assert_ne!(third, second);
    assert_eq!(dev.until("renewed")["signed_again"], 2);
    assert_eq!((signer(&world, SAY_FILE), signer(&world, OTHER_FILE)), (third.clone(), third));
    reword(&world, SAY_FILE, "fifth");
    dev.about("signed", SAY);
    assert!(dev.all("waits").is_empty(), "{:#?}", dev.seen);
}

#[test]
fn another_dev_key_signs_nothing_that_changed_or_was_revoked() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    for (item, path) in [(SAY, SAY_FILE), (OTHER, OTHER_FILE)] {
        reword(&world, path, "by the dev key");
        dev.about("signed", item);
    }
    let first = dev.seen[0]["dev_key"].as_str().unwrap().to_owned();
    drop(dev);
    // Changed while nobody watched: a person looks first, as ever.
    nearly_over(&world, -1);
    let saved = reword(&world, SAY_FILE, "planted");
    let mut dev = Dev::start(&world, &[]);
    assert_eq!(dev.until("renewed")["signed_again"], 1);
    assert_eq!(dev.about("waits", SAY)["why"], serde_json::json!(["not_admitted"]));
    assert_eq!(world.read(SAY_FILE), saved);
    let second = signer(&world, OTHER_FILE);
    assert_ne!(second, first);
    drop(dev);
    // Revoked: what it signed is refused, also by the next session.
    world.rye(&["trust", "revoke", &second]).ok();
    let mut dev = Dev::start(&world, &[]);
    dev.about("waits", SAY);
    reword(&world, SAY_FILE, "the end");
    dev.about("waits", SAY);
    assert!(dev.all("renewed").is_empty(), "{:#?}", dev.seen);
    assert_eq!(signer(&world, OTHER_FILE), second);
}

#[test]
fn a_dev_key_signs_no_config_and_nothing_outside_its_project() {
    let world = World::new();
    let key = stranger(9);
    dev_signed(&world, &key);
    let config = ".ai/config/acme/x.yaml";
    put(&world, &key, config, "a: 1\n");
    let said = world.rye(&["verify", "config:acme/x"]).fails(4, "verify.out_of_scope");
    let help = format!("`rye trust show {}`", fingerprint(&key));
    assert!(said.stderr.contains(&help), "{said:?}");
    world.rye(&["trust", "show", &fingerprint(&key)]).ok();
    put_home(&world, &key, ".ai/tools/acme/home.sh", &says("x"));
    world.refused("tool:acme/home", "verify.out_of_scope", 4);
    // Another project, accepted as well.
    let other = world.outside().join("elsewhere");
    fs::create_dir_all(other.join(".ai/tools/acme")).unwrap();
    assert_eq!(world.rye_in(&other, &["init"], b"").status, 0);
    let text = signed_text(&key, SAY, "sh", AT, &says("x"));
    fs::write(other.join(".ai/tools/acme/say.sh"), text).unwrap();
    world.rye_in(&other, &["execute", SAY, "--json"], b"").fails(4, "verify.out_of_scope");
}

#[test]
fn a_dev_key_is_listed_and_shown_without_its_secret() {
    let world = world();
    let started = Dev::start(&world, &[]).seen[0].clone();
    let (key, until) = (started["dev_key"].as_str().unwrap(), &started["not_after"]);
    let project = world.project().canonicalize().unwrap().display().to_string();
    let (_, keys) = world.json(&["keys", "list"]);
    let want = serde_json::json!([{"fingerprint": key, "project": project, "not_after": until}]);
    assert_eq!(keys["dev"], want, "{keys}");
    let (_, list) = world.json(&["trust", "list"]);
    let row = list["keys"].as_array().unwrap().iter().find(|row| row["fingerprint"] == key);
    let row = row.unwrap_or_else(|| panic!("{list}"));
    let said = (&row["state"], &row["project"], &row["not_after"]);
    assert_eq!(said, (&"dev key".into(), &project.clone().into(), until), "{row}");
    // What the help of a refusal names.
    let (status, shown) = world.json(&["trust", "show", key]);
    assert_eq!((status, &shown["state"], &shown["not_after"]), (0, &"dev key".into(), until));
    let own = fingerprint(&world.own_key());
    assert_eq!(world.json(&["trust", "show", &own]).1["state"], "own key");
    for args in [&["keys", "list"][..], &["trust", "list"], &["trust", "show", key]] {
        let said = world.rye(args).ok();
        let line = said.stdout.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        assert!(line.contains(&project) && line.contains(until.as_str().unwrap()), "{said:?}");
        assert!(!said.stdout.contains("PRIVATE"), "{said:?}");
    }
    // One whose time is over says nothing any more, but can be looked at.
    nearly_over(&world, -16 * 60);
    assert_eq!(world.json(&["keys", "list"]).1["dev"], serde_json::json!([]));
    assert!(!world.rye(&["trust", "list"]).stdout.contains(key));
    assert_eq!(world.json(&["trust", "show", key]).1["state"], "expired");
    // It is not a document that `remove` takes away; a beginning of it can be revoked.
    world.rye(&["trust", "remove", key, "--json"]).fails(3, "trust.not_found");
    world.rye(&["trust", "revoke", &key[..8]]).ok();
    assert_eq!(world.json(&["trust", "show", key]).1["state"], "revoked");
}

#[test]
fn a_session_signs_no_config_and_no_reserved_id() {
    let world = world();
    let config = ".ai/config/acme/x.yaml";
    world.signed(config, "a: 1\n");
    let mut dev = Dev::start(&world, &[]);
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    let edited = edit(&world, config, "a: 1", "a: 2");
    let refused = dev.about("refused", "config:acme/x");
    assert_eq!(refused["code"], "sign.dev_key", "{refused}");
    assert!(refused["help"].as_str().unwrap().contains("`rye sign config:acme/x`"), "{refused}");
    assert_eq!(world.read(config), edited);
    let reserved = ".ai/tools/rye/bash.sh";
    world.write(reserved, says("mine"));
    let refused = dev.about("refused", "tool:rye/bash");
    assert!(["sign.dev_key", "sign.reserved"].contains(&refused["code"].as_str().unwrap()));
    assert_eq!(world.read(reserved), says("mine").as_bytes());
}

#[test]
fn a_record_about_a_dev_key_counts_only_if_your_own_key_signed_it() {
    let world = World::new();
    let key = stranger(9);
    dev_signed(&world, &key);
    for by in [&key, &stranger(8)] {
        record(&world, &key, &world.project(), &seconds_from_now(600), by);
        world.refused(SAY, "verify.trust_unreadable", 4);
    }
    fs::remove_dir_all(world.home().join(".ai/config/keys/dev")).unwrap();
    world.refused(SAY, "verify.untrusted", 4);
}

#[test]
fn a_revoked_dev_key_is_refused_and_another_takes_its_place() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    let key = dev.seen[0]["dev_key"].as_str().unwrap().to_owned();
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    drop(dev);
    world.works(SAY);
    world.rye(&["trust", "revoke", &key]).ok();
    world.refused(SAY, "verify.revoked", 4);
    let next = Dev::start(&world, &[]).seen[0]["dev_key"].as_str().unwrap().to_owned();
    assert_ne!(next, key);
}

#[test]
fn in_a_locked_project_the_dev_key_speaks_for_the_locked_signer_alone() {
    let world = world();
    // Signed a while ago: of two signatures of one second a lock cannot say which came later.
    let (text, at) = (says("first"), seconds_from_now(-60));
    let line = line(&world.own_key(), SAY, "sh", &at, text.as_bytes());
    let (first, rest) = text.split_once('\n').unwrap();
    world.write(SAY_FILE, format!("{first}\n# {line}\n{rest}"));
    world.rye(&["lock", SAY]).ok();
    world.works(SAY);
    let mut dev = Dev::start(&world, &[SAY]);
    assert_eq!(dev.ran(), "first");
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    assert_eq!(dev.ran(), "second");
    world.rye(&["execute", SAY, "--locked", "--json"]).fails(4, "lock.differs");
}

#[test]
fn a_receipt_is_never_a_dev_keys() {
    let world = world();
    let mut dev = Dev::start(&world, &[]);
    reword(&world, SAY_FILE, "second");
    dev.about("signed", SAY);
    world.rye(&["execute", SAY, "--receipt", "r.json"]).ok();
    world
        .rye(&["receipt", "verify", "r.json", "--json"])
        .ok()
        .shows(&fingerprint(&world.own_key()));
}
