//! Other people: keys, documents and signatures that rye did not make.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePublicKey};

use crate::world::{World, item_of, line, sha256};

/// A signing time that lies behind every clock.
pub const AT: &str = "2025-01-01T00:00:00Z";

/// A key that is not the user's; each number is somebody else.
pub fn stranger(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

/// The public half as SPKI PEM.
pub fn pem(key: &SigningKey) -> String {
    key.verifying_key().to_public_key_pem(LineEnding::LF).expect("a PEM")
}

/// `text` with `key`'s signature line where the format wants it.
pub fn signed_text(key: &SigningKey, item: &str, ext: &str, at: &str, text: &str) -> String {
    let line = line(key, item, ext, at, text.as_bytes());
    let line = match ext {
        "md" => format!("<!-- {line} -->\n"),
        "js" | "ts" => format!("// {line}\n"),
        "lua" => format!("-- {line}\n"),
        _ => format!("# {line}\n"),
    };
    let start = if text.starts_with("#!") { text.find('\n').expect("a line feed") + 1 } else { 0 };
    format!("{}{line}{}", &text[..start], &text[start..])
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').expect("an extension").1
}

/// A project file that `key` signed.
pub fn put(world: &World, key: &SigningKey, path: &str, text: &str) -> PathBuf {
    world.write(path, signed_text(key, &item_of(path), extension(path), AT, text))
}

/// A file of the user space that `key` signed.
pub fn put_home(world: &World, key: &SigningKey, path: &str, text: &str) -> PathBuf {
    world.write_home(path, signed_text(key, &item_of(path), extension(path), AT, text))
}

/// A trust document without a signature line; `more` are further lines of it.
pub fn document(key: &SigningKey, owner: &str, more: &str) -> String {
    let fingerprint = crate::world::fingerprint(key);
    let pem = pem(key);
    format!(
        "fingerprint = \"{fingerprint}\"\nowner = \"{owner}\"\n{more}[public_key]\npem = \"\"\"\n{pem}\"\"\"\n"
    )
}

/// Where the document about a key lies.
pub fn trusted(key: &SigningKey) -> String {
    format!(".ai/config/keys/trusted/{}.toml", crate::world::fingerprint(key))
}

/// Where the revocation of a key lies.
pub fn revoked(key: &SigningKey) -> String {
    format!(".ai/config/keys/revoked/{}.toml", crate::world::fingerprint(key))
}

/// Trusts `key` through the door, by a PEM file outside the project; what was said of it before is
/// taken back.
#[track_caller]
pub fn trust(world: &World, key: &SigningKey, more: &[&str]) {
    let file = world.outside().join("stranger.pem");
    fs::write(&file, pem(key)).expect("a written file");
    let file = file.display().to_string();
    drop(world.rye(&["trust", "remove", &crate::world::fingerprint(key)]));
    world.rye(&[&["trust", "add", &file], more].concat()).ok();
}

/// Every file below the project and the user space with its digest, but for what running leaves:
/// the marker and rye's own state.
pub fn files(world: &World) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for root in [world.project(), world.home()] {
        collect(&root, &mut all);
    }
    all
}

/// The files of the user space that decide about trust.
pub fn standing(world: &World) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    collect(&world.home().join(".ai/config"), &mut all);
    all
}

fn collect(folder: &Path, all: &mut BTreeMap<PathBuf, String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if path.ends_with(".ai/state") || path.ends_with("marker") {
            continue;
        }
        if entry.file_type().expect("a type").is_dir() {
            collect(&path, all);
        } else {
            let bytes = fs::read(&path).expect("a file");
            all.insert(path, sha256(&bytes));
        }
    }
}

/// The item is refused with the code, and no file changed.
#[track_caller]
pub fn refused_and_unchanged(world: &World, item: &str, code: &str) {
    let before = files(world);
    world.refused(item, code, 4);
    assert_eq!(files(world), before, "a refusal wrote something");
}

/// Accepts the project of the world.
#[track_caller]
pub fn accept_project(world: &World) {
    world.rye(&["trust", "project"]).ok();
}

/// The same with a key of one's own and nothing else: the project is a fresh clone.
pub fn clone_world() -> World {
    let world = World::empty();
    world.rye(&["keys", "generate"]).ok();
    world
}

/// The point of order two, which proves nothing, as a key: its fingerprint and its SPKI PEM.
pub fn weak() -> (String, String) {
    use base64::Engine;
    let mut raw = [0xff; 32];
    (raw[0], raw[31]) = (0xec, 0x7f);
    let der = [hex::decode("302a300506032b6570032100").expect("hex"), raw.to_vec()].concat();
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    (sha256(&raw)[..32].to_owned(), pem)
}

/// A file of the folder with the pair whose private half is public.
pub fn example(name: &str) -> String {
    format!("{}/keys-example/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// That private half.
pub fn example_key() -> SigningKey {
    let text = fs::read_to_string(example("example.key")).expect("a file");
    let start = text.find("-----BEGIN").expect("a PEM");
    SigningKey::from_pkcs8_pem(&text[start..]).expect("PKCS#8")
}
