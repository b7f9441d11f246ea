//! What two people signed in two branches, each with their own key.

use super::{git, signed_at, well, with, world};
use crate::world::MARKER_SH;

/// Two people have two keys, and each signs what the other signed before.
#[test]
fn a_row_that_two_people_signed_is_the_later_one_and_says_whose() {
    let world = world();
    let ann = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let fingerprint = crate::world::fingerprint(&ann);
    well(&world, "rye lock && git add -A && git commit -qm lock && git branch side");
    signed_at(&world, &with(MARKER_SH, "# ours\n"), -20);
    well(&world, "rye lock --update acme/mark && git add -A && git commit -qm ours");
    let ours = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    well(&world, "git checkout -q side");
    signed_at(&world, &with(MARKER_SH, "# theirs\n"), -10);
    well(&world, "rye lock --update acme/mark");
    let lock = String::from_utf8(world.read(".ai/rye.lock")).unwrap();
    let own = crate::world::fingerprint(&world.own_key());
    let row = lock.find("[\"tool:acme/mark\"]").unwrap();
    let theirs = format!("{}{}", &lock[..row], lock[row..].replacen(&own, &fingerprint, 1));
    world.write(".ai/rye.lock", &theirs);
    well(&world, "git add -A && git commit -qnm theirs && git checkout -q main");
    let got = git(&world, "git merge -q side");
    let told = format!("the lock keeps the later one, signed by {}", &fingerprint[..4]);
    assert!(got.contains(&told), "{got}");
    assert_eq!(String::from_utf8(world.read(".ai/rye.lock")).unwrap(), theirs);
    assert_ne!(ours, theirs);
}
