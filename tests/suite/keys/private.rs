//! `rye keys export --private`: your key on another machine, and "A new machine" of the page
//! `knowledge:rye/team`, walked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{folder, mode};
use crate::world::{MARKER_SH, World, fingerprint};

const WORDS: &str = "correct horse";

/// A file with the passphrase that nobody else may read.
fn words(world: &World, text: &str) -> PathBuf {
    let path = world.write("words", format!("{text}\nand another line\n"));
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

fn shown(world: &World) -> String {
    world.json(&["keys", "show"]).1["fingerprint"].as_str().unwrap_or_default().to_owned()
}

/// No line of a private key, and not the passphrase.
#[track_caller]
fn tells_nothing(world: &World, said: &crate::world::Said) {
    let private = fs::read_to_string(folder(world).join("private_key.pem")).unwrap();
    let secret = private.lines().nth(1).expect("a line of the key");
    for text in [&said.stdout, &said.stderr] {
        assert!(!text.contains(secret) && !text.contains(WORDS), "{said:?}");
    }
}

#[test]
fn a_private_key_goes_to_another_machine_under_a_passphrase_and_in_no_other_way() {
    let (old, new) = (World::new(), World::empty());
    old.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    words(&old, WORDS);
    let export = ["keys", "export", "--private", "key.pem", "--passphrase-file", "words"];
    let said = old.rye(&export).ok();
    tells_nothing(&old, &said);
    let file = old.project().join("key.pem");
    let text = fs::read_to_string(&file).unwrap();
    let own = fingerprint(&old.own_key());
    let head = format!("fingerprint: {own}\n-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
    assert!(text.starts_with(&head), "{text}");
    assert_eq!(mode(&file), 0o600);
    old.rye(&export).fails(4, "key.exists");
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "nothing is overwritten");

    new.write("key.pem", &text);
    words(&new, "another horse");
    let import = ["keys", "import", "key.pem", "--passphrase-file", "words"];
    new.rye(&import).fails(4, "key.passphrase");
    assert!(!folder(&new).exists(), "nothing was taken");
    let nobody = new.rye(&["keys", "import", "key.pem"]);
    assert_eq!(nobody.code(), "cli.usage", "nobody is at a terminal: {nobody:?}");
    assert!(nobody.stderr.contains("--passphrase-file"), "{nobody:?}");
    let open = words(&new, WORDS);
    fs::set_permissions(&open, PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!(new.rye(&import).code(), "key.permissions");
    words(&new, WORDS);
    let said = new.rye(&import).ok();
    tells_nothing(&new, &said);
    assert_eq!(shown(&new), shown(&old));
    let of = |world| fs::read(folder(world).join("private_key.pem")).unwrap();
    assert_eq!(of(&new), of(&old), "the same key, at its place without a passphrase");
    // What it signed runs there.
    new.write(".ai/tools/acme/mark.sh", old.read(".ai/tools/acme/mark.sh"));
    new.rye(&["trust", "project"]).ok();
    new.let_out();
    new.works("tool:acme/mark");

    for (text, why) in [("short", "fewer than 8"), ("", "empty")] {
        words(&old, text);
        let args = ["keys", "export", "--private", "b.pem", "--passphrase-file", "words"];
        let said = old.rye(&args).fails_with("key.passphrase");
        assert!(said.stderr.contains(why) && !old.project().join("b.pem").exists(), "{said:?}");
    }
}

#[test]
fn a_passphrase_is_typed_twice_and_not_shown() {
    let (old, new) = (World::new(), World::empty());
    let export = ["keys", "export", "--private", "key.pem"];
    let differ = old.rye_at_a_terminal("correct horse\ncorrect horsf\n", &export);
    assert_eq!(differ.code_shown(), "key.passphrase", "{differ:?}");
    assert!(!old.project().join("key.pem").exists());
    // The last letter is taken back, and typed anew.
    let said = old.rye_at_a_terminal("correct horsf\x7fe\ncorrect horse\n", &export).ok();
    assert!(said.stdout.contains("The same again: "), "{said:?}");
    tells_nothing(&old, &said);
    assert!(!said.stdout.contains("hors"), "{said:?}");
    new.write("key.pem", fs::read(old.project().join("key.pem")).unwrap());
    let stopped = new.rye_at_a_terminal("corr\x03", &["keys", "import", "key.pem"]);
    assert!(stopped.status == 2 && stopped.stdout.contains("interrupted"), "{stopped:?}");
    new.rye_at_a_terminal("correct horse\n", &["keys", "import", "key.pem"]).ok();
    assert_eq!(shown(&new), shown(&old));
}

#[test]
fn a_signal_while_a_passphrase_is_typed_leaves_the_terminal_as_it_was() {
    let world = World::new();
    let export = ["keys", "export", "--private", "key.pem"];
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let (status, asked, ended) = world.rye_at_a_terminal_ended_by(signal, &export);
        assert!(!asked, "the passphrase is not shown");
        assert_eq!((status, ended), (-signal, true), "it ends by the signal, and then it shows");
        assert!(!world.project().join("key.pem").exists());
    }
}

#[test]
fn a_file_that_asks_for_too_much_work_is_refused_before_it_is_done() {
    let (old, new) = (World::new(), World::empty());
    words(&old, WORDS);
    let export = ["keys", "export", "--private", "key.pem", "--passphrase-file", "words"];
    old.rye(&export).ok();
    let text = fs::read_to_string(old.project().join("key.pem")).unwrap();
    let body: String =
        text.lines().filter(|line| !line.starts_with('-') && !line.contains(':')).collect();
    let der = STANDARD.decode(body).unwrap();
    // The numbers N, r and p, one behind the other.
    let cost = [2, 2, 0x40, 0, 2, 1, 8, 2, 1, 5];
    let at = der.windows(cost.len()).position(|part| part == cost).expect("the cost");
    words(&new, WORDS);
    for (more, code) in [
        ([2, 2, 0x40, 0, 2, 1, 8, 2, 1, 127], "key.passphrase"),
        ([2, 2, 0x40, 0, 2, 1, 127, 2, 1, 5], "key.passphrase"),
        ([2, 2, 0x40, 1, 2, 1, 8, 2, 1, 5], "key.malformed"),
        ([2, 2, 0x40, 0, 2, 1, 0, 2, 1, 5], "key.malformed"),
    ] {
        let mut der = der.clone();
        der[at..at + more.len()].copy_from_slice(&more);
        let label = "ENCRYPTED PRIVATE KEY";
        let body = STANDARD.encode(&der);
        let lines: Vec<_> =
            body.as_bytes().chunks(64).map(|l| String::from_utf8_lossy(l).into_owned()).collect();
        let lines = lines.join("\n");
        new.write("key.pem", format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"));
        let said = new.rye(&["keys", "import", "key.pem", "--passphrase-file", "words"]);
        assert_eq!((said.status, said.code().as_str()), (4, code), "{more:?}: {said:?}");
    }
}

#[test]
fn openssl_and_rye_read_each_others_files() {
    let world = World::new();
    words(&world, WORDS);
    let export = ["keys", "export", "--private", "key.pem", "--passphrase-file", "words"];
    world.rye(&export).ok();
    let has = Command::new("openssl").arg("version").output();
    if !has.is_ok_and(|output| output.status.success()) {
        eprintln!("openssl is not there: that it reads what rye writes is not tried");
        return;
    }
    let public = world.shell("openssl pkey -in key.pem -passin file:words -pubout");
    assert_eq!(public, world.rye(&["keys", "export"]).stdout);
    world.shell(
        "openssl pkey -in key.pem -passin file:words -out plain.pem && \
         openssl pkcs8 -topk8 -in plain.pem -passout file:words -v2 aes-256-cbc -out theirs.pem",
    );
    let new = World::empty();
    words(&new, WORDS);
    new.write("theirs.pem", fs::read(world.project().join("theirs.pem")).unwrap());
    new.rye(&["keys", "import", "theirs.pem", "--passphrase-file", "words"]).ok();
    assert_eq!(shown(&new), shown(&world));
}

#[test]
fn what_the_page_says_of_a_new_machine_is_so() {
    let page = include_str!("../../../.ai/knowledge/rye/team.md");
    let part = page.split("\n## A new machine\n").nth(1).expect("the part");
    let part = part.split("\n## ").next().unwrap();
    let blocks: Vec<&str> = part.split("```").skip(1).step_by(2).collect();
    let lines = blocks.iter().flat_map(|block| block.lines().skip(1));
    let said: Vec<_> = lines.map(|line| line.split(" #").next().unwrap().trim()).collect();
    let walked = [
        "rye keys generate",
        "rye trust propose",
        "rye trust accept FINGERPRINT",
        "rye keys export --private key.pem",
        "rye keys import key.pem",
    ];
    assert_eq!(said, walked, "the page shows what is walked here");

    // A key for each machine: the new one is proposed, and the old one's owner accepts it.
    let (old, new) = (World::new(), World::empty().env("USER", "ada"));
    let well = |world: &World, line: &str| {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let said = world.rye(&words);
        assert_eq!(said.status, 0, "{line}: {said:?}");
    };
    well(&new, walked[0]);
    // The project was cloned.
    new.write(".ai/tools/acme/mark.sh", MARKER_SH);
    well(&new, "rye trust project");
    new.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    well(&new, walked[1]);
    let key = shown(&new);
    let proposal = format!(".ai/config/keys/trusted/{key}.toml");
    for path in [".ai/tools/acme/mark.sh", proposal.as_str()] {
        old.write(path, new.read(path));
    }
    old.refused("tool:acme/mark", "verify.untrusted", 4);
    well(&old, &walked[2].replace("FINGERPRINT", &key));
    old.works("tool:acme/mark");

    // The key itself.
    let moved = World::empty();
    let typed = |world: &World, line: &str, answer: &str| {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let said = world.rye_at_a_terminal(answer, &words);
        assert_eq!(said.status, 0, "{line}: {said:?}");
    };
    typed(&old, walked[3], "correct horse\ncorrect horse\n");
    moved.write("key.pem", fs::read(old.project().join("key.pem")).unwrap());
    typed(&moved, walked[4], "correct horse\n");
    assert_eq!(shown(&moved), shown(&old));
}
