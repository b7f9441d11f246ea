//! Skills that others signed (`OpenSSF` Model Signing): imported if the person named the signer, and
//! then just what was signed. The vectors are made by the first implementation, see
//! `tests/oms/make_vectors.py`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use p256::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};

use super::skills::tree;
use crate::tidy::root;
use crate::world::{Said, World};

fn vectors() -> PathBuf {
    root().join("tests/oms/vectors")
}

/// A world with the vectors' skill beside the project, signed.
fn world() -> World {
    let world = World::new();
    let (from, to) = (vectors().join("word-count"), skill(&world));
    for (path, (bytes, _)) in tree(&from) {
        fs::create_dir_all(to.join(&path).parent().unwrap()).unwrap();
        fs::write(to.join(&path), bytes).unwrap();
    }
    put_signature(&world, "key-p256-files-sha256");
    world
}

fn skill(world: &World) -> PathBuf {
    world.outside().join("word-count")
}

fn put_signature(world: &World, name: &str) {
    let to = skill(world).join("skill.oms.sig");
    fs::copy(vectors().join(format!("{name}.sig")), to).unwrap();
}

fn vector(name: &str) -> String {
    vectors().join(name).to_str().unwrap().to_owned()
}

fn import(world: &World, more: &[&str]) -> Said {
    world.rye(&[&["import", "skill", "../word-count"], more].concat())
}

/// Refused with the code, with nothing of the skill shown and nothing of it written.
fn refused(world: &World, more: &[&str], code: &str) -> Said {
    let said = import(world, more).fails_with(code);
    assert_ne!(said.status, 0);
    let shown = said.stdout.clone() + &said.stderr;
    assert!(!shown.contains("Counting words"), "{said:?}");
    assert!(!world.project().join(".ai/directives/skills").exists(), "{said:?}");
    assert!(!world.project().join(".ai/tools/skills").exists(), "{said:?}");
    said
}

#[test]
fn a_skill_that_others_signed_is_imported_if_its_signer_is_named_and_says_who_that_was() {
    let world = world();
    let key = vector("p256.pub.pem");
    let said = import(&world, &["--signer", &key, "--yes"]).ok();
    let fingerprint = crate::world::sha256(&fs::read(&key).unwrap());
    assert!(said.stdout.contains(&format!("(signed by key {fingerprint})")), "{said:?}");
    for item in ["directive:skills/word_count", "tool:skills/word_count_skill"] {
        let (kind, id) = item.split_once(':').unwrap();
        let ext = if kind == "tool" { "py" } else { "md" };
        let text = String::from_utf8(world.read(&format!(".ai/{kind}s/{id}.{ext}"))).unwrap();
        let line = format!("(OpenSSF Model Signing): key {fingerprint}.");
        assert!(text.contains(&line), "{text}");
        world.rye(&["verify", item]).ok();
    }
    let said = world.rye(&["show", "directive:skills/word_count"]);
    let told = format!("its signer says that it came signed by key {fingerprint}");
    assert!(said.stdout.contains(&told), "{said:?}");
    let (_, review) = world.json(&["trust", "review"]);
    let rows = review["items"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["signed_before"], format!("key {fingerprint}"), "{review}");
    }
    let said = world.rye(&["trust", "review"]);
    assert_eq!(
        said.stdout.matches("its signer says that it came signed by").count(),
        2,
        "{said:?}"
    );
    let (_, records) = world.json(&["trust", "list", "--records"]);
    let rows = records["records"]["signed_before"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{records}");
    assert!(rows.iter().all(|row| row["by"] == format!("key {fingerprint}")), "{records}");
    let shown = world.rye(&["trust", "list", "--records"]).stdout;
    assert_eq!(shown.matches(&format!("came signed by key {fingerprint}")).count(), 2, "{shown}");
    // What comes back is the skill, without its signature.
    world.rye(&["export", "skill", "skills/word_count", "--to", "out"]).ok();
    let mut was = tree(&skill(&world));
    was.remove("skill.oms.sig").unwrap();
    assert_eq!(tree(&world.project().join("out/word-count")), was);
}

#[test]
fn every_signature_of_the_first_implementation_lets_the_skill_in() {
    let world = world();
    fs::remove_file(skill(&world).join("skill.oms.sig")).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(vectors()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".sig") else { continue };
        let curve = stem.split('-').nth(1).unwrap();
        let (signature, signer) = (vector(&name), vector(&format!("{curve}.pub.pem")));
        let args = ["--signature", &signature, "--signer", &signer, "--dry-run", "--json"];
        let said = import(&world, &args);
        assert_eq!(said.status, 0, "{name}: {said:?}");
        let said = said.json();
        for item in said["items"].as_array().unwrap() {
            assert_eq!(item["signed_by"]["method"], "key", "{name}");
            assert_eq!(item["signed_by"]["name"], serde_json::Value::Null);
        }
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn a_signed_skill_whose_signer_nobody_named_is_refused_and_tells_whose_key_it_says() {
    let world = world();
    let said = refused(&world, &[], "oms.unknown_signer");
    let key = crate::world::sha256(&fs::read(vector("p256.pub.pem")).unwrap());
    assert!(said.stderr.contains(&key), "{said:?}");
    refused(&world, &["--signer", &vector("p384.pub.pem")], "oms.unknown_signer");
    // As one that nobody vouches for, it names nobody.
    import(&world, &["--unchecked", "--yes"]).ok().warns("nobody vouches for this");
    let (_, review) = world.json(&["trust", "review"]);
    assert_eq!(review["items"][0]["signed_before"], serde_json::Value::Null);
    assert!(
        !world.project().join(".ai/tools/skills/word_count_skill.files/skill.oms.sig").exists()
    );
}

#[test]
fn a_skill_that_is_not_what_was_signed_is_refused_before_anything_of_it_is_shown() {
    type Change = (&'static str, fn(&Path), &'static str);
    let rows: [Change; 12] = [
        ("changed", |at| fs::write(at.join("SKILL.md"), "# Other\n").unwrap(), "oms.files"),
        ("missing", |at| fs::remove_file(at.join("scripts/count.py")).unwrap(), "oms.files"),
        ("added", |at| fs::write(at.join("extra.md"), "x").unwrap(), "oms.files"),
        ("added, hidden", |at| fs::write(at.join(".env"), "x").unwrap(), "oms.files"),
        ("added, empty", |at| fs::write(at.join("__init__.py"), "").unwrap(), "oms.files"),
        ("a link inside", |at| symlink("SKILL.md", at.join("again.md")).unwrap(), "oms.files"),
        (
            "a file that became a link",
            |at| {
                fs::rename(at.join("assets-2.txt"), at.join("../moved.txt")).unwrap();
                symlink("../moved.txt", at.join("assets-2.txt")).unwrap();
            },
            "oms.files",
        ),
        (
            "a folder that became a link",
            |at| {
                fs::rename(at.join("scripts"), at.join("../moved")).unwrap();
                symlink("../moved", at.join("scripts")).unwrap();
            },
            "oms.files",
        ),
        (
            "a name that is not UTF-8",
            |at| {
                use std::os::unix::ffi::OsStrExt;
                fs::write(at.join(std::ffi::OsStr::from_bytes(b"\xff.md")), "x").unwrap();
            },
            "oms.files",
        ),
        (
            "a damaged signature",
            |at| fs::write(at.join("skill.oms.sig"), "{}").unwrap(),
            "oms.malformed",
        ),
        ("no signature", |at| fs::remove_file(at.join("skill.oms.sig")).unwrap(), "oms.required"),
        (
            "another one's signature under the same key",
            |at| {
                let text = fs::read_to_string(at.join("skill.oms.sig")).unwrap();
                let mut bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
                let other = fs::read(vectors().join("key-p256-shards-sha256.sig")).unwrap();
                let other: serde_json::Value = serde_json::from_slice(&other).unwrap();
                bundle["dsseEnvelope"]["signatures"] = other["dsseEnvelope"]["signatures"].clone();
                fs::write(at.join("skill.oms.sig"), bundle.to_string()).unwrap();
            },
            "oms.forged",
        ),
    ];
    let key = vector("p256.pub.pem");
    for (what, change, code) in rows {
        let world = world();
        let good = import(&world, &["--signer", &key, "--dry-run"]);
        assert_eq!(good.status, 0, "{what}: {good:?}");
        change(&skill(&world));
        refused(&world, &["--signer", &key, "--yes"], code);
    }
}

#[test]
fn only_signed_files_are_taken_and_what_is_not_is_told() {
    let world = world();
    let key = vector("p256.pub.pem");
    let at = skill(&world);
    fs::write(at.join("extra.md"), "not signed\n").unwrap();
    symlink("/etc/passwd", at.join("out")).unwrap();
    // Left out by every signature, whatever it is.
    fs::create_dir(at.join(".git")).unwrap();
    fs::write(at.join(".git/config"), "[core]\n").unwrap();
    refused(&world, &["--signer", &key], "oms.files");
    let said = import(&world, &["--signer", &key, "--signed-only", "--yes"]).ok();
    for path in ["extra.md", "out"] {
        assert!(
            said.stderr.contains(&format!("`{path}` is not signed, and not copied")),
            "{said:?}"
        );
    }
    let taken = tree(&world.project().join(".ai/tools/skills/word_count_skill.files"));
    let want = ["assets-2.txt", "assets/ü.txt", "references/a b.md", "scripts/count.py"];
    assert_eq!(taken.keys().collect::<Vec<_>>(), want);
    // A signature by parts cannot list an empty file, so it is not taken either.
    put_signature(&world, "key-p256-shards-sha256");
    for path in ["extra.md", "out"] {
        fs::remove_file(at.join(path)).unwrap();
    }
    fs::write(at.join("empty.txt"), "").unwrap();
    import(&world, &["--signer", &key, "--category", "parts", "--dry-run"])
        .ok()
        .warns("`empty.txt` is not signed");
}

#[test]
fn your_policy_names_signers_and_asks_for_a_signature_of_every_skill() {
    let world = world();
    let policy = |signers: &str| {
        let text = format!("import:\n  require_signature: true\n{signers}");
        world.write_home(".ai/config/rye/policy.yaml", text);
        world.rye(&["sign", "config:rye/policy", "--space", "user"])
    };
    assert_eq!(policy("").status, 0);
    refused(&world, &[], "oms.unknown_signer");
    refused(&world, &["--unchecked"], "oms.required");
    let pem = fs::read_to_string(vector("p256.pub.pem")).unwrap().replace('\n', "\n      ");
    let other = fs::read_to_string(vector("p521.pub.pem")).unwrap().replace('\n', "\n      ");
    let signers = format!("  signers:\n    acme: |\n      {pem}\n    other: |\n      {other}\n");
    assert_eq!(policy(&signers).status, 0);
    for (signature, name) in [("key-p256-files-sha256", "acme"), ("key-p521-files-sha256", "other")]
    {
        put_signature(&world, signature);
        let said = import(&world, &["--dry-run", "--json"]).ok();
        assert_eq!(said.json()["items"][0]["signed_by"]["name"], name);
    }
    put_signature(&world, "key-p384-files-sha256");
    refused(&world, &[], "oms.unknown_signer");
    // Whoever names a signer for this skill means no other.
    put_signature(&world, "key-p256-files-sha256");
    refused(&world, &["--signer", &vector("p384.pub.pem")], "oms.unknown_signer");
    fs::remove_file(skill(&world).join("skill.oms.sig")).unwrap();
    refused(&world, &[], "oms.required");
    for bad in ["  signers: {acme: nothing}\n", "  sign: true\n", "  signers: [acme]\n"] {
        policy(bad).fails_with("sign.invalid");
    }
}

#[test]
fn what_is_not_a_signer_is_told_by_its_path_and_never_by_what_it_holds() {
    let world = world();
    let own = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    let private = own.to_sec1_pem(LineEnding::LF).unwrap();
    let ed25519 = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
    let public = own.public_key().to_public_key_pem(LineEnding::LF).unwrap();
    for (text, why) in [
        (private.as_str(), "holds a private key"),
        (ed25519, "not on P-256, P-384 or P-521"),
        ("hello", "does not hold one public key"),
        (&format!("{public}{public}"), "does not hold one public key"),
        ("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n", "holds a certificate"),
        (&public.replace("MFk", "MFo"), "not on P-256"),
    ] {
        let path = world.outside().join("signer.pem");
        fs::write(&path, text).unwrap();
        let said = refused(&world, &["--signer", path.to_str().unwrap()], "oms.key");
        assert!(said.stderr.contains(why), "{said:?}");
        let secret = private.lines().nth(1).unwrap();
        assert!(!said.stderr.contains(secret), "{said:?}");
    }
    // A good one, to show that the rows fail by what they hold.
    fs::write(world.outside().join("signer.pem"), &public).unwrap();
    refused(&world, &["--signer", "../signer.pem"], "oms.unknown_signer");
}

/// A key on each curve as PEM, private and public.
fn own_keys() -> Vec<(&'static str, String, String)> {
    let p256 = p256::SecretKey::from_slice(&[7; 32]).unwrap();
    let p384 = p384::SecretKey::from_slice(&[7; 48]).unwrap();
    let p521 = p521::SecretKey::from_slice(&[[0; 1].as_slice(), &[7; 65]].concat()).unwrap();
    let end = LineEnding::LF;
    let public = |key: &dyn Fn() -> String| key();
    vec![
        (
            "p256",
            p256.to_pkcs8_pem(end).unwrap().to_string(),
            public(&|| p256.public_key().to_public_key_pem(end).unwrap()),
        ),
        (
            "p384",
            p384.to_pkcs8_pem(end).unwrap().to_string(),
            public(&|| p384.public_key().to_public_key_pem(end).unwrap()),
        ),
        (
            "p521",
            p521.to_sec1_pem(end).unwrap().to_string(),
            public(&|| p521.public_key().to_public_key_pem(end).unwrap()),
        ),
    ]
}

#[test]
fn what_is_handed_out_with_a_signature_for_others_comes_in_by_it() {
    let world = world();
    import(&world, &["--signer", &vector("p256.pub.pem"), "--yes"]).ok();
    let file = |name: &str, text: &str| {
        fs::write(world.outside().join(name), text).unwrap();
        format!("../{name}")
    };
    for (curve, private, public) in own_keys() {
        let (key, signer) = (file("key.pem", &private), file("signer.pem", &public));
        let to = format!("../{curve}");
        let args = ["export", "skill", "skills/word_count", "--to", &to, "--oms", &key, "--json"];
        let said = world.rye(&args).ok();
        let shown = said.stdout.clone() + &said.stderr;
        assert!(!private.lines().any(|line| shown.contains(line)), "{said:?}");
        assert_eq!(said.json()["signed_by"], crate::world::sha256(public.as_bytes()));
        let folder = format!("{to}/word-count");
        let all = tree(&world.project().join(&folder));
        let secret = private.lines().nth(1).unwrap().as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(secret.len()).any(|part| part == secret);
        assert!(all.len() == 6 && !all.values().any(|(bytes, _)| holds(bytes)));
        let again = |signer: &str| {
            world.rye(&[
                "import",
                "skill",
                &folder,
                "--category",
                curve,
                "--signer",
                signer,
                "--yes",
            ])
        };
        assert_eq!(again(&vector("p384.pub.pem")).code(), "oms.unknown_signer");
        again(&signer).ok();
        // Whose it was before stands in what was signed, and is no longer said.
        let text = world.read(&format!(".ai/directives/{curve}/word_count.md"));
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains(&crate::world::sha256(public.as_bytes())), "{text}");
        assert_eq!(text.matches("OpenSSF Model Signing").count(), 1, "{text}");
    }
    for key in ["../signer.pem", "../word-count/SKILL.md"] {
        let args = ["export", "skill", "skills/word_count", "--to", "../never", "--oms", key];
        world.rye(&args).fails_with("oms.key");
        assert!(!world.outside().join("never").exists());
    }
}

#[test]
fn a_bundle_is_packed_with_a_signature_for_others_or_not_at_all() {
    let world = World::new();
    world.signed(".ai/tools/acme/a.sh", crate::world::MARKER_SH);
    let (_, private, public) = own_keys().remove(0);
    fs::write(world.project().join("key.pem"), private).unwrap();
    let pack = |more: &[&str]| {
        let args = ["bundle", "pack", "acme", "tool:acme/a", "--version", "1.0.0", "--yes"];
        world.rye(&[&args[..], more].concat())
    };
    let signature = world.project().join("acme-1.0.0.tar.zst.oms.sig");
    fs::write(&signature, "mine\n").unwrap();
    pack(&["--oms", "key.pem"]).fails_with("bundle.exists");
    assert!(!world.project().join("acme-1.0.0.tar.zst").exists(), "one of the two is left");
    assert_eq!(fs::read(&signature).unwrap(), b"mine\n");
    fs::remove_file(&signature).unwrap();
    let said = pack(&["--oms", "key.pem", "--json"]).ok();
    assert!(said.json()["oms_signature"].as_str().unwrap().ends_with(".oms.sig"));
    let text = fs::read_to_string(&signature).unwrap();
    let bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hint = &bundle["verificationMaterial"]["publicKey"]["hint"];
    assert_eq!(*hint, crate::world::sha256(public.as_bytes()));
    let said = world.rye(&["bundle", "verify", "acme-1.0.0.tar.zst"]);
    assert_ne!(said.code(), "bundle.malformed", "{said:?}");
}

#[test]
fn a_signature_by_sigstore_of_nobody_named_and_one_by_a_certificate_are_refused_by_name() {
    let world = world();
    let key = vector("p256.pub.pem");
    let of_spec = |name: &str| {
        let path = root().join(format!("tests/oms/spec/vectors/valid/{name}.bundle.json"));
        path.to_str().unwrap().to_owned()
    };
    let code = if cfg!(feature = "sigstore") { "oms.unknown_signer" } else { "oms.unsupported" };
    let args = ["--signer", &key, "--signature", &of_spec("sigstore")];
    refused(&world, &args, code).warns("sigstore");
    for args in [vec!["--signature", &of_spec("certificate")], vec!["--signer", &key]] {
        fs::copy(of_spec("certificate"), skill(&world).join("skill.oms.sig")).unwrap();
        let said = refused(&world, &args, "oms.unsupported");
        assert!(said.stderr.contains("by the method `certificate`"), "{said:?}");
        assert!(said.stderr.contains("by the method `key`"), "{said:?}");
        assert!(said.stderr.contains("by `sigstore`"), "{said:?}");
    }
    import(&world, &["--unchecked", "--dry-run"]).ok().warns("nobody vouches for this");
}

/// What a skill says of itself is not what was checked.
#[test]
fn a_skill_without_a_signature_that_says_it_was_signed_is_shown_as_signed_by_nobody() {
    let world = world();
    let at = skill(&world);
    fs::remove_file(at.join("skill.oms.sig")).unwrap();
    let said = "Signed by others before it was imported, and checked then (OpenSSF Model Signing): `acme`.";
    let text = format!(
        "---\nname: word-count\ndescription: \"{said}\"\nmetadata:\n  a: |\n    x\n\n    # ///\n    # {said}\n\
         ---\n{said}\n\n# ///\n# {said}\n\n# x\n\n{said}\n"
    );
    fs::write(at.join("SKILL.md"), text).unwrap();
    import(&world, &["--yes", "--lenient"]).ok();
    let (_, review) = world.json(&["trust", "review"]);
    let rows = review["items"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["signed_before"], serde_json::Value::Null, "{review}");
        let (_, shown) = world.json(&["show", row["item_id"].as_str().unwrap()]);
        assert_eq!(shown["signed_before"], serde_json::Value::Null, "{shown}");
    }
    // It comes back to the byte all the same.
    world.rye(&["export", "skill", "skills/word_count", "--to", "out"]).ok();
    assert_eq!(tree(&world.project().join("out/word-count")), tree(&at));
}

const SAID: &str =
    "Signed by others before it was imported, and checked then (OpenSSF Model Signing): key 12.";

/// A directive that says it came signed, as an import of a skill would have it say.
fn spoof() -> String {
    format!(
        "# word-count\n\nMade of an Agent Skill, which is kept here to the byte; `rye export skill` gives it \
         back.\n\n{SAID}\n\n```xml\n<directive name=\"spoof\" version=\"1.0.0\">\n  <metadata>\n    \
         <description>Spoof</description>\n    <category>x</category>\n    <author>a</author>\n  \
         </metadata>\n</directive>\n```\n\nDo it.\n"
    )
}

#[test]
fn who_signed_a_skill_is_told_of_items_with_a_good_signature_alone_and_as_the_word_of_its_signer() {
    let world = World::new();
    let (path, item) = (".ai/directives/x/spoof.md", "directive:x/spoof");
    let told = || {
        let (_, review) = world.json(&["trust", "review"]);
        let (_, shown) = world.json(&["show", item]);
        let text = world.rye(&["show", item]).stdout + &world.rye(&["trust", "review"]).stdout;
        let of = [&review["items"][0]["signed_before"], &shown["signed_before"]];
        (of.map(|by| by.as_str().map(str::to_owned)), text.matches("came signed by key 12").count())
    };
    let warned = "directive:x/spoof: it says that it came signed by key 12";
    world.write(path, spoof().replace(SAID, "It came signed."));
    assert!(!world.rye(&["sign", item]).stderr.contains("came signed by"), "untouched");
    world.write(path, spoof());
    world.rye(&["sign", item]).warns(warned);
    world.signed(path, &spoof());
    let by = Some("key 12".to_owned());
    assert_eq!(told(), ([by.clone(), by], 2));
    let signed = String::from_utf8(world.read(path)).unwrap();
    let key = signed.split(" key=").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    for unsigned in [
        spoof(),
        signed.replace("Do it.", "Do something else."),
        signed.replacen("sig=", "sig=AAAA", 1),
        signed.replacen(&key, &"0".repeat(key.len()), 1),
    ] {
        world.write(path, &unsigned);
        assert_eq!(told(), ([None, None], 0), "{unsigned}");
    }
}

#[test]
fn an_item_of_another_kind_of_import_that_says_it_came_signed_is_left_out() {
    let world = World::new();
    let tool = format!("# /// rye\n# version = \"1.0.0\"\n# ///\n# {SAID}\nprint(1)\n");
    let items = [("directives/x/spoof.md", spoof()), ("tools/x/spoof.py", tool)];
    for (path, text) in &items {
        let at = world.outside().join("old/.ai").join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text.replace(SAID, "It came signed.")).unwrap();
    }
    let args = ["import", "rye", "../old", "--unchecked", "--dry-run"];
    let (status, said) = world.json(&args);
    assert_eq!((status, said["items"].as_array().map(Vec::len)), (0, Some(2)), "{said}");
    for (path, text) in &items {
        fs::write(world.outside().join("old/.ai").join(path), text).unwrap();
    }
    let (status, said) = world.json(&args);
    assert_eq!((status, said["items"].as_array().map(Vec::len)), (0, Some(0)), "{said}");
    for left in said["left_out"].as_array().unwrap() {
        let why = left["why"].as_str().unwrap();
        assert!(why.contains("only an import of a signed skill writes"), "{said}");
    }
}

#[test]
fn a_signature_beside_the_one_that_was_named_is_neither_checked_nor_copied() {
    let world = world();
    let at = skill(&world).join("skill.oms.sig");
    let elsewhere = world.outside().join("elsewhere.sig");
    fs::rename(&at, &elsewhere).unwrap();
    let key = vector("p256.pub.pem");
    let args = ["--signer", &key, "--signature", elsewhere.to_str().unwrap()];
    import(&world, &[&args[..], &["--dry-run"]].concat()).ok();
    fs::write(&at, "{}").unwrap();
    let said = import(&world, &[&args[..], &["--yes"]].concat()).ok();
    let told =
        "`skill.oms.sig` is not the signature that was named: it is neither checked nor copied";
    assert!(said.stderr.contains(told), "{said:?}");
    assert!(
        !world.project().join(".ai/tools/skills/word_count_skill.files/skill.oms.sig").exists()
    );
}
