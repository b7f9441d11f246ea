//! The vectors, each by the command line and by the library.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rye::Request;
use serde_json::Value;

use super::vector::{self, Call, Vector};
use super::{library, no_file_tells, nothing_is_left, world};
use crate::world::{World, held};

/// Says to this program that it is to be the library's side of a battery, in the world at this
/// place.
const SIDE: &str = "RYE_EXEC_WORLD";

/// The vectors of these rows, by both doors; then nothing is left.
#[track_caller]
fn battery(test: &str, rows: &[&str]) {
    let vectors = vector::of_rows(rows);
    if let Some(base) = std::env::var_os(SIDE) {
        by_library(Path::new(&base), &vectors);
        return;
    }
    let world = world();
    for vector in &vectors {
        vector.write(&world);
    }
    world.rye(&["sign", "tool:v/*"]).ok();
    all(&vectors, |vector| by_command_line(&world, vector));
    nothing_is_left(world.outside());
    // In a process of its own, so that what it holds is told from what other tests hold.
    let name = format!("exec::battery::{test}");
    let alone = Command::new(std::env::current_exe().unwrap())
        .args([&name, "--exact", "--nocapture", "--test-threads=1"])
        .env(SIDE, world.outside())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&alone.stderr);
    assert!(alone.status.success() && told.contains("by the library: done"), "{told}");
    nothing_is_left(world.outside());
    no_file_tells(world.outside());
}

/// A few at a time: most of what a battery does is to wait. Tells of all that are wrong.
#[track_caller]
fn all(vectors: &[Vector], check: impl Fn(&Vector) -> Vec<String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(vector) = vectors.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = check(vector);
                    let found = found.into_iter().map(|wrong| format!("{}: {wrong}", vector.name));
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Judges the answer and how long it took.
fn judged(vector: &Vector, call: &Call, act: impl FnOnce() -> Value) -> Option<String> {
    let start = Instant::now();
    let got = act();
    let took = start.elapsed();
    let late = (took > vector.within).then(|| format!("took {took:?}"));
    call.judge(&got).or(late)
}

fn by_command_line(world: &World, vector: &Vector) -> Vec<String> {
    let calls = if vector.is_server { &vector.calls[..1] } else { &vector.calls[..] };
    let call = |call: &Call| {
        let params = serde_json::to_vec(&call.params).unwrap();
        // The log is told what the program says, and no secret.
        let args = ["execute", &vector.item(), "--params", "-", "--json", "-v"];
        let act = || {
            let said = world.rye_in(&world.project(), &args, &params);
            let told = super::CANARIES.iter().find(|canary| said.stderr.contains(*canary));
            assert_eq!(told, None, "{}: {}", vector.name, said.stderr);
            said.json()
        };
        judged(vector, call, act)
    };
    calls.iter().filter_map(call).map(|wrong| format!("by the command line: {wrong}")).collect()
}

fn by_library(base: &Path, vectors: &[Vector]) {
    // What is made once is there after the first.
    drop(library(base));
    let before = held();
    let rye = library(base);
    all(vectors, |vector| {
        let mut wrong = Vec::new();
        for call in vector.calls.iter().filter(|_| !vector.only_cli) {
            let params = call.params.iter();
            let request = params
                .fold(Request::new(vector.item()), |request, (k, v)| request.param(k, v.clone()));
            wrong.extend(judged(vector, call, || rye.run_json(&request)));
        }
        wrong
    });
    let start = Instant::now();
    drop(rye);
    let took = start.elapsed();
    // All servers at once; half a second is for a machine that is busy.
    assert!(took.as_millis() < 5500, "the end took {took:?}");
    crate::world::wait::until("no descriptor, thread or dead child is left", || held() == before);
    eprintln!("by the library: done");
}

/// The rows that are a test below.
const ROWS: [&str; 9] = ["f01", "f02", "f03", "f04", "f05", "f06", "f08", "s2", "s3"];

#[test]
fn every_vector_is_run_by_a_test() {
    for file in vector::files() {
        let row = Vector::read(&file).row;
        let is_known = ROWS.contains(&row.as_str()) || row == "howto";
        assert!(is_known, "{}: {row}", file.display());
    }
}

#[test]
fn f01_a_flood_is_stopped_at_its_cap_and_keeps_no_call_waiting() {
    battery("f01_a_flood_is_stopped_at_its_cap_and_keeps_no_call_waiting", &["f01"]);
}

#[test]
fn f02_large_data_flows_both_ways_and_a_program_that_does_not_read_is_no_deadlock() {
    let name = "f02_large_data_flows_both_ways_and_a_program_that_does_not_read_is_no_deadlock";
    battery(name, &["f02"]);
}

#[test]
fn f03_what_is_no_answer_reaches_no_caller_and_the_next_call_works() {
    battery("f03_what_is_no_answer_reaches_no_caller_and_the_next_call_works", &["f03"]);
}

#[test]
fn f04_an_answer_after_the_deadline_is_none_and_never_that_of_the_next_call() {
    battery("f04_an_answer_after_the_deadline_is_none_and_never_that_of_the_next_call", &["f04"]);
}

#[test]
fn f05_result_error_and_pending_in_odd_places_mean_what_is_written() {
    battery("f05_result_error_and_pending_in_odd_places_mean_what_is_written", &["f05"]);
}

#[test]
fn f06_what_a_program_leaves_behind_holds_no_call_and_is_ended() {
    battery("f06_what_a_program_leaves_behind_holds_no_call_and_is_ended", &["f06"]);
}

#[test]
fn f08_a_program_gets_what_it_names_of_the_host_and_tells_no_secret() {
    battery("f08_a_program_gets_what_it_names_of_the_host_and_tells_no_secret", &["f08"]);
}

#[test]
fn requests_and_answers_are_those_of_the_protocol() {
    crate::world::NODE.needed();
    battery("requests_and_answers_are_those_of_the_protocol", &["s2", "s3"]);
}

#[test]
fn the_two_programs_of_the_how_to_run_unchanged_in_three_languages() {
    crate::world::NODE.needed();
    battery("the_two_programs_of_the_how_to_run_unchanged_in_three_languages", &["howto"]);
}
