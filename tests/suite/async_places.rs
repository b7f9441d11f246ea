//! Detached runs that wait for a place: how they are answered, and what becomes of one whose item
//! is changed meanwhile.

use std::fs;
use std::thread::available_parallelism;

use serde_json::{Value, json};

use crate::async_runs::{id_of, start, state, tool};
use crate::threads::{ONLY_ECHO, hand_over, rows, transcript, world};
use crate::world::wait::until;
use crate::world::{End, World};

const GO: &[&str] = &["directive:acme/go", "--thread", "fork"];

/// Takes a place until the file `go` is there.
fn slow(world: &World) {
    let body = "touch begun; while [ ! -e go ]; do sleep 0.1; done\n";
    world.signed(".ai/tools/acme/slow.sh", &tool(body));
}

/// A world with a tool and a directive, whose only place is taken.
fn full() -> World {
    let world = world(&json!([hand_over()]), "turns=\"3\"", ONLY_ECHO);
    world.signed_home(".ai/config/agent/limits.yaml", "max_async: 1\n");
    slow(&world);
    assert_eq!(start(&world, &["tool:acme/slow"])["state"], "running");
    until("it begins", || world.project().join("begun").exists());
    world
}

#[test]
fn a_run_that_waits_for_a_place_is_answered_as_created_field_by_field() {
    let world = full();
    let told = start(&world, &["tool:acme/echo"]);
    let id = id_of(&told);
    let want = json!({
        "status": "success", "async": true, "thread_id": id, "type": "tool",
        "item_id": "tool:acme/echo", "execution_mode": "inline", "state": "created", "pid": null,
    });
    assert_eq!(told, want);
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'7'), "a UUID of version 7: {id}");
    let told = start(&world, GO);
    let id = id_of(&told);
    let want = json!({
        "status": "created", "async": true, "thread_id": id, "type": "directive",
        "item_id": "acme/go", "execution_mode": "fork", "state": "created", "pid": null,
        "directive": "acme/go",
    });
    assert_eq!(told, want);
    assert!(id.starts_with("acme/go/go-"), "{id}");
    let said = world.rye(&[&["execute"], GO, &["--async"]].concat());
    let waits = format!(
        "it waits for a place; wait for it with `rye thread wait {}`\n",
        said.stdout.trim()
    );
    assert!(said.stderr.contains(&waits), "{said:?}");
    assert_eq!(state(&world, said.stdout.trim()), "created");
    world.write("go", "");
}

#[test]
fn a_run_whose_item_is_changed_while_it_waits_is_refused_by_its_own_process_and_nothing_of_it_runs()
{
    for (args, item) in
        [(&["tool:acme/echo"][..], ".ai/tools/acme/echo.sh"), (GO, ".ai/directives/acme/go.md")]
    {
        let world = full();
        let untouched = id_of(&start(&world, args));
        let waits = start(&world, args);
        assert_eq!(waits["state"], "created");
        world.write("go", "");
        assert_eq!(world.json(&["thread", "wait", &untouched]).0, 0, "the fixture works untouched");
        assert_eq!(world.json(&["thread", "wait", &id_of(&waits)]).0, 0);

        let world = full();
        let id = id_of(&start(&world, args));
        let path = world.project().join(item);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + "\necho more >> ran\n").unwrap();
        world.write("go", "");
        world.json(&["thread", "wait", &id]).fails(4, "verify.altered");
        assert_eq!(state(&world, &id), "failed");
        assert!(!world.project().join("ran").exists(), "{item}: nothing of it ran");
        assert!(!transcript(&world, &id).exists(), "{item}: no record was begun");
    }
}

#[test]
fn without_a_configuration_four_runs_for_each_core_have_a_place() {
    let world = World::new();
    slow(&world);
    let first = start(&world, &["tool:acme/slow"]);
    assert_eq!(first["state"], "running");
    until("it begins", || world.project().join("begun").exists());
    let places = 4 * available_parallelism().unwrap().get();
    // All but one of the other places are taken, by what counts as runs of this process.
    let db = rusqlite::Connection::open(world.home().join(".ai/state/registry.db")).unwrap();
    let columns = "kind, item, base, state, asked_at, places, pid, start, place";
    let sql = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO run (id, {columns}) SELECT 'other-' || i, {columns} FROM n, run"
    );
    assert_eq!(db.execute(&sql, [places - 2]).unwrap(), places - 2);
    assert_eq!(start(&world, &["tool:acme/slow"])["state"], "running", "the last of {places}");
    assert_eq!(start(&world, &["tool:acme/slow"])["state"], "created", "beyond {places}");
    let states: Vec<Value> = rows(&world).iter().map(|row| row["thread_status"].clone()).collect();
    let running = states.iter().filter(|state| **state == "running").count();
    assert_eq!((running, states.len()), (places, places + 1));
    world.write("go", "");
}
