//! Skills that others signed by the method `sigstore`: a real signature of the public service, over
//! the folder that it was made of. That folder is not a skill, so what comes behind the signature
//! says so; with a signature that does not count it is never reached.

use std::fs;

use crate::tidy::root;
use crate::world::{Said, World};

const IDENTITY: &str = "stefanb@us.ibm.com";
const ISSUER: &str = "https://sigstore.verify.ibm.com/oauth2";

fn vector(name: &str) -> String {
    root().join("tests/oms/sigstore").join(name).to_str().unwrap().to_owned()
}

fn world() -> World {
    let world = World::new();
    let to = world.outside().join("signed");
    fs::create_dir(&to).unwrap();
    for name in ["signme-1", "signme-2"] {
        fs::copy(vector(&format!("folder/{name}")), to.join(name)).unwrap();
    }
    fs::copy(vector("v1.1.0.sig"), to.join("skill.oms.sig")).unwrap();
    // Not signed: what is asked for first is there, and is left out by `--signed-only`.
    fs::write(to.join("SKILL.md"), "---\nname: signed\ndescription: Is not signed.\n---\n")
        .unwrap();
    world
}

fn import(world: &World, more: &[&str]) -> Said {
    world.rye(&[&["import", "skill", "../signed", "--signed-only"], more].concat())
}

/// The signature counts: what is missing is named after it alone.
fn assert_counts(said: &Said) {
    assert_eq!(said.code(), "import.nothing", "{said:?}");
}

#[test]
fn a_signature_by_sigstore_counts_by_identity_issuer_and_a_given_root_and_by_nothing_less() {
    let world = world();
    let trusted = vector("trusted_root.json");
    let who = ["--signer-identity", IDENTITY, "--signer-issuer", ISSUER];
    let with_root = [&who[..], &["--trusted-root", &trusted]].concat();
    assert_counts(&import(&world, &with_root));
    import(&world, &who).fails_with("oms.root").warns("name a newer trusted root");
    let staging = vector("trusted_root.staging.json");
    import(&world, &[&who[..], &["--trusted-root", &staging]].concat()).fails_with("oms.root");
    import(&world, &[&who[..], &["--trusted-root", &vector("v1.1.0.sig")]].concat())
        .fails_with("oms.root");
    for (identity, issuer) in [("eve@us.ibm.com", ISSUER), (IDENTITY, "https://acme.example")] {
        let args = ["--signer-identity", identity, "--signer-issuer", issuer];
        let said = import(&world, &[&args[..], &["--trusted-root", &trusted]].concat())
            .fails_with("oms.unknown_signer");
        assert!(said.stderr.contains(IDENTITY) && said.stderr.contains(ISSUER), "{said:?}");
    }
    // One of the two is nobody, and a root alone names nobody.
    for half in [&who[..2], &who[2..]] {
        assert_eq!(import(&world, half).status, 2);
    }
    import(&world, &["--trusted-root", &trusted]).fails_with("oms.unknown_signer");
    fs::write(world.outside().join("signed/signme-1"), "signme-2").unwrap();
    import(&world, &with_root).fails_with("oms.files");
}

#[test]
fn your_policy_names_a_signer_by_identity_and_issuer_and_holds_the_trusted_root() {
    let world = world();
    let policy = |text: &str| {
        world.write_home(".ai/config/rye/policy.yaml", format!("import:\n{text}"));
        world.rye(&["sign", "config:rye/policy", "--space", "user"])
    };
    let signer = format!("  signers:\n    ann: {{identity: {IDENTITY}, issuer: '{ISSUER}'}}\n");
    let trusted = fs::read_to_string(vector("trusted_root.json")).unwrap();
    let trusted = format!("  trusted_root: |\n    {}\n", trusted.replace('\n', "\n    "));
    assert_eq!(policy(&signer).status, 0);
    assert_eq!(import(&world, &[]).code(), "oms.root");
    let given = ["--trusted-root", &vector("trusted_root.json")];
    assert_counts(&import(&world, &given));
    assert_eq!(policy(&trusted).status, 0);
    assert_eq!(import(&world, &[]).code(), "oms.unknown_signer");
    assert_eq!(policy(&format!("{signer}{trusted}")).status, 0);
    assert_counts(&import(&world, &[]));
    for bad in [
        format!("  signers: {{ann: {{identity: {IDENTITY}}}}}\n"),
        format!("  signers: {{ann: {{issuer: '{ISSUER}'}}}}\n"),
        format!("  signers: {{ann: {{identity: '*', issuer: '{ISSUER}'}}}}\n"),
        "  trusted_root: none\n".into(),
    ] {
        policy(&bad).fails_with("sign.invalid");
    }
}

/// A whole skill, signed by way of a service of our own (`tests/oms/make_private_sigstore.py`).
mod own_service {
    use std::fs;

    use super::super::skills::tree;
    use super::{Said, World, vector};
    use crate::tidy::root;

    const WHO: [&str; 4] =
        ["--signer-identity", "ann@acme.example", "--signer-issuer", "https://login.acme.example"];

    fn world() -> World {
        let world = World::new();
        let to = world.outside().join("word-count");
        for (path, (bytes, _)) in tree(&root().join("tests/oms/vectors/word-count")) {
            fs::create_dir_all(to.join(&path).parent().unwrap()).unwrap();
            fs::write(to.join(&path), bytes).unwrap();
        }
        fs::copy(vector("private/skill.oms.sig"), to.join("skill.oms.sig")).unwrap();
        world
    }

    fn import(world: &World, more: &[&str]) -> Said {
        let trusted = vector("private/trusted_root.json");
        let args = ["import", "skill", "../word-count", "--trusted-root", &trusted];
        world.rye(&[&args[..], &WHO, more].concat())
    }

    #[test]
    fn a_whole_skill_that_was_signed_by_sigstore_is_imported_and_says_who_signed_it() {
        let world = world();
        let said = import(&world, &["--yes"]).ok();
        let who = "`ann@acme.example` of the issuer `https://login.acme.example`";
        assert!(said.stdout.contains(who), "{said:?}");
        for item in ["directive:skills/word_count", "tool:skills/word_count_skill"] {
            world.rye(&["verify", item]).ok();
            world.rye(&["show", item]).shows("ann@acme.example");
        }
        let (_, review) = world.json(&["trust", "review"]);
        let rows = review["items"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "{review}");
        for row in rows {
            assert!(row["signed_before"].as_str().unwrap().contains(who), "{review}");
        }
        let said = world.rye(&["execute", "skills/word_count", "-i", "args=[]"]);
        assert_ne!(said.code(), "verify.untrusted", "{said:?}");
    }

    #[test]
    fn a_whole_skill_that_is_not_what_was_signed_is_refused() {
        type Change = fn(&std::path::Path);
        let changes: [(&str, Change, &str); 4] = [
            ("another word", |to| fs::write(to.join("SKILL.md"), "other").unwrap(), "oms.files"),
            ("a file more", |to| fs::write(to.join("more.md"), "").unwrap(), "oms.files"),
            ("a file less", |to| fs::remove_file(to.join("assets-2.txt")).unwrap(), "oms.files"),
            (
                "the signature of another tree",
                |to| {
                    fs::copy(vector("v1.1.0.sig"), to.join("skill.oms.sig")).unwrap();
                },
                "oms.unknown_signer",
            ),
        ];
        for (what, change, code) in changes {
            let world = world();
            assert_eq!(import(&world, &["--dry-run"]).status, 0, "untouched: {what}");
            change(&world.outside().join("word-count"));
            let said = import(&world, &["--yes"]);
            assert_eq!(said.code(), code, "{what}: {said:?}");
            assert!(!world.project().join(".ai/directives/skills").exists(), "{what}");
        }
    }

    /// What nobody but the service could make: each is right but for what its name says.
    #[test]
    fn what_the_service_did_not_vouch_for_in_full_is_refused_table() {
        let world = world();
        let to = world.outside().join("word-count/skill.oms.sig");
        let wrong = fs::read_to_string(vector("private/wrong.json")).unwrap();
        let wrong: serde_json::Value = serde_json::from_str(&wrong).unwrap();
        let wrong = wrong.as_object().unwrap();
        assert_eq!(wrong.len(), 24);
        for (name, signature) in wrong {
            fs::write(&to, signature.to_string()).unwrap();
            let said = import(&world, &["--yes"]);
            let want = match name.as_str() {
                "another payload in the log" => "oms.forged",
                "another type of payload" | "no proof" | "no entry" => "oms.malformed",
                "another authority"
                | "another log"
                | "another log of certificates"
                | "not in the log of certificates"
                | "for servers"
                | "after the certificate ended"
                | "before the certificate began"
                | "no promise" => "oms.root",
                _ => "oms.unknown_signer",
            };
            assert_eq!(said.code(), want, "{name}: {said:?}");
            assert!(!said.stdout.contains('\0'), "{name}: {said:?}");
            assert!(!world.project().join(".ai/directives/skills").exists(), "{name}");
        }
    }
}
