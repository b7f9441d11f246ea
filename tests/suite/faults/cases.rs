//! What is tried: one row a verb that writes. Adding one is adding a row.

use std::fs;

use ed25519_dalek::SigningKey;

use super::State::{New, Old};
use super::{Case, State, try_all};
use crate::keys::others::{document, files, pem, put, stranger, trusted};
use crate::world::{End, MARKER_SH, World, fingerprint};

const ITEM: &str = "tool:acme/mark";
const FILE: &str = ".ai/tools/acme/mark.sh";
/// The key of somebody else, as every row here knows it.
const OTHER: u8 = 1;

/// The words of a command line.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn other() -> String {
    fingerprint(&stranger(OTHER))
}

/// The item's signature line is the one that the fixture made, or one made since.
fn signed_anew(world: &World, path: &str) -> State {
    let text = String::from_utf8(world.read(path)).unwrap();
    let rest =
        text.replacen(text.lines().nth(1).unwrap_or_default(), "", 1).replacen("\n\n", "\n", 1);
    let is_signed = text.contains("rye:signed:v2 ");
    assert_eq!(if is_signed { rest } else { text.clone() }, MARKER_SH, "{path}: {text}");
    if is_signed && !text.contains(" at=2025-01-01T00:00:00Z ") { New } else { Old }
}

/// A tool that was signed long ago, so that another signature is another line.
fn long_signed(world: &World, path: &str) {
    put(world, &world.own_key(), path, MARKER_SH);
}

fn runs(world: &World) -> bool {
    drop(fs::remove_file(world.project().join("marker")));
    let said = world.rye(&["execute", ITEM, "--json"]);
    let ran = world.project().join("marker").exists();
    drop(fs::remove_file(world.project().join("marker")));
    assert_eq!(said.status == 0, ran, "{said:?}");
    ran
}

fn would_run(world: &World) -> bool {
    world.rye(&["execute", ITEM, "--dry-run", "--json"]).status == 0
}

/// The tool is signed, and carries a valid signature whatever happened.
#[test]
fn c06_signing_again_leaves_the_old_signature_or_the_other() {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    assert!(runs(&world), "the fixture runs");
    try_all(&Case {
        args: words(&format!("sign {ITEM}")),
        states: |world| {
            world.rye(&["verify", ITEM]).ok();
            vec![signed_anew(world, FILE)]
        },
        next: words(&format!("sign {ITEM}")),
        next_may_say: &[],
        least: 6,
        world,
    });
}

#[test]
fn c06_the_acceptance_of_a_project_is_whole_or_not_there() {
    let world = World::new().at_the_door().with(FILE, MARKER_SH);
    world.works(ITEM);
    fs::remove_dir_all(world.home().join(".ai/config/keys/projects")).unwrap();
    fs::remove_file(world.project().join("marker")).unwrap();
    try_all(&Case {
        args: words("trust project"),
        states: |world| {
            let said = world.rye(&["execute", ITEM, "--dry-run", "--json"]);
            let accepted = match said.code().as_str() {
                "" => New,
                "verify.project_not_accepted" => Old,
                other => panic!("{other:?}: {said:?}"),
            };
            vec![accepted]
        },
        next: words("trust project"),
        next_may_say: &[],
        least: 6,
        world,
    });
}

#[test]
fn c06_of_a_batch_each_item_is_signed_or_as_it_was() {
    const FILES: [&str; 3] = [".ai/tools/acme/a.sh", ".ai/tools/acme/b.sh", ".ai/tools/other/c.sh"];
    let world = World::new().at_the_door();
    for file in FILES {
        world.write(file, MARKER_SH);
    }
    try_all(&Case {
        args: words("sign --all"),
        states: |world| FILES.map(|file| signed_anew(world, file)).to_vec(),
        next: words("sign --all"),
        next_may_say: &[],
        least: 18,
        world,
    });
}

/// The own key works, or there is none; `true` if it works.
fn has_key(world: &World) -> bool {
    let said = world.rye(&["keys", "show", "--json"]);
    match said.code().as_str() {
        "" => {
            assert_eq!(said.json()["can_sign"], true, "{said:?}");
            assert_eq!(said.json()["fingerprint"], *fingerprint(&world.own_key()));
            true
        }
        "key.missing" => false,
        other => panic!("{other}: {said:?}"),
    }
}

fn state(new: bool) -> State {
    if new { New } else { Old }
}

#[test]
fn c06_a_key_pair_and_each_word_about_a_key_is_there_or_not_table() {
    {
        try_all(&Case {
            args: words("keys generate"),
            states: |world| vec![state(has_key(world))],
            next: words("keys generate"),
            next_may_say: &["key.exists"],
            least: 12,
            world: World::empty().at_the_door(),
        });
    }
    {
        try_all(&Case {
            args: words("trust add ../other.pem"),
            states: |world| vec![state(theirs_runs(world))],
            next: words("trust add ../other.pem"),
            next_may_say: &[],
            least: 6,
            world: settled(),
        });
    }
    {
        let world = settled();
        let document = document(&stranger(OTHER), "other", "");
        world.write(&trusted(&stranger(OTHER)), document);
        let args = words(&format!("trust accept {}", other()));
        try_all(&Case {
            args: args.clone(),
            states: |world| vec![state(theirs_runs(world))],
            next: args,
            next_may_say: &[],
            least: 6,
            world,
        });
    }
    {
        let world = settled();
        say(&world, &["trust", "add", "../other.pem"]);
        let args = words(&format!("trust revoke {}", other()));
        try_all(&Case {
            args: args.clone(),
            states: |world| {
                let runs = theirs_runs(world);
                let (trusted, revoked) = said_of_other(world);
                assert!(trusted && revoked != runs);
                vec![state(revoked)]
            },
            next: args,
            next_may_say: &[],
            least: 6,
            world,
        });
    }
    {
        let world = settled();
        say(&world, &["trust", "add", "../other.pem"]);
        let args = words(&format!("trust remove {}", other()));
        try_all(&Case {
            args: args.clone(),
            states: |world| vec![state(!theirs_runs(world))],
            next: args,
            next_may_say: &["trust.not_found"],
            least: 2,
            world,
        });
    }
}

#[test]
fn c06_init_can_be_run_again_until_all_of_it_is_done() {
    try_all(&Case {
        args: words("init"),
        states: |world| {
            let folders = ["tools", "directives", "knowledge"];
            let folders = folders.iter().all(|f| world.project().join(".ai").join(f).is_dir());
            let key = has_key(world);
            // What is accepted is told by a tool that is signed elsewhere and put here.
            let accepted = key && folders && {
                world.let_out();
                long_signed(world, FILE);
                let ran = runs(world);
                fs::remove_dir_all(world.project().join(".ai/tools/acme")).unwrap();
                ran
            };
            vec![state(folders), state(key), state(accepted)]
        },
        next: words("init"),
        next_may_say: &[],
        least: 16,
        world: World::empty().at_the_door(),
    });
}

/// A world in which every kind of document about trust is there, and the old key's fingerprint.
fn settled() -> World {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    let key = stranger(OTHER);
    fs::write(world.outside().join("other.pem"), pem(&key)).unwrap();
    put(&world, &key, ".ai/tools/acme/theirs.sh", MARKER_SH);
    world
}

fn say(world: &World, args: &[&str]) {
    world.rye(args).ok();
}

/// What `trust list` says of somebody else's key; the list can be read whatever happened.
fn said_of_other(world: &World) -> (bool, bool) {
    let list = world.json(&["trust", "list"]).ok();
    let rows = list["keys"].as_array().unwrap();
    let row = rows.iter().find(|row| row["fingerprint"] == *other());
    assert!(
        row.is_none_or(|row| row["state"] == "trusted" || row["state"] == "revoked"),
        "{row:?}"
    );
    let revoked = list["revoked"].as_array().unwrap().iter().any(|key| *key == *other());
    (row.is_some(), revoked)
}

/// Whether what somebody else signed runs, which must agree with the list.
fn theirs_runs(world: &World) -> bool {
    let said = world.rye(&["execute", "tool:acme/theirs", "--dry-run", "--json"]);
    let (trusted, revoked) = said_of_other(world);
    assert_eq!(said.status == 0, trusted && !revoked, "{said:?}");
    assert!(matches!(said.code().as_str(), "" | "verify.untrusted" | "verify.revoked"), "{said:?}");
    said.status == 0
}

/// The key of this world before anything was tried, kept beside both spaces.
fn first_key(world: &World) -> SigningKey {
    use ed25519_dalek::pkcs8::DecodePrivateKey;
    let text = fs::read_to_string(world.outside().join("first.pem")).unwrap();
    SigningKey::from_pkcs8_pem(&text).unwrap()
}

#[test]
fn c06_a_rotation_is_done_or_not_begun() {
    let world = settled();
    let signing = world.home().join(".ai/config/keys/signing/private_key.pem");
    fs::copy(signing, world.outside().join("first.pem")).unwrap();
    say(&world, &["trust", "add", "../other.pem"]);
    say(&world, &["trust", "revoke", &fingerprint(&stranger(2))]);
    world.write_home(".ai/config/rye/policy.yaml", "sandbox_off: [\"tool:**\"]\n");
    say(&world, &["sign", "config:rye/policy", "--space", "user"]);
    assert!(runs(&world) && theirs_runs(&world), "the fixture runs");
    try_all(&Case {
        args: words("keys rotate"),
        states: |world| {
            assert!(has_key(world));
            let (first, own) = (fingerprint(&first_key(world)), fingerprint(&world.own_key()));
            // What was said before is said still, whichever key is the own one.
            assert!(would_run(world), "what the first key signed runs");
            assert!(theirs_runs(world), "whom you trusted you trust");
            let (_, list) = world.json(&["trust", "list"]);
            let revoked = &list["revoked"];
            assert_eq!(revoked[0], *fingerprint(&stranger(2)), "{list}");
            if own == first {
                return vec![Old];
            }
            let kept = format!(".ai/config/keys/signing/private_key.{first}.pem");
            let is_kept = fs::read(world.home().join(kept)).unwrap()
                == fs::read(world.outside().join("first.pem")).unwrap();
            assert!(is_kept, "the first key is kept");
            // What waits is read where it waits; whoever asks for it puts it in its place.
            let waiting = world.home().join(".ai/state/rotation").join(&own);
            if waiting.exists() {
                let before = files(world);
                assert!(would_run(world) && theirs_runs(world));
                assert_eq!(files(world), before, "reading a key wrote something");
                assert!(waiting.exists(), "reading a key finished a rotation");
                world.rye(&["doctor", "--json"]).shows("cut short");
                assert!(!waiting.exists());
                assert!(would_run(world) && theirs_runs(world), "and all is as it was");
            }
            vec![New]
        },
        next: words("keys rotate"),
        next_may_say: &[],
        least: 40,
        world,
    });
}

#[test]
fn c06_a_run_that_is_cut_short_leaves_a_folder_that_the_next_run_sweeps() {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    say(&world, &["sign", ITEM]);
    try_all(&Case {
        args: words(&format!("execute {ITEM}")),
        states: |_| vec![New],
        next: words(&format!("execute {ITEM}")),
        next_may_say: &[],
        least: 4,
        world,
    });
}

/// Whether the lock says just what is there; `None` without one.
fn lock_fits(world: &World) -> Option<bool> {
    let lock = world.project().join(".ai/rye.lock");
    let said = world.rye(&["lock", "--check", "--json"]);
    assert!(matches!(said.status, 0 | 4), "the lock can be read: {said:?}");
    lock.exists().then_some(said.status == 0)
}

#[test]
fn c06_the_lock_is_there_whole_or_not() {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    try_all(&Case {
        args: words("lock"),
        states: |world| {
            assert!(would_run(world));
            let fits = lock_fits(world);
            assert_ne!(fits, Some(false), "a lock that is there fits");
            vec![state(fits.is_some())]
        },
        next: words("lock"),
        next_may_say: &[],
        least: 6,
        world,
    });
}

#[test]
fn c06_the_lock_says_the_old_version_or_the_other() {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    say(&world, &["lock"]);
    say(&world, &["sign", ITEM]);
    assert!(would_run(&world) && lock_fits(&world) == Some(false), "the fixture has an old lock");
    try_all(&Case {
        args: words("lock --update"),
        states: |world| {
            assert!(would_run(world));
            vec![state(lock_fits(world).expect("a lock"))]
        },
        next: words("lock --update"),
        next_may_say: &[],
        least: 6,
        world,
    });
}

#[test]
fn c06_a_plan_is_written_whole_or_not_and_so_is_a_receipt() {
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    say(&world, &["sign", ITEM]);
    // Folders that are there, and what a first run leaves, are no part of what is tried.
    assert!(runs(&world));
    try_all(&Case {
        args: words(&format!("plan {ITEM} --out ../plan.json")),
        states: |world| {
            let there = world.outside().join("plan.json").exists();
            let said = world.rye(&["execute", "--plan", "../plan.json", "--dry-run", "--json"]);
            assert_eq!(said.status == 0, there, "{said:?}");
            vec![state(there)]
        },
        next: words(&format!("plan {ITEM} --out ../plan.json")),
        next_may_say: &[],
        least: 5,
        world,
    });
    let world = World::new().at_the_door();
    long_signed(&world, FILE);
    say(&world, &["sign", ITEM]);
    assert!(runs(&world));
    try_all(&Case {
        args: words(&format!("execute {ITEM} --receipt ../receipt.json")),
        states: |world| {
            let there = world.outside().join("receipt.json").exists();
            let said = world.rye(&["receipt", "verify", "../receipt.json", "--json"]);
            assert_eq!(said.status == 0, there, "{said:?}");
            vec![state(there)]
        },
        next: words(&format!("execute {ITEM} --receipt ../receipt.json")),
        next_may_say: &[],
        least: 9,
        world,
    });
}
