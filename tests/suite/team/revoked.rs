//! Keys that are trusted no more, and what is said of a slip.

use super::{ITEM, clone_by};
use crate::keys::others::stranger;
use crate::world::{MARKER_SH, World, fingerprint};

#[test]
fn a_revocation_is_taken_back_by_whoever_is_asked() {
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    world.rye(&["trust", "revoke", &key]).shows(&format!("rye trust unrevoke {key}"));
    world.refused(ITEM, "verify.revoked", 4);
    let help = world.rye(&["trust", "accept", &key]).stderr;
    assert!(help.contains(&format!("rye trust unrevoke {key}")), "{help}");
    let list = world.rye(&["trust", "list"]);
    assert_eq!(list.stdout.matches(&key).count(), 1, "one key, one row: {list:?}");
    world.rye(&["trust", "unrevoke", &key, "--json"]).fails(2, "cli.not_confirmed");
    world.refused(ITEM, "verify.revoked", 4);
    let said = world.rye_at_a_terminal("n\n", &["trust", "unrevoke", &key]);
    assert!(said.status == 2 && said.stdout.contains("Ann"), "{said:?}");
    world.refused(ITEM, "verify.revoked", 4);
    world.rye_at_a_terminal("y\n", &["trust", "unrevoke", &key[..8]]).ok();
    world.works(ITEM);

    world.rye(&["trust", "unrevoke", &key, "--yes", "--json"]).fails(3, "trust.not_found");
    // A revoked key of one's own has no say in it.
    world.rye(&["trust", "revoke", &key]).ok();
    let own = fingerprint(&world.own_key());
    world.rye(&["trust", "revoke", &own, "--yes"]).ok();
    for key in [&key, &own] {
        world.rye(&["trust", "unrevoke", key, "--yes", "--json"]).fails(4, "verify.revoked");
    }
}

#[test]
fn nobody_revokes_the_own_key_by_a_slip() {
    let world = World::new().with(".ai/tools/acme/mark.sh", MARKER_SH);
    let own = fingerprint(&world.own_key());
    let revoke = ["trust", "revoke", &own];
    world.rye(&revoke).fails(2, "cli.not_confirmed").warns("that cannot be taken back");
    world.rye(&[&revoke[..], &["--json"]].concat()).fails(2, "cli.not_confirmed");
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
    world.rye(&["trust", "revoke", &unknown]).ok().warns(warns);
    // Of one that is only proposed there is something to know, and of one that is trusted too.
    let said = world.rye(&["trust", "revoke", &key]);
    assert!(said.status == 0 && !said.stderr.contains(warns), "{said:?}");
    let (world, key) = clone_by(1);
    world.rye(&["trust", "accept", &key]).ok();
    let said = world.rye(&["trust", "revoke", &key]);
    assert!(said.status == 0 && !said.stderr.contains(warns), "{said:?}");
}
