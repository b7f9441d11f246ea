//! Rows d: who is believed, and that nobody can make themselves believed.

mod documents;
mod hooks;

use std::fs;

use ed25519_dalek::SigningKey;

use crate::keys::others::{
    AT, accept_project, clone_world, document, files, pem, put, put_home, refused_and_unchanged,
    revoked, signed_text, standing, stranger, trust, trusted,
};
use crate::world::{End, MARKER_SH, World, fingerprint};

const EVIL: &str = ".ai/tools/acme/evil.sh";
const ITEM: &str = "tool:acme/evil";
const CONTROL: &str = "tool:acme/control";

/// An accepted project with an own item that must go on running.
fn controlled() -> World {
    let world = World::new().with(".ai/tools/acme/control.sh", MARKER_SH);
    world.works(CONTROL);
    world
}

/// A document as `config:keys/trusted/<fp>`, signed by `by`.
fn signed_document(by: &SigningKey, about: &SigningKey, text: &str) -> String {
    let item = format!("config:keys/trusted/{}", fingerprint(about));
    signed_text(by, &item, "toml", AT, text)
}

#[test]
fn d01_a_cloned_project_with_its_own_trusted_key() {
    let (thief, friend) = (stranger(1), stranger(2));
    let text = document(&thief, "acme build", "");
    let unsigned = text.clone();
    let self_signed = signed_document(&thief, &thief, &text);
    let cross_signed = signed_document(&friend, &thief, &text);
    for (how, proposal) in [
        ("unsigned", unsigned),
        ("self-signed", self_signed),
        ("cross-signed", cross_signed),
        ("signed by yourself", text.clone()),
    ] {
        let world = clone_world();
        // Say, a document of yours that you took away, and that somebody kept.
        let yours = how == "signed by yourself";
        let by_you = signed_document(&world.own_key(), &thief, &text);
        let proposal = if yours { by_you } else { proposal };
        put(&world, &thief, EVIL, MARKER_SH);
        world.write(&trusted(&thief), &proposal);
        let friends = document(&friend, "a friend", "");
        world.write(&trusted(&friend), signed_document(&thief, &friend, &friends));
        let before = standing(&world);
        refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");

        let (status, review) = world.json(&["trust", "review"]);
        assert_eq!(status, 0, "{how}");
        assert_eq!(review["accepted"], false, "{how}");
        let mut proposed: Vec<_> = review["proposals"].as_array().unwrap().iter().collect();
        proposed.sort_by_key(|p| p["owner"].to_string());
        assert_eq!(proposed.len(), 2, "{how}: {review}");
        assert_eq!(proposed[0]["owner"], "a friend", "{how}");
        assert_eq!(proposed[1]["owner"], "acme build", "{how}");
        assert_eq!(proposed[1]["fingerprint"], *fingerprint(&thief), "{how}");
        let items = review["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{how}: {review}");
        assert_eq!(items[0]["item_id"], ITEM, "{how}");
        assert_eq!(items[0]["signer_is"], "proposed", "{how}");
        assert_eq!(standing(&world), before, "{how}: looking changed trust");

        accept_project(&world);
        refused_and_unchanged(&world, ITEM, "verify.untrusted");
        // The fixture itself is good: the acceptance is all that was missing.
        let said = world.rye(&["trust", "accept", &fingerprint(&thief)]);
        assert_eq!(said.status, 0, "{how}: {said:?}");
        world.works(ITEM);
    }
}

#[test]
fn d03_a_key_that_is_revoked_expired_or_out_of_scope() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    for project in [".", "elsewhere"] {
        fs::create_dir_all(world.outside().join(project).join(".ai")).unwrap();
    }
    let good: &[&[&str]] = &[
        &[],
        &["--only", "tool:acme/*"],
        &["--only", "tool:other/*", "--only", "tool:**"],
        &["--not-after", "2099-01-01T00:00:00Z"],
        &["--in", "."],
        &["--in", "../elsewhere", "--in", "../project"],
    ];
    for scope in good {
        trust(&world, &signer, scope);
        world.works(ITEM);
    }
    let bad: &[(&[&str], &str)] = &[
        (&["--not-after", "2020-01-01T00:00:00Z"], "verify.expired"),
        (&["--only", "tool:other/**"], "verify.out_of_scope"),
        (&["--only", "tool:*"], "verify.out_of_scope"),
        (&["--only", "directive:acme/*"], "verify.out_of_scope"),
        (&["--only", "tool:acme/evi"], "verify.out_of_scope"),
        (&["--in", "../elsewhere"], "verify.out_of_scope"),
        (&["--in", ".."], "verify.out_of_scope"),
    ];
    for (scope, code) in bad {
        trust(&world, &signer, scope);
        refused_and_unchanged(&world, ITEM, code);
        world.works(CONTROL);
    }
    trust(&world, &signer, &[]);
    world.works(ITEM);
    world.rye(&["trust", "revoke", &fingerprint(&signer)]).ok();
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    world.works(CONTROL);
}

#[test]
fn d03_the_first_rule_that_fails_is_the_one_that_is_said() {
    let world = controlled();
    let signer = stranger(1);
    let good = signed_text(&signer, ITEM, "sh", AT, MARKER_SH);
    world.write(EVIL, &good);
    trust(&world, &signer, &[]);
    world.works(ITEM);
    let sig = good.find(" sig=").unwrap() + 5;
    let forged = format!("{}{}{}", &good[..sig], "A".repeat(86), &good[sig + 86..]);
    let future = signed_text(&signer, ITEM, "sh", "2099-01-01T00:00:00Z", MARKER_SH);
    let late = "not_after = \"2020-01-01T00:00:00Z\"\n";
    let both = format!("items = [\"tool:other/*\"]\n{late}");
    // Each row fails by every rule behind the one that is said, too.
    for (more, revoke, text, code) in [
        ("", false, &future, "verify.not_yet"),
        ("", false, &forged, "verify.forged"),
        (late, false, &forged, "verify.expired"),
        (&both, false, &forged, "verify.out_of_scope"),
        (&both, true, &forged, "verify.revoked"),
    ] {
        let document = document(&signer, "x", more);
        world.write_home(&trusted(&signer), signed_document(&world.own_key(), &signer, &document));
        if revoke {
            world.rye(&["trust", "revoke", &fingerprint(&signer)]).ok();
        }
        world.write(EVIL, text);
        refused_and_unchanged(&world, ITEM, code);
    }
    world.rye(&["trust", "remove", &fingerprint(&signer)]).ok();
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    fs::remove_file(world.home().join(revoked(&signer))).unwrap();
    refused_and_unchanged(&world, ITEM, "verify.untrusted");
    world.write_home(&trusted(&signer), document(&signer, "x", ""));
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    world.write(EVIL, format!("{forged}# more\n"));
    refused_and_unchanged(&world, ITEM, "verify.altered");
    fs::rename(world.project().join(EVIL), world.project().join(".ai/tools/acme/moved.sh"))
        .unwrap();
    refused_and_unchanged(&world, "tool:acme/moved", "verify.moved");
    world.works(CONTROL);
}

#[test]
fn d03_a_key_that_you_revoked_and_never_trusted_is_revoked_in_every_verb() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    refused_and_unchanged(&world, ITEM, "verify.untrusted");
    world.rye(&["trust", "revoke", &fingerprint(&signer)]).ok();
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    let (_, why) = world.json(&["why", ITEM]);
    assert_eq!(why["code"], "verify.revoked", "{why}");
    let (_, review) = world.json(&["trust", "review"]);
    let mut items = review["items"].as_array().unwrap().iter();
    let evil = items.find(|item| item["item_id"] == ITEM).unwrap();
    assert_eq!(evil["signer_is"], "revoked", "{review}");
    // Nor is it accepted where it is proposed.
    world.write(&trusted(&signer), document(&signer, "acme build", ""));
    let before = standing(&world);
    for verb in ["accept", "add"] {
        world.rye(&["trust", verb, &fingerprint(&signer), "--json"]).fails(4, "verify.revoked");
    }
    assert_eq!(standing(&world), before);
    // Dev mode forgives a stranger's signature, and no revoked one.
    let env = [("RYE_DEV_MODE", "1")];
    world
        .rye_env(&world.project(), &["execute", ITEM, "--json"], b"", &env)
        .fails(4, "verify.revoked");
    world.works(CONTROL);
}

#[test]
fn d03_a_key_limited_to_a_project_signs_nothing_for_the_user_space() {
    let world = controlled();
    let signer = stranger(1);
    put_home(&world, &signer, EVIL, MARKER_SH);
    trust(&world, &signer, &[]);
    world.works(ITEM);
    trust(&world, &signer, &["--in", "."]);
    refused_and_unchanged(&world, ITEM, "verify.out_of_scope");
    world.works(CONTROL);
}

#[test]
fn d03_a_trusted_key_signs_no_config_and_nothing_reserved_unless_its_document_says_so() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, ".ai/config/acme/settings.yaml", "a: 1\n");
    trust(&world, &signer, &["--items", "config:acme/*"]);
    world.json(&["verify", "config:acme/settings"]).ok();
    trust(&world, &signer, &[]);
    let (status, said) = world.json(&["verify", "config:acme/settings"]);
    assert_eq!((status, &said["items"][0]["code"]), (4, &"verify.out_of_scope".into()), "{said}");
    world.works(CONTROL);
}

#[test]
fn d04_a_file_of_the_project_that_is_named_like_a_fingerprint_is_not_the_key() {
    let (meant, thief) = (stranger(1), stranger(2));
    for planted in [pem(&thief), document(&thief, "acme build", "")] {
        for name in [fingerprint(&meant), fingerprint(&meant)[..16].to_owned()] {
            let world = controlled();
            put(&world, &thief, EVIL, MARKER_SH);
            put(&world, &meant, ".ai/tools/acme/good.sh", MARKER_SH);
            world.write(&trusted(&meant), document(&meant, "acme build", ""));
            let said = world.rye(&["trust", "add", &name]);
            assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
            world.works("tool:acme/good");
            world.rye(&["trust", "remove", &name]).ok();
            world.write(&name, &planted);
            drop(world.rye(&["trust", "add", &name]));
            world.refused(ITEM, "verify.untrusted", 4);
        }
    }
}

#[test]
fn d05_an_id_that_would_leave_its_folder_is_malformed_wherever_it_is_typed() {
    let world = controlled();
    world.rye(&["fetch", "knowledge:rye/overview"]).ok();
    let victim = world.write_home("x.toml", "precious");
    let before = files(&world);
    for bad in ["../../x", "../../../../x", "a/../x", "/x", "a//b", "a/./b", "%2e%2e/x", "a\\b", ""]
    {
        let verbs: &[&[&str]] = &[
            &["trust", "remove", bad],
            &["trust", "show", bad],
            &["trust", "revoke", bad],
            &["trust", "accept", bad],
            &["execute", bad],
            &["execute", &format!("tool:{bad}")],
            &["execute", &format!("directive:{bad}")],
            &["fetch", &format!("knowledge:{bad}")],
            &["fetch", &format!("config:{bad}")],
            &["show", bad],
            &["why", bad],
            &["diff", bad],
            &["verify", bad],
            &["sign", bad],
            &["sign", bad, "--space", "user"],
        ];
        for verb in verbs {
            let said = world.rye(&[verb, &["--json"][..]].concat());
            // A path names an item as well, where it is one: what begins with `.` or `/`, or has
            // a segment that begins with a dot.
            let has_dots = bad.split('/').any(|segment| segment.starts_with('.'));
            let is_path =
                verb[0] != "trust" && verb[1] == bad && (has_dots || bad.starts_with('/'));
            let code = if is_path { "cli.not_an_item" } else { "id.malformed" };
            assert_eq!((said.code().as_str(), said.status), (code, 3), "{verb:?}");
        }
    }
    // `add` takes a path too; what is no file is read as a fingerprint.
    for bad in ["../../no-such-file", "0123/../x", "ABCDEF01", "abc", "%2e%2e/x"] {
        world.rye(&["trust", "add", bad, "--json"]).fails(3, "id.malformed");
    }
    assert_eq!(files(&world), before);
    assert_eq!(fs::read(victim).unwrap(), b"precious");
    world.works(CONTROL);
}

#[test]
fn d05_an_executor_that_would_leave_its_folder_is_not_followed() {
    let world = controlled();
    let own = world.own_key();
    fs::remove_file(world.project().join("marker")).unwrap();
    for bad in ["../../x", "/x", "a//b", "rye/core/../x", "x y", "tool:../x"] {
        let text = MARKER_SH.replace("rye/core/runtimes/shell/script", bad);
        put(&world, &own, EVIL, &text);
        let said = world.rye(&["execute", ITEM, "--json"]);
        assert_eq!((said.code().as_str(), said.status), ("id.malformed", 3), "{bad}: {said:?}");
        assert!(!world.project().join("marker").exists(), "{bad}");
    }
    put(&world, &own, EVIL, MARKER_SH);
    world.works(ITEM);
}

#[test]
fn d10_what_i_signed_elsewhere_is_not_replayed_in_a_clone() {
    let world = controlled();
    let clone = world.outside().join("clone");
    let stolen = world.read(".ai/tools/acme/control.sh");
    fs::create_dir_all(clone.join(".ai/tools/acme")).unwrap();
    fs::write(clone.join(".ai/tools/acme/control.sh"), stolen).unwrap();
    let before = files(&world);
    let said = world.rye_in(&clone, &["execute", CONTROL, "--json"], b"");
    assert_eq!((said.code().as_str(), said.status), ("verify.project_not_accepted", 4));
    assert!(said.json()["help"].as_str().unwrap().contains("rye trust review"), "{said:?}");
    // Neither from elsewhere by `--project`, nor through a link to the clone.
    let path = clone.display().to_string();
    world.rye(&["execute", CONTROL, "-p", &path, "--json"]).fails(4, "verify.project_not_accepted");
    std::os::unix::fs::symlink(&clone, world.outside().join("link")).unwrap();
    let said = world.rye_in(&world.outside().join("link"), &["execute", CONTROL, "--json"], b"");
    assert_eq!((said.code().as_str(), said.status), ("verify.project_not_accepted", 4));
    assert_eq!(files(&world), before);
    assert!(!clone.join("marker").exists());
    // Accepted, it runs: nothing else was wrong with it.
    world.rye_in(&clone, &["trust", "project"], b"").ok();
    world.rye_in(&clone, &["execute", CONTROL], b"").ok();
    assert!(clone.join("marker").exists());
    world.works(CONTROL);
}

#[test]
fn d11_a_back_dated_signature_of_a_revoked_or_expired_key() {
    let world = controlled();
    let signer = stranger(1);
    let back_dated = |at| signed_text(&signer, ITEM, "sh", at, MARKER_SH);
    trust(&world, &signer, &[]);
    for at in ["1999-12-31T23:59:59Z", "2010-01-01T00:00:00Z", AT] {
        world.write(EVIL, back_dated(at));
        world.works(ITEM);
    }
    trust(&world, &signer, &["--not-after", "2020-01-01T00:00:00Z"]);
    for at in ["1999-12-31T23:59:59Z", "2010-01-01T00:00:00Z", AT] {
        world.write(EVIL, back_dated(at));
        refused_and_unchanged(&world, ITEM, "verify.expired");
    }
    trust(&world, &signer, &[]);
    world.works(ITEM);
    world.rye(&["trust", "revoke", &fingerprint(&signer)]).ok();
    for at in ["1999-12-31T23:59:59Z", "2010-01-01T00:00:00Z", AT] {
        world.write(EVIL, back_dated(at));
        refused_and_unchanged(&world, ITEM, "verify.revoked");
    }
    // Trusting it once more does not bring it back, by the door or by a document of yours.
    fs::write(world.outside().join("key.pem"), pem(&signer)).unwrap();
    let before = files(&world);
    world.rye(&["trust", "add", "../key.pem", "--json"]).fails(4, "verify.revoked");
    assert_eq!(files(&world), before);
    let text = document(&signer, "x", "");
    world.write_home(&trusted(&signer), signed_document(&world.own_key(), &signer, &text));
    refused_and_unchanged(&world, ITEM, "verify.revoked");
    world.works(CONTROL);
}

/// Puts another folder with the same items at the project's path; the first one lives on beside it,
/// so that no inode is used again.
fn swap_project(world: &World) {
    let (path, old) = (world.project(), world.outside().join("formerly"));
    fs::rename(&path, &old).unwrap();
    fs::create_dir_all(path.join(".ai/tools/acme")).unwrap();
    for name in ["control.sh", "evil.sh"] {
        let from = old.join(".ai/tools/acme").join(name);
        fs::copy(from, path.join(".ai/tools/acme").join(name)).unwrap();
    }
}

#[test]
fn d11_another_clone_at_a_formerly_accepted_path_is_another_project() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    trust(&world, &signer, &["--in", "."]);
    world.works(ITEM);
    swap_project(&world);
    refused_and_unchanged(&world, CONTROL, "verify.project_not_accepted");
    refused_and_unchanged(&world, ITEM, "verify.project_not_accepted");
    // The moved one is at another path, which nobody accepted either.
    let said =
        world.rye_in(&world.outside().join("formerly"), &["execute", CONTROL, "--json"], b"");
    assert_eq!((said.code().as_str(), said.status), ("verify.project_not_accepted", 4));
    {
        let world = controlled();
        let signer = stranger(1);
        put(&world, &signer, EVIL, MARKER_SH);
        trust(&world, &signer, &["--in", "."]);
        world.works(ITEM);
        swap_project(&world);
        // The new folder is accepted for what you signed; the other key was for the former one.
        accept_project(&world);
        world.works(CONTROL);
        refused_and_unchanged(&world, ITEM, "verify.out_of_scope");
    }
}

#[test]
fn d11_a_record_of_another_project_or_by_another_key_accepts_nothing() {
    let world = controlled();
    let folder = world.home().join(".ai/config/keys/projects");
    let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let good = fs::read_to_string(&record).unwrap();
    let name = record.file_stem().unwrap().to_string_lossy().into_owned();
    let body = good.split_once('\n').unwrap().1;
    let item = format!("config:keys/projects/{name}");
    let forged = signed_text(&stranger(1), &item, "toml", AT, body);
    let elsewhere = signed_text(&world.own_key(), "config:keys/projects/x", "toml", AT, body);
    for (how, text) in [
        ("unsigned", body.to_owned()),
        ("signed by a stranger", forged),
        ("signed for another name", elsewhere),
        ("changed", good.replace("inode = ", "inode = 1")),
    ] {
        fs::write(&record, text).unwrap();
        let said = world.rye(&["execute", CONTROL, "--json"]);
        assert_eq!((said.code().as_str(), said.status), ("verify.trust_unreadable", 4), "{how}");
    }
    fs::write(&record, good).unwrap();
    world.works(CONTROL);
}
