//! `rye store` as a person meets it.

use std::fs;

use serde_json::json;

use crate::world::{World, sha256};

#[test]
fn objects_are_put_read_checked_and_collected() {
    let world = World::new();
    let file = world.write("data.csv", "a,b\n").display().to_string();
    let copy = world.outside().join("copy.csv");
    let (digest, copy) = (sha256(b"a,b\n"), copy.to_str().unwrap());
    let rye = |args: &[&str]| world.rye(&[&["store"], args, &["--json"]].concat());
    assert_eq!(rye(&["put", &file]).ok().json()["sha256"], digest);
    world.rye(&["store", "stat"]).ok().shows("1 object  4 bytes  0 refs");
    rye(&["get", &digest, copy]).ok();
    assert_eq!(fs::read(copy).unwrap(), b"a,b\n");
    rye(&["get", &digest, copy]).fails(2, "cli.output");
    rye(&["get", &sha256(b""), "x"]).fails(3, "store.not_found");
    rye(&["get", "abc", "x"]).fails(2, "cli.usage");
    rye(&["gc", "--grace", "soon"]).fails(2, "cli.usage");
    assert_eq!(rye(&["gc"]).ok().json()["kept"], 1);
    world.rye(&["store", "gc", "--grace", "1ms", "--dry-run"]).ok().shows("would be removed");
    assert_eq!(rye(&["verify"]).ok().json()["objects"], 1);
    let object = format!(".ai/state/objects/{}/{}", &digest[..2], &digest[2..]);
    world.write_home(&object, "a;b\n");
    let said = rye(&["verify"]).fails(4, "store.altered").json();
    assert_eq!(said["data"]["altered"], json!([digest]));
    rye(&["get", &digest, "x"]).fails(3, "store.not_found");
    rye(&["put", &file]).ok();
    // The clock of files may stand still for some milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert_eq!(rye(&["gc", "--grace", "1ms"]).ok().json()["removed"], 1);
    world.write_home(".ai/state/objects/refs/run", "not a digest\n");
    rye(&["stat"]).fails(4, "store.malformed");
}
