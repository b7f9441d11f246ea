//! Keys that are trusted no more, and what is said of a slip.

use super::{ITEM, clone_by};
use crate::keys::others::stranger;
use crate::world::{MARKER_SH, World, fingerprint};

#[test]
fn a_revocation_is_taken_back_by_whoever_is_asked() {
    let (world, key) = clone_by(1);
    assert_eq!(world.rye(&["trust", "accept", &key]).status, 0);
    let said = world.rye(&["trust", "revoke", &key]);
    assert!(said.stdout.contains(&format!("rye trust unrevoke {key}")), "{said:?}");
    world.refused(ITEM, "verify.revoked", 4);
    let help = world.rye(&["trust", "accept", &key]).stderr;
    assert!(help.contains(&format!("rye trust unrevoke {key}")), "{help}");
    let list = world.rye(&["trust", "list"]);
    assert_eq!(list.stdout.matches(&key).count(), 1, "one key, one row: {list:?}");
    let said = world.rye(&["trust", "unrevoke", &key, "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("cli.not_confirmed", 2), "{said:?}");
    world.refused(ITEM, "verify.revoked", 4);
    let said = world.rye_at_a_terminal("n\n", &["trust", "unrevoke", &key]);
    assert!(said.status == 2 && said.stdout.contains("Ann"), "{said:?}");
    world.refused(ITEM, "verify.revoked", 4);
    let said = world.rye_at_a_terminal("y\n", &["trust", "unrevoke", &key[..8]]);
    assert_eq!(said.status, 0, "{said:?}");
    world.works(ITEM);
    let said = world.rye(&["trust", "unrevoke", &key, "--yes", "--json"]);
    assert_eq!((said.code().as_str(), said.status), ("trust.not_found", 3), "{said:?}");
    // A revoked key of one's own has no say in it.
    assert_eq!(world.rye(&["trust", "revoke", &key]).status, 0);
    let own = fingerprint(&world.own_key());
    assert_eq!(world.rye(&["trust", "revoke", &own, "--yes"]).status, 0);
    for key in [&key, &own] {
        let said = world.rye(&["trust", "unrevoke", key, "--yes", "--json"]);
        assert_eq!((said.code().as_str(), said.status), ("verify.revoked", 4), "{said:?}");
    }
}

#[test]
fn nobody_revokes_the_own_key_by_a_slip() {
    let world = World::new();
    world.signed(".ai/tools/acme/mark.sh", MARKER_SH);
    let own = fingerprint(&world.own_key());
    let revoke = ["trust", "revoke", &own];
    let said = world.rye(&revoke);
    assert_eq!((said.status, said.code().as_str()), (2, "cli.not_confirmed"), "{said:?}");
    assert!(said.stderr.contains("that cannot be taken back"), "{said:?}");
    let said = world.rye(&[&revoke[..], &["--json"]].concat());
    assert_eq!((said.status, said.code().as_str()), (2, "cli.not_confirmed"), "{said:?}");
    let said = world.rye_at_a_terminal("n\n", &revoke);
    assert_eq!(said.code_shown(), "cli.not_confirmed", "{said:?}");
    world.works(ITEM);
    let (status, said) = world.json(&[&revoke[..], &["--yes"]].concat());
    assert_eq!(
        (status, &said["warnings"][0]),
        (0, &"make another key with `rye keys rotate`".into())
    );
    assert_ne!(world.run(ITEM).0, 0);
}

#[test]
fn whoever_revokes_a_key_that_is_not_known_here_is_warned_of_a_slip() {
    let (world, key) = clone_by(1);
    let unknown = fingerprint(&stranger(7));
    let warns = "nothing was known of that key here";
    let said = world.rye(&["trust", "revoke", &unknown]);
    assert!(said.status == 0 && said.stderr.contains(warns), "{said:?}");
    // Of one that is only proposed there is something to know, and of one that is trusted too.
    let said = world.rye(&["trust", "revoke", &key]);
    assert!(said.status == 0 && !said.stderr.contains(warns), "{said:?}");
    let (world, key) = clone_by(1);
    assert_eq!(world.rye(&["trust", "accept", &key]).status, 0);
    let said = world.rye(&["trust", "revoke", &key]);
    assert!(said.status == 0 && !said.stderr.contains(warns), "{said:?}");
}
