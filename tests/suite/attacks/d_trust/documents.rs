//! Rows d03, d04, d07: documents about keys that are not what they say, or not yours.

use std::fs;

use super::{CONTROL, EVIL, ITEM, controlled, signed_document};
use crate::keys::others::{
    AT, document, files, pem, put, refused_and_unchanged, revoked, signed_text, stranger, trust,
    trusted,
};
use crate::world::{MARKER_SH, World, fingerprint, seconds_from_now};

#[test]
fn d03_a_document_that_lists_nothing_admits_nothing() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    let project = fs::canonicalize(world.project()).unwrap();
    let here = format!("projects = [\"{}\"]\n", project.display());
    let rows = [
        ("items = [\"tool:acme/*\"]\n", ""),
        ("items = []\n", "verify.out_of_scope"),
        ("projects = []\n", "verify.out_of_scope"),
        ("projects = [\".\"]\n", "verify.out_of_scope"),
        ("projects = [\"\"]\n", "verify.out_of_scope"),
        ("items = [\"*:**\"]\nprojects = [\"/\"]\n", "verify.out_of_scope"),
        ("not_after = 2099-01-01T00:00:00Z\n", ""),
        ("not_after = 2020-01-01T00:00:00Z\n", "verify.expired"),
        ("not_after = \"\"\n", "verify.trust_unreadable"),
        ("not_after = 2099-01-01\n", "verify.trust_unreadable"),
        ("items = \"*:**\"\n", "verify.trust_unreadable"),
        (&here.replace('"', "").replace(['[', ']'], "'"), "verify.trust_unreadable"),
    ];
    for (more, code) in rows {
        let text = document(&signer, "acme build", more);
        world.write_home(&trusted(&signer), signed_document(&world.own_key(), &signer, &text));
        match code {
            "" => world.works(ITEM),
            code => refused_and_unchanged(&world, ITEM, code),
        }
    }
    world.works(CONTROL);
}

#[test]
fn d04_documents_in_the_user_space_that_are_not_what_they_say() {
    let (signer, other) = (stranger(1), stranger(2));
    let good = document(&signer, "acme build", "");
    let of_other = good.replace(&pem(&signer), &pem(&other));
    let renamed = document(&other, "acme build", "");
    let doubled = good.replace("owner =", "owner = \"me\"\nowner =");
    let unknown = good.replace("owner =", "trusted = true\nowner =");
    // The name says whom it is about, and rye opens it for that key alone.
    for (how, text) in [
        ("fingerprint is not the key's", of_other),
        ("file name is not the fingerprint", renamed),
        ("a key twice", doubled),
        ("a key that no document has", unknown),
    ] {
        let world = controlled();
        put(&world, &signer, EVIL, MARKER_SH);
        let own = world.own_key();
        world.write_home(&trusted(&signer), signed_document(&own, &signer, &good));
        world.works(ITEM);
        world.write_home(&trusted(&signer), signed_document(&own, &signer, &text));
        refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
        let list = world.rye(&["trust", "list"]);
        assert!(list.stdout.contains("unusable"), "{how}: {list:?}");
        assert_eq!(world.rye(&["doctor"]).status, 4, "{how}");
        world.works(CONTROL);
    }
}

#[test]
fn d04_a_document_signed_by_a_trusted_key_that_is_not_your_own() {
    let world = controlled();
    let (signer, friend) = (stranger(1), stranger(2));
    put(&world, &signer, EVIL, MARKER_SH);
    trust(&world, &friend, &["--items", "*:**"]);
    let text = document(&signer, "acme build", "");
    world.write_home(&trusted(&signer), signed_document(&world.own_key(), &signer, &text));
    world.works(ITEM);
    world.write_home(&trusted(&signer), signed_document(&friend, &signer, &text));
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    world.works(CONTROL);
}

#[test]
fn d04_an_owner_cannot_write_more_than_an_owner() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    let pem_file = world.outside().join("key.pem");
    fs::write(&pem_file, pem(&signer)).unwrap();
    let pem_file = pem_file.display().to_string();
    let before = files(&world);
    for owner in
        ["a\"\nitems = [\"*:**\"]\nx = \"", "a\nb", "\u{1b}[31mroot", "a\u{202e}b", "\u{e0041}"]
    {
        world
            .rye(&["trust", "add", &pem_file, "--owner", owner, "--json"])
            .fails(4, "trust.malformed");
        assert_eq!(files(&world), before, "{owner:?}");
    }
    // What can be said in one line is kept to the letter, and widens nothing.
    let owner = "a\" ] }\\n[x] # '''";
    world.rye(&["trust", "add", &pem_file, "--owner", owner, "--items", "tool:other/*"]).ok();
    let (_, list) = world.json(&["trust", "list"]);
    let row = list["keys"].as_array().unwrap().iter().find(|k| k["owner"] == *owner);
    assert_eq!(row.unwrap()["scope"], "tool:other/*");
    refused_and_unchanged(&world, ITEM, "verify.out_of_scope");
    world.works(CONTROL);
}

#[test]
fn d04_a_document_with_another_key_in_it_is_not_added() {
    let world = controlled();
    let (signer, other) = (stranger(1), stranger(2));
    let good = document(&signer, "acme build", "");
    let file = world.outside().join("proposal.toml");
    let path = file.display().to_string();
    fs::write(&file, &good).unwrap();
    let said = world.rye(&["trust", "add", &path]);
    assert_eq!(said.status, 0, "the fixture itself is good: {said:?}");
    world.rye(&["trust", "remove", &fingerprint(&signer)]).ok();
    let before = files(&world);
    for text in [
        good.replace(&pem(&signer), &pem(&other)),
        good.replace(&fingerprint(&signer), "../../../tools/x"),
        good.replace("acme build", "a\\u001b[2Jb"),
        good.replace(&pem(&signer), "no key"),
        format!("{good}fingerprint = 1\n"),
    ] {
        assert_ne!(text, good);
        fs::write(&file, &text).unwrap();
        let said = world.rye(&["trust", "add", &path, "--json"]);
        assert_eq!((said.code().as_str(), said.status), ("trust.malformed", 4), "{text}");
        assert_eq!(files(&world), before, "{text}");
    }
    world.works(CONTROL);
}

#[test]
fn d07_a_document_dropped_into_the_user_space_admits_nothing() {
    let (signer, scoped) = (stranger(1), stranger(2));
    let text = document(&signer, "acme build", "");
    let wide = document(&signer, "acme build", "items = [\"*:**\"]\n");
    for (how, dropped) in [
        ("unsigned", text.clone()),
        ("self-signed", signed_document(&signer, &signer, &text)),
        ("self-signed and wide", signed_document(&signer, &signer, &wide)),
        ("signed by a key that may sign such documents", signed_document(&scoped, &signer, &text)),
    ] {
        let world = controlled();
        put(&world, &signer, EVIL, MARKER_SH);
        trust(&world, &scoped, &["--items", "config:keys/**", "--items", "config:**"]);
        world.write_home(&trusted(&signer), signed_document(&world.own_key(), &signer, &text));
        world.works(ITEM);
        world.write_home(&trusted(&signer), &dropped);
        refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
        let (_, why) = world.json(&["why", ITEM]);
        assert_eq!(why["code"], "verify.trust_unreadable", "{how}");
        world.works(CONTROL);
    }
}

#[test]
fn d07_a_document_that_was_signed_for_another_place_admits_nothing() {
    let world = controlled();
    let (signer, other) = (stranger(1), stranger(2));
    put(&world, &signer, EVIL, MARKER_SH);
    trust(&world, &signer, &[]);
    world.works(ITEM);
    trust(&world, &other, &[]);
    let of_other = fs::read(world.home().join(trusted(&other))).unwrap();
    // Your own signature, and another key's name above it.
    world.write_home(&trusted(&signer), &of_other);
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    // A document of yours as the revocation of your key, and of the signer's.
    fs::remove_file(world.home().join(trusted(&signer))).unwrap();
    trust(&world, &signer, &[]);
    world.works(ITEM);
    world.write_home(&revoked(&signer), &of_other);
    refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
    world.works(CONTROL);
}

#[test]
fn d07_an_external_system_space_brings_items_and_no_trust() {
    let world = controlled();
    let signer = stranger(1);
    put(&world, &signer, EVIL, MARKER_SH);
    let system = world.outside().join("system");
    let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/tools/rye/core");
    for path in ["runtimes/shell/script.yaml", "primitives/execute.yaml"] {
        let to = system.join(".ai/tools/rye/core").join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(shipped.join(path), to).unwrap();
    }
    let own = world.own_key();
    let text = document(&signer, "acme build", "items = [\"*:**\"]\n");
    let file = system.join(trusted(&signer));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for by in [&own, &signer] {
        fs::write(&file, signed_document(by, &signer, &text)).unwrap();
        let world = World::new().env("RYE_SYSTEM_SPACE", &system.display().to_string());
        put(&world, &signer, EVIL, MARKER_SH);
        refused_and_unchanged(&world, ITEM, "verify.untrusted");
        trust(&world, &signer, &[]);
        world.works(ITEM);
    }
    // Your own key and a trusted one admit items from there only if a document names them.
    let extra = system.join(".ai/tools/acme/extra.sh");
    fs::create_dir_all(extra.parent().unwrap()).unwrap();
    let world = world.env("RYE_SYSTEM_SPACE", &system.display().to_string());
    for key in [&own, &signer] {
        fs::write(&extra, signed_text(key, "tool:acme/extra", "sh", AT, MARKER_SH)).unwrap();
        for (scope, code) in [
            (&[][..], "verify.out_of_scope"),
            (&["--items", "tool:other/*"], "verify.out_of_scope"),
            (&["--items", "tool:acme/*"], ""),
        ] {
            trust(&world, key, scope);
            match code {
                "" => world.works("tool:acme/extra"),
                code => refused_and_unchanged(&world, "tool:acme/extra", code),
            }
        }
    }
    world.works(CONTROL);
}

#[test]
fn d04_a_document_is_held_to_every_rule_of_a_signed_text() {
    let world = controlled();
    let (signer, own) = (stranger(1), world.own_key());
    put(&world, &signer, EVIL, MARKER_SH);
    let text = document(&signer, "x", "");
    let item = format!("config:keys/trusted/{}", fingerprint(&signer));
    let at = |time: &str, text: &str| signed_text(&own, &item, "toml", time, text);
    let place = trusted(&signer);
    world.write_home(&place, at(AT, &text));
    world.works(ITEM);
    let hidden = text.replace("owner = ", "# a\u{e01f0}b ❤\u{fe00}\nowner = ");
    for (what, bad) in [
        ("a lone carriage return", at(AT, &text.replacen('\n', "\n# all is well\rowner\n", 1))),
        ("text that nobody sees", at(AT, &hidden)),
        ("a clock that is years ahead", at("2099-01-01T00:00:00Z", &text)),
        ("six minutes ahead", at(&seconds_from_now(360), &text)),
        ("two lines", at(AT, &at(AT, &text))),
        ("another extension", signed_text(&own, &item, "yaml", AT, &text)),
    ] {
        world.write_home(&place, bad);
        refused_and_unchanged(&world, ITEM, "verify.trust_unreadable");
        eprintln!("refused: {what}");
    }
    world.write_home(&place, at(AT, &text));
    world.works(ITEM);
    // For some readers a lone carriage return ends a line, and what is behind it is hidden from a
    // person.
    let policy = |text: &str| {
        let text = signed_text(&own, "config:rye/policy", "yaml", AT, text);
        world.write_home(".ai/config/rye/policy.yaml", text)
    };
    policy("receipts: on_request\nsandbox_off: [\"tool:**\"]\n");
    world.works(CONTROL);
    policy("receipts: on_request # all is well\rsandbox_off: [\"tool:**\"]\n");
    refused_and_unchanged(&world, CONTROL, "verify.trust_unreadable");
}
