//! Rows a: signatures, keys and claims that are not what they say; and what signing itself
//! promises.

use std::fs;
use std::ops::{Add, Mul};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use sha2::{Digest, Sha512};

use crate::world::{
    Attempt, GREET_MD, MARKER_SH, World, fingerprint, line, seconds_from_now, sha256,
};

const ITEM: &str = "tool:acme/mark";

/// A signed shell tool in a project of its own, and what stands in it.
fn shell() -> (World, PathBuf, String) {
    let world = World::new();
    let file = world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let text = fs::read_to_string(&file).unwrap();
    (world, file, text)
}

/// The shell tool with this line, whatever it is.
fn tool_with(line: &str) -> Vec<u8> {
    MARKER_SH.replacen("#!/bin/bash\n", &format!("#!/bin/bash\n# {line}\n"), 1).into_bytes()
}

/// What `line` gives without its last field: the text that a key signs.
fn statement(key: &str, at: &str) -> String {
    let digest = sha256(MARKER_SH.as_bytes());
    format!("rye:signed:v2 item={ITEM} ext=sh at={at} sha256={digest} key={key}")
}

fn sig_of(line: &str) -> &str {
    line.split(" sig=").nth(1).unwrap()
}

#[test]
fn a05_a_changed_time_is_forged() {
    let (world, file, text) = shell();
    let at = text.split(" at=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let rows = [
        ("a second later", seconds_from_now(1), "verify.forged"),
        ("a day earlier", seconds_from_now(-86_400), "verify.forged"),
        ("long ago", "2001-01-01T00:00:00Z".into(), "verify.forged"),
        ("far ahead", "2099-01-01T00:00:00Z".into(), "verify.forged"),
        ("no such day", "2026-02-30T00:00:00Z".into(), "verify.malformed"),
        ("a leap second", "2016-12-31T23:59:60Z".into(), "verify.malformed"),
        ("hour 24", "2026-01-01T24:00:00Z".into(), "verify.malformed"),
        ("another zone", at.replace('Z', "+00:00"), "verify.malformed"),
        ("a small z", at.replace('Z', "z"), "verify.malformed"),
        ("a fraction", at.replace('Z', ".0Z"), "verify.malformed"),
        ("none", String::new(), "verify.malformed"),
    ];
    let rows = rows.map(|(what, time, code)| (what, text.replacen(&at, &time, 1).into(), code));
    world.refuses_each(ITEM, &file, &rows);
}

#[test]
fn a13_a_valid_signature_over_the_digest_of_other_content_is_altered() {
    let (world, file, text) = shell();
    let (key, at) = (world.own_key(), seconds_from_now(0));
    let over = |rest: &[u8]| tool_with(&line(&key, ITEM, "sh", &at, rest));
    let rows = [
        ("other content", over(b"#!/bin/bash\n: > marker\n"), "verify.altered"),
        ("nothing", over(b""), "verify.altered"),
        ("the signed file itself", over(text.as_bytes()), "verify.altered"),
        ("the body without shebang", over(&MARKER_SH.as_bytes()[12..]), "verify.altered"),
        ("without the last line feed", over(MARKER_SH.trim_end().as_bytes()), "verify.altered"),
    ];
    world.refuses_each(ITEM, &file, &rows);
}

#[test]
fn a14_other_versions_and_algorithms_are_malformed_even_when_signed() {
    let (world, file, _) = shell();
    let key = world.own_key();
    let good = statement(&fingerprint(&key), &seconds_from_now(0));
    let signed = |from: &str, to: &str| {
        let statement = good.replacen(from, to, 1);
        assert_ne!(statement, good, "{from}");
        let sig = URL_SAFE_NO_PAD.encode(key.sign(statement.as_bytes()).to_bytes());
        tool_with(&format!("{statement} sig={sig}"))
    };
    let digest = sha256(MARKER_SH.as_bytes());
    let sha512 = hex::encode(Sha512::digest(MARKER_SH));
    let rows = [
        ("version 1", signed(":v2 ", ":v1 ")),
        ("version 3", signed(":v2 ", ":v3 ")),
        ("version in capitals", signed(":v2 ", ":V2 ")),
        ("version with a zero", signed(":v2 ", ":v02 ")),
        ("version with a point", signed(":v2 ", ":v2.1 ")),
        ("no version", signed(":v2 ", ": ")),
        ("version with a colon", signed(":v2 ", ":v2:")),
        ("another digest", signed(&format!("sha256={digest}"), &format!("sha512={sha512}"))),
        ("a digest in capitals", signed(&digest, &digest.to_uppercase())),
        ("a digest cut short", signed(&digest, &digest[..62])),
        ("no digest", signed(&format!("sha256={digest}"), "sha256=none")),
        ("an algorithm", signed(" key=", " alg=none key=")),
        ("a key in capitals", signed(&fingerprint(&key), &fingerprint(&key).to_uppercase())),
        ("a long key", signed(" key=", " key=00")),
        ("an id that leaves", signed("acme/mark", "acme/../mark")),
        ("an unknown kind", signed("item=tool:", "item=tools:")),
        ("a space", signed(ITEM, "tool:acme/mark@user")),
    ];
    let rows = rows.map(|(what, bytes)| (what, bytes, "verify.malformed"));
    world.refuses_each(ITEM, &file, &rows);
}

#[test]
fn a14_the_older_form_admits_nothing() {
    let (world, file, _) = shell();
    let digest = sha256(MARKER_SH.as_bytes());
    let (at, sig) = ("2026-01-02T03:04:05Z", "A".repeat(86));
    let legacy = format!("rye:signed:{at}:{digest}:{sig}:0123456789abcdef");
    let rows = [
        ("as it was", tool_with(&legacy), "verify.legacy"),
        ("with a padded signature", tool_with(&legacy.replace(":01", "==:01")), "verify.legacy"),
        ("with a provider", tool_with(&format!("{legacy}|github@acme")), "verify.legacy"),
        ("without a key", tool_with(&legacy[..legacy.len() - 17]), "verify.malformed"),
        ("without a time", tool_with(&legacy.replace(at, "")), "verify.malformed"),
    ];
    world.refuses_each(ITEM, &file, &rows);
    world.rye(&["verify", ITEM]).ok();
}

#[test]
fn a15_only_the_one_spelling_of_a_signature_is_read() {
    let (world, file, _) = shell();
    let key = world.own_key();
    // Signed a second earlier each time, until the two alphabets differ.
    let good = (0..1000)
        .map(|ago| line(&key, ITEM, "sh", &seconds_from_now(-ago), MARKER_SH.as_bytes()))
        .find(|line| sig_of(line).contains('-') && sig_of(line).contains('_'))
        .unwrap();
    fs::write(&file, tool_with(&good)).unwrap();
    let sig = sig_of(&good).to_owned();
    let bytes = URL_SAFE_NO_PAD.decode(&sig).unwrap();
    let with = |sig: &str| tool_with(&good.replacen(sig_of(&good), sig, 1));
    // The last letter carries four bits that say nothing; they must be zero.
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = letters.find(&sig[85..]).unwrap();
    let loose =
        |bits: usize| with(&format!("{}{}", &sig[..85], &letters[last + bits..=last + bits]));
    let rows = [
        ("padding", with(&URL_SAFE.encode(&bytes))),
        ("half the padding", with(&format!("{sig}="))),
        ("the standard alphabet", with(&STANDARD_NO_PAD.encode(&bytes))),
        ("that with padding", with(&STANDARD.encode(&bytes))),
        ("hexadecimal", with(&hex::encode(&bytes))),
        ("a space inside", with(&format!("{} {}", &sig[..40], &sig[40..]))),
        ("a tab inside", with(&format!("{}\t{}", &sig[..40], &sig[40..]))),
        ("a space before", with(&format!(" {sig}"))),
        ("a loose bit", loose(1)),
        ("other loose bits", loose(8)),
        ("all loose bits", loose(15)),
        ("63 bytes", with(&URL_SAFE_NO_PAD.encode(&bytes[..63]))),
        ("65 bytes", with(&URL_SAFE_NO_PAD.encode([&bytes[..], &[0]].concat()))),
        ("none", with("")),
        ("one letter", with("A")),
        ("a sign outside the alphabet", with(&format!("{}~", &sig[..85]))),
        ("a letter of another script", with(&format!("{}е", &sig[..85]))),
    ];
    let rows = rows.map(|(what, bytes)| (what, bytes, "verify.malformed"));
    world.refuses_each(ITEM, &file, &rows);
}

/// A hash as a scalar: its bytes, the last one first, to base 256. The sample names the type.
fn reduced<S: Copy + From<u64> + Mul<Output = S> + Add<Output = S>>(_: S, hash: &[u8]) -> S {
    let base = S::from(256);
    hash.iter().rev().fold(S::from(0), |sum, byte| sum * base + S::from(u64::from(*byte)))
}

/// The hash that a signature with this `R` binds.
fn challenge(r: &[u8; 32], key: &[u8; 32], message: &str) -> Vec<u8> {
    Sha512::new().chain_update(r).chain_update(key).chain_update(message).finalize().to_vec()
}

/// `s` plus `times` the order of the group, in 32 bytes: another spelling of the same scalar.
fn plus_order(s: &[u8], times: u32) -> Vec<u8> {
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let mut carry = 0;
    let sum = s.iter().zip(hex::decode(order).unwrap()).map(|(a, b)| {
        carry += u32::from(*a) + u32::from(b) * times;
        let low = carry.to_le_bytes()[0];
        carry >>= 8;
        low
    });
    let sum = sum.collect();
    assert_eq!(carry, 0);
    sum
}

const IDENTITY: &str = "0100000000000000000000000000000000000000000000000000000000000000";
const ORDER_TWO: &str = "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";

fn point(text: &str) -> [u8; 32] {
    hex::decode(text).unwrap().try_into().unwrap()
}

#[test]
fn a16_signatures_that_only_lax_rules_accept_are_forged() {
    let (world, file, _) = shell();
    let key = world.own_key();
    let public = key.verifying_key();
    let said = statement(&fingerprint(&key), &seconds_from_now(0));
    let good = key.sign(said.as_bytes()).to_bytes();
    let with = |r: &[u8], s: &[u8]| {
        let sig = URL_SAFE_NO_PAD.encode([r, s].concat());
        (tool_with(&format!("{said} sig={sig}")), "verify.forged")
    };
    // With the neutral element as R, `s = h·a` satisfies the plain equation.
    let secret = key.to_scalar();
    let solved = |r: &[u8; 32]| {
        (reduced(secret, &challenge(r, public.as_bytes(), &said)) * secret).to_bytes()
    };
    let identity = point(IDENTITY);
    let lax = [identity, solved(&identity)].concat();
    let lax = Signature::from_slice(&lax).unwrap();
    assert!(public.verify(said.as_bytes(), &lax).is_ok(), "lax rules accept it");
    let spelled = point("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
    let negative = point("0100000000000000000000000000000000000000000000000000000000000080");
    let two = point(ORDER_TWO);
    let (r, s) = good.split_at(32);
    let rows = [
        ("S + L", with(r, &plus_order(s, 1))),
        ("S + 2 L", with(r, &plus_order(s, 2))),
        ("S + 14 L", with(r, &plus_order(s, 14))),
        ("R neutral", with(&identity, &solved(&identity))),
        ("R neutral, in another spelling", with(&spelled, &solved(&spelled))),
        ("R neutral, with a sign", with(&negative, &solved(&negative))),
        ("R of order two", with(&two, &solved(&two))),
        ("R with its sign turned", with(&[&r[..31], &[r[31] ^ 0x80]].concat(), s)),
        ("all zero", with(&[0; 32], &[0; 32])),
        ("R and S exchanged", with(s, r)),
        ("of another message", {
            let other = key.sign(b"rye:signed:v2 ").to_bytes();
            with(&other[..32], &other[32..])
        }),
        ("of another key", {
            let other = SigningKey::from_bytes(&[7; 32]).sign(said.as_bytes()).to_bytes();
            with(&other[..32], &other[32..])
        }),
    ];
    world.refuses_each(ITEM, &file, &rows.map(|(what, (bytes, code))| (what, bytes, code)));
}

/// Keys that prove nothing, with a signature over the shell tool that lax rules accept where there
/// is one.
fn weak_keys() -> Vec<(&'static str, [u8; 32], String)> {
    let at = seconds_from_now(0);
    let trivial = URL_SAFE_NO_PAD.encode([point(IDENTITY), [0; 32]].concat());
    let said = |raw: &[u8; 32]| statement(&sha256(raw)[..32], &at);
    let mut keys: Vec<_> = [
        ("neutral", IDENTITY),
        ("order two", ORDER_TWO),
        ("order four", "0000000000000000000000000000000000000000000000000000000000000000"),
        ("order eight", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        ("order eight, again", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        ("y = p", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        ("y = p + 1", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ]
    .into_iter()
    .map(|(what, text)| (what, point(text), format!("{} sig={trivial}", said(&point(text)))))
    .collect();
    // A sound key plus a point of order two: half of all challenges verify, even by strict rules.
    let (secret, nonce) = (SigningKey::from_bytes(&[3; 32]), SigningKey::from_bytes(&[4; 32]));
    let two = VerifyingKey::from_bytes(&point(ORDER_TWO)).unwrap().to_edwards();
    let mixed = (secret.verifying_key().to_edwards() + two).compress().to_bytes();
    let lax = VerifyingKey::from_bytes(&mixed).unwrap();
    let line = (0..)
        .find_map(|ago| {
            let said = statement(&sha256(&mixed)[..32], &seconds_from_now(-ago));
            let r = nonce.verifying_key().to_bytes();
            let h = reduced(secret.to_scalar(), &challenge(&r, &mixed, &said));
            let s = nonce.to_scalar() + h * secret.to_scalar();
            let sig = Signature::from_slice(&[r, s.to_bytes()].concat()).unwrap();
            let sound = lax.verify_strict(said.as_bytes(), &sig).is_ok();
            sound.then(|| format!("{said} sig={}", URL_SAFE_NO_PAD.encode(sig.to_bytes())))
        })
        .unwrap();
    keys.push(("mixed order", mixed, line));
    keys
}

fn pem(raw: &[u8; 32]) -> String {
    let der = [&hex::decode("302a300506032b6570032100").unwrap()[..], raw].concat();
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

#[test]
fn a16_weak_keys_are_refused_when_they_are_added() {
    let world = World::new();
    let sound = SigningKey::from_bytes(&[9; 32]);
    let path = world.outside().join("key.pem");
    for (what, raw, _) in weak_keys() {
        fs::write(&path, pem(&raw)).unwrap();
        let add = ["trust", "add", path.to_str().unwrap(), "--owner", "acme", "--json"];
        assert_eq!(world.attempt_by(&add), Attempt::refused("verify.weak_key"), "{what}");
    }
    fs::write(&path, pem(sound.verifying_key().as_bytes())).unwrap();
    let said = world.rye(&["trust", "add", path.to_str().unwrap(), "--owner", "acme"]);
    assert_eq!(said.status, 0, "a sound key is taken: {said:?}");
}

#[test]
fn a16_weak_keys_are_refused_when_they_are_loaded() {
    let (world, file, good) = shell();
    let own = world.own_key();
    let trust = |raw: &[u8; 32]| {
        let key = sha256(raw)[..32].to_owned();
        let body = format!(
            "fingerprint = \"{key}\"\nowner = \"acme\"\n[public_key]\npem = \"\"\"{}\"\"\"\n",
            pem(raw)
        );
        let item = format!("config:keys/trusted/{key}");
        let line = line(&own, &item, "toml", &seconds_from_now(0), body.as_bytes());
        let path = format!(".ai/config/keys/trusted/{key}.toml");
        world.write_home(&path, format!("# {line}\n{body}"));
    };
    let sound = SigningKey::from_bytes(&[9; 32]);
    trust(sound.verifying_key().as_bytes());
    let theirs = line(&sound, ITEM, "sh", &seconds_from_now(0), MARKER_SH.as_bytes());
    fs::write(&file, tool_with(&theirs)).unwrap();
    world.works(ITEM);
    for (what, raw, line) in weak_keys() {
        fs::write(&file, tool_with(&line)).unwrap();
        assert_eq!(world.attempt(ITEM), Attempt::refused("verify.untrusted"), "{what}, unknown");
        trust(&raw);
        assert_eq!(world.attempt(ITEM), Attempt::refused("verify.weak_key"), "{what}");
    }
    fs::write(&file, good).unwrap();
    world.works(ITEM);
}

#[test]
fn a17_a_signed_file_counts_only_where_it_was_signed_for() {
    let (world, _, _) = shell();
    world.signed(".ai/directives/acme/greet.md", GREET_MD);
    world.signed(".ai/knowledge/acme/notes.md", "# Notes\n");
    world.signed(".ai/tools/acme/shape.yaml", "version: \"1.0.0\"\ncategory: acme\n");
    world.signed(".ai/config/acme/shape.toml", "a = 1\n");
    world.signed(".ai/tools/acme/snake.js", "// /// rye\n// version = '1.0.0'\n// ///\n");
    let rows = [
        ("tools/acme/mark.sh", "tools/acme/other.sh"),
        ("tools/acme/mark.sh", "tools/mark.sh"),
        ("tools/acme/mark.sh", "tools/acme/deep/mark.sh"),
        ("tools/acme/mark.sh", "tools/acme/Mark.sh"),
        ("tools/acme/mark.sh", "tools/acme/moved.py"),
        ("directives/acme/greet.md", "directives/acme/greet2.md"),
        ("directives/acme/greet.md", "knowledge/acme/greet.md"),
        ("knowledge/acme/notes.md", "directives/acme/notes.md"),
        ("tools/acme/shape.yaml", "knowledge/acme/shape.yaml"),
        ("tools/acme/shape.yaml", "config/acme/shape2.yaml"),
        ("config/acme/shape.toml", "tools/acme/shaped.toml"),
    ];
    for (from, to) in rows {
        let (from, to) = (format!(".ai/{from}"), format!(".ai/{to}"));
        let copy = world.write(&to, world.read(&from));
        moved(&world, &from, &to);
        fs::remove_file(copy).unwrap();
    }
    // The same id with another extension: the file itself moves, or there would be two.
    for (from, to) in [
        ("tools/acme/mark.sh", "tools/acme/mark.py"),
        ("tools/acme/mark.sh", "tools/acme/mark.rb"),
        ("tools/acme/mark.sh", "tools/acme/mark.toml"),
        ("tools/acme/snake.js", "tools/acme/snake.mjs"),
        ("tools/acme/snake.js", "tools/acme/snake.ts"),
        ("tools/acme/shape.yaml", "tools/acme/shape.yml"),
    ] {
        let (from, to) = (format!(".ai/{from}"), format!(".ai/{to}"));
        let (there, back) = (world.project().join(&from), world.project().join(&to));
        fs::rename(&there, &back).unwrap();
        moved(&world, &from, &to);
        fs::rename(&back, &there).unwrap();
    }
    world.works(ITEM);
    let said = world.rye(&["verify", "*:acme/**"]);
    assert_eq!(said.status, 0, "what stayed still verifies: {said:?}");
}

/// The file at `to` is refused as moved, and the message names both places.
#[track_caller]
fn moved(world: &World, from: &str, to: &str) {
    let item = crate::world::item_of(to);
    let args = ["verify", &item, "--json"];
    let attempt = world.attempt_by(&args);
    assert_eq!((attempt.status, attempt.changed), (4, vec![]), "{from} → {to}");
    let (_, said) = world.json(&["verify", &item]);
    let row = &said["items"][0];
    assert_eq!(row["code"], "verify.moved", "{from} → {to}: {row}");
    let error = row["error"].as_str().unwrap();
    for path in [from, to] {
        let ext = path.rsplit_once('.').unwrap().1;
        let named = format!("`{}.{ext}`", crate::world::item_of(path));
        assert!(error.contains(&named), "{named} is not in: {error}");
    }
    if !item.starts_with("config:") {
        assert_eq!(world.attempt(&item), Attempt::refused("verify.moved"), "{from} → {to}");
    }
}

#[test]
fn a21_a_signature_from_the_future_is_not_yet_one() {
    let (world, file, _) = shell();
    let key = world.own_key();
    let at = |at: &str| tool_with(&line(&key, ITEM, "sh", at, MARKER_SH.as_bytes()));
    // Five minutes is how far two clocks may differ.
    fs::write(&file, at(&seconds_from_now(240))).unwrap();
    let rows = [
        ("2099", at("2099-01-01T00:00:00Z"), "verify.not_yet"),
        ("9999", at("9999-12-30T00:00:00Z"), "verify.not_yet"),
        ("an hour ahead", at(&seconds_from_now(3600)), "verify.not_yet"),
        ("beyond the five minutes", at(&seconds_from_now(330)), "verify.not_yet"),
    ];
    world.refuses_each(ITEM, &file, &rows);
}
