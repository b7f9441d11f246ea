//! Waiting for what another process does, with a bound that only a hang reaches.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Far more than anything here takes; a test that waits as long has found a fault.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// Waits until it is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not so after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number that a tool wrote into a file of the project.
#[track_caller]
pub fn number(file: &Path) -> String {
    until("a number is written", || {
        fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n'))
    });
    fs::read_to_string(file).expect("a file").trim().to_owned()
}

/// Tells whether a process of that number has not ended.
pub fn lives(pid: impl Display) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
